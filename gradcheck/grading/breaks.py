"""Further points for answers that change their rule somewhere: both sides must be visited.

|x - 40|, sign(x), where(x > 3, ...), the root of a square: an answer may be right on one side of
such a knot and wrong on the other.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction

from gradcheck.equivalence import sides
from gradcheck.errors import GradcheckError
from gradcheck.grading.straight import StraightLine
from gradcheck.grading.values import Readings
from gradcheck.numbers.ball import precision
from gradcheck.reference import Key, Spot

BITS = 128
MOST = 12
LARGEST = 10**9
Side = tuple[int, int]


def further_sides(key: Key, ready: Readings) -> tuple[Spot, ...]:
    """Points on those sides of the answer's knots where none of the usual points lies."""
    lines = [line for line in ready.lines if line.knotted]
    if not lines:
        return ()
    seen = {side for spot in key.spots for side in _seen(lines, spot)}
    wanted = {(knot, -side) for knot, side in seen} - seen
    found: list[Spot] = []
    for spot in _candidates(key, lines) if wanted else ():
        new = set(_seen(lines, spot)) - seen
        if new and spot.inside:
            found.append(spot)
            seen |= new
            wanted -= new
        if not wanted or len(found) == MOST:
            break
    return tuple(found)


def unseen(ready: Readings, spots: Sequence[Spot]) -> str:
    """A piece of the answer that has no influence at any of the points, as it was typed; or ""."""
    for line in ready.lines:
        left: set[str] | None = None
        for spot in spots:
            with precision(BITS):
                hidden = line.hidden(spot.arbs(BITS), BITS)
            left = hidden if left is None else left & hidden
            if not left:
                break
        if left:
            return min(left)
    return ""


def _candidates(key: Key, lines: Sequence[StraightLine]) -> Iterator[Spot]:
    """The problem's reserve, then points close to the numbers that the answer mentions."""
    yield from key.reserve
    typed = {n for line in lines for n in line.numbers if isinstance(n, Fraction)}
    numbers = sorted({s for n in typed for s in (n, -n) if 2 < abs(n) < LARGEST})
    yield from key.near(numbers[:MOST])


def _seen(lines: Sequence[StraightLine], spot: Spot) -> Iterator[Side]:
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
