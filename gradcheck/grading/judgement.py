"""What is said of one answer, and the words and points that every way to judge shares."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from gradcheck.answers import Entries, Formula, NumberList, Plain
from gradcheck.diagnosis import Diagnosis, Hypothesis
from gradcheck.errors import GradcheckError
from gradcheck.values import Array, Params, Value

# The share of a part's points that remains, by mistake id, or by a tag of the answer. A set's
# `credit:` has the last word. A mistake that is not here earns nothing; nor does one that nobody
# could name. `slip` and `misconception` stand for all mistakes of their kind that it does not name.
CREDIT: Mapping[str, float] = {
    "rounded": 1.0,  # within half a unit of the last typed digit
    "narrower": 0.5,  # right, but without a value where the gradient has one
}
# A verdict stands whatever happens to its explanation: nothing stops a batch.
FAILURES = (GradcheckError, ArithmeticError, LookupError, TypeError, ValueError)


def share(credit: Mapping[str, float], tags: Sequence[str], diagnosis: Diagnosis | None) -> float:
    """What is left of the points: by the answer's tags, or else by its mistakes.

    Where several mistakes fit, the most generous counts: nobody loses points over a doubt.
    """
    table = {**CREDIT, **credit}
    tagged = [table[tag] for tag in tags if tag in table]
    if tagged:
        return min(tagged)
    hypotheses = diagnosis.hypotheses if diagnosis else ()
    return max((_credit_of(table, hypothesis) for hypothesis in hypotheses), default=0.0)


def _credit_of(table: Mapping[str, float], hypothesis: Hypothesis) -> float:
    """Two mistakes made together cost both shares."""
    kind = "slip" if hypothesis.mistake.slip else "misconception"
    left = table.get(hypothesis.mistake.id, table.get(kind, 0.0))
    return left * _credit_of(table, hypothesis.with_) if hypothesis.with_ else left


@dataclass(frozen=True)
class Witness:
    """A point at which the answer is proven to be another one; None: no value there."""

    at: Params
    yours: float | None
    expected: float | None
    index: tuple[int, ...] = ()


@dataclass(frozen=True)
class Judgement:
    """What is said of one answer; `places` are those of mistakes in an answer that is a program.

    `variant` are the values that are drawn for the student, where the problem has choices.
    `follows` is the part from whose own wrong gradient this one is what the chain rule makes,
    `line` the first line of working that does not hold, `formula` the answer as it is read.
    """

    student: str
    problem: str
    part: str
    answer: Value
    verdict: str
    score: float
    points: float
    understood: str = ""
    diagnosis: Diagnosis | None = None
    witness: Witness | None = None
    remarks: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    places: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    variant: Params = field(default_factory=dict)
    follows: str = ""
    line: int | None = None
    formula: Formula | None = field(default=None, repr=False, compare=False)

    @property
    def named(self) -> bool:
        """Whether a mistake is named in it."""
        return self.diagnosis is not None and bool(self.diagnosis.hypotheses)


def conclude(base: Judgement, verdict: str, remark: str) -> Judgement:
    return replace(base, verdict=verdict, remarks=(*base.remarks, remark))


def settle_right(
    base: Judgement, *, tags: tuple[str, ...] = (), credit: Mapping[str, float] | None = None
) -> Judgement:
    """A right answer, which earns all unless it was rounded."""
    left = share(credit or {}, ("rounded",), None) if "rounded" in tags else 1.0
    score = base.points * left
    return replace(base, verdict="right", score=score, tags=tags, witness=None, diagnosis=None)


def attach_diagnosis(
    judged: Judgement, diagnosis: Diagnosis | None, credit: Mapping[str, float]
) -> Judgement:
    """A wrong answer with what gives just it, and what that leaves of the points."""
    score = judged.points * share(credit, judged.tags, diagnosis)
    return replace(judged, diagnosis=diagnosis, score=score)


def to_plain(value: Array) -> Value:
    return np.array([float(Fraction(v)) for v in value.flat]).reshape(value.shape).tolist()


def notes(read: Value) -> tuple[str, ...]:
    """How ambiguous spellings were read, each once."""
    formulas = read.formulas if isinstance(read, Entries) else (read,)
    every = (note for formula in formulas for note in getattr(formula, "notes", ()))
    return tuple(dict.fromkeys(every))


def understood(read: Formula | NumberList | Plain | Entries) -> str:
    """A formula in canonical spelling, numbers as decimals, anything else as it is."""
    if isinstance(read, Formula):
        return read.understood
    if isinstance(read, Plain):
        return str(read.value)
    if isinstance(read, Entries):
        return _nest([f.understood for f in read.formulas], read.shape)
    whole = (str(v.numerator) if v.denominator == 1 else repr(nearest(v)) for v in read.values)
    return _nest(list(whole), read.shape)


def _nest(entries: list[str], shape: tuple[int, ...]) -> str:
    """Entries in brackets, as a list is typed; of many the shape."""
    if not shape:
        return entries[0]
    if len(entries) > 64:
        return f"numbers of the shape {shape}"
    step = len(entries) // shape[0] if shape[0] else 0
    rows = (entries[k * step : (k + 1) * step] for k in range(shape[0]))
    return "[" + ", ".join(_nest(row, shape[1:]) for row in rows) + "]"


def nearest(value: Fraction) -> float:
    """The nearest float; an infinity beyond them all."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
