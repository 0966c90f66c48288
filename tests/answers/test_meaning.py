"""What typed formulas mean: their values against the same mathematics written in Python."""

import ast

import pytest

from tests.support.meanings import MEANINGS, POINT
from tests.support.trees import value
from tests.support.typed import read


@pytest.mark.parametrize(("typed", "expected"), MEANINGS.items())
def test_the_tree_means_what_was_typed(typed, expected):
    """A typed formula has the value of the mathematics it stands for; so has its echo in Python."""
    formula = read(typed)
    assert value(formula.tree, POINT) == pytest.approx(expected, rel=1e-13, abs=1e-15)
    echoed = ast.parse(formula.understood, mode="eval")
    assert value(echoed, POINT) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("typed", ["λx", r"\lambda x", "lambda*x", "lambda x", r"\varepsilon ε ϵ"])
def test_greek_letters_have_the_names_that_programs_give_them(typed):
    """`lambda` is a word of Python's, so that programs say lam; and eps for epsilon."""
    name = "eps" if "eps" in typed else "lam"
    names = {node.id for node in ast.walk(read(typed, ("x", name)).tree) if type(node) is ast.Name}
    assert names - {"x"} == {name}
