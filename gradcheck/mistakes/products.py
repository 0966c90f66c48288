"""The rules for u v and u / v gone wrong, where both vary."""

from functools import partial

import numpy as np

from gradcheck.mistakes.operation import Operation, over, product, quotient
from gradcheck.mistakes.row import derivative

_of_product = partial(derivative, where=product)

derivative(
    "product-of-derivatives",
    (lambda s: s.du * s.dv, "x**2 * sin(x)", "2*x*cos(x)"),
    where=product,
    says="`{text}` is a product: its derivative is u'v + uv', not u'v', with u = {u}, v = {v}.",
)

derivative(
    "product-rule-crossed",
    (lambda s: s.u * s.du + s.v * s.dv, "x**2 * sin(x)", "x**2*2*x + sin(x)*cos(x)"),
    where=product,
    says="In the product `{text}` each derivative goes beside the other factor, u'v + uv': here "
    "they are paired otherwise.",
)

for _i, _missing, _answer in (
    (1, "{du} times {v}", "x**2*cos(x)"),
    (0, "{u} times {dv}", "2*x*sin(x)"),
):
    _of_product(
        "lost-product-term",
        (lambda s, i=_i: s.part(i), "x**2 * sin(x)", _answer),
        says=f"The product rule for `{{text}}` has two terms: {_missing} is missing.",
    )

for _i, _answer in enumerate(("2*x*sin(x) - x**2*cos(x)", "x**2*cos(x) - 2*x*sin(x)")):
    _of_product(
        "product-rule-minus",
        (lambda s, i=_i: s.part(i) - s.part(1 - i), "x**2 * sin(x)", _answer),
        says="The two terms of the product rule for `{text}` are added, not subtracted.",
    )

for _i, _answer in ((0, "sin(x) + x**2*cos(x)"), (1, "2*x*sin(x) + cos(x)")):
    _of_product(
        "factor-slip",
        (
            lambda s, i=_i: s.u * s.dv + s.v if i == 0 else s.v * s.du + s.dv,
            "x**2 * sin(x)",
            _answer,
        ),
        says=f"In one term of the product rule for `{{text}}` the factor "
        f"{{{'u' if _i else 'du'}}} is missing.",
        habit=False,
    )


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


_of_quotient = partial(derivative, where=quotient)
_of_reciprocal = partial(derivative, where=_reciprocal)

derivative(
    "quotient-plus",
    (lambda s: (s.du * s.v + s.u * s.dv) / s.v**2, "sin(x) / x", "(cos(x)*x + sin(x)) / x**2"),
    where=quotient,
    says=f"In the derivative of `{{text}}` stands a plus where a minus belongs: {RULE}.",
)

derivative(
    "quotient-swapped",
    (lambda s: -s.right, "sin(x) / x", "(sin(x) - cos(x)*x) / x**2"),
    where=quotient,
    says=f"The two terms in the numerator of the derivative of `{{text}}` are swapped: {RULE}.",
)

derivative(
    "quotient-of-derivatives",
    (lambda s: over(s.du, s.dv), "sin(x) / x**2", "cos(x) / (2*x)"),
    where=quotient,
    says=f"`{{text}}` was differentiated above and below by itself: {RULE}.",
)

derivative(
    "denominator-not-squared",
    (lambda s: s.right * s.v, "sin(x) / x", "(cos(x)*x - sin(x)) / x"),
    where=quotient,
    says=f"The denominator in the derivative of `{{text}}` is not squared: {RULE}.",
)

derivative(
    "denominator-not-squared",
    (lambda s: s.fw * s.w * s.dw, "1 / (x**2 + 1)", "-2*x / (x**2 + 1)"),
    where=_reciprocal,
    says="The denominator in the derivative of `{text}` is not squared: (1/v)' is -v' / v^2.",
)

derivative(
    "numerator-squared",
    (lambda s: (s.du * s.v - s.u * s.dv) / s.u**2, "sin(x) / x", "(cos(x)*x - sin(x)) / sin(x)**2"),
    where=quotient,
    says=f"The derivative of `{{text}}` is divided by the square of the numerator: {RULE}.",
)

for _i, _nth, _answer in ((0, "second", "cos(x) / x"), (1, "first", "-sin(x) / x**2")):
    _of_quotient(
        "lost-quotient-term",
        (lambda s, i=_i: s.part(i), "sin(x) / x", _answer),
        says=f"The {_nth} term of the derivative of `{{text}}` is missing: {RULE}.",
    )

derivative(
    "denominator-forgotten",
    (lambda s: s.right * s.v**2, "sin(x) / x", "cos(x)*x - sin(x)"),
    where=quotient,
    says=f"The derivative of `{{text}}` is not divided at all: {RULE}.",
)

derivative(
    "denominator-forgotten",
    (lambda s: s.fw * s.w**2 * s.dw, "1 / (x**2 + 1)", "-2*x"),
    where=_reciprocal,
    says="The derivative of `{text}` is not divided at all: (1/v)' is -v' / v^2.",
)

derivative(
    "reciprocal-sign-lost",
    (lambda s: -s.right, "1 / (x**2 + 1)", "2*x / (x**2 + 1)**2"),
    where=_reciprocal,
    says="The minus of (1/v)' = -v' / v^2 was lost at `{text}`.",
)

derivative(
    "quotient-of-derivatives",
    (lambda s: over(s.c * (s.dw != 0), s.dw), "3 / (x**2 + 1)", "3 / (2*x)"),
    where=_reciprocal,
    says="In `{text}` only the denominator was differentiated, where it stands: (1/v)' is "
    "-v' / v^2.",
)

derivative(
    "product-rule-on-quotient",
    (lambda s: s.du * s.v + s.u * s.dv, "sin(x) / x**2", "x**2*cos(x) + 2*x*sin(x)"),
    (lambda s: s.du * s.dv, "sin(x) / x**3", "3*x**2*cos(x)"),
    where=quotient,
    says=f"`{{text}}` is a quotient, differentiated as if it were a product: {RULE}.",
)

derivative(
    "product-of-derivatives",
    (lambda s: -s.du * s.dv / s.v**2, "sin(x) / x**2", "-2*cos(x) / x**3"),
    where=quotient,
    says=f"The derivatives of u and of 1/v are multiplied, of `{{text}}`: {RULE}.",
)

derivative(
    "exponent-sign-lost",
    (lambda s: s.right * np.abs(s.x) ** (2 + 2 * over(s.dw * s.x, s.w)), "5 / x**3", "-15 * x**4"),
    where=_power_below,
    says="`{text}` is a negative power: the minus of its exponent was lost.",
)

derivative(
    "power-increased",
    (lambda s: s.right * s.x**2, "5 / x**3", "-15 / x**2"),
    where=_power_below,
    says="`{text}` is a negative power: its exponent goes down, from -n to -n - 1.",
)
