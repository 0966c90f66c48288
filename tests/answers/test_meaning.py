"""What typed formulas mean: their values against the same mathematics written in Python."""

import ast
import math
import operator

import pytest

from tests.support.meanings import MEANINGS, POINT
from tests.support.typed import read

OPERATIONS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
    ast.Lt: operator.lt,
    ast.Gt: operator.gt,
}
SHARED = "sin cos tan exp log log2 log10 sqrt cbrt"
FUNCTIONS = {
    **{name: getattr(math, name) for name in SHARED.split()},
    "arcsin": math.asin,
    "arctan": math.atan,
    "tanh": math.tanh,
    "absolute": abs,
    "maximum": max,
    "where": lambda condition, yes, no: yes if condition else no,
    "sec": lambda x: 1 / math.cos(x),
}


def value(node):
    """The value of a tree at the point."""
    match node:
        case ast.Expression(body):
            return value(body)
        case ast.Constant(number):
            return float(number)
        case ast.Name(name):
            return {**POINT, "pi": math.pi, "e": math.e}[name]
        case ast.BinOp(left, op, right):
            return OPERATIONS[type(op)](value(left), value(right))
        case ast.UnaryOp(op, operand):
            return OPERATIONS[type(op)](value(operand))
        case ast.Compare(left, [op], [right]):
            return OPERATIONS[type(op)](value(left), value(right))
        case ast.Call(ast.Name(function), arguments, []):
            return FUNCTIONS[function](*map(value, arguments))
    raise AssertionError(ast.dump(node))


@pytest.mark.parametrize(("typed", "expected"), MEANINGS.items())
def test_the_tree_means_what_was_typed(typed, expected):
    """A typed formula has the value of the mathematics it stands for."""
    assert value(read(typed).tree) == pytest.approx(expected, rel=1e-13, abs=1e-15)


@pytest.mark.parametrize("typed", MEANINGS)
def test_the_echo_means_the_same_to_python(typed):
    """Python's own grammar reads the echo as the same value."""
    understood = read(typed).understood
    assert value(ast.parse(understood, mode="eval")) == pytest.approx(MEANINGS[typed], rel=1e-13)
