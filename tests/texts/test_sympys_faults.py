"""What SymPy 1.14's matrix calculus gets wrong, or has no answer to, is right here."""

from typing import Any

import numpy as np
import pytest

from gradcheck.opinions.reverse import reverse
from gradcheck.problem.draw import given_point
from tests.support.texts import at, derived, problem

SQUARE, PAIR = {"A": (3, 3)}, {"A": (3, 3), "B": (3, 3)}
FAULTS: dict[str, tuple[str, dict[str, Any]]] = {
    "trace of an entry-wise square: wrong shape": ("trace(A*A)", SQUARE),
    "sum over indices: 0": ("sum((X @ W)**2)", {"X": (4, 3), "W": (3, 2)}),
    "determinant: unevaluated": ("det(A)", SQUARE),
    "log det: 0": ("log(det(A @ A.T))", SQUARE),
    "logsumexp: 0": ("log(sum(exp(x)))", {"x": (3,)}),
    "softmax: a term missing": ("sum(exp(x)/sum(exp(x))*g)", {"x": (3,), "g": (3,)}),
    "one over a trace: 0": ("1/trace(A)", SQUARE),
    "exp of a trace: 0": ("exp(trace(A))", SQUARE),
    "square of a trace: unusable": ("trace(A)**2", SQUARE),
    "product of traces: unusable": ("trace(A)*trace(A @ B)", PAIR),
    "trace of a power: wrong": ("trace(A @ A @ A)", SQUARE),
    "root of a trace: TypeError": ("sqrt(trace(A.T @ A))", SQUARE),
    "square of xTx: AttributeError": ("(x @ x)**2", {"x": (3,)}),
    "two tanh layers: ShapeError": (
        "sum((tanh(X @ W) @ V - Y)**2)",
        {"X": (4, 3), "W": (3, 2), "V": (2, 2), "Y": (4, 2)},
    ),
    "logistic loss: NotImplementedError": (
        "sum(log(1 + exp(-y*(X @ w))))",
        {"X": (4, 3), "w": (3,), "y": (4,)},
    ),
    "a diagonal matrix: RecursionError": ("sum(diag(x) @ y)", {"x": (3,), "y": (3,)}),
    "a norm: no attribute": ("norm(x)", {"x": (3,)}),
}


@pytest.mark.parametrize("name", FAULTS)
def test_it_is_right_here(name: str) -> None:
    """The form found at one point gives reverse mode's gradient at another, to 1e-10."""
    program, shapes = FAULTS[name]
    rng = np.random.default_rng(3)
    here, there = (
        problem(program, {n: rng.normal(size=s) for n, s in shapes.items()}, " ".join(shapes))
        for _ in range(2)
    )
    texts, point = derived(here, given_point(here)), given_point(there)
    due = reverse(there.case(point)).gradients
    for part in shapes:
        np.testing.assert_allclose(at(texts[part], there), due[part].value, rtol=1e-10, atol=1e-12)
