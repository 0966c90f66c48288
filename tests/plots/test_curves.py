"""Errors against steps, held against exact arithmetic; recorded series with the classic mistake."""

import math

import numpy as np
import pytest

from gradcheck.plots.curves import find_floor, render_differences, spans_decades
from gradcheck.plots.graph import NothingToDraw
from tests.support.plotting import FIVE_STEPS, differences, recorded, traced


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
    assert ("(f(x) − f(x − h)) / h" in render_differences("set", found)) == ("left" in hands)


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
    assert 0 < find_floor(found) < errors[errors > 0].min()


# -- recorded series -------------------------------------------------------------------------------


def test_five_steps_with_and_without_zero_grad():
    """W shrinks by 0.8 a step; uncleared, the sum of all gradients pulls it through zero."""
    found = recorded(FIVE_STEPS)["norm"]
    norms = [math.sqrt(20) * 0.8**k for k in range(5)]
    np.testing.assert_allclose(found.right, norms, rtol=1e-12)
    np.testing.assert_allclose(found.wrong, [4.472, 8.050, 10.018, 9.982, 7.950], atol=5e-4)
    assert found.mistake.id == "missing-zero-grad"
    words = traced(FIVE_STEPS, "norm")
    assert "parts at call 1 (dotted: as it is)" in words
    assert words.count("calls of record(), counted from 0") == 2


def test_a_program_that_never_clears_gets_the_next_mistake():
    """Where there is nothing to clear, the first other mistake that changes the series is drawn."""
    text = FIVE_STEPS.replace("      w.grad = None\n", "")
    found = recorded(text)["norm"]
    assert found.mistake.id == "overwritten-grad"
    np.testing.assert_allclose(found.wrong, [math.sqrt(20) * 0.8**k for k in range(5)], rtol=1e-12)


def test_a_series_that_no_mistake_changes_is_drawn_alone():
    """The number of the step is the same in every run: one panel, and it says so."""
    text = FIVE_STEPS.replace("norm=norm(w.grad)", "norm=norm(w.grad), count=step*2.0")
    words = traced(text, "count")
    assert words.count("calls of record(), counted from 0") == 1
    assert any(each.startswith("no mistake") for each in words)


@pytest.mark.parametrize(
    ("entries", "labels"),
    [(2, ["v[0]", "v[1]", "entries of v"]), (7, ["v: 2-norm of its 7 entries"])],
)
def test_few_entries_are_drawn_each_and_many_as_a_norm(entries, labels):
    text = f"""
id: vector
inputs: {{w: {[3.0] * entries}}}
program: |
  for step in range(3):
      (w**2).sum().backward()
      record(v=w.grad)
      w.grad = None
ask: {{w: w.grad}}
"""
    assert set(labels) <= set(traced(text, "v"))
    assert ("v[0]" in traced(text, "v")) == (entries == 2)


@pytest.mark.parametrize(("factor", "expected"), [(0.3, True), (0.9, False)])
def test_a_loss_over_decades_has_a_logarithmic_axis(factor, expected):
    """0.3^2k falls by more than a hundred in five steps, 0.9^2k does not."""
    assert spans_decades([factor ** (2.0 * np.arange(5))]) == expected


def test_what_is_no_number_is_not_drawn():
    """A series of truth values has no picture, and the reason is a clear one."""
    text = FIVE_STEPS.replace("norm=norm(w.grad)", "norm=norm(w.grad), flag=w.requires_grad")
    with pytest.raises(NothingToDraw, match="flag is not a number"):
        traced(text, "flag")
