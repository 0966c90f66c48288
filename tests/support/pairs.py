"""Answers whose truth is known by other means: SymPy rewrites, one thing changes, mpmath checks.

Nothing of gradcheck is used here. A right form is a rewriting of SymPy's derivative that mpmath
finds equal to it, to 40 digits, at points of the function's domain; a wrong form has one thing
changed, and mpmath sees the value move.
"""

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import mpmath
import sympy

X = sympy.Symbol("x", real=True)
DIGITS = 60
SAME, MOVED = mpmath.mpf(10) ** -40, mpmath.mpf(10) ** -15
PROBES = [0.37, 1.31, 2.83, 5.19, 9.47, 17.3, 40.7, -0.41, -1.27, -2.91, -6.13, -14.9]
LONGEST = 300

FUNCTIONS = Path(__file__).with_suffix(".txt").read_text()

REWRITINGS: tuple[Callable[[sympy.Expr], sympy.Expr], ...] = (
    lambda e: e,
    sympy.expand,
    sympy.factor,
    sympy.together,
    lambda e: sympy.apart(e, X),
    sympy.expand_trig,
    lambda e: sympy.expand(sympy.expand_trig(e)),
    sympy.powsimp,
    lambda e: sympy.powsimp(sympy.expand(e)),
    sympy.cancel,
    sympy.expand_log,
    sympy.expand_power_exp,
    lambda e: e.rewrite(sympy.tan),
    lambda e: e.rewrite(sympy.cos),
    lambda e: e.rewrite(sympy.sin),
    lambda e: e.rewrite(sympy.exp),
    lambda e: sympy.expand(e.rewrite(sympy.exp)),
    lambda e: e.replace(lambda p: p.is_Pow and not p.exp.is_number, _as_exponential),
    lambda e: sympy.collect(sympy.expand(e), X),
    sympy.horner,
    sympy.radsimp,
    lambda e: e + sympy.sin(X) ** 2 + sympy.cos(X) ** 2 - 1,
    lambda e: e * sympy.exp(X) * sympy.exp(-X, evaluate=False),
)


@dataclass(frozen=True)
class Pair:
    """A function as a program, an answer as it is typed, and the truth about it."""

    program: str
    start: str
    answer: str
    latex: str
    right: bool
    reference: str


def pairs(count: int, seed: int = 0) -> Iterator[Pair]:
    """Half right, half wrong, in equal shares for each of many functions."""
    rng = random.Random(seed)
    share, functions = 20, _functions(rng, count // 20 + count // 100 + 1)
    for function in functions:
        probes = _probes(function)
        if len(probes) < 4:
            continue
        derivative = sympy.diff(function, X)
        rights = _rights(derivative, probes, rng, share // 2)
        wrongs = _wrongs(rights or [derivative], derivative, probes, rng, share // 2)
        for expr, right in [(e, True) for e in rights] + [(e, False) for e in wrongs]:
            yield Pair(
                typed(function),
                mpmath.nstr(probes[0], 4),
                typed(expr),
                sympy.latex(expr),
                right,
                sympy.latex(derivative),
            )


@lru_cache(maxsize=4096)
def typed(expr: sympy.Expr) -> str:
    return re.sub(r"\bE\b", "e", re.sub(r"\bAbs\b", "abs", sympy.sstr(expr)))


# -- functions -----------------------------------------------------------------------------------


def _functions(rng: random.Random, count: int) -> list[sympy.Expr]:
    """The list above, then compositions of its members."""
    listed = [part.strip() for line in FUNCTIONS.split("\n") for part in line.split("|")]
    found = [_read(part) for part in listed if part]
    simple = [f for f in found if sympy.count_ops(f) < 8]
    while len(found) < count:
        a, b = rng.choice(simple), rng.choice(simple)
        inner = rng.choice([2 * X + 1, X**2, X / 3, 1 - X, X + 5])
        shape = rng.randrange(4)
        made = (a * b, a + b * rng.randint(2, 9), a.subs(X, inner), a / (b + 7))[shape]
        if sympy.count_ops(made) < 16 and made not in found:
            found.append(made)
    rng.shuffle(found)
    return found[:count]


def _read(text: str) -> sympy.Expr:
    return sympy.sympify(text, locals={"x": X})


# -- forms ---------------------------------------------------------------------------------------


def _rights(
    derivative: sympy.Expr, probes: list[mpmath.mpf], rng: random.Random, count: int
) -> list[sympy.Expr]:
    """Different rewritings that mpmath finds equal at every probe."""
    found: dict[str, sympy.Expr] = {}
    for n in range(4 * count):
        start = rng.choice([derivative, *found.values()]) if n >= count else derivative
        form = _attempt(rng.choice(REWRITINGS), start)
        known = form is None or typed(form) in found
        if form is not None and not known and _equal(form, derivative, probes):
            found[typed(form)] = form
        if len(found) == count:
            break
    return list(found.values())


def _wrongs(
    rights: list[sympy.Expr],
    derivative: sympy.Expr,
    probes: list[mpmath.mpf],
    rng: random.Random,
    count: int,
) -> list[sympy.Expr]:
    """One thing changed in a right form, where mpmath sees the value move."""
    found: dict[str, sympy.Expr] = {}
    for _ in range(10 * count):
        form = _attempt(lambda e: _changed(e, rng), rng.choice(rights))
        if form is not None and _moved(form, derivative, probes):
            found.setdefault(typed(form), form)
        if len(found) == count:
            break
    return list(found.values())


def _attempt(rewrite: Callable[[sympy.Expr], sympy.Expr], expr: sympy.Expr) -> sympy.Expr | None:
    """The rewriting, if it is short, real, and made of functions that a student knows."""
    try:
        form = rewrite(expr)
    except (sympy.PolynomialError, ValueError, TypeError, NotImplementedError):
        return None
    strange = form.has(sympy.I, sympy.zoo, sympy.nan, sympy.oo, sympy.Piecewise, sympy.re, sympy.im)
    return None if strange or len(typed(form)) > LONGEST else form


def _changed(expr: sympy.Expr, rng: random.Random) -> sympy.Expr:
    nodes = [node for node in sympy.preorder_traversal(expr) if _swaps(node, rng)]
    node = rng.choice(nodes)
    return expr.xreplace({node: rng.choice(_swaps(node, rng))})


def _swaps(node: sympy.Basic, rng: random.Random) -> list[sympy.Expr]:
    if node.is_Integer:
        return [node + 1, node - 1, -node]
    if node.is_Rational:
        return [1 / node, node + 1]
    if node.is_Add or node.is_Mul:
        lost = rng.randrange(len(node.args))
        kept = [arg for k, arg in enumerate(node.args) if k != lost]
        flipped = [-arg if k == lost else arg for k, arg in enumerate(node.args)]
        return [node.func(*kept), node.func(*flipped)]
    if isinstance(node, sympy.Function):
        other = {"sin": sympy.cos, "cos": sympy.sin, "sinh": sympy.cosh, "cosh": sympy.sinh}
        return [other.get(node.func.__name__, sympy.sin)(*node.args), node.args[0]]
    if node.is_Pow:
        return [node.base, node.base ** (node.exp + 1)]
    return [X + sympy.Rational(1, 10**6), 2 * X] if node == X else []


def _as_exponential(power: sympy.Pow) -> sympy.Expr:
    return sympy.exp(power.exp * sympy.log(power.base), evaluate=False)


# -- numbers -------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def _compiled(expr: sympy.Expr) -> Callable[[mpmath.mpf], mpmath.mpf]:
    return sympy.lambdify(X, expr, "mpmath")


def _value(expr: sympy.Expr, x: mpmath.mpf) -> mpmath.mpf | None:
    try:
        with mpmath.workdps(DIGITS):
            found = mpmath.mpmathify(_compiled(expr)(x))
    except (ZeroDivisionError, ValueError, OverflowError, TypeError):
        return None
    if isinstance(found, mpmath.mpc):
        return None
    return found if mpmath.isfinite(found) else None


def _probes(function: sympy.Expr) -> list[mpmath.mpf]:
    """Points at which the function and its derivative have real values."""
    derivative = sympy.diff(function, X)
    inside = [mpmath.mpf(str(p)) for p in PROBES]
    return [p for p in inside if None not in (_value(function, p), _value(derivative, p))]


def _apart(form: sympy.Expr, derivative: sympy.Expr, x: mpmath.mpf) -> mpmath.mpf:
    """The relative distance of two expressions at a point; infinite where only one has a value."""
    a, b = _value(form, x), _value(derivative, x)
    if a is None or b is None:
        return mpmath.inf
    with mpmath.workdps(DIGITS):
        return abs(a - b) / (abs(b) or 1)


def _equal(form: sympy.Expr, derivative: sympy.Expr, probes: list[mpmath.mpf]) -> bool:
    return all(_apart(form, derivative, p) < SAME for p in probes)


def _moved(form: sympy.Expr, derivative: sympy.Expr, probes: list[mpmath.mpf]) -> bool:
    return max(_apart(form, derivative, p) for p in probes) > MOVED
