"""What is true of mistakes whatever the numbers are: who gives the same answers, and why.

Each fact is looked up or made, never taken on trust: a right loop that takes the same steps as a
mistake is run beside it.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gradcheck.errors import GradcheckError
from gradcheck.mistakes import Mistake
from gradcheck.mistakes.training import Write
from gradcheck.problem.record import Point, Problem
from gradcheck.training.ledger import RIGHT, LedgerEntry, LedgerVerbs, totals
from gradcheck.training.outputs import Output, near
from gradcheck.training.trace import Trace, trace
from gradcheck.values import Numbers

ALL_THE_SAME = "the right loop: how large all gradients are together does not matter, as under Adam"


def reason(rows: Collection[Mistake]) -> Iterator[tuple[str, str]]:
    """Why several mistakes give one answer, and the cure, where that is a fact of mathematics."""
    ids = {row.id for row in rows}
    return (said for row in rows for other, said in row.alike.items() if other in ids)


@dataclass(frozen=True, eq=False)
class EquivalentLoop:
    """A loop without a mistake that takes the same steps as a mistaken one; `name` says which."""

    name: str
    values: Mapping[str, Output]


@np.errstate(all="ignore")
def equivalent_loop(
    problem: Problem, point: Point, right: Trace, made: Sequence[LedgerEntry]
) -> EquivalentLoop | None:
    """Who takes the same steps as the ledger of a mistaken run, if anybody does."""
    moved, due = totals(made, "step"), totals(right.entries, "step")
    if not moved or not due:
        return None
    if near(moved, due):
        return EquivalentLoop(ALL_THE_SAME, right.values) if _is_scaled(right, made) else None
    for name, verbs in _others(right, made):
        try:
            found = trace(problem, point, verbs, together=right.together)
        except GradcheckError:
            continue
        if near(moved, totals(found.entries, "step")):
            return EquivalentLoop(name, found.values)
    return None


def _is_scaled(right: Trace, made: Sequence[LedgerEntry]) -> bool:
    """Whether all gradients of a run are those of the right one times a factor."""
    due, came = totals(right.entries, "add"), totals(made, "add")
    if not due or len(due) != len(came):
        return False
    factor = _factor(came[0], due[0])
    return near(came, [np.asarray(factor * each) for each in due]) and not near(came, due)


def _others(right: Trace, made: Sequence[LedgerEntry]) -> Iterator[tuple[str, LedgerVerbs]]:
    """The right loop with momentum 1, and with the learning rate of the first mistaken step."""
    yield "adding momentum 1", replace(RIGHT, write=_gathering())
    due, came = (next(e.amount for e in run if e.verb == "step") for run in (right.entries, made))
    factor = _factor(came, due)
    if factor:
        words = f"{factor:.4g} times" if factor > 1 else f"1/{1 / factor:.4g}"
        faster = lambda w: w.before + factor * (w.after - w.before)
        yield f"a learning rate {words} as large", replace(RIGHT, write=faster)


def _gathering() -> Callable[[Write], Numbers]:
    """A write that moves each leaf by all its steps so far."""
    velocity: dict[int, Numbers] = defaultdict(float)

    def write(w: Write) -> Numbers:
        velocity[w.leaf] = velocity[w.leaf] + (w.after - w.before)
        return w.before + velocity[w.leaf]

    return write


def _factor(came: Numbers, due: Numbers) -> float:
    """How many times one array is another, by least squares; 0 where it is no multiple."""
    size = float(np.sum(due * due)) if came.shape == due.shape else 0.0
    factor = float(np.sum(came * due)) / size if size else 0.0
    return factor if near(came, np.asarray(factor * due)) and factor > 0 else 0.0
