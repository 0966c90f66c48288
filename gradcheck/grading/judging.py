"""One answer judged: right, wrong with a witness, invalid, or for review; then diagnosed."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb

from gradcheck.answers import Plain, read_answer
from gradcheck.diagnosis import Diagnosis, explain, words
from gradcheck.errors import GradcheckError, OutOfBudget, TextError
from gradcheck.grading.bracketing import brackets_missing
from gradcheck.grading.equivalence import Array, Outcome, compare, compare_numbers
from gradcheck.grading.formulas.knots import further_sides, unseen
from gradcheck.grading.formulas.values import NotNumbers, Readings, floats, readings
from gradcheck.grading.key import DIAGNOSTIC, Key, Spot
from gradcheck.grading.outputs import (
    Read,
    at_further_points,
    explained_by_the_loop,
    joined,
    judge_output,
)
from gradcheck.grading.scoring import share
from gradcheck.grading.understood import nearest, notes, understood
from gradcheck.language.kinds import FORMULAS
from gradcheck.numbers.ball import middle, precision
from gradcheck.problem.record import Part
from gradcheck.programs.judging import judge_program
from gradcheck.programs.student import LONGEST
from gradcheck.training.comparison import Comparison

SHOWN = 200  # characters of a program that is too long to be read
FEWEST = 3  # points at which a formula must have been compared before it is called right
# A verdict stands whatever happens to its explanation: nothing stops a batch.
FAILURES = (GradcheckError, ArithmeticError, LookupError, TypeError, ValueError)
OURS = "a fault of gradcheck itself"
STEP = Fraction(1, 2**40)  # to both sides, for the slope of an answer
WIDTH = 2.0**-39
FINE = 256  # bits for it


@dataclass(frozen=True)
class Witness:
    """A point at which the answer is proven to be another one; None: no value there."""

    at: Mapping[str, Any]
    yours: float | None
    expected: float | None
    index: tuple[int, ...] = ()


@dataclass(frozen=True)
class Judgement:
    """What is said of one answer; `places` are those of mistakes in an answer that is a program.

    `follows` is the part from whose own wrong gradient this one is what the chain rule makes.
    """

    student: str
    problem: str
    part: str
    answer: Any
    verdict: str
    score: float
    points: float
    understood: str = ""
    diagnosis: Diagnosis | None = None
    witness: Witness | None = None
    remarks: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    places: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    follows: str = ""


@dataclass(frozen=True, eq=False)
class _Compared:
    """How an answer compares, at which points, and its values at those of the diagnosis."""

    outcome: Outcome
    spots: tuple[Spot, ...]
    values: tuple[Array | None, ...] = ()
    slack: Any = 0.0


def judge(
    key: Key, part: Part, answer: Any, student: str = "", *, diagnose: bool = True
) -> Judgement:
    """Judge one answer to one part; never raises on what a student typed.

    Where it is wrong as it stands, but right with other brackets, `brackets:` decides.
    """
    judged = _as_it_stands(key, part, answer, student, diagnose=diagnose)
    kind = key.problem.brackets == "kind"
    if judged.verdict != "wrong" or part.form == "program" or not (kind or diagnose):
        return judged

    def is_right(text: str) -> bool:
        return _as_it_stands(key, part, text, diagnose=False).verdict == "right"

    diagnosis = brackets_missing(answer, key.scope.inputs, FORMULAS.functions, is_right)
    if diagnosis is None:
        return judged
    if not kind:
        left = share(key.problem.credit, judged.tags, diagnosis)
        return replace(judged, diagnosis=diagnosis, score=judged.points * left)
    remarks = (*judged.remarks, words(diagnosis.hypotheses[0]))
    right = replace(judged, verdict="right", score=judged.points, witness=None, diagnosis=None)
    return replace(right, remarks=remarks, tags=("brackets-missing",))


def _as_it_stands(
    key: Key, part: Part, answer: Any, student: str = "", *, diagnose: bool = True
) -> Judgement:
    """Judge one answer to one part by its usual reading."""
    worth = key.problem.points * part.weight
    base = Judgement(student, key.problem.id, part.name, answer, "", 0.0, worth)
    if answer is None:
        return replace(base, verdict="missing")
    if key.run is not None:
        try:
            return _of_a_run(base, key, part, diagnose)
        except FAILURES as error:
            return _said(base, "needs-review", f"{OURS}: {error}")
    try:
        single = part.name in key.problem.inputs and not key.problem.inputs[part.name].shape
        known = FORMULAS.functions
        read = read_answer(answer, names=key.scope.inputs, functions=known, single=single)
        ready = None if isinstance(read, Plain) else readings(key.scope, read)
    except TextError as error:
        return replace(base, verdict="invalid", remarks=(str(error),))
    base = replace(base, understood=understood(read), remarks=notes(read))
    if ready is None:
        return _said(base, "wrong", "a number or a formula is due, no other kind of value")
    return _of_gradient(base, key, part.name, ready, diagnose)


def _of_gradient(
    base: Judgement, key: Key, part: str, ready: Readings, diagnose: bool
) -> Judgement:
    """An answer to the gradient by an input, held against the closed form and explained."""
    try:
        found = _compared(key, part, ready)
    except (NotNumbers, TextError) as error:
        return _said(base, "wrong", f"the answer cannot be evaluated: {error}")
    except (OutOfBudget, GradcheckError) as error:
        return _said(base, "needs-review", str(error))
    except FAILURES as error:
        return _said(base, "needs-review", f"{OURS}: {error}")
    judged = _from_outcome(base, key, found)
    wanted = diagnose and judged.verdict == "wrong"
    return _diagnosed(judged, key, part, ready, found) if wanted else judged


def _of_a_run(base: Judgement, key: Key, part: Part, diagnose: bool) -> Judgement:
    """An answer to what is read at the end of a program; or a program, of which it is read."""
    assert key.run is not None
    if part.form == "program":
        found = judge_program(key.run, part, base.answer, lambda: key.elsewhere, diagnose=diagnose)
        return _told(replace(base, answer=_as_read(base.answer)), key, found, diagnose)
    found, read = judge_output(key, part, base.answer)
    if read is None or read.ready is None:
        if read is not None and found.verdict == "wrong" and diagnose:
            found = replace(found, diagnosis=_of_numbers(key, part, read))
        return _told(base, key, found, diagnose)
    ready, question = read.ready, key.gradient(part)
    if question is None or not question.exact:
        found = at_further_points(key, part.name, ready, found)
        if found.verdict == "wrong" and diagnose:
            said = explained_by_the_loop(key, part.name, ready)
            if question is not None and (question.single or not said.hypotheses):
                said = _of_floats(question, ready) or said
            found = replace(found, diagnosis=said)
        return _told(base, key, found, diagnose)
    base = replace(base, understood=found.understood, remarks=found.remarks)
    return _of_a_formula(base, key, question, part, ready, diagnose)


def _of_numbers(key: Key, part: Part, read: Read) -> Diagnosis:
    """What gives these numbers at the given point: a mistake of a gradient, or of the loop."""
    assert key.run is not None
    said = key.run.mistaken.explain(part.name, read.value, read.slack)
    question = key.gradient(part) if isinstance(read.value, np.ndarray) else None
    if question is not None and question.single and isinstance(read.value, np.ndarray):
        unknown = (None,) * (min(DIAGNOSTIC, len(question.points)) - 1)
        leaf = question.problem.parts[0].name
        found = explain(question.mistaken, leaf, (read.value, *unknown), slack=read.slack)
        return joined(found, said) if found.hypotheses else said
    return said


def _of_floats(question: Key, ready: Readings) -> Diagnosis | None:
    """What gives a formula's values where they are known as floats only, if anything does."""
    leaf = question.problem.parts[0].name
    answers = [floats(ready.at(spot)) for spot in question.spots[:DIAGNOSTIC]]
    found = explain(question.mistaken, leaf, answers)
    return found if found.hypotheses else None


def _of_a_formula(  # noqa: PLR0917 - a key and the question in it
    base: Judgement, key: Key, question: Key, part: Part, ready: Readings, diagnose: bool
) -> Judgement:
    """A formula for a gradient that a program reads, held against that gradient everywhere.

    Of what went back once the mistakes are those of any gradient; of several, first of all those
    of the loop.
    """
    leaf = question.problem.parts[0].name
    judged = _of_gradient(base, question, leaf, ready, diagnose)
    if judged.diagnosis is None or (question.single and judged.diagnosis.hypotheses):
        return judged
    said = explained_by_the_loop(key, part.name, ready)
    if not said.hypotheses:
        return judged
    left = share(key.problem.credit, judged.tags, said)
    return replace(judged, diagnosis=said, score=judged.points * left)


def _told(base: Judgement, key: Key, found: Comparison, diagnose: bool) -> Judgement:
    """What was found of an answer, as a judgement with its points."""
    assert key.run is not None
    judged = replace(
        base,
        verdict=found.verdict,
        understood=found.understood,
        remarks=found.remarks,
        tags=found.tags,
        places=found.places,
    )
    if found.verdict == "right":
        return replace(judged, score=base.points * _left(key, found.tags))
    if found.expected is not None:
        point = key.run.point if found.point is None else found.point
        at = {name: _shown(value) for name, value in point.items()}
        yours = found.yours if found.yours is None or math.isfinite(found.yours) else None
        judged = replace(judged, witness=Witness(at, yours, found.expected, found.index))
    if found.verdict != "wrong" or not diagnose:
        return judged
    left = share(key.problem.credit, found.tags, found.diagnosis)
    return replace(judged, diagnosis=found.diagnosis, score=base.points * left)


def _left(key: Key, tags: tuple[str, ...]) -> float:
    """What a right answer earns: all, unless it was rounded."""
    return share(key.problem.credit, ("rounded",), None) if "rounded" in tags else 1.0


def _as_read(answer: Any) -> Any:
    """A program with the ends of lines that its places count; the start of one that is too long."""
    if not isinstance(answer, str):
        return answer
    text = answer.replace("\r\n", "\n").replace("\r", "\n")
    return f"{text[:SHOWN]}..." if len(text) > LONGEST else text


def _said(base: Judgement, verdict: str, remark: str) -> Judgement:
    return replace(base, verdict=verdict, remarks=(*base.remarks, remark))


# -- comparing -----------------------------------------------------------------------------------


def _compared(key: Key, part: str, ready: Readings) -> _Compared:
    """Numbers at the given point; formulas at every point, and where their pieces change."""
    inputs = key.scope.inputs
    if not any(inputs[name].varies for name in ready.names & inputs.keys()):
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
        outcome = _doubted(outcome, key, ready, spots)
        return _Compared(outcome, spots)
    return _Compared(outcome, spots, tuple(floats(at) for at in answers[:DIAGNOSTIC]))


def _doubted(outcome: Outcome, key: Key, ready: Readings, spots: tuple[Spot, ...]) -> Outcome:
    """Equal; unless the points could not have shown a difference."""
    if outcome.kind != "equal":
        return outcome
    if len(key.points) < FEWEST:
        return Outcome("undecided", why="too few points of the domain were found")
    piece = unseen(ready, spots)
    return Outcome("undecided", why=f"`{piece}` is too far out to be seen") if piece else outcome


def _numbers(key: Key, part: str, ready: Readings) -> _Compared:
    """An answer that says nothing about other points than the given one."""
    answer = ready.at(key.spots[0])
    noise = np.asarray(key.noise(part))
    halves = np.broadcast_to(ready.half_units, ready.half_units.shape or noise.shape)
    outcome = compare_numbers(answer, halves, key.reference(0, part), noise)
    unknown = (None,) * (min(DIAGNOSTIC, len(key.points)) - 1)
    units = ready.half_units
    slack = np.reshape([0.0 if h is None else nearest(h) for h in units.flat], units.shape)
    return _Compared(outcome, key.spots, (floats(answer), *unknown), slack)


# -- what is said --------------------------------------------------------------------------------


def _from_outcome(base: Judgement, key: Key, found: _Compared) -> Judgement:
    """The verdict, its tags and its witness; what a right answer earns."""
    outcome = found.outcome
    if outcome.kind == "equal":
        tags = ("rounded",) if outcome.rounded else ()
        score = base.points * _left(key, tags)
        return replace(base, verdict="right", score=score, tags=tags)
    if outcome.kind == "undecided":
        why = outcome.why or "precision ran out before the answer was told from the gradient"
        return _said(base, "needs-review", why)
    tags = (outcome.kind,) if outcome.kind in ("narrower", "shape") else ()
    return replace(
        base,
        verdict="wrong",
        score=base.points * share(key.problem.credit, tags, None),
        witness=_witness(found),
        remarks=(*base.remarks, *_outcome_words(outcome)),
        tags=tags,
    )


def _diagnosed(
    judged: Judgement, key: Key, part: str, ready: Readings, found: _Compared
) -> Judgement:
    """A wrong answer with what gives just it, and what that leaves of the points."""
    diagnosis = _diagnosis(key, part, ready, found)
    left = share(key.problem.credit, judged.tags, diagnosis)
    return replace(judged, diagnosis=diagnosis, score=judged.points * left)


def _diagnosis(key: Key, part: str, ready: Readings, found: _Compared) -> Diagnosis:
    """What gives just this answer; an answer with too small a domain has no mistake but that."""
    if found.outcome.kind == "narrower":
        return Diagnosis("unnamed")
    slopes = tuple(_slopes(key, part, ready))
    known = tuple(v if v is not None and v.size else None for v in found.values)
    try:
        return explain(key.mistaken, part, known, slopes=slopes, slack=found.slack)
    except FAILURES as error:
        return Diagnosis("unnamed", remarks=(f"the diagnosis failed: {error}",))


def _slopes(key: Key, part: str, ready: Readings) -> Iterator[float | None]:
    """The derivative of a formula by the part's single input, at the points of the diagnosis."""
    moving = part in key.problem.given(key.problem.inputs) and not key.problem.inputs[part].shape
    for spot in key.spots[:DIAGNOSTIC] if moving and ready.lines and ready.names else ():
        above, below = (_ball(ready, _moved(spot, part, step)) for step in (STEP, -STEP))
        with precision(FINE):
            yield None if above is None or below is None else middle((above - below) / WIDTH)


def _ball(ready: Readings, spot: Spot) -> arb | None:
    """A scalar answer at a point; None where it has no value."""
    try:
        with precision(FINE):
            found = ready.at(spot)(FINE)
    except GradcheckError:
        return None
    return found if isinstance(found, arb) and found.is_finite() else None


def _moved(spot: Spot, name: str, step: Fraction) -> Spot:
    moved = np.array(spot.point[name].item() + step, dtype=object)
    return Spot(spot.problem, {**spot.point, name: moved})


def _outcome_words(outcome: Outcome) -> tuple[str, ...]:
    if outcome.kind == "narrower":
        return (f"right where it has a value, but {outcome.why} where the gradient has one",)
    if outcome.kind == "different" and outcome.yours is None and outcome.why:
        return (f"{outcome.why} at any point that was tried",)
    return (outcome.why,) if outcome.why else ()


def _witness(found: _Compared) -> Witness | None:
    outcome = found.outcome
    if outcome.expected is None:
        return None
    at = {name: _shown(value) for name, value in found.spots[outcome.point].given.items()}
    return Witness(at, _finite(outcome.yours), _finite(outcome.expected), outcome.index)


def _finite(ball: arb | None) -> float | None:
    found = math.nan if ball is None else middle(ball)
    return found if math.isfinite(found) else None


def _shown(value: Array) -> Any:
    return np.array([float(Fraction(v)) for v in value.flat]).reshape(value.shape).tolist()
