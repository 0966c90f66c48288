"""A problem with events, ready for grading: its trace, how exact it is, and every event judged.

Answers are held against it at further points too. A point counts only where the reference itself
stands firm: a disturbance of the last digits changes nothing but those.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
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

    @property
    def refusal(self) -> str:
        """Why programs cannot be held against it: no room to them, no number, rounding; or ""."""
        asked = programs(self.problem)
        for part in asked:
            run = run_program(self.problem, self.problem.program, part, self.point, share=2)
            if run.failed:
                return (
                    "an answer may use twice what the reference uses, and that is too much: "
                    f"{run.failed}"
                )
            if not finite(run.value):
                return f"{part.name} reads a number that is not finite"
        names, right = [part.name for part in asked], self.trace.values
        shaken = next(disturbed_runs(self.problem, self.point, SHAKEN)) if names else {}
        if not all(alike(right[n], shaken[n]) and firm(self.noise[n], right[n]) for n in names):
            return (
                "rounding alone changes more than the last digits of what is read at the end: "
                "no other program can be held against it"
            )
        return ""

    @property
    def is_firm(self) -> bool:
        values = self.trace.values
        return all(finite(v) and firm(self.noise[name], v) for name, v in values.items())


def programs(problem: Problem) -> list[Part]:
    return [part for part in problem.parts if part.form == "program"]


def run_and_judge(problem: Problem) -> Reference:
    """Run a program, judge its events.

    Raises GradcheckError where it cannot be run, or leaves no room to answers that are programs.
    """
    found = _run_reference(problem, point_of(problem))
    if refusal := found.refusal:
        raise GradcheckError(f"{problem.id}: {refusal}")
    events = tuple(judge_pass(call, write=False) for call in found.trace.calls)
    return replace(found, events=events)


def further(problem: Problem, count: int) -> Iterator[Reference]:
    """What is read at the end of a program at points with the inputs drawn anew."""
    return islice((found for found in _draw(problem, TRIES * count) if found.is_firm), count)


def elsewhere(problem: Problem) -> Iterator[Reference]:
    """The reference at points at which it leaves room to programs, and rounding decides nothing."""
    return islice((found for found in _draw(problem, len(SCALES)) if not found.refusal), FURTHER)


def _draw(problem: Problem, tries: int) -> Iterator[Reference]:
    rng = np.random.default_rng(problem.seed + 1)
    varying = [entry for entry in problem.inputs.values() if entry.varies]
    fixed = {n: i.value for n, i in problem.inputs.items() if not i.varies and i.value is not None}
    for k in range(tries if varying else 0):
        scale = SCALES[k % len(SCALES)]
        point = {**fixed, **{i.name: decimals(rng, scale, i.shape) for i in varying}}
        with suppress(GradcheckError):
            yield _run_reference(problem, point)


def reference_at(problem: Problem, point: Point) -> Reference | None:
    """What is read at the end of a program at a point, where it is firm there."""
    with suppress(GradcheckError):
        found = _run_reference(problem, point)
        return found if found.is_firm else None
    return None


def _run_reference(problem: Problem, point: Point) -> Reference:
    right = trace(problem, point)
    return Reference(problem, point, right, noise(problem, point, right))
