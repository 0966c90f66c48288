"""The shortest of a few rewritings of a closed form, and never another function."""

import pytest
import sympy

from gradcheck.numbers.run import RUN
from gradcheck.texts import rewriting as scalars
from gradcheck.texts.rewriting import find_shortest

x, y = sympy.symbols("x y", real=True)

SHORTER = {
    "a common factor": (x * sympy.exp(x) + sympy.exp(x), "(x + 1)*exp(x)"),
    "a quotient": (
        -2 * x * (2 * x - 1) / (x**2 + 3) ** 2 + 2 / (x**2 + 3),
        "-2*(x**2 - x - 3)/(x**2 + 3)**2",
    ),
    "two brackets": (3 * x**2 + 2 * x * (3 * x - 2) + 3, "9*x**2 - 4*x + 3"),
    "short as it is": (3 * x**2 + 2 * sympy.cos(x), "3*x**2 + 2*cos(x)"),
    "two letters are no gain": (x**2 + x * sympy.cos(x * y), "x**2 + x*cos(x*y)"),
    "a number": (sympy.sqrt(2) + 1, "1 + sqrt(2)"),
}


@pytest.mark.parametrize("name", SHORTER)
def test_it_is_the_shortest(name):
    """As a textbook prints it."""
    form, due = SHORTER[name]
    assert str(find_shortest(form)) == due


def test_a_rewriting_that_is_another_function_is_not_taken(monkeypatch):
    """Whatever SymPy says."""
    monkeypatch.setattr(scalars, "WAYS", (lambda e: x,))
    form = x**2 + 3 * x + sympy.sin(x)
    assert find_shortest(form) == form


a, F, n = sympy.symbols("a F n", real=True)

ENDLESS = {
    "a number of two decimals in an exponent": x - a ** (sympy.Rational(117, 100) * x) / a,
    "powers of powers": x - sympy.log(a + (F ** (a * (x + y))) ** n) / (a * n * sympy.log(F)),
    "a high power": (1 + x) ** 3000 * sympy.cos((1 + x) ** 3000) + x,
    "many brackets": sympy.prod([x + y**k + k for k in range(1, 12)]) + 1,
}
"""Formulas on which SymPy's `factor` takes minutes, or gigabytes."""


HUGE = sympy.cos(y * (sympy.cosh(a * F) + 1) ** ((n**4 + 1) ** (x * y * 9)))
INNER = x * y - (x / 7 + 7) ** 7
BESIDE = (y - x) * (x + sympy.Rational(1, 1000))
OPENED = (7 * INNER / (BESIDE * (y - x)) - 7 * x / BESIDE) / (x / 7 + 7 * INNER / BESIDE) ** 2


def test_values_that_nobody_can_write_down_are_no_proof():
    """SymPy's digits of a cosine of a tower of powers take all memory there is."""
    assert not scalars.is_same(HUGE, HUGE)
    assert scalars.is_same(HUGE + 1, x) is False


def test_a_tanh_of_much_is_left_open(monkeypatch):
    """SymPy's `powsimp` asks whether a base is positive: of a nested tanh that takes seconds."""
    monkeypatch.setattr(scalars, "WAYS", (lambda e: open_there.append(RUN.open) or e,))
    open_there = []
    find_shortest(sympy.tanh(x * y) ** a + x)
    assert (open_there, RUN.open) == ([True], False)


def test_what_is_multiplied_out_is_gathered_only_where_it_is_short(monkeypatch):
    """The slowest of 2,000 random formulas: three seconds went into hundreds of terms."""
    shown = []
    monkeypatch.setattr(sympy, "powsimp", lambda e: shown.append(e.count_ops()) or e)
    scalars.WAYS[-1](OPENED)
    scalars.WAYS[-1]((x + 1) ** 2 - x**2)
    assert len(shown) == 1
    assert max(shown) <= 2 * scalars.LARGEST


@pytest.mark.parametrize("name", ENDLESS)
@pytest.mark.parametrize("order", [0, 1])
def test_what_is_rewritten_has_a_bound(name, order):
    """SymPy is shown polynomials of bounded size only, or nothing."""
    shown: list[sympy.Expr] = []

    def keep(form):
        shown.append(form)
        return form

    form = sympy.diff(ENDLESS[name], x, order)
    assert scalars.restrict_to_polynomials(keep)(form) == form
    for each in shown:
        for side in each.as_numer_denom():
            poly = sympy.Poly(side, *sorted(each.free_symbols, key=str))
            assert len(poly.terms()) <= scalars.TERMS
            assert poly.total_degree() <= scalars.DEGREE
    assert scalars.is_same(form, find_shortest(form))


def test_a_root_is_rewritten_with_what_it_is_the_root_of():
    """`sqrt(1 + x**2)` and `1 + x**2` are not two strangers."""
    root = sympy.sqrt(1 + x**2)
    form = sympy.diff(x * root / 2 + sympy.asinh(x) / 2, x)
    assert str(find_shortest(form)) == "sqrt(x**2 + 1)"
