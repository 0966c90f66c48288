"""A closed form of one number in fewer letters: the shortest of a few rewritings."""

from collections.abc import Callable

import sympy

LEAST = 3  # letters that a rewriting saves: for fewer, the terms stay as they were derived
LARGEST = 60  # operations of a formula that is rewritten: a hundredth of a second each
PLACES = tuple(sympy.Rational(p, q) for p, q in ((3, 7), (8, 5), (9, 4), (5, 11), (12, 7), (6, 13)))
DIGITS, CLOSE = 30, sympy.Float("1e-25")

WAYS: tuple[Callable[[sympy.Expr], sympy.Expr], ...] = (
    sympy.factor_terms,
    sympy.together,
    sympy.factor,
    sympy.powsimp,
    lambda e: sympy.factor_terms(sympy.powsimp(sympy.expand(e))),
)


def shortest(form: sympy.Expr) -> sympy.Expr:
    """The formula, or a rewriting with fewer letters that has the same value at a few places."""
    if form.count_ops() > LARGEST or form.is_number:
        return form
    found = form
    for way in WAYS:
        try:
            other = way(form)
        except (sympy.PolynomialError, NotImplementedError, RecursionError):
            continue
        if len(str(other)) + LEAST <= len(str(found)) and _same(form, other):
            found = other
    return found


def _same(a: sympy.Expr, b: sympy.Expr) -> bool:
    """Whether two formulas have one value, to thirty digits, at every place where the first has."""
    names = sorted(a.free_symbols | b.free_symbols, key=str)
    seen = 0
    for k in range(3):
        at = {s: PLACES[(n + k) % len(PLACES)] * (k + 1) for n, s in enumerate(names)}
        here, there = (each.subs(at).evalf(DIGITS) for each in (a, b))
        if not (here.is_number and here.is_finite and here.is_real):
            continue
        seen += 1
        if not abs(here - there) <= CLOSE * (1 + abs(here)):
            return False
    return seen > 0
