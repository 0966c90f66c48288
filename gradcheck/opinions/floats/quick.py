"""The quick look at a slope: a few samples where a scan takes two hundred.

It answers only where it is sure; whatever looks unusual is left to the scan. One thing it cannot
see: a function whose digits are all lost in a constant looks like a straight line to few samples.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise

import numpy as np

from gradcheck.opinions.floats.lines import Function, move_along, sum_up
from gradcheck.opinions.floats.richardson import finite
from gradcheck.opinions.floats.scan import Scanned
from gradcheck.opinions.limits import ENOUGH, EPSILON, LENGTHS, LOOKED, LOUDER, QUIET, TINY
from gradcheck.opinions.opinion import Case, Directions, Estimate, Opinion, estimate_value, rows_of
from gradcheck.values import Array, Numbers, Params, Routine

FINE, NEAR, FAR = LOOKED[:3].tolist()
TURN = NEAR / FINE  # bars of a slope: the kink that the nearest samples of a glance would show


def glance(f: Routine, x: float, length: float = 1.0, here: float | None = None) -> Scanned | None:
    """The derivative of f at x with its bar, from nine samples; None where more must be asked.

    Central differences at 2^-9, 2^-10 and 2^-11 of the length on which f varies are extrapolated
    twice; the bar is what two of the once extrapolated differ by, the rounding of f, and the noise
    heard in its values at 2^-20, where a parabola leaves nothing else. The slopes to either side
    there must agree with it as closely as that rounding lets them, so no kink or jump lies at x.
    `here` is f(x).
    """
    f0 = finite(f, x) if here is None else here
    left, right, noise = [], [], []
    for step in LOOKED.tolist():
        low, high = x - length * step, x + length * step
        a, b, below, above = x - low, high - x, finite(f, low), finite(f, high)
        if not (a and b):  # x is so large that it does not move
            return None
        left.append((f0 - below) / a)
        right.append((above - f0) / b)
        noise.append(_bound_rounding(below, above, f0) * 2 / (a + b))
    central = [(a + b) / 2 for a, b in zip(left, right, strict=True)]
    rise = [b - a for a, b in zip(left, right, strict=True)]
    once = [fine + (fine - coarse) / 3 for fine, coarse in pairwise(central[1:])]
    value = once[0] + (once[0] - once[1]) / 15
    bend = rise[1] * FINE / NEAR
    apart = abs(once[0] - once[1])
    turn = abs(bend) + noise[0] + noise[1] + apart
    if not (abs(left[0] - value) <= turn and abs(right[0] - value) <= turn):
        return None
    strayed = max(abs(central[0] - value), abs(rise[0] - bend)) * FINE / NEAR
    bar = apart + max(noise[1], LOUDER * strayed)
    return Scanned("smooth", value, bar, steps=(0.0, length)) if math.isfinite(bar) else None


def confirm_slope(
    f: Routine, here: float, length: float, expected: tuple[float, float], enough: float
) -> Scanned | None:
    """The slope at 0 that is expected, from four samples where they meet it; None where not sure.

    Differences at two steps, extrapolated once, meet it within the rounding of f's values. That it
    was expected changes nothing in what would be seen: the bar is no wider than a glance's, and a
    slope that is off misses it unless the error of the extrapolation makes up for that. A kink at
    the point shows in how the sums of the samples rise.
    """
    near, far = NEAR * length, FAR * length
    left, right, before, beyond = f(-near), f(near), f(-far), f(far)
    inner, outer = (right - left) / (2 * near), (beyond - before) / (2 * far)
    value, known = inner + (inner - outer) / 3, _bound_rounding(left, right, before, beyond) / near
    bend = (4 * (right - here + left - here) - (beyond - here + before - here)) / far
    met = abs(value - expected[0]) <= known + expected[1] and abs(bend) <= TURN * known
    seen = Scanned("smooth", value, known) if met else glance(f, 0.0, length, here)
    return seen if seen is not None and seen.error <= enough else None


def _bound_rounding(*values: float) -> float:
    return QUIET * (EPSILON * max(map(abs, values)) + TINY)


def look_along(
    cases: Sequence[Case],
    along: Params,
    expected: Sequence[Estimate | None],
    value: Array | None = None,
) -> list[Opinion | None]:
    """The differences' opinion on some cases that differ in their cotangent alone.

    The slopes along some directions, where those `expected` are met or a glance at each is sure;
    None where not. One run of the function serves every cotangent; `value` is the one at the
    point, where it is known.
    """
    case = cases[0]
    try:
        with np.errstate(all="ignore"):
            if value is None:
                value = np.array(case.function("float", case.floats()), dtype=np.float64)
            lines = _sample(cases, along)
            found = [
                _look([partial(f, k) for f in lines], slopes, sum_up(value, each.cotangent))
                for k, (each, slopes) in enumerate(zip(cases, expected, strict=True))
            ]
    except Exception:  # noqa: BLE001 - whatever a program raises, the full opinion will tell
        return [None] * len(cases)
    return [
        None if slopes is None else opinion_along(each, value, Directions(along, slopes))
        for each, slopes in zip(cases, found, strict=True)
    ]


def opinion_along(case: Case, value: Array, found: Directions) -> Opinion:
    known, method = estimate_value(case, value, 0.0), f"floats along {len(found)} directions"
    return Opinion("differences", known, directions=found, method=method)


def _sample(cases: Sequence[Case], along: Params) -> list[Callable[[int, float], float]]:
    """Along each direction the k-th contracted value at a step, which is run once for all."""

    def on(value: Callable[[float], Numbers]) -> Callable[[int, float], float]:
        seen: dict[float, list[float]] = {}

        def at(k: int, step: float) -> float:
            values = seen.get(step)
            if values is None:
                out = value(step)
                values = seen[step] = [sum_up(out, each.cotangent) for each in cases]
            return values[k]

        return at

    return [on(move_along(cases[0], row)) for row in rows_of(along)]


def _look(lines: Sequence[Function], expected: Estimate | None, here: float) -> Estimate | None:
    """The slopes for one cotangent at the first length at which all are known.

    Beside the steepest: along some random direction a slope may be small by chance, and says no
    less there.
    """
    due = [None] * len(lines) if expected is None else expected.pairs()
    enough = math.inf if expected is None else ENOUGH * expected.largest
    for length in LENGTHS:
        found: list[tuple[float, float]] = []
        for f, slope in zip(lines, due, strict=True):
            seen = (
                confirm_slope(f, here, length, slope, enough)
                if slope
                else glance(f, 0.0, length, here)
            )
            if seen is None:
                break
            found.append((seen.value, seen.error))
        else:
            slopes = Estimate(*np.array(found).T)
            if slopes.widest < ENOUGH * slopes.largest:
                return slopes
    return None
