"""A glance: nine samples are enough where nothing is unusual, and never surely wrong."""

import math

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpf

from gradcheck.opinions.floats.quick import glance
from tests.support.scanned import BROKEN, SMOOTH, Broken, Case, covered, named, true_slope


def test_a_glance_is_enough_where_nothing_is_unusual() -> None:
    """Ordinary functions are settled with nine evaluations."""
    asked: list[float] = []
    found = glance(lambda x: asked.append(x) or math.sin(x), 1.0)
    assert found is not None
    assert covered(found, mpmath.cos(1))
    assert len(asked) == 9
    for f, x, truth in ((math.log, 1e-10, 1e10), (lambda x: x * x, 1e20, 2e20)):
        there = glance(f, x, abs(x))
        assert there is not None
        assert covered(there, mpf(truth))


@pytest.mark.parametrize("case", SMOOTH, ids=named)
def test_a_glance_is_never_surely_wrong(case: Case) -> None:
    """Its bar covers the derivative, or it leaves the question to the scan.

    Where f has lost all its digits (LOST) nine samples may lie on one stair of the rounding; who
    asks for a glance must know by other means that it has not.
    """
    found = glance(case.f, case.x, max(1.0, abs(case.x)))
    assert found is None or covered(found, true_slope(case.truth, case.x))


@pytest.mark.parametrize("case", BROKEN, ids=named)
def test_a_glance_leaves_what_has_no_derivative_to_the_scan(case: Broken) -> None:
    """At kinks, jumps, vertical tangents and edges the full scan must speak."""
    assert glance(case.f, case.x, abs(case.x) or 1.0) is None


@settings(deadline=None, derandomize=True, max_examples=60)
@given(distance=st.floats(1e-9, 0.3))
def test_a_glance_is_not_fooled_by_a_kink_nearby(distance: float) -> None:
    """At 1 + d the slope of |x - 1| is 1: that, or no answer."""
    found = glance(lambda t: abs(t - 1), 1 + distance)
    assert found is None or covered(found, mpf(1))
