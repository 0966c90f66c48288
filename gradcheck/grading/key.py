"""The key to a problem: its points, the verdict at each, and the gradients at any precision."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from typing import NamedTuple

import numpy as np

from gradcheck.answers import (
    Entries,
    Formula,
    NumberList,
    Plain,
    read_answer,
)
from gradcheck.answers.answer import Answer
from gradcheck.diagnosis import Prepared, prepare
from gradcheck.errors import GradcheckError
from gradcheck.grading.equivalence import At, Values, floats
from gradcheck.grading.names import (
    assigned_names,
    gradients_named,
    program_values,
    with_named_values,
)
from gradcheck.language.kinds import FORMULAS
from gradcheck.numbers.ball import arbs, middle
from gradcheck.numbers.run import precision
from gradcheck.opinions.differences import differences
from gradcheck.opinions.opinion import Case, NotScalar, Opinion
from gradcheck.opinions.reverse import reverse
from gradcheck.opinions.symbolic import gradients_at, symbolic
from gradcheck.problem.draw import (
    SMALL,
    far_points,
    further_points,
    given_point,
    path_at,
    points_near,
)
from gradcheck.problem.record import Part, Point, Problem, is_training
from gradcheck.training import Reference
from gradcheck.training.preparing import elsewhere, further, programs, run_and_judge
from gradcheck.training.questions import GradientQuestion, question, with_written_leaves
from gradcheck.values import Array, Params, Value
from gradcheck.verdict.consult import Verdict, consult, read

LOOK = 128  # bits, for a look at floats
FLAT = 1e-9  # a gradient that is no better seen than its rounding
POINTS = 8
FAR = 3
RESERVE = 24
DIAGNOSTIC = 4
GOOD = ("agree", "unstable-forward")


class Look(NamedTuple):
    """What floats see at the k-th point: the single numbers there, and the gradient."""

    k: int
    point: Mapping[str, float]
    due: float


class NoKey(GradcheckError):
    """A problem whose own gradient is not beyond doubt is not graded."""


class _Known(dict[str, Array]):
    """The inputs, and what a program makes of them: run when the first such name is looked up."""

    def __init__(
        self,
        inputs: Mapping[str, Array],
        further: Callable[[], Mapping[str, Array]],
        gradients: Mapping[str, Callable[[], Array]],
    ):
        """`further` gives the values that the program names, `gradients` what has its own name."""
        super().__init__(inputs)
        self.further, self.gradients = further, gradients

    def __missing__(self, name: str) -> Array:
        if name in self.gradients:
            return self.setdefault(name, self.gradients[name]())
        for each, value in self.further().items():
            self.setdefault(each, value)
        if name not in self:
            raise GradcheckError(
                f"`{name}` has no value at a point: the program assigns it nowhere"
            )
        return self[name]


@dataclass(frozen=True, eq=False)
class Spot:
    """A point of a problem; its arbs and gradients are remembered for the next answer."""

    problem: Problem
    point: Point
    inputs: dict[int, dict[str, Array]] = field(default_factory=dict)
    gradients: dict[int, Mapping[str, Values]] = field(default_factory=dict)

    def arbs(self, bits: int) -> dict[str, Array]:
        """The inputs as object arrays of arbs, at the precision that is set.

        Values that the program names are among them once they are looked up.
        """
        if bits not in self.inputs:
            values = {name: arbs(value) for name, value in self.given.items()}
            further = partial(program_values, self.problem, self.point)
            parts = gradients_named(self.problem).items()
            gradients = {name: partial(self._gradient, part, bits) for name, part in parts}
            self.inputs[bits] = _Known(values, further, gradients)
        return self.inputs[bits]

    def _gradient(self, part: str, bits: int) -> Array:
        found = np.empty(self.problem.inputs[part].shape, dtype=object)
        found[...] = self.gradient(part)(bits)
        return found

    def values_of(self, words: Collection[str], bits: int) -> dict[str, Array]:
        """Of some words those that are values here: inputs, and names of the program."""
        known = self.arbs(bits)
        return {word: known[word] for word in words if word in self.given or word in self.named}

    @cached_property
    def given(self) -> Point:
        """The inputs here."""
        return self.problem.select_inputs(self.point)

    @cached_property
    def named(self) -> frozenset[str]:
        """What the program calls values by."""
        return frozenset((*assigned_names(self.problem), *gradients_named(self.problem)))

    @cached_property
    def floats(self) -> dict[str, float]:
        """The single numbers here, for a quick look: inputs, and values that the program names."""
        known = dict(self.given)
        with suppress(GradcheckError), precision(LOOK):
            known |= self.values_of(self.named, LOOK)
        return {name: middle(arbs(v).item()) for name, v in known.items() if not np.shape(v)}

    def gradient(self, part: str) -> At:
        """The part's gradient here, as a function of the number of bits."""

        def at(bits: int) -> Values:
            if bits not in self.gradients:
                self.gradients[bits] = _bare(gradients_at(self.problem.case(self.point), bits))
            return self.gradients[bits][part]

        return at

    @cached_property
    def inside(self) -> bool:
        """Whether the point lies in the program's domain and at no kink."""
        return path_at(self.problem, self.point, write=False) is not None


@dataclass(frozen=True, eq=False)
class Key:
    """A problem ready for grading; point 0 is the given one."""

    problem: Problem
    points: tuple[Point, ...]
    verdicts: tuple[Verdict, ...]
    run: Reference | None = None
    questions: dict[str, "Key | None"] = field(default_factory=dict)

    def case(self, k: int) -> Case:
        """The question at point k."""
        return self.problem.case(self.points[k])

    @cached_property
    def spots(self) -> tuple[Spot, ...]:
        """The points at which every formula is compared."""
        return tuple(Spot(self.problem, point) for point in self.points)

    @lru_cache(maxsize=64)  # noqa: B019 - a key is as short-lived as its problem
    def due(self, part: str) -> tuple[At, ...]:
        """The part's gradient at every point, as functions of the number of bits."""
        return tuple(spot.gradient(part) for spot in self.spots)

    @cached_property
    def reserve(self) -> tuple[Spot, ...]:
        """More points, on all scales, for answers whose pieces change their rule somewhere."""
        usual = further_points(self.problem, POINTS + RESERVE)[POINTS:]
        far = far_points(self.problem, RESERVE)[FAR:]
        return tuple(Spot(self.problem, point) for point in (*far, *usual))

    def near(self, numbers: Sequence[Fraction]) -> Iterator[Spot]:
        """Points close to numbers that an answer mentions, perhaps outside the domain."""
        for point in points_near(self.problem, numbers):
            yield Spot(self.problem, point)

    @cached_property
    def scope(self) -> Problem:
        """The problem as answers see it: the values that the program names are inputs too."""
        return with_named_values(self.problem, self.points[0])

    @cached_property
    def gradients_named(self) -> Mapping[str, str]:
        """The parts that are gradients of the program's own values, by what answers call them."""
        return gradients_named(self.problem)

    @lru_cache(maxsize=64)  # noqa: B019 - a key is as short-lived as its problem
    def looks(self, part: Part) -> tuple[Look, ...]:
        """The gradient in floats at the points of the diagnosis where it is not nearly 0.

        None where it is no single finite number. Beside 0 floats tell nothing: rounding is all.
        """
        inputs = self.problem.inputs
        if self.run is not None or part.name not in inputs or inputs[part.name].shape:
            return ()
        found: list[Look] = []
        for k, (spot, due) in enumerate(zip(self.spots, self.due(part.name), strict=True)):
            value = floats(due)
            if value is None or value.shape:
                return tuple(found)
            if abs(value) >= FLAT and (k < DIAGNOSTIC or not found):
                found.append(Look(k, spot.floats, float(value)))
        return tuple(found)

    def values(self, part: Part) -> Iterator[Array]:
        """Values, derivatives and slopes that the program has there, but for constant ones."""
        at = [look.k for look in self.looks(part)]
        for line in self.mistaken.alone:
            if not line.scalar or part.name not in line.shapes or max(at) >= len(line.x):
                continue
            for k, tangent in enumerate(line.tangents):
                derivative = () if tangent is None else (tangent[:, 0],)
                for each in (line.y[k], *derivative, *line.f[k]):
                    if np.all(np.isfinite(each)) and np.ptp(each):
                        yield each[at]

    def read(self, part: Part, answer: Value) -> Answer:
        """How an answer to a part is read; raises TextError at the place where it is not.

        What was read already stays as it is.
        """
        if isinstance(answer, Formula | NumberList | Entries | Plain):
            return answer
        inputs = self.problem.inputs
        asked = self.run is None and part.name in inputs
        return read_answer(
            answer,
            names=self.scope.inputs,
            functions=FORMULAS.functions,
            single=asked and not inputs[part.name].shape,
            by=part.name if part.name in self.problem.wrt else "",
        )

    @property
    def single(self) -> bool:
        """Of a question in a program with events: whether its gradient went back at once."""
        return isinstance(self.problem, GradientQuestion) and self.problem.events == 1

    @property
    def exact(self) -> bool:
        """Whether the closed form proves more than the digits of a float."""
        return not isinstance(self.problem, GradientQuestion) or self.problem.exact

    def gradient(self, part: Part) -> "Key | None":
        """Of a part that reads a gradient: the key to it as a question of its own, if it has one.

        Its only part is named after the leaf.
        """
        if part.name not in self.questions:
            self.questions[part.name] = _question_key(self.problem, part, self.points[0])
        return self.questions[part.name]

    @cached_property
    def further(self) -> tuple[Reference, ...]:
        """What is read at the end of a program with events, at further points."""
        return tuple(further(self.problem, POINTS))

    def stands_at_one_point(self, part: Part) -> bool:
        """Whether a part could be answered by a formula, and that would be seen at one point.

        Nobody writes a formula for what follows from arrays of data alone.
        """
        single = any(not entry.shape for entry in self.problem.inputs.values())
        if self.run is None or part.form == "program" or not single:
            return False
        numeric = isinstance(self.run.trace.values[part.name], np.ndarray)
        return numeric and self.gradient(part) is None and not self.further

    @cached_property
    def elsewhere(self) -> tuple[Reference, ...]:
        """What is asked of a program with events, at further points."""
        return tuple(elsewhere(self.problem))

    @cached_property
    def moved(self) -> "Key | None":
        """The problem with its given letters moved too, for the diagnosis alone; None without any.

        At one value of a letter stories coincide that are told apart by formulas in it.
        """
        places, letters = self.problem.places, {}
        for name, entry in self.problem.inputs.items():
            if entry.shape == () and not entry.varies and not entry.made and name not in places:
                letters[name] = replace(entry, value=None)
        if not letters or self.run is not None:
            return None
        freed = replace(self.problem, inputs={**self.problem.inputs, **letters})
        points = further_points(freed, DIAGNOSTIC)
        return Key(freed, tuple(points), ()) if len(points) == DIAGNOSTIC else None

    @cached_property
    def mistaken(self) -> Prepared:
        """Every mistake made on purpose at the first few points."""
        return prepare([self.case(k) for k in range(min(DIAGNOSTIC, len(self.points)))])

    def noise(self, part: str) -> Value:
        """What float64 loses on each entry at the given point."""
        opinion = self.verdicts[0].opinions["reverse"]
        if opinion.abstains:
            return np.zeros(self.problem.inputs[part].shape)
        return np.nan_to_num(opinion.gradients[part].error, posinf=0.0)


def key(problem: Problem) -> Key:
    """Draw the points and consult the opinions at each; raises NoKey on anything doubtful.

    A formula is compared where the opinions agree; a further point that turns out to be a kink, or
    undecided, is left out. The given point must stand.
    """
    if is_training(problem):
        return _of_a_run(problem)
    return _formula_key(problem, given_point(problem))


def _question_key(problem: Problem, part: Part, point: Point) -> Key | None:
    """The key to the gradient that a part reads; None where it is no question of its own."""
    found = question(problem, part, point)
    try:
        return None if found is None else _formula_key(found, point)
    except (GradcheckError, NotScalar):
        return None


def _formula_key(problem: Problem, first: Point) -> Key:
    """The key to gradients that are functions of the inputs, with the given point."""
    points, verdicts = [first], [_consult_given(problem, first)]
    usual, far = further_points(problem, POINTS - 1), far_points(problem, FAR)
    for is_far, point in ((is_far, p) for is_far, ps in ((False, usual), (True, far)) for p in ps):
        verdict = _consult_further(problem, point, len(points) == 1, is_far)
        if verdict.verdict in GOOD:
            points.append(point)
            verdicts.append(verdict)
    return Key(problem, tuple(points), tuple(verdicts))


def _of_a_run(problem: Problem) -> Key:
    """The key to a program that goes back by itself: one point, a verdict for each event."""
    found = run_and_judge(problem)
    if not programs(problem):
        problem = with_written_leaves(problem, found.point)
        written = [entry for entry in problem.inputs.values() if entry.written is not None]
        values = {entry.name: entry.value for entry in written if entry.value is not None}
        found = replace(found, problem=problem, point={**found.point, **values})
    for event in found.events:
        if event.verdict.verdict not in GOOD:
            why = "; ".join([*(e.why for e in event.verdict.entries[:2]), *event.verdict.notes])
            raise NoKey(f"{problem.id}: {event.verdict.verdict} at {event.label}: {why}")
    return Key(problem, (found.point,), tuple(e.verdict for e in found.events), found)


def _consult_given(problem: Problem, point: Point) -> Verdict:
    """The verdict at the given point, which must be good."""
    verdict = consult(problem.case(point), write=False)
    silent = verdict.opinions["symbolic"].abstains
    if verdict.verdict not in GOOD or silent:
        why = "; ".join(e.why for e in verdict.entries[:2] if e.why) or silent
        raise NoKey(f"{problem.id}: {verdict.verdict} at the given point: {why}")
    return verdict


def _consult_further(problem: Problem, point: Point, fully: bool, far: bool) -> Verdict:
    """The verdict at another point; a dissent at a usual one is never passed over.

    A small problem is asked about fully everywhere; of a large one the closed form is held against
    reverse mode. Far away float64 may overflow: there the closed form is held against differences.
    """
    case = problem.case(point)
    if far and case.size() > SMALL:
        return _consult_quickly(case)
    if far:
        return read(case, [symbolic(case, write=False), differences(case)])
    quick = None if fully or case.size() <= SMALL else _consult_quickly(case)
    if quick is not None and quick.verdict in GOOD:
        return quick
    verdict = consult(case, write=False)
    if verdict.verdict == "dissent":
        why = "; ".join(e.why for e in verdict.entries[:2])
        raise NoKey(f"{problem.id}: the opinions dissent at another point: {why}")
    return verdict


def _consult_quickly(case: Case) -> Verdict:
    opinions: list[Opinion] = [reverse(case), symbolic(case, write=False)]
    return read(case, opinions)


def _bare(gradients: Params) -> dict[str, Values]:
    """Gradients as object arrays of arbs; a single number as a bare arb."""
    return {name: g if g.shape else g.item() for name, g in gradients.items()}
