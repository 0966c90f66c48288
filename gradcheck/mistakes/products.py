"""The rules for u v and u / v gone wrong, where both vary."""

from functools import partial

import numpy as np

from gradcheck.mistakes.operation import Operation, over, product, quotient
from gradcheck.mistakes.row import derivative

_of_product = partial(derivative, where=product)

product_of_derivatives = _of_product(
    "product-of-derivatives",
    wrong=lambda s: s.du * s.dv,
    says="`{text}` is a product: its derivative is u'v + uv', not u'v', with u = {u}, v = {v}.",
    example=("x**2 * sin(x)", "2*x*cos(x)"),
)

product_rule_crossed = _of_product(
    "product-rule-crossed",
    wrong=lambda s: s.u * s.du + s.v * s.dv,
    says="In the product `{text}` each derivative goes beside the other factor, u'v + uv': here "
    "they are paired otherwise.",
    example=("x**2 * sin(x)", "x**2*2*x + sin(x)*cos(x)"),
)

for _i, _missing, _answer in (
    (1, "{du} times {v}", "x**2*cos(x)"),
    (0, "{u} times {dv}", "2*x*sin(x)"),
):
    _of_product(
        "lost-product-term",
        wrong=lambda s, i=_i: s.part(i),
        says=f"The product rule for `{{text}}` has two terms: {_missing} is missing.",
        example=("x**2 * sin(x)", _answer),
    )

for _i, _answer in enumerate(("2*x*sin(x) - x**2*cos(x)", "x**2*cos(x) - 2*x*sin(x)")):
    _of_product(
        "product-rule-minus",
        wrong=lambda s, i=_i: s.part(i) - s.part(1 - i),
        says="The two terms of the product rule for `{text}` are added, not subtracted.",
        example=("x**2 * sin(x)", _answer),
    )

for _i, _answer in ((0, "sin(x) + x**2*cos(x)"), (1, "2*x*sin(x) + cos(x)")):
    _of_product(
        "factor-slip",
        wrong=lambda s, i=_i: s.u * s.dv + s.v if i == 0 else s.v * s.du + s.dv,
        says=f"In one term of the product rule for `{{text}}` the factor "
        f"{{{'u' if _i else 'du'}}} is missing.",
        example=("x**2 * sin(x)", _answer),
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

quotient_plus = _of_quotient(
    "quotient-plus",
    wrong=lambda s: (s.du * s.v + s.u * s.dv) / s.v**2,
    says=f"In the derivative of `{{text}}` stands a plus where a minus belongs: {RULE}.",
    example=("sin(x) / x", "(cos(x)*x + sin(x)) / x**2"),
)

quotient_swapped = _of_quotient(
    "quotient-swapped",
    wrong=lambda s: -s.right,
    says=f"The two terms in the numerator of the derivative of `{{text}}` are swapped: {RULE}.",
    example=("sin(x) / x", "(sin(x) - cos(x)*x) / x**2"),
)

quotient_of_derivatives = _of_quotient(
    "quotient-of-derivatives",
    wrong=lambda s: over(s.du, s.dv),
    says=f"`{{text}}` was differentiated above and below by itself: {RULE}.",
    example=("sin(x) / x**2", "cos(x) / (2*x)"),
)

denominator_not_squared = _of_quotient(
    "denominator-not-squared",
    wrong=lambda s: s.right * s.v,
    says=f"The denominator in the derivative of `{{text}}` is not squared: {RULE}.",
    example=("sin(x) / x", "(cos(x)*x - sin(x)) / x"),
)

denominator_of_constant_not_squared = _of_reciprocal(
    "denominator-not-squared",
    wrong=lambda s: s.fw * s.w * s.dw,
    says="The denominator in the derivative of `{text}` is not squared: (1/v)' is -v' / v^2.",
    example=("1 / (x**2 + 1)", "-2*x / (x**2 + 1)"),
)

numerator_squared = _of_quotient(
    "numerator-squared",
    wrong=lambda s: (s.du * s.v - s.u * s.dv) / s.u**2,
    says=f"The derivative of `{{text}}` is divided by the square of the numerator: {RULE}.",
    example=("sin(x) / x", "(cos(x)*x - sin(x)) / sin(x)**2"),
)

for _i, _nth, _answer in ((0, "second", "cos(x) / x"), (1, "first", "-sin(x) / x**2")):
    _of_quotient(
        "lost-quotient-term",
        wrong=lambda s, i=_i: s.part(i),
        says=f"The {_nth} term of the derivative of `{{text}}` is missing: {RULE}.",
        example=("sin(x) / x", _answer),
    )

denominator_forgotten = _of_quotient(
    "denominator-forgotten",
    wrong=lambda s: s.right * s.v**2,
    says=f"The derivative of `{{text}}` is not divided at all: {RULE}.",
    example=("sin(x) / x", "cos(x)*x - sin(x)"),
)

denominator_of_constant_forgotten = _of_reciprocal(
    "denominator-forgotten",
    wrong=lambda s: s.fw * s.w**2 * s.dw,
    says="The derivative of `{text}` is not divided at all: (1/v)' is -v' / v^2.",
    example=("1 / (x**2 + 1)", "-2*x"),
)

reciprocal_sign_lost = _of_reciprocal(
    "reciprocal-sign-lost",
    wrong=lambda s: -s.right,
    says="The minus of (1/v)' = -v' / v^2 was lost at `{text}`.",
    example=("1 / (x**2 + 1)", "2*x / (x**2 + 1)**2"),
)

reciprocal_differentiated_below = _of_reciprocal(
    "quotient-of-derivatives",
    wrong=lambda s: over(s.c * (s.dw != 0), s.dw),
    says="In `{text}` only the denominator was differentiated, where it stands: (1/v)' is "
    "-v' / v^2.",
    example=("3 / (x**2 + 1)", "3 / (2*x)"),
)

product_rule_on_quotient = _of_quotient(
    "product-rule-on-quotient",
    wrong=lambda s: s.du * s.v + s.u * s.dv,
    says=f"`{{text}}` is a quotient, differentiated as if it were a product: {RULE}.",
    example=("sin(x) / x**2", "x**2*cos(x) + 2*x*sin(x)"),
)

product_of_derivatives_of_quotient = _of_quotient(
    "product-rule-on-quotient",
    wrong=lambda s: s.du * s.dv,
    says=f"`{{text}}` is a quotient; here the two derivatives are multiplied: {RULE}.",
    example=("sin(x) / x**3", "3*x**2*cos(x)"),
)

product_of_derivatives_below = _of_quotient(
    "product-of-derivatives",
    wrong=lambda s: -s.du * s.dv / s.v**2,
    says=f"The derivatives of u and of 1/v are multiplied, of `{{text}}`: {RULE}.",
    example=("sin(x) / x**2", "-2*cos(x) / x**3"),
)

sign_of_power_below_lost = derivative(
    "exponent-sign-lost",
    where=_power_below,
    wrong=lambda s: s.right * np.abs(s.x) ** (2 + 2 * over(s.dw * s.x, s.w)),
    says="`{text}` is a negative power: the minus of its exponent was lost.",
    example=("5 / x**3", "-15 * x**4"),
)

power_below_increased = derivative(
    "power-increased",
    where=_power_below,
    wrong=lambda s: s.right * s.x**2,
    says="`{text}` is a negative power: its exponent goes down, from -n to -n - 1.",
    example=("5 / x**3", "-15 / x**2"),
)
