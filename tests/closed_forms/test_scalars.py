"""The shortest of a few rewritings of a closed form, and never another function."""

import pytest
import sympy

from gradcheck.closed_forms import scalars
from gradcheck.closed_forms.scalars import shortest

x, y = sympy.symbols("x y", real=True)

SHORTER = {
    "a common factor": (x * sympy.exp(x) + sympy.exp(x), "(x + 1)*exp(x)"),
    "a quotient": (
        -2 * x * (2 * x - 1) / (x**2 + 3) ** 2 + 2 / (x**2 + 3),
        "-2*(x**2 - x - 3)/(x**2 + 3)**2",
    ),
    "two brackets": (3 * x**2 + 2 * x * (3 * x - 2) + 3, "9*x**2 - 4*x + 3"),
    "short as it is": (3 * x**2 + 2 * sympy.cos(x), "3*x**2 + 2*cos(x)"),
    "two letters are no gain": (x**2 + x * sympy.cos(x * y), "x**2 + x*cos(x*y)"),
    "a number": (sympy.sqrt(2) + 1, "1 + sqrt(2)"),
}


@pytest.mark.parametrize("name", SHORTER)
def test_it_is_the_shortest(name: str) -> None:
    """As a textbook prints it."""
    form, due = SHORTER[name]
    assert str(shortest(form)) == due


def test_a_rewriting_that_is_another_function_is_not_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whatever SymPy says."""
    monkeypatch.setattr(scalars, "WAYS", (lambda e: x,))
    form = x**2 + 3 * x + sympy.sin(x)
    assert shortest(form) == form
