"""What is said of one answer, and what is left of its points."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from gradcheck.answers import Formula
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


def witness_at(
    point: Mapping[str, Array], yours: float | None, due: float | None, index: tuple[int, ...]
) -> Witness:
    """What is told of a point, in plain numbers; what is not finite is no number."""
    at = {name: value.astype(float).tolist() for name, value in point.items()}
    yours, due = (v if v is not None and math.isfinite(v) else None for v in (yours, due))
    return Witness(at, yours, due, index)


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

    def conclude(self, verdict: str, *remarks: str) -> "Judgement":
        """The verdict, and what is said of it."""
        return replace(self, verdict=verdict, remarks=(*self.remarks, *remarks))

    def settle_right(self, credit: Mapping[str, float], *tags: str) -> "Judgement":
        """A right answer, which earns all unless it was rounded."""
        left = share(credit, ("rounded",), None) if "rounded" in tags else 1.0
        score = self.points * left
        return replace(self, verdict="right", witness=None, diagnosis=None, score=score, tags=tags)

    def attach(self, diagnosis: Diagnosis | None, credit: Mapping[str, float]) -> "Judgement":
        """A wrong answer with what gives just it, and what that leaves of the points."""
        score = self.points * share(credit, self.tags, diagnosis)
        return replace(self, diagnosis=diagnosis, score=score)
