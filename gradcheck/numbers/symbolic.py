"""Symbolic: a scalar in straight-line form, with its concrete value.

Every op makes one node: its row, its arguments, and the value here (a ball), so that `if x > 0`
takes the branch really taken. SymPy differentiates one small expression a row, once; the chain rule
multiplies along the line. Nothing is substituted back until somebody wants to read it.
"""

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import count
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from flint import arb

from gradcheck.numbers.ball import (
    WHOLE,
    Scalar,
    Scalars,
    ball_of,
    each,
    exact,
    find_plain_key,
    settle,
)
from gradcheck.numbers.run import RUN
from gradcheck.ops.row import Composed, Op, sympy
from gradcheck.values import Params, Routine, Value

clock = count(1).__next__


class Local(NamedTuple):
    """One op's closed form in its own arguments, and its derivative by each of them."""

    value: Callable[..., arb]
    slopes: tuple[Callable[..., arb], ...]


class Symbolic(Scalar):
    """A leaf (`atom` set: its SymPy symbol or constant), or an op on earlier numbers."""

    __slots__ = ("args", "atom", "fixed", "local", "order", "row", "span")
    cell = "symbolic"

    def __init__(
        self,
        value: arb,
        key: int | None = None,
        atom: "sympy.Expr | None" = None,
        *,
        row: Op | None = None,
        args: tuple[Value, ...] = (),
        local: Local | None = None,
    ) -> None:
        self.value, self._key, self.atom = value, key, atom
        self.row, self.args, self.local = row, args, local
        self.order = clock()
        self.span: tuple[int, int] | None = None
        known = atom is None or bool(atom.is_number)
        self.fixed = known and all(type(a) is not Symbolic or a.fixed for a in args)
        if RUN.observer is not None:
            RUN.observer(self)

    @classmethod
    def apply(cls, row: Op, rule: Routine, args: tuple[Value, ...]) -> "Symbolic":
        args = tuple([a if type(a) is Symbolic else _as_fraction(a) for a in args])
        form = derive_local(rule, tuple([_embed(row, i, a) for i, a in enumerate(args)]))
        values = [a.value if type(a) is Symbolic else exact(a) for a in args]
        value, key = settle(row, form.value(*values), args, values)
        if RUN.folded and all(type(a) is not Symbolic or a.fixed for a in args):
            return cls(value, key)
        return cls(value, key, row=row, args=args, local=form)

    def bare(self) -> Value:
        """SymPy's number; what depends on something stays as it is."""
        return self.atom if self.fixed and self.atom is not None else self

    @classmethod
    def exactly(cls, value: Value) -> Value:
        """A plain number as a constant leaf; what is not finite stays as it is."""
        if isinstance(value, float | np.floating) and not np.isfinite(value):
            return value
        plain = _as_fraction(value)
        return cls(exact(plain), find_plain_key(plain), number(plain))

    def __repr__(self) -> str:
        return f"Symbolic({self.atom if self.row is None else self.row.name}, {self.value})"


def _as_fraction(value: Value) -> int | Fraction:
    """A plain number in a form that hashes and stays exact."""
    if isinstance(value, Fraction):
        return value
    if isinstance(value, WHOLE):
        return int(value)
    if not isinstance(value, float | np.floating):
        raise TypeError(f"a real number was expected, {type(value).__name__} came")
    if not np.isfinite(value):
        raise ValueError("a constant that is not finite")
    return Fraction(float(value))


MOST_BITS = 3_000  # of a number that is written out: 900 digits
MOST_TERMS = 1_000  # of the sums and products that SymPy makes of gamma's kin at a number
OF_GAMMA = frozenset({"gamma", "loggamma", "digamma", "polygamma"})


def number(value: int | Fraction) -> "sympy.Rational":
    return sympy.Rational(value.numerator, value.denominator)


def leaves(name: str, values: Value) -> Scalars:
    """An array of leaves named `x`, or `x[0, 1]` where there are several, at the given values."""
    indices = iter(np.ndindex(np.shape(values)))

    def leaf(value: Value) -> Symbolic:
        index = ", ".join(map(str, next(indices)))
        atom = sympy.Symbol(f"{name}[{index}]" if index else name, real=True)
        return Symbolic(exact(value), find_plain_key(value), atom)

    return each(leaf, values).view(Scalars)


def constants(values: Value) -> Scalars:
    """An array of numbers that are not differentiated, kept exact."""
    return each(lambda value: Symbolic.exactly(_as_fraction(value)), values).view(Scalars)


def inputs(values: Params, wrt: Container[str]) -> dict[str, Scalars]:
    """A program's inputs: leaves where they are differentiated, constants where they are not."""
    return {n: leaves(n, v) if n in wrt else constants(v) for n, v in values.items()}


# -- closed forms of rows, and their slopes --------------------------------------------------------


def _embed(row: Op, i: int, argument: Value) -> int | Fraction | None:
    """A constant exponent belongs to the rule itself: x**3 has slope 3*x**2, not x**3*3/x."""
    if row.name != "power" or i != 1:
        return None
    if type(argument) is not Symbolic:
        return argument  # type: ignore[no-any-return]
    atom = argument.atom
    return Fraction(int(atom.p), int(atom.q)) if atom is not None and atom.is_Rational else None


@lru_cache(maxsize=4096)
def derive_local(rule: Routine, constants: tuple[int | Fraction | None, ...]) -> Local:
    """SymPy's closed form of a row's rule, and its derivatives by `sympy.diff`."""
    from gradcheck.numbers.closed import compile_closed  # noqa: PLC0415 - it makes a class of SymPy's

    symbols = [sympy.Symbol(f"u{i}", real=True) for i in range(len(constants))]
    args = [s if c is None else number(c) for s, c in zip(symbols, constants, strict=True)]
    expr = sympy.sympify(rule(*args), strict=True)
    slopes = (sympy.diff(expr, symbol) for symbol in symbols)
    value, *rest = (compile_closed(symbols, each) for each in (expr, *slopes))
    return Local(value, tuple(rest))


def form_of(row: Op | None) -> Routine:
    """A row's closed form as a function of SymPy expressions."""
    if row is None or row.symbolic is None or isinstance(row.symbolic, Composed):
        raise TypeError("no closed form of its own")
    return row.symbolic


def take_slope(node: Symbolic, i: int) -> Value:
    """An op's slope by its i-th argument, as a number of the line."""
    assert node.row is not None
    return Symbolic.elementwise(_derive_slope_row(node.row, form_of(node.row), i), *node.args)


@lru_cache(maxsize=4096)
def _derive_slope_row(row: Op, form: Routine, i: int) -> Op:
    """The derivative of a row's closed form by its i-th argument, as a row of the line."""

    def slope(*args: Value) -> Value:
        symbols = [sympy.Symbol(f"s{k}", real=True) for k in range(len(args))]
        kept = [a if a.is_Rational else s for s, a in zip(symbols, args, strict=True)]
        expr = sympy.diff(sympy.sympify(form(*kept), strict=True), symbols[i])
        return expr.xreplace(dict(zip(symbols, args, strict=True)))

    return replace(row, symbolic=slope)


# -- along the line --------------------------------------------------------------------------------


def trace_line(roots: Iterable[Symbolic]) -> list[Symbolic]:
    """Every number that the roots were made of, oldest first."""
    seen: dict[int, Symbolic] = {}
    stack = list(roots)
    while stack:
        node = stack.pop()
        if id(node) not in seen:
            seen[id(node)] = node
            stack.extend(a for a in node.args if type(a) is Symbolic)
    return sorted(seen.values(), key=lambda node: node.order)


def measure_slope(node: Symbolic, i: int) -> arb:
    assert node.local is not None
    return node.local.slopes[i](*map(ball_of, node.args))


def sum_gradients(
    seeds: Mapping[Symbolic, Value], slope: Callable[[Symbolic, int], Value] = measure_slope
) -> dict[Symbolic, Value]:
    """d(sum of seed * root) by every number of the line, by SymPy's slopes and the chain rule.

    By `take_slope` each gradient is a number of the line: it can be differentiated again.
    """
    adjoint: dict[Symbolic, Value] = dict(seeds)
    for node in reversed(trace_line(seeds)):
        if node.row is None or node not in adjoint:
            continue
        for i, argument in enumerate(node.args):
            if type(argument) is Symbolic and not argument.fixed:
                piece = adjoint[node] * slope(node, i)
                adjoint[argument] = adjoint[argument] + piece if argument in adjoint else piece
    return adjoint


def write_out(
    root: Symbolic, most: int, named: "Mapping[Symbolic, sympy.Expr]" = MappingProxyType({})
) -> "sympy.Expr | None":
    """The number as one SymPy expression of the leaves, or None where it would be too long.

    Numbers of the line that are `named` stand in it by what they are called. What SymPy would work
    out to more digits than anybody reads is looked for before it is made: `1.0001**9000`.
    """
    nodes = trace_line([root])
    if len(nodes) > most:
        return None
    text: dict[int, sympy.Expr] = {}
    for node in nodes:
        if node.atom is not None or node in named:
            text[id(node)] = named.get(node, node.atom)
            continue
        args = [text[id(a)] if type(a) is Symbolic else number(a) for a in node.args]
        if _is_laborious(node.row, args):
            return None
        text[id(node)] = made = form_of(node.row)(*args)
        long = (bits_of(each) > MOST_BITS for each in made.atoms(sympy.Rational))
        if made.count_ops() > most or any(long):
            return None
    return text[id(root)]


def bits_of(ratio: "sympy.Rational") -> int:
    return max(abs(int(ratio.p)), int(ratio.q)).bit_length()


def _is_laborious(row: Op | None, args: "Sequence[sympy.Expr]") -> bool:
    """Whether SymPy would raise a number beyond MOST_BITS, or add up a sum for gamma's kin."""
    name, last = row.name if row is not None else "", args[-1]
    if name == "power" and last.is_Rational:
        return bool(bits_of(args[0].as_coeff_Mul()[0]) * abs(last) > MOST_BITS)
    return name in OF_GAMMA and last.is_Rational and bool(abs(last) > MOST_TERMS)
