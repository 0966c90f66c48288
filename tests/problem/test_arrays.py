"""Numbers as they are written in a problem file: exact where they are rational."""

import math
from fractions import Fraction

import pytest

from gradcheck.problem.arrays import exact_array, formula_value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1/3", Fraction(1, 3)),
        ("-2/7", Fraction(-2, 7)),
        ("2^-3", Fraction(1, 8)),
        ("pi/4", Fraction(math.pi) / 4),
        ("2pi", 2 * Fraction(math.pi)),
        ("sqrt(2)/2", Fraction(math.sqrt(2)) / 2),
        ("e^2", Fraction(math.e**2)),
        ("cos(pi/3)", Fraction(math.cos(math.pi / 3))),
    ],
)
def test_a_formula_without_names_is_a_number(text, value):
    """Rational ones are exact, others the nearest float."""
    assert formula_value(text) == value


@pytest.mark.parametrize(
    "text",
    ["two", "2.0", "x", "1/0", "sqrt(-1)", "2*y", "9^9^9^9", "1e999*3", "[1, 2]", "", "x > 1"],
)
def test_what_is_no_number_is_none(text):
    """Names, poles and numbers in quotes have no value here; nothing is evaluated without end."""
    assert formula_value(text) is None


def test_lists_may_hold_formulas():
    """Entries are numbers or formulas; a word makes the whole no array."""
    found = exact_array(["1/3", 2])
    assert found is not None
    assert found.tolist() == [Fraction(1, 3), 2]
    assert exact_array([1, "two"]) is None
