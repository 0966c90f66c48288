"""A claimed gradient judged entry by entry, by three rules.

1. Within the bars of the reference, of reverse mode's own rounding, and `rtol`: right. No bar grows
   with the number of entries.
2. Else finer arithmetic decides where the claim runs on it: balls for float64, float64 for coarser
   floats. Equal there: right, and the formula loses digits here. Apart: wrong.
3. Else inputs are moved by a few units of rounding: what is farther off than that moves the claim
   is wrong, what is within is right. A backward of plain floats that is off by so little that
   only rounding is so small is neither, unless a tolerance was given.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from flint import arb

from gradcheck.numbers.ball import arbs, balls, middle, radius
from gradcheck.numbers.run import precision
from gradcheck.opinions.floats.blackbox import looked_at
from gradcheck.opinions.limits import LIKE, PRODUCT, SAMPLES
from gradcheck.opinions.opinion import Array, Case, Direction, Estimate, estimate
from gradcheck.opinions.rounding import noise, spread
from gradcheck.testing.buffers import Makers, makers_of
from gradcheck.testing.call import Call, is_symmetric
from gradcheck.testing.limits import (
    AGAIN,
    COARSE,
    EPSILON,
    FAINT,
    FLOOR,
    LOOSE,
    MOVED,
    NARROW,
    NOISE,
    PRECISIONS,
    PROVEN,
    RTOL,
    UNITS,
)
from gradcheck.testing.program import Program
from gradcheck.testing.single import Coarse, Look, coarse_inside
from gradcheck.verdict.consult import Entry, Verdict
from gradcheck.verdict.directions import dot, locate
from gradcheck.verdict.neighbours import neighbours

Index = tuple[int, ...]
Arrays = Mapping[str, Array]
LOST = "right as far as {floats} can show: the formula loses digits here"
TRIANGLES = (
    "of a symmetric matrix: right with both triangles added up, as it may stand in one or be "
    "spread over both"
)
OPEN = (
    "its values as plain floats say no more; give rtol= if that is rounding, or write it in "
    "NumPy alone, that exact numbers can pass through it"
)


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

    @property
    def distance(self) -> float:
        """How far it is off; infinite where it is no number."""
        distance = abs(self.claimed - self.expected)
        return distance if distance >= 0 else float("inf")


@dataclass(frozen=True)
class Judged:
    """One part of a claim: the entries that are out, and words on shape where that is wrong.

    `reach` works the sensitivity out when it is asked for; `lossy` names the floats that lose
    digits of a formula that is right; `undecided` says that what is out may be rounding;
    `remark` is what a reader should know of what is right.
    """

    part: str
    off: tuple[Off, ...] = ()
    shape: str = ""
    reach: Callable[[], float] = field(default=float, repr=False, compare=False)
    lossy: str = ""
    undecided: bool = False
    remark: str = ""

    @cached_property
    def sensitivity(self) -> float:
        """The widest tolerance of any entry."""
        return self.reach()

    @property
    def right(self) -> bool:
        """Nothing is out."""
        return not (self.off or self.shape)


@dataclass(frozen=True)
class Claim:
    """Gradients given at one point, or how to make them there and on other numbers, or both."""

    call: Call
    given: Mapping[str, Any] | None = None
    cotangent: Array | None = None

    @cached_property
    def gradients(self) -> Mapping[str, Any]:
        """What is claimed, made when it is first asked for."""
        if self.given is not None:
            return self.given
        return self.by_name(self.call, self.call.fresh())

    @property
    def runs(self) -> bool:
        """Whether it can be made again, at other arguments."""
        return self.call.program.backward is not None

    def made(self, program: Program, args: list[Any], change: Any = None) -> Any:
        """What a backward pass claims; `change` is done to the cotangent."""
        if self.cotangent is None:
            return program.pull(args)
        cotangent = self.cotangent.copy()
        return program.pull(args, cotangent if change is None else change(cotangent))

    def by_name(self, call: Call, args: list[Any]) -> dict[str, Any]:
        """What is claimed at some arguments."""
        return call.by_name(self.made(call.program, args))

    @cached_property
    def coarse(self) -> Coarse:
        """What is coarser than float64 inside the function or what makes the claim."""
        found = self.call.coarse
        if found.kind or not self.runs:
            return found

        def run(makers: Makers, seen: Look) -> Any:
            args = list(map(seen, self.call.fresh()))
            return self.made(self.call.program.with_makers(makers), args, seen)

        return coarse_inside(run)


def judged_claim(case: Case, verdict: Verdict, claim: Claim, rtol: float) -> tuple[Judged, ...]:
    """A claim by the three rules."""
    unit = claim.call.grain(*claim.gradients.values())
    first = within_bars(case, verdict, claim.gradients, rtol, unit)
    first = tuple(_over_triangles(part, claim, verdict) for part in first)
    if not claim.runs or not any(part.off for part in first):
        return first
    if unit > EPSILON:
        if finer := _in_doubles(case, verdict, claim, rtol, first):
            return finer
    elif claim.coarse.unit > unit:
        unit = claim.coarse.unit
        first = within_bars(case, verdict, claim.gradients, rtol, unit)
    elif (exact := _in_balls(verdict, claim, first)) is not None:
        return exact
    if any(part.off for part in first):
        return _by_moved_inputs(verdict, claim, first, rtol, unit)
    return first


# -- the first rule: bars ------------------------------------------------------------------------


def within_bars(
    case: Case, verdict: Verdict, claims: Mapping[str, Any], rtol: float, unit: float
) -> tuple[Judged, ...]:
    """Every claimed gradient against the best reference the verdict has.

    A disagreement along directions is located by masked probes.
    """
    shaped = [_shape(name, claims[name], verdict) for name in claims]
    if any(verdict.parts[name].gradient is None for name in claims):
        wrong = tuple(part for part in shaped if part is not None)
        return wrong or _by_directions(verdict, claims, rtol * unit / EPSILON, case)
    parts = tuple(
        part or _part(verdict, name, np.asarray(claims[name]), rtol, unit)
        for name, part in zip(claims, shaped, strict=True)
    )
    return _at_kinks(parts, case)


def _shape(name: str, claim: Any, verdict: Verdict) -> Judged | None:
    """Words on a shape that is not the argument's."""
    reference = verdict.parts[name].gradient
    along = (d.along[name] for o in verdict.opinions.values() for d in o.directions)
    expected = next(map(np.shape, along), None) if reference is None else reference.shape
    if claim is None:
        words = f"None came, no gradient of shape {expected}; a constant is left out by wrt="
        return Judged(name, shape=words)
    if expected is not None and np.shape(claim) != expected:
        return Judged(name, shape=f"has the shape {np.shape(claim)}; its argument has {expected}")
    return None


def _part(verdict: Verdict, name: str, claim: Array, rtol: float, unit: float) -> Judged:
    reference = verdict.parts[name].gradient
    assert reference is not None
    kinks = {e.index: e for e in verdict.parts[name].entries if e.interval is not None}

    def reach() -> float:
        alone = verdict.verdict == "undecided"
        bars = _bars(verdict, name, reference, rtol, unit)
        return float(np.max(bars + (_finite(reference.error) if alone else 0.0), initial=0.0))

    relative = max(rtol, UNITS * unit)
    with np.errstate(invalid="ignore"):
        away: Array = np.abs(np.subtract(claim, reference.value))
        if not kinks and bool((away <= relative * np.abs(reference.value)).all()):
            return Judged(name, reach=reach)
        bars = _bars(verdict, name, reference, rtol, unit)
        for index, kink in kinks.items():
            bars[index] = _slack(kink, float(bars[index]), relative)
        outside = [tuple(map(int, i)) for i in np.argwhere(~(away <= reference.error + bars))]
    found = []
    for index in sorted({*outside, *kinks}):
        sides = float(claim[index]), float(reference.value[index])
        bar = float(reference.error[index]), float(bars[index])
        found.append(_entry(Off(name, index, *sides, *bar), kinks.get(index)))
    return Judged(name, tuple(off for off in found if off is not None), reach=reach)


def _bars(verdict: Verdict, name: str, reference: Estimate, rtol: float, unit: float) -> Array:
    """The tolerance of every entry: relative, or reverse mode's own rounding, or of the largest."""
    values = _finite(np.abs(reference.value), np.finfo(np.float64).max)
    largest = np.max(values, initial=0.0)
    opinion = verdict.opinions.get("reverse")
    mine = None if opinion is None or opinion.abstains else opinion.gradients.get(name)
    lost = np.zeros(reference.shape) if mine is None else _finite(mine.error)
    coarse = unit / EPSILON
    rounding = np.minimum(NOISE * coarse * lost, LOOSE * largest)
    relative = max(rtol, UNITS * unit) * values
    return np.array(np.maximum(np.maximum(relative, rounding), FLOOR * coarse * largest))


def _finite(values: Array, infinite: float = 0.0) -> Array:
    """Numbers of which nan counts as 0, and infinite ones as something finite."""
    if np.all(np.isfinite(values)):
        return values
    return np.asarray(np.nan_to_num(values, posinf=infinite))


def _slack(kink: Entry, bar: float, relative: float) -> float:
    """The tolerance at a kink: what is large beside it is no rounding but the other branch.

    Where kinks cancel in this entry alone (`tie`) conventions differ, and nothing is tightened.
    """
    low, high = kink.interval or (0.0, 0.0)
    size = max(abs(low), abs(high))
    return max(bar if kink.tie else min(bar, (high - low) / 1000), relative * size)


def _entry(off: Off, kink: Entry | None) -> Off | None:
    """The entry if it is out: of its tolerance, or of a kink's interval."""
    interval = None if kink is None else kink.interval
    if interval is not None:
        low, high = interval
        inside = low - off.tolerance <= off.claimed <= high + off.tolerance
        return None if inside else replace(off, expected=np.nan, error=0.0, interval=interval)
    if not np.isfinite(off.expected):
        return None
    return None if off.distance <= off.error + off.tolerance else off


def _at_kinks(parts: tuple[Judged, ...], case: Case) -> tuple[Judged, ...]:
    """Entries outside their interval may still follow a branch beside the point."""
    if not any(off.interval is not None for part in parts for off in part.off):
        return parts
    near = tuple(neighbours(case))
    return tuple(
        replace(part, off=tuple(off for off in part.off if not _follows(off, near)))
        for part in parts
    )


def _follows(off: Off, near: Iterable[Arrays]) -> bool:
    """Whether the entry at a kink is that of some gradient beside the point."""
    if off.interval is None:
        return False
    beside = (g[off.part] for g in near)
    return any(
        abs(off.claimed - g[off.index]) <= LIKE * np.max(np.abs(g), initial=0.0) for g in beside
    )


def _over_triangles(part: Judged, claim: Claim, verdict: Verdict) -> Judged:
    """A part by a symmetric matrix, whose slopes may stand in one triangle or be spread over both.

    `np.linalg.eigvalsh` reads one triangle, its textbook gradient is symmetric: both triangles
    added up are the same.
    """
    if not part.off or not is_symmetric(claim.call.args[claim.call.names.index(part.part)]):
        return part
    reference, given = verdict.parts[part.part].gradient, claim.gradients[part.part]
    if reference is None or any(off.interval is not None for off in part.off):
        return part
    bars = reference.error + max(off.tolerance for off in part.off)
    both = [m + np.swapaxes(m, -1, -2) for m in (np.asarray(given), reference.value, bars)]
    with np.errstate(invalid="ignore"):
        if not np.all(np.abs(both[0] - both[1]) <= both[2]):
            return part
    return replace(part, off=(), remark=TRIANGLES)


def _by_directions(
    verdict: Verdict, claims: Mapping[str, Any], rtol: float, case: Case
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
    where = locate(case, claims)
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


# -- the second rule: finer arithmetic -------------------------------------------------------------


def _in_balls(
    verdict: Verdict, claim: Claim, first: tuple[Judged, ...]
) -> tuple[Judged, ...] | None:
    """What balls say of the entries that are out; None where they say nothing of some."""
    for bits in PRECISIONS:
        exact = in_balls(claim, bits)
        if exact is None:
            return None
        left = tuple(_without_proven(part, exact, verdict) for part in first)
        offs = [off for part in left for off in part.off]
        if not offs or any(_is_refuted(off, exact, verdict) for off in offs):
            return left
    return None


def _without_proven(part: Judged, exact: Arrays, verdict: Verdict) -> Judged:
    """A part without the entries at which its formula gives the reference in balls."""
    left = tuple(off for off in part.off if not _is_proven(off, exact, verdict))
    return replace(part, off=left, lossy="float64" if part.off and not left else "")


def _pair(off: Off, exact: Arrays, verdict: Verdict) -> tuple[arb, arb] | None:
    """The formula's ball and the reference's at an entry; None where there are no two."""
    reference = verdict.parts[off.part].gradient if off.part in verdict.parts else None
    known = reference is not None and exact[off.part].shape == reference.shape
    if not known or reference is None or off.interval is not None:
        return None
    ball, right = exact[off.part][off.index], reference.balls[off.index]
    return (ball, right) if ball.is_finite() and right.is_finite() else None


def _is_proven(off: Off, exact: Arrays, verdict: Verdict) -> bool:
    """Whether the formula itself, in balls, gives the reference at this entry."""
    pair = _pair(off, exact, verdict)
    if pair is None:
        return False
    ball, right = pair
    near = arb(right.mid(), right.rad() + PROVEN * abs(right.mid()))
    return bool(ball.overlaps(near) and ball.rad() <= NARROW * abs(right.mid()))


def _is_refuted(off: Off, exact: Arrays, verdict: Verdict) -> bool:
    """Whether it surely gives something else there."""
    pair = _pair(off, exact, verdict)
    if pair is None:
        return off.interval is not None
    ball, right = pair
    near = arb(right.mid(), right.rad() + RTOL * abs(right.mid()))
    return not ball.overlaps(near)


def in_balls(claim: Claim, bits: int) -> dict[str, Array] | None:
    """The claimed gradients as a program of balls: what the formula says without rounding.

    None where it cannot be run on exact numbers. Where it cannot write them into what `np.zeros`
    gives, a copy with buffers of balls is run.
    """
    call = claim.call
    with precision(bits):
        args = call.fresh()
        for i in call.wrt:
            args[i] = balls(np.asarray(args[i], dtype=np.float64))
        for program in (call.program, call.program.with_makers(makers_of("ball"))):
            try:
                found = call.program.gradients(claim.made(program, list(args)), call.wrt)
                return {n: arbs(found[n]) for n in call.labels}
            except Exception:  # noqa: BLE001 - a second chance only: a user's code may raise any
                continue
    return None


def _in_doubles(
    case: Case, verdict: Verdict, claim: Claim, rtol: float, first: tuple[Judged, ...]
) -> tuple[Judged, ...]:
    """The judgement where the formula is right in float64 and coarser floats lose its digits.

    Nothing where it is wrong there too, takes no float64, or is not finite as it is.
    """
    fine = claim.call.in_doubles()
    if not all(np.isfinite(off.claimed) for part in first for off in part.off):
        return ()
    try:
        gradients = claim.by_name(fine, fine.fresh())
    except Exception:  # noqa: BLE001 - a second chance only: a user's code may raise anything
        return ()
    if fine.grain(*gradients.values()) > EPSILON:
        return ()
    found = judged_claim(case, verdict, Claim(fine, gradients, claim.cotangent), rtol)
    if not all(part.right for part in found):
        return ()
    coarse = np.result_type(*(g for g in claim.gradients.values() if g is not None)).name
    return tuple(
        replace(now, lossy=coarse) if was.off else was
        for was, now in zip(first, found, strict=True)
    )


# -- the third rule: moved inputs ----------------------------------------------------------------


def _by_moved_inputs(
    verdict: Verdict, claim: Claim, first: tuple[Judged, ...], rtol: float, unit: float
) -> tuple[Judged, ...]:
    """Entries that are off by more than inputs moved by a few units of rounding move them."""
    moves, size = shaken(claim, unit), verdict.value.largest if verdict.value is not None else 0.0
    coarse: dict[str, Array] | None = None
    found = []
    for part in first:
        bars = moves.get(part.part)
        left = tuple(
            off
            for off in part.off
            if off.interval is not None
            or not off.distance <= off.error + max(off.tolerance, MOVED * _at(bars, off.index))
        )
        if left and coarse is None:
            coarse = shaken(claim, COARSE)
        open_ = bool(left) and all(
            _may_be_rounding(off, claim, size)
            or off.distance <= off.error + MOVED * _at((coarse or {}).get(part.part), off.index)
            for off in left
        )
        if open_ and rtol > RTOL:
            left, open_ = (), False
        lossy = "float64" if part.off and not left and unit == EPSILON else ""
        found.append(replace(part, off=left, lossy=lossy, undecided=open_))
    return tuple(found)


def shaken(claim: Claim, unit: float) -> dict[str, Array]:
    """How far a claim moves when its arguments move by a unit of rounding.

    What a formula loses by cancellation, and what no formula could know of the argument, shows
    here; a wrong formula that is stable does not move.
    """
    call, rng = claim.call, np.random.default_rng(0)
    still = {n: g for n, g in claim.gradients.items() if g is not None}
    runs: list[dict[str, Any]] = []
    for _ in range(SAMPLES):
        factors = {i: noise(rng, np.shape(call.args[i]), unit) for i in call.wrt}
        runs.append(claim.by_name(call, call.moved(factors)))
    return {
        name: np.nan_to_num(spread(np.asarray(g), [run[name] for run in runs]))
        for name, g in still.items()
        if all(run[name] is not None and np.shape(run[name]) == np.shape(g) for run in runs)
    }


def _at(bars: Array | None, index: Index) -> float:
    """A bar at a place; 0 where none is known there."""
    return float(bars[index]) if bars is not None and bars.ndim == len(index) else 0.0


def _may_be_rounding(off: Off, claim: Claim, size: float) -> bool:
    """Whether an entry is off by so little that floats alone do not tell it from rounding.

    `size` is that of the value, whose rounding slopes beside it drown in.
    """
    if off.interval is not None or not np.isfinite(off.claimed):
        return False
    largest = float(np.max(np.abs(np.nan_to_num(claim.gradients[off.part])), initial=0.0))
    return off.distance <= max(LOOSE * largest, FAINT * size)


# -- a black box is scanned again ------------------------------------------------------------------


def is_lone(verdict: Verdict) -> bool:
    """Whether only differences speak, entry by entry, and nothing is unusual but that."""
    given = [opinion for opinion in verdict.opinions.values() if not opinion.abstains]
    return (
        [opinion.name for opinion in given] == ["differences"]
        and verdict.verdict == "undecided"
        and not (verdict.entries or given[0].directions)
    )


def rescanned(case: Case, verdict: Verdict, judged: Sequence[Judged]) -> Verdict:
    """The verdict with the entries that a claim misses as two scans know them.

    The bar of one fails once in a thousand (`tests/opinions/test_coverage.py`).
    """
    parts = dict(verdict.parts)
    offs = [off for part in judged if not part.shape for off in part.off if off.interval is None]
    for off in sorted(offs, key=lambda off: -off.distance)[:AGAIN]:
        known, seen = parts[off.part].gradient, looked_at(case, off.part, off.index, 1).seen
        if known is None or seen.kind != "smooth":
            continue
        values, errors = np.array(known.value), np.array(known.error)
        low = min(values[off.index] - errors[off.index], seen.value - seen.error)
        high = max(values[off.index] + errors[off.index], seen.value + seen.error)
        values[off.index], errors[off.index] = (low + high) / 2, (high - low) / 2
        parts[off.part] = replace(parts[off.part], gradient=estimate(values, errors))
    mine = verdict.opinions["differences"]
    gradients = {name: part.gradient for name, part in parts.items() if part.gradient is not None}
    opinions = {**verdict.opinions, "differences": replace(mine, gradients=gradients)}
    return replace(verdict, parts=parts, opinions=opinions)


def level(verdict: Verdict) -> float:
    """The largest slope that is known."""
    known = [part.gradient for part in verdict.parts.values() if part.gradient is not None]
    return max((each.largest for each in known), default=0.0)
