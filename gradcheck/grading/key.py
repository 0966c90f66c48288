"""The key to a problem: its points, the verdict at each, and the gradients at any precision."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import chain, combinations, islice
from typing import NamedTuple

import numpy as np

from gradcheck import answers, training
from gradcheck.answers.answer import Answer
from gradcheck.diagnosis import Prepared, prepare
from gradcheck.diagnosis.lint import Finding, find_blind
from gradcheck.errors import GradcheckError
from gradcheck.grading.equivalence import At, find_floats
from gradcheck.grading.formula import Readings, make_readings
from gradcheck.grading.spots import Spot, list_gradients, list_shapes
from gradcheck.language.kinds import FORMULAS
from gradcheck.mistakes.row import VAGUE
from gradcheck.opinions.differences import differences
from gradcheck.opinions.opinion import Case, NotScalar, Opinion
from gradcheck.opinions.reverse import reverse
from gradcheck.opinions.symbolic import symbolic
from gradcheck.problem import draw
from gradcheck.problem.record import Input, Part, Point, Problem, is_training
from gradcheck.training import preparing, questions
from gradcheck.values import Array, Value
from gradcheck.verdict.consult import Verdict, consult, read

FLAT = 1e-9  # a gradient that is no better seen than its rounding
POINTS = 8
FAR = 3
RESERVE = 24
ASIDE = 1
DIAGNOSTIC = 4
GOOD = ("agree", "unstable-forward")
TRIES = 200  # draws for one student
SAMPLE = 12  # variants that stand for all of them
KEPT = 10_000
Hidden = tuple[str, ...]  # ("invisible", id) or ("alike", id, id)


class Look(NamedTuple):
    """What floats see at the k-th point: the single numbers there, and the gradient."""

    k: int
    point: Mapping[str, float]
    due: float


@dataclass(frozen=True, eq=False)
class Key:
    """A problem ready for grading; point 0 is the given one."""

    problem: Problem
    points: tuple[Point, ...]
    verdicts: tuple[Verdict, ...]
    run: training.Reference | None = None

    def case(self, k: int) -> Case:
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
        usual = draw.draw_further_points(self.problem, POINTS + RESERVE)[POINTS:]
        far = draw.draw_far_points(self.problem, RESERVE)[FAR:]
        return tuple(Spot(self.problem, point) for point, _ in (*far, *usual))

    @cached_property
    def aside(self) -> tuple[Spot, ...]:
        """Points at no decimals, as those that are drawn and read well are."""
        moved = (Spot(self.problem, at) for at in draw.draw_points_aside(self.problem, self.points))
        return tuple(islice((spot for spot in moved if spot.inside), ASIDE))

    @cached_property
    def scope(self) -> Mapping[str, Input]:
        """What answers may name: inputs, and the values that the program names.

        A declared input comes first. What is made of a gradient is no name: it is the answer.
        """
        inputs, sizes = self.problem.inputs, list_shapes(self.problem, self.points[0])
        sizes |= {name: inputs[part].shape for name, part in self.gradients_named.items()}
        more = {n: Input(n, None, shape, requires_grad=False) for n, shape in sizes.items()}
        places = {name: replace(inputs[name], place=True) for name in self.problem.places}
        return {**more, **self.problem.select_inputs(inputs), **places}

    @cached_property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        return {name: entry.shape for name, entry in self.scope.items()}

    @cached_property
    def gradients_named(self) -> Mapping[str, str]:
        """The parts that are gradients of the program's own values, by what answers call them."""
        return list_gradients(self.problem)

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
            value = find_floats(due)
            if value is None or value.shape:
                return tuple(found)
            if abs(value) >= FLAT and (k < DIAGNOSTIC or not found):
                found.append(Look(k, spot.floats, float(value)))
        return tuple(found)

    def read(self, part: Part, answer: Value) -> Readings:
        """An answer to a part, read and made ready; TextError at the place where it cannot be.

        What was read already stays as it is.
        """
        if not isinstance(answer, Answer):
            verdicts = () if self.run else self.verdicts  # of what is only read there are none
            known = verdicts[0].parts[part.name].gradient if verdicts else None
            own = {*part.name.split(".")} <= {*self.problem.wrt}  # by x, or by x and by y
            answer = answers.read_answer(
                answer,
                names=self.scope,
                functions=FORMULAS.functions,
                by=part.name if own and not self.problem.jacobian else "",
                due=None if known is None else np.shape(known.value),
            )
        return make_readings(self.shapes, answer)

    @property
    def single(self) -> bool:
        """Of a question in a program with events: whether its gradient went back at once."""
        return isinstance(self.problem, questions.GradientQuestion) and self.problem.events == 1

    @property
    def exact(self) -> bool:
        """Whether the closed form proves more than the digits of a float."""
        return not isinstance(self.problem, questions.GradientQuestion) or self.problem.exact

    @lru_cache(maxsize=64)  # noqa: B019 - a key is as short-lived as its problem
    def gradient(self, part: Part) -> "Key | None":
        """Of a part that reads a gradient: the key to it as a question of its own, if it has one.

        Its only part is named after the leaf.
        """
        found = questions.make_question(self.problem, part, self.points[0])
        try:
            return None if found is None else _prepare_formula(found, self.points[0])
        except (GradcheckError, NotScalar):
            return None

    def ask(self, part: Part) -> "tuple[Key, Part]":
        """A part, as a gradient like any other where it is one that a program reads."""
        question = None if self.run is None or part.form == "program" else self.gradient(part)
        if question is None or not question.exact:
            return self, part
        return question, question.problem.parts[0]

    @cached_property
    def further(self) -> tuple[training.Reference, ...]:
        """What is read at the end of a program with events, at further points."""
        return tuple(preparing.draw_further(self.problem, POINTS))

    @cached_property
    def elsewhere(self) -> tuple[training.Reference, ...]:
        """What is asked of a program with events, at further points."""
        return tuple(preparing.draw_elsewhere(self.problem))

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
        points = [point for point, _ in draw.draw_further_points(freed, DIAGNOSTIC)]
        return Key(freed, tuple(points), ()) if len(points) == DIAGNOSTIC else None

    @cached_property
    def mistaken(self) -> Prepared:
        """Every mistake made on purpose at the first few points."""
        return prepare([self.problem.case(point) for point in self.points[:DIAGNOSTIC]])

    def noise(self, part: str) -> Array:
        """What float64 loses on each entry at the given point."""
        opinion = self.verdicts[0].opinions["reverse"]
        if opinion.abstains:
            return np.zeros(self.problem.inputs[part].shape)
        return np.asarray(np.nan_to_num(opinion.gradients[part].error, posinf=0.0))


# -- making one ------------------------------------------------------------------------------------


def make_key(problem: Problem) -> Key:
    """Draw the points and consult the opinions at each; raises GradcheckError on any doubt.

    A formula is compared where the opinions agree; a further point that turns out to be a kink, or
    undecided, is left out. The given point must stand.
    """
    if not is_training(problem):
        return _prepare_formula(problem, draw.draw_given_point(problem))
    found = preparing.run_and_judge(problem)
    if not problem.programs:
        problem = questions.add_written_leaves(problem, found.point)
        written = (entry for entry in problem.inputs.values() if entry.written is not None)
        values = {entry.name: entry.value for entry in written if entry.value is not None}
        found = replace(found, problem=problem, point={**found.point, **values})
    for event in found.events:
        if event.verdict.verdict not in GOOD:
            why = "; ".join([*(e.why for e in event.verdict.entries[:2]), *event.verdict.notes])
            raise GradcheckError(f"{event.verdict.verdict} at {event.label}: {why}")
    return Key(problem, (found.point,), tuple(e.verdict for e in found.events), found)


def _prepare_formula(problem: Problem, first: Point) -> Key:
    """The key to gradients that are functions of the inputs, with the given point."""
    points, verdicts = [first], [consult(problem.case(first), write=False)]
    given, silent = verdicts[0], verdicts[0].opinions["symbolic"].abstains
    if given.verdict not in GOOD or silent or problem.order == 2:
        draw.check_value(problem, first)  # says where what fails stands
    if given.verdict not in GOOD or silent:
        why = "; ".join(e.why for e in given.entries[:2] if e.why) or silent
        raise GradcheckError(f"{given.verdict} at the given point: {why}")
    usual, far = draw.draw_further_points(problem, POINTS - 1), draw.draw_far_points(problem, FAR)
    for k, (point, closed) in enumerate(chain(usual, far)):
        verdict = _consult_further(problem, point, closed, len(points) == 1, k >= len(usual))
        if verdict.verdict in GOOD:
            points.append(point)
            verdicts.append(verdict)
    return Key(problem, tuple(points), tuple(verdicts))


def _consult_further(
    problem: Problem, point: Point, closed: Opinion | None, fully: bool, far: bool
) -> Verdict:
    """The verdict at another point; a dissent at a usual one is never passed over.

    `closed` is the closed form's opinion there, where it was formed when the point was drawn.

    A small problem is asked about fully everywhere; of a large one the closed form is held against
    reverse mode. Far away float64 may overflow: there the closed form is held against differences.
    """
    case = problem.case(point)
    if case.size() > draw.SMALL and (far or not fully):
        quick = read(case, [reverse(case), closed or symbolic(case, write=False)])
        if far or quick.verdict in GOOD:
            return quick
    if far:
        return read(case, [closed or symbolic(case, write=False), differences(case)])
    verdict = consult(case, write=False, closed=closed)
    if verdict.verdict == "dissent":
        why = "; ".join(e.why for e in verdict.entries[:2])
        raise GradcheckError(f"the opinions dissent at another point: {why}")
    return verdict


# -- which variant a student gets: the first that can be graded, and hides nothing of its own ------


def find_variant(problem: Problem, student: str) -> Problem:
    """The student's own problem, by the name; the problem itself where nothing is drawn."""
    return draw.with_draw(problem, draw_for(problem, student))


def draw_for(problem: Problem, student: str) -> draw.Draw:
    """Which of the choices a student has; empty where there are none."""
    if not problem.choices:
        return ()
    tried = dict.fromkeys(draw.draw(problem, student, k) for k in range(TRIES))
    return next((each for each in tried if is_admitted(problem, each)), _fall_back(problem))


def is_admitted(problem: Problem, drawn: draw.Draw) -> bool:
    """Whether a variant can be graded, and shows whatever the others show."""
    found = find_hidden(problem, drawn)
    return found is not None and found <= find_usual(problem)


@lru_cache(maxsize=KEPT)
def find_hidden(problem: Problem, drawn: draw.Draw) -> frozenset[Hidden] | None:
    """What a variant cannot show or tell apart; None where it cannot be graded."""
    try:
        ready = make_key(draw.with_draw(problem, drawn))
    except (GradcheckError, ValueError, ArithmeticError):
        return None
    return frozenset(each for found in list_findings(ready) if found.cure for each in _split(found))


@lru_cache(maxsize=KEPT)
def find_usual(problem: Problem) -> frozenset[Hidden]:
    """What no variant of a sample shows: a matter of the problem, not of its values."""
    found = [find_hidden(problem, drawn) for drawn in draw.sample_draws(problem, SAMPLE)]
    known = [each for each in found if each is not None]
    return frozenset.intersection(*known) if known else frozenset()


@lru_cache(maxsize=KEPT)
def _fall_back(problem: Problem) -> draw.Draw:
    """The variant that hides least, for a problem of which every variant hides something."""
    drawn = draw.sample_draws(problem, SAMPLE)
    known = {each: found for each in drawn if (found := find_hidden(problem, each)) is not None}
    return min(known, key=lambda each: len(known[each]), default=drawn[0])


def list_findings(ready: Key) -> tuple[Finding, ...]:
    """What no answer to a problem could show; what has no cure is no fault of the problem."""
    if ready.run is not None:
        return preparing.find_blind(ready.run)
    try:
        return find_blind([ready.problem.case(point) for point in ready.points[:DIAGNOSTIC]])
    except GradcheckError as error:
        return (Finding("invisible", (), None, why=str(error)),)


def _split(found: Finding) -> Iterator[Hidden]:
    """A finding in comparable pieces: each mistake, or each pair that looks alike.

    Vague mistakes are left out: they are named only where nothing else fits.
    """
    ids = sorted({row.id for row in found.mistakes if row.rank < VAGUE})
    if found.kind == "invisible":
        yield from (("invisible", id) for id in ids)
    else:
        yield from (("alike", *pair) for pair in combinations(ids, 2))
