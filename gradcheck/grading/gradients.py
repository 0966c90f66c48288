"""An answer to a gradient: right, wrong with a witness, or for review; then diagnosed."""

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

import numpy as np
from flint import arb

from gradcheck.diagnosis import Diagnosis, explain
from gradcheck.errors import OURS, GradcheckError, OutOfBudget, TextError
from gradcheck.grading.comparing import Compared, compare_answer
from gradcheck.grading.equivalence import Outcome
from gradcheck.grading.formulas.values import NotNumbers, Readings, floats
from gradcheck.grading.judgement import (
    FAILURES,
    Judgement,
    Witness,
    conclude,
    share,
    share_of_right,
    to_plain,
)
from gradcheck.grading.key import DIAGNOSTIC, Key, Spot
from gradcheck.grading.known import find_known
from gradcheck.numbers.ball import middle
from gradcheck.numbers.run import precision

STEP = Fraction(1, 2**40)  # to both sides, for the slope of an answer
WIDTH = 2.0**-39
FINE = 256  # bits for it
FLOAT = 1e-13  # relative: what floats do not show is no other answer, but a rounded number in it
ROUNDED = "right but for its last digits: write pi, e, sqrt(2), 1/3 in place of their decimals"


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
        remarks=(*base.remarks, *_outcome_words(outcome), *_form_words(key, found)),
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


def _outcome_words(outcome: Outcome) -> tuple[str, ...]:
    if outcome.kind == "narrower":
        return (f"right where it has a value, but {outcome.why} where the gradient has one",)
    if outcome.kind == "different" and outcome.yours is None and outcome.why:
        return (f"{outcome.why} at any point that was tried",)
    if outcome.yours is not None and outcome.expected is not None:
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
