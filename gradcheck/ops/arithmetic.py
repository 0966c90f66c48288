"""Functions of two numbers, and functions that choose between numbers; kinks follow PyTorch."""

import operator
from functools import partial
from math import inf, isinf

import numpy as np
from flint import arb

from gradcheck.ops.row import (
    POSITIVE,
    REAL_LINE,
    TABLE,
    Composed,
    Op,
    flat,
    is_lost,
    is_saturated,
    op,
    pass_on,
)
from gradcheck.values import Call, Numbers, Routine

BY_POSITIVE = (REAL_LINE, POSITIVE)
OPERATIONS = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "pow": "power",
    "matmul": "matmul", "floordiv": "floor_divide", "mod": "remainder",
}  # fmt: skip
"""Python's words for its operators, and the rows that they are."""
COMPARISONS = {
    "eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater",
    "ge": "greater_equal",
}  # fmt: skip
"""The same for comparisons, and NumPy's names."""

op(np.add, (pass_on, pass_on), exact=operator.add, unseen=is_lost)
op(
    np.subtract, (pass_on, lambda y, a, b: lambda g: -g), exact=operator.sub,
    unseen=is_lost, school=("sub",),
)  # fmt: skip
op(
    np.multiply, (lambda y, a, b: lambda g: g * b, lambda y, a, b: lambda g: g * a),
    exact=operator.mul, school=("mul",),
)  # fmt: skip
_by_divisor = partial(op, domain=BY_POSITIVE, undefined=lambda a, b: b == 0)
_by_divisor(
    np.divide, (lambda y, a, b: lambda g: g / b, lambda y, a, b: lambda g: -g * ((a / b) / b)),
    exact=operator.truediv, school=("div", "true_divide"),
)  # fmt: skip
op(np.negative, (lambda y, x: lambda g: -g,), exact=operator.neg, rounds=False, school=("neg",))
op(
    np.positive, (pass_on,), also=(np.conjugate, np.real, np.real_if_close), exact=operator.pos,
    rounds=False, school=("conj", "conj_physical", "resolve_conj", "resolve_neg", "contiguous"),
)  # fmt: skip

# -- powers --------------------------------------------------------------------------------------


def _by_base(g: Numbers, a: Numbers, b: Numbers) -> Numbers:
    """The product g b a^(b-1), squares being the commonest; 0 where b is 0: 0/0 would say nan."""
    if (type(b) is int or (np.ndim(b) == 0 and not hasattr(b, "backward"))) and b != 0:
        return g * (a + a if b == 2 else b * a ** (b - 1))
    return np.where(np.equal(b, 0), 0.0, g * b * np.power(a, np.where(np.equal(b, 0), 1.0, b - 1)))


def _by_exponent(g: Numbers, y: Numbers, a: Numbers, b: Numbers) -> Numbers:
    """The product g y log(a), and 0 where a = 0 <= b: PyTorch's convention."""
    flat = np.equal(a, 0) & np.greater_equal(b, 0)
    return np.where(flat, 0.0, g * y * np.log(np.where(flat, 1.0, a)))


def raise_to(a: arb, b: Numbers) -> arb:
    """A power of a ball; flint itself finds no number where the base lies around zero."""
    found: arb = a**b
    if found.is_finite() or not a.is_finite() or a.mid() != 0:
        return found
    whole = type(b) is int or (b.is_exact() and b.is_integer())
    return arb(0, a.abs_upper() ** b) if whole and b > 0 else found


_power = partial(
    op, domain=(POSITIVE, REAL_LINE),
    undefined=lambda a, b: (a < 0 and not b.contains_integer()) or (a == 0 and b < 0),
    vjps=(lambda y, a, b: lambda g: _by_base(g, a, b),
          lambda y, a, b: lambda g: _by_exponent(g, y, a, b)),
)  # fmt: skip
_power(np.power, symbolic=operator.pow, ball=raise_to, school=("pow",))
_power(np.float_power, closed=lambda m, a, b: m.exp(b * m.log(a)))

# -- remainders ----------------------------------------------------------------------------------

_dividing = partial(_by_divisor, kinks="multiples of b")


def _enter_remainder(function: Numbers, rounded: Numbers, **cells: Numbers) -> Op:
    """Enter what is left of a division by the rounded quotient (a / b may be rounded up)."""
    by_divisor = lambda y, a, b: lambda g: -g * np.rint((a - function(a, b)) / b)
    defined = Composed(lambda a, b: a - b * rounded(a / b))
    return _dividing(function, (pass_on, by_divisor), exact=defined, **cells)


_enter_remainder(np.remainder, np.floor, also=(np.mod,), school=("mod",))
_enter_remainder(np.fmod, np.trunc)
_dividing(np.floor_divide, (flat, flat), exact=Composed(lambda a, b: np.floor(a / b)), rounds=False)

# -- smooth functions of two numbers -------------------------------------------------------------


def logistic(x: Numbers) -> Numbers:
    """1 / (1 + exp(-x)), with every digit in both tails: 1 + tanh would lose them on the left."""
    e = np.exp(-np.absolute(x))
    return np.where(np.greater_equal(x, 0), 1.0, e) / (1 + e)


def _inverse_square(a: Numbers, b: Numbers) -> Numbers:
    """1 / (a^2 + b^2), and 0 at the origin: PyTorch's convention."""
    square = a * a + b * b
    return np.where(np.equal(square, 0), 0.0, 1 / np.where(np.equal(square, 0), 1.0, square))


def x_log_y(a: Numbers, b: Numbers) -> Numbers:
    """The product a log(b), and 0 where a is 0."""
    flat = np.equal(a, 0)
    return np.where(flat, 0.0, a * np.log(np.where(flat, 1.0, b)))


def _enter_log_of_sum(function: Numbers, scale: float, **cells: Numbers) -> Op:
    """Enter log(exp(a) + exp(b)) in some base; y is rounded where a and b are large.

    The row's slope of sigmoid is right also where the formula `logistic` has a bend.
    """
    slopes = (
        lambda y, a, b: lambda g: g * TABLE["sigmoid"]((a - b) * scale),
        lambda y, a, b: lambda g: g * TABLE["sigmoid"]((b - a) * scale),
    )
    return op(function, slopes, **cells)


op(
    np.hypot, (lambda y, a, b: lambda g: g * (a / y), lambda y, a, b: lambda g: g * (b / y)),
    closed=lambda m, a, b: m.sqrt(a * a + b * b), kinks="a = b = 0",
)  # fmt: skip
op(
    np.arctan2,
    (lambda y, a, b: lambda g: g * b * _inverse_square(a, b),
     lambda y, a, b: lambda g: -g * a * _inverse_square(a, b)),
    closed="atan2", domain=BY_POSITIVE, school=("atan2",),
)  # fmt: skip
_enter_log_of_sum(
    np.logaddexp, 1.0, closed=lambda m, a, b: m.log(m.exp(a) + m.exp(b)),
    ball=lambda a, b: a + (b - a).exp().log1p(), unseen=lambda a, b: is_saturated(a - b),
)  # fmt: skip
_enter_log_of_sum(
    np.logaddexp2, float(np.log(2)),
    closed=lambda m, a, b: m.log(m.Integer(2) ** a + m.Integer(2) ** b) / m.log(2),
    ball=lambda a, b: a + (arb(2) ** (b - a)).log1p() / arb(2).log(),
)  # fmt: skip
op(
    x_log_y,
    (lambda y, a, b: (
        lambda g: x_log_y(g, np.where(np.equal(a, 0) & np.less_equal(b, 0), 1.0, b))),
     lambda y, a, b: lambda g: g * (a / b)),
    name="xlogy", closed=lambda m, a, b: a * m.log(b), domain=BY_POSITIVE,
)  # fmt: skip

# -- choices -------------------------------------------------------------------------------------


def keep(g: Numbers, chosen: Numbers) -> Numbers:
    """`np.where(chosen, g, 0.0)`; of plain arrays by their bits, without a branch an entry.

    Where entries are chosen at random a processor guesses every other branch wrong, which takes
    four times as long as the arithmetic. A product with the mask would make nan of infinite ones.
    """
    plain = type(g) is np.ndarray and type(chosen) is np.ndarray
    if plain and g.dtype == np.float64 and chosen.dtype == np.bool_:
        return (g.view(np.int64) & -chosen.view(np.int8)).view(np.float64)
    return np.where(chosen, g, 0.0)


_bent = partial(op, rounds=False)
_bent(
    np.absolute, (lambda y, x: lambda g: g * np.sign(x),),  # 0 at x = 0
    also=(np.fabs,), exact=Composed(lambda x: -x if x < 0 else x), kinks=(0.0,),
    school=("abs", "fabs"),
)  # fmt: skip
_bent(np.sign, (flat,), exact=Composed(lambda x: (x > 0) - (x < 0)), kinks=(0.0,), school=("sgn",))


def _enter_choice(function: Numbers, stays: Routine, won: Routine) -> Op:
    """Enter a choice of one of two: of a where it `stays` before b; `won` is a's part of g."""
    parts = (
        lambda y, a, b: lambda g: won(g, a, b, True),
        lambda y, a, b: lambda g: won(g, a, b, False),
    )
    return _bent(
        function, parts, exact=Composed(lambda a, b: a if stays(a, b) else b), kinks="a = b"
    )


def _halve_ties(loses: Routine) -> Routine:
    """All of g to what does not lose, half of it where both tie: PyTorch's convention."""

    def won(g: Numbers, a: Numbers, b: Numbers, first: bool) -> Numbers:
        lost, tied = loses(a, b) if first else loses(b, a), np.equal(a, b)
        share = keep(g, np.logical_not(lost))
        return np.where(tied, g * 0.5, share) if tied.any() else share

    return won


def _pass_nan(wins: Routine) -> Routine:
    """What is not a number never wins; of equal numbers the first does."""

    def won(g: Numbers, a: Numbers, b: Numbers, first: bool) -> Numbers:
        mine = wins(a, b) | np.isnan(b)
        return keep(g, mine if first else np.logical_not(mine))

    return won


maximum = _enter_choice(np.maximum, operator.ge, _halve_ties(np.less))
minimum = _enter_choice(np.minimum, operator.le, _halve_ties(np.greater))
_enter_choice(np.fmax, operator.ge, _pass_nan(np.greater_equal))
_enter_choice(np.fmin, operator.le, _pass_nan(np.less_equal))
_bent(
    np.copysign,
    (lambda y, a, b: lambda g: g * np.sign(a) * np.where(np.signbit(b), -1.0, 1.0), flat),
    exact=Composed(lambda a, b: abs(a) if b >= 0 else -abs(a)), kinks="a = 0 or b = 0",
)  # fmt: skip
_bent(
    np.heaviside, (None, None), exact=Composed(lambda a, b: b if a == 0 else 1 * (a > 0)),
    kinks=(0.0,),
)  # fmt: skip
_bent(
    np.where,
    (None, lambda y, c, a, b: lambda g: keep(g, c),
     lambda y, c, a, b: lambda g: np.where(c, 0.0, g)),
    elementwise=False,
)  # fmt: skip
_bent(
    np.nan_to_num, (lambda y, x, **put: lambda g: g * np.isfinite(x),),
    forward=lambda x, **put: np.nan_to_num(x, **put),  # noqa: PLW0108 - `copy` is no choice
    exact=Composed(lambda x, **put: x), operands=1,
    arrange=lambda x, *, copy=True, **put: ((x,), put),
)  # fmt: skip


def _arrange_bounds(
    x: Numbers, a_min: Numbers = None, a_max: Numbers = None, *,
    min: Numbers = None, max: Numbers = None,
) -> Call:  # fmt: skip
    low, high = (min if a_min is None else a_min), (max if a_max is None else a_max)
    return (x, -inf if low is None else low, inf if high is None else high), {}


def _is_open(bound: Numbers) -> bool:
    return isinstance(bound, float) and isinf(bound)


def _clip_defined(x: Numbers, low: Numbers, high: Numbers) -> Numbers:
    """The bound where x is beyond it; where they cross, the upper one."""
    x = low if not _is_open(low) and x < low else x
    return high if not _is_open(high) and x > high else x


_bent(  # 1 inside and on the bounds; a bound has the gradient where it is taken
    np.clip,
    (lambda y, x, low, high: lambda g: keep(g, np.greater_equal(x, low) & np.less_equal(x, high)),
     lambda y, x, low, high: lambda g: keep(g, np.less(x, low) & np.less(low, high)),
     lambda y, x, low, high: lambda g: keep(g, np.greater(x, high) | np.less(high, low))),
    forward=lambda x, *bounds: np.clip(x, *(None if _is_open(v) else v for v in bounds)),
    exact=Composed(_clip_defined), kinks="the bounds", operands=3, arrange=_arrange_bounds,
    school=("clamp",),
)  # fmt: skip
