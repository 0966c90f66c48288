"""What reductions share: which axes are gone, and how a cotangent is spread over them again."""

from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

SMALL = 1_000_000
"""The most entries of an array that is n times as large as the gradient it is made for."""

Axis = int | tuple[int, ...] | None


def gone(shape: tuple[int, ...], axis: Axis) -> tuple[int, ...]:
    """The axes that a reduction takes away, counted from the front."""
    if axis is None or not shape:  # a single number is reduced along its axis 0 or -1 too
        return tuple(range(len(shape)))
    return tuple(k % len(shape) for k in (axis if isinstance(axis, tuple | list) else (axis,)))


def spread(g: Any, shape: tuple[int, ...], axis: Axis, keepdims: bool) -> Any:
    """A reduction's g (or y) with the lost axes as ones, so that it broadcasts against `shape`."""
    if keepdims or axis is None or not shape:
        return g
    lost = gone(shape, axis)
    return np.reshape(g, tuple(1 if k in lost else n for k, n in enumerate(shape)))


def repeated(g: Any, shape: tuple[int, ...]) -> Any:
    """What broadcasts against a shape, in this shape."""
    if type(g) is np.float64:
        if not shape:
            return g
        full = np.empty(shape)
        full.fill(g)
        return full
    if isinstance(g, np.ndarray):
        return g * _ones(shape)  # much faster than broadcast_to, and the same to the last bit
    return np.broadcast_to(g, shape)


@lru_cache(maxsize=4096)
def _ones(shape: tuple[int, ...]) -> Any:
    return np.broadcast_to(1.0, shape)


def count(shape: tuple[int, ...], axis: Axis) -> float:
    """How many entries go into each value."""
    return float(prod(shape) if axis is None else prod(shape[k] for k in gone(shape, axis)))


def shares(y: Any, x: Any, axis: Axis, keepdims: bool) -> Any:
    """An equal share for every entry that reaches the extreme y: PyTorch's convention for amax."""
    tied = np.equal(x, spread(y, x.shape, axis, keepdims)) * 1.0
    return tied / np.sum(tied, axis=axis, keepdims=True)


def gathered(x: Any, axis: Axis) -> Any:
    """The reduced axes moved to the end and made one."""
    lost = gone(x.shape, axis)
    kept = tuple(n for k, n in enumerate(x.shape) if k not in lost)
    last = tuple(range(len(kept), len(x.shape)))
    return np.reshape(np.moveaxis(x, lost, last), (*kept, int(count(x.shape, axis))))


def scattered(v: Any, shape: tuple[int, ...], axis: Axis) -> Any:
    """What `gathered` did, undone: v in the given shape."""
    lost = gone(shape, axis)
    kept = tuple(n for k, n in enumerate(shape) if k not in lost)
    last = tuple(range(len(kept), len(shape)))
    return np.moveaxis(np.reshape(v, (*kept, *(shape[k] for k in lost))), last, lost)


def one_replaced(x: Any) -> Any:
    """For each entry of the last axis, all of them with that one replaced by 1."""
    return np.where(np.eye(x.shape[-1], dtype=bool), 1.0, np.expand_dims(x, -2))


def squared_fits(x: Any) -> bool:
    """Whether every entry of the last axis may be laid beside all of them."""
    return bool(x.size * x.shape[-1] <= SMALL)


def before_each(x: Any) -> Any:
    """For each entry of the last axis, the product of those before it."""
    first = np.ones((*x.shape[:-1], 1))
    return np.concatenate([first, np.cumprod(x[..., :-1], axis=-1)], axis=-1)
