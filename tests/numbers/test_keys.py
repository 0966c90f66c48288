"""Keys: numbers that are equal have equal ones however they were computed, and no others do."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from flint import arb

from gradcheck.numbers.ball import Ball, balls
from gradcheck.numbers.keys import PRIME, fresh_key, key_of_plain, key_of_result, whole
from gradcheck.numbers.run import RUN, Undecided, precision, settings
from gradcheck.ops import TABLE

THIRD = Fraction(1, 3)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (lambda a, b: a + b, lambda a, b: b + a),
        (lambda a, b: (a - b) * (a + b), lambda a, b: a * a - b * b),
        (lambda a, b: a / b * b, lambda a, b: +a),
        (lambda a, b: -np.negative(a), lambda a, b: np.square(a) / a),
        (lambda a, b: a**3, lambda a, b: a * a * a),
        (lambda a, b: a**-2 * b, lambda a, b: np.reciprocal(a * a) * b),
        (lambda a, b: np.sin(a + b), lambda a, b: np.sin(b + a)),
        (lambda a, b: (a + b) ** 0.5, lambda a, b: (b + a) ** 0.5),
    ],
)
def test_the_field_has_the_keys_of_its_numbers(one, other):
    """Sums, products, quotients and whole powers; a function of equal numbers."""
    a, b = balls([THIRD, Fraction(2, 7)])
    with precision(64):
        assert one(a, b).item().key == other(a, b).item().key
        assert (a**0.5).item().key != (b**0.5).item().key != (a**3).item().key


def test_plain_numbers():
    """A truth value is a whole number, a float a quotient of two; what is no number has no key."""
    assert key_of_plain(True) == key_of_plain(np.bool_(True)) == key_of_plain(1) == 1
    assert key_of_plain(0.375) == key_of_plain(Fraction(3, 8)) == key_of_plain(arb("0.375"))
    for unknown in (np.inf, arb.nan(), arb(1, 1)):
        assert key_of_plain(unknown) != key_of_plain(unknown)
    assert fresh_key() != fresh_key()


def test_of_a_rule_that_is_not_the_tables_nothing_is_known():
    """A slope of the sine goes by its name and is another function; one over zero is no number."""
    sine, values = TABLE["sin"], [arb(1)]
    assert key_of_result(sine, [5], values) == key_of_result(sine, [5], values)
    other = replace(sine)
    assert key_of_result(other, [5], values) != key_of_result(other, [5], values)
    over = TABLE["reciprocal"]
    assert key_of_result(over, [0], values) != key_of_result(over, [0], values)
    for exponent, wrong in ((arb(10) ** 7, pow(3, 10**7, PRIME)), (arb(2, 0.1), 9)):
        assert key_of_result(TABLE["power"], [3, 9], [arb(3), exponent]) != wrong


def test_a_floor_is_decided_where_the_key_is_a_whole_numbers():
    near = arb(3, 1e-9)
    with settings(keyed=True):
        assert whole(arb(2.5, 0.6), near, lambda: 3) == 3
        with pytest.raises(Undecided, match="is a whole number"):
            whole(arb(2.5, 0.6), near, lambda: 4)
    with settings(keyed=False), pytest.raises(Undecided):
        whole(arb(2.5, 0.6), near, lambda: 3)


def test_ties_are_counted_and_what_overlaps_is_left_open():
    with precision(64), settings(ties=0):
        assert Ball(THIRD) * 3 == Ball(1)
        assert not Ball(THIRD) < Ball(THIRD)
        assert Ball(THIRD) <= Ball(THIRD) >= Ball(THIRD)
        assert RUN.ties == 4
        assert Ball(THIRD) != Ball(THIRD + 1)
        with pytest.raises(Undecided, match="64 bits do not tell it"):
            bool(Ball(arb(0, 1)) > 0)
