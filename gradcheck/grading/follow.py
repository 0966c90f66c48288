"""Follow-through: what the chain rule makes of a student's own wrong part is right.

A part nearer to the loss that is wrong is a cotangent to go on with: pushed through the rest of the
program by the closed form, it gives what this student should have got. Where a formula was typed
for it, at every point; numbers speak for the given point alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from flint import arb

from gradcheck.errors import GradcheckError
from gradcheck.grading.equivalence import BITS, At, NoValue, Values, compare, level_of, tolerance
from gradcheck.grading.formula import Readings, box
from gradcheck.grading.judgement import FAILURES, Judgement
from gradcheck.grading.judging import judge
from gradcheck.grading.key import Key
from gradcheck.grading.outputs import ONE_POINT
from gradcheck.grading.spots import Spot
from gradcheck.language.run import RunOutcome
from gradcheck.numbers.run import precision
from gradcheck.opinions.symbolic import gradients_from
from gradcheck.problem.record import Part, Problem
from gradcheck.values import Array, Params, Value

FOLLOWS = "follow-through"
SHARP = 0.01  # of the largest entry: how far rounded numbers may leave open what follows from them
WRONG = ("wrong", "needs-review")


@dataclass(frozen=True)
class Among:
    """An answer, and what its student answered to the parts nearer to the loss."""

    answer: Value
    beside: Params


@dataclass(frozen=True, eq=False)
class AnsweredPart:
    """What was answered to a part, ready to be evaluated; perhaps it follows from another."""

    key: Key
    name: str
    ready: Readings
    follows: str = ""

    @property
    def varies(self) -> bool:
        """Whether it is a function of what varies from point to point."""
        return self.ready.varies(self.key.scope)

    def at(self, spot: Spot, bits: int, *, rounded: bool = False) -> Array:
        """What was answered, at a point; or balls, each of all that may have been rounded to it."""
        found = np.asarray(self.ready.at(spot)(bits), dtype=object)
        if not rounded:
            return found
        pairs = zip(found.flat, self.rooms(found), strict=True)
        return box([arb(ball.mid(), room) for ball, room in pairs], found.shape)

    def rooms(self, found: Array) -> list[arb]:
        """How far each entry may be off that was typed as a number."""
        noise = np.broadcast_to(self.key.noise(self.name), found.shape).flat
        halves = np.broadcast_to(self.ready.half_units, found.shape).flat
        level, entries = level_of(found), zip(found.flat, halves, noise, strict=True)
        return [arb(0) if h is None else tolerance(a, h, float(n), level) for a, h, n in entries]


def among(problem: Problem, part: str, given: Params) -> Value:
    """An answer to a part with all that its judgement depends on; alone, if that is nothing else.

    `given` are the answers to all the problem's parts.
    """
    answer = given.get(part)
    names = problem.nearer(part) if problem.follow_through and answer is not None else ()
    beside = {name: given[name] for name in names if given.get(name) is not None}
    return Among(answer, beside) if beside else answer


def alone(answer: Value) -> Value:
    """An answer without the others that it may stand among."""
    return answer.answer if isinstance(answer, Among) else answer


def follow(key: Key, part: Part, answer: Among, judged: Judgement) -> Judgement | None:
    """The judgement of a wrong answer that follows from wrong parts nearer to the loss; else None.

    Nothing follows where there is no number at a point, or no shape that fits.
    """
    try:
        wrong = [w for name in answer.beside if (w := _find_wrong(key, name, answer.beside))]
        own = AnsweredPart(key, part.name, key.read(part, answer.answer))
        for count in range(len(wrong), 0, -1):  # who got back on the track went on from earlier
            used = wrong[:count]
            exact = own.varies and all(each.varies for each in used)
            if own.ready.plain or not (_fits_everywhere if exact else _fits_here)(own, used):
                continue
            name = [each.name for each in used if not each.follows][-1]
            tags = (FOLLOWS,) if exact or not own.varies else (FOLLOWS, ONE_POINT)
            words = f"follows by the chain rule from the answer to `{name}`"
            right = judged.conclude("right", words).settle_right({}, *tags)
            return replace(right, follows=name)
    except FAILURES:
        pass
    return None


def _find_wrong(key: Key, name: str, given: Params) -> AnsweredPart | None:
    part = key.problem.part(name)
    judged = judge(key, part, given[name], diagnose=False) if part else None
    if part is None or judged is None or judged.verdict not in WRONG:
        return None
    claim = AnsweredPart(key, name, key.read(part, given[name]))
    own = among(key.problem, name, given)
    follows = follow(key, part, own, judged) if isinstance(own, Among) else None
    return None if claim.ready.plain else replace(claim, follows=follows.follows if follows else "")


def _fits_everywhere(own: AnsweredPart, wrong: Sequence[AnsweredPart]) -> bool:
    """Whether a formula is what follows from formulas, at every point; nothing is no answer."""
    spots = own.key.spots
    due = [_go_on_from(own, wrong, spot) for spot in spots]
    if compare([own.ready.at(spot) for spot in spots], due).kind != "equal":
        return False
    with precision(BITS[0]):
        found = (np.asarray(at(BITS[0]), dtype=object) for at in due)
        return not all(0 in ball for values in found for ball in values.flat)


def _fits_here(own: AnsweredPart, wrong: Sequence[AnsweredPart]) -> bool:
    """Whether an answer is what follows from others at the given point, as far as digits say."""
    spot, bits = own.key.spots[0], BITS[0]
    with precision(bits):
        due = np.asarray(_go_on_from(own, wrong, spot, rounded=True)(bits), dtype=object)
        mine, level = own.at(spot, bits), level_of(due)
        if mine.shape != due.shape or not level > 0:
            return False
        return all(
            b.rad() <= SHARP * level and abs(a.mid() - b.mid()) <= room + b.rad()
            for a, b, room in zip(mine.flat, due.flat, own.rooms(mine), strict=True)
        )


def _go_on_from(
    own: AnsweredPart, wrong: Sequence[AnsweredPart], spot: Spot, *, rounded: bool = False
) -> At:
    """What follows for a part from what was answered to others, as a function of the bits."""
    problem = own.key.problem

    def at(bits: int) -> Values:
        try:
            cotangents = [(each.name, each.at(spot, bits, rounded=rounded)) for each in wrong]
        except NoValue as error:
            raise GradcheckError(f"an answer to go on with has no value: {error}") from None
        if any(g.shape != problem.inputs[name].shape for name, g in cotangents):
            raise GradcheckError("an answer of another shape leads nowhere")
        runs: list[RunOutcome] = []

        def function(kind: str, inputs: Params) -> Value:
            runs.append(problem.outcome_on(kind, inputs))
            return runs[-1].value

        case = replace(problem.case(spot.point), function=function)
        found = gradients_from(case, lambda: runs[-1].names, cotangents, bits)[own.name]
        return found if found.shape else found.item()

    return at
