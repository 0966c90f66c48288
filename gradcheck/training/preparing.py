"""A problem with events, ready for grading: its trace, how exact it is, and every event judged.

Answers are held against it at further points too. A point counts only where the reference itself
stands firm: a disturbance of the last digits changes nothing but those.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

import numpy as np

from gradcheck.errors import GradcheckError
from gradcheck.problem.draw import SCALES, decimals
from gradcheck.problem.record import Part, Point, Problem
from gradcheck.training.making import Replays, all_replays
from gradcheck.training.outputs import alike, finite, firm
from gradcheck.training.student import run_program
from gradcheck.training.trace import Trace, disturbed_runs, noise, point_of, trace
from gradcheck.values import Params
from gradcheck.verdict.consult import VERDICTS
from gradcheck.verdict.passes import JudgedPass, judge_pass

TRIES = 3  # points that are tried for each that is wanted
FURTHER = 2  # points at which a program is run again
SHAKEN = 64.0


@dataclass(frozen=True, eq=False)
class Reference:
    """The answers to what is asked, `noise` being what float64 loses on each number."""

    problem: Problem
    point: Point
    trace: Trace
    noise: Params
    events: tuple[JudgedPass, ...] = ()

    @property
    def verdict(self) -> str:
        said = (event.verdict.verdict for event in self.events)
        return max(said, key=VERDICTS.index, default="agree")

    @cached_property
    def mistaken(self) -> Replays:
        """The program with every mistake of the training loop made in it."""
        return all_replays(self.problem, self.point, self.trace)

    def check_allowance(self) -> None:
        """Raise GradcheckError where the reference leaves no room to a program, or no number."""
        for part in programs(self.problem):
            run = run_program(self.problem, self.problem.program, part, self.point, share=2)
            if run.failed:
                raise GradcheckError(
                    f"{self.problem.id}: an answer may use twice what the reference uses, and that "
                    f"is too much: {run.failed}"
                )
            if not finite(run.value):
                raise GradcheckError(
                    f"{self.problem.id}: {part.name} reads a number that is not finite"
                )

    @property
    def is_firm(self) -> bool:
        """Whether rounding changes nothing but the last digits of what programs are asked for."""
        names, right = [part.name for part in programs(self.problem)], self.trace.values
        if not names:
            return True
        shaken = next(disturbed_runs(self.problem, self.point, SHAKEN))
        return all(alike(right[n], shaken[n]) and firm(self.noise[n], right[n]) for n in names)


def programs(problem: Problem) -> list[Part]:
    return [part for part in problem.parts if part.form == "program"]


def run_and_judge(problem: Problem) -> Reference:
    """Run a program, judge its events.

    Raises GradcheckError where it cannot be run, or leaves no room to answers that are programs.
    """
    found = _trace_reference(problem, point_of(problem))
    found.check_allowance()
    if not found.is_firm:
        raise GradcheckError(
            f"{problem.id}: rounding alone changes more than the last digits of what is read at "
            "the end: no other program can be held against it"
        )
    events = tuple(judge_pass(call, write=False) for call in found.trace.calls)
    return Reference(problem, found.point, found.trace, found.noise, events)


def further(problem: Problem, count: int) -> Iterator[Reference]:
    """What is read at the end of a program at points with the inputs drawn anew."""
    firm_ones = (found for found in _draw(problem, TRIES * count) if _holds(found))
    return islice(firm_ones, count)


def elsewhere(problem: Problem) -> Iterator[Reference]:
    """The reference at points at which it leaves room to programs, and rounding decides nothing."""
    return islice((found for found in _draw(problem, len(SCALES)) if _admits(found)), FURTHER)


def _draw(problem: Problem, tries: int) -> Iterator[Reference]:
    rng = np.random.default_rng(problem.seed + 1)
    varying = [entry for entry in problem.inputs.values() if entry.varies]
    fixed = {n: i.value for n, i in problem.inputs.items() if not i.varies and i.value is not None}
    for k in range(tries if varying else 0):
        scale = SCALES[k % len(SCALES)]
        point = {**fixed, **{i.name: decimals(rng, scale, i.shape) for i in varying}}
        try:
            yield _trace_reference(problem, point)
        except GradcheckError:
            continue


def reference_at(problem: Problem, point: Point) -> Reference | None:
    """What is read at the end of a program at a point, where it is firm there."""
    try:
        found = _trace_reference(problem, point)
    except GradcheckError:
        return None
    return found if _holds(found) else None


def _trace_reference(problem: Problem, point: Point) -> Reference:
    right = trace(problem, point)
    return Reference(problem, point, right, noise(problem, point, right))


def _holds(found: Reference) -> bool:
    return all(finite(v) and firm(found.noise[name], v) for name, v in found.trace.values.items())


def _admits(found: Reference) -> bool:
    try:
        found.check_allowance()
    except GradcheckError:
        return False
    return found.is_firm
