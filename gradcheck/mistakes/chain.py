"""The chain rule, and the sign, gone wrong."""

from functools import partial

from gradcheck.mistakes.operation import (
    call,
    composite,
    function,
    inner_is_variable,
    term,
)  # fmt: skip
from gradcheck.mistakes.row import derivative

SIGNED = {
    "sin", "cos", "tan", "sec", "csc", "cot", "arccos", "acsc", "acot",
    "sinh", "cosh", "tanh", "sech", "csch", "coth",
}  # fmt: skip


_of_chain = partial(derivative, where=composite)

sign_error = derivative(
    "sign-error",
    where=lambda s: True,
    wrong=lambda s: -s.right,
    says="The sign of the derivative of `{text}` is the wrong way round.",
    example=("x**3 + 2*sin(x)", {"x": "3*x**2 - 2*cos(x)"}),
    common=0.9,
    generic=True,
    habit=False,
    slip=True,
)

sign_of_function = derivative(
    "sign-error",
    where=lambda s: function(s) and s.op in SIGNED,
    wrong=lambda s: -s.right,
    says="The derivative of the function in `{text}` has the other sign.",
    example=("x*sin(x) + cos(3*x)", {"x": "sin(x) - x*cos(x) + 3*sin(3*x)"}),
    common=0.9,
    slip=True,
)

for _i, _example in enumerate(
    (
        ("x + sin(x)", {"x": "-1 + cos(x)"}),
        ("sin(x) - x", {"x": "cos(x) + 1"}),
    )
):
    derivative(
        "sign-error",
        where=lambda s: term(s) and s.both,
        wrong=lambda s, i=_i: s.part(1 - i) - s.part(i),
        says=f"The derivative of the term {{{'uv'[_i]}}} has the wrong sign in `{{text}}`.",
        example=_example,
        common=0.9,
        habit=False,
        operand=_i,
        slip=True,
    )

missing_inner_derivative = _of_chain(
    "missing-inner-derivative",
    wrong=lambda s: s.fw * s.dx,
    says="In `{text}` the derivative of the inside is missing: the chain rule multiplies by "
    "{dw}, the derivative of {w}.",
    example=("sin(x**2)", {"x": "cos(x**2)"}),
    common=1.0,
    is_a="wrong-variable",  # by the inside: of a x + c the same as by c
    covers=True,
)

outer_not_differentiated = _of_chain(
    "outer-not-differentiated",
    wrong=lambda s: s.y * s.dw,
    says="In `{text}` only the inside was differentiated: the outer function has a derivative too.",
    example=("cos(2*x)", {"x": "2*cos(2*x)"}),
    common=0.4,
)

function_kept = derivative(
    "not-differentiated",
    where=lambda s: call(s) and inner_is_variable(s),
    wrong=lambda s: s.y * s.dx,
    says="`{text}` stands in the answer as it is: it has not been differentiated.",
    example=("x**2 + sin(x)", {"x": "2*x + sin(x)"}),
    common=0.4,
)

outer_at_inner_derivative = _of_chain(
    "outer-at-inner-derivative",
    wrong=lambda s: s.slope(s.dw),
    says="In `{text}` the outer derivative is taken at {dw}; it belongs at {w}, times {dw}.",
    example=("sin(x**3)", {"x": "cos(3*x**2)"}),
    common=0.45,
    is_a="derivative-put-inside",  # of exp the same
)

outer_at_inner_derivative_times = _of_chain(
    "outer-at-inner-derivative",
    wrong=lambda s: s.slope(s.dw) * s.dw,
    says="In `{text}` the outer derivative is taken at {dw}; it belongs at {w}.",
    example=("sin(x**3)", {"x": "cos(3*x**2)*3*x**2"}),
    common=0.4,
)

outer_at_variable = _of_chain(
    "outer-at-variable",
    wrong=lambda s: s.slope(s.x) * s.dw,
    says="In `{text}` the outer derivative is taken at the bare variable; it belongs at {w}.",
    example=("cos(2*x)", {"x": "-2*sin(x)"}),
    common=0.5,
)

outer_at_variable_alone = _of_chain(
    "outer-at-variable",
    wrong=lambda s: s.slope(s.x) * s.dx,
    says="`{text}` was differentiated as if its inside were the bare variable: keep {w} inside, "
    "and multiply by {dw}.",
    example=("cos(x**2)", {"x": "-sin(x)"}),
    common=0.35,
)

derivative_put_inside = _of_chain(
    "derivative-put-inside",
    wrong=lambda s: s.slope(s.w * s.dw),
    says="In `{text}` the inner derivative {dw} got inside the function: it multiplies outside.",
    example=("sin(x**2)", {"x": "cos(2*x**3)"}),
    common=0.35,
)

inner_replaced = _of_chain(
    "derivative-put-inside",
    wrong=lambda s: s.apply(s.dw),
    says="In `{text}` the inside was replaced by its derivative {dw}: differentiate the outer "
    "function as well, keep {w} inside, and multiply by {dw}.",
    example=("sin(x**3)", {"x": "sin(3*x**2)"}),
    common=0.35,
)

only_the_inside = _of_chain(
    "outer-not-differentiated",
    wrong=lambda s: s.dw,
    says="Of `{text}` only the inside was differentiated: the derivative of the outer function is "
    "missing.",
    example=("sin(x**3)", {"x": "3*x**2"}),
    common=0.35,
)
