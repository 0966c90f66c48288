"""Answers that define names of their own, or say at which point they are meant."""

import pytest

from gradcheck.errors import TextError
from tests.support.typed import read

CASES = [
    ("2x cos(u) where u = x^2", "2*x*cos(x**2)"),
    ("2x cos(u), u = x^2", "2*x*cos(x**2)"),
    ("let u = x^2, then 2x cos u", "2*x*cos(x**2)"),
    ("u = x^2\nf'(x) = cos(u)*2x", "cos(x**2)*2*x"),
    ("f' = 2cos(v)x with $u = x^2$ and v = u", "2*cos(x**2)*x"),
    ("2x cos(x^2) where u = x^2", "2*x*cos(x**2)"),
    ("3u, u = x + a", "3*(x + a)"),
    ("4 where x = 2", "4"),
    ("$2x$ at $x = -1,5$.", "2*x"),
    ("2x  # the power rule", "2*x"),
    ("cos(u) u', u = x^2, u' = 2x", "cos(x**2)*(2*x)"),
    ("u = x^2, du/dx = 2x, dy/du = cos u, dy/dx = dy/du * du/dx", "cos(x**2)*(2*x)"),
    ("e = exp(-x)\n2e", "2*exp(-x)"),
    ("let u = 2x+1: 10u^4", "10*(2*x + 1)**4"),
]


@pytest.mark.parametrize(("typed", "understood"), CASES)
def test_they_are_written_out(typed, understood):
    """As a teacher reads them; what was done is noted."""
    assert read(typed).understood == understood


@pytest.mark.parametrize(
    "typed", ["y = 2x, 3x", "[u, u = 2]", "3x, y = 2x", "2u where u", "17 x where s", "7 if x = 2x"]
)
def test_other_texts_define_nothing(typed):
    """Several answers, a list, a definition without its end: refused."""
    with pytest.raises(TextError):
        read(typed, names=("x", "y"))


@pytest.mark.parametrize("typed", ["u*v, u = v, v = u", "; ".join(["a*a"] + ["b = 2"] * 9)])
def test_what_goes_round_is_refused(typed):
    """It ends, in a complaint."""
    with pytest.raises(TextError):
        read(typed, names=("x",))


@pytest.mark.parametrize(
    ("typed", "understood"),
    [
        ("2x cos(x^2), using the chain rule", "2*x*cos(x**2)"),
        ("2x cos(x^2) (chain rule)", "2*x*cos(x**2)"),
        ("x^2 (sinx)", "x**2*sin(x)"),
        ("I think it's 2x", "2*x"),
        ("(b) 15x", "b*15*x"),
        ("(3) x", "3*x"),
    ],
)
def test_words_beside_a_formula(typed, understood):
    """They are left out where none of them is a name, or names run together."""
    assert read(typed).understood == understood
