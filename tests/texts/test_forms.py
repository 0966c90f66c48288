"""Gradients of arrays as text: the losses of machine learning, and what SymPy's calculus misses."""

import re
from pathlib import Path
from statistics import median

import numpy as np
import pytest
import yaml

from gradcheck.opinions.reverse import reverse
from gradcheck.problem import load_text
from gradcheck.problem.draw import draw_given_point
from gradcheck.texts import rules
from gradcheck.texts.forms import write_formulas
from tests.support.sets import set_of
from tests.support.texts import EVERYDAY, LOSSES, SIZES, at, derived, drawn, problem

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


def forms_of(given):
    """What is shown of a problem: texts that reverse mode bears out."""
    point = draw_given_point(given)
    return write_formulas(given, point, reverse(given.case(point)).gradients).texts


@pytest.mark.parametrize("name", LOSSES)
def test_the_text_found_at_one_size_is_the_gradient_at_another(name):
    """Every text that is derived, shown or not; and so are those of the book."""
    loss = LOSSES[name]
    here, there = (
        problem(loss.program, drawn(loss, sizes, seed), loss.wrt)
        for seed, sizes in enumerate(SIZES)
    )
    texts = derived(here, draw_given_point(here))
    gradients = reverse(there.case(draw_given_point(there))).gradients
    assert set(texts) == {p for p in loss.wrt.split() if (name, p) not in WITHOUT}
    for part, due in gradients.items():
        scale = np.max(np.abs(due.value))
        for text in filter(None, (texts.get(part), loss.book.get(part))):
            np.testing.assert_allclose(
                at(text, there), due.value, rtol=1e-9, atol=1e-10 * scale, err_msg=text
            )


@pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.sweep)])
def test_nearly_all_are_shown_and_about_as_long_as_in_a_book(every):
    """The lengths are those of the texts without blanks."""
    shown, asked, ratios = 0, 0, []
    for loss in list(LOSSES.values())[::every]:
        found = forms_of(problem(loss.program, drawn(loss, SIZES[0], 0), loss.wrt))
        asked += len(loss.wrt.split())
        shown += len(found)
        ratios += [
            len(found[part].replace(" ", "")) / len(text.replace(" ", ""))
            for part, text in loss.book.items()
            if part in found
        ]
    assert shown >= SHARE * asked
    assert median(ratios) <= RATIO


LINES = Path(__file__).with_name("textbook.txt").read_text().splitlines()
TEXTBOOK = [line.split(": ") for line in LINES if not line.startswith("#")]


@pytest.mark.parametrize(("loss", "part", "text"), TEXTBOOK)
def test_the_text_is_that_of_a_textbook(loss, part, text):
    """In the program's own names, and no longer than one would write it; its numbers are above."""
    given = LOSSES[loss]
    made = problem(given.program, drawn(given, SIZES[0], 0), given.wrt)
    assert derived(made, draw_given_point(made))[part] == text


def test_a_wrong_rule_is_not_shown(monkeypatch):
    """What reverse mode does not bear out stays unsaid."""
    given = problem("sum(X * 3)", {"X": np.ones((2, 3))}, "X")
    assert forms_of(given) == {"X": "3 * ones_like(X)"}
    monkeypatch.setattr(rules, "BACK", {"multiply": lambda at, a, b: at.g * a * b})
    assert forms_of(given) == {}


DRAWN = "{id: t, inputs: {x: {shape: [4]}}, program: 'sum(x**2)/4'}"


def test_a_text_that_is_right_at_one_size_alone_is_not_shown():
    """A four that is a length by chance is no four where the input is longer: but it is here."""
    given = load_text(DRAWN).problems[0]
    assert forms_of(given) == {"x": "x / 2"}
    sized = load_text(DRAWN.replace("/4", "/x.shape[0]")).problems[0]
    assert forms_of(sized) == {"x": "2 * x / x.shape[0]"}
    moved = load_text(DRAWN.replace("sum(x**2)/4", "sum(x[[3, 2, 1, 0]]*x)")).problems[0]
    assert all("shape" in text or "[3, 2, 1, 0]" not in text for text in forms_of(moved).values())


POINT = {
    "X": np.eye(3, 2), "y": [1.0, 2.0, 4.0], "w": [1.0, 3.0], "B": np.ones((4, 3)),
    "x": [1.0, 2.0, 3.0], "p": [0.2, 0.3, 0.5],
}  # fmt: skip
# What is derived of a program, and why it is said so.
DERIVED = yaml.safe_load(Path(__file__).with_name("derived.yaml").read_text())


@pytest.mark.parametrize("why", DERIVED)
def test_what_is_derived_reads_as_one_writes_it(why):
    """And is shown where reverse mode bears it out."""
    program, wrt, texts = DERIVED[why]
    used = {n: v for n, v in POINT.items() if re.search(rf"\b{n}\b", program)}
    made = problem(program, used, wrt)
    assert derived(made, draw_given_point(made)) == texts
    assert forms_of(made) == texts


NO_FORM = {
    "no rule": "median(x)",
    "2^60 terms": "y = x\nfor turn in range(60):\n    y = y*sin(y) + x\nsum(y)",
    "no names for seven turns": "y = x\nfor turn in range(7):\n    y = y*sin(y) + x\nsum(y)",
}


@pytest.mark.parametrize("why", NO_FORM)
def test_what_has_no_form_is_left_out(why):
    """No text, no error, known at once: also what doubles at each turn of a loop."""
    assert forms_of(problem(NO_FORM[why], {"x": [0.5, 0.25, 1.0]}, "x")) == {}


LABELS = set_of("labels")


def test_softmax_with_labels_is_p_less_y():
    """Where the labels are constants of the problem, each row of them adds to one."""
    given = load_text(LABELS).problems[0]
    assert forms_of(given) == {"W": "X.T @ (P - Y) / Y.shape[0]"}


def test_a_product_with_one_row_for_all_is_said_for_each():
    """The cotangent of A @ B is the same in every row, and so is that of A."""
    made = problem("norm(sum(A @ B, axis=0))", {"A": np.eye(3, 2), "B": np.ones((2, 4))}, "A")
    due = reverse(made.case(draw_given_point(made))).gradients["A"].value
    np.testing.assert_allclose(at(forms_of(made)["A"], made), due, rtol=1e-12)


def test_a_cotangent_is_a_name():
    """Where the value is no scalar, its weights are called `cotangent`; no form is shown."""
    text = "id: t\ninputs: {x: [1.0, 2.0]}\nprogram: x**2\ncotangent: [3.0, 4.0]\n"
    given = load_text(text).problems[0]
    assert derived(given, draw_given_point(given)) == {"x": "2 * cotangent * x"}
    assert forms_of(given) == {}


@pytest.mark.parametrize("name", EVERYDAY)
def test_every_notation_is_read_back_as_what_it_says(name):
    """Signs and LaTeX are kept only where, typed as an answer, they give the gradient: all do."""
    loss = LOSSES[name]
    given = problem(loss.program, drawn(loss, SIZES[0], 0), loss.wrt)
    point = draw_given_point(given)
    found = write_formulas(given, point, reverse(given.case(point)).gradients)
    parts = {part.name for part in given.parts}
    assert parts == set(found.texts) == set(found.signs) == set(found.latex)


# -- sigmoids and softmaxes that a program writes out: gradients as in the textbook ----------------


ROWS = "X: {{shape: [{n}, 2], requires_grad: false}}, y: {{value: {y}, requires_grad: false}}, "
GIVEN = {
    "DATA": ROWS + "w: {{shape: [2]}}",
    "LABELS": ROWS + "W: {{shape: [2, 4]}}",
    "ONE": "z: {{shape: [{n}]}}",
}
WRITTEN = yaml.safe_load(Path(__file__).with_name("written_out.yaml").read_text())
LENGTHS = ((3, [0, 1, 1]), (5, [1, 0, 1, 0, 0]))


@pytest.mark.parametrize("name", WRITTEN)
def test_the_gradient_is_as_in_the_book(name):
    """And, as for every text that is shown, it is the gradient: at two sizes, by reverse mode."""
    row = WRITTEN[name]
    for n, y in LENGTHS:
        program = row["program"].format(n=n).replace("\n", "\n  ")
        inputs = GIVEN[row["given"]].format(n=n, y=y)
        text = f"id: p\ninputs: {{{inputs}}}\nprogram: |\n  {program}\n"
        given = load_text(text).problems[0]
        point = draw_given_point(given)
        gradients = reverse(given.case(point)).gradients
        ((part, found),) = write_formulas(given, point, gradients).texts.items()
        np.testing.assert_allclose(at(found, given), gradients[part].value, rtol=1e-10, atol=1e-12)
        assert row["text"].format(y=y) in {found, ""}
