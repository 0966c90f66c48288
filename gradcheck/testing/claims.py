"""A claimed gradient judged against the opinions: entry by entry, each with its own tolerance.

The tolerance is the reference's error bar, the rounding error that floats themselves make on this
gradient, and a floor `rtol`; it never grows with the number of entries.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from flint import arb

from gradcheck.numbers.ball import middle, radius
from gradcheck.opinions.limits import LIKE, PRODUCT
from gradcheck.opinions.opinion import Array, Case, Direction, Estimate
from gradcheck.verdict.consult import Entry, Verdict
from gradcheck.verdict.directions import dot, locate
from gradcheck.verdict.neighbours import neighbours

RTOL = 1e-9
NOISE = 4.0  # times reverse mode's own rounding: another order of operations may lose more
FLOOR = 1e-13  # of the largest entry: some 450 units of rounding
LOOSE = 1e-4
"""Of the largest entry: where rounding may move a number more, the formula is judged in balls."""
PROVEN = 1e-20  # of an entry, in ball arithmetic: far below what float64 can hold
EPSILON = float(np.finfo(np.float64).eps)
Index = tuple[int, ...]
Arrays = Mapping[str, Array]


@dataclass(frozen=True)
class Off:
    """An entry of a claim that is out: what was claimed, what the reference says, the tolerance."""

    part: str
    index: Index
    claimed: float
    expected: float
    error: float
    tolerance: float
    interval: tuple[float, float] | None = None


@dataclass(frozen=True)
class Judged:
    """One part of a claim: the entries that are out, and words on shape where that is wrong.

    `reach` works the sensitivity out when it is asked for; `lossy` names the floats that lose
    digits of a formula that is right: in ball arithmetic, where they are float64, in float64 where
    they are coarser.
    """

    part: str
    off: tuple[Off, ...] = ()
    shape: str = ""
    reach: Callable[[], float] = field(default=float, repr=False, compare=False)
    lossy: str = ""

    @cached_property
    def sensitivity(self) -> float:
        """The widest tolerance of any entry."""
        return self.reach()

    @property
    def right(self) -> bool:
        """Nothing is out."""
        return not (self.off or self.shape)


@dataclass(frozen=True)
class Grain:
    """The rounding of a claim: its unit, how far it moves by it, and what it is without it."""

    unit: float = EPSILON
    moves: Arrays | None = None
    exact: Arrays | None = None

    @property
    def coarse(self) -> float:
        """How much coarser than float64."""
        return self.unit / EPSILON


def judge(
    verdict: Verdict,
    claims: Mapping[str, Any],
    rtol: float = RTOL,
    *,
    case: Case | None = None,
    grain: Grain = Grain(),
) -> tuple[Judged, ...]:
    """Every claimed gradient against the best reference the verdict has.

    With the `case`, a disagreement along directions is located by masked probes.
    """
    references = {name: verdict.parts[name].gradient for name in claims}
    shaped = tuple(_shape(name, claims[name], verdict) for name in claims)
    wrong = tuple(judged for judged in shaped if judged is not None)
    if any(reference is None for reference in references.values()):
        return wrong or _by_directions(verdict, claims, rtol * grain.coarse, case)
    parts = tuple(
        judged or _part(verdict, name, np.asarray(claims[name]), rtol, grain)
        for name, judged in zip(claims, shaped, strict=True)
    )
    if case is None:
        return parts
    return _at_kinks(parts, case)


def _shape(name: str, claim: Any, verdict: Verdict) -> Judged | None:
    expected = _shape_of(name, verdict)
    if claim is None:
        words = f"None came, no gradient of shape {expected}; a constant is left out by wrt="
        return Judged(name, shape=words)
    if expected is not None and np.shape(claim) != expected:
        return Judged(name, shape=f"has the shape {np.shape(claim)}; its argument has {expected}")
    return None


def _shape_of(name: str, verdict: Verdict) -> Index | None:
    reference = verdict.parts[name].gradient
    if reference is not None:
        return reference.shape
    along = (d.along[name] for o in verdict.opinions.values() for d in o.directions)
    return next((np.shape(u) for u in along), None)


def _part(verdict: Verdict, name: str, claim: Array, rtol: float, grain: Grain) -> Judged:
    reference = verdict.parts[name].gradient
    assert reference is not None
    kinks = {e.index: e for e in verdict.parts[name].entries if e.interval is not None}
    if not kinks and grain.exact is None and _close(claim, reference, rtol, grain):
        return Judged(name, reach=partial(_widest, verdict, name, reference, rtol, grain))
    bars = _bars(verdict, name, reference, rtol, grain)
    for index, kink in kinks.items():
        bars[index] = _slack(kink, float(bars[index]), max(rtol, 64 * grain.unit))
    given = claim.astype(np.float64)
    looked_at = [index for index in _outside(given, reference, bars) if index not in kinks]
    found = [
        _entry(Off(name, index, *_sides(given, reference, index), float(bars[index])), kinks)
        for index in sorted([*looked_at, *kinks])
    ]
    off = tuple(entry for entry in found if entry is not None)
    off += _refuted(verdict, name, reference, bars, grain)
    lossy = bool(off) and all(_proven(entry, reference, grain) for entry in off)
    widest = float(np.max(bars + _finite(reference.error), initial=0.0))
    said = "float64" if lossy else ""
    return Judged(name, () if lossy else off, reach=lambda: widest, lossy=said)


def _outside(given: Array, reference: Estimate, bars: Array) -> list[Index]:
    """The entries that are off by more than their bars."""
    with np.errstate(invalid="ignore"):
        inside = np.abs(given - reference.value) <= reference.error + bars
    return [tuple(map(int, index)) for index in np.argwhere(~inside)]


def _close(claim: Array, reference: Estimate, rtol: float, grain: Grain) -> bool:
    """Whether every entry is within the least that any tolerance is."""
    with np.errstate(invalid="ignore"):
        off: Array = np.asarray(np.subtract(claim, reference.value))
        room: Array = np.asarray(np.abs(reference.value))
        room *= max(rtol, 64 * grain.unit)
        return bool((np.abs(off, out=off) <= room).all())


def _widest(verdict: Verdict, name: str, reference: Estimate, rtol: float, grain: Grain) -> float:
    """The widest tolerance of any entry, where all are finite; a lone reference adds its bar."""
    mine = _own(verdict, name)
    noise = 0.0 if mine is None else mine.widest
    if not np.isfinite(noise):
        noise = float(np.max(_noise(verdict, name, reference), initial=0.0))
    moves = np.max(_moved(name, reference, grain), initial=0.0)
    widest = _tolerance(np.asarray(reference.largest), np.asarray(noise), moves, rtol, grain)
    alone = verdict.verdict == "undecided"
    return float(widest + (np.max(_finite(reference.error), initial=0.0) if alone else 0.0))


def _bars(verdict: Verdict, name: str, reference: Estimate, rtol: float, grain: Grain) -> Array:
    """The tolerance of every entry."""
    return np.array(_tolerance(*_sources(verdict, name, reference, grain), rtol, grain))


def _sources(
    verdict: Verdict, name: str, reference: Estimate, grain: Grain
) -> tuple[Array, Array, Array]:
    """What tolerances are made of: sizes, reverse mode's own rounding, what moves the claim."""
    values = _finite(np.abs(reference.value), np.finfo(np.float64).max)
    return values, _noise(verdict, name, reference), _moved(name, reference, grain)


def _moved(name: str, reference: Estimate, grain: Grain) -> Array:
    """How far rounding moves each entry of the claim, where that is known."""
    moves = (grain.moves or {}).get(name)
    return np.zeros(()) if moves is None or moves.shape != reference.shape else moves


def _tolerance(values: Array, noise: Array, moves: Array, rtol: float, grain: Grain) -> Array:
    """The tolerance of entries, or the widest from the largest of what they are made of."""
    largest = np.max(values, initial=0.0)
    noise = np.minimum(NOISE * grain.coarse * noise, LOOSE * largest)
    own = np.maximum(max(rtol, 64 * grain.unit) * values, noise)
    return np.asarray(np.maximum(np.maximum(own, FLOOR * grain.coarse * largest), moves))


def _slack(kink: Entry, bar: float, rtol: float) -> float:
    """The tolerance at a kink: what is large beside it is no rounding but the other branch.

    Where kinks cancel in this entry alone (`tie`) conventions differ, and nothing is tightened.
    """
    low, high = kink.interval or (0.0, 0.0)
    size = max(abs(low), abs(high))
    return max(bar if kink.tie else min(bar, (high - low) / 1000), rtol * size)


def _sides(given: Array, reference: Estimate, index: Index) -> tuple[float, float, float]:
    """What was claimed, what is expected, and the bar of that."""
    return float(given[index]), float(reference.value[index]), float(reference.error[index])


def _entry(off: Off, kinks: Mapping[Index, Entry]) -> Off | None:
    """The entry if it is out: of its tolerance, or of a kink's interval."""
    interval = kinks[off.index].interval if off.index in kinks else None
    if interval is not None:
        low, high = interval
        inside = low - off.tolerance <= off.claimed <= high + off.tolerance
        return None if inside else replace(off, expected=np.nan, error=0.0, interval=interval)
    if not np.isfinite(off.expected):
        return None
    return None if abs(off.claimed - off.expected) <= off.error + off.tolerance else off


def _proven(off: Off, reference: Estimate, grain: Grain) -> bool:
    """Whether the formula itself, in balls, gives the reference at this entry."""
    exact = (grain.exact or {}).get(off.part)
    if exact is None or exact.shape != reference.shape or off.interval is not None:
        return False
    ball, right = exact[off.index], reference.balls[off.index]
    near = arb(right.mid(), right.rad() + PROVEN * abs(right.mid()))
    return bool(ball.is_finite() and ball.overlaps(near) and ball.rad() <= 1e-9 * abs(right.mid()))


def _refuted(
    verdict: Verdict, name: str, reference: Estimate, bars: Array, grain: Grain
) -> tuple[Off, ...]:
    """Entries that rounding would excuse, but whose formula in balls gives something else."""
    exact = (grain.exact or {}).get(name)
    if exact is None or exact.shape != reference.shape:
        return ()
    loose = bars > LOOSE * np.max(np.abs(np.nan_to_num(reference.value)), initial=0.0)
    kinks = {e.index for e in verdict.parts[name].entries if e.interval is not None}
    found = []
    for place in np.argwhere(loose):
        index: Index = tuple(map(int, place))
        ball, right = exact[index], reference.balls[index]
        sure = ball.is_finite() and right.is_finite() and index not in kinks
        near = arb(right.mid(), right.rad() + RTOL * abs(right.mid()))
        if sure and ball.rad() <= RTOL * abs(ball.mid()) and not ball.overlaps(near):
            found.append(Off(name, index, middle(ball), middle(right), radius(right), RTOL))
    return tuple(found)


def _noise(verdict: Verdict, name: str, reference: Estimate) -> Array:
    """What float64 itself loses on each entry: reverse mode's own error bar where it has one."""
    mine = _own(verdict, name)
    return np.zeros(reference.shape) if mine is None else _finite(mine.error)


def _own(verdict: Verdict, name: str) -> Estimate | None:
    """Reverse mode's own gradient."""
    opinion = verdict.opinions.get("reverse")
    return None if opinion is None or opinion.abstains else opinion.gradients.get(name)


def _finite(values: Array, infinite: float = 0.0) -> Array:
    """Numbers of which nan counts as 0, and infinite ones as something finite."""
    if np.all(np.isfinite(values)):
        return values
    return np.asarray(np.nan_to_num(values, posinf=infinite))


# -- at kinks --------------------------------------------------------------------------------------


def _at_kinks(parts: tuple[Judged, ...], case: Case) -> tuple[Judged, ...]:
    """Entries outside their interval may still follow a branch beside the point."""
    if not any(off.interval is not None for part in parts for off in part.off):
        return parts
    near = tuple(neighbours(case))
    return tuple(
        replace(part, off=tuple(off for off in part.off if not _followed(off, near)))
        for part in parts
    )


def _followed(off: Off, near: Iterable[Arrays]) -> bool:
    """Whether the entry at a kink is that of some gradient beside the point."""
    return off.interval is not None and any(
        _like(off.claimed, g[off.part])[off.index] for g in near
    )


def _like(claim: Any, gradient: Array) -> Array:
    """Which entries of a claim are a gradient's."""
    apart = np.abs(np.asarray(claim, dtype=np.float64) - gradient)
    return np.asarray(apart <= LIKE * np.max(np.abs(gradient), initial=0.0))


# -- by directions -------------------------------------------------------------------------------


def _by_directions(
    verdict: Verdict, claims: Mapping[str, Any], rtol: float, case: Case | None
) -> tuple[Judged, ...]:
    """A large claim: its slope along each random direction against the differences' slope."""
    found = [
        off
        for k, direction in enumerate(verdict.opinions["differences"].directions)
        if (off := _along(k, direction, claims, rtol)) is not None
    ]
    parts = tuple(Judged(name) for name in claims)
    if not found:
        return parts
    where = None if case is None else locate(case, claims)
    if where is None:
        return (Judged("every input along a direction", tuple(found)), *parts)
    error = radius(where.slope)
    off = Off(where.part, where.index, where.given, middle(where.slope), error, error)
    return tuple(Judged(n, (off,) if n == where.part else ()) for n in claims)


def _along(k: int, direction: Direction, claims: Mapping[str, Any], rtol: float) -> Off | None:
    total, bar = 0.0, 0.0
    for name, u in direction.along.items():
        part, length = dot(np.asarray(claims[name], dtype=np.float64), u)
        total += part
        bar = max(bar, rtol * length) + PRODUCT * length
    slope = direction.slope
    if not slope.is_finite():
        return None
    if np.isfinite(total) and abs(total - middle(slope)) <= radius(slope) + bar:
        return None
    return Off("", (k,), total, middle(slope), radius(slope), bar)
