"""Matrix notation as people type it: transposes, products entry by entry, sizes by a letter."""

from typing import NamedTuple

import pytest

from gradcheck.answers import misfit, read_formula
from gradcheck.language.kinds import FORMULAS


class Sized(NamedTuple):
    """An input of some shape."""

    shape: tuple[int, ...]


INPUTS = {
    "X": Sized((5, 3)),
    "R": Sized((5, 2)),
    "H": Sized((5, 2)),
    "W2": Sized((2, 2)),
    "p": Sized((5,)),
    "y": Sized((5,)),
    "w": Sized((3,)),
    "A": Sized((3, 3)),
    "B": Sized((3, 3)),
}
READ = {
    "y'*p": "y.T @ p",
    "y*p'": "outer(y, p)",
    "2*A.'*(B*w)": "2*A.T @ (B @ w)",
    "1/6*1^T*(H - R)": "1/6*sum(H - R, axis=0)",
    "(1/size(X,1))*X'*(H-R)": "1/X.shape[0]*X.T @ (H - R)",
    "t(X) %*% (H - R) / 5": "transpose(X) @ (H - R)/5",
    "colSums(H - R)/5": "sum(H - R, axis=0)/5",
    "rowMeans(H)": "mean(H, axis=1)",
    "w %o% y": "outer(w, y)",
    "(A.B - A).Transpose[B]": "(A @ B - A) @ transpose(B)",
    "Outer[Times, w, y]": "outer(w, y)",
    "Xᵀ[H ⊙ R ⊙ (1 − H)]": "X.T @ (H*R*(1 - H))",
    "||w||^2": "norm(w)**2",
    "||X w|| ||y||": "norm(X @ w)*norm(y)",
    "|p|": "absolute(p)",
    "tr(A B)": "trace(A @ B)",
    "1^T H": "sum(H, axis=0)",
    r"\mathbf{1}^\top (H ⊙ R)/5": "sum(H*R, axis=0)/5",
    "𝟏ᵀ H W2": "sum(H, axis=0) @ W2",
    "(H ⊙ R)^T 1": "sum((H*R).T, axis=1)",
    r"X^\top \mathbf{1}": "sum(X.T, axis=1)",
    "1^T y": "sum(y, axis=0)",
    "det(A^-1 B)": "det(inv(A) @ B)",
    "XᵀR": "X.T @ R",
    "X⊤R": "X.T @ R",
    "X^T R": "X.T @ R",
    "X^TR": "X.T @ R",
    "X'R": "X.T @ R",
    "X' R": "X.T @ R",
    r"X^\top R": "X.T @ R",
    r"\mathbf{X}^\top R": "X.T @ R",
    r"\boldsymbol{X}^\intercal \mathbf{R}": "X.T @ R",
    "Xᵀ·R": "X.T @ R",
    r"X^T \cdot R": "X.T @ R",
    "X.T*R": "X.T*R",
    "transpose(X) R": "transpose(X) @ R",
    "R ⊙ (1 − H²)": "R*(1 - H**2)",
    r"R \odot (1 - H^2)": "R*(1 - H**2)",
    "R ∘ (1 - H ∘ H)": "R*(1 - H*H)",
    "R .* (1 - H.^2)": "R*(1 - H**2)",
    r"R \odot (1 - H^{\odot 2})": "R*(1 - H**2)",
    "Xᵀ(R W₂ᵀ ⊙ (1 − H²))": "X.T @ (R @ W2.T*(1 - H**2))",
    "H ⊙ R W2": "H*(R @ W2)",
    "(p - y)/n": "(p - y)/X.shape[0]",
    "1/N Xᵀ(p − y)": "1/X.shape[0]*X.T @ (p - y)",
    "Xᵀ(σ(X w) − y)": "X.T @ (sigmoid(X @ w) - y)",
    "X'(1/(1 + e^(-Xw)) - y)": "X.T @ (1/(1 + e**(-X @ w)) - y)",
    "A'(AB - B)": "A.T @ (A @ B - B)",
    "A (B + A cos A)": "A*(B + A*cos(A))",
    "A^TAB": "A.T @ A @ B",
    "X'·(p - y)": "X.T @ (p - y)",
    "A'·B": "A.T @ B",
    "A·B": "A*B",
    "(R'X)'": "(R.T @ X).T",
    "RR'": "R @ R.T",
    "p'X": "p.T @ X",
    "4 w'w w": "4*w.T @ w*w",
    "w'A w": "w.T @ A @ w",
    "A'w w": "A.T @ w*w",
    "w p'": "outer(w, p)",
    "Xᵀ(R ⊙ sum(H, axis=1)[:, None])": "X.T @ (R*sum(H, axis=1)[:, None])",
    "Xᵀ(R (p[None, :] H)[0, 1])": "X.T @ (R*(p[None, :] @ H)[0, 1])",
    "X' H[:, 0]": "X.T @ H[:, 0]",
    "Xᵀ(y ⊙ [1 − y ⊙ (X w) > 0])": "X.T @ (y*(1 - y*(X @ w) > 0))",
    "(p'X w) w p'": "outer(p.T @ X @ w*w, p)",
    "X' ones(n)": "X.T @ ones(X.shape[0])",
    "det(A) inv(A)'": "det(A)*inv(A).T",
    "det(A) (A^{-1})'": "det(A)*inv(A).T",
    "A^{-1}": "inv(A)",
    "diag(w) X'": "diag(w) @ X.T",
    "sum(A B', axis=0) A": "sum(A @ B.T, axis=0) @ A",
    "X'*(p - y)/length(y)": "X.T @ (p - y)/y.shape[0]",
    "1/n * X^T * (p - y)": "1/X.shape[0]*X.T @ (p - y)",
    "X^{T}*(R .* H)": "X.T @ (R*H)",
    "(X*A)'*p": "(X @ A).T @ p",
    "w*p'": "outer(w, p)",
    "(H*R) W2'": "H*R @ W2.T",
    "A' @ (A*B)": "A.T @ (A*B)",
    "A'*B": "A.T*B",
    "X'*((p - y)*p*(1 - p))": "X.T @ ((p - y)*p*(1 - p))",
    "X.T @ R/len(y)": "X.T @ R/y.shape[0]",
    "Transpose[X].(p - y)": "transpose(X) @ (p - y)",
    "A.w": "A @ w",
    "softmax(AB', axis=1)' A": "softmax(A @ B.T, axis=1).T @ A",
}


@pytest.mark.parametrize("typed", READ)
def test_it_is_read(typed: str) -> None:
    """In Unicode, in LaTeX, in MATLAB's signs."""
    functions = FORMULAS.functions
    assert read_formula(typed, names=INPUTS, functions=functions).understood == READ[typed]


def test_n_is_no_size_where_lengths_differ() -> None:
    """It stays unknown where no length is the usual one."""
    inputs = {"a": Sized((2,)), "b": Sized((3,))}
    with pytest.raises(Exception, match="unknown name n"):
        read_formula("a/n", names=inputs, functions=FORMULAS.functions)


FAULTS = {
    "X R": "`X` should be transposed: shapes (5,3)·(5,2)",
    "X.T @ (R @ X)": "`R` should be transposed: shapes (5,2)·(5,3)",
    "X.T * R": "`X.T` times `R` is a matrix product: write @; shapes (3,5)·(5,2)",
    "X @ p": "`X` should be transposed: shapes (5,3)·(5)",
    "X.T @ R": "",
    "sum(X) * R": "",
}


@pytest.mark.parametrize("typed", FAULTS)
def test_shapes_that_do_not_fit_are_told_in_the_same_notation(typed: str) -> None:
    """Which factor, which shapes, and what would fit."""
    formula = read_formula(typed, names=INPUTS, functions=FORMULAS.functions)
    shapes = {name: entry.shape for name, entry in INPUTS.items()}
    assert misfit(formula.tree, shapes) == FAULTS[typed]
