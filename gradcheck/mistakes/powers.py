"""Powers and exponentials gone wrong, and false laws of algebra: (a + b)^n as a^n + b^n."""

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


# fmt: off
derivative("power-coefficient-missing", power,
    "The exponent {c} of `{text}` comes down as a factor: here it is missing.",
    (lambda s: np.power(s.u, s.n - 1) * s.du, "x**4", "x**3"))
derivative("power-not-reduced", power,
    "The exponent of `{text}` came down as a factor, but is not reduced by one.",
    (lambda s: s.n * np.power(s.u, s.n) * s.du, "x**4", "4*x**4"))
derivative("power-increased", power,
    "The exponent of `{text}` went up by one: differentiating takes it down by one.",
    (lambda s: s.n * np.power(s.u, s.n + 1) * s.du, "x**4", "4*x**5"))
derivative("exponent-lost", lambda s: power(s) and bool(np.all(s.n > 2)),
    "The exponent {c} of `{text}` came down as a factor, and is gone above: it goes down by one.",
    (lambda s: s.n * s.u * s.du, "x**5", "5*x"))
derivative("exponent-reduced-twice", lambda s: power(s) and bool(np.all((s.n == 2) | (s.n > 3))),
    "The exponent of `{text}` went down by two: it goes down by one.",
    (lambda s: s.n * np.power(s.u, s.n - 2) * s.du, "x**5", "5*x**3"))
derivative("divided-by-exponent", power,
    "`{text}` was divided by its exponent: differentiating multiplies by it.",
    (lambda s: np.power(s.u, s.n - 1) * s.du / s.n, "x**4", "x**3/4"))
for _inner, _answer in (
    (lambda s: s.dw, "3*3*x*exp(3*x - 1)"),
    (lambda s: s.dx, "3*x*exp(3*x - 1)"),
):
    derivative("power-rule-on-exponential", exponential,
        "In `{text}` the variable is in the exponent: the power rule does not hold here, an "
        "exponential keeps its exponent.",
        (lambda s, inner=_inner: s.w * s.apply(s.w - 1) * inner(s), "exp(3*x)", _answer))
derivative("power-rule-on-exponential", _tower,
    "In `{text}` the exponent varies too, so that the power rule is only half of it: take the "
    "logarithm first.",
    (lambda s: s.v * np.power(s.u, s.v - 1) * s.du, "x**x", "x*x**(x - 1)"))
derivative("exponential-rule-on-variable-base", _tower,
    "In `{text}` the base varies too, so that the rule for a^v is only half of it: take the "
    "logarithm first.",
    (lambda s: s.y * np.log(s.u) * s.dv, "x**x", "x**x * log(x)"))
derivative("exponential-rule-on-variable-base", power,
    "`{text}` has a constant exponent: it wants the power rule, not the rule for a^x.",
    (lambda s: s.y * np.log(s.u) * s.du, "x**4", "x**4 * log(x)"))
derivative("exponent-of-e-changed", lambda s: s.op == "exp",
    "`{text}` keeps its exponent when it is differentiated; here it was reduced by one.",
    (lambda s: s.dw * np.exp(s.w - 1), "exp(3*x)", "3*exp(3*x - 1)"))
derivative("log-of-base-missing", _base_not_e,
    "The base of `{text}` is not e: the factor log(base) is missing.",
    (lambda s: s.y * s.dw, "2**x", "2**x"))
derivative("log-of-base-missing", lambda s: s.op in ("log2", "log10"),
    "The base of `{text}` is not e: the derivative is divided by log(base), which is missing.",
    (lambda s: s.dw / s.w, "log10(x)", "1/x"))
derivative("log-of-base-misplaced", _base_not_e,
    "The derivative of `{text}` is multiplied by log(base): here it is not.",
    (lambda s: s.y * s.dw / _log_of_base(s), "2**x", "2**x / log(2)"),
    (lambda s: s.y * s.dw * np.log(s.x), "2**x", "2**x * log(x)"))
derivative("log-of-base-misplaced", lambda s: s.op in ("log2", "log10"),
    "The derivative of `{text}` is divided by log(base): here it is multiplied by it.",
    (lambda s: s.dw / s.w * _log_of_base(s), "log10(x)", "log(10)/x"))
derivative("log-of-base-misplaced", lambda s: s.op == "log10",
    "In the derivative of `{text}` stands the base where its logarithm belongs.",
    (lambda s: s.dw / (10 * s.w), "log10(x)", "1/(10*x)"))
derivative("logarithmic-derivative-left", _tower,
    "This is the derivative of log(`{text}`), y'/y: it is still to be multiplied by y.",
    (lambda s: s.right / s.y, "x**x", "log(x) + 1"))
derivative("product-of-derivatives", _tower,
    "The logarithm of `{text}` is the product v log(u): its derivative is not the product of the "
    "derivatives.",
    (lambda s: s.y * s.dv * s.du / s.u, "x**sin(x)", "x**sin(x) * cos(x)/x"))
derivative("log-derivative-wrong", _tower,
    "In the derivative of log(`{text}`) the derivative of log(u) is u'/u, not u'.",
    (lambda s: s.y * (s.dv * np.log(s.u) + s.v * s.du), "x**sin(x)",
     "x**sin(x) * (cos(x)*log(x) + sin(x))"))
derivative("false-law-of-algebra", of_sum,
    SAYS,
    (_function_split, "(3*x + 1)**4", "324*x**3"))
derivative("false-law-of-algebra",
    lambda s: of_sum(s) and (power(s) or s.op in ("divide", "reciprocal")),
    "The rule for `{text}` is right; then the power of the sum was split: (a + b)^n is not a^n + "
    "b^n.",
    (_slope_split, "sqrt(x**2 + 9)", "x/(x + 3)"))
derivative("false-law-of-algebra", _sum_below,
    "The square of the sum below `{text}` was split: (a + b)^2 is a^2 + 2ab + b^2.",
    (_denominator_split, "x/(x**2 + 1)", "(1 - x**2)/(x**4 + 1)"))
derivative("false-law-of-algebra", lambda s: of_sum(s) and s.op == "log",
    "The rule for `{text}` is right; then the fraction was split: 1/(a + b) is not 1/a + 1/b.",
    (_fraction_split, "log(x + 4)", "1/x + 1/4"))
derivative("exponent-sign-lost", lambda s: power(s) and bool(np.all(s.n < 0)),
    "The exponent of `{text}` is negative: the minus above was lost.",
    (lambda s: s.n * np.power(s.u, 1 - s.n) * s.du, "x**-3", "-3*x**4"))
