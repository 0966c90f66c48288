"""What each op makes of its operands, in index notation: one function an op, or a family.

Elementwise ops need no line here: their value is the op's name, their slope is SymPy's
(`slopes`). A reduction, a product, a move of axes says which indices stay.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from gradcheck.closed_forms.index import (
    RECIPROCAL,
    Applied,
    Axes,
    Factor,
    Product,
    Sum,
    added,
    indices,
    is_free,
    multiplied,
    single,
)
from gradcheck.closed_forms.slopes import NoText, slopes
from gradcheck.closed_forms.steps import Made, Operand, as_operand
from gradcheck.engine.tape import Node

Rule = Callable[..., Made]
RULES: dict[str, Rule] = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Register the definition of some ops."""

    def register(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, function))
        return function

    return register


def define(node: Node, operands: Sequence[Operand]) -> Made:
    """The value of one op from its operands; NoText where there is no index form."""
    found = RULES.get(node.op.name)
    if found is not None:
        return found(*operands, **node.params)
    if node.op.elementwise:
        return _elementwise(node, operands)
    raise NoText(f"no index form of {node.op.name}")


# -- entry by entry ------------------------------------------------------------------------------


def spread(operands: Sequence[Operand]) -> tuple[list[Sum], Axes, tuple[int, ...], tuple[str, ...]]:
    """Operands at common indices, as broadcasting has them; with the shape and sizes they give."""
    shape = np.broadcast_shapes(*(o.shape for o in operands))
    sizes = list(map(str, shape))
    for operand in reversed(operands):
        first = len(shape) - len(operand.shape)
        for k, (n, size) in enumerate(zip(operand.shape, operand.sizes, strict=True)):
            if n != 1 and not size.isdigit():
                sizes[first + k] = size
    axes = indices(shape, sizes)
    placed = []
    for operand in operands:
        own = axes[len(shape) - len(operand.shape) :]
        where = {a: b for a, b in zip(operand.axes, own, strict=True) if a is not None}
        placed.append(operand.expression.at(where))
    return placed, axes, shape, tuple(sizes)


def _elementwise(node: Node, operands: Sequence[Operand]) -> Made:
    placed, axes, shape, sizes = spread(operands)
    constants = tuple(
        _number_of(p) if node.op.name == "power" and i == 1 else None for i, p in enumerate(placed)
    )
    params = "".join(f", {name}={value!r}" for name, value in node.params.items())
    if params:
        raise NoText(f"{node.op.name} with {params[2:]}")
    text = f"{node.op.name}({', '.join(f'u{i}' for i in range(len(placed)))})"
    if node.op.name == "power":
        text = f"u0**{_written(constants[1])}" if constants[1] is not None else "u0**u1"
    return Made(apply(text, placed, slopes(node.op, constants), axes), shape, sizes)


def apply(text: str, parts: Sequence[Sum], by: tuple[str, ...], axes: Axes) -> Sum:
    """A function of some expressions, entry by entry."""
    return single(Applied(text, tuple(parts), by), axes)


def _number_of(part: Sum) -> Fraction | None:
    if len(part.products) == 1 and not part.products[0].factors and not part.products[0].sizes:
        return part.products[0].number
    return None


def _written(value: Fraction) -> str:
    return str(value) if value.denominator == 1 and value >= 0 else f"({value})"


@rule("add")
def _add(a: Operand, b: Operand) -> Made:
    (x, y), axes, shape, sizes = spread((a, b))
    return Made(added((x, y), axes), shape, sizes)


@rule("subtract")
def _subtract(a: Operand, b: Operand) -> Made:
    (x, y), axes, shape, sizes = spread((a, b))
    return Made(added((x, times(-1, y)), axes), shape, sizes)


@rule("negative")
def _negative(a: Operand) -> Made:
    return Made(times(-1, a.expression), a.shape, a.sizes)


@rule("multiply")
def multiply(a: Operand, b: Operand) -> Made:
    """The product, entry by entry."""
    (x, y), axes, shape, sizes = spread((a, b))
    return Made(multiplied((x, y), axes), shape, sizes)


@rule("divide")
def _divide(a: Operand, b: Operand) -> Made:
    (x, y), axes, shape, sizes = spread((a, b))
    return Made(multiplied((x, reciprocal(y)), axes), shape, sizes)


@rule("square")
def _square(a: Operand) -> Made:
    return Made(apply("u0**2", (a.expression,), ("2*u0",), a.axes), a.shape, a.sizes)


def times(value: int | Fraction, part: Sum) -> Sum:
    """An expression times a number."""
    products = (p.times(Product(Fraction(value))) for p in part.products)
    return Sum(tuple(products), part.axes)


def reciprocal(part: Sum) -> Sum:
    """One over an expression; of a product, factor by factor."""
    if len(part.products) != 1 or not part.products[0].number or not is_free(part):
        return apply(RECIPROCAL, (part,), ("-1/u0**2",), part.axes)
    (plain,) = part.products
    sizes = tuple((size, -power) for size, power in plain.sizes)
    if len(plain.factors) == 1 and plain.number == 1 and not sizes:
        return apply(RECIPROCAL, (part,), ("-1/u0**2",), part.axes)
    below = (_one_over(factor) for factor in plain.factors)
    return Sum((Product(1 / plain.number, sizes, tuple(below)),), part.axes)


def _one_over(factor: Factor) -> Factor:
    axes = tuple(dict.fromkeys(a for a in factor.axes if a is not None))
    return Applied(RECIPROCAL, (single(factor, axes),), ("-1/u0**2",))


# -- sums ----------------------------------------------------------------------------------------


def summed_axes(operand: Operand, axis: Any) -> tuple[int, ...]:
    """The axes that `axis=` names, counted from the front."""
    count = len(operand.shape)
    listed = range(count) if axis is None else (axis,) if isinstance(axis, int) else axis
    return tuple(k % count for k in listed)


def summed(operand: Operand, axis: Any, keepdims: bool) -> Made:
    """The sum over some axes."""
    gone = summed_axes(operand, axis)
    stay = [k for k in range(len(operand.shape)) if keepdims or k not in gone]
    axes = tuple(None if k in gone else operand.axes[k] for k in stay)
    shape = tuple(1 if k in gone else operand.shape[k] for k in stay)
    sizes = tuple("1" if k in gone else operand.sizes[k] for k in stay)
    whole = multiplied((operand.expression,), axes)
    return Made(whole, shape, sizes)


@rule("sum")
def _sum(x: Operand, axis: Any = None, keepdims: bool = False) -> Made:
    return summed(x, axis, keepdims)


def count_of(operand: Operand, axis: Any) -> Sum:
    """One over the number of entries along some axes."""
    sizes = [operand.sizes[k] for k in summed_axes(operand, axis) if operand.shape[k] != 1]
    known = Fraction(1)
    for size in sizes:
        known /= int(size) if size.isdigit() else 1
    names = tuple((size, -1) for size in sorted(s for s in sizes if not s.isdigit()))
    merged = {name: -names.count((name, -1)) for name, _ in names}
    return Sum((Product(known, tuple(sorted(merged.items()))),), ())


def averaged(operand: Operand, axis: Any, keepdims: bool) -> Made:
    """The mean over some axes."""
    made = summed(operand, axis, keepdims)
    whole = multiplied((made.expression, count_of(operand, axis)), made.expression.axes)
    return Made(whole, made.shape, made.sizes)


@rule("mean")
def _mean(x: Operand, axis: Any = None, keepdims: bool = False) -> Made:
    return averaged(x, axis, keepdims)


@rule("var")
def variance(x: Operand, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Made:
    """The mean square about the mean."""
    if ddof:
        raise NoText("a variance with ddof")
    centred = _subtract(x, as_operand(averaged(x, axis, keepdims=True)))
    return averaged(as_operand(_square(as_operand(centred))), axis, keepdims)


@rule("norm")
def _norm(x: Operand, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Made:
    if ord == 1 and len(summed_axes(x, axis)) == 1:
        sizes = apply("abs(u0)", (x.expression,), ("sign(u0)",), x.axes)
        return summed(Operand(sizes, x.shape, x.sizes), axis, keepdims)
    if ord not in (None, 2, "fro") or (ord == 2 and len(summed_axes(x, axis)) != 1):
        raise NoText(f"a norm of order {ord}")
    made = summed(as_operand(_square(x)), axis, keepdims)
    axes = made.expression.axes
    whole = apply("sqrt(u0)", (made.expression,), ("1/(2*y)",), axes)
    return Made(whole, made.shape, made.sizes)


@rule("mse_loss")
def _mse(a: Operand, b: Operand, reduction: str = "mean") -> Made:
    squares = as_operand(_square(as_operand(_subtract(a, b))))
    return reduced(squares, reduction)


def reduced(losses: Operand, reduction: str) -> Made:
    """Losses added up, averaged, or as they are."""
    if reduction == "none":
        return Made(losses.expression, losses.shape, losses.sizes)
    return (averaged if reduction == "mean" else summed)(losses, None, False)
