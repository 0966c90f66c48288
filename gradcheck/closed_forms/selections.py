"""Entries picked, joined, summed up and compared: tensors of zeros and ones in index notation.

`x[1:]` is `eye(n)[1:]` times x, so that its gradient goes back by the transpose; a printer that
meets such a factor beside a tensor writes the index.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from gradcheck.closed_forms.definitions import RULES, apply, multiply, rule, spread, times
from gradcheck.closed_forms.index import (
    Axes,
    Axis,
    Called,
    Product,
    Sum,
    added,
    indices,
    multiplied,
)
from gradcheck.closed_forms.slopes import NoText
from gradcheck.closed_forms.steps import Made, Operand, as_operand

LONGEST = 64  # numbers of an index that is written out


def constant(text: str, axes: Axes) -> Sum:
    """A tensor of zeros and ones that a text gives."""
    return Sum((Product(factors=(Called(text, (), axes),)),), axes)


# -- indexing ------------------------------------------------------------------------------------


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
    parts = [Ellipsis if p is Ellipsis else p for p in parts]
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
        return constant(text, (axis,)), None, ""
    long = _length(part, size) if isinstance(part, slice) else str(len(left))
    (out,) = indices(left.shape, (long,))
    return constant(text, (out, axis)), len(left), long


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


# -- joining -------------------------------------------------------------------------------------


@rule("concatenate")
def _concatenate(*parts: Operand, axis: int = 0) -> Made:
    k = axis % len(parts[0].shape)
    total = " + ".join(p.sizes[k] for p in parts)
    total = str(sum(p.shape[k] for p in parts)) if _digits(parts, k) else f"({total})"
    whole = sum(p.shape[k] for p in parts)
    shape = (*parts[0].shape[:k], whole, *parts[0].shape[k + 1 :])
    sizes = (*parts[0].sizes[:k], total, *parts[0].sizes[k + 1 :])
    axes = indices(shape, sizes)
    placed, before = [], ""
    for count, part in enumerate(parts):
        after = f"{before} + {part.sizes[k]}".removeprefix(" + ")
        ends = f"{before}:" if count == len(parts) - 1 else f"{before}:{after}"
        placed.append(_placed(part, k, axes, f"eye({total})[{ends}]"))
        before = after
    return Made(added(placed, axes), shape, sizes)


def _digits(parts: Sequence[Operand], k: int) -> bool:
    return all(p.sizes[k].isdigit() for p in parts)


def _placed(part: Operand, k: int, axes: Axes, text: str) -> Sum:
    """A part at its place among others along an axis."""
    own = part.axes[k]
    if own is None:
        raise NoText("a part of one entry")
    where = {
        a: b
        for i, (a, b) in enumerate(zip(part.axes, axes, strict=True))
        if i != k and a is not None
    }
    moved = part.expression.at(where)
    return multiplied((moved, constant(text, (own, axes[k]))), axes)


@rule("stack")
def _stack(*parts: Operand, axis: int = 0) -> Made:
    k = axis % (len(parts[0].shape) + 1)
    count = str(len(parts))
    shape = (*parts[0].shape[:k], len(parts), *parts[0].shape[k:])
    sizes = (*parts[0].sizes[:k], count, *parts[0].sizes[k:])
    axes = indices(shape, sizes)
    if axes[k] is None:
        raise NoText("a stack of one")
    placed = []
    for i, part in enumerate(parts):
        own = (*axes[:k], *axes[k + 1 :])
        where = {a: b for a, b in zip(part.axes, own, strict=True) if a is not None}
        spot = constant(f"eye({count})[{i}]", (axes[k],))
        placed.append(multiplied((part.expression.at(where), spot), axes))
    return Made(added(placed, axes), shape, sizes)


# -- sums that run, triangles, diagonals -----------------------------------------------------------


@rule("cumsum")
def _cumsum(x: Operand, axis: int | None = None) -> Made:
    if axis is None and len(x.shape) != 1:
        raise NoText("a running sum over a tensor that is flattened")
    k = (axis or 0) % len(x.shape)
    own, size = x.axes[k], x.sizes[k]
    if own is None:
        return Made(x.expression, x.shape, x.sizes)
    (out,) = indices((x.shape[k],), (size,))
    lower = constant(f"tril(ones(({size}, {size})))", (out, own))
    axes = (*x.axes[:k], out, *x.axes[k + 1 :])
    return Made(multiplied((x.expression, lower), axes), x.shape, x.sizes)


def _triangle(name: str) -> Any:
    def made(x: Operand, k: int = 0) -> Made:
        if len(x.shape) != 2 or None in x.axes:
            raise NoText(f"{name} of what is no matrix")
        text = f"{name}(ones(({x.sizes[0]}, {x.sizes[1]})){f', {k}' if k else ''})"
        return Made(multiplied((x.expression, constant(text, x.axes)), x.axes), x.shape, x.sizes)

    return made


RULES["tril"] = _triangle("tril")
RULES["triu"] = _triangle("triu")


@rule("diagonal")
def _diagonal(x: Operand, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Made:
    if len(x.shape) != 2 or offset or x.shape[0] != x.shape[1] or None in x.axes:
        raise NoText("a diagonal that is not the main one of a square matrix")
    row, column = x.axes
    assert row is not None
    assert column is not None
    whole = multiplied((x.expression.at({column: row}),), (row,))
    return Made(whole, x.shape[:1], x.sizes[:1])


@rule("diag")
def _diag(x: Operand, k: int = 0) -> Made:
    if len(x.shape) != 1:
        return _diagonal(x, k)
    if k or x.axes[0] is None:
        raise NoText("a diagonal that is not the main one")
    (other,) = indices(x.shape, x.sizes)
    same = constant(f"eye({x.sizes[0]})", (x.axes[0], other))
    axes = (x.axes[0], other)
    return Made(multiplied((x.expression, same), axes), x.shape * 2, x.sizes * 2)


@rule("copy")
def _copy(x: Operand) -> Made:
    return Made(x.expression, x.shape, x.sizes)


# -- choosing ------------------------------------------------------------------------------------


@rule("where")
def _where(chosen: Operand, a: Operand, b: Operand) -> Made:
    """`c*a + (1 - c)*b`; the condition itself has no slope."""
    other = Operand(
        added((Sum((Product(),), chosen.axes), times(-1, chosen.expression)), chosen.axes),
        chosen.shape,
        chosen.sizes,
    )
    first, second = as_operand(multiply(chosen, a)), as_operand(multiply(other, b))
    (x, y), axes, shape, sizes = spread((first, second))
    return Made(added((x, y), axes), shape, sizes)


def _extreme(name: str) -> Any:
    def made(x: Operand, axis: Any = None, keepdims: bool = False) -> Made:
        count = len(x.shape)
        gone = range(count) if axis is None else (axis,) if isinstance(axis, int) else axis
        gone = tuple(k % count for k in gone)
        if len(gone) not in (1, count):
            raise NoText(f"{name} over several axes")
        words = "" if len(gone) == count else f", axis={gone[0]}"
        words += ", keepdims=True" if keepdims else ""
        stay = [k for k in range(count) if keepdims or k not in gone]
        shape = tuple(1 if k in gone else x.shape[k] for k in stay)
        sizes = tuple("1" if k in gone else x.sizes[k] for k in stay)
        axes = indices(shape, sizes)
        called = Called(f"{name}(u0{words})", (x.expression,), axes)
        return Made(Sum((Product(factors=(called,)),), axes), shape, sizes)

    return made


RULES["max"] = _extreme("max")
RULES["min"] = _extreme("min")
RULES["prod"] = _extreme("prod")


@rule("clip")
def _clip(
    x: Operand, *bounds: Operand, low: Any = None, high: Any = None, sides: Sequence[str] = ()
) -> Made:
    if low is not None or high is not None:
        raise NoText("clip between numbers of another kind")
    tests = {"low": "u0 > u{}", "high": "u0 < u{}"}
    names = {side: f"u{k}" for k, side in enumerate(sides, start=1)}
    inside = " * ".join(f"({tests[side].format(name[1:])})" for side, name in names.items())
    text = "u0"
    for side, name in names.items():
        text = f"{'maximum' if side == 'low' else 'minimum'}({text}, {name})"
    beyond = {"low": "u0 <= {}", "high": "u0 >= {}"}
    slopes = (inside, *(beyond[side].format(name) for side, name in names.items()))
    placed, axes, shape, sizes = spread((x, *bounds))
    return Made(apply(text, placed, slopes, axes), shape, sizes)


@rule("leaky_relu")
def _leaky(x: Operand, negative_slope: float = 0.01) -> Made:
    slope = Fraction(str(negative_slope))
    if not 0 <= slope <= 1:
        raise NoText("a slope of leaky_relu that is not between 0 and 1")
    text = f"maximum(u0, {negative_slope} * u0)"
    by = f"(u0 > 0) + {slope.numerator} / {slope.denominator} * (u0 <= 0)"
    return Made(apply(text, (x.expression,), (by,), x.axes), x.shape, x.sizes)
