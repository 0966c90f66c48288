"""Gradients of arrays as text: the losses of machine learning, and what SymPy's calculus misses."""

from statistics import median

import numpy as np
import pytest

from gradcheck.opinions.reverse import reverse
from gradcheck.problem import Problem, load_text
from gradcheck.problem.draw import given_point
from gradcheck.texts import rules
from gradcheck.texts.forms import formulas, matrix_forms
from tests.support.losses import EVERYDAY, LOSSES, SIZES, Loss, drawn
from tests.support.texts import at, derived, problem

SHARE, RATIO = 0.95, 1.3
WITHOUT = {
    ("cholesky", "A"),
    ("ppo", "p"),
    ("survival", "h"),
    ("total variation", "I"),
    ("wasserstein", "x"),
    ("wasserstein", "y"),
}
"""Ops that have no line: factors of matrices, bounds, running products, sorting, differences."""


def both(loss: Loss) -> tuple[Problem, Problem]:
    """A loss at two sizes."""
    here, there = (
        problem(loss.program, drawn(loss, sizes, seed), loss.wrt)
        for seed, sizes in enumerate(SIZES)
    )
    return here, there


def forms_of(given: Problem) -> dict[str, str]:
    """What is shown of a problem: texts that reverse mode bears out."""
    point = given_point(given)
    return matrix_forms(given, point, reverse(given.case(point)).gradients)


@pytest.mark.parametrize("name", LOSSES)
def test_the_text_found_at_one_size_is_the_gradient_at_another(name: str) -> None:
    """Every text that is derived, shown or not; and so are those of the book."""
    loss = LOSSES[name]
    here, there = both(loss)
    texts = derived(here, given_point(here))
    gradients = reverse(there.case(given_point(there))).gradients
    assert set(texts) == {p for p in loss.wrt.split() if (name, p) not in WITHOUT}
    for part, due in gradients.items():
        scale = np.max(np.abs(due.value))
        for text in filter(None, (texts.get(part), loss.book.get(part))):
            np.testing.assert_allclose(
                at(text, there), due.value, rtol=1e-9, atol=1e-10 * scale, err_msg=text
            )


def test_nearly_all_are_shown_and_about_as_long_as_in_a_book() -> None:
    """The lengths are those of the texts without blanks."""
    shown, asked, ratios = 0, 0, []
    for loss in LOSSES.values():
        here, _ = both(loss)
        found = forms_of(here)
        asked += len(loss.wrt.split())
        shown += len(found)
        ratios += [
            len(found[part].replace(" ", "")) / len(text.replace(" ", ""))
            for part, text in loss.book.items()
            if part in found
        ]
    assert shown >= SHARE * asked
    assert median(ratios) <= RATIO


TEXTBOOK = {
    ("linear", "W"): "2 * X.T @ (P - Y) / P.size",
    ("least squares", "w"): "X.T @ r",
    ("logsumexp", "W"): "X.T @ (softmax(Z, axis=1) - Y) / X.shape[0]",
    ("tanh net", "W1"): "2 * X.T @ (((P - Y) @ W2.T) * (1 - H ** 2)) / P.size",
    ("sigmoid net", "b1"): "2 * sum(((P - Y) @ W2.T) * H * (1 - H), axis=0) / P.size",
    ("relu net", "W1"): "2 * X.T @ (((P - Y) @ W2.T) * (H > 0)) / P.size",
    ("det", "A"): "det(A) * inv(A).T",
    ("log det", "A"): "2 * inv(A @ A.T) @ A",
    ("quadratic form", "x"): "A @ x + x @ A",
    ("matrix factorisation", "U"): "2 * (U @ V.T - M) @ V",
    ("norm", "x"): "x / norm(x)",
    ("kl of gaussians", "s"): "(exp(s) - 1) / 2",
    ("trace", "A"): "2 * trace(A) * eye(A.shape[0])",
    ("logistic", "w"): "X.T @ (p - y) / y.shape[0]",
    ("cosine similarity", "x"): "(y - (x @ y) * x / norm(x) ** 2) / norm(x) / norm(y)",
}


@pytest.mark.parametrize(("loss", "part"), TEXTBOOK)
def test_the_text_is_that_of_a_textbook(loss: str, part: str) -> None:
    """In the program's own names, and no longer than one would write it; its numbers are above."""
    given = LOSSES[loss]
    made = problem(given.program, drawn(given, SIZES[0], 0), given.wrt)
    assert derived(made, given_point(made))[part] == TEXTBOOK[loss, part]


def test_a_wrong_rule_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """What reverse mode does not bear out stays unsaid."""
    given = problem("sum(X * 3)", {"X": np.ones((2, 3))}, "X")
    assert forms_of(given) == {"X": "3 * ones_like(X)"}
    right = rules.BACK["sum"]
    wrong = {**rules.BACK, "sum": lambda *a, **k: rules.scale(right(*a, **k), 2)}
    monkeypatch.setattr(rules, "BACK", wrong)
    assert forms_of(given) == {}


DRAWN = "{id: t, inputs: {x: {shape: [4]}}, program: 'sum(x**2)/4'}"


def test_a_text_that_is_right_at_one_size_alone_is_not_shown() -> None:
    """A four that is a length by chance is no four where the input is longer: but it is here."""
    given = load_text(DRAWN).problems[0]
    assert forms_of(given) == {"x": "x / 2"}
    sized = load_text(DRAWN.replace("/4", "/x.shape[0]")).problems[0]
    assert forms_of(sized) == {"x": "2 * x / x.shape[0]"}
    moved = load_text(DRAWN.replace("sum(x**2)/4", "sum(x[[3, 2, 1, 0]]*x)")).problems[0]
    assert all("shape" in text or "[3, 2, 1, 0]" not in text for text in forms_of(moved).values())


def test_what_has_no_form_is_left_out() -> None:
    """No text, no error."""
    assert forms_of(problem("median(x)", {"x": [1.0, 2.0, 3.0]}, "x")) == {}


GROWING = """
id: growing
inputs: {x: [0.5, 0.25]}
program: |
  y = x
  for turn in range(60):
      y = y*sin(y) + x
  sum(y)
"""


@pytest.mark.parametrize("turns", [7, 60])
def test_what_doubles_at_each_turn_of_a_loop_is_not_written_out(turns: int) -> None:
    """2^60 terms, or those of seven turns with what has no name written out; known at once."""
    assert forms_of(load_text(GROWING.replace("60", str(turns))).problems[0]) == {}


MIXED = """
id: mixed
inputs: {x: {shape: [4]}, y: {shape: [4]}}
program: |
  h = softmax(sort(softmax(x, axis=0)), axis=0)
  -sum(y*log(h))
"""


def test_what_is_unknown_never_cancels() -> None:
    """The way back through a sort has no formula; that by y has one."""
    given = load_text(MIXED).problems[0]
    assert derived(given, given_point(given)) == {"y": "-log(h)"}


LABELS = """
id: labels
inputs:
  X: {shape: [3, 2], requires_grad: false}
  W: {shape: [2, 3]}
  Y: {value: [[1, 0, 0], [0, 0, 1], [0, 1, 0]], requires_grad: false}
program: |
  P = softmax(X @ W, axis=1)
  -mean(sum(Y*log(P), axis=1))
"""


def test_softmax_with_labels_is_p_less_y() -> None:
    """Where the labels are constants of the problem, each row of them adds to one."""
    given = load_text(LABELS).problems[0]
    assert forms_of(given) == {"W": "X.T @ (P - Y) / Y.shape[0]"}


def test_an_axis_that_nothing_depends_on_counts_as_often_as_it_is_long() -> None:
    """Every x is met once in each of the four rows of B - x."""
    made = problem("sum(B - x)", {"B": np.ones((4, 3)), "x": [1.0, 2.0, 3.0]}, "x")
    assert derived(made, given_point(made)) == {"x": "-B.shape[0] * ones_like(x)"}


@pytest.mark.parametrize(
    ("program", "text"),
    [
        ("sum((y - X @ w)**2)", "2 * X.T @ (X @ w - y)"),
        ("-sum((X @ w - y)**2)", "2 * X.T @ (y - X @ w)"),
        ("sum((y - X @ w)**2) / 3", "2 * X.T @ (X @ w - y) / 3"),
    ],
)
def test_a_minus_goes_into_the_bracket(program: str, text: str) -> None:
    """As one writes it, and nothing else is in front but the number."""
    made = problem(program, {"X": np.eye(3, 2), "y": [1.0, 2.0, 4.0], "w": [1.0, 3.0]}, "w")
    assert forms_of(made) == {"w": text}


def test_a_product_with_one_row_for_all_is_said_for_each() -> None:
    """The cotangent of A @ B is the same in every row, and so is that of A."""
    made = problem("norm(sum(A @ B, axis=0))", {"A": np.eye(3, 2), "B": np.ones((2, 4))}, "A")
    due = reverse(made.case(given_point(made))).gradients["A"].value
    np.testing.assert_allclose(at(forms_of(made)["A"], made), due, rtol=1e-12)


def test_a_cotangent_is_a_name() -> None:
    """Where the value is no scalar, its weights are called `cotangent`; no form is shown."""
    text = "id: t\ninputs: {x: [1.0, 2.0]}\nprogram: x**2\ncotangent: [3.0, 4.0]\n"
    given = load_text(text).problems[0]
    assert derived(given, given_point(given)) == {"x": "2 * cotangent * x"}
    assert forms_of(given) == {}


@pytest.mark.parametrize("name", EVERYDAY)
def test_every_notation_is_read_back_as_what_it_says(name: str) -> None:
    """Signs and LaTeX are kept only where, typed as an answer, they give the gradient: all do."""
    loss = LOSSES[name]
    given = problem(loss.program, drawn(loss, SIZES[0], 0), loss.wrt)
    point = given_point(given)
    found = formulas(given, point, reverse(given.case(point)).gradients)
    parts = {part.name for part in given.parts}
    assert parts == set(found.texts) == set(found.signs) == set(found.latex)


@pytest.mark.parametrize(
    ("factor", "text"),
    [("1/5", "0.4 * x"), ("0.35", "0.7 * x"), ("1/6", "x / 3"), ("1/30", "x / 15")],
)
def test_a_constant_is_a_decimal_where_that_ends(factor: str, text: str) -> None:
    """Two fifths are 0.4, a third stays a quotient."""
    made = problem(f"{factor}*sum(x**2)", {"x": [1.0, 2.0]}, "x")
    assert derived(made, given_point(made)) == {"x": text}
