"""A problem with events, ready for grading: its trace, how exact it is, and every event judged.

Answers are held against it at further points too. A point counts only where the reference itself
stands firm: a disturbance of the last digits changes nothing but those.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import cycle, groupby, islice
from operator import attrgetter

import numpy as np

from gradcheck.diagnosis import Diagnosis, Hypothesis
from gradcheck.diagnosis.lint import Finding
from gradcheck.engine.recording import watching
from gradcheck.errors import GradcheckError
from gradcheck.mistakes import Mistake
from gradcheck.mistakes.training import TRAINING
from gradcheck.ops.row import Op
from gradcheck.problem.draw import SCALES, draw_candidates, split
from gradcheck.problem.record import Point, Problem
from gradcheck.training.ledger import (
    EVERYWHERE,
    LedgerEntry,
    LoopVerbs,
    Scope,
    Span,
    find_statement,
    list_occasions,
    list_scopes,
)
from gradcheck.training.outputs import (
    Output,
    departs,
    flatten,
    is_finite,
    is_near,
    is_same,
    is_sure,
    spread,
)
from gradcheck.training.run import LoopRun, run_program, trace
from gradcheck.values import Array, Numbers
from gradcheck.verdict.consult import VERDICTS
from gradcheck.verdict.passes import JudgedPass, judge_pass

ORDINALS = {1: "1st", 2: "2nd", 3: "3rd"}


@dataclass(frozen=True, eq=False)
class Replay:
    """The run of somebody who makes a mistake at a scope.

    `places` are the statements at which the wrong verb came to something else than the right one.
    """

    mistake: Mistake
    scope: Scope
    values: Mapping[str, Output]
    entries: Sequence[LedgerEntry]
    places: tuple[Span, ...]
    recorded: Mapping[str, Output]


def _make_hypothesis(fits: Sequence[Replay]) -> Hypothesis:
    """A mistake at the one statement where it was made; of several none is pointed at."""
    places = {place for replay in fits for place in replay.places}
    everywhere = len(places) > 1 and fits[0].scope == EVERYWHERE
    return Hypothesis(fits[0].mistake, places.pop() if len(places) == 1 else None, everywhere)


def _list_remarks(found: Sequence[Sequence[Replay]], right: LoopRun) -> Iterator[str]:
    """On which occasion alone, where no other would do; why several fit."""
    for fits in found:
        row, nth = fits[0].mistake, fits[0].scope.occasion
        if nth is not None and len({each.scope for each in fits}) == 1:
            last = list_occasions(row.verb, right.entries)[-1].occasion
            time = ORDINALS.get(nth + 1, f"{nth + 1}th")
            yield f"{row.id}: only the {time} time of {1 + (last or 0)}"
    yield from (why for why, _ in explain_several([fits[0].mistake for fits in found]))


def explain_several(rows: Collection[Mistake]) -> Iterator[tuple[str, str]]:
    """Why several mistakes give one answer, and the cure, where that is a fact of mathematics."""
    ids = {row.id for row in rows}
    return (said for row in rows for other, said in row.alike.items() if other in ids)


# -- the reference ------------------------------------------------------------------------------

TRIES = 3  # points that are tried for each that is wanted
SPARSE = 12  # points that are drawn for each that is tried: a domain admits some of them
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
    trace: LoopRun
    noise: Mapping[str, Array]
    events: tuple[JudgedPass, ...] = ()

    @property
    def verdict(self) -> str:
        said = (event.verdict.verdict for event in self.events)
        return max(said, key=VERDICTS.index, default="agree")

    @np.errstate(all="ignore")
    def make(self, row: Mistake, scope: Scope = EVERYWHERE) -> list[Replay]:
        """The program with a mistake made at a scope, in each of the ways to make it."""
        made = []
        for way in row.wrong():
            verbs = LoopVerbs({row.verb: way}, scope)
            with suppress(GradcheckError):
                found = trace(self.problem, self.point, verbs, together=self.trace.ledger.fullest)
                of_loss = row.operand is not None
                spans = [given.loss if of_loss else place for given, place in verbs.differed]
                places = dict.fromkeys(find_statement(self.problem.program, span) for span in spans)
                own = found.values, found.entries, tuple(places), found.recorded
                made.append(Replay(row, scope, *own))
        return made

    @cached_property
    def mistaken(self) -> list[Replay]:
        """The program with every mistake of the training loop that changes an answer."""
        right, lines = self.trace.values, self.trace.entries
        made = (
            r for row in TRAINING for s in list_scopes(row.verb, lines) for r in self.make(row, s)
        )
        return [r for r in made if any(not is_same(v, right[name]) for name, v in r.values.items())]

    def find_cheapest(self, fits: Callable[[Replay], bool]) -> list[Replay]:
        """The mistakes that fit, made at the least special of their scopes."""
        found = list(filter(fits, self.mistaken))
        least = min((replay.scope.cost for replay in found), default=0)
        return [replay for replay in found if replay.scope.cost == least]

    @np.errstate(all="ignore")
    def explain(self, part: str, answer: Output, slack: float = 0.0) -> Diagnosis:
        """Name what gives this answer: a misconception, or else a slip made once."""
        first = departs(answer, self.trace.values[part], slack)
        remarks = [] if first is None else [f"the trace departs at entry {first}, counted from 0"]
        fits = self.find_cheapest(lambda made: is_same(answer, made.values[part], slack))
        fits.sort(key=lambda fit: -fit.mistake.common)
        found = [list(same) for _, same in groupby(fits, attrgetter("mistake"))]
        remarks += _list_remarks(found, self.trace)
        return Diagnosis(tuple(map(_make_hypothesis, found)), tuple(remarks))

    @property
    def refusal(self) -> str:
        """Why programs cannot be held against it: no room to them, no number, rounding; or ""."""
        asked, right = self.problem.programs, self.trace.values
        for part in asked:
            run = run_program(self.problem, self.problem.program, part, self.point, share=2)
            if run.failed:
                return f"{TWICE}: {run.failed}"
            if not is_finite(run.values[part.name]):
                return f"{part.name} reads a number that is not finite"
        shaken = next(disturb_runs(self.problem, self.point, SHAKEN)) if asked else {}
        steady = (
            is_sure(self.noise[name], right[name])
            and flatten(right[name]).form == flatten(shaken[name]).form
            for name in (part.name for part in asked)
        )
        return "" if all(steady) else UNSTEADY

    @property
    def is_firm(self) -> bool:
        values = self.trace.values
        return all(is_finite(v) and is_sure(self.noise[name], v) for name, v in values.items())


def run_and_judge(problem: Problem) -> Reference:
    """Run a program, judge its events.

    Raises GradcheckError where it cannot be run, or leaves no room to answers that are programs.
    """
    found = _run_reference(problem, _find_point(problem))
    if refusal := found.refusal:
        raise GradcheckError(refusal)
    events = tuple(judge_pass(call, write=False) for call in found.trace.calls)
    return replace(found, events=events)


def reference_at(problem: Problem, point: Point) -> Reference | None:
    """What is read at the end of a program at a point, where it is firm there."""
    if problem.admits(point):
        with suppress(GradcheckError):
            found = _run_reference(problem, point)
            return found if found.is_firm else None
    return None


def _run_reference(problem: Problem, point: Point) -> Reference:
    right = trace(problem, point)
    runs = [*islice(disturb_runs(problem, point, UNITS), SAMPLES)]
    noise = {name: spread(value, [r[name] for r in runs]) for name, value in right.values.items()}
    return Reference(problem, point, right, noise)


def disturb_runs(problem: Problem, point: Point, units: float) -> Iterator[Mapping[str, Output]]:
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


def _find_point(problem: Problem) -> Point:
    """The given point; inputs given by shape are drawn until everything asked is finite."""
    drawn = [entry for entry in problem.inputs.values() if entry.value is None]
    fixed = {n: entry.value for n, entry in problem.inputs.items() if entry.value is not None}
    for point in draw_candidates(fixed, drawn, problem.seed, SCALES):
        if not drawn or (
            problem.admits(point) and all(map(is_finite, trace(problem, point).values.values()))
        ):
            return point
    raise GradcheckError(f"{problem.id}: no point was found at which everything asked is finite")


def draw_further(problem: Problem, count: int) -> Iterator[Reference]:
    """What is read at the end of a program at points with the inputs drawn anew."""
    drawn = _draw_references(problem, TRIES * count)
    return islice((found for found in drawn if found.is_firm), count)


def draw_elsewhere(problem: Problem) -> Iterator[Reference]:
    """The reference at points at which it leaves room to programs, and rounding decides nothing."""
    found = (each for each in _draw_references(problem, len(SCALES)) if not each.refusal)
    return islice(found, FURTHER)


def _draw_references(problem: Problem, tries: int) -> Iterator[Reference]:
    fixed, varying = split(problem)
    scales = islice(cycle(SCALES), SPARSE * tries if varying else 0)
    points = filter(problem.admits, draw_candidates(fixed, varying, problem.seed + 1, scales))
    for point in islice(points, tries):
        with suppress(GradcheckError):
            yield _run_reference(problem, point)


# -- what a problem cannot reveal, or not tell apart -----------------------------------------------

# What to ask for, by what differs in the ledger: (the gradients, the parameters).
ASK: Mapping[tuple[bool, bool], str] = {
    (True, True): "ask for the gradient, or for the parameters, in each step as well",
    (True, False): "ask for the gradient as well, or for its norm, each time",
    (False, True): "ask for the parameters as well, after the last step",
}
ANOTHER_STEP = "take another step: what was not cleared shows in the gradient that comes after it"


@np.errstate(all="ignore")
def find_blind(reference: Reference) -> tuple[Finding, ...]:
    """What no answer to a training problem could show; without a cure, what is true of any."""
    right = reference.trace
    if not any(flatten(value).numbers.size for value in right.values.values()):
        return ()  # flags, names and shapes say nothing of the ledger
    made = [
        replay
        for row in TRAINING
        for replay in reference.make(row)
        if replay.places or (row.verb == "clear" and right.ledger.idle_clears > 0)  # it has a place
    ]
    seen = [replay for replay in made if not _is_same(replay, right.values)]
    rows = {replay.mistake for replay in seen}
    firsts = (next(same) for _, same in groupby(made, attrgetter("mistake")))
    hidden = (replay for replay in firsts if replay.mistake not in rows)
    return (*(_describe_hidden(each, right) for each in hidden), *_find_alike(seen))


def _is_same(replay: Replay, values: Mapping[str, Output]) -> bool:
    return all(is_near(value, values[part]) for part, value in replay.values.items())


def _describe_hidden(replay: Replay, right: LoopRun) -> Finding:
    cure = ASK.get(_tell_apart(replay.entries, right.entries), ANOTHER_STEP)
    place = replay.places[0] if len(replay.places) == 1 else None
    return Finding("invisible", (replay.mistake,), place, cure)


def _find_alike(seen: Sequence[Replay]) -> Iterator[Finding]:
    """Mistakes with the same answers in every part; a tie that is a fact has its reason."""
    groups: list[list[Replay]] = []
    for replay in seen:
        group = next((g for g in groups if _is_same(replay, g[0].values)), [])
        if not group:
            groups.append(group)
        group.append(replay)
    for first, *others in groups:
        rows = dict.fromkeys(replay.mistake for replay in (first, *others))
        if len(rows) > 1:
            unlike = (each for each in others if each.mistake is not first.mistake)
            pairs = (_tell_apart(first.entries, each.entries) for each in unlike)
            cure = next((ASK[pair] for pair in pairs if any(pair)), "")
            (why, other), *_ = [*([] if cure else explain_several(rows)), ("", "")]
            yield Finding("alike", tuple(rows), None, cure or other, len(rows), why)


def _tell_apart(*runs: Sequence[LedgerEntry]) -> tuple[bool, bool]:
    """Whether two runs differ in their gradients, and in their parameters."""
    added, stepped = (
        [[entry.total for entry in entries if entry.verb == verb] for entries in runs]
        for verb in ("add", "step")
    )
    return not is_near(*added), not is_near(*stepped)
