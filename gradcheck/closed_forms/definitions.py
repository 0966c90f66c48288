"""What each op makes of its operands, in index notation: one function an op, or a family.

Elementwise ops need no line here: their value is the op's name, their slope is SymPy's
(`slopes`). A reduction, a product, a move of axes says which indices stay.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from gradcheck.closed_forms.index import (
    Applied,
    Axes,
    Called,
    Product,
    Sum,
    added,
    indices,
    multiplied,
    one,
)
from gradcheck.closed_forms.slopes import NoText, slopes
from gradcheck.closed_forms.steps import Made, Operand, number
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
    if node.op.name in MOVES:
        return _moved(node, operands[0])
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
    return Sum((Product(factors=(Applied(text, tuple(parts), by),)),), axes)


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
def _multiply(a: Operand, b: Operand) -> Made:
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
    """One over an expression."""
    value = _number_of(part)
    if value is not None and value != 0:
        return number(1 / value)
    return apply("1/u0", (part,), ("-1/u0**2",), part.axes)


# -- sums ----------------------------------------------------------------------------------------


def _gone(operand: Operand, axis: Any) -> tuple[int, ...]:
    count = len(operand.shape)
    listed = range(count) if axis is None else (axis,) if isinstance(axis, int) else axis
    return tuple(k % count for k in listed)


def summed(operand: Operand, axis: Any, keepdims: bool) -> Made:
    """The sum over some axes."""
    gone = _gone(operand, axis)
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
    sizes = [operand.sizes[k] for k in _gone(operand, axis) if operand.shape[k] != 1]
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


def _operand(made: Made) -> Operand:
    return Operand(made.expression, made.shape, made.sizes)


@rule("var")
def _var(x: Operand, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Made:
    if ddof:
        raise NoText("a variance with ddof")
    centred = _subtract(x, _operand(averaged(x, axis, keepdims=True)))
    return averaged(_operand(_square(_operand(centred))), axis, keepdims)


@rule("norm")
def _norm(x: Operand, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Made:
    if ord not in (None, 2, "fro") or (ord == 2 and len(_gone(x, axis)) != 1):
        raise NoText(f"a norm of order {ord}")
    made = summed(_operand(_square(x)), axis, keepdims)
    axes = made.expression.axes
    whole = apply("sqrt(u0)", (made.expression,), ("1/(2*y)",), axes)
    return Made(whole, made.shape, made.sizes)


@rule("mse_loss")
def _mse(a: Operand, b: Operand, reduction: str = "mean") -> Made:
    squares = _operand(_square(_operand(_subtract(a, b))))
    return _reduced(squares, reduction)


def _reduced(losses: Operand, reduction: str) -> Made:
    if reduction == "none":
        return Made(losses.expression, losses.shape, losses.sizes)
    return (averaged if reduction == "mean" else summed)(losses, None, False)


# -- products ------------------------------------------------------------------------------------


@rule("matmul")
def _matmul(a: Operand, b: Operand) -> Made:
    if max(len(a.shape), len(b.shape)) > 2:
        raise NoText("products of stacks of matrices")
    return _contracted(a, b, len(a.shape) - 1, 0)


@rule("dot")
def _dot(a: Operand, b: Operand) -> Made:
    if not a.shape or not b.shape:
        return _multiply(a, b)
    return _contracted(a, b, len(a.shape) - 1, max(len(b.shape) - 2, 0))


@rule("inner")
def _inner(a: Operand, b: Operand) -> Made:
    if not a.shape or not b.shape:
        return _multiply(a, b)
    return _contracted(a, b, len(a.shape) - 1, len(b.shape) - 1)


@rule("outer")
def _outer(a: Operand, b: Operand) -> Made:
    if len(a.shape) != 1 or len(b.shape) != 1:
        raise NoText("an outer product of matrices")
    axes = (*a.axes, *b.axes)
    whole = multiplied((a.expression, b.expression), axes)
    return Made(whole, a.shape + b.shape, a.sizes + b.sizes)


def _contracted(a: Operand, b: Operand, last: int, first: int) -> Made:
    where = {}
    if b.axes[first] is not None and a.axes[last] is not None:
        where = {b.axes[first]: a.axes[last]}
    moved = b.expression.at(where)
    axes = (*_without(a.axes, last), *_without(b.axes, first))
    shape = (*_without(a.shape, last), *_without(b.shape, first))
    sizes = (*_without(a.sizes, last), *_without(b.sizes, first))
    return Made(multiplied((a.expression, moved), axes), shape, sizes)


def _without(items: Sequence[Any], k: int) -> tuple[Any, ...]:
    return (*items[:k], *items[k + 1 :])


@rule("trace")
def _trace(x: Operand) -> Made:
    row, column = x.axes
    if row is None or column is None:
        raise NoText("the trace of a matrix of one entry")
    return Made(multiplied((x.expression.at({column: row}),), ()), (), ())


@rule("einsum")
def _einsum(*operands: Operand, subscripts: str = "", **others: Any) -> Made:
    given, _, out = subscripts.replace(" ", "").partition("->")
    if (not out and "->" not in subscripts) or "." in subscripts:
        raise NoText("einsum without its result's indices")
    letters: dict[str, Any] = {}
    sizes: dict[str, tuple[int, str]] = {}
    parts = []
    for word, operand in zip(given.split(","), operands, strict=True):
        where = {}
        for letter, axis, n, size in zip(
            word, operand.axes, operand.shape, operand.sizes, strict=True
        ):
            if axis is not None:
                letters.setdefault(letter, axis)
                where[axis] = letters[letter]
            sizes.setdefault(letter, (n, size))
        parts.append(operand.expression.at(where))
    axes = tuple(letters.get(letter) for letter in out)
    shape = tuple(sizes[letter][0] for letter in out)
    return Made(multiplied(parts, axes), shape, tuple(sizes[letter][1] for letter in out))


# -- moves of axes -------------------------------------------------------------------------------

MOVES = {
    "transpose", "swapaxes", "moveaxis", "matrix_transpose", "squeeze", "expand_dims", "reshape",
    "ravel", "atleast_1d", "atleast_2d",
}  # fmt: skip


def _moved(node: Node, x: Operand) -> Made:
    """A move of whole axes, found by moving the numbers of the entries."""
    count = int(np.prod(x.shape, dtype=int))
    moved = np.asarray(node.op.forward(np.arange(count).reshape(x.shape), **node.params))
    long = [k for k, n in enumerate(x.shape) if n != 1]
    strides = {int(np.prod(x.shape[k + 1 :], dtype=int)): k for k in long}
    axes: list[Any] = []
    sizes: list[str] = []
    for k, n in enumerate(moved.shape):
        step = int(np.take(moved, 1, axis=k).flat[0] - moved.flat[0]) if n > 1 else 0
        source = strides.get(step)
        if n > 1 and (source is None or x.shape[source] != n):
            raise NoText(f"{node.op.name} that mixes axes")
        axes.append(None if source is None else x.axes[source])
        sizes.append("1" if source is None else x.sizes[source])
    return Made(Sum(x.expression.products, tuple(axes)), moved.shape, tuple(sizes))


@rule("broadcast_to")
def _broadcast(x: Operand, shape: Any) -> Made:
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    sizes = tuple(map(str, shape))
    blank = Operand(one(indices(shape, sizes)), shape, sizes)
    return _multiply(blank, x)


# -- functions of whole tensors ------------------------------------------------------------------


def _called(text: str, x: Operand, axes: Axes) -> Sum:
    return Sum((Product(factors=(Called(text, (x.expression,), axes),)),), axes)


def _along(name: str) -> Rule:
    def made(x: Operand, axis: int = -1) -> Made:
        k = axis % len(x.shape)
        if x.axes[k] is None:
            raise NoText(f"{name} over an axis of one entry")
        text = f"{name}(u0, axis={k})"
        return Made(_called(text, x, indices(x.shape, x.sizes)), x.shape, x.sizes)

    return made


RULES["softmax"] = _along("softmax")
RULES["log_softmax"] = _along("log_softmax")


@rule("logsumexp")
def _logsumexp(x: Operand, axis: Any = None, keepdims: bool = False) -> Made:
    made = summed(x, axis, keepdims)
    gone = _gone(x, axis)
    if len(gone) != 1:
        raise NoText("logsumexp over several axes")
    text = f"logsumexp(u0, axis={gone[0]}{', keepdims=True' if keepdims else ''})"
    axes = indices(made.shape, made.sizes)
    return Made(_called(text, x, axes), made.shape, made.sizes)


@rule("inv")
def _inv(x: Operand) -> Made:
    return Made(_called("inv(u0)", x, indices(x.shape, x.sizes)), x.shape, x.sizes)


@rule("det")
def _det(x: Operand) -> Made:
    return Made(_called("det(u0)", x, ()), (), ())


@rule("solve")
def _solve(a: Operand, b: Operand) -> Made:
    inverse = _inv(a)
    return _matmul(_operand(inverse), b)
