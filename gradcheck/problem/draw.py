"""Points inside a program's own domain, drawn from a generator that the problem's id seeds.

Numbers are short decimals, so that a witness reads well; several scales are tried, and a point is
kept only where the value and every gradient are finite and nothing is at a kink.
"""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from gradcheck.errors import GradcheckError
from gradcheck.opinions.opinion import Array
from gradcheck.opinions.reverse import reverse
from gradcheck.opinions.symbolic import symbolic
from gradcheck.problem.record import Input, Point, Problem

SCALES = ((-2.0, 2.0), (0.1, 2.0), (-1.0, 1.0), (0.05, 0.95), (1.05, 4.0), (-6.0, 6.0), (2.0, 30.0))
TRIES = 12


def given_point(problem: Problem) -> Point:
    """The point that the file states; inputs given only by shape are drawn to fit."""
    fixed = {name: i.value for name, i in problem.inputs.items() if i.value is not None}
    if len(fixed) == len(problem.inputs):
        return {name: value for name, value in fixed.items() if value is not None}
    drawn = [i for i in problem.inputs.values() if i.value is None]
    return _first(problem, fixed, drawn, np.random.default_rng(problem.seed))


def further_points(problem: Problem, count: int) -> list[Point]:
    """Other points for comparing formulas: what is differentiated or drawn varies."""
    fixed = {n: i.value for n, i in problem.inputs.items() if not i.varies and i.value is not None}
    varying = [i for i in problem.inputs.values() if i.varies]
    if not varying:
        return []
    rng = np.random.default_rng(problem.seed + 1)
    points: list[Point] = []
    paths: dict[tuple[str, ...], int] = {}
    for point in _candidates(fixed, varying, rng, TRIES * count):
        path = _path(problem, point)
        if path is None or (paths.get(path, 0) >= max(2, count // 2) and len(paths) > 1):
            continue
        paths[path] = paths.get(path, 0) + 1
        points.append(point)
        if len(points) == count:
            break
    return points


def _first(
    problem: Problem, fixed: dict[str, Any], drawn: list[Input], rng: np.random.Generator
) -> Point:
    """The first point that lies inside the domain."""
    for point in _candidates(fixed, drawn, rng, TRIES * len(SCALES)):
        if _path(problem, point) is not None:
            return point
    raise GradcheckError(
        f"{problem.id}: no point inside the program's domain was found for "
        f"{', '.join(i.name for i in drawn)}; give their values instead of a shape"
    )


def _candidates(
    fixed: dict[str, Any], drawn: list[Input], rng: np.random.Generator, count: int
) -> Iterator[Point]:
    for k in range(count):
        scale = SCALES[k % len(SCALES)]
        yield {**fixed, **{i.name: decimals(rng, scale, i.shape) for i in drawn}}


def decimals(rng: np.random.Generator, scale: tuple[float, float], shape: tuple[int, ...]) -> Array:
    """Uniform numbers of two decimals in an interval, as exact Fractions."""
    low, high = scale
    numbers = rng.integers(round(low * 100), round(high * 100), size=shape, endpoint=True)
    out = np.empty(shape, dtype=object)
    for index in np.ndindex(shape):
        cents = int(np.asarray(numbers)[index])
        out[index] = Fraction(cents if cents else 7, 100)
    return out


def _path(problem: Problem, point: Point) -> tuple[str, ...] | None:
    """The comparisons taken at a point; None outside the domain or at a tie."""
    found = symbolic(problem.case(point))
    if found.abstains:
        found = reverse(problem.case(point), samples=1)
        return () if not found.abstains and _finite(found) else None
    return found.conditions if found.ties == 0 and _finite(found) else None


def _finite(opinion: Any) -> bool:
    return bool(opinion.value.finite) and all(g.finite for g in opinion.gradients.values())
