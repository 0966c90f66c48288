"""Statistics of samples: what is no number left out, shares of them, how they vary together."""

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcheck.ops.composed.picking import is_nan, seen
from gradcheck.ops.formula import composed
from gradcheck.ops.row import Example

VECTOR = {"a": (4,), "b": (4,)}


def _without_nan(x: Any, stand_in: float) -> tuple[Any, Any]:
    """X with another number for each nan, and where there was none."""
    bare = seen(x)
    there = ~is_nan(bare)
    return np.where(there, x, stand_in), there


@composed(
    watches=("x",),
    size="elementwise",
    function=np.nanmean,
    example=Example("nanmean(a) * b", VECTOR),
)
def nanmean(x: Any, axis: Any = None, *, keepdims: bool = False, dtype: Any = None) -> Any:
    """The mean of what is a number."""
    full, there = _without_nan(x, 0.0)
    return np.sum(full, axis=axis, keepdims=keepdims) / np.sum(there, axis=axis, keepdims=keepdims)


@composed(function=np.nancumsum, example=Example("nancumsum(a) * b", VECTOR))
def nancumsum(x: Any, axis: int | None = None) -> Any:
    """The running sum of what is a number."""
    return np.cumsum(_without_nan(x, 0.0)[0], axis=axis)


@composed(function=np.nancumprod, example=Example("nancumprod(a) * b", VECTOR))
def nancumprod(x: Any, axis: int | None = None) -> Any:
    """The running product of what is a number."""
    return np.cumprod(_without_nan(x, 1.0)[0], axis=axis)


@composed(function=np.nanprod, example=Example("nanprod(a) * b", VECTOR))
def nanprod(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The product of what is a number."""
    return np.prod(_without_nan(x, 1.0)[0], axis=axis, keepdims=keepdims)


@composed(function=np.nanmax, example=Example("nanmax(a) * b", VECTOR))
def nanmax(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The largest of what is a number."""
    return _nan_extreme(np.max, -np.inf, x, axis, keepdims)


@composed(function=np.nanmin, example=Example("nanmin(a) * b", VECTOR))
def nanmin(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The smallest of what is a number."""
    return _nan_extreme(np.min, np.inf, x, axis, keepdims)


def _nan_extreme(
    extreme: Callable[..., Any], least: float, x: Any, axis: Any, keepdims: bool
) -> Any:
    full, there = _without_nan(x, least)
    if np.all(there):
        return extreme(x, axis=axis, keepdims=keepdims)
    found = extreme(full, axis=axis, keepdims=keepdims)
    return np.where(np.any(there, axis=axis, keepdims=keepdims), found, np.nan)


@composed(function=np.nanvar, example=Example("nanvar(a) * b", VECTOR))
def nanvar(x: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Any:
    """The variance of what is a number."""
    full, there = _without_nan(x, 0.0)
    count = np.sum(there, axis=axis, keepdims=True)
    mean = np.sum(full, axis=axis, keepdims=True) / count
    squares = np.where(there, (full - mean) ** 2, 0.0)
    return np.sum(squares, axis=axis, keepdims=keepdims) / (
        np.sum(there, axis=axis, keepdims=keepdims) - ddof
    )


@composed(function=np.nanstd, example=Example("nanstd(a) * b", VECTOR))
def nanstd(x: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Any:
    """The root of the variance of what is a number."""
    variance = nanvar.meaning(x, axis, ddof, keepdims)
    same = np.equal(seen(variance), 0)  # flat there, as `std` is
    return np.where(same, 0.0, np.sqrt(np.where(same, 1.0, variance)))


def _quantile(x: Any, q: Any, axis: Any, keepdims: bool, method: str) -> Any:
    """Between the sorted entries, at q times their number less one; by `method` a neighbour."""
    shape = np.shape(x)
    axes = (
        tuple(range(len(shape))) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    )
    axes = tuple(k % max(len(shape), 1) for k in axes) if shape else ()
    kept = tuple(k for k in range(len(shape)) if k not in axes)
    rows = np.sort(
        np.reshape(np.transpose(x, (*kept, *axes)), (*(shape[k] for k in kept), -1)), axis=-1
    )
    n = np.shape(rows)[-1]
    at = (np.stack(q) if isinstance(q, list | tuple) else q) * (n - 1)
    here = np.asarray(seen(at))  # compared and never rounded, so that exact numbers stay exact
    low = np.sum(here[..., None] >= np.arange(1, n), axis=-1).astype(int)
    high = low + np.asarray(here > low).astype(int)
    if method == "linear":
        part = at - low
        y = rows[..., low] * (1 - part) + rows[..., high] * part
    elif method in ("lower", "higher", "nearest"):
        odd = low % 2 == 1  # of two neighbours as near, the even one
        near = low + np.asarray((here - low > 0.5) | ((here - low == 0.5) & odd)).astype(int)
        y = rows[..., {"lower": low, "higher": high, "nearest": near}[method]]
    elif method == "midpoint":
        y = (rows[..., low] + rows[..., high]) / 2
    else:
        raise TypeError(f"quantile's method {method!r} is not followed: linear, lower, higher, ...")
    y = np.moveaxis(y, range(-np.ndim(q), 0), range(np.ndim(q))) if np.ndim(q) else y
    if keepdims:
        y = np.reshape(y, (*np.shape(q), *(1 if k in axes else m for k, m in enumerate(shape))))
    return y


@composed(function=np.quantile, size="compared", example=Example("quantile(a, 0.3) * b", VECTOR))
def quantile(
    x: Any,
    q: Any,
    axis: Any = None,
    method: str = "linear",
    keepdims: bool = False,
    *,
    interpolation: str = "",
) -> Any:
    """What a share q of the entries lies below."""
    return _quantile(x, q, axis, keepdims, interpolation or method)


@composed(function=np.percentile, size="compared", example=Example("percentile(a, 30) * b", VECTOR))
def percentile(
    x: Any, q: Any, axis: Any = None, method: str = "linear", keepdims: bool = False
) -> Any:
    """What q hundredths of the entries lie below."""
    share = np.stack(q) if isinstance(q, list | tuple) else q
    return _quantile(x, share / 100, axis, keepdims, method)


@composed(
    function=np.cov, size="covarying", example=Example("cov(a) * b", {"a": (2, 3), "b": (2, 2)})
)
def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
) -> Any:
    """Covariances of the rows (of the columns, if not `rowvar`), over n - 1."""
    x = np.reshape(m, (1, -1)) if np.ndim(m) < 2 else m if rowvar else np.swapaxes(m, 0, 1)
    if y is not None:
        more = np.reshape(y, (1, -1)) if np.ndim(y) < 2 else y if rowvar else np.swapaxes(y, 0, 1)
        x = np.concatenate([x, more], axis=0)
    less = (0 if bias else 1) if ddof is None else int(ddof)
    counts = np.ones(np.shape(x)[1]) if fweights is None else seen(fweights) * 1.0
    shares = counts if aweights is None else counts * aweights
    total = np.sum(shares)
    centred = x - np.sum(x * shares, axis=1, keepdims=True) / total
    if aweights is None or less == 0:
        divisor = total - less
    else:
        divisor = total - less * np.sum(shares * aweights) / total
    return np.squeeze((centred * shares) @ np.swapaxes(centred, 0, 1) / divisor)


@composed(
    function=np.corrcoef,
    size="covarying",
    example=Example("corrcoef(a) * b", {"a": (2, 3), "b": (2, 2)}),
)
def corrcoef(x: Any, y: Any = None, rowvar: bool = True) -> Any:
    """Correlations of the rows."""
    c = cov.meaning(x, y, rowvar)
    if np.ndim(c) == 0:
        return c / c
    root = np.sqrt(np.diagonal(c))
    return c / root[:, None] / root[None, :]
