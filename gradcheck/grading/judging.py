"""One answer judged: right, wrong with a witness, invalid, or for review; then diagnosed."""

from collections.abc import Iterator, Set
from dataclasses import replace
from functools import partial

from gradcheck.answers import Formula, Plain, misfit, other_readings
from gradcheck.answers.brackets import Other, rebracket
from gradcheck.diagnosis import Diagnosis, Hypothesis, words
from gradcheck.errors import OURS, Complaint, TextError
from gradcheck.grading.formulas.line import Line
from gradcheck.grading.formulas.values import readings
from gradcheck.grading.gradients import of_gradient
from gradcheck.grading.judgement import FAILURES, Judgement, conclude, notes, share, understood
from gradcheck.grading.key import Key
from gradcheck.grading.names import GRADIENT
from gradcheck.grading.outputs import of_a_run, read_output
from gradcheck.grading.pieces import Floats
from gradcheck.mistakes import typing
from gradcheck.mistakes.row import VAGUE
from gradcheck.problem.record import Part
from gradcheck.training.student import read_program
from gradcheck.values import Value


def with_other_brackets(key: Key, part: Part, formula: Formula) -> Iterator[Other]:
    """The formula with other brackets, where a look at floats does not rule it out."""
    looks = key.looks(part)[:1]
    for other in rebracket(formula):
        if all(Floats(other.tree.body, each.point, each.due).is_near() for each in looks):
            yield other


def brackets_missing(formula: Formula, right: Other) -> Diagnosis:
    texts = {"typed": right.typed, "u": formula.understood}
    return Diagnosis("unique", (Hypothesis(typing.brackets_missing, None, texts=texts),))


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
    unnamed = diagnose and not _is_named(judged)
    for other in other_readings(formula):
        found = _as_it_stands(key, part, other, student, diagnose=unnamed)
        if found.verdict == "right" or _is_named(found):
            return replace(found, answer=answer, formula=formula)
    return _try_brackets(key, part, formula, judged) if kind or diagnose else judged


def _is_named(judged: Judgement) -> bool:
    return judged.diagnosis is not None and bool(judged.diagnosis.hypotheses)


def _try_brackets(key: Key, part: Part, formula: Formula, judged: Judgement) -> Judgement:
    """A wrong answer, unless other brackets make it right and the problem is kind about them."""
    for other in with_other_brackets(key, part, formula):
        read = replace(formula, tree=other.tree, doubts=())
        if _as_it_stands(key, part, read, diagnose=False).verdict == "right":
            return _heal_brackets(key, judged, brackets_missing(formula, other))
    return judged


def _heal_brackets(key: Key, judged: Judgement, diagnosis: Diagnosis) -> Judgement:
    """What becomes of a wrong answer that other brackets make right."""
    named = [h for h in judged.diagnosis.hypotheses if not h.with_] if judged.diagnosis else []
    acts = [h for h in named if h.common > USUAL and h.rank < VAGUE and not h.mistake.slip]
    if acts:  # a usual mistake as it stands is not healed; nobody can tell which of both it is
        diagnosis = replace(diagnosis, certainty="torn", hypotheses=(*acts, *diagnosis.hypotheses))
    elif key.problem.brackets == "kind":
        remarks = (*judged.remarks, words(diagnosis.hypotheses[0]))
        right = replace(judged, verdict="right", score=judged.points, witness=None, diagnosis=None)
        return replace(right, remarks=remarks, tags=("brackets-missing",))
    left = share(key.problem.credit, judged.tags, diagnosis)
    return replace(judged, diagnosis=diagnosis, score=judged.points * left)


def _as_it_stands(
    key: Key, part: Part, answer: Value, student: str = "", *, diagnose: bool = True
) -> Judgement:
    """Judge one answer to one part by its usual reading."""
    worth, drawn = key.problem.points * part.weight, key.problem.variant
    typed = answer.text if isinstance(answer, Formula) else answer
    blank = partial(Judgement, student, key.problem.id, part.name, typed, variant=drawn)
    if answer is None:
        return blank("missing", 0.0, worth)
    if key.run is not None:
        base = blank("", 0.0, worth, formula=_formula_of(key, part, answer))
        try:
            return of_a_run(base, key, part, answer, diagnose)
        except FAILURES as error:
            return conclude(base, "needs-review", f"{OURS}: {error}")
    try:
        read = key.read(part, answer)
        ready = None if isinstance(read, Plain) else readings(key.scope, read)
        _not_the_answer_itself(key, part, frozenset() if ready is None else ready.names)
    except TextError as error:
        return blank("invalid", 0.0, worth, remarks=(str(error),))
    base = blank("", 0.0, worth, understood=understood(read), remarks=notes(read))
    if isinstance(read, Formula):
        base = replace(base, formula=read)
    if ready is None:
        return conclude(base, "wrong", "a number or a formula is due, no other kind of value")
    if isinstance(read, Formula) and not isinstance(ready.pieces, Line):
        shapes = {name: entry.shape for name, entry in key.scope.inputs.items()}
        if fault := misfit(read.tree, shapes):
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
    if mentioned.isdisjoint(key.gradients_named):
        return
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
