"""SymPy expressions of our own making: evaluated in ball arithmetic, and spelled as NumPy has it.

Only expressions that a row's `symbolic` cell built from our own symbols come here, never a text.
"""

import operator
from collections.abc import Callable, Sequence
from functools import partial, reduce

import sympy
from flint import arb, fmpq
from sympy.printing.str import StrPrinter

from gradcheck.numbers.run import RUN, change_settings
from gradcheck.ops.arithmetic import raise_to
from gradcheck.ops.elementary import psi
from gradcheck.values import Routine, Value

HARD = {
    sympy.sinh: ("real",),
    sympy.cosh: ("real", "positive", "nonnegative"),
    sympy.tanh: ("real", "finite"),
}
"""What SymPy asks of the real and imaginary parts of an argument: nested, that takes minutes."""

leave_hard_open = partial(change_settings, open=True)
"""A block in which these stay open where an argument's own being real is not known.

In this thread alone: to everybody else SymPy answers as it does.
"""


def _shorten(ask: Routine) -> Routine:
    return lambda self: None if RUN.open and self.args[0].is_real is None else ask(self)


for _function, _questions in HARD.items():
    _handlers = _function._prop_handler
    _handlers |= {each: _shorten(_handlers[each]) for each in _questions}


ALIKE = (
    "exp log sqrt sin cos tan sec csc cot asin acos atan atan2 sinh cosh tanh sech csch coth "
    "asinh acosh atanh erf erfc erfinv erfcinv gamma floor"
)
FUNCTIONS: dict[str, Routine] = {name: getattr(arb, name) for name in ALIKE.split()} | {
    "loggamma": arb.lgamma, "polygamma": lambda n, x: psi(x, int(float(n))),
    **{f"bessel{k}": (lambda n, x, k=k: getattr(x, f"bessel_{k}")(n)) for k in "jyik"},
    "lowergamma": lambda a, x: x.gamma_lower(a), "uppergamma": lambda a, x: x.gamma_upper(a),
    "ceiling": arb.ceil, "Abs": abs, "sign": arb.sgn,
    "Add": operator.add, "Mul": operator.mul, "Pow": operator.pow,
}  # fmt: skip
"""flint's counterparts of what SymPy builds expressions of, by its names."""


def compile_closed(symbols: Sequence[sympy.Symbol], expr: sympy.Expr) -> Callable[..., arb]:
    """The expression as a function of arbs, in the order of the symbols; constants stay exact."""
    if expr in symbols:
        at = symbols.index(expr)
        return lambda *args: args[at]
    if expr.is_Rational or expr.is_Float:
        number = fmpq(expr.p, expr.q) if expr.is_Rational else float(expr)
        return lambda *args: arb(number)  # as precise as the run is by then
    if expr in (sympy.pi, sympy.E):
        made = arb.pi if expr is sympy.pi else arb.const_e
        return lambda *args: made()
    name = type(expr).__name__
    if name not in FUNCTIONS:
        raise NotImplementedError(f"no ball counterpart for SymPy's {name}")
    over, under = sympy.fraction(expr, exact=True) if expr.is_Mul else (expr, 1)
    if under != 1:
        return _pair(operator.truediv, *(compile_closed(symbols, part) for part in (over, under)))
    rule, parts = FUNCTIONS[name], [compile_closed(symbols, part) for part in expr.args]
    if expr.is_Pow and expr.exp.is_Integer:
        exponent = int(expr.exp)
        return lambda *args: raise_to(parts[0](*args), exponent)
    if len(parts) == 1 or (expr.is_Pow and expr.exp == sympy.S.Half):
        rule, part = arb.sqrt if expr.is_Pow else rule, parts[0]
        return lambda *args: rule(part(*args))
    return reduce(partial(_pair, rule), parts)


def _pair(rule: Routine, left: Routine, right: Routine) -> Routine:
    return lambda *args: rule(left(*args), right(*args))


ARCS = {f"a{name}": f"arc{name}" for name in ["sin", "cos", "tan", "sinh", "cosh", "tanh"]}
SPELLED = {**ARCS, "atan2": "arctan2", "Abs": "abs", "ceiling": "ceil"}


class TextPrinter(StrPrinter):  # type: ignore[misc]
    """Prints an expression as it is typed: `e`, `arctan(x)`."""

    def _print_Exp1(self, expr: sympy.Expr) -> str:  # noqa: N802 - SymPy's hook
        return "e"

    def _print_Function(self, expr: sympy.Function) -> str:  # noqa: N802
        name = type(expr).__name__
        return f"{SPELLED.get(name, name)}({self.stringify(expr.args, ', ')})"


def spell(expr: Value) -> str:
    return str(TextPrinter().doprint(expr))
