"""Wrong derivatives from a differentiator of its own: nothing here knows the catalogue's rows.

A function is a small tree; `derivative` walks it by the textbook's rules, with one or two of them
wrong on purpose, and SymPy does the arithmetic. What each wrong rule is called in the contract's
list of ids stands before it.
"""

import math
import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import sympy

from gradcheck.diagnosis import Diagnosis, Prepared, explain, prepare
from gradcheck.diagnosis.explain import CONSISTENT
from tests.support.school import case

X = sympy.Symbol("x")
PARAMETERS = sympy.symbols("a b k")
CLOSE = 1e-6
PER_FUNCTION = 8
SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "pow": "**"}
SLOPES = {
    "sin": "cos(u)", "cos": "-sin(u)", "tan": "1/cos(u)**2", "exp": "exp(u)", "log": "1/u",
    "sqrt": "1/(2*sqrt(u))", "arctan": "1/(1 + u**2)", "sinh": "cosh(u)",
}  # fmt: skip
RIGHT = {
    "add": "du + dv", "sub": "du - dv", "mul": "du*v + u*dv", "div": "(du*v - u*dv)/v**2",
    "power": "v*u**(v - 1)*du", "raised": "u**v*log(u)*dv", "function": "slope(u)*du",
}  # fmt: skip
LINES = Path(__file__).with_suffix(".txt").read_text().splitlines()
RULES = [tuple(line.split(": ")) for line in LINES if not line.startswith("#")]


# -- functions -------------------------------------------------------------------------------------


class Tree(NamedTuple):
    """A function of x: its kind ("x", "constant", a sign or a name), its parts, or its value."""

    kind: str
    parts: tuple["Tree", ...] = ()
    value: Any = None

    @property
    def varies(self) -> bool:
        return self.kind == "x" or any(part.varies for part in self.parts)


def text(tree: Tree) -> str:
    if not tree.parts:
        return "x" if tree.kind == "x" else str(tree.value)
    if tree.kind in SIGNS:
        left, right = (f"({text(p)})" if p.kind in SIGNS else text(p) for p in tree.parts)
        return f"{left} {SIGNS[tree.kind]} {right}"
    return f"{tree.kind}({text(tree.parts[0])})"


def expression(tree: Tree) -> Any:
    return evaluated(text(tree))


def evaluated(words: str, **names: Any) -> Any:
    """A text of ours in SymPy's numbers."""
    space = {**vars(sympy), "arctan": sympy.atan, "x": X, **{str(p): p for p in PARAMETERS}}
    return sympy.sympify(eval(words, space | names))


def kinds(tree: Tree) -> set[str]:
    if not tree.varies or tree.kind == "x":
        return set()
    first, varying = tree.parts[0], [part.varies for part in tree.parts]
    if tree.kind in SLOPES:
        composed = {"composed"} if first.kind != "x" else set()
        but_exp = {"composed but exp"} if composed and tree.kind != "exp" else set()
        return {"function", tree.kind} | composed | but_exp
    if tree.kind == "pow" and varying[0]:
        high = {"high power"} if tree.parts[1].value > 2 else set()
        return {"power"} | high | ({"power of a sum"} if first.kind != "x" else set())
    if tree.kind == "pow":
        return {"raised"}
    if all(varying):
        return {tree.kind}
    return {("mul", False): {"scaled"}, ("add", True): {"add a constant"}}.get(
        (tree.kind, varying[0]), set()
    )


def drawn(rng: random.Random) -> Tree:
    def number(*choices: int) -> Tree:
        return Tree("constant", value=sympy.Integer(rng.choice(choices)))

    def constant() -> Tree:
        parameter = rng.random() < 0.4
        return (
            Tree("constant", value=rng.choice(PARAMETERS)) if parameter else number(*range(2, 10))
        )

    def power(*exponents: int) -> Tree:
        return Tree("pow", (Tree("x"), number(*exponents)))

    def linear() -> Tree:
        scaled = Tree("mul", (constant(), Tree("x")))
        return Tree("add", (scaled, constant())) if rng.random() < 0.4 else scaled

    def below() -> Tree:
        return Tree("add", (power(2, 3, 4, 5), constant())) if rng.random() < 0.6 else linear()

    def composite() -> Tree:
        inside = rng.choice([lambda: power(2, 3), linear, linear, below, lambda: root])()
        name = rng.choice([*SLOPES, "sin", "exp", "pow", "base"])
        if name == "pow":
            return Tree("pow", (below(), number(2, 3, 4, -1, -2)))
        return Tree("pow", (number(2, 3, 5), linear())) if name == "base" else Tree(name, (inside,))

    def factor() -> Tree:
        plain = Tree(rng.choice(list(SLOPES)), (Tree("x"),))
        return rng.choice([power(2, 3, 4, 5), plain, composite(), below()])

    def term() -> Tree:
        body = rng.choice([lambda: power(2, 3, 4, 5), factor, composite])()
        return Tree("mul", (constant(), body)) if rng.random() < 0.6 else body

    root = Tree("sqrt", (Tree("x"),))
    match rng.choice(["sum", "sum", "mul", "div", "composite", "scaled"]):
        case "sum":
            whole = Tree(rng.choice(["add", "add", "sub"]), (term(), term()))
            return Tree("add", (whole, constant())) if rng.random() < 0.3 else whole
        case "mul":
            return Tree("mul", (factor(), factor()))
        case "div":
            return Tree("div", (factor(), below()))
        case "scaled":
            return Tree("mul", (constant(), composite()))
    return composite()


def nodes(tree: Tree, path: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], Tree]]:
    yield path, tree
    for k, part in enumerate(tree.parts):
        yield from nodes(part, (*path, k))


def derivative(tree: Tree, wrong: Mapping[Any, str] | None = None, path: Any = ()) -> Any:
    """The textbook's derivative by x, with other rules at some nodes."""
    if not tree.parts or not tree.varies:
        return sympy.Integer(tree.kind == "x")
    names: dict[str, Any] = {}
    for k, (part, letter) in enumerate(zip(tree.parts, "uv", strict=False)):
        names |= {letter: expression(part), f"d{letter}": derivative(part, wrong, (*path, k))}
    if tree.kind in SLOPES:
        names["slope"] = lambda at: evaluated(SLOPES[tree.kind], u=at)
        names["function"] = lambda at: evaluated(f"{tree.kind}(at)", at=at)
    kind = next((k for k in ("function", "power", "raised") if k in kinds(tree)), tree.kind)
    return evaluated((wrong or {}).get(path, RIGHT[kind]), **names)


# -- wrong answers ---------------------------------------------------------------------------------


class Answer(NamedTuple):
    """A wrong answer, for each mistake in it what it may be called, and what each alone gives."""

    value: Any
    ids: tuple[set[str], ...]
    alone: tuple[Any, ...] = ()


def places(tree: Tree) -> list[tuple[Any, str, str]]:
    """Where a wrong rule can stand, its names and what it says."""
    return [
        (path, names, says)
        for path, node in nodes(tree)
        for names, where, says in RULES
        if where in kinds(node)
    ]


def single(tree: Tree) -> Iterator[Answer]:
    for path, names, says in places(tree):
        yield Answer(derivative(tree, {path: says}), (set(names.split()),))
    f, right = expression(tree), derivative(tree)
    yield Answer(-right, ({"sign-error"},))
    yield Answer(f, ({"not-differentiated"},))
    yield Answer(sympy.diff(right, X), ({"second-derivative"},))
    yield Answer(1 / right, ({"reciprocal"},))
    for parameter in sorted(f.free_symbols - {X}, key=str):
        yield Answer(sympy.diff(f, parameter), ({"wrong-variable"},))
    for path, node in nodes(tree):
        if node.kind == "constant" and node.value.is_Integer and node.value > 2:
            other = replaced(tree, path, node._replace(value=node.value + 1))
            yield Answer(derivative(other), ({"function-misread", "coefficient-slip"},))


def replaced(tree: Tree, path: tuple[int, ...], by: Tree) -> Tree:
    if not path:
        return by
    parts = list(tree.parts)
    parts[path[0]] = replaced(parts[path[0]], path[1:], by)
    return tree._replace(parts=tuple(parts))


def double(tree: Tree, rng: random.Random) -> Answer | None:
    first, *rest = rng.sample(every := places(tree), len(every)) or [((), "", "")]
    second = next((place for place in rest if place[0] != first[0]), None)
    if second is None:
        return None
    both, *alone = (
        derivative(tree, {path: says for path, _, says in wrong})
        for wrong in ([first, second], [first], [second])
    )
    return Answer(both, (set(first[1].split()), set(second[1].split())), tuple(alone))


# -- put to the diagnosis --------------------------------------------------------------------------


@dataclass
class Tally:
    put: int = 0
    named: int = 0
    claimed: int = 0
    unique: int = 0
    examples: list[tuple[str, str, Any]] = field(default_factory=list)


class Problem(NamedTuple):
    """A function drawn, its points, its right derivative, and every mistake made in it."""

    tree: Tree
    at: list[dict[str, float]]
    right: list[float]
    prepared: Prepared

    def explain(self, answer: Sequence[float | None]) -> Diagnosis:
        """What is said of an answer by its values; None where one is not known."""
        return explain(self.prepared, "x", [None if a is None else np.asarray(a) for a in answer])


def values(answer: Any, at: Sequence[Mapping[str, float]]) -> list[float] | None:
    """The answer at the points; None where it is no number at one of them."""
    symbols = (X, *PARAMETERS)
    function = sympy.lambdify(symbols, answer, "mpmath")
    try:
        found = [float(function(*(point[str(s)] for s in symbols))) for point in at]
    except (TypeError, ValueError, ZeroDivisionError, OverflowError):
        return None
    return found if all(map(math.isfinite, found)) else None


def problems(seed: int, count: int) -> Iterator[Problem]:
    """Functions whose derivative has a value at four points; the parameters are the same there."""
    rng = random.Random(seed)
    while count:
        tree = drawn(rng)
        fixed = {str(p): round(rng.uniform(0.6, 2.9), 3) for p in PARAMETERS}
        at = [{"x": rng.uniform(0.3, 1.9), **fixed} for _ in range(4)]
        right = values(derivative(tree), at)
        if right is not None and all(map(abs, right)):
            yield Problem(tree, at, right, prepare([case(text(tree), p, ["x"]) for p in at]))
            count -= 1


def put(tally: Tally, problem: Problem, each: Answer) -> None:
    """One wrong answer; those that are right after all, or have no value, are passed over."""
    answer = values(each.value, problem.at)
    simpler = [problem.right, *(values(one, problem.at) for one in each.alone)]
    if answer is None or any(
        one is not None and np.allclose(answer, one, rtol=CLOSE, atol=0) for one in simpler
    ):
        return
    found = problem.explain(answer)
    told = [set(h.ids) for h in (*found.hypotheses, *found.beneath)]
    # One mistake that gives what two gave is the better story: fewest mistakes win.
    fewer = len(each.ids) > 1 and any(h.with_ is None for h in found.hypotheses)
    named = fewer or any(all(names & said for names in each.ids) for said in told)
    tally.put += 1
    tally.named += named
    if not named:
        tally.examples.append((text(problem.tree), str(each.value), each.ids))


def held_out(seed: int, count: int) -> tuple[Tally, Tally, Tally]:
    rng = random.Random(seed + 1)
    one, two, right = Tally(), Tally(), Tally()
    for problem in problems(seed, count):
        every = list(single(problem.tree))
        for each in rng.sample(every, min(PER_FUNCTION, len(every))):
            put(one, problem, each)
        for _ in range(2):
            both = double(problem.tree, rng)
            if both is not None:
                put(two, problem, both)
        right.put += 1
        right.claimed += bool(problem.explain(problem.right).hypotheses)
    return one, two, right


SIMPLE = (
    "x", "2*x", "x**2", "1/x", "sin(x)", "cos(x)", "exp(x)", "log(x)", "sqrt(x)", "x*sin(x)",
    "exp(2*x)", "x + 1", "x**3 - x", "1/(x + 1)", "5*x**4", "x*exp(x)",
)  # fmt: skip


def unrelated(
    problem: Problem, other: Problem, rng: random.Random
) -> Iterator[tuple[str, list[float | None]]]:
    """Wrong answers of no particular origin: (kind, values at the points; None: not known)."""
    right, rest = problem.right, [None] * (len(problem.at) - 1)
    noise = rng.choice([1e-3, 1e-2, 0.1, 1.0])
    yield "formula plus noise", [r + noise * rng.gauss(0, 1) * max(1, abs(r)) for r in right]
    theirs = values(derivative(other.tree), problem.at)
    simple = values(evaluated(rng.choice(SIMPLE)), problem.at)
    for name, found in (("another problem's", theirs), ("simple", simple)):
        if found is not None:
            yield f"{name} formula", [*found]
            yield f"{name} number", [found[0], *rest]
    yield "small integer", [float(rng.randint(-12, 12)), *rest]
    yield "small constant", [float(rng.randint(-9, 9))] * len(right)
    yield "number near", [round(right[0] * (1 + rng.uniform(-0.3, 0.3)), 2), *rest]


def by_a_part(problem: Problem, known: Sequence[tuple[float, float]]) -> bool:
    """Whether the numbers are those of the derivative of a part of the function."""
    answer = [a for a, _ in known]
    parts = (values(derivative(part), problem.at) for _, part in nodes(problem.tree))
    return len(answer) > 1 and any(
        part is not None and np.allclose(answer, part, rtol=CLOSE, atol=0) for part in parts
    )


def accused(seed: int, count: int) -> dict[str, Tally]:
    """What is said of unrelated answers, by their kind.

    A claim is a mistake that is named, unless it is said to be consistent and no more. The
    derivative of a part of the function is no unrelated answer: the rest was left out.
    """
    rng = random.Random(seed + 2)
    tallies: dict[str, Tally] = defaultdict(Tally)
    earlier: list[Problem] = []
    for problem in problems(seed, count):
        for kind, answer in unrelated(problem, rng.choice(earlier or [problem]), rng):
            known = [(a, r) for a, r in zip(answer, problem.right, strict=True) if a is not None]
            if all(abs(a - r) <= CLOSE * abs(r) for a, r in known):
                continue
            found, tally = problem.explain(answer), tallies[kind]
            tally.put += 1
            claimed = bool(found.hypotheses) and CONSISTENT not in found.remarks
            tally.claimed += claimed and not by_a_part(problem, known)
            tally.unique += found.certainty == "unique"
            if found.hypotheses:
                tally.examples.append((text(problem.tree), str(answer[:2]), found.certainty))
        earlier.append(problem)
    return dict(tallies)
