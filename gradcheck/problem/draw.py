"""Points inside a program's own domain.

What is given by its shape alone is drawn from a generator that the problem's id seeds, further
points from one that the program's text seeds: the same answer meets the same points in every set.

Numbers are short decimals, so that a witness reads well; several scales are tried, and a point is
kept only where the value and every gradient are finite and nothing is at a kink. Where the program
branches, the points are dealt evenly among the paths found.
"""

import ast
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import chain, cycle, islice, zip_longest

import numpy as np

from gradcheck.errors import GradcheckError
from gradcheck.opinions.opinion import NotScalar, Opinion
from gradcheck.opinions.reverse import reverse
from gradcheck.opinions.symbolic import symbolic
from gradcheck.problem.domain import without_value
from gradcheck.problem.record import Input, Point, Problem
from gradcheck.values import Array, Params, Value

Scale = tuple[float, float]
Path = tuple[str, ...]

SCALES: tuple[Scale, ...] = (
    (-2.0, 2.0),
    (0.1, 2.0),
    (-1.0, 1.0),
    (0.05, 0.95),
    (1.05, 4.0),
    (-6.0, 6.0),
    (2.0, 30.0),
)
# Small, large, and far away: for terms that hide behind others in the middle of the line.
FAR: tuple[Scale, ...] = (
    (0.001, 0.01),
    (20.0, 60.0),
    (-60.0, -20.0),
    (-0.01, -0.001),
    (100.0, 1000.0),
    (-1000.0, -100.0),
)
OFFSETS = (1.0, 0.1, 0.01)  # how near to a number in the program's text
TRIES = 12
PLACES = 10_000  # decimals are drawn to four places where two would be too coarse
SMALL = 4  # entries: programs that are looked at long enough to find rare paths
EXPLORED = {True: 60, False: 16}
NEARBY = 8
LARGE = 2_000
"""Entries of all inputs beyond which no path is asked for: it is too long to be told apart."""


def given_point(problem: Problem) -> Point:
    """The point that the file states; inputs given only by shape are drawn to fit.

    Raises TextError where the program fails at every point, GradcheckError where it has no value.
    """
    fixed = {name: i.value for name, i in problem.inputs.items() if i.value is not None}
    drawn = [i for i in problem.inputs.values() if i.value is None]
    if not drawn:
        return fixed
    for point in candidates(fixed, drawn, problem.seed, SCALES * TRIES):
        if path_at(problem, point) is not None:
            return point
    if problem.value_on("float", point) is None:
        raise without_value(problem)
    raise GradcheckError(
        f"no draw of {', '.join(i.name for i in drawn)} gives a finite gradient - "
        "move what is given, or give values instead of a shape"
    )


def further_points(problem: Problem, count: int) -> list[Point]:
    """Other points for comparing formulas: what is differentiated or drawn varies.

    Enough of them; of a program that branches, also after a fair look at its paths.
    """
    fixed, varying = split(problem)
    explored = EXPLORED[sum(int(np.prod(i.shape)) for i in varying) <= SMALL]
    found: dict[Path, list[Point]] = {}
    tried = _all_candidates(problem, fixed, varying, TRIES * count) if varying else ()
    for n, point in enumerate(tried):
        path = path_at(problem, point, write=n == 0 or any(found))
        if path is not None:
            found.setdefault(path, []).append(point)
        fair = n + 1 >= explored or not any(found) or len(found) >= count
        if fair and sum(map(len, found.values())) >= count:
            break
    dealt = chain.from_iterable(zip_longest(*found.values()))  # from each path in turn
    return [point for point in dealt if point is not None][:count]


def far_points(problem: Problem, count: int) -> list[Point]:
    """Points on unusual scales, where they lie in the domain."""
    fixed, varying = split(problem)
    tried = candidates(fixed, varying, problem.seed_of_points + 2, FAR * 2 if varying else ())
    inside = (point for point in tried if path_at(problem, point, write=False) is not None)
    return list(islice(inside, count))


def points_near(problem: Problem, numbers: Sequence[Fraction]) -> Iterator[Point]:
    """Points at which inputs lie close to numbers that stand in some text, on both sides."""
    scales = [
        (float(number) - offset, float(number) + offset)
        for offset in OFFSETS
        for number in numbers
        for _ in range(4)
    ]
    return candidates(*split(problem), problem.seed_of_points + 3, scales)


def path_at(problem: Problem, point: Point, *, write: bool = True) -> Path | None:
    """The comparisons taken at a point; None outside the domain or at a tie.

    Without `write` all paths look alike. Where the value is no number any point does: what is
    wrong with it is said where it is looked at.
    """
    found = None
    if not problem.admits(point):
        return None
    if sum(np.size(value) for value in point.values()) <= LARGE:
        try:
            found = symbolic(problem.case(point), write=write)
        except NotScalar:
            return ()
    if found is None or found.abstains:
        found = reverse(problem.case(point), samples=1)
        return () if not found.abstains and _finite(found) else None
    return found.conditions if found.ties == 0 and _finite(found) else None


def decimals(rng: np.random.Generator, scale: Scale, shape: tuple[int, ...]) -> Array:
    """Uniform numbers of two decimals (or four, in a narrow interval), as exact Fractions."""
    low, high = scale
    units = 100 if high - low >= 0.5 else PLACES
    numbers = rng.integers(round(low * units), round(high * units), size=shape, endpoint=True)
    out = np.empty(shape, dtype=object)
    for index in np.ndindex(shape):
        out[index] = Fraction(int(np.asarray(numbers)[index]) or 7, units)
    return out


def split(problem: Problem) -> tuple[dict[str, Value], list[Input]]:
    """The inputs that stay as they are, and those that vary."""
    fixed = {n: i.value for n, i in problem.inputs.items() if not i.varies and i.value is not None}
    return fixed, [i for i in problem.inputs.values() if i.varies]


def _all_candidates(
    problem: Problem, fixed: Params, varying: Sequence[Input], count: int
) -> Iterator[Point]:
    """The usual scales; every now and then a point close to a number in the program's text."""
    near = points_near(problem, typed_numbers(problem.program.tree))
    scales = list(islice(cycle(SCALES), count))
    for n, point in enumerate(candidates(fixed, varying, problem.seed_of_points + 1, scales)):
        yield point
        if n % len(SCALES) == len(SCALES) - 1:
            yield from (found for found, _ in zip(near, range(NEARBY), strict=False))


def typed_numbers(tree: ast.AST) -> list[Fraction]:
    """The numbers in a text that no usual scale comes close to by itself, with both signs."""
    found: dict[Fraction, None] = {}
    for node in ast.walk(tree):
        value: object = node.value if isinstance(node, ast.Constant) else None
        if isinstance(value, int | Fraction) and not isinstance(value, bool):
            found |= {Fraction(value): None, -Fraction(value): None}
    return [value for value in found if 2 < abs(value) < 10**9][:NEARBY]


def candidates(
    fixed: Params, drawn: Sequence[Input], seed: int, scales: Iterable[Scale]
) -> Iterator[Point]:
    rng = np.random.default_rng(seed)
    for scale in scales:
        yield {**fixed, **{i.name: decimals(rng, scale, i.shape) for i in drawn}}


def _finite(opinion: Opinion) -> bool:
    finite = opinion.value is not None and opinion.value.finite
    return finite and all(g.finite for g in opinion.gradients.values())
