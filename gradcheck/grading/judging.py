"""One answer judged: right, wrong with a witness, invalid, or for review; then diagnosed.

What a program is asked at its end is read as what is due: numbers, a shape, another program.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from gradcheck.answers import Formula, describe_misfit, list_other_readings
from gradcheck.answers.formula import Other, rebracket
from gradcheck.diagnosis import Diagnosis, Hypothesis, explain, write_words
from gradcheck.errors import OURS, Complaint, GradcheckError, TextError
from gradcheck.grading.equivalence import find_floats
from gradcheck.grading.formula import Floats, Readings, is_near
from gradcheck.grading.judgement import FAILURES, Judgement, judge_gradient, make_witness
from gradcheck.grading.key import DIAGNOSTIC, Key
from gradcheck.grading.knots import find_distant_points
from gradcheck.grading.spots import GRADIENT, Spot
from gradcheck.mistakes.row import VAGUE
from gradcheck.mistakes.whole_answer import brackets_missing
from gradcheck.problem.record import Part, Point
from gradcheck.training import Output, Reference
from gradcheck.training.judging import judge_program
from gradcheck.training.outputs import Comparison, compare_values, is_same
from gradcheck.training.preparing import reference_at
from gradcheck.training.run import LONGEST, read_program
from gradcheck.values import Array, Value

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
    for other in list_other_readings(formula):
        found = _judge_as_it_stands(key, part, other, student, diagnose=unnamed)
        if found.verdict == "right" or found.named:
            return replace(found, answer=answer, ready=judged.ready)
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
    texts = {"typed": right.typed, "u": formula.understood}
    missing = Hypothesis(brackets_missing, None, texts=texts)
    named = [h for h in judged.diagnosis.hypotheses if not h.with_] if judged.diagnosis else []
    acts = [h for h in named if h.common > USUAL and h.rank < VAGUE and not h.mistake.slip]
    if key.problem.brackets == "kind" and not acts:
        return judged.conclude("right", write_words(missing)).settle_right({}, "brackets-missing")
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
            return judge_output(conclude(""), key, part, answer, diagnose)
        except FAILURES as error:
            return conclude("needs-review", f"{OURS}: {error}")
    try:
        ready = key.read(part, answer)
        _refuse_the_answer_itself(key, part, ready)
    except TextError as error:
        return conclude("invalid", str(error))
    base = conclude("", *ready.notes, understood=ready.understood, ready=ready)
    if ready.plain:
        return base.conclude("wrong", "a number or a formula is due, no other kind of value")
    if ready.formula is not None and not ready.lines:
        shapes = {name: entry.shape for name, entry in key.scope.inputs.items()}
        if fault := describe_misfit(ready.formula.tree, shapes):
            return base.conclude("wrong", f"the answer cannot be evaluated: {fault}")
    return judge_gradient(base, key, part.name, ready, diagnose)


def _refuse_the_answer_itself(key: Key, part: Part, ready: Readings) -> None:
    """Refuse a gradient that is no nearer to the value than the one that is asked for."""
    for name, other in key.gradients_named.items():
        nearer = key.problem.nearer(part.name)
        if name in ready.names and other not in nearer:
            known = ", ".join(GRADIENT + each for each in nearer) or "none"
            words = f"{name} is what is asked for, or follows from it"
            raise TextError([Complaint(words, f"gradients that are known here: {known}")])


def describe_reading(key: Key, part: Part, answer: Value) -> tuple[str, tuple[str, ...]]:
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


# -- what a program is asked at its end ------------------------------------------------------------

DISTANT = 12  # points where a formula that compares or cuts may follow another rule
CHECKED = 2  # further points at which a mistake of the training loop is made again
ONE_POINT = "one-point"
ONLY_HERE = "judged at this point only"
SIZE = re.compile(r"\s*(?:torch\.Size)?\(?\s*(\[?[\d,\s]*\]?)\s*\)?\s*")
TRUTHS = dict.fromkeys(["yes", "ja", "oui", "tensor(true)"], True)
TRUTHS |= dict.fromkeys(["no", "nein", "non", "tensor(false)"], False)
SHOWN = 200  # characters of a program that is too long to be read


@dataclass(frozen=True)
class OutputRead:
    """An answer as a value, the half unit of each typed digit, and how it is echoed.

    `varies` says that it mentions names: a function of the inputs.
    """

    value: Output
    half: Value
    understood: str
    ready: Readings | None = None
    varies: bool = False
    remarks: tuple[str, ...] = ()


def judge_output(base: Judgement, key: Key, part: Part, answer: Value, diagnose: bool) -> Judgement:
    """An answer to what is read at the end of a program; or a program, of which it is read."""
    assert key.run is not None
    if part.form == "program":
        found = judge_program(key.run, part, base.answer, lambda: key.elsewhere, diagnose=diagnose)
        base = replace(base, answer=_clip(base.answer), understood=found.understood)
        return _conclude(base, key, found, diagnose)
    try:
        read = read_output(key, part, answer)
    except TextError as error:
        return base.conclude("invalid", str(error))
    except GradcheckError as error:
        found = Comparison("wrong", remarks=(f"the answer cannot be evaluated: {error}",))
        return _conclude(base, key, found, diagnose)
    base = replace(base, ready=read.ready, understood=read.understood, remarks=read.remarks)
    question, ready = key.gradient(part), read.ready if read.varies else None
    due, noise = key.run.trace.values[part.name], key.run.noise[part.name]
    found = compare_values(read.value, due, noise, read.half)
    if ready is not None and question is not None and question.exact:
        # a formula for a gradient that a program reads, held against that gradient everywhere
        base, asked = base.conclude("", *found.remarks), question.problem.parts[0].name
        judged = judge_gradient(base, question, asked, ready, diagnose)
        if judged.diagnosis is None or (question.single and judged.named):
            return judged
        said = explain_by_loop(key, part.name, ready)
        return judged.attach(said, key.problem.credit) if said.hypotheses else judged
    if ready is not None and found.verdict == "right":
        found = compare_further(key, part.name, ready, found)
    if found.verdict == "wrong" and diagnose:
        found = replace(found, diagnosis=_diagnose(key, part, read, question))
    return _conclude(base, key, found, diagnose)


def _conclude(base: Judgement, key: Key, found: Comparison, diagnose: bool) -> Judgement:
    assert key.run is not None
    judged = base.conclude(found.verdict, *found.remarks)
    judged = replace(judged, tags=found.tags, places=found.places)
    if found.verdict == "right":
        return judged.settle_right(key.problem.credit, *found.tags)
    if found.expected is not None:
        point = key.run.point if found.point is None else found.point
        witness = make_witness(point, found.yours, found.expected, found.index)
        judged = replace(judged, witness=witness)
    if found.verdict != "wrong" or not diagnose:
        return judged
    return judged.attach(found.diagnosis, key.problem.credit)


def _clip(answer: Value) -> Value:
    """A program with the ends of lines that its places count; the start of one that is too long."""
    if not isinstance(answer, str):
        return answer
    text = answer.replace("\r\n", "\n").replace("\r", "\n")
    return f"{text[:SHOWN]}..." if len(text) > LONGEST else text


def compare_further(key: Key, part: str, ready: Readings, here: Comparison) -> Comparison:
    """A formula that was right at the given point, compared at the others too."""

    def compare_at(point: Point, run: Reference, value: Array) -> Comparison | None:
        found = compare_values(value, run.trace.values[part], run.noise[part])
        return None if found.verdict == "right" else replace(found, point=point)

    for other in key.further:
        value = find_floats(ready.at(Spot(key.problem, other.point)))
        if value is None:
            words = "it has no finite value at another point"
            return Comparison("wrong", remarks=(words,), point=other.point)
        if found := compare_at(other.point, other, value):
            return found
    trees = [ready.formula.tree] if ready.formula else []
    for point in islice(find_distant_points(key, trees), DISTANT):
        far, value = (
            reference_at(key.problem, point),
            find_floats(ready.at(Spot(key.problem, point))),
        )
        if far is not None and value is not None and (found := compare_at(point, far, value)):
            return found
    if key.further:
        return here
    return replace(here, tags=(*here.tags, ONE_POINT), remarks=(*here.remarks, ONLY_HERE))


# -- what gives just this answer -------------------------------------------------------------------


def _diagnose(key: Key, part: Part, read: OutputRead, question: Key | None) -> Diagnosis:
    """What gives an answer: a mistake of a gradient, or of the loop.

    Of what went back once the mistakes are those of any gradient; of several, first of all those
    of the loop. Numbers speak for the given point alone, formulas for as many as are looked at.
    """
    assert key.run is not None
    slack = float(np.max(read.half, initial=0.0)) if isinstance(read.value, np.ndarray) else 0.0
    if not read.varies or read.ready is None:
        said = key.run.explain(part.name, read.value, slack)
        if question is None or not question.single or not isinstance(read.value, np.ndarray):
            return said
        unknown = [None] * (min(DIAGNOSTIC, len(question.points)) - 1)
        values: Sequence[Array | None] = [read.value, *unknown]
    else:
        said, slack = explain_by_loop(key, part.name, read.ready), 0.0
        if question is None or (said.hypotheses and not question.single):
            return said
        values = [find_floats(read.ready.at(spot)) for spot in question.spots[:DIAGNOSTIC]]
    found = explain(question.mistaken, question.problem.parts[0].name, values, slack=slack)
    if not found.hypotheses or read.varies:
        return found if found.hypotheses else said
    ids = {hypothesis.ids for hypothesis in found.hypotheses}
    more = [each for each in said.hypotheses if each.ids not in ids]
    remarks = tuple(dict.fromkeys((*found.remarks, *said.remarks)))
    return _restrict(replace(found, remarks=remarks), [*found.hypotheses, *more])


def explain_by_loop(key: Key, part: str, ready: Readings) -> Diagnosis:
    """The mistakes of the training loop that give a formula's values wherever they are wrong."""
    found: Diagnosis | None = None
    for each in (key.run, *key.further[:CHECKED]):
        value = None if each is None else find_floats(ready.at(Spot(key.problem, each.point)))
        if each is None or value is None:
            return Diagnosis("unnamed")
        if is_same(value, each.trace.values[part]):
            continue
        said = each.explain(part, value)
        named = {hypothesis.mistake for hypothesis in said.hypotheses}
        found = found or said
        found = _restrict(found, [h for h in found.hypotheses if h.mistake in named])
        if not found.hypotheses:
            return found
    return found or Diagnosis("unnamed")


def _restrict(diagnosis: Diagnosis, hypotheses: Sequence[Hypothesis]) -> Diagnosis:
    certainty = "torn" if len(hypotheses) > 1 else "unique" if hypotheses else "unnamed"
    return replace(diagnosis, certainty=certainty, hypotheses=tuple(hypotheses))


# -- reading -------------------------------------------------------------------------------------


def read_output(key: Key, part: Part, answer: Value) -> OutputRead:
    """How an answer to what a program is asked at its end is read.

    Raises TextError where it cannot be, GradcheckError where it has no value.
    """
    assert key.run is not None
    return _read(key, part, key.run.trace.values[part.name], answer)


def _read(key: Key, part: Part, due: Output, answer: Value) -> OutputRead:
    """An answer as what it is, given what is due: `(2, 3)` is a shape where a shape is due."""
    if isinstance(due, tuple) and (shape := _read_shape(answer)) is not None:
        return OutputRead(shape, 0.0, str(shape))
    if isinstance(due, bool) and isinstance(answer, str):
        answer = TRUTHS.get(answer.strip(" .").lower(), answer)
    if isinstance(answer, list) and isinstance(due, list):
        pieces = [_read(key, part, d, a) for d, a in zip(due, answer, strict=False)]
        pieces += [_read(key, part, None, a) for a in answer[len(due) :]]
        return OutputRead([p.value for p in pieces], 0.0, ", ".join(p.understood for p in pieces))
    ready = key.read(part, answer)
    if ready.plain:
        value: Value = ready.read.value  # type: ignore[union-attr]
        return OutputRead(value if isinstance(value, bool | str) else None, 0.0, str(value), ready)
    values = find_floats(ready.at(Spot(key.problem, key.points[0])))
    if values is None:
        raise GradcheckError("it has no finite value")
    half = np.array([0.0 if h is None else float(h) for h in ready.half_units.flat])
    halves = np.broadcast_to(half.reshape(ready.half_units.shape), values.shape)
    varies = bool(ready.names & key.scope.inputs.keys())
    return OutputRead(values, halves, ready.understood, ready, varies, ready.notes)


def _read_shape(answer: Value) -> tuple[int, ...] | None:
    """`[2, 3]`, `(2, 3)`, `torch.Size([2, 3])`, `2`; None where it is no shape."""
    if isinstance(answer, str) and answer.strip("( \n") and (size := SIZE.fullmatch(answer)):
        answer = [int(each) for each in re.findall(r"\d+", size[1])]
    if type(answer) is int:
        answer = [answer]
    whole = isinstance(answer, list | tuple) and all(type(each) is int for each in answer)
    return tuple(answer) if whole else None
