"""Lines through a point of a program in plain floats: along a direction, along one entry."""

import math
from collections.abc import Callable
from functools import cache

import numpy as np

from gradcheck.opinions.limits import GOLDEN, ROW, WIDTH
from gradcheck.opinions.opinion import Case, contract, unit
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
    rows, start, found = _draw_even(case.seed + 1, (count, case.size())), 0, {}
    for name in case.wrt:
        values = np.asarray(case.inputs[name])
        stop = start + values.size
        drawn = rows[:, start:stop] * (WIDTH * size_of(values))
        found[name], start = drawn.reshape(count, *values.shape), stop
    return found


def _draw_even(seed: int, shape: tuple[int, int]) -> Array:
    """Numbers between -1/2 and 1/2: a stretch of a long row of draws where that holds so many."""
    count, row = math.prod(shape), _draw_even_row()
    if count > len(row):
        return np.random.default_rng(seed).random(shape) - 0.5
    start = int(seed * GOLDEN % 1 * (len(row) - count))
    return row[start : start + count].reshape(shape)


@cache
def _draw_even_row() -> Array:
    return np.random.default_rng(0).random(2 * ROW) - 0.5


def size_of(values: Array) -> float:
    """The root mean square of an array's entries; 1 where they are all zero."""
    row = np.asarray(values, dtype=np.float64).reshape(-1)
    return math.sqrt((row @ row) / max(len(row), 1)) or 1.0
