"""Further points at which a program given as an answer must do what the reference does.

A point counts only where the reference itself stands firm: it runs within half the allowance,
everything it leaves is finite, and a disturbance of the last digits changes nothing but those.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from gradcheck.engine.recording import watched
from gradcheck.errors import GradcheckError
from gradcheck.ops.row import Op
from gradcheck.problem.draw import SCALES, decimals
from gradcheck.problem.record import Part, Point, Problem
from gradcheck.programs.student import ran
from gradcheck.training import Reference
from gradcheck.training import prepared as prepared_run
from gradcheck.training.outputs import Value
from gradcheck.training.trace import EPSILON, Trace, finite, noise, trace

FURTHER = 2
FIRM = 1e-8  # of the largest number: what a disturbance may change
SHAKEN = 64.0


def programs(problem: Problem) -> list[Part]:
    """The parts whose answers are programs."""
    return [part for part in problem.parts if part.form == "program"]


def prepared(problem: Problem) -> Reference:
    """A problem with events, ready for answers that are programs too.

    Raises GradcheckError where it cannot be run, or leaves no room to an answer.
    """
    reference = prepared_run(problem)
    check_allowance(problem, reference.point)
    check_firm(problem, reference.point, reference.trace, reference.noise)
    return reference


def check_allowance(problem: Problem, point: Point) -> None:
    """Raise GradcheckError where the reference leaves no room to an answer, or no number."""
    for part in programs(problem):
        run = ran(problem, problem.program, part, point, share=2)
        if run.failed:
            raise GradcheckError(
                f"{problem.id}: an answer may use twice what the reference uses, and that is too "
                f"much: {run.failed}"
            )
        if not finite(run.value):
            raise GradcheckError(f"{problem.id}: {part.name} reads a number that is not finite")


def check_firm(problem: Problem, point: Point, right: Trace, lost: Mapping[str, Any]) -> None:
    """Raise GradcheckError where rounding alone would make another program wrong."""
    if programs(problem) and not _firm(problem, point, right, lost):
        raise GradcheckError(
            f"{problem.id}: rounding alone changes more than the last digits of what is read at "
            "the end: no other program can be held against it"
        )


def elsewhere(problem: Problem) -> Iterator[Reference]:
    """The reference at points with the inputs drawn anew, and what float64 loses there."""
    rng, found = np.random.default_rng(problem.seed + 1), 0
    varying = [entry for entry in problem.inputs.values() if entry.varies]
    fixed = {n: i.value for n, i in problem.inputs.items() if not i.varies and i.value is not None}
    for scale in SCALES if varying else ():
        point = {**fixed, **{i.name: decimals(rng, scale, i.shape) for i in varying}}
        try:
            check_allowance(problem, point)
            right = trace(problem, point)
            lost = noise(problem, point, right)
            firm = _firm(problem, point, right, lost)
        except GradcheckError:
            continue
        if firm:
            yield Reference(problem, point, right, lost, ())
            found += 1
        if found == FURTHER:
            return


def _firm(problem: Problem, point: Point, right: Trace, lost: Mapping[str, Any]) -> bool:
    """Whether rounding changes nothing there but the last digits."""
    rng = np.random.default_rng(problem.seed)

    def disturb(row: Op, y: Any) -> Any:
        if not row.rounds or np.asarray(y).dtype.kind != "f":
            return y
        return y * (1 + SHAKEN * EPSILON * rng.uniform(-1, 1, np.shape(y)))

    with watched(disturb=disturb):
        shaken = trace(problem, point).values
    names = [part.name for part in programs(problem)]
    return all(
        _alike(right.values[n], shaken[n]) and _small(lost[n], right.values[n]) for n in names
    )


def _alike(a: Value, b: Value) -> bool:
    """The same kind of value: arrays of one shape, lists of one length, else the very same."""
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and a.shape == b.shape
    if isinstance(a, list):
        if not isinstance(b, list) or len(a) != len(b):
            return False
        return all(_alike(x, y) for x, y in zip(a, b, strict=True))
    return type(a) is type(b) and not isinstance(b, np.ndarray | list) and a == b


def _small(lost: Any, value: Value) -> bool:
    """Whether what is lost is little beside the numbers."""
    if isinstance(value, list):
        whole = isinstance(lost, list) and len(lost) == len(value)
        return whole and all(_small(x, y) for x, y in zip(lost, value, strict=True))
    if not isinstance(value, np.ndarray):
        return True
    return bool(np.all(lost <= FIRM * np.max(np.abs(value), initial=0.0)))
