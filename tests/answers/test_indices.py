"""Index notation and einsum as answers."""

import numpy as np
import pytest

from gradcheck.errors import TextError
from gradcheck.grading.judging import judge
from gradcheck.grading.key import key
from gradcheck.problem import load_text
from gradcheck.problem.draw import given_point
from tests.support.typed import read

NAMES = ("X", "R", "x", "A", "E", "V", "G", "P", "B", "p")

CASES = [
    ("einsum('ni, nk -> ik', X, R)/5", "einsum('ni,nk->ik', X, R)/5"),
    ('np.einsum("i,j->ij", x, x)', "einsum('i,j->ij', x, x)"),
    ("sum_n X[n,i]*R[n,j] / 5", "einsum('ni,nj->ij', X, R)/5"),
    (r"\frac{2}{10} \sum_{i} R_{ij}", "2/10*einsum('ij->j', R)"),
    (r"\sum_j (A_{ij} + A_{ji}) x_j", "einsum('ij,j->i', A + einsum('ji->ij', A), x)"),
    (r"-2\sum_j E_{ij} V_{jk}", "-2*einsum('ij,jk->ik', E, V)"),
    (r"\sum_{n=1}^{N} \mathbf{X}_{ni} R_{nj}", "einsum('ni,nj->ij', X, R)"),
    ("x_i/sqrt(sum_j x_j^2)", "x/sqrt(einsum('j->', x**2))"),
    ("x_i x_j", "einsum('i,j->ij', x, x)"),
    ("x_i / norm(x)", "x/norm(x)"),
    ("x_i / sqrt(Σ_k x_k²)", "x/sqrt(einsum('k->', x**2))"),
    ("sum_n sum_k X[n,i] R[n,k] V[j,k]", "einsum('ni,nk,jk->ij', X, R, V)"),
    ("x_i p_i/2", "einsum('i,i->i', x, p)/2"),
    ("[j,i] = A[i,j]", "einsum('ij->ji', A)"),
    ("[i,j,k] = Σ_{l,m} G[l,k]·P[i,l,m]·X[m,j]", "einsum('lk,ilm,mj->ijk', G, P, X)"),
    (r"\frac{1}{5}\sum_i (P - R)_{ij}", "1/5*einsum('ij->j', P - R)"),
    (r"\frac15 \sum_n X_{ni} (P - R)_{nj}", "1/5*einsum('ni,nj->ij', X, P - R)"),
    ("⅕ Σᵢ (Pᵢⱼ − Rᵢⱼ)", "1/5*einsum('ij->j', P - R)"),
    (r"\left((A + B) x\right)_i", "(A + B)*x"),
    ("2/5 sum x_i (2 x_i - p_i)", "2*einsum('i,i->', x, 2*x - p)/5"),
    ("sum(x_i*(2*x_i - p_i))/5", "einsum('i->', einsum('i,i->i', x, 2*x - p))/5"),
    ("2Σxᵢpᵢ", "2*einsum('i,i->', x, p)"),
    ("dL/dA_ji = x_i p_j", "einsum('ij->ji', einsum('i,j->ij', x, p))"),
    ("x_1 + x[0]", None),
    ("A[0, 1]*x[2]", "A[0, 1]*x[2]"),
    ("np.linalg.inv(A).T", "inv(A).T"),
]


@pytest.mark.parametrize(("typed", "understood"), CASES, ids=[c[0] for c in CASES])
def test_letters_below_are_indices(typed: str, understood: str | None) -> None:
    """What is read is shown as einsum; numbers below stay what they were."""
    names = (*NAMES, "x_1") if understood is None else NAMES
    assert read(typed, names=names).understood == (understood or "x_1 + x[0]")


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("einsum('ni,nk->ik', X)", "2 sets of indices, 1 arrays"),
        ("einsum(X, R)", "einsum begins with its indices"),
        ("2/N * sum_n X[n,i] R[n,j]", "unknown name N"),
    ],
)
def test_what_is_missing_is_said(typed: str, words: str) -> None:
    """Not what NumPy would say of it."""
    with pytest.raises(TextError, match=words):
        read(typed, names=NAMES)


SOLVED = [
    ("sum_n X[n,i]*R[n,j]*2/Y.size", "right"),
    ("einsum('ni,nj->ij', X, R)/5", "right"),
    (r"\frac{1}{5}\sum_n X_{ni} R_{nj}", "right"),
    (r"\frac{1}{n}\sum_m X_{mi} (P_{mj} - Y_{mj})", "right"),
    ("sum_n R[n,i]*X[n,j]/5", "invalid"),  # of 2 times 3: which letter counts the rows?
    ("[i,j] = sum_n R[n,i]*X[n,j]/5", "wrong"),
    ("[j,i] = sum_n R[n,i]*X[n,j]/5", "right"),
    ("sum_j X[n,j]*R[n,i]/5", "wrong"),
    ("sum_n X[n,i]*R[n,j]", "wrong"),
]


@pytest.mark.parametrize(("answer", "verdict"), SOLVED)
def test_they_are_judged_like_any_answer(answer: str, verdict: str) -> None:
    """The gradient of a mean of squares by its matrix."""
    text = """
id: t
inputs:
  X: {shape: [5, 3], requires_grad: false}
  W: {shape: [3, 2]}
  Y: {shape: [5, 2], requires_grad: false}
program: |
  P = X @ W
  R = P - Y
  mean(R**2)
"""
    problem = load_text(text).problems[0]
    part = problem.part("W")
    assert part is not None
    assert np.size(given_point(problem)["W"]) == 6
    assert judge(key(problem), part, answer).verdict == verdict
