"""Windows along axes, taken by their places, and convolutions, which are sums over them.

A window is a row of places on one axis. Outside of the array there is nothing: a sum takes zeros
there, a maximum looks at a place that the window has anyway.
"""

from collections.abc import Callable, Sequence
from operator import index
from typing import Any, NamedTuple

import numpy as np

from gradcheck.ops.composed.picking import along
from gradcheck.ops.formula import composed, compound
from gradcheck.ops.row import Example


class Windows(NamedTuple):
    """The places of each window on an axis (outside clipped into the window), and which are in."""

    places: Any
    inside: Any

    @classmethod
    def of(cls, places: Any, length: int) -> "Windows":
        """Windows by their places, some of which may lie outside of the axis."""
        inside = (places >= 0) & (places < length)
        stand_in = np.max(np.where(inside, places, 0), axis=1, keepdims=True)
        return cls(np.where(inside, places, stand_in), inside)


def each(value: Any, count: int) -> tuple[int, ...]:
    """A setting for each of so many axes: one number, or one an axis."""
    given = tuple(value) if isinstance(value, tuple | list) else (value,)
    return tuple(map(index, given * count if len(given) == 1 else given))


def stepped(
    length: int, size: int, stride: int, pad: int, dilation: int, ceil: bool = False
) -> Any:
    """The places of windows that step along an axis, -1 and less (or too large) where padded."""
    room = length + 2 * pad - dilation * (size - 1) - 1
    count = (-(-room // stride) if ceil else room // stride) + 1
    if ceil and (count - 1) * stride >= length + pad:
        count -= 1  # PyTorch: no window begins in the padding on the right
    if count < 1:
        raise RuntimeError(f"windows of {size} do not fit into an axis of {length}")
    return np.arange(count)[:, None] * stride - pad + dilation * np.arange(size)


def between(length: int, out: int) -> Windows:
    """Windows from floor(i n / m) to ceil((i + 1) n / m), for each i of m."""
    i = np.arange(out)
    start, stop = i * length // out, -(-(i + 1) * length // out)
    places = start[:, None] + np.arange(max(np.max(stop - start, initial=1), 1))
    return Windows.of(np.where(places < stop[:, None], places, length), length)


def taken(x: Any, windows: Sequence[Windows], zeros: bool) -> Any:
    """X with each of its last axes as two: which window, which place in it."""
    first = np.ndim(x) - len(windows)
    for k, each_axis in enumerate(windows):
        axis = first + 2 * k
        x = np.take(x, each_axis.places, axis=axis)
        if zeros and not np.all(each_axis.inside):
            shape = (*each_axis.places.shape, *(1,) * (np.ndim(x) - axis - 2))
            x = x * np.reshape(each_axis.inside * 1.0, shape)
    return x


def _padding(padding: Any, kernel: Sequence[int], dilation: Sequence[int]) -> list[tuple[int, int]]:
    """How many zeros stand before and after each axis; "same" keeps the length."""
    if padding == "valid":
        return [(0, 0)] * len(kernel)
    if padding == "same":
        lost = [d * (k - 1) for k, d in zip(kernel, dilation, strict=True)]
        return [(n // 2, n - n // 2) for n in lost]
    return [(p, p) for p in each(padding, len(kernel))]


def _convolved(
    x: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
    count: int,
) -> Any:
    """The sum over channels and windows, as one product of matrices for each group."""
    single = np.ndim(x) == count + 1
    x = x[None] if single else x
    kernel = np.shape(weight)[2:]
    stride, dilation = each(stride, count), each(dilation, count)
    around = _padding(padding, kernel, dilation)
    if any(map(any, around)):
        x = np.pad(x, [(0, 0), (0, 0), *around])
    windows = [
        Windows.of(stepped(n, k, s, 0, d), n)
        for n, k, s, d in zip(np.shape(x)[2:], kernel, stride, dilation, strict=True)
    ]
    found = taken(x, windows, zeros=False)
    spots = tuple(2 + 2 * k for k in range(count))
    inner = tuple(3 + 2 * k for k in range(count))
    columns = np.transpose(found, (0, 1, *inner, *spots))
    n, channels, sizes = np.shape(x)[0], np.shape(x)[1], tuple(np.shape(found)[k] for k in spots)
    if channels != groups * np.shape(weight)[1]:
        raise RuntimeError(
            f"a weight of shape {list(np.shape(weight))} and {groups} groups expect "
            f"{groups * np.shape(weight)[1]} channels, the input has {channels}"
        )
    columns = np.reshape(
        columns, (n, groups, channels // groups * int(np.prod(kernel)), int(np.prod(sizes)))
    )
    filters = np.reshape(weight, (groups, np.shape(weight)[0] // groups, np.shape(columns)[2]))
    y = np.reshape(filters @ columns, (n, np.shape(weight)[0], *sizes))
    if bias is not None:
        y = y + np.reshape(bias, (-1, *(1,) * count))
    return y[0] if single else y


def _convolution(count: int) -> Callable[..., Any]:
    def conv(
        x: Any,
        weight: Any,
        bias: Any = None,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Any:
        return _convolved(x, weight, bias, stride, padding, dilation, groups, count)

    conv.__doc__ = f"PyTorch's convolution over {count} axes: no kernel is turned round."
    return conv


def _spread(x: Any, axis: int, stride: int) -> Any:
    """Zeros between the entries of an axis."""
    if stride == 1:
        return x
    around = [(0, 0)] * np.ndim(x) + [(0, stride - 1)]
    wide = np.moveaxis(np.pad(np.moveaxis(x, axis, -1)[..., None], around), -3, -3)
    shape = np.shape(wide)
    wide = np.reshape(wide, (*shape[:-2], shape[-2] * stride))[
        ..., : shape[-2] * stride - stride + 1
    ]
    return np.moveaxis(wide, -1, axis)


def _transposed(count: int) -> Callable[..., Any]:
    def conv_transpose(
        x: Any,
        weight: Any,
        bias: Any = None,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        dilation: Any = 1,
    ) -> Any:
        single = np.ndim(x) == count + 1
        x = x[None] if single else x
        kernel = np.shape(weight)[2:]
        steps, wide = each(stride, count), each(dilation, count)
        for k, step in enumerate(steps):
            x = _spread(x, 2 + k, step)
        around = [
            (d * (k - 1) - p, d * (k - 1) - p + extra)
            for k, d, p, extra in zip(
                kernel, wide, each(padding, count), each(output_padding, count), strict=True
            )
        ]
        x = np.pad(x, [(0, 0), (0, 0), *((max(a, 0), max(b, 0)) for a, b in around)])
        for k, (a, b) in enumerate(around):  # padding beyond the kernel cuts off
            x = x[along(x, 2 + k, slice(max(-a, 0), np.shape(x)[2 + k] - max(-b, 0)))]
        channels, filters = np.shape(weight)[:2]
        w = np.reshape(weight, (groups, channels // groups, filters, *kernel))
        w = np.reshape(np.swapaxes(w, 1, 2), (groups * filters, channels // groups, *kernel))
        w = np.flip(w, axis=tuple(range(2, 2 + count)))
        y = _convolved(x, w, bias, 1, 0, wide, groups, count)
        return y[0] if single else y

    conv_transpose.__doc__ = (
        f"The transpose of the convolution over {count} axes, as a function of its input."
    )
    return conv_transpose


for _n in (1, 2, 3):
    _shape, _kernel = (1, 2, *(3,) * _n), (1, 2, *(2,) * _n)
    compound(
        None,
        _convolution(_n),
        f"conv{_n}d",
        size="convolved",
        watches=("x", "weight"),
        example=Example(
            f"conv{_n}d(a, w, b, padding=1, stride=2)", {"a": _shape, "w": _kernel, "b": (1,)}
        ),
    )
    compound(
        None,
        _transposed(_n),
        f"conv_transpose{_n}d",
        size="convolved",
        watches=("x", "weight"),
        example=Example(
            f"conv_transpose{_n}d(a, w, stride=2)",
            {"a": (1, 2, *(2,) * _n), "w": (2, 1, *(2,) * _n)},
        ),
    )


@composed(size="columns", example=Example("im2col(a, 2)", {"a": (1, 1, 3, 3)}))
def im2col(x: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    """PyTorch's `F.unfold`: each window of the last two axes as a column."""
    single = np.ndim(x) == 3
    x = x[None] if single else x
    settings = (each(v, 2) for v in (kernel_size, stride, padding, dilation))
    windows = [
        Windows.of(stepped(*how), how[0]) for how in zip(np.shape(x)[-2:], *settings, strict=True)
    ]
    found = taken(x, windows, zeros=True)
    n, c, h, i, w, j = np.shape(found)
    columns = np.reshape(np.transpose(found, (0, 1, 3, 5, 2, 4)), (n, c * i * j, h * w))
    return columns[0] if single else columns


@composed(size="windowed", example=Example("unfold(a, 0, 2, 1) * b", {"a": (3,), "b": (2, 2)}))
def unfold(x: Any, dimension: int, size: int, step: int) -> Any:
    """`x.unfold(dim, size, step)`: windows along an axis, their places at the end."""
    if np.ndim(x) == 0:
        return np.reshape(x, (1,))[:size]
    found = np.take(x, stepped(np.shape(x)[dimension], size, step, 0, 1), axis=dimension)
    return np.moveaxis(found, dimension % np.ndim(x) + 1, -1)


@composed(
    function=np.lib.stride_tricks.sliding_window_view,
    size="windowed",
    example=Example("sliding_window_view(a, 2) * b", {"a": (3,), "b": (2, 2)}),
)
def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Any:
    """Windows along axes, their places at the end; a copy, where NumPy gives a view."""
    sizes = tuple(window_shape) if isinstance(window_shape, tuple | list) else (window_shape,)
    axes = (
        range(np.ndim(x)) if axis is None else axis if isinstance(axis, tuple | list) else (axis,)
    )
    for size, axis_ in zip(sizes, axes, strict=True):
        k = axis_ % np.ndim(x)
        n = np.shape(x)[k]
        x = np.moveaxis(
            np.take(x, np.arange(n - size + 1)[:, None] + np.arange(size), axis=k), k + 1, -1
        )
    return x
