"""Problem files: what an author may leave out, and sets that are named without a path."""

from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp

from gradcheck.errors import TextError
from gradcheck.opinions.reverse import reverse
from gradcheck.problem.draw import check_value, draw_given_point
from gradcheck.problem.load import find_set, list_sets, load_shipped, load_text
from gradcheck.problem.record import evaluate_formula, read_exact_array
from tests.support.commands import run
from tests.support.grading import self_test
from tests.support.sets import set_of

RIDGE = set_of("ridge")


def _only(text):
    return load_text(text, file="p.yaml").problems[0]


def _gradient(problem, name):
    found = reverse(problem.case(draw_given_point(problem)))
    return np.asarray(found.gradients[name].value, dtype=float)


@pytest.mark.parametrize(
    ("program", "slope"),
    [
        ("y = x**2", 6.0),
        ("y = x**2\n  y += 5 * x", 11.0),
        ("x = x**2", 6.0),
        ("a = x\n  if x > 0:\n      a = x**2\n  b = a * 2", 12.0),
    ],
)
def test_what_the_last_line_assigns_is_the_value(program, slope):
    """Slopes by the power rule at 3; the textbook's of ridge regression."""
    problem = _only(f"id: p\ninputs: {{x: 3.0}}\nprogram: |\n  {program}\n")
    assert float(_gradient(problem, "x")) == pytest.approx(slope, rel=1e-14)
    x = np.array([[1.0, 2.0], [0.0, 1.0], [3.0, -1.0]])
    w, y = np.array([0.5, -0.25]), np.array([1.0, 2.0, 0.5])
    expected = x.T @ (x @ w - y) / 3 + 0.1 * w
    np.testing.assert_allclose(_gradient(_only(RIDGE), "w"), expected, rtol=1e-13)


def test_leaves_of_the_programs_own_are_asked_where_there_are_no_inputs():
    """By hand: 2 (w x + b - 1) times x and 1, where w x + b - 1 is -5.5."""
    found = load_text("""
id: own
program: |
  w = torch.tensor([1.0, -2.0], requires_grad=True)
  b = nn.Parameter(torch.tensor(0.5))
  x = torch.tensor([3.0, 4.0])
  loss = ((w * x).sum() + b - 1)**2
  loss.backward()
right: [{w.grad: [-33, -44], b.grad: -11}]
wrong: [{answer: {w.grad: [33, 44], b.grad: 11}, mistake: sign-error}]
""")
    assert [part.name for part in found.problems[0].parts] == ["w.grad", "b.grad"]
    assert self_test(found) == []


@pytest.mark.parametrize("program", ["for k in range(3):\n      y = x", "if x > 0:\n      y = x"])
def test_what_ends_otherwise_has_no_value(program):
    """Also where the point is drawn: it is not the domain that is missing."""
    for given in ("3.0", "{shape: []}"):
        problem = _only(f"id: p\ninputs: {{x: {given}}}\nprogram: |\n  {program}\n")
        with pytest.raises(TextError, match="ends without a value"):
            check_value(problem, draw_given_point(problem))


def test_the_answer_of_the_only_part_may_stand_alone():
    text = (
        RIDGE + "right: ['X.T @ (X @ w - y) / 3 + 0.1 * w', {w: X.T @ res / 3 + w / 10}]\n"
        "wrong: [{answer: X.T @ (y - X @ w) / 3 + 0.1 * w, mistake: sign-error}]\n"
    )
    problem = _only(text)
    assert [set(answer) for answer in problem.right] == [{"w"}, {"w"}]
    assert problem.wrong[0][0] == {"w": "X.T @ (y - X @ w) / 3 + 0.1 * w"}
    assert self_test(load_text(text, file="p.yaml")) == []


def test_weights_share_out_the_points():
    text = "id: p\ninputs: {a: 1.0, b: 2.0}\nprogram: a * b\n"
    for words, shares in (("", [0.5, 0.5]), ("weights: {a: 3}\n", [0.75, 0.25])):
        assert [part.weight for part in _only(text + words).parts] == shares


def test_sets_are_found_by_their_bare_names(tmp_path, monkeypatch):
    """In any directory, with the ending or without; a file of the same name is meant first."""
    assert find_set("first-derivatives") == find_set("first-derivatives.yaml") in list_sets()
    assert find_set("first") is None
    assert load_shipped()["sine-of-square"].title
    monkeypatch.chdir(tmp_path)

    def said(*words):
        return run(*words).output

    assert "agree" in said("solve", "first-derivatives", "--problem", "cubic-plus-sine")
    (tmp_path / "first-derivatives").write_text("id: mine\ninputs: {x: 2.0}\nprogram: x**2\n")
    assert "mine" in said("solve", "first-derivatives")
    assert "does not exist" in said("lint", "no-such-set")
    assert "Did you mean 'first-derivatives'?" in said("solve", "first-derivates")


# -- numbers as they are written: exact where they are rational ------------------------------------


def test_a_rational_formula_is_exact():
    for text, value in (("1/3", "1/3"), ("2*10^3", "2000"), ("0.1+0.2", "3/10"), ("2^-3", "1/8")):
        assert evaluate_formula(text) == Fraction(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("pi/4", lambda: mp.pi / 4),
        ("2pi", lambda: 2 * mp.pi),
        ("sqrt(2)/2", lambda: mp.sqrt(2) / 2),
        ("e^2", lambda: mp.e**2),
        ("cos(pi/5)", lambda: mp.cos(mp.pi / 5)),
        ("2^(1/3)", lambda: mp.cbrt(2)),
    ],
)
def test_another_formula_has_sixty_digits(text, value):
    """As mpmath has them: an exact answer at pi/4 is right, not off in the seventeenth digit."""
    with mp.workdps(80):
        found = evaluate_formula(text)
        assert abs(mp.mpf(found.numerator) / found.denominator - value()) < mp.mpf(10) ** -57


@pytest.mark.parametrize(
    "text",
    ["pair", "2.0", "x", "1/0", "sqrt(-1)", "2>1", "9^9^9^9", "1e999*3", "[1, 2]", "", "x > 1",
     "9^9^9", "(9^999)^999", "10^400"],
)  # fmt: skip
def test_what_is_no_number_is_none(text):
    """Names, poles and numbers in quotes have no value here; nothing is evaluated without end."""
    assert evaluate_formula(text) is None


def test_lists_may_hold_formulas():
    """Entries are numbers or formulas; a word makes the whole no array."""
    assert read_exact_array(["1/3", 2]).tolist() == [Fraction(1, 3), 2]
    assert read_exact_array([1, "pair"]) is None
