"""The derivative of a black box that takes and gives floats, with an error bar that holds.

`scan` samples f at x ± h over a whole ladder of steps, names what it sees there, and where f is
smooth extrapolates its difference quotients.
"""

import math
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from gradcheck.opinions.floats import richardson
from gradcheck.opinions.floats.richardson import INF, NAN, Limit, Rise, Samples, Side
from gradcheck.opinions.limits import EPSILON, SMALL_STEP
from gradcheck.values import Routine

Kind = Literal["smooth", "kink", "jump", "vertical", "one-sided", "undefined", "unresolved"]
Trouble = Literal["", "outside", "rounding", "restless", "jump", "vertical"]
Sides = tuple[Side, Side]

DENIALS: dict[Trouble, Kind] = {
    "rounding": "unresolved", "restless": "unresolved", "jump": "jump", "vertical": "vertical",
}  # fmt: skip


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
    """What denies one side a slope ("" if nothing does), the infinite slope if any, the words."""

    trouble: Trouble = ""
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
    steps, here = richardson.make_ladder(samples), samples(x)
    if math.isnan(here):
        return Scanned("undefined", detail="f(x) is not a finite number")
    if len(steps) < 16:
        return Scanned("unresolved", detail="the scale is too close to the resolution of x")
    if (samples.at(x + np.concatenate((steps, -steps))) == here).all():  # or its digits are lost
        steps = np.concatenate((steps, steps[-1] * 2.0 ** np.arange(1, 13)))
    sides = samples.side(-1, steps), samples.side(1, steps)
    findings = [examine_side(samples, side) for side in sides]
    stray, (one, other) = 0.0, (found.jump for found in findings)
    rounded = all(found.trouble == "rounding" for found in findings)
    if rounded and abs(one - other) <= 1e-2 * abs(one):  # f(x) alone lies off both sides
        stray, findings = 2 * abs(one), [ScanFinding()] * 2
    sound = [s for s, found in zip(sides, findings, strict=True) if not found.trouble]
    noise, shape = measure_noise(samples, sound)
    noise = max(noise, stray)
    if math.isinf(noise):
        return Scanned("unresolved", detail="f jumps again and again around x")
    return replace(conclude(samples, sides, findings, noise, shape), noise=noise)


def examine_side(samples: Samples, side: Side) -> ScanFinding:
    hand = "-+"[side.sign > 0]
    if np.isnan(side.values[:4]).any():
        return ScanFinding("outside")
    if jump := richardson.find_jump(side.nearest(12)):
        small = abs(jump) <= SMALL_STEP * max(1.0, samples.largest())
        words = f"f(x{hand}0) - f(x) = {jump:.6g}"
        return ScanFinding("rounding" if small else "jump", NAN, words, jump)
    if power := richardson.find_power(side.nearest(16)):
        slope = math.copysign(INF, side.sign * (side.values[0] - side.here))
        return ScanFinding("vertical", slope, f"f(x{hand}h) - f(x) ~ h^{power:.3f}")
    if len(side.steps) > 24 and richardson.keeps_moving(side.nearest(25)):
        return ScanFinding("restless", NAN, f"(f(x{hand}h) - f(x))/h does not settle")
    return ScanFinding()


def measure_noise(samples: Samples, sides: list[Side]) -> tuple[float, float]:
    """The noise of f near x, also where the finest rungs are too close to hear it; inf if gross.

    And the least step from which on the scatter rises by the shape of f; inf where it does not.

    Rounding inside f makes a staircase. On one stair f looks perfectly smooth, with a slope that
    means nothing. The next stair shows as a rise of the scatter.
    """
    scatters = [richardson.measure_scatter(side) for side in sides]
    heard = richardson.measure_quiet_noise(scatters)
    noise, before, shape = max(heard, EPSILON * abs(samples(samples.x))), -1.0, INF
    while noise > before:  # what was a shape beside less noise may be noise itself
        before, shape = noise, INF
        for side, scattered in zip(sides, scatters, strict=True):
            ulps = side.carry(noise)[2:]
            while found := richardson.find_rise(scattered, ulps, noise):
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
    troubles = [finding.trouble for finding in findings]
    left, right = (
        Limit(finding.slope)
        if finding.trouble
        else richardson.limit_of_side(side, noise, samples.length)
        for side, finding in zip(sides, findings, strict=True)
    )
    detail = "; ".join(finding.detail for finding in findings if finding.detail)
    found = Scanned("smooth", left=left.value, right=right.value, detail=detail)
    for trouble, kind in DENIALS.items():
        if trouble in troubles:
            return replace(found, kind=kind)
    if troubles == ["outside", "outside"]:
        return replace(found, kind="undefined", detail="f is finite at x but not on either side")
    if "outside" in troubles:
        hand, limit = ("right", right) if troubles[0] else ("left", left)
        found = replace(found, kind="one-sided", detail=f"f is finite to the {hand} of x only")
        return resolve(samples, found, limit)
    if math.isinf(left.bar + right.bar):
        return resolve(samples, found, Limit())
    limit = richardson.limit_of_both(*sides, noise, samples.length, shape)
    gap = right.value - left.value
    if abs(gap) <= 2 * (left.bar + right.bar):
        return resolve(samples, found, limit)
    if not richardson.sees_gap(*sides, noise, gap):
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
