"""Recorded series, with and without the classic mistake."""

import math

import numpy as np
import pytest

from gradcheck.plots.curves import spans_decades
from gradcheck.plots.graph import NothingToDraw
from tests.support.plotting import FIVE_STEPS, recorded, traced


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
    """Six entries can be told apart; of more the 2-norm is drawn, and the axis says so."""
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
