"""A claimed gradient judged against the opinions: entry by entry, each with its own tolerance.

The tolerance is the reference's error bar, the rounding error that float64 itself makes on this
gradient, and a floor `rtol`; it never grows with the number of entries.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb

from gradcheck.numbers.ball import arbs, exact, middle
from gradcheck.opinions.opinion import Array, Direction, Estimate
from gradcheck.verdict import Entry, Verdict

RTOL = 1e-9
NOISE = 4.0
FLOOR = 1e-13
Index = tuple[int, ...]


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
    """One part of a claim: the entries that are out, and words on shape where that is wrong."""

    part: str
    off: tuple[Off, ...] = ()
    shape: str = ""
    sensitivity: float = 0.0

    @property
    def right(self) -> bool:
        """Nothing is out."""
        return not self.off and not self.shape


def judge(verdict: Verdict, claims: Mapping[str, Any], rtol: float = RTOL) -> tuple[Judged, ...]:
    """Every claimed gradient against the best reference the verdict has."""
    gradients = {name: verdict.parts[name].gradient for name in claims}
    if any(g is None for g in gradients.values()):
        return _by_directions(verdict, claims, rtol)
    return tuple(_part(verdict, name, claims[name], rtol) for name in claims)


def _part(verdict: Verdict, name: str, claim: Any, rtol: float) -> Judged:
    reference = verdict.parts[name].gradient
    assert reference is not None
    wrong_shape = _shape(name, claim, reference.balls.shape)
    if wrong_shape:
        return wrong_shape
    given = arbs(claim)
    noise = _noise(verdict, name, reference)
    level = float(np.max(np.abs(np.nan_to_num(reference.value)), initial=0.0))
    kinks = {e.index: e for e in verdict.parts[name].entries if e.interval is not None}
    off = []
    widest = 0.0
    for index in np.ndindex(given.shape):
        ball = reference.balls[index]
        bar = max(rtol * abs(middle(ball)), NOISE * noise[index], FLOOR * level)
        widest = max(widest, bar)
        found = _entry(name, index, given[index], ball, bar, kinks.get(index))
        if found is not None:
            off.append(found)
    return Judged(name, tuple(off), sensitivity=widest)


def _shape(name: str, claim: Any, shape: Index) -> Judged | None:
    if claim is None:
        return Judged(name, shape=f"no gradient came (None); an array of shape {shape} was expected")
    if np.shape(claim) != shape:
        return Judged(name, shape=f"has the shape {np.shape(claim)}; its argument has {shape}")
    return None


def _entry(
    name: str, index: Index, given: arb, ball: arb, bar: float, kink: Entry | None
) -> Off | None:
    if kink is not None and kink.interval is not None:
        low, high = kink.interval
        inside = low - 1e-12 <= middle(given) <= high + 1e-12
        return None if inside else Off(name, index, middle(given), np.nan, 0.0, 0.0, (low, high))
    if not ball.is_finite():
        return None
    if given.is_finite() and given.overlaps(arb(ball.mid(), ball.rad() + arb(bar))):
        return None
    return Off(name, index, middle(given), middle(ball), float(ball.rad()), bar)


def _noise(verdict: Verdict, name: str, reference: Estimate) -> Array:
    """What float64 itself loses on each entry: reverse mode's own error bar where it has one."""
    opinion = verdict.opinions.get("reverse")
    if opinion is None or opinion.abstains or name not in opinion.gradients:
        return np.zeros(reference.balls.shape)
    return np.nan_to_num(opinion.gradients[name].error, posinf=0.0)


def _by_directions(verdict: Verdict, claims: Mapping[str, Any], rtol: float) -> tuple[Judged, ...]:
    """A large claim: its slope along each random direction against the differences' slope."""
    found = []
    for k, direction in enumerate(verdict.opinions["differences"].directions):
        total, size = _dot(claims, direction)
        bar = rtol * size
        if not total.overlaps(arb(direction.slope.mid(), direction.slope.rad() + arb(bar))):
            off = Off(
                "", (k,), middle(total), middle(direction.slope), float(direction.slope.rad()), bar
            )
            found.append(off)
    parts = [Judged(name) for name in claims]
    return (Judged("every input along a direction", tuple(found)), *parts) if found else tuple(parts)


def _dot(claims: Mapping[str, Any], direction: Direction) -> tuple[arb, float]:
    """The claim's slope along a direction, and the size of its largest single term."""
    total, size = arb(0), 0.0
    for name, u in direction.along.items():
        terms = np.asarray(claims[name], dtype=np.float64) * u
        total += exact(float(np.sum(terms)))
        size = max(size, float(np.sqrt(np.sum(terms**2))))
    return total, size
