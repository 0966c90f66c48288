"""Circular and hyperbolic functions and their inverses, the school's secants included."""

import numpy as np
import sympy
from flint import arb

from gradcheck.ops.row import Interval, inf, op

HALF_TURN = np.pi / 2

sin = op(
    np.sin,
    vjps=(lambda g, y, x: g * np.cos(x),),
    symbolic=sympy.sin,
    ball=arb.sin,
    grad_fn="SinBackward0",
)

cos = op(
    np.cos,
    vjps=(lambda g, y, x: -g * np.sin(x),),
    symbolic=sympy.cos,
    ball=arb.cos,
    grad_fn="CosBackward0",
)

tan = op(
    np.tan,
    vjps=(lambda g, y, x: g * (1 + y**2),),
    symbolic=sympy.tan,
    ball=arb.tan,
    domain=Interval(-HALF_TURN, HALF_TURN),
    grad_fn="TanBackward0",
)

arcsin = op(
    np.arcsin,
    vjps=(lambda g, y, x: g / np.sqrt(1 - x**2),),
    symbolic=sympy.asin,
    ball=arb.asin,
    domain=Interval(-1, 1),
    grad_fn="AsinBackward0",
    school=("asin",),
)

arccos = op(
    np.arccos,
    vjps=(lambda g, y, x: -g / np.sqrt(1 - x**2),),
    symbolic=sympy.acos,
    ball=arb.acos,
    domain=Interval(-1, 1),
    grad_fn="AcosBackward0",
    school=("acos",),
)

arctan = op(
    np.arctan,
    vjps=(lambda g, y, x: g / (1 + x**2),),
    symbolic=sympy.atan,
    ball=arb.atan,
    grad_fn="AtanBackward0",
    school=("atan",),
)

sinh = op(
    np.sinh,
    vjps=(lambda g, y, x: g * np.cosh(x),),
    symbolic=sympy.sinh,
    ball=arb.sinh,
    grad_fn="SinhBackward0",
)

cosh = op(
    np.cosh,
    vjps=(lambda g, y, x: g * np.sinh(x),),
    symbolic=sympy.cosh,
    ball=arb.cosh,
    grad_fn="CoshBackward0",
)

tanh = op(
    np.tanh,
    vjps=(lambda g, y, x: g * (1 - y**2),),
    symbolic=sympy.tanh,
    ball=arb.tanh,
    grad_fn="TanhBackward0",
)

arcsinh = op(
    np.arcsinh,
    vjps=(lambda g, y, x: g / np.sqrt(x**2 + 1),),
    symbolic=sympy.asinh,
    ball=arb.asinh,
    grad_fn="AsinhBackward0",
    school=("asinh",),
)

arccosh = op(
    np.arccosh,
    vjps=(lambda g, y, x: g / np.sqrt(x**2 - 1),),
    symbolic=sympy.acosh,
    ball=arb.acosh,
    domain=Interval(1, inf),
    grad_fn="AcoshBackward0",
    school=("acosh",),
)

arctanh = op(
    np.arctanh,
    vjps=(lambda g, y, x: g / (1 - x**2),),
    symbolic=sympy.atanh,
    ball=arb.atanh,
    domain=Interval(-1, 1),
    grad_fn="AtanhBackward0",
    school=("atanh",),
)

sec = op(
    lambda x: 1 / np.cos(x),
    name="sec",
    vjps=(lambda g, y, x: g * y * np.tan(x),),
    symbolic=sympy.sec,
    ball=arb.sec,
    domain=Interval(-HALF_TURN, HALF_TURN),
)

csc = op(
    lambda x: 1 / np.sin(x),
    name="csc",
    vjps=(lambda g, y, x: -g * y / np.tan(x),),
    symbolic=sympy.csc,
    ball=arb.csc,
    domain=Interval(0, np.pi),
)

cot = op(
    lambda x: 1 / np.tan(x),
    name="cot",
    vjps=(lambda g, y, x: -g * (1 + y**2),),
    symbolic=sympy.cot,
    ball=arb.cot,
    domain=Interval(0, np.pi),
)

asec = op(
    lambda x: np.arccos(1 / x),
    name="asec",
    vjps=(lambda g, y, x: g / (np.absolute(x) * np.sqrt(x**2 - 1)),),
    symbolic=lambda x: sympy.acos(1 / x),
    ball=lambda x: (1 / x).acos(),
    domain=Interval(1, inf),
    school=("arcsec",),
)

acsc = op(
    lambda x: np.arcsin(1 / x),
    name="acsc",
    vjps=(lambda g, y, x: -g / (np.absolute(x) * np.sqrt(x**2 - 1)),),
    symbolic=lambda x: sympy.asin(1 / x),
    ball=lambda x: (1 / x).asin(),
    domain=Interval(1, inf),
    school=("arccsc",),
)

acot = op(
    lambda x: np.pi / 2 - np.arctan(x),
    name="acot",
    vjps=(lambda g, y, x: -g / (1 + x**2),),
    symbolic=lambda x: sympy.pi / 2 - sympy.atan(x),
    ball=lambda x: arb.pi() / 2 - x.atan(),
    school=("arccot",),
)

sech = op(
    lambda x: 1 / np.cosh(x),
    name="sech",
    vjps=(lambda g, y, x: -g * y * np.tanh(x),),
    symbolic=sympy.sech,
    ball=arb.sech,
)

csch = op(
    lambda x: 1 / np.sinh(x),
    name="csch",
    vjps=(lambda g, y, x: -g * y / np.tanh(x),),
    symbolic=sympy.csch,
    ball=arb.csch,
    domain=Interval(0, inf),
)

coth = op(
    lambda x: 1 / np.tanh(x),
    name="coth",
    vjps=(lambda g, y, x: g * (1 - y**2),),
    symbolic=sympy.coth,
    ball=arb.coth,
    domain=Interval(0, inf),
)

asech = op(
    lambda x: np.arccosh(1 / x),
    name="asech",
    vjps=(lambda g, y, x: -g / (x * np.sqrt(1 - x**2)),),
    symbolic=lambda x: sympy.acosh(1 / x),
    ball=lambda x: (1 / x).acosh(),
    domain=Interval(0, 1),
    school=("arcsech",),
)

acsch = op(
    lambda x: np.arcsinh(1 / x),
    name="acsch",
    vjps=(lambda g, y, x: -g / (np.absolute(x) * np.sqrt(1 + x**2)),),
    symbolic=lambda x: sympy.asinh(1 / x),
    ball=lambda x: (1 / x).asinh(),
    domain=Interval(0, inf),
    school=("arccsch",),
)

acoth = op(
    lambda x: np.arctanh(1 / x),
    name="acoth",
    vjps=(lambda g, y, x: g / (1 - x**2),),
    symbolic=lambda x: sympy.atanh(1 / x),
    ball=lambda x: (1 / x).atanh(),
    domain=Interval(1, inf),
    school=("arccoth",),
)
