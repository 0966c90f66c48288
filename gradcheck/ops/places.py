"""Entries picked, filled in, added to, put in order: PyTorch's words for indexing and sorting."""

from functools import partial
from typing import NamedTuple

import numpy as np

from gradcheck.ops.arithmetic import maximum, minimum
from gradcheck.ops.formula import formula
from gradcheck.ops.row import handler_of
from gradcheck.ops.shapes import along, bare_numbers
from gradcheck.values import Numbers, Routine


@formula()
def gather(x: Numbers, axis: int, index: Numbers, *, sparse_grad: bool = False) -> Numbers:
    """`gather(x, dim, index)`: for each place of the index the entry there, along one axis."""
    index = bare_numbers(index)
    grid = list(np.indices(index.shape or (1,), sparse=True))
    grid[axis] = np.reshape(index, index.shape or (1,))
    return np.reshape(_as_line(x)[tuple(grid)], index.shape)


@formula()
def masked_fill(x: Numbers, mask: Numbers, value: Numbers) -> Numbers:
    return np.where(bare_numbers(mask).astype(bool), value, x)


@formula(also=(np.select,))
def select(x: Numbers, *how: Numbers, **named: Numbers) -> Numbers:
    """`select(x, dim, place)`; of lists NumPy's: the first choice whose condition holds."""
    if isinstance(x, list | tuple):
        return _choose_first(x, *how, **named)
    given = [*how, *(named[k] for k in ("axis", "index") if k in named)]
    return x[along(x, given[0], int(given[1]))]


def _choose_first(condlist: Numbers, choicelist: Numbers, default: Numbers = 0.0) -> Numbers:
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    y = default
    for condition, choice in zip(reversed(condlist), reversed(choicelist), strict=True):
        y = np.where(bare_numbers(condition), choice, y)
    return y


# -- in order ------------------------------------------------------------------------------------


class Picked(NamedTuple):
    """Values, and the places they stood at."""

    values: Numbers
    indices: Numbers


def _as_line(x: Numbers) -> Numbers:
    """A number as an array of one entry, anything else as it is."""
    return np.reshape(x, (1,)) if np.ndim(x) == 0 else x


def _pick(x: Numbers, places: Numbers, axis: int, lost: bool = False) -> Picked:
    """The entries at places along an axis, which may be `lost`; of a number, a number."""
    found = np.take_along_axis(_as_line(x), places, axis), places
    if np.ndim(x) == 0:
        return Picked(*(np.reshape(each, ()) for each in found))
    return Picked(*(np.squeeze(each, axis) for each in found)) if lost else Picked(*found)


def _pick_extreme(
    x: Numbers, axis: Numbers, keepdims: bool = False, *, of_two: Routine, place: Routine
) -> Numbers:
    if handler_of((axis,)) or np.ndim(axis):
        return of_two(x, axis)
    places = np.expand_dims(place(bare_numbers(_as_line(x)), axis=axis), axis)
    return _pick(x, places, axis, not keepdims)


formula(name="max_along")(partial(_pick_extreme, of_two=maximum, place=np.argmax))
formula(name="min_along")(partial(_pick_extreme, of_two=minimum, place=np.argmin))


def _order(x: Numbers, axis: int, descending: bool = False) -> Numbers:
    bare = bare_numbers(_as_line(x))
    return np.argsort(-bare if descending else bare, axis=axis, kind="stable")


@formula()
def sort_along(
    x: Numbers, axis: int = -1, descending: bool = False, stable: bool = False
) -> Picked:
    """PyTorch's `sort(x, dim)`: the entries of each line in order, and their places."""
    return _pick(x, _order(x, axis, descending), axis)


@formula()
def median_along(x: Numbers, axis: int | None = None, keepdims: bool = False) -> Numbers:
    """PyTorch's `median(x, dim)`: the lower of two middle entries, and its place.

    Of all entries it is the lower middle one, and those that equal it share its gradient.
    """
    if axis is None:
        bare = np.ravel(bare_numbers(x))
        same = bare == np.sort(bare)[(len(bare) - 1) // 2]
        return np.sum(np.where(same, np.ravel(x), 0.0)) / np.sum(same)
    order = _order(x, axis)
    middle = (order.shape[axis] - 1) // 2
    return _pick(x, order[along(order, axis, slice(middle, middle + 1))], axis, not keepdims)


@formula()
def topk(x: Numbers, k: int, axis: int = -1, largest: bool = True, sorted: bool = True) -> Picked:
    """`topk(x, k, dim)`: the k largest along an axis, from the largest on, and their places."""
    order = _order(x, axis)
    places = (np.flip(order, axis) if largest else order)[along(order, axis, slice(k))]
    return _pick(x, places, axis)


@formula(np.partition)
def partition(x: Numbers, kth: Numbers, axis: int | None = -1) -> Numbers:
    """Sorted: one of the orders that NumPy's `partition` may give; its own places are followed."""
    if axis is None:
        x, axis = np.ravel(x), -1
    return np.take_along_axis(x, np.argpartition(bare_numbers(x), kth, axis=axis), axis)
