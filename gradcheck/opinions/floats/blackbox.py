"""Finite differences of a program that only takes floats: entry by entry, or along directions."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from flint import arb

from gradcheck.opinions.floats.lines import (
    Along,
    along,
    directions,
    line,
    moving,
    of_entry,
    value_of,
)
from gradcheck.opinions.floats.quick import Seen, along_these, glance, look_along, widest
from gradcheck.opinions.floats.richardson import finite
from gradcheck.opinions.floats.scan import Scanned, scan
from gradcheck.opinions.limits import (
    APART,
    DIRECTIONS,
    ENTRIES,
    SCANNED,
    SETTLED,
    SURE,
)
from gradcheck.opinions.opinion import (
    Array,
    Case,
    Direction,
    Estimate,
    NotScalar,
    Opinion,
    Slope,
    estimate,
    reason,
    unit,
    valued,
)

PROBES = (1.0, -1.0, 1e-3, -1e-3)  # of the length of a scan: where what moves is looked for


def black_box(case: Case, because: str, count: int = DIRECTIONS) -> Opinion:
    """Slopes of floats along every entry, or along so many random directions where many are."""
    try:
        value = np.array(value_of(case, case.floats()), dtype=np.float64)
        method = f"scanned floats ({because})"
        if case.size() > ENTRIES:
            chosen = [along(case, row) for row in directions(case, count)]
            found = tuple(slope_along(case, each) for each in chosen)
            known = valued(case, value, 0.0)
            return Opinion("differences", known, directions=found, method=method)
        gradients, slopes, noise = _each(case)
    except NotScalar:
        raise
    except Exception as error:  # noqa: BLE001 - a user's program may raise anything
        return Opinion("differences", abstains=reason(error))
    known = valued(case, value, noise)
    return Opinion("differences", known, gradients, slopes=slopes, method=method)


def slopes_along(case: Case, chosen: Array) -> Opinion | None:
    """The opinion along directions, from a quick look or else from scans.

    None where one of them has no slope, or none that is known well beside the steepest.
    """
    seen = look_along([case], chosen, [None])[0]
    if seen is not None:
        return seen
    try:
        value = np.array(value_of(case, case.floats()), dtype=np.float64)
        found = [scan(line(case, along(case, row)), 0.0, scale=1.0) for row in chosen]
    except Exception:  # noqa: BLE001 - whatever a program raises, the full opinion will tell
        return None
    slopes = [Seen(each.value, each.error) for each in found if each.kind == "smooth"]
    if len(slopes) < len(found) or widest(slopes) > SETTLED:
        return None
    return along_these(case, value, chosen, slopes)


def slope_along(case: Case, u: Along) -> Direction:
    """The slope of the program along one direction, by scanning floats."""
    slope, kind = _ball(scan(line(case, u), 0.0, scale=1.0))
    return Direction(u, slope, kind)


def _each(
    case: Case,
) -> tuple[dict[str, Estimate], dict[tuple[str, tuple[int, ...]], Slope], float]:
    """The slope at every entry of every wrt input, and the loudest noise that was heard."""
    places = [(name, i) for name in case.wrt for i in np.ndindex(np.shape(case.inputs[name]))]
    found = {place: looked_at(case, *place) for place in places}
    loud = _loudness(list(found.values()))
    gradients = {name: np.empty(np.shape(case.inputs[name]), dtype=object) for name in case.wrt}
    slopes = {}
    for (name, index), looked in found.items():
        gradients[name][index], slope = _ball(_within(looked, loud))
        if slope is not None:
            slopes[name, index] = slope
    noise = max((looked.seen.noise for looked in found.values()), default=0.0)
    return {name: estimate(balls) for name, balls in gradients.items()}, slopes, noise


@dataclass(frozen=True)
class Looked:
    """The slope at one entry, and which entries of the value it moves."""

    seen: Scanned
    moved: Array


def looked_at(case: Case, name: str, index: tuple[int, ...]) -> Looked:
    """The slope at one entry: by a quick look where there are many and it is sure, else by a scan.

    Only the entries of the value that it moves count: what the others carry cancels bit by bit.
    """
    f, x = of_entry(case, name, index)
    length = max(1.0, abs(x))
    quick = glance(f, x, length) if case.size() > SCANNED else None
    if quick is not None and quick.error <= SURE * abs(quick.value):
        return Looked(Scanned("smooth", *quick, steps=(0.0, length)), np.zeros((), bool))
    if case.cotangent is None or case.cotangent.size > APART:
        return Looked(scan(f, x), np.ones((), bool))
    part = _Moved(case, name, index)
    for far in PROBES:
        finite(part, x + far * length)
    while True:
        part.moved, asked = part.met.copy(), part.met.sum()
        seen = scan(part, x)
        if part.met.sum() == asked:
            # beside more it may be small
            whole = scan(f, x) if seen.kind == "unresolved" else seen
            return Looked(seen if whole.kind == "unresolved" else whole, part.moved)


class _Moved:
    """The contraction of those entries of the value that one entry of an input moves.

    `met` are those that were seen to move so far, `moved` those that are counted.
    """

    def __init__(self, case: Case, name: str, index: tuple[int, ...]) -> None:
        assert case.cotangent is not None
        self.value = moving(case, {name: unit(case.inputs[name], index)})
        self.x = float(np.asarray(case.inputs[name])[index])
        self.cotangent, self.here = case.cotangent, np.array(self.value(0.0))
        self.met = np.zeros(case.cotangent.shape, bool)
        self.moved = self.met

    def __call__(self, at: float) -> float:
        now = np.asarray(self.value(at - self.x))
        self.met |= now != self.here
        return float(np.sum((now * self.cotangent)[self.moved]))


def _loudness(found: Sequence[Looked]) -> Array:
    """The loudest noise that was heard in each entry of the value, whatever was moved."""
    loud = np.zeros(np.broadcast_shapes(*(looked.moved.shape for looked in found)))
    for looked in found:
        loud[...] = np.where(looked.moved, np.maximum(loud, looked.seen.noise), loud)
    return loud


def _within(looked: Looked, loud: Array) -> Scanned:
    """The slope with a bar for the rounding that shows only when other inputs are moved.

    Beside 1 a probability of 1e-17 is lost without a trace in `log(1 + p)`; what is lost of the
    value is no more than what is heard of it elsewhere, over the length on which the slope varies.
    """
    heard = float(np.max(loud, initial=0.0, where=looked.moved))
    length = looked.seen.steps[1]
    return replace(looked.seen, error=looked.seen.error + (heard / length if heard else 0.0))


def _ball(seen: Scanned) -> tuple[arb, Slope | None]:
    """A scanned slope as a ball; unresolved ones become balls that hold no number."""
    known = math.isfinite(seen.value) and math.isfinite(seen.error)
    ball = arb(seen.value, seen.error) if known else arb(0, math.inf)
    if seen.kind == "smooth":
        return ball, None
    slope = Slope(seen.kind, seen.left, seen.right, seen.detail)
    return (ball if seen.kind in ("one-sided", "unresolved") else arb.nan()), slope
