"""An answer to what a program is asked at its end: a number, a formula, or a program.

It is read as what is due, and compared with it.
"""

import ast
import math
import re
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from gradcheck.answers import Formula, Plain
from gradcheck.diagnosis import Diagnosis, Hypothesis, explain
from gradcheck.errors import GradcheckError, TextError
from gradcheck.grading.equivalence import floats
from gradcheck.grading.formula import Readings, readings
from gradcheck.grading.gradients import of_gradient
from gradcheck.grading.judgement import (
    Judgement,
    Witness,
    attach_diagnosis,
    notes,
    settle_right,
    to_plain,
)
from gradcheck.grading.key import DIAGNOSTIC, Key
from gradcheck.grading.knots import distant_points
from gradcheck.grading.spots import Spot
from gradcheck.problem.record import Part
from gradcheck.training import Output
from gradcheck.training.judging import judge_program
from gradcheck.training.outputs import Comparison, compare_values, same
from gradcheck.training.preparing import reference_at
from gradcheck.training.run import LONGEST
from gradcheck.values import Value

PRINTED = re.compile(
    r"\s*tensor\((.*?)(?:,\s*(?:requires_grad|grad_fn|dtype|device)\s*=.*)?\)\s*", re.DOTALL
)
DISTANT = 12  # points where a formula that compares or cuts may follow another rule
CHECKED = 2  # further points at which a mistake of the training loop is made again
ONE_POINT = "one-point"
ONLY_HERE = "judged at this point only"
SIZE = re.compile(r"\s*(?:torch\.Size)?\(?\s*(\[?[\d,\s]*\]?)\s*\)?\s*")
SHOWN = 200  # characters of a program that is too long to be read


@dataclass(frozen=True)
class OutputRead:
    """An answer as a value, the half unit of each typed digit, and how it is echoed.

    `ready` is a formula that mentions names: a function of the inputs.
    """

    value: Output
    half: Value
    understood: str
    ready: Readings | None = None
    remarks: tuple[str, ...] = ()

    @property
    def slack(self) -> float:
        """Half a unit of the last digit of a rounded number."""
        return float(np.max(self.half, initial=0.0)) if isinstance(self.value, np.ndarray) else 0.0


def of_a_run(base: Judgement, key: Key, part: Part, answer: Value, diagnose: bool) -> Judgement:
    """An answer to what is read at the end of a program; or a program, of which it is read."""
    assert key.run is not None
    if part.form == "program":
        found = judge_program(key.run, part, base.answer, lambda: key.elsewhere, diagnose=diagnose)
        return _conclude_run(replace(base, answer=_as_read(base.answer)), key, found, diagnose)
    found, read = judge_output(key, part, answer)
    if read is None:
        return _conclude_run(base, key, found, diagnose)
    question, ready = key.gradient(part), read.ready
    if ready is not None and question is not None and question.exact:
        # a formula for a gradient that a program reads, held against that gradient everywhere
        base = replace(base, understood=found.understood, remarks=found.remarks)
        judged = of_gradient(base, question, question.problem.parts[0].name, ready, diagnose)
        if judged.diagnosis is None or (question.single and judged.named):
            return judged
        said = explain_by_loop(key, part.name, ready)
        return attach_diagnosis(judged, said, key.problem.credit) if said.hypotheses else judged
    if ready is not None:
        tree = base.formula.tree if base.formula else None
        found = at_further_points(key, part.name, ready, found, tree)
    if found.verdict == "wrong" and diagnose:
        asked = _of_numbers if ready is None else _of_floats
        found = replace(found, diagnosis=asked(key, part, read, question))
    return _conclude_run(base, key, found, diagnose)


def _of_numbers(key: Key, part: Part, read: OutputRead, question: Key | None) -> Diagnosis:
    """What gives these numbers at the given point: a mistake of a gradient, or of the loop."""
    assert key.run is not None
    said = key.run.mistaken.explain(part.name, read.value, read.slack)
    if question is None or not question.single or not isinstance(read.value, np.ndarray):
        return said
    unknown = (None,) * (min(DIAGNOSTIC, len(question.points)) - 1)
    leaf = question.problem.parts[0].name
    found = explain(question.mistaken, leaf, (read.value, *unknown), slack=read.slack)
    return join_diagnoses(found, said) if found.hypotheses else said


def _of_floats(key: Key, part: Part, read: OutputRead, question: Key | None) -> Diagnosis:
    """What gives a formula's values where they are known as floats only.

    Of what went back once the mistakes are those of any gradient; of several, first of all those
    of the loop.
    """
    ready = read.ready
    assert ready is not None
    said = explain_by_loop(key, part.name, ready)
    if question is None or (said.hypotheses and not question.single):
        return said
    answers = [floats(ready.at(spot)) for spot in question.spots[:DIAGNOSTIC]]
    found = explain(question.mistaken, question.problem.parts[0].name, answers)
    return found if found.hypotheses else said


def _conclude_run(base: Judgement, key: Key, found: Comparison, diagnose: bool) -> Judgement:
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
        return settle_right(judged, tags=found.tags, credit=key.problem.credit)
    if found.expected is not None:
        point = key.run.point if found.point is None else found.point
        at = {name: to_plain(value) for name, value in point.items()}
        yours = found.yours if found.yours is None or math.isfinite(found.yours) else None
        judged = replace(judged, witness=Witness(at, yours, found.expected, found.index))
    if found.verdict != "wrong" or not diagnose:
        return judged
    return attach_diagnosis(judged, found.diagnosis, key.problem.credit)


def _as_read(answer: Value) -> Value:
    """A program with the ends of lines that its places count; the start of one that is too long."""
    if not isinstance(answer, str):
        return answer
    text = answer.replace("\r\n", "\n").replace("\r", "\n")
    return f"{text[:SHOWN]}..." if len(text) > LONGEST else text


def judge_output(key: Key, part: Part, answer: Value) -> tuple[Comparison, OutputRead | None]:
    """An answer to what a part reads, compared at the given point; and how it was read, if it was.

    Never raises on what a student typed.
    """
    assert key.run is not None
    try:
        read = read_output(key, part, answer)
    except TextError as error:
        return Comparison("invalid", remarks=(str(error),)), None
    except GradcheckError as error:
        return Comparison("wrong", remarks=(f"the answer cannot be evaluated: {error}",)), None
    due, noise = key.run.trace.values[part.name], key.run.noise[part.name]
    found = compare_values(read.value, due, noise, read.half)
    found = replace(found, understood=read.understood, remarks=(*read.remarks, *found.remarks))
    return found, read


def at_further_points(
    key: Key, part: str, ready: Readings, here: Comparison, tree: ast.AST | None
) -> Comparison:
    """A formula that was compared at the given point, compared at the others too."""
    if here.verdict != "right":
        return here
    for other in key.further:
        value = floats(ready.at(Spot(key.problem, other.point)))
        found = Comparison("wrong", remarks=("it has no finite value at another point",))
        if value is not None:
            found = compare_values(value, other.trace.values[part], other.noise[part])
        if found.verdict != "right":
            return replace(found, understood=here.understood, point=other.point)
    for point in islice(distant_points(key, [tree] if tree else []), DISTANT):
        far, value = reference_at(key.problem, point), floats(ready.at(Spot(key.problem, point)))
        if far is not None and value is not None:
            found = compare_values(value, far.trace.values[part], far.noise[part])
            if found.verdict != "right":
                return replace(found, understood=here.understood, point=point)
    if key.further:
        return here
    return replace(here, tags=(*here.tags, ONE_POINT), remarks=(*here.remarks, ONLY_HERE))


def explain_by_loop(key: Key, part: str, ready: Readings) -> Diagnosis:
    """The mistakes of the training loop that give a formula's values wherever they are wrong."""
    found: Diagnosis | None = None
    for each in (key.run, *key.further[:CHECKED]):
        value = None if each is None else floats(ready.at(Spot(key.problem, each.point)))
        if each is None or value is None:
            return Diagnosis("unnamed")
        if same(value, each.trace.values[part]):
            continue
        said = each.mistaken.explain(part, value)
        named = {hypothesis.mistake for hypothesis in said.hypotheses}
        found = found or said
        found = _of(found, tuple(each for each in found.hypotheses if each.mistake in named))
        if not found.hypotheses:
            return found
    return found or Diagnosis("unnamed")


def join_diagnoses(one: Diagnosis, other: Diagnosis) -> Diagnosis:
    """What either names, each mistake once."""
    ids = {hypothesis.ids for hypothesis in one.hypotheses}
    more = tuple(each for each in other.hypotheses if each.ids not in ids)
    remarks = tuple(dict.fromkeys((*one.remarks, *other.remarks)))
    return _of(replace(one, remarks=remarks), (*one.hypotheses, *more))


def _of(diagnosis: Diagnosis, hypotheses: tuple[Hypothesis, ...]) -> Diagnosis:
    certainty = "torn" if len(hypotheses) > 1 else "unique" if hypotheses else "unnamed"
    return replace(diagnosis, certainty=certainty, hypotheses=hypotheses)


# -- reading -------------------------------------------------------------------------------------


def read_output(key: Key, part: Part, answer: Value) -> OutputRead:
    """How an answer to what a program is asked at its end is read.

    Raises TextError where it cannot be, GradcheckError where it has no value.
    """
    assert key.run is not None
    return _read(key, part, key.run.trace.values[part.name], answer)


def _read(key: Key, part: Part, due: Output, answer: Value) -> OutputRead:
    """An answer as what it is, given what is due: `(2, 3)` is a shape where a shape is due."""
    if isinstance(due, tuple) and (shape := _shape(answer)) is not None:
        return OutputRead(shape, 0.0, str(shape))
    if isinstance(answer, list) and isinstance(due, list):
        pieces = [_read(key, part, d, a) for d, a in zip(due, answer, strict=False)]
        pieces += [_read(key, part, None, a) for a in answer[len(due) :]]
        return OutputRead([p.value for p in pieces], 0.0, ", ".join(p.understood for p in pieces))
    if isinstance(answer, str) and (printed := PRINTED.fullmatch(answer)):
        answer = printed[1]
    found = key.read(part, answer)
    if isinstance(found, Plain):
        value = found.value
        return OutputRead(value if isinstance(value, bool | str) else None, 0.0, str(value))
    ready = readings(key.scope, found)
    values = floats(ready.at(Spot(key.problem, key.points[0])))
    if values is None:
        raise GradcheckError("it has no finite value")
    half = np.array([0.0 if h is None else float(h) for h in ready.half_units.flat])
    halves = np.broadcast_to(half.reshape(ready.half_units.shape), values.shape)
    echoed = found.understood if isinstance(found, Formula) else str(values.tolist())
    function = ready if ready.names & key.scope.inputs.keys() else None
    return OutputRead(values, halves, echoed, function, notes(found))


def _shape(answer: Value) -> tuple[int, ...] | None:
    """`[2, 3]`, `(2, 3)`, `torch.Size([2, 3])`, `2`; None where it is no shape."""
    if isinstance(answer, str) and (size := SIZE.fullmatch(answer)):
        answer = [int(each) for each in re.findall(r"\d+", size[1])]
    if type(answer) is int:
        answer = [answer]
    whole = isinstance(answer, list | tuple) and all(type(each) is int for each in answer)
    return tuple(answer) if whole else None
