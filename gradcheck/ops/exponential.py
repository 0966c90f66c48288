"""Exponentials, logarithms and roots."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb

from gradcheck.ops import domains
from gradcheck.ops.activations import sigmoid
from gradcheck.ops.later import sympy, sympys
from gradcheck.ops.row import Composed, Interval, inf, op

THIRD = Fraction(1, 3)


def _x_log_y(a: Any, b: Any) -> Any:
    """The product a log(b), and 0 where a is 0."""
    flat = np.equal(a, 0)
    return np.where(flat, 0.0, a * np.log(np.where(flat, 1.0, b)))


exp = op(
    np.exp,
    vjps=(lambda g, y, x: g * y,),
    symbolic=sympys("exp"),
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
    unseen=domains.saturated,
    grad_fn="Expm1Backward0",
)

log = op(
    np.log,
    vjps=(lambda g, y, x: g / x,),
    symbolic=sympys("log"),
    ball=arb.log,
    domain=Interval(0, inf),
    undefined=domains.not_positive,
    grad_fn="LogBackward0",
    school=("ln",),
)

log2 = op(
    np.log2,
    vjps=(lambda g, y, x: g / (x * math.log(2)),),
    symbolic=lambda x: sympy.log(x) / sympy.log(2),
    ball=lambda x: x.log() / arb(2).log(),
    domain=Interval(0, inf),
    undefined=domains.not_positive,
    grad_fn="Log2Backward0",
)

log10 = op(
    np.log10,
    vjps=(lambda g, y, x: g / (x * math.log(10)),),
    symbolic=lambda x: sympy.log(x) / sympy.log(10),
    ball=lambda x: x.log() / arb(10).log(),
    domain=Interval(0, inf),
    undefined=domains.not_positive,
    grad_fn="Log10Backward0",
)

log1p = op(
    np.log1p,
    vjps=(lambda g, y, x: g / (x + 1),),
    symbolic=lambda x: sympy.log(x + 1),
    ball=arb.log1p,
    domain=Interval(-1, inf),
    undefined=lambda x: x <= -1,
    unseen=domains.saturated,
    grad_fn="Log1PBackward0",
)

sqrt = op(
    np.sqrt,
    vjps=(lambda g, y, x: g / (2 * y),),  # gradient +inf at x = 0
    symbolic=sympys("sqrt"),
    ball=arb.sqrt,
    domain=Interval(0, inf),
    undefined=lambda x: x < 0,
    grad_fn="SqrtBackward0",
)

cbrt = op(
    np.cbrt,
    vjps=(lambda g, y, x: g / (3 * y * y),),
    exact=Composed(lambda x: x**THIRD if x > 0 else -((-x) ** THIRD)),
    kinks=(0.0,),
)

hypot = op(
    np.hypot,
    vjps=(
        lambda g, y, a, b: g * (a / y),
        lambda g, y, a, b: g * (b / y),
    ),
    symbolic=lambda a, b: sympy.sqrt(a**2 + b**2),
    ball=lambda a, b: (a * a + b * b).sqrt(),
    kinks="a = b = 0",
    grad_fn="HypotBackward0",
)

logaddexp = op(
    np.logaddexp,
    vjps=(
        lambda g, y, a, b: g * sigmoid(a - b),  # y is rounded where a and b are large
        lambda g, y, a, b: g * sigmoid(b - a),
    ),
    symbolic=lambda a, b: sympy.log(sympy.exp(a) + sympy.exp(b)),
    ball=lambda a, b: a + (b - a).exp().log1p(),
    unseen=lambda a, b: domains.saturated(a - b),
    grad_fn="LogaddexpBackward0",
)

logaddexp2 = op(
    np.logaddexp2,
    vjps=(
        lambda g, y, a, b: g * sigmoid((a - b) * math.log(2)),
        lambda g, y, a, b: g * sigmoid((b - a) * math.log(2)),
    ),
    symbolic=lambda a, b: sympy.log(sympy.Integer(2) ** a + sympy.Integer(2) ** b) / sympy.log(2),
    ball=lambda a, b: a + (arb(2) ** (b - a)).log1p() / arb(2).log(),
    grad_fn="Logaddexp2Backward0",
)

xlogy = op(
    _x_log_y,
    name="xlogy",
    vjps=(
        lambda g, y, a, b: _x_log_y(g, np.where(np.equal(a, 0) & np.less_equal(b, 0), 1.0, b)),
        lambda g, y, a, b: g * (a / b),
    ),
    symbolic=lambda a, b: a * sympy.log(b),
    ball=lambda a, b: a * b.log(),
    domain=(Interval(-inf, inf), Interval(0, inf)),
    grad_fn="XlogyBackward0",
)
