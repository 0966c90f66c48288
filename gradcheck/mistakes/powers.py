"""Powers and exponentials gone wrong, and false laws of algebra: (a + b)^n as a^n + b^n."""

from functools import partial

import numpy as np

from gradcheck.mistakes.operation import Operation, exponential, of_sum, power, quotient, term
from gradcheck.mistakes.row import derivative
from gradcheck.values import Numbers

BASES = {"exp2": 2.0, "log2": 2.0, "log10": 10.0}


def _log_of_base(s: Operation) -> object:
    return np.log(BASES.get(s.op, s.u))


def _base_not_e(s: Operation) -> bool:
    return exponential(s) and s.op != "exp"


def _tower(s: Operation) -> bool:
    """Base and exponent both vary."""
    return s.op == "power" and s.both


_of_power = partial(derivative, where=power)

derivative(
    "power-coefficient-missing",
    (lambda s: np.power(s.u, s.n - 1) * s.du, "x**4", "x**3"),
    where=power,
    says="The exponent {c} of `{text}` comes down as a factor: here it is missing.",
)

derivative(
    "power-not-reduced",
    (lambda s: s.n * np.power(s.u, s.n) * s.du, "x**4", "4*x**4"),
    where=power,
    says="The exponent of `{text}` came down as a factor, but is not reduced by one.",
)

derivative(
    "power-increased",
    (lambda s: s.n * np.power(s.u, s.n + 1) * s.du, "x**4", "4*x**5"),
    where=power,
    says="The exponent of `{text}` went up by one: differentiating takes it down by one.",
)

derivative(
    "exponent-lost",
    (lambda s: s.n * s.u * s.du, "x**5", "5*x"),
    where=lambda s: power(s) and bool(np.all(s.n > 2)),
    says="The exponent {c} of `{text}` came down as a factor, and is gone above: it goes down by "
    "one.",
)

derivative(
    "exponent-reduced-twice",
    (lambda s: s.n * np.power(s.u, s.n - 2) * s.du, "x**5", "5*x**3"),
    where=lambda s: power(s) and bool(np.all((s.n == 2) | (s.n > 3))),
    says="The exponent of `{text}` went down by two: it goes down by one.",
)

derivative(
    "divided-by-exponent",
    (lambda s: np.power(s.u, s.n - 1) * s.du / s.n, "x**4", "x**3/4"),
    where=power,
    says="`{text}` was divided by its exponent: differentiating multiplies by it.",
)


for _inner, _answer in (
    (lambda s: s.dw, "3*3*x*exp(3*x - 1)"),
    (lambda s: s.dx, "3*x*exp(3*x - 1)"),
):
    derivative(
        "power-rule-on-exponential",
        (lambda s, inner=_inner: s.w * s.apply(s.w - 1) * inner(s), "exp(3*x)", _answer),
        where=exponential,
        says="In `{text}` the variable is in the exponent: the power rule does not hold here, an "
        "exponential keeps its exponent.",
    )

derivative(
    "power-rule-on-exponential",
    (lambda s: s.v * np.power(s.u, s.v - 1) * s.du, "x**x", "x*x**(x - 1)"),
    where=_tower,
    says="In `{text}` the exponent varies too, so that the power rule is only half of it: take "
    "the logarithm first.",
)

derivative(
    "exponential-rule-on-variable-base",
    (lambda s: s.y * np.log(s.u) * s.dv, "x**x", "x**x * log(x)"),
    where=_tower,
    says="In `{text}` the base varies too, so that the rule for a^v is only half of it: take the "
    "logarithm first.",
)

derivative(
    "exponential-rule-on-variable-base",
    (lambda s: s.y * np.log(s.u) * s.du, "x**4", "x**4 * log(x)"),
    where=power,
    says="`{text}` has a constant exponent: it wants the power rule, not the rule for a^x.",
)

derivative(
    "exponent-of-e-changed",
    (lambda s: s.dw * np.exp(s.w - 1), "exp(3*x)", "3*exp(3*x - 1)"),
    where=lambda s: s.op == "exp",
    says="`{text}` keeps its exponent when it is differentiated; here it was reduced by one.",
)

derivative(
    "log-of-base-missing",
    (lambda s: s.y * s.dw, "2**x", "2**x"),
    where=_base_not_e,
    says="The base of `{text}` is not e: the factor log(base) is missing.",
)

derivative(
    "log-of-base-missing",
    (lambda s: s.dw / s.w, "log10(x)", "1/x"),
    where=lambda s: s.op in ("log2", "log10"),
    says="The base of `{text}` is not e: the derivative is divided by log(base), which is missing.",
)

derivative(
    "log-of-base-misplaced",
    (lambda s: s.y * s.dw / _log_of_base(s), "2**x", "2**x / log(2)"),
    (lambda s: s.y * s.dw * np.log(s.x), "2**x", "2**x * log(x)"),
    where=_base_not_e,
    says="The derivative of `{text}` is multiplied by log(base): here it is not.",
)

derivative(
    "log-of-base-misplaced",
    (lambda s: s.dw / s.w * _log_of_base(s), "log10(x)", "log(10)/x"),
    where=lambda s: s.op in ("log2", "log10"),
    says="The derivative of `{text}` is divided by log(base): here it is multiplied by it.",
)

derivative(
    "log-of-base-misplaced",
    (lambda s: s.dw / (10 * s.w), "log10(x)", "1/(10*x)"),
    where=lambda s: s.op == "log10",
    says="In the derivative of `{text}` stands the base where its logarithm belongs.",
)

derivative(
    "logarithmic-derivative-left",
    (lambda s: s.right / s.y, "x**x", "log(x) + 1"),
    where=_tower,
    says="This is the derivative of log(`{text}`), y'/y: it is still to be multiplied by y.",
)

derivative(
    "product-of-derivatives",
    (lambda s: s.y * s.dv * s.du / s.u, "x**sin(x)", "x**sin(x) * cos(x)/x"),
    where=_tower,
    says="The logarithm of `{text}` is the product v log(u): its derivative is not the product of "
    "the derivatives.",
)

derivative(
    "log-derivative-wrong",
    (
        lambda s: s.y * (s.dv * np.log(s.u) + s.v * s.du),
        "x**sin(x)",
        "x**sin(x) * (cos(x)*log(x) + sin(x))",
    ),
    where=_tower,
    says="In the derivative of log(`{text}`) the derivative of log(u) is u'/u, not u'.",
)


SAYS = (
    "`{text}` was split over the sum inside: (a + b)^n is not a^n + b^n, and no root, logarithm or "
    "fraction is split so either."
)


def _sign(s: Operation) -> int:
    return -1 if s.op == "subtract" else 1


def _raise_summand(s: Operation, i: int, n: Numbers) -> Numbers:
    """A summand to a power; of (x^2)^(1/2) nobody thinks of |x|."""
    summand, base = (s.u, s.v)[i], s.within(i)
    if base is not None and power(base):
        return np.power(base.u, base.n * n)
    return np.power(summand, n)


def _function_split(s: Operation) -> Numbers:
    """The derivative of f(a) + f(b) for that of f(a + b)."""
    inner = s.inner
    assert inner is not None
    parts = [(inner.u, inner.du, 1), (inner.v, inner.dv, _sign(inner))]
    return sum(sign * s.slope(a) * da for a, da, sign in parts if da is not None)


def _slope_split(s: Operation) -> Numbers:
    """The right rule, in which the power of the sum was then worked out falsely."""
    n = s.n - 1 if power(s) else -2.0
    inner = s.inner
    assert inner is not None
    size = np.abs(n)
    split = _raise_summand(inner, 0, size) + _sign(inner) * _raise_summand(inner, 1, size)
    return s.fw / np.power(s.w, n) * np.where(n < 0, 1 / split, split) * s.dw


def _fraction_split(s: Operation) -> Numbers:
    inner = s.inner
    assert inner is not None
    return (1 / inner.u + _sign(inner) / inner.v) * s.dw


def _denominator_split(s: Operation) -> Numbers:
    below = s.below
    assert below is not None
    return s.right * s.v**2 / (below.u**2 + _sign(below) * below.v**2)


def _sum_below(s: Operation) -> bool:
    return quotient(s) and s.below is not None and term(s.below)


derivative(
    "false-law-of-algebra",
    (_function_split, "(3*x + 1)**4", "324*x**3"),
    where=of_sum,
    says=SAYS,
)

derivative(
    "false-law-of-algebra",
    (_slope_split, "sqrt(x**2 + 9)", "x/(x + 3)"),
    where=lambda s: of_sum(s) and (power(s) or s.op in ("divide", "reciprocal")),
    says="The rule for `{text}` is right; then the power of the sum was split: (a + b)^n is not "
    "a^n + b^n.",
)

derivative(
    "false-law-of-algebra",
    (_denominator_split, "x/(x**2 + 1)", "(1 - x**2)/(x**4 + 1)"),
    where=_sum_below,
    says="The square of the sum below `{text}` was split: (a + b)^2 is a^2 + 2ab + b^2.",
)

derivative(
    "false-law-of-algebra",
    (_fraction_split, "log(x + 4)", "1/x + 1/4"),
    where=lambda s: of_sum(s) and s.op == "log",
    says="The rule for `{text}` is right; then the fraction was split: 1/(a + b) is not 1/a + 1/b.",
)

derivative(
    "exponent-sign-lost",
    (lambda s: s.n * np.power(s.u, 1 - s.n) * s.du, "x**-3", "-3*x**4"),
    where=lambda s: power(s) and bool(np.all(s.n < 0)),
    says="The exponent of `{text}` is negative: the minus above was lost.",
)
