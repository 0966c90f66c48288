"""Matrix notation as people type it: transposes, products entry by entry, sizes by a letter."""

from typing import NamedTuple

import pytest

from gradcheck.answers import misfit, read_formula
from gradcheck.answers.formula import other_readings
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
    "A^T - B": "A.T - B",
    "np.ones((5,1))*w": "ones((5, 1))*w",
    "tile(w,(5,1))": "tile(w, (5, 1))",
    "p.reshape((5,1))*w": "reshape(p, (5, 1))*w",
    "AB^T - B^{-T}": "A @ B.T - inv(B).T",
    "X^T(X w > p).astype(float)/len(X)": "X.T @ (X @ w > p)/X.shape[0]",
    "(X w > p).float() - p.copy()": "(X @ w > p) - p",
    "(X w > p).astype(int)": "X @ w > p",
    "X w - p": "X @ w - p",
    "2/10 X^T (Xw - y)": "2/10*X.T @ (X @ w - y)",
    r"\frac{2}{R.size} X^\top (Xw - y)": "2/R.size*X.T @ (X @ w - y)",
    "X(w + R)": "X*(w + R)",
    "A A": "A*A",
    "w w": "w*w",
    "2X": "2*X",
    "tanh(X X')R": "tanh(X @ X.T) @ R",
    "X.T.shape[0] w": "X.T.shape[0]*w",
    "Xᵀ[H ⊙ R ⊙ (1 − H)]": "X.T @ (H*R*(1 - H))",
    "||w||^2": "norm(w)**2",
    "||X w|| ||y||": "norm(X @ w)*norm(y)",
    "|p|": "absolute(p)",
    "tr(A B)": "trace(A @ B)",
    "det(A^-1 B)": "det(inv(A) @ B)",
    "XᵀR": "X.T @ R",
    "X^T R": "X.T @ R",
    "X^TR": "X.T @ R",
    "X'R": "X.T @ R",
    r"X^\top R": "X.T @ R",
    r"\boldsymbol{X}^\intercal \mathbf{R}": "X.T @ R",
    "Xᵀ·R": "X.T @ R",
    "X.T*R": "X.T*R",
    "transpose(X) R": "transpose(X) @ R",
    "R ⊙ (1 − H²)": "R*(1 - H**2)",
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
    "A'·B": "A.T @ B",
    "A·B": "A*B",
    "RR'": "R @ R.T",
    "p'X": "p.T @ X",
    "w'A w": "w.T @ A @ w",
    "A'w w": "A.T @ w*w",
    "w p'": "outer(w, p)",
    "Xᵀ(R ⊙ sum(H, axis=1)[:, None])": "X.T @ (R*sum(H, axis=1)[:, None])",
    "Xᵀ(R (p[None, :] H)[0, 1])": "X.T @ (R*(p[None, :] @ H)[0, 1])",
    "X' H[:, 0]": "X.T @ H[:, 0]",
    "(p'X w) w p'": "outer(p.T @ X @ w*w, p)",
    "det(A) inv(A)'": "det(A)*inv(A).T",
    "A^{-1}": "inv(A)",
    "A^{-2}": "inv(A) @ inv(A)",
    "(A')^{-2} w": "inv(A.T) @ inv(A.T) @ w",
    "A**-2": "A**-2",
    "A^2": "A**2",
    "R ⊘ H": "R/H",
    "(X'X + 2I)w": "(X.T @ X + 2*eye(3)) @ w",
    "(2I + X'X)w": "(2*eye(X.shape[1]) + X.T @ X) @ w",
    "(XX' + I_n) p": "(X @ X.T + eye(5)) @ p",
    "A B - I_2": "A*B - eye(2)",
    "diag(w) X'": "diag(w) @ X.T",
    "sum(A B', axis=0) A": "sum(A @ B.T, axis=0) @ A",
    "A'*B": "A.T*B",
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


def test_the_identity_is_that_of_the_square_matrices() -> None:
    """Where all are of one size; an `I` is never left out."""
    functions = FORMULAS.functions
    read = read_formula("2 tr(A) I", names={"A": Sized((3, 3))}, functions=functions)
    assert read.understood == "2*trace(A)*eye(A.shape[0])"
    with pytest.raises(Exception, match="unknown name I"):
        read_formula("a + I", names={"a": Sized((2,)), "b": Sized((3,))}, functions=functions)
    with pytest.raises(Exception, match="unknown name I_9"):
        read_formula("I_9", names={"x": Sized(())}, functions=functions)


OTHERWISE = {"A^3": "A @ A @ A", "|A|": "det(A)", "2I": "2*eye(X.shape[0])"}


@pytest.mark.parametrize("typed", OTHERWISE)
def test_what_another_reader_would_read_is_kept(typed: str) -> None:
    """A power of a matrix, its determinant, the identity of the other length."""
    read = read_formula(typed, names=INPUTS, functions=FORMULAS.functions)
    assert OTHERWISE[typed] in [other.understood for other in other_readings(read)]


ENTRYWISE = {"X'*p": "X.T*p", "w*p'": "w*p.T", "A'*B": "A.T*B", "X^T * (p - y)": "X.T*(p - y)"}


@pytest.mark.parametrize("typed", ENTRYWISE)
def test_a_star_goes_entry_by_entry(typed: str) -> None:
    """As in NumPy, whatever stands around it; what would fit is said where that does not."""
    read = read_formula(typed, names=INPUTS, functions=FORMULAS.functions)
    assert read.understood == ENTRYWISE[typed]


VECTORS = {
    "p·y": "p @ y",
    "⟨p, y⟩ w": "p @ y*w",
    r"\langle p, y\rangle": "p @ y",
    "2<p,y>p": "2*(p @ y)*p",
    "(A + 2I) w": "(A + 2*eye(3)) @ w",
    "‖w‖₂": "norm(w)",
    r"\|w\|_2^2": "norm(w)**2",
    "‖A‖_F": "norm(A)",
    "w_1 + w_3": "w[0] + w[2]",
    "w₂": "w[1]",
    "A_{12}": "A[0, 1]",
    "2w_1w_2": "2*w[0]*w[1]",
    "∑_i w_i^2": "sum(w**2)",
    "Σ_i w_i^2": "sum(w**2)",
    "Σ_{i=1}^{3} w_i": "sum(w)",
    "Σw_i + ∑ p_k": "sum(w) + sum(p)",
    r"\sum_{i=1}^{3} w_i^2": "sum(w**2)",
    r"\sum p": "sum(p)",
    "A^{-T}": "inv(A).T",
    "A^-T": "inv(A).T",
    "1^T X w": "ones(5).T @ X @ w",
    r"\mathbf{1}^\top (X w - y)": "ones(5).T @ (X @ w - y)",
    "A^-1 B": "inv(A) @ B",
    "A⁻¹ B A⁻¹": "inv(A) @ B @ inv(A)",
}


@pytest.mark.parametrize("typed", VECTORS)
def test_products_norms_and_entries_of_the_textbook(typed: str) -> None:
    """Dots, angle brackets, norms, sums, and entries that are counted from one."""
    read = read_formula(typed, names=INPUTS, functions=FORMULAS.functions)
    assert read.understood == VECTORS[typed]


@pytest.mark.parametrize("typed", ["A_{ij} w_j", r"\sum_j A_{ij} w_j", "w_4", "w_i", "∑_i A_ij"])
def test_free_indices_are_refused_with_the_cure(typed: str) -> None:
    """Index notation is written with einsum, or as a product of matrices."""
    with pytest.raises(Exception, match=r"einsum|for the first entry"):
        read_formula(typed, names=INPUTS, functions=FORMULAS.functions)


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
