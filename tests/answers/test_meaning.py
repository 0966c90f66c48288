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
