"""Follow-through: what the chain rule makes of a student's own wrong part is right.

A part nearer to the loss that is wrong is a cotangent to go on with: pushed through the rest of the
program by the closed form, it gives what this student should have got. Where a formula was typed
for it, at every point; numbers speak for the given point alone.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from flint import arb

from gradcheck.answers import Plain
from gradcheck.errors import GradcheckError
from gradcheck.grading.equivalence import BITS, At, NoValue, Values, compare, level_of, tolerance
from gradcheck.grading.formula import Readings, box, readings
from gradcheck.grading.judgement import FAILURES, Judgement, settle_right
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
class Wrong:
    """A part's answer, ready to be evaluated; perhaps it follows from another."""

    key: Key
    name: str
    ready: Readings
    follows: str = ""

    @property
    def varies(self) -> bool:
        """Whether it is a function of what varies from point to point."""
        return self.ready.varies(self.key.scope)

    def exactly(self, spot: Spot, bits: int) -> Array:
        """What was answered, at a point."""
        return np.asarray(self.ready.at(spot)(bits), dtype=object)

    def round_off(self, spot: Spot, bits: int) -> Array:
        """The same as balls, each of all that may have been rounded to what was typed."""
        found = self.exactly(spot, bits)
        pairs = zip(found.flat, self.rooms(found).flat, strict=True)
        return box([arb(ball.mid(), room) for ball, room in pairs], found.shape)

    def rooms(self, found: Array) -> Array:
        """How far each entry may be off that was typed as a number."""
        noise = np.broadcast_to(self.key.noise(self.name), found.shape)
        halves = np.broadcast_to(self.ready.half_units, found.shape)
        level, entries = level_of(found), zip(found.flat, halves.flat, noise.flat, strict=True)
        typed = [arb(0) if h is None else tolerance(a, h, float(n), level) for a, h, n in entries]
        return box(typed, found.shape)


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
        wrong = [w for name in answer.beside if (w := _wrong(key, name, answer.beside))]
        own = _evaluable(key, part.name, answer.answer)
        for count in range(len(wrong), 0, -1) if own else ():
            # who got back on the track went on from an earlier one
            assert own is not None
            used = wrong[:count]
            exact = own.varies and all(each.varies for each in used)
            if not (_everywhere(key, own, used) if exact else _here(key, own, used)):
                continue
            name = [each.name for each in used if not each.follows][-1]
            tags = (FOLLOWS,) if exact or not own.varies else (FOLLOWS, ONE_POINT)
            words = f"follows by the chain rule from the answer to `{name}`"
            right, remarks = settle_right(judged, tags=tags), (*judged.remarks, words)
            return replace(right, remarks=remarks, follows=name)
    except FAILURES:
        pass
    return None


def _wrong(key: Key, name: str, given: Params) -> Wrong | None:
    """A part nearer to the loss, if it is wrong and can be gone on with."""
    part = key.problem.part(name)
    if part is None:
        return None
    judged = judge(key, part, given[name], diagnose=False)
    ready = _evaluable(key, name, given[name]) if judged.verdict in WRONG else None
    own = among(key.problem, name, given)
    follows = follow(key, part, own, judged) if ready and isinstance(own, Among) else None
    return replace(ready, follows=follows.follows) if ready and follows else ready


def _evaluable(key: Key, name: str, answer: Value) -> Wrong | None:
    """An answer ready to be evaluated; None where it is no number and no formula."""
    part = key.problem.part(name)
    read = Plain(None) if part is None else key.read(part, answer)
    return None if isinstance(read, Plain) else Wrong(key, name, readings(key.scope, read))


def _everywhere(key: Key, own: Wrong, wrong: Sequence[Wrong]) -> bool:
    """Whether a formula is what follows from formulas, at every point; nothing is no answer."""
    given = {each.name: each.exactly for each in wrong}
    due = [_following(key.problem, own.name, given, spot) for spot in key.spots]
    if compare([own.ready.at(spot) for spot in key.spots], due).kind != "equal":
        return False
    with precision(BITS[0]):
        found = (np.asarray(at(BITS[0]), dtype=object) for at in due)
        return not all(0 in ball for values in found for ball in values.flat)


def _here(key: Key, own: Wrong, wrong: Sequence[Wrong]) -> bool:
    """Whether an answer is what follows from others at the given point, as far as digits say."""
    spot, bits = key.spots[0], BITS[0]
    given = {each.name: each.round_off for each in wrong}
    with precision(bits):
        due = np.asarray(_following(key.problem, own.name, given, spot)(bits), dtype=object)
        mine, level = own.exactly(spot, bits), level_of(due)
        if mine.shape != due.shape or not level > 0:
            return False
        entries = zip(mine.flat, due.flat, own.rooms(mine).flat, strict=True)
        return all(
            b.rad() <= SHARP * level and abs(a.mid() - b.mid()) <= room + b.rad()
            for a, b, room in entries
        )


def _following(
    problem: Problem, part: str, given: Mapping[str, Callable[[Spot, int], Array]], spot: Spot
) -> At:
    """What follows for a part from what was answered to others, as a function of the bits."""

    def at(bits: int) -> Values:
        try:
            cotangents = [(name, answered(spot, bits)) for name, answered in given.items()]
        except NoValue as error:
            raise GradcheckError(f"an answer to go on with has no value: {error}") from None
        if any(g.shape != problem.inputs[name].shape for name, g in cotangents):
            raise GradcheckError("an answer of another shape leads nowhere")
        runs: list[RunOutcome] = []

        def function(kind: str, inputs: Params) -> Value:
            runs.append(problem.outcome_on(kind, inputs))
            return runs[-1].value

        case = replace(problem.case(spot.point), function=function)
        found = gradients_from(case, lambda: runs[-1].names, cotangents, bits)[part]
        return found if found.shape else found.item()

    return at
