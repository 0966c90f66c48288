"""Where in a typed formula a mistake stands: the piece that something else would make right.

For every piece of a wrong formula the numbers are worked out that would have to stand there, with
the rest as it is, to give the right derivative. The piece is to blame if they are simple beside
what stands there: its negative, another number, a value or a derivative that the program itself
has, or a missing factor of that kind. A term that was left out stands nowhere.
"""

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from gradcheck.answers import Formula
from gradcheck.diagnosis.line import ScalarLine, lines
from gradcheck.errors import TextError
from gradcheck.grading.formulas.floats import INVERSE, Floats
from gradcheck.grading.judgement import FAILURES
from gradcheck.grading.key import Key
from gradcheck.problem.record import Part
from gradcheck.values import Array

POINTS = 6
BITS = 64
CLOSE = 1e-9  # relative: values are floats, worked back through a few operations
LARGEST = 60  # numbers that somebody may have meant have no larger numerator or denominator
Place = tuple[int, int]
WAVES = {name: getattr(np, name) for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")}


def standing(key: Key, part: Part, answer: str, line: int | None = None) -> Place | None:
    """Where the piece to blame begins and ends in an answer that was judged wrong; None: unknown.

    `line` is the first line of its working that does not hold; else its last step is looked at.
    Only formulas of single numbers are.
    """
    if part.name not in key.problem.wrt or key.run is not None:
        return None
    try:
        formula = key.read(part, answer)
        if not isinstance(formula, Formula):
            return None
        step = next((each for each in formula.steps if each.line == line and each.tree), None)
        if step is not None and step.tree is not None:
            formula = formula.piece(step.tree)
        found = lines([key.case(k) for k in range(min(POINTS, len(key.points)))])
        if not found or found[0][1].size != len(key.problem.wrt):
            return None
        points, run = found[0]
        slopes = run.tangents[-1]
        if slopes is None:
            return None
        entry = key.problem.wrt.index(part.name)
        body = formula.tree.body
        looks = [
            Floats(body, key.spots[k].floats, float(due))
            for k, due in zip(points, slopes[:, entry], strict=True)
        ]
        with np.errstate(all="ignore"):
            found_dues = sorted(_dues(looks, body, body), key=lambda each: _length(each.place))
            return _blame(found_dues, formula, list(_known_values(run, entry)))
    except (TextError, *FAILURES):
        return None


@dataclass(frozen=True)
class _Due:
    """A piece, the numbers it has, those due, and the largest product that it is a factor of."""

    node: ast.expr
    has: Array
    due: Array
    term: ast.expr

    @property
    def place(self) -> Place:
        """Where it is typed."""
        return _place(self.node)


def _place(node: ast.expr) -> Place:
    return node.col_offset, node.end_col_offset or 0


def _dues(looks: Sequence[Floats], node: ast.expr, term: ast.expr) -> Iterator[_Due]:
    """A piece and all below it for which numbers are due that can be solved back."""
    dues = [look.due(node) for look in looks]
    if None in dues:
        return
    has = np.array([look.value(node) for look in looks])
    yield _Due(node, has, np.array(dues, dtype=float), term)
    match node:
        case ast.BinOp(left, ast.Mult(), right):
            pieces = [(left, term), (right, term)]
        case ast.BinOp(left, ast.Div(), right):
            pieces = [(left, term), (right, right)]
        case ast.BinOp(left, _, right):
            pieces = [(left, left), (right, right)]
        case ast.UnaryOp(ast.USub(), inner):
            pieces = [(inner, term)]
        case ast.Call(ast.Name(name), [inner]) if name in INVERSE:
            pieces = [(inner, inner)]
        case _:
            pieces = []
    for piece, of in pieces:
        yield from _dues(looks, piece, of)


def _blame(found: Sequence[_Due], formula: Formula, known: Sequence[Array]) -> Place | None:
    """The smallest piece of the likeliest kind; of a sign or a factor the whole term."""
    body = formula.tree.body
    kinds: tuple[tuple[Callable[[_Due], bool], bool], ...] = (
        (_negative, True),
        (_another_number, False),
        (_number_missing, True),
        (lambda each: each.node is not body and _value(each, known), False),
        (lambda each: _same(each.due, each.has**2), False),
        (lambda each: _factor_missing(each, known), True),
    )
    for fits, whole in kinds:
        fitting = list(filter(fits, found))
        if fitting and whole:
            return _with_sign(formula.text, max((_place(f.term) for f in fitting), key=_length))
        if fitting:
            return fitting[0].place
    return None


def _length(place: Place) -> int:
    return place[1] - place[0]


# -- what may be due in the place of a piece -------------------------------------------------------


def _known_values(line: ScalarLine, entry: int) -> Iterator[Array]:
    """Values, derivatives and slopes that the program has, but for those that are constant."""
    for k, tangent in enumerate(line.tangents):
        derivative = () if tangent is None else (tangent[:, entry],)
        for each in (line.y[k], *derivative, *line.f[k]):
            if np.all(np.isfinite(each)) and np.ptp(each):
                yield each


def _negative(each: _Due) -> bool:
    return _same(each.due, -each.has)


def _another_number(each: _Due) -> bool:
    """Whether another number belongs where one stands."""
    return isinstance(each.node, ast.Constant) and _number(each.due)


def _number_missing(each: _Due) -> bool:
    """Whether a number is missing as a factor, or is one too much."""
    return not _is_sum(each.node) and _number(each.due / each.has)


def _value(each: _Due, known: Sequence[Array]) -> bool:
    """Whether a value of the program belongs there, or, inside a function, would make it right."""
    match each.node:
        case ast.Constant():
            return False
        case ast.Call(ast.Name(name), [_]) if name in WAVES:
            known = [*known, *(wave(value) for value in known for wave in WAVES.values())]
    return any(_same(each.due, sign * value) for value in known for sign in (1, -1))


def _factor_missing(each: _Due, known: Sequence[Array]) -> bool:
    """Whether a value of the program is missing as a factor, or is one too much."""
    ratio = each.due / each.has
    turned = (of for value in known for of in (value, -value, 1 / value, -1 / value))
    return not _is_sum(each.node) and any(_same(ratio, of) for of in turned)


def _is_sum(node: ast.expr) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub)


def _number(values: Array) -> bool:
    """Whether all are one number that somebody may have meant."""
    near = Fraction(float(values[0])).limit_denominator(LARGEST)
    simple = 0 < abs(near.numerator) <= LARGEST**2
    return simple and _same(values, np.full(values.shape, float(near)))


def _same(a: Array, b: Array) -> bool:
    return bool(np.all(_close(a, b)))


def _close(a: Array, b: Array) -> Array:
    found: Array = np.abs(a - b) <= CLOSE * np.maximum(np.abs(a), np.abs(b))
    return found


def _with_sign(text: str, place: Place) -> Place:
    """A term with the sign before it."""
    before = text[: place[0]].rstrip()
    return (len(before) - 1, place[1]) if before.endswith(("+", "-")) else place
