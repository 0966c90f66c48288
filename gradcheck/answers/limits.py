"""How large a formula may be: its height, its parts, its literal powers."""

import ast
import math
from fractions import Fraction

import numpy as np

from gradcheck.answers.characters import fault_at
from gradcheck.answers.operands import Reading
from gradcheck.errors import ANSWER_EXPONENT

MAGNITUDE = 30_000.0  # decimal digits of a tower of numbers
HEIGHT = 128
PARTS = 2_000  # with all that names stand for that the text defines
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


def within_limits(body: ast.expr, reading: Reading, tokens: int) -> None:
    """Refuse a tree that a recursion could not bear, or with a literal power that is too large."""
    level: list[ast.AST] = [body] if tokens > HEIGHT // 4 or reading.own else []
    height = parts = 0
    while level:
        height, parts = height + 1, parts + len(level)
        if height > HEIGHT or parts > PARTS:
            limit = f"{HEIGHT} steps in a row" if height > HEIGHT else f"{PARTS:,} parts"
            message = f"a formula of more than {limit}"
            raise fault_at(reading.typed, 0, message, "simplify it first, or give numbers")
        level = [inner for node in level for inner in ast.iter_child_nodes(node)]
    for power in reversed(reading.powers):
        exponent = _size(power.right)
        base = _size(power.left) if exponent else None
        message = ""
        if exponent and not abs(exponent[0]) <= ANSWER_EXPONENT:
            message = f"an exponent beyond {ANSWER_EXPONENT:,}"
        elif exponent and base and base[1] * abs(exponent[0]) > MAGNITUDE:
            message = "a number too long to be an answer"
        if message:
            at = power.right.col_offset
            width = max((power.right.end_col_offset or 0) - at, 1)
            raise fault_at(reading.typed, at, message, "simplify it first", width)


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
        case ast.BinOp(left, op, right) if (a := _size(left)) and (b := _size(right)):
            with np.errstate(all="ignore"):
                value = float(OPERATIONS[type(op)](a[0], b[0]))
            return value, a[1] * abs(b[0]) if isinstance(op, ast.Pow) else a[1] + b[1] + 1
    return None
