"""Shapes of what is typed, as far as they can be told: whether only a matrix product fits."""

import ast
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import TypeGuard

import numpy as np

from gradcheck.answers.echo import number
from gradcheck.ops import TABLE

Shape = tuple[int, ...]
Shapes = Mapping[str, Shape]
Known = dict[int, tuple[ast.expr, "Shape | None"]]  # the node is held: its id stays its own
MATRIX = 2  # axes
WHOLE = frozenset({"sum", "mean", "prod", "max", "min", "norm", "trace", "det", "logabsdet"})
"""Functions that give one number where they are told no axis."""
MAKERS = frozenset({"ones", "zeros", "eye"})
"""Functions that make an array of a number."""
ALIKE = frozenset({"inv", "softmax", "log_softmax"})
"""Functions that look at many entries and keep the shape."""


def is_row(tree: ast.expr, shapes: Shapes, known: Known | None = None) -> bool:
    """Whether a vector is written as a row: `uᵀ`, `2 uᵀ`, `uᵀ A`.

    Of a product the last factor with an axis says so: a long chain is not walked at every step.
    """
    match tree:
        case ast.BinOp(left, ast.MatMult(), _):
            return len(shape_of(left, shapes, known) or ()) == 1 and is_row(left, shapes, known)
        case ast.BinOp(left, ast.Mult(), right):
            return is_row(right if shape_of(right, shapes, known) else left, shapes, known)
        case ast.BinOp(left, ast.Div(), _):
            return is_row(left, shapes, known)
        case ast.UnaryOp(_, inner):
            return is_row(inner, shapes, known)
    return isinstance(tree, ast.Attribute) and tree.attr == "T"


def misfit(tree: ast.AST, shapes: Shapes) -> str:
    """Which product in a formula has shapes that do not fit, and what would; else nothing."""
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.MatMult):
            a, b = shape_of(node.left, shapes), shape_of(node.right, shapes)
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


def shape_of(node: ast.expr, shapes: Shapes, known: Known | None = None) -> Shape | None:
    """The shape of a value made of the inputs; None where it cannot be told.

    `known` keeps the shapes of nodes: those of a long chain are asked for at every step.
    """
    if known is None:
        known = {}
    if id(node) not in known:
        known[id(node)] = node, _shape(node, shapes, known)
    return known[id(node)][1]


def _shape(node: ast.expr, shapes: Shapes, known: Known) -> Shape | None:
    match node:
        case ast.Name(name):
            return shapes.get(name)
        case ast.BinOp(left, op, right):
            a, b = shape_of(left, shapes, known), shape_of(right, shapes, known)
            return product_shape(a, b) if isinstance(op, ast.MatMult) else broadcast(a, b)
        case (
            ast.Constant()
            | ast.Attribute(_, "size" | "ndim")
            | ast.Subscript(ast.Attribute(_, "shape"))
            | ast.Call(ast.Name("size"))
        ):
            return ()
        case ast.Attribute(inner, "T"):
            inside = shape_of(inner, shapes, known)
            return None if inside is None else inside[::-1]
        case ast.Call(ast.Name("transpose"), [inner], []):
            inside = shape_of(inner, shapes, known)
            return None if inside is None else inside[::-1]
        case ast.UnaryOp(_, inner):
            return shape_of(inner, shapes, known)
        case ast.Subscript(inner, places):
            return _index_shape(shape_of(inner, shapes, known), places)
        case ast.Compare(left, _, [right]):
            return broadcast(shape_of(left, shapes, known), shape_of(right, shapes, known))
        case ast.Call(ast.Name(function), [inner], keywords) if function in WHOLE:
            return _reduce_shape(shape_of(inner, shapes, known), keywords)
        case ast.Call(ast.Name(function), [inner, *_]) if function in ALIKE:
            return shape_of(inner, shapes, known)
        case ast.Call(ast.Name(function), args, []):
            return _of_call(function, args, shapes, known)
    return None


def _index_shape(shape: Shape | None, places: ast.expr) -> Shape | None:
    """The shape of entries, rows, columns and new axes; None where a place is no plain number."""
    parts = places.elts if isinstance(places, ast.Tuple) else [places]
    index: list[int | slice | None] = []
    for part in parts:
        if isinstance(part, ast.Slice) and not (part.lower or part.upper or part.step):
            index.append(slice(None))
        elif isinstance(part, ast.Constant) and part.value is None:
            index.append(None)
        elif isinstance(place := number(part), int):
            index.append(place)
        else:
            return None
    try:
        return None if shape is None else np.broadcast_to(0, shape)[tuple(index)].shape
    except IndexError:
        return None


def _reduce_shape(shape: Shape | None, keywords: Sequence[ast.keyword]) -> Shape | None:
    """The shape of a sum and its like."""
    told = {word.arg: word.value for word in keywords}
    if "axis" not in told:
        return None if told else ()
    if shape is None or not isinstance(axis := number(told.pop("axis")), int):
        return None
    if axis not in range(-len(shape), len(shape)):
        return None
    kept = told.pop("keepdims", None)
    if told or not (kept is None or isinstance(kept, ast.Constant)):
        return None
    one = (1,) if kept is not None and kept.value else ()
    axis %= len(shape)
    return (*shape[:axis], *one, *shape[axis + 1 :])


def _of_call(function: str, args: Sequence[ast.expr], shapes: Shapes, known: Known) -> Shape | None:
    """The shape of what a function gives; None where it is not one of the common ones."""
    if function in MAKERS and len(args) == 1:
        length = _length(args[0], shapes)
        return None if length is None else (length,) * (1 + (function == "eye"))
    given = [shape_of(arg, shapes, known) for arg in args]
    if any(shape is None for shape in given):
        return None
    row = TABLE.get(function)
    if row is not None and row.elementwise:
        return reduce(broadcast, given)
    match function, given:
        case "diag", [(n,)]:
            return (n, n)
        case "diag", [(n, m)]:
            return (min(n, m),)
        case "outer", [(n,), (m,)]:
            return (n, m)
    return None


def _length(tree: ast.expr, shapes: Shapes) -> int | None:
    """A length that is a number or `X.shape[0]`."""
    match tree:
        case ast.Constant(int(length)):
            return length
        case ast.Subscript(ast.Attribute(ast.Name(name), "shape"), ast.Constant(int(axis))):
            shape = shapes.get(name, ())
            return shape[axis] if axis < len(shape) else None
    return None


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


def rows_named(shapes: Shapes) -> str | None:
    """The array whose first length `n` is; None where no one length is the usual, and X has none.

    Where two lengths are as common, it is that of X.
    """
    first = {name: shape[0] for name, shape in shapes.items() if shape}
    usual = Counter(first.values()).most_common(2)
    if not usual:
        return None
    most = [name for name, length in first.items() if length == usual[0][0]]
    if len(usual) > 1 and usual[0][1] == usual[1][1]:
        tied = [n for n, size in first.items() if list(first.values()).count(size) == usual[0][1]]
        return "X" if "X" in tied else None
    return min(most, key=lambda name: (name != "X", name))


def identity(shapes: Shapes) -> str | None:
    """The array whose length `I` has: all square matrices, or else all vectors, are of one."""
    square = {name: shape[0] for name, shape in shapes.items() if is_square(shape)}
    lengths = square or {n: s[0] for n, s in shapes.items() if len(s) == 1}
    one = len(set(lengths.values())) == 1
    return min(lengths, key=lambda name: (name != "X", name)) if one else None


def matrix_named(shapes: Shapes) -> str | None:
    """X, or else the first matrix."""
    return min((n for n, s in shapes.items() if len(s) == MATRIX), key="X".__ne__, default=None)


def is_square(shape: Shape | None) -> TypeGuard[Shape]:
    """Whether it is that of a square matrix."""
    return shape is not None and len(shape) == MATRIX and shape[0] == shape[1]
