"""One answer judged: right, wrong with a witness, invalid, or for review; then diagnosed."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from gradcheck.answers import Entries, Formula, Numbers, Plain, read_answer
from gradcheck.diagnosis import Diagnosis, explain
from gradcheck.equivalence import Outcome, compare, compare_numbers
from gradcheck.errors import GradcheckError, OutOfBudget, TextError
from gradcheck.kinds import ALIASES, FORMULAS, KINDS
from gradcheck.numbers.ball import arbs, balls, middle, precision
from gradcheck.opinions.opinion import Array
from gradcheck.problem.record import Part
from gradcheck.reference import DIAGNOSTIC, Key
from gradcheck.text import Budget, Program, check_expression, run

BITS = 128


@dataclass(frozen=True)
class Witness:
    """A point at which the answer is proven to be another one."""

    at: Mapping[str, Any]
    yours: float | None
    expected: float | None
    index: tuple[int, ...] = ()


@dataclass(frozen=True)
class Judgement:
    """What is said of one answer."""

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
    tags: tuple[str, ...] = field(default_factory=tuple)


Readable = Formula | Numbers | Plain | Entries


def judge(key: Key, part: Part, answer: Any, student: str = "") -> Judgement:
    """Judge one answer to one part; never raises on what a student typed."""
    worth = key.problem.points * part.weight
    base = Judgement(student, key.problem.id, part.name, answer, "", 0.0, worth)
    if answer is None:
        return _said(base, "missing")
    try:
        read = read_answer(answer, names=key.problem.inputs, functions=_FUNCTIONS)
    except TextError as error:
        return _said(base, "invalid", remarks=(str(error),))
    base = _said(base, "", understood=_understood(read), remarks=tuple(getattr(read, "notes", ())))
    try:
        outcome, values = _compared(key, part.name, read)
    except (TextError, OutOfBudget) as error:
        return _said(base, "wrong", remarks=(f"cannot be evaluated: {error}",))
    except GradcheckError as error:
        return _said(base, "needs-review", remarks=(str(error),))
    return _from_outcome(base, key, part.name, outcome, values)


_FUNCTIONS = FORMULAS.functions | frozenset(ALIASES)


def _said(base: Judgement, verdict: str, **further: Any) -> Judgement:
    return Judgement(**{**vars(base), "verdict": verdict, **further})


def _understood(read: Readable) -> str:
    if isinstance(read, Formula):
        return read.understood
    if isinstance(read, Entries):
        return "[" + ", ".join(f.understood for f in read.formulas) + "]"
    if isinstance(read, Numbers):
        return f"numbers of the shape {read.shape}" if read.shape else str(float(read.values[0]))
    return str(read.value)


def _compared(key: Key, part: str, read: Readable) -> tuple[Outcome, list[Array | None]]:
    """The outcome, and the answer's values at the diagnostic points."""
    unknown: list[Array | None] = [None] * (min(DIAGNOSTIC, len(key.points)) - 1)
    if isinstance(read, Plain):
        return Outcome("shape"), [None, *unknown]
    if isinstance(read, Numbers):
        return _numbers(key, part, read), [_array(read), *unknown]
    functions = [_Evaluated(key, k, _programs(key, read)) for k in range(len(key.points))]
    references = [key.reference(k, part) for k in range(len(key.points))]
    outcome = compare(functions, references)
    if outcome.kind == "equal":
        return outcome, []
    return outcome, [_floats(f) for f in functions[:DIAGNOSTIC]]


def _numbers(key: Key, part: str, read: Numbers) -> Outcome:
    with precision(BITS):
        reference = key.reference(0, part)(BITS)
        values, units = _objects(read.values, read.shape), _objects(read.half_units, read.shape)
        return compare_numbers(values, units, reference, np.asarray(key.noise(part)))


def _objects(entries: Any, shape: tuple[int, ...]) -> Array:
    out = np.empty(len(entries), dtype=object)
    out[:] = entries
    return out.reshape(shape)


def _array(read: Numbers) -> Array:
    return np.array([float(v) for v in read.values]).reshape(read.shape)


def _programs(key: Key, read: Formula | Entries) -> Array:
    formulas = _objects(read.formulas, read.shape) if isinstance(read, Entries) else read
    checked = np.frompyfunc(lambda formula: _program(key, formula), 1, 1)
    return np.asarray(checked(formulas), dtype=object)


def _program(key: Key, formula: Formula) -> Program:
    return check_expression(
        formula.tree, declared=key.problem.inputs, vocabulary=FORMULAS, source=formula.text
    )


@dataclass(frozen=True, eq=False)
class _Evaluated:
    """The answer at one point, as a function of the number of bits."""

    key: Key
    k: int
    programs: Array

    def __call__(self, bits: int) -> Array:
        point = {name: balls(value) for name, value in self.key.points[self.k].items()}
        if self.programs.ndim == 0:
            return self._one(self.programs.item(), point)
        out = np.empty(self.programs.shape, dtype=object)
        for index in np.ndindex(out.shape):
            value = self._one(self.programs[index], point)
            if value.shape:
                raise TextError([])
            out[index] = value.item()
        return out

    def _one(self, program: Program, point: Mapping[str, Any]) -> Array:
        value = run(program, dict(point), KINDS["ball"], Budget()).value
        return arbs(value)


def _floats(function: _Evaluated) -> Array | None:
    with precision(BITS):
        values = function(BITS)
    floats = np.array([middle(v) for v in values.flat]).reshape(values.shape)
    return floats if np.all(np.isfinite(floats)) else None


def _from_outcome(
    base: Judgement, key: Key, part: str, outcome: Outcome, values: list[Array | None]
) -> Judgement:
    if outcome.kind == "equal":
        tags = ("rounded",) if outcome.rounded else ()
        return _said(base, "right", score=base.points, tags=tags)
    if outcome.kind == "undecided":
        why = "the precision ran out before the answer could be told from the gradient"
        return _said(base, "needs-review", remarks=(*base.remarks, why))
    diagnosis = explain(key.mistaken, part, values)
    remarks = (*base.remarks, *_outcome_words(outcome))
    credit = _credit(key, diagnosis)
    return _said(
        base,
        "wrong",
        score=base.points * credit,
        diagnosis=diagnosis,
        witness=_witness(key, part, outcome),
        remarks=remarks,
        tags=(outcome.kind,) if outcome.kind in ("narrower", "shape") else (),
    )


def _outcome_words(outcome: Outcome) -> tuple[str, ...]:
    if outcome.kind == "narrower":
        return ("the answer has no value at a point where the gradient has one",)
    return ("the answer has another shape than the gradient",) if outcome.kind == "shape" else ()


def _credit(key: Key, diagnosis: Diagnosis) -> float:
    """The share of the points that the set leaves for these mistakes: the least of those that fit."""
    shares = [key.problem.credit.get(h.mistake.id, 0.0) for h in diagnosis.hypotheses]
    return min(shares, default=0.0)


def _witness(key: Key, part: str, outcome: Outcome) -> Witness | None:
    if outcome.yours is None or outcome.expected is None:
        return None
    point = key.points[outcome.point]
    at = {name: _shown(value) for name, value in point.items()}
    yours, expected = middle(outcome.yours), middle(outcome.expected)
    return Witness(
        at,
        yours if math.isfinite(yours) else None,
        expected if math.isfinite(expected) else None,
        outcome.index,
    )


def _shown(value: Array) -> Any:
    return np.array([float(Fraction(v)) for v in value.flat]).reshape(value.shape).tolist()
