"""An answer that is a program: run, read, compared at several points, and repaired to explain it.

What it leaves at its end is held against what the reference leaves, at the given point and at
others, so that numbers copied into a program are not an answer. What is wrong with it is proven by
repair: with a mistake taken back it gives the right numbers. Else its numbers, or its ledger, are
those of the reference with a mistake in it.
"""

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import islice
from typing import NamedTuple

import numpy as np

from gradcheck.diagnosis import Diagnosis, Hypothesis
from gradcheck.errors import GradcheckError, TextError
from gradcheck.language import Program
from gradcheck.mistakes import Mistake
from gradcheck.mistakes.training import TRAINING
from gradcheck.problem.record import Part
from gradcheck.training import Output, Reference
from gradcheck.training.comparison import FACTOR, Comparison, Span, compare_values
from gradcheck.training.ledger import LedgerEntry, LedgerVerbs, scopes, statement
from gradcheck.training.making import Replays, replays
from gradcheck.training.outputs import same
from gradcheck.training.remarks import describe_ledger
from gradcheck.training.repairs import BY_MISTAKE, Repair, line_of
from gradcheck.training.rewriting import Rewriting, rewritings
from gradcheck.training.student import StudentRun, read_program, read_tree, run_program
from gradcheck.values import Array, Numbers

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

Moves = dict[str, list[tuple[str, Array]]]  # what was added and stepped, by leaf
Named = Mapping[Mistake, Span | None]  # a mistake that was made, and where


class _Reply(NamedTuple):
    """A program as the answer to a part."""

    part: Part
    program: Program
    elsewhere: Callable[[], Sequence[Reference]]  # the reference at further points

    def run(self, reference: Reference, **how: Numbers) -> StudentRun:
        """What it leaves at a point."""
        return run_program(reference.problem, self.program, self.part, reference.point, **how)

    def value(self, reference: Reference, run: StudentRun) -> Output:
        """What was read, as a list where a list is due."""
        due = reference.trace.values[self.part.name]
        return _align(run.value, due, 0.0)[0] if isinstance(due, list) else run.value

    def compare(self, reference: Reference, run: StudentRun) -> Comparison:
        """What it leaves against what is due there."""
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
    return replace(found, understood=_describe(program))


def _describe(program: Program) -> str:
    count = sum(bool(line.strip()) for line in program.passage.lines)
    return f"a program of {count} lines" if count != 1 else "a program of one line"


# -- the verdict ---------------------------------------------------------------------------------


def _verdict(reply: _Reply, reference: Reference, here: StudentRun) -> Comparison:
    """Right where the numbers are right at every point."""
    if here.failed:
        tag = "stopped" if here.stopped else "failed"
        return Comparison("wrong", remarks=(here.failed[:LONGEST_REMARK],), tags=(tag,))
    found = reply.compare(reference, here)
    if found.verdict == "wrong":
        return found
    for other in reply.elsewhere():
        beyond = _beyond(reply, other)
        if beyond.verdict != "right":
            return beyond
    return found


def _beyond(reply: _Reply, other: Reference) -> Comparison:
    """The verdict at another point, for a program that is right at the given one."""
    run = reply.run(other)
    if run.stopped:
        return Comparison("needs-review", remarks=(f"at another point: {run.failed}",))
    if run.failed:
        return Comparison("wrong", remarks=(ONLY_HERE, run.failed[:LONGEST_REMARK]), tags=(COPIED,))
    found = reply.compare(other, run)
    if found.verdict == "right":
        return found
    said = (ONLY_HERE, *found.remarks)
    return replace(found, remarks=said, tags=(*found.tags, COPIED), point=other.point)


def _departure(part: Part, found: Comparison) -> Iterator[str]:
    """From which call on a series that was recorded is another one."""
    read: Numbers = part.ask.tree.body[-1] if part.ask else None
    read, index = getattr(read, "value", None), found.index
    if isinstance(read, ast.List) and index and index[0] < len(read.elts):
        read, index = read.elts[index[0]], index[1:]
    match read:
        case ast.Attribute(value=ast.Name(id="recorded"), attr=name) if (
            len(index) == 1 and found.yours is not None
        ):
            k = index[0]
            agree = (
                "" if not k else f"{name} 0 agrees; " if k == 1 else f"{name} 0 to {k - 1} agree; "
            )
            yield f"{agree}{name} {k} is {found.yours:.6g} for {found.expected:.6g}"


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
        return [np.asarray(each) for each in yours], due, noise
    if isinstance(due, np.ndarray) and due.ndim and isinstance(yours, list):
        return yours, [np.asarray(each) for each in due], [np.asarray(each) for each in noise]
    return yours, due, noise


# -- what was wrong with it ----------------------------------------------------------------------


def _explain(
    found: Comparison, reply: _Reply, reference: Reference, here: StudentRun
) -> Comparison:
    """A wrong program with its diagnosis, and where in its text each mistake was made."""
    try:
        named: Named = dict(_find_repairs(reply, reference, here))
        written = None if named else _find_rewriting(reply, reference, here)
        named = named or _find_replays(reply, reference, here)
        if written is not None and all(row.verb != "deposit" for row in named):
            named = {written.mistake: written.span}
        named = named or _in_the_ledger(reply, reference, here)
        remarks = tuple(dict.fromkeys((*_cure(written), *_remarks(reply, reference, here))))
    except FAILURES as error:
        failed = f"the diagnosis failed: {error}"
        return replace(found, diagnosis=Diagnosis("unnamed", remarks=(failed,)))
    certainty = "torn" if len(named) > 1 else "unique" if named else "unnamed"
    hypotheses = tuple(Hypothesis(mistake, None) for mistake in named)
    places = {mistake.id: place for mistake, place in named.items() if place is not None}
    diagnosis = Diagnosis(certainty, hypotheses, remarks)
    return replace(found, diagnosis=diagnosis, places=places)


def _find_repairs(
    reply: _Reply, reference: Reference, here: StudentRun
) -> Iterator[tuple[Mistake, Span | None]]:
    """The mistakes without which the program gives the right numbers at every point."""
    if reply.run(reference, share=SHARE).stopped:
        return
    for mistake in sorted(TRAINING, key=lambda row: -row.common):
        row = BY_MISTAKE.get(mistake)
        if row is None:
            continue
        if line_of(row.mistake, here) is not None and _is_mended(reply, reference, row, here):
            yield mistake, _place(reply, here, mistake)
        for moved, place in _in_other_orders(reply, reference, row):
            if _right_everywhere(moved, reference):
                yield mistake, place
                break


def _in_other_orders(
    reply: _Reply, reference: Reference, row: Repair
) -> Iterator[tuple[_Reply, Span]]:
    """The program as a repair writes it, and what that moved."""
    for text, place in row.texts(reply.program):
        with suppress(TextError):
            yield reply._replace(program=read_program(reference.problem, text)), place


def _is_mended(reply: _Reply, reference: Reference, row: Repair, here: StudentRun) -> bool:
    """Whether one way to undo a mistake makes the program right."""
    together = reference.trace.together
    ways = range(len(row.ways(here, together)))
    return any(
        _right_everywhere(reply, reference, partial(_way, row, here, together, n)) for n in ways
    )


def _way(row: Repair, here: StudentRun, together: int, n: int) -> LedgerVerbs:
    """The n-th way anew: verbs remember one run."""
    return row.ways(here, together)[n]


def _right_everywhere(
    reply: _Reply, reference: Reference, verbs: Callable[[], LedgerVerbs] | None = None
) -> bool:
    """Whether a program gives the right numbers at every point, within its share."""
    for each in (reference, *reply.elsewhere()):
        how = {"watched": False} if verbs is None else {"verbs": verbs()}
        run = reply.run(each, share=SHARE, **how)
        if run.failed or reply.compare(each, run).verdict != "right":
            return False
    return True


def _find_rewriting(reply: _Reply, reference: Reference, here: StudentRun) -> Rewriting | None:
    """The first small change of the text that gives the right numbers at every point."""
    if here.stopped:
        return None
    constants = (n for n in ast.walk(reference.problem.program.tree) if isinstance(n, ast.Constant))
    values: Iterator[Numbers] = (n.value for n in constants)
    numbers = [float(value) for value in values if _is_real(value)]
    many = min(REWRITINGS, SPENT // max(here.spent, 1))
    for found in islice(rewritings(reply.program.source, numbers, _sizes(reference)), many):
        try:
            program = read_tree(reference.problem, found.tree)
        except (TextError, TypeError, ValueError):
            continue
        if _right_everywhere(reply._replace(program=program), reference):
            return found
    return None


def _sizes(reference: Reference) -> list[str]:
    """The sizes that a mean may have been over, each number once."""
    found: dict[int, str] = {}
    for name, value in reference.point.items():
        for text, size in (
            (f"len({name})", np.shape(value)[:1]),
            (f"{name}.size", [np.size(value)]),
        ):
            for each in size:
                found.setdefault(int(each), text)
    return [text for size, text in found.items() if size > 1]


def _is_real(value: Numbers) -> bool:
    return isinstance(value, int | Fraction) and not isinstance(value, bool)


def _cure(written: Rewriting | None) -> Iterator[str]:
    if written is not None:
        yield f"every number is right with `{written.new}` in the place of `{written.old}`"


def _find_replays(reply: _Reply, reference: Reference, here: StudentRun) -> Named:
    """The mistakes that give these numbers at every point, made in the reference.

    Those that the ledger shows come before those that it does not.
    """
    if here.failed:
        return {}
    explained = reference.mistaken.explain(reply.part.name, reply.value(reference, here))
    kept = [h.mistake for h in explained.hypotheses if _possible(h.mistake, here)]
    for other in reply.elsewhere() if kept else ():
        run = reply.run(other)
        if not run.failed:
            kept = [mistake for mistake in kept if _gives(mistake, reply, other, run)]
    shown = [mistake for mistake in kept if line_of(mistake, here)]
    return {mistake: _place(reply, here, mistake) for mistake in shown or kept}


def _gives(mistake: Mistake, reply: _Reply, reference: Reference, run: StudentRun) -> bool:
    """Whether a mistake made in the reference gives what a program leaves, at a point."""
    yours, right = reply.value(reference, run), reference.trace
    return any(
        same(yours, replay.values[reply.part.name])
        for scope in scopes(mistake.verb, right.entries)
        for replay in replays(reference.problem, reference.point, right, mistake, scope)
    )


def _in_the_ledger(reply: _Reply, reference: Reference, here: StudentRun) -> Named:
    """The mistakes that add and step the same, made in the reference."""
    found = _same_ledger(reference.mistaken, here.entries) if here.ended else []
    return {m: _place(reply, here, m) for m in found if _possible(m, here)}


def _same_ledger(mistaken: Replays, entries: Sequence[LedgerEntry]) -> list[Mistake]:
    """The mistakes whose ledger this is, made at the fewest places."""
    mine, right = _moves(entries), _moves(mistaken.right.entries)
    if not mine or _move_alike(mine, right):
        return []
    fits = [replay for replay in mistaken.replays if _move_alike(mine, _moves(replay.entries))]
    cheapest = min((replay.scope.cost for replay in fits), default=0)
    return list(dict.fromkeys(r.mistake for r in fits if r.scope.cost == cheapest))


def _moves(entries: Sequence[LedgerEntry]) -> Moves:
    """What was added to each leaf and by what it was stepped, in order, up to the last step."""
    found: Moves = {}
    for entry in entries:
        if entry.amount is not None and np.any(entry.amount):
            found.setdefault(entry.leaf.name, []).append((entry.verb, entry.amount))
    return {name: _up_to_the_last_step(moves) for name, moves in found.items()}


def _up_to_the_last_step(moves: list[tuple[str, Array]]) -> list[tuple[str, Array]]:
    """Without the gradients that nobody steps; all of them where nobody ever steps."""
    last = max((k + 1 for k, (verb, _) in enumerate(moves) if verb == "step"), default=len(moves))
    return moves[:last]


def _move_alike(a: Moves, b: Moves) -> bool:
    return a.keys() == b.keys() and all(
        len(a[name]) == len(b[name])
        and all(v == w and same(x, y) for (v, x), (w, y) in zip(a[name], b[name], strict=True))
        for name in a
    )


def _possible(mistake: Mistake, here: StudentRun) -> bool:
    """Whether the ledger does not prove that the mistake was not made."""
    row = BY_MISTAKE.get(mistake)
    if row is None or not row.shown or not here.entries:
        return True
    return line_of(row.mistake, here) is not None


def _place(reply: _Reply, here: StudentRun, mistake: Mistake) -> Span | None:
    """The statement of the student's text in which a mistake was made."""
    line = line_of(mistake, here)
    return None if line is None else statement(reply.program, line.span)


def _remarks(reply: _Reply, reference: Reference, here: StudentRun) -> Iterator[str]:
    """What the ledger shows and the reference's does not; PyTorch's warnings."""
    due = reference.trace
    if not here.stopped:
        yield from describe_ledger(here, due.entries, due.calls, partial(_line, reply.program))
    yield from (f"PyTorch warns: {note}" for note in here.notes[:NOTES])


def _line(program: Program, span: Span | None) -> str:
    return "" if span is None else f" (line {program.source.count(chr(10), 0, span[0]) + 1})"
