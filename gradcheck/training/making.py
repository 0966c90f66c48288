"""The training loop with one verb of the ledger said wrong, and what an answer owes to it."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gradcheck.diagnosis import Diagnosis, Hypothesis
from gradcheck.errors import GradcheckError
from gradcheck.mistakes import Mistake
from gradcheck.mistakes.training import TRAINING
from gradcheck.problem.record import Point, Problem
from gradcheck.training.ledger import (
    EVERYWHERE,
    LedgerEntry,
    LoopVerbs,
    Scope,
    Span,
    occasions,
    scopes,
    statement,
)
from gradcheck.training.outputs import Output, departs, same
from gradcheck.training.run import Trace, trace

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


def replays(
    problem: Problem, point: Point, right: Trace, row: Mistake, scope: Scope = EVERYWHERE
) -> Iterator[Replay]:
    """The program with a mistake made at a scope, in each of the ways to make it."""
    for way in row.wrong():
        verbs = LoopVerbs({row.verb: way}, scope)
        try:
            found = trace(problem, point, verbs, together=right.together)
        except GradcheckError:
            continue
        of_loss = row.operand is not None
        spans = [given.loss if of_loss else place for given, place in verbs.differed]
        places = tuple(dict.fromkeys(statement(problem.program, span) for span in spans))
        yield Replay(row, scope, found.values, found.entries, places, found.recorded)


@dataclass(frozen=True, eq=False)
class Replays:
    """A program with every mistake of the training loop made in it."""

    right: Trace
    replays: tuple[Replay, ...] = ()

    @np.errstate(all="ignore")
    def explain(self, part: str, answer: Output, slack: float = 0.0) -> Diagnosis:
        """Name what gives this answer: a misconception, or else a slip made once."""
        first = departs(answer, self.right.values[part], slack)
        remarks = [] if first is None else [f"the trace departs at entry {first}, counted from 0"]
        fits = [replay for replay in self.replays if same(answer, replay.values[part], slack)]
        cheapest = min((replay.scope.cost for replay in fits), default=0)
        groups: dict[Mistake, list[Replay]] = {}
        for replay in sorted(fits, key=lambda fit: -fit.mistake.common):
            if replay.scope.cost == cheapest:
                groups.setdefault(replay.mistake, []).append(replay)
        found = list(groups.values())
        remarks += _remarks(found, self.right)
        certainty = "torn" if len(found) > 1 else "unique" if found else "unnamed"
        return Diagnosis(certainty, tuple(map(_hypothesis, found)), tuple(remarks))


@np.errstate(all="ignore")
def all_replays(problem: Problem, point: Point, right: Trace) -> Replays:
    """Replay the program with every mistake; what changes no answer is left out."""
    made = (
        replay
        for row in TRAINING
        for scope in scopes(row.verb, right.entries)
        for replay in replays(problem, point, right, row, scope)
    )
    values = right.values
    seen = (r for r in made if any(not same(v, values[name]) for name, v in r.values.items()))
    return Replays(right, tuple(seen))


def _hypothesis(fits: Sequence[Replay]) -> Hypothesis:
    """A mistake at the one statement where it was made; of several none is pointed at."""
    places = {place for replay in fits for place in replay.places}
    everywhere = len(places) > 1 and fits[0].scope == EVERYWHERE
    return Hypothesis(fits[0].mistake, places.pop() if len(places) == 1 else None, everywhere)


def _remarks(found: Sequence[Sequence[Replay]], right: Trace) -> Iterator[str]:
    """On which occasion alone, where no other would do; why several fit."""
    for fits in found:
        row, nth = fits[0].mistake, fits[0].scope.occasion
        if nth is not None and len({each.scope for each in fits}) == 1:
            last = occasions(row.verb, right.entries)[-1].occasion
            time = ORDINALS.get(nth + 1, f"{nth + 1}th")
            yield f"{row.id}: only the {time} time of {1 + (last or 0)}"
    yield from (why for why, _ in reason([fits[0].mistake for fits in found]))


def reason(rows: Collection[Mistake]) -> Iterator[tuple[str, str]]:
    """Why several mistakes give one answer, and the cure, where that is a fact of mathematics."""
    ids = {row.id for row in rows}
    return (said for row in rows for other, said in row.alike.items() if other in ids)
