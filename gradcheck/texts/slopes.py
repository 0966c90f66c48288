"""Slopes of elementwise functions: SymPy's derivative of the op's own closed form, as a formula."""

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any

import sympy

from gradcheck.ops.row import Composed, Op
from gradcheck.texts.algebra import Algebra
from gradcheck.texts.arrays import (
    Atom,
    Form,
    NoText,
    add,
    call,
    compare,
    constant,
    number,
    of_atom,
    raise_to,
)

Y = sympy.Symbol("y", real=True)
KNOWN = (Y * (1 - Y), 1 - Y**2, 1 + Y**2, Y, 1 - sympy.exp(-Y), 2 * sympy.sqrt(Y))
"""What slopes are often equal to, in terms of the value."""
PLACES = (sympy.Rational(3, 11), sympy.Rational(7, 5))
DIGITS, CLOSE = 30, sympy.Float("1e-25")

Choice = Callable[..., Form]


def _above(y: Form, a: Form, b: Form) -> Form:
    """`a > b`; `y > 0` where y has a name and is the larger of the two."""
    alone = y.alone()
    return compare(">", y if b.is_zero and alone is not None and not alone.head else a, b)


ONE_SIDED: Mapping[str, tuple[Choice, ...]] = {
    "relu": (lambda y, a: _above(y, a, number(0)),),
    "absolute": (lambda y, a: call("sign", a),),
    "sign": (lambda y, a: number(0, a.shape),),
    "maximum": (_above, lambda y, a, b: _above(y, b, a)),
    "minimum": (lambda y, a, b: compare("<", a, b), lambda y, a, b: compare("<", b, a)),
    "floor": (lambda y, a: number(0, a.shape),),
    "softplus": (lambda y, a: call("sigmoid", a),),
}
"""Rows that choose: their slope on either side of the kink, as a condition."""


@lru_cache(maxsize=512)
def slopes(row: Op, exponent: Fraction | None, count: int) -> tuple[sympy.Expr, ...]:
    """The slope by each argument u0, u1, ..., in terms of the value y where that is shorter."""
    if row.symbolic is None or isinstance(row.symbolic, Composed):
        raise NoText(f"no formula for the slope of {row.name}")
    symbols = [sympy.Symbol(f"u{i}", real=True) for i in range(count)]
    args: list[Any] = list(symbols)
    if exponent is not None:
        args[1] = sympy.Rational(exponent.numerator, exponent.denominator)
    form = sympy.sympify(row.symbolic(*args))
    return tuple(_shorter(form, sympy.diff(form, s)) for s in symbols)


def _shorter(form: sympy.Expr, slope: sympy.Expr) -> sympy.Expr:
    said = slope.subs(form, Y) if form.args else slope
    if not said.has(Y) or said.free_symbols - {Y}:
        said = next((k for k in KNOWN if k.has(Y) and _same(k.subs(Y, form), slope)), said)
    return min((said, slope), key=lambda e: (e.count_ops(), not e.has(Y)))


def _same(a: sympy.Expr, b: sympy.Expr) -> bool:
    """Whether two formulas are one function: thirty digits at a few points (simplify is slow)."""
    gap = a - b
    for k in range(3):
        symbols = sorted(gap.free_symbols, key=str)
        at = {s: p + sympy.Rational(k, 7) for s, p in zip(symbols, PLACES, strict=False)}
        if not bool(abs(gap.subs(at).evalf(DIGITS)) < CLOSE):
            return False
    return True


def slope(algebra: Algebra, row: Op, i: int, y: Form, operands: tuple[Form, ...]) -> Form:
    """The slope of an elementwise op by an operand."""
    if row.name in ONE_SIDED:
        return ONE_SIDED[row.name][i](y, *operands)
    found = slopes(row, exponent_of(row, operands), len(operands))[i]
    known = {f"u{k}": form for k, form in enumerate(operands)} | {"y": y}
    return formula(algebra, found, known)


def exponent_of(row: Op, operands: tuple[Form, ...]) -> Fraction | None:
    """The number that is the exponent of a power."""
    return constant(operands[1]) if row.name == "power" else None


def formula(algebra: Algebra, expr: sympy.Expr, known: Mapping[str, Form]) -> Form:
    """SymPy's tree as a form; NoText where NumPy has no word for it."""
    if expr.is_Rational:
        return number(Fraction(int(expr.p), int(expr.q)))
    if expr.is_Symbol:
        found: Form = known[str(expr)]
        return found
    if expr in (sympy.pi, sympy.E):
        return of_atom(Atom(str(expr).lower()))
    parts = [formula(algebra, part, known) for part in expr.args]
    if expr.is_Add:
        return add(*parts)
    if expr.is_Mul:
        found = parts[0]
        for part in parts[1:]:
            found = algebra.times(found, part)
        return found
    if expr.is_Pow and expr.exp.is_Rational:
        return algebra.power(parts[0], Fraction(int(expr.exp.p), int(expr.exp.q)))
    if expr.is_Pow:
        return raise_to(*parts)
    if not expr.is_Function or isinstance(expr, sympy.Piecewise | sympy.Max | sympy.Heaviside):
        raise NoText(f"no word for {expr.func}")
    return call(WORDS.get(str(expr.func), str(expr.func)), *parts)


WORDS = {"Abs": "abs"}
