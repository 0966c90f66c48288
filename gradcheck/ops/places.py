"""Entries picked, filled in, added to, put in order: PyTorch's words for indexing and sorting."""

from typing import NamedTuple

import numpy as np

from gradcheck.ops.arithmetic import maximum, minimum
from gradcheck.ops.formula import composed, compound
from gradcheck.ops.row import handler_of
from gradcheck.ops.shapes import along, bare_numbers
from gradcheck.values import Numbers


def _as_line(x: Numbers) -> Numbers:
    """A number as an array of one entry, anything else as it is."""
    return np.reshape(x, (1,)) if np.ndim(x) == 0 else x


def _like(y: Numbers, x: Numbers) -> Numbers:
    """A result in the shape of a number, where x was one."""
    return np.reshape(y, ()) if np.ndim(x) == 0 else y


def _each_along(axis: int, index: Numbers) -> tuple[Numbers, ...]:
    """The index of `gather`: on one axis as given, on the others one's own."""
    grid = list(np.indices(index.shape, sparse=True))
    grid[axis] = index
    return tuple(grid)


@composed()
def gather(x: Numbers, axis: int, index: Numbers, *, sparse_grad: bool = False) -> Numbers:
    """`gather(x, dim, index)`: for each place of the index the entry there, along one axis."""
    index = bare_numbers(index)
    picked = _as_line(x)[_each_along(axis, np.reshape(index, index.shape or (1,)))]
    return np.reshape(picked, index.shape)


@composed()
def masked_fill(x: Numbers, mask: Numbers, value: Numbers) -> Numbers:
    """`masked_fill(x, mask, value)`: the value where the mask holds."""
    return np.where(bare_numbers(mask).astype(bool), value, x)


@composed(function=None, name="select", also=(np.select,))
def select(x: Numbers, *how: Numbers, **named: Numbers) -> Numbers:
    """`select(x, dim, place)`; of lists NumPy's: the first choice whose condition holds."""
    if isinstance(x, list | tuple):
        return _chosen(x, *how, **named)
    given = [named[k] for k in ("axis", "index") if k in named]
    axis, place = list(how) + given
    return x[along(x, axis, int(place))]


def _chosen(condlist: Numbers, choicelist: Numbers, default: Numbers = 0.0) -> Numbers:
    """NumPy's `select`: from the last condition to the first, each takes precedence."""
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


def _at(x: Numbers, places: Numbers, axis: int, keepdims: bool) -> Picked:
    """The entries at one place of each line, and those places."""
    values = np.take_along_axis(_as_line(x), places, axis)
    if keepdims or np.ndim(x) == 0:
        return Picked(_like(values, x), _like(places, x))
    return Picked(np.squeeze(values, axis), np.squeeze(places, axis))


def _extreme(name: str, of_two: Numbers, place: Numbers) -> None:
    def first(x: Numbers, axis: Numbers, keepdims: bool = False) -> Numbers:
        if handler_of((axis,)) or np.ndim(axis):
            return of_two(x, axis)
        places = np.expand_dims(place(bare_numbers(_as_line(x)), axis=axis), axis)
        return _at(x, places, axis, keepdims)

    compound(None, first, name)


_extreme("max_along", maximum, np.argmax)
_extreme("min_along", minimum, np.argmin)


@composed()
def sort_along(
    x: Numbers, axis: int = -1, descending: bool = False, stable: bool = False
) -> Picked:
    """PyTorch's `sort(x, dim)`: the entries of each line in order, and their places."""
    full = _as_line(x)
    order = np.argsort(
        -bare_numbers(full) if descending else bare_numbers(full), axis=axis, kind="stable"
    )
    return Picked(_like(np.take_along_axis(full, order, axis), x), _like(order, x))


@composed()
def median_along(x: Numbers, axis: int | None = None, keepdims: bool = False) -> Numbers:
    """PyTorch's `median(x, dim)`: the lower of two middle entries, and its place.

    Of all entries it is the lower middle one, and those that equal it share its gradient.
    """
    if axis is None:
        bare = np.ravel(bare_numbers(x))
        same = bare == np.sort(bare)[(len(bare) - 1) // 2]
        return np.sum(np.where(same, np.ravel(x), 0.0)) / np.sum(same)
    full = _as_line(x)
    order, middle = np.argsort(full, axis=axis, kind="stable"), (np.shape(full)[axis] - 1) // 2
    return _at(x, order[along(full, axis, slice(middle, middle + 1))], axis, keepdims)


@composed()
def topk(x: Numbers, k: int, axis: int = -1, largest: bool = True, sorted: bool = True) -> Picked:
    """`topk(x, k, dim)`: the k largest along an axis, from the largest on, and their places."""
    full = _as_line(x)
    order = np.argsort(full, axis=axis, kind="stable")
    places = (np.flip(order, axis) if largest else order)[along(full, axis, slice(k))]
    values = np.take_along_axis(full, places, axis) if k else full[..., :0]
    return Picked(_like(values, x), _like(places, x))


@composed(function=np.partition)
def partition(x: Numbers, kth: Numbers, axis: int | None = -1) -> Numbers:
    """Sorted: one of the orders that NumPy's `partition` may give; its own places are followed."""
    if axis is None:
        x, axis = np.ravel(x), -1
    return np.take_along_axis(x, np.argpartition(bare_numbers(x), kth, axis=axis), axis)
