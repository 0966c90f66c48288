"""NumPy text as people write it: in signs, and in LaTeX."""

import pytest

from gradcheck.texts.notation import TEX as IN_TEX
from gradcheck.texts.notation import Notation, sizes_in

AXES = dict.fromkeys(["X", "W", "W2", "H", "P", "Y", "R", "A", "K", "Q"], 2) | dict.fromkeys(
    ["x", "y", "w", "r", "v", "b1"], 1
) | {"t": 0, "sigma": 0}  # fmt: skip

SIGNS = {
    "X.T @ (P - Y) / X.shape[0]": "Xᵀ(P − Y)/n",
    "2 * (X.T @ (R @ W2.T * (1 - H ** 2))) / P.size": "2/m · Xᵀ((R W₂ᵀ) ⊙ (1 − H²))",
    "r @ X": "Xᵀ r",
    "x @ y": "xᵀ y",
    "outer(x, y)": "x yᵀ",
    "-2 * ((P - Y) @ W)": "−2 (P − Y) W",
    "(1 - H ** 2) * R": "(1 − H²) ⊙ R",
    "H @ (P * Y) @ W": "H(P ⊙ Y) W",
    "P * (H @ W)": "P ⊙ (H W)",
    "inv(A).T": "A⁻ᵀ",
    "inv(A) @ x": "A⁻¹ x",
    "det(A) * inv(A).T": "det(A) · A⁻ᵀ",
    "2 * trace(A) * eye(A.shape[0])": "2tr(A) · eye(A.shape[0])",
    "x / norm(x)": "x/‖x‖",
    "x / norm(x) ** 3": "x/‖x‖³",
    "sqrt(1 + r ** 2)": "√(1 + r²)",
    "R * (H > 0)": "R ⊙ [H > 0]",
    "x - (y - r)": "x − (y − r)",
    "x - y * r": "x − y ⊙ r",
    "x - -y": "x + y",
    "t * x / sigma ** 2": "t/σ² · x",
    "(x @ y) / (x @ x) * x": "xᵀ y/(xᵀ x) · x",
    "exp(-t)": "exp(−t)",
    "sigmoid(X @ w) - y": "σ(X w) − y",
    "sum(P, axis=1, keepdims=True) * Y": "sum(P, axis=1)[:, None] ⊙ Y",
    "A * x[:, None]": "A ⊙ x[:, None]",
    "cotangent_of_R @ W2.T": "∂L/∂R W₂ᵀ",
    "not NumPy (": "not NumPy (",
}
TEX = {
    "X.T @ (P - Y) / X.shape[0]": r"X^{\top}(P - Y)/n",
    "2 * (X.T @ R) / P.size": r"\frac{2}{m} \cdot X^{\top} R",
    "R * (1 - H ** 2)": r"R \odot (1 - H^{2})",
    "x / norm(x)": r"x/\left\|x\right\|",
    "sqrt(t)": r"\sqrt{t}",
    "W2 @ W": "W_{2} W",
    "sigma * sigmoid(x)": r"\sigma \cdot \sigma(x)",
}
SIZES = {"X.shape[0]": "n", "P.size": "m"}


@pytest.mark.parametrize("text", SIGNS)
def test_in_signs(text: str) -> None:
    """Juxtaposition for matrices, ⊙ entry by entry, brackets only where they are needed."""
    assert Notation(AXES | {"cotangent_of_R": 2}, SIZES).write(text) == SIGNS[text]


@pytest.mark.parametrize("text", TEX)
def test_in_latex(text: str) -> None:
    """The same tree."""
    assert Notation(AXES, SIZES, spelling=IN_TEX).write(text) == TEX[text]


def test_sizes_are_found() -> None:
    """Each once, in order."""
    texts = ["X.T @ R / X.shape[0]", "x / P.size + R / X.shape[0]"]
    assert sizes_in(texts) == ["X.shape[0]", "P.size"]
