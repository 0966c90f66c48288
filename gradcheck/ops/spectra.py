"""What LAPACK factorises: eigenvalues and -vectors, singular values and vectors, Q and R.

The gradients are those of PyTorch (J. Townsend, "Differentiating the singular value
decomposition", 2016; Roberts and Roberts, arXiv:2009.10071): vectors are known up to their sign,
and by distinct values only. In exact numbers Q and R come from Householder's reflections; balls
of eigenvalues and -vectors are flint's (with the signs that LAPACK takes at the midpoint), from
which those of singular values follow. Eigenvalues have no closed form here: that cell abstains.
"""

from functools import partial
from typing import Any

import numpy as np
from flint import acb_mat, arb, arb_mat

from gradcheck.ops.decompositions import Matrix, stacked, symmetric
from gradcheck.ops.formula import compound
from gradcheck.ops.matrices import of_matrices
from gradcheck.ops.row import (
    ABSTAINS,
    Composed,
    Example,
    Op,
    factoring,
)

STEP = 1
"""Steps of an elimination that flint's iteration for eigenvalues costs as much as, about."""


def _turned(a: Any) -> Any:
    return np.swapaxes(a, -1, -2)


def _off(m: Any) -> Any:
    """A matrix without its diagonal."""
    return m * (1 - np.eye(np.shape(m)[-1]))


def _differences(values: Any) -> Any:
    """v_j - v_i off the diagonal, and 1 on it."""
    return values[..., None, :] - values[..., :, None] + np.eye(np.shape(values)[-1])


def _by_size(a: arb_mat, vectors: bool = False) -> Any:
    """The eigenvalues of a symmetric matrix from the smallest on, and the unit vectors."""
    if not vectors:
        return sorted((v.real for v in acb_mat(a).eig()), key=lambda v: float(v.mid()))
    values, right = acb_mat(a).eig(right=True)
    order = sorted(range(len(values)), key=lambda k: float(values[k].real.mid()))
    columns = [[right[i, k].real for i in range(a.nrows())] for k in order]
    return [[v / _length(column) for v in column] for column in columns]


def _length(column: Any) -> Any:
    return sum((v * v for v in column), arb(0)).sqrt()


def _middle(a: arb_mat) -> Any:
    return np.array([[float(v.mid()) for v in row] for row in a.tolist()])


def _signed(columns: Any, like: Any) -> arb_mat:
    """Unit vectors as columns, each with the sign of a column of floats."""
    turned = [
        column if sum(float(v.mid()) * f for v, f in zip(column, near, strict=True)) > 0
        else [-v for v in column]
        for column, near in zip(columns, like.T, strict=True)
    ]  # fmt: skip
    return arb_mat([list(row) for row in zip(*turned, strict=True)])


def _vectors_of(a: arb_mat) -> arb_mat:
    return _signed(_by_size(a, vectors=True), np.linalg.eigh(_middle(a))[1])


_EIGENVALUES = of_matrices(lambda a: arb_mat([_by_size(a)]), "(n,n)->(k,n)", STEP)
_EIGENVECTORS = of_matrices(_vectors_of, "(n,n)->(n,n)", STEP)


def _whole(a: Any, uplo: str) -> Any:
    """The symmetric matrix of which LAPACK reads one half."""
    half = np.tril(a, -1) if uplo == "L" else np.triu(a, 1)
    return half + _turned(half) + np.tril(np.triu(a))


def _half(g: Any, uplo: str) -> Any:
    """The cotangent of a symmetric matrix in the half that is read."""
    both = g + _turned(g)
    return (np.tril(both, -1) if uplo == "L" else np.triu(both, 1)) + np.tril(np.triu(g))


def _eigenvalues_in_balls(a: Any, uplo: str = "L") -> Any:
    return np.asarray(_EIGENVALUES.function(_whole(a, uplo)))[..., 0, :]


def _eigenvalues_rule(g: Any, y: Any, a: Any, uplo: str = "L") -> Any:
    v = eigenvectors(a, uplo)
    return _half((v * g[..., None, :]) @ _turned(v), uplo)


def _eigenvectors_rule(g: Any, y: Any, a: Any, uplo: str = "L") -> Any:
    inner = _off(_turned(y) @ g) / _differences(eigvalsh(a, uplo))
    return _half(symmetric(y @ inner @ _turned(y)), uplo)


_of_eigh = partial(
    factoring, symbolic=ABSTAINS, kinks="equal eigenvalues", grad_fn="LinalgEighBackward0"
)

eigvalsh: Op = _of_eigh(
    np.linalg.eigvalsh,
    forward=lambda a, uplo="L": np.linalg.eigvalsh(a, uplo),
    vjps=(_eigenvalues_rule,),
    ball=Composed(_eigenvalues_in_balls),
    operands=1,
    arrange=lambda a, UPLO="L": ((a,), {"uplo": UPLO}),  # noqa: N803 - NumPy's word
    example=Example("eigvalsh(a) * b", {"a": (3, 3), "b": (3,)}),
)

eigenvectors: Op = _of_eigh(
    lambda a, uplo="L": np.linalg.eigh(a, uplo)[1],
    name="eigenvectors",
    vjps=(_eigenvectors_rule,),
    ball=Composed(lambda a, uplo="L": _EIGENVECTORS.function(_whole(a, uplo))),
    params=("uplo",),
    example=Example("eigenvectors(a) * b", {"a": (3, 3), "b": (3, 3)}),
)


def _eigh(a: Any, UPLO: str = "L") -> Any:  # noqa: N803 - NumPy's word
    return type(np.linalg.eigh(np.eye(1)))(eigvalsh(a, UPLO), eigenvectors(a, UPLO))


eigh = compound(
    np.linalg.eigh, _eigh, size="cubic",
    example=Example("eigh(a)[0] * b", {"a": (2, 2), "b": (2,)}),
)  # fmt: skip


# -- singular values -------------------------------------------------------------------------------


def _roots_in_balls(a: Any) -> Any:
    """The roots of the eigenvalues of the smaller of A A^T and A^T A, from the largest on."""
    a = np.asarray(a, dtype=object)
    smaller = a @ _turned(a) if a.shape[-2] <= a.shape[-1] else _turned(a) @ a
    return np.flip(np.sqrt(_eigenvalues_in_balls(smaller)), axis=-1)


def _thin(a: Any) -> Any:
    return np.linalg.svd(a, full_matrices=False)


def _singular(a: arb_mat, left: bool) -> arb_mat:
    """The left (or right) vectors as columns, from the largest value on.

    Those of the shorter side are eigenvectors of A A^T; the others are A^T u / |A^T u|.
    """
    like = _thin(_middle(a))[0] if left else _thin(_middle(a))[2].T
    if (a.nrows() <= a.ncols()) == left:
        own = a if left else a.transpose()
        return _signed(_by_size(own * own.transpose(), vectors=True)[::-1], like)
    others = (a if left else a.transpose()) * _singular(a, not left)
    columns = others.transpose().tolist()
    return _signed([[v / _length(c) for v in c] for c in columns], like)


_LEFT = of_matrices(lambda a: _singular(a, left=True), "(m,n)->(m,k)", STEP)
_RIGHT = of_matrices(lambda a: _singular(a, left=False).transpose(), "(m,n)->(k,n)", STEP)


_of_svd = partial(
    factoring, symbolic=ABSTAINS, kinks="equal singular values", grad_fn="LinalgSvdBackward0"
)

svdvals = _of_svd(
    lambda a: np.linalg.svd(a, compute_uv=False),
    name="svdvals",
    also=(np.linalg.svdvals,),
    vjps=(lambda g, y, a: (left_vectors(a) * g[..., None, :]) @ right_vectors(a),),
    ball=Composed(_roots_in_balls),
    example=Example("svdvals(a) * b", {"a": (2, 3), "b": (2,)}),
)


def _twist(vectors: Any, g: Any, s: Any) -> Any:
    """The part of a cotangent that turns the vectors among themselves."""
    inner = _turned(vectors) @ g
    return _off(inner - _turned(inner)) / _differences(s * s)


def _beside(vectors: Any, g: Any) -> Any:
    """The part of a cotangent that leaves the space of the vectors."""
    return g - vectors @ (_turned(vectors) @ g)


def _left_rule(g: Any, y: Any, a: Any) -> Any:
    s, vh = svdvals(a), right_vectors(a)
    return (y @ (_twist(y, g, s) * s[..., None, :]) + _beside(y, g) / s[..., None, :]) @ vh


def _right_rule(g: Any, y: Any, a: Any) -> Any:
    s, u, v, g = svdvals(a), left_vectors(a), _turned(y), _turned(g)
    inside = (s[..., :, None] * _twist(v, g, s)) @ _turned(v)
    return u @ (inside + _turned(_beside(v, g) / s[..., None, :]))


left_vectors: Op = _of_svd(
    lambda a: _thin(a)[0],
    name="left_singular_vectors",
    vjps=(_left_rule,),
    ball=_LEFT,
    example=Example("left_singular_vectors(a) * b", {"a": (3, 2), "b": (3, 2)}),
)

right_vectors: Op = _of_svd(
    lambda a: _thin(a)[2],
    name="right_singular_vectors",
    vjps=(_right_rule,),
    ball=_RIGHT,
    example=Example("right_singular_vectors(a) * b", {"a": (2, 3), "b": (2, 3)}),
)


def _svd(
    a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Any:
    if hermitian:
        raise TypeError("svd takes any matrix as it is: leave hermitian= out")
    if not compute_uv:
        return svdvals(a)
    if full_matrices and np.shape(a)[-1] != np.shape(a)[-2]:
        raise TypeError("svd follows the thin form: write svd(a, full_matrices=False)")
    kind = type(np.linalg.svd(np.eye(1)))
    return kind(left_vectors(a), svdvals(a), right_vectors(a))


svd = compound(
    np.linalg.svd, _svd, size="factored",
    example=Example("svd(a)[1] * b", {"a": (2, 2), "b": (2,)}),
)  # fmt: skip


# -- Q and R ---------------------------------------------------------------------------------------


def _reflected(a: Matrix) -> tuple[Matrix, Matrix]:
    """Householder: column by column to multiples of a unit vector, with LAPACK's signs."""
    (m, n), r = a.shape, a.copy()
    q: Matrix = np.eye(m, dtype=int).astype(object)
    for k in range(min(m - 1, n)):
        x = r[k:, k].copy()
        length = np.sqrt(sum(v * v for v in x))
        x[0] = x[0] + length if x[0] >= 0 else x[0] - length
        scale = 2 / sum(v * v for v in x)
        r[k:] = r[k:] - np.multiply.outer(x * scale, x @ r[k:])
        q[:, k:] = q[:, k:] - np.multiply.outer(q[:, k:] @ x, x * scale)
        r[k + 1 :, k] = 0
    return q[:, : min(m, n)], r[: min(m, n)]


def _tall(a: Any) -> None:
    if np.shape(a)[-2] < np.shape(a)[-1]:
        raise TypeError("qr of a matrix with more columns than rows has no derivative here")


def _upper_solved(g: Any, r: Any) -> Any:
    """The product g R^-T."""
    return _turned(np.linalg.solve(r, _turned(g)))


def _both_halves(m: Any) -> Any:
    """An upper half and its mirror image, the diagonal once."""
    upper = np.triu(m)
    return upper + _turned(np.triu(m, 1))


def _q_rule(g: Any, y: Any, a: Any) -> Any:
    _tall(a)
    return _upper_solved(g - y @ _both_halves(_turned(y) @ g), r_factor(a))


def _r_rule(g: Any, y: Any, a: Any) -> Any:
    _tall(a)
    return _upper_solved(q_factor(a) @ _both_halves(g @ _turned(y)), y)


q_factor = factoring(
    lambda a: np.linalg.qr(a)[0],
    name="q_factor",
    vjps=(_q_rule,),
    exact=Composed(stacked(lambda a: _reflected(a)[0])),
    grad_fn="LinalgQrBackward0",
    example=Example("q_factor(a) * b", {"a": (3, 2), "b": (3, 2)}),
)

r_factor = factoring(
    lambda a: np.linalg.qr(a)[1],
    name="r_factor",
    vjps=(_r_rule,),
    exact=Composed(stacked(lambda a: _reflected(a)[1])),
    grad_fn="LinalgQrBackward0",
    example=Example("r_factor(a) * b", {"a": (3, 2), "b": (2, 2)}),
)


def _qr(a: Any, mode: str = "reduced") -> Any:
    if mode == "r":
        return r_factor(a)
    if mode != "reduced" and not (mode == "complete" and np.shape(a)[-2] == np.shape(a)[-1]):
        raise TypeError(f"qr follows mode='reduced' and 'r', not mode={mode!r}")
    return type(np.linalg.qr(np.eye(1)))(q_factor(a), r_factor(a))


qr = compound(
    np.linalg.qr, _qr, size="factored",
    example=Example("qr(a)[1] * b", {"a": (3, 2), "b": (2, 2)}),
)  # fmt: skip


# -- what inverts a matrix that is not square ------------------------------------------------------


def _pinv_rule(g: Any, y: Any, a: Any) -> Any:
    """By Golub and Pereyra (1973): through A, and through the spaces that A reaches and loses."""
    gt, yt = _turned(g), _turned(y)
    kept = yt @ y @ (gt - gt @ y @ a)
    left = (gt - a @ y @ gt) @ y @ yt
    return left + kept - yt @ g @ yt


def _pinv_defined(a: Any) -> Any:
    """By the normal equations, of a matrix of full rank."""
    if np.shape(a)[-2] >= np.shape(a)[-1]:
        return np.linalg.inv(_turned(a) @ a) @ _turned(a)
    return _turned(a) @ np.linalg.inv(a @ _turned(a))


pinv = factoring(
    np.linalg.pinv,
    forward=lambda a: np.linalg.pinv(a),  # noqa: PLW0108 - no threshold
    vjps=(_pinv_rule,),
    exact=Composed(_pinv_defined),
    kinks="changes of rank",
    grad_fn="LinalgPinvBackward0",
    school=("pinverse",),
    example=Example("pinv(a) * b", {"a": (3, 2), "b": (2, 3)}),
)


def _lstsq(a: Any, b: Any, rcond: Any = None, *, driver: Any = None) -> Any:
    x = pinv(a) @ b
    rank = min(np.shape(a)[-2:])
    rest = b - a @ x
    residuals = np.sum(rest * rest, axis=0, keepdims=np.ndim(b) == 1)
    full = np.shape(a)[0] > np.shape(a)[1]
    return x, residuals if full else np.zeros(0), rank, svdvals(a)


lstsq = compound(
    np.linalg.lstsq, _lstsq, size="cubic",
    example=Example("lstsq(a, b)[0] * c", {"a": (3, 2), "b": (3,), "c": (2,)}),
)  # fmt: skip
