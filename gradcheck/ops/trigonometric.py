"""Circular functions and their inverses, the school's secants included, and angles in degrees."""

import math
from typing import Any

import numpy as np
from flint import arb

from gradcheck.ops import domains
from gradcheck.ops.later import sympy, sympys
from gradcheck.ops.row import Composed, Interval, inf, op

HALF_TURN = np.pi / 2


def _inverse_square(a: Any, b: Any) -> Any:
    """1 / (a^2 + b^2), and 0 at the origin: PyTorch's convention."""
    square = a * a + b * b
    return np.where(np.equal(square, 0), 0.0, 1 / np.where(np.equal(square, 0), 1.0, square))


# The Taylor series of pi (t cos t - sin t) / t^2 in t = pi x: (-1)^k 2k / (2k + 1)! t^(2k - 1).
# For |t| < 1 the first term left out, of t^21, is below 1e-21.
SINC_SLOPE = tuple((-1) ** k * 2 * k / math.factorial(2 * k + 1) for k in range(1, 11))


def _sinc_slope(x: Any) -> Any:
    """(cos(pi x) - sinc(x)) / x; near 0, where that loses its digits, by its series."""
    t = np.pi * x
    near = np.less(np.absolute(t), 1)
    small, large = np.where(near, t, 0.0), np.where(near, 1.0, x)
    series = SINC_SLOPE[-1]
    for coefficient in SINC_SLOPE[-2::-1]:
        series = coefficient + series * small * small
    return np.where(near, np.pi * small * series, (np.cos(np.pi * large) - np.sinc(large)) / large)


def _over(a: Any, b: Any) -> Any:
    """Their quotient, and its limit 1 where b is 0."""
    return a / b if b != 0 else 1 + 0 * a


sin = op(
    np.sin,
    vjps=(lambda g, y, x: g * np.cos(x),),
    symbolic=sympys("sin"),
    ball=arb.sin,
    grad_fn="SinBackward0",
)

cos = op(
    np.cos,
    vjps=(lambda g, y, x: -g * np.sin(x),),
    symbolic=sympys("cos"),
    ball=arb.cos,
    grad_fn="CosBackward0",
)

tan = op(
    np.tan,
    vjps=(lambda g, y, x: g * (1 + y**2),),
    symbolic=sympys("tan"),
    ball=arb.tan,
    domain=Interval(-HALF_TURN, HALF_TURN),
    grad_fn="TanBackward0",
)

arcsin = op(
    np.arcsin,
    vjps=(lambda g, y, x: g / np.sqrt(1 - x**2),),
    symbolic=sympys("asin"),
    ball=arb.asin,
    domain=Interval(-1, 1),
    undefined=domains.outside_one,
    grad_fn="AsinBackward0",
    school=("asin",),
)

arccos = op(
    np.arccos,
    vjps=(lambda g, y, x: -g / np.sqrt(1 - x**2),),
    symbolic=sympys("acos"),
    ball=arb.acos,
    domain=Interval(-1, 1),
    undefined=domains.outside_one,
    grad_fn="AcosBackward0",
    school=("acos",),
)

arctan = op(
    np.arctan,
    vjps=(lambda g, y, x: g / (1 + x**2),),
    symbolic=sympys("atan"),
    ball=arb.atan,
    grad_fn="AtanBackward0",
    school=("atan",),
)

sec = op(
    lambda x: 1 / np.cos(x),
    name="sec",
    vjps=(lambda g, y, x: g * y * np.tan(x),),
    symbolic=sympys("sec"),
    ball=arb.sec,
    domain=Interval(-HALF_TURN, HALF_TURN),
)

csc = op(
    lambda x: 1 / np.sin(x),
    name="csc",
    vjps=(lambda g, y, x: -g * y / np.tan(x),),
    symbolic=sympys("csc"),
    ball=arb.csc,
    domain=Interval(0, np.pi),
    undefined=domains.zero,
)

cot = op(
    lambda x: 1 / np.tan(x),
    name="cot",
    vjps=(lambda g, y, x: -g * (1 + y**2),),
    symbolic=sympys("cot"),
    ball=arb.cot,
    domain=Interval(0, np.pi),
    undefined=domains.zero,
)

asec = op(
    lambda x: np.arccos(1 / x),
    name="asec",
    vjps=(lambda g, y, x: g / (np.absolute(x) * np.sqrt(x**2 - 1)),),
    symbolic=lambda x: sympy.acos(1 / x),
    ball=lambda x: (1 / x).acos(),
    domain=Interval(1, inf),
    undefined=domains.inside_one,
    school=("arcsec",),
)

acsc = op(
    lambda x: np.arcsin(1 / x),
    name="acsc",
    vjps=(lambda g, y, x: -g / (np.absolute(x) * np.sqrt(x**2 - 1)),),
    symbolic=lambda x: sympy.asin(1 / x),
    ball=lambda x: (1 / x).asin(),
    domain=Interval(1, inf),
    undefined=domains.inside_one,
    school=("arccsc",),
)

acot = op(
    lambda x: np.arctan2(1.0, x),
    name="acot",
    vjps=(lambda g, y, x: -g / (1 + x**2),),
    symbolic=lambda x: sympy.pi / 2 - sympy.atan(x),
    ball=lambda x: arb.pi() / 2 - x.atan(),
    school=("arccot",),
)

arctan2 = op(
    np.arctan2,
    vjps=(
        lambda g, y, a, b: g * b * _inverse_square(a, b),
        lambda g, y, a, b: -g * a * _inverse_square(a, b),
    ),
    symbolic=sympys("atan2"),
    ball=arb.atan2,
    domain=(Interval(-inf, inf), Interval(0, inf)),
    grad_fn="Atan2Backward0",
    school=("atan2",),
)

sinc = op(
    np.sinc,
    vjps=(lambda g, y, x: g * _sinc_slope(x),),
    symbolic=Composed(lambda x: _over(np.sin(np.radians(180 * x)), np.radians(180 * x))),
    ball=arb.sinc_pi,
    grad_fn="SincBackward0",
)

radians = op(
    np.radians,
    also=(np.deg2rad,),
    vjps=(lambda g, y, x: g * (np.pi / 180),),
    symbolic=lambda x: x * sympy.pi / 180,
    ball=lambda x: x * arb.pi() / 180,
    grad_fn="Deg2RadBackward0",
    school=("deg2rad",),
)

degrees = op(
    np.degrees,
    also=(np.rad2deg,),
    vjps=(lambda g, y, x: g * (180 / np.pi),),
    symbolic=lambda x: x * 180 / sympy.pi,
    ball=lambda x: x * 180 / arb.pi(),
    grad_fn="Rad2DegBackward0",
    school=("rad2deg",),
)
