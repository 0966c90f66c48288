"""Products of arrays: side by side and with a dot, as far as the shapes tell."""

import ast
import re

from gradcheck.answers.cursor import Cursor
from gradcheck.answers.shapes import broadcast, is_row, product_shape

OF_MATRICES = frozenset({"trace", "det", "logdet", "slogdet", "inv", "pinv", "matrix_power"})
TURNED = re.compile(r"(?:[.^{-] T|[{(^] - 1) |'")


def multiply_matrices(p: Cursor, left: ast.expr, right: ast.expr, start: int) -> ast.expr | None:
    """Factors side by side as a product of matrices; None where they go entry by entry."""
    b = p.shape(right)
    a = p.shape(left) if b else None
    if not a or not b:
        return None
    if len(a) == len(b) == 1:
        turned = isinstance(right, ast.Attribute) and right.attr == "T"
        if turned and not is_row(left, p.shapes, p.known):
            assert isinstance(right, ast.Attribute)
            p.note("a column beside a row is read as their outer product")
            return p.called("outer", [left, right.value], start)
        if a == b and is_row(left, p.shapes, p.known):
            return multiply(p, left, right, start)
        return None
    if product_shape(a, b) is None:
        return None
    if broadcast(a, b) is not None and len(a) == len(b) and not p.doubt(is_linear_algebra(p)):
        return None
    return multiply(p, left, right, start)


def multiply(p: Cursor, left: ast.expr, right: ast.expr, start: int) -> ast.expr:
    p.note("arrays side by side are read as a matrix product")
    return p.node(ast.BinOp(left, ast.MatMult(), right), start)


def multiply_dotted(p: Cursor, left: ast.expr, right: ast.expr, start: int) -> ast.expr | None:
    """A dot between arrays: the product of two vectors, a matrix product."""
    a, b = p.shape(left), p.shape(right)
    if a and b and len(a) == len(b) == 1 and not (a != b or is_turned(right)):
        if not p.doubt(usual=True):
            return None
        p.note("a dot between two vectors is read as their product")
        return p.node(ast.BinOp(left, ast.MatMult(), right), start)
    return multiply_matrices(p, left, right, start)


def is_linear_algebra(p: Cursor) -> bool:
    """Whether a transpose, a trace or an inverse is there, as in formulas of matrices only."""
    if p.matrices is None:
        named = {m.name for m in map(p.meaning, p.tokens) if m is not None}
        turned = TURNED.search(" ".join(token.text for token in p.tokens))
        primed = any(token.kind == "transpose" for token in p.tokens)
        p.matrices = bool(named & OF_MATRICES or turned or primed)
    return p.matrices


def is_turned(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "T"
