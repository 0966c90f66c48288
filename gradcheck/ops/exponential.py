"""Exponentials, logarithms and roots."""

import math

import numpy as np
import sympy
from flint import arb

from gradcheck.ops.row import Interval, inf, op

exp = op(
    np.exp,
    vjps=(lambda g, y, x: g * y,),
    symbolic=sympy.exp,
    ball=arb.exp,
    grad_fn="ExpBackward0",
)

exp2 = op(
    np.exp2,
    vjps=(lambda g, y, x: g * y * math.log(2),),
    symbolic=lambda x: sympy.Integer(2) ** x,
    ball=lambda x: arb(2) ** x,
    grad_fn="Exp2Backward0",
)

expm1 = op(
    np.expm1,
    vjps=(lambda g, y, x: g * (y + 1),),
    symbolic=lambda x: sympy.exp(x) - 1,
    ball=arb.expm1,
    grad_fn="Expm1Backward0",
)

log = op(
    np.log,
    vjps=(lambda g, y, x: g / x,),
    symbolic=sympy.log,
    ball=arb.log,
    domain=Interval(0, inf),
    grad_fn="LogBackward0",
    school=("ln",),
)

log2 = op(
    np.log2,
    vjps=(lambda g, y, x: g / (x * math.log(2)),),
    symbolic=lambda x: sympy.log(x) / sympy.log(2),
    ball=lambda x: x.log() / arb(2).log(),
    domain=Interval(0, inf),
    grad_fn="Log2Backward0",
)

log10 = op(
    np.log10,
    vjps=(lambda g, y, x: g / (x * math.log(10)),),
    symbolic=lambda x: sympy.log(x) / sympy.log(10),
    ball=lambda x: x.log() / arb(10).log(),
    domain=Interval(0, inf),
    grad_fn="Log10Backward0",
)

log1p = op(
    np.log1p,
    vjps=(lambda g, y, x: g / (x + 1),),
    symbolic=lambda x: sympy.log(x + 1),
    ball=arb.log1p,
    domain=Interval(-1, inf),
    grad_fn="Log1PBackward0",
)

sqrt = op(
    np.sqrt,
    vjps=(lambda g, y, x: g / (2 * y),),  # gradient +inf at x = 0
    symbolic=sympy.sqrt,
    ball=arb.sqrt,
    domain=Interval(0, inf),
    grad_fn="SqrtBackward0",
)
