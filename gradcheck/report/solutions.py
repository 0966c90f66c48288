"""The right answer to a problem, and how the chain rule leads there, for a student's page.

A ledger keeps what is told of a problem; its function is differentiated anew from that.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from gradcheck.errors import GradcheckError
from gradcheck.numbers.closed import spell
from gradcheck.problem import Problem
from gradcheck.problem.draw import given_point
from gradcheck.problem.load import question
from gradcheck.report.figures import value_text
from gradcheck.texts.forms import formulas
from gradcheck.texts.rewriting import shortest
from gradcheck.texts.steps import derive
from gradcheck.verdict.consult import consult

KEPT = 1_000
FAULTS = (GradcheckError, ArithmeticError, LookupError, TypeError, ValueError, RuntimeError)
Line = tuple[str, str, str]


@dataclass(frozen=True, eq=False)
class Solution:
    """Formulas by part; the chain rule from the inputs up, and from the value down."""

    forms: Sequence[tuple[str, str]]
    forward: Sequence[Line] = ()
    backward: Sequence[Line] = ()


def solve_again(about: Mapping[str, Any], variant: Mapping[str, Any]) -> Solution | None:
    """The solution with a student's own numbers; None where a formula does not say it."""
    if not about.get("plain"):
        return None
    given = [f"{name}={json.dumps(value)}" for name, value in variant.items()]
    own = [each for each in about["given"] if each.partition("=")[0] not in variant]
    parts = tuple(part["name"] for part in about["parts"])
    return _solution(about["program"], (*own, *given), parts)


@lru_cache(maxsize=KEPT)
def _solution(program: str, given: Sequence[str], parts: Sequence[str]) -> Solution | None:
    try:
        asked = question(program, given, parts)
        if any(entry.shape for entry in asked.inputs.values()):
            return _of_arrays(asked)
        whole = question(program, given)  # what is differentiated stands as a letter
        return _of_numbers(whole, parts) or _of_numbers(asked, parts)
    except FAULTS:
        return None


def _of_arrays(problem: Problem) -> Solution | None:
    point = given_point(problem)
    verdict = consult(problem.case(point), write=False)
    if verdict.verdict != "agree":
        return None
    texts = formulas(problem, point, verdict.opinions["reverse"].gradients).texts
    return Solution([(name, texts[name]) for name in problem.wrt if name in texts])


def _of_numbers(problem: Problem, parts: Sequence[str]) -> Solution | None:
    point = given_point(problem)
    verdict = consult(problem.case(point))
    closed = verdict.opinions["symbolic"].closed
    if verdict.verdict != "agree" or any(closed.get(part) is None for part in parts):
        return None
    steps = derive(replace(problem, wrt=tuple(parts)), point)
    return Solution(
        [(part, spell(shortest(np.asarray(closed[part]).item()))) for part in parts],
        [(step.name, step.text, value_text(step.value)) for step in steps.forward],
        [(step.name, step.text, value_text(step.value)) for step in steps.backward],
    )
