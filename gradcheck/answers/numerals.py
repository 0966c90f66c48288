"""Typed numbers: exact values, and half a unit of the last typed digit."""

import ast
from fractions import Fraction

from gradcheck.answers.characters import in_plain


def constant(typed: str) -> ast.Constant:
    """The exact value of typed digits: whole numbers as int, decimals as Fraction."""
    node = ast.Constant(0)
    value: object = int(typed) if typed.isdigit() else Fraction(typed)
    vars(node)["value"] = value
    return node


def half_of_last_digit(typed: str) -> Fraction:
    """Half a unit of the last digit of a decimal: 0.25 is known to within 0.005."""
    mantissa, _, exponent = typed.lower().partition("e")
    decimals = len(mantissa.partition(".")[2])
    return Fraction(10) ** (int(exponent or 0) - decimals) / 2


def half_unit(node: ast.expr, text: str) -> Fraction | None:
    """Half a unit of the last digit of a bare decimal such as -0.25, 1e-3 or 2.5*10^-3."""
    if isinstance(node, ast.UnaryOp):
        return half_unit(node.operand, text)
    if isinstance(node, ast.Constant):
        value: object = node.value
        return half_of_last_digit(_typed(node, text)) if isinstance(value, Fraction) else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return _scientific(node, text)
    return None


def number(node: ast.expr) -> int | Fraction | None:
    """The value of a bare number with its sign; nothing for any other tree."""
    if isinstance(node, ast.UnaryOp):
        inner = number(node.operand)
        return -inner if inner is not None and isinstance(node.op, ast.USub) else inner
    value: object = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, int | Fraction) and not isinstance(value, bool) else None


def _scientific(node: ast.BinOp, text: str) -> Fraction | None:
    """The half unit of m*10^k: that of m, times 10^k."""
    mantissa = node.left.operand if isinstance(node.left, ast.UnaryOp) else node.left
    power = node.right
    if not (isinstance(mantissa, ast.Constant) and isinstance(power, ast.BinOp)):
        return None
    exponent = number(power.right)
    if (
        number(power.left) != 10
        or not isinstance(power.op, ast.Pow)
        or not isinstance(exponent, int)
    ):
        return None
    return half_of_last_digit(_typed(mantissa, text)) * Fraction(10) ** exponent


def _typed(node: ast.expr, text: str) -> str:
    """The digits of a constant as they were typed."""
    typed = text[node.col_offset : node.end_col_offset]
    return in_plain(typed).text.replace(",", ".").rstrip("`")
