"""Products, moves of axes, and functions of whole tensors, in index notation."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from gradcheck.closed_forms.definitions import (
    RULES,
    Rule,
    multiply,
    rule,
    spread,
    summed,
    summed_axes,
)
from gradcheck.closed_forms.index import (
    Axes,
    Called,
    Sum,
    indices,
    multiplied,
    one,
    single,
)
from gradcheck.closed_forms.slopes import NoText
from gradcheck.closed_forms.steps import Made, Operand, as_operand
from gradcheck.ops import TABLE
from gradcheck.ops.row import Op

# -- products ------------------------------------------------------------------------------------


@rule("matmul")
def _matmul(a: Operand, b: Operand) -> Made:
    if max(len(a.shape), len(b.shape)) > 2:
        return _stacked(a, b)
    return _contracted(a, b, len(a.shape) - 1, 0)


def _stacked(a: Operand, b: Operand) -> Made:
    """Stacks of matrices: the axes before the last two are lined up as broadcasting has them."""
    if min(len(a.shape), len(b.shape)) < 2:
        raise NoText("a stack of matrices times a vector")
    met = indices((a.shape[-1],), (a.sizes[-1],))[0]
    left = _last_two(a, (a.axes[-2], met))
    right = _last_two(b, (met, b.axes[-1]))
    stacks = [Operand(one(o.axes[:-2]), o.shape[:-2], o.sizes[:-2]) for o in (left, right)]
    _, stack, shape, sizes = spread(stacks)
    parts = []
    for o in (left, right):
        own = stack[len(stack) - len(o.axes) + 2 :]
        where = {x: y for x, y in zip(o.axes[:-2], own, strict=True) if x is not None}
        parts.append(o.expression.at(where))
    axes = (*stack, a.axes[-2], b.axes[-1])
    whole = multiplied(parts, axes)
    return Made(whole, (*shape, a.shape[-2], b.shape[-1]), (*sizes, a.sizes[-2], b.sizes[-1]))


def _last_two(o: Operand, axes: Axes) -> Operand:
    """The same with other indices on its last two axes."""
    where = {x: y for x, y in zip(o.axes[-2:], axes, strict=True) if x is not None}
    return Operand(o.expression.at(where), o.shape, o.sizes)


@rule("dot")
def _dot(a: Operand, b: Operand) -> Made:
    if not a.shape or not b.shape:
        return multiply(a, b)
    return _contracted(a, b, len(a.shape) - 1, max(len(b.shape) - 2, 0))


@rule("inner")
def _inner(a: Operand, b: Operand) -> Made:
    if not a.shape or not b.shape:
        return multiply(a, b)
    return _contracted(a, b, len(a.shape) - 1, len(b.shape) - 1)


@rule("tensordot")
def _tensordot(a: Operand, b: Operand, axes: Any = 2) -> Made:
    if axes != 1:
        raise NoText("a product over several axes")
    return _contracted(a, b, len(a.shape) - 1, 0)


@rule("outer")
def _outer(a: Operand, b: Operand) -> Made:
    if len(a.shape) != 1 or len(b.shape) != 1:
        raise NoText("an outer product of matrices")
    axes = (*a.axes, *b.axes)
    whole = multiplied((a.expression, b.expression), axes)
    return Made(whole, a.shape + b.shape, a.sizes + b.sizes)


def _contracted(a: Operand, b: Operand, last: int, first: int) -> Made:
    met = b.axes[first]
    where = {met: a.axes[last]} if met is not None and a.axes[last] is not None else {}
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

MOVES = (
    "transpose", "swapaxes", "moveaxis", "matrix_transpose", "squeeze", "expand_dims", "reshape",
    "ravel", "atleast_1d", "atleast_2d",
)  # fmt: skip
RESHAPES = ("reshape", "ravel")


def _move(row: Op, x: Operand, **params: Any) -> Made:
    """A move of whole axes, found by moving the numbers of the entries."""
    count = int(np.prod(x.shape, dtype=int))
    moved = np.asarray(row.forward(np.arange(count).reshape(x.shape), **params))
    long = [k for k, n in enumerate(x.shape) if n != 1]
    strides = {int(np.prod(x.shape[k + 1 :], dtype=int)): k for k in long}
    axes: list[Any] = []
    sizes: list[str] = []
    for k, n in enumerate(moved.shape):
        step = int(np.take(moved, 1, axis=k).flat[0] - moved.flat[0]) if n > 1 else 0
        source = strides.get(step)
        if n > 1 and (source is None or x.shape[source] != n):
            raise NoText(f"{row.name} that mixes axes")
        axes.append(None if source is None else x.axes[source])
        sizes.append("1" if source is None else x.sizes[source])
    return Made(Sum(x.expression.products, tuple(axes)), moved.shape, tuple(sizes))


def _reshaped(row: Op, x: Operand, **params: Any) -> Made:
    """A move of whole axes; or one that mixes them, of the whole tensor."""
    try:
        return _move(row, x, **params)
    except NoText:
        shape = np.empty(x.shape, dtype=bool)
        given = row.forward(shape, **params).shape
    sizes = tuple(map(str, given))
    text = f"reshape(u0, {given if len(given) != 1 else f'({given[0]},)'})"
    axes = indices(given, sizes)
    return Made(single(Called(text, (x.expression,), axes)), given, sizes)


for _name in MOVES:
    RULES[_name] = partial(_reshaped if _name in RESHAPES else _move, TABLE[_name])


@rule("broadcast_to")
def _broadcast(x: Operand, shape: Any) -> Made:
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    sizes = tuple(map(str, shape))
    blank = Operand(one(indices(shape, sizes)), shape, sizes)
    return multiply(blank, x)


# -- functions of whole tensors ------------------------------------------------------------------


def _along(name: str) -> Rule:
    def made(x: Operand, axis: int = -1) -> Made:
        k = axis % len(x.shape)
        if x.axes[k] is None:
            raise NoText(f"{name} over an axis of one entry")
        text = f"{name}(u0, axis={k})"
        return Made(
            single(Called(text, (x.expression,), indices(x.shape, x.sizes))), x.shape, x.sizes
        )

    return made


RULES["softmax"] = _along("softmax")
RULES["log_softmax"] = _along("log_softmax")


@rule("logsumexp")
def _logsumexp(x: Operand, axis: Any = None, keepdims: bool = False) -> Made:
    made = summed(x, axis, keepdims)
    gone = summed_axes(x, axis)
    if len(gone) != 1:
        raise NoText("logsumexp over several axes")
    text = f"logsumexp(u0, axis={gone[0]}{', keepdims=True' if keepdims else ''})"
    axes = indices(made.shape, made.sizes)
    return Made(single(Called(text, (x.expression,), axes)), made.shape, made.sizes)


def _of_matrix(text: str, *, scalar: bool) -> Rule:
    """A function of one matrix: another matrix like it, or a number."""

    def made(x: Operand) -> Made:
        if len(x.shape) != 2 or None in x.axes:
            raise NoText(f"{text} of what is no matrix")
        axes = () if scalar else indices(x.shape, x.sizes)
        kept = (x.shape, x.sizes)
        return Made(single(Called(text, (x.expression,), axes)), *(((), ()) if scalar else kept))

    return made


RULES["inv"] = _inv = _of_matrix("inv(u0)", scalar=False)
RULES["det"] = _of_matrix("det(u0)", scalar=True)
RULES["signdet"] = _of_matrix("slogdet(u0)[0]", scalar=True)
RULES["logabsdet"] = _of_matrix("slogdet(u0)[1]", scalar=True)


@rule("cholesky")
def _cholesky(x: Operand, upper: bool = False) -> Made:
    if upper:
        raise NoText("the upper Cholesky factor: take the lower one and transpose it")
    return _of_matrix("cholesky(u0)", scalar=False)(x)


@rule("cumprod")
def _cumprod(x: Operand, axis: int | None = None) -> Made:
    if axis is None and len(x.shape) != 1:
        raise NoText("a running product over a tensor that is flattened")
    k = (axis or 0) % len(x.shape)
    if x.axes[k] is None:
        return Made(x.expression, x.shape, x.sizes)
    text = f"cumprod(u0, axis={k})" if len(x.shape) > 1 else "cumprod(u0)"
    return Made(single(Called(text, (x.expression,), indices(x.shape, x.sizes))), x.shape, x.sizes)


@rule("kron")
def _kron(a: Operand, b: Operand) -> Made:
    if len(a.shape) != len(b.shape) or not 1 <= len(a.shape) <= 2:
        raise NoText("a Kronecker product of what are not two matrices or two vectors")
    shape = tuple(m * n for m, n in zip(a.shape, b.shape, strict=True))
    sizes = tuple(_times(m, n) for m, n in zip(a.sizes, b.sizes, strict=True))
    axes = indices(shape, sizes)
    whole = Called("kron(u0, u1)", (a.expression, b.expression), axes)
    return Made(single(whole), shape, sizes)


def _times(a: str, b: str) -> str:
    """The text of a product of two sizes."""
    if "1" in (a, b):
        return b if a == "1" else a
    return str(int(a) * int(b)) if a.isdigit() and b.isdigit() else f"({a}*{b})"


@rule("solve")
def _solve(a: Operand, b: Operand) -> Made:
    inverse = _inv(a)
    return _matmul(as_operand(inverse), b)
