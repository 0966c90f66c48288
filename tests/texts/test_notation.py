"""NumPy text in LaTeX, as people write it."""

import ast
from pathlib import Path

import numpy as np
import pytest
import yaml

from gradcheck.texts.forms import evaluate_text
from gradcheck.texts.notation import Latex, write_latex

VALUES = dict.fromkeys(["X", "W", "W2", "H", "P", "Y", "R", "A"], np.eye(3) + 1) | dict.fromkeys(
    ["x", "y", "w", "r"], np.ones(3)
) | {"t": np.float64(2), "sigma": np.float64(3)}  # fmt: skip
TABLE = yaml.safe_load(Path(__file__).with_name("notation.yaml").read_text())


def rank(tree):
    return evaluate_text(ast.unparse(tree), VALUES).ndim


WRITERS = {"tex": Latex(rank).write, "pictures": write_latex}


@pytest.mark.parametrize(
    ("kind", "text"), [(kind, text) for kind in WRITERS for text in TABLE[kind]]
)
def test_a_formula_is_written_as_by_hand(kind, text):
    """Juxtaposition for matrices, a dot entry by entry, brackets and braces only where needed."""
    assert WRITERS[kind](text) == TABLE[kind][text]
