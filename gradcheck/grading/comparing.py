"""An answer held against the closed form: numbers at the given point, formulas at every point."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gradcheck.grading.equivalence import At, Outcome, compare, compare_numbers
from gradcheck.grading.formulas.knots import further_sides, unseen
from gradcheck.grading.formulas.values import Readings, floats
from gradcheck.grading.judgement import nearest
from gradcheck.grading.key import DIAGNOSTIC, Key, Spot
from gradcheck.values import Array, Value

FEWEST = 3  # points at which a formula must have been compared before it is called right


@dataclass(frozen=True, eq=False)
class Compared:
    """How an answer compares, at which points, and its values at those of the diagnosis.

    `varies` says that it is a formula, `alone` that it is an exact number which was right at the
    given point alone: the gradient is another one elsewhere.
    """

    outcome: Outcome
    spots: tuple[Spot, ...]
    values: tuple[Array | None, ...] = ()
    slack: Value = 0.0
    varies: bool = True
    alone: bool = False


def compare_answer(key: Key, part: str, ready: Readings) -> Compared:
    """Numbers at the given point; formulas at every point, and where their pieces change."""
    varies = _varies(key, ready)
    if not varies and key.problem.form != "formula":
        return _numbers(key, part, ready)
    answers = [ready.at(spot) for spot in key.spots]
    references = [key.reference(k, part) for k in range(len(key.points))]
    outcome = compare(answers, references)
    spots = key.spots
    if outcome.kind == "equal":
        more = further_sides(key, ready)
        spots = (*spots, *more)
        if more:
            beyond = [spot.gradient(part) for spot in more]
            outcome = compare([*answers, *map(ready.at, more)], [*references, *beyond])
        outcome = _doubt(outcome, key, ready, spots)
        return Compared(outcome, spots)
    if outcome.kind == "different" and _is_tolerated(key.problem.tolerance, answers, references):
        return Compared(Outcome("equal", rounded=True), spots)
    values = tuple(floats(at) for at in answers[:DIAGNOSTIC])
    return Compared(outcome, spots, values, varies=varies)


def _is_tolerated(tolerance: float, answers: Sequence[At], references: Sequence[At]) -> bool:
    """Whether an answer is as near as the problem asks for, at every point."""
    for answer, reference in zip(answers, references, strict=True) if tolerance else ():
        a, b = floats(answer), floats(reference)
        if a is None or b is None or a.shape != b.shape:
            return False
        if np.any(np.abs(a - b) > tolerance * np.abs(b)):
            return False
    return bool(tolerance)


def _varies_itself(key: Key, part: str) -> bool:
    """Whether a gradient that is one number is another one at some other point."""
    found = [floats(spot.gradient(part)) for spot in key.spots]
    known = [float(g) for g in found if g is not None and not g.shape]
    return len(known) > 1 and not np.allclose(known, known[0])


def _varies(key: Key, ready: Readings) -> bool:
    """Whether an answer mentions what has other values at other points."""
    inputs = key.scope.inputs
    return any(inputs[name].varies for name in ready.names & inputs.keys())


def _doubt(outcome: Outcome, key: Key, ready: Readings, spots: tuple[Spot, ...]) -> Outcome:
    """Equal; unless the points could not have shown a difference."""
    if outcome.kind != "equal":
        return outcome
    if len(key.points) < FEWEST:
        return Outcome("undecided", why="too few points of the domain were found")
    piece = unseen(ready, spots)
    return Outcome("undecided", why=f"`{piece}` is too far out to be seen") if piece else outcome


def _numbers(key: Key, part: str, ready: Readings) -> Compared:
    """An answer that says nothing about other points than the given one."""
    answer = ready.at(key.spots[0])
    noise = np.asarray(key.noise(part))
    halves = np.broadcast_to(ready.half_units, ready.half_units.shape or noise.shape)
    outcome = compare_numbers(answer, halves, key.reference(0, part), noise)
    unknown = (None,) * (min(DIAGNOSTIC, len(key.points)) - 1)
    units = ready.half_units
    slack = np.reshape([0.0 if h is None else nearest(h) for h in units.flat], units.shape)
    near = _is_tolerated(key.problem.tolerance, [answer], [key.reference(0, part)])
    if outcome.kind == "different" and near:
        outcome = Outcome("equal", rounded=True)
    exact = ready.half_units.shape == () and ready.half_units.item() is None
    alone = exact and outcome.kind == "equal" and _varies_itself(key, part)
    values = (floats(answer), *unknown)
    return Compared(outcome, key.spots, values, slack, varies=False, alone=alone)
