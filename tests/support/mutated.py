"""Wrong derivatives from a differentiator of its own: nothing here knows the catalogue's rows.

A function is a small tree; `derivative` walks it by the textbook's rules, with one or two of them
wrong on purpose. SymPy does the arithmetic. What each wrong rule is called in the contract's list
of ids stands beside it.
"""

import math
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import sympy

X = sympy.Symbol("x")
PARAMETERS = sympy.symbols("a b k")
Path = tuple[int, ...]
Expr = Any


@dataclass(frozen=True)
class Tree:
    """A function of x: its kind ("x", "number", "add", "mul", ... or a name) and its parts."""

    kind: str
    parts: tuple["Tree", ...] = ()
    value: Any = None

    @property
    def varies(self) -> bool:
        """Whether x is in it."""
        return self.kind == "x" or any(part.varies for part in self.parts)


FUNCTIONS: Mapping[str, tuple[Callable[[Expr], Expr], Callable[[Expr], Expr]]] = {
    "sin": (sympy.sin, sympy.cos),
    "cos": (sympy.cos, lambda u: -sympy.sin(u)),
    "tan": (sympy.tan, lambda u: 1 / sympy.cos(u) ** 2),
    "exp": (sympy.exp, sympy.exp),
    "log": (sympy.log, lambda u: 1 / u),
    "sqrt": (sympy.sqrt, lambda u: 1 / (2 * sympy.sqrt(u))),
    "arctan": (sympy.atan, lambda u: 1 / (1 + u**2)),
    "sinh": (sympy.sinh, sympy.cosh),
}


def expression(tree: Tree) -> Expr:
    """The tree as SymPy has it."""
    kind, parts = tree.kind, [expression(part) for part in tree.parts]
    match kind:
        case "x":
            return X
        case "number" | "parameter":
            return tree.value
        case "add":
            return parts[0] + parts[1]
        case "sub":
            return parts[0] - parts[1]
        case "mul":
            return parts[0] * parts[1]
        case "div":
            return parts[0] / parts[1]
        case "pow":
            return parts[0] ** parts[1]
    return FUNCTIONS[kind][0](parts[0])


SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "pow": "**"}


def text(tree: Tree) -> str:
    """The tree as it is typed in a program, with all brackets that could matter."""
    if tree.kind == "x" or not tree.parts:
        return "x" if tree.kind == "x" else str(tree.value)
    if tree.kind in SIGNS:
        left, right = (
            f"({text(p)})" if p.kind in SIGNS and p.parts else text(p) for p in tree.parts
        )
        return f"{left} {SIGNS[tree.kind]} {right}"
    return f"{tree.kind}({text(tree.parts[0])})"


# -- functions drawn ---------------------------------------------------------------------------


def drawn(rng: random.Random) -> Tree:
    """A function as homework has it, with up to three parameters."""
    shape = rng.choice(["sum", "sum", "product", "quotient", "composite", "scaled"])
    if shape == "sum":
        terms = [_term(rng) for _ in range(rng.choice([2, 2, 3]))]
        if rng.random() < 0.3:
            terms.append(_constant(rng))
        whole = terms[0]
        for term in terms[1:]:
            whole = Tree(rng.choice(["add", "add", "sub"]), (whole, term))
        return whole
    if shape == "product":
        return Tree("mul", (_factor(rng), _factor(rng)))
    if shape == "quotient":
        return Tree("div", (_factor(rng), _below(rng)))
    if shape == "scaled":
        return Tree("mul", (_constant(rng), _composite(rng)))
    return _composite(rng)


def _number(n: int) -> Tree:
    return Tree("number", value=sympy.Integer(n))


def _constant(rng: random.Random) -> Tree:
    if rng.random() < 0.4:
        return Tree("parameter", value=rng.choice(PARAMETERS))
    return _number(rng.randint(2, 9))


def _x() -> Tree:
    return Tree("x")


def _power(rng: random.Random) -> Tree:
    return Tree("pow", (_x(), _number(rng.choice([2, 3, 4, 5]))))


def _linear(rng: random.Random) -> Tree:
    inside = Tree("mul", (_constant(rng), _x()))
    return Tree("add", (inside, _constant(rng))) if rng.random() < 0.4 else inside


def _inside(rng: random.Random) -> Tree:
    """What stands within a function: always positive for positive x and parameters."""
    kind = rng.choice(["power", "linear", "linear", "shifted", "root"])
    if kind == "power":
        return Tree("pow", (_x(), _number(rng.choice([2, 3]))))
    if kind == "root":
        return Tree("sqrt", (_x(),))
    return _linear(rng) if kind == "linear" else Tree("add", (_power(rng), _constant(rng)))


def _composite(rng: random.Random) -> Tree:
    name = rng.choice([*FUNCTIONS, "pow", "sin", "exp", "base"])
    if name == "pow":
        return Tree("pow", (_below(rng), _number(rng.choice([2, 3, 4, -1, -2]))))
    if name == "base":
        return Tree("pow", (_number(rng.choice([2, 3, 5])), _linear(rng)))
    return Tree(name, (_inside(rng),))


def _below(rng: random.Random) -> Tree:
    return Tree("add", (_power(rng), _constant(rng))) if rng.random() < 0.6 else _linear(rng)


def _factor(rng: random.Random) -> Tree:
    if rng.random() < 0.35:
        return _power(rng)
    if rng.random() < 0.5:
        return Tree(rng.choice(list(FUNCTIONS)), (_x(),))
    return _composite(rng) if rng.random() < 0.5 else _below(rng)


def _term(rng: random.Random) -> Tree:
    body = rng.choice([_power, _factor, _composite])(rng)
    return Tree("mul", (_constant(rng), body)) if rng.random() < 0.6 else body


# -- wrong rules -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Wrong:
    """A rule gone wrong: where, what it gives of (u, v, u', v'), and what it may be called."""

    name: str
    ids: frozenset[str]
    at: Callable[[Tree], bool]
    gives: Callable[[Tree, Expr, Expr, Expr, Expr], Expr]


def _both(kind: str) -> Callable[[Tree], bool]:
    return lambda t: t.kind == kind and all(p.varies for p in t.parts)


def _call(t: Tree) -> bool:
    """A function of something more than x."""
    return t.kind in FUNCTIONS and t.parts[0].kind != "x"


def _powered(t: Tree) -> bool:
    return t.kind == "pow" and t.parts[0].varies


def _raised(t: Tree) -> bool:
    """E or a number to something."""
    return t.kind == "exp" or (t.kind == "pow" and t.parts[1].varies)


def _deep(t: Tree) -> bool:
    return _powered(t) and t.parts[0].kind != "x"


def _scaled(t: Tree) -> bool:
    return t.kind == "mul" and not t.parts[0].varies and t.parts[1].varies


def _outer(t: Tree, u: Expr) -> Expr:
    return FUNCTIONS[t.kind][1](u)


def _row(ids: str, at: Callable[[Tree], bool], gives: Callable[..., Expr]) -> Wrong:
    return Wrong(ids, frozenset(ids.split()), at, gives)


def _named(*names: str) -> Callable[[Tree], bool]:
    return lambda t: t.kind in names and t.varies


RULES = (
    _row("missing-inner-derivative", _call, lambda t, u, v, du, dv: _outer(t, u)),
    _row("missing-inner-derivative", _deep, lambda t, u, v, du, dv: v * u ** (v - 1)),
    _row(
        "outer-not-differentiated",
        lambda t: _call(t) and t.kind != "exp",
        lambda t, u, v, du, dv: FUNCTIONS[t.kind][0](u) * du,
    ),
    _row("outer-at-variable", _call, lambda t, u, v, du, dv: _outer(t, X) * du),
    _row("outer-at-inner-derivative", _call, lambda t, u, v, du, dv: _outer(t, du)),
    _row("derivative-put-inside", _call, lambda t, u, v, du, dv: _outer(t, u * du)),
    _row("sign-error", _named("cos", "sin"), lambda t, u, v, du, dv: -_outer(t, u) * du),
    _row("product-of-derivatives", _both("mul"), lambda t, u, v, du, dv: du * dv),
    _row("product-rule-crossed", _both("mul"), lambda t, u, v, du, dv: u * du + v * dv),
    _row("lost-product-term", _both("mul"), lambda t, u, v, du, dv: du * v),
    _row("lost-product-term", _both("mul"), lambda t, u, v, du, dv: u * dv),
    _row("product-rule-minus sign-error", _both("mul"), lambda t, u, v, du, dv: du * v - u * dv),
    _row(
        "quotient-plus sign-error",
        _both("div"),
        lambda t, u, v, du, dv: (du * v + u * dv) / v**2,
    ),
    _row(
        "quotient-swapped sign-error",
        _both("div"),
        lambda t, u, v, du, dv: (u * dv - du * v) / v**2,
    ),
    _row("quotient-of-derivatives", _both("div"), lambda t, u, v, du, dv: du / dv),
    _row("denominator-not-squared", _both("div"), lambda t, u, v, du, dv: (du * v - u * dv) / v),
    _row("numerator-squared", _both("div"), lambda t, u, v, du, dv: (du * v - u * dv) / u**2),
    _row("denominator-forgotten", _both("div"), lambda t, u, v, du, dv: du * v - u * dv),
    _row("lost-quotient-term", _both("div"), lambda t, u, v, du, dv: du / v),
    _row("power-coefficient-missing", _powered, lambda t, u, v, du, dv: u ** (v - 1) * du),
    _row("power-not-reduced", _powered, lambda t, u, v, du, dv: v * u**v * du),
    _row("power-increased", _powered, lambda t, u, v, du, dv: v * u ** (v + 1) * du),
    _row(
        "coefficient-slip",
        lambda t: _powered(t) and t.parts[1].value > 2,
        lambda t, u, v, du, dv: (v - 1) * u ** (v - 1) * du,
    ),
    _row(
        "power-rule-on-exponential",
        _named("exp"),
        lambda t, u, v, du, dv: u * sympy.exp(u - 1) * du,
    ),
    _row("exponent-of-e-changed", _named("exp"), lambda t, u, v, du, dv: sympy.exp(u - 1) * du),
    _row(
        "log-of-base-missing",
        lambda t: t.kind == "pow" and t.parts[1].varies,
        lambda t, u, v, du, dv: u**v * dv,
    ),
    _row(
        "power-rule-on-exponential",
        lambda t: t.kind == "pow" and t.parts[1].varies,
        lambda t, u, v, du, dv: v * u ** (v - 1) * dv,
    ),
    _row(
        "wrong-function-derivative",
        _named("tan"),
        lambda t, u, v, du, dv: sympy.tan(u) / sympy.cos(u) * du,
    ),
    _row(
        "wrong-function-derivative sign-error",
        _named("sinh"),
        lambda t, u, v, du, dv: -sympy.cosh(u) * du,
    ),
    _row("log-derivative-wrong", _named("log"), lambda t, u, v, du, dv: 1 / du),
    _row(
        "inverse-function-derivative-wrong",
        _named("arctan"),
        lambda t, u, v, du, dv: du / (1 - u**2),
    ),
    _row(
        "inverse-function-derivative-wrong",
        _named("arctan"),
        lambda t, u, v, du, dv: du / sympy.sqrt(1 - u**2),
    ),
    _row("constant-factor-lost", _scaled, lambda t, u, v, du, dv: dv),
    _row(
        "constant-kept",
        lambda t: t.kind in ("add", "sub") and not t.parts[1].varies,
        lambda t, u, v, du, dv: du + (v if t.kind == "add" else -v),
    ),
    _row("term-lost", lambda t: _both("add")(t) or _both("sub")(t), lambda t, u, v, du, dv: du),
    _row(
        "sign-error",
        lambda t: _both("add")(t) or _both("sub")(t),
        lambda t, u, v, du, dv: du - dv if t.kind == "add" else du + dv,
    ),
    _row("sum-of-derivatives", _both("mul"), lambda t, u, v, du, dv: du + dv),
)


NOTHING: Mapping[Path, Wrong] = {}


def nodes(tree: Tree, path: Path = ()) -> Iterator[tuple[Path, Tree]]:
    """Every node with its path from the root."""
    yield path, tree
    for k, part in enumerate(tree.parts):
        yield from nodes(part, (*path, k))


def derivative(tree: Tree, wrong: Mapping[Path, Wrong] = NOTHING, path: Path = ()) -> Expr:
    """The textbook's derivative by x, with wrong rules at some nodes."""
    if not tree.varies:
        return sympy.Integer(0)
    if tree.kind == "x":
        return sympy.Integer(1)
    u = expression(tree.parts[0])
    v = expression(tree.parts[1]) if len(tree.parts) > 1 else None
    du, dv = (
        derivative(tree.parts[k], wrong, (*path, k)) if k < len(tree.parts) else None
        for k in (0, 1)
    )
    if path in wrong:
        return wrong[path].gives(tree, u, v, du, dv)
    return _rightly(tree, u, v, du, dv)


def _rightly(tree: Tree, u: Expr, v: Expr, du: Expr, dv: Expr) -> Expr:
    match tree.kind:
        case "add":
            return du + dv
        case "sub":
            return du - dv
        case "mul":
            return du * v + u * dv
        case "div":
            return (du * v - u * dv) / v**2
        case "pow":
            if tree.parts[0].varies:
                return v * u ** (v - 1) * du
            return u**v * sympy.log(u) * dv
    return _outer(tree, u) * du


@dataclass(frozen=True)
class Answered:
    """A wrong answer to a function, and for each mistake in it what it may be called.

    `alone` are the answers that one of two mistakes gives by itself.
    """

    tree: Tree
    answer: Expr
    ids: tuple[frozenset[str], ...]
    name: str
    alone: tuple[Expr, ...] = ()


def single(tree: Tree) -> Iterator[Answered]:
    """Every answer with one wrong rule at one place, or one mistake of the whole."""
    for path, node in nodes(tree):
        for rule in RULES:
            if node.varies and rule.at(node):
                yield Answered(tree, derivative(tree, {path: rule}), (rule.ids,), rule.name)
    yield from _of_the_whole(tree)
    yield from _misread(tree)


def _of_the_whole(tree: Tree) -> Iterator[Answered]:
    f, right = expression(tree), derivative(tree)

    def answered(name: str, answer: Expr) -> Answered:
        return Answered(tree, answer, (frozenset(name.split()),), name)

    yield answered("sign-error", -right)
    yield answered("not-differentiated", f)
    yield answered("second-derivative", sympy.diff(right, X))
    yield answered("reciprocal", 1 / right)
    for parameter in PARAMETERS:
        if parameter in f.free_symbols:
            yield answered("wrong-variable", sympy.diff(f, parameter))


def _misread(tree: Tree) -> Iterator[Answered]:
    """Another function differentiated: a number one off, or a sign misread."""
    ids = frozenset({"function-misread", "coefficient-slip"})
    for path, node in nodes(tree):
        if node.kind == "number" and node.value > 2:
            other = _replaced(tree, path, Tree("number", value=node.value + 1))
            yield Answered(tree, derivative(other), (ids,), "misread number")


def _replaced(tree: Tree, path: Path, by: Tree) -> Tree:
    if not path:
        return by
    parts = list(tree.parts)
    parts[path[0]] = _replaced(parts[path[0]], path[1:], by)
    return Tree(tree.kind, tuple(parts), tree.value)


def double(tree: Tree, rng: random.Random) -> Answered | None:
    """Two wrong rules at two places, none inside a part that the other one drops."""
    places = [
        (path, rule)
        for path, node in nodes(tree)
        for rule in RULES
        if node.varies and rule.at(node)
    ]
    if len({path for path, _ in places}) < 2:
        return None
    first = rng.choice(places)
    second = rng.choice([place for place in places if place[0] != first[0]])
    answer = derivative(tree, dict([first, second]))
    alone = tuple(derivative(tree, dict([each])) for each in (first, second))
    name = f"{first[1].name} + {second[1].name}"
    return Answered(tree, answer, (first[1].ids, second[1].ids), name, alone)


# -- points ------------------------------------------------------------------------------------


def points(rng: random.Random, count: int = 4) -> list[dict[str, float]]:
    """Generic positive values of x and of the parameters; these are the same at every point."""
    fixed = {str(p): round(rng.uniform(0.6, 2.9), 3) for p in PARAMETERS}
    return [{"x": rng.uniform(0.3, 1.9), **fixed} for _ in range(count)]


def values(answer: Expr, at: list[dict[str, float]]) -> list[float] | None:
    """The answer at the points; None where it is no number at one of them."""
    function = sympy.lambdify((X, *PARAMETERS), answer, "mpmath")
    found = []
    for point in at:
        try:
            found.append(float(function(*(point[str(s)] for s in (X, *PARAMETERS)))))
        except (TypeError, ValueError, ZeroDivisionError, OverflowError):
            return None
    return found if all(map(math.isfinite, found)) else None
