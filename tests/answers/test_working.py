"""Lines of working taken apart: steps, what names them, and derivatives not yet taken."""

import pytest

from gradcheck.answers import FUNCTIONS, read_formula
from gradcheck.answers.echo import echo
from gradcheck.errors import TextError

NAMES = ("x", "y", "X")


def steps(typed):
    return read_formula(typed, names=NAMES, functions=FUNCTIONS, by="x").steps


# (typed, the steps that count)
SHEETS = [
    ("2x", ["2*x"]),
    ("2x + 2x = 4x", ["2*x + 2*x", "4*x"]),
    ("y' = 2x\n = x*2", ["2*x", "x*2"]),
    ("u = x^2, v = sin x\nu' = 2x\nf'(x) = 2x sin x", ["2*x*sin(x)"]),
    ("f(x) = x^2\nf'(x) = 2x", ["2*x"]),
    ("d/dx(x^2) = 2x", ["derivative(x**2, x)", "2*x"]),
    ("(x^2)' = 2x", ["derivative(x**2, x)", "2*x"]),
    (r"\frac{d}{dx} f(x) = 2x", ["2*x"]),
    (r"\begin{align} y' &= 2x \\ &= x + x \end{align}", ["2*x", "x + x"]),
    ("2x => 2*x", ["2*x", "2*x"]),
    ("sum(X, axis=0) = X.sum(axis=0)", ["sum(X, axis=0)", "sum(X, axis=0)"]),
    ("d/dx(x^2) + 1 = 2x", ["derivative(x**2, x) + 1", "2*x"]),
    ("d/dx x^2 + 1 = 2x", ["derivative(x**2, x) + 1", "2*x"]),
    (r"\frac{d}{dy}[x y] x = 2x", ["derivative(x*y, y)*x", "2*x"]),
    (r"(x^2)' y + x^2 (y)' = 2x", ["derivative(x**2, x)*y + x**2*derivative(y, x)", "2*x"]),
    ("((x + 1)^2)' = 2x", ["derivative((x + 1)**2, x)", "2*x"]),
]


@pytest.mark.parametrize(("typed", "expected"), SHEETS)
def test_steps(typed, expected):
    found = steps(typed)
    assert [echo(step.tree) for step in found] == expected
    for step in found:
        assert typed[step.start : step.end].strip() == typed[step.start : step.end]


def test_lines_are_counted_from_one():
    assert [step.line for step in steps("y' = x\n\n= 2x = 3x")] == [1, 3, 3]


@pytest.mark.parametrize("typed", ["d/dx(x^2", "d/dx(x^2)", "(x^2)'"])
def test_what_is_unclear_or_not_taken_is_no_answer(typed):
    """A bracket that is missing, a product that may end anywhere, a derivative not yet taken."""
    try:
        found = steps(typed)
    except TextError:
        return
    assert found[0].fault is not None
