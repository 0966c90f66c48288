"""The product rule gone wrong: u v, where both vary."""

from gradcheck.mistakes.operation import product
from gradcheck.mistakes.row import mistake

product_of_derivatives = mistake(
    "product-of-derivatives",
    verb="derivative",
    where=product,
    wrong=lambda s: s.du * s.dv,
    says="`{text}` is a product: its derivative is u'v + uv', not u'v', with u = {u}, v = {v}.",
    example=("x**2 * sin(x)", {"x": "2*x*cos(x)"}),
    common=0.8,
)

product_rule_crossed = mistake(
    "product-rule-crossed",
    verb="derivative",
    where=product,
    wrong=lambda s: s.u * s.du + s.v * s.dv,
    says="In the product `{text}` each derivative stands beside its own factor: it goes beside "
    "the other one, u'v + uv'.",
    example=("x**2 * sin(x)", {"x": "x**2*2*x + sin(x)*cos(x)"}),
    common=0.5,
)

lost_first_product_term = mistake(
    "lost-product-term",
    verb="derivative",
    where=product,
    wrong=lambda s: s.fv * s.dv,
    says="The product rule for `{text}` has two terms: {du} times {v} is missing.",
    example=("x**2 * sin(x)", {"x": "x**2*cos(x)"}),
    common=0.7,
)

lost_second_product_term = mistake(
    "lost-product-term",
    verb="derivative",
    where=product,
    wrong=lambda s: s.fu * s.du,
    says="The product rule for `{text}` has two terms: {u} times {dv} is missing.",
    example=("x**2 * sin(x)", {"x": "2*x*sin(x)"}),
    common=0.7,
)

product_rule_minus = mistake(
    "product-rule-minus",
    verb="derivative",
    where=product,
    wrong=lambda s: s.fu * s.du - s.fv * s.dv,
    says="The two terms of the product rule for `{text}` are added, not subtracted.",
    example=("x**2 * sin(x)", {"x": "2*x*sin(x) - x**2*cos(x)"}),
    common=0.5,
)

product_rule_minus_turned = mistake(
    "product-rule-minus",
    verb="derivative",
    where=product,
    wrong=lambda s: s.fv * s.dv - s.fu * s.du,
    says="The two terms of the product rule for `{text}` are added, not subtracted.",
    example=("x**2 * sin(x)", {"x": "x**2*cos(x) - 2*x*sin(x)"}),
    common=0.4,
)
