"""What is said of one answer, and the words and points that every way to judge shares."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from gradcheck.diagnosis import Diagnosis
from gradcheck.errors import GradcheckError
from gradcheck.grading.equivalence import Array
from gradcheck.grading.key import Key
from gradcheck.grading.scoring import share

# A verdict stands whatever happens to its explanation: nothing stops a batch.
FAILURES = (GradcheckError, ArithmeticError, LookupError, TypeError, ValueError)


@dataclass(frozen=True)
class Witness:
    """A point at which the answer is proven to be another one; None: no value there."""

    at: Mapping[str, Any]
    yours: float | None
    expected: float | None
    index: tuple[int, ...] = ()


@dataclass(frozen=True)
class Judgement:
    """What is said of one answer; `places` are those of mistakes in an answer that is a program.

    `variant` are the values that are drawn for the student, where the problem has choices.
    `follows` is the part from whose own wrong gradient this one is what the chain rule makes,
    `line` the first line of working that does not hold.
    """

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
    tags: tuple[str, ...] = ()
    places: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    variant: Mapping[str, Any] = field(default_factory=dict)
    follows: str = ""
    line: int | None = None


def said(base: Judgement, verdict: str, remark: str) -> Judgement:
    return replace(base, verdict=verdict, remarks=(*base.remarks, remark))


def earned(key: Key, tags: tuple[str, ...]) -> float:
    """What a right answer earns: all, unless it was rounded."""
    return share(key.problem.credit, ("rounded",), None) if "rounded" in tags else 1.0


def shown(value: Array) -> Any:
    return np.array([float(Fraction(v)) for v in value.flat]).reshape(value.shape).tolist()
