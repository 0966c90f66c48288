"""Shapes of what is typed, as far as they can be told: whether only a matrix product fits."""

import ast
from collections.abc import Mapping

import numpy as np

from gradcheck.answers.words import ARITY

Shape = tuple[int, ...]
Shapes = Mapping[str, Shape]
MATRIX = 2  # axes


def only_as_matrices(left: ast.expr, right: ast.expr, shapes: Shapes) -> bool:
    """Whether two factors can be multiplied as matrices, but not entry by entry."""
    if not any(shapes.values()):
        return False
    a, b = shape_of(left, shapes), shape_of(right, shapes)
    return bool(a and b) and _broadcast(a, b) is None and _product(a, b) is not None


def as_matrices(left: ast.expr, right: ast.expr, shapes: Shapes) -> bool:
    """Whether factors side by side are a product of matrices, as mathematics has it.

    Where both readings fit, a matrix beside a vector is one, and so is a transpose beside a matrix.
    """
    a, b = shape_of(left, shapes), shape_of(right, shapes)
    if not a or not b or _product(a, b) is None:
        return False
    turned = any(isinstance(side, ast.Attribute) for side in (left, right))
    return _broadcast(a, b) is None or len(a) != len(b) or (turned and len(a) == MATRIX)


def misfit(tree: ast.AST, shapes: Shapes) -> str:
    """Which product in a formula has shapes that do not fit, and what would; else nothing."""
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp) and (said := _of_product(node, shapes)):
            return said
    return ""


def _of_product(node: ast.BinOp, shapes: Shapes) -> str:
    a, b = shape_of(node.left, shapes), shape_of(node.right, shapes)
    if not a or not b:
        return ""
    left, right = ast.unparse(node.left), ast.unparse(node.right)
    told = f"shapes {_told(a)}·{_told(b)}"
    if isinstance(node.op, ast.MatMult) and _product(a, b) is None:
        for text, pair in ((left, (a[::-1], b)), (right, (a, b[::-1]))):
            if _product(*pair) is not None and len(pair[0]) + len(pair[1]) > MATRIX:
                return f"`{text}` should be transposed: {told}"
        return f"`{left}` and `{right}` cannot be multiplied: {told}"
    if isinstance(node.op, ast.Mult) and _broadcast(a, b) is None:
        if _product(a, b) is not None:
            return f"`{left}` times `{right}` is a matrix product: write @; {told}"
        for text, pair in ((left, (a[::-1], b)), (right, (a, b[::-1]))):
            if _product(*pair) is not None or _broadcast(*pair) is not None:
                return f"`{text}` should be transposed: {told}"
        return f"`{left}` and `{right}` cannot be multiplied: {told}"
    return ""


def _told(shape: Shape) -> str:
    return f"({','.join(map(str, shape))})"


def shape_of(node: ast.expr, shapes: Shapes) -> Shape | None:
    """The shape of a value made of the inputs; None where it cannot be told."""
    match node:
        case (
            ast.Constant()
            | ast.Attribute(_, "size" | "ndim")
            | ast.Subscript(ast.Attribute(_, "shape"))
        ):
            return ()
        case ast.Name(name):
            return shapes.get(name)
        case ast.Attribute(inner, "T"):
            known = shape_of(inner, shapes)
            return None if known is None else known[::-1]
        case ast.Call(ast.Name("transpose"), [inner], []):
            known = shape_of(inner, shapes)
            return None if known is None else known[::-1]
        case ast.UnaryOp(_, inner):
            return shape_of(inner, shapes)
        case ast.BinOp(left, op, right):
            a, b = shape_of(left, shapes), shape_of(right, shapes)
            return _product(a, b) if isinstance(op, ast.MatMult) else _broadcast(a, b)
        case ast.Call(ast.Name(function), [inner], []) if ARITY.get(function) == 1:
            return shape_of(inner, shapes)
    return None


def _broadcast(a: Shape | None, b: Shape | None) -> Shape | None:
    """The shape of two arrays taken entry by entry; None where they do not fit."""
    if a is None or b is None:
        return None
    try:
        return np.broadcast_shapes(a, b)
    except ValueError:
        return None


def _product(a: Shape | None, b: Shape | None) -> Shape | None:
    """The shape of a product of matrices or vectors; None where they do not fit."""
    if not a or not b or len(a) > 2 or len(b) > 2 or a[-1] != b[-2 if len(b) > 1 else 0]:
        return None
    return (*a[:-1], *b[1:])
