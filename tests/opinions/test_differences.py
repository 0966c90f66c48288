"""Differences in balls of functions put together of two pieces, whose slopes are known by hand."""

from itertools import product

import numpy as np
import pytest
from flint import arb

from gradcheck.numbers.run import precision
from gradcheck.opinions.differences import differences, measure_slope
from tests.support.cases import case

INFINITE = float("inf")
# For t > 0: the piece, and its slope where t is 0.
PIECES = {
    "nothing": (lambda t: arb(0), 0),
    "a step": (lambda t: arb(1), INFINITE),
    "t log t": (lambda t: t * t.log(), -INFINITE),
    "1/log t": (lambda t: 1 / t.log(), -INFINITE),
    "exp": (lambda t: t.exp() - 1, 1),
    "t + t^1.5": (lambda t: t + t ** arb("1.5"), 1),
} | {
    f"{c} t^{p}": (
        lambda t, c=c, p=p: arb(c) * t ** arb(p),
        0 if float(p) > 1 else float(c) if p == "1" else float(c) * INFINITE,
    )
    for c, p in product(("1", "-1", "1e-6"), ("0.3", "0.5", "0.9", "1", "1.5", "2", "3"))
}


@pytest.mark.parametrize("x", ["0", "1.5", "1e-9"])
def test_only_pieces_of_one_slope_are_smooth(x):
    """And then the bar holds it; a gap is a kink, an infinite slope is no number."""
    with precision(256):
        for (left, before), (right, beyond) in product(PIECES.values(), repeat=2):

            def f(h, left=left, right=right):
                return arb(0) if h == 0 else right(h) if h > 0 else left(-h)

            slope, seen = measure_slope(f, arb(0), arb(x), may_retry=False)
            finite = max(abs(before), abs(beyond)) < INFINITE
            if seen is None and not finite:  # t^0.9 is hardly steeper at any step
                assert slope.rad() > abs(slope.mid()) / 2
            elif seen is None:
                assert -before == beyond
                assert slope.contains(arb(beyond))
            elif finite and seen.kind == "kink":
                assert (seen.left, seen.right) == pytest.approx(
                    (-before, beyond), rel=1e-6, abs=1e-9
                )
                assert -before != beyond
            else:
                assert seen.kind in {"vertical", "jump"}


@pytest.mark.parametrize("x", [3.0, [3.0, 4.0]])
def test_what_a_program_changes_in_place_is_a_copy(x):
    def double(x):
        x *= x
        return np.sum(x)

    found = differences(case(double, x=x)).gradients["x"].value
    assert np.array_equal(found, 2 * np.asarray(x))
