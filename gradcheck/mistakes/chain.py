"""The chain rule, and the sign, gone wrong."""

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
from gradcheck.mistakes.row import COVERING, GENERIC, anywhere, derivative

SIGNED = {
    "sin", "cos", "tan", "sec", "csc", "cot", "arccos", "acsc", "acot",
    "sinh", "cosh", "tanh", "sech", "csch", "coth",
}  # fmt: skip


def _of_a_call(s: Operation) -> bool:
    return composite(s) and s.inner is not None and composite(s.inner)


def _of_a_power(s: Operation) -> bool:
    return function(s) and s.inner is not None and power(s.inner) and inner_is_variable(s.inner)


def _power_of_function(s: Operation) -> bool:
    return power(s) and s.inner is not None and function(s.inner) and inner_is_variable(s.inner)


# fmt: off
sign_error = derivative("sign-error", anywhere,
    "The sign of the derivative of `{text}` is the wrong way round.",
    (lambda s: -s.right, "x**3 + 2*sin(x)", "3*x**2 - 2*cos(x)"), rank=GENERIC, habit=False)
derivative("sign-error", lambda s: function(s) and s.op in SIGNED,
    "The derivative of the function in `{text}` has the other sign.",
    (lambda s: -s.right, "x*sin(x) + cos(3*x)", "sin(x) - x*cos(x) + 3*sin(3*x)"))
for _i, _example in enumerate((("x + sin(x)", "-1 + cos(x)"), ("sin(x) - x", "cos(x) + 1"))):
    derivative("sign-error", lambda s: term(s) and s.both,
        f"The derivative of the term {{{'uv'[_i]}}} has the wrong sign in `{{text}}`.",
        (lambda s, i=_i: s.part(1 - i) - s.part(i), *_example), habit=False, operand=_i)
derivative("missing-inner-derivative", composite,
    "In `{text}` the derivative of the inside is missing: the chain rule multiplies by {dw}, the "
    "derivative of {w}.",
    (lambda s: s.fw * s.dx, "sin(x**2)", "cos(x**2)"), rank=COVERING)
derivative("missing-inner-derivative", composite,
    "Of {dw}, the derivative of the inside of `{text}`, only the sign is left: the chain rule "
    "multiplies by it.",
    (lambda s: s.fw * np.sign(s.dw) * s.dx, "exp(-3*x)", "-exp(-3*x)"), rank=COVERING)
derivative("outer-not-differentiated", composite,
    "In `{text}` only the inside was differentiated: the outer function has a derivative too.",
    (lambda s: s.y * s.dw, "cos(2*x)", "2*cos(2*x)"),
    (lambda s: s.dw, "sin(x**3)", "3*x**2"))
derivative("not-differentiated", lambda s: call(s) and inner_is_variable(s),
    "`{text}` stands in the answer as it is: it has not been differentiated.",
    (lambda s: s.y * s.dx, "x**2 + sin(x)", "2*x + sin(x)"))
derivative("outer-at-inner-derivative", composite,
    "In `{text}` the outer derivative is taken at {dw}; it belongs at {w}, times {dw}.",
    (lambda s: s.slope(s.dw), "sin(x**3)", "cos(3*x**2)"),
    (lambda s: s.slope(s.dw) * s.dw, "sin(x**3)", "cos(3*x**2)*3*x**2"))
derivative("outer-at-variable", composite,
    "In `{text}` the outer derivative is taken at the bare variable; it belongs at {w}, times "
    "{dw}.",
    (lambda s: s.slope(s.x) * s.dw, "cos(2*x)", "-2*sin(x)"),
    (lambda s: s.slope(s.x) * s.dx, "cos(x**2)", "-sin(x)"))
derivative("derivative-put-inside", composite,
    "In `{text}` the inner derivative {dw} got inside the function: it multiplies outside.",
    (lambda s: s.slope(s.w * s.dw), "sin(x**2)", "cos(2*x**3)"))
derivative("derivative-put-inside", composite,
    "In `{text}` the inside was replaced by its derivative {dw}: differentiate the outer function "
    "as well, keep {w} inside, and multiply by {dw}.",
    (lambda s: s.apply(s.dw), "sin(x**3)", "sin(3*x**2)"), rank=GENERIC)
derivative("derivative-put-inside", _of_a_call,
    "In `{text}` the derivative of the function inside stands in its place: keep {w} inside, and "
    "multiply by {dw}.",
    (lambda s: s.apply(s.inner.fw) * s.inner.dw, "exp(sin(x**2))", "2*x*exp(cos(x**2))"),
    (lambda s: s.apply(s.inner.fw), "exp(sin(x**2))", "exp(cos(x**2))"))
derivative("inner-derivative-added", composite,
    "In `{text}` the derivative of the inside, {dw}, is added: the chain rule multiplies.",
    (lambda s: s.fw + s.dw, "sin(x**3)", "cos(x**3) + 3*x**2"))
derivative("inner-derivative-divided", composite,
    "In `{text}` it was divided by the derivative of the inside, {dw}: the chain rule multiplies.",
    (lambda s: over(s.fw, s.dw), "cos(5*x)", "-sin(5*x)/5"))
derivative("sign-error", lambda s: function(s) and composite(s),
    "In the derivative of `{text}` the inside has the other sign.",
    (lambda s: s.slope(-s.w) * s.dw, "exp(-x**2)", "-2*x*exp(x**2)"), habit=False)
derivative("function-misread", _of_a_power,
    "This takes `{text}` for a power of the function: the power stands inside.",
    (lambda s: s.inner.n * s.apply(s.x) ** (s.inner.n - 1) * s.slope(s.x) * s.dx, "sin(x**3)",
     "3*sin(x)**2*cos(x)"), habit=False)
derivative("function-misread", _power_of_function,
    "This takes `{text}` for the function of a power: the power stands outside.",
    (lambda s: s.n * np.power(s.x, s.n - 1) * s.inner.slope(np.power(s.x, s.n)) * s.dx, "sin(x)**3",
     "3*x**2*cos(x**3)"), habit=False)
