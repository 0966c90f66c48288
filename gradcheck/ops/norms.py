"""Norms of vectors and matrices by NumPy's `ord=`, and of all entries by PyTorch's `p=`."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from gradcheck.ops.axes import gone, shares, spread
from gradcheck.ops.row import Composed, Example, op
from gradcheck.ops.spectra import svdvals

Axes = int | tuple[int, ...] | None
SPECTRAL = (2, -2, "nuc")


def _lengths(
    x: Any, ord: Any = None, axis: Axes = None, keepdims: bool = False, *, p: Any = None
) -> Any:
    """The call with its defaults: over one axis a vector's norm, over two a matrix's.

    With `p=` the entries of all axes are one vector's. Raises TypeError for the norms of matrices
    that need their singular values, and for a count.
    """
    if p is not None:
        x, ord = _as_vector(x, p, axis, keepdims)
    flat = axis is None and ord is None
    many = np.ndim(x) if axis is None else np.size(axis)
    if not flat and many == 2 and ord not in (None, "fro", 1, -1, np.inf, -np.inf, *SPECTRAL):
        raise TypeError(f"norm(..., ord={ord!r}) is no norm of a matrix")
    if ord == 0:
        raise TypeError("norm(..., ord=0) counts the entries that are not zero: no derivative")
    return (x,), {"ord": ord, "axis": axis, "keepdims": keepdims}


def _as_vector(x: Any, p: Any, axis: Axes, keepdims: bool) -> tuple[Any, Any]:
    """The operand and its order where PyTorch's `p=` is meant."""
    if np.ndim(x) == 1 or (axis is not None and np.size(axis) == 1):
        return x, p
    if p in (2, "fro"):
        return x, None
    if axis is None and not keepdims:
        return np.ravel(x), p
    raise TypeError(
        f"norm(..., p={p!r}) over several axes is the norm of all their entries: reshape these to "
        "one axis first; np.linalg.norm(x, ord) is the norm of a matrix"
    )


def _of_matrix(shape: tuple[int, ...], ord: Any, axis: Axes) -> bool:
    """Whether the norm is the largest (or smallest) column or row sum of a matrix."""
    return ord not in (None, "fro") and len(gone(shape, axis)) == 2


def _sides(shape: tuple[int, ...], ord: Any, axis: Axes) -> tuple[int, int]:
    """The axis to sum over and the axis to choose on: columns for 1, rows for infinity."""
    row, column = gone(shape, axis)
    return (row, column) if abs(ord) == 1 else (column, row)


def _slope(y: Any, x: Any, ord: Any, axis: Axes) -> Any:
    """dy/dx of a vector norm; y has its axes. PyTorch's conventions: 0 at 0, ties share."""
    if ord in (None, "fro", 2):
        return np.where(np.equal(y, 0), 0.0, x / np.where(np.equal(y, 0), 1.0, y))
    if ord == 1:
        return np.sign(x)
    if abs(ord) == np.inf:
        return np.sign(x) * shares(y, np.absolute(x), axis, keepdims=True)
    flat = np.equal(y, 0) | np.equal(x, 0)  # below 1 the slope at 0 is 0 by convention
    size = np.where(flat, 1.0, np.absolute(x)) / np.where(flat, 1.0, y)
    return np.where(flat, 0.0, np.sign(x) * size ** (ord - 1))


def _spectral(x: Any, ord: Any, axis: Axes) -> bool:
    """Whether the singular values of matrices are meant."""
    return ord in SPECTRAL and len(gone(x.shape, axis)) == 2 and not _is_flat(ord, axis)


def _is_flat(ord: Any, axis: Axes) -> bool:
    return axis is None and ord is None


def _of_singular_values(s: Any, ord: Any) -> Any:
    return np.sum(s, axis=-1) if ord == "nuc" else s[..., 0 if ord == 2 else -1]


def _spectral_rule(g: Any, x: Any, ord: Any, axis: Axes) -> Any:
    """U diag(slopes by the singular values) V^T, in the place of the matrices."""
    lost = gone(x.shape, axis)
    u, s, v = np.linalg.svd(np.moveaxis(x, lost, (-2, -1)), full_matrices=False)
    slopes = np.zeros(s.shape) + (1.0 if ord == "nuc" else 0.0)
    if ord != "nuc":
        slopes[..., 0 if ord == 2 else -1] = 1.0
    return g * np.moveaxis((u * slopes[..., None, :]) @ v, (-2, -1), lost)


def _rule(g: Any, y: Any, x: Any, *, ord: Any, axis: Axes, keepdims: bool) -> Any:
    g = spread(g, x.shape, axis, keepdims)
    if _spectral(x, ord, axis):
        return _spectral_rule(g, x, ord, axis)
    if not _of_matrix(x.shape, ord, axis):
        return g * _slope(spread(y, x.shape, axis, keepdims), x, ord, axis)
    along, across = _sides(x.shape, ord, axis)
    sums = np.sum(np.absolute(x), axis=along, keepdims=True)
    best = _extreme(ord)(sums, axis=across, keepdims=True)
    return g * np.sign(x) * shares(best, sums, across, keepdims=True)


def _extreme(ord: float) -> Any:
    return np.max if ord > 0 else np.min


def _defined(x: Any, ord: Any, axis: Axes, keepdims: bool) -> Any:
    """Root of the sum of squares; largest absolute value; p-th root of the sum of p-th powers."""
    if _spectral(x, ord, axis):
        lost = gone(x.shape, axis)
        y = _of_singular_values(svdvals(np.moveaxis(x, lost, (-2, -1))), ord)
        return spread(y, x.shape, axis, keepdims=False) if keepdims else y
    if _of_matrix(x.shape, ord, axis):
        along, across = _sides(x.shape, ord, axis)
        sums = np.sum(np.absolute(x), axis=along, keepdims=True)
        y = _extreme(ord)(sums, axis=across, keepdims=True)
        return y if keepdims else np.squeeze(y, axis=gone(x.shape, axis))
    if ord in (None, "fro", 2):
        return np.sqrt(np.sum(x * x, axis=axis, keepdims=keepdims))
    if abs(ord) == np.inf:
        return _extreme(ord)(np.absolute(x), axis=axis, keepdims=keepdims)
    total = np.sum(np.absolute(x) ** ord, axis=axis, keepdims=keepdims)
    return total if ord == 1 else total ** (1 / Fraction(ord))


def _name(operands: tuple[Any, ...], params: Mapping[str, Any]) -> str:
    shape = operands[0].shape if hasattr(operands[0], "shape") else operands[0][0]
    return {True: "Amax", False: "LinalgVectorNorm"}[
        _of_matrix(shape, params["ord"], params["axis"])
    ] + "Backward0"


norm = op(
    np.linalg.norm,
    vjps=(_rule,),
    exact=Composed(_defined),
    kinks="x = 0; ties",
    grad_fn=_name,
    elementwise=False,
    arrange=_lengths,
    example=Example("norm(a, axis=1) * b", {"a": (2, 3), "b": (2,)}),
)
