"""A problem at other sizes than the given ones."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from gradcheck.errors import GradcheckError
from gradcheck.opinions.opinion import Array, NotScalar
from gradcheck.opinions.reverse import reverse
from gradcheck.problem.draw import given_point
from gradcheck.problem.record import Point, Problem

FAILURES = (GradcheckError, NotScalar, ArithmeticError, ValueError, TypeError)


@dataclass(frozen=True)
class Resized:
    """The problem with one length changed: what the size is called, and its gradients there."""

    size: str
    length: int
    problem: Problem
    point: Point
    gradients: Mapping[str, Array]


def resized(problem: Problem) -> Iterator[Resized]:
    """The problem with each length changed that only drawn inputs have, where it still runs."""
    drawn = [entry for entry in problem.inputs.values() if entry.value is None]
    fixed = {n for e in problem.inputs.values() if e.value is not None for n in e.shape}
    lengths = dict.fromkeys(n for entry in drawn for n in entry.shape if n > 1 and n not in fixed)
    for length in lengths:
        name = next(e.name for e in drawn if length in e.shape)
        place = problem.inputs[name].shape.index(length)
        try:
            other = _with(problem, length, 2 * length + 1)
            point = given_point(other)
            found = reverse(other.case(point))
        except FAILURES:
            continue
        if not found.abstains:
            gradients = {n: np.asarray(g.value) for n, g in found.gradients.items()}
            yield Resized(f"{name}.shape[{place}]", length, other, point, gradients)


def _with(problem: Problem, old: int, new: int) -> Problem:
    """The problem with another length in the place of one."""
    inputs = {
        name: replace(entry, shape=tuple(new if n == old else n for n in entry.shape))
        for name, entry in problem.inputs.items()
    }
    return replace(problem, inputs=inputs)
