"""Functions of floats whose derivative is known, from the well-behaved to the hopeless."""

import hashlib
import math
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import mpmath
import numpy as np
from mpmath import mp, mpf

from gradcheck.opinions.floats.scan import Scanned

Function = Callable[[float], Any]
Truth = Callable[[mpf], Any]
NAN, INF = math.nan, math.inf


class Case(NamedTuple):
    """A function at a point, the derivative to be covered, and the kind to be found there."""

    name: str
    f: Function
    x: float
    truth: Truth
    kind: str = "smooth"


class Broken(NamedTuple):
    """A function at a point without derivative: the one-sided ones and words of the detail."""

    name: str
    f: Function
    x: float
    kind: str
    left: float = NAN
    right: float = NAN
    says: str = "f(x) is not"


def relu(x: float) -> float:
    return max(x, 0.0)


def gelu(x: float) -> float:
    """Gelu as it is usually written, with all digits lost far to the left."""
    return 0.5 * x * (1 + math.erf(x / math.sqrt(2)))


def gelu_slope(x: mpf) -> mpf:
    return mpmath.ncdf(x) + x * mpmath.npdf(x)


def softplus(x: float) -> float:
    """Softplus that absorbs its exponential in 1."""
    return math.log(1 + math.exp(x))


def sigmoid(x: mpf) -> mpf:
    return 1 / (1 + mpmath.exp(-x))


def versine(x: float) -> float:
    """(1 - cos x)/x², which cancels."""
    return (1 - math.cos(x)) / x**2


def versine_slope(x: mpf) -> mpf:
    return mpmath.sin(x) / x**2 - 2 * (1 - mpmath.cos(x)) / x**3


def noisy(size: float) -> Function:
    """The sine with uniform noise that depends on every bit of x."""

    def f(x: float) -> float:
        digest = hashlib.md5(struct.pack("d", x)).digest()
        return math.sin(x) + size * (int.from_bytes(digest[:4], "little") / 2**31 - 1)

    return f


def swinging(speed: float) -> Function:
    """X sin(log |x|), whose secants at 0 swing for ever."""
    return lambda x: x * math.sin(speed * math.log(abs(x))) if x else 0.0


def inverse(x: mpf) -> mpf:
    return 1 / x


def power_of_itself(x: mpf) -> mpf:
    return x**x * (mpmath.log(x) + 1)


def _rows(heading: str) -> list[list[str]]:
    text = Path(__file__).with_suffix(".txt").read_text().partition(f"## {heading}\n")[2]
    return [line.split(" ; ") for line in text.partition("\n\n")[0].splitlines()]


def _function(text: str) -> Callable[[Any], Any]:
    return eval(f"lambda x: {text}", {**globals(), "np": np})  # type: ignore[no-any-return]


def _cases(heading: str) -> list[Case]:
    return [
        Case(name, _function(f), eval(x), _function(truth), *kind)
        for name, f, x, truth, *kind in _rows(heading)
    ]


SMOOTH, LOST = _cases("SMOOTH"), _cases("LOST")
BROKEN = [
    Broken(name, _function(f), eval(x), kind, eval(left), eval(right), says)
    for name, f, x, kind, left, right, says in _rows("BROKEN")
]


def true_slope(truth: Truth, x: float) -> mpf:
    with mp.workdps(60):
        return mpf(truth(mpf(x)))


def covered(slope: Scanned, truth: mpf) -> bool:
    with mp.workdps(60):
        return bool(abs(mpf(slope.value) - truth) <= slope.error)


def named(case: Case | Broken) -> str:
    return case.name
