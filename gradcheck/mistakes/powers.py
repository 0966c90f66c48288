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

power_coefficient_missing = _of_power(
    "power-coefficient-missing",
    wrong=lambda s: np.power(s.u, s.n - 1) * s.du,
    says="The exponent {c} of `{text}` comes down as a factor: here it is missing.",
    example=("x**4", "x**3"),
)

power_not_reduced = _of_power(
    "power-not-reduced",
    wrong=lambda s: s.n * np.power(s.u, s.n) * s.du,
    says="The exponent of `{text}` came down as a factor, but is not reduced by one.",
    example=("x**4", "4*x**4"),
)

power_increased = _of_power(
    "power-increased",
    wrong=lambda s: s.n * np.power(s.u, s.n + 1) * s.du,
    says="The exponent of `{text}` went up by one: differentiating takes it down by one.",
    example=("x**4", "4*x**5"),
)

exponent_lost = derivative(
    "exponent-lost",
    where=lambda s: power(s) and bool(np.all(s.n > 2)),
    wrong=lambda s: s.n * s.u * s.du,
    says="The exponent {c} of `{text}` came down as a factor, and is gone above: it goes down by "
    "one.",
    example=("x**5", "5*x"),
)

exponent_reduced_twice = derivative(
    "exponent-reduced-twice",
    where=lambda s: power(s) and bool(np.all((s.n == 2) | (s.n > 3))),
    wrong=lambda s: s.n * np.power(s.u, s.n - 2) * s.du,
    says="The exponent of `{text}` went down by two: it goes down by one.",
    example=("x**5", "5*x**3"),
)

divided_by_exponent = _of_power(
    "divided-by-exponent",
    wrong=lambda s: np.power(s.u, s.n - 1) * s.du / s.n,
    says="`{text}` was divided by its exponent: differentiating multiplies by it.",
    example=("x**4", "x**3/4"),
)


for _inner, _answer in (
    (lambda s: s.dw, "3*3*x*exp(3*x - 1)"),
    (lambda s: s.dx, "3*x*exp(3*x - 1)"),
):
    derivative(
        "power-rule-on-exponential",
        where=exponential,
        wrong=lambda s, inner=_inner: s.w * s.apply(s.w - 1) * inner(s),
        says="In `{text}` the variable is in the exponent: the power rule does not hold here, an "
        "exponential keeps its exponent.",
        example=("exp(3*x)", _answer),
    )

power_rule_on_variable_exponent = derivative(
    "power-rule-on-exponential",
    where=_tower,
    wrong=lambda s: s.v * np.power(s.u, s.v - 1) * s.du,
    says="In `{text}` the exponent varies too, so that the power rule is only half of it: take "
    "the logarithm first.",
    example=("x**x", "x*x**(x - 1)"),
)

exponential_rule_on_variable_base = derivative(
    "exponential-rule-on-variable-base",
    where=_tower,
    wrong=lambda s: s.y * np.log(s.u) * s.dv,
    says="In `{text}` the base varies too, so that the rule for a^v is only half of it: take the "
    "logarithm first.",
    example=("x**x", "x**x * log(x)"),
)

exponential_rule_on_power = _of_power(
    "exponential-rule-on-variable-base",
    wrong=lambda s: s.y * np.log(s.u) * s.du,
    says="`{text}` has a constant exponent: it wants the power rule, not the rule for a^x.",
    example=("x**4", "x**4 * log(x)"),
)

exponent_of_e_changed = derivative(
    "exponent-of-e-changed",
    where=lambda s: s.op == "exp",
    wrong=lambda s: s.dw * np.exp(s.w - 1),
    says="`{text}` keeps its exponent when it is differentiated; here it was reduced by one.",
    example=("exp(3*x)", "3*exp(3*x - 1)"),
)

log_of_base_missing = derivative(
    "log-of-base-missing",
    where=_base_not_e,
    wrong=lambda s: s.y * s.dw,
    says="The base of `{text}` is not e: the factor log(base) is missing.",
    example=("2**x", "2**x"),
)

log_of_base_missing_below = derivative(
    "log-of-base-missing",
    where=lambda s: s.op in ("log2", "log10"),
    wrong=lambda s: s.dw / s.w,
    says="The base of `{text}` is not e: the derivative is divided by log(base), which is missing.",
    example=("log10(x)", "1/x"),
)

log_of_base_misplaced = derivative(
    "log-of-base-misplaced",
    where=_base_not_e,
    wrong=lambda s: s.y * s.dw / _log_of_base(s),
    says="The derivative of `{text}` is multiplied by log(base): here it is divided by it.",
    example=("2**x", "2**x / log(2)"),
)

log_of_base_misplaced_above = derivative(
    "log-of-base-misplaced",
    where=lambda s: s.op in ("log2", "log10"),
    wrong=lambda s: s.dw / s.w * _log_of_base(s),
    says="The derivative of `{text}` is divided by log(base): here it is multiplied by it.",
    example=("log10(x)", "log(10)/x"),
)

ten_for_its_log = derivative(
    "log-of-base-misplaced",
    where=lambda s: s.op == "log10",
    wrong=lambda s: s.dw / (10 * s.w),
    says="In the derivative of `{text}` stands the base where its logarithm belongs.",
    example=("log10(x)", "1/(10*x)"),
)

log_of_variable = derivative(
    "log-of-base-misplaced",
    where=_base_not_e,
    wrong=lambda s: s.y * s.dw * np.log(s.x),
    says="The derivative of `{text}` is multiplied by log(base), not by the log of the variable.",
    example=("2**x", "2**x * log(x)"),
)

logarithmic_derivative_left = derivative(
    "logarithmic-derivative-left",
    where=_tower,
    wrong=lambda s: s.right / s.y,
    says="This is the derivative of log(`{text}`), y'/y: it is still to be multiplied by y.",
    example=("x**x", "log(x) + 1"),
)

product_of_derivatives_above = derivative(
    "product-of-derivatives",
    where=_tower,
    wrong=lambda s: s.y * s.dv * s.du / s.u,
    says="The logarithm of `{text}` is the product v log(u): its derivative is not the product of "
    "the derivatives.",
    example=("x**sin(x)", "x**sin(x) * cos(x)/x"),
)

log_in_tower_wrong = derivative(
    "log-derivative-wrong",
    where=_tower,
    wrong=lambda s: s.y * (s.dv * np.log(s.u) + s.v * s.du),
    says="In the derivative of log(`{text}`) the derivative of log(u) is u'/u, not u'.",
    example=("x**sin(x)", "x**sin(x) * (cos(x)*log(x) + sin(x))"),
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


function_split = derivative(
    "false-law-of-algebra",
    where=of_sum,
    wrong=_function_split,
    says=SAYS,
    example=("(3*x + 1)**4", "324*x**3"),
)

slope_split = derivative(
    "false-law-of-algebra",
    where=lambda s: of_sum(s) and (power(s) or s.op in ("divide", "reciprocal")),
    wrong=_slope_split,
    says="The rule for `{text}` is right; then the power of the sum was split: (a + b)^n is not "
    "a^n + b^n.",
    example=("sqrt(x**2 + 9)", "x/(x + 3)"),
)

denominator_split = derivative(
    "false-law-of-algebra",
    where=_sum_below,
    wrong=_denominator_split,
    says="The square of the sum below `{text}` was split: (a + b)^2 is a^2 + 2ab + b^2.",
    example=("x/(x**2 + 1)", "(1 - x**2)/(x**4 + 1)"),
)

fraction_split = derivative(
    "false-law-of-algebra",
    where=lambda s: of_sum(s) and s.op == "log",
    wrong=_fraction_split,
    says="The rule for `{text}` is right; then the fraction was split: 1/(a + b) is not 1/a + 1/b.",
    example=("log(x + 4)", "1/x + 1/4"),
)


exponent_sign_lost = derivative(
    "exponent-sign-lost",
    where=lambda s: power(s) and bool(np.all(s.n < 0)),
    wrong=lambda s: s.n * np.power(s.u, 1 - s.n) * s.du,
    says="The exponent of `{text}` is negative: the minus above was lost.",
    example=("x**-3", "-3*x**4"),
)
