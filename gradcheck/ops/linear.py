"""Products of vectors, matrices and tensors."""

from collections.abc import Mapping, Sequence
from string import ascii_letters
from typing import Any

import numpy as np

from gradcheck.ops.indexing import scatter
from gradcheck.ops.matrices import contracted, product, summed, written_out
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


def _pulled(index: int, g: Any, operands: tuple[Any, ...], terms: list[str], out: str) -> Any:
    """The einsum of g with the other operands; letters that only stand here are spread out."""
    own, others = terms[index], terms[:index] + terms[index + 1 :]
    shape = np.shape(operands[index])
    sizes = dict(zip(own, shape, strict=True))
    free = "".join(sizes)
    alone = [c for c in free if c not in out + "".join(others)]
    rest = [*operands[:index], *operands[index + 1 :], *(np.ones(sizes[c]) for c in alone)]
    pulled = np.einsum(",".join([out, *others, *alone]) + "->" + free, g, *rest)
    if len(free) == len(own):
        return pulled
    grid = dict(zip(free, np.indices(tuple(sizes.values()), sparse=True), strict=True))
    return scatter(pulled, shape=shape, index=tuple(grid[c] for c in own))


def _einsum_rule(index: int, g: Any, y: Any, *operands: Any, subscripts: str) -> Any:
    return _pulled(index, g, operands, *_spelled_out(subscripts, [np.ndim(v) for v in operands]))


def _summed_in_balls(*operands: Any, subscripts: str) -> Any:
    return summed(*_spelled_out(subscripts, [np.ndim(v) for v in operands]), *operands)


def _subscripted(
    subscripts: Any, *operands: Any, optimize: Any = False
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if not isinstance(subscripts, str):
        raise TypeError("einsum takes its subscripts as a text: np.einsum('ij,jk->ik', a, b)")
    return operands, {"subscripts": subscripts}


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


def _letters(a: Any, b: Any, over: tuple[Sequence[int], Sequence[int]]) -> tuple[list[str], str]:
    """A contraction of axes of a with axes of b, in the letters of einsum."""
    first = list(ascii_letters[: np.ndim(a)])
    second = list(ascii_letters[26 : 26 + np.ndim(b)])
    for i, k in zip(*over, strict=True):
        second[k] = first[i]
    shared = {first[i] for i in over[0]}
    out = "".join(c for c in first + second if c not in shared)
    return ["".join(first), "".join(second)], out


def _over(a: Any, b: Any, axes: Any) -> tuple[Sequence[int], Sequence[int]]:
    """The axes that tensordot sums over, as two lists of the same length."""
    if isinstance(axes, int):
        return range(np.ndim(a) - axes, np.ndim(a)), range(axes)
    first, second = ([k] if isinstance(k, int) else list(k) for k in axes)
    return [k % np.ndim(a) for k in first], [k % np.ndim(b) for k in second]


def _last_and(a: Any, b: Any, back: int) -> tuple[Sequence[int], Sequence[int]]:
    """The last axis of a, and the last (`inner`) or last but one (`dot`) of b."""
    if not np.ndim(a) or not np.ndim(b):
        return (), ()
    return [np.ndim(a) - 1], [np.ndim(b) - min(back, np.ndim(b))]


tensordot = op(
    np.tensordot,
    also=(np.linalg.tensordot,),
    vjps=(
        lambda g, y, a, b, axes=2: _pulled(0, g, (a, b), *_letters(a, b, _over(a, b, axes))),
        lambda g, y, a, b, axes=2: _pulled(1, g, (a, b), *_letters(a, b, _over(a, b, axes))),
    ),
    ball=Composed(lambda a, b, axes=2: contracted(a, b, _over(a, b, axes))),
    grad_fn="ViewBackward0",
    elementwise=False,
    size="contracted",
    params=("axes",),
    example=Example("tensordot(a, b, axes=1) * c", {"a": (2, 3), "b": (3, 2), "c": (2, 2)}),
)

dot = op(
    np.dot,
    vjps=(
        lambda g, y, a, b: _pulled(0, g, (a, b), *_letters(a, b, _last_and(a, b, 2))),
        lambda g, y, a, b: _pulled(1, g, (a, b), *_letters(a, b, _last_and(a, b, 2))),
    ),
    ball=Composed(lambda a, b: contracted(a, b, _last_and(a, b, 2))),
    grad_fn=_product_name,
    elementwise=False,
    size="dotted",
    example=Example("dot(a, b) * c", {"a": (3,), "b": (3,), "c": ()}),
)

inner = op(
    np.inner,
    vjps=(
        lambda g, y, a, b: _pulled(0, g, (a, b), *_letters(a, b, _last_and(a, b, 1))),
        lambda g, y, a, b: _pulled(1, g, (a, b), *_letters(a, b, _last_and(a, b, 1))),
    ),
    ball=Composed(lambda a, b: contracted(a, b, _last_and(a, b, 1))),
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

vecdot = op(
    np.vecdot,
    also=(np.linalg.vecdot,),
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


def _blocks(m: Any, ndim: int, side: int) -> Any:
    """The axes of a factor of kron, each beside an axis of length 1 for the other factor's."""
    shape = (1,) * (ndim - np.ndim(m)) + np.shape(m)
    pairs = [(n, 1) if side == 0 else (1, n) for n in shape]
    return np.reshape(m, tuple(n for pair in pairs for n in pair))


def _kron_rule(side: int, g: Any, a: Any, b: Any) -> Any:
    """The sum over blocks (or within them) of g times the other factor."""
    ndim = len(g.shape)
    factors = [_blocks(a, ndim, 0), _blocks(b, ndim, 1)]
    pairs = tuple(n * m for n, m in zip(*(f.shape for f in factors), strict=True))
    g = np.reshape(g, pairs) * factors[1 - side]
    return np.reshape(np.sum(g, axis=tuple(range(1 - side, 2 * ndim, 2))), np.shape((a, b)[side]))


kron = op(
    np.kron,
    vjps=(
        lambda g, y, a, b: _kron_rule(0, g, a, b),
        lambda g, y, a, b: _kron_rule(1, g, a, b),
    ),
    grad_fn="UnsafeViewBackward0",
    elementwise=False,
    size="outer",
    example=Example("kron(a, b) * c", {"a": (2, 2), "b": (1, 2), "c": (2, 4)}),
)


def _crossed(a: Any, b: Any, axis: int = -1) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Vectors of three entries; NumPy's products in the plane are refused, as PyTorch does."""
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
