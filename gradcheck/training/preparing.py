"""A problem with events, ready for grading: its trace, how exact it is, and every event judged."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from gradcheck.problem.record import Point, Problem
from gradcheck.training.crosscheck import check_on_engine
from gradcheck.training.events import Judged, judged
from gradcheck.training.making import Replays, all_replays
from gradcheck.training.trace import Trace, noise, point_of, trace


@dataclass(frozen=True, eq=False)
class Reference:
    """The answers to what is asked, `noise` being what float64 loses on each number."""

    problem: Problem
    point: Point
    trace: Trace
    noise: Mapping[str, Any]
    events: tuple[Judged, ...]

    @cached_property
    def mistaken(self) -> Replays:
        """The program with every mistake of the training loop made in it."""
        return all_replays(self.problem, self.point, self.trace)


def prepared(problem: Problem) -> Reference:
    """Run a program, judge its events; raises GradcheckError where the program cannot be run."""
    point = point_of(problem)
    right = trace(problem, point)
    check_on_engine(problem, point, right)
    lost = noise(problem, point, right)
    events = tuple(judged(call) for call in right.calls)
    return Reference(problem, point, right, lost, events)
