"""Least squares: the factors Q and R, the inverse of a matrix that is not square, the solution.

The gradients are those of PyTorch (Roberts and Roberts, arXiv:2009.10071). In exact numbers Q and R
come from Householder's reflections.
"""

from typing import Any

import numpy as np

from gradcheck.ops.decompositions import Matrix, stacked
from gradcheck.ops.formula import compound
from gradcheck.ops.row import Composed, Example, factoring
from gradcheck.ops.spectra import svdvals, turned


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
    return turned(np.linalg.solve(r, turned(g)))


def _both_halves(m: Any) -> Any:
    """An upper half and its mirror image, the diagonal once."""
    upper = np.triu(m)
    return upper + turned(np.triu(m, 1))


def _q_rule(g: Any, y: Any, a: Any) -> Any:
    _tall(a)
    return _upper_solved(g - y @ _both_halves(turned(y) @ g), r_factor(a))


def _r_rule(g: Any, y: Any, a: Any) -> Any:
    _tall(a)
    return _upper_solved(q_factor(a) @ _both_halves(g @ turned(y)), y)


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


def _pinv_rule(g: Any, y: Any, a: Any) -> Any:
    """By Golub and Pereyra (1973): through A, and through the spaces that A reaches and loses."""
    gt, yt = turned(g), turned(y)
    kept = yt @ y @ (gt - gt @ y @ a)
    left = (gt - a @ y @ gt) @ y @ yt
    return left + kept - yt @ g @ yt


def _pinv_defined(a: Any) -> Any:
    """By the normal equations, of a matrix of full rank."""
    if np.shape(a)[-2] >= np.shape(a)[-1]:
        return np.linalg.inv(turned(a) @ a) @ turned(a)
    return turned(a) @ np.linalg.inv(a @ turned(a))


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
