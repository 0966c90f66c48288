"""NumPy's everyday functions of samples that are formulas of the rows."""

import numpy as np

from gradcheck.ops.reductions import gather_along, keep_axes, max, min
from gradcheck.ops.row import BOUNDS, formula
from gradcheck.ops.shapes import along, as_tuple, bare_numbers, is_number, lay_along
from gradcheck.values import Numbers

formula(np.imag)(lambda x: 0.0 * x)
formula(np.angle)(lambda x, deg=False: 0.0 * x + (bare_numbers(x) < 0) * (180.0 if deg else np.pi))

# -- means, medians, and what lies between ---------------------------------------------------------


def _gather_known(x: Numbers, axis: Numbers) -> Numbers:
    """The reduced axes as the last one; where something in a line is no number, nothing is."""
    rows = gather_along(x, axis)
    known = is_number(rows).all(axis=-1, keepdims=True)
    return rows if known.all() else np.where(known, rows, np.nan)


@formula(np.nansum)
def nansum(
    x: Numbers, axis: Numbers = None, *, keepdims: bool = False, dtype: Numbers = None
) -> Numbers:
    there = is_number(x)
    return np.sum(x if there.all() else np.where(there, x, 0.0), axis=axis, keepdims=keepdims)


formula(np.nanmean)(
    lambda x, axis=None, *, keepdims=False, dtype=None: (
        np.nansum(x, axis=axis, keepdims=keepdims)
        / np.sum(is_number(x), axis=axis, keepdims=keepdims)
    )
)
formula(np.ptp)(
    lambda x, axis=None, *, keepdims=False: (
        max(x, axis=axis, keepdims=keepdims) - min(x, axis=axis, keepdims=keepdims)
    )
)


@formula(np.average)
def average(
    x: Numbers, axis: Numbers = None, weights: Numbers = None, *, keepdims: bool = False
) -> Numbers:
    if weights is None:
        return np.mean(x, axis=axis, keepdims=keepdims)
    if np.ndim(weights) == 1 and np.ndim(x) > 1 and isinstance(axis, int):
        weights = lay_along(weights, np.ndim(x), axis)
    total = np.sum(weights * np.ones(np.shape(x)), axis=axis, keepdims=keepdims)
    return np.sum(weights * x, axis=axis, keepdims=keepdims) / total


@formula(np.quantile)
def quantile(x: Numbers, q: Numbers, axis: Numbers = None, *, keepdims: bool = False) -> Numbers:
    x = x if hasattr(x, "shape") else np.asarray(x)
    rows = np.sort(_gather_known(x, axis), axis=-1)
    n = np.shape(rows)[-1]
    at = np.multiply(q, n - 1)
    here = bare_numbers(at)  # compared and never rounded, so that exact numbers stay exact
    low = np.sum(here[..., None] >= np.arange(1, n), axis=-1).astype(int)
    high = low + np.asarray(here > low).astype(int)
    y = rows[..., low] * (1 - (at - low)) + rows[..., high] * (at - low)
    y = np.moveaxis(y, range(-np.ndim(q), 0), range(np.ndim(q))) if np.ndim(q) else y
    return np.reshape(y, (*np.shape(q), *keep_axes(np.shape(x), axis))) if keepdims else y


formula(np.median)(
    lambda x, axis=None, *, keepdims=False: quantile.meaning(x, 0.5, axis, keepdims=keepdims)
)
formula(np.percentile)(
    lambda x, q, axis=None, *, keepdims=False: quantile.meaning(
        x, np.divide(q, 100), axis, keepdims=keepdims
    )
)


@formula(np.cov)
def cov(
    m: Numbers, y: Numbers = None, rowvar: bool = True, bias: bool = False, ddof: int | None = None
) -> Numbers:

    def as_rows(v: Numbers) -> Numbers:
        return np.reshape(v, (1, -1)) if np.ndim(v) < 2 else v if rowvar else np.swapaxes(v, 0, 1)

    x = as_rows(m) if y is None else np.concatenate([as_rows(m), as_rows(y)], axis=0)
    less = (0 if bias else 1) if ddof is None else ddof
    centred = x - np.mean(x, axis=1, keepdims=True)
    freedom = np.shape(x)[1] - less if np.shape(x)[1] > less else 0
    return np.squeeze(centred @ np.swapaxes(centred, 0, 1) / freedom)


@formula(np.corrcoef)
def corrcoef(x: Numbers, y: Numbers = None, rowvar: bool = True) -> Numbers:
    c = cov.meaning(x, y, rowvar)
    if np.ndim(c) == 0:
        return c / c
    root = np.sqrt(np.diagonal(c))
    return c / root[:, None] / root[None, :]


# -- integrals, slopes, and what stands between samples ------------------------------------------


@formula(np.trapezoid, school=("trapz",))
def trapezoid(y: Numbers, x: Numbers = None, dx: Numbers = 1.0, axis: int = -1) -> Numbers:
    n, rank = np.shape(y)[axis], np.ndim(y)
    right, left = y[along(y, axis, slice(1, n))], y[along(y, axis, slice(0, max(n - 1, 0)))]
    step = dx if x is None else np.diff(x, axis=axis if np.ndim(x) == rank else -1)
    step = lay_along(step, rank, axis) if np.ndim(step) == 1 else step
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


@formula(np.gradient)
def gradient(f: Numbers, *varargs: Numbers, axis: Numbers = None) -> Numbers:
    axes = range(np.ndim(f)) if axis is None else as_tuple(axis)
    steps = list(varargs or [1.0]) * (len(axes) if len(varargs) < 2 else 1)
    found = [_slope(f, h, k) for h, k in zip(steps, axes, strict=True)]
    return found[0] if len(found) == 1 else tuple(found)


@formula(np.interp)
def interp(
    x: Numbers, xp: Numbers, fp: Numbers, left: Numbers = None, right: Numbers = None
) -> Numbers:
    xp, fp, x = (v if hasattr(v, "shape") else np.asarray(v) for v in (xp, fp, x))
    n = np.shape(xp)[0]
    here, ends = bare_numbers(x), bare_numbers(xp)
    at = np.clip(np.sum(here[..., None] >= ends, axis=-1).astype(int) - 1, 0, n - 2)
    low, high = xp[at], xp[at + 1]
    y = fp[at] + (fp[at + 1] - fp[at]) * ((x - low) / (high - low))
    y = np.where(here < ends[0], fp[0] if left is None else left, y)
    return np.where(here > ends[-1], fp[n - 1] if right is None else right, y)


@formula(np.convolve)
def convolve(a: Numbers, v: Numbers, mode: str = "full") -> Numbers:
    if np.shape(a)[0] < np.shape(v)[0]:
        a, v = v, a
    n, m = np.shape(a)[0], np.shape(v)[0]
    full = np.lib.stride_tricks.sliding_window_view(np.pad(a, (m - 1, m - 1)), m) @ np.flip(v)
    bounds = {"full": (0, n + m - 1), "same": ((m - 1) // 2, n), "valid": (m - 1, n - m + 1)}
    start, length = bounds[mode]
    return full[start : start + length]


@formula(np.correlate)
def correlate(a: Numbers, v: Numbers, mode: str = "valid") -> Numbers:
    if np.shape(a)[0] >= np.shape(v)[0]:
        return convolve.meaning(a, np.flip(v), mode)
    return np.flip(convolve.meaning(v, np.flip(a), mode))


@formula(np.polyval)
def polyval(p: Numbers, x: Numbers) -> Numbers:
    y = 0 * x
    for k in range(np.shape(p)[0]):
        y = y * x + p[k]
    return y


@formula(np.vander)
def vander(x: Numbers, N: int | None = None, increasing: bool = False) -> Numbers:  # noqa: N803
    powers = [x**k if k else 0 * x + 1 for k in range(np.shape(x)[-1] if N is None else N)]
    if not powers:
        return x[..., None][..., :0]
    return np.stack(powers if increasing else powers[::-1], axis=-1)


@formula(np.linspace, words=BOUNDS)
def linspace(
    start: Numbers, stop: Numbers, num: int = 50, endpoint: bool = True, *,
    dtype: Numbers = None, axis: int = 0,
) -> Numbers:  # fmt: skip
    rank = np.ndim(start) if np.ndim(start) > np.ndim(stop) else np.ndim(stop)
    part = lay_along(np.arange(num) / (num - endpoint or 1), rank + 1, 0)
    y = start * (1 - part) + stop * part
    return np.moveaxis(y, 0, axis) if axis else y
