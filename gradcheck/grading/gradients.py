"""An answer to a gradient: right, wrong with a witness, or for review; then diagnosed.

Numbers are held against the closed form at the given point, formulas at every point.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np
from flint import arb

from gradcheck.answers import Plain, read_answer
from gradcheck.diagnosis import Diagnosis, Hypothesis, explain
from gradcheck.errors import OURS, GradcheckError, OutOfBudget, TextError
from gradcheck.grading.equivalence import At, Outcome, compare, compare_numbers, floats
from gradcheck.grading.formula import NotNumbers, Readings, readings
from gradcheck.grading.judgement import (
    FAILURES,
    Judgement,
    Witness,
    attach_diagnosis,
    conclude,
    nearest,
    settle_right,
    share,
    to_plain,
)
from gradcheck.grading.key import DIAGNOSTIC, Key
from gradcheck.grading.knots import distant_spots, further_sides, unseen
from gradcheck.grading.spots import Spot
from gradcheck.language.kinds import FORMULAS
from gradcheck.mistakes.row import Example, Mistake
from gradcheck.numbers.ball import middle
from gradcheck.numbers.run import precision
from gradcheck.values import Array, Value

STEP = Fraction(1, 2**40)  # to both sides, for the slope of an answer
WIDTH = 2.0**-39
FINE = 256  # bits for it
FLOAT = 1e-13  # relative: what floats do not show is no other answer, but a rounded number in it
ROUNDED = "right but for its last digits: write pi, e, sqrt(2), 1/3 in place of their decimals"
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
    varies, spots = ready.varies(key.scope), key.spots
    if not varies and key.problem.form != "formula":
        return _compare_numbers(key, part, ready)
    answers, references = [ready.at(spot) for spot in spots], key.due(part)
    outcome = compare(answers, references)
    known = tuple(floats(at) for at in answers[:DIAGNOSTIC] if outcome.kind != "equal")
    if outcome.kind == "equal":
        more = further_sides(key, ready)
        spots = (*spots, *more)
        if more:
            beyond = [spot.gradient(part) for spot in more]
            outcome = compare([*answers, *map(ready.at, more)], [*references, *beyond])
        for spot in distant_spots(key, ready) if outcome.kind == "equal" else ():
            there = compare([ready.at(spot)], [spot.gradient(part)])
            if there.kind == "different":  # what cannot be seen there says nothing
                known = tuple(map(floats, answers[:DIAGNOSTIC]))
                return Compared(replace(there, point=len(spots)), (*spots, spot), known)
        return Compared(_doubt(outcome, key, ready, spots), spots)
    if outcome.kind == "different" and _is_tolerated(key.problem.tolerance, answers, references):
        return Compared(Outcome("equal", rounded=True), spots)
    return Compared(outcome, spots, known, varies=varies)


def _is_tolerated(tolerance: float, answers: Sequence[At], references: Sequence[At]) -> bool:
    """Whether an answer is as near as the problem asks for, at every point."""
    for answer, reference in zip(answers, references, strict=True) if tolerance else ():
        a, b = floats(answer), floats(reference)
        if a is None or b is None or a.shape != b.shape:
            return False
        if np.any(np.abs(a - b) > tolerance * np.abs(b)):
            return False
    return bool(tolerance)


def _doubt(outcome: Outcome, key: Key, ready: Readings, spots: tuple[Spot, ...]) -> Outcome:
    """Equal; unless the points could not have shown a difference."""
    if outcome.kind != "equal":
        return outcome
    if len(key.points) < FEWEST:
        return Outcome("undecided", why="too few points of the domain were found")
    piece = unseen(ready, spots)
    return Outcome("undecided", why=f"`{piece}` is too far out to be seen") if piece else outcome


def _compare_numbers(key: Key, part: str, ready: Readings) -> Compared:
    """An answer that says nothing about other points than the given one."""
    answer, noise, units = ready.at(key.spots[0]), key.noise(part), ready.half_units
    halves = np.broadcast_to(units, units.shape or noise.shape)
    outcome = compare_numbers(answer, halves, key.due(part)[0], noise)
    near = _is_tolerated(key.problem.tolerance, [answer], key.due(part)[:1])
    if outcome.kind == "different" and near:
        outcome = Outcome("equal", rounded=True)
    slack = np.reshape([0.0 if h is None else nearest(h) for h in units.flat], units.shape)
    alone = False
    if outcome.kind == "equal" and units.shape == () and units.item() is None:
        found = map(floats, key.due(part))
        known = [float(g) for g in found if g is not None and not g.shape]
        alone = len(known) > 1 and not np.allclose(known, known[0])
    values = (floats(answer), *(None,) * (min(DIAGNOSTIC, len(key.points)) - 1))
    return Compared(outcome, key.spots, values, slack, varies=False, alone=alone)


def of_gradient(base: Judgement, key: Key, part: str, ready: Readings, diagnose: bool) -> Judgement:
    """An answer to the gradient by an input, held against the closed form and explained."""
    try:
        found = compare_answer(key, part, ready)
    except (NotNumbers, TextError) as error:
        return conclude(base, "wrong", f"the answer cannot be evaluated: {error}")
    except (OutOfBudget, GradcheckError) as error:
        return conclude(base, "needs-review", str(error))
    except FAILURES as error:
        return conclude(base, "needs-review", f"{OURS}: {error}")
    outcome = found.outcome
    if outcome.kind == "equal":
        found_to_be = {"rounded": outcome.rounded, "one-point": found.alone}
        tags = tuple(tag for tag, holds in found_to_be.items() if holds)
        return settle_right(base, tags=tags, credit=key.problem.credit)
    if outcome.kind == "undecided":
        why = outcome.why or "precision ran out before the answer was told from the gradient"
        return conclude(base, "needs-review", why)
    tags = (outcome.kind,) if outcome.kind in ("narrower", "shape") else ()
    remarks = (*base.remarks, *_words(key, found))
    score = base.points * share(key.problem.credit, tags, None)
    judged = replace(base, verdict="wrong", score=score, remarks=remarks, tags=tags)
    if outcome.expected is not None:
        given = found.spots[outcome.point].given
        at = {name: to_plain(value) for name, value in given.items()}
        yours, expected = _finite(outcome.yours), _finite(outcome.expected)
        judged = replace(judged, witness=Witness(at, yours, expected, outcome.index))
    if not diagnose:
        return judged
    return attach_diagnosis(judged, _diagnosis(key, part, ready, found), key.problem.credit)


def _diagnosis(key: Key, part: str, ready: Readings, found: Compared) -> Diagnosis:
    """What gives just this answer; an answer with too small a domain has no mistake but that."""
    if found.outcome.kind == "narrower":
        return Diagnosis("unnamed")
    taught = find_known(key, part, ready, found.varies) if key.problem.known_answers else None
    if taught is not None:
        return taught
    try:
        in_letters = _where_letters_move(key, part, ready)
        if in_letters is not None:
            return in_letters
        slopes = _slopes(key, part, ready)
        known = tuple(v if v is not None and v.size else None for v in found.values)
        return explain(key.mistaken, part, known, slopes=slopes, slack=found.slack)
    except FAILURES as error:
        return Diagnosis("unnamed", remarks=(f"the diagnosis failed: {error}",))


def _where_letters_move(key: Key, part: str, ready: Readings) -> Diagnosis | None:
    """What gives a formula in letters whose values are given, were they others; None if nothing.

    Somebody who puts numbers for all letters has another formula there.
    """
    moved = key.moved if ready.names else None
    if moved is None:
        return None
    try:
        known = [floats(ready.at(spot)) for spot in moved.spots]
    except FAILURES:
        return None
    found = explain(moved.mistaken, part, known, slopes=_slopes(moved, part, ready))
    in_letters = any(not key.problem.inputs[name].varies for name in ready.names)
    return found if found.hypotheses or in_letters else None


def _slopes(key: Key, part: str, ready: Readings) -> Iterator[float | None]:
    """The derivative of a formula by the part's single input, at the points of the diagnosis."""
    own = key.problem.select_inputs(key.problem.inputs)
    if part not in own or own[part].shape or not ready.lines or not ready.names:
        return
    for k in range(len(key.spots[:DIAGNOSTIC])):
        above, below = (_ball(ready, spot) for spot in _beside(key, k, part))
        with precision(FINE):
            known = above is not None and below is not None
            yield middle((above - below) / WIDTH) if known else None  # type: ignore[operator]


def _ball(ready: Readings, spot: Spot) -> arb | None:
    """A scalar answer at a point; None where it has no value."""
    try:
        with precision(FINE):
            found = ready.at(spot)(FINE)
    except GradcheckError:
        return None
    return found if isinstance(found, arb) and found.is_finite() else None


@lru_cache(maxsize=256)
def _beside(key: Key, k: int, name: str) -> tuple[Spot, ...]:
    """The points on both sides of point k; the last ones are known, with their arbs."""
    point = key.points[k]
    moved = (np.array(point[name].item() + step, dtype=object) for step in (STEP, -STEP))
    return tuple(Spot(key.problem, {**point, name: each}) for each in moved)


def _words(key: Key, found: Compared) -> Iterator[str]:
    """What is to be said of how a wrong answer differs."""
    outcome = found.outcome
    usual = outcome.point < len(key.spots)  # far out a whole term may be so little
    if outcome.kind == "narrower":
        yield f"right where it has a value, but {outcome.why} where the gradient has one"
    elif outcome.kind == "different" and outcome.yours is None and outcome.why:
        yield f"{outcome.why} at any point that was tried"
    elif usual and outcome.yours is not None and _is_rounding(outcome.yours, outcome.expected):
        yield ROUNDED
    elif outcome.why:
        yield outcome.why
    if key.problem.form == "formula" and not found.varies:
        yield "a formula is due: a number for one point does not do"


def _is_rounding(yours: arb, expected: arb | None) -> bool:
    return expected is not None and bool(abs(yours - expected) < FLOAT * abs(expected))


def _finite(ball: arb | None) -> float | None:
    found = math.nan if ball is None else middle(ball)
    return found if math.isfinite(found) else None


# -- what a teacher knows -------------------------------------------------------------------------


def find_known(key: Key, part: str, ready: Readings, varies: bool) -> Diagnosis | None:
    """The teacher's words for an answer that is equal, as a function, to one that is known.

    A number is compared at the given point.
    """
    for row, other in _taught(key, part):
        with suppress(*FAILURES):
            here, first = [ready.at(spot) for spot in key.spots], other.at(key.spots[0])
            if varies:
                found = compare(here, [*map(other.at, key.spots)])
            else:
                noise = np.zeros(ready.half_units.shape)
                found = compare_numbers(here[0], ready.half_units, first, noise)
            if found.kind == "equal":
                return Diagnosis("unique", (Hypothesis(row, None),))
    return None


@lru_cache(maxsize=64)
def _taught(key: Key, part: str) -> Sequence[tuple[Mistake, Readings]]:
    """The known answers to a part, read once."""
    found = []
    for each in key.problem.known_answers:
        with suppress(TextError, *FAILURES):
            answer = each.answer.get(part)
            read = read_answer(answer, names=key.scope.inputs, functions=FORMULAS.functions)
            if not isinstance(read, Plain):
                says = each.says.replace("{", "{{").replace("}", "}}")
                row = Mistake(each.id, "known", lambda right: (), says, Example("", each.answer))
                found.append((row, readings(key.scope, read)))
    return found
