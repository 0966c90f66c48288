"""Answers that can be read in two ways, where the shape says that the other was meant."""

import pytest

from tests.support.grading import judged, keyed

LINE = """
id: line
inputs:
  w: 0.6
  x: {value: [0.4, 1.1, -0.9], requires_grad: false}
  y: {value: [0.9, 0.3, -1.4], requires_grad: false}
program: sum((w*x - y)**2)/2
"""
PRODUCT = """
id: product
inputs:
  A: {shape: [4, 3], requires_grad: false}
  B: {shape: [3, 2]}
  C: {shape: [4, 2], requires_grad: false}
program: sum((A @ B) * C)
"""
CASES = [
    (LINE, "(w*x - y)*x'", "invalid", "write u @ v or sum(u*v)"),
    (LINE, "x'*(w*x - y)", "right", ""),
    (LINE, "x*(w*x - y)", "wrong", ""),
    (PRODUCT, r"\sum_i A_{ik} C_{ij}", "invalid", "which letter counts the rows?"),
    (PRODUCT, r"\frac{\partial L}{\partial B_{kj}} = \sum_i A_{ik} C_{ij}", "right", ""),
    (PRODUCT, r"\sum_n A_{ni} C_{nj}", "right", ""),
    (PRODUCT, r"\sum_n A_{ni} C_{nj}/4", "wrong", ""),
]


@pytest.mark.parametrize(("text", "answer", "verdict", "said"), CASES, ids=[c[1] for c in CASES])
def test_the_other_reading_is_told_how_to_be_written(text, answer, verdict, said):
    """The usual reading counts where its shape fits."""
    found = judged(keyed(text), answer)
    assert found.verdict == verdict
    assert said in " ".join(found.remarks)
