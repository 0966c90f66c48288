"""One answer judged: right, wrong with a witness, invalid, or for review; then diagnosed."""

from collections.abc import Iterator, Set
from contextlib import suppress
from dataclasses import replace

from gradcheck.answers import Formula, Plain, misfit, other_readings
from gradcheck.answers.brackets import Other, rebracket
from gradcheck.diagnosis import Diagnosis, Hypothesis, words
from gradcheck.errors import OURS, Complaint, TextError
from gradcheck.grading.formula import Floats, Line, is_near, readings
from gradcheck.grading.gradients import of_gradient
from gradcheck.grading.judgement import (
    FAILURES,
    Judgement,
    attach_diagnosis,
    conclude,
    notes,
    settle_right,
    understood,
)
from gradcheck.grading.key import Key
from gradcheck.grading.outputs import of_a_run, read_output
from gradcheck.grading.spots import GRADIENT
from gradcheck.mistakes import typing
from gradcheck.mistakes.row import VAGUE
from gradcheck.problem.record import Part
from gradcheck.training.run import read_program
from gradcheck.values import Value

USUAL = 0.5  # how common a mistake is that is as likely as a bracket left out


def judge(
    key: Key, part: Part, answer: Value, student: str = "", *, diagnose: bool = True
) -> Judgement:
    """Judge one answer to one part; never raises on what a student typed.

    Where it is wrong as it is usually read, but right as another reader would read it, it is right;
    where only that reader can name the mistake, it is named so. Where other brackets would make it
    right, `brackets:` decides.
    """
    kind = key.problem.brackets == "kind"
    judged = _as_it_stands(key, part, answer, student, diagnose=diagnose or kind)
    formula = judged.formula
    if judged.verdict != "wrong" or formula is None:
        return judged
    unnamed = diagnose and not judged.named
    for other in other_readings(formula):
        found = _as_it_stands(key, part, other, student, diagnose=unnamed)
        if found.verdict == "right" or found.named:
            return replace(found, answer=answer, formula=formula)
    for again in with_other_brackets(key, part, formula) if kind or diagnose else ():
        read = replace(formula, tree=again.tree, doubts=())
        if _as_it_stands(key, part, read, diagnose=False).verdict == "right":
            return _heal_brackets(key, judged, formula, again)
    return judged


def with_other_brackets(key: Key, part: Part, formula: Formula) -> Iterator[Other]:
    """The formula with other brackets, where a look at floats does not rule it out."""
    looks = key.looks(part)
    line = Line(formula.text, {name: entry.shape for name, entry in key.scope.inputs.items()})
    here = Floats(line, looks[0].point) if looks else None
    kept = []  # nodes are known by their identity
    for other in rebracket(formula):
        kept.append(other)
        with suppress(LookupError):  # what is not known may be anything
            if here and not is_near(here[line.add(other.tree.body)], looks[0].due):
                continue
        yield other


def _heal_brackets(key: Key, judged: Judgement, formula: Formula, right: Other) -> Judgement:
    """What becomes of a wrong answer that other brackets make right."""
    texts = {"typed": right.typed, "u": formula.understood}
    missing = Hypothesis(typing.brackets_missing, None, texts=texts)
    named = [h for h in judged.diagnosis.hypotheses if not h.with_] if judged.diagnosis else []
    acts = [h for h in named if h.common > USUAL and h.rank < VAGUE and not h.mistake.slip]
    if key.problem.brackets == "kind" and not acts:
        judged = replace(judged, remarks=(*judged.remarks, words(missing)))
        return replace(settle_right(judged), tags=("brackets-missing",))
    # a usual mistake as it stands is not healed; nobody can tell which of both it is
    diagnosis = Diagnosis("torn" if acts else "unique", (*acts, missing))
    return attach_diagnosis(judged, diagnosis, key.problem.credit)


def _as_it_stands(
    key: Key, part: Part, answer: Value, student: str = "", *, diagnose: bool = True
) -> Judgement:
    """Judge one answer to one part by its usual reading."""
    worth, drawn = key.problem.points * part.weight, key.problem.variant
    typed = answer.text if isinstance(answer, Formula) else answer
    base = Judgement(student, key.problem.id, part.name, typed, "", 0.0, worth, variant=drawn)
    if answer is None:
        return replace(base, verdict="missing")
    if key.run is not None:
        base = replace(base, formula=_formula_of(key, part, answer))
        try:
            return of_a_run(base, key, part, answer, diagnose)
        except FAILURES as error:
            return conclude(base, "needs-review", f"{OURS}: {error}")
    try:
        read = key.read(part, answer)
        ready = None if isinstance(read, Plain) else readings(key.scope, read)
        _not_the_answer_itself(key, part, frozenset() if ready is None else ready.names)
    except TextError as error:
        return conclude(base, "invalid", str(error))
    formula = read if isinstance(read, Formula) else None
    base = replace(base, understood=understood(read), remarks=notes(read), formula=formula)
    if ready is None:
        return conclude(base, "wrong", "a number or a formula is due, no other kind of value")
    if formula is not None and not isinstance(ready.pieces, Line):
        shapes = {name: entry.shape for name, entry in key.scope.inputs.items()}
        if fault := misfit(formula.tree, shapes):
            return conclude(base, "wrong", f"the answer cannot be evaluated: {fault}")
    return of_gradient(base, key, part.name, ready, diagnose)


def _formula_of(key: Key, part: Part, answer: Value) -> Formula | None:
    """The formula that an answer to a program is, if it is one."""
    try:
        found = None if part.form == "program" else key.read(part, answer)
    except TextError:
        return None
    return found if isinstance(found, Formula) else None


def _not_the_answer_itself(key: Key, part: Part, mentioned: Set[str]) -> None:
    """Refuse a gradient that is no nearer to the value than the one that is asked for."""
    nearer = key.problem.nearer(part.name)
    for name, other in key.gradients_named.items():
        if name in mentioned and other not in nearer:
            known = ", ".join(GRADIENT + each for each in nearer) or "none"
            words = f"{name} is what is asked for, or follows from it"
            raise TextError([Complaint(words, f"gradients that are known here: {known}")])


def how_read(key: Key, part: Part, answer: Value) -> tuple[str, tuple[str, ...]]:
    """What is understood of an answer, and by which rules; of a program there is no echo.

    Raises TextError at the place where nothing is understood.
    """
    if part.form == "program":
        read_program(key.problem, str(answer))
        return "", ()
    if key.run is not None:
        read = read_output(key, part, answer)
        return read.understood, read.remarks
    found = key.read(part, answer)
    if not isinstance(found, Plain):
        readings(key.scope, found)
    return understood(found), notes(found)
