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
from gradcheck.grading.formulas.knots import distant_spots, further_sides, unseen
from gradcheck.grading.formulas.values import NotNumbers, Readings, readings
from gradcheck.grading.judgement import (
    FAILURES,
    Judgement,
    Witness,
    conclude,
    nearest,
    share,
    share_of_right,
    to_plain,
)
from gradcheck.grading.key import DIAGNOSTIC, Key, Spot
from gradcheck.language.kinds import FORMULAS
from gradcheck.mistakes.row import Example, Mistake
from gradcheck.numbers.ball import middle
from gradcheck.numbers.run import precision
from gradcheck.problem.record import Known
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
    varies = _varies(key, ready)
    if not varies and key.problem.form != "formula":
        return _numbers(key, part, ready)
    answers = [ready.at(spot) for spot in key.spots]
    references = key.due(part)
    outcome = compare(answers, references)
    spots = key.spots
    if outcome.kind == "equal":
        more = further_sides(key, ready)
        spots = (*spots, *more)
        if more:
            beyond = [spot.gradient(part) for spot in more]
            outcome = compare([*answers, *map(ready.at, more)], [*references, *beyond])
        for spot in distant_spots(key, ready) if outcome.kind == "equal" else ():
            there = compare([ready.at(spot)], [spot.gradient(part)])
            if there.kind == "different":  # what cannot be seen there says nothing
                return Compared(replace(there, point=len(spots)), (*spots, spot), _known(answers))
        outcome = _doubt(outcome, key, ready, spots)
        return Compared(outcome, spots)
    if outcome.kind == "different" and _is_tolerated(key.problem.tolerance, answers, references):
        return Compared(Outcome("equal", rounded=True), spots)
    return Compared(outcome, spots, _known(answers), varies=varies)


def _known(answers: Sequence[At]) -> tuple[Array | None, ...]:
    return tuple(floats(at) for at in answers[:DIAGNOSTIC])


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
    found = map(floats, key.due(part))
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
    outcome = compare_numbers(answer, halves, key.due(part)[0], noise)
    unknown = (None,) * (min(DIAGNOSTIC, len(key.points)) - 1)
    units = ready.half_units
    slack = np.reshape([0.0 if h is None else nearest(h) for h in units.flat], units.shape)
    near = _is_tolerated(key.problem.tolerance, [answer], key.due(part)[:1])
    if outcome.kind == "different" and near:
        outcome = Outcome("equal", rounded=True)
    exact = ready.half_units.shape == () and ready.half_units.item() is None
    alone = exact and outcome.kind == "equal" and _varies_itself(key, part)
    values = (floats(answer), *unknown)
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
    judged = _from_outcome(base, key, found)
    wanted = diagnose and judged.verdict == "wrong"
    return _diagnose(judged, key, part, ready, found) if wanted else judged


def _from_outcome(base: Judgement, key: Key, found: Compared) -> Judgement:
    """The verdict, its tags and its witness; what a right answer earns."""
    outcome = found.outcome
    if outcome.kind == "equal":
        found_to_be = {"rounded": outcome.rounded, "one-point": found.alone}
        tags = tuple(tag for tag, holds in found_to_be.items() if holds)
        score = base.points * share_of_right(key, tags)
        return replace(base, verdict="right", score=score, tags=tags)
    if outcome.kind == "undecided":
        why = outcome.why or "precision ran out before the answer was told from the gradient"
        return conclude(base, "needs-review", why)
    tags = (outcome.kind,) if outcome.kind in ("narrower", "shape") else ()
    return replace(
        base,
        verdict="wrong",
        score=base.points * share(key.problem.credit, tags, None),
        witness=_witness(found),
        remarks=(*base.remarks, *_outcome_words(key, outcome), *_form_words(key, found)),
        tags=tags,
    )


def _diagnose(
    judged: Judgement, key: Key, part: str, ready: Readings, found: Compared
) -> Judgement:
    """A wrong answer with what gives just it, and what that leaves of the points."""
    diagnosis = _diagnosis(key, part, ready, found)
    left = share(key.problem.credit, judged.tags, diagnosis)
    return replace(judged, diagnosis=diagnosis, score=judged.points * left)


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
    moving = (
        part in key.problem.select_inputs(key.problem.inputs) and not key.problem.inputs[part].shape
    )
    for k in range(len(key.spots[:DIAGNOSTIC])) if moving and ready.lines and ready.names else ():
        yield _slope(*(_ball(ready, spot) for spot in _beside(key, k, part)))


def _slope(above: arb | None, below: arb | None) -> float | None:
    """The slope between two values, where there are both."""
    with precision(FINE):
        return None if above is None or below is None else middle((above - below) / WIDTH)


def _ball(ready: Readings, spot: Spot) -> arb | None:
    """A scalar answer at a point; None where it has no value."""
    try:
        with precision(FINE):
            found = ready.at(spot)(FINE)
    except GradcheckError:
        return None
    return found if isinstance(found, arb) and found.is_finite() else None


@lru_cache(maxsize=256)
def _beside(key: Key, k: int, name: str) -> tuple[Spot, Spot]:
    """The points on both sides of point k; the last ones are known, with their arbs."""
    spot = key.spots[k]
    return _shift(spot, name, STEP), _shift(spot, name, -STEP)


def _shift(spot: Spot, name: str, step: Fraction) -> Spot:
    moved = np.array(spot.point[name].item() + step, dtype=object)
    return Spot(spot.problem, {**spot.point, name: moved})


def _outcome_words(key: Key, outcome: Outcome) -> tuple[str, ...]:
    if outcome.kind == "narrower":
        return (f"right where it has a value, but {outcome.why} where the gradient has one",)
    if outcome.kind == "different" and outcome.yours is None and outcome.why:
        return (f"{outcome.why} at any point that was tried",)
    usual = outcome.point < len(key.spots)  # far out a whole term may be so little
    if usual and outcome.yours is not None and outcome.expected is not None:
        apart = abs(outcome.yours - outcome.expected)
        if apart < FLOAT * abs(outcome.expected):
            return (ROUNDED,)
    return (outcome.why,) if outcome.why else ()


def _form_words(key: Key, found: Compared) -> tuple[str, ...]:
    """That a number stands where the problem wants a formula."""
    wanted = key.problem.form == "formula" and not found.varies
    return ("a formula is due: a number for one point does not do",) if wanted else ()


def _witness(found: Compared) -> Witness | None:
    outcome = found.outcome
    if outcome.expected is None:
        return None
    at = {name: to_plain(value) for name, value in found.spots[outcome.point].given.items()}
    return Witness(at, _finite(outcome.yours), _finite(outcome.expected), outcome.index)


def _finite(ball: arb | None) -> float | None:
    found = math.nan if ball is None else middle(ball)
    return found if math.isfinite(found) else None


# -- what a teacher knows -------------------------------------------------------------------------


def find_known(key: Key, part: str, ready: Readings, varies: bool) -> Diagnosis | None:
    """The teacher's words for an answer that is equal, as a function, to one that is known.

    A number is compared at the given point.
    """
    found = (row for row, other in _taught(key, part) if _equal(key, ready, other, varies))
    row = next(found, None)
    return Diagnosis("unique", (Hypothesis(row, None),)) if row else None


@lru_cache(maxsize=64)
def _taught(key: Key, part: str) -> Sequence[tuple[Mistake, Readings]]:
    """The known answers to a part, read once."""
    found = []
    for each in key.problem.known_answers:
        with suppress(TextError, *FAILURES):
            answer = each.answer.get(part)
            read = read_answer(answer, names=key.scope.inputs, functions=FORMULAS.functions)
            if not isinstance(read, Plain):
                found.append((_mistake(each), readings(key.scope, read)))
    return found


def _equal(key: Key, ready: Readings, other: Readings, varies: bool) -> bool:
    try:
        if not varies:
            first = key.spots[0]
            noise = np.zeros(ready.half_units.shape)
            found = compare_numbers(ready.at(first), ready.half_units, other.at(first), noise)
        else:
            found = compare([*map(ready.at, key.spots)], [*map(other.at, key.spots)])
    except FAILURES:
        return False
    return found.kind == "equal"


def _mistake(each: Known) -> Mistake:
    says = each.says.replace("{", "{{").replace("}", "}}")
    return Mistake(each.id, "known", lambda right: (), says, Example("", each.answer))
