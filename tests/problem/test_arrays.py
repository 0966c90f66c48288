"""Numbers as they are written in a problem file: exact where they are rational."""

from fractions import Fraction

import pytest
from mpmath import mp

from gradcheck.problem.arrays import exact_array, formula_value


def test_a_rational_formula_is_exact():
    for text, value in (("1/3", "1/3"), ("-2/7", "-2/7"), ("2^-3", "1/8"), ("(2/3)^5", "32/243")):
        assert formula_value(text) == Fraction(value)


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
        found = formula_value(text)
        assert abs(mp.mpf(found.numerator) / found.denominator - value()) < mp.mpf(10) ** -57


@pytest.mark.parametrize(
    "text",
    ["two", "2.0", "x", "1/0", "sqrt(-1)", "2*y", "9^9^9^9", "1e999*3", "[1, 2]", "", "x > 1",
     "9^9^9", "(9^999)^999"],
)  # fmt: skip
def test_what_is_no_number_is_none(text):
    """Names, poles and numbers in quotes have no value here; nothing is evaluated without end."""
    assert formula_value(text) is None


def test_lists_may_hold_formulas():
    """Entries are numbers or formulas; a word makes the whole no array."""
    assert exact_array(["1/3", 2]).tolist() == [Fraction(1, 3), 2]
    assert exact_array([1, "two"]) is None
