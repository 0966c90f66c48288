"""What a training problem cannot reveal, or not tell apart: every mistake made, nothing asked.

The ledger of a mistaken run is held against the right one: where the answers are the same and the
ledger is not, something more must be asked; where the ledger is the same too, no question helps.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from gradcheck.diagnosis.lint import Finding
from gradcheck.mistakes.training import TRAINING
from gradcheck.training.ledger import LedgerEntry
from gradcheck.training.outputs import Output, flatten, near
from gradcheck.training.preparing import Reference, Replay, reason
from gradcheck.values import Numbers

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
    right = reference.trace
    if not any(flatten(value).numbers.size for value in right.values.values()):
        return ()  # flags, names and shapes say nothing of the ledger
    made = [
        replay
        for row in TRAINING
        for replay in reference.make(row)
        if replay.places or (row.verb == "clear" and right.ledger.idle_clears > 0)  # it has a place
    ]
    seen = [replay for replay in made if not _same(replay, right.values)]
    rows = {replay.mistake for replay in seen}
    hidden = {r.mistake: r for r in reversed(made) if r.mistake not in rows}
    return (*_find_hidden(reference, [*hidden.values()][::-1]), *_find_alike(seen))


def _same(replay: Replay, values: Mapping[str, Output]) -> bool:
    return all(near(value, values[part]) for part, value in replay.values.items())


def _find_hidden(reference: Reference, hidden: Sequence[Replay]) -> Iterator[Finding]:
    """Mistakes that leave every answer as it is, one finding each."""
    for replay in hidden:
        cure = ASK.get(_tell_apart(replay.entries, reference.trace.entries), ANOTHER_STEP)
        place = replay.places[0] if len(replay.places) == 1 else None
        yield Finding("invisible", (replay.mistake,), place, cure)


def _find_alike(seen: Sequence[Replay]) -> Iterator[Finding]:
    """Mistakes with the same answers in every part; a tie that is a fact has its reason."""
    groups: list[list[Replay]] = []
    for replay in seen:
        group = next((g for g in groups if _same(replay, g[0].values)), None)
        if group is None:
            groups.append([replay])
        else:
            group.append(replay)
    for first, *others in groups:
        rows = {replay.mistake.id: replay.mistake for replay in (first, *others)}
        if len(rows) > 1:
            pairs = [
                _tell_apart(first.entries, other.entries)
                for other in others
                if other.mistake is not first.mistake
            ]
            cure = next((ASK[pair] for pair in pairs if any(pair)), "")
            (why, other), *_ = [*([] if cure else reason(rows.values())), ("", "")]
            yield Finding("alike", tuple(rows.values()), None, cure or other, len(rows), why)


def _tell_apart(some: Sequence[LedgerEntry], others: Sequence[LedgerEntry]) -> tuple[bool, bool]:
    """Whether two ledgers differ in the gradients, and in the parameters."""

    def totals(entries: Sequence[LedgerEntry], verb: str) -> list[Numbers]:
        return [entry.total for entry in entries if entry.verb == verb]

    return (
        not near(totals(some, "add"), totals(others, "add")),
        not near(totals(some, "step"), totals(others, "step")),
    )
