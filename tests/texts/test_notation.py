"""NumPy text as people write it: in signs, and in LaTeX."""

import pytest

from gradcheck.texts.notation import TEX as IN_TEX
from gradcheck.texts.notation import Notation, latex, sizes_in

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
    "X.T @ (P - Y) / X.shape[0]": r"X^{\top}\left(P - Y\right)/n",
    "2 * (X.T @ R) / P.size": r"\frac{2}{m} \cdot X^{\top} R",
    "R * (1 - H ** 2)": r"R \odot \left(1 - H^{2}\right)",
    "x / norm(x)": r"x/\left\|x\right\|",
    "sqrt(t)": r"\sqrt{t}",
    "W2 @ W": "W_{2} W",
    "sigma * sigmoid(x)": r"\sigma \cdot \sigma\left(x\right)",
}
PICTURES = {
    "3*x**2 - 2*cos(x)": r"3x^{2} - 2\cos\left(x\right)",
    "x**10": "x^{10}",
    "a*exp(-k*x)": r"a\,e^{-k\,x}",
    "x/(x**2 + 1)": r"\frac{x}{x^{2} + 1}",
    "sqrt(x)*2": r"\sqrt{x} \cdot 2",
    "log(x) + log10(x)": r"\ln\left(x\right) + \log_{10}\left(x\right)",
    "relu(theta_1)": r"\operatorname{relu}\left(\theta_{1}\right)",
    "X.T @ y_true": r"X^{\top} y_{\mathit{true}}",
    "a_b_c": r"a_{\mathit{b\_c}}",
    "-2*x*cos(x**2)": r"-2x\,\cos\left(x^{2}\right)",
    "a - (b - c)": r"a - \left(b - c\right)",
    "a*(-x)": r"a\,\left(-x\right)",
    "2*3*x": r"2 \cdot 3x",
    "a*2**x": r"a \cdot 2^{x}",
    "a/b/c": r"\frac{a}{b\,c}",
    "(a/b)**2": r"\left(\frac{a}{b}\right)^{2}",
    "(-x)**2": r"\left(-x\right)^{2}",
    "-x**2": "-x^{2}",
    "+x": "+x",
    "abs(x)": r"\left|x\right|",
    "x[0]*x[1]**2": r"x_{0}\,x_{1}^{2}",
    "-1 < x < 1": "-1 < x < 1",
    "sum([1, 2], axis=0)": (r"\operatorname{sum}\left(\left[1, 2\right], \text{axis} = 0\right)"),
    "where(x > 0, 2*x, -1)": (
        r"\begin{cases}2x & \text{if } x > 0 \\ -1 & \text{otherwise}\end{cases}"
    ),
    "for x in y": "",
    "x // y": "",
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


@pytest.mark.parametrize("text", PICTURES)
def test_a_picture(text: str) -> None:
    """Any formula as one would write it by hand: braces where they are needed."""
    assert latex(text) == PICTURES[text]


def test_sizes_are_found() -> None:
    """Each once, in order."""
    texts = ["X.T @ R / X.shape[0]", "x / P.size + R / X.shape[0]"]
    assert sizes_in(texts) == ["X.shape[0]", "P.size"]
