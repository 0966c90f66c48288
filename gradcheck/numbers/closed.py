"""SymPy expressions of our own making: evaluated in ball arithmetic, and spelled as NumPy has it.

Only expressions that a row's `symbolic` cell built from our own symbols come here, never a text.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import sympy
from flint import arb
from sympy.printing.pycode import PythonCodePrinter
from sympy.printing.str import StrPrinter

from gradcheck.ops.arithmetic import raise_to
from gradcheck.values import Routine, Value

HARD = {
    sympy.sinh: ("real",),
    sympy.cosh: ("real", "positive", "nonnegative"),
    sympy.tanh: ("real", "finite"),
}
"""What SymPy asks of the real and imaginary parts of an argument: nested, that takes minutes."""
_HERE = threading.local()


@contextmanager
def leave_hard_open() -> Iterator[None]:
    """Where an argument's own being real is not known, the hard questions stay open in the block.

    In this thread alone: to everybody else SymPy answers as it does.
    """
    before, _HERE.open = getattr(_HERE, "open", False), True
    try:
        yield
    finally:
        _HERE.open = before


def _shorten(ask: Routine) -> Routine:
    def answer(self: Value) -> Value:
        left_open = getattr(_HERE, "open", False) and self.args[0].is_real is None
        return None if left_open else ask(self)

    return answer


for _function, _questions in HARD.items():
    _handlers = _function._prop_handler
    _handlers |= {each: _shorten(_handlers[each]) for each in _questions}


def polygamma(order: arb, x: arb) -> arb:
    """The derivative of digamma of an integer order, by Hurwitz's zeta function."""
    if order == 0:
        return x.digamma()
    sign = -1 if int(float(order)) % 2 == 0 else 1
    return sign * (order + 1).gamma() * (order + 1).zeta(x)


# SymPy's names of what flint calls the same, and what it calls otherwise.
ALIKE = (
    "exp log sqrt sin cos tan sec csc cot asin acos atan atan2 sinh cosh tanh sech csch coth "
    "asinh acosh atanh erf erfc erfinv gamma floor"
)
FUNCTIONS: dict[str, Routine] = {name: getattr(arb, name) for name in ALIKE.split()} | {
    "loggamma": arb.lgamma,
    "polygamma": polygamma,
    "ceiling": arb.ceil,
    "Abs": abs,
    "sign": arb.sgn,
}


class ArbPrinter(PythonCodePrinter):  # type: ignore[misc]
    """Prints an expression as Python over arbs: numbers stay exact, arguments are balls."""

    def _print_Rational(self, expr: sympy.Rational) -> str:  # noqa: N802 - SymPy's hook
        return f"(arb({expr.p})/{expr.q})"

    def _print_Float(self, expr: sympy.Float) -> str:  # noqa: N802
        return f"arb({float(expr)!r})"

    def _print_Pi(self, expr: sympy.Expr) -> str:  # noqa: N802
        return "arb.pi()"

    def _print_Exp1(self, expr: sympy.Expr) -> str:  # noqa: N802
        return "arb.const_e()"

    def _print_Pow(self, expr: sympy.Pow, **kwargs: Value) -> str:  # noqa: N802
        base, exponent = expr.as_base_exp()
        if exponent == sympy.Rational(1, 2):
            return f"sqrt({self._ball(base)})"
        if exponent.is_Integer:
            return f"raise_to({self._ball(base)}, {exponent})"
        return f"({self._ball(base)})**({self._print(exponent)})"

    def _print_Function(self, expr: sympy.Function) -> str:  # noqa: N802
        name = type(expr).__name__
        if name not in FUNCTIONS:
            raise NotImplementedError(f"no ball counterpart for SymPy's {name}")
        return f"{name}({', '.join(self._ball(arg) for arg in expr.args)})"

    def _ball(self, expr: sympy.Expr) -> str:
        text = self._print(expr)
        return f"arb({text})" if expr.is_Integer else str(text)


for _name in FUNCTIONS:
    setattr(ArbPrinter, f"_print_{_name}", ArbPrinter._print_Function)


def compile_closed(symbols: Sequence[sympy.Symbol], expr: sympy.Expr) -> Callable[..., arb]:
    """The expression as a function of arbs, in the order of the symbols."""
    if expr.is_Integer:
        value = int(expr)
        return lambda *args: arb(value)
    function: Callable[..., arb] = sympy.lambdify(
        list(symbols),
        expr,
        modules=[{"arb": arb, "raise_to": raise_to, **FUNCTIONS}],
        printer=ArbPrinter,
    )
    return function


ARCS = {f"a{name}": f"arc{name}" for name in ["sin", "cos", "tan", "sinh", "cosh", "tanh"]}
SPELLED = {**ARCS, "atan2": "arctan2", "Abs": "abs", "ceiling": "ceil"}


class TextPrinter(StrPrinter):  # type: ignore[misc]
    """Prints an expression as it is typed: `e`, `arctan(x)`."""

    def _print_Exp1(self, expr: sympy.Expr) -> str:  # noqa: N802
        return "e"

    def _print_Function(self, expr: sympy.Function) -> str:  # noqa: N802
        name = type(expr).__name__
        return f"{SPELLED.get(name, name)}({self.stringify(expr.args, ', ')})"


def spell(expr: Value) -> str:
    """NumPy's text of an expression."""
    return str(TextPrinter().doprint(expr))
