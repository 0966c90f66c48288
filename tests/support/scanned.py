"""Functions of floats whose derivative is known, from the well-behaved to the hopeless."""

import hashlib
import math
import struct
from collections.abc import Callable
from dataclasses import dataclass

import mpmath
import numpy as np
from mpmath import mp, mpf

from gradcheck.opinions.floats.quick import Seen
from gradcheck.opinions.floats.scan import Scanned

Function = Callable[[float], float]
Truth = Callable[[mpf], mpf] | float | None


@dataclass(frozen=True)
class Case:
    """A function at a point: the kind to be found there and the derivative to be covered."""

    name: str
    f: Function
    x: float
    kind: str
    truth: Truth = None


@dataclass(frozen=True)
class Broken:
    """A function at a point without derivative: the one-sided ones and words of the detail."""

    name: str
    f: Function
    x: float
    kind: str
    left: float
    right: float
    says: str


def relu(x: float) -> float:
    """The positive part."""
    return max(x, 0.0)


def gelu(x: float) -> float:
    """Gelu as it is usually written, with all digits lost far to the left."""
    return 0.5 * x * (1 + math.erf(x / math.sqrt(2)))


def gelu_slope(x: mpf) -> mpf:
    """Gelu's derivative: the normal distribution plus x times its density."""
    return mpmath.ncdf(x) + x * mpmath.npdf(x)


def naive_softplus(x: float) -> float:
    """Softplus that absorbs its exponential in 1."""
    return math.log(1 + math.exp(x))


def sigmoid(x: mpf) -> mpf:
    """Softplus's derivative."""
    return 1 / (1 + mpmath.exp(-x))


def versine(x: float) -> float:
    """(1 - cos x)/x², which cancels."""
    return (1 - math.cos(x)) / x**2


def versine_slope(x: mpf) -> mpf:
    """Derivative of (1 - cos x)/x² by the quotient rule."""
    return mpmath.sin(x) / x**2 - 2 * (1 - mpmath.cos(x)) / x**3


def noisy(size: float) -> Function:
    """The sine with uniform noise that depends on every bit of x."""

    def f(x: float) -> float:
        digest = hashlib.md5(struct.pack("d", x)).digest()
        return math.sin(x) + size * (int.from_bytes(digest[:4], "little") / 2**31 - 1)

    return f


def shifted_cosine(x: mpf) -> mpf:
    """Derivative of sin(x + 1e8)."""
    return mpmath.cos(x + 10**8)


def runge_slope(x: mpf) -> mpf:
    """Derivative of 1/(1 + 25 x²)."""
    return -50 * x / (1 + 25 * x * x) ** 2


def swinging(speed: float) -> Function:
    """X sin(log |x|), whose secants at 0 swing for ever."""
    return lambda x: x * math.sin(speed * math.log(abs(x))) if x else 0.0


def wave(frequency: float) -> Function:
    """A sine of that frequency."""
    return lambda x: math.sin(frequency * x)


def wave_slope(frequency: float) -> Callable[[mpf], mpf]:
    """Its derivative."""
    return lambda x: frequency * mpmath.cos(frequency * x)


SMOOTH = [
    Case("sine", math.sin, 1.0, "smooth", mpmath.cos),
    Case("cosine at its top", math.cos, 0.0, "smooth", 0.0),
    Case("constant", lambda x: 3.0, 1.0, "smooth", 0.0),
    Case("zero", lambda x: 0.0, 2.0, "smooth", 0.0),
    Case("abs beside its kink", abs, 1e-9, "smooth", 1.0),
    Case("relu", relu, 0.3, "smooth", 1.0),
    Case("relu just off", relu, -1e-9, "smooth", 0.0),
    Case("x|x|", lambda x: x * abs(x), 0.0, "smooth", 0.0),
    Case("|x|^1.5", lambda x: abs(x) ** 1.5, 0.0, "smooth", 0.0),
    Case("relu^1.5", lambda x: relu(x) ** 1.5, 0.0, "smooth", 0.0),
    Case("sqrt near its edge", math.sqrt, 1e-8, "smooth", lambda x: 1 / (2 * mpmath.sqrt(x))),
    Case("log near its pole", math.log, 1e-10, "smooth", lambda x: 1 / x),
    Case("log beside its pole", math.log, 1e-300, "smooth", lambda x: 1 / x),
    Case("log", math.log, 0.3, "smooth", lambda x: 1 / x),
    Case("1/x near its pole", lambda x: 1 / x, 1e-6, "smooth", lambda x: -1 / x**2),
    Case("1/x", lambda x: 1 / x, 0.4, "smooth", lambda x: -1 / x**2),
    Case("steep exp", lambda x: math.exp(100 * x), 1.0, "smooth", 100 * mpmath.exp(mpf(100))),
    Case("fast sine", wave(1e6), 1.0, "smooth", wave_slope(1e6)),
    Case("faster sine", wave(1e12), 1.0, "smooth", wave_slope(1e12)),
    Case("x^x near 0", lambda x: x**x, 1e-3, "smooth", lambda x: x**x * (mpmath.log(x) + 1)),
    Case("x^x", lambda x: x**x, 0.5, "smooth", lambda x: x**x * (mpmath.log(x) + 1)),
    Case("versine at 1e-4", versine, 1e-4, "smooth", versine_slope),
    Case("versine at 1e-2", versine, 1e-2, "smooth", versine_slope),
    Case("versine at 1e-3", versine, 1e-3, "smooth", versine_slope),
    Case("versine across 0", versine, -0.017675830842328266, "smooth", versine_slope),
    Case(
        "three digits cancel",
        lambda x: (math.exp(x) - 1) / x - 1 - x / 2,
        0.016809553285329966,
        "smooth",
        lambda x: mpmath.exp(x) / x - (mpmath.exp(x) - 1) / x**2 - mpf(1) / 2,
    ),
    Case(
        "round numbers",
        lambda x: math.cos(x + 1.5) - math.cos(1.5),
        0.0234375,
        "smooth",
        lambda x: -mpmath.sin(x + 1.5),
    ),
    Case("noise 1e-6", noisy(1e-6), 1.0, "smooth", mpmath.cos),
    Case("noise 1e-3", noisy(1e-3), 1.0, "smooth", mpmath.cos),
    Case("float32 inside", lambda x: float(np.sin(np.float32(x))), 1.0, "smooth", mpmath.cos),
    Case("float32 in a sum", lambda x: float(np.float32(x) + np.float32(99)), 0.7, "smooth", 1.0),
    Case("square at 1e10", lambda x: x * x, 1e10, "smooth", 2e10),
    Case("square at 1e20", lambda x: x * x, 1e20, "smooth", 2e20),
    Case("square at 1e-200", lambda x: x * x, 1e-200, "smooth", 2e-200),
    Case("identity at 1e300", lambda x: x, 1e300, "smooth", 1.0),
    Case("sine at 1e-300", math.sin, 1e-300, "smooth", 1.0),
    Case("sine at 1e10", math.sin, 1e10, "smooth", mpmath.cos),
    Case("tan near its pole", math.tan, math.pi / 2 - 1e-3, "smooth", lambda x: mpmath.sec(x) ** 2),
    Case("x² sin(1/x)", lambda x: x * x * math.sin(1 / x) if x else 0.0, 0.0, "smooth", 0.0),
    Case(
        "exp(-1/x²)",
        lambda x: math.exp(-1 / x**2),
        0.05,
        "smooth",
        lambda x: 2 / x**3 * mpmath.exp(-1 / x**2),
    ),
    Case(
        "Runge",
        lambda x: 1 / (1 + 25 * x * x),
        0.2,
        "smooth",
        runge_slope,
    ),
    Case(
        "narrow Runge",
        lambda x: 1 / (1 + 1e6 * x * x),
        1e-3,
        "smooth",
        lambda x: -2e6 * x / (1 + 1e6 * x * x) ** 2,
    ),
    Case("softplus", lambda x: math.log1p(math.exp(x)), -40.0, "smooth", sigmoid),
    Case("large offset", lambda x: 1e8 + x * x, 1.0, "smooth", 2.0),
    Case(
        "ripples",
        lambda x: x * x * (1 + math.sin(1e9 * x) / 128),
        2.0,
        "smooth",
        lambda x: 2 * x * (1 + mpmath.sin(1e9 * x) / 128) + x * x * 1e9 * mpmath.cos(1e9 * x) / 128,
    ),
    Case("floor between steps", math.floor, 0.5, "smooth", 0.0),
    Case("sawtooth", lambda x: x - math.floor(x), 0.5, "smooth", 1.0),
    Case("beside a jump", lambda x: x * x + 1 if x > 0 else x, 1e-3, "smooth", lambda x: 2 * x),
    Case("subnormal values", math.exp, -740.0, "smooth", mpmath.exp),
    Case(
        "rounded argument",
        lambda x: math.sin(x + 1e8),
        1.0,
        "smooth",
        lambda x: mpmath.cos(x + 1e8),
    ),
    Case("eighth power", lambda x: x**8, 0.0, "smooth", 0.0),
    Case("cancels at 0", lambda x: (1 - math.cos(x)) / x if x else 0.0, 0.0, "smooth", 0.5),
    Case(
        "edge of the circle",
        lambda x: math.sqrt(1 - x * x),
        1 - 1e-9,
        "smooth",
        lambda x: -x / mpmath.sqrt(1 - x * x),
    ),
    Case("x^1.5 at its edge", lambda x: x**1.5, 0.0, "one-sided", 0.0),
    Case("asin squared at its edge", lambda x: math.sqrt(1 - x) ** 3, 1.0, "one-sided", 0.0),
]

SMOOTH += [
    Case("product by logs", lambda x: math.exp(math.log(x) - 90), 1e-19, "smooth", math.exp(-90)),
    Case(
        "f(x) alone is off", lambda x: math.sin(x) + 1e-14 * (x == 1.0), 1.0, "smooth", mpmath.cos
    ),
]
LOST = [
    *(Case(f"gelu at {x}", gelu, x, "", gelu_slope) for x in (-6.0, -7.5, -8.0, -8.2, -8.3)),
    *(Case(f"gelu at {x}", gelu, x, "", gelu_slope) for x in (-8.5, -9.0, -12.0, -29.5, -40.0)),
    *(Case(f"softplus at {x}", naive_softplus, x, "", sigmoid) for x in (-20.0, -30.0, -35.0)),
    *(Case(f"softplus at {x}", naive_softplus, x, "", sigmoid) for x in (-37.0, -80.0, -300.0)),
    *(Case(f"versine at {x}", versine, x, "", versine_slope) for x in (1e-5, 1e-6, 1e-7, 1e-8)),
    Case("noise 1", noisy(1.0), 1.0, "", mpmath.cos),
    Case("half precision", lambda x: float(np.float16(x) ** 2), 0.7, "", lambda x: 2 * x),
    Case("near a kink", lambda x: relu(x - 1), 1 + 1e-14, "", 1.0),
]

BROKEN = [
    Broken("abs", abs, 0.0, "kink", -1.0, 1.0, "slope -1 to the left, 1 to the right"),
    Broken("relu", relu, 0.0, "kink", 0.0, 1.0, "slope 0 to the left, 1 to the right"),
    Broken("leaky relu", lambda x: max(x, 0.25 * x), 0.0, "kink", 0.25, 1.0, "slope 0.25"),
    Broken("max(x, x²)", lambda x: max(x, x * x), 1.0, "kink", 1.0, 2.0, "2 to the right"),
    Broken("a kink on a slope", lambda x: 100 * x + abs(x), 0.0, "kink", 99.0, 101.0, "slope 99"),
    Broken("step", lambda x: float(x > 0), 0.0, "jump", 0.0, math.nan, "f(x+0) - f(x) = 1"),
    Broken("floor", math.floor, 1.0, "jump", math.nan, 0.0, "f(x-0) - f(x) = -1"),
    Broken("sign", np.sign, 0.0, "jump", math.nan, math.nan, "f(x-0) - f(x) = -1; f(x+0)"),
    Broken("sqrt", math.sqrt, 0.0, "vertical", math.nan, math.inf, "f(x+h) - f(x) ~ h^0.500"),
    Broken("cbrt", np.cbrt, 0.0, "vertical", math.inf, math.inf, "f(x+h) - f(x) ~ h^0.333"),
    Broken("cusp", lambda x: abs(x) ** 0.99, 0.0, "vertical", -math.inf, math.inf, "~ h^0.990"),
    Broken(
        "x log x",
        lambda x: x * math.log(x) if x else 0.0,
        0.0,
        "vertical",
        math.nan,
        -math.inf,
        "f(x+h) - f(x) ~ h^0.9",
    ),
    Broken("acos", math.acos, 1.0, "vertical", -math.inf, math.nan, "f(x-h) - f(x) ~ h^0.500"),
    Broken("pole", lambda x: 1 / x, 0.0, "undefined", math.nan, math.nan, "f(x) is not"),
    Broken("outside", math.log, -1.0, "undefined", math.nan, math.nan, "f(x) is not"),
    Broken("complex", lambda x: (x - 2) ** 0.5, 1.0, "undefined", math.nan, math.nan, "f(x)"),  # type: ignore[arg-type, return-value]
    Broken(
        "one point",
        lambda x: 1.0 if x == 2 else math.nan,
        2.0,
        "undefined",
        math.nan,
        math.nan,
        "side",
    ),
    Broken("not a point", math.sin, math.nan, "undefined", math.nan, math.nan, "f(x) is not"),
]


def true_slope(truth: Truth, x: float) -> mpf:
    """The truth of a case in 60 digits."""
    with mp.workdps(60):
        return truth(mpf(x)) if callable(truth) else mpf(truth)


def covered(slope: Scanned | Seen, truth: mpf) -> bool:
    """Whether the bar reaches the truth."""
    with mp.workdps(60):
        return bool(abs(mpf(slope.value) - truth) <= slope.error)


def named(case: Case | Broken) -> str:
    """The name pytest shows for a case."""
    return case.name
