"""A claimed gradient judged entry by entry, by three rules.

1. Within the bars of the reference, of reverse mode's own rounding, and `rtol`: right. No bar grows
   with the number of entries.
2. Else balls decide where the claim runs on them. Equal there: right, and the formula loses digits
   here. Apart: wrong.
3. Else inputs are moved by a few units of rounding: what is farther off than that moves the claim
   is wrong, what is within is right. A backward of plain floats that is off by so little that
   only rounding is so small is neither, unless a tolerance was given.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product

import numpy as np
from flint import arb

from gradcheck.numbers.ball import arbs, balls, middle, radius
from gradcheck.numbers.run import change_settings, heed_refusals, precision
from gradcheck.opinions import limits
from gradcheck.opinions.opinion import Case, Estimate, multiply_along
from gradcheck.opinions.reverse import rounder, spread
from gradcheck.testing.call import Call, is_symmetric, restore_type
from gradcheck.testing.copies import Coarse, Copies
from gradcheck.testing.program import UserProgram
from gradcheck.values import Array, Params, Value
from gradcheck.verdict.consult import Verdict, locate, visit_neighbours

Index = tuple[int, ...]
SOUND = ("agree", "kink", "unstable-forward")
ZERO = 1e-100  # the bar of a slope that is zero where the value is zero too
ALL = "every input along a direction"
TRIANGLES = (
    "of a symmetric matrix: right with both triangles added up, as it may stand in one or be "
    "spread over both"
)


@dataclass(frozen=True)
class Claim:
    """Gradients given at one point, and how to make them there and on other numbers."""

    call: Call
    gradients: Params
    cotangent: Array | None = None

    @cached_property
    def unit(self) -> float:
        """The unit of rounding of the floats in which it comes, and its arguments."""
        return self.call.grain(*self.gradients.values())

    def run(self, program: UserProgram, args: list[Value]) -> Value:
        return program.pull(args, *(() if self.cotangent is None else (self.cotangent.copy(),)))

    @cached_property
    def coarse(self) -> Coarse:
        """What is coarser than float64 inside the function or what makes the claim."""
        found = self.call.coarse
        if found.kind or self.call.program.backward is None:
            return found
        return Coarse(lambda: self.run(self.call.program, self.call.fresh()))

    def in_balls(self, bits: int) -> dict[str, Array] | None:
        """What the formula says without rounding; None where it does not run on exact numbers.

        Where it cannot write them into what `np.zeros` gives, a copy with buffers of balls is run.
        """
        call, args = self.call, self.call.fresh()
        with precision(bits):
            for i in call.wrt:
                args[i] = balls(np.asarray(args[i], dtype=np.float64))
            programs = (call.program, call.program.copy(Copies("ball")))
            for keyed, program in product((False, True), programs):  # keys are seldom needed
                try:
                    with heed_refusals(), change_settings(keyed=keyed, numbers=True):
                        found = call.program.gradients(self.run(program, list(args)), call.wrt)
                    return {name: arbs(found[name]) for name in call.placed}
                except Exception:  # noqa: BLE001 - a second chance only: a user's code may raise any
                    continue
        return None

    def shake(self, unit: float) -> dict[str, Array]:
        """How far rounding of the inputs moves the claim: 0 where that is not known.

        What a formula loses by cancellation, and what no formula could know of the argument, shows
        here; a wrong formula that is stable does not move.
        """
        rounding, runs = rounder(np.random.default_rng(0), unit), []
        for _ in range(limits.SAMPLES):
            args = self.call.fresh()
            for i in self.call.wrt:
                moved = np.asarray(args[i]) * rounding(np.shape(args[i]))
                args[i] = restore_type(moved, args[i])
            runs.append(self.call.by_name(self.run(self.call.program, args)))
        return {
            name: limits.MOVED * np.nan_to_num(spread(np.asarray(g), [run[name] for run in runs]))
            for name, g in self.gradients.items()
            if all(run[name] is not None and np.shape(run[name]) == np.shape(g) for run in runs)
        }


@dataclass(frozen=True)
class AskedPoint:
    call: Call
    case: Case
    claim: Claim | None
    verdict: Verdict


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


@dataclass
class Judged:
    """One part of a claim, and which of its entries are out; words on shape where that is wrong.

    An entry may lie between `low` and `high`, which are apart at a kink, and a bar beyond.
    `sensitivity` is the widest tolerance of any entry; `lossy` names the floats that lose digits of
    a formula that is right; `undecided` says that what is out may be rounding; `remark` is what a
    reader should know of what is right.
    """

    part: str
    given: Value
    known: Estimate | None
    shape: str = ""
    low: Array = field(default_factory=lambda: np.zeros(()))
    high: Array = field(default_factory=lambda: np.zeros(()))
    bars: Array = field(default_factory=lambda: np.zeros(()))
    out: Array = field(default_factory=lambda: np.zeros((), dtype=bool))
    sensitivity: float = 0.0
    lossy: str = ""
    undecided: bool = False
    remark: str = ""

    def expect(self, known: Estimate, bars: Array) -> None:
        self.known, self.low, self.high = known, known.value, known.value
        self.given, self.bars = np.asarray(self.given), np.array(bars)

    def cross(self) -> None:
        """Note which entries are beyond their bars; what is not known is not out."""
        self.out = np.array(~self.within(self.bars))
        if self.out.any():
            self.out &= np.isfinite(self.low)

    @property
    def right(self) -> bool:
        return not (self.shape or self.out.any())

    @property
    def flat(self) -> bool:
        """Whether the gradient is 0 throughout: any factor of 0 would seem to mend the claim."""
        known = self.known
        return known is not None and bool(np.all(np.abs(known.value) <= known.error))

    @property
    def nearly(self) -> bool:
        known = None if self.shape else self.known
        return known is not None and bool(np.all(self.distance <= limits.MENDED * known.largest))

    @property
    def kinks(self) -> Array:
        return np.asarray(self.high > self.low)

    @property
    def distance(self) -> Array:
        """How far every entry is from the reference, or the interval of its kink."""
        return np.maximum(np.subtract(self.low, self.given), np.subtract(self.given, self.high))

    def within(self, bars: Value) -> Array:
        error: Value = 0.0 if self.known is None else self.known.error
        smooth = self.low is self.high
        return np.asarray(
            self.distance <= bars + (error if smooth else np.where(self.kinks, 0, error))
        )

    def indices(self) -> list[Index]:
        return list(map(tuple, np.argwhere(self.out).tolist()))

    @cached_property
    def off(self) -> tuple[Off, ...]:
        found = []
        for index in self.indices():
            low, high = float(self.low[index]), float(self.high[index])
            error = 0.0 if self.known is None or high > low else float(self.known.error[index])
            interval, expected = ((low, high), np.nan) if high > low else (None, low)
            claimed, part = float(self.given[index]), "" if self.part == ALL else self.part
            bar = float(self.bars[index])
            found.append(Off(part, index, claimed, expected, error, bar, interval))
        return tuple(found)


def judge(case: Case, verdict: Verdict, claim: Claim, rtol: float) -> tuple[Judged, ...]:
    unit = claim.unit
    parts = _locate(case, claim, compare(case, verdict, claim.gradients, rtol, unit))
    for part in parts:
        _add_triangles(part, claim)
    runs = claim.call.program.backward is not None
    if runs and parts[0].part != ALL and not all(part.right for part in parts):
        inside = claim.coarse.unit if unit == limits.EPSILON else unit
        if inside > unit:
            parts = _locate(case, claim, compare(case, verdict, claim.gradients, rtol, inside))
        if inside > unit or not _ask_balls(claim, parts):
            value = 0.0 if verdict.value is None else verdict.value.largest
            _move_inputs(claim, parts, value, rtol, inside)
    return tuple(parts)


# -- the first rule: bars ------------------------------------------------------------------------


def compare(case: Case, verdict: Verdict, claims: Params, rtol: float, unit: float) -> list[Judged]:
    """Every claimed gradient against the best reference; along directions where entries are many.

    What is outside its interval at a kink may follow a branch beside.
    """
    known = {name: verdict.parts[name].gradient for name in claims}
    parts = [Judged(n, g, known[n], _describe_shape(verdict, n, g)) for n, g in claims.items()]
    if any(part.known is None for part in parts):
        if any(part.shape for part in parts):
            return [part for part in parts if part.shape]
        along = _judge_directions(verdict, claims, rtol * unit / limits.EPSILON)
        return [along, *parts] if along.out.any() else parts
    near: tuple[Mapping[str, Array], ...] | None = None
    for part in (part for part in parts if not part.shape):
        _set_bars(part, verdict, rtol, unit)
        part.cross()
        if part.right or not (part.out & part.kinks).any():
            continue
        near = tuple(visit_neighbours(case)) if near is None else near
        for g in (each[part.part] for each in near):
            like = limits.LIKE * np.max(np.abs(g), initial=0.0)
            part.out &= ~(part.kinks & (np.abs(part.given - g) <= like))
    return parts


def _describe_shape(verdict: Verdict, name: str, claim: Value) -> str:
    reference = verdict.parts[name].gradient
    along = (o.directions.along[name][0] for o in verdict.opinions.values() if o.directions)
    expected = next(map(np.shape, along), None) if reference is None else reference.shape
    if claim is None:
        return "is None; a constant is left out by wrt="
    if expected is not None and np.shape(claim) != expected:
        return f"has the shape {np.shape(claim)}, not {expected}"
    return ""


def _set_bars(part: Judged, verdict: Verdict, rtol: float, unit: float) -> None:
    """The tolerance of every entry: relative, or reverse mode's own rounding, or of the largest.

    At a kink what is large beside the interval is no rounding but the other branch; where kinks
    cancel in this entry alone (`tie`) conventions differ, and nothing is tightened.
    """
    assert part.known is not None
    name, known = part.part, part.known
    relative, coarse = max(rtol, limits.FORMULA * unit), unit / limits.EPSILON
    largest = known.largest
    bars: Array = np.fmax(relative * np.abs(known.value), limits.FLOOR * coarse * largest)
    mine = verdict.opinions.get("reverse")
    if mine is not None and name in mine.gradients:
        lost = mine.gradients[name].error
        lost = np.where(np.isfinite(lost), limits.NOISE * coarse * lost, 0.0)
        bars = np.maximum(bars, np.minimum(lost, limits.LOOSE * largest))
    part.expect(known, bars)
    alone = verdict.verdict == "undecided"
    wide = bars + np.where(np.isfinite(known.error), known.error, 0.0) if alone else bars
    part.sensitivity = float(wide.max(initial=0.0))
    kinks = [e for e in verdict.parts[name].entries if e.interval is not None]
    if kinks:
        part.low, part.high = np.array(known.value), np.array(known.value)
    for kink in kinks:
        low, high = kink.interval or (0.0, 0.0)
        part.low[kink.index], part.high[kink.index] = low, high
        narrow = bars[kink.index] if kink.tie else min(bars[kink.index], (high - low) / 1000)
        part.bars[kink.index] = max(narrow, relative * max(abs(low), abs(high)))


def _add_triangles(part: Judged, claim: Claim) -> None:
    """Excuse a part by a symmetric matrix whose slopes stand in one triangle or in both.

    `np.linalg.eigvalsh` reads one triangle, its textbook gradient is symmetric: both triangles
    added up are the same.
    """
    if not part.out.any() or part.kinks.any() or part.part == ALL or part.known is None:
        return
    if is_symmetric(claim.call.args[claim.call.placed[part.part]]):
        bars = part.known.error + np.max(part.bars[part.out])
        off = np.subtract(part.given, part.known.value)
        both = [m + np.swapaxes(m, -1, -2) for m in (off, bars)]
        if np.all(np.abs(both[0]) <= both[1]):
            part.out[...], part.remark = False, TRIANGLES


def _judge_directions(verdict: Verdict, claims: Params, rtol: float) -> Judged:
    asked = verdict.opinions["differences"].directions
    plain = {name: np.asarray(claim, dtype=np.float64) for name, claim in claims.items()}
    given = {name: Estimate(claim, np.zeros(claim.shape)) for name, claim in plain.items()}
    claimed = multiply_along(asked.along, given, rtol)
    part = Judged(ALL, claimed.value, None)
    part.expect(asked.slopes, claimed.error)
    part.cross()
    return part


def _locate(case: Case, claim: Claim, parts: list[Judged]) -> list[Judged]:
    """The entry that probes lead to, where a claim is off along directions."""
    where = locate(case, claim.gradients) if parts[0].part == ALL else None
    if where is None:
        return parts
    for part in (part for part in parts[1:] if part.part == where.part):
        shape, index = np.shape(part.given), where.index
        value, error = np.full(shape, np.nan), np.full(shape, np.inf)
        value[index], error[index] = middle(where.slope), radius(where.slope)
        part.expect(Estimate(value, error), error)
        part.out = np.isfinite(value)
    return parts[1:]


# -- the second rule: balls ------------------------------------------------------------------------


def _ask_balls(claim: Claim, parts: Sequence[Judged]) -> bool:
    """Whether balls decide of the entries that are out: those that are right there are so."""
    each = [(part, index) for part in parts for index in part.indices()]
    for bits in limits.PRECISIONS:
        exact = claim.in_balls(bits)
        if exact is None:
            return False
        found = [_decide(part, index, exact[part.part]) for part, index in each]
        if None not in found or False in found:
            for (part, index), right in zip(each, found, strict=True):
                part.out[index] = right is not True
            kinds = (g for g in claim.gradients.values() if g is not None)
            name = np.result_type(*kinds).name
            for part, _ in each:
                part.lossy = "" if part.out.any() else name
            return True
    return False


def _decide(part: Judged, index: Index, exact: Array) -> bool | None:
    """Whether the formula, in balls, gives the reference at an entry; None where it is open."""
    known = part.known
    if part.kinks[index]:
        return False
    if known is None or exact.shape != known.shape:
        return None
    whole = known.exact is not None
    right = known.balls[index] if whole else arb(known.value[index], known.error[index])
    if not (exact[index].is_finite() and right.is_finite()):
        return None
    size = abs(right.mid())
    proven = arb(right.mid(), right.rad() + limits.FORMULA * limits.EPSILON * size)
    if exact[index].overlaps(proven) and exact[index].rad() <= limits.NARROW * size:
        return True
    wide = arb(right.mid(), right.rad() + limits.RTOL * size)
    return None if exact[index].overlaps(wide) else False


# -- the third rule: moved inputs ----------------------------------------------------------------


def _move_inputs(
    claim: Claim, parts: Sequence[Judged], value: float, rtol: float, unit: float
) -> None:
    """Excuse entries that are off by no more than inputs moved by rounding move them.

    What a coarser move moves so far, or what is so small beside the largest entry or the value that
    rounding drowns it, is open: floats alone do not tell it from rounding.
    """
    near, far = claim.shake(unit), None
    for part in (part for part in parts if part.out.any()):
        moved = np.maximum(part.bars, near.get(part.part, 0.0))
        part.out &= part.kinks | ~part.within(moved)
        if part.out.any():
            far = claim.shake(limits.COARSE) if far is None else far
            largest = float(np.max(np.abs(np.nan_to_num(part.given)), initial=0.0))
            small = part.distance <= max(limits.LOOSE * largest, limits.FAINT * value)
            small |= part.within(far.get(part.part, 0.0))
            part.undecided = bool(np.all((small & ~part.kinks)[part.out]))
            if part.undecided and rtol > limits.RTOL:
                part.out[...], part.undecided = False, False
        part.lossy = "float64" if unit == limits.EPSILON and not part.out.any() else ""


def find_level(verdict: Verdict) -> float:
    """The largest slope that is known."""
    known = [part.gradient for part in verdict.parts.values() if part.gradient is not None]
    return max((each.largest for each in known), default=0.0)


def is_known(asked: AskedPoint) -> bool:
    """Whether opinions agree, or a lonely one leaves nothing open beside a claim, kinks aside.

    Its bars tell the largest slope from its half, or where they do not the claim is what it says
    as closely as narrow bars would ask for.
    """
    verdict, claim = asked.verdict, asked.claim
    if verdict.verdict in SOUND or claim is None or not is_alone(verdict):
        return verdict.verdict in SOUND
    along = [o.directions.slopes for o in verdict.opinions.values() if o.directions]
    if along or any(part.gradient is None for part in verdict.parts.values()):
        return bool(along) and all(slopes.finite for slopes in along)
    value = 0.0 if verdict.value is None else verdict.value.largest
    bar = limits.TIGHT * max(find_level(verdict), value) or ZERO
    for name, part in verdict.parts.items():
        assert part.gradient is not None
        given, known = claim.gradients.get(name), part.gradient
        open_ = ~(known.error <= max(bar, limits.WIDE * find_level(verdict)))
        for entry in part.entries:
            open_[entry.index] = False
        if given is not None and np.shape(given) == open_.shape:
            open_ &= ~((np.abs(given - known.value) <= bar) & np.isfinite(known.error))
        if np.any(open_):
            return False
    return True


def is_alone(verdict: Verdict) -> bool:
    """Whether one opinion was formed, and nothing is unusual but that."""
    return verdict.verdict == "undecided" and not verdict.entries
