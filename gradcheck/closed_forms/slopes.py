"""Slopes of elementwise functions as text: SymPy's derivative of the op's own closed form.

In the text `u0`, `u1`, ... are the arguments and `y` is the value, so that the slope of a tanh
that the program calls H reads `1 - H**2`.
"""

import ast
import operator
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import sympy

from gradcheck.closed_forms.trees import filled
from gradcheck.ops import BY_SPELLING, TABLE
from gradcheck.ops.row import Composed, Op

Y = sympy.Symbol("y", real=True)

GUARDED = {
    "relu": ("u0 > 0",),
    "relu6": ("(u0 > 0) * (u0 < 6)",),
    "absolute": ("sign(u0)",),
    "maximum": ("u0 > u1", "u1 > u0"),
    "minimum": ("u0 < u1", "u1 < u0"),
    "fmax": ("u0 > u1", "u1 > u0"),
    "fmin": ("u0 < u1", "u1 < u0"),
    "sign": ("0 * u0",),
    "heaviside": ("0 * u0", "u0 == 0"),
}
"""Rows that choose: their slope on either side of the kink, as a condition."""

BY_VALUE = {
    "relu(u0)": ("y > 0",),
    "maximum(u0, u1)": ("y > u1", "y > u0"),
    "minimum(u0, u1)": ("y < u1", "y < u0"),
}
"""The same in terms of the value, where that has a name and what it chooses from has none."""

BY_ARGUMENT = {"softplus(u0)": ("sigmoid(u0)",)}
"""Slopes in terms of the argument, where the value has no name."""

KNOWN = (Y * (1 - Y), 1 - Y**2, 1 + Y**2, Y, 1 - sympy.exp(-Y), 2 * sympy.sqrt(Y))
"""What slopes are often equal to, in terms of the value."""

PLACES = (sympy.Rational(3, 11), sympy.Rational(7, 5))
DIGITS, CLOSE = 30, sympy.Float("1e-25")


OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}


class NoText(ArithmeticError):
    """No slope that can be written down."""


@lru_cache(maxsize=512)
def slopes(row: Op, constants: tuple[Any, ...]) -> tuple[str, ...]:
    """The slope by each argument; `constants` has the exponent of a power, None elsewhere."""
    if row.name in GUARDED:
        return GUARDED[row.name]
    if row.symbolic is None or isinstance(row.symbolic, Composed):
        raise NoText(f"no formula for the slope of {row.name}")
    symbols = [sympy.Symbol(f"u{i}", real=True) for i in range(len(constants))]
    args = [s if c is None else c for s, c in zip(symbols, constants, strict=True)]
    form = sympy.sympify(row.symbolic(*args))
    return tuple(str(_told(form, sympy.diff(form, s))) for s in symbols)


@lru_cache(maxsize=512)
def slopes_of(text: str, count: int) -> tuple[str, ...]:
    """The slopes of a text in `u0`, `u1`, ... by each of them; conditions in it are constants."""
    chosen: dict[str, ast.expr] = {}
    form = _formula(ast.parse(text, mode="eval").body, chosen)
    found = []
    for i in range(count):
        slope = _told(form, sympy.diff(form, sympy.Symbol(f"u{i}", real=True)))
        found.append(ast.unparse(filled(str(slope), chosen)))
    return tuple(found)


def _formula(tree: ast.expr, chosen: dict[str, ast.expr]) -> sympy.Expr:
    """A text of ours as a formula; what is constant but at jumps gets a name in `chosen`."""
    match tree:
        case ast.Constant(value=int(value)):
            return sympy.Integer(value)
        case ast.Name(id=name):
            return sympy.Symbol(name, real=True)
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -_formula(inner, chosen)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
            return OPERATORS[type(op)](_formula(left, chosen), _formula(right, chosen))
        case ast.Compare() | ast.Call(func=ast.Name(id="sign")):
            name = f"c{len(chosen)}"
            chosen[name] = tree
            return sympy.Symbol(name, real=True)
        case ast.Call(func=ast.Name(id=name), args=args):
            row = TABLE.get(BY_SPELLING.get(name, name))
            if row is not None and row.symbolic and not isinstance(row.symbolic, Composed):
                return sympy.sympify(row.symbolic(*(_formula(a, chosen) for a in args)))
    raise NoText(f"no slope of {ast.unparse(tree)}")


def _told(form: sympy.Expr, slope: sympy.Expr) -> sympy.Expr:
    """The slope in terms of the value, where that is shorter."""
    said = slope.subs(form, Y) if form.args else slope
    if not said.has(Y):
        said = next((k for k in KNOWN if k.has(Y) and _same(k.subs(Y, form), slope)), slope)
    elif said.free_symbols - {Y}:
        shorter = (k for k in KNOWN if _same(k.subs(Y, form), slope))
        said = next(shorter, said)
    return min((said, slope), key=lambda e: (e.count_ops(), not e.has(Y)))


def _same(a: sympy.Expr, b: sympy.Expr) -> bool:
    """Whether two formulas are one function: thirty digits at a few points (simplify is slow)."""
    gap = a - b
    for k in range(3):
        at = {s: p + sympy.Rational(k, 7) for s, p in zip(_sorted(gap), PLACES, strict=False)}
        if not bool(abs(gap.subs(at).evalf(DIGITS)) < CLOSE):
            return False
    return True


def _sorted(expr: sympy.Expr) -> list[sympy.Symbol]:
    return sorted(expr.free_symbols, key=str)
