"""What was understood of an answer, echoed as it would be typed."""

import math
from fractions import Fraction
from typing import Any

from gradcheck.answers import Entries, Formula, Numbers, Plain


def notes(read: Any) -> tuple[str, ...]:
    """How ambiguous spellings were read, each once."""
    formulas = read.formulas if isinstance(read, Entries) else (read,)
    said = (note for formula in formulas for note in getattr(formula, "notes", ()))
    return tuple(dict.fromkeys(said))


def understood(read: Formula | Numbers | Plain | Entries) -> str:
    """A formula in canonical spelling, numbers as decimals, anything else as it is."""
    if isinstance(read, Formula):
        return read.understood
    if isinstance(read, Entries):
        return _nested([f.understood for f in read.formulas], read.shape)
    if isinstance(read, Numbers):
        return _nested([_decimal(value) for value in read.values], read.shape)
    return str(read.value)


def _nested(entries: list[str], shape: tuple[int, ...]) -> str:
    """Entries in brackets, as a list is typed; of many the shape."""
    if not shape:
        return entries[0]
    if len(entries) > 64:
        return f"numbers of the shape {shape}"
    step = len(entries) // shape[0] if shape[0] else 0
    rows = (entries[k * step : (k + 1) * step] for k in range(shape[0]))
    return "[" + ", ".join(_nested(row, shape[1:]) for row in rows) + "]"


def _decimal(value: Fraction) -> str:
    return str(value.numerator) if value.denominator == 1 else repr(nearest(value))


def nearest(value: Fraction) -> float:
    """The nearest float; an infinity beyond them all."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
