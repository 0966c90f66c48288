"""Entries picked by an index, in index notation: a tensor of zeros and ones times what it picks of.

`x[1:]` is `eye(n)[1:]` times x, so that its gradient goes back by the transpose; a printer that
meets such a factor beside a tensor writes the index.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcheck.closed_forms.definitions import RULES, rule, spread, times
from gradcheck.closed_forms.index import (
    Axis,
    Called,
    Sum,
    added,
    indices,
    multiplied,
    single,
)
from gradcheck.closed_forms.slopes import NoText
from gradcheck.closed_forms.steps import Made, Operand, as_operand

LONGEST = 64  # numbers of an index that is written out


@rule("getitem")
def _getitem(x: Operand, index: Any) -> Made:
    given = index if isinstance(index, tuple) else (index,)
    listed = [np.arange(p.start, p.stop, p.step) if isinstance(p, range) else p for p in given]
    parts = _whole(listed, len(x.shape))
    places = [k for k, p in enumerate(parts) if isinstance(p, np.ndarray | list)]
    if len(places) > 1:
        return _together(x, parts, places)
    if places == [0] and np.ndim(parts[0]) > 1:
        return _table(x, np.asarray(parts[0]), parts[1:])
    factors, k = [x.expression], 0
    axes: list[Axis] = []
    shape: list[int] = []
    sizes: list[str] = []
    for part in parts:
        if part is None:
            axes, shape, sizes = [*axes, None], [*shape, 1], [*sizes, "1"]
            continue
        picked, n, size = _picked(x, k, part)
        k += 1
        if picked is not None:
            factors.append(picked)
            axes += picked.axes[:-1]
        elif n is not None:
            axes.append(x.axes[k - 1])
        if n is not None:
            shape, sizes = [*shape, n], [*sizes, size]
    return Made(multiplied(factors, tuple(axes)), tuple(shape), tuple(sizes))


def _together(x: Operand, parts: Sequence[Any], places: Sequence[int]) -> Made:
    """Lists of places side by side: the entry at the first of each, at the second, and so on."""
    if list(places) != list(range(len(parts))) or len({np.shape(p) for p in parts}) > 1:
        raise NoText("lists of places beside whole axes")
    for k, part in enumerate(parts):
        if x.axes[k] is not None and np.array_equal(part, np.arange(x.shape[k])):
            return _one_of_each(x, parts, k)
    first, *others = (_picked(x, k, part) for k, part in enumerate(parts))
    picked, n, size = first
    if picked is None or n is None or any(other is None for other, _, _ in others):
        raise NoText("lists of places on an axis of one entry")
    out = picked.axes[0]
    moved = [other.at({other.axes[0]: out}) for other, _, _ in others if other is not None]  # type: ignore[dict-item]
    whole = multiplied((x.expression, picked, *moved), (out,))
    return Made(whole, (n,), (size,))


def _table(x: Operand, places: Any, rest: Sequence[Any]) -> Made:
    """Rows at a table of places, as in an embedding: those at the list of all, laid out."""
    flat = as_operand(_getitem(x, (places.ravel(), *rest)))
    return RULES["reshape"](flat, shape=(*places.shape, *flat.shape[1:]))


def _one_of_each(x: Operand, parts: Sequence[Any], k: int) -> Made:
    """`p[arange(n), y]`: of every row the entry at its own place, by ones at these places."""
    factors = [x.expression]
    for j, part in enumerate(parts):
        if j == k:
            continue
        picked, _, _ = _picked(x, j, part)
        if picked is None or picked.axes[0] is None:
            raise NoText("lists of places on an axis of one entry")
        factors.append(picked.at({picked.axes[0]: x.axes[k]}))
    return Made(multiplied(factors, (x.axes[k],)), (x.shape[k],), (x.sizes[k],))


def _whole(parts: Sequence[Any], ndim: int) -> list[Any]:
    """An index with an entry for every axis."""
    if any(isinstance(p, bool | np.bool_) for p in parts):
        raise NoText("an index that is a condition")
    told = sum(p is not None and p is not Ellipsis for p in parts)
    rest = [slice(None)] * (ndim - told)
    if not any(p is Ellipsis for p in parts):
        return [*parts, *rest]
    at = next(k for k, p in enumerate(parts) if p is Ellipsis)
    return [*parts[:at], *rest, *parts[at + 1 :]]


def _picked(x: Operand, k: int, part: Any) -> tuple[Sum | None, int | None, str]:
    """What picks along an axis (nothing for all of it), how many are left (None: one, no axis)."""
    n, axis, size = x.shape[k], x.axes[k], x.sizes[k]
    left = np.arange(n)[part]
    if isinstance(part, slice) and len(left) == n and (n == 1 or left[0] == 0):
        return None, n, size
    if axis is None and np.ndim(left) == 0:
        return None, None, ""
    if axis is None:
        raise NoText("places on an axis of one entry")
    if np.ndim(left) > 1 or (np.size(left) > LONGEST and not isinstance(part, slice)):
        raise NoText("a list of places that is too long")
    text = f"eye({size})[{_written(part)}]"
    if np.ndim(left) == 0:
        return single(Called(text, (), (axis,))), None, ""
    long = _length(part, size) if isinstance(part, slice) else str(len(left))
    (out,) = indices(left.shape, (long,))
    return single(Called(text, (), (out, axis))), len(left), long


def _written(part: Any) -> str:
    if isinstance(part, slice):
        ends = ["" if end is None else str(end) for end in (part.start, part.stop)]
        return ":".join(ends) + ("" if part.step in (None, 1) else f":{part.step}")
    found = np.asarray(part)
    if found.dtype.kind == "b":
        raise NoText("an index that is a condition")
    return str(found.tolist())


def _length(part: slice, size: str) -> str:
    """How long a slice is, for every length of the axis where that can be said."""
    start, stop = part.start or 0, part.stop
    if part.step in (None, 1) and stop is None and start >= 0:
        return f"({size} - {start})"
    if part.step in (None, 1) and start == 0 and isinstance(stop, int) and stop < 0:
        return f"({size} - {-stop})"
    if part.step == -1 and part.start is None and stop is None:
        return size
    if part.step in (None, 1) and start > 0 and isinstance(stop, int) and stop < 0:
        return f"({size} - {start - stop})"
    if part.step in (None, 1) and isinstance(stop, int) and 0 <= start <= stop:
        return str(stop - start)
    raise NoText("a slice whose length hangs on more than the axis")


@rule("take")
def _take(x: Operand, indices: Any, axis: int | None = None) -> Made:
    if axis is None and len(x.shape) != 1:
        raise NoText("places in a tensor that is flattened")
    k = (axis or 0) % len(x.shape)
    return _getitem(x, (*[slice(None)] * k, np.asarray(indices)))


@rule("flip")
def _flip(x: Operand, axis: Any = None) -> Made:
    every = range(len(x.shape)) if axis is None else (axis,) if isinstance(axis, int) else axis
    gone = {k % len(x.shape) for k in every}
    turned = slice(None, None, -1)
    return _getitem(x, tuple(turned if k in gone else slice(None) for k in range(len(x.shape))))


@rule("diff")
def _diff(x: Operand, n: int = 1, axis: int = -1) -> Made:
    for _ in range(n):
        at = [slice(None)] * (axis % len(x.shape))
        later, earlier = _getitem(x, (*at, slice(1, None))), _getitem(x, (*at, slice(None, -1)))
        (a, b), axes, shape, sizes = spread((as_operand(later), as_operand(earlier)))
        x = Operand(added((a, times(-1, b)), axes), shape, sizes)
    return Made(x.expression, x.shape, x.sizes)
