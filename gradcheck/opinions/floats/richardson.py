"""A ladder of samples on each side of x and what it tells: jumps, powers, noise, slopes.

Arrays run over the rungs of one side's ladder, finest step first, each step about twice the last.
A rung outside the domain of f is nan, and so is everything made from it.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gradcheck.opinions import limits
from gradcheck.opinions.limits import EPSILON, TINY, WINDOW

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
    scattered: Rungs = np.abs((weights * y).sum(axis=0)) / np.sqrt((weights**2).sum(axis=0))
    return scattered


def measure_quiet_noise(scatters: list[Rungs]) -> float:
    """Three times the median scatter of the finest rungs: deaf to whatever lies farther out."""
    finest = np.concatenate([np.array([]), *(s[:8] for s in scatters)])
    finest = finest[np.isfinite(finest)]
    return 3 * float(np.median(finest)) if len(finest) else 0.0


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

    Far from x a table can converge beautifully to something else (|x| at 1e-9 has slope 0 for every
    step above 1e-9); a contradiction from nearer by is the only sign of it. Where the two differ
    little, the nearer one may as well be the victim of unheard rounding: the bar spans both.
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
    quotients, heard = side.quotients, 2 * side.carry(noise) / side.steps
    unheard = lose_digits(length / side.steps, quotients)
    return choose_limit(side.steps, quotients, heard, unheard, 1)


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

    A bump of f between x and them shows on the rungs that meet it; the slope at its foot does not
    show on any that are farther. Of the nearer rungs rounding disturbs the coarsest least; what it
    is off itself is less than its move from the next finer one (it runs in h^2).
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
    lost: Rungs = EPSILON * (4 + lengths_a_step) * np.abs(slope)
    return lost


def sees_gap(left: Side, right: Side, noise: float, gap: float) -> bool:
    """Whether the slopes to both sides differ by this gap on the finest rung that could tell."""
    telling = 4 * choose_loudest(left, right).carry(noise) / right.steps < abs(gap) / 8
    apart = (right.quotients - left.quotients)[int(np.argmax(telling))]
    return bool(telling.any() and abs(apart - gap) < abs(gap) / 2)
