"""A closed form of one number in fewer letters: the shortest of a few rewritings.

SymPy's `factor` and its kin take minutes and gigabytes where a number such as 1.17 stands in an
exponent (`a**(117*x/100)` is to them the 117th power of something). They are given polynomials
only, with names for all else, and only those whose size when multiplied out is bounded.
"""

from collections.abc import Callable, Sequence
from math import comb, prod

import sympy
from flint import arb, fmpq

from gradcheck.numbers.closed import compile_closed, leave_hard_open
from gradcheck.numbers.run import precision

LEAST = 3  # letters that a rewriting saves: for fewer, the terms stay as they were derived
LARGEST = 60  # operations of a formula that is rewritten: the slowest of 2,000 took a second
TERMS, DEGREE = 300, 60  # of numerator and denominator when multiplied out
ROOT = 6  # the highest root that is taken for a polynomial's
LONGEST_NUMBER = 10**40
PLACES = tuple(fmpq(p, q) for p, q in ((3, 7), (8, 5), (9, 4), (5, 11), (12, 7), (6, 13)))
BITS, CLOSE = (160, 10_000), arb("1e-25")  # more bits for what is large inside a sine
UNREADY = (sympy.PolynomialError, NotImplementedError, RecursionError, ArithmeticError, ValueError)

Way = Callable[[sympy.Expr], sympy.Expr]
Extent = tuple[int, int, int, int]  # terms and degree above the line, and below


def restrict_to_polynomials(way: Way) -> Way:
    """A way that is shown polynomials, quotients and small roots alone, of bounded size."""

    def rewrite(form: sympy.Expr) -> sympy.Expr:
        named: dict[sympy.Expr, sympy.Symbol] = {}
        plain = _with_names(form, named)
        above, high, below, low = _bound_extent(plain)
        degree = max(high, low)
        most = comb(degree + len(plain.free_symbols), degree) if degree <= DEGREE else 0
        if degree > DEGREE or min(max(above, below), most) > TERMS:
            return form
        return way(plain).xreplace({name: part for part, name in named.items()})

    return rewrite


def _multiply_out(form: sympy.Expr) -> sympy.Expr:
    """With its brackets multiplied out, and gathered again where much has cancelled."""
    opened = restrict_to_polynomials(sympy.expand)(form)
    short = opened.count_ops() <= 2 * LARGEST
    return sympy.factor_terms(sympy.powsimp(opened)) if short else form


WAYS: tuple[Way, ...] = (
    sympy.factor_terms,
    restrict_to_polynomials(sympy.together),
    restrict_to_polynomials(sympy.factor),
    sympy.powsimp,
    _multiply_out,
)


@leave_hard_open()
def find_shortest(form: sympy.Expr) -> sympy.Expr:
    """The formula, or a rewriting with fewer letters that has the same value at a few places."""
    numbers = form.atoms(sympy.Rational)
    too_long = any(max(abs(n.p), n.q) > LONGEST_NUMBER for n in numbers)
    if form.is_number or form.count_ops() > LARGEST or too_long:
        return form
    found = form
    for way in WAYS:
        try:
            other = way(form)
        except UNREADY:
            continue
        if len(str(other)) + LEAST <= len(str(found)) and is_same(form, other):
            found = other
    return found


def _with_names(expr: sympy.Expr, named: dict[sympy.Expr, sympy.Symbol]) -> sympy.Expr:
    """The expression with a name for what is no quotient of polynomials and their roots."""
    if expr.is_Add or expr.is_Mul:
        return expr.func(*(_with_names(part, named) for part in expr.args))
    if expr.is_Pow and _is_small(expr.exp):
        return _with_names(expr.base, named) ** expr.exp
    if isinstance(expr, sympy.exp):
        found = []
        for term in sympy.Add.make_args(expr.exp):
            count, inner = term.as_coeff_Mul()
            count, inner = (count, inner) if _is_small(count) else (1, term)
            found.append(_make_symbol(sympy.exp(inner), named) ** count)
        return sympy.Mul(*found)
    return expr if expr.is_Rational or expr.is_Symbol else _make_symbol(expr, named)


def _is_small(exponent: sympy.Expr) -> bool:
    return bool(exponent.is_Rational and exponent.q <= ROOT and abs(exponent) <= DEGREE)


def _make_symbol(part: sympy.Expr, named: dict[sympy.Expr, sympy.Symbol]) -> sympy.Symbol:
    return named.setdefault(part, sympy.Dummy(f"part{len(named)}", real=True))


def _bound_extent(expr: sympy.Expr) -> Extent:
    """At most how many terms, of what degree, it has over one line when multiplied out."""
    if expr.is_Add:
        above, high, below, low = 0, 0, 1, 0
        for part in expr.args:
            n, degree, d, under = _bound_extent(part)
            above, high = above * d + n * below, max(high + under, degree + low)
            below, low = below * d, low + under
        return above, high, below, low
    if expr.is_Mul:
        parts = [_bound_extent(part) for part in expr.args]
        terms, below = prod(p[0] for p in parts), prod(p[2] for p in parts)
        return terms, sum(p[1] for p in parts), below, sum(p[3] for p in parts)
    if expr.is_Pow:
        n, degree, d, under = _bound_extent(expr.base)
        times = int(abs(expr.exp)) + (not expr.exp.is_Integer)
        raised = (n**times, degree * times, d**times, under * times)
        return raised if expr.exp > 0 else (*raised[2:], *raised[:2])
    return 1, int(expr.is_Symbol), 1, 0


def is_same(a: sympy.Expr, b: sympy.Expr) -> bool:
    """Whether two formulas have one value, to 25 digits, at every place where the first has.

    Evaluated in balls, which are wide where SymPy's digits would take gigabytes: the cosine of a
    tower of powers. What is wide, or no formula of flint's functions, is not the same.
    """
    names = sorted(a.free_symbols | b.free_symbols, key=str)
    try:
        pair = compile_closed(names, a), compile_closed(names, b)
    except NotImplementedError:
        return False
    seen = False
    for k in range(3):
        at = [PLACES[(n + k) % len(PLACES)] * (k + 1) for n in range(len(names))]
        off = _measure_distance(pair, at)
        if off is not None and not off < 1:
            return False
        seen = seen or off is not None
    return seen


def _measure_distance(pair: Sequence[Callable[..., arb]], at: Sequence[fmpq]) -> arb | None:
    """How far off the second of two values is, where the first is known well enough."""
    for bits in BITS:
        with precision(bits):
            here, there = (find(*map(arb, at)) for find in pair)
            room = CLOSE * (1 + abs(here))
            if here.is_finite() and here.rad() < room:
                return abs(here - there) / room
    return None
