"""NumPy's everyday functions, and PyTorch's of single entries, that are formulas of the rows."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcheck.ops.elementary import erfc
from gradcheck.ops.formula import composed, compound
from gradcheck.ops.row import BOUNDS, joined
from gradcheck.ops.shapes import along, seen, setitem


def _is_nan(bare: Any) -> Any:
    """Where bare numbers are none; exact ones always are."""
    return np.isnan(bare) if bare.dtype.kind == "f" else np.zeros(np.shape(bare), dtype=bool)


# -- of single entries ---------------------------------------------------------------------------

compound(None, lambda x: x - np.trunc(x), "frac")
compound(None, lambda x, end, weight: x + weight * (end - x), "lerp")
compound(None, lambda x, min: np.clip(x, min, None), "clamp_min")
compound(None, lambda x, max: np.clip(x, None, max), "clamp_max")
compound(None, lambda x, tensor1, tensor2, *, value=1: x + value * tensor1 * tensor2, "addcmul")
compound(None, lambda x, tensor1, tensor2, *, value=1: x + value * tensor1 / tensor2, "addcdiv")
compound(None, lambda x: 0.5 * erfc(x * -math.sqrt(0.5)), "ndtr")
compound(None, lambda x, other, p=2: np.linalg.norm(np.ravel(x - other), p), "dist")
compound(np.imag, lambda x: 0.0 * x)
compound(np.angle, lambda x, deg=False: 0.0 * x + (seen(x) < 0) * (180.0 if deg else np.pi))


@composed()
def logit(x: Any, eps: float | None = None) -> Any:
    """log(x / (1 - x)), of x within eps and 1 - eps."""
    if eps is not None:
        x = np.where(x < eps, eps, np.where(x > 1 - eps, 1 - eps, x))
    return np.log(x / (1 - x))


@composed()
def xlog1py(x: Any, y: Any) -> Any:
    """X log(1 + y), and 0 where x is 0."""
    flat = np.equal(seen(x), 0) & ~_is_nan(np.asarray(seen(y)))
    return np.where(flat, 0.0, x * np.log1p(np.where(flat, 0.0, y)))


@composed()
def logcumsumexp(x: Any, axis: int) -> Any:
    """The logarithm of the running sum of exponentials, about the largest so far."""
    if np.ndim(x) == 0 or not np.size(x):
        return 1 * x
    first, *rest = np.moveaxis(x, axis, 0)
    sums = [first]
    for entry in rest:
        sums.append(np.logaddexp(sums[-1], entry))
    return np.stack(sums, axis=axis)


# -- what is no number left out ------------------------------------------------------------------


def _without_nan(x: Any, stand_in: float) -> tuple[Any, Any]:
    """X with another number for each nan, and where there was none."""
    there = ~_is_nan(seen(x))
    return np.where(there, x, stand_in), there


def _leaving_out(function: Callable[..., Any], rest: Callable[..., Any], stand_in: float) -> None:
    """Enter a function as what is left of another one, nan being what does not count there."""
    compound(function, lambda x, *how, **named: rest(_without_nan(x, stand_in)[0], *how, **named))


_leaving_out(np.nancumsum, np.cumsum, 0.0)
_leaving_out(np.nancumprod, np.cumprod, 1.0)
_leaving_out(np.nanprod, np.prod, 1.0)


def _nan_extreme(function: Callable[..., Any], extreme: Callable[..., Any], least: float) -> None:
    def meaning(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        full, there = _without_nan(x, least)
        found = extreme(x if np.all(there) else full, axis=axis, keepdims=keepdims)
        some = np.any(there, axis=axis, keepdims=keepdims)
        return found if np.all(some) else np.where(some, found, np.nan)

    compound(function, meaning)


_nan_extreme(np.nanmax, np.max, -np.inf)
_nan_extreme(np.nanmin, np.min, np.inf)


@composed(function=np.nanmean)
def nanmean(x: Any, axis: Any = None, *, keepdims: bool = False, dtype: Any = None) -> Any:
    """The mean of what is a number."""
    full, there = _without_nan(x, 0.0)
    return np.sum(full, axis=axis, keepdims=keepdims) / np.sum(there, axis=axis, keepdims=keepdims)


@composed(function=np.nanvar)
def nanvar(x: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Any:
    """The variance of what is a number."""
    full, there = _without_nan(x, 0.0)
    count = np.sum(there, axis=axis, keepdims=True)
    mean = np.sum(full, axis=axis, keepdims=True) / count
    squares = np.sum(np.where(there, (full - mean) ** 2, 0.0), axis=axis, keepdims=keepdims)
    return squares / (np.sum(there, axis=axis, keepdims=keepdims) - ddof)


@composed(function=np.nanstd)
def nanstd(x: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Any:
    """The root of the variance of what is a number."""
    variance = nanvar.meaning(x, axis, ddof, keepdims)
    same = np.equal(seen(variance), 0)  # flat there, as `std` is
    return np.where(same, 0.0, np.sqrt(np.where(same, 1.0, variance)))


# -- samples -------------------------------------------------------------------------------------


def _quantile(x: Any, q: Any, axis: Any, keepdims: bool, method: str) -> Any:
    """Between the sorted entries, at q times their number less one; by `method` a neighbour."""
    shape = np.shape(x)
    axes = range(len(shape)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    axes = tuple(k % max(len(shape), 1) for k in axes) if shape else ()
    kept = tuple(k for k in range(len(shape)) if k not in axes)
    lines = np.reshape(np.transpose(x, (*kept, *axes)), (*(shape[k] for k in kept), -1))
    rows = np.sort(lines, axis=-1)
    n = np.shape(rows)[-1]
    at = (np.stack(q) if isinstance(q, list | tuple) else q) * (n - 1)
    here = np.asarray(seen(at))  # compared and never rounded, so that exact numbers stay exact
    low = np.sum(here[..., None] >= np.arange(1, n), axis=-1).astype(int)
    high = low + np.asarray(here > low).astype(int)
    if method == "linear":
        y = rows[..., low] * (1 - (at - low)) + rows[..., high] * (at - low)
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


@composed(function=np.quantile)
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


@composed(function=np.percentile)
def percentile(
    x: Any, q: Any, axis: Any = None, method: str = "linear", keepdims: bool = False
) -> Any:
    """What q hundredths of the entries lie below."""
    share = np.stack(q) if isinstance(q, list | tuple) else q
    return _quantile(x, share / 100, axis, keepdims, method)


@composed(function=np.cov)
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

    def as_rows(v: Any) -> Any:
        return np.reshape(v, (1, -1)) if np.ndim(v) < 2 else v if rowvar else np.swapaxes(v, 0, 1)

    x = as_rows(m) if y is None else np.concatenate([as_rows(m), as_rows(y)], axis=0)
    less = (0 if bias else 1) if ddof is None else int(ddof)
    counts = np.ones(np.shape(x)[1]) if fweights is None else seen(fweights) * 1.0
    shares = counts if aweights is None else counts * aweights
    total = np.sum(shares)
    centred = x - np.sum(x * shares, axis=1, keepdims=True) / total
    divisor = total - less
    if aweights is not None and less:
        divisor = total - less * np.sum(shares * aweights) / total
    return np.squeeze((centred * shares) @ np.swapaxes(centred, 0, 1) / divisor)


@composed(function=np.corrcoef)
def corrcoef(x: Any, y: Any = None, rowvar: bool = True) -> Any:
    """Correlations of the rows."""
    c = cov.meaning(x, y, rowvar)
    if np.ndim(c) == 0:
        return c / c
    root = np.sqrt(np.diagonal(c))
    return c / root[:, None] / root[None, :]


# -- integrals, slopes, and what stands between samples ------------------------------------------


def _pieces(y: Any, x: Any, dx: Any, axis: int) -> Any:
    """The areas between neighbouring samples."""
    n = np.shape(y)[axis]
    right, left = y[along(y, axis, slice(1, n))], y[along(y, axis, slice(0, max(n - 1, 0)))]
    step = dx if x is None else np.diff(x, axis=axis if np.ndim(x) == np.ndim(y) else -1)
    if np.ndim(step) == 1:
        step = np.reshape(step, [-1 if k == axis % np.ndim(y) else 1 for k in range(np.ndim(y))])
    return step * (left + right) / 2


@composed(function=np.trapezoid, school=("trapz",))
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """The integral of samples, straight between them."""
    return np.sum(_pieces(y, x, dx, axis), axis=axis)


@composed()
def cumulative_trapezoid(y: Any, x: Any = None, *, dx: Any = 1.0, axis: int = -1) -> Any:
    """The integral up to each sample, from the second on."""
    return np.cumsum(_pieces(y, x, dx, axis), axis=axis)


def _slope(f: Any, h: Any, axis: int, edge_order: int) -> Any:
    """Differences over both neighbours; at the ends over one (or two) of them."""
    n = np.shape(f)[axis]
    if n < edge_order + 1:
        raise ValueError(f"gradient needs at least {edge_order + 1} samples along an axis")
    f = np.moveaxis(f, axis, -1)
    if np.ndim(h) == 0:
        d, middle = [h, h], (f[..., 2:] - f[..., :-2]) / (2 * h)
    else:
        d = np.diff(h)
        low, high = d[:-1], d[1:]
        across = low**2 * f[..., 2:] + (high**2 - low**2) * f[..., 1:-1] - high**2 * f[..., :-2]
        middle = across / (low * high * (low + high))
    if edge_order == 1:
        first, last = (f[..., 1] - f[..., 0]) / d[0], (f[..., -1] - f[..., -2]) / d[-1]
    else:
        first = _at_the_end(f[..., 0], f[..., 1], f[..., 2], d[0], d[1])
        last = -_at_the_end(f[..., -1], f[..., -2], f[..., -3], d[-1], d[-2])
    slopes = np.concatenate([first[..., None], middle, last[..., None]], axis=-1)
    return np.moveaxis(slopes, -1, axis)


def _at_the_end(f0: Any, f1: Any, f2: Any, h1: Any, h2: Any) -> Any:
    """The slope at the first of three samples, of the parabola through them."""
    a, b, c = -(2 * h1 + h2) / (h1 * (h1 + h2)), (h1 + h2) / (h1 * h2), -h1 / (h2 * (h1 + h2))
    return a * f0 + b * f1 + c * f2


@composed(function=np.gradient)
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Slopes of samples along one axis, or along each."""
    axes = range(np.ndim(f)) if axis is None else axis if isinstance(axis, tuple | list) else [axis]
    steps = list(varargs or [1.0]) * (len(axes) if len(varargs) < 2 else 1)
    found = [_slope(f, h, k, edge_order) for h, k in zip(steps, axes, strict=True)]
    return found[0] if len(found) == 1 else tuple(found)


@composed(function=np.interp)
def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Any:
    """Straight between the samples (xp, fp); beyond them the first and the last, or as given."""
    if period is not None:
        raise TypeError("interp with period= is not followed: write x % period")
    xp, fp, x = (v if hasattr(v, "shape") else np.asarray(v) for v in (xp, fp, x))
    n = np.shape(xp)[0]
    at = np.clip(np.sum(seen(x)[..., None] >= seen(xp), axis=-1).astype(int) - 1, 0, n - 2)
    low, high = xp[at], xp[at + 1]
    y = fp[at] + (fp[at + 1] - fp[at]) * ((x - low) / (high - low))
    y = np.where(seen(x) < seen(xp)[0], fp[0] if left is None else left, y)
    return np.where(seen(x) > seen(xp)[-1], fp[n - 1] if right is None else right, y)


@composed(function=np.convolve)
def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    """The sums of products of one vector with the other, turned round and shifted."""
    if np.shape(a)[0] < np.shape(v)[0]:
        a, v = v, a
    n, m = np.shape(a)[0], np.shape(v)[0]
    padded = np.pad(a, (m - 1, m - 1))
    full = padded[np.arange(n + m - 1)[:, None] + np.arange(m)] @ np.flip(v)
    start, length = {
        "full": (0, n + m - 1),
        "same": ((m - 1) // 2, n),
        "valid": (m - 1, n - m + 1),
    }[mode]
    return full[start : start + length]


@composed(function=np.correlate)
def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    """The sums of products of one vector with the other, shifted."""
    if np.shape(a)[0] >= np.shape(v)[0]:
        return convolve.meaning(a, np.flip(v), mode)
    if mode == "same":
        return np.flip(convolve.meaning(v, np.flip(a), "same"))
    return np.flip(convolve.meaning(np.flip(a), v, mode))


@composed(function=np.polyval)
def polyval(p: Any, x: Any) -> Any:
    """The polynomial with these coefficients, the highest power's first (Horner)."""
    y = 0 * x
    for k in range(np.shape(p)[0]):
        y = y * x + p[k]
    return y


@composed(function=np.vander)
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:  # noqa: N803
    """The powers of each entry, from the highest down (NumPy's order) unless `increasing`."""
    n = np.shape(x)[-1] if N is None else N
    powers = [x**k if k else 0 * x + 1.0 for k in range(n)]
    if not powers:
        return x[..., None][..., :0]
    return np.stack(powers if increasing else powers[::-1], axis=-1)


@composed(function=np.linspace, words=BOUNDS)
def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """So many numbers from start to stop, evenly."""
    if retstep:
        raise TypeError(
            "linspace with retstep= is not followed: the step is (stop - start) / (num - 1)"
        )
    steps = max(num - 1 if endpoint else num, 1)
    shape = np.broadcast_shapes(np.shape(start), np.shape(stop))
    part = np.reshape(np.arange(num) / steps, (-1, *(1,) * len(shape)))
    y = start * (1 - part) + stop * part
    return np.moveaxis(y, 0, axis) if axis else y


# -- arrays put together, or parts of them -------------------------------------------------------


@composed(function=np.lib.stride_tricks.sliding_window_view)
def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Any:
    """Windows along axes, their places at the end; a copy, where NumPy gives a view."""
    sizes = window_shape if isinstance(window_shape, tuple | list) else (window_shape,)
    axes = range(np.ndim(x)) if axis is None else axis if isinstance(axis, tuple | list) else [axis]
    for size, k in zip(sizes, (k % np.ndim(x) for k in axes), strict=True):
        places = np.arange(np.shape(x)[k] - size + 1)[:, None] + np.arange(size)
        x = np.moveaxis(np.take(x, places, axis=k), k + 1, -1)
    return x


@composed(function=np.meshgrid)
def meshgrid(*vectors: Any, indexing: str = "xy", sparse: bool = False, copy: bool = True) -> Any:
    """Each vector along an axis of its own; NumPy's "xy" lets the first lie along the second."""
    if len(vectors) == 1 and isinstance(vectors[0], list | tuple):
        vectors = tuple(vectors[0])
    rank = len(vectors)
    laid = [
        np.reshape(v, [-1 if k == i else 1 for k in range(rank)]) for i, v in enumerate(vectors)
    ]
    if indexing == "xy" and rank > 1:
        laid = [np.swapaxes(v, 0, 1) for v in laid]
    return tuple(laid) if sparse else tuple(np.broadcast_arrays(*laid))


@composed(function=np.append)
def append(x: Any, values: Any, axis: int | None = None) -> Any:
    """The values behind x; of rows, where no axis is said."""
    return np.concatenate([joined(x), joined(values)], axis=axis)


def _of_line(x: Any, axis: int | None) -> tuple[Any, int]:
    """An array and an axis; of no axis all entries in a row."""
    return (np.ravel(x), 0) if axis is None else (x, axis)


@composed(function=np.delete)
def delete(x: Any, obj: Any, axis: int | None = None) -> Any:
    """Without the entries at these places."""
    x, axis = _of_line(x, axis)
    return np.take(x, np.delete(np.arange(np.shape(x)[axis]), seen(obj)), axis=axis)


@composed(function=np.compress)
def compress(condition: Any, x: Any, axis: int | None = None) -> Any:
    """The entries where a condition holds along an axis."""
    x, axis = _of_line(x, axis)
    return np.take(x, np.flatnonzero(seen(condition)), axis=axis)


@composed(function=np.ediff1d)
def ediff1d(x: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """The differences of all entries in a row."""
    parts = [np.ravel(p) for p in (to_begin, np.diff(np.ravel(x)), to_end) if p is not None]
    return np.concatenate(parts) if len(parts) > 1 else parts[0]


@composed(function=np.rollaxis)
def rollaxis(x: Any, axis: int, start: int = 0) -> Any:
    """An axis moved to stand before another one."""
    axis, start = axis % np.ndim(x), start + np.ndim(x) if start < 0 else start
    return np.moveaxis(x, axis, start - 1 if axis < start else start)


@composed(function=np.piecewise)
def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Any:
    """For each condition a function of the entries where it holds, or a number."""
    conditions = condlist if isinstance(condlist, list | tuple) else [condlist]
    conditions = [np.broadcast_to(seen(c), np.shape(x)).astype(bool) for c in conditions]
    if len(funclist) == len(conditions) + 1:
        conditions = [*conditions, ~np.any(conditions, axis=0)]
    if len(funclist) != len(conditions):
        raise ValueError("piecewise takes a function for each condition, and one more for the rest")
    y: Any = 0.0 * x
    for condition, function in zip(conditions, funclist, strict=True):
        if np.any(condition):
            piece = function(x[condition], *args, **kw) if callable(function) else function
            y = setitem(y, piece, condition)
    return y
