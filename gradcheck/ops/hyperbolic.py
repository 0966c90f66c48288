"""Hyperbolic functions and their inverses, the school's secants included."""

import numpy as np
from flint import arb

from gradcheck.ops import domains
from gradcheck.ops.later import sympy, sympys
from gradcheck.ops.row import Interval, inf, op

sinh = op(
    np.sinh,
    vjps=(lambda g, y, x: g * np.cosh(x),),
    symbolic=sympys("sinh"),
    ball=arb.sinh,
    grad_fn="SinhBackward0",
)

cosh = op(
    np.cosh,
    vjps=(lambda g, y, x: g * np.sinh(x),),
    symbolic=sympys("cosh"),
    ball=arb.cosh,
    grad_fn="CoshBackward0",
)

tanh = op(
    np.tanh,
    vjps=(lambda g, y, x: g * (1 - y**2),),
    symbolic=sympys("tanh"),
    ball=arb.tanh,
    unseen=domains.saturated,
    grad_fn="TanhBackward0",
)

arcsinh = op(
    np.arcsinh,
    vjps=(lambda g, y, x: g / np.sqrt(x**2 + 1),),
    symbolic=sympys("asinh"),
    ball=arb.asinh,
    grad_fn="AsinhBackward0",
    school=("asinh",),
)

arccosh = op(
    np.arccosh,
    vjps=(lambda g, y, x: g / np.sqrt(x**2 - 1),),
    symbolic=sympys("acosh"),
    ball=arb.acosh,
    domain=Interval(1, inf),
    undefined=lambda x: x < 1,
    grad_fn="AcoshBackward0",
    school=("acosh",),
)

arctanh = op(
    np.arctanh,
    vjps=(lambda g, y, x: g / (1 - x**2),),
    symbolic=sympys("atanh"),
    ball=arb.atanh,
    domain=Interval(-1, 1),
    undefined=lambda x: abs(x) >= 1,
    grad_fn="AtanhBackward0",
    school=("atanh",),
)

sech = op(
    lambda x: 1 / np.cosh(x),
    name="sech",
    vjps=(lambda g, y, x: -g * y * np.tanh(x),),
    symbolic=sympys("sech"),
    ball=arb.sech,
)

csch = op(
    lambda x: 1 / np.sinh(x),
    name="csch",
    vjps=(lambda g, y, x: -g * y / np.tanh(x),),
    symbolic=sympys("csch"),
    ball=arb.csch,
    domain=Interval(0, inf),
    undefined=domains.zero,
)

coth = op(
    lambda x: 1 / np.tanh(x),
    name="coth",
    vjps=(lambda g, y, x: g * (1 - y**2),),
    symbolic=sympys("coth"),
    ball=arb.coth,
    domain=Interval(0, inf),
    undefined=domains.zero,
)

asech = op(
    lambda x: np.arccosh(1 / x),
    name="asech",
    vjps=(lambda g, y, x: -g / (x * np.sqrt(1 - x**2)),),
    symbolic=lambda x: sympy.acosh(1 / x),
    ball=lambda x: (1 / x).acosh(),
    domain=Interval(0, 1),
    undefined=lambda x: x <= 0 or x > 1,
    school=("arcsech",),
)

acsch = op(
    lambda x: np.arcsinh(1 / x),
    name="acsch",
    vjps=(lambda g, y, x: -g / (np.absolute(x) * np.sqrt(1 + x**2)),),
    symbolic=lambda x: sympy.asinh(1 / x),
    ball=lambda x: (1 / x).asinh(),
    domain=Interval(0, inf),
    undefined=domains.zero,
    school=("arccsch",),
)

acoth = op(
    lambda x: np.arctanh(1 / x),
    name="acoth",
    vjps=(lambda g, y, x: g / (1 - x**2),),
    symbolic=lambda x: sympy.atanh(1 / x),
    ball=lambda x: (1 / x).atanh(),
    domain=Interval(1, inf),
    undefined=lambda x: abs(x) <= 1,
    school=("arccoth",),
)
