"""One answer judged: right, wrong with a witness, invalid, or for review; then diagnosed.

What a program is asked at its end is read as what is due: numbers, a shape, another program.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import chain, islice, zip_longest

import numpy as np

from gradcheck.answers import Formula, Plain, describe_misfit, list_other_readings
from gradcheck.answers.formula import rebracket
from gradcheck.answers.tokens import find_closing, split, tokenize
from gradcheck.diagnosis import Diagnosis, Hypothesis, explain, write_words
from gradcheck.errors import OURS, Complaint, GradcheckError, TextError
from gradcheck.grading.equivalence import find_floats
from gradcheck.grading.formula import Floats, Readings, box, is_near, make_readings
from gradcheck.grading.judgement import FAILURES, Judgement, find_known, judge_gradient
from gradcheck.grading.key import DIAGNOSTIC, Key
from gradcheck.grading.knots import find_distant_points
from gradcheck.grading.spots import GRADIENT, Spot
from gradcheck.mistakes.row import VAGUE
from gradcheck.mistakes.whole_answer import brackets_missing
from gradcheck.problem.record import Part
from gradcheck.training import Output
from gradcheck.training.judging import judge_program
from gradcheck.training.outputs import Comparison, compare_values, is_same
from gradcheck.training.preparing import reference_at
from gradcheck.training.run import LONGEST, read_program
from gradcheck.values import Array, Value

USUAL = 0.5  # how common a mistake is that is as likely as a bracket left out


def judge(key: Key, part: Part, answer: Value, *, diagnose: bool = True) -> Judgement:
    """Judge one answer to one part; never raises on what a student typed.

    Where it is wrong as it is usually read, but right as another reader would read it, it is right;
    where only that reader can name the mistake, it is named so. Where other brackets would make it
    right, `brackets:` decides.
    """
    own, asked = key.ask(part)
    judged = _judge(own, asked, answer, diagnose)
    if own is key:
        return judged
    judged, found, ready = replace(judged, part=part.name), judged.diagnosis, judged.ready
    if judged.verdict != "wrong" or found is None or ready is None:
        return judged
    value = find_floats(ready.at(own.spots[0]))
    return judged.attach(_blame_loop(key, part, value, ready, found, single=own.single), key)


def _judge(key: Key, part: Part, answer: Value, diagnose: bool) -> Judgement:
    kind = key.problem.brackets == "kind"
    judged = _judge_as_it_stands(key, part, answer, diagnose or kind)
    formula = judged.formula
    if judged.verdict != "wrong" or formula is None:
        return judged
    unnamed = diagnose and not judged.named
    for other in list_other_readings(formula):
        found = _judge_as_it_stands(key, part, other, unnamed)
        if found.verdict == "right" or found.named:
            return replace(found, answer=answer, ready=judged.ready)
    for again in with_other_brackets(key, part, formula) if kind or diagnose else ():
        if _judge_as_it_stands(key, part, again, False).verdict == "right":
            return _heal_brackets(key, judged, formula, again)
    return judged


def with_other_brackets(key: Key, part: Part, formula: Formula) -> Iterator[Formula]:
    """The formula with other brackets, where a look at floats does not rule it out."""
    looks = key.looks(part)[:1]
    for other in rebracket(formula):
        with suppress(LookupError):  # what is not known may be anything
            if not all(is_near(Floats(x.point).value(other.tree.body), x.due) for x in looks):
                continue
        yield other


def _heal_brackets(key: Key, judged: Judgement, formula: Formula, right: Formula) -> Judgement:
    texts = {"typed": right.text, "u": formula.understood}
    missing = Hypothesis(brackets_missing, None, texts=texts)
    named = [h for h in judged.diagnosis.hypotheses if not h.with_] if judged.diagnosis else []
    acts = [h for h in named if h.common > USUAL and h.rank < VAGUE and not h.mistake.slip]
    if key.problem.brackets == "kind" and not acts:
        return judged.conclude("right", write_words(missing), tags=("brackets-missing",))
    # a usual mistake as it stands is not healed; nobody can tell which of both it is
    return judged.attach(Diagnosis((*acts, missing)), key)


def _judge_as_it_stands(key: Key, part: Part, answer: Value, diagnose: bool) -> Judgement:
    problem, typed = key.problem, answer.text if isinstance(answer, Formula) else answer
    known = problem.id, part.name, typed, "", 0.0, problem.points * part.weight
    begin = partial(Judgement, *known, variant=problem.variant)
    if answer is None:
        return begin().conclude("missing")
    if key.run is not None:
        try:
            return judge_output(begin(), key, part, answer, diagnose)
        except FAILURES as error:
            return begin().conclude("needs-review", f"{OURS}: {error}")
    try:
        ready = key.read(part, answer)
        _refuse_the_answer_itself(key, part, ready)
    except TextError as error:
        return begin().conclude("invalid", str(error))
    base = begin(remarks=ready.notes, understood=ready.understood, ready=ready)
    if ready.plain:
        return base.conclude("wrong", "a number or a formula is due, no other kind of value")
    arrays = None if ready.lines else ready.formula
    if arrays and (fault := describe_misfit(arrays.tree, key.shapes)):
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
    key, part = key.ask(part)
    if key.run is None:
        ready = key.read(part, answer)
    else:
        _, ready = read_output(key, part, key.run.trace.values[part.name], answer)
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


def judge_output(base: Judgement, key: Key, part: Part, answer: Value, diagnose: bool) -> Judgement:
    """An answer to what is read at the end of a program; or a program, of which it is read."""
    assert key.run is not None
    if part.form == "program":
        found = judge_program(key.run, part, answer, lambda: key.elsewhere, diagnose=diagnose)
        base = replace(base, answer=_clip(answer), understood=found.understood)
        return base.settle(found, key)
    due, noise = key.run.trace.values[part.name], key.run.noise[part.name]
    try:
        value, ready = read_output(key, part, due, answer)
    except TextError as error:
        return base.conclude("invalid", str(error))
    except GradcheckError as error:
        return base.conclude("wrong", f"the answer cannot be evaluated: {error}")
    base = replace(base, ready=ready, understood=ready.understood, remarks=ready.notes)
    off = ready.limit_tolerance(key.problem.tolerance)
    found = compare_values(value, due, noise, ready.slack, tolerance=off)
    if ready.names and found.verdict == "right":
        found = compare_further(key, part.name, ready, found)
    if found.verdict == "wrong" and diagnose:
        found = replace(found, diagnosis=_diagnose(key, part, value, ready))
    return base.settle(found, key)


def _clip(answer: Value) -> Value:
    """A program with the ends of lines that its places count; the start of one that is too long."""
    if not isinstance(answer, str):
        return answer
    text = answer.replace("\r\n", "\n").replace("\r", "\n")
    return f"{text[:SHOWN]}..." if len(text) > LONGEST else text


def compare_further(key: Key, part: str, ready: Readings, here: Comparison) -> Comparison:
    """A formula that was right at the given point, compared at the others too."""
    trees = [ready.formula.tree] if ready.formula else []
    distant = islice(find_distant_points(key, trees), DISTANT)
    off = ready.limit_tolerance(key.problem.tolerance)
    far = ((point, reference_at(key.problem, point)) for point in distant)
    for point, run in chain(((run.point, run) for run in key.further), far):
        value = find_floats(ready.at(Spot(key.problem, point)))
        if value is None and run in key.further:
            words = "it has no finite value at another point"
            return Comparison("wrong", remarks=(words,), point=point)
        if value is not None and run is not None:
            due, noise = run.trace.values[part], run.noise[part]
            found = compare_values(value, due, noise, ready.slack, tolerance=off)
            if found.verdict != "right":
                return replace(found, point=point)
    if key.further:
        return here
    return replace(here, tags=(*here.tags, ONE_POINT), remarks=(*here.remarks, ONLY_HERE))


# -- what gives just this answer -------------------------------------------------------------------


def _diagnose(key: Key, part: Part, value: Output, ready: Readings) -> Diagnosis:
    taught = find_known(key, part.name, ready) if key.problem.known_answers else None
    question = None if taught else key.gradient(part)
    if question is None or not isinstance(value, np.ndarray):
        return taught or _blame_loop(key, part, value, ready, None, single=False)
    values: list[Array | None] = [value]
    if ready.names:
        values = [find_floats(ready.at(spot)) for spot in question.spots[:DIAGNOSTIC]]
    asked = question.problem.parts[0].name
    found = explain(question.mistaken, asked, values, slack=float(ready.slack.max(initial=0.0)))
    return _blame_loop(key, part, value, ready, found, single=question.single)


def _blame_loop(
    key: Key, part: Part, value: Output, ready: Readings, found: Diagnosis | None, *, single: bool
) -> Diagnosis:
    """The mistakes of a gradient that are `found` to give an answer, or those of the loop.

    Of a `single` backward call the mistakes are those of any gradient; of several, first of all
    those of the loop. Numbers speak for the given point alone, formulas for as many as are looked
    at. A teacher's own words stand alone, and so do brackets.
    """
    assert key.run is not None
    named = found.hypotheses if found else ()
    taught = any(h.mistake.verb == "known" or h.mistake is brackets_missing for h in named)
    if found and (taught or (named and single and ready.names)):
        return found
    if ready.names:
        said = explain_by_loop(key, part.name, ready)
        return found if found and not said.hypotheses else said
    said = key.run.explain(part.name, value, float(ready.slack.max(initial=0.0)))
    if found is None or not (single and named):
        return said
    ids = {hypothesis.ids for hypothesis in named}
    more = (each for each in said.hypotheses if each.ids not in ids)
    remarks = tuple(dict.fromkeys((*found.remarks, *said.remarks)))
    return replace(found, hypotheses=(*named, *more), remarks=remarks)


def explain_by_loop(key: Key, part: str, ready: Readings) -> Diagnosis:
    """The mistakes of the training loop that give a formula's values wherever they are wrong."""
    found: Diagnosis | None = None
    assert key.run is not None
    for run in (key.run, *key.further[:CHECKED]):
        value = find_floats(ready.at(Spot(key.problem, run.point)))
        if value is None:
            return Diagnosis()
        if is_same(value, run.trace.values[part]):
            continue
        said = run.explain(part, value)
        named = {hypothesis.mistake for hypothesis in said.hypotheses}
        found = found or said
        found = replace(found, hypotheses=tuple(h for h in found.hypotheses if h.mistake in named))
        if not found.hypotheses:
            return found
    return found or Diagnosis()


# -- reading -------------------------------------------------------------------------------------


def read_output(key: Key, part: Part, due: Output, answer: Value) -> tuple[Output, Readings]:
    """An answer as a value, given what is due: `(2, 3)` is a shape where a shape is due.

    Raises TextError where it cannot be read, GradcheckError where it has no value.
    """
    if isinstance(due, tuple) and (shape := _read_shape(answer)) is not None:
        return shape, make_readings({}, Plain(shape))
    if isinstance(due, bool) and isinstance(answer, str):
        answer = TRUTHS.get(answer.strip(" .").lower(), answer)
    if isinstance(due, list) and isinstance(answer, str):
        answer = _split_list(answer)
    if isinstance(answer, list) and isinstance(due, list):
        pairs = islice(zip_longest(answer, due), len(answer))
        pieces = [read_output(key, part, wanted, mine) for mine, wanted in pairs]
        understood = ", ".join(ready.understood for _, ready in pieces)
        halves = [half for piece in pieces for half in _spread_halves(*piece)]
        read = replace(make_readings({}, Plain(understood)), half_units=box(halves, (len(halves),)))
        return [value for value, _ in pieces], read
    ready = key.read(part, answer)
    if isinstance(ready.read, Plain):
        value = ready.read.value
        return value if isinstance(value, bool | str) else None, ready
    values = find_floats(ready.at(key.spots[0]))
    if values is None:
        raise GradcheckError("it has no finite value")
    return values, ready


def _split_list(text: str) -> str | list[str]:
    """The entries of a list that was typed, as texts; anything else as it is."""
    tokens, _ = tokenize(text)
    if not tokens or tokens[0].text != "[" or find_closing(tokens, 0) != len(tokens) - 1:
        return text
    clauses = split(inside := tokens[1:-1], lambda k, _: inside[k].text == ",")
    return [text[c.tokens[0].start : c.tokens[-1].end] if c.tokens else "" for c in clauses]


def _spread_halves(value: Output, ready: Readings) -> Array:
    shape = value.shape if isinstance(value, np.ndarray) else ready.half_units.shape
    return np.broadcast_to(ready.half_units, shape).ravel()


def _read_shape(answer: Value) -> tuple[int, ...] | None:
    """`[2, 3]`, `(2, 3)`, `torch.Size([2, 3])`, `2`; None where it is no shape."""
    if isinstance(answer, str) and answer.strip("( \n") and (size := SIZE.fullmatch(answer)):
        answer = [int(each) for each in re.findall(r"\d+", size[1])]
    if type(answer) is int:
        answer = [answer]
    whole = isinstance(answer, list | tuple) and all(type(each) is int for each in answer)
    return tuple(answer) if whole else None
