"""The derivative of a named function remembered wrongly.

Tables map an op to wrong slopes as functions of its argument w and value y.
"""

from collections.abc import Callable, Mapping

import numpy as np

from gradcheck.mistakes.operation import Operation, function, over
from gradcheck.mistakes.row import derivative
from gradcheck.values import Numbers

Derivatives = Mapping[str, tuple[Callable[[Numbers, Numbers], Numbers], ...]]
CONFUSED: Derivatives = {
    "sin": (lambda w, y: 1 / np.cos(w),),
    "cos": (lambda w, y: 1 / np.sin(w),),
    "tan": (
        lambda w, y: 1 / np.cos(w),
        lambda w, y: y / np.cos(w),
        lambda w, y: 1 / np.sin(w) ** 2,
        lambda w, y: -1 / np.sin(w) ** 2,
        lambda w, y: 1 / y,
    ),
    "cot": (
        lambda w, y: 1 / np.sin(w),
        lambda w, y: -y / np.sin(w),
        lambda w, y: 1 / np.cos(w) ** 2,
    ),
    "sec": (
        lambda w, y: y**2,
        lambda w, y: np.tan(w),
        lambda w, y: np.tan(w) ** 2,
        lambda w, y: -1 / (np.sin(w) * np.tan(w)),
        lambda w, y: -1 / np.sin(w),
    ),
    "csc": (
        lambda w, y: -(y**2),
        lambda w, y: -1 / np.tan(w),
        lambda w, y: -1 / np.tan(w) ** 2,
        lambda w, y: np.tan(w) / np.cos(w),
        lambda w, y: 1 / np.cos(w),
    ),
    "sinh": (lambda w, y: np.cos(w),),
    "cosh": (lambda w, y: -np.sin(w),),
    "tanh": (
        lambda w, y: 1 - y,
        lambda w, y: 1 + y**2,
        lambda w, y: 1 / np.cosh(w),
        lambda w, y: 1 / np.cos(w) ** 2,
    ),
    "sigmoid": (lambda w, y: 1 - y, lambda w, y: y**2, lambda w, y: y * (1 + y)),
    "sqrt": (lambda w, y: 2 / y, lambda w, y: 1 / (2 * w)),
    "erf": (lambda w, y: np.exp(-(w**2)),),
    "exp": (lambda w, y: 1 / w,),
}
INVERSES: Derivatives = {
    "arctan": (
        lambda w, y: 1 / (1 - w**2),
        lambda w, y: 1 / np.sqrt(1 + w**2),
        lambda w, y: 1 / (1 + w),
        lambda w, y: -1 / np.sin(w) ** 2,
        lambda w, y: 1 / np.cos(y),
        lambda w, y: 1 / np.sqrt(1 - w**2),
        lambda w, y: 1 / np.cos(w) ** 2,
    ),
    "arcsin": (
        lambda w, y: 1 / np.sqrt(1 + w**2),
        lambda w, y: 1 / (1 - w**2),
        lambda w, y: 1 / (1 + w**2),
        lambda w, y: -np.cos(w) / np.sin(w) ** 2,
        lambda w, y: np.cos(y),
        lambda w, y: 1 / np.cos(w),
        lambda w, y: np.cos(w),
    ),
    "arccos": (
        lambda w, y: -1 / np.sqrt(1 + w**2),
        lambda w, y: -1 / (1 - w**2),
        lambda w, y: 1 / (1 + w**2),
        lambda w, y: np.sin(w) / np.cos(w) ** 2,
        lambda w, y: -np.sin(y),
        lambda w, y: -1 / (1 + w**2),
        lambda w, y: -np.sin(w),
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


def _slope(table: Derivatives, k: int) -> Callable[[Operation], Numbers]:
    return lambda s: table[s.op][k](s.w, s.y) * s.dw


def _has(table: Derivatives, k: int) -> Callable[[Operation], bool]:
    return lambda s: function(s) and len(table.get(s.op, ())) > k


def _has_root(k: int) -> Callable[[Operation], bool]:
    """As `_has`; elsewhere a root is a power, but its slope is remembered as a function's."""
    return lambda s: not s.both and len(CONFUSED.get(s.op, ())) > k


LOG = "The derivative of `{text}` is u'/u with u = {u}: "


# fmt: off
for _k, _example in enumerate((
    ("tan(3*x)", "3*sec(3*x)"), ("x + tan(x)", "1 + sec(x)*tan(x)"), ("tanh(x)", "1/cosh(x)"),
    ("tan(3*x)", "-3*csc(3*x)**2"), ("tan(3*x)", "3*cot(3*x)"),
)):
    derivative("wrong-function-derivative", _has_root(_k),
        "The derivative of the function in `{text}` is another one: look it up again.",
        (_slope(CONFUSED, _k), *_example))
for _wrong, _says, _answer in (
    (lambda s: over((s.dw != 0) * 1.0, s.dw), "here the derivative of the inside stands below.",
     "1 / (3*x**2)"),
    (lambda s: over(s.w * (s.dw != 0), s.dw), "here that fraction is upside down.", "x / 3"),
    (lambda s: s.w * s.dw, "here the inside is multiplied by, not divided.", "x**3 * 3*x**2"),
    (lambda s: s.dw / s.y, "here the logarithm itself stands below.", "3*x**2 / log(x**3)"),
    (lambda s: s.dw / s.w**2, "here what stands below is squared.", "3*x**2 / x**6"),
):
    derivative("log-derivative-wrong", lambda s: s.op == "log",
        LOG + _says, (_wrong, "log(x**3)", _answer))
for _k, _example in enumerate((
    ("arctan(2*x)", "2 / (1 - 4*x**2)"), ("arctan(2*x)", "2 / sqrt(1 + 4*x**2)"),
    ("arctan(2*x)", "2 / (1 + 2*x)"), ("arcsin(x/2)", "-cos(x/2) / (2*sin(x/2)**2)"),
    ("arcsin(x/2)", "cos(arcsin(x/2)) / 2"), ("arctan(x/2)", "1 / (2*sqrt(1 - x**2/4))"),
    ("arctan(x/2)", "sec(x/2)**2 / 2"),
)):
    derivative("inverse-function-derivative-wrong", _has(INVERSES, _k),
        "The derivative of the inverse function in `{text}` is another one: (arcsin u)' is "
        "u'/sqrt(1 - u^2), (arctan u)' is u'/(1 + u^2).",
        (_slope(INVERSES, _k), *_example))
