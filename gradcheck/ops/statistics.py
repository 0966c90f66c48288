"""Variance and its root, the median, the range, the weighted average.

`var` and `std` divide by n unless `ddof=` (PyTorch: `correction=`, `unbiased=`) says otherwise:
NumPy's default, where PyTorch's own is n - 1.
"""

from typing import Any

import numpy as np

from gradcheck.ops.axes import Axis, count, gathered, shares, spread
from gradcheck.ops.row import Composed, Example, op


def _freedom(shape: tuple[int, ...], axis: Axis, ddof: float) -> Any:
    """The divisor n - ddof, where 0 gives what NumPy gives: inf or nan."""
    return np.float64(count(shape, axis) - ddof)


def _centred(x: Any, axis: Axis) -> Any:
    return x - np.mean(x, axis=axis, keepdims=True)


def _std_slope(y: Any, x: Any, axis: Axis, ddof: float, keepdims: bool) -> Any:
    """(x - mean) / ((n - ddof) y), and 0 where all entries are equal: PyTorch's convention."""
    y = spread(y, x.shape, axis, keepdims)
    flat = np.equal(y, 0)
    slope = _centred(x, axis) / (_freedom(x.shape, axis, ddof) * np.where(flat, 1.0, y))
    return np.where(flat, 0.0, slope)


def _var_defined(x: Any, axis: Axis = None, ddof: int = 0, keepdims: bool = False) -> Any:
    """The mean of the squares less the square of the mean, times n / (n - ddof)."""
    n = int(count(x.shape, axis))
    total = np.sum(x, axis=axis, keepdims=keepdims)
    return (n * np.sum(x * x, axis=axis, keepdims=keepdims) - total * total) / (n * (n - ddof))


def _middle_two(x: Any, axis: Axis) -> list[Any]:
    """The two middle entries in order of size (one and the same where the number is odd)."""
    ordered = np.sort(gathered(x, axis), axis=-1)
    n = ordered.shape[-1]
    return [ordered[..., (n - 1) // 2], ordered[..., n // 2]]


def _median_slope(x: Any, axis: Axis) -> Any:
    """Half a share for every entry that ties with either of the two middle ones."""
    low, high = (shares(v, x, axis, keepdims=False) for v in _middle_two(x, axis))
    return (low + high) / 2


def _median_defined(x: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    low, high = _middle_two(x, axis)
    y = (low + high) / 2
    return spread(y, x.shape, axis, keepdims=False) if keepdims else y


var = op(
    np.var,
    vjps=(
        lambda g, y, x, axis=None, ddof=0, keepdims=False: (
            spread(g, x.shape, axis, keepdims)
            * (2 / _freedom(x.shape, axis, ddof))
            * _centred(x, axis)
        ),
    ),
    exact=Composed(_var_defined),
    grad_fn="VarBackward0",
    elementwise=False,
    params=("axis", "ddof", "keepdims"),
    example=Example("var(a, axis=0) * b", {"a": (3, 2), "b": (2,)}),
)

std = op(
    np.std,
    vjps=(
        lambda g, y, x, axis=None, ddof=0, keepdims=False: (
            spread(g, x.shape, axis, keepdims) * _std_slope(y, x, axis, ddof, keepdims)
        ),
    ),
    exact=Composed(lambda x, **where: np.sqrt(_var_defined(x, **where))),
    kinks="all entries equal",
    grad_fn="StdBackward0",
    elementwise=False,
    params=("axis", "ddof", "keepdims"),
    example=Example("std(a, axis=0) * b", {"a": (3, 2), "b": (2,)}),
)

median = op(
    np.median,
    vjps=(
        lambda g, y, x, axis=None, keepdims=False: (
            spread(g, x.shape, axis, keepdims) * _median_slope(x, axis)
        ),
    ),
    exact=Composed(_median_defined),
    kinks="ties",
    grad_fn="MedianBackward0",
    elementwise=False,
    params=("axis", "keepdims"),
    example=Example("median(a, axis=0) * b", {"a": (4, 2), "b": (2,)}),
)


def _range_slope(x: Any, axis: Axis) -> Any:
    high = np.max(x, axis=axis, keepdims=True)
    low = np.min(x, axis=axis, keepdims=True)
    return shares(high, x, axis, keepdims=True) - shares(low, x, axis, keepdims=True)


ptp = op(
    np.ptp,
    vjps=(
        lambda g, y, x, axis=None, keepdims=False: (
            spread(g, x.shape, axis, keepdims) * _range_slope(x, axis)
        ),
    ),
    kinks="ties",
    elementwise=False,
    params=("axis", "keepdims"),
    example=Example("ptp(a, axis=0) * b", {"a": (3, 2), "b": (2,)}),
)


def _weighted(
    x: Any, axis: Axis = None, weights: Any = None, keepdims: bool = False
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Weights of one axis are laid along it, so that x and weights broadcast."""
    if weights is None:
        weights = 1.0
    elif np.ndim(weights) == 1 and np.ndim(x) > 1 and isinstance(axis, int):
        weights = np.reshape(weights, (-1,) + (1,) * (np.ndim(x) - 1 - axis % np.ndim(x)))
    return (x, weights), {"axis": axis, "keepdims": keepdims}


def _average(x: Any, w: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    """Sum of w x over the sum of w."""
    total = np.sum(w + 0 * x, axis=axis, keepdims=keepdims)
    return np.sum(w * x, axis=axis, keepdims=keepdims) / total


def _total(w: Any, shape: tuple[int, ...], axis: Axis) -> Any:
    """The sum of the weights, one for each entry that they weigh."""
    return np.sum(w * np.ones(shape), axis=axis, keepdims=True)


average = op(
    np.average,
    forward=_average,
    vjps=(
        lambda g, y, x, w, axis=None, keepdims=False: (
            spread(g, x.shape, axis, keepdims) * (w / _total(w, x.shape, axis))
        ),
        lambda g, y, x, w, axis=None, keepdims=False: (
            spread(g, x.shape, axis, keepdims)
            * ((x - spread(y, x.shape, axis, keepdims)) / _total(w, x.shape, axis))
        ),
    ),
    exact=Composed(_average),
    elementwise=False,
    operands=2,
    arrange=_weighted,
    example=Example(
        "average(a, axis=0, weights=w) * b", {"a": (3, 2), "b": (2,), "w": [1.0, 2.0, 3.0]}
    ),
)
