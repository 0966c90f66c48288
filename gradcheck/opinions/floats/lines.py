"""Lines through a point of a program in plain floats: along a direction, along one entry."""

from collections.abc import Callable, Mapping

import numpy as np

from gradcheck.opinions.limits import WIDTH
from gradcheck.opinions.opinion import Case, contract, unit
from gradcheck.values import Array, Numbers, Params

Along = Mapping[str, Array]
Function = Callable[[float], float]


def value_of(case: Case, inputs: Mapping[str, Array]) -> Numbers:
    with np.errstate(all="ignore"):
        return case.function("float", inputs)


def move_along(case: Case, along: Along) -> Callable[[float], Numbers]:
    """The value as a function of a step along a direction.

    The moved inputs lie in the same memory at every step, or large ones would cost time.
    """
    still = case.floats()
    moved = {name: np.empty(u.shape) for name, u in along.items()}
    inputs = {**still, **moved}

    def at(step: float) -> Numbers:
        for name, u in along.items():
            np.multiply(u, step, out=moved[name], dtype=np.float64)
            np.add(moved[name], still[name], out=moved[name])
        return value_of(case, inputs)

    return at


def on_line(case: Case, along: Along, origin: float = 0.0) -> Function:
    """The contracted value as a function of a step along a direction, counted from `origin`."""
    value = move_along(case, along)
    return lambda at: sum_up(value(at - origin), case.cotangent)


def on_entry(case: Case, name: str, index: tuple[int, ...]) -> tuple[Function, float]:
    """The contracted value as a function of one entry of an input, and where that entry stands."""
    at = float(np.asarray(case.inputs[name])[index])
    return on_line(case, {name: unit(case.inputs[name], index)}, at), at


def sum_up(value: Numbers, cotangent: Array | None) -> float:
    if cotangent is None and isinstance(value, float):  # NumPy's own are floats too
        return float(value)
    return float(np.asarray(contract(value, cotangent)).item())


def draw_directions(case: Case, count: int) -> Array:
    """Signed random directions through all wrt inputs, one a row: even draws of each one's size.

    In a row the inputs lie one behind the other (see `unflatten`).
    """
    sizes = {name: size_of(case.inputs[name]) for name in case.wrt}
    rng = np.random.default_rng(case.seed + 1)
    drawn: Array = rng.random((count, case.size())) - 0.5
    start = 0
    for name in case.wrt:
        stop = start + np.size(case.inputs[name])
        drawn[:, start:stop] *= WIDTH * sizes[name]
        start = stop
    return drawn


def unflatten(case: Case, row: Array) -> dict[str, Array]:
    """A direction as arrays of the wrt inputs' shapes, in the same memory."""
    found, start = {}, 0
    for name in case.wrt:
        stop = start + np.size(case.inputs[name])
        found[name] = row[start:stop].reshape(np.shape(case.inputs[name]))
        start = stop
    return found


def flatten(case: Case, arrays: Params) -> Array:
    return np.concatenate([np.asarray(arrays[name], np.float64).reshape(-1) for name in case.wrt])


def size_of(values: Array) -> float:
    """The root mean square of an array's entries; 1 where they are all zero."""
    row = np.asarray(values, dtype=np.float64).reshape(-1)
    return float(np.sqrt((row @ row) / max(len(row), 1))) or 1.0
