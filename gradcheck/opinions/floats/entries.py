"""The slope at one entry of an input, and what the values that it moves carry."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gradcheck.opinions.floats.glance import glance, places_of
from gradcheck.opinions.floats.lines import Moving, entries_ahead, of_entry, unit
from gradcheck.opinions.floats.richardson import finite
from gradcheck.opinions.floats.scan import Scanned, scan
from gradcheck.opinions.opinion import Array, Case

SHORT = 16  # entries up to which each is scanned, whatever a glance says
APART = 10_000  # entries of a value up to which those that do not move are told apart
PROBES = (1.0, -1.0, 1e-3, -1e-3)  # of the length of a scan: where what moves is looked for


@dataclass(frozen=True)
class Looked:
    """The slope at one entry, and which entries of the value it moves."""

    seen: Scanned
    moved: Array


def all_looked_at(case: Case) -> dict[tuple[str, tuple[int, ...]], Looked]:
    """The slope at every entry of every wrt input."""
    places = [(name, i) for name in case.wrt for i in np.ndindex(np.shape(case.inputs[name]))]
    if len(places) > SHORT:
        entries_ahead(case, [(place, _steps(case, *place)) for place in places])
    return {place: looked_at(case, *place) for place in places}


def _steps(case: Case, name: str, index: tuple[int, ...]) -> list[float]:
    """The steps of a glance at one entry."""
    x = float(np.asarray(case.inputs[name])[index])
    return [at - x for at in places_of(x, max(1.0, abs(x)))]


def looked_at(case: Case, name: str, index: tuple[int, ...], turn: int = 0) -> Looked:
    """The slope at one entry: by a glance where there are many and it is sure, else by a scan.

    Only the entries of the value that it moves count: what the others carry cancels bit by bit.
    Whoever looks again, at other turns, is not content with a glance.
    """
    f, x = of_entry(case, name, index)
    length = max(1.0, abs(x))
    quick = glance(f, x, length) if case.size() > SHORT and not turn else None
    if quick is not None:
        return Looked(quick, np.zeros((), bool))
    if case.cotangent is None or case.cotangent.size > APART:
        return Looked(scan(f, x, turn=turn), np.ones((), bool))
    part = Moved(case, name, index)
    for far in PROBES:
        finite(part, x + far * length)
    while True:
        part.moved, asked = part.met.copy(), part.met.sum()
        seen = scan(part, x, turn=turn)
        if part.met.sum() == asked:
            # beside more it may be small
            whole = scan(f, x, turn=turn) if seen.kind == "unresolved" else seen
            return Looked(seen if whole.kind == "unresolved" else whole, part.moved)


class Moved:
    """The contraction of those entries of the value that one entry of an input moves.

    `met` are those that were seen to move so far, `moved` those that are counted.
    """

    def __init__(self, case: Case, name: str, index: tuple[int, ...]) -> None:
        """Nothing moves before it is seen."""
        assert case.cotangent is not None
        self.value = Moving(case, {name: unit(case, name, index)}, (name, index))
        self.x = float(np.asarray(case.inputs[name])[index])
        self.cotangent, self.here = case.cotangent, np.array(self.value(0.0))
        self.met = np.zeros(case.cotangent.shape, bool)
        self.moved = self.met

    def __call__(self, at: float) -> float:
        """Their sum, weighed by the cotangent."""
        now = np.asarray(self.value(at - self.x))
        self.met |= now != self.here
        return float(np.sum((now * self.cotangent)[self.moved]))

    def ahead(self, places: Sequence[float]) -> None:
        """Get the values at several places ready."""
        self.value.ahead([at - self.x for at in places])


def loudness(found: Sequence[Looked]) -> Array:
    """The loudest noise that was heard in each entry of the value, whatever was moved."""
    loud = np.zeros(np.broadcast_shapes(*(looked.moved.shape for looked in found)))
    for looked in found:
        loud[...] = np.where(looked.moved, np.maximum(loud, looked.seen.noise), loud)
    return loud


def within(looked: Looked, loud: Array) -> Scanned:
    """The slope with a bar for the rounding that shows only when other inputs are moved.

    Beside 1 a probability of 1e-17 is lost without a trace in `log(1 + p)`; what is lost of the
    value is no more than what is heard of it elsewhere, over the length on which the slope varies.
    """
    heard = float(np.max(loud, initial=0.0, where=looked.moved))
    length = looked.seen.steps[1]
    return replace(looked.seen, error=looked.seen.error + (heard / length if heard else 0.0))
