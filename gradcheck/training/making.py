"""The training loop with one verb of the ledger said wrong, and what an answer owes to it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gradcheck.diagnosis import Diagnosis, Hypothesis
from gradcheck.errors import GradcheckError
from gradcheck.mistakes import Mistake
from gradcheck.mistakes.training import TRAINING
from gradcheck.problem.record import Point, Problem
from gradcheck.training.asked import Value, departs, same
from gradcheck.training.ledger import RIGHT, Verbs
from gradcheck.training.trace import Trace, trace

MOST_SITES = 12


@dataclass(frozen=True, eq=False)
class Replay:
    """The answers of somebody who makes a mistake: at every place, or at the `site`-th alone."""

    mistake: Mistake
    values: Mapping[str, Value]
    site: int | None = None


@dataclass(frozen=True, eq=False)
class Diagnosing:
    """A program with every mistake of the training loop made in it."""

    right: Trace
    replays: tuple[Replay, ...] = field(default=())

    def explain(self, part: str, answer: Value, slack: float = 0.0) -> Diagnosis:
        """Name what gives this answer: a mistake made everywhere, or else one made once."""
        said = _departing(answer, self.right.values[part], slack)
        for everywhere in (True, False):
            fits = [
                r
                for r in self.replays
                if (r.site is None) == everywhere and same(answer, r.values[part], slack)
            ]
            found = _distinct(fits)
            if found:
                certainty = "unique" if len(found) == 1 else "torn"
                steps = any(entry.verb == "step" for entry in self.right.entries)
                facts = _facts(fits) if steps or len(found) > 1 else ()
                return Diagnosis(certainty, tuple(found), (*said, *facts))
        return Diagnosis("unnamed", remarks=said)


def diagnosing(problem: Problem, point: Point, right: Trace) -> Diagnosing:
    """Replay the program with every mistake; what changes no answer is left out."""
    made = []
    for replay in _replays(problem, point, right):
        differs = (not same(v, right.values[name]) for name, v in replay.values.items())
        if any(differs):
            made.append(replay)
    return Diagnosing(right, tuple(made))


def _replays(problem: Problem, point: Point, right: Trace) -> Iterator[Replay]:
    for row in TRAINING:
        for way in row.wrong():
            for site in (None, *range(_sites(row.verb, right))):
                verbs = _said_wrong(row.verb, way, site)
                try:
                    values = trace(problem, point, verbs, together=right.together).values
                except GradcheckError:
                    continue
                yield Replay(row, values, site)


def _sites(verb: str, right: Trace) -> int:
    """How often a verb is said, where saying it wrong just once is looked at."""
    names = {"deposit": "add", "clear": "clear", "write": "step"}
    count = sum(entry.verb == names[verb] for entry in right.entries)
    return count if 1 < count <= MOST_SITES else 0


def _said_wrong(verb: str, way: Callable[[Any], Any], site: int | None) -> Verbs:
    """The verbs with one of them said wrong, every time or the `site`-th time only."""
    right = getattr(RIGHT, verb)
    said = 0

    def wrong(argument: Any) -> Any:
        nonlocal said
        said += 1
        return way(argument) if site in (None, said - 1) else right(argument)

    return replace(RIGHT, **{verb: wrong})


def _distinct(fits: list[Replay]) -> list[Hypothesis]:
    """One hypothesis a mistake, the commonest first."""
    rows = {replay.mistake.id: replay for replay in fits}
    ordered = sorted(rows.values(), key=lambda r: -r.mistake.common)
    return [Hypothesis(r.mistake, None) for r in ordered]


def _departing(answer: Value, right: Value, slack: float) -> tuple[str, ...]:
    first = departs(answer, right, slack)
    return () if first is None else (f"the trace departs at entry {first}, counted from 0",)


# What is true of mistakes whatever the numbers are: of one alone, or of several that fit alike.
FACTS: Mapping[frozenset[str], str] = {
    frozenset({"missing-zero-grad"}): "under plain SGD, never clearing takes the same steps as "
    "momentum 1",
    frozenset({"unscaled-accumulation"}): "under plain SGD, not dividing by k takes the same steps "
    "as a learning rate k times as large",
    frozenset({"unscaled-accumulation", "counted-twice"}): "with two micro-batches, not dividing "
    "by two is counting each twice: no number tells the two apart",
    frozenset({"missing-zero-grad", "counted-twice"}): "two equal gradients added up are one "
    "counted twice: no number tells the two apart here",
    frozenset({"step-before-backward", "zeroed-before-step"}): "after a single step both leave "
    "the parameters where they were: no number tells the two apart here",
}


def _facts(fits: list[Replay]) -> tuple[str, ...]:
    """Why several mistakes give one answer, where that is a fact of mathematics."""
    ids = {replay.mistake.id for replay in fits}
    return tuple(words for pair, words in FACTS.items() if pair <= ids)
