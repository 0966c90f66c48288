"""How large the numbers in a tree may grow: no towers of literal exponents."""

import ast
import math
from collections.abc import Callable, Hashable
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from gradcheck.answers.complaint import refused
from gradcheck.answers.trees import children
from gradcheck.numbers.exponents import FORMULA

MAGNITUDE = 30_000.0  # decimal digits of a tower of numbers


class Size(NamedTuple):
    """A literal number as a float (perhaps infinite) and a bound on its decimal exponent."""

    value: float
    exponent: float


def checked(tree: ast.Expression, text: str) -> None:
    """Refuse a tree with a literal power that is too large."""
    _size(tree.body, text)


def _size(node: ast.AST, text: str) -> Size | None:
    """The size of a literal number; nothing for a tree with names in it. Every power is checked."""
    if isinstance(node, ast.Name):
        return None
    if isinstance(node, ast.Constant):
        return _number(node.value)
    if isinstance(node, ast.UnaryOp):
        inner = _size(node.operand, text)
        sign = -1 if isinstance(node.op, ast.USub) else 1
        return inner and Size(sign * inner.value, inner.exponent)
    if isinstance(node, ast.BinOp):
        left, right = _size(node.left, text), _size(node.right, text)
        if isinstance(node.op, ast.Pow):
            _power(node, left, right, text)
        if left and right:
            return _combined(node.op, left, right)
        return None
    call = isinstance(node, ast.Call)
    for child in (*node.args, *node.keywords) if call else children(node):  # type: ignore[attr-defined]
        _size(child, text)
    return None


@lru_cache(maxsize=1024, typed=True)
def _number(value: Hashable) -> Size | None:
    """The size of a constant, however many digits it has."""
    if isinstance(value, bool) or not isinstance(value, int | Fraction):
        return None
    if not value:
        return Size(0.0, 0.0)
    exponent = math.log10(abs(value.numerator)) - math.log10(value.denominator)
    return Size(_float(float, value), abs(exponent))


def _float(function: Callable[..., float], *arguments: object) -> float:
    """The function's value, infinite where floats end and not-a-number where it has none."""
    try:
        value = function(*arguments)
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


def _power(node: ast.BinOp, base: Size | None, exponent: Size | None, text: str) -> None:
    """Literal exponents end at 1,000, and so do their towers."""
    if exponent is None:
        return
    at, width = node.right.col_offset, (node.right.end_col_offset or 0) - node.right.col_offset
    if not abs(exponent.value) <= FORMULA:
        message = f"an exponent beyond {FORMULA:,}"
        raise refused(text, at, message, "simplify it first", max(width, 1))
    if base and base.exponent * abs(exponent.value) > MAGNITUDE:
        message = "a number too long to be an answer"
        raise refused(text, at, message, "simplify it first", max(width, 1))
