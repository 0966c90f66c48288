"""An answer that is a program: run, read, compared at several points, and repaired to explain it.

What it leaves at its end is held against what the reference leaves, at the given point and at
others, so that numbers copied into a program are not an answer. What is wrong with it is proven by
repair: with a mistake taken back it gives the right numbers. Else its ledger is that of the
reference with a mistake in it.
"""

import ast
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from itertools import islice
from typing import NamedTuple

import numpy as np

from gradcheck.diagnosis import Diagnosis, Hypothesis
from gradcheck.errors import GradcheckError, TextError
from gradcheck.language import Program
from gradcheck.mistakes import Mistake
from gradcheck.problem.record import Part
from gradcheck.training import Output, Reference
from gradcheck.training.ledger import EVERYWHERE, RIGHT, LedgerEntry, LedgerVerbs, hear, statement
from gradcheck.training.outputs import FACTOR, Comparison, Span, compare_values, entries, same
from gradcheck.training.repairs import rewritings, undo_verbs
from gradcheck.training.student import StudentRun, read_program, read_tree, run_program
from gradcheck.values import Numbers

SHARE = 8  # a repair has this part of the allowance: a mistake does not make a program slow
LENIENT = 1e-9  # programs differ in the order of their operations
ABSENT = "a program is due: its text, in YAML after a `|`"
ONLY_HERE = "these are the right numbers at the given point only"
COPIED = "one-point"  # what is said of such an answer in a word
LONGEST_REMARK = 2_000
NOTES = 2
REWRITINGS, SPENT = 600, 20_000  # that are tried, and operations that they may take
# A verdict stands whatever happens to its explanation.
FAILURES = (GradcheckError, ArithmeticError, LookupError, TypeError, ValueError)

Named = Mapping[Mistake, Span | None]  # a mistake that was made, and where


class _Reply(NamedTuple):
    """A program as the answer to a part."""

    part: Part
    program: Program
    elsewhere: Callable[[], Sequence[Reference]]  # the reference at further points

    def run(self, reference: Reference, **how: Numbers) -> StudentRun:
        return run_program(reference.problem, self.program, self.part, reference.point, **how)

    def compare(self, reference: Reference, run: StudentRun) -> Comparison:
        due, noise = reference.trace.values[self.part.name], reference.noise[self.part.name]
        what = f"`{self.part.ask.source}`" if self.part.ask else "the answer"
        found = compare_values(*_align(run.value, due, _lenient(noise, due)), what=what)
        return replace(found, remarks=(*found.remarks, *_departure(self.part, found)))


def judge_program(
    reference: Reference,
    part: Part,
    answer: Numbers,
    elsewhere: Callable[[], Sequence[Reference]],
    *,
    diagnose: bool = True,
) -> Comparison:
    """Judge a program, `elsewhere` giving the reference at further points (`points.elsewhere`).

    Never raises on what a student typed.
    """
    if not isinstance(answer, str) or not answer.strip():
        return Comparison("invalid", remarks=(ABSENT,))
    try:
        program = read_program(reference.problem, answer)
    except TextError as error:
        return Comparison("invalid", remarks=(str(error),))
    reply = _Reply(part, program, elsewhere)
    here = reply.run(reference)
    found = _verdict(reply, reference, here)
    if found.verdict == "wrong" and diagnose:
        found = _explain(found, reply, reference, here)
    count = sum(bool(line.strip()) for line in program.passage.lines)
    lines = f"{count} lines" if count != 1 else "one line"
    return replace(found, understood=f"a program of {lines}")


# -- the verdict ---------------------------------------------------------------------------------


def _verdict(reply: _Reply, reference: Reference, here: StudentRun) -> Comparison:
    """Right where the numbers are right at every point."""
    if here.failed:
        tag = "stopped" if here.stopped else "failed"
        return Comparison("wrong", remarks=(here.failed[:LONGEST_REMARK],), tags=(tag,))
    found = reply.compare(reference, here)
    for other in reply.elsewhere() if found.verdict == "right" else ():
        run = reply.run(other)
        if run.stopped:
            return Comparison("needs-review", remarks=(f"at another point: {run.failed}",))
        if run.failed:
            said = ONLY_HERE, run.failed[:LONGEST_REMARK]
            return Comparison("wrong", remarks=said, tags=(COPIED,))
        beyond = reply.compare(other, run)
        if beyond.verdict != "right":
            remarks, tags = (ONLY_HERE, *beyond.remarks), (*beyond.tags, COPIED)
            return replace(beyond, remarks=remarks, tags=tags, point=other.point)
    return found


def _departure(part: Part, found: Comparison) -> Iterator[str]:
    """From which call on a series that was recorded is another one."""
    read: Numbers = part.ask.tree.body[-1] if part.ask else None
    read, index = getattr(read, "value", None), found.index
    if isinstance(read, ast.List) and index and index[0] < len(read.elts):
        read, index = read.elts[index[0]], index[1:]
    match read, index:
        case ast.Attribute(ast.Name("recorded"), name), (k,) if found.yours is not None:
            some = f"{name} 0 agrees; " if k == 1 else f"{name} 0 to {k - 1} agree; "
            yield f"{some if k else ''}{name} {k} is {found.yours:.6g} for {found.expected:.6g}"


def _lenient(noise: Numbers, due: Output) -> Numbers:
    """What float64 loses, and what another order of the operations may lose beside."""
    if isinstance(due, list):
        pieces = noise if isinstance(noise, list) else []
        padded = [*pieces, *[0.0] * (len(due) - len(pieces))]
        return [_lenient(each, value) for each, value in zip(padded, due, strict=False)]
    if not isinstance(due, np.ndarray):
        return 0.0
    size = np.abs(due)
    return noise + LENIENT / FACTOR * (size + 1e-3 * np.max(size, initial=0.0))


def _align(yours: Output, due: Output, noise: Numbers) -> tuple[Output, Output, Numbers]:
    """A list and an array that might be one: both as lists."""
    if isinstance(due, list) and isinstance(yours, np.ndarray) and yours.ndim:
        return entries(yours), due, noise  # type: ignore[return-value]
    if isinstance(due, np.ndarray) and due.ndim and isinstance(yours, list):
        return yours, entries(due), entries(np.asarray(noise))  # type: ignore[return-value]
    return yours, due, noise


# -- what was wrong with it ----------------------------------------------------------------------


def _explain(
    found: Comparison, reply: _Reply, reference: Reference, here: StudentRun
) -> Comparison:
    """A wrong program with its diagnosis, and where in its text each mistake was made."""
    try:
        named, cure = _find_repairs(reply, reference, here)
        named = named or _find_replays(reference, here)
        remarks = tuple(dict.fromkeys((*cure, *_remarks(reference, here))))
    except FAILURES as error:
        named, remarks = {}, (f"the diagnosis failed: {error}",)
    certainty = "torn" if len(named) > 1 else "unique" if named else "unnamed"
    hypotheses = tuple(Hypothesis(mistake, None) for mistake in named)
    places = {mistake.id: place for mistake, place in named.items() if place is not None}
    return replace(found, diagnosis=Diagnosis(certainty, hypotheses, remarks), places=places)


def _find_repairs(
    reply: _Reply, reference: Reference, here: StudentRun
) -> tuple[Named, tuple[str, ...]]:
    """The mistakes without which the program gives the right numbers at every point.

    All verbs of the ledger that mend it, or else the first change of its text, with that.
    """
    if reply.run(reference, share=SHARE).stopped:
        return {}, ()
    named = dict[Mistake, Span | None]()
    for mistake, verbs in undo_verbs(here, reference.trace.together):
        places: list[Span | None] = []
        heard = hear(verbs, EVERYWHERE, lambda given, place: places.append(place))  # noqa: B023
        if mistake not in named and _is_mended(reply, reference, heard, places):
            named[mistake] = statement(reply.program, places[0])
    if named or here.stopped:
        return named, ()
    values: list[Numbers] = [
        n.value for n in ast.walk(reference.problem.program.tree) if isinstance(n, ast.Constant)
    ]
    numbers = [float(value) for value in values if type(value) in (int, Fraction)]
    many = min(REWRITINGS, SPENT // max(here.spent, 1))
    for found in islice(rewritings(reply.program.source, numbers, _sizes(reference)), many):
        with suppress(TextError, TypeError, ValueError):
            program = read_tree(reference.problem, found.tree)
            if _is_mended(reply._replace(program=program), reference):
                return {found.mistake: found.span}, (f"every number is right with {found.cure}",)
    return {}, ()


def _is_mended(
    reply: _Reply,
    reference: Reference,
    verbs: LedgerVerbs = RIGHT,
    places: Sequence[Span | None] | None = None,
) -> bool:
    """Whether a program gives the right numbers at every point, within its share.

    Verbs that come to nothing else at the first point mend nothing: `places` hears of them.
    """
    for each in (reference, *reply.elsewhere()):
        run = reply.run(each, share=SHARE, verbs=verbs, watched=places is not None)
        if run.failed or reply.compare(each, run).verdict != "right" or places == []:
            return False
    return True


def _sizes(reference: Reference) -> list[str]:
    """The sizes that a mean may have been over, each number once."""
    found: dict[int, str] = {}
    for name, value in reference.point.items():
        if np.ndim(value):
            found.setdefault(len(value), f"len({name})")
        found.setdefault(int(np.size(value)), f"{name}.size")
    return [text for size, text in found.items() if size > 1]


def _find_replays(reference: Reference, here: StudentRun) -> Named:
    """The mistakes that add and step the same when they are made in the reference."""
    mine = _moves(here.entries) if here.ended else []
    if not mine or same(mine, _moves(reference.trace.entries)):
        return {}
    fits = [r for r in reference.mistaken.replays if same(mine, _moves(r.entries))]
    cheapest = min((replay.scope.cost for replay in fits), default=0)
    return {r.mistake: None for r in fits if r.scope.cost == cheapest}


def _moves(entries: Sequence[LedgerEntry]) -> Output:
    """What was added and stepped, in order, up to the last step that moves something."""
    moves = [(e.verb, e.amount) for e in entries if e.amount is not None and np.any(e.amount)]
    last = max((k + 1 for k, (verb, _) in enumerate(moves) if verb == "step"), default=0)
    return [amount for _, amount in moves[:last]]


COUNTED = {
    "add": "gradients that come to {leaf}",
    "clear": "clearings of `.grad` of {leaf}",
    "step": "steps that move {leaf}",
}


def _remarks(reference: Reference, here: StudentRun) -> Iterator[str]:
    """How often the ledger's verbs were said, where that is not as often as is due; warnings."""
    came, due = (
        Counter((entry.verb, entry.leaf.name) for entry in lines)
        for lines in (here.entries, reference.trace.entries)
    )
    for (verb, leaf), wanted in due.items() if here.ended and not here.stopped else ():
        if came[verb, leaf] != wanted:
            words = COUNTED[verb].format(leaf=leaf)
            yield f"{came[verb, leaf]} {words}, {wanted} in a program that is right"
    yield from (f"PyTorch warns: {note}" for note in here.notes[:NOTES])
