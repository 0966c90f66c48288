"""The derivative of a black box that takes and gives floats, with an error bar that holds.

`scan` samples f at x ± h over a whole ladder of steps, names what it sees there, and where f is
smooth extrapolates its difference quotients. Arrays run over the rungs of one side's ladder, finest
step first, each step about twice the last. A rung outside the domain of f is nan, and so is
everything made from it.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gradcheck.opinions import limits
from gradcheck.opinions.limits import EPSILON, SMALL_STEP, TINY, WINDOW
from gradcheck.values import Routine

Rungs = NDArray[np.float64]
Function = Callable[[float], float]

INF, NAN = math.inf, math.nan


@dataclass(frozen=True)
class Side:
    """One side's samples f(x + sign h), finest first, at the steps really taken; f(x) is `here`."""

    sign: int
    steps: Rungs
    values: Rungs
    here: float

    def nearest(self, count: int) -> "Side":
        return replace(self, steps=self.steps[:count], values=self.values[:count])

    @property
    def quotients(self) -> Rungs:
        return self.sign * (self.values - self.here) / self.steps

    @property
    def units(self) -> Rungs:
        """One unit in the last place of the larger of f(x) and f(x ± h), never exactly nothing."""
        return EPSILON * np.fmax(np.abs(self.values), abs(self.here)) + TINY

    def carry(self, noise: float) -> Rungs:
        """What each value carries: the noise that was heard beside x, and as many units of its own.

        Where f grows by powers of ten the noise of `exp(sum(log(x)))` grows with it. More units
        than CARRIED are what is left of a difference, whose noise stays what it is.
        """
        units = noise / (EPSILON * abs(self.here) + TINY)
        return np.fmax(noise, (units if 1 < units <= limits.CARRIED else 1.0) * self.units)


@dataclass(frozen=True)
class Samples:
    """What is known of f near x: its values so far, how far to look, the length x is rounded on."""

    f: Function
    x: float
    reach: float
    length: float
    seen: dict[float, float]

    def __call__(self, t: float) -> float:
        """f(t), asked once; nan wherever f has no finite real value."""
        if t not in self.seen:
            self.seen[t] = evaluate_finite(self.f, t)
        return self.seen[t]

    def at(self, points: Iterable[float]) -> Rungs:
        return np.array([self(float(t)) for t in points])

    def side(self, sign: int, steps: Rungs) -> Side:
        """One side of x sampled, with the steps that the rounding of x ± h left."""
        points = self.x + sign * steps
        return Side(sign, np.abs(points - self.x), self.at(points), self(self.x))

    def largest(self) -> float:
        return max(abs(y) for y in self.seen.values() if not math.isnan(y))


class Rise(NamedTuple):
    """Where the scatter stands above the noise, how high there, and the plateau behind (or 0)."""

    rung: int
    scatter: float
    plateau: float


class Limit(NamedTuple):
    """The value that a table of difference quotients tends to, its bar, the steps it is made of."""

    value: float = NAN
    bar: float = INF
    steps: tuple[float, float] = (NAN, NAN)


def evaluate_finite(f: Function, t: float) -> float:
    """f(t), or nan if that or t itself is no finite real number."""
    if not math.isfinite(t):
        return NAN
    try:
        y = f(t)
        value = NAN if isinstance(y, complex) else float(y)
    except (ArithmeticError, ValueError):
        return NAN
    return value if math.isfinite(value) else NAN


def make_ladder(samples: Samples) -> Rungs:
    """Steps doubling from 8 ulp to the reach; without the middle where there are too many.

    They are no powers of two: those would meet the binary rounding inside f always in one place,
    and its noise would look like a slope.
    """
    if not math.isfinite(samples.x):
        return np.array([])
    finest = 8 * math.ulp(samples.length) if samples.length else 2.0**-60
    low, high = math.frexp(finest)[1] - 1, math.frexp(samples.reach)[1] - 1
    exponents = np.arange(low, high + 1.0)
    if len(exponents) > 128:
        exponents = np.concatenate((exponents[:64], [NAN], exponents[-60:]))
    return 2.0**exponents * (1 + np.arange(len(exponents)) * limits.GOLDEN % 1 / 4)


# -- what denies a slope ---------------------------------------------------------------------------


def find_jump(side: Side) -> float:
    """f(x ± 0) - f(x) if all these rungs lie on a line from there, more than rounding; else 0."""
    rises, steps = side.values - side.here, side.steps
    rises = rises - steps * (rises[-1] - rises[0]) / (steps[-1] - steps[0])
    size = float(rises[0])
    steady = bool((np.abs(rises - size) <= 1e-3 * abs(size)).all())
    return size if steady and abs(size) > limits.CLEAR * float(side.units.max()) else 0.0


def find_power(side: Side) -> float:
    """The p < 1 of |f(x ± h) - f(x)| ~ h^p if all these rungs lie on that line; else 0."""
    rises = (side.values - side.here) * np.sign(side.values[0] - side.here)
    if not (rises > limits.CLEAR * side.units).all():
        return 0.0
    across, up = np.log2(side.steps), np.log2(rises)
    power, start = (float(c) for c in np.polyfit(across, up, 1))
    bend = float(np.abs(up - start - power * across).max())
    least, most = limits.STEEPEST
    return power if least < power < most and bend < min(0.02, (1 - power) / 2) else 0.0


def keeps_moving(side: Side) -> bool:
    """Whether the quotients move as much from each of these 25 rungs to the next as from any other.

    Noise makes them move more and more towards x, smoothness less and less.
    """
    quotients = side.quotients
    moves = np.median(np.abs(np.diff(quotients)).reshape(4, 6), axis=1)
    loud = moves.min() > limits.CLEAR * EPSILON * np.abs(quotients).max()
    return bool(moves.max() <= 4 * moves.min() and loud)


# -- noise -----------------------------------------------------------------------------------------


def measure_scatter(side: Side) -> Rungs:
    """Third divided difference over x and three rungs, as the noise in f that would explain it."""
    steps, values, zeros = side.steps, side.values, np.zeros(len(side.steps) - 2)
    h = np.array([zeros, steps[:-2], steps[1:-1], steps[2:]]) / steps[1:-1]
    y = np.array([zeros + side.here, values[:-2], values[1:-1], values[2:]])
    gaps = h[:, np.newaxis] - h
    gaps[range(4), range(4)] = 1.0
    weights = 1 / gaps.prod(axis=1)
    return np.asarray(np.abs((weights * y).sum(axis=0)) / np.sqrt((weights**2).sum(axis=0)))


def measure_quiet_noise(scatters: list[Rungs]) -> float:
    """Three times the median scatter of the finest rungs: deaf to whatever lies farther out."""
    finest = [heard for s in scatters for heard in s[:8].tolist() if math.isfinite(heard)]
    return 3 * float(np.median(finest)) if finest else 0.0


def find_rise(scatters: Rungs, ulps: Rungs, noise: float) -> Rise | None:
    """The first place where the scatter behaves as no smooth f makes it, if there is one.

    For a smooth f it lies flat, then grows eightfold a rung. A leap out of all finer rungs, or a
    second plateau above the first, is rounding that the finest rungs are too close to show, or a
    kink, a jump, a pole, an oscillation.
    """
    finer = np.concatenate(([0.0], np.fmax.accumulate(scatters)[:-1]))
    leaps = scatters > 32 * np.fmax(finer, np.fmax(ulps, noise))
    six = np.lib.stride_tricks.sliding_window_view(scatters, WINDOW)
    early, late = np.median(six[:, :3], axis=1), np.median(six[:, 3:], axis=1)
    flats = np.where(late <= 4 * early, 3 * np.median(six, axis=1), np.nan)  # no smooth f's growth
    flats = np.append(flats, np.full(WINDOW - 1, np.nan))
    lifted = flats > 2 * np.fmax(np.append(ulps[WINDOW - 1 :], ulps[1 - WINDOW :]), noise)
    if not (leaps | lifted).any():
        return None
    first = int(np.argmax(leaps | lifted))
    near = slice(first, first + WINDOW)
    sharp = leaps[near] if leaps[near].any() else scatters[near] > flats[first] / 24
    rung = first + int(np.argmax(sharp))
    return Rise(rung, float(scatters[rung]), float(flats[first]) if lifted[first] else 0.0)


# -- slopes ----------------------------------------------------------------------------------------


def coarsen(rungs: Rungs) -> Rungs:
    return np.append(rungs[1:], np.nan)


def bound_rest(move: Rungs, noise: Rungs, rate: Rungs) -> Rungs:
    """Bound on how far a sequence still has to go after its move to each rung.

    A sequence that shrinks its moves by the factor q has q/(1-q) of the last move left. The worst
    factor of the last two is taken, never better than `rate`; one half where the move drowns in
    noise. Nothing is promised to a sequence that does not shrink, or has made one move only.
    """
    last = np.abs(move)
    second = coarsen(last)
    factor = np.maximum(np.fmax(last / second, second / coarsen(second)), rate)
    factor = np.where(last <= noise, 0.5, factor)
    reach = np.maximum(last, second * rate) * factor / (1 - np.minimum(factor, 0.9))
    return np.where(factor < 0.9, reach, np.inf)


def extrapolate(steps: Rungs, quotients: Rungs, noise: Rungs, power: int) -> tuple[Rungs, Rungs]:
    """Neville's columns (column k has lost h^power ... h^(k power)) and the bars of the entries.

    An entry's bar is what its parent column had left to go, its own correction, and its noise.
    """
    value, heard, coarsest = quotients, noise, steps
    columns, bars = [value], [np.full_like(value, np.inf)]
    for k in range(1, limits.COLUMNS):
        coarsest = coarsen(coarsest)
        weight = (coarsest / steps) ** power
        move, heard_coarser = value - coarsen(value), coarsen(heard)
        left = bound_rest(move, heard + heard_coarser, 1 / weight)
        if k == 1:
            bars[0] = left + heard
        value = value + move / (weight - 1)
        heard = (weight * heard + heard_coarser) / (weight - 1)
        columns.append(value)
        bars.append(left + np.abs(move) / (weight - 1) + heard)
    return np.array(columns), limits.SCAN_SAFETY * np.array(bars)


def choose_limit(steps: Rungs, quotients: Rungs, noise: Rungs, unheard: Rungs, power: int) -> Limit:
    """The entry with the smallest bar that no finer rung contradicts.

    Far from x a table can converge to something else (|x| at 1e-9 has slope 0 for every step above
    1e-9). Where the two differ little, the nearer one may as well be the victim of unheard
    rounding: the bar spans both.
    """
    columns, bars = extrapolate(steps, quotients, noise, power)
    bars = np.where(np.isfinite(columns) & np.isfinite(bars), bars + unheard, INF)
    best = bars.argmin(axis=0)[np.newaxis]
    bar = np.take_along_axis(bars, best, 0)[0]
    value = np.where(np.isfinite(bar), np.take_along_axis(columns, best, 0)[0], 0.0)
    apart = np.abs(value[:, np.newaxis] - value) > bar[:, np.newaxis] + bar
    upheld = np.where(np.triu(apart, 1).any(axis=0), INF, bar)
    boldest, chosen = int(bar.argmin()), int(upheld.argmin())
    if np.isinf(upheld[chosen]):
        return Limit()
    gap = abs(float(value[chosen] - value[boldest]))
    spanned = gap if gap <= 1e-3 * abs(value[chosen]) else 0.0
    used = float(steps[chosen]), float(steps[chosen + best[0, chosen]])
    return Limit(float(value[chosen]) + 0.0, float(bar[chosen]) + spanned, used)


def limit_of_side(side: Side, noise: float, length: float) -> Limit:
    """The one-sided derivative; errors run in h, h^2, ..."""
    steps, quotients = side.steps, side.quotients
    unheard = lose_digits(length / steps, quotients)
    return choose_limit(steps, quotients, 2 * side.carry(noise) / steps, unheard, 1)


def limit_of_both(left: Side, right: Side, noise: float, length: float, shape: float) -> Limit:
    """The derivative; errors run in h^2, h^4, ...; exact for a quadratic with unequal steps too.

    From the step `shape` on f has a shape of its own beside x: see `measure_doubt`.
    """
    a, b = left.steps, right.steps
    quotients = (a * right.quotients + b * left.quotients) / (a + b)
    steps, heard = (a + b) / 2, 2 * choose_loudest(left, right).carry(noise) / (a + b)
    unheard = lose_digits(length / steps, quotients) + measure_doubt(steps, quotients, heard, shape)
    return choose_limit(steps, quotients, heard, unheard, 2)


def choose_loudest(left: Side, right: Side) -> Side:
    return replace(right, values=np.fmax(np.abs(left.values), np.abs(right.values)))


def measure_doubt(steps: Rungs, quotients: Rungs, heard: Rungs, shape: float) -> Rungs:
    """What quotients from beyond a shape of f may not know: how far they are off nearer ones.

    A slope at the foot of a bump does not show on the rungs beyond it. Of the nearer rungs rounding
    disturbs the coarsest least; it is off by less than its move from the next finer one.
    """
    far = steps >= shape
    nearer = np.flatnonzero(~far & np.isfinite(quotients))
    if not (far.any() and len(nearer)):
        return np.zeros(len(steps))
    last = nearer[-1]
    off = np.abs(quotients[last] - quotients[nearer[-2:][0]]) + heard[last]
    return np.where(far, np.abs(quotients - quotients[last]) + off, 0.0)


def lose_digits(lengths_a_step: Rungs, slope: Rungs) -> Rungs:
    """What an ulp of x, rounded away inside f with no noise to tell of it, does to a slope."""
    return np.asarray(EPSILON * (4 + lengths_a_step) * np.abs(slope))


def sees_gap(left: Side, right: Side, noise: float, gap: float) -> bool:
    """Whether the slopes to both sides differ by this gap on the finest rung that could tell."""
    telling = 4 * choose_loudest(left, right).carry(noise) / right.steps < abs(gap) / 8
    apart = (right.quotients - left.quotients)[int(np.argmax(telling))]
    return bool(telling.any() and abs(apart - gap) < abs(gap) / 2)


# -- what is seen around a point -------------------------------------------------------------------

Kind = Literal["smooth", "kink", "jump", "vertical", "one-sided", "undefined", "unresolved"]
DENIALS: tuple[Kind, ...] = ("unresolved", "jump", "vertical")  # the first of them counts
Sides = tuple[Side, Side]


@dataclass(frozen=True)
class Scanned:
    """The derivative of f at x as far as float64 samples of f can tell.

    `error` bounds |value - truth|; at a kink, where there is no value, the errors of `left` and
    `right`; otherwise it is inf. An infinite one-sided derivative is ±inf, an unknown one nan.
    `steps` are the finest and the coarsest step whose quotients make up the value; `noise` is the
    rounding that the values of f near x carry.
    """

    kind: Kind
    value: float = NAN
    error: float = INF
    left: float = NAN
    right: float = NAN
    detail: str = ""
    steps: tuple[float, float] = (NAN, NAN)
    noise: float = 0.0


class ScanFinding(NamedTuple):
    """What one side is ("undefined" outside), the infinite slope if any, the words, the jump."""

    kind: Kind = "smooth"
    slope: float = NAN
    detail: str = ""
    jump: float = 0.0


@np.errstate(all="ignore")
def scan(f: Routine, x: float, *, scale: float | None = None) -> Scanned:
    """The derivative of f at x, or why there is none.

    Steps run from max(1, |x|) down to 8 ulp of x (2^-60 where x is 0). With `scale`, the length on
    which f is known to vary, they run from there down to 8 ulp of the larger of |x| and `scale`:
    the finest that f(t) = g(x0 + t u) can feel at t = 0 where `scale` moves x0 by about itself.
    A kink or a jump nearer to x than about a hundred ulp may count as one at x.
    """
    x = float(x)
    samples = Samples(f, x, scale or max(1.0, abs(x)), max(abs(x), scale or 0.0), {})
    steps, here = make_ladder(samples), samples(x)
    if math.isnan(here):
        return Scanned("undefined", detail="f(x) is not a finite number")
    if len(steps) < 16:
        return Scanned("unresolved", detail="the scale is too close to the resolution of x")
    if (samples.at(x + np.concatenate((steps, -steps))) == here).all():  # or its digits are lost
        steps = np.concatenate((steps, steps[-1] * 2.0 ** np.arange(1, 13)))
    sides = samples.side(-1, steps), samples.side(1, steps)
    findings = [examine_side(samples, side) for side in sides]
    stray, (one, other) = 0.0, (found.jump for found in findings)
    rounded = all(found.kind == "unresolved" and found.jump for found in findings)
    if rounded and abs(one - other) <= 1e-2 * abs(one):  # f(x) alone lies off both sides
        stray, findings = 2 * abs(one), [ScanFinding()] * 2
    sound = [s for s, found in zip(sides, findings, strict=True) if found.kind == "smooth"]
    noise, shape = measure_noise(samples, sound)
    noise = max(noise, stray)
    if math.isinf(noise):
        return Scanned("unresolved", detail="f jumps again and again around x")
    return replace(conclude(samples, sides, findings, noise, shape), noise=noise)


def examine_side(samples: Samples, side: Side) -> ScanFinding:
    hand = "-+"[side.sign > 0]
    if np.isnan(side.values[:4]).any():
        return ScanFinding("undefined")
    if jump := find_jump(side.nearest(12)):
        small = abs(jump) <= SMALL_STEP * max(1.0, samples.largest())
        words = f"f(x{hand}0) - f(x) = {jump:.6g}"
        return ScanFinding("unresolved" if small else "jump", NAN, words, jump)
    if power := find_power(side.nearest(16)):
        slope = math.copysign(INF, side.sign * (side.values[0] - side.here))
        return ScanFinding("vertical", slope, f"f(x{hand}h) - f(x) ~ h^{power:.3f}")
    if len(side.steps) > 24 and keeps_moving(side.nearest(25)):
        return ScanFinding("unresolved", NAN, f"(f(x{hand}h) - f(x))/h does not settle")
    return ScanFinding()


def measure_noise(samples: Samples, sides: list[Side]) -> tuple[float, float]:
    """The noise of f near x, also where the finest rungs are too close to hear it; inf if gross.

    And the least step from which on the scatter rises by the shape of f; inf where it does not.

    Rounding inside f makes a staircase. On one stair f looks perfectly smooth, with a slope that
    means nothing. The next stair shows as a rise of the scatter.
    """
    scatters = [measure_scatter(side) for side in sides]
    heard = measure_quiet_noise(scatters)
    noise, before, shape = max(heard, EPSILON * abs(samples(samples.x))), -1.0, INF
    while noise > before:  # what was a shape beside less noise may be noise itself
        before, shape = noise, INF
        for side, scattered in zip(sides, scatters, strict=True):
            ulps = side.carry(noise)[2:]
            while found := find_rise(scattered, ulps, noise):
                louder = explain_rise(samples, side, found, noise)
                if louder <= noise:
                    shape = min(shape, float(side.steps[found.rung + 2]))
                    break
                noise = louder
    return noise, shape


def explain_rise(samples: Samples, side: Side, found: Rise, noise: float) -> float:
    """The noise that a rise of the scatter reveals: 0 if the rise is the shape of f."""
    if 0 < found.plateau <= 16 * noise:
        return found.plateau
    height, place = find_break(samples, side, found)
    if height <= 16 * replace(side, values=np.array([samples(place)])).carry(noise)[0]:
        return 0.0
    size = float(np.nanmax(np.abs(side.values[: found.rung + 2])))  # nearer than a pole
    if height <= SMALL_STEP * max(1.0, size):
        return max(2 * height, found.plateau if found.plateau <= 16 * height else 0.0)
    distance = place - samples.x
    if 27 * abs(distance) > samples.reach:
        return 0.0
    spread = distance * (1.3 + 1.7 * np.arange(16))  # do others of this height follow beyond?
    thirds = (np.abs(np.diff(samples.at(samples.x + k * spread), 3)) for k in (1, 2, 4, 8))
    return INF if any(np.count_nonzero(third > height / 8) > 6 for third in thirds) else 0.0


def find_break(samples: Samples, side: Side, found: Rise) -> tuple[float, float]:
    """Height and place of the discontinuity that made the scatter rise; 0 if f is continuous.

    Halving keeps the half where f strays more from its slope so far, or strays first where it has
    stood still so far. At a discontinuity the stray does not shrink with the interval.
    """
    a, b = (float(samples.x + side.sign * side.steps[found.rung + k]) for k in (1, 2))
    secant = (samples(a) - side.here) / (a - samples.x)

    def stray(p: float, q: float) -> float:
        return abs(samples(q) - samples(p) - secant * (q - p))

    strays = [stray(a, b)]
    while len(strays) < 48 and a != (m := (a + b) / 2) != b:
        nearer = stray(a, m) >= stray(m, b) if secant else stray(a, m) > 0
        a, b = (a, m) if nearer else (m, b)
        strays.append(stray(a, b))
    lately = strays[-17:]
    shrunk = found.scatter / 16 if secant else lately[0] * 2.0 ** ((1 - len(lately)) / 4)
    return (strays[-1] if strays[-1] > shrunk else 0.0), b


def conclude(
    samples: Samples, sides: Sides, findings: list[ScanFinding], noise: float, shape: float
) -> Scanned:
    """Put the two sides together: what denies a slope first, then one side alone, then both.

    One slope where the one-sided ones agree; a kink where their gap is seen close to x too. A gap
    that cannot be seen there may be unheard noise of one side: it only widens the bar.
    """
    kinds = [finding.kind for finding in findings]
    left, right = (
        limit_of_side(side, noise, samples.length) if kind == "smooth" else Limit(finding.slope)
        for side, kind, finding in zip(sides, kinds, findings, strict=True)
    )
    detail = "; ".join(finding.detail for finding in findings if finding.detail)
    found = Scanned("smooth", left=left.value, right=right.value, detail=detail)
    if denied := [kind for kind in DENIALS if kind in kinds]:
        return replace(found, kind=denied[0])
    if kinds == ["undefined", "undefined"]:
        return replace(found, kind="undefined", detail="f is finite at x but not on either side")
    if "undefined" in kinds:
        hand, limit = ("left", left) if kinds[0] == "smooth" else ("right", right)
        found = replace(found, kind="one-sided", detail=f"f is finite to the {hand} of x only")
        return resolve(samples, found, limit)
    if math.isinf(left.bar + right.bar):
        return resolve(samples, found, Limit())
    limit = limit_of_both(*sides, noise, samples.length, shape)
    gap = right.value - left.value
    if abs(gap) <= 2 * (left.bar + right.bar):
        return resolve(samples, found, limit)
    if not sees_gap(*sides, noise, gap):
        return resolve(samples, found, limit._replace(bar=limit.bar + abs(gap)))
    detail = f"slope {left.value:.6g} to the left, {right.value:.6g} to the right"
    return replace(found, kind="kink", error=max(left.bar, right.bar), detail=detail)


def resolve(samples: Samples, found: Scanned, limit: Limit) -> Scanned:
    """The slope with its value, unless the bar leaves open what a secant of f would tell."""
    if math.isinf(limit.bar):
        return replace(found, kind="unresolved", detail="the difference quotients do not settle")
    typical = samples.largest() / samples.reach + 2.0**-1000
    if limit.bar > max(abs(limit.value), typical):
        detail = f"noise leaves the slope uncertain by {limit.bar:.1g}"
        return replace(found, kind="unresolved", detail=detail)
    detail = found.detail or "the difference quotients settle"
    return replace(found, value=limit.value, error=limit.bar, detail=detail, steps=limit.steps)
