"""A student's ledger that is the one of the reference with a mistake in it.

The numbers that are asked for may have been read at other places; what was added and stepped tells.
"""

from collections.abc import Sequence

import numpy as np

from gradcheck.mistakes import Mistake
from gradcheck.training.ledger import Array, Entry
from gradcheck.training.making import Replays
from gradcheck.training.outputs import same

Moves = dict[str, list[tuple[str, Array]]]


def in_the_ledger(mistaken: Replays, entries: Sequence[Entry]) -> list[Mistake]:
    """The mistakes whose ledger this is, made at the fewest places."""
    mine, right = _moves(entries), _moves(mistaken.right.entries)
    if not mine or _alike(mine, right):
        return []
    fits = [replay for replay in mistaken.replays if _alike(mine, _moves(replay.entries))]
    cheapest = min((replay.scope.cost for replay in fits), default=0)
    return list(dict.fromkeys(r.mistake for r in fits if r.scope.cost == cheapest))


def _moves(entries: Sequence[Entry]) -> Moves:
    """What was added to each leaf and by what it was stepped, in order, up to the last step."""
    found: Moves = {}
    for entry in entries:
        if entry.amount is not None and np.any(entry.amount):
            found.setdefault(entry.leaf.name, []).append((entry.verb, entry.amount))
    return {name: _up_to_the_last_step(moves) for name, moves in found.items()}


def _up_to_the_last_step(moves: list[tuple[str, Array]]) -> list[tuple[str, Array]]:
    """Without the gradients that nobody steps; all of them where nobody ever steps."""
    last = max((k + 1 for k, (verb, _) in enumerate(moves) if verb == "step"), default=len(moves))
    return moves[:last]


def _alike(a: Moves, b: Moves) -> bool:
    return a.keys() == b.keys() and all(
        len(a[name]) == len(b[name])
        and all(v == w and same(x, y) for (v, x), (w, y) in zip(a[name], b[name], strict=True))
        for name in a
    )
