"""Sums, constants and coefficients gone wrong."""

from functools import partial

import numpy as np

from gradcheck.mistakes.operation import Operation, inner_is_variable, power, product, term
from gradcheck.mistakes.row import GENERIC, VAGUE, VAGUEST, anywhere, derivative, mistake
from gradcheck.values import Numbers


def _constant_factor(s: Operation) -> bool:
    """A constant in front, behind, below or above: c u, u c, u / c, c / u."""
    return not s.both and not s.summed and s.op in ("multiply", "divide")


def _without(s: Operation) -> Numbers:
    return s.right * s.v if s.op == "divide" and s.dv is None else s.right / s.c


def _constant_term(s: Operation) -> bool:
    return term(s) and not s.both


def _sign_of_constant(s: Operation) -> int:
    return -1 if s.op == "subtract" and s.dv is None else 1


def _hold_factor(s: Operation, i: int) -> bool:
    """A product of something that varies and, as its i-th factor, no mere multiple of a letter."""
    factor, slope, other = ((s.u, s.hu, s.dv), (s.v, s.hv, s.du))[i]
    if s.op != "multiply" or s.both or other is None or slope is None or s.h is None:
        return False
    return not np.allclose(slope * s.h, factor)


def _times(right: Numbers, share: Numbers, factor: Numbers) -> Numbers:
    """The derivative with a factor before one of its terms."""
    return right + (factor - 1) * share


coefficient = partial(mistake, "coefficient")

# fmt: off
derivative("constant-factor-lost", _constant_factor,
    "The factor {c} of `{text}` was lost: it stays in front of the derivative.",
    (_without, "x**2 + 3*sin(x)", "2*x + cos(x)"),
    (lambda s: np.sign(s.c) * _without(s), "x**2 + (-3)*sin(x)", "2*x - cos(x)"))
derivative("constant-kept", _constant_term,
    "The constant {c} of `{text}` was kept: its derivative is 0.",
    (lambda s: s.right + _sign_of_constant(s) * s.c * s.dx, "x**2 + 7", "2*x + 7"))
derivative("constant-as-variable", _constant_term,
    "The constant {c} of `{text}` was differentiated to 1: its derivative is 0.",
    (lambda s: s.right + _sign_of_constant(s) * s.dx, "sin(x) + 7", "cos(x) + 1"), rank=GENERIC)
derivative("not-differentiated", lambda s: term(s) and s.variable[1],
    "The term {v} of `{text}` stands in the answer as it is.",
    (lambda s: s.right + s.part(1) * (s.v - 1), "sin(x) + x", "cos(x) + x"), habit=False)
derivative("not-differentiated",
    lambda s: _constant_factor(s) and inner_is_variable(s) and s.op == "multiply",
    "`{text}` stands in the answer as it is: it has not been differentiated.",
    (lambda s: s.y * s.dx, "sin(x) + 5*x", "cos(x) + 5*x"))
for _i, *_example in (
    (0, "y**3 + x**2*y", "3*y**2 + 2*x*y"), (1, "x**2*y + y**3", "2*x*y + 3*y**2"),
):
    mistake("held", "partial-as-total", lambda s, i=_i: term(s) and (s.hu, s.hv)[i] is not None,
        f"In `{{text}}` {{h}} was differentiated too, in {{{'uv'[_i]}}}: it is held constant.",
        (lambda s, i=_i: s.right + (s.fv * s.hv if i else s.fu * s.hu), *_example))
for _i, *_example in ((0, "y**3 * x**2", "3*y**2*2*x"), (1, "x**2 * y**3", "2*x*3*y**2")):
    mistake("held", "partial-as-total", lambda s, i=_i: _hold_factor(s, i),
        "In `{text}` both factors were differentiated: {h} is held constant, and stays.",
        (lambda s, i=_i: s.du * s.hv if i else s.hu * s.dv, *_example))
derivative("constant-as-variable", lambda s: s.op == "multiply" and not s.both and not s.summed,
    "The constant {c} of `{text}` was differentiated to 1, as if it varied: a constant factor "
    "just stays.",
    (lambda s: s.right + s.w * s.dx, "pi*x**2", "x**2 + 2*pi*x"), rank=GENERIC)
for _i, _answer in enumerate(("cos(x)", "2*x")):
    derivative("term-lost", lambda s: term(s) and s.both,
        f"The derivative of {{{'uv'[_i]}}} is missing: every term of `{{whole}}` has one.",
        (lambda s, i=_i: s.part(1 - i), "x**2 + sin(x)", _answer), operand=_i, habit=False)
for _one, _answer in ((1, "4*cos(x)"), (-1, "2*cos(x)")):
    derivative("coefficient-slip", lambda s: s.op == "multiply" and _constant_factor(s),
        "The coefficient of the derivative of `{text}` is off.",
        (lambda s, one=_one: (s.c + one) * s.dw, "3*sin(x)", _answer), habit=False, rank=VAGUE)
derivative("coefficient-slip", _constant_factor,
    "The constant factor of `{text}` is in the answer twice.",
    (lambda s: s.right**2 / _without(s), "3*sin(x)", "9*cos(x)"))
for _one, _word, _answer in ((-1, "less", "3*x**3"), (1, "more", "5*x**3")):
    derivative("coefficient-slip", power,
        "The factor that comes down from the exponent of `{text}` is {c} itself, not one "
        f"{_word}.",
        (lambda s, one=_one: (s.n + one) * np.power(s.u, s.n - 1) * s.du, "x**4", _answer),
        rank=VAGUE)
coefficient_slip = coefficient("coefficient-slip", anywhere,
    "The derivative of `{text}` is {factor} times what it should be: check its coefficient.",
    (_times, "x**3 + 2*sin(x)", "7*x**2/2 + 2*cos(x)"), rank=VAGUE)
number_slip = coefficient("coefficient-slip", anywhere,
    "In the derivative of `{text}` stands {factor} where {c} belongs.",
    (_times, "7*x**2 + sin(x)", "15*x + cos(x)"), rank=VAGUE)
constant_missing = coefficient("constant-factor-lost", anywhere,
    "The factor {c} is missing from the derivative of `{text}`.",
    (_times, "2*B*x**2 + sin(x)", "4*x + cos(x)", {"B": ()}))
constant_again = coefficient("coefficient-slip", anywhere,
    "The factor {c} is in the derivative of `{text}` once too often.",
    (_times, "B*x**2 + sin(x)", "2*B**2*x + cos(x)", {"B": ()}))
derivative("sum-of-derivatives", product,
    "`{text}` is a product, differentiated as if it were a sum: u' + v' stands where u'v + uv' "
    "belongs.",
    (lambda s: s.du + s.dv, "x**3 * sin(x)", "3*x**2 + cos(x)"))
constant_added = mistake("constant", "constant-added", anywhere,
    "The answer is the derivative {factor}: that constant does not belong to it.",
    (lambda right, constant: right + constant, "x**3 + sin(x)", "3*x**2 + cos(x) + 2"), rank=VAGUE)
for _word, *_way in (
    ("the {c} in `{text}` was misread.",
     lambda c: (c + 1, c - 1), "sin(x**3) + x**2", "4*x**3*cos(x**4) + 2*x"),
    ("the sign of {c} in `{text}` was misread.",
     lambda c: (-c,), "sin(x**2 + 3*x)", "(2*x - 3)*cos(x**2 - 3*x)"),
    ("the {c} in `{text}` was overlooked.",
     lambda c: (c * 0, c * 0 + 1), "sin(x**2 + 3*x)", "(2*x + 1)*cos(x**2 + x)"),
):
    mistake("read", "function-misread", anywhere,
        f"This is the derivative of another function: {_word}", tuple(_way), rank=VAGUEST)
derivative("product-rule-on-sum", lambda s: term(s) and s.both,
    "`{text}` is a sum: differentiate each term and add; this is the product rule.",
    (lambda s: s.v * s.du + s.u * s.dv, "x**2 + sin(x)", "2*x*sin(x) + x**2*cos(x)"))
mistake("held", "operands-swapped",
    lambda s: s.op == "power" and s.variable[0] and s.hv is not None,
    "In the derivative of `{text}` {u} and {v} stand in each other's place.",
    (lambda s: s.u * np.power(s.v, s.u - 1) * s.du, "x**y", "x*y**(x - 1)"))
