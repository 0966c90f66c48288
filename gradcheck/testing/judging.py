"""A claimed gradient judged entry by entry, by three rules.

1. Within the bars of the reference, of reverse mode's own rounding, and `rtol`: right. No bar grows
   with the number of entries.
2. Else balls decide where the claim runs on them in time. Equal there: right, and the formula
   loses digits here. Apart: wrong.
3. Else inputs are moved by a few units of rounding: what is farther off than that moves the claim
   is wrong, what is within is right. A backward of plain floats that is off by so little that
   only rounding is so small is neither, unless a tolerance was given.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import product

import numpy as np
from flint import arb

from gradcheck.numbers.ball import arbs, balls, middle, radius
from gradcheck.numbers.run import change_settings, heed_refusals, precision
from gradcheck.opinions import limits
from gradcheck.opinions.opinion import Case, Estimate, multiply_along
from gradcheck.opinions.reverse import rounder, spread
from gradcheck.testing.budget import TimeBudget
from gradcheck.testing.call import Call, is_symmetric
from gradcheck.testing.copies import Coarse, Copies
from gradcheck.values import Array, Params, Routine, Value
from gradcheck.verdict.consult import Verdict, locate, visit_neighbours

Index = tuple[int, ...]
Lost = dict[str, tuple[float, str]]  # by argument how far off rounding makes it, in which floats
SOUND = ("agree", "kink", "unstable-forward")
ZERO = 1e-100  # the bar of a slope that is zero where the value is zero too
ALL = "every input along a direction"
LISTED = 1000  # entries of a part that is out
MANY = 20_000  # entries: of more that are far out no rounding is suspected
TRIANGLES = (
    "of a symmetric matrix: right with both triangles added up, as it may stand in one or be "
    "spread over both"
)


@dataclass(frozen=True)
class Question:
    """A question about one call and its verdict; the gradients that are claimed, if any are."""

    call: Call
    case: Case
    verdict: Verdict
    gradients: Params

    @cached_property
    def unit(self) -> float:
        """The unit of rounding of the floats in which a claim comes, and its arguments."""
        return self.call.grain(*self.gradients.values())

    @property
    def level(self) -> float:
        """The largest entry of the value."""
        return 0.0 if self.verdict.value is None else self.verdict.value.largest

    @cached_property
    def coarse(self) -> Coarse:
        """What is coarser than float64 inside the function or what makes the claim."""
        call, c = self.call, self.case.cotangent
        if call.coarse.kind or call.program.backward is None:
            return call.coarse
        return Coarse(lambda: call.run_backward(c))

    def in_balls(self, bits: int) -> dict[str, Array] | None:
        """What the formula says without rounding; None where it does not run on exact numbers.

        Where it cannot write them into what `np.zeros` gives, a copy with buffers of balls is run.
        """
        call, c = self.call, self.case.cotangent
        with precision(bits):
            given = {n: balls(np.asarray(call.args[n], dtype=np.float64)) for n in call.wrt}
            c = None if c is None else balls(c)  # `(c + 1e6) - 1e6` rounds too
            programs = (call.program, call.program.copy(Copies("ball")))
            for keyed, program in product((False, True), programs):  # keys are seldom needed
                try:
                    with heed_refusals(), change_settings(keyed=keyed, numbers=True):
                        came = call.run_backward(c, call.fresh() | given, program)
                        found = call.program.gradients(came, call.wrt)
                    return {name: arbs(found[name]) for name in call.wrt}
                except Exception:  # noqa: BLE001 - a second chance only: a user's code may raise any
                    continue
        return None

    def shake(self, unit: float) -> dict[str, Array]:
        """How far rounding of the inputs moves the claim: 0 where that is not known.

        What a formula loses by cancellation, and what no formula could know of the argument, shows
        here; a wrong formula that is stable does not move.
        """
        call, c, rounding = self.call, self.case.cotangent, rounder(np.random.default_rng(0), unit)
        moved: Routine = lambda: None if c is None else c * rounding(np.shape(c))
        runs = [call.pull(moved(), call.move(rounding)) for _ in range(limits.SAMPLES)]
        return {
            name: limits.MOVED * np.nan_to_num(spread(np.asarray(g), [run[name] for run in runs]))
            for name, g in self.gradients.items()
            if all(run[name] is not None and np.shape(run[name]) == np.shape(g) for run in runs)
        }


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
        self.known, self.low, self.high = known, np.array(known.value), np.array(known.value)
        self.given, self.bars = np.asarray(self.given), np.array(bars)

    def cross(self) -> None:
        """Note which entries are beyond their bars; what is not known is not out."""
        self.out = np.array(~self.within(self.bars) & np.isfinite(self.low))

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

    @property
    def farthest(self) -> float:
        """How far off an entry is that no rounding of reverse mode excuses, by the bars; or 0."""
        if self.shape or self.known is None:
            return np.inf if self.shape else 0.0
        off = self.distance[self.out & ~self.kinks]
        return float(np.max(off[~(off <= limits.LOOSE * self.known.largest)], initial=0.0))

    def within(self, bars: Value) -> Array:
        error: Value = 0.0 if self.known is None else self.known.error
        return np.asarray(self.distance <= bars + np.where(self.kinks, 0, error))

    @cached_property
    def off(self) -> tuple[Off, ...]:
        """Entries that are out, the farthest first; kinks and what is no number lead."""
        if not self.out.any():
            return ()
        found, name = [], "" if self.part == ALL else self.part
        far = np.where(self.kinks, np.nan, np.abs(np.subtract(self.given, self.low)))[self.out]
        order = np.argsort(np.where(np.isnan(far), -np.inf, -far), kind="stable")
        lead = np.count_nonzero(np.isnan(far))
        order = np.concatenate([order[:lead][:LISTED], order[lead:][:LISTED]])
        for index in map(tuple, np.argwhere(self.out)[order].tolist()):
            each = (self.low, self.high, self.given, self.bars)
            low, high, given, bar = (float(array[index]) for array in each)
            kink = (low, high) if high > low else None
            error = 0.0 if kink or self.known is None else float(self.known.error[index])
            found.append(Off(name, index, given, np.nan if kink else low, error, bar, kink))
        return tuple(found)


def judge(asked: Question, rtol: float, lost: Lost) -> tuple[Judged, ...]:
    """What is right and what is not; `lost` is what rounding was shown to cost at this point.

    A formula that is linear in its cotangent and right for one of random numbers is so for all.
    """
    unit, runs = asked.unit, asked.call.program.backward is not None
    parts = _locate(asked, compare(asked, asked.gradients, rtol, unit))
    for part in parts:
        _add_triangles(part, asked.call)
        off, name = lost.get(part.part, (0.0, ""))
        if name and part.out.any() and np.all(part.distance[part.out] <= off):
            part.out[...], part.lossy = False, name
    if runs and parts[0].part != ALL and not all(part.right for part in parts):
        inside = asked.coarse.unit if unit == limits.EPSILON else unit
        if inside > unit:
            parts = _locate(asked, compare(asked, asked.gradients, rtol, inside))
        if inside > unit or not _ask_balls(asked, parts, lost):
            _move_inputs(asked, parts, rtol, inside)
    return tuple(parts)


# -- the first rule: bars ------------------------------------------------------------------------


def compare(asked: Question, claims: Params, rtol: float, unit: float) -> list[Judged]:
    """Every claimed gradient against the best reference; along directions where entries are many.

    What is outside its interval at a kink may follow a branch beside.
    """
    call, verdict = asked.call, asked.verdict
    due = call.due_shapes()
    parts = [
        Judged(name, g, verdict.parts[name].gradient, _describe_shape(g, due[name]))
        for name, g in claims.items()
    ]
    shaped = [part for part in parts if not part.shape]
    if any(part.known is None for part in parts):
        if len(shaped) < len(parts):
            return [part for part in parts if part.shape]
        along = _judge_directions(verdict, claims, rtol * unit / limits.EPSILON)
        return [along, *parts] if along.out.any() else parts
    for part in shaped:
        _set_bars(part, verdict, rtol, unit)
    tied = [part for part in shaped if (part.out & part.kinks).any()]
    for beside in visit_neighbours(asked.case) if tied else ():
        for part in tied:
            g = beside[part.part]
            like = limits.LIKE * np.max(np.abs(g), initial=0.0)
            part.out &= ~(part.kinks & (np.abs(part.given - g) <= like))
    return parts


def _describe_shape(claim: Value, due: Index) -> str:
    if claim is None:
        return "is None; a constant is left out by wrt="
    return "" if np.shape(claim) == due else f"has the shape {np.shape(claim)}, not {due}"


def _set_bars(part: Judged, verdict: Verdict, rtol: float, unit: float) -> None:
    """The tolerance of every entry: relative, or reverse mode's own rounding, or of the largest.

    At a kink what is large beside the interval is no rounding but the other branch; where kinks
    cancel in this entry alone (`tie`) conventions differ, and nothing is tightened.
    """
    assert part.known is not None
    known, mine = part.known, verdict.opinions["reverse"].gradients.get(part.part)
    relative, coarse = max(rtol, limits.FORMULA * unit), unit / limits.EPSILON
    bars: Array = np.fmax(relative * np.abs(known.value), limits.FLOOR * coarse * known.largest)
    if mine is not None:
        lost = np.where(np.isfinite(mine.error), limits.NOISE * coarse * mine.error, 0.0)
        bars = np.maximum(bars, np.minimum(lost, limits.LOOSE * known.largest))
    part.expect(known, bars)
    alone = verdict.verdict == "undecided"
    wide = bars + np.where(np.isfinite(known.error), known.error, 0.0) if alone else bars
    part.sensitivity = float(wide.max(initial=0.0))
    for kink in verdict.parts[part.part].entries:
        if kink.interval is not None:
            low, high = kink.interval
            part.low[kink.index], part.high[kink.index] = low, high
            narrow = bars[kink.index] if kink.tie else min(bars[kink.index], (high - low) / 1000)
            part.bars[kink.index] = max(narrow, relative * max(abs(low), abs(high)))
    part.cross()


def _add_triangles(part: Judged, call: Call) -> None:
    """Excuse a part by a symmetric matrix whose slopes stand in one triangle or in both.

    `np.linalg.eigvalsh` reads one triangle, its textbook gradient is symmetric: both triangles
    added up are the same.
    """
    known = part.known
    if not part.out.any() or part.kinks.any() or part.part == ALL or known is None:
        return
    if is_symmetric(call.args[part.part]):
        bars = known.error + np.max(part.bars[part.out])
        off, bars = (m + np.swapaxes(m, -1, -2) for m in (part.given - known.value, bars))
        if np.all(np.abs(off) <= bars):
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


def _locate(asked: Question, parts: list[Judged]) -> list[Judged]:
    """The entry that probes lead to, where a claim is off along directions."""
    where = locate(asked.case, asked.gradients) if parts[0].part == ALL else None
    if where is None:
        return parts
    name, index, slope = where
    for part in (part for part in parts if part.part == name):
        value, error = (np.full(np.shape(part.given), x) for x in (np.nan, np.inf))
        value[index], error[index] = middle(slope), radius(slope)
        part.expect(Estimate(value, error), error)
        part.out = np.isfinite(value)
    return parts[1:]


# -- the second rule: balls ------------------------------------------------------------------------


def _ask_balls(asked: Question, parts: Sequence[Judged], lost: Lost) -> bool:
    """Whether balls decide of the entries that are out: those that are right there are so."""
    far = {p.part: float(p.distance[p.out].max()) for p in parts if p.out.any()}
    each = [(part, tuple(k)) for part in parts for k in np.argwhere(part.out).tolist()]
    gross = limits.SECONDS_GROSS * (len(each) <= MANY)
    budget = TimeBudget(gross if any(p.farthest for p in parts) else limits.SECONDS_FINE)
    for bits in limits.PRECISIONS:
        exact = budget.run(partial(asked.in_balls, bits))
        if exact is None:
            return False
        found = [_decide(part, index, exact[part.part]) for part, index in each]
        if None not in found or False in found:
            for (part, index), right in zip(each, found, strict=True):
                part.out[index] = right is not True
            given = (g for g in asked.gradients.values() if g is not None)
            name = np.result_type(*given).name
            for part, _ in each:
                part.lossy = "" if part.out.any() else name
            if False not in found and not any(part.kinks.any() for part in parts):
                lost.update({part: (limits.MOVED * off, name) for part, off in far.items()})
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


def _move_inputs(asked: Question, parts: Sequence[Judged], rtol: float, unit: float) -> None:
    """Excuse entries that are off by no more than inputs moved by rounding move them.

    What a coarser move moves so far, or what is so small beside the largest entry or the value that
    rounding drowns it, is open: floats alone do not tell it from rounding.
    """
    near, far = asked.shake(unit), None
    for part in (part for part in parts if part.out.any()):
        moved = np.maximum(part.bars, near.get(part.part, 0.0))
        part.out &= part.kinks | ~part.within(moved)
        if part.out.any():
            far = asked.shake(limits.COARSE) if far is None else far
            largest = float(np.max(np.abs(np.nan_to_num(part.given)), initial=0.0))
            small = part.distance <= max(limits.LOOSE * largest, limits.FAINT * asked.level)
            small |= part.within(far.get(part.part, 0.0))
            part.undecided = bool(np.all((small & ~part.kinks)[part.out]))
            if part.undecided and rtol > limits.RTOL:
                part.out[...], part.undecided = False, False
        part.lossy = "float64" if unit == limits.EPSILON and not part.out.any() else ""


def find_level(verdict: Verdict) -> float:
    """The largest slope that is known."""
    known = [part.gradient for part in verdict.parts.values() if part.gradient is not None]
    return max((each.largest for each in known), default=0.0)


def is_known(asked: Question) -> bool:
    """Whether opinions agree, or a lonely one leaves nothing open beside a claim, kinks aside.

    Its bars tell the largest slope from its half, or where they do not the claim is what it says
    as closely as narrow bars would ask for.
    """
    verdict, claims = asked.verdict, asked.gradients
    if verdict.verdict in SOUND or not (claims and is_alone(verdict)):
        return verdict.verdict in SOUND
    along = [o.directions.slopes for o in verdict.opinions.values() if o.directions]
    known = {name: part.gradient for name, part in verdict.parts.items() if part.gradient}
    if along or len(known) < len(verdict.parts):
        return bool(along) and all(slopes.finite for slopes in along)
    level = find_level(verdict)
    bar = limits.TIGHT * max(level, asked.level) or ZERO
    for name, slopes in known.items():
        given, open_ = claims.get(name), ~(slopes.error <= max(bar, limits.WIDE * level))
        for entry in verdict.parts[name].entries:
            open_[entry.index] = False
        if given is not None and np.shape(given) == open_.shape:
            open_ &= ~((np.abs(given - slopes.value) <= bar) & np.isfinite(slopes.error))
        if np.any(open_):
            return False
    return True


def is_alone(verdict: Verdict) -> bool:
    """Whether one opinion was formed, and nothing is unusual but that."""
    return verdict.verdict == "undecided" and not verdict.entries
