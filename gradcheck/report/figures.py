"""Numbers as people and programs read them."""

import math
from typing import Any

import numpy as np

from gradcheck.opinions.opinion import Estimate

SHOWN_ENTRIES = 6  # of an array that is written entry by entry: they fit on a line

WRITTEN_ENTRIES = 24  # of an array that is written as one


def plain(value: float, digits: int = 10) -> str:
    """A number in at most so many significant digits."""
    return "nan" if math.isnan(value) else f"{value:.{digits}g}"


def value_text(value: Any) -> str:
    """A value as it stands in a page, in four digits; of a large array the shape."""
    array = np.asarray(value)
    if array.size > WRITTEN_ENTRIES:
        return f"an array of the shape {array.shape}"
    numbers = np.array([float(entry) for entry in array.flat]).reshape(array.shape)
    if not array.shape:
        return plain(float(numbers))
    return np.array2string(numbers, precision=4, separator=", ")


def bar(error: float) -> str:
    """An error bar in one digit; a number that is exactly so has none."""
    if error < 1e-300:
        return "exact"
    return f"±{error:.0e}" if math.isfinite(error) else "±inf"


def nest(array: Any) -> Any:
    """Nested lists for JSON; numbers that are not finite become null."""
    array = np.asarray(array)
    if array.ndim:
        return [nest(entry) for entry in array]
    number = float(array)
    return number if math.isfinite(number) else None


def nest_text(array: Any) -> Any:
    """Nested lists of strings (closed forms), a single string for a scalar."""
    if array is None:
        return None
    array = np.asarray(array, dtype=object)
    if array.ndim:
        return [nest_text(entry) for entry in array]
    from gradcheck.numbers.closed import spell  # noqa: PLC0415 - SymPy is slow to load

    return spell(array.item())


def numbers(estimate: Estimate) -> dict[str, Any]:
    """`{"value": ..., "error": ...}`, the error the largest of all entries."""
    error = float(np.max(estimate.error, initial=0.0))
    return {"value": nest(estimate.value), "error": error if math.isfinite(error) else None}


def pluralize(number: int, noun: str) -> str:
    """`1 problem`, `1,200 problems`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
