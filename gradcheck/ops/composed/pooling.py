"""Pooling: the largest or the mean of each window of the last axes."""

from collections.abc import Callable
from operator import index
from typing import Any

import numpy as np

from gradcheck.ops.composed.picking import along_shape
from gradcheck.ops.composed.windows import Windows, between, each, stepped, taken
from gradcheck.ops.formula import compound
from gradcheck.ops.row import Example


def _ends(count: int) -> tuple[int, ...]:
    """Of windows over so many axes the axes of the places within them, as `taken` lays them."""
    return tuple(range(1 - 2 * count, 0, 2))


def _steps(kernel: tuple[int, ...], stride: Any) -> tuple[int, ...]:
    """How far it is from window to window: where nothing is said, they lie side by side."""
    return each(kernel if stride is None or stride == [] else stride, len(kernel))


def _windows(
    x: Any, kernel: tuple[int, ...], stride: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> list[Windows]:
    """The windows of a pool along each axis; raises RuntimeError where the padding is too wide."""
    count = len(kernel)
    pads, spread, steps = each(padding, count), each(dilation, count), _steps(kernel, stride)
    if any(2 * p > d * (k - 1) + 1 for p, k, d in zip(pads, kernel, spread, strict=True)):
        raise RuntimeError("pad should be at most half of effective kernel size")
    settings = zip(np.shape(x)[-count:], kernel, steps, pads, spread, strict=True)
    return [Windows.of(stepped(*how, ceil_mode), how[0]) for how in settings]


def _max_pool(count: int) -> Callable[..., Any]:
    """`max_poolNd` over so many axes, with PyTorch's arguments."""

    def max_pool(
        x: Any,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        if return_indices:
            raise TypeError("max_pool gives the values alone: leave return_indices out")
        windows = _windows(x, each(kernel_size, count), stride, padding, dilation, ceil_mode)
        return np.max(taken(x, windows, zeros=False), axis=_ends(count))

    return max_pool


def _avg_pool(count: int) -> Callable[..., Any]:
    """`avg_poolNd` over so many axes, with PyTorch's arguments."""

    def avg_pool(
        x: Any,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: Any = None,
    ) -> Any:
        kernel, pads = each(kernel_size, count), each(padding, count)
        windows = _windows(x, kernel, stride, padding, 1, ceil_mode)
        total = np.sum(taken(x, windows, zeros=True), axis=_ends(count))
        if divisor_override is not None:
            return total / divisor_override
        steps = _steps(kernel, stride)
        for k, w in enumerate(windows):
            n, begin = np.shape(x)[k - count], np.arange(len(w.places)) * steps[k] - pads[k]
            with_pads = np.minimum(begin + kernel[k], n + pads[k]) - begin
            counts = with_pads if count_include_pad else np.sum(w.inside, axis=1)
            total = total / np.reshape(counts * 1.0, along_shape(count, k))
        return total

    return avg_pool


def _adaptive(count: int, how: str) -> Callable[..., Any]:
    """`adaptive_max_poolNd` or `adaptive_avg_poolNd` over so many axes: the sizes are said."""

    def adaptive_pool(x: Any, output_size: Any, return_indices: bool = False) -> Any:
        if return_indices:
            raise TypeError("adaptive pooling gives the values alone: leave return_indices out")
        given = output_size if isinstance(output_size, tuple | list) else (output_size,) * count
        sizes = np.shape(x)[-count:]
        outs = [n if out is None else index(out) for n, out in zip(sizes, given, strict=True)]
        windows = [between(n, out) for n, out in zip(sizes, outs, strict=True)]
        found = taken(x, windows, zeros=how == "avg")
        if how == "max":
            return np.max(found, axis=_ends(count))
        total = np.sum(found, axis=_ends(count))
        for k, w in enumerate(windows):
            total = total / np.reshape(np.sum(w.inside, axis=1) * 1.0, along_shape(count, k))
        return total

    return adaptive_pool


for _n in (1, 2, 3):
    _a = {"a": (1, 1, *(4,) * _n)}
    for _how, _pool in (("max", _max_pool), ("avg", _avg_pool)):
        compound(
            None,
            _pool(_n),
            f"{_how}_pool{_n}d",
            size="pooled",
            watches=("x",),
            example=Example(f"{_how}_pool{_n}d(a, 2)", _a),
        )
        compound(
            None,
            _adaptive(_n, _how),
            f"adaptive_{_how}_pool{_n}d",
            size="pooled",
            watches=("x",),
            example=Example(f"adaptive_{_how}_pool{_n}d(a, 3)", _a),
        )
