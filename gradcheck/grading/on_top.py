"""A mistake made on top of a wrong part: it is looked for in what leads on from that part.

Who goes on from a wrong gradient of z, and then slips, has made one mistake since z, whatever came
before. The mistakes are made on the way from z on, with the student's own answer for its gradient.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from gradcheck.diagnosis import Diagnosis, explain, prepare
from gradcheck.errors import GradcheckError
from gradcheck.grading.equivalence import BITS
from gradcheck.grading.follow import Among, Wrong, evaluable, following, wrong_parts
from gradcheck.grading.judgement import FAILURES
from gradcheck.grading.key import DIAGNOSTIC, Key, Spot
from gradcheck.numbers.ball import middle
from gradcheck.numbers.run import precision
from gradcheck.opinions.opinion import Array, Case
from gradcheck.problem.record import Part

LARGEST = 2_000  # entries that are differentiated: of more, making every mistake takes too long
SAME = 1e-9  # of the largest entry: all that goes back to the part goes back from the wrong one


def on_top(key: Key, part: Part, answer: Among) -> tuple[Diagnosis, str] | None:
    """The mistake made since a wrong part nearer to the loss, and that part's name.

    None where there is none to be named, and where something reaches the part by another way.
    """
    try:
        wrong, own = wrong_parts(key, answer), evaluable(key, part.name, answer.answer)
        if not wrong or own is None or key.case(0).size() > LARGEST:
            return None
        found = _explained(key, own, wrong)
    except FAILURES:
        return None
    return (found, wrong[-1].name) if found.hypotheses else None


def _explained(key: Key, own: Wrong, wrong: list[Wrong]) -> Diagnosis:
    """What was done wrong between the last wrong part and this one."""
    exact = own.varies and all(each.varies for each in wrong)
    spots = key.spots[: DIAGNOSTIC if exact else 1]
    prepared = prepare([_onward(key, own.name, wrong[-1], spot) for spot in spots])
    given = [(each.name, each.exactly) for each in wrong]
    for spot, right in zip(spots, prepared.right, strict=True):
        follows = _floats(following(key.problem, own.name, given, spot)(BITS[0]))
        level = np.max(np.abs(follows), initial=0.0)
        if not np.allclose(right[own.name], follows, rtol=0, atol=SAME * level):
            raise GradcheckError("something reaches the part by another way")
    with precision(BITS[0]):
        answered = [own.exactly(spot, BITS[0]) for spot in spots]
        slack: Any = 0.0 if exact else _floats(own.rooms(answered[0]))
    return explain(prepared, own.name, [_floats(each) for each in answered], slack=slack)


def _onward(key: Key, part: str, last: Wrong, spot: Spot) -> Case:
    """The program up to the wrong part, with the answer to it as the cotangent."""
    problem = key.problem
    with precision(BITS[0]):
        cotangent = _floats(last.exactly(spot, BITS[0]))

    def function(kind: str, inputs: Any) -> Any:
        return problem.outcome_on(kind, inputs).names[last.name]

    case = problem.case(spot.point)
    return replace(case, function=function, wrt=(part,), cotangent=cotangent)


def _floats(balls: Any) -> Array:
    """The middles of balls."""
    found = np.asarray(balls, dtype=object)
    return np.array([middle(ball) for ball in found.flat], dtype=float).reshape(found.shape)
