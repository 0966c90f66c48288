"""Closed forms of tensors: the losses of machine learning, and what SymPy's own calculus misses."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from gradcheck.closed_forms import definitions
from gradcheck.closed_forms.notation import Notation
from gradcheck.derivation.forms import derived, matrix_forms, shown
from gradcheck.opinions.reverse import reverse
from gradcheck.problem import Problem, load_text
from gradcheck.problem.draw import given_point
from tests.support.closed_forms import at, problem
from tests.support.further_losses import FURTHER
from tests.support.losses import LOSSES, SIZES, drawn

LONGEST = 240


def forms_of(given: Problem) -> dict[str, str]:
    """What is shown of a problem: texts that reverse mode bears out."""
    point = given_point(given)
    return matrix_forms(given, point, reverse(given.case(point)).gradients)


@pytest.mark.parametrize("name", LOSSES)
def test_the_form_found_at_one_size_is_the_gradient_at_another(name: str) -> None:
    """Every gradient has a text, and it holds for the other sizes to 1e-10."""
    loss = LOSSES[name]
    here, there = (
        problem(loss.program, drawn(loss, sizes, seed), loss.wrt)
        for seed, sizes in enumerate(SIZES)
    )
    found = forms_of(here)
    assert set(found) == set(loss.wrt.split())
    gradients = reverse(there.case(given_point(there))).gradients
    for part, text in found.items():
        assert len(text) <= LONGEST or name in {"attention", "layer norm", "correlation", "rnn"}
        due = gradients[part].value
        scale = np.max(np.abs(due))
        np.testing.assert_allclose(at(text, there), due, rtol=1e-10, atol=1e-10 * scale)


@pytest.mark.parametrize("name", FURTHER)
def test_so_it_is_for_losses_that_nobody_tuned_for(name: str) -> None:
    """Fifty of them, with what their textbooks print, were written before any was tried."""
    loss, book = FURTHER[name]
    fixed = {letter: int(letter) for letter in "236"}
    here, there = (
        problem(loss.program, drawn(loss, sizes | fixed, seed), loss.wrt)
        for seed, sizes in enumerate(SIZES)
    )
    found = forms_of(here)
    assert set(found) == set(loss.wrt.split())
    gradients = reverse(there.case(given_point(there))).gradients
    for part, text in found.items():
        due = gradients[part].value
        scale = np.max(np.abs(due))
        np.testing.assert_allclose(at(text, there), due, rtol=1e-10, atol=1e-10 * scale)
        if part in book:
            np.testing.assert_allclose(at(book[part], there), due, rtol=1e-9, atol=1e-10 * scale)


def test_most_are_no_longer_than_in_a_textbook() -> None:
    """As they are shown in signs: 26 of 58 when they were first tried, 38 by what they taught."""
    short = 0
    for loss, book in FURTHER.values():
        fixed = {letter: int(letter) for letter in "236"}
        given = problem(loss.program, drawn(loss, SIZES[0] | fixed, 0), loss.wrt)
        point = given_point(given)
        forms = shown(given, point, reverse(given.case(point)).gradients)
        notation = Notation(forms.axes, forms.rows)
        short += sum(
            len(notation.written(forms.texts[part])) <= len(notation.written(by_hand))
            for part, by_hand in book.items()
            if part in forms.texts
        )
    assert short >= 38


TEXTBOOK = {
    ("linear", "W"): "2 * (X.T @ (P - Y)) / P.size",
    ("least squares", "w"): "r @ X",
    ("logsumexp", "W"): "X.T @ (softmax(Z, axis=1) - Y) / X.shape[0]",
    ("tanh net", "W1"): "2 * (X.T @ ((P - Y) @ W2.T * (1 - H ** 2))) / P.size",
    ("sigmoid net", "b1"): "2 * sum((P - Y) @ W2.T * H * (1 - H), axis=0) / P.size",
    ("relu net", "W1"): "2 * (X.T @ ((P - Y) @ W2.T * (Z > 0))) / P.size",
    ("det", "A"): "det(A) * inv(A).T",
    ("quadratic form", "x"): "x @ A + A @ x",
    ("matrix factorisation", "U"): "-2 * ((M - U @ V.T) @ V)",
    ("norm", "x"): "x / norm(x)",
    ("kl of gaussians", "s"): "(exp(s) - 1) / 2",
    ("trace", "A"): "2 * trace(A) * eye(A.shape[0])",
    ("logistic", "w"): "(p - y) @ X / y.shape[0]",
    ("cosine similarity", "x"): "(y - x @ y / norm(x) ** 2 * x) / norm(x) / norm(y)",
}


Arrays = dict[str, Any]


def softmax(z: Any) -> Any:
    """Rows that add to one."""
    return np.exp(z) / np.sum(np.exp(z), axis=1, keepdims=True)


def tanh_net(v: Arrays) -> tuple[Any, Any]:
    """The hidden layer and the residual."""
    hidden = np.tanh(v["X"] @ v["W1"] + v["b1"])
    return hidden, hidden @ v["W2"] + v["b2"] - v["Y"]


def sigmoid_net(v: Arrays) -> tuple[Any, Any]:
    """The hidden layer and the residual."""
    hidden = 1 / (1 + np.exp(-(v["X"] @ v["W1"] + v["b1"])))
    return hidden, hidden @ v["W2"] + v["b2"] - v["Y"]


def relu_net(v: Arrays) -> tuple[Any, Any]:
    """What comes before the hidden layer, and the residual."""
    before = v["X"] @ v["W1"] + v["b1"]
    return before, np.maximum(before, 0) @ v["W2"] + v["b2"] - v["Y"]


BY_HAND: dict[tuple[str, str], Callable[[Arrays], Any]] = {
    ("linear", "W"): lambda v: 2 / v["Y"].size * v["X"].T @ (v["X"] @ v["W"] + v["b"] - v["Y"]),
    ("least squares", "w"): lambda v: v["X"].T @ (v["X"] @ v["w"] - v["y"]),
    ("logsumexp", "W"): lambda v: v["X"].T @ (softmax(v["X"] @ v["W"]) - v["Y"]) / len(v["X"]),
    ("tanh net", "W1"): lambda v: (
        2 / v["Y"].size * v["X"].T @ (tanh_net(v)[1] @ v["W2"].T * (1 - tanh_net(v)[0] ** 2))
    ),
    ("sigmoid net", "b1"): lambda v: (
        2
        / v["Y"].size
        * np.ones(len(v["X"]))
        @ (sigmoid_net(v)[1] @ v["W2"].T * sigmoid_net(v)[0] * (1 - sigmoid_net(v)[0]))
    ),
    ("relu net", "W1"): lambda v: (
        2 / v["Y"].size * v["X"].T @ np.where(relu_net(v)[0] > 0, relu_net(v)[1] @ v["W2"].T, 0)
    ),
    ("det", "A"): lambda v: np.linalg.det(v["A"]) * np.linalg.inv(v["A"]).T,
    ("quadratic form", "x"): lambda v: (v["A"] + v["A"].T) @ v["x"],
    ("matrix factorisation", "U"): lambda v: -2 * (v["M"] - v["U"] @ v["V"].T) @ v["V"],
    ("norm", "x"): lambda v: v["x"] / np.sqrt(v["x"] @ v["x"]),
    ("kl of gaussians", "s"): lambda v: (np.exp(v["s"]) - 1) / 2,
    ("trace", "A"): lambda v: 2 * np.trace(v["A"]) * np.eye(len(v["A"])),
    ("logistic", "w"): lambda v: (
        v["X"].T @ (1 / (1 + np.exp(-(v["X"] @ v["w"]))) - v["y"]) / len(v["y"])
    ),
    ("log det", "A"): lambda v: 2 * np.linalg.inv(v["A"] @ v["A"].T) @ v["A"],
    ("cosine similarity", "x"): lambda v: (
        v["y"] / np.linalg.norm(v["x"]) / np.linalg.norm(v["y"])
        - (v["x"] @ v["y"]) * v["x"] / np.linalg.norm(v["x"]) ** 3 / np.linalg.norm(v["y"])
    ),
}
"""The gradients as books give them (Petersen and Pedersen: The matrix cookbook, 2012; Bishop:
Pattern recognition and machine learning, 2006, 4.91 and 5.56), in the inputs alone."""


@pytest.mark.parametrize(("loss", "part"), BY_HAND)
def test_the_text_is_the_gradient_that_books_give(loss: str, part: str) -> None:
    """In numbers, against formulas written by hand."""
    given = LOSSES[loss]
    assert set(TEXTBOOK) <= set(BY_HAND)
    numbers = drawn(given, SIZES[1], 3)
    made = problem(given.program, numbers, given.wrt)
    text = derived(made, given_point(made))[part]
    np.testing.assert_allclose(at(text, made), BY_HAND[loss, part](numbers), rtol=1e-11)


@pytest.mark.parametrize(("loss", "part"), TEXTBOOK)
def test_the_text_is_that_of_a_textbook(loss: str, part: str) -> None:
    """In the program's own names, and no longer than one would write it; its numbers are above."""
    given = LOSSES[loss]
    made = problem(given.program, drawn(given, SIZES[0], 0), given.wrt)
    assert derived(made, given_point(made))[part] == TEXTBOOK[loss, part]


def test_a_wrong_definition_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """What reverse mode does not bear out stays unsaid."""
    given = problem("sum(X * 3)", {"X": np.ones((2, 3))}, "X")
    assert forms_of(given) == {"X": "3 * ones_like(X)"}
    right = definitions.RULES["sum"]

    def wrong(*args: Any, **kwargs: Any) -> Any:
        made = right(*args, **kwargs)
        twice = definitions.times(Fraction(2), made.expression)
        return definitions.Made(twice, made.shape, made.sizes)

    monkeypatch.setitem(definitions.RULES, "sum", wrong)
    assert forms_of(given) == {}


def test_what_has_no_index_form_is_left_out() -> None:
    """No text, no error."""
    assert forms_of(problem("median(x)", {"x": [1.0, 2.0, 3.0]}, "x")) == {}


def test_an_axis_that_nothing_depends_on_counts_as_often_as_it_is_long() -> None:
    """Every x is met once in x, and in each of the four rows of B - x once with a minus."""
    program = "z = sum(B - x, axis=1)\nsum(concatenate([x, z]))"
    made = problem(program, {"B": np.ones((4, 3)), "x": [1.0, 2.0, 3.0]}, "x")
    assert derived(made, given_point(made)) == {"x": "(1 - B.shape[0]) * ones_like(x)"}


def test_a_cotangent_is_a_name() -> None:
    """Where the value is no scalar, its weights are called `cotangent`; no form is shown."""
    text = "id: t\ninputs: {x: [1.0, 2.0]}\nprogram: x**2\ncotangent: [3.0, 4.0]\n"
    given = load_text(text).problems[0]
    assert derived(given, given_point(given)) == {"x": "2 * cotangent * x"}
    assert forms_of(given) == {}


@pytest.mark.parametrize("name", LOSSES)
def test_every_notation_is_read_back_as_what_it_says(name: str) -> None:
    """Signs and LaTeX are kept only where, typed as an answer, they give the gradient: all do."""
    loss = LOSSES[name]
    given = problem(loss.program, drawn(loss, SIZES[0], 0), loss.wrt)
    point = given_point(given)
    found = shown(given, point, reverse(given.case(point)).gradients)
    parts = {part.name for part in given.parts}
    assert parts == set(found.texts) == set(found.signs) == set(found.latex)
