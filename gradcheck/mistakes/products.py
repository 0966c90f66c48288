"""The rules for u v and u / v gone wrong, where both vary."""

import numpy as np

from gradcheck.mistakes.operation import Operation, over, product, quotient
from gradcheck.mistakes.row import derivative


def _power_below(s: Operation) -> bool:
    """A constant over a power of the variable: n = w' x / w is the same everywhere."""
    if not _reciprocal(s):
        return False
    n = over(s.dw * s.x, s.w)
    return bool(np.all(np.abs(n - np.round(n)) < WHOLE) and np.all(np.ptp(n, axis=-2) < WHOLE))


WHOLE = 1e-9  # a number that close to a whole one is whole but for rounding
RULE = "(u/v)' = (u'v-uv')/v^2 with u = {u}, v = {v}"


def _reciprocal(s: Operation) -> bool:
    """A constant over something that varies."""
    return (s.op == "divide" and s.du is None) or s.op == "reciprocal"


# fmt: off
derivative("product-of-derivatives", product,
    "`{text}` is a product: its derivative is u'v + uv', not u'v', with u = {u}, v = {v}.",
    (lambda s: s.du * s.dv, "x**2 * sin(x)", "2*x*cos(x)"))
derivative("product-rule-crossed", product,
    "In the product `{text}` each derivative goes beside the other factor, u'v + uv': here they "
    "are paired otherwise.",
    (lambda s: s.u * s.du + s.v * s.dv, "x**2 * sin(x)", "x**2*2*x + sin(x)*cos(x)"))
for _i, _missing, _answer in (
    (1, "{du} times {v}", "x**2*cos(x)"),
    (0, "{u} times {dv}", "2*x*sin(x)"),
):
    derivative("lost-product-term", product,
        f"The product rule for `{{text}}` has two terms: {_missing} is missing.",
        (lambda s, i=_i: s.part(i), "x**2 * sin(x)", _answer))
for _i, _answer in enumerate(("2*x*sin(x) - x**2*cos(x)", "x**2*cos(x) - 2*x*sin(x)")):
    derivative("product-rule-minus", product,
        "The two terms of the product rule for `{text}` are added, not subtracted.",
        (lambda s, i=_i: s.part(i) - s.part(1 - i), "x**2 * sin(x)", _answer))
for _i, _answer in ((0, "sin(x) + x**2*cos(x)"), (1, "2*x*sin(x) + cos(x)")):
    derivative("factor-slip", product,
        f"In one term of the product rule for `{{text}}` the factor "
        f"{{{'u' if _i else 'du'}}} is missing.",
        (lambda s, i=_i: s.u * s.dv + s.v if i == 0 else s.v * s.du + s.dv, "x**2 * sin(x)",
         _answer), habit=False)
derivative("quotient-plus", quotient,
    f"In the derivative of `{{text}}` stands a plus where a minus belongs: {RULE}.",
    (lambda s: (s.du * s.v + s.u * s.dv) / s.v**2, "sin(x) / x", "(cos(x)*x + sin(x)) / x**2"))
derivative("quotient-swapped", quotient,
    f"The two terms in the numerator of the derivative of `{{text}}` are swapped: {RULE}.",
    (lambda s: -s.right, "sin(x) / x", "(sin(x) - cos(x)*x) / x**2"))
derivative("quotient-of-derivatives", quotient,
    f"`{{text}}` was differentiated above and below by itself: {RULE}.",
    (lambda s: over(s.du, s.dv), "sin(x) / x**2", "cos(x) / (2*x)"))
derivative("denominator-not-squared", quotient,
    f"The denominator in the derivative of `{{text}}` is not squared: {RULE}.",
    (lambda s: s.right * s.v, "sin(x) / x", "(cos(x)*x - sin(x)) / x"))
derivative("denominator-not-squared", _reciprocal,
    "The denominator in the derivative of `{text}` is not squared: (1/v)' is -v' / v^2.",
    (lambda s: s.fw * s.w * s.dw, "1 / (x**2 + 1)", "-2*x / (x**2 + 1)"))
derivative("numerator-squared", quotient,
    f"The derivative of `{{text}}` is divided by the square of the numerator: {RULE}.",
    (lambda s: (s.du * s.v - s.u * s.dv) / s.u**2, "sin(x) / x", "(cos(x)*x - sin(x)) / sin(x)**2"))
for _i, _nth, _answer in ((0, "second", "cos(x) / x"), (1, "first", "-sin(x) / x**2")):
    derivative("lost-quotient-term", quotient,
        f"The {_nth} term of the derivative of `{{text}}` is missing: {RULE}.",
        (lambda s, i=_i: s.part(i), "sin(x) / x", _answer))
derivative("denominator-forgotten", quotient,
    f"The derivative of `{{text}}` is not divided at all: {RULE}.",
    (lambda s: s.right * s.v**2, "sin(x) / x", "cos(x)*x - sin(x)"))
derivative("denominator-forgotten", _reciprocal,
    "The derivative of `{text}` is not divided at all: (1/v)' is -v' / v^2.",
    (lambda s: s.fw * s.w**2 * s.dw, "1 / (x**2 + 1)", "-2*x"))
derivative("reciprocal-sign-lost", _reciprocal,
    "The minus of (1/v)' = -v' / v^2 was lost at `{text}`.",
    (lambda s: -s.right, "1 / (x**2 + 1)", "2*x / (x**2 + 1)**2"))
derivative("quotient-of-derivatives", _reciprocal,
    "In `{text}` only the denominator was differentiated, where it stands: (1/v)' is -v' / v^2.",
    (lambda s: over(s.c * (s.dw != 0), s.dw), "3 / (x**2 + 1)", "3 / (2*x)"))
derivative("product-rule-on-quotient", quotient,
    f"`{{text}}` is a quotient, differentiated as if it were a product: {RULE}.",
    (lambda s: s.du * s.v + s.u * s.dv, "sin(x) / x**2", "x**2*cos(x) + 2*x*sin(x)"),
    (lambda s: s.du * s.dv, "sin(x) / x**3", "3*x**2*cos(x)"))
derivative("product-of-derivatives", quotient,
    f"The derivatives of u and of 1/v are multiplied, of `{{text}}`: {RULE}.",
    (lambda s: -s.du * s.dv / s.v**2, "sin(x) / x**2", "-2*cos(x) / x**3"))
derivative("exponent-sign-lost", _power_below,
    "`{text}` is a negative power: the minus of its exponent was lost.",
    (lambda s: s.right * np.abs(s.x) ** (2 + 2 * over(s.dw * s.x, s.w)), "5 / x**3", "-15 * x**4"))
derivative("power-increased", _power_below,
    "`{text}` is a negative power: its exponent goes down, from -n to -n - 1.",
    (lambda s: s.right * s.x**2, "5 / x**3", "-15 / x**2"))
