"""A formula that is right for one size alone is told so."""

import pytest

from gradcheck.grading.judging import judge
from gradcheck.grading.key import key
from gradcheck.problem import load_text

NET = """
id: net
inputs:
  X: {shape: [5, 3], requires_grad: false}
  W: {shape: [3, 2]}
  Y: {shape: [5, 2], requires_grad: false}
program: |
  R = X @ W - Y
  mean(R**2)
"""
READY = key(load_text(NET).problems[0])
WIDE = key(load_text(NET.replace("Y: {shape: [5, 2]", "Y: {shape: [1, 2]")).problems[0])
HOLDS = ["2/R.size * X.T @ R", "2/R.size XᵀR", "X.T @ R / n", "2/(n*R.shape[1]) XᵀR"]
ONE = ["2/10 * X.T @ R", "1/5 XᵀR", "0.2 X^T R"]


@pytest.mark.parametrize("answer", HOLDS)
def test_what_names_its_sizes_holds_everywhere(answer: str) -> None:
    """Half of 2/(n k) is not: X.T R / n is right for k = 2 alone."""
    found = judge(READY, READY.problem.parts[0], answer)
    assert found.verdict == "right"
    only_two = answer == "X.T @ R / n"
    assert found.tags == (("one-size",) if only_two else ())
    assert any("W.shape[1] = 2 only" in r for r in found.remarks) == only_two


@pytest.mark.parametrize("answer", ONE)
def test_a_number_in_the_place_of_a_size_is_told(answer: str) -> None:
    """It stays right: the problem is asked at its own size."""
    found = judge(READY, READY.problem.parts[0], answer)
    assert (found.verdict, found.tags) == ("right", ("one-size",))
    assert "right for X.shape[0] = 5 only: write X.shape[0]" in found.remarks


def test_numbers_and_wrong_answers_are_left_alone() -> None:
    """Only formulas that are right are asked elsewhere."""
    part = READY.problem.parts[0]
    assert judge(READY, part, "2/5 XᵀR").tags == ()
    numbers = [[float(v) for v in row] for row in READY.verdicts[0].parts["W"].gradient.value]  # type: ignore[union-attr]
    assert judge(READY, part, numbers).tags in {(), ("rounded",)}
    assert judge(WIDE, part, "2/10 XᵀR").tags == ("one-size",)
