"""Functions of floats whose derivative is known, from the well-behaved to the hopeless."""

import hashlib
import math
import struct
from collections.abc import Callable
from typing import Any, NamedTuple

import mpmath
import numpy as np
from mpmath import mp, mpf

from gradcheck.opinions.floats.scan import Scanned

Function = Callable[[float], Any]
Truth = Callable[[mpf], mpf] | float
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
    """The normal distribution plus x times its density."""
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
    """By the quotient rule."""
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


SMOOTH = [
    Case("sine", math.sin, 1.0, mpmath.cos),
    Case("constant", lambda x: 3.0, 1.0, 0.0),
    Case("abs beside its kink", abs, 1e-9, 1.0),
    Case("relu just off", relu, -1e-9, 0.0),
    Case("x|x|", lambda x: x * abs(x), 0.0, 0.0),
    Case("|x|^1.5", lambda x: abs(x) ** 1.5, 0.0, 0.0),
    Case("relu^1.5", lambda x: relu(x) ** 1.5, 0.0, 0.0),
    Case("sqrt near its edge", math.sqrt, 1e-8, lambda x: 1 / (2 * mpmath.sqrt(x))),
    Case("log near its pole", math.log, 1e-10, inverse),
    Case("log beside its pole", math.log, 1e-300, inverse),
    Case("log", math.log, 0.3, inverse),
    Case("1/x near its pole", lambda x: 1 / x, 1e-6, lambda x: -1 / x**2),
    Case("steep exp", lambda x: math.exp(100 * x), 1.0, 100 * mpmath.exp(mpf(100))),
    Case("fast sine", lambda x: math.sin(1e6 * x), 1.0, lambda x: 1e6 * mpmath.cos(1e6 * x)),
    Case("faster sine", lambda x: math.sin(1e12 * x), 1.0, lambda x: 1e12 * mpmath.cos(1e12 * x)),
    Case("x^x near 0", lambda x: x**x, 1e-3, power_of_itself),
    Case("versine at 1e-4", versine, 1e-4, versine_slope),
    Case("versine at 1e-2", versine, 1e-2, versine_slope),
    Case("versine across 0", versine, -0.017675830842328266, versine_slope),
    Case("three digits cancel", lambda x: (math.exp(x) - 1) / x - 1 - x / 2, 0.016809553285329966,
         lambda x: mpmath.exp(x) / x - (mpmath.exp(x) - 1) / x**2 - mpf(1) / 2),
    Case("round numbers", lambda x: math.cos(x + 1.5) - math.cos(1.5), 0.0234375,
         lambda x: -mpmath.sin(x + 1.5)),
    Case("noise 1e-6", noisy(1e-6), 1.0, mpmath.cos),
    Case("noise 1e-3", noisy(1e-3), 1.0, mpmath.cos),
    Case("float32 inside", lambda x: float(np.sin(np.float32(x))), 1.0, mpmath.cos),
    Case("float32 in a sum", lambda x: float(np.float32(x) + np.float32(99)), 0.7, 1.0),
    Case("square at 1e20", lambda x: x * x, 1e20, 2e20),
    Case("square at 1e-200", lambda x: x * x, 1e-200, 2e-200),
    Case("identity at 1e300", lambda x: x, 1e300, 1.0),
    Case("sine at 1e-300", math.sin, 1e-300, 1.0),
    Case("sine at 1e10", math.sin, 1e10, mpmath.cos),
    Case("tan near its pole", math.tan, math.pi / 2 - 1e-3, lambda x: mpmath.sec(x) ** 2),
    Case("x² sin(1/x)", lambda x: x * x * math.sin(1 / x) if x else 0.0, 0.0, 0.0),
    Case("exp(-1/x²)", lambda x: math.exp(-1 / x**2), 0.05,
         lambda x: 2 / x**3 * mpmath.exp(-1 / x**2)),
    Case("narrow Runge", lambda x: 1 / (1 + 1e6 * x * x), 1e-3,
         lambda x: -2e6 * x / (1 + 1e6 * x * x) ** 2),
    Case("softplus", lambda x: math.log1p(math.exp(x)), -40.0, sigmoid),
    Case("large offset", lambda x: 1e8 + x * x, 1.0, 2.0),
    Case("ripples", lambda x: x * x * (1 + math.sin(1e9 * x) / 128), 2.0,
         lambda x: 2 * x * (1 + mpmath.sin(1e9 * x) / 128) + x * x * 1e9 * mpmath.cos(1e9 * x) / 128
         ),
    Case("floor between steps", math.floor, 0.5, 0.0),
    Case("beside a jump", lambda x: x * x + 1 if x > 0 else x, 1e-3, lambda x: 2 * x),
    Case("subnormal values", math.exp, -740.0, mpmath.exp),
    Case("rounded argument", lambda x: math.sin(x + 1e8), 1.0, lambda x: mpmath.cos(x + 1e8)),
    Case("eighth power", lambda x: x**8, 0.0, 0.0),
    Case("cancels at 0", lambda x: (1 - math.cos(x)) / x if x else 0.0, 0.0, 0.5),
    Case("edge of the circle", lambda x: math.sqrt(1 - x * x), 1 - 1e-9,
         lambda x: -x / mpmath.sqrt(1 - x * x)),
    Case("product by logs", lambda x: math.exp(math.log(x) - 90), 1e-19, math.exp(-90)),
    Case("f(x) alone is off", lambda x: math.sin(x) + 1e-14 * (x == 1.0), 1.0, mpmath.cos),
    Case("x^1.5 at its edge", lambda x: x**1.5, 0.0, 0.0, "one-sided"),
    Case("asin squared at its edge", lambda x: math.sqrt(1 - x) ** 3, 1.0, 0.0, "one-sided"),
]  # fmt: skip
LOST = [
    *(Case(f"gelu at {x}", gelu, x, gelu_slope) for x in (-6.0, -8.0, -8.3, -9.0, -29.5)),
    *(Case(f"softplus at {x}", softplus, x, sigmoid) for x in (-20.0, -35.0, -37.0, -300.0)),
    *(Case(f"versine at {x}", versine, x, versine_slope) for x in (1e-5, 1e-6, 1e-7, 1e-8)),
    Case("noise 1", noisy(1.0), 1.0, mpmath.cos),
    Case("half precision", lambda x: float(np.float16(x) ** 2), 0.7, lambda x: 2 * x),
    Case("near a kink", lambda x: relu(x - 1), 1 + 1e-14, 1.0),
]
BROKEN = [
    Broken("abs", abs, 0.0, "kink", -1.0, 1.0, "slope -1 to the left, 1 to the right"),
    Broken("relu", relu, 0.0, "kink", 0.0, 1.0, "slope 0 to the left, 1 to the right"),
    Broken("max(x, x²)", lambda x: max(x, x * x), 1.0, "kink", 1.0, 2.0, "2 to the right"),
    Broken("a kink on a slope", lambda x: 100 * x + abs(x), 0.0, "kink", 99.0, 101.0, "slope 99"),
    Broken("step", lambda x: float(x > 0), 0.0, "jump", 0.0, NAN, "f(x+0) - f(x) = 1"),
    Broken("floor", math.floor, 1.0, "jump", NAN, 0.0, "f(x-0) - f(x) = -1"),
    Broken("sign", np.sign, 0.0, "jump", NAN, NAN, "f(x-0) - f(x) = -1; f(x+0)"),
    Broken("sqrt", math.sqrt, 0.0, "vertical", NAN, INF, "f(x+h) - f(x) ~ h^0.500"),
    Broken("cbrt", np.cbrt, 0.0, "vertical", INF, INF, "f(x+h) - f(x) ~ h^0.333"),
    Broken("cusp", lambda x: abs(x) ** 0.99, 0.0, "vertical", -INF, INF, "~ h^0.990"),
    Broken("x log x", lambda x: x * math.log(x) if x else 0.0, 0.0, "vertical", NAN, -INF,
           "f(x+h) - f(x) ~ h^0.9"),
    Broken("acos", math.acos, 1.0, "vertical", -INF, NAN, "f(x-h) - f(x) ~ h^0.500"),
    Broken("pole", lambda x: 1 / x, 0.0, "undefined"),
    Broken("outside", math.log, -1.0, "undefined"),
    Broken("complex", lambda x: (x - 2) ** 0.5, 1.0, "undefined"),
    Broken("one point", lambda x: 1.0 if x == 2 else NAN, 2.0, "undefined", says="side"),
    Broken("not a point", math.sin, NAN, "undefined"),
]  # fmt: skip


def true_slope(truth: Truth, x: float) -> mpf:
    """The truth of a case in 60 digits."""
    with mp.workdps(60):
        return truth(mpf(x)) if callable(truth) else mpf(truth)


def covered(slope: Scanned, truth: mpf) -> bool:
    """Whether the bar reaches the truth."""
    with mp.workdps(60):
        return bool(abs(mpf(slope.value) - truth) <= slope.error)


def named(case: Case | Broken) -> str:
    """The name pytest shows for a case."""
    return case.name
