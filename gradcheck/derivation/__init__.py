"""The chain rule written out: scalars in formulas, arrays node by node."""

from gradcheck.derivation.arrays import Stage, Walked, walked
from gradcheck.derivation.scalars import Step, Steps, steps
from gradcheck.problem.record import Problem

__all__ = ["Stage", "Step", "Steps", "Walked", "derive", "steps", "walked"]


def derive(problem: Problem) -> Steps | Walked:
    """Formulas where every input is a number, arrays where one has axes."""
    scalar = all(i.shape == () for i in problem.inputs.values())
    return steps(problem) if scalar else walked(problem)
