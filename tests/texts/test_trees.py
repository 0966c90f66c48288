"""Trees of NumPy's text: their axes, against what NumPy makes of them."""

import numpy as np
import pytest

from gradcheck.texts.forms import value_of
from gradcheck.texts.notation import Notation
from gradcheck.texts.trees import parse_formula, rank

NAMES = {"A": np.eye(3) + 1, "B": np.ones((3, 3)), "x": np.arange(3.0), "t": np.float64(2)}
AXES = {name: value.ndim for name, value in NAMES.items()}
TEXTS = """A @ B
A @ x
x @ A @ x
A.T * t
-A[0]
A[0, 1]
A[:, 0]
A[1:]
A[1:] @ B
A[[0, 2]]
A[:, [0, 2, 2]]
A[[0, 1], [1, 2]]
A[:, None]
x[None, :]
x[:, None] * A
x[1:]
x[[0, 2]] @ A[[0, 1]]
eye(A.shape[0])[[0, 2]].T @ A[:2]
eye(A.shape[0])[argmax(A, axis=0)].T
tril(ones((3, 3))) @ x
reshape(A, (9,))
reshape(x, (3, 1)) @ x[None, :]
sum(A)
sum(A, axis=0)
sum(A, axis=1, keepdims=True)
logsumexp(A, axis=1)
softmax(A, axis=1)
norm(A, axis=1)
trace(A) * inv(A)
outer(x, x)
diag(x)
diag(A)
diag(A) @ B
stack([x, x])
concatenate([A, B])
einsum('ij,jk->i', A, B)
A.shape[0] * x
(A > 0) * t"""


@pytest.mark.parametrize("text", TEXTS.split("\n"))
def test_the_axes_of_a_formula_are_those_that_numpy_makes(text: str) -> None:
    """Each text is run."""
    found = value_of(text, NAMES)
    assert found is not None
    assert rank(parse_formula(text), AXES) == found.ndim


@pytest.mark.parametrize(
    ("text", "signs"),
    [
        ("A[[0, 2]] @ B", "A[[0, 2]] B"),
        ("eye(A.shape[0])[[0, 2]].T @ A[1:]", "eye(A.shape[0])[[0, 2]]ᵀ A[1:]"),
        ("A[0] @ B", "Bᵀ A[0]"),
        ("diag(A) @ B", "Bᵀ diag(A)"),
    ],
)
def test_only_a_vector_is_turned(text: str, signs: str) -> None:
    """What an index picks may be a matrix still."""
    assert Notation(AXES).write(text) == signs
