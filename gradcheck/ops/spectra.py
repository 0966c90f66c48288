"""Eigenvalues and -vectors, singular values and vectors.

The gradients are those of PyTorch (J. Townsend, "Differentiating the singular value
decomposition", 2016): vectors are known up to their sign, and by distinct values only. Balls of
eigenvalues and -vectors are flint's (with the signs that LAPACK takes at the midpoint), from which
those of singular values follow. Eigenvalues have no closed form here: that cell abstains.
"""

from functools import partial
from typing import Any

import numpy as np
from flint import acb_mat, arb, arb_mat

from gradcheck.ops.decompositions import symmetric
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


def turned(a: Any) -> Any:
    """Each matrix of a stack transposed."""
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
    return half + turned(half) + np.tril(np.triu(a))


def _half(g: Any, uplo: str) -> Any:
    """The cotangent of a symmetric matrix in the half that is read."""
    both = g + turned(g)
    return (np.tril(both, -1) if uplo == "L" else np.triu(both, 1)) + np.tril(np.triu(g))


def _eigenvalues_in_balls(a: Any, uplo: str = "L") -> Any:
    return np.asarray(_EIGENVALUES.function(_whole(a, uplo)))[..., 0, :]


def _eigenvalues_rule(g: Any, y: Any, a: Any, uplo: str = "L") -> Any:
    v = eigenvectors(a, uplo)
    return _half((v * g[..., None, :]) @ turned(v), uplo)


def _eigenvectors_rule(g: Any, y: Any, a: Any, uplo: str = "L") -> Any:
    inner = _off(turned(y) @ g) / _differences(eigvalsh(a, uplo))
    return _half(symmetric(y @ inner @ turned(y)), uplo)


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
    smaller = a @ turned(a) if a.shape[-2] <= a.shape[-1] else turned(a) @ a
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
    inner = turned(vectors) @ g
    return _off(inner - turned(inner)) / _differences(s * s)


def _beside(vectors: Any, g: Any) -> Any:
    """The part of a cotangent that leaves the space of the vectors."""
    return g - vectors @ (turned(vectors) @ g)


def _left_rule(g: Any, y: Any, a: Any) -> Any:
    s, vh = svdvals(a), right_vectors(a)
    return (y @ (_twist(y, g, s) * s[..., None, :]) + _beside(y, g) / s[..., None, :]) @ vh


def _right_rule(g: Any, y: Any, a: Any) -> Any:
    s, u, v, g = svdvals(a), left_vectors(a), turned(y), turned(g)
    inside = (s[..., :, None] * _twist(v, g, s)) @ turned(v)
    return u @ (inside + turned(_beside(v, g) / s[..., None, :]))


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
