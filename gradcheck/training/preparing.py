"""A problem with events, ready for grading: its trace, how exact it is, and every event judged."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gradcheck.errors import GradcheckError
from gradcheck.problem.draw import SCALES, decimals
from gradcheck.problem.record import Point, Problem
from gradcheck.training.events import Event, judge_calls
from gradcheck.training.making import Replays, all_replays
from gradcheck.training.trace import Trace, finite, firm, noise, point_of, trace
from gradcheck.verdict.consult import VERDICTS

TRIES = 3  # points that are tried for each that is wanted


@dataclass(frozen=True, eq=False)
class Reference:
    """The answers to what is asked, `noise` being what float64 loses on each number."""

    problem: Problem
    point: Point
    trace: Trace
    noise: Mapping[str, Any]
    events: tuple[Event, ...]

    @property
    def verdict(self) -> str:
        """The gravest verdict of all events; agreement where nothing goes back."""
        said = (event.verdict.verdict for event in self.events)
        return max(said, key=VERDICTS.index, default="agree")

    @cached_property
    def mistaken(self) -> Replays:
        """The program with every mistake of the training loop made in it."""
        return all_replays(self.problem, self.point, self.trace)


def further(problem: Problem, count: int) -> Iterator[Reference]:
    """What is read at the end of a program at points with the inputs drawn anew.

    A point counts only where rounding changes nothing but the last digits of what is read.
    """
    rng, found = np.random.default_rng(problem.seed + 1), 0
    varying = [entry for entry in problem.inputs.values() if entry.varies]
    fixed = {n: i.value for n, i in problem.inputs.items() if not i.varies and i.value is not None}
    for k in range(TRIES * count if varying else 0):
        scale = SCALES[k % len(SCALES)]
        point = {**fixed, **{i.name: decimals(rng, scale, i.shape) for i in varying}}
        try:
            right = trace(problem, point)
            lost = noise(problem, point, right)
        except GradcheckError:
            continue
        if all(finite(v) and firm(lost[name], v) for name, v in right.values.items()):
            yield Reference(problem, point, right, lost, ())
            found += 1
        if found == count:
            return


def prepared(problem: Problem) -> Reference:
    """Run a program, judge its events; raises GradcheckError where the program cannot be run."""
    point = point_of(problem)
    right = trace(problem, point)
    lost = noise(problem, point, right)
    return Reference(problem, point, right, lost, judge_calls(right.calls))
