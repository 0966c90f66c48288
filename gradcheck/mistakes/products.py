"""The product rule gone wrong: u v, where both vary."""

from functools import partial

from gradcheck.mistakes.operation import product
from gradcheck.mistakes.row import derivative

_of_product = partial(derivative, where=product)

product_of_derivatives = _of_product(
    "product-of-derivatives",
    wrong=lambda s: s.du * s.dv,
    says="`{text}` is a product: its derivative is u'v + uv', not u'v', with u = {u}, v = {v}.",
    example=("x**2 * sin(x)", {"x": "2*x*cos(x)"}),
    common=0.8,
)

product_rule_crossed = _of_product(
    "product-rule-crossed",
    wrong=lambda s: s.u * s.du + s.v * s.dv,
    says="In the product `{text}` each derivative stands beside its own factor: it goes beside "
    "the other one, u'v + uv'.",
    example=("x**2 * sin(x)", {"x": "x**2*2*x + sin(x)*cos(x)"}),
    common=0.5,
)

for _i, _missing, _answer in (
    (1, "{du} times {v}", "x**2*cos(x)"),
    (0, "{u} times {dv}", "2*x*sin(x)"),
):
    _of_product(
        "lost-product-term",
        wrong=lambda s, i=_i: s.part(i),
        says=f"The product rule for `{{text}}` has two terms: {_missing} is missing.",
        example=("x**2 * sin(x)", {"x": _answer}),
        common=0.7,
    )

for _i, _answer, _common in (
    (0, "2*x*sin(x) - x**2*cos(x)", 0.5),
    (1, "x**2*cos(x) - 2*x*sin(x)", 0.4),
):
    _of_product(
        "product-rule-minus",
        wrong=lambda s, i=_i: s.part(i) - s.part(1 - i),
        says="The two terms of the product rule for `{text}` are added, not subtracted.",
        example=("x**2 * sin(x)", {"x": _answer}),
        common=_common,
    )

for _i, _answer in ((0, "sin(x) + x**2*cos(x)"), (1, "2*x*sin(x) + cos(x)")):
    _of_product(
        "factor-slip",
        wrong=lambda s, i=_i: s.u * s.dv + s.v if i == 0 else s.v * s.du + s.dv,
        says=f"In one term of the product rule for `{{text}}` the factor "
        f"{{{'u' if _i else 'du'}}} is missing.",
        example=("x**2 * sin(x)", {"x": _answer}),
        common=0.3,
        habit=False,
        slip=True,
    )
