"""Shapes of what is typed, as far as they can be told: whether only a matrix product fits."""

import ast
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any, TypeGuard

import numpy as np

from gradcheck.answers.echo import number
from gradcheck.ops import TABLE

Shape = tuple[int, ...]
MATRIX = 2  # axes
WHOLE = frozenset({"sum", "mean", "prod", "max", "min", "norm", "trace", "det", "logabsdet"})
"""Functions that give one number where they are told no axis."""
ALIKE = frozenset({"inv", "softmax", "log_softmax"})
"""Functions that look at many entries and keep the shape."""


class Shapes:
    """The shapes of inputs, and of what is made of them; None where one cannot be told."""

    def __init__(self, named: Mapping[str, Shape]) -> None:
        self.named = named
        self.known: dict[ast.expr, Shape | None] = {}

    def of(self, node: ast.expr) -> Shape | None:
        """The shape of a value; those of a long chain are asked for at every step."""
        if node not in self.known:
            self.known[node] = self._find(node)
        return self.known[node]

    def _find(self, node: ast.expr) -> Shape | None:
        match node:
            case ast.Name(name):
                return self.named.get(name)
            case ast.BinOp(left, ast.MatMult(), right):
                return product_shape(self.of(left), self.of(right))
            case ast.BinOp(left, _, right) | ast.Compare(left, _, [right]):
                return broadcast(self.of(left), self.of(right))
            case (
                ast.Constant()
                | ast.Attribute(_, "size" | "ndim")
                | ast.Subscript(ast.Attribute(_, "shape"))
                | ast.Call(ast.Name("size"))
            ):
                return ()
            case ast.Attribute(inner, "T") | ast.Call(ast.Name("transpose"), [inner], []):
                shape = self.of(inner)
                return None if shape is None else shape[::-1]
            case ast.UnaryOp(_, inner):
                return self.of(inner)
            case ast.Subscript(inner, index):
                places = index.elts if isinstance(index, ast.Tuple) else [index]
                return _index(self.of(inner), [_place(part) for part in places])
            case ast.Call(ast.Name(function), [inner], keywords) if function in WHOLE:
                return _reduce(self.of(inner), {word.arg: word.value for word in keywords})
            case ast.Call(ast.Name(function), [inner, *_]) if function in ALIKE:
                return self.of(inner)
            case ast.Call(ast.Name("ones" | "zeros" | "eye" as function), [inner], []):
                length = self._length(inner)
                return None if length is None else (length,) * (1 + (function == "eye"))
            case ast.Call(ast.Name(function), args, []):
                return _apply(function, [self.of(arg) for arg in args])
        return None

    def _length(self, tree: ast.expr) -> int | None:
        """A length that is a number or `X.shape[0]`."""
        match tree:
            case ast.Constant(int(length)):
                return length
            case ast.Subscript(ast.Attribute(ast.Name(name), "shape"), ast.Constant(int(axis))):
                return dict(enumerate(self.named.get(name, ()))).get(axis)
        return None

    def is_row(self, tree: ast.expr) -> bool:
        """Whether a vector is written as a row: `uᵀ`, `2 uᵀ`, `uᵀ A`.

        Of a product the last factor with an axis says so: a long chain is not walked at every step.
        """
        match tree:
            case ast.BinOp(left, ast.MatMult(), _):
                return len(self.of(left) or ()) == 1 and self.is_row(left)
            case ast.BinOp(left, ast.Mult(), right):
                return self.is_row(right if self.of(right) else left)
            case ast.BinOp(inner, ast.Div(), _) | ast.UnaryOp(_, inner):
                return self.is_row(inner)
        return is_turned(tree)


def _apply(function: str, given: Sequence[Shape | None]) -> Shape | None:
    row = TABLE.get(function)
    match function, given:
        case "diag", [(n,)]:
            return (n, n)
        case "diag", [(n, m)]:
            return (min(n, m),)
        case "outer", [(n,), (m,)]:
            return (n, m)
    return reduce(broadcast, given) if row is not None and row.elementwise and given else None


def _place(part: ast.expr) -> Any:
    match part:
        case ast.Slice(None, None, None):
            return slice(None)
        case ast.Constant(None):
            return None
    value = number(part)
    return "unknown" if value is None else value


def _index(shape: Shape | None, places: Sequence[Any]) -> Shape | None:
    try:
        return None if shape is None else np.broadcast_to(0, shape)[tuple(places)].shape
    except IndexError:
        return None


def _reduce(shape: Shape | None, told: dict[str | None, ast.expr]) -> Shape | None:
    if not told:
        return ()
    match told.get("axis"), told.get("keepdims", ast.Constant(False)):
        case ast.expr() as where, ast.Constant(kept) if len(told) == 1 + ("keepdims" in told):
            axis = number(where)
            if shape is not None and axis in range(-len(shape), len(shape)):
                places: list[Any] = [slice(None)] * len(shape)
                places[int(axis or 0)] = slice(1) if kept else 0
                return _index(shape, places)
    return None


def is_turned(tree: ast.expr) -> TypeGuard[ast.Attribute]:
    return isinstance(tree, ast.Attribute) and tree.attr == "T"


def misfit(tree: ast.AST, shapes: Mapping[str, Shape]) -> str:
    """Which product in a formula has shapes that do not fit, and what would; else nothing."""
    sizes = Shapes(shapes)
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.MatMult):
            a, b = sizes.of(node.left), sizes.of(node.right)
            if a and b and (said := _cure(node, a, b)):
                return said
    return ""


def _cure(product: ast.BinOp, a: Shape, b: Shape) -> str:
    matrices = isinstance(product.op, ast.MatMult)
    result = product_shape if matrices else broadcast
    if result(a, b) is not None:
        return ""
    left, right = ast.unparse(product.left), ast.unparse(product.right)
    told = f"shapes ({','.join(map(str, a))})·({','.join(map(str, b))})"
    if not matrices and product_shape(a, b) is not None:
        return f"`{left}` times `{right}` is a matrix product: write @; {told}"
    for text, one, two in ((left, a[::-1], b), (right, a, b[::-1])):
        fits = product_shape(one, two) is not None or result(one, two) is not None
        if fits and len(one) + len(two) > MATRIX:
            return f"`{text}` should be transposed: {told}"
    return f"`{left}` and `{right}` cannot be multiplied: {told}"


def broadcast(a: Shape | None, b: Shape | None) -> Shape | None:
    """The shape of two arrays taken entry by entry; None where they do not fit."""
    if a is None or b is None:
        return None
    if a == b or not a or not b:
        return a or b
    try:
        return np.broadcast_shapes(a, b)
    except ValueError:
        return None


def product_shape(a: Shape | None, b: Shape | None) -> Shape | None:
    """The shape of a product of matrices or vectors; None where they do not fit."""
    if not a or not b or len(a) > 2 or len(b) > 2 or a[-1] != b[-2 if len(b) > 1 else 0]:
        return None
    return (*a[:-1], *b[1:])


def rows_named(shapes: Mapping[str, Shape]) -> str | None:
    """The array whose first length `n` is, that which is most common; of two such, that of X."""
    first = {name: shape[0] for name, shape in shapes.items() if shape}
    times = Counter(first.values())
    usual = [name for name, length in first.items() if times[length] == max(times.values())]
    if len({first[name] for name in usual}) > 1:
        return "X" if "X" in usual else None
    return min(usual, key=lambda name: (name != "X", name), default=None)


def identity(shapes: Mapping[str, Shape]) -> str | None:
    """The array whose length `I` has: all square matrices, or else all vectors, are of one."""
    square = {name: shape[0] for name, shape in shapes.items() if is_square(shape)}
    lengths = square or {n: s[0] for n, s in shapes.items() if len(s) == 1}
    one = len(set(lengths.values())) == 1
    return min(lengths, key=lambda name: (name != "X", name)) if one else None


def is_square(shape: Shape | None) -> TypeGuard[Shape]:
    return shape is not None and len(shape) == MATRIX and shape[0] == shape[1]
