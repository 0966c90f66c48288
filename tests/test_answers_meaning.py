"""What typed formulas mean: their values against the same mathematics written in Python."""

import ast
import math
import operator

import pytest
from test_answers_vocabulary import read

POINT = {"x": 0.7, "y": 1.3, "a": 2.5, "n": 3.0, "theta": 0.4}
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


X, Y, A, N, T = POINT.values()
MEANINGS = {
    "3x^2 + 2cos x": 3 * X**2 + 2 * math.cos(X),
    "2 pi x": 2 * math.pi * X,
    "x y a": X * Y * A,
    "-x^2": -(X**2),
    "(-x)^2": X**2,
    "2^3^2": 512.0,
    "2^-x": 2**-X,
    "x^-2": 1 / X**2,
    "x - y - a": (X - Y) - A,
    "x/y/a": (X / Y) / A,
    "1/2x": 0.5 * X,
    "1/(2x)": 1 / (2 * X),
    "2x/3y": ((2 * X) / 3) * Y,
    r"\frac{2x}{3y}": (2 * X) / (3 * Y),
    "x^1/2": X / 2,
    "x^(1/2)": math.sqrt(X),
    "x^½": math.sqrt(X),
    "½x": X / 2,
    "e^2x": math.e**2 * X,
    "e^(2x)": math.exp(2 * X),
    "e^-x^2": math.exp(-(X**2)),
    "e^x sin x": math.exp(X) * math.sin(X),
    "e^sin x": math.exp(math.sin(X)),
    "sin 2x": math.sin(2 * X),
    "sin 2x + 1": math.sin(2 * X) + 1,
    "sin x cos x": math.sin(X) * math.cos(X),
    "sin x^2": math.sin(X**2),
    "sin^2 x": math.sin(X) ** 2,
    "sin²x + cos²x": 1.0,
    "sin^-1 x": math.asin(X),
    "(sin x)^-1": 1 / math.sin(X),
    "cos 2x/3": math.cos(2 * X) / 3,
    "sin 2*x": math.sin(2) * X,
    "sin 2(x+1)": math.sin(2 * (X + 1)),
    "ln sin x": math.log(math.sin(X)),
    "x ln x - x": X * math.log(X) - X,
    "2^x ln 2": 2**X * math.log(2),
    "log x": math.log(X),
    "lg x": math.log10(X),
    "log_2 x": math.log2(X),
    "log_3 x": math.log(X, 3),
    "|x-1||x-2|": abs(X - 1) * abs(X - 2),
    "||x|-1|": abs(abs(X) - 1),
    "|x| - |y|": abs(X) - abs(Y),
    "x/|x|": 1.0,
    "√2x": math.sqrt(2) * X,
    "sqrt 2x": math.sqrt(2 * X),
    "√x^2": X,
    "1/(2√x)": 1 / (2 * math.sqrt(X)),
    "∛x": X ** (1 / 3),
    r"\sqrt[5]{x+1}": (X + 1) ** 0.2,
    r"\frac12 x": X / 2,
    r"\sin^{2}\left(3x\right)\cdot 2": math.sin(3 * X) ** 2 * 2,
    "x (y + a)": X * (Y + A),
    "2θx": 2 * T * X,
    "x⁻¹": 1 / X,
    "xⁿ": X**N,
    "n x^(n-1)": N * X ** (N - 1),
    "1e-3 x": X / 1000,
    "2×10^3": 2000.0,
    "sec^2 x": 1 / math.cos(X) ** 2,
    "max(0, x-1)": 0.0,
    "where(x > 1, x, -y)": -Y,
    "1 - tanh^2 x": 1 - math.tanh(X) ** 2,
    "x--y": X + Y,
    "x/-y": -X / Y,
}


@pytest.mark.parametrize(("typed", "expected"), MEANINGS.items())
def test_the_tree_means_what_was_typed(typed, expected):
    """A typed formula has the value of the mathematics it stands for."""
    assert value(read(typed).tree) == pytest.approx(expected, rel=1e-13, abs=1e-15)


@pytest.mark.parametrize("typed", MEANINGS)
def test_the_echo_means_the_same_to_python(typed):
    """Python's own grammar reads the echo as the same value."""
    understood = read(typed).understood
    assert value(ast.parse(understood, mode="eval")) == pytest.approx(MEANINGS[typed], rel=1e-13)
