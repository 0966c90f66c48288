"""Further points for answers that change their rule somewhere: both sides must be visited.

|x - 40|, sign(x), where(x > 3, ...), the root of a square: an answer may be right on one side of
such a knot and wrong on the other.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise, product

import numpy as np

from gradcheck.errors import GradcheckError
from gradcheck.grading.equivalence import sides
from gradcheck.grading.formulas.line import Line
from gradcheck.grading.formulas.values import Readings
from gradcheck.grading.key import Key, Spot
from gradcheck.numbers.run import precision

BITS = 128
MOST = 12
CROSSINGS, HALVINGS = 3, 20
LARGEST = 10**9
BESIDE = Fraction(1, 8)
Side = tuple[int, int]


def further_sides(key: Key, ready: Readings) -> tuple[Spot, ...]:
    """Points on sides of the answer's knots that are not seen yet, then close to the knots."""
    lines = [line for line in ready.lines if line.knotted]
    if not lines:
        return ()
    beyond = _unseen_sides(key, lines)
    close = dict.fromkeys(_close(lines, [*key.spots, *beyond]))
    return (*beyond, *[spot for spot in list(close)[:MOST] if spot.inside])


def _unseen_sides(key: Key, lines: Sequence[Line]) -> tuple[Spot, ...]:
    """Points on those sides of the answer's knots where none of the usual points lies."""
    seen = {side for spot in key.spots for side in _sides_at(lines, spot)}
    wanted = {(knot, -side) for knot, side in seen} - seen
    beyond: list[Spot] = []
    for spot in _candidates(key, lines) if wanted else ():
        new = set(_sides_at(lines, spot)) - seen
        if new and spot.inside:
            beyond.append(spot)
            seen |= new
            wanted -= new
        if not wanted or len(beyond) == MOST:
            break
    return tuple(beyond)


def _close(lines: Sequence[Line], spots: Sequence[Spot]) -> Iterator[Spot]:
    """On both sides of each knot, close to it: it may lie a little beside the gradient's own."""
    ordered = sorted(spots, key=lambda spot: [v for a in spot.point.values() for v in a.flat])
    sided = [(spot, dict(_sides_at(lines, spot))) for spot in ordered]
    for knot in range(sum(len(line.knotted) for line in lines)):
        known = [(spot, side[knot]) for spot, side in sided if knot in side]
        across = [(a, b, side) for (a, side), (b, other) in pairwise(known) if side != other]
        for a, b, side in across[:CROSSINGS]:
            yield from _bisect(lines, knot, a, b, side)


def _bisect(lines: Sequence[Line], knot: int, a: Spot, b: Spot, side: int) -> tuple[Spot, Spot]:
    """Two points on either side of a knot, a millionth as far apart as they were."""
    for _ in range(HALVINGS):
        middle = _between(a, b)
        there = dict(_sides_at(lines, middle)).get(knot)
        if there is None:
            break
        a, b = (middle, b) if there == side else (a, middle)
    return a, b


def _between(a: Spot, b: Spot) -> Spot:
    halfway = {name: np.asarray((value + b.point[name]) / 2) for name, value in a.point.items()}
    return Spot(a.problem, halfway)


def unseen(ready: Readings, spots: Sequence[Spot]) -> str:
    """A piece of the answer that has no influence at any of the points, as it was typed; or ""."""
    for line in ready.lines:
        left: set[str] | None = None
        for spot in spots:
            with precision(BITS):
                hidden = line.find_hidden(spot.arbs(BITS), BITS)
            left = hidden if left is None else left & hidden
            if not left:
                break
        if left:
            return min(left)
    return ""


def _candidates(key: Key, lines: Sequence[Line]) -> Iterator[Spot]:
    """The problem's reserve, then points close to the numbers that the answer mentions."""
    yield from key.reserve
    typed = {number for line in lines for number in line.numbers}
    numbers = sorted({s for n in typed for s in (n, -n) if 2 < abs(n) < LARGEST})
    yield from key.near(numbers[:MOST])
    for number, step in product(numbers[:MOST], (BESIDE, -BESIDE)):
        yield _all_at(key, number + step)


def _all_at(key: Key, number: Fraction) -> Spot:
    """The given point with every input that varies moved to one number."""
    inputs = key.problem.inputs
    moved = {
        name: np.full(value.shape, number, dtype=object) if inputs[name].varies else value
        for name, value in key.points[0].items()
    }
    return Spot(key.problem, moved)


def _sides_at(lines: Sequence[Line], spot: Spot) -> Iterator[Side]:
    """Each knot of the lines, numbered, with the side of it that a point lies on."""
    first = 0
    for line in lines:
        try:
            with precision(BITS):
                values = line.knots(spot.arbs(BITS), BITS)
        except GradcheckError:
            values = []
        for n, value in enumerate(values):
            yield from ((first + n, side) for side in sides([value]))
        first += len(line.knotted)
