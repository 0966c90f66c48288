"""Mistakes of the whole answer: each row lists the answers that the mistake could have given."""

from collections.abc import Iterable, Mapping

import numpy as np

from gradcheck.mistakes.row import (
    COVERING,
    GENERIC,
    ONE_LONG,
    SYMMETRIC,
    VAGUE,
    VAGUEST,
    Whole,
    answer,
)
from gradcheck.values import Params

Answer = Params
Answers = Iterable[Answer]
Called = Iterable[tuple[Answer, Mapping[str, str]]]  # with what the words may mention


def _times(w: Whole, factor: float) -> Params:
    return {name: factor * g for name, g in w.right.items()}


def _not_differentiated(w: Whole) -> Answers:
    value = w.value()
    yield {name: value for name, g in w.right.items() if np.shape(value) == g.shape}


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


def _elsewhere(w: Whole) -> Answers:
    """The gradient at 0, at 1, and at the mirrored point; of arrays that is a mask turned round."""
    for change in (np.zeros_like, np.ones_like, np.negative) if w.scalar else ():
        yield w.elsewhere(change)


whole_sign = answer(
    "sign-error",
    wrong=lambda w: [_times(w, -1.0)],
    says="The whole answer has the wrong sign.",
    example=("x**2 + cos(x)", "-2*x + sin(x)"),
    rank=GENERIC,
)

integrated_instead = answer(
    "integrated-instead",
    wrong=lambda w: [],  # known by the slope of the answer: see `diagnosis.explain`
    says="This is an antiderivative: the derivative of the answer is `{text}` itself.",
    example=("x**2 * exp(x)", "(x**2 - 2*x + 2)*exp(x)"),
)

not_differentiated = answer(
    "not-differentiated",
    wrong=_not_differentiated,
    says="This is `{text}` itself, not its derivative.",
    example=("x*exp(2*x)", "x*exp(2*x)"),
)

second_derivative = answer(
    "second-derivative",
    wrong=lambda w: [{name: w.second(name) for name, g in w.right.items() if g.shape == ()}],
    says="This is the second derivative: differentiate `{text}` once.",
    example=("x**3 + x*sin(x)", "6*x + 2*cos(x) - x*sin(x)"),
)

differentiated_once = answer(
    "differentiated-once",
    wrong=lambda w: [w.once()],
    says="This is the first derivative of `{text}`: differentiate once more.",
    example=("x**4", {"x.x": "4*x**3"}, {}, 2),
    rank=COVERING,
)

differentiated_too_often = answer(
    "differentiated-too-often",
    wrong=lambda w: [],  # made beside the other second derivatives: see `diagnosis.second`
    says="This is the third derivative of `{text}`: the second is asked for.",
    example=("x**4", {"x.x": "24*x"}, {}, 2),
)

wrong_variable = answer(
    "wrong-variable",
    wrong=_of_another,
    says="This is the derivative by another variable.",
    example=("x**2 * sin(y)", "x**2*cos(y)"),
    rank=GENERIC,
)

partial_as_total = answer(
    "partial-as-total",
    wrong=_total,
    says="The other variables were differentiated too: in a partial derivative they are constants.",
    example=("x**2 * sin(y)", "2*x*sin(y) + x**2*cos(y)"),
)

reciprocal = answer(
    "reciprocal",
    wrong=lambda w: [{name: 1 / g for name, g in w.right.items()}],
    says="This is one over the derivative: dx/dy instead of dy/dx.",
    example=("x**3 + x", "1 / (3*x**2 + 1)"),
)

transposed = answer(
    "transposed",
    wrong=lambda w: [{name: g.T for name, g in w.right.items() if g.ndim == 2}],
    says="The gradient is transposed: it has the shape of the input itself.",
    example=("sum(X @ W * V)", {"W": "(X.T @ V).T"}, {"X": (5, 3), "W": (3, 2), "V": (5, 2)}),
    hidden_by=(SYMMETRIC,),
)

reversed_order = answer(
    "flipped",
    wrong=lambda w: [
        {n: np.flip(g, axis) for n, g in w.right.items() if g.ndim > axis} for axis in (0, 1)
    ],
    says="The answer is the gradient with its entries in reverse order along one axis.",
    example=("x[0] * y + x[1] * y**2 + x[2]", "array([1, y**2, y])", {"x": (3,), "y": ()}),
    hidden_by=(ONE_LONG,),
)

not_summed = answer(
    "broadcast-not-summed",
    wrong=lambda w: [],  # known by the answer: see `diagnosis.unsummed`
    says="Summed over {c}, this answer is the gradient: the sum is missing.",
    example=("sum(X * b[:, None])", {"b": "X"}, {"X": (2, 3), "b": (2,)}),
    hidden_by=(ONE_LONG,),
)


logarithmic_derivative_left = answer(
    "logarithmic-derivative-left",
    wrong=lambda w: [{name: g / w.value() for name, g in w.right.items() if w.scalar}],
    says="This is the derivative of log(`{text}`), y'/y: it is still to be multiplied by y.",
    example=("x**3 * sin(x)", "3/x + cos(x)/sin(x)"),
    rank=GENERIC,
)

factor_two = answer(
    "factor-two",
    wrong=lambda w: [_times(w, 2.0), _times(w, 0.5)],
    says="The answer is off by a factor of 2.",
    example=("sin(x) + x", "2*cos(x) + 2"),
    rank=VAGUE,
)


by_a_constant = answer(
    "wrong-variable",
    wrong=_of_a_constant,
    says="This is the derivative by {v}, which is a constant here.",
    example=("sum(x**2 * X)", "x**2", {"x": (), "X": ()}),
    rank=GENERIC,
)

treated_as_constant = answer(
    "treated-as-constant",
    wrong=lambda w: [{name: 0 * g for name, g in w.right.items()}],
    says="The answer is 0, as for a constant: but `{text}` varies.",
    example=("x**2 + sin(x)", "0*x"),
)


at_another_point = answer(
    "at-another-point",
    wrong=_elsewhere,
    says="This is the gradient at another point: at 0, at 1, or with the signs of the inputs "
    "turned.",
    example=("x**2 + exp(x)", "-2*x + exp(-x)"),
    rank=VAGUEST,
)
