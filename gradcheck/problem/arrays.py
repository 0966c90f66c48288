"""Numbers as they are written, in nested lists, as arrays of exact fractions.

A number may be written as a formula without names, `1/3` or `pi/4`: exact as long as it is
rational, else to PLACES digits, so that exact answers at it are right.
"""

import ast
import operator
import re
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from flint import arb, ctx, fmpq

from gradcheck.errors import TextError
from gradcheck.numbers.exponents import DECIMAL
from gradcheck.values import Array, Routine, Value

LITERAL = re.compile(r"[-+\d.eE_\s]*")


def exact_array(value: Value) -> Array | None:
    """Nested lists of numbers as an object array of Fractions; None if ragged, or no numbers."""
    shape = _shape(value)
    if shape is None:
        return None
    out = np.empty(shape, dtype=object)
    for index in np.ndindex(shape):
        entry: Value = value
        for k in index:
            entry = entry[k]
        out[index] = exact_number(entry)
    return out


def _shape(value: Value) -> tuple[int, ...] | None:
    """The shape of nested lists of numbers; None where they are ragged or hold anything else."""
    if isinstance(value, str):
        return None if formula_value(value) is None else ()
    if isinstance(value, bool) or not isinstance(value, int | float | list):
        return None
    if not isinstance(value, list):
        return ()
    shapes = {_shape(entry) for entry in value}
    if len(shapes) > 1 or None in shapes:
        return None
    inner = next(iter(shapes), ())
    return (len(value), *(inner or ()))


def exact_number(value: Value) -> Fraction:
    """One tenth for 0.1: the number that was written, not the float nearest to it."""
    if hasattr(value, "exact"):
        return Fraction(value.exact)
    if isinstance(value, str):
        value = formula_value(value)
    return Fraction(repr(value) if isinstance(value, float) else value)


EXACT: dict[type[ast.AST], Routine] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}
FUNCTIONS = {"sqrt": arb.sqrt, "exp": arb.exp, "log": arb.log, "sin": arb.sin, "cos": arb.cos}
FUNCTIONS |= {"tan": arb.tan}
CONSTANTS = {"pi": arb.pi, "e": arb.const_e}
LARGEST = 4_000  # bits of a power that is computed exactly
PLACES = 60  # twice the digits to which an answer is compared


def formula_value(text: str) -> Fraction | None:
    """The value of a formula such as `1/3` or `sqrt(2)/2`; None where it is none, or no number."""
    from gradcheck.answers import read_formula  # noqa: PLC0415 - most files hold none

    if LITERAL.fullmatch(text):  # a number in quotes is a text
        return None
    try:
        tree = read_formula(text, names=(), functions=FUNCTIONS, constants=CONSTANTS).tree
        return _value(tree.body)
    except (TextError, ArithmeticError, ValueError, KeyError):
        return None


def _value(node: ast.AST) -> Fraction:
    """The value of a checked tree; ArithmeticError, ValueError or KeyError where it has none."""
    match node:
        case ast.Constant(value=int() | Fraction() as number):
            return Fraction(number)
        case ast.Name(id=name):
            return _round(CONSTANTS[name])
        case ast.UnaryOp(op=op, operand=operand):
            return Fraction(EXACT[type(op)](_value(operand)))
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            base, exponent = _value(left), _value(right)
            if exponent.denominator == 1 and abs(exponent) <= LARGEST / (1 + _bits(base)):
                return base ** int(exponent)
            return _round(lambda: _ball(base) ** _ball(exponent))
        case ast.BinOp(left=left, op=op, right=right):
            return Fraction(EXACT[type(op)](_value(left), _value(right)))
        case ast.Call(func=ast.Name(id=name), args=[argument]):
            value = _value(argument)
            return _round(lambda: FUNCTIONS[name](_ball(value)))
    raise ValueError(ast.dump(node))


def _bits(value: Fraction) -> int:
    return value.numerator.bit_length() + value.denominator.bit_length()


def _ball(value: Fraction) -> arb:
    return arb(fmpq(value.numerator, value.denominator))


def _round(compute: Callable[[], arb]) -> Fraction:
    """A number to PLACES digits; ArithmeticError where it has none."""
    with ctx.workdps(2 * PLACES):
        found = compute()
        if not found.is_finite() or abs(found) > 10**DECIMAL:
            raise ArithmeticError(found)
        return Fraction(found.str(PLACES, radius=False))
