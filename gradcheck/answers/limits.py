"""How high a tree and how large its numbers may grow: no towers of literal exponents."""

import ast
import math
from fractions import Fraction

import numpy as np

from gradcheck.answers.complaint import refused
from gradcheck.numbers.exponents import FORMULA

MAGNITUDE = 30_000.0  # decimal digits of a tower of numbers
HEIGHT = 128
FLOATS = 308  # decimal exponents


OPERATIONS = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.MatMult: np.multiply,
    ast.Div: np.divide,
    ast.Pow: np.power,
}

Size = tuple[float, float]
"""A literal number as a float (perhaps infinite) and a bound on its decimal exponent."""


def within_limits(body: ast.expr, text: str) -> None:
    """Refuse a tree that a recursion could not bear, or with a literal power that is too large."""
    waiting: list[tuple[ast.AST, int]] = [(body, 1)]
    powers: list[ast.BinOp] = []
    while waiting:
        node, height = waiting.pop()
        if height > HEIGHT:
            message = f"a formula of more than {HEIGHT} steps in a row"
            raise refused(text, 0, message, "simplify it first, or give numbers")
        if isinstance(node, ast.BinOp):
            if isinstance(node.op, ast.Pow):
                powers.append(node)
            waiting += ((node.left, height + 1), (node.right, height + 1))
        elif isinstance(node, ast.Call):
            waiting += [(child, height + 1) for child in (*node.args, *node.keywords)]
        elif not isinstance(node, ast.Name | ast.Constant):
            waiting += [(child, height + 1) for child in ast.iter_child_nodes(node)]
    for power in powers:
        _check(power, text)


def _check(power: ast.BinOp, text: str) -> None:
    """Literal exponents end at 1,000, and so do their towers."""
    exponent = _size(power.right)
    if exponent is None:
        return
    at = power.right.col_offset
    width = max((power.right.end_col_offset or 0) - at, 1)
    if not abs(exponent[0]) <= FORMULA:
        message = f"an exponent beyond {FORMULA:,}"
        raise refused(text, at, message, "simplify it first", width)
    base = _size(power.left)
    if base and base[1] * abs(exponent[0]) > MAGNITUDE:
        message = "a number too long to be an answer"
        raise refused(text, at, message, "simplify it first", width)


def _size(node: ast.AST) -> Size | None:
    """The size of a literal number; nothing for a tree with names in it."""
    match node:
        case ast.Constant(value) if isinstance(value, int | Fraction):
            if not value:
                return 0.0, 0.0
            exponent = math.log10(value.numerator) - math.log10(value.denominator)
            return float(value) if exponent < FLOATS else math.inf, abs(exponent)
        case ast.UnaryOp(op, operand):
            inner = _size(operand)
            return inner and (-inner[0] if isinstance(op, ast.USub) else inner[0], inner[1])
        case ast.BinOp(left, op, right):
            a, b = _size(left), _size(right)
            return _combine(op, a, b) if a and b else None
    return None


def _combine(op: ast.operator, left: Size, right: Size) -> Size:
    """The size of a literal sum, product, quotient or power."""
    with np.errstate(all="ignore"):
        value = float(OPERATIONS[type(op)](left[0], right[0]))
    if isinstance(op, ast.Pow):
        return value, left[1] * abs(right[0])
    if isinstance(op, ast.Add | ast.Sub):
        return value, max(left[1], right[1]) + 1
    return value, left[1] + right[1]
