"""What is said of one answer, what is left of its points, and how a gradient gets its judgement.

Right, wrong with a witness, or for review; then diagnosed. Numbers are held against the closed form
at the given point, formulas at every point.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from flint import arb

from gradcheck.answers import Formula
from gradcheck.diagnosis import Diagnosis, Hypothesis, explain
from gradcheck.errors import OURS, GradcheckError, TextError
from gradcheck.grading.equivalence import At, Outcome, compare, decide, find_floats
from gradcheck.grading.formula import NotNumbers, Readings
from gradcheck.grading.key import DIAGNOSTIC, Key
from gradcheck.grading.knots import describe_unseen, find_distant_spots, find_further_sides
from gradcheck.grading.spots import Spot
from gradcheck.mistakes.row import Example, Mistake
from gradcheck.numbers.ball import middle
from gradcheck.numbers.run import precision
from gradcheck.training.outputs import Comparison
from gradcheck.training.questions import GradientQuestion
from gradcheck.values import Params, Value

# The share of a part's points that remains, by mistake id, or by a tag of the answer. A set's
# `credit:` has the last word. A mistake that is not here earns nothing; nor does one that nobody
# could name. `slip` and `misconception` stand for all mistakes of their kind that it does not name.
CREDIT: Mapping[str, float] = {
    "rounded": 1.0,  # within half a unit of the last typed digit
    "narrower": 0.5,  # right, but without a value where the gradient has one
}
# A verdict stands whatever happens to its explanation: nothing stops a batch.
FAILURES = (GradcheckError, ArithmeticError, LookupError, TypeError, ValueError)


def share(credit: Mapping[str, float], tags: Sequence[str], diagnosis: Diagnosis | None) -> float:
    """What is left of the points: by the answer's tags, or else by its mistakes.

    Where several mistakes fit, the most generous counts: nobody loses points over a doubt.
    """
    table = {**CREDIT, **credit}
    tagged = [table[tag] for tag in tags if tag in table]
    if tagged:
        return min(tagged)
    hypotheses = diagnosis.hypotheses if diagnosis else ()
    return max((_find_credit(table, hypothesis) for hypothesis in hypotheses), default=0.0)


def _find_credit(table: Mapping[str, float], hypothesis: Hypothesis) -> float:
    """Two mistakes made together cost both shares."""
    kind = "slip" if hypothesis.mistake.slip else "misconception"
    left = table.get(hypothesis.mistake.id, table.get(kind, 0.0))
    return left * _find_credit(table, hypothesis.with_) if hypothesis.with_ else left


@dataclass(frozen=True)
class Witness:
    """A point at which the answer is proven to be another one; None: no value there."""

    at: Params
    yours: float | None
    expected: float | None
    index: tuple[int, ...] = ()


@dataclass(frozen=True)
class Judgement:
    """What is said of one answer; `places` are those of mistakes in an answer that is a program.

    `variant` are the values that are drawn for the student, where the problem has choices.
    `follows` is the part from whose own wrong gradient this one is what the chain rule makes,
    `line` the first line of working that does not hold, `ready` the answer as it is read.
    """

    problem: str
    part: str
    answer: Value
    verdict: str
    score: float
    points: float
    understood: str = ""
    diagnosis: Diagnosis | None = None
    witness: Witness | None = None
    remarks: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    places: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    variant: Params = field(default_factory=dict)
    follows: str = ""
    line: int | None = None
    ready: Readings | None = field(default=None, repr=False, compare=False)

    @property
    def formula(self) -> Formula | None:
        return self.ready.formula if self.ready is not None else None

    @property
    def named(self) -> bool:
        return self.diagnosis is not None and bool(self.diagnosis.hypotheses)

    def conclude(self, verdict: str, *remarks: str, tags: tuple[str, ...] = ()) -> "Judgement":
        """Another verdict, and what is said of it; what is right earns all."""
        return self._change(
            verdict=verdict, score=self.points if verdict == "right" else 0.0, tags=tags,
            remarks=(*self.remarks, *remarks), witness=None, diagnosis=None,
        )  # fmt: skip

    def settle(self, found: Comparison, key: Key) -> "Judgement":
        """What a comparison says; what is rounded or wrong earns what the problem says."""
        if found.verdict == "right":
            judged = self.conclude("right", *found.remarks, tags=found.tags)
            left = share(key.problem.credit, ("rounded",), None)
            return replace(judged, score=self.points * left) if "rounded" in found.tags else judged
        witness, remarks = None, (*self.remarks, *found.remarks)
        if found.expected is not None:
            point = key.points[0] if found.point is None else found.point
            at = {name: value.astype(float).tolist() for name, value in point.items()}
            pair = (found.yours, found.expected)
            yours, due = (v if v is not None and math.isfinite(v) else None for v in pair)
            witness = Witness(at, yours, due, found.index)
        judged = self._change(
            verdict=found.verdict, remarks=remarks, tags=found.tags, places=found.places,
            witness=witness,
        )  # fmt: skip
        return judged.attach(found.diagnosis, key) if found.verdict == "wrong" else judged

    def attach(self, diagnosis: Diagnosis | None, key: Key) -> "Judgement":
        """A wrong answer with what gives just it, and what that leaves of the points."""
        score = self.points * share(key.problem.credit, self.tags, diagnosis)
        return self._change(diagnosis=diagnosis, score=score)

    def _change(self, **values: Value) -> "Judgement":
        """As `replace`, in a tenth of its time: every answer comes by two or three of them."""
        found = object.__new__(Judgement)
        vars(found).update(vars(self), **values)
        return found


# -- an answer to a gradient -----------------------------------------------------------------------

STEP = Fraction(1, 2**40)  # to both sides, for the slope of an answer
WIDTH = 2.0**-39
FINE = 128  # bits for it
SEEN = 1e-13  # relative: what floats do not show is no other answer, but a rounded number in it
ROUNDED = "right but for its last digits: write pi, e, sqrt(2), 1/3 in place of their decimals"
OPEN = ("equal", "undecided")  # at the usual points: a proof may be found elsewhere
FEWEST = 3  # points at which a formula must have been compared before it is called right


class Compared(NamedTuple):
    """How an answer compares, at which points, and its values at those that it speaks of."""

    outcome: Outcome
    spots: Sequence[Spot]
    answers: Sequence[At]


def compare_answer(key: Key, part: str, ready: Readings) -> Compared:
    """Numbers at the given point; formulas at every point, and where their pieces change."""
    if key.problem.form != "formula" and not ready.varies(key.scope):
        return _compare_numbers(key, part, ready)
    due, spots = key.due(part), key.spots
    answers = [ready.at(spot) for spot in spots]
    outcome = compare(answers, due, ready.limit_tolerance(key.problem.tolerance))
    if outcome.kind in OPEN and not outcome.rounded:
        more = find_further_sides(key, ready) if outcome.kind == "equal" else ()
        spots = (*spots, *more)
        if more:
            beyond = (spot.gradient(part) for spot in more)
            outcome = compare([*answers, *map(ready.at, more)], [*due, *beyond])
        for spot in find_distant_spots(key, ready) if outcome.kind in OPEN else ():
            there = decide(len(spots), ready.at(spot), spot.gradient(part))
            if there.kind in ("different", "narrower"):  # what cannot be seen there says nothing
                outcome, spots = replace(there, kind="different"), (*spots, spot)
                break
        if outcome.kind == "equal" and len(key.points) < FEWEST:
            outcome = Outcome("undecided", why="too few points of the domain were found")
        elif outcome.kind == "equal" and (piece := describe_unseen(ready, spots)):
            outcome = Outcome("undecided", why=f"what it says at `{piece}` cannot be tried")
    return Compared(outcome, spots, answers)


def _compare_numbers(key: Key, part: str, ready: Readings) -> Compared:
    """An answer that says nothing about other points than the given one.

    Where no point is given, a number speaks of them all.
    """
    answer, noise, due = ready.at(key.spots[0]), key.noise(part), key.due(part)
    rounding = np.broadcast_to(ready.half_units, ready.half_units.shape or noise.shape), noise
    outcome = compare([answer], due[:1], key.problem.tolerance, rounding)
    given = any(i.shape or i.value is not None for i in key.problem.inputs.values())
    if outcome.kind == "equal" and not given:
        there = (compare([answer], [each], rounding=rounding) for each in due)
        off = (replace(o, point=k) for k, o in enumerate(there) if o.kind == "different")
        outcome = next(off, outcome)
    return Compared(outcome, key.spots, [answer])


def _tag_right(key: Key, part: str, ready: Readings, found: Compared) -> Iterator[str]:
    """Rounded; or an exact number where the gradient is another one elsewhere.

    What is read at the end of a program is a number: it says no less than is asked.
    """
    if found.outcome.rounded:
        yield "rounded"
    function = ready.names or not isinstance(key.problem, GradientQuestion)
    exact = ready.half_units.shape == () and not ready.half_units.item()
    if len(found.answers) == 1 and exact and function:
        due = (g for g in map(find_floats, key.due(part)) if g is not None)
        known = [g for g in due if ready.names or not g.shape]  # of a list in letters
        if not all(np.allclose(g, known[0]) for g in known):
            yield "one-point"


def judge_gradient(
    base: Judgement, key: Key, part: str, ready: Readings, diagnose: bool
) -> Judgement:
    """An answer to the gradient by an input, held against the closed form and explained."""
    try:
        found = compare_answer(key, part, ready)
    except (NotNumbers, TextError) as error:
        return base.conclude("wrong", f"the answer cannot be evaluated: {error}")
    except GradcheckError as error:
        return base.conclude("needs-review", str(error))
    except FAILURES as error:
        return base.conclude("needs-review", f"{OURS}: {error}")
    outcome = found.outcome
    if outcome.kind == "equal":
        return base.settle(Comparison("right", tags=(*_tag_right(key, part, ready, found),)), key)
    if outcome.kind == "undecided":
        why = outcome.why or "precision ran out before the answer was told from the gradient"
        return base.conclude("needs-review", why)
    yours, due = (None if v is None else middle(v) for v in (outcome.yours, outcome.expected))
    wrong = Comparison(
        "wrong",
        remarks=(*_say_why(key, ready, found), *_say_where(key.due(part), found)),
        tags=(outcome.kind,) if outcome.kind in ("narrower", "shape") else (),
        yours=yours,
        expected=due,
        index=outcome.index,
        diagnosis=_diagnose(key, part, ready, found) if diagnose else None,
        point=found.spots[outcome.point].given,
    )
    return base.settle(wrong, key)


def _say_why(key: Key, ready: Readings, found: Compared) -> Iterator[str]:
    outcome, yours, due = found.outcome, found.outcome.yours, found.outcome.expected
    usual = outcome.point < len(key.spots)  # far out a whole term may be so little
    if outcome.kind == "narrower":
        yield f"right where it has a value, but {outcome.why} where the gradient has one"
    elif outcome.kind == "different" and yours is None and outcome.why:
        yield f"{outcome.why} at any point that was tried"
    elif usual and yours is not None and due is not None and abs(yours - due) < SEEN * abs(due):
        yield ROUNDED
    elif outcome.why:
        yield outcome.why
    if key.problem.form == "formula" and not ready.varies(key.scope):
        yield "a formula is due: a number for one point does not do"


def _say_where(due: Sequence[At], found: Compared) -> Iterator[str]:
    """That a formula is right where single numbers have the signs that are given."""
    given, there = found.spots[0].given, found.spots[found.outcome.point].given
    turned = [n for n, value in given.items() if value.shape == () and value * there[n] < 0]
    alike = [
        each
        for each in zip(found.spots, found.answers, due, strict=False)
        if all(given[n] * each[0].given[n] > 0 for n in turned)
    ]
    if found.outcome.kind == "narrower" or not turned or len(alike) < FEWEST:
        return
    if compare([each[1] for each in alike], [each[2] for each in alike]).kind == "equal":
        signs = " and ".join(f"{n} {'>' if given[n] > 0 else '<'} 0" for n in turned)
        yield f"right where {signs}; where nothing else counts, `domain:` in the problem says so"


# -- what gives just this answer -------------------------------------------------------------------


def _diagnose(key: Key, part: str, ready: Readings, found: Compared) -> Diagnosis:
    """What gives just this answer; an answer with too small a domain has no mistake but that.

    The teacher's own words come first, then what gives a formula in letters whose values are given,
    were they others: somebody who puts numbers for all letters has another formula there.
    """
    if found.outcome.kind == "narrower":
        return Diagnosis()
    taught = find_known(key, part, ready) if key.problem.known_answers else None
    if taught is not None:
        return taught
    try:
        moved = key.moved if ready.names else None
        told = None if moved is None else _explain_moved(moved, part, ready)
        varies = (key.scope[name].varies for name in ready.names)
        if told and (told.hypotheses or not all(varies)):
            return told
        values = [find_floats(at) for at in found.answers[:DIAGNOSTIC]]
        known = [v if v is not None and v.size else None for v in values]
        slack: Value = ready.slack if len(found.answers) == 1 else 0.0
        return explain(key.mistaken, part, known, slopes=_derive(key, part, ready), slack=slack)
    except FAILURES as error:
        return Diagnosis(remarks=(f"the diagnosis failed: {error}",))


def _explain_moved(moved: Key, part: str, ready: Readings) -> Diagnosis | None:
    try:
        known = [find_floats(ready.at(spot)) for spot in moved.spots]
    except FAILURES:
        return None
    return explain(moved.mistaken, part, known, slopes=_derive(moved, part, ready))


def _derive(key: Key, part: str, ready: Readings) -> Iterator[float | None]:
    """The derivative of a formula by the part's single input, at the points of the diagnosis."""
    own = key.problem.select_inputs(key.problem.inputs)
    if part not in own or own[part].shape or not ready.lines or not ready.names:
        return
    for k in range(len(key.spots[:DIAGNOSTIC])):
        slope = None
        with suppress(GradcheckError), precision(FINE):
            above, below = (ready.at(spot)(FINE) for spot in _step_aside(key, k, part))
            if isinstance(above, arb) and isinstance(below, arb):
                change = above - below
                slope = middle(change / WIDTH) if change.is_finite() else None
        yield slope


@lru_cache(maxsize=256)
def _step_aside(key: Key, k: int, name: str) -> tuple[Spot, ...]:
    """The points on both sides of point k; the last ones are known, with their arbs."""
    point = key.points[k]
    moved = (np.array(point[name].item() + step, dtype=object) for step in (STEP, -STEP))
    return tuple(Spot(key.problem, {**point, name: each}) for each in moved)


def find_known(key: Key, part: str, ready: Readings) -> Diagnosis | None:
    """The teacher's words for an answer that is equal, as a function, to one that is known.

    A number is compared at the given point.
    """
    for row, other in _read_taught(key, part):
        with suppress(*FAILURES):
            numbers = not ready.varies(key.scope)
            spots = key.spots[:1] if numbers else key.spots
            here, there = ([each.at(spot) for spot in spots] for each in (ready, other))
            rounding = ready.half_units, np.zeros(ready.half_units.shape)
            if compare(here, there, rounding=rounding if numbers else ()).kind == "equal":
                return Diagnosis((Hypothesis(row, None),))
    return None


@lru_cache(maxsize=64)
def _read_taught(key: Key, part: str) -> Sequence[tuple[Mistake, Readings]]:
    found = []
    asked = next(each for each in key.problem.parts if each.name == part)
    for each in key.problem.known_answers:
        with suppress(*FAILURES):
            ready = key.read(asked, each.answer.get(part))
            if not ready.plain:
                says = each.says.replace("{", "{{").replace("}", "}}")
                row = Mistake(each.id, "known", lambda right: (), says, Example("", each.answer))
                found.append((row, ready))
    return found
