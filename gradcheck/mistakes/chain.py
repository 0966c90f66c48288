"""The chain rule, and the sign, gone wrong."""

from functools import partial

import numpy as np

from gradcheck.mistakes.operation import (
    Operation,
    call,
    composite,
    function,
    inner_is_variable,
    over,
    power,
    term,
)
from gradcheck.mistakes.row import COVERING, GENERIC, derivative

SIGNED = {
    "sin", "cos", "tan", "sec", "csc", "cot", "arccos", "acsc", "acot",
    "sinh", "cosh", "tanh", "sech", "csch", "coth",
}  # fmt: skip


def _of_a_call(s: Operation) -> bool:
    """A call of a call of something: f(g(h(x)))."""
    return composite(s) and s.inner is not None and composite(s.inner)


def _of_a_power(s: Operation) -> bool:
    """A function of a power of the variable: sin(x^3)."""
    return function(s) and s.inner is not None and power(s.inner) and inner_is_variable(s.inner)


def _power_of_function(s: Operation) -> bool:
    """A power of a function of the variable: sin(x)^3."""
    return power(s) and s.inner is not None and function(s.inner) and inner_is_variable(s.inner)


_of_chain = partial(derivative, where=composite)

sign_error = derivative(
    "sign-error",
    where=lambda s: True,
    wrong=lambda s: -s.right,
    says="The sign of the derivative of `{text}` is the wrong way round.",
    example=("x**3 + 2*sin(x)", "3*x**2 - 2*cos(x)"),
    rank=GENERIC,
    habit=False,
)

sign_of_function = derivative(
    "sign-error",
    where=lambda s: function(s) and s.op in SIGNED,
    wrong=lambda s: -s.right,
    says="The derivative of the function in `{text}` has the other sign.",
    example=("x*sin(x) + cos(3*x)", "sin(x) - x*cos(x) + 3*sin(3*x)"),
)

for _i, _example in enumerate((("x + sin(x)", "-1 + cos(x)"), ("sin(x) - x", "cos(x) + 1"))):
    derivative(
        "sign-error",
        where=lambda s: term(s) and s.both,
        wrong=lambda s, i=_i: s.part(1 - i) - s.part(i),
        says=f"The derivative of the term {{{'uv'[_i]}}} has the wrong sign in `{{text}}`.",
        example=_example,
        habit=False,
        operand=_i,
    )

missing_inner_derivative = _of_chain(
    "missing-inner-derivative",
    wrong=lambda s: s.fw * s.dx,
    says="In `{text}` the derivative of the inside is missing: the chain rule multiplies by "
    "{dw}, the derivative of {w}.",
    example=("sin(x**2)", "cos(x**2)"),
    rank=COVERING,
)

inner_lost_but_sign = _of_chain(
    "missing-inner-derivative",
    wrong=lambda s: s.fw * np.sign(s.dw) * s.dx,
    says="Of {dw}, the derivative of the inside of `{text}`, only the sign is left: the chain rule "
    "multiplies by it.",
    example=("exp(-3*x)", "-exp(-3*x)"),
    rank=COVERING,
)

outer_not_differentiated = _of_chain(
    "outer-not-differentiated",
    wrong=lambda s: s.y * s.dw,
    says="In `{text}` only the inside was differentiated: the outer function has a derivative too.",
    example=("cos(2*x)", "2*cos(2*x)"),
)

function_kept = derivative(
    "not-differentiated",
    where=lambda s: call(s) and inner_is_variable(s),
    wrong=lambda s: s.y * s.dx,
    says="`{text}` stands in the answer as it is: it has not been differentiated.",
    example=("x**2 + sin(x)", "2*x + sin(x)"),
)

outer_at_inner_derivative = _of_chain(
    "outer-at-inner-derivative",
    wrong=lambda s: s.slope(s.dw),
    says="In `{text}` the outer derivative is taken at {dw}; it belongs at {w}, times {dw}.",
    example=("sin(x**3)", "cos(3*x**2)"),
)

outer_at_inner_derivative_times = _of_chain(
    "outer-at-inner-derivative",
    wrong=lambda s: s.slope(s.dw) * s.dw,
    says="In `{text}` the outer derivative is taken at {dw}; it belongs at {w}.",
    example=("sin(x**3)", "cos(3*x**2)*3*x**2"),
)

outer_at_variable = _of_chain(
    "outer-at-variable",
    wrong=lambda s: s.slope(s.x) * s.dw,
    says="In `{text}` the outer derivative is taken at the bare variable; it belongs at {w}.",
    example=("cos(2*x)", "-2*sin(x)"),
)

outer_at_variable_alone = _of_chain(
    "outer-at-variable",
    wrong=lambda s: s.slope(s.x) * s.dx,
    says="`{text}` was differentiated as if its inside were the bare variable: keep {w} inside, "
    "and multiply by {dw}.",
    example=("cos(x**2)", "-sin(x)"),
)

derivative_put_inside = _of_chain(
    "derivative-put-inside",
    wrong=lambda s: s.slope(s.w * s.dw),
    says="In `{text}` the inner derivative {dw} got inside the function: it multiplies outside.",
    example=("sin(x**2)", "cos(2*x**3)"),
)

inner_replaced = _of_chain(
    "derivative-put-inside",
    wrong=lambda s: s.apply(s.dw),
    says="In `{text}` the inside was replaced by its derivative {dw}: differentiate the outer "
    "function as well, keep {w} inside, and multiply by {dw}.",
    example=("sin(x**3)", "sin(3*x**2)"),
    rank=GENERIC,
)

only_the_inside = _of_chain(
    "outer-not-differentiated",
    wrong=lambda s: s.dw,
    says="Of `{text}` only the inside was differentiated: the derivative of the outer function is "
    "missing.",
    example=("sin(x**3)", "3*x**2"),
)

inner_replaced_by_function = derivative(
    "derivative-put-inside",
    where=_of_a_call,
    wrong=lambda s: s.apply(s.inner.fw) * s.inner.dw,
    says="In `{text}` the derivative of the function inside stands in its place: keep {w} inside.",
    example=("exp(sin(x**2))", "2*x*exp(cos(x**2))"),
)

inner_replaced_alone = derivative(
    "derivative-put-inside",
    where=_of_a_call,
    wrong=lambda s: s.apply(s.inner.fw),
    says="In `{text}` the derivative of the function inside stands in its place: keep {w} inside, "
    "and multiply by {dw}.",
    example=("exp(sin(x**2))", "exp(cos(x**2))"),
)


inner_derivative_added = _of_chain(
    "inner-derivative-added",
    wrong=lambda s: s.fw + s.dw,
    says="In `{text}` the derivative of the inside, {dw}, is added: the chain rule multiplies.",
    example=("sin(x**3)", "cos(x**3) + 3*x**2"),
)

inner_derivative_divided = _of_chain(
    "inner-derivative-divided",
    wrong=lambda s: over(s.fw, s.dw),
    says="In `{text}` it was divided by the derivative of the inside, {dw}: the chain rule "
    "multiplies.",
    example=("cos(5*x)", "-sin(5*x)/5"),
)

sign_of_inside = derivative(
    "sign-error",
    where=lambda s: function(s) and composite(s),
    wrong=lambda s: s.slope(-s.w) * s.dw,
    says="In the derivative of `{text}` the inside has the other sign.",
    example=("exp(-x**2)", "-2*x*exp(x**2)"),
    habit=False,
)

power_outside = derivative(
    "function-misread",
    where=_of_a_power,
    wrong=lambda s: s.inner.n * s.apply(s.x) ** (s.inner.n - 1) * s.slope(s.x) * s.dx,
    says="This takes `{text}` for a power of the function: the power stands inside.",
    example=("sin(x**3)", "3*sin(x)**2*cos(x)"),
    habit=False,
)

power_inside = derivative(
    "function-misread",
    where=_power_of_function,
    wrong=lambda s: s.n * np.power(s.x, s.n - 1) * s.inner.slope(np.power(s.x, s.n)) * s.dx,
    says="This takes `{text}` for the function of a power: the power stands outside.",
    example=("sin(x)**3", "3*x**2*cos(x**3)"),
    habit=False,
)
