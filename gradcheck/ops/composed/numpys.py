"""NumPy's everyday functions that are formulas of the rows."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcheck.ops.composed.picking import along, seen
from gradcheck.ops.formula import composed
from gradcheck.ops.indexing import setitem
from gradcheck.ops.row import BOUNDS, Example, joined

VECTOR = {"a": (4,), "b": (4,)}


# -- integrals, slopes, and what stands between samples --------------------------------------------


def _steps(y: Any, x: Any, dx: Any, axis: int) -> Any:
    """The distances of neighbouring samples along an axis."""
    if x is None:
        return dx
    d = np.diff(x, axis=axis if np.ndim(x) == np.ndim(y) else -1)
    return (
        d
        if np.ndim(d) != 1
        else np.reshape(d, [-1 if k == axis % np.ndim(y) else 1 for k in range(np.ndim(y))])
    )


@composed(
    function=np.trapezoid, school=("trapz",), example=Example("trapezoid(a, b * b) * 2", VECTOR)
)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """The integral of samples, straight between them."""
    n = np.shape(y)[axis]
    right, left = y[along(y, axis, slice(1, n))], y[along(y, axis, slice(0, max(n - 1, 0)))]
    return np.sum(_steps(y, x, dx, axis) * (left + right) / 2, axis=axis)


@composed(example=Example("cumulative_trapezoid(a, b * b) * 2", VECTOR))
def cumulative_trapezoid(y: Any, x: Any = None, *, dx: Any = 1.0, axis: int = -1) -> Any:
    """The integral up to each sample, from the second on."""
    n = np.shape(y)[axis]
    right, left = y[along(y, axis, slice(1, n))], y[along(y, axis, slice(0, max(n - 1, 0)))]
    return np.cumsum(_steps(y, x, dx, axis) * (left + right) / 2, axis=axis)


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


@composed(function=np.gradient, example=Example("gradient(a * b) * a", VECTOR))
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Slopes of samples along one axis, or along each."""
    axes = (
        range(np.ndim(f)) if axis is None else axis if isinstance(axis, tuple | list) else (axis,)
    )
    axes = list(axes)
    steps = (
        [1.0] * len(axes)
        if not varargs
        else list(varargs) * (len(axes) if len(varargs) == 1 else 1)
    )
    found = [_slope(f, h, k, edge_order) for h, k in zip(steps, axes, strict=True)]
    return found[0] if len(found) == 1 else tuple(found)


@composed(
    size="compared",
    function=np.interp,
    example=Example("interp(a, g, b) * a", VECTOR | {"g": [-1.5, -0.5, 0.5, 1.5]}),
)
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


@composed(function=np.convolve, size="outer", example=Example("convolve(a, b, 'same') * a", VECTOR))
def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    """The sums of products of one vector with the other, turned round and shifted."""
    if np.shape(a)[0] < np.shape(v)[0]:
        a, v = v, a
    n, m = np.shape(a)[0], np.shape(v)[0]
    padded = np.pad(a, (m - 1, m - 1))
    windows = padded[np.arange(n + m - 1)[:, None] + np.arange(m)]
    full = windows @ np.flip(v)
    if mode == "full":
        return full
    start, length = {"same": ((m - 1) // 2, n), "valid": (m - 1, n - m + 1)}[mode]
    return full[start : start + length]


@composed(
    function=np.correlate, size="outer", example=Example("correlate(a, b, 'full')[1:5] * a", VECTOR)
)
def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    """The sums of products of one vector with the other, shifted."""
    if np.shape(a)[0] < np.shape(v)[0]:
        return (
            np.flip(convolve.meaning(np.flip(a), v, mode))
            if mode != "same"
            else np.flip(convolve.meaning(v, np.flip(a), "same"))
        )
    return convolve.meaning(a, np.flip(v), mode)


@composed(size="stepwise", function=np.polyval, example=Example("polyval(a, b) * b", VECTOR))
def polyval(p: Any, x: Any) -> Any:
    """The polynomial with these coefficients, the highest power's first (Horner)."""
    y = 0 * x
    for k in range(np.shape(p)[0]):
        y = y * x + p[k]
    return y


# -- arrays put together ---------------------------------------------------------------------------


@composed(
    function=np.meshgrid,
    size="crossed",
    example=Example("meshgrid(a, b)[0] * c", {"a": (2,), "b": (3,), "c": (3, 2)}),
)
def meshgrid(*vectors: Any, indexing: str = "xy", sparse: bool = False, copy: bool = True) -> Any:
    """Each vector along an axis of its own; NumPy's "xy" lets the first lie along the second."""
    if len(vectors) == 1 and isinstance(vectors[0], list | tuple):
        vectors = tuple(vectors[0])
    rank = len(vectors)
    laid = [
        np.reshape(v, tuple(-1 if k == i else 1 for k in range(rank)))
        for i, v in enumerate(vectors)
    ]
    if indexing == "xy" and rank > 1:
        laid = [np.swapaxes(v, 0, 1) for v in laid]
    shape = np.broadcast_shapes(*map(np.shape, laid))
    return tuple(laid if sparse else [np.broadcast_to(v, shape) for v in laid])


@composed(function=np.append, size="joined", example=Example("append(a, b) * 2", VECTOR))
def append(x: Any, values: Any, axis: int | None = None) -> Any:
    """The values behind x; of rows, where no axis is said."""
    x, values = joined(x), joined(values)
    if axis is None:
        return np.concatenate([np.ravel(x), np.ravel(values)])
    return np.concatenate([x, values], axis=axis)


def _of_line(x: Any, axis: int | None) -> tuple[Any, int]:
    """An array and an axis; of no axis all entries in a row."""
    return (np.ravel(x), 0) if axis is None else (x, axis)


@composed(
    function=np.delete, size="beside", example=Example("delete(a, 1) * b", {"a": (3,), "b": (2,)})
)
def delete(x: Any, obj: Any, axis: int | None = None) -> Any:
    """Without the entries at these places."""
    x, axis = _of_line(x, axis)
    return np.take(x, np.delete(np.arange(np.shape(x)[axis]), seen(obj)), axis=axis)


@composed(
    function=np.compress,
    size="beside",
    example=Example("compress([True, False, True], a) * b", {"a": (3,), "b": (2,)}),
)
def compress(condition: Any, x: Any, axis: int | None = None) -> Any:
    """The entries where a condition holds along an axis."""
    x, axis = _of_line(x, axis)
    return np.take(x, np.flatnonzero(seen(condition)), axis=axis)


@composed(function=np.ediff1d, size="joined", example=Example("ediff1d(a) * b[1:]", VECTOR))
def ediff1d(x: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """The differences of all entries in a row."""
    parts = [np.ravel(p) for p in (to_begin, np.diff(np.ravel(x)), to_end) if p is not None]
    return np.concatenate(parts) if len(parts) > 1 else parts[0]


@composed(function=np.rollaxis, example=Example("rollaxis(a, 1) * b", {"a": (2, 3), "b": (3, 2)}))
def rollaxis(x: Any, axis: int, start: int = 0) -> Any:
    """An axis moved to stand before another one."""
    axis, start = axis % np.ndim(x), start + np.ndim(x) if start < 0 else start
    return np.moveaxis(x, axis, start - 1 if axis < start else start)


@composed(function=np.partition, example=Example("partition(a, 1) * b", VECTOR))
def partition(x: Any, kth: Any, axis: int | None = -1) -> Any:
    """Sorted: one of the orders that NumPy's `partition` may give; its own places are followed."""
    if axis is None:
        x, axis = np.ravel(x), -1
    return np.take_along_axis(x, np.argpartition(seen(x), kth, axis=axis), axis)


@composed(
    function=np.piecewise, example=Example("piecewise(a, [a > 0], [square, 0.5]) * b", VECTOR)
)
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
        if not np.any(condition):
            continue
        piece = function(x[condition], *args, **kw) if callable(function) else function
        y = setitem(y, piece, condition)
    return y


@composed(
    function=np.linspace,
    words=BOUNDS,
    size="spaced",
    example=Example("linspace(a, b, 3) * 2", {"a": (), "b": ()}),
)
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


@composed(function=np.imag, example=Example("imag(a) + b", VECTOR))
def imag(x: Any) -> Any:
    """The imaginary part of a real number."""
    return 0.0 * x


@composed(watches=("x",), function=np.angle, example=Example("angle(a) * b", VECTOR))
def angle(x: Any, deg: bool = False) -> Any:
    """The angle of a real number: 0, or pi where it is negative."""
    half = 180.0 if deg else np.pi
    return 0.0 * x + np.where(seen(x) < 0, half, 0.0)
