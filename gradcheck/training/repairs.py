"""Proof by repair: verbs of the ledger that take back one mistake of a student's own program.

If the program then gives the right numbers, that mistake was wrong with it.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import count

from gradcheck.mistakes import Mistake, training
from gradcheck.mistakes.training import Deposit
from gradcheck.training.ledger import RIGHT, Holder
from gradcheck.training.run import Trace
from gradcheck.values import Numbers, Routine

Ways = Mapping[str, Routine]


def undo_verbs(run: Trace, full: int) -> Iterator[tuple[Mistake, Ways]]:
    """The verbs that take back one mistake each.

    `run` came out wrong; `full` gradients are added up in the fullest window of the reference.
    """
    windows, again = _look_at_deposits(run, full)
    add = RIGHT["deposit"]

    def weigh(factor: Callable[[int], float]) -> Ways:
        return {"deposit": lambda d: add(replace(d, g=d.g * factor(windows.get(d.number, full))))}

    def afresh_after(verb: str) -> Ways:
        return {"deposit": lambda d: d.g if d.last == verb else add(d)}

    def once(d: Deposit) -> Numbers:
        return d.held if d.number in again and d.held is not None else add(d)

    kept: Ways = {"clear": lambda c: c.last != "add"}
    yield training.missing_zero_grad, afresh_after("step")
    yield training.overwritten_grad, kept
    yield training.unscaled_accumulation, weigh(lambda n: 1 / full)
    yield training.unscaled_accumulation, weigh(lambda n: 1 / n)
    yield training.scaled_twice, weigh(lambda n: full)
    yield training.scaled_twice, weigh(lambda n: n)
    yield training.partial_window, weigh(lambda n: full / n)
    yield training.partial_window, weigh(lambda n: n / full)
    yield training.zeroed_before_step, {**kept, **afresh_after("held back")}
    yield training.counted_twice, {"deposit": once}


def _look_at_deposits(run: Trace, full: int) -> tuple[Mapping[int, int], set[int]]:
    """By numbers of deposits: how many gradients are added up there, `full` at most.

    And the deposits of backward calls on a value that has gone back before.
    """
    starts = [call.start for call in run.calls]
    repeated = {call.number for k, call in enumerate(run.calls) if call.start in starts[:k]}
    windows: dict[Holder, list[int]] = {}
    sizes, again, number = dict[int, int](), set[int](), count()
    for entry in run.entries:
        if entry.verb == "add":
            windows.setdefault(entry.leaf, []).append(k := next(number))
            again |= {k} if entry.event in repeated else set()
        else:
            window = windows.pop(entry.leaf, [])
            sizes |= dict.fromkeys(window, min(len(window), full))
    return sizes, again
