"""Entries joined, summed up and chosen: tensors of zeros and ones in index notation."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from gradcheck.closed_forms.definitions import RULES, apply, multiply, rule, spread, times
from gradcheck.closed_forms.index import (
    Axes,
    Called,
    Product,
    Sum,
    added,
    indices,
    multiplied,
    single,
)
from gradcheck.closed_forms.slopes import NoText
from gradcheck.closed_forms.steps import Made, Operand, as_operand

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
    return multiplied((moved, single(Called(text, (), (own, axes[k])))), axes)


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
        spot = single(Called(f"eye({count})[{i}]", (), (axes[k],)))
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
    lower = single(Called(f"tril(ones(({size}, {size})))", (), (out, own)))
    axes = (*x.axes[:k], out, *x.axes[k + 1 :])
    return Made(multiplied((x.expression, lower), axes), x.shape, x.sizes)


def _triangle(name: str) -> Any:
    def made(x: Operand, k: int = 0) -> Made:
        if len(x.shape) != 2 or None in x.axes:
            raise NoText(f"{name} of what is no matrix")
        text = f"{name}(ones(({x.sizes[0]}, {x.sizes[1]})){f', {k}' if k else ''})"
        chosen = single(Called(text, (), x.axes))
        return Made(multiplied((x.expression, chosen), x.axes), x.shape, x.sizes)

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
    same = single(Called(f"eye({x.sizes[0]})", (), (x.axes[0], other)))
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
        return Made(single(called), shape, sizes)

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
