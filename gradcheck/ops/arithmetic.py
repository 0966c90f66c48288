"""Sums, products, quotients and powers."""

import operator
from collections.abc import Mapping
from typing import Any

import numpy as np
from flint import arb

from gradcheck.ops import domains
from gradcheck.ops.later import sympy
from gradcheck.ops.row import Composed, Example, Interval, inf, op, passed, plain_number


def _is_number(x: Any) -> bool:
    return type(x) is int or (np.ndim(x) == 0 and not hasattr(x, "backward"))


add = op(
    np.add,
    vjps=(passed, passed),
    exact=operator.add,
    unseen=domains.lost,
    grad_fn="AddBackward0",
)

subtract = op(
    np.subtract,
    vjps=(passed, lambda g, y, a, b: -g),
    exact=operator.sub,
    unseen=domains.lost,
    grad_fn=lambda operands, params: (
        "RsubBackward1" if plain_number(operands[0]) else "SubBackward0"
    ),
    school=("sub",),
)

multiply = op(
    np.multiply,
    vjps=(
        lambda g, y, a, b: g * b,
        lambda g, y, a, b: g * a,
    ),
    exact=operator.mul,
    grad_fn="MulBackward0",
    school=("mul",),
)

divide = op(
    np.divide,
    vjps=(
        lambda g, y, a, b: g / b,
        lambda g, y, a, b: -g * ((a / b) / b),
    ),
    exact=operator.truediv,
    domain=(Interval(-inf, inf), Interval(0, inf)),
    undefined=domains.divides_by_zero,
    grad_fn="DivBackward0",
    school=("div", "true_divide"),
)

negative = op(
    np.negative,
    vjps=(lambda g, y, x: -g,),
    exact=operator.neg,
    grad_fn="NegBackward0",
    rounds=False,
    school=("neg",),
)


def _slope(a: Any, b: Any) -> Any:
    """The slope b a^(b-1) to a number b; squares are the commonest."""
    return a + a if b == 2 else b * a ** (b - 1)


def _times_power(g: Any, a: Any, b: Any) -> Any:
    """The product g b a^(b-1), and 0 where b is 0: 0/0 would say nan at a = 0."""
    return np.where(np.equal(b, 0), 0.0, g * b * np.power(a, np.where(np.equal(b, 0), 1.0, b - 1)))


def _times_log(g: Any, y: Any, a: Any, b: Any) -> Any:
    """The product g y log(a), and 0 where a = 0 <= b: PyTorch's convention."""
    flat = np.equal(a, 0) & np.greater_equal(b, 0)
    return np.where(flat, 0.0, g * y * np.log(np.where(flat, 1.0, a)))


def _power_name(operands: tuple[Any, ...], params: Mapping[str, Any]) -> str:
    """PyTorch tells apart which of the two is a plain number."""
    return f"PowBackward{0 if plain_number(operands[1]) else 2 if plain_number(operands[0]) else 1}"


def raised(a: arb, b: Any) -> arb:
    """A power of a ball; flint itself finds no number where the base lies around zero."""
    found: arb = a**b
    if found.is_finite() or not a.is_finite() or a.mid() != 0:
        return found
    whole = type(b) is int or (b.is_exact() and b.is_integer())
    return arb(0, a.abs_upper() ** b) if whole and b > 0 else found


power = op(
    np.power,
    vjps=(
        lambda g, y, a, b: g * _slope(a, b) if _is_number(b) and b != 0 else _times_power(g, a, b),
        _times_log,
    ),
    symbolic=operator.pow,
    ball=raised,
    domain=(Interval(0, inf), Interval(-inf, inf)),
    undefined=domains.no_power,
    grad_fn=_power_name,
    school=("pow",),
)

float_power = op(
    np.float_power,
    vjps=power.vjps,
    symbolic=lambda a, b: sympy.exp(b * sympy.log(a)),
    ball=lambda a, b: (b * a.log()).exp(),
    domain=(Interval(0, inf), Interval(-inf, inf)),
    undefined=domains.no_power,
    grad_fn=_power_name,
)

square = op(
    np.square,
    vjps=(lambda g, y, x: g * 2 * x,),
    exact=lambda x: x * x,
    grad_fn="PowBackward0",
)

reciprocal = op(
    np.reciprocal,
    vjps=(lambda g, y, x: -g * y * y,),
    exact=lambda x: 1 / x,
    domain=Interval(0, inf),
    undefined=domains.zero,
    grad_fn="ReciprocalBackward0",
)

positive = op(
    np.positive,
    also=(np.conjugate, np.real, np.real_if_close),
    vjps=(passed,),
    exact=operator.pos,
    rounds=False,
    school=("conj", "conj_physical", "resolve_conj", "resolve_neg", "contiguous"),
)

remainder = op(
    np.remainder,
    also=(np.mod,),
    vjps=(
        passed,
        lambda g, y, a, b: -g * np.rint((a - np.remainder(a, b)) / b),  # a / b may be rounded up
    ),
    exact=Composed(lambda a, b: a - b * np.floor(a / b)),
    domain=(Interval(-inf, inf), Interval(0, inf)),
    undefined=domains.divides_by_zero,
    kinks="multiples of b",
    grad_fn=lambda operands, params: f"RemainderBackward{int(not plain_number(operands[1]))}",
    school=("mod",),
)

fmod = op(
    np.fmod,
    vjps=(
        passed,
        lambda g, y, a, b: -g * np.rint((a - np.fmod(a, b)) / b),
    ),
    exact=Composed(lambda a, b: a - b * np.trunc(a / b)),
    domain=(Interval(-inf, inf), Interval(0, inf)),
    undefined=domains.divides_by_zero,
    kinks="multiples of b",
    grad_fn=lambda operands, params: f"FmodBackward{int(not plain_number(operands[1]))}",
)

floor_divide = op(
    np.floor_divide,
    vjps=(
        lambda g, y, a, b: g * 0.0,
        lambda g, y, a, b: g * 0.0,
    ),
    exact=Composed(lambda a, b: np.floor(a / b)),
    domain=(Interval(-inf, inf), Interval(0, inf)),
    undefined=domains.divides_by_zero,
    kinks="multiples of b",
    grad_fn="NotImplemented",
    rounds=False,
    example=Example("a * floor_divide(3 * a, b)", {"a": (3,), "b": (3,)}),
)
