"""The derivative of a named function remembered wrongly.

Tables map an op to wrong slopes as functions of its argument w and value y.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gradcheck.mistakes.operation import Operation, function, over
from gradcheck.mistakes.row import derivative

Derivatives = Mapping[str, tuple[Callable[[Any, Any], Any], ...]]

CONFUSED: Derivatives = {
    "sin": (lambda w, y: 1 / np.cos(w),),
    "cos": (lambda w, y: 1 / np.sin(w),),
    "tan": (
        lambda w, y: 1 / np.cos(w),
        lambda w, y: y / np.cos(w),
        lambda w, y: 1 / np.sin(w) ** 2,
    ),
    "cot": (
        lambda w, y: 1 / np.sin(w),
        lambda w, y: -y / np.sin(w),
        lambda w, y: 1 / np.cos(w) ** 2,
    ),
    "sec": (lambda w, y: y**2, lambda w, y: np.tan(w), lambda w, y: np.tan(w) ** 2),
    "csc": (lambda w, y: -(y**2), lambda w, y: -1 / np.tan(w), lambda w, y: -1 / np.tan(w) ** 2),
    "sinh": (lambda w, y: np.cos(w),),
    "cosh": (lambda w, y: -np.sin(w),),
    "tanh": (lambda w, y: 1 - y, lambda w, y: 1 + y**2, lambda w, y: 1 / np.cosh(w)),
    "sigmoid": (lambda w, y: 1 - y, lambda w, y: y**2, lambda w, y: y * (1 + y)),
    "sqrt": (lambda w, y: 2 / y, lambda w, y: 1 / (2 * w)),
    "erf": (lambda w, y: np.exp(-(w**2)),),
    "exp": (lambda w, y: 1 / w,),
}
LOGARITHMS: Derivatives = {
    "log": (lambda w, y: w, lambda w, y: 1 / y, lambda w, y: -1 / w**2),
}
INVERSES: Derivatives = {
    "arctan": (
        lambda w, y: 1 / (1 - w**2),
        lambda w, y: 1 / np.sqrt(1 + w**2),
        lambda w, y: 1 / (1 + w),
        lambda w, y: -1 / np.sin(w) ** 2,
        lambda w, y: 1 / np.cos(y),
        lambda w, y: 1 / np.sqrt(1 - w**2),
    ),
    "arcsin": (
        lambda w, y: 1 / np.sqrt(1 + w**2),
        lambda w, y: 1 / (1 - w**2),
        lambda w, y: 1 / (1 + w**2),
        lambda w, y: -np.cos(w) / np.sin(w) ** 2,
        lambda w, y: np.cos(y),
    ),
    "arccos": (
        lambda w, y: -1 / np.sqrt(1 + w**2),
        lambda w, y: -1 / (1 - w**2),
        lambda w, y: 1 / (1 + w**2),
        lambda w, y: np.sin(w) / np.cos(w) ** 2,
        lambda w, y: -np.sin(y),
    ),
    "arcsinh": (
        lambda w, y: 1 / np.sqrt(1 - w**2),
        lambda w, y: 1 / np.sqrt(w**2 - 1),
        lambda w, y: 1 / (1 + w**2),
        lambda w, y: -np.cosh(w) / np.sinh(w) ** 2,
    ),
    "arccosh": (
        lambda w, y: 1 / np.sqrt(1 + w**2),
        lambda w, y: 1 / (w**2 - 1),
        lambda w, y: -np.sinh(w) / np.cosh(w) ** 2,
    ),
    "arctanh": (
        lambda w, y: 1 / (1 + w**2),
        lambda w, y: 1 / np.sqrt(1 - w**2),
        lambda w, y: 1 / np.sqrt(1 + w**2),
        lambda w, y: -1 / np.sinh(w) ** 2,
    ),
}


def _slope(table: Derivatives, k: int) -> Callable[[Operation], Any]:
    return lambda s: table[s.op][k](s.w, s.y) * s.dw


def _has(table: Derivatives, k: int) -> Callable[[Operation], bool]:
    return lambda s: function(s) and len(table.get(s.op, ())) > k


def _has_root(k: int) -> Callable[[Operation], bool]:
    """As `_has`; elsewhere a root is a power, but its slope is remembered as a function's."""
    return lambda s: not s.both and len(CONFUSED.get(s.op, ())) > k


WRONG_FUNCTION = "The derivative of the function in `{text}` is another one: look it up again."
for _k, _example in enumerate(
    (
        ("tan(3*x)", {"x": "3*sec(3*x)"}),
        ("x + tan(x)", {"x": "1 + sec(x)*tan(x)"}),
        ("tanh(x)", {"x": "1/cosh(x)"}),
    )
):
    derivative(
        "wrong-function-derivative",
        where=_has_root(_k),
        wrong=_slope(CONFUSED, _k),
        says=WRONG_FUNCTION,
        example=_example,
        common=0.4,
    )

log_of_inner_derivative = derivative(
    "log-derivative-wrong",
    where=lambda s: s.op == "log",
    wrong=lambda s: over((s.dw != 0) * 1.0, s.dw),
    says="The derivative of `{text}` is u'/u with u = {u}: here the inside was only turned over.",
    example=("log(x**3)", {"x": "1 / (3*x**2)"}),
    common=0.4,
)
for _k, _example in enumerate(
    (
        ("log(x**3)", {"x": "x**3 * 3*x**2"}),
        ("log(x**3)", {"x": "3*x**2 / log(x**3)"}),
        ("log(x**3)", {"x": "-3*x**2 / x**6"}),
    )
):
    derivative(
        "log-derivative-wrong",
        where=_has(LOGARITHMS, _k),
        wrong=_slope(LOGARITHMS, _k),
        says="The derivative of `{text}` is u'/u with u = {u}.",
        example=_example,
        common=0.4,
    )

for _k, _example in enumerate(
    (
        ("arctan(2*x)", {"x": "2 / (1 - 4*x**2)"}),
        ("arctan(2*x)", {"x": "2 / sqrt(1 + 4*x**2)"}),
        ("arctan(2*x)", {"x": "2 / (1 + 2*x)"}),
        ("arcsin(x/2)", {"x": "-cos(x/2) / (2*sin(x/2)**2)"}),
        ("arcsin(x/2)", {"x": "cos(arcsin(x/2)) / 2"}),
        ("arctan(x/2)", {"x": "1 / (2*sqrt(1 - x**2/4))"}),
    )
):
    derivative(
        "inverse-function-derivative-wrong",
        where=_has(INVERSES, _k),
        wrong=_slope(INVERSES, _k),
        says="The derivative of the inverse function in `{text}` is another one: (arcsin u)' is "
        "u'/sqrt(1 - u^2), (arctan u)' is u'/(1 + u^2).",
        example=_example,
        common=0.4,
    )
