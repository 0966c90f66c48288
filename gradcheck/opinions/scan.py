"""The derivative of a black box that takes and gives floats, with an error bar that holds.

`scan` samples f at x ± h for every step h = 2^j of a ladder, names what it sees there, and where
f is smooth extrapolates the difference quotients. `probe` is the cheap test before it.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from gradcheck.opinions.richardson import (
    EPS,
    Rungs,
    flat_noise,
    noise_by_rung,
    onset,
    plateaus,
    rounding,
    scatter,
    settle,
)

Kind = Literal["smooth", "kink", "jump", "vertical", "one-sided", "undefined", "unresolved"]
Function = Callable[[float], float]

NAN = float("nan")
INF = float("inf")
SMALL_STEP = 1e-6  # a step in f of less than this part of f is rounding, not a step of f's own


@dataclass(frozen=True)
class Slope:
    """The derivative of f at x as far as float64 samples of f can tell."""

    kind: Kind
    value: float = NAN
    error: float = INF
    left: float = NAN
    right: float = NAN
    detail: str = ""
    evaluations: int = 0


@dataclass(frozen=True)
class Side:
    """Samples f(x + sign h), finest step first, and what is wrong with them ("" if nothing is)."""

    sign: int
    steps: Rungs
    values: Rungs
    trouble: Literal["", "outside", "jump", "vertical"]
    slope: float  # of an infinite one-sided derivative
    detail: str


def scan(f: Function, x: float, *, scale: float | None = None) -> Slope:
    """Derivative of f at x."""
    seen: dict[float, float] = {}
    sample = remembered(f, seen)
    with np.errstate(all="ignore"):
        slope = look(sample, seen, float(x), scale)
    return replace(slope, evaluations=len(seen))


def remembered(f: Function, seen: dict[float, float]) -> Function:
    """F, asked once for each point; nan wherever it has no finite real value."""

    def sample(t: float) -> float:
        if not math.isfinite(t):
            return NAN
        if t not in seen:
            seen[t] = finite(f, t)
        return seen[t]

    return sample


def finite(f: Function, t: float) -> float:
    """f(t), or nan if that is no finite real number or t itself is none."""
    if not math.isfinite(t):
        return NAN
    try:
        y = f(t)
        value = NAN if isinstance(y, complex) else float(y)
    except (ArithmeticError, ValueError):
        return NAN
    return value if math.isfinite(value) else NAN


def ladder(x: float, scale: float | None) -> Rungs:
    """Powers of two from the natural length of x down to 8 ulp of it."""
    top = max(1.0, abs(x)) if scale is None else scale
    if scale is not None:
        bottom = 8 * math.ulp(max(abs(x), scale))
    else:
        bottom = 8 * math.ulp(x) if x else 2.0**-60
    low, high = math.frexp(bottom)[1] - 1, math.frexp(top)[1] - 1
    exponents = np.arange(low, high + 1.0)
    if high - low > 128:
        exponents = np.concatenate((exponents[:64], [NAN], exponents[-60:]))
    jitter = 1 + 0.25 * (np.arange(len(exponents)) * 0.6180339887498949 % 1)
    return 2.0**exponents * jitter


def look(sample: Function, seen: dict[float, float], x: float, scale: float | None) -> Slope:
    """Name what the samples show around x, and take the slope where there is one."""
    f0 = sample(x)
    if math.isnan(f0):
        return Slope("undefined", detail="f(x) is not a finite number")
    steps = ladder(x, scale)
    if len(steps) < 16:
        return Slope("unresolved", detail="the scale is too close to the resolution of x")
    if {sample(float(x + s)) for s in np.concatenate((steps, -steps))} == {f0}:
        steps = np.concatenate((steps, steps[-1] * 2.0 ** np.arange(1, 13)))
    left, right = (side(sample, x, f0, sign, steps) for sign in (-1, 1))
    if left.trouble == right.trouble == "outside":
        return Slope("undefined", detail="f is not finite on either side of x")
    flat = noise(sample, seen, x, f0, (left, right))
    if math.isinf(flat):
        return Slope("unresolved", detail="f jumps many times around x")
    return verdict(f0, left, right, flat, seen, max(abs(x), scale or 0))


def side(sample: Function, x: float, f0: float, sign: int, steps: Rungs) -> Side:
    """Sample one side of x and see whether f has a one-sided derivative there at all."""
    points = x + sign * steps
    values = np.array([sample(float(t)) for t in points])
    taken = np.abs(points - x)
    bare = Side(sign, taken, values, "", NAN, "")
    if np.isnan(values[:4]).any():
        return replace(bare, trouble="outside")
    if (jump := jump_at(f0, values)) != 0:
        hand = "+" if sign > 0 else "-"
        return replace(bare, trouble="jump", detail=f"f(x{hand}0) - f(x) = {jump:.6g}")
    if power := power_at(f0, taken, values):
        hand = "+" if sign > 0 else "-"
        slope = math.copysign(INF, sign * (values[0] - f0))
        told = f"f(x{hand}h) - f(x) ~ h^{power:.3f}"
        return replace(bare, trouble="vertical", slope=slope, detail=told)
    return bare


def jump_at(f0: float, values: Rungs) -> float:
    """f(x ± 0) - f(x) if that is the same number, not rounding, on the 12 finest rungs; else 0."""
    rise = values[:12] - f0
    size = float(np.median(rise))
    steady = bool(np.ptp(rise) <= 1e-3 * abs(size))
    return size if steady and abs(size) > 64 * float(rounding(f0, values[:1])[0]) else 0.0


def power_at(f0: float, steps: Rungs, values: Rungs) -> float:
    """The p of |f(x ± h) - f(x)| ~ h^p if the 16 finest rungs fit one below 1; else 0."""
    rise = values[:16] - f0
    if np.isnan(rise).any() or abs(np.sign(rise).sum()) < 16:
        return 0.0
    if (np.abs(rise) <= 64 * rounding(f0, values[:16])).any():
        return 0.0
    across, up = np.log2(steps[:16]), np.log2(np.abs(rise))
    power, start = np.polyfit(across, up, 1)
    bend = float(np.abs(up - start - power * across).max())
    return float(power) if 0.02 < power < 0.9995 and bend < min(0.02, (1 - power) / 2) else 0.0


def noise(
    sample: Function, seen: dict[float, float], x: float, f0: float, sides: tuple[Side, ...]
) -> float:
    """The flat noise of f near x, including what its finest rungs are too near to show.

    Rounding inside f makes a staircase. On one stair f looks perfectly smooth, with a slope that
    says nothing; the next stair shows as a leap of the scatter, and bisection finds its height.
    """
    sound = [s for s in sides if not s.trouble]
    flat = flat_noise(*(scatter(f0, s.steps, s.values) for s in sound)) if sound else 0.0
    flat = max(flat, EPS*abs(f0))
    for s in sound:
        sc = scatter(f0, s.steps, s.values)
        floor = rounding(f0, s.values)[2:]
        flats = np.append(plateaus(sc), np.full(5, np.nan))
        for _ in range(8):
            lift = flats > 2 * flat
            leap = onset(sc, floor, flat)
            gentle = int(np.argmax(lift)) if lift.any() else None
            if gentle is None and leap is None:
                break
            j = min(len(sc) if gentle is None else gentle, len(sc) if leap is None else leap)
            if j == gentle and flats[j] <= 16 * flat:
                flat = flats[j]
                continue
            if j == gentle:
                j += int(np.argmax(sc[j : j + 6] > flats[j] / 12))
            ends = (x + s.sign * s.steps[j + 1], x + s.sign * s.steps[j + 2])
            height, place = break_between(sample, float(ends[0]), float(ends[1]), f0, sc[j])
            largest = max(1.0, max(abs(v) for v in seen.values() if v == v))
            if height <= 16 * max(EPS * abs(f0), EPS * abs(sample(place))):
                break
            if height <= SMALL_STEP * largest:
                flat = float(np.fmax(max(flat, 2 * height), np.fmax.reduce(flats[j:j+3])))
            elif crowded(sample, x, s, place, height):
                return INF
            else:
                break
    return flat


def break_between(
    sample: Function, a: float, b: float, f0: float, sc: float
) -> tuple[float, float]:
    """Height and place of a discontinuity between a and b, found by halving; 0 if f is continuous.

    The half where f moves more is kept. The move shrinks with the interval unless f jumps.
    """
    moves = [abs(sample(b) - sample(a))]
    still = sample(a) == f0
    while len(moves) < 48 and a != (m := (a + b) / 2) != b:
        near, far = abs(sample(m) - sample(a)), abs(sample(b) - sample(m))
        a, b = (a, m) if (near > 0 if still else near >= far) else (m, b)
        moves.append(abs(sample(b) - sample(a)))
    earlier = moves[-17:]
    jump = moves[-1] > (earlier[0] * 2 ** ((1 - len(earlier)) / 4) if still else sc / 16)
    return (moves[-1] if jump else 0.0), b


def crowded(sample: Function, x: float, s: Side, place: float, height: float) -> bool:
    """Whether jumps of about this height follow one another all the way out from the first."""
    distance = abs(place - x)
    if 27 * distance > s.steps[-1]:
        return False
    for stride in (1, 2, 4, 8):
        points = [x + s.sign * stride * distance * (1.3 + 1.7 * i) for i in range(16)]
        third = np.abs(np.diff([sample(t) for t in points], 3))
        if np.nanmedian(third) > height / 8:
            return True
    return False


def verdict(
    f0: float, left: Side, right: Side, flat: float, seen: dict[float, float], natural
) -> Slope:
    """Combine the two sides."""
    (lv, le), (rv, re) = one_sided(f0, left, flat), one_sided(f0, right, flat)
    troubles = {left.trouble, right.trouble}
    detail = "; ".join(s.detail for s in (left, right) if s.detail)
    if "jump" in troubles:
        return Slope("jump", left=lv, right=rv, detail=detail)
    if "vertical" in troubles:
        return Slope("vertical", left=lv, right=rv, detail=detail)
    if "outside" in troubles:
        v, e = (rv, re) if left.trouble else (lv, le)
        hand = "right" if left.trouble else "left"
        return bounded(
            Slope("one-sided", v, e, lv, rv, f"f is defined to the {hand} of x only"),
            left.steps[-1],
            seen,
        )
    if math.isinf(le + re):
        return Slope(
            "unresolved", left=lv, right=rv, detail="the difference quotients do not settle"
        )
    if abs(lv - rv) > 2 * (le + re):
        return Slope(
            "kink",
            error=max(le, re),
            left=lv,
            right=rv,
            detail=f"slope {lv:.6g} to the left, {rv:.6g} to the right",
        )
    v, e = two_sided(f0, left, right, flat, natural)
    if math.isinf(e):
        return Slope(
            "unresolved", left=lv, right=rv, detail="the difference quotients do not settle"
        )
    return bounded(
        Slope("smooth", v, e, lv, rv, "the difference quotients settle"), left.steps[-1], seen
    )


def bounded(slope, scale, seen):
    top = max(abs(v) for v in seen.values() if v == v)
    if slope.error > max(abs(slope.value), (top + 2.3e-308) / scale):
        return replace(
            slope,
            kind="unresolved",
            value=NAN,
            error=INF,
            detail=f"error bar {slope.error:.1g} too wide",
        )
    return slope


def one_sided(f0: float, s: Side, flat: float) -> tuple[float, float]:
    """One-sided derivative and bar."""
    if s.trouble:
        return (s.slope, INF)
    quotients = s.sign * (s.values - f0) / s.steps
    heard = 2 * noise_by_rung(f0, s.values, flat) / s.steps
    return settle(s.steps, quotients, heard, 1)[:2]


def two_sided(f0, left, right, flat, natural) -> tuple[float, float]:
    """Central derivative and bar; exact for quadratics even where the two steps were rounded."""
    a, b = left.steps, right.steps
    quotients = (a / b * (right.values - f0) - b / a * (left.values - f0)) / (a + b)
    largest = np.fmax(np.abs(left.values), np.abs(right.values))
    heard = noise_by_rung(f0, largest, flat) * 2 / (a + b)
    value, bar, rung = settle((a + b) / 2, quotients, heard, 2)
    bend = abs((right.values - f0) / b - (f0 - left.values) / a)[rung]
    return value, float(bar + EPS * bend * (natural / b[rung]) + 4 * EPS * abs(value))
