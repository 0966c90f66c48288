"""The key to a problem: its points, the verdict at each, and the gradients at any precision."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gradcheck.diagnosis import Prepared, prepare
from gradcheck.errors import GradcheckError
from gradcheck.opinions.opinion import Array, Case
from gradcheck.opinions.symbolic import gradients_at
from gradcheck.problem.draw import further_points, given_point
from gradcheck.problem.record import Point, Problem
from gradcheck.verdict import Verdict, consult

POINTS = 10
DIAGNOSTIC = 4
GOOD = ("agree", "unstable-forward")


class NoKey(GradcheckError):
    """A problem whose own gradient is not beyond doubt is not graded."""


@dataclass(frozen=True, eq=False)
class Key:
    """A problem ready for grading; point 0 is the given one."""

    problem: Problem
    points: tuple[Point, ...]
    verdicts: tuple[Verdict, ...]

    def case(self, k: int) -> Case:
        """The question at point k."""
        return self.problem.case(self.points[k])

    def reference(self, k: int, part: str) -> Callable[[int], Array]:
        """The part's gradient at point k, as a function of the number of bits."""

        def at(bits: int) -> Array:
            if (k, bits) not in self._known:
                self._known[k, bits] = gradients_at(self.case(k), bits)
            return self._known[k, bits][part]

        return at

    @cached_property
    def _known(self) -> dict[tuple[int, int], Mapping[str, Array]]:
        return {}

    @cached_property
    def mistaken(self) -> Prepared:
        """Every mistake made on purpose at the first few points."""
        return prepare([self.case(k) for k in range(min(DIAGNOSTIC, len(self.points)))])

    def noise(self, part: str) -> Any:
        """What float64 loses on each entry at the given point."""
        opinion = self.verdicts[0].opinions["reverse"]
        if opinion.abstains:
            return np.zeros(self.problem.inputs[part].shape)
        return np.nan_to_num(opinion.gradients[part].error, posinf=0.0)


def key(problem: Problem) -> Key:
    """Draw the points and consult the three opinions at each; raises NoKey on anything doubtful.

    A formula is compared where the opinions agree; a further point that turns out to be a kink, or
    undecided, is left out. The given point must stand.
    """
    first = given_point(problem)
    verdicts, points = [], []
    for k, point in enumerate([first, *further_points(problem, POINTS - 1)]):
        verdict = consult(problem.case(point), write=False)
        if verdict.verdict == "dissent" or (k == 0 and verdict.verdict not in GOOD):
            why = "; ".join(e.why for e in verdict.entries[:2])
            raise NoKey(f"{problem.id}: {verdict.verdict} at the given point: {why}")
        if verdict.verdict in GOOD:
            verdicts.append(verdict)
            points.append(point)
    return Key(problem, tuple(points), tuple(verdicts))
