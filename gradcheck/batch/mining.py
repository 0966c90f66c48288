"""What stands behind the answers that no mistake gives: groups of equals, and what was read.

Answers that are equal at every point are one group, however they are spelled. For each, every small
change of the program is tried: the simplest one whose derivative the answers are is proposed.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from flint import arb

from gradcheck.answers import Formula, Plain, echo, read_answer, read_formula
from gradcheck.answers.repairs import repairs
from gradcheck.batch.ledger import Ledger
from gradcheck.batch.marked import distinct
from gradcheck.errors import GradcheckError
from gradcheck.grading.formulas.values import floats, readings
from gradcheck.grading.judgement import FAILURES
from gradcheck.grading.key import Spot
from gradcheck.grading.names import with_named_values
from gradcheck.grading.working import derivative
from gradcheck.language.kinds import FORMULAS
from gradcheck.numbers.ball import middle
from gradcheck.numbers.run import precision
from gradcheck.problem import Problem
from gradcheck.problem.draw import further_points, given_point
from gradcheck.problem.question import question

POINTS = 4
ALIKE = 1e-9  # relative: answers are known as floats of exact values
BITS = 128


@dataclass
class Group:
    """Unnamed answers to one part that are equal, how many gave each, and the program they fit."""

    problem: str
    part: str
    program: str
    answers: dict[str, int] = field(default_factory=dict)
    proposed: str = ""

    @property
    def count(self) -> int:
        """How many students gave one of them."""
        return sum(self.answers.values())


def mined(ledger: Ledger) -> list[Group]:
    """The groups of a batch's unnamed answers, the largest first."""
    unnamed: dict[tuple[str, str], dict[str, int]] = {}
    for marked, number in distinct(ledger):
        said = marked.told()
        if said["certainty"] == "unnamed" and isinstance(said["answer"], str):
            answers = unnamed.setdefault((marked.problem, marked.part), {})
            text = said["understood"] or said["answer"]
            answers[text] = answers.get(text, 0) + number
    about = ledger.problems()
    found = [
        group
        for (id, part), answers in unnamed.items()
        if id in about
        for group in _groups(id, part, about[id], answers)
    ]
    return sorted(found, key=lambda group: (-group.count, group.problem, group.part))


def _groups(
    id: str, part: str, about: Mapping[str, Any], answers: Mapping[str, int]
) -> Iterator[Group]:
    """The groups of one part's answers; each by itself where the problem cannot be read again."""
    program = about["program"].strip()
    try:
        problem = question(program, about.get("given", ()), [part])
        spots = _spots(problem)
    except FAILURES:
        yield from (Group(id, part, program, {text: n}) for text, n in answers.items())
        return
    found: list[tuple[np.ndarray[Any, Any] | None, Group]] = []
    for text, number in answers.items():
        values = _values(problem, spots, text)
        group = next((g for v, g in found if _alike(v, values)), None)
        if group is None:
            group = Group(id, part, program)
            found.append((values, group))
        group.answers[text] = number
    _propose(problem, part, spots, [(v, g) for v, g in found if v is not None and v.ndim == 1])
    yield from (group for _, group in found)


def _spots(problem: Problem) -> list[Spot]:
    points = [given_point(problem), *further_points(problem, POINTS)]
    return [Spot(problem, point) for point in points]


def _values(problem: Problem, spots: Sequence[Spot], text: str) -> np.ndarray[Any, Any] | None:
    """An answer at all points; None where it has no values there."""
    scope = with_named_values(problem, spots[0].point)
    try:
        read = read_answer(text, names=scope.inputs, functions=FORMULAS.functions)
        if isinstance(read, Plain):
            return None
        ready = readings(scope, read)
        found = [floats(ready.at(spot)) for spot in spots]
        return None if any(v is None for v in found) else np.array(found)
    except FAILURES:
        return None


def _alike(one: np.ndarray[Any, Any] | None, other: np.ndarray[Any, Any] | None) -> bool:
    if one is None or other is None or one.shape != other.shape:
        return False
    return bool(np.all(np.abs(one - other) <= ALIKE * np.maximum(np.abs(one), np.abs(other))))


def _propose(
    problem: Problem,
    part: str,
    spots: Sequence[Spot],
    groups: Sequence[tuple[np.ndarray[Any, Any], Group]],
) -> None:
    """Give each group the first small change of the program whose derivative it is."""
    for text, slope in _misread(problem, part) if groups else ():
        first = _at(slope, spots[0])
        for values, group in groups:
            if group.proposed or first is None or not _near(first, values[0]):
                continue
            slopes = [_at(slope, spot) for spot in spots]
            if all(s is not None and _near(s, v) for s, v in zip(slopes, values, strict=True)):
                group.proposed = text


def _near(one: float, other: float) -> bool:
    return abs(one - other) <= ALIKE * max(abs(one), abs(other))


def _misread(problem: Problem, part: str) -> Iterator[tuple[str, Callable[[Spot, int], arb]]]:
    """Programs that differ from a problem's in one place, and their derivatives."""
    names = [name for name, entry in problem.inputs.items() if entry.shape == ()]
    read = read_formula(problem.program.source, names=names, functions=FORMULAS.functions)
    for each in repairs(read.tree, names):
        text = echo(each.tree)
        formula = Formula(text, each.tree, text, (), None)
        try:
            yield text, derivative(problem, formula, part)
        except GradcheckError:
            continue


def _at(slope: Callable[[Spot, int], arb], spot: Spot) -> float | None:
    try:
        with precision(BITS):
            return middle(slope(spot, BITS))
    except FAILURES:
        return None
