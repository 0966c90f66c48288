"""NumPy text as people write it: in signs, and in LaTeX."""

from pathlib import Path

import numpy as np
import pytest
import yaml

from gradcheck.texts.forms import evaluate_text
from gradcheck.texts.notation import Notation, Tex, list_sizes, parse_formula, rank, write_latex

AXES = dict.fromkeys(["X", "W", "W2", "H", "P", "Y", "R", "A", "K", "Q"], 2) | dict.fromkeys(
    ["x", "y", "w", "r", "v", "b1"], 1
) | {"t": 0, "sigma": 0}  # fmt: skip

TABLE = yaml.safe_load(Path(__file__).with_name("notation.yaml").read_text())
SIZES = {"X.shape[0]": "n", "P.size": "m"}
WRITERS = {
    "signs": Notation(AXES | {"cotangent_of_R": 2}, SIZES).write,
    "tex": Tex(AXES, SIZES).write,
    "pictures": write_latex,
}


@pytest.mark.parametrize(
    ("kind", "text"), [(kind, text) for kind in WRITERS for text in TABLE[kind]]
)
def test_a_formula_is_written_as_by_hand(kind, text):
    """Juxtaposition for matrices, ⊙ entry by entry, brackets and braces only where needed."""
    assert WRITERS[kind](text) == TABLE[kind][text]


def test_sizes_are_found():
    texts = ["X.T @ R / X.shape[0]", "x / P.size + R / X.shape[0]"]
    assert list_sizes(texts) == ["X.shape[0]", "P.size"]


# -- trees of NumPy's text: their axes, against what NumPy makes of them ---------------------------


NAMES = {"A": np.eye(3) + 1, "B": np.ones((3, 3)), "x": np.arange(3.0), "t": np.float64(2)}
LETTERS = {name: value.ndim for name, value in NAMES.items()}
TEXTS = Path(__file__).with_name("trees.txt").read_text().splitlines()


@pytest.mark.parametrize("text", TEXTS)
def test_the_axes_of_a_formula_are_those_that_numpy_makes(text):
    """Each text is run."""
    found = evaluate_text(text, NAMES)
    assert found is not None
    assert rank(parse_formula(text), LETTERS) == found.ndim


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
    assert Notation(LETTERS).write(text) == signs
