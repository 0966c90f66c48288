"""How much an answer says: unique needs two numbers or three digits, two mistakes twice that.

One number alone, typed for one point, never carries a unique name: of a hundred mistakes some give
12, and a few give 12.4.
"""

from decimal import Decimal
from typing import Any

import numpy as np

from gradcheck.diagnosis.closeness import RELATIVE
from gradcheck.diagnosis.tables import Given

NUMBERS, DIGITS = 2, 3


def carries(wanted: Given, mistakes: int = 1) -> bool:
    """Whether an answer is evidence enough for so many mistakes."""
    typed = numbers(wanted)
    digits = sum(_digits(a) for a in typed)
    return len(typed) >= NUMBERS * mistakes or digits >= DIGITS * mistakes


def is_single(wanted: Given) -> bool:
    """Whether an answer is one number, at one point or everywhere."""
    return len(numbers(wanted)) < NUMBERS


def is_monomial(wanted: Given, x: Any) -> bool:
    """Whether an answer is c x^p at all points: two numbers, which never carry two mistakes."""
    a = wanted.flat[:, 0]
    if wanted.shape or len(x) != len(a) or x.ndim > 1 or len(a) < NUMBERS + 1:
        return False
    with np.errstate(all="ignore"):
        steps = np.diff(np.log(np.abs(a))), np.diff(np.log(np.abs(x)))
    powers = steps[0] / steps[1]
    return bool(np.ptp(powers) <= RELATIVE * (1 + np.max(np.abs(powers))))


def numbers(wanted: Given) -> list[float]:
    """The different numbers of an answer that are not zero; of a constant there is one."""
    return list({f"{a:.10g}": float(a) for a in wanted.flat.flat if a}.values())


def _digits(a: float) -> int:
    """How many digits a number was typed with; a formula's float has them all."""
    short = float(f"{a:.9g}")
    known = short if abs(short - a) <= RELATIVE * abs(a) else a
    return len(Decimal(repr(known)).normalize().as_tuple().digits)
