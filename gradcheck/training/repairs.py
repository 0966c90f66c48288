"""Proof by repair: a student's own program, run again with a mistake taken back.

A repair says the ledger's verbs so that one mistake is undone; if the program then gives the
right numbers, that mistake is what was wrong with it. Each row also finds in a ledger the line at
which the mistake was made.
"""

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count

from gradcheck.documents.passage import where_is
from gradcheck.engine.tape import Step
from gradcheck.language import Program
from gradcheck.mistakes import Mistake, training
from gradcheck.mistakes.training import Deposit, Write
from gradcheck.training.ledger import RIGHT, BackwardCall, Holder, LedgerEntry, LedgerVerbs
from gradcheck.training.student import StudentRun
from gradcheck.values import Numbers

Lines = Sequence[LedgerEntry]  # of one leaf, in the order of the run


@dataclass(frozen=True)
class Repair:
    """One mistake undone: `ways` give the verbs that undo it, `scope` the line that made it.

    `ways(run, together)` is told the run that came out wrong, and how many gradients the fullest
    window of the reference adds up. `texts` are the program in another order, and what was moved.
    `shown` says that a ledger without such a line proves that the mistake was not made.
    """

    mistake: Mistake
    ways: Callable[[StudentRun, int], Sequence[LedgerVerbs]]
    scope: Callable[[Lines, StudentRun], LedgerEntry | None]
    texts: Callable[[Program], Iterator[tuple[str, tuple[int, int]]]] = lambda program: iter(())
    shown: bool = False


# -- verbs that know what was last done to the leaf ------------------------------------------------


@dataclass
class _Past:
    """The verb that was last said to each leaf."""

    last: dict[int, str]

    def deposit(self, say: Callable[[str, Deposit], Numbers], d: Deposit) -> Numbers:
        """What `.grad` holds, given what was done before."""
        before, self.last[d.leaf] = self.last.get(d.leaf, ""), "add"
        return say(before, d)

    def clear(self, say: Callable[[str], bool], c: Numbers) -> bool:
        """Whether a clearing is done; one that is not leaves its mark too."""
        done = say(self.last.get(c.leaf, ""))
        self.last[c.leaf] = "clear" if done else "held back"
        return done

    def write(self, w: Write) -> Numbers:
        """A step as it comes."""
        if self.last.get(w.leaf) != "held back":
            self.last[w.leaf] = "step"
        return w.after


def _verbs(
    deposit: Callable[[str, Deposit], Numbers] = lambda before, d: RIGHT.deposit(d),
    clear: Callable[[str], bool] = lambda before: True,
) -> LedgerVerbs:
    past = _Past({})
    return LedgerVerbs(partial(past.deposit, deposit), partial(past.clear, clear), past.write)


def _afresh_after(verb: str) -> Callable[[str, Deposit], Numbers]:
    """The first gradient after a verb finds nothing."""
    return lambda before, d: d.g if before == verb else RIGHT.deposit(d)


def _scale(factor: float) -> LedgerVerbs:
    """Every gradient times a factor."""
    return replace(RIGHT, deposit=lambda d: RIGHT.deposit(replace(d, g=d.g * factor)))


def _weigh_gradients(factors: Mapping[int, float]) -> LedgerVerbs:
    """The deposits of some numbers, counted from 0, times a factor each."""
    counter = count()

    def deposit(d: Deposit) -> Numbers:
        return RIGHT.deposit(replace(d, g=d.g * factors.get(next(counter), 1.0)))

    return replace(RIGHT, deposit=deposit)


def _short_windows(run: StudentRun, full: int) -> Mapping[int, int]:
    """The deposits of windows that are not full, by number, and how many there are in theirs."""
    windows: dict[Holder, list[int]] = {}
    found: dict[int, int] = {}
    number = count()
    for entry in run.entries:
        if entry.verb == "add":
            windows.setdefault(entry.leaf, []).append(next(number))
        else:
            window = windows.pop(entry.leaf, [])
            found |= dict.fromkeys(window, len(window)) if len(window) < full else {}
    return found


def _without(numbers: frozenset[int]) -> LedgerVerbs:
    """The deposits of those numbers, counted from 0, are not made."""
    counter = count()

    def deposit(d: Deposit) -> Numbers:
        left_out = next(counter) in numbers and d.held is not None
        return d.held if left_out else RIGHT.deposit(d)

    return replace(RIGHT, deposit=deposit)


# -- where a ledger shows a mistake ----------------------------------------------------------------


def _never_cleared(lines: Lines, run: StudentRun) -> LedgerEntry | None:
    """A gradient that is added to one that was stepped already."""
    stepped = held = False
    for line in lines:
        if line.verb == "add":
            if held and stepped:
                return line
            held, stepped = True, False
        else:
            stepped = line.verb == "step"
            held = held and stepped
    return None


def _between(*verbs: str) -> Callable[[Lines, StudentRun], LedgerEntry | None]:
    """The second of some verbs that follow one another."""

    def scope(lines: Lines, run: StudentRun) -> LedgerEntry | None:
        said = [line.verb for line in lines]
        starts = range(len(said) - len(verbs) + 1)
        return next((lines[k + 1] for k in starts if said[k : k + len(verbs)] == [*verbs]), None)

    return scope


def _find_accumulated(lines: Lines, run: StudentRun) -> LedgerEntry | None:
    """The first of several gradients that are added up."""
    second = _between("add", "add")(lines, run)
    return next(line for line in lines if line.verb == "add") if second else None


def _short_window(lines: Lines, run: StudentRun) -> LedgerEntry | None:
    """The last step, or the last gradient if it is never stepped."""
    ends = [line for line in lines if line.verb in ("step", "add")]
    return ends[-1] if any(line.verb == "step" for line in ends) else None


def _before_backward(lines: Lines, run: StudentRun) -> LedgerEntry | None:
    """A step that no gradient has come for."""
    ready = False
    for line in lines:
        if line.verb == "step" and not ready:
            return line
        ready = line.verb == "add"
    return None


def find_repeated(calls: Sequence[BackwardCall]) -> Iterator[BackwardCall]:
    """Backward calls on a value that has gone back before."""
    seen: set[Step] = set()
    for call in calls:
        if call.start in seen:
            yield call
        seen.add(call.start)


def _again(lines: Lines, run: StudentRun) -> LedgerEntry | None:
    """A gradient that comes from such a call."""
    numbers = {call.number for call in find_repeated(run.calls)}
    return next((line for line in lines if line.verb == "add" and line.event in numbers), None)


def _repeated_deposits(run: StudentRun) -> frozenset[int]:
    numbers = {call.number for call in find_repeated(run.calls)}
    added = [entry for entry in run.entries if entry.verb == "add"]
    return frozenset(k for k, entry in enumerate(added) if entry.event in numbers)


# -- a step in the wrong place: lines in another order ---------------------------------------------


def step_after_backward(program: Program) -> Iterator[tuple[str, tuple[int, int]]]:
    """The program with a step moved behind the backward call that follows it, and that step."""
    lines = program.source.split("\n")
    for body in _bodies(program.tree):
        for k, step in enumerate(body):
            later = [each for each in body[k + 1 :] if _goes_back(each)]
            if later and _is_a_step(step) and not _goes_back(step) and _alone(step, body):
                yield _swap(lines, step, later[0]), program.passage.span(where_is(step))


def _bodies(tree: ast.AST) -> Iterator[Sequence[ast.stmt]]:
    for node in ast.walk(tree):
        for name in ("body", "orelse"):
            body = getattr(node, name, None)
            if isinstance(body, list):
                yield body


def _is_a_step(node: ast.stmt) -> bool:
    """`optimizer.step()`, or a block in which variables are changed in place."""
    inside = isinstance(node, ast.With) and any(isinstance(n, ast.AugAssign) for n in node.body)
    return inside or _calls(node, "step")


def _goes_back(node: ast.stmt) -> bool:
    return _calls(node, "backward")


def _calls(node: ast.stmt, method: str) -> bool:
    """Whether a statement calls a method of that name."""
    calls = (each.func for each in ast.walk(node) if isinstance(each, ast.Call))
    return any(isinstance(func, ast.Attribute) and func.attr == method for func in calls)


def _alone(node: ast.stmt, body: Sequence[ast.stmt]) -> bool:
    """Whether nothing else of a block stands on the lines of a statement."""
    others = (each for each in body if each is not node)
    return all(_last_line(each) < node.lineno or each.lineno > _last_line(node) for each in others)


def _swap(lines: Sequence[str], step: ast.stmt, back: ast.stmt) -> str:
    first, last, behind = step.lineno - 1, _last_line(step), _last_line(back)
    order = [*lines[:first], *lines[last:behind], *lines[first:last], *lines[behind:]]
    return "\n".join(order)


def _last_line(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


REPAIRS: tuple[Repair, ...] = (
    Repair(
        training.missing_zero_grad,
        lambda run, k: [_verbs(_afresh_after("step"))],
        _never_cleared,
        shown=True,
    ),
    Repair(
        training.overwritten_grad,
        lambda run, k: [_verbs(clear=lambda before: before != "add")],
        _between("add", "clear", "add"),
    ),
    Repair(training.unscaled_accumulation, lambda run, k: [_scale(1 / k)], _find_accumulated),
    Repair(training.scaled_twice, lambda run, k: [_scale(k)], _find_accumulated),
    Repair(
        training.partial_window,
        lambda run, k: [
            _weigh_gradients({number: k / n for number, n in _short_windows(run, k).items()}),
            _weigh_gradients({number: n / k for number, n in _short_windows(run, k).items()}),
        ],
        _short_window,
    ),
    Repair(training.step_before_backward, lambda run, k: [], _before_backward, step_after_backward),
    Repair(
        training.zeroed_before_step,
        lambda run, k: [_verbs(_afresh_after("held back"), lambda before: before != "add")],
        _between("add", "clear"),
    ),
    Repair(training.counted_twice, lambda run, k: [_without(_repeated_deposits(run))], _again),
)
BY_MISTAKE: Mapping[Mistake, Repair] = {row.mistake: row for row in REPAIRS}


def by_leaf(entries: Sequence[LedgerEntry]) -> dict[Holder, list[LedgerEntry]]:
    """The lines of each leaf, in order."""
    found: dict[Holder, list[LedgerEntry]] = {}
    for entry in entries:
        found.setdefault(entry.leaf, []).append(entry)
    return found


def line_of(mistake: Mistake, run: StudentRun) -> LedgerEntry | None:
    """The first line of a run's ledger that shows a mistake."""
    row = BY_MISTAKE.get(mistake)
    found = [row.scope(lines, run) for lines in by_leaf(run.entries).values()] if row else []
    return next((line for line in found if line is not None), None)
