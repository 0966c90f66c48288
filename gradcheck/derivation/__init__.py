"""The chain rule written out: scalars in formulas, arrays node by node."""

from typing import TYPE_CHECKING

from gradcheck.problem.record import Point, Problem

if TYPE_CHECKING:  # one of them is imported, when it is asked for
    from gradcheck.derivation.again import Twice
    from gradcheck.derivation.arrays import Walked
    from gradcheck.derivation.scalars import Steps

__all__ = ["derive"]


def derive(problem: Problem, point: Point) -> "Steps | Walked | Twice":
    """The chain rule at a point: formulas where every input is a number, else arrays.

    Of a Jacobian, or of second derivatives, each entry by every named value.
    """
    from gradcheck.derivation.again import twice  # noqa: PLC0415
    from gradcheck.derivation.arrays import walked  # noqa: PLC0415
    from gradcheck.derivation.scalars import steps  # noqa: PLC0415

    point, problem = problem.given(point), problem.plain
    if problem.has_rows:
        return twice(problem, point)
    scalar = all(i.shape == () for i in problem.inputs.values())
    return steps(problem, point) if scalar else walked(problem, point)
