"""An answer to what is read at the end of a program: a number, a formula, or a program."""

import math
from dataclasses import replace

import numpy as np

from gradcheck.diagnosis import Diagnosis, explain
from gradcheck.grading.formulas.values import Readings, floats
from gradcheck.grading.gradients import of_gradient
from gradcheck.grading.judgement import Judgement, Witness, share, share_of_right, to_plain
from gradcheck.grading.key import DIAGNOSTIC, Key
from gradcheck.grading.outputs import (
    OutputRead,
    at_further_points,
    explain_by_loop,
    join_diagnoses,
    judge_output,
)
from gradcheck.problem.record import Part
from gradcheck.training.comparison import Comparison
from gradcheck.training.judging import judge_program
from gradcheck.training.student import LONGEST
from gradcheck.values import Value

SHOWN = 200  # characters of a program that is too long to be read


def of_a_run(base: Judgement, key: Key, part: Part, answer: Value, diagnose: bool) -> Judgement:
    """An answer to what is read at the end of a program; or a program, of which it is read."""
    assert key.run is not None
    if part.form == "program":
        found = judge_program(key.run, part, base.answer, lambda: key.elsewhere, diagnose=diagnose)
        return _conclude_run(replace(base, answer=_as_read(base.answer)), key, found, diagnose)
    found, read = judge_output(key, part, answer)
    if read is None or read.ready is None:
        if read is not None and found.verdict == "wrong" and diagnose:
            found = replace(found, diagnosis=_of_numbers(key, part, read))
        return _conclude_run(base, key, found, diagnose)
    ready, question = read.ready, key.gradient(part)
    if question is None or not question.exact:
        found = at_further_points(key, part.name, ready, found)
        if found.verdict == "wrong" and diagnose:
            said = explain_by_loop(key, part.name, ready)
            if question is not None and (question.single or not said.hypotheses):
                said = _of_floats(question, ready) or said
            found = replace(found, diagnosis=said)
        return _conclude_run(base, key, found, diagnose)
    base = replace(base, understood=found.understood, remarks=found.remarks)
    return _of_a_formula(base, key, question, part, ready, diagnose)


def _of_numbers(key: Key, part: Part, read: OutputRead) -> Diagnosis:
    """What gives these numbers at the given point: a mistake of a gradient, or of the loop."""
    assert key.run is not None
    said = key.run.mistaken.explain(part.name, read.value, read.slack)
    question = key.gradient(part) if isinstance(read.value, np.ndarray) else None
    if question is not None and question.single and isinstance(read.value, np.ndarray):
        unknown = (None,) * (min(DIAGNOSTIC, len(question.points)) - 1)
        leaf = question.problem.parts[0].name
        found = explain(question.mistaken, leaf, (read.value, *unknown), slack=read.slack)
        return join_diagnoses(found, said) if found.hypotheses else said
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
    judged = of_gradient(base, question, leaf, ready, diagnose)
    if judged.diagnosis is None or (question.single and judged.diagnosis.hypotheses):
        return judged
    said = explain_by_loop(key, part.name, ready)
    if not said.hypotheses:
        return judged
    left = share(key.problem.credit, judged.tags, said)
    return replace(judged, diagnosis=said, score=judged.points * left)


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
        return replace(judged, score=base.points * share_of_right(key, found.tags))
    if found.expected is not None:
        point = key.run.point if found.point is None else found.point
        at = {name: to_plain(value) for name, value in point.items()}
        yours = found.yours if found.yours is None or math.isfinite(found.yours) else None
        judged = replace(judged, witness=Witness(at, yours, found.expected, found.index))
    if found.verdict != "wrong" or not diagnose:
        return judged
    left = share(key.problem.credit, found.tags, found.diagnosis)
    return replace(judged, diagnosis=found.diagnosis, score=base.points * left)


def _as_read(answer: Value) -> Value:
    """A program with the ends of lines that its places count; the start of one that is too long."""
    if not isinstance(answer, str):
        return answer
    text = answer.replace("\r\n", "\n").replace("\r", "\n")
    return f"{text[:SHOWN]}..." if len(text) > LONGEST else text
