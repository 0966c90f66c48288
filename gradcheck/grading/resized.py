"""Whether a right formula for arrays holds at other sizes than the given ones."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import numpy as np

from gradcheck.answers import Formula
from gradcheck.errors import GradcheckError
from gradcheck.grading.formulas.values import NotNumbers, floats, readings
from gradcheck.grading.key import Key, Spot
from gradcheck.grading.names import with_named_values
from gradcheck.opinions.opinion import Array, NotScalar
from gradcheck.opinions.reverse import reverse
from gradcheck.problem.draw import given_point
from gradcheck.problem.record import Problem

ONE_SIZE = "one-size"
CLOSE = 1e-8  # of the largest entry: both sides in float64
FAILURES = (GradcheckError, NotNumbers, NotScalar, ArithmeticError, ValueError, TypeError)


@dataclass(frozen=True)
class Resized:
    """The problem with one length changed: what the size is called, and its gradients there."""

    size: str
    length: int
    spot: Spot
    gradients: Mapping[str, Array]


_KNOWN: WeakKeyDictionary[Key, tuple[Resized, ...]] = WeakKeyDictionary()


def only_here(key: Key, part: str, read: object) -> str:
    """Words for a formula that is right at the given size alone; nothing where it holds."""
    entry = key.problem.inputs.get(part)
    if not isinstance(read, Formula) or entry is None or not entry.shape:
        return ""
    if key not in _KNOWN:
        _KNOWN[key] = tuple(_resized(key.problem))
    for other in _KNOWN[key]:
        if not _holds(other, part, read):
            return f"right for {other.size} = {other.length} only: write {other.size}"
    return ""


def _holds(other: Resized, part: str, read: Formula) -> bool:
    due = other.gradients[part]
    try:
        scope = with_named_values(other.spot.problem, other.spot.point)
        found = floats(readings(scope, read).at(other.spot))
    except FAILURES:
        return False
    room = CLOSE * float(np.max(np.abs(due), initial=1e-300))
    return found is not None and found.shape == due.shape and np.allclose(found, due, 0, room)


def _resized(problem: Problem) -> Iterator[Resized]:
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
            yield Resized(f"{name}.shape[{place}]", length, Spot(other, point), gradients)


def _with(problem: Problem, old: int, new: int) -> Problem:
    """The problem with another length in the place of one."""
    inputs = {
        name: replace(entry, shape=tuple(new if n == old else n for n in entry.shape))
        for name, entry in problem.inputs.items()
    }
    return replace(problem, inputs=inputs)
