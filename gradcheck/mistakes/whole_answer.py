"""Mistakes of the whole answer, and of typing it.

A row of the first lists the answers that the mistake could have given; one that lists none is known
otherwise: by the answer's slope or sum, by third derivatives.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from gradcheck.mistakes.row import (
    COVERING,
    GENERIC,
    ONE_LONG,
    SYMMETRIC,
    VAGUE,
    VAGUEST,
    Example,
    Mistake,
    Whole,
    answer,
    anywhere,
)
from gradcheck.values import Params

Answer = Params
Answers = Iterable[Answer]
Called = Iterable[tuple[Answer, Mapping[str, str]]]  # with what the words may mention


def _times(w: Whole, factor: float) -> Params:
    return {name: factor * g for name, g in w.right.items()}


def _of_another(w: Whole) -> Answers:
    """For each part the gradient of another input of the same shape."""
    names = list(w.right)
    for shift in range(1, len(names)):
        pairs = zip(names, names[shift:] + names[:shift], strict=True)
        yield {a: w.right[b] for a, b in pairs if w.right[a].shape == w.right[b].shape}


def _of_a_constant(w: Whole) -> Called:
    """For each part the derivative by an input that was not asked for, and is in the program."""
    for letter, g in w.others().items():
        if not np.any(g):
            continue
        same = {name: g for name, right in w.right.items() if right.shape == np.shape(g)}
        yield same, {"v": letter}


def _total(w: Whole) -> Answers:
    """The partial derivatives added up, as if the other variables moved along: all, or one more."""
    if not w.scalar:
        return
    every = {**w.right, **{letter: g for letter, g in w.others().items() if np.shape(g) == ()}}
    for letter in every if len(every) > 2 else ():
        yield {name: g + every[letter] for name, g in w.right.items() if name != letter}
    if len(every) > 1:
        yield dict.fromkeys(w.right, sum(every.values()))


# fmt: off
whole_sign = answer("sign-error", anywhere,
    "The whole answer has the wrong sign.",
    (lambda w: [_times(w, -1.0)], "x**2 + cos(x)", "-2*x + sin(x)"), rank=GENERIC)
integrated_instead = answer("integrated-instead", anywhere,
    "This is an antiderivative: the derivative of the answer is `{text}` itself.",
    (lambda w: [], "x**2 * exp(x)", "(x**2 - 2*x + 2)*exp(x)"))
answer("not-differentiated", anywhere,
    "This is `{text}` itself, not its derivative.",
    (lambda w: [{n: w.value() for n, g in w.right.items() if np.shape(w.value()) == g.shape}],
     "x*exp(2*x)", "x*exp(2*x)"))
answer("second-derivative", anywhere,
    "This is the second derivative: differentiate `{text}` once.",
    (lambda w: [{name: w.second(name) for name, g in w.right.items() if g.shape == ()}],
     "x**3 + x*sin(x)", "6*x + 2*cos(x) - x*sin(x)"))
answer("differentiated-once", anywhere,
    "This is the first derivative of `{text}`: differentiate once more.",
    (lambda w: [w.once()], "x**4", {"x.x": "4*x**3"}, "", 2), rank=COVERING)
differentiated_too_often = answer("differentiated-too-often", anywhere,
    "This is the third derivative of `{text}`: the second is asked for.",
    (lambda w: [], "x**4", {"x.x": "24*x"}, "", 2))
answer("wrong-variable", anywhere,
    "This is the derivative by another variable.",
    (_of_another, "x**2 * sin(y)", "x**2*cos(y)"), rank=GENERIC)
answer("partial-as-total", anywhere,
    "The other variables were differentiated too: in a partial derivative they are constants.",
    (_total, "x**2 * sin(y)", "2*x*sin(y) + x**2*cos(y)"))
answer("reciprocal", anywhere,
    "This is one over the derivative: dx/dy instead of dy/dx.",
    (lambda w: [{name: 1 / g for name, g in w.right.items()}], "x**3 + x", "1 / (3*x**2 + 1)"))
transposed = answer("transposed", anywhere,
    "The gradient is transposed: it has the shape of the input itself.",
    (lambda w: [{name: g.T for name, g in w.right.items() if g.ndim == 2}], "sum(X @ W * V)",
     {"W": "(X.T @ V).T"}, "X 5 3, W 3 2, V 5 2"), hidden_by=(SYMMETRIC,))
answer("flipped", anywhere,
    "The answer is the gradient with its entries in reverse order along one axis.",
    (lambda w: [
        {n: np.flip(g, axis) for n, g in w.right.items() if g.ndim > axis} for axis in (0, 1)],
     "x[0] * y + x[1] * y**2 + x[2]", "array([1, y**2, y])", "x 3, y"), hidden_by=(ONE_LONG,))
not_summed = answer("broadcast-not-summed", anywhere,
    "Summed over {c}, this answer is the gradient: the sum is missing.",
    (lambda w: [], "sum(X * b[:, None])", {"b": "X"}, "X 2 3, b 2"), hidden_by=(ONE_LONG,))
answer("logarithmic-derivative-left", anywhere,
    "This is the derivative of log(`{text}`), y'/y: it is still to be multiplied by y.",
    (lambda w: [{name: g / w.value() for name, g in w.right.items() if w.scalar}], "x**3 * sin(x)",
     "3/x + cos(x)/sin(x)"), rank=GENERIC)
factor_two = answer("factor-two", anywhere,
    "The answer is off by a factor of 2.",
    (lambda w: [_times(w, 2.0), _times(w, 0.5)], "sin(x) + x", "2*cos(x) + 2"), rank=VAGUE)
answer("wrong-variable", anywhere,
    "This is the derivative by {v}, which is a constant here.",
    (_of_a_constant, "sum(x**2 * X)", "x**2", "x, X"), rank=GENERIC)
answer("treated-as-constant", anywhere,
    "The answer is 0, as for a constant: but `{text}` varies.",
    (lambda w: [{name: 0 * g for name, g in w.right.items()}], "x**2 + sin(x)", "0*x"))
answer("at-another-point", anywhere,
    "This is the gradient at another point: at 0, at 1, or with the signs of the inputs turned.",
    (lambda w: [  # of arrays this is a mask turned round
        w.elsewhere(move) for move in (np.zeros_like, np.ones_like, np.negative) if w.scalar],
     "x**2 + exp(x)", "-2*x + exp(-x)"), rank=VAGUEST)
# fmt: on


# -- typing: the mathematics may be right, what is read is not what was meant ----------------------


brackets_missing = Mistake(
    "brackets-missing",
    verb="type",
    wrong=lambda right: (),
    says="A bracket is missing: `{typed}` would be right, but as it stands it is read as `{u}`.",
    example=Example("log(x)/2", {"x": "1/2x"}),
)


ONE = "exp(x)*(x**2 + x) + x**3"

# fmt: off
SLIPS: dict[str, Mistake] = {
    kind: Mistake(
        id, "retype", lambda right: (), f"{said} is off in your answer: {{cure}} it is right.",
        Example(program, {"x": answer}))
    for kind, id, said, program, answer in (
        ("sign", "sign-slip", "One sign", ONE, "e^x (x^2 - 3x + 1) + 3x^2"),
        ("number", "number-slip", "One number", ONE, "e^x (x^2 + 3x + 17) + 3x^2"),
        ("function", "function-slip", "One function",
         "exp(x)*sin(x) + x**3", "e^x (sin x + tan x) + 3x^2"),
        ("letter", "letter-slip", "One letter", "x**2*y + exp(x)*sin(y)", "2x y + e^y sin y"),
        ("too much", "factor-slip", "One factor", ONE, "e^x (x^2 + 3x + 1)x + 3x^2"),
        ("bracket", "bracket-slip", "A bracket", ONE, "e^x (x^2 + 3x + 1 + 3x^2)"),
    )
}
# fmt: on
SLIPS["missing"] = SLIPS["too much"]

TYPING: list[Mistake] = [brackets_missing, *dict.fromkeys(SLIPS.values())]

OF_MATRICES: dict[str, Mistake] = {
    id: replace(SLIPS["bracket"], id=id, says="A matrix is off: {cure} it is right.")
    for id in ("transposed", "elementwise-for-matmul", "operands-swapped")
}
OF_MATRICES["summed-over-wrong-axis"] = replace(
    SLIPS["bracket"], id="summed-over-wrong-axis", says="An axis is off: {cure} it is right."
)
