"""Finite differences of a program that only takes floats: entry by entry, or along directions.

Each is a slope along a line through the point. The quick look takes a few samples of it where a
scan takes two hundred, and answers only where it is sure; whatever looks unusual is left to the
scan. One thing it cannot see: a function whose digits are all lost in a constant looks like a
straight line to few samples.
"""

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from itertools import pairwise

import numpy as np
from flint import arb

from gradcheck.opinions import limits, opinion
from gradcheck.opinions.floats.scan import Function, Scanned, evaluate_finite, scan
from gradcheck.opinions.opinion import Case, Directions, Estimate, NotScalar, Opinion, Slope
from gradcheck.values import Array, Numbers, Params, Routine

FINE, NEAR, FAR = limits.LOOKED[:3].tolist()
TURN = NEAR / FINE  # bars of a slope: the kink that the nearest samples of a glance would show


def black_box(case: Case, because: str, count: int = limits.DIRECTIONS) -> Opinion:
    """Slopes of floats along every entry, or along so many random directions where many are."""
    method = f"scanned floats ({because})"
    try:
        with np.errstate(all="ignore"):
            value = np.array(case.function("float", case.floats()), dtype=np.float64)
            if case.size() > limits.ENTRIES:
                found = scan_along(case, draw_directions(case, count))
                return make_opinion(case, value, found, method)
            gradients, slopes, noise = _look_at_each(case)
    except NotScalar:
        raise
    except Exception as error:  # noqa: BLE001 - a user's program may raise anything
        return Opinion("differences", abstains=opinion.describe_reason(error))
    known = opinion.estimate_value(case, value, noise)
    return Opinion("differences", known, gradients, slopes=slopes, method=method)


def measure_slopes(case: Case, along: Params) -> Opinion | None:
    """The opinion along directions, from a quick look or else from scans.

    None where one of them has no slope, or none that is known well beside the steepest.
    """
    seen = look_along([case], along, [None])[0]
    if seen is None:
        with suppress(Exception), np.errstate(all="ignore"):  # the full opinion will tell
            value = np.array(case.function("float", case.floats()), dtype=np.float64)
            found = scan_along(case, along)
            if found.slopes.widest < limits.SETTLED * found.slopes.largest and not found.kinds:
                return make_opinion(case, value, found)
    return seen


def scan_along(case: Case, along: Params) -> Directions:
    ask = lambda row: _make_ball(scan(on_line(case, row), 0.0, scale=1.0))
    return Directions.look(along, ask)


def _look_at_each(case: Case) -> tuple[dict[str, Estimate], dict[opinion.Place, Slope], float]:
    """The slope at every entry of every wrt input, and the loudest noise that was heard.

    Every bar allows for rounding that shows only when other inputs are moved: beside 1 a
    probability of 1e-17 is lost without a trace in `log(1 + p)`. What is lost of an entry of the
    value is no more than what is heard of it elsewhere, over the length on which the slope varies.
    """
    places = [(name, i) for name in case.wrt for i in np.ndindex(np.shape(case.inputs[name]))]
    found = {place: _look_at(case, *place) for place in places}
    loud = np.max([seen.noise * moved for seen, moved in found.values()], axis=0)

    def make(name: str, index: tuple[int, ...]) -> tuple[arb, Slope | None]:
        seen, moved = found[name, index]
        heard = float(np.max(loud, initial=0.0, where=moved))
        unheard = heard / seen.steps[1] if heard else 0.0
        return _make_ball(replace(seen, error=seen.error + unheard))

    return *opinion.ask_entries(case, make), float(np.max(loud, initial=0.0))


def _find_moved(value: Callable[[float], Numbers], length: float) -> Array:
    """Which entries of a value a step moves; at some steps there may be no value."""
    here = np.array(value(0.0))
    moved = np.zeros(here.shape, dtype=bool)
    for far in limits.MOVING:
        try:
            moved = moved | (np.asarray(value(far * length)) != here)
        except np.linalg.LinAlgError:  # which triangle it reads is no question for differences
            raise
        except (ArithmeticError, ValueError):
            continue
    return moved


def _look_at(case: Case, name: str, index: tuple[int, ...]) -> tuple[Scanned, Array]:
    """The slope at one entry, and which entries of the value that moves.

    By a quick look where there are many and it is sure, else a scan of the entries of the value
    that it moves, for what the others carry is no noise of theirs; of all, beside which they may be
    small, where those leave it open.
    """
    f, x = on_entry(case, name, index)
    length = max(1.0, abs(x))
    moved = _find_moved(move_along(case, {name: opinion.unit(case.inputs[name], index)}), length)
    quick = glance(f, x, length) if case.size() > limits.SCANNED else None
    if quick is not None and quick.error <= limits.SURE * abs(quick.value):
        return quick, moved
    if case.cotangent is None:
        return scan(f, x), moved
    masked = replace(case, cotangent=np.where(moved, case.cotangent, 0.0))
    seen = scan(on_entry(masked, name, index)[0], x)
    whole = scan(f, x) if seen.kind == "unresolved" else seen
    return (seen if whole.kind == "unresolved" else whole), moved


def _make_ball(seen: Scanned) -> tuple[arb, Slope | None]:
    """A scanned slope as a ball; unresolved ones become balls that hold no number."""
    known = math.isfinite(seen.value + seen.error)
    ball = arb(seen.value, seen.error) if known else arb(0, math.inf)
    if seen.kind == "smooth":
        return ball, None
    slope = Slope(seen.kind, seen.left, seen.right, seen.detail)
    return (ball if seen.kind in ("one-sided", "unresolved") else arb.nan()), slope


# -- the quick look -------------------------------------------------------------------------------


def glance(f: Routine, x: float, length: float = 1.0, here: float | None = None) -> Scanned | None:
    """The derivative of f at x with its bar, from nine samples; None where more must be asked.

    Central differences at 2^-9, 2^-10 and 2^-11 of the length on which f varies are extrapolated
    twice; the bar is what two of the once extrapolated differ by, the rounding of f, and the noise
    heard at 2^-20. The slopes to either side there must agree with it within that rounding, so no
    kink or jump lies at x. `here` is f(x).
    """
    f0 = evaluate_finite(f, x) if here is None else here
    left, right, noise = [], [], []
    for step in limits.LOOKED.tolist():
        low, high = x - length * step, x + length * step
        a, b, below, above = x - low, high - x, evaluate_finite(f, low), evaluate_finite(f, high)
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
    bar = apart + max(noise[1], limits.LOUDER * strayed)
    return Scanned("smooth", value, bar, steps=(0.0, length)) if math.isfinite(bar) else None


def confirm_slope(
    f: Routine, here: float, length: float, expected: tuple[float, float]
) -> Scanned | None:
    """The slope at 0 that is expected, from four samples; None where they do not meet it.

    Differences at two steps, extrapolated once, meet it within the rounding of f's values: a slope
    that is off misses it unless the error of the extrapolation makes up for that. A kink at the
    point shows in how the sums of the samples rise.
    """
    near, far = NEAR * length, FAR * length
    left, right, before, beyond = f(-near), f(near), f(-far), f(far)
    inner, outer = (right - left) / (2 * near), (beyond - before) / (2 * far)
    value, known = inner + (inner - outer) / 3, _bound_rounding(left, right, before, beyond) / near
    bend = (4 * (right - here + left - here) - (beyond - here + before - here)) / far
    met = abs(value - expected[0]) <= known + expected[1] and abs(bend) <= TURN * known
    return Scanned("smooth", value, known) if met else None


def _bound_rounding(*values: float) -> float:
    return limits.QUIET * (limits.EPSILON * max(map(abs, values)) + limits.TINY)


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
        None if slopes is None else make_opinion(each, value, Directions(along, slopes))
        for each, slopes in zip(cases, found, strict=True)
    ]


def make_opinion(case: Case, value: Array, found: Directions, method: str = "") -> Opinion:
    known = opinion.estimate_value(case, value, 0.0)
    method = method or f"floats along {len(found)} directions"
    return Opinion("differences", known, directions=found, method=method)


def _sample(cases: Sequence[Case], along: Params) -> list[Callable[[int, float], float]]:
    """Along each direction the k-th contracted value at a step, which is run once for all."""

    def on(value: Callable[[float], Numbers]) -> Callable[[int, float], float]:
        @cache
        def sums(step: float) -> list[float]:
            out = value(step)
            return [sum_up(out, each.cotangent) for each in cases]

        return lambda k, step: sums(step)[k]

    return [on(move_along(cases[0], row)) for row in opinion.list_directions(along)]


def _look(lines: Sequence[Function], expected: Estimate | None, here: float) -> Estimate | None:
    """The slopes for one cotangent at the first length at which all are known beside the steepest.

    One may be small by chance, and says no less.
    """
    due = [None] * len(lines) if expected is None else expected.pairs()
    enough = math.inf if expected is None else limits.ENOUGH * expected.largest
    for length in limits.LENGTHS:
        found: list[tuple[float, float]] = []
        for f, slope in zip(lines, due, strict=True):
            met = confirm_slope(f, here, length, slope) if slope else None
            seen = met or glance(f, 0.0, length, here)
            if seen is None or seen.error > enough:
                break
            found.append((seen.value, seen.error))
        else:
            slopes = Estimate(*np.array(found).T)
            if slopes.widest < limits.ENOUGH * slopes.largest:
                return slopes
    return None


# -- lines and directions --------------------------------------------------------------------------


def move_along(case: Case, along: Params) -> Callable[[float], Numbers]:
    """The value as a function of a step along a direction."""
    inputs = case.floats()

    def at(step: float) -> Numbers:
        moved = {name: np.asarray(inputs[name] + step * u) for name, u in along.items()}
        return case.function("float", {**inputs, **moved})

    return at


def on_line(case: Case, along: Params, origin: float = 0.0) -> Function:
    """The contracted value as a function of a step along a direction, counted from `origin`."""
    value = move_along(case, along)

    def at(step: float) -> float:
        with np.errstate(all="ignore"):
            return sum_up(value(step - origin), case.cotangent)

    return at


def on_entry(case: Case, name: str, index: tuple[int, ...]) -> tuple[Function, float]:
    at = float(np.asarray(case.inputs[name])[index])
    return on_line(case, {name: opinion.unit(case.inputs[name], index)}, at), at


def sum_up(value: Numbers, cotangent: Array | None) -> float:
    if cotangent is None and isinstance(value, float):  # NumPy's own are floats too
        return float(value)
    return float(np.asarray(opinion.contract(value, cotangent)).item())


def draw_directions(case: Case, count: int) -> dict[str, Array]:
    """Signed random directions through all wrt inputs: even draws of each one's size.

    So many of each input's shape, one behind the other.
    """
    rows, start, found = _draw_even(case.seed + 1, (count, case.size())), 0, {}
    for name in case.wrt:
        values = np.asarray(case.inputs[name])
        stop = start + values.size
        drawn = rows[:, start:stop] * (limits.WIDTH * measure_size(values))
        found[name], start = drawn.reshape(count, *values.shape), stop
    return found


def _draw_even(seed: int, shape: tuple[int, int]) -> Array:
    """Numbers between -1/2 and 1/2: a stretch of a long row of draws where that holds so many."""
    count, row = math.prod(shape), opinion.draws()
    if count > len(row):
        return np.random.default_rng(seed).random(shape) - 0.5
    start = int(seed * limits.GOLDEN % 1 * (len(row) - count))
    drawn = row[start : start + count].reshape(shape)
    return drawn - np.copysign(0.5, drawn)


def measure_size(values: Array) -> float:
    """The root mean square of an array's entries; 1 where they are all zero."""
    row = np.asarray(values, dtype=np.float64).reshape(-1)
    return math.sqrt((row @ row) / max(len(row), 1)) or 1.0
