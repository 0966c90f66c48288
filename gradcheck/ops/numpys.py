"""NumPy's everyday functions, and PyTorch's of single entries, that are formulas of the rows."""

import numpy as np

from gradcheck.ops.formula import composed, compound
from gradcheck.ops.reductions import gather_along, reduced_axes
from gradcheck.ops.row import BOUNDS, join
from gradcheck.ops.shapes import along, bare_numbers
from gradcheck.values import Numbers

# -- of single entries ---------------------------------------------------------------------------

compound(np.imag, lambda x: 0.0 * x)
compound(np.angle, lambda x, deg=False: 0.0 * x + (bare_numbers(x) < 0) * (180.0 if deg else np.pi))
compound(None, lambda x: np.log(x / (1 - x)), "logit")


@composed(function=np.nanmean)
def nanmean(
    x: Numbers, axis: Numbers = None, *, keepdims: bool = False, dtype: Numbers = None
) -> Numbers:
    """The mean of what is a number."""
    bare = bare_numbers(x)
    there = ~np.isnan(bare) if bare.dtype.kind == "f" else np.ones(bare.shape, dtype=bool)
    return np.nansum(x, axis=axis, keepdims=keepdims) / np.sum(there, axis=axis, keepdims=keepdims)


# -- samples -------------------------------------------------------------------------------------


@composed(function=np.quantile)
def quantile(x: Numbers, q: Numbers, axis: Numbers = None, *, keepdims: bool = False) -> Numbers:
    """What a share q of the entries lies below, straight between two sorted neighbours."""
    rows = np.sort(gather_along(x if hasattr(x, "shape") else np.asarray(x), axis), axis=-1)
    n = np.shape(rows)[-1]
    at = (np.stack(q) if isinstance(q, list | tuple) else q) * (n - 1)
    here = bare_numbers(at)  # compared and never rounded, so that exact numbers stay exact
    low = np.sum(here[..., None] >= np.arange(1, n), axis=-1).astype(int)
    high = low + np.asarray(here > low).astype(int)
    y = rows[..., low] * (1 - (at - low)) + rows[..., high] * (at - low)
    y = np.moveaxis(y, range(-np.ndim(q), 0), range(np.ndim(q))) if np.ndim(q) else y
    if keepdims:
        lost = reduced_axes(np.shape(x), axis)
        kept = (1 if k in lost else m for k, m in enumerate(np.shape(x)))
        y = np.reshape(y, (*np.shape(q), *kept))
    return y


@composed(function=np.percentile)
def percentile(x: Numbers, q: Numbers, axis: Numbers = None, *, keepdims: bool = False) -> Numbers:
    """What q hundredths of the entries lie below."""
    share = np.stack(q) if isinstance(q, list | tuple) else q
    return quantile.meaning(x, share / 100, axis, keepdims=keepdims)


@composed(function=np.cov)
def cov(
    m: Numbers, y: Numbers = None, rowvar: bool = True, bias: bool = False, ddof: int | None = None
) -> Numbers:
    """Covariances of the rows (of the columns, if not `rowvar`), over n - 1."""

    def as_rows(v: Numbers) -> Numbers:
        return np.reshape(v, (1, -1)) if np.ndim(v) < 2 else v if rowvar else np.swapaxes(v, 0, 1)

    x = as_rows(m) if y is None else np.concatenate([as_rows(m), as_rows(y)], axis=0)
    less = (0 if bias else 1) if ddof is None else ddof
    centred = x - np.mean(x, axis=1, keepdims=True)
    return np.squeeze(centred @ np.swapaxes(centred, 0, 1) / (np.shape(x)[1] - less))


@composed(function=np.corrcoef)
def corrcoef(x: Numbers, y: Numbers = None, rowvar: bool = True) -> Numbers:
    """Correlations of the rows."""
    c = cov.meaning(x, y, rowvar)
    if np.ndim(c) == 0:
        return c / c
    root = np.sqrt(np.diagonal(c))
    return c / root[:, None] / root[None, :]


# -- integrals, slopes, and what stands between samples ------------------------------------------


@composed(function=np.trapezoid, school=("trapz",))
def trapezoid(y: Numbers, x: Numbers = None, dx: Numbers = 1.0, axis: int = -1) -> Numbers:
    """The integral of samples, straight between them."""
    n, rank = np.shape(y)[axis], np.ndim(y)
    right, left = y[along(y, axis, slice(1, n))], y[along(y, axis, slice(0, max(n - 1, 0)))]
    step = dx if x is None else np.diff(x, axis=axis if np.ndim(x) == rank else -1)
    if np.ndim(step) == 1:
        step = np.reshape(step, [-1 if k == axis % rank else 1 for k in range(rank)])
    return np.sum(step * (left + right) / 2, axis=axis)


def _slope(f: Numbers, h: Numbers, axis: int) -> Numbers:
    """Differences over both neighbours; at the ends over one of them."""
    f = np.moveaxis(f, axis, -1)
    if np.ndim(h) == 0:
        d, middle = [h, h], (f[..., 2:] - f[..., :-2]) / (2 * h)
    else:
        d = np.diff(h)
        low, high = d[:-1], d[1:]
        across = low**2 * f[..., 2:] + (high**2 - low**2) * f[..., 1:-1] - high**2 * f[..., :-2]
        middle = across / (low * high * (low + high))
    first, last = (f[..., 1] - f[..., 0]) / d[0], (f[..., -1] - f[..., -2]) / d[-1]
    slopes = np.concatenate([first[..., None], middle, last[..., None]], axis=-1)
    return np.moveaxis(slopes, -1, axis)


@composed(function=np.gradient)
def gradient(f: Numbers, *varargs: Numbers, axis: Numbers = None) -> Numbers:
    """Slopes of samples along one axis, or along each."""
    axes = range(np.ndim(f)) if axis is None else axis if isinstance(axis, tuple | list) else [axis]
    steps = list(varargs or [1.0]) * (len(axes) if len(varargs) < 2 else 1)
    found = [_slope(f, h, k) for h, k in zip(steps, axes, strict=True)]
    return found[0] if len(found) == 1 else tuple(found)


@composed(function=np.interp)
def interp(
    x: Numbers, xp: Numbers, fp: Numbers, left: Numbers = None, right: Numbers = None
) -> Numbers:
    """Straight between the samples (xp, fp); beyond them the first and the last, or as given."""
    xp, fp, x = (v if hasattr(v, "shape") else np.asarray(v) for v in (xp, fp, x))
    n = np.shape(xp)[0]
    here, ends = bare_numbers(x), bare_numbers(xp)
    at = np.clip(np.sum(here[..., None] >= ends, axis=-1).astype(int) - 1, 0, n - 2)
    low, high = xp[at], xp[at + 1]
    y = fp[at] + (fp[at + 1] - fp[at]) * ((x - low) / (high - low))
    y = np.where(here < ends[0], fp[0] if left is None else left, y)
    return np.where(here > ends[-1], fp[n - 1] if right is None else right, y)


@composed(function=np.convolve)
def convolve(a: Numbers, v: Numbers, mode: str = "full") -> Numbers:
    """The sums of products of one vector with the other, turned round and shifted."""
    if np.shape(a)[0] < np.shape(v)[0]:
        a, v = v, a
    n, m = np.shape(a)[0], np.shape(v)[0]
    padded = np.pad(a, (m - 1, m - 1))
    full = padded[np.arange(n + m - 1)[:, None] + np.arange(m)] @ np.flip(v)
    bounds = {"full": (0, n + m - 1), "same": ((m - 1) // 2, n), "valid": (m - 1, n - m + 1)}
    start, length = bounds[mode]
    return full[start : start + length]


@composed(function=np.correlate)
def correlate(a: Numbers, v: Numbers, mode: str = "valid") -> Numbers:
    """The sums of products of one vector with the other, shifted."""
    if np.shape(a)[0] >= np.shape(v)[0]:
        return convolve.meaning(a, np.flip(v), mode)
    if mode == "same":
        return np.flip(convolve.meaning(v, np.flip(a), "same"))
    return np.flip(convolve.meaning(np.flip(a), v, mode))


@composed(function=np.polyval)
def polyval(p: Numbers, x: Numbers) -> Numbers:
    """The polynomial with these coefficients, the highest power's first (Horner)."""
    y = 0 * x
    for k in range(np.shape(p)[0]):
        y = y * x + p[k]
    return y


@composed(function=np.vander)
def vander(x: Numbers, N: int | None = None, increasing: bool = False) -> Numbers:  # noqa: N803
    """The powers of each entry, from the highest down (NumPy's order) unless `increasing`."""
    n = np.shape(x)[-1] if N is None else N
    powers = [x**k if k else 0 * x + 1.0 for k in range(n)]
    if not powers:
        return x[..., None][..., :0]
    return np.stack(powers if increasing else powers[::-1], axis=-1)


@composed(function=np.linspace, words=BOUNDS)
def linspace(
    start: Numbers, stop: Numbers, num: int = 50, endpoint: bool = True, *,
    dtype: Numbers = None, axis: int = 0,
) -> Numbers:  # fmt: skip
    """So many numbers from start to stop, evenly."""
    steps = max(num - 1 if endpoint else num, 1)
    shape = np.broadcast_shapes(np.shape(start), np.shape(stop))
    part = np.reshape(np.arange(num) / steps, (-1, *(1,) * len(shape)))
    y = start * (1 - part) + stop * part
    return np.moveaxis(y, 0, axis) if axis else y


# -- arrays put together, or parts of them -------------------------------------------------------


@composed(function=np.lib.stride_tricks.sliding_window_view)
def sliding_window_view(
    x: Numbers, window_shape: Numbers, axis: Numbers = None, *,
    subok: bool = False, writeable: bool = False,
) -> Numbers:  # fmt: skip
    """Windows along axes, their places at the end; a copy, where NumPy gives a view."""
    sizes = window_shape if isinstance(window_shape, tuple | list) else (window_shape,)
    axes = range(np.ndim(x)) if axis is None else axis if isinstance(axis, tuple | list) else [axis]
    for size, k in zip(sizes, (k % np.ndim(x) for k in axes), strict=True):
        places = np.arange(np.shape(x)[k] - size + 1)[:, None] + np.arange(size)
        x = np.moveaxis(np.take(x, places, axis=k), k + 1, -1)
    return x


@composed(function=np.meshgrid)
def meshgrid(
    *vectors: Numbers, indexing: str = "xy", sparse: bool = False, copy: bool = True
) -> Numbers:
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


compound(
    np.append,
    lambda x, values, axis=None: np.concatenate([join(x), join(values)], axis=axis),
)


@composed(function=np.delete)
def delete(x: Numbers, obj: Numbers, axis: int | None = None) -> Numbers:
    """Without the entries at these places."""
    x, axis = (np.ravel(x), 0) if axis is None else (x, axis)
    return np.take(x, np.delete(np.arange(np.shape(x)[axis]), bare_numbers(obj)), axis=axis)


@composed(function=np.rollaxis)
def rollaxis(x: Numbers, axis: int, start: int = 0) -> Numbers:
    """An axis moved to stand before another one."""
    axis, start = axis % np.ndim(x), start + np.ndim(x) if start < 0 else start
    return np.moveaxis(x, axis, start - 1 if axis < start else start)
