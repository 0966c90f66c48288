"""Further points for answers that change their rule somewhere: both sides of |x - 40| are seen."""

import ast
import operator
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache
from itertools import chain, islice, pairwise, product

import numpy as np
from flint import arb

from gradcheck.answers import echo
from gradcheck.errors import GradcheckError
from gradcheck.grading.formula import CHOICE, TESTS, Line, Readings, Step, make_line
from gradcheck.grading.key import Key
from gradcheck.grading.spots import Spot
from gradcheck.language.kinds import FORMULAS
from gradcheck.numbers.ball import middle
from gradcheck.numbers.run import Undecided, precision
from gradcheck.ops import TABLE
from gradcheck.ops.row import Op, knots
from gradcheck.problem.draw import draw_points_near
from gradcheck.problem.record import Point
from gradcheck.values import Array, Routine

BITS = 128
MOST = 12
CLOSE = [sign * Fraction(n + k, n) for n in (64, 2**40) for k in (1, -1) for sign in (1, -1)]
CROSSINGS, HALVINGS = 3, 50
ASKING = ("Eq", "NotEq", CHOICE)
LARGEST = 10**15  # a bound beyond it is not visited, and the answer not judged right
Knot = tuple[Routine, tuple[int, ...]]  # what is zero there, and of which slots of a line
Sides = dict[tuple[Line, int], int]  # of the knots of lines: 1 or -1


@lru_cache(maxsize=1_024)
def find_knots(line: Line) -> list[Knot]:
    """Where the steps of a line change their rule."""
    found: list[Knot] = []
    for step in line.steps.values():
        row = TABLE.get(step.name)
        rules = [operator.sub] if step.name in TESTS else knots(row.kinks) if row else ()
        found += [(knot, step.args) for knot in rules]
        inner = line.steps.get(step.args[0])
        if step.name in ("sqrt", "power") and inner and _is_square(line, inner):
            found.append((lambda x: x, inner.args[:1]))
    return found


def _is_square(line: Line, step: Step) -> bool:
    if step.name == "power":
        exponent = line.numbers.get(step.args[1])
        return isinstance(exponent, Fraction) and exponent.numerator % 2 == 0
    return step.name == "square" or (step.name == "multiply" and step.args[0] == step.args[1])


def find_further_sides(key: Key, ready: Readings) -> tuple[Spot, ...]:
    """Points on sides of the answer's knots that are not seen yet, then close to the knots."""
    lines = [line for line in ready.lines if find_knots(line)]
    if not lines:
        return ()
    seen = {side for spot in key.spots for side in _find_sides(lines, spot).items()}
    wanted = {(knot, -side) for knot, side in seen} - seen
    beyond: list[Spot] = []
    for spot in _list_candidates(key, lines):
        if not wanted or len(beyond) == MOST:
            break
        new = set(_find_sides(lines, spot).items()) - seen
        if new and spot.inside:
            beyond.append(spot)
            seen |= new
            wanted -= new
    close = dict.fromkeys(_approach(lines, [*key.spots, *beyond]))
    return (*beyond, *[spot for spot in list(close)[:MOST] if spot.inside])


def _find_sides(lines: Sequence[Line], spot: Spot) -> Sides:
    """On which side of each knot a point lies; of one that it touches it lies on none."""
    found: Sides = {}
    for line in lines:
        with suppress(GradcheckError), precision(BITS):
            values = line.values(spot.arbs(BITS), BITS)
            for n, (knot, args) in enumerate(find_knots(line)):
                value = knot(*[values[i] for i in args])
                if value > 0 or value < 0:
                    found[line, n] = 1 if value > 0 else -1
    return found


def _list_candidates(key: Key, lines: Sequence[Line]) -> Iterator[Spot]:
    """The problem's reserve, then points close to the numbers that the answer mentions."""
    yield from key.reserve
    typed = _fold_typed(line.tree for line in lines)
    far = sorted(sign * number for number in typed if number > 2 for sign in (1, -1))[:MOST]
    unusual = [number for number in (*typed, Fraction(1, 2**40)) if number not in COMMON]
    beside = (_move_all(key, n * part) for k in unusual for n in (k, 1 / k) for part in CLOSE)
    for point in chain(draw_points_near(key.problem, far), beside):
        yield Spot(key.problem, point)


def _approach(lines: Sequence[Line], spots: Sequence[Spot]) -> Iterator[Spot]:
    """On both sides of each knot, close to it: it may lie a little beside the gradient's own.

    A float's last digits apart: between two knots that lie close together another rule may hold.
    """
    ordered = sorted(spots, key=lambda spot: [v for a in spot.point.values() for v in a.flat])
    sided = [(spot, _find_sides(lines, spot)) for spot in ordered]
    for knot in ((line, n) for line in lines for n in range(len(find_knots(line)))):
        known = [(spot, side[knot]) for spot, side in sided if knot in side]
        across = [(a, b, side) for (a, side), (b, other) in pairwise(known) if side != other]
        for a, b, side in across[:CROSSINGS]:
            for _ in range(HALVINGS):
                halfway = {n: np.asarray((v + b.point[n]) / 2) for n, v in a.point.items()}
                between = Spot(a.problem, halfway)
                there = _find_sides(knot[:1], between).get(knot)
                if there is None:
                    break
                a, b = (between, b) if there == side else (a, between)  # noqa: PLW2901
            yield from (a, b)


def describe_unseen(ready: Readings, spots: Sequence[Spot]) -> str:
    """A piece of the answer that has no influence at any of the points, as it was typed; or ""."""
    for line in ready.lines:
        rows = ((TABLE.get(step.name), step) for step in line.steps.values())
        hidden = [(row.unseen, step) for row, step in rows if row and row.unseen]
        for spot in spots:
            if not hidden:
                break
            with suppress(Undecided), precision(BITS):
                values = line.values(spot.arbs(BITS), BITS)
                hidden = [each for each in hidden if each[0](*[values[i] for i in each[1].args])]
        if hidden:
            return min(line.text[slice(*step.place)] for _, step in hidden)
        typed = (number for number in line.numbers.values() if type(number) is Fraction)
        if any(abs(n.numerator) >= LARGEST * n.denominator for n in typed):
            seen = {side for spot in spots for side in _find_sides([line], spot).items()}
            if any((knot, -side) not in seen for knot, side in seen):
                return line.text
    met = (p for node in _list_asking(ready) for p, _, exact in _fold(node) if exact is None)
    nodes = [node for tree in ready.trees for node in ast.walk(tree)]
    tiny = (node for tree in ready.trees for node, v, _ in _fold(tree) if 0 < abs(v) < TINY)
    far = (p for n in filter(_is_knotted, nodes) for p, v, _ in _fold(n) if abs(v) >= LARGEST)
    return next((echo(node) for node in chain(met, tiny, far)), "")


def _move_all(key: Key, number: Fraction, *, turned: bool = False) -> Point:
    """The given point with every input that varies moved to one number, perhaps to and fro."""
    moved: dict[str, Array] = {}
    for name, value in key.points[0].items():
        away = np.full(value.size, number, dtype=object)
        away[len(moved) % 2 :: 2] *= -1 if turned else 1
        moved[name] = away.reshape(value.shape) if key.problem.inputs[name].varies else value
    return moved


# -- formulas of arrays ----------------------------------------------------------------------------

COMMON = frozenset((*map(Fraction, range(4)), Fraction(1, 2)))  # coefficients, hardly ever bounds
BARELY = Fraction(10**9 + 1, 10**9)
BESIDES = (Fraction(65, 64), Fraction(63, 64), Fraction(1, 2))
VISITED, SCALES = (32, 8), (6, 2)  # points, and of what is large
LARGE = 100  # entries
SATURATING = 99  # a factor beyond which a function may rise from 0 to 1 between two points
TINY = arb(10) ** -400  # no number of digits that is looked at shows such a summand


def find_distant_spots(key: Key, ready: Readings) -> Iterator[Spot]:
    """Points at no decimals; and of an answer that compares, cuts or saturates arrays others too.

    On which side of its knots a point lies is not known there: those are visited where the numbers
    that it mentions would matter, and a few on unusual scales.
    """
    yield from key.aside
    asking, few = _list_asking(ready), key.case(0).size() > LARGE
    equal = sorted({Fraction(0), Fraction(1), *_fold_typed(asking)})[:MOST] if asking else ()
    touching = (_move_all(key, sign * number) for number in equal for sign in (1, -1))
    yield from _list_inside(key, touching)  # where two things may be equal
    yield from islice(_list_inside(key, find_distant_points(key, ready.trees)), VISITED[few])
    if any(_is_knotted(node) for tree in ready.trees for node in ast.walk(tree)):
        yield from islice((spot for spot in key.reserve if spot.inside), SCALES[few])


def _list_inside(key: Key, points: Iterable[Point]) -> Iterator[Spot]:
    return (spot for point in points if (spot := Spot(key.problem, point)).inside)


def find_distant_points(key: Key, trees: Sequence[ast.AST]) -> Iterator[Point]:
    """Points beside the numbers that formulas mention where their rule changes."""
    nodes = [node for tree in trees for node in ast.walk(tree)]
    rows = ((node, _find_row(node)) for node in nodes)
    saturating = (node for node, row in rows if row and (row.unseen or row.name == "exp"))
    numbers = [1 / n for n in _fold_typed(saturating) if n > SATURATING]
    bounds = _fold_typed(filter(_is_knotted, nodes))
    signed = sorted({*bounds, *(-n for n in bounds)})
    between = [(a + b) / 2 for a, b in pairwise(signed)]
    yield from (_move_all(key, n) for n in (*between, *(n * BARELY for n in signed)) if n)
    numbers += [n for n in bounds if n not in COMMON]
    for turned, sign, factor, number in product((False, True), (1, -1), BESIDES, numbers):
        yield _move_all(key, sign * number * factor, turned=turned)


def _fold_typed(nodes: Iterable[ast.AST]) -> list[Fraction]:
    folded = (each for node in nodes for each in _fold(node) if abs(each[1]) < LARGEST)
    return sorted({abs(Fraction(middle(v)) if exact is None else exact) for _, v, exact in folded})


def _list_asking(ready: Readings) -> list[ast.AST]:
    lines = (each for each in ready.lines if any(s.name in ASKING for s in each.steps.values()))
    trees = (*ready.trees, *(line.tree for line in lines))
    return [asked for tree in trees for node in ast.walk(tree) for asked in _find_asked(node)]


def _find_asked(node: ast.AST, *, whole: bool = False) -> Iterator[ast.AST]:
    """What is asked to be equal; of a `whole` condition each part that is no comparison, too."""
    match node:
        case ast.Compare(ops=[ast.Eq() | ast.NotEq()]):
            yield node
        case ast.Call(ast.Name(name), [condition, *_]) if name == CHOICE:
            yield from _find_asked(condition, whole=True)
        case ast.BinOp() if whole and any(isinstance(n, ast.Compare) for n in ast.walk(node)):
            yield from chain(*(_find_asked(side, whole=True) for side in (node.left, node.right)))
        case _ if whole and not isinstance(node, ast.Compare):
            yield node


def _is_knotted(node: ast.AST) -> bool:
    row = _find_row(node)
    return isinstance(node, ast.Compare) or bool(row and row.kinks)


def _find_row(node: ast.AST) -> Op | None:
    match node:
        case ast.Call(ast.Name(name) | ast.Attribute(_, name)):
            return TABLE.get(FORMULAS.function(name) or name)
    return None


def _fold(node: ast.AST) -> Iterator[tuple[ast.AST, arb, Fraction | None]]:
    """The largest pieces without a name in them, and their values; as fractions, if they are."""
    line = make_line(node, "", {}) if isinstance(node, ast.expr) else None
    if line is None:
        for piece in ast.iter_child_nodes(node):
            yield from _fold(piece)
        return
    typed = line.numbers.get(line.end)
    with suppress(GradcheckError), precision(BITS):
        yield node, line.value({}, BITS), typed if isinstance(typed, Fraction) else None
