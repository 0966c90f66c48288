"""Wrong answers that a teacher has met, and has words for: asked before the catalogue is."""

import numpy as np

from gradcheck.answers import Plain, read_answer
from gradcheck.diagnosis import Diagnosis, Hypothesis
from gradcheck.errors import GradcheckError, TextError
from gradcheck.grading.equivalence import compare, compare_numbers
from gradcheck.grading.formulas.values import Readings, readings
from gradcheck.grading.judgement import FAILURES
from gradcheck.grading.key import Key
from gradcheck.language.kinds import FORMULAS
from gradcheck.mistakes.row import Example, Mistake
from gradcheck.problem.record import Known
from gradcheck.values import Value


def find_known(key: Key, part: str, ready: Readings, varies: bool) -> Diagnosis | None:
    """The teacher's words for an answer that is equal, as a function, to one that is known.

    A number is compared at the given point.
    """
    for each in key.problem.known_answers:
        if part in each.answer and _equal(key, ready, each.answer[part], varies):
            return Diagnosis("unique", (Hypothesis(_mistake(each), None),))
    return None


def _equal(key: Key, ready: Readings, answer: Value, varies: bool) -> bool:
    try:
        read = read_answer(answer, names=key.scope.inputs, functions=FORMULAS.functions)
        if isinstance(read, Plain):
            return False
        other = readings(key.scope, read)
        if not varies:
            first = key.spots[0]
            noise = np.zeros(ready.half_units.shape)
            found = compare_numbers(ready.at(first), ready.half_units, other.at(first), noise)
        else:
            found = compare([*map(ready.at, key.spots)], [*map(other.at, key.spots)])
    except (TextError, GradcheckError, *FAILURES):
        return False
    return found.kind == "equal"


def _mistake(each: Known) -> Mistake:
    says = each.says.replace("{", "{{").replace("}", "}}")
    return Mistake(each.id, "known", lambda right: (), says, Example("", each.answer))
