"""Products of vectors, matrices and tensors."""

from collections.abc import Mapping, Sequence
from string import ascii_letters
from typing import Any

import numpy as np

from gradcheck.ops.indexing import scatter
from gradcheck.ops.matrices import contracted, product, summed, written_out
from gradcheck.ops.reads import by_others
from gradcheck.ops.row import Composed, Example, op


def _left(g: Any, y: Any, a: Any, b: Any) -> Any:
    """The product g . b^T, for every mixture of vectors, matrices and stacks of matrices."""
    if b.ndim == 1:
        return g[..., None] * b if a.ndim > 1 else g * b
    if a.ndim == 1:
        return np.sum(g[..., None, :] * b, axis=-1)
    return g @ b.mT


def _right(g: Any, y: Any, a: Any, b: Any) -> Any:
    """The product a^T . g, likewise."""
    if a.ndim == 1:
        return a[:, None] * g[..., None, :] if b.ndim > 1 else g * a
    if b.ndim == 1:
        return np.sum(a * g[..., None], axis=tuple(range(a.ndim - 1)))
    return a.mT @ g


def _rank(operand: Any) -> int:
    """The number of axes, of an array or of the (shape, dtype) that is left of it."""
    return len(operand[0]) if isinstance(operand, tuple) else np.ndim(operand)


def _product_name(operands: tuple[Any, ...], params: Mapping[str, Any]) -> str:
    ranks = (_rank(operands[0]), _rank(operands[1]))
    if ranks == (1, 2):
        return "SqueezeBackward4"
    names = {(1, 1): "Dot", (2, 1): "Mv", (2, 2): "Mm", (3, 3): "Bmm"}
    return f"{names.get(ranks, 'UnsafeView')}Backward0"


matmul = op(
    np.matmul,
    also=(np.linalg.matmul,),
    vjps=(_left, _right),
    symbolic=Composed(written_out),
    ball=Composed(product),
    grad_fn=_product_name,
    elementwise=False,
    size="multiplied",
    school=("mm", "mv", "bmm"),
    example=Example("matmul(a, b) * c", {"a": (2, 3), "b": (3, 4), "c": (2, 4)}),
)


def _spelled_out(subscripts: str, ranks: Sequence[int]) -> tuple[list[str], str]:
    """The letters of every operand and of the value, with `...` and `->` written out."""
    left, arrow, right = subscripts.replace(" ", "").partition("->")
    terms = left.split(",")
    widths = [n + 3 - len(t) if "..." in t else 0 for t, n in zip(terms, ranks, strict=True)]
    dots = "".join(c for c in ascii_letters if c not in subscripts)[: max(widths)]
    letters = left.replace(",", "").replace("...", "")
    terms = [t.replace("...", dots[len(dots) - w :]) for t, w in zip(terms, widths, strict=True)]
    once = "".join(sorted(c for c in letters if letters.count(c) == 1))
    return terms, right.replace("...", dots) if arrow else dots + once


def _pulled(
    g: Any, shape: tuple[int, ...], own: str, others: list[tuple[str, Any]], out: str
) -> Any:
    """The einsum of g with the other operands; letters that only stand here are spread out.

    `own` are the letters of the operand of that shape; `others` has the other operands' and these.
    """
    terms, operands = [term for term, _ in others], [operand for _, operand in others]
    sizes = dict(zip(own, shape, strict=True))
    free = "".join(sizes)
    alone = [c for c in free if c not in out + "".join(terms)]
    rest = [*operands, *(np.ones(sizes[c]) for c in alone)]
    pulled = np.einsum(",".join([out, *terms, *alone]) + "->" + free, g, *rest)
    if len(free) == len(own):
        return pulled
    grid = dict(zip(free, np.indices(tuple(sizes.values()), sparse=True), strict=True))
    return scatter(pulled, shape=shape, index=tuple(grid[c] for c in own))


@by_others
def _einsum_rule(index: int, g: Any, y: Any, *operands: Any, subscripts: str) -> Any:
    terms, out = _spelled_out(subscripts, [np.ndim(v) for v in operands])
    own = terms.pop(index)
    others = zip(terms, operands[:index] + operands[index + 1 :], strict=True)
    return _pulled(g, np.shape(operands[index]), own, list(others), out)


def _summed_in_balls(*operands: Any, subscripts: str) -> Any:
    return summed(*_spelled_out(subscripts, [np.ndim(v) for v in operands]), *operands)


def _subscripted(
    subscripts: Any, *operands: Any, optimize: Any = False
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if not isinstance(subscripts, str):
        return _lettered((subscripts, *operands))
    if len(operands) == 1 and isinstance(operands[0], list | tuple):  # PyTorch takes a list too
        operands = tuple(operands[0])
    return operands, {"subscripts": subscripts}


def _lettered(given: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """NumPy's other form, `einsum(a, [0, 1], b, [1, 2], [0, 2])`: numbers for letters."""
    terms = given[1::2] if len(given) % 2 == 0 else (*given[1::2], given[-1])
    if not all(isinstance(term, list | tuple) for term in terms):
        raise TypeError("einsum takes its subscripts as a text: np.einsum('ij,jk->ik', a, b)")
    texts = ["".join("..." if k is Ellipsis else ascii_letters[k] for k in t) for t in terms]
    count = len(given) // 2
    subscripts = ",".join(texts[:count]) + ("->" + texts[count] if len(texts) > count else "")
    return given[: 2 * count : 2], {"subscripts": subscripts}


einsum = op(
    np.einsum,
    forward=lambda *operands, subscripts: np.einsum(subscripts, *operands),
    vjps=_einsum_rule,
    ball=Composed(_summed_in_balls),
    grad_fn=lambda operands, params: "PermuteBackward0" if len(operands) == 1 else "ViewBackward0",
    elementwise=False,
    size="einsum",
    operands=None,
    arrange=_subscripted,
    example=Example("einsum('ij,jk->ik', a, b) * c", {"a": (2, 3), "b": (3, 2), "c": (2, 2)}),
)


Axes = tuple[Sequence[int], Sequence[int]]


def _letters(first: int, second: int, over: Axes) -> tuple[str, str, str]:
    """A contraction of axes of two operands of these ranks, in the letters of einsum."""
    a, b = list(ascii_letters[:first]), list(ascii_letters[26 : 26 + second])
    for i, k in zip(*over, strict=True):
        b[k] = a[i]
    shared = {a[i] for i in over[0]}
    return "".join(a), "".join(b), "".join(c for c in a + b if c not in shared)


def _to_left(g: Any, shape: tuple[int, ...], b: Any, over: Axes) -> Any:
    """The cotangent of the first operand of a contraction, from its shape and the second."""
    own, other, out = _letters(len(shape), np.ndim(b), over)
    return _pulled(g, shape, own, [(other, b)], out)


def _to_right(g: Any, a: Any, shape: tuple[int, ...], over: Axes) -> Any:
    """The cotangent of the second operand, from the first and its own shape."""
    other, own, out = _letters(np.ndim(a), len(shape), over)
    return _pulled(g, shape, own, [(other, a)], out)


def _over(first: int, second: int, axes: Any) -> Axes:
    """The axes that tensordot sums over, as two lists of the same length."""
    if isinstance(axes, int):
        return range(first - axes, first), range(axes)
    left, right = ([k] if isinstance(k, int) else list(k) for k in axes)
    return [k % first for k in left], [k % second for k in right]


def _last_and(first: int, second: int, back: int) -> Axes:
    """The last axis of the first, and the last (`inner`) or last but one (`dot`) of the second."""
    if not first or not second:
        return (), ()
    return [first - 1], [second - min(back, second)]


tensordot = op(
    np.tensordot,
    also=(np.linalg.tensordot,),
    vjps=(
        lambda g, y, a, b, axes=2: _to_left(g, a.shape, b, _over(a.ndim, np.ndim(b), axes)),
        lambda g, y, a, b, axes=2: _to_right(g, a, b.shape, _over(np.ndim(a), b.ndim, axes)),
    ),
    ball=Composed(lambda a, b, axes=2: contracted(a, b, _over(np.ndim(a), np.ndim(b), axes))),
    grad_fn="ViewBackward0",
    elementwise=False,
    size="contracted",
    operands=2,
    arrange=lambda a, b, axes=2, axis=None: ((a, b), {"axes": axes if axis is None else axis}),
    example=Example("tensordot(a, b, axes=1) * c", {"a": (2, 3), "b": (3, 2), "c": (2, 2)}),
)

dot = op(
    np.dot,
    vjps=(
        lambda g, y, a, b: _to_left(g, a.shape, b, _last_and(a.ndim, np.ndim(b), 2)),
        lambda g, y, a, b: _to_right(g, a, b.shape, _last_and(np.ndim(a), b.ndim, 2)),
    ),
    ball=Composed(lambda a, b: contracted(a, b, _last_and(np.ndim(a), np.ndim(b), 2))),
    grad_fn=_product_name,
    elementwise=False,
    size="dotted",
    example=Example("dot(a, b) * c", {"a": (3,), "b": (3,), "c": ()}),
)

inner = op(
    np.inner,
    vjps=(
        lambda g, y, a, b: _to_left(g, a.shape, b, _last_and(a.ndim, np.ndim(b), 1)),
        lambda g, y, a, b: _to_right(g, a, b.shape, _last_and(np.ndim(a), b.ndim, 1)),
    ),
    ball=Composed(lambda a, b: contracted(a, b, _last_and(np.ndim(a), np.ndim(b), 1))),
    grad_fn="ViewBackward0",
    elementwise=False,
    size="dotted",
    example=Example("inner(a, b) * c", {"a": (2, 3), "b": (3,), "c": (2,)}),
)

vdot = op(
    np.vdot,
    vjps=(
        lambda g, y, a, b: g * np.reshape(b, a.shape),
        lambda g, y, a, b: g * np.reshape(a, b.shape),
    ),
    grad_fn="VdotBackward0",
    elementwise=False,
    size="dotted",
    example=Example("vdot(a, b) * c", {"a": (3,), "b": (3,), "c": ()}),
)


def _laid_last(a: Any, b: Any, axis: int = -1) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The axis that is summed as the last one of both."""
    return tuple(v if axis == -1 else np.moveaxis(v, axis, -1) for v in (a, b)), {}


vecdot = op(
    np.vecdot,
    also=(np.linalg.vecdot,),
    arrange=_laid_last,
    operands=2,
    vjps=(
        lambda g, y, a, b: np.expand_dims(g, -1) * b,
        lambda g, y, a, b: np.expand_dims(g, -1) * a,
    ),
    grad_fn="SumBackward1",
    elementwise=False,
    size="multiplied",
    example=Example("vecdot(a, b) * c", {"a": (2, 3), "b": (3,), "c": (2,)}),
)

outer = op(
    np.outer,
    also=(np.linalg.outer,),
    vjps=(
        lambda g, y, a, b: np.reshape(g @ np.ravel(b), a.shape),
        lambda g, y, a, b: np.reshape(np.ravel(a) @ g, b.shape),
    ),
    grad_fn="MulBackward0",
    elementwise=False,
    size="outer",
    school=("ger",),
    example=Example("outer(a, b) * c", {"a": (2,), "b": (3,), "c": (2, 3)}),
)


def _blocks(shape: tuple[int, ...], ndim: int, side: int) -> tuple[int, ...]:
    """The shape of a factor of kron, each axis beside one of length 1 for the other factor's."""
    full = (1,) * (ndim - len(shape)) + shape
    return tuple(n for m in full for n in ((m, 1) if side == 0 else (1, m)))


def _kron_rule(side: int, g: Any, shape: tuple[int, ...], other: Any) -> Any:
    """The sum over blocks (or within them) of g times the other factor; `shape` is one's own."""
    ndim = g.ndim
    own, factor = _blocks(shape, ndim, side), _blocks(np.shape(other), ndim, 1 - side)
    pairs = tuple(n * m for n, m in zip(own, factor, strict=True))
    g = np.reshape(g, pairs) * np.reshape(other, factor)
    return np.reshape(np.sum(g, axis=tuple(range(1 - side, 2 * ndim, 2))), shape)


kron = op(
    np.kron,
    vjps=(
        lambda g, y, a, b: _kron_rule(0, g, a.shape, b),
        lambda g, y, a, b: _kron_rule(1, g, b.shape, a),
    ),
    grad_fn="UnsafeViewBackward0",
    elementwise=False,
    size="outer",
    example=Example("kron(a, b) * c", {"a": (2, 2), "b": (1, 2), "c": (2, 4)}),
)


def _crossed(  # noqa: PLR0917 - NumPy's order
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Vectors of three entries; NumPy's products in the plane are refused, as PyTorch does."""
    if axis is None:
        axis = axisc
        a, b = (v if k == axis else np.moveaxis(v, k, axis) for v, k in ((a, axisa), (b, axisb)))
    lengths = [np.shape(v)[axis] for v in (a, b)]
    if lengths != [3, 3]:
        raise TypeError(f"cross takes vectors of 3 entries along axis {axis}, not of {lengths}")
    return (a, b), {"axis": axis}


cross = op(
    np.cross,
    also=(np.linalg.cross,),
    vjps=(
        lambda g, y, a, b, axis=-1: np.cross(b, g, axis=axis),
        lambda g, y, a, b, axis=-1: np.cross(g, a, axis=axis),
    ),
    grad_fn="LinalgCrossBackward0",
    elementwise=False,
    arrange=_crossed,
    operands=2,
    example=Example("cross(a, b) * c", {"a": (3,), "b": (3,), "c": (3,)}),
)
