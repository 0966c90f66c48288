"""Follow-through: what the chain rule makes of a student's own wrong part is right.

A part nearer to the loss that is wrong is a cotangent to go on with: pushed through the rest of the
program by the closed form, it gives what this student should have got. Where a formula was typed
for it, at every point; numbers speak for the given point alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from flint import arb

from gradcheck.answers import Plain
from gradcheck.errors import GradcheckError
from gradcheck.grading.equivalence import BITS, At, NoValue, Values, compare, tolerance
from gradcheck.grading.formulas.values import Readings, box, readings
from gradcheck.grading.judgement import FAILURES, Judgement
from gradcheck.grading.judging import judge
from gradcheck.grading.key import Key, Spot
from gradcheck.grading.outputs import ONE_POINT
from gradcheck.language.run import RunOutcome
from gradcheck.numbers.run import precision
from gradcheck.opinions.symbolic import gradients_from
from gradcheck.problem.record import Part, Problem
from gradcheck.values import Array, Params, Value

Answered = Callable[[Spot, int], Array]

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
    """A wrong part nearer to the loss, ready to be evaluated; perhaps it follows from another."""

    key: Key
    name: str
    ready: Readings
    follows: str = ""

    @property
    def varies(self) -> bool:
        """Whether it is a function of what varies from point to point."""
        inputs = self.key.scope.inputs
        return any(inputs[name].varies for name in self.ready.names & inputs.keys())

    def exactly(self, spot: Spot, bits: int) -> Array:
        """What was answered, at a point."""
        return np.asarray(self.ready.at(spot)(bits), dtype=object)

    def round_off(self, spot: Spot, bits: int) -> Array:
        """The same as balls, each of all that may have been rounded to what was typed."""
        found = self.exactly(spot, bits)
        rooms = self.rooms(found)
        pairs = zip(found.flat, rooms.flat, strict=True)
        return box([arb(ball.mid(), room) for ball, room in pairs], found.shape)

    def rooms(self, found: Array) -> Array:
        """How far each entry may be off that was typed as a number."""
        noise = np.broadcast_to(np.asarray(self.key.noise(self.name)), found.shape)
        halves = np.broadcast_to(self.ready.half_units, found.shape)
        level = max((abs(ball.mid()) for ball in found.flat), default=arb(0))
        entries = zip(found.flat, halves.flat, noise.flat, strict=True)
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
        return _follow_wrong(key, part, answer, judged)
    except FAILURES:
        return None


def _follow_wrong(key: Key, part: Part, answer: Among, judged: Judgement) -> Judgement | None:
    """The same; raises what the evaluation of answers may raise."""
    wrong = wrong_parts(key, answer)
    own = evaluable(key, part.name, answer.answer)
    if not wrong or own is None:
        return None
    for count in range(len(wrong), 0, -1):  # who got back on the track went on from an earlier one
        if (found := _from(key, own, wrong[:count])) is not None:
            return _right(judged, *found)
    return None


def _from(key: Key, own: Wrong, wrong: Sequence[Wrong]) -> tuple[str, tuple[str, ...]] | None:
    """The part that an answer follows from, and its tags; None where it does not follow."""
    exact = own.varies and all(each.varies for each in wrong)
    if not (_everywhere(key, own, wrong) if exact else _here(key, own, wrong)):
        return None
    name = [each.name for each in wrong if not each.follows][-1]
    return name, (FOLLOWS,) if exact or not own.varies else (FOLLOWS, ONE_POINT)


def _right(judged: Judgement, name: str, tags: tuple[str, ...]) -> Judgement:
    """The judgement of an answer that follows from a part."""
    remarks = (*judged.remarks, f"follows by the chain rule from the answer to `{name}`")
    right = replace(judged, verdict="right", score=judged.points, witness=None, diagnosis=None)
    return replace(right, remarks=remarks, tags=tags, follows=name)


def wrong_parts(key: Key, answer: Among) -> list[Wrong]:
    """The wrong parts that an answer stands among, the nearest to the loss first."""
    return [each for name in answer.beside for each in _wrong(key, name, answer.beside)]


def _wrong(key: Key, name: str, given: Params) -> list[Wrong]:
    """A part nearer to the loss, if it is wrong and can be gone on with."""
    part = key.problem.part(name)
    if part is None:
        return []
    judged = judge(key, part, given[name], diagnose=False)
    ready = evaluable(key, name, given[name]) if judged.verdict in WRONG else None
    if ready is None:
        return []
    own = among(key.problem, name, given)
    follows = follow(key, part, own, judged) if isinstance(own, Among) else None
    return [replace(ready, follows=follows.follows if follows else "")]


def evaluable(key: Key, name: str, answer: Value) -> Wrong | None:
    """An answer ready to be evaluated; None where it is no number and no formula."""
    part = key.problem.part(name)
    if part is None:
        return None
    read = key.read(part, answer)
    return None if isinstance(read, Plain) else Wrong(key, name, readings(key.scope, read))


def _everywhere(key: Key, own: Wrong, wrong: Sequence[Wrong]) -> bool:
    """Whether a formula is what follows from formulas, at every point; nothing is no answer."""
    given = [(each.name, each.exactly) for each in wrong]
    due = [following(key.problem, own.name, given, spot) for spot in key.spots]
    outcome = compare([own.ready.at(spot) for spot in key.spots], due)
    return outcome.kind == "equal" and not all(map(_vanishes, due))


def _vanishes(due: At) -> bool:
    with precision(BITS[0]):
        return all(0 in ball for ball in np.asarray(due(BITS[0]), dtype=object).flat)


def _here(key: Key, own: Wrong, wrong: Sequence[Wrong]) -> bool:
    """Whether an answer is what follows from others at the given point, as far as digits say."""
    spot, bits = key.spots[0], BITS[0]
    given = [(each.name, each.round_off) for each in wrong]
    with precision(bits):
        due = np.asarray(following(key.problem, own.name, given, spot)(bits), dtype=object)
        mine = own.exactly(spot, bits)
        level = max((abs(ball.mid()) for ball in due.flat), default=arb(0))
        if mine.shape != due.shape or not level > 0:
            return False
        entries = zip(mine.flat, due.flat, own.rooms(mine).flat, strict=True)
        return all(
            b.rad() <= SHARP * level and abs(a.mid() - b.mid()) <= room + b.rad()
            for a, b, room in entries
        )


def following(problem: Problem, part: str, given: Sequence[tuple[str, Answered]], spot: Spot) -> At:
    """What follows for a part from what was answered to others, as a function of the bits."""

    def at(bits: int) -> Values:
        try:
            cotangents = [(name, answered(spot, bits)) for name, answered in given]
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
