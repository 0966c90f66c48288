"""Lines through a point of a program in plain floats: along a direction, along one entry."""

import math
from collections.abc import Callable

import numpy as np

from gradcheck.opinions.limits import WIDTH
from gradcheck.opinions.opinion import Case, Draws, contract, unit
from gradcheck.values import Array, Numbers, Params

Function = Callable[[float], float]


def move_along(case: Case, along: Params) -> Callable[[float], Numbers]:
    """The value as a function of a step along a direction.

    The moved inputs lie in the same memory at every step, or large ones would cost time.
    """
    inputs = case.floats()
    lines = [(u, inputs[name], np.empty(u.shape)) for name, u in along.items()]
    inputs |= {name: moved for name, (_, _, moved) in zip(along, lines, strict=True)}

    def at(step: float) -> Numbers:
        for u, still, moved in lines:
            np.multiply(u, step, out=moved)
            np.add(moved, still, out=moved)
        return case.function("float", inputs)

    return at


def on_line(case: Case, along: Params, origin: float = 0.0) -> Function:
    """The contracted value as a function of a step along a direction, counted from `origin`."""
    value = move_along(case, along)

    def at(step: float) -> float:
        with np.errstate(all="ignore"):
            return sum_up(value(step - origin), case.cotangent)

    return at


def on_entry(case: Case, name: str, index: tuple[int, ...]) -> tuple[Function, float]:
    """The contracted value as a function of one entry of an input, and where that entry stands."""
    at = float(np.asarray(case.inputs[name])[index])
    return on_line(case, {name: unit(case.inputs[name], index)}, at), at


def sum_up(value: Numbers, cotangent: Array | None) -> float:
    if cotangent is None and isinstance(value, float):  # NumPy's own are floats too
        return float(value)
    return float(np.asarray(contract(value, cotangent)).item())


def draw_directions(case: Case, count: int) -> dict[str, Array]:
    """Signed random directions through all wrt inputs: even draws of each one's size.

    So many of each input's shape, one behind the other.
    """
    rows, start = Draws(case.seed + 1).even((count, case.size())), 0
    found = {}
    for name in case.wrt:
        values = np.asarray(case.inputs[name])
        stop = start + values.size
        drawn = rows[:, start:stop] * (WIDTH * size_of(values))
        found[name], start = drawn.reshape(count, *values.shape), stop
    return found


def size_of(values: Array) -> float:
    """The root mean square of an array's entries; 1 where they are all zero."""
    row = np.asarray(values, dtype=np.float64).reshape(-1)
    return math.sqrt((row @ row) / max(len(row), 1)) or 1.0
