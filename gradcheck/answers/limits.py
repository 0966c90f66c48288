"""How high a tree and how large its numbers may grow: no towers of literal exponents."""

import ast
import math
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

from gradcheck.answers.complaint import refused
from gradcheck.numbers.exponents import FORMULA

MAGNITUDE = 30_000.0  # decimal digits of a tower of numbers
HEIGHT = 128


class Size(NamedTuple):
    """A literal number as a float (perhaps infinite) and a bound on its decimal exponent."""

    value: float
    exponent: float


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
    if not abs(exponent.value) <= FORMULA:
        message = f"an exponent beyond {FORMULA:,}"
        raise refused(text, at, message, "simplify it first", width)
    base = _size(power.left)
    if base and base.exponent * abs(exponent.value) > MAGNITUDE:
        message = "a number too long to be an answer"
        raise refused(text, at, message, "simplify it first", width)


def _size(node: ast.AST) -> Size | None:
    """The size of a literal number; nothing for a tree with names in it."""
    match node:
        case ast.Constant(value) if isinstance(value, int | Fraction):
            return _of_number(value)
        case ast.UnaryOp(op, operand):
            inner = _size(operand)
            sign = -1 if isinstance(op, ast.USub) else 1
            return inner and Size(sign * inner.value, inner.exponent)
        case ast.BinOp(left, op, right):
            a, b = _size(left), _size(right)
            return _combined(op, a, b) if a and b else None
    return None


def _of_number(value: int | Fraction) -> Size:
    if not value:
        return Size(0.0, 0.0)
    exponent = math.log10(abs(value.numerator)) - math.log10(value.denominator)
    return Size(_float(lambda: float(value)), abs(exponent))


def _float(function: Callable[[], float]) -> float:
    """The function's value, infinite where floats end and not-a-number where it has none."""
    try:
        value = function()
    except OverflowError:
        return math.inf
    except (ZeroDivisionError, ValueError):
        return math.nan
    return value if isinstance(value, float) else math.nan


def _combined(op: ast.operator, left: Size, right: Size) -> Size:
    """The size of a literal sum, product, quotient or power."""
    a, b = left.value, right.value
    if isinstance(op, ast.Pow):
        return Size(_float(lambda: a**b), left.exponent * abs(b))
    if isinstance(op, ast.Mult | ast.MatMult):
        return Size(a * b, left.exponent + right.exponent)
    if isinstance(op, ast.Div):
        return Size(_float(lambda: a / b), left.exponent + right.exponent)
    total = a + b if isinstance(op, ast.Add) else a - b
    return Size(total, max(left.exponent, right.exponent) + 1)
