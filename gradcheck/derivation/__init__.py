"""The chain rule written out: scalars in formulas, arrays node by node."""

from gradcheck.derivation.arrays import Stage, Walked, walked
from gradcheck.derivation.scalars import Step, Steps, steps
from gradcheck.problem.record import Point, Problem

__all__ = ["Stage", "Step", "Steps", "Walked", "derive", "steps", "walked"]


def derive(problem: Problem, point: Point) -> Steps | Walked:
    """The chain rule at a point: formulas where every input is a number, else arrays."""
    point, problem = problem.given(point), problem.plain
    scalar = all(i.shape == () for i in problem.inputs.values())
    return steps(problem, point) if scalar else walked(problem, point)
