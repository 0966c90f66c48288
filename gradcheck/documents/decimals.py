"""Decimal numbers as they were written: 0.1 in a text is one tenth for every kind of number."""

import math
import re
from fractions import Fraction

from gradcheck.errors import TYPED_EXPONENT

DIGITS = 40
DECIMAL = re.compile(r"[-+]?(\d*)\.?(\d*)(?:[eE]([-+]?\d+))?", re.ASCII)


class WrittenFloat(float):
    """A float64 that keeps the decimal number it was written as."""

    __slots__ = ("written",)
    written: str

    def __new__(cls, written: str) -> "WrittenFloat":
        """The float64 nearest to what is written; ValueError says why it is refused."""
        nearest = super().__new__(cls, check_decimal(written))
        nearest.written = written
        return nearest

    @property
    def exact(self) -> Fraction:
        return Fraction(self.written)

    def __getnewargs__(self) -> tuple[str]:  # type: ignore[override]  # float's own names a float
        """What `copy` and `pickle` make it from."""
        return (self.written,)


def read_decimal(text: str) -> Fraction:
    """The exact value of `12`, `.5`, `1_000` or `2.5e-3`; ValueError says why it is refused."""
    written = text.replace("_", "")
    check_decimal(written)
    return Fraction(written)


def check_decimal(written: str) -> float:
    """The float64 nearest to a decimal number that has sane digits, exponent and size."""
    parts = DECIMAL.fullmatch(written)
    if not parts or not (parts[1] or parts[2]):
        raise ValueError(f"`{written[:DIGITS]}` is not a decimal number")
    check_digits(parts[1] + parts[2])
    if parts[3] and (len(parts[3]) > 8 or abs(int(parts[3])) > TYPED_EXPONENT):
        raise ValueError(f"an exponent beyond {TYPED_EXPONENT}")
    nearest = float(written)
    if math.isinf(nearest):
        raise ValueError("a number too large for float64 (about 1.8e308)")
    if nearest == 0 and (parts[1] + parts[2]).strip("0"):
        raise ValueError("a number too small for float64 (about 5e-324)")
    return nearest


def check_digits(digits: str) -> None:
    if len(digits) > DIGITS:
        raise ValueError(f"a number with {len(digits)} digits, at most {DIGITS}")
