"""Numbers as they are written, in nested lists, as arrays of exact fractions."""

from fractions import Fraction
from typing import Any

import numpy as np

from gradcheck.opinions.opinion import Array


def exact_array(value: Any) -> Array | None:
    """Nested lists of numbers as an object array of Fractions; None if ragged, or no numbers."""
    shape = _shape(value)
    if shape is None:
        return None
    out = np.empty(shape, dtype=object)
    for index in np.ndindex(shape):
        entry: Any = value
        for k in index:
            entry = entry[k]
        out[index] = exact_number(entry)
    return out


def _shape(value: Any) -> tuple[int, ...] | None:
    """The shape of nested lists of numbers; None where they are ragged or hold anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | list):
        return None
    if not isinstance(value, list):
        return ()
    shapes = {_shape(entry) for entry in value}
    if len(shapes) > 1 or None in shapes:
        return None
    inner = next(iter(shapes), ())
    return (len(value), *(inner or ()))


def exact_number(value: Any) -> Fraction:
    """One tenth for 0.1: the number that was written, not the float nearest to it."""
    if hasattr(value, "exact"):
        return Fraction(value.exact)
    return Fraction(repr(value) if isinstance(value, float) else value)
