"""A claimed gradient judged entry by entry, by three rules.

1. Within the bars of the reference, of reverse mode's own rounding, and `rtol`: right. No bar grows
   with the number of entries.
2. Else balls decide where the claim runs on them. Equal there: right, and the formula loses digits
   here. Apart: wrong.
3. Else inputs are moved by a few units of rounding: what is farther off than that moves the claim
   is wrong, what is within is right. A backward of plain floats that is off by so little that
   only rounding is so small is neither, unless a tolerance was given.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product

import numpy as np
from flint import arb

from gradcheck.numbers.ball import arbs, balls, middle, radius
from gradcheck.numbers.run import precision, settings
from gradcheck.opinions.limits import LIKE, SAMPLES
from gradcheck.opinions.opinion import Case, Estimate
from gradcheck.opinions.rounding import noise, spread
from gradcheck.testing.call import Call, is_symmetric
from gradcheck.testing.copies import Coarse, Copies, coarse_inside, makers_of
from gradcheck.testing.limits import (
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
from gradcheck.testing.program import UserProgram
from gradcheck.values import Array, Params, Value
from gradcheck.verdict.consult import Entry, Verdict
from gradcheck.verdict.directions import locate, slope_claimed
from gradcheck.verdict.neighbours import neighbours

Index = tuple[int, ...]
Gradients = Params
Arrays = Mapping[str, Array]
ALL = "every input along a direction"
TRIANGLES = (
    "of a symmetric matrix: right with both triangles added up, as it may stand in one or be "
    "spread over both"
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

    def exceeds(self, bar: float) -> bool:
        """Whether it is farther off than a bar, and no kink's."""
        return self.interval is not None or not self.distance <= self.error + bar


@dataclass(frozen=True)
class Judged:
    """One part of a claim: the entries that are out, and words on shape where that is wrong.

    `sensitivity` is the widest tolerance of any entry; `lossy` names the floats that lose digits of
    a formula that is right; `undecided` says that what is out may be rounding; `remark` is what a
    reader should know of what is right.
    """

    part: str
    off: tuple[Off, ...] = ()
    shape: str = ""
    sensitivity: float = 0.0
    lossy: str = ""
    undecided: bool = False
    remark: str = ""

    @property
    def right(self) -> bool:
        """Nothing is out."""
        return not (self.off or self.shape)

    def without(self, excused: Callable[[Off], bool]) -> "Judged":
        """The part without the entries that something excuses."""
        return replace(self, off=tuple(off for off in self.off if not excused(off)))


Parts = tuple[Judged, ...]


@dataclass(frozen=True)
class Claim:
    """Gradients given at one point, or how to make them there and on other numbers, or both."""

    call: Call
    given: Gradients | None = None
    cotangent: Array | None = None
    known: dict[int, dict[str, Array] | None] = field(default_factory=dict)  # in balls, by bits

    @cached_property
    def gradients(self) -> Gradients:
        """What is claimed, made when it is first asked for."""
        return self.by_name(self.call.fresh()) if self.given is None else self.given

    @property
    def floats(self) -> str:
        """What the floats are called in which it comes."""
        return np.result_type(*(g for g in self.gradients.values() if g is not None)).name

    @property
    def runs(self) -> bool:
        """Whether it can be made again, at other arguments."""
        return self.call.program.backward is not None

    def run(self, program: UserProgram, args: list[Value]) -> Value:
        """What a backward pass claims."""
        return program.pull(args, *(() if self.cotangent is None else (self.cotangent.copy(),)))

    def by_name(self, args: list[Value]) -> dict[str, Value]:
        """What is claimed at some arguments."""
        return self.call.by_name(self.run(self.call.program, args))

    @cached_property
    def coarse(self) -> Coarse:
        """What is coarser than float64 inside the function or what makes the claim."""
        found = self.call.coarse
        if found.kind or not self.runs:
            return found
        return coarse_inside(lambda: self.run(self.call.program, self.call.fresh()))


def judge_claim(case: Case, verdict: Verdict, claim: Claim, rtol: float) -> Parts:
    """A claim by the three rules."""
    unit = claim.call.grain(*claim.gradients.values())
    parts = _locate(case, claim, within_bars(case, verdict, claim.gradients, rtol, unit))
    parts = tuple(_over_triangles(part, claim, verdict) for part in parts)
    if parts[0].part == ALL:
        return parts
    if claim.runs and any(part.off for part in parts):
        if unit == EPSILON < claim.coarse.unit:
            unit = claim.coarse.unit
            parts = within_bars(case, verdict, claim.gradients, rtol, unit)
            parts = _locate(case, claim, parts)
        elif (exact := _by_balls(verdict, claim, parts)) is not None:
            return exact
    if claim.runs and any(part.off for part in parts):
        parts = _by_moved_inputs(verdict, claim, parts, rtol, unit)
    return parts


# -- the first rule: bars ------------------------------------------------------------------------


def within_bars(
    case: Case,
    verdict: Verdict,
    claims: Gradients,
    rtol: float,
    unit: float,
    *,
    every: bool = True,
) -> Parts:
    """Every claimed gradient against the best reference the verdict has.

    Without `every` one entry that is out is enough, where none lies at a kink.
    """
    shaped = {name: _shape(verdict, name, claims[name]) for name in claims}
    if any(verdict.parts[name].gradient is None for name in claims):
        parts = tuple(Judged(name, shape=words) for name, words in shaped.items())
        if any(shaped.values()):
            return tuple(part for part in parts if part.shape)
        off = _along_directions(verdict, claims, rtol * unit / EPSILON)
        return (Judged(ALL, off), *parts) if off else parts
    parts = tuple(
        Judged(name, shape=shaped[name])
        if shaped[name]
        else _compare(verdict, name, np.asarray(claims[name]), rtol, unit, every)
        for name in claims
    )
    if not any(off.interval is not None for part in parts for off in part.off):
        return parts
    near = tuple(neighbours(case))  # what is outside its interval may follow a branch beside
    return tuple(part.without(lambda off: _follows(off, near)) for part in parts)


def _shape(verdict: Verdict, name: str, claim: Value) -> str:
    reference = verdict.parts[name].gradient
    along = (d.along[name] for o in verdict.opinions.values() for d in o.directions)
    expected = next(map(np.shape, along), None) if reference is None else reference.shape
    if claim is None:
        return "is None; a constant is left out by wrt="
    if expected is not None and np.shape(claim) != expected:
        return f"has the shape {np.shape(claim)}, not {expected}"
    return ""


def _compare(  # noqa: PLR0917 - what is compared, how narrowly, and how much of it
    verdict: Verdict, name: str, claim: Array, rtol: float, unit: float, every: bool
) -> Judged:
    reference = verdict.parts[name].gradient
    assert reference is not None
    kinks = {e.index: e for e in verdict.parts[name].entries if e.interval is not None}
    relative = max(rtol, UNITS * unit)
    bars = _bars(verdict, name, reference, relative, unit / EPSILON)
    alone = verdict.verdict == "undecided"
    wide = np.where(np.isfinite(reference.error), reference.error, 0.0) if alone else 0.0
    seen = float(np.max(bars + wide, initial=0.0))
    for index, kink in kinks.items():
        bars[index] = _slack(kink, float(bars[index]), relative)
    with np.errstate(invalid="ignore"):
        within = np.abs(np.subtract(claim, reference.value)) <= reference.error + bars
    out = np.array(~within & np.isfinite(reference.value))
    for index in kinks:
        out[index] = True
    found = []
    for index in map(tuple, np.argwhere(out)[: None if every or kinks else 1].tolist()):
        sides = float(claim[index]), float(reference.value[index])
        off = Off(name, index, *sides, float(reference.error[index]), float(bars[index]))
        if index in kinks:
            low, high = kinks[index].interval or (0.0, 0.0)
            if not low - off.tolerance <= off.claimed <= high + off.tolerance:
                found.append(replace(off, expected=np.nan, error=0.0, interval=(low, high)))
        else:
            found.append(off)
    return Judged(name, tuple(found), sensitivity=seen)


def _bars(
    verdict: Verdict, name: str, reference: Estimate, relative: float, coarse: float
) -> Array:
    """The tolerance of every entry: relative, or reverse mode's own rounding, or of the largest."""
    values = np.where(np.isfinite(reference.value), np.abs(reference.value), 0.0)
    largest = values.max(initial=0.0)
    bars: Array = np.maximum(relative * values, FLOOR * coarse * largest)
    opinion = verdict.opinions.get("reverse")
    if opinion is not None and name in opinion.gradients:
        lost = opinion.gradients[name].error
        lost = np.where(np.isfinite(lost), NOISE * coarse * lost, 0.0)
        bars = np.maximum(bars, np.minimum(lost, LOOSE * largest))
    return np.array(bars)


def _slack(kink: Entry, bar: float, relative: float) -> float:
    """The tolerance at a kink: what is large beside it is no rounding but the other branch.

    Where kinks cancel in this entry alone (`tie`) conventions differ, and nothing is tightened.
    """
    low, high = kink.interval or (0.0, 0.0)
    size = max(abs(low), abs(high))
    return max(bar if kink.tie else min(bar, (high - low) / 1000), relative * size)


def _follows(off: Off, near: tuple[Arrays, ...]) -> bool:
    """Whether the entry at a kink is that of some gradient beside the point."""
    return off.interval is not None and any(
        abs(off.claimed - g[off.part][off.index]) <= LIKE * np.max(np.abs(g[off.part]), initial=0.0)
        for g in near
    )


def _over_triangles(part: Judged, claim: Claim, verdict: Verdict) -> Judged:
    """A part by a symmetric matrix, whose slopes may stand in one triangle or be spread over both.

    `np.linalg.eigvalsh` reads one triangle, its textbook gradient is symmetric: both triangles
    added up are the same.
    """
    reference = verdict.parts[part.part].gradient if part.part in verdict.parts else None
    if reference is None or not part.off or any(off.interval is not None for off in part.off):
        return part
    if not is_symmetric(claim.call.args[claim.call.names.index(part.part)]):
        return part
    bars = reference.error + max(off.tolerance for off in part.off)
    given = np.asarray(claim.gradients[part.part])
    both = [m + np.swapaxes(m, -1, -2) for m in (given, reference.value, bars)]
    with np.errstate(invalid="ignore"):
        right = bool(np.all(np.abs(both[0] - both[1]) <= both[2]))
    return replace(part, off=(), remark=TRIANGLES) if right else part


def _along_directions(verdict: Verdict, claims: Gradients, rtol: float) -> tuple[Off, ...]:
    """The slopes of a large claim along random directions against the differences' own."""
    found = []
    for k, direction in enumerate(verdict.opinions["differences"].directions):
        slope, total, bar = direction.slope, *slope_claimed(claims, direction.along, rtol)
        off = Off("", (k,), total, middle(slope), radius(slope), bar)
        if slope.is_finite() and off.exceeds(bar):
            found.append(off)
    return tuple(found)


def _locate(case: Case, claim: Claim, parts: Parts) -> Parts:
    where = locate(case, claim.gradients) if parts[0].part == ALL else None
    if where is None:
        return parts
    error = radius(where.slope)
    off = Off(where.part, where.index, where.given, middle(where.slope), error, error)
    return tuple(Judged(p.part, (off,) if p.part == where.part else ()) for p in parts[1:])


# -- the second rule: balls ------------------------------------------------------------------------


def _by_balls(verdict: Verdict, claim: Claim, parts: Parts) -> Parts | None:
    """What balls say of the entries that are out; None where they say nothing of some."""
    for bits in PRECISIONS:
        if bits not in claim.known:
            claim.known[bits] = in_balls(claim, bits)
        exact = claim.known[bits]
        if exact is None:
            return None
        found = {(p.part, off.index): _decide(off, exact, verdict) for p in parts for off in p.off}
        if None not in found.values() or False in found.values():
            return tuple(_without_proven(part, found, claim.floats) for part in parts)
    return None


def _without_proven(part: Judged, found: Mapping[Value, bool | None], floats: str) -> Judged:
    left = part.without(lambda off: found[off.part, off.index] is True)
    return replace(left, lossy=floats if part.off and not left.off else "")


def _decide(off: Off, exact: Arrays, verdict: Verdict) -> bool | None:
    """Whether the formula, in balls, gives the reference at an entry; None where it is open."""
    reference = verdict.parts[off.part].gradient if off.part in verdict.parts else None
    if off.interval is not None:
        return False
    if reference is None or exact[off.part].shape != reference.shape:
        return None
    ball, right = exact[off.part][off.index], reference.balls[off.index]
    if not (ball.is_finite() and right.is_finite()):
        return None
    size = abs(right.mid())
    if ball.overlaps(arb(right.mid(), right.rad() + PROVEN * size)) and ball.rad() <= NARROW * size:
        return True
    return False if not ball.overlaps(arb(right.mid(), right.rad() + RTOL * size)) else None


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
        programs = (call.program, call.program.copied(Copies(makers_of("ball"))))
        for keyed, program in product((False, True), programs):  # keys are seldom needed
            try:
                with settings(keyed=keyed):
                    found = call.program.gradients(claim.run(program, list(args)), call.wrt)
                return {n: arbs(found[n]) for n in call.placed}
            except Exception:  # noqa: BLE001 - a second chance only: a user's code may raise any
                continue
    return None


# -- the third rule: moved inputs ----------------------------------------------------------------


def _by_moved_inputs(
    verdict: Verdict, claim: Claim, parts: Parts, rtol: float, unit: float
) -> Parts:
    """Entries that are off by more than inputs moved by a few units of rounding move them."""
    moves, size = shaken(claim, unit), verdict.value.largest if verdict.value is not None else 0.0
    coarse: Arrays | None = None
    found = []
    for part in parts:
        left = part.without(lambda off: not off.exceeds(max(off.tolerance, _movement(moves, off))))
        open_ = False
        if left.off:
            coarse = shaken(claim, COARSE) if coarse is None else coarse
            far = coarse
            open_ = all(
                _may_be_rounding(off, claim, size) or not off.exceeds(_movement(far, off))
                for off in left.off
            )
        if open_ and rtol > RTOL:
            left, open_ = replace(left, off=()), False
        lossy = "float64" if part.off and not left.off and unit == EPSILON else ""
        found.append(replace(left, lossy=lossy, undecided=open_))
    return tuple(found)


def shaken(claim: Claim, unit: float) -> dict[str, Array]:
    """How far a claim moves when its arguments move by a unit of rounding.

    What a formula loses by cancellation, and what no formula could know of the argument, shows
    here; a wrong formula that is stable does not move.
    """
    call, rng = claim.call, np.random.default_rng(0)
    runs = [
        claim.by_name(
            call.scale_args({i: noise(rng, np.shape(call.args[i]), unit) for i in call.wrt})
        )
        for _ in range(SAMPLES)
    ]
    return {
        name: np.nan_to_num(spread(np.asarray(g), [run[name] for run in runs]))
        for name, g in claim.gradients.items()
        if g is not None
        and all(run[name] is not None and np.shape(run[name]) == np.shape(g) for run in runs)
    }


def _movement(moves: Arrays, off: Off) -> float:
    """How far rounding may move an entry; 0 where that is not known."""
    bars = moves.get(off.part)
    return (
        MOVED * float(bars[off.index]) if bars is not None and bars.ndim == len(off.index) else 0.0
    )


def _may_be_rounding(off: Off, claim: Claim, size: float) -> bool:
    """Whether an entry is off by so little that floats alone do not tell it from rounding.

    `size` is that of the value, whose rounding slopes beside it drown in.
    """
    if off.interval is not None or not np.isfinite(off.claimed):
        return False
    largest = float(np.max(np.abs(np.nan_to_num(claim.gradients[off.part])), initial=0.0))
    return off.distance <= max(LOOSE * largest, FAINT * size)


def is_lone(verdict: Verdict) -> bool:
    """Whether only differences speak, entry by entry, and nothing is unusual but that."""
    given = [opinion for opinion in verdict.opinions.values() if not opinion.abstains]
    return (
        [opinion.name for opinion in given] == ["differences"]
        and verdict.verdict == "undecided"
        and not (verdict.entries or given[0].directions)
    )


def level(verdict: Verdict) -> float:
    """The largest slope that is known."""
    known = [part.gradient for part in verdict.parts.values() if part.gradient is not None]
    return max((each.largest for each in known), default=0.0)
