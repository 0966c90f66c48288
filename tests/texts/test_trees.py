"""Trees of NumPy's text: their axes, against what NumPy makes of them."""

from pathlib import Path

import numpy as np
import pytest

from gradcheck.texts.forms import value_of
from gradcheck.texts.notation import Notation, parse_formula, rank

NAMES = {"A": np.eye(3) + 1, "B": np.ones((3, 3)), "x": np.arange(3.0), "t": np.float64(2)}
AXES = {name: value.ndim for name, value in NAMES.items()}
TEXTS = Path(__file__).with_name("trees.txt").read_text().splitlines()


@pytest.mark.parametrize("text", TEXTS)
def test_the_axes_of_a_formula_are_those_that_numpy_makes(text):
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
def test_only_a_vector_is_turned(text, signs):
    """What an index picks may be a matrix still."""
    assert Notation(AXES).write(text) == signs
