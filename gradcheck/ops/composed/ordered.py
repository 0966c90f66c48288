"""Entries in order, the largest and the smallest, and where they stood: PyTorch's pairs."""

from typing import Any, NamedTuple

import numpy as np

from gradcheck.ops.composed.picking import along, along_shape, like, lined, seen
from gradcheck.ops.formula import composed
from gradcheck.ops.row import Example, handler_of
from gradcheck.ops.selection import maximum, minimum

THREE = {"a": (3,), "b": (3,)}


class Picked(NamedTuple):
    """Values, and the places they stood at."""

    values: Any
    indices: Any


def _at(x: Any, places: Any, axis: int, keepdims: bool) -> Picked:
    """The entries at one place of each line, and those places."""
    values = np.take_along_axis(lined(x), places, axis)
    if keepdims or np.ndim(x) == 0:
        return Picked(like(values, x), like(places, x))
    return Picked(np.squeeze(values, axis), np.squeeze(places, axis))


@composed(size="beside", example=Example("max_along(a, 0)[0] * b[0]", THREE))
def max_along(x: Any, axis: Any, keepdims: bool = False) -> Any:
    """PyTorch's `max(x, dim)`: the first largest of each line, and its place; `max(x, other)`."""
    if handler_of((axis,)) or np.ndim(axis):
        return maximum(x, axis)
    places = np.expand_dims(np.argmax(seen(lined(x)), axis=axis), axis)
    return _at(x, places, axis, keepdims)


@composed(size="beside", example=Example("min_along(a, 0)[0] * b[0]", THREE))
def min_along(x: Any, axis: Any, keepdims: bool = False) -> Any:
    """PyTorch's `min(x, dim)`: the first smallest of each line, and its place; `min(x, other)`."""
    if handler_of((axis,)) or np.ndim(axis):
        return minimum(x, axis)
    places = np.expand_dims(np.argmin(seen(lined(x)), axis=axis), axis)
    return _at(x, places, axis, keepdims)


@composed(example=Example("sort_along(a)[0] * b", THREE))
def sort_along(x: Any, axis: int = -1, descending: bool = False, stable: bool = False) -> Picked:
    """PyTorch's `sort(x, dim)`: the entries of each line in order, and their places."""
    full = lined(x)
    order = np.argsort(-seen(full) if descending else seen(full), axis=axis, kind="stable")
    return Picked(like(np.take_along_axis(full, order, axis), x), like(order, x))


@composed(example=Example("median_along(a, 0)[0] * b[0]", THREE))
def median_along(x: Any, axis: int | None = None, keepdims: bool = False) -> Any:
    """PyTorch's `median(x, dim)`: the lower of two middle entries, and its place.

    Of all entries it is the lower middle one, and those that equal it share its gradient.
    """
    if axis is None:
        bare = np.ravel(seen(x))
        same = bare == np.sort(bare)[(len(bare) - 1) // 2]
        return np.sum(np.where(same, np.ravel(x), 0.0)) / np.sum(same)
    full = lined(x)
    order = np.argsort(seen(full), axis=axis, kind="stable")
    middle = (np.shape(full)[axis] - 1) // 2
    return _at(x, order[along(full, axis, slice(middle, middle + 1))], axis, keepdims)


@composed(size="beside", example=Example("topk(a, 2)[0] * b", {"a": (3,), "b": (2,)}))
def topk(x: Any, k: int, axis: int = -1, largest: bool = True, sorted: bool = True) -> Picked:
    """`topk(x, k, dim)`: the k largest along an axis, from the largest on, and their places."""
    full = lined(x)
    order = np.argsort(full, axis=axis, kind="stable")
    order = np.flip(order, axis) if largest else order
    places = order[along(full, axis, slice(k))]
    return Picked(
        like(np.take_along_axis(full, places, axis), x) if k else full[..., :0], like(places, x)
    )


@composed(size="beside", example=Example("kthvalue(a, 2)[0] * b", {"a": (3,), "b": ()}))
def kthvalue(x: Any, k: int, axis: int = -1, keepdims: bool = False) -> Picked:
    """`kthvalue(x, k, dim)`: the k-th smallest along an axis, and its place."""
    full = lined(x)
    order = np.argsort(full, axis=axis, kind="stable")
    places = order[along(full, axis, slice(k - 1, k))]
    values = np.take_along_axis(full, places, axis)
    if keepdims:
        return Picked(like(values, x), like(places, x))
    return Picked(np.squeeze(values, axis), np.squeeze(places, axis))


@composed(example=Example("msort(a) * b", {"a": (3,), "b": (3,)}))
def msort(x: Any) -> Any:
    """`msort(x)`: sorted along the first axis."""
    return np.sort(x, axis=0) if np.ndim(x) else x


def _running(x: Any, axis: int, larger: bool) -> Picked:
    """The running extreme along an axis and its last place so far."""
    full = lined(x)
    values = seen(full)
    best = (np.maximum if larger else np.minimum).accumulate(values, axis)
    count = np.reshape(np.arange(values.shape[axis]), along_shape(values.ndim, axis))
    places = np.maximum.accumulate(np.where(values == best, count, 0), axis)
    return Picked(like(np.take_along_axis(full, places, axis), x), like(places, x))


@composed(watches=("x",), example=Example("cummax(a, 0)[0] * b", {"a": (3,), "b": (3,)}))
def cummax(x: Any, axis: int) -> Picked:
    """`cummax(x, dim)`: the largest so far along an axis, and its place."""
    return _running(x, axis, larger=True)


@composed(watches=("x",), example=Example("cummin(a, 0)[0] * b", {"a": (3,), "b": (3,)}))
def cummin(x: Any, axis: int) -> Picked:
    """`cummin(x, dim)`: the smallest so far along an axis, and its place."""
    return _running(x, axis, larger=False)
