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
    assert found.parting == 1
    assert (found.variable, found.counter) == ("step", (0, 1, 2, 3, 4))


def test_steps_are_counted_as_the_program_counts():
    """The axis has what the loop variable was when `record` was called."""
    text = """
id: windows
inputs: {w: 1.0}
program: |
  for i in range(2, 8):
      (w**2).backward()
      if i % 3 == 1:
          record(grad=w.grad)
          w.grad = None
ask: {w: w.grad}
"""
    picture = traced(text, "grad")
    assert picture.across == "i, as the program counts"
    assert [panel.steps.tolist() for panel in picture.panels] == [[4, 7], [4, 7]]
    assert picture.parting == 7
    assert "parts at i = 7" in picture.panels[1].remarks[0]


def test_where_no_loop_counts_the_calls_are_counted():
    """Two calls in a row, and a loop that starts again, have no counter of their own."""
    text = """
id: twice
inputs: {w: 1.0}
program: |
  for epoch in range(2):
      for i in range(2):
          (w**2).backward()
          record(grad=w.grad)
  record(alone=w.grad)
  record(alone=w.grad)
ask: {w: w.grad}
"""
    assert [s.counter for s in recorded(text).values()] == [None, None]
    assert traced(text, "grad").panels[0].steps.tolist() == [0, 1, 2, 3]
    assert traced(text, "alone").across == "calls of record(), counted from 0"


def test_a_program_that_never_clears_gets_the_next_mistake():
    """Where there is nothing to clear, the first other mistake that changes the series is drawn."""
    text = FIVE_STEPS.replace("      w.grad = None\n", "")
    found = recorded(text)["norm"]
    assert found.mistake.id == "overwritten-grad"
    np.testing.assert_allclose(found.wrong, [math.sqrt(20) * 0.8**k for k in range(5)], rtol=1e-12)


def test_a_series_that_no_mistake_changes_is_drawn_alone():
    """The number of the step is the same in every run: one panel, and it says so."""
    text = FIVE_STEPS.replace("norm=norm(w.grad)", "norm=norm(w.grad), count=step*2.0")
    picture = traced(text, "count")
    assert len(picture.panels) == 1
    assert picture.parting is None
    assert "no mistake" in picture.panels[0].remarks[0]


@pytest.mark.parametrize(("entries", "labels"), [(2, ["v[0]", "v[1]"]), (7, [""])])
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
    picture = traced(text, "v")
    lines = picture.panels[0].lines
    assert list(lines) == labels
    if entries == 7:
        assert picture.up == "v: 2-norm of its 7 entries"
        np.testing.assert_allclose(lines[""], [6 * math.sqrt(7)] * 3)
    else:
        assert [values.tolist() for values in lines.values()] == [[6, 6, 6], [6, 6, 6]]


@pytest.mark.parametrize(("factor", "expected"), [(0.3, True), (0.9, False)])
def test_a_loss_over_decades_has_a_logarithmic_axis(factor, expected):
    """0.3^2k falls by more than a hundred in five steps, 0.9^2k does not."""
    text = FIVE_STEPS.replace("norm=norm(w.grad)", f"loss={factor}**(2*step)")
    text = text.replace("recorded.norm", "recorded.loss")
    assert spans_decades(traced(text, "loss")) == expected


def test_what_is_no_number_is_not_drawn():
    """A series of truth values has no picture, and the reason is a clear one."""
    text = FIVE_STEPS.replace("norm=norm(w.grad)", "norm=norm(w.grad), flag=w.requires_grad")
    with pytest.raises(NothingToDraw, match="flag is not a number"):
        traced(text, "flag")
