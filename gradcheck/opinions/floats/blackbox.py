"""Finite differences of a program that only takes floats, and directions for large ones."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

import numpy as np
from flint import arb

from gradcheck.opinions.floats.entries import all_looked_at, loudness, within
from gradcheck.opinions.floats.glance import glance
from gradcheck.opinions.floats.lines import Along, line, value_of
from gradcheck.opinions.floats.scan import Scanned, scan
from gradcheck.opinions.opinion import (
    Array,
    Case,
    Direction,
    Estimate,
    NotScalar,
    Opinion,
    Slope,
    contracted,
    estimate,
    reason,
    top,
)  # fmt: skip

EPSILON = float(np.finfo(np.float64).eps)
DIRECTIONS = 8
ENTRIES = 400
LENGTHS = (1.0, 2.0**-6, 2.0**-10)  # of a glance: nearer where networks of relus bend within
GLANCED = 1e-6  # of the steepest slope: the widest bar that settles anything
ENOUGH = 1e-7  # the same: narrow enough not to look nearer
FAR = 1e-3  # of a slope: a bar so wide that others at the same length will be no better
KEPT = 500_000  # entries up to which a direction is kept rather than drawn again
STIR = 1e-3  # of an entry: what would show if it had any influence in float64
HEARD = 4  # times the noise of a scan, an rms of differences: nearly all of a normal distribution
SPREAD = math.sqrt(12)  # the width over which even draws have a mean square of 1
MOST = SPREAD / 2  # of an input's size: the largest entry of a direction


def black_box(case: Case, because: str, count: int = DIRECTIONS) -> Opinion:
    """Scan floats along every entry, or along so many random directions where there are many."""
    try:
        value = np.array(value_of(case, case.floats()), dtype=np.float64)
        method = f"scanned floats ({because})"
        if case.size() > ENTRIES:
            found = tuple(slope_along(case, along) for along in islice(directions(case), count))
            known = valued(case, value, 0.0)
            return Opinion("differences", known, directions=found, method=method)
        gradients, slopes, noise = _each(case)
    except NotScalar:
        raise
    except Exception as error:  # noqa: BLE001 - a user's program may raise anything
        return Opinion("differences", abstains=reason(error))
    known = valued(case, value, noise)
    return Opinion("differences", known, gradients, slopes=slopes, method=method)


def valued(case: Case, value: Array, noise: float) -> Estimate:
    """The value with its own rounding, and what the contracted value was seen to carry.

    A cotangent weighs every entry by at least its least weight.
    """
    least = 1.0 if case.cotangent is None else float(np.min(np.abs(case.cotangent), initial=np.inf))
    heard = HEARD * noise / least if 0 < least < np.inf else 0.0
    size = np.asarray(np.abs(value))
    bars = np.asarray(4 * EPSILON * size + heard)
    return Estimate(floats=(value, bars), sizes=(top(size), top(bars)))


def glanced(case: Case, count: int) -> Opinion | None:
    """Slopes along a few directions, at nine samples each if they are enough, else by a scan.

    None where one of them has no slope, or none that is known well beside the steepest.
    """
    try:
        value = np.array(value_of(case, case.floats()), dtype=np.float64)
        here = float(np.asarray(contracted(value, case.cotangent)).item())
        chosen = tuple(islice(directions(case), count))
        seen = _glances(case, chosen, here) or [scan(line(case, u), 0.0, scale=1.0) for u in chosen]
        if any(each.kind != "smooth" for each in seen) or _widest(seen) > GLANCED:
            return None
    except Exception:  # noqa: BLE001 - whatever a program raises, the full opinion will tell
        return None
    slopes = (arb(each.value, each.error) for each in seen)
    found = tuple(map(Direction, chosen, slopes))
    method = f"floats along {count} directions"
    return Opinion("differences", valued(case, value, 0.0), directions=found, method=method)


def _glances(case: Case, chosen: Sequence[Along], here: float) -> list[Scanned]:
    """Glances along some directions at the first length at which all are sure, else the surest.

    At a length at which the first is not sure the others are looked at only if none is better.
    """
    tried: dict[float, list[Scanned]] = {}
    for length in LENGTHS:
        first = _glance(case, chosen[0], length, here)
        if first is not None and (first.error > ENOUGH * abs(first.value)):
            tried[length] = [first]
        elif first is not None and (seen := _more(case, chosen, here, length, [first])):
            if _widest(seen) <= ENOUGH:
                return seen
            tried[length] = seen
    for length, seen in sorted(tried.items(), key=lambda item: _widest(item[1])):
        every = _more(case, chosen, here, length, seen)
        if every and _widest(every) <= GLANCED:
            return every
    return []


def _more(
    case: Case, chosen: Sequence[Along], here: float, length: float, seen: list[Scanned]
) -> list[Scanned]:
    """Glances along all directions, some of which have been seen; none where one is of no use."""
    found = list(seen)
    for along in chosen[len(seen) :]:
        glimpse = _glance(case, along, length, here)
        if glimpse is None:
            return []
        found.append(glimpse)
    return found


def _glance(case: Case, along: Along, length: float, here: float) -> Scanned | None:
    """A glance along one direction; None where it is too wide to be of use at this length."""
    seen = glance(line(case, along), 0.0, length, here, sure=math.inf)
    return None if seen is None or seen.error > FAR * abs(seen.value) else seen


def _widest(seen: Sequence[Scanned]) -> float:
    """The widest bar beside the steepest slope.

    Along some random direction a slope may be small by chance, and says no less there.
    """
    steepest = max(abs(each.value) for each in seen)
    widest = max(each.error for each in seen)
    return widest / steepest if steepest else math.inf


@dataclass(frozen=True, eq=False)
class Drawn(Mapping[str, Array]):
    """A random direction through the wrt inputs: even draws about 0 of each input's own size.

    One of many entries is drawn again whenever it is asked for, in half the memory, and not kept.
    """

    case: Case
    number: int

    def __getitem__(self, name: str) -> Array:
        """The direction's part in one input."""
        if name not in self.case.wrt:
            raise KeyError(name)
        return self._kept[name] if self.case.size() <= KEPT else self._drawn(name)

    def __iter__(self) -> Iterator[str]:
        """The inputs' names."""
        return iter(self.case.wrt)

    def __len__(self) -> int:
        """How many inputs there are."""
        return len(self.case.wrt)

    @cached_property
    def _kept(self) -> dict[str, Array]:
        return {name: self._drawn(name) for name in self.case.wrt}

    def _drawn(self, name: str) -> Array:
        values, several = self.case.inputs[name], len(self.case.wrt)
        key = (self.case.seed + 1) * DIRECTIONS + self.number
        rng = np.random.default_rng(key * several + self.case.wrt.index(name))
        size = SPREAD * size_of(values)
        kind = np.float32 if self.case.size() > KEPT and abs(math.log2(size)) < 64 else np.float64
        drawn: Array = np.asarray(rng.random(np.shape(values), dtype=kind))
        drawn -= 0.5
        drawn *= kind(size)
        return drawn


def size_of(values: Array) -> float:
    """The root mean square of an array's entries; 1 where they are all zero."""
    flat = np.asarray(values, dtype=np.float64).reshape(-1)
    return math.sqrt((flat @ flat) / max(len(flat), 1)) or 1.0


def directions(case: Case) -> Iterator[Along]:
    """Signed random directions through all wrt inputs at once, scaled to each input's size."""
    return (Drawn(case, number) for number in range(DIRECTIONS))


def slope_along(case: Case, along: Along) -> Direction:
    """The slope of the program along one direction, by scanning floats."""
    slope, kind = _ball(scan(line(case, along), 0.0, scale=1.0))
    return Direction(along, slope, kind)


def _each(
    case: Case,
) -> tuple[dict[str, Estimate], dict[tuple[str, tuple[int, ...]], Slope], float]:
    """The slope at every entry of every wrt input, and the loudest noise that was heard."""
    found = all_looked_at(case)
    loud = loudness(list(found.values()))
    gradients = {name: np.empty(np.shape(case.inputs[name]), dtype=object) for name in case.wrt}
    slopes = {}
    for (name, index), looked in found.items():
        gradients[name][index], slope = _ball(within(looked, loud))
        if slope is not None:
            slopes[name, index] = slope
    noise = max((looked.seen.noise for looked in found.values()), default=0.0)
    return {name: estimate(balls) for name, balls in gradients.items()}, slopes, noise


def flat_at(case: Case, name: str, index: tuple[int, ...]) -> bool:
    """Whether float64 shows no change at all of any value when one entry moves a little."""
    start = case.floats()
    for step in (-STIR, STIR):
        moved = start[name].copy()
        moved[index] += step * (abs(moved[index]) or 1.0)
        if not np.array_equal(value_of(case, {**start, name: moved}), value_of(case, start)):
            return False
    return True


def unseen(case: Case, name: str, index: tuple[int, ...]) -> float:
    """The largest slope of an entry that moves no value by a unit of rounding where it stirs."""
    value = np.asarray(value_of(case, case.floats()), dtype=np.float64)
    weights = 1.0 if case.cotangent is None else case.cotangent
    size = abs(float(np.asarray(case.inputs[name])[index])) or 1.0
    return EPSILON * float(np.max(np.abs(value * weights), initial=0.0)) / (STIR * size)


def _ball(seen: Scanned) -> tuple[arb, Slope | None]:
    """A scanned slope as a ball; unresolved ones become balls that hold no number."""
    known = math.isfinite(seen.value) and math.isfinite(seen.error)
    ball = arb(seen.value, seen.error) if known else arb(0, math.inf)
    if seen.kind == "smooth":
        return ball, None
    slope = Slope(seen.kind, seen.left, seen.right, seen.detail)
    return (ball if seen.kind in ("one-sided", "unresolved") else arb.nan()), slope
