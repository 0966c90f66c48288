"""Shapes of what is typed, as far as they can be told: whether only a matrix product fits."""

import ast
from collections.abc import Mapping

import numpy as np

from gradcheck.answers.words import ARITY

Shape = tuple[int, ...]
Shapes = Mapping[str, Shape]


def only_as_matrices(left: ast.expr, right: ast.expr, shapes: Shapes) -> bool:
    """Whether two factors can be multiplied as matrices, but not entry by entry."""
    if not any(shapes.values()):
        return False
    a, b = shape_of(left, shapes), shape_of(right, shapes)
    return bool(a and b) and _broadcast(a, b) is None and _product(a, b) is not None


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
