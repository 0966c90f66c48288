"""Sums, products, quotients and powers."""

import operator

import numpy as np

from gradcheck.ops.row import Interval, inf, op


def _is_number(x):
    return np.ndim(x) == 0 and not hasattr(x, "backward")


add = op(
    np.add,
    vjps=(
        lambda g, y, a, b: g,
        lambda g, y, a, b: g,
    ),
    symbolic=operator.add,
    ball=operator.add,
    grad_fn="AddBackward0",
)

subtract = op(
    np.subtract,
    vjps=(
        lambda g, y, a, b: g,
        lambda g, y, a, b: -g,
    ),
    symbolic=operator.sub,
    ball=operator.sub,
    grad_fn="SubBackward0",
    school=("sub",),
)

multiply = op(
    np.multiply,
    vjps=(
        lambda g, y, a, b: g * b,
        lambda g, y, a, b: g * a,
    ),
    symbolic=operator.mul,
    ball=operator.mul,
    grad_fn="MulBackward0",
    school=("mul",),
)

divide = op(
    np.divide,
    vjps=(
        lambda g, y, a, b: g / b,
        lambda g, y, a, b: -g * a / b**2,
    ),
    symbolic=operator.truediv,
    ball=operator.truediv,
    domain=(Interval(-inf, inf), Interval(0, inf)),
    grad_fn="DivBackward0",
    school=("div",),
)

negative = op(
    np.negative,
    vjps=(lambda g, y, x: -g,),
    symbolic=operator.neg,
    ball=operator.neg,
    grad_fn="NegBackward0",
    rounds=False,
    school=("neg",),
)


def _times_power(g, a, b):
    """g b a^(b-1), and 0 where b is 0: 0/0 would say nan at a = 0."""
    return np.where(np.equal(b, 0), 0.0, g * b * np.power(a, np.where(np.equal(b, 0), 1.0, b - 1)))


def _times_log(g, y, a, b):
    """g y log(a), and 0 where a is 0 and b is not negative: PyTorch's convention."""
    flat = np.equal(a, 0) & np.greater_equal(b, 0)
    return np.where(flat, 0.0, g * y * np.log(np.where(flat, 1.0, a)))


power = op(
    np.power,
    vjps=(
        lambda g, y, a, b: (
            g * b * a ** (b - 1) if _is_number(b) and b != 0 else _times_power(g, a, b)
        ),
        lambda g, y, a, b: _times_log(g, y, a, b),
    ),
    symbolic=operator.pow,
    ball=operator.pow,
    domain=(Interval(0, inf), Interval(-inf, inf)),
    grad_fn=lambda operands, params: f"PowBackward{0 if _is_number(operands[1]) else 1}",
    school=("pow",),
)

square = op(
    np.square,
    vjps=(lambda g, y, x: g * 2 * x,),
    symbolic=lambda x: x * x,
    ball=lambda x: x * x,
    grad_fn="PowBackward0",
)

reciprocal = op(
    np.reciprocal,
    vjps=(lambda g, y, x: -g * y * y,),
    symbolic=lambda x: 1 / x,
    ball=lambda x: 1 / x,
    domain=Interval(0, inf),
    grad_fn="ReciprocalBackward0",
)
