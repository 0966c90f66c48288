"""Lines through a point of a program: along a direction, along one entry, in plain floats."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gradcheck.opinions.opinion import Array, Case, NotScalar, contracted

Along = Mapping[str, Array]


def value_of(case: Case, inputs: Mapping[str, Array]) -> Any:
    """The value on floats, without warnings."""
    with np.errstate(all="ignore"):
        return case.function("float", inputs)


def line(case: Case, along: Along) -> Callable[[float], float]:
    """The contracted value as a function of a step along a direction."""
    value = moving(case, along)

    def at(step: float) -> float:
        out = contracted(value(step), case.cotangent)
        if np.size(out) != 1:
            raise NotScalar(f"the value has the shape {np.shape(out)}; a cotangent is needed")
        return float(np.asarray(out).item())

    return at


def moving(case: Case, along: Along) -> Callable[[float], Any]:
    """The value as a function of a step along a direction.

    The moved inputs lie in the same memory at every step, or large ones would cost time.
    """
    moves = {
        name: (np.asarray(case.inputs[name], dtype=np.float64), u, np.empty(u.shape))
        for name, u in along.items()
    }
    inputs = {
        name: moves[name][-1] if name in moves else np.array(values, dtype=np.float64)
        for name, values in case.inputs.items()
    }

    def at(step: float) -> Any:
        for still, u, moved in moves.values():
            np.multiply(u, step, out=moved, dtype=np.float64)
            np.add(moved, still, out=moved)
        return value_of(case, inputs)

    return at


def of_entry(
    case: Case, name: str, index: tuple[int, ...]
) -> tuple[Callable[[float], float], float]:
    """The contracted value as a function of one entry of an input, and where that entry stands."""
    values = np.asarray(case.inputs[name])
    unit = np.zeros(values.shape)
    unit[index] = 1.0
    at = float(values[index])
    return _shifted(line(case, {name: unit}), at), at


def _shifted(along: Callable[[float], float], x: float) -> Callable[[float], float]:
    """The same function in terms of the entry itself."""
    return lambda at: along(at - x)
