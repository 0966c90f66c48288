"""One answer judged: right, wrong with a witness, invalid, or for review; then diagnosed."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from gradcheck.answers import Formula, misfit, other_readings
from gradcheck.answers.formula import Other, rebracket
from gradcheck.diagnosis import Diagnosis, Hypothesis, words
from gradcheck.errors import OURS, Complaint, TextError
from gradcheck.grading.formula import Floats, Readings, is_near
from gradcheck.grading.gradients import of_gradient
from gradcheck.grading.judgement import FAILURES, Judgement
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
    judged = _judge_as_it_stands(key, part, answer, student, diagnose=diagnose or kind)
    formula = judged.formula
    if judged.verdict != "wrong" or formula is None:
        return judged
    unnamed = diagnose and not judged.named
    for other in other_readings(formula):
        found = _judge_as_it_stands(key, part, other, student, diagnose=unnamed)
        if found.verdict == "right" or found.named:
            return replace(found, answer=answer, formula=formula)
    for again in with_other_brackets(key, part, formula) if kind or diagnose else ():
        read = replace(formula, tree=again.tree, doubts=())
        if _judge_as_it_stands(key, part, read, diagnose=False).verdict == "right":
            return _heal_brackets(key, judged, formula, again)
    return judged


def with_other_brackets(key: Key, part: Part, formula: Formula) -> Iterator[Other]:
    """The formula with other brackets, where a look at floats does not rule it out."""
    looks = key.looks(part)[:1]
    for other in rebracket(formula):
        with suppress(LookupError):  # what is not known may be anything
            if not all(is_near(Floats(x.point).value(other.tree.body), x.due) for x in looks):
                continue
        yield other


def _heal_brackets(key: Key, judged: Judgement, formula: Formula, right: Other) -> Judgement:
    """What becomes of a wrong answer that other brackets make right."""
    texts = {"typed": right.typed, "u": formula.understood}
    missing = Hypothesis(typing.brackets_missing, None, texts=texts)
    named = [h for h in judged.diagnosis.hypotheses if not h.with_] if judged.diagnosis else []
    acts = [h for h in named if h.common > USUAL and h.rank < VAGUE and not h.mistake.slip]
    if key.problem.brackets == "kind" and not acts:
        return judged.conclude("right", words(missing)).settle_right({}, "brackets-missing")
    # a usual mistake as it stands is not healed; nobody can tell which of both it is
    diagnosis = Diagnosis("torn" if acts else "unique", (*acts, missing))
    return judged.attach(diagnosis, key.problem.credit)


def _judge_as_it_stands(
    key: Key, part: Part, answer: Value, student: str = "", *, diagnose: bool = True
) -> Judgement:
    problem, typed = key.problem, answer.text if isinstance(answer, Formula) else answer
    worth = problem.points * part.weight

    def conclude(verdict: str, *remarks: str, **known: Value) -> Judgement:
        return Judgement(
            student, problem.id, part.name, typed, verdict, 0.0, worth,
            remarks=remarks, variant=problem.variant, **known,
        )  # fmt: skip

    if answer is None:
        return conclude("missing")
    if key.run is not None:
        try:
            return of_a_run(conclude(""), key, part, answer, diagnose)
        except FAILURES as error:
            return conclude("needs-review", f"{OURS}: {error}")
    try:
        ready = key.read(part, answer)
        _refuse_the_answer_itself(key, part, ready)
    except TextError as error:
        return conclude("invalid", str(error))
    base = conclude("", *ready.notes, understood=ready.understood, formula=ready.formula)
    if ready.plain:
        return base.conclude("wrong", "a number or a formula is due, no other kind of value")
    if ready.formula is not None and not ready.lines:
        shapes = {name: entry.shape for name, entry in key.scope.inputs.items()}
        if fault := misfit(ready.formula.tree, shapes):
            return base.conclude("wrong", f"the answer cannot be evaluated: {fault}")
    return of_gradient(base, key, part.name, ready, diagnose)


def _refuse_the_answer_itself(key: Key, part: Part, ready: Readings) -> None:
    """Refuse a gradient that is no nearer to the value than the one that is asked for."""
    for name, other in key.gradients_named.items():
        nearer = key.problem.nearer(part.name)
        if name in ready.names and other not in nearer:
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
    ready = key.read(part, answer)
    return ready.understood, ready.notes
