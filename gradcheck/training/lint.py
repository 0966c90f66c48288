"""What a training problem cannot reveal, or not tell apart: every mistake made, nothing asked.

The ledger of a mistaken run is held against the right one: where the answers are the same and the
ledger is not, something more must be asked; where the ledger is the same too, no question helps.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from gradcheck.diagnosis.lint import Finding
from gradcheck.mistakes import Mistake
from gradcheck.mistakes.training import TRAINING
from gradcheck.training.ledger import LedgerEntry, totals
from gradcheck.training.making import Replay, reason, replays
from gradcheck.training.outputs import Output, leaves, near
from gradcheck.training.preparing import Reference

# What to ask for, by what differs in the ledger: (the gradients, the parameters).
ASK: Mapping[tuple[bool, bool], str] = {
    (True, True): "ask for the gradient, or for the parameters, in each step as well",
    (True, False): "ask for the gradient as well, or for its norm, each time",
    (False, True): "ask for the parameters as well, after the last step",
}
ANOTHER_STEP = "take another step: what was not cleared shows in the gradient that comes after it"


@np.errstate(all="ignore")
def blind(reference: Reference) -> tuple[Finding, ...]:
    """What no answer to a training problem could show; without a cure, what is true of any."""
    values = [each for value in reference.trace.values.values() for (each,) in leaves(value)]
    if not any(isinstance(each, np.ndarray) for each in values):
        return ()  # flags, names and shapes say nothing of the ledger
    made = [
        replay
        for row in TRAINING
        for replay in replays(reference.problem, reference.point, reference.trace, row)
        if _could_be_made(reference, replay)
    ]
    seen = [replay for replay in made if not _same(replay, reference.trace.values)]
    hidden = [r for r in made if all(r.mistake is not other.mistake for other in seen)]
    return (*_find_hidden(reference, hidden), *_alike(seen))


def _could_be_made(reference: Reference, replay: Replay) -> bool:
    """Whether there is a place for the mistake; a clearing of nothing is one."""
    return bool(replay.places) or (
        replay.mistake.verb == "clear" and reference.trace.idle_clears > 0
    )


def _same(replay: Replay, values: Mapping[str, Output]) -> bool:
    return all(near(value, values[part]) for part, value in replay.values.items())


def _find_hidden(reference: Reference, made: Sequence[Replay]) -> Iterator[Finding]:
    """Mistakes that leave every answer as it is, one finding each."""
    firsts: dict[Mistake, Replay] = {}
    for replay in made:
        firsts.setdefault(replay.mistake, replay)
    for replay in firsts.values():
        cure = ASK.get(_differing(replay.entries, reference.trace.entries), ANOTHER_STEP)
        place = replay.places[0] if len(replay.places) == 1 else None
        yield Finding("invisible", (replay.mistake,), place, cure)


def _alike(seen: Sequence[Replay]) -> Iterator[Finding]:
    """Mistakes with the same answers in every part; a tie that is a fact has its reason."""
    for first, *others in _groups(seen):
        rows = {replay.mistake.id: replay.mistake for replay in (first, *others)}
        if len(rows) > 1:
            cure = _telling(first, others)
            (why, other), *_ = [*([] if cure else reason(rows.values())), ("", "")]
            yield Finding("alike", tuple(rows.values()), None, cure or other, len(rows), why)


def _groups(seen: Sequence[Replay]) -> list[list[Replay]]:
    found: list[list[Replay]] = []
    for replay in seen:
        group = next((g for g in found if _same(replay, g[0].values)), None)
        if group is None:
            found.append([replay])
        else:
            group.append(replay)
    return found


def _telling(first: Replay, others: Sequence[Replay]) -> str:
    """What to ask for, to tell mistakes of equal answers apart; "" where no question would."""
    pairs = [_differing(first.entries, o.entries) for o in others if o.mistake is not first.mistake]
    return next((ASK[pair] for pair in pairs if any(pair)), "")


def _differing(some: Sequence[LedgerEntry], others: Sequence[LedgerEntry]) -> tuple[bool, bool]:
    """Whether two ledgers differ in the gradients, and in the parameters."""
    gradients, parameters = (
        not near(totals(some, verb), totals(others, verb)) for verb in ("add", "step")
    )
    return gradients, parameters
