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
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice

import numpy as np

from gradcheck.diagnosis import Diagnosis, Hypothesis
from gradcheck.errors import GradcheckError, TextError
from gradcheck.language import Program
from gradcheck.mistakes import Mistake
from gradcheck.problem.record import Part
from gradcheck.training.ledger import LedgerEntry, LoopVerbs, statement
from gradcheck.training.outputs import (
    FACTOR,
    Comparison,
    Output,
    Span,
    compare_values,
    entries,
    flatten,
    same,
)
from gradcheck.training.preparing import Reference
from gradcheck.training.repairs import Ways, rewrite, undo_verbs
from gradcheck.training.run import Trace, read_program, read_tree, run_program
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
COUNTED = {
    "add": "gradients that come to {leaf}",
    "clear": "clearings of `.grad` of {leaf}",
    "step": "steps that move {leaf}",
}

Named = Mapping[Mistake, Span | None]  # a mistake that was made, and where


@dataclass(frozen=True)
class ProgramAnswer:
    """A program as the answer to a part; `elsewhere` gives the reference at further points."""

    part: Part
    program: Program
    elsewhere: Callable[[], Sequence[Reference]]

    def run(self, reference: Reference, **how: Numbers) -> Trace:
        return run_program(reference.problem, self.program, self.part, reference.point, **how)

    def compare(self, reference: Reference, run: Trace) -> Comparison:
        yours, due = run.values[self.part.name], reference.trace.values[self.part.name]
        _, numbers, largest = flatten(due)
        room = LENIENT / FACTOR * (np.abs(numbers) + 1e-3 * largest)
        if isinstance(yours, list) != isinstance(due, list):  # a list and an array may be one
            mine, theirs = entries(yours), entries(due)
            if mine is not None and theirs is not None:
                yours, due = [*mine], [*theirs]
        what = f"`{self.part.ask.source}`" if self.part.ask else "the answer"
        found = compare_values(yours, due, reference.noise[self.part.name] + room, what=what)
        return replace(found, remarks=(*found.remarks, *_find_departure(self.part, found)))

    def verdict(self, reference: Reference, here: Trace) -> Comparison:
        """Right where the numbers are right at every point."""
        if here.failed:
            tag = "stopped" if here.stopped else "failed"
            return Comparison("wrong", remarks=(here.failed[:LONGEST_REMARK],), tags=(tag,))
        found = self.compare(reference, here)
        for other in self.elsewhere() if found.verdict == "right" else ():
            run = self.run(other)
            if run.stopped:
                return Comparison("needs-review", remarks=(f"at another point: {run.failed}",))
            if run.failed:
                said = ONLY_HERE, run.failed[:LONGEST_REMARK]
                return Comparison("wrong", remarks=said, tags=(COPIED,))
            beyond = self.compare(other, run)
            if beyond.verdict != "right":
                remarks, tags = (ONLY_HERE, *beyond.remarks), (*beyond.tags, COPIED)
                return replace(beyond, remarks=remarks, tags=tags, point=other.point)
        return found

    def repair(self, reference: Reference, ways: Ways | None = None) -> LoopVerbs | None:
        """The verbs with which it gives the right numbers at every point, within its share.

        LoopVerbs that come to nothing else at the first point mend nothing.
        """
        first = LoopVerbs(ways)
        for each in (reference, *self.elsewhere()):
            verbs = first if each is reference else LoopVerbs(ways)
            run = self.run(each, share=SHARE, verbs=verbs, watched=ways is not None)
            wrong = run.failed or self.compare(each, run).verdict != "right"
            if wrong or (ways and not first.differed):
                return None
        return first


def judge_program(
    reference: Reference,
    part: Part,
    answer: Numbers,
    elsewhere: Callable[[], Sequence[Reference]],
    *,
    diagnose: bool = True,
) -> Comparison:
    """Judge a program, `elsewhere` giving the reference at further points.

    Never raises on what a student typed.
    """
    if not isinstance(answer, str) or not answer.strip():
        return Comparison("invalid", remarks=(ABSENT,))
    try:
        program = read_program(reference.problem, answer)
    except TextError as error:
        return Comparison("invalid", remarks=(str(error),))
    reply = ProgramAnswer(part, program, elsewhere)
    here = reply.run(reference)
    found = reply.verdict(reference, here)
    if found.verdict == "wrong" and diagnose:
        found = _explain(found, reply, reference, here)
    count = sum(bool(line.strip()) for line in program.passage.lines)
    lines = f"{count} lines" if count != 1 else "one line"
    return replace(found, understood=f"a program of {lines}")


def _find_departure(part: Part, found: Comparison) -> Iterator[str]:
    """From which call on a series that was recorded is another one."""
    read: Numbers = part.ask.tree.body[-1] if part.ask else None
    read, index = getattr(read, "value", None), found.index
    if isinstance(read, ast.List) and index and index[0] < len(read.elts):
        read, index = read.elts[index[0]], index[1:]
    match read, index:
        case ast.Attribute(ast.Name("recorded"), name), (k,) if found.yours is not None:
            some = f"{name} 0 agrees; " if k == 1 else f"{name} 0 to {k - 1} agree; "
            yield f"{some if k else ''}{name} {k} is {found.yours:.6g} for {found.expected:.6g}"


# -- what was wrong with it ----------------------------------------------------------------------


def _explain(
    found: Comparison, reply: ProgramAnswer, reference: Reference, here: Trace
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
    reply: ProgramAnswer, reference: Reference, here: Trace
) -> tuple[Named, tuple[str, ...]]:
    """The mistakes without which the program gives the right numbers at every point.

    All verbs of the ledger that mend it, or else the first change of its text, with that.
    """
    if reply.run(reference, share=SHARE).stopped:
        return {}, ()
    named = dict[Mistake, Span | None]()
    for mistake, ways in undo_verbs(here, reference.trace.together):
        if mistake not in named and (verbs := reply.repair(reference, ways)):
            named[mistake] = statement(reply.program, verbs.differed[0][1])
    if named or here.stopped:
        return named, ()
    tree = reference.problem.program.tree
    values: list[Numbers] = [n.value for n in ast.walk(tree) if isinstance(n, ast.Constant)]
    numbers = [float(value) for value in values if type(value) in (int, Fraction)]
    many = min(REWRITINGS, SPENT // max(here.ledger.spent, 1))
    found = rewrite(reply.program.source, numbers, _sizes(reference))
    for mistake, tree, span, cure in islice(found, many):
        with suppress(TextError, TypeError, ValueError):
            program = read_tree(reference.problem, tree)
            if replace(reply, program=program).repair(reference):
                return {mistake: span}, (f"every number is right with {cure}",)
    return {}, ()


def _sizes(reference: Reference) -> list[str]:
    """The sizes that a mean may have been over, each number once."""
    found: dict[int, str] = {}
    for name, value in reference.point.items():
        if np.ndim(value):
            found.setdefault(len(value), f"len({name})")
        found.setdefault(int(np.size(value)), f"{name}.size")
    return [text for size, text in found.items() if size > 1]


def _find_replays(reference: Reference, here: Trace) -> Named:
    """The mistakes that add and step the same when they are made in the reference."""
    mine = _moves(here.entries) if here.ended else []
    if not mine or same(mine, _moves(reference.trace.entries)):
        return {}
    fits = [r for r in reference.mistaken if same(mine, _moves(r.entries))]
    cheapest = min((replay.scope.cost for replay in fits), default=0)
    return {r.mistake: None for r in fits if r.scope.cost == cheapest}


def _moves(entries: Sequence[LedgerEntry]) -> list[Output]:
    """What was added and stepped, in order, up to the last step that moves something."""
    moves = [(e.verb, e.amount) for e in entries if e.amount is not None and np.any(e.amount)]
    last = max((k + 1 for k, (verb, _) in enumerate(moves) if verb == "step"), default=0)
    return [amount for _, amount in moves[:last]]


def _remarks(reference: Reference, here: Trace) -> Iterator[str]:
    """How often the ledger's verbs were said, where that is not as often as is due; warnings."""
    came, due = (
        Counter((entry.verb, entry.leaf.name) for entry in run.entries)
        for run in (here, reference.trace)
    )
    for (verb, leaf), wanted in due.items() if here.ended and not here.stopped else ():
        if came[verb, leaf] != wanted:
            words = COUNTED[verb].format(leaf=leaf)
            yield f"{came[verb, leaf]} {words}, {wanted} in a program that is right"
    yield from (f"PyTorch warns: {note}" for note in here.notes[:NOTES])
