"""The chain rule written out: scalars in formulas, arrays node by node."""

from gradcheck.derivation.again import Twice, twice
from gradcheck.derivation.arrays import Stage, Walked, walked
from gradcheck.derivation.scalars import Step, Steps, steps
from gradcheck.problem.record import Point, Problem

__all__ = ["Stage", "Step", "Steps", "Twice", "Walked", "derive"]


def derive(problem: Problem, point: Point) -> Steps | Walked | Twice:
    """The chain rule at a point: formulas where every input is a number, else arrays.

    Of a Jacobian, or of second derivatives, each entry by every named value.
    """
    point, problem = problem.given(point), problem.plain
    if problem.has_rows:
        return twice(problem, point)
    scalar = all(i.shape == () for i in problem.inputs.values())
    return steps(problem, point) if scalar else walked(problem, point)
