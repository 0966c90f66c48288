"""A problem with events, ready for grading: its trace, how exact it is, and every event judged.

Answers are held against it at further points too. A point counts only where the reference itself
stands firm: a disturbance of the last digits changes nothing but those.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice

import numpy as np

from gradcheck.engine.recording import watching
from gradcheck.errors import GradcheckError
from gradcheck.ops.row import Op
from gradcheck.problem.draw import SCALES, decimals
from gradcheck.problem.record import Input, Part, Point, Problem
from gradcheck.training.making import Replays, all_replays
from gradcheck.training.outputs import Output, finite, firm, flatten, spread
from gradcheck.training.run import Trace, run_program, trace
from gradcheck.values import Array, Numbers
from gradcheck.verdict.consult import VERDICTS
from gradcheck.verdict.passes import JudgedPass, judge_pass

TRIES = 3  # points that are tried for each that is wanted
FURTHER = 2  # points at which a program is run again
SAMPLES, UNITS, SHAKEN = 4, 8.0, 64.0
EPSILON = float(np.finfo(np.float64).eps)
TWICE = "an answer may use twice what the reference uses, and that is too much"
UNSTEADY = (
    "rounding alone changes more than the last digits of what is read at the end: "
    "no other program can be held against it"
)


@dataclass(frozen=True, eq=False)
class Reference:
    """The answers to what is asked, `noise` being what float64 loses on each number of a part."""

    problem: Problem
    point: Point
    trace: Trace
    noise: Mapping[str, Array]
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
        asked, right = programs(self.problem), self.trace.values
        for part in asked:
            run = run_program(self.problem, self.problem.program, part, self.point, share=2)
            if run.failed:
                return f"{TWICE}: {run.failed}"
            if not finite(run.values[part.name]):
                return f"{part.name} reads a number that is not finite"
        shaken = next(disturbed_runs(self.problem, self.point, SHAKEN)) if asked else {}
        forms = all(flatten(right[p.name]).form == flatten(shaken[p.name]).form for p in asked)
        steady = forms and all(firm(self.noise[p.name], right[p.name]) for p in asked)
        return "" if steady else UNSTEADY

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
    found = _run_reference(problem, _given_point(problem))
    if refusal := found.refusal:
        raise GradcheckError(f"{problem.id}: {refusal}")
    events = tuple(judge_pass(call, write=False) for call in found.trace.calls)
    return replace(found, events=events)


def reference_at(problem: Problem, point: Point) -> Reference | None:
    """What is read at the end of a program at a point, where it is firm there."""
    with suppress(GradcheckError):
        found = _run_reference(problem, point)
        return found if found.is_firm else None
    return None


def _run_reference(problem: Problem, point: Point) -> Reference:
    right = trace(problem, point)
    runs = [*islice(disturbed_runs(problem, point, UNITS), SAMPLES)]
    noise = {name: spread(value, [r[name] for r in runs]) for name, value in right.values.items()}
    return Reference(problem, point, right, noise)


def disturbed_runs(problem: Problem, point: Point, units: float) -> Iterator[Mapping[str, Output]]:
    """What is asked of runs of which every operation is off by a few units of its last digit."""
    rng = np.random.default_rng(problem.seed)

    def disturb(row: Op, y: Numbers) -> Numbers:
        if not row.rounds or np.asarray(y).dtype.kind != "f":
            return y
        return y * (1 + units * EPSILON * rng.uniform(-1, 1, np.shape(y)))

    while True:
        with watching(disturb=disturb):
            found = trace(problem, point).values
        yield found


# -- points ----------------------------------------------------------------------------------------


def _given_point(problem: Problem) -> Point:
    """The given point; inputs given by shape are drawn until everything asked is finite."""
    drawn = [entry for entry in problem.inputs.values() if entry.value is None]
    for point in _draw(problem, problem.seed, drawn, len(SCALES) if drawn else 1):
        if not drawn or all(map(finite, trace(problem, point).values.values())):
            return point
    raise GradcheckError(f"{problem.id}: no point was found at which everything asked is finite")


def further(problem: Problem, count: int) -> Iterator[Reference]:
    """What is read at the end of a program at points with the inputs drawn anew."""
    return islice((found for found in _references(problem, TRIES * count) if found.is_firm), count)


def elsewhere(problem: Problem) -> Iterator[Reference]:
    """The reference at points at which it leaves room to programs, and rounding decides nothing."""
    found = (each for each in _references(problem, len(SCALES)) if not each.refusal)
    return islice(found, FURTHER)


def _references(problem: Problem, tries: int) -> Iterator[Reference]:
    varying = [entry for entry in problem.inputs.values() if entry.varies]
    for point in _draw(problem, problem.seed + 1, varying, tries if varying else 0):
        with suppress(GradcheckError):
            yield _run_reference(problem, point)


def _draw(problem: Problem, seed: int, drawn: list[Input], tries: int) -> Iterator[Point]:
    """Points with some inputs drawn, the others as they are given."""
    rng, names = np.random.default_rng(seed), {entry.name for entry in drawn}
    own = {name: i.value for name, i in problem.inputs.items() if name not in names}
    fixed = {name: value for name, value in own.items() if value is not None}
    for k in range(tries):
        scale = SCALES[k % len(SCALES)]
        yield {**fixed, **{i.name: decimals(rng, scale, i.shape) for i in drawn}}
