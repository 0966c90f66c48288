"""One answer judged: right, wrong with a witness, invalid, or for review; then diagnosed."""

from collections.abc import Set
from dataclasses import replace
from functools import partial
from typing import Any

from gradcheck.answers import Formula, Plain, misfit, read_answer
from gradcheck.answers.gradients import GRADIENT
from gradcheck.diagnosis import words
from gradcheck.errors import OURS, Complaint, TextError
from gradcheck.grading.bracketing import brackets_missing
from gradcheck.grading.comparing import differs
from gradcheck.grading.doubtful import other_shape
from gradcheck.grading.formulas.line import Line
from gradcheck.grading.formulas.values import readings
from gradcheck.grading.gradients import of_gradient
from gradcheck.grading.judgement import FAILURES, Judgement, said
from gradcheck.grading.key import Key
from gradcheck.grading.resized import ONE_SIZE, only_here
from gradcheck.grading.runs import of_a_run
from gradcheck.grading.scoring import share
from gradcheck.grading.understood import notes, understood
from gradcheck.language.kinds import FORMULAS
from gradcheck.mistakes.row import VAGUE
from gradcheck.problem.record import Part

USUAL = 0.5  # how common a mistake is that is as likely as a bracket left out


def judge(
    key: Key, part: Part, answer: Any, student: str = "", *, diagnose: bool = True
) -> Judgement:
    """Judge one answer to one part; never raises on what a student typed.

    Where it is wrong as it stands, but right with other brackets, `brackets:` decides.
    """
    kind = key.problem.brackets == "kind"
    judged = _as_it_stands(key, part, answer, student, diagnose=diagnose or kind)
    if judged.verdict != "wrong" or part.form == "program" or not (kind or diagnose):
        return judged

    def is_possible(formula: Formula) -> bool:
        return key.run is not None or not differs(key, part.name, formula)

    def is_right(text: str) -> bool:
        return _as_it_stands(key, part, text, diagnose=False).verdict == "right"

    names, functions = key.scope.inputs, FORMULAS.functions
    diagnosis = brackets_missing(answer, names, functions, is_possible, is_right)
    if diagnosis is None:
        return judged
    named = [h for h in judged.diagnosis.hypotheses if not h.with_] if judged.diagnosis else []
    acts = [h for h in named if h.common > USUAL and h.rank < VAGUE and not h.mistake.slip]
    if acts:  # a usual mistake as it stands is not healed; nobody can tell which of both it is
        both = replace(diagnosis, certainty="torn", hypotheses=(*acts, *diagnosis.hypotheses))
        left = share(key.problem.credit, judged.tags, both)
        return replace(judged, diagnosis=both, score=judged.points * left)
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
    worth, drawn = key.problem.points * part.weight, key.problem.variant
    blank = partial(Judgement, student, key.problem.id, part.name, answer, variant=drawn)
    if answer is None:
        return blank("missing", 0.0, worth)
    if key.run is not None:
        base = blank("", 0.0, worth)
        try:
            return of_a_run(base, key, part, diagnose)
        except FAILURES as error:
            return said(base, "needs-review", f"{OURS}: {error}")
    try:
        single = part.name in key.problem.inputs and not key.problem.inputs[part.name].shape
        known = FORMULAS.functions
        read = read_answer(answer, names=key.scope.inputs, functions=known, single=single)
        ready = None if isinstance(read, Plain) else readings(key.scope, read)
        _not_the_answer_itself(key, part, frozenset() if ready is None else ready.names)
    except TextError as error:
        return blank("invalid", 0.0, worth, remarks=(str(error),))
    base = blank("", 0.0, worth, understood=understood(read), remarks=notes(read))
    if ready is None:
        return said(base, "wrong", "a number or a formula is due, no other kind of value")
    if isinstance(read, Formula) and not isinstance(ready.pieces, Line):
        shapes = {name: entry.shape for name, entry in key.scope.inputs.items()}
        if fault := misfit(read.tree, shapes):
            return said(base, "wrong", f"the answer cannot be evaluated: {fault}")
    judged = of_gradient(base, key, part.name, ready, diagnose)
    if "shape" in judged.tags and (doubt := other_shape(key, part.name, ready, notes(read))):
        return blank("invalid", 0.0, worth, understood=understood(read), remarks=(doubt,))
    if judged.verdict == "right" and (words_of_size := only_here(key, part.name, read)):
        remarks = (*judged.remarks, words_of_size)
        return replace(judged, remarks=remarks, tags=(*judged.tags, ONE_SIZE))
    return judged


def _not_the_answer_itself(key: Key, part: Part, mentioned: Set[str]) -> None:
    """Refuse a gradient that is no nearer to the value than the one that is asked for."""
    if mentioned.isdisjoint(key.gradients_named):
        return
    nearer = key.problem.nearer(part.name)
    for name, other in key.gradients_named.items():
        if name in mentioned and other not in nearer:
            known = ", ".join(GRADIENT + each for each in nearer) or "none"
            words = f"{name} is what is asked for, or follows from it"
            raise TextError([Complaint(words, f"gradients that are known here: {known}")])
