"""Errors against steps, kinks and ends of the domain, held against exact arithmetic."""

import math

import numpy as np
import pytest

from gradcheck.plots.curves import differences_svg, floor_of
from gradcheck.plots.graph import NothingToDraw
from tests.support.plotting import differences


def test_the_v_of_a_cubic_plus_sine():
    """Truncation is f'''(2) h²/6; the best step is near the cube root of the rounding unit."""
    found = differences("x**3 + 2*sin(x)", "{x: 2.0}")
    (curve,) = found.curves
    assert curve.hand == "central"
    assert (curve.steps[0], curve.steps[-1]) == pytest.approx((2e-16, 2.0))
    best, least = curve.best
    assert abs(math.log10(best / np.finfo(float).eps ** (1 / 3))) < 2
    assert 0 <= least < 1e-9
    right = (curve.steps > 1e-4) & (curve.steps < 0.1)
    power, _ = np.polyfit(np.log(curve.steps[right]), np.log(curve.errors[right]), 1)
    assert power == pytest.approx(2, abs=0.01)


@pytest.mark.parametrize(
    ("program", "at", "hands", "law", "near"),
    [
        ("x**3", 1.0, ["central"], np.square, 1e-10),
        ("abs(x - 1) + x**2", 1.0, ["left", "right"], np.abs, 1e-6),
        ("x * sqrt(x)", 0.0, ["right"], np.sqrt, 1e-10),
    ],
)
def test_errors_are_those_of_exact_arithmetic(program, at, hands, law, near):
    """Of x**3 h²; at a kink h from either side; at an end √h from inside, to its own bar."""
    found = differences(program, f"{{x: {at}}}")
    assert [curve.hand for curve in found.curves] == hands
    assert 0 <= found.bar < 1e-9
    for curve in found.curves:
        far = curve.steps > 1e-2
        np.testing.assert_allclose(curve.errors[far], law(curve.steps[far]), near, found.bar)
    assert ("(f(x) − f(x − h)) / h" in differences_svg("set", found)) == ("left" in hands)


def test_the_steepest_entry_is_drawn():
    """Of [0, 3, -5, 1] the third entry of 2x is the largest."""
    found = differences("sum(x**2)", "{x: [0.0, 3.0, -5.0, 1.0]}")
    assert (found.label, found.entries, found.slope) == ("x[2]", 4, -10)


@pytest.mark.parametrize(
    ("program", "at", "why"), [("floor(x)", 1.0, "jumps"), ("sqrt(x)", 0.0, "vertical")]
)
def test_where_there_is_no_slope_nothing_is_drawn(program, at, why):
    """A jump and a vertical tangent have no slope to be off from."""
    with pytest.raises(NothingToDraw, match=why):
        differences(program, f"{{x: {at}}}")


def test_no_error_at_all_is_drawn_below_every_other():
    """Central differences of a line at exact steps are exact; the floor lies under the rest."""
    found = differences("3*x + 1", "{x: 3.0}")
    errors = found.curves[0].errors
    assert (errors == 0).any()
    assert 0 < floor_of(found) < errors[errors > 0].min()
