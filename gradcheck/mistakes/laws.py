"""Laws of algebra that do not hold: (a + b)^n as a^n + b^n, and its like for roots and logs."""

from typing import Any

import numpy as np

from gradcheck.mistakes.operation import Operation, of_sum, power, quotient, term
from gradcheck.mistakes.row import derivative

SAYS = (
    "`{text}` was split over the sum inside: (a + b)^n is not a^n + b^n, and no root, logarithm or "
    "fraction is split so either."
)


def _sign(s: Operation) -> int:
    return -1 if s.op == "subtract" else 1


def _raised(s: Operation, i: int, n: Any) -> Any:
    """A summand to a power; of (x^2)^(1/2) nobody thinks of |x|."""
    summand, base = (s.u, s.v)[i], s.within(i)
    if base is not None and power(base):
        return np.power(base.u, base.n * n)
    return np.power(summand, n)


def _function_split(s: Operation) -> Any:
    """The derivative of f(a) + f(b) for that of f(a + b)."""
    inner = s.inner
    assert inner is not None
    parts = [(inner.u, inner.du, 1), (inner.v, inner.dv, _sign(inner))]
    return sum(sign * s.slope(a) * da for a, da, sign in parts if da is not None)


def _slope_split(s: Operation) -> Any:
    """The right rule, in which the power of the sum was then worked out falsely."""
    n = s.n - 1 if power(s) else -2.0
    inner = s.inner
    assert inner is not None
    size = np.abs(n)
    split = _raised(inner, 0, size) + _sign(inner) * _raised(inner, 1, size)
    return s.fw / np.power(s.w, n) * np.where(n < 0, 1 / split, split) * s.dw


def _denominator_split(s: Operation) -> Any:
    below = s.below
    assert below is not None
    return s.right * s.v**2 / (below.u**2 + _sign(below) * below.v**2)


def _sum_below(s: Operation) -> bool:
    return quotient(s) and s.below is not None and term(s.below)


function_split = derivative(
    "false-law-of-algebra",
    where=of_sum,
    wrong=_function_split,
    says=SAYS,
    example=("(3*x + 1)**4", {"x": "324*x**3"}),
    common=0.4,
)

slope_split = derivative(
    "false-law-of-algebra",
    where=lambda s: of_sum(s) and (power(s) or s.op in ("divide", "reciprocal")),
    wrong=_slope_split,
    says="The rule for `{text}` is right; then the power of the sum was split: (a + b)^n is not "
    "a^n + b^n.",
    example=("sqrt(x**2 + 9)", {"x": "x/(x + 3)"}),
    common=0.4,
)

denominator_split = derivative(
    "false-law-of-algebra",
    where=_sum_below,
    wrong=_denominator_split,
    says="The square of the sum below `{text}` was split: (a + b)^2 is a^2 + 2ab + b^2.",
    example=("x/(x**2 + 1)", {"x": "(1 - x**2)/(x**4 + 1)"}),
    common=0.4,
)
