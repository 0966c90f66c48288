"""The calculus family: a wrong rule at one node, in tangent form."""

from gradcheck.mistakes.row import Step, mistake


def _call(s: Step) -> bool:
    """A function of something more than the bare variable."""
    return s.du is not None and s.dv is None and s.op not in LINEAR


def _product(s: Step) -> bool:
    return s.op == "multiply" and s.both


LINEAR = {"add", "subtract", "negative", "multiply", "divide"}

sign_error = mistake(
    "sign-error",
    verb="derivative",
    where=lambda s: True,
    wrong=lambda s: -s.right,
    says="The sign flipped on the way through `{text}`.",
    example=("x**3 + 2*sin(x)", {"x": "3*x**2 - 2*cos(x)"}),
    common=0.9,
)

missing_inner_derivative = mistake(
    "missing-inner-derivative",
    verb="derivative",
    where=lambda s: _call(s) and not s.u_is_variable,
    wrong=lambda s: s.fu * s.dx,
    says="In `{text}` the derivative of the inner function is missing: the chain rule multiplies by it.",
    example=("sin(x**2)", {"x": "cos(x**2)"}),
    common=1.0,
)

product_of_derivatives = mistake(
    "product-of-derivatives",
    verb="derivative",
    where=_product,
    wrong=lambda s: s.du * s.dv,
    says="`{text}` is a product: its derivative is u'v + uv', not u'v'.",
    example=("x**2 * sin(x)", {"x": "2*x*cos(x)"}),
    common=0.8,
)
