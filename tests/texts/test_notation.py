"""NumPy text as people write it: in signs, and in LaTeX."""

from pathlib import Path

import pytest
import yaml

from gradcheck.texts.notation import TEX as IN_TEX
from gradcheck.texts.notation import Notation, latex, sizes_in

AXES = dict.fromkeys(["X", "W", "W2", "H", "P", "Y", "R", "A", "K", "Q"], 2) | dict.fromkeys(
    ["x", "y", "w", "r", "v", "b1"], 1
) | {"t": 0, "sigma": 0}  # fmt: skip

TABLE = yaml.safe_load(Path(__file__).with_name("notation.yaml").read_text())
SIGNS, TEX, PICTURES = TABLE["signs"], TABLE["tex"], TABLE["pictures"]
SIZES = {"X.shape[0]": "n", "P.size": "m"}


@pytest.mark.parametrize("text", SIGNS)
def test_in_signs(text):
    """Juxtaposition for matrices, ⊙ entry by entry, brackets only where they are needed."""
    assert Notation(AXES | {"cotangent_of_R": 2}, SIZES).write(text) == SIGNS[text]


@pytest.mark.parametrize("text", TEX)
def test_in_latex(text):
    """The same tree."""
    assert Notation(AXES, SIZES, spelling=IN_TEX).write(text) == TEX[text]


@pytest.mark.parametrize("text", PICTURES)
def test_a_picture(text):
    """Any formula as one would write it by hand: braces where they are needed."""
    assert latex(text) == PICTURES[text]


def test_sizes_are_found():
    """Each once, in order."""
    texts = ["X.T @ R / X.shape[0]", "x / P.size + R / X.shape[0]"]
    assert sizes_in(texts) == ["X.shape[0]", "P.size"]
