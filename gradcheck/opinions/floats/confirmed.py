"""Slopes along random directions that another opinion expects: a few samples confirm each of them.

Central differences at 2^-11 and 2^-10, extrapolated once, meet the expected slope within the
rounding of the function's values, or more is asked: a glance, then smaller steps. That a slope was
expected changes nothing in what would be seen: the ball around the extrapolated slope is no wider
than a glance's, and a gradient that is off misses it whatever the error of the extrapolation is,
unless that error makes up for it to within the ball, which is as seldom as that a wrong entry hides
from the direction. The same four samples show a kink at the point, or on the way to the nearer two,
by how their sums rise: as closely as a glance does at 2^-20. Where the nearer two alone meet the
slope within the same ball, as with short steps they do, one of the others is enough to show a kink,
for the third difference of a smooth function is nothing beside one of that size; and it is asked
along the first direction only. What it is to show is a kink at the point of which the expected
slope is the middle (`abs` at 0): along nearly every direction it shows, once in some ten thousand a
tied unit moves too little. Who means to refuse a claim looks along all (`sparing.with_care`).

One run of the function serves every cotangent that its value is to be contracted with.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache, partial
from random import Random
from typing import Any

import numpy as np
from flint import arb

from gradcheck.opinions.floats.blackbox import (
    ENOUGH,
    KEPT,
    LENGTHS,
    SPREAD,
    size_of,
    valued,
)  # fmt: skip
from gradcheck.opinions.floats.glance import HEARD, STEPS, glance
from gradcheck.opinions.floats.lines import value_of
from gradcheck.opinions.floats.richardson import EPS, TINY
from gradcheck.opinions.opinion import Array, Case, Direction, Opinion, contracted

LONG = 2**16 + 1  # no multiple of the sizes of arrays, so that rows of one differ
FINE, NEAR, FAR = STEPS[:3].tolist()
TURN = NEAR / FINE  # bars of a slope: the kink that a glance's nearest samples would show
SHORT_OF = 1e3  # times what is enough: a difference off by 1e-4 wants shorter steps to tell more
Seen = tuple[float, float]  # a slope and its bar
Expected = Sequence[Seen]  # direction by direction
Places = Sequence[tuple[str, slice, tuple[int, ...]]]


def drawn(case: Case, count: int) -> Array | None:
    """So many directions through all wrt inputs, one a row: even draws about 0 of each one's size.

    Each is a piece of a long row of draws, from a random place that no other begins at. None where
    there are too many entries to keep.
    """
    size = case.size()
    if size > KEPT:
        return None
    out, widths = np.empty((count, size)), np.empty(size)
    for name, part, _ in _places(case):
        widths[part] = SPREAD * size_of(case.inputs[name])
    for row, first in zip(out, _starts(case.seed, count), strict=True):
        np.multiply(_even(first, size, case.seed), widths, out=row)
    return out


@lru_cache
def _starts(seed: int, count: int) -> list[int]:
    """Random places of the long row, one a direction, no two of which are the same."""
    rng, apart = Random(seed), LONG // count
    return [number * apart + rng.randrange(apart) for number in range(count)]


def _even(first: int, size: int, seed: int) -> Array:
    """So many even draws about 0: a piece of the long row, or draws of their own."""
    if size <= LONG:
        return _draws()[first : first + size]
    return np.random.default_rng((first, seed)).random(size) - 0.5


@cache
def _draws() -> Array:
    """The row of draws: nobody writes into it."""
    row = np.random.default_rng(LONG).random(2 * LONG) - 0.5
    row.flags.writeable = False
    return row


def _places(case: Case) -> Places:
    """Where each wrt input lies, one behind the other, and its shape."""
    found, start = [], 0
    for name in case.wrt:
        shape = np.shape(case.inputs[name])
        stop = start + math.prod(shape)
        found.append((name, slice(start, stop), shape))
        start = stop
    return found


def flat(case: Case, arrays: Mapping[str, Array]) -> Array:
    """Arrays of the wrt inputs' shapes one behind the other."""
    return np.concatenate([np.asarray(arrays[name], np.float64).reshape(-1) for name in case.wrt])


def _parts(places: Places, whole: Array) -> dict[str, Array]:
    """What lies one behind the other as arrays of the wrt inputs' shapes, in the same memory."""
    return {name: whole[part].reshape(shape) for name, part, shape in places}


def confirmed(
    cases: Sequence[Case],
    chosen: Array,
    expected: Sequence[Expected | None],
    value: Array | None = None,
) -> list[Opinion | None]:
    """The differences' opinion on each of some cases that differ in their cotangent alone.

    None where nothing is expected, or the slopes are not all confirmed, or not known as well as to
    a part in ten millions of the steepest. `value` is the one at the point, where it is known.
    """
    case = cases[0]
    try:
        with np.errstate(all="ignore"):
            if value is None:
                value = np.array(value_of(case, case.floats()), dtype=np.float64)
            sampled = _sampled(cases, chosen)
            found = [
                slopes and _along(sampled, k, slopes, _total(value, each.cotangent))
                for k, (each, slopes) in enumerate(zip(cases, expected, strict=True))
            ]
    except Exception:  # noqa: BLE001 - whatever a program raises, the full opinion will tell
        return [None] * len(cases)
    places = _places(case)
    parts = [_parts(places, u) for u in chosen]
    method = f"floats along {len(chosen)} directions"
    said: list[Opinion | None] = []
    for each, slopes in zip(cases, found, strict=True):
        balls = (arb(*slope) for slope in slopes or ())
        seen = Opinion("differences", valued(each, value, 0.0),
                       directions=tuple(map(Direction, parts, balls)), method=method)  # fmt: skip
        said.append(seen if slopes else None)
    return said


def _sampled(cases: Sequence[Case], chosen: Array) -> Callable[[int, float], list[float]]:
    """The program at a step along a direction by its number, with every cotangent; asked once.

    The moved inputs lie in the same memory at every step.
    """
    case = cases[0]
    still = flat(case, case.inputs)
    moved, away = np.empty_like(still), np.empty_like(still)
    parts = _parts(_places(case), moved)
    inputs = {n: parts[n] if n in parts else np.array(v, float) for n, v in case.inputs.items()}
    weights = [each.cotangent for each in cases]
    seen: dict[tuple[int, float], list[float]] = {}
    run = case.function
    last = 0, 0.0  # what `away` holds: both sides are asked one after the other

    def at(number: int, step: float) -> list[float]:
        nonlocal last
        values = seen.get((number, step))
        if values is None:
            if last != (number, abs(step)):
                last = number, abs(step)
                np.multiply(chosen[number], abs(step), out=away)
            (np.add if step > 0 else np.subtract)(still, away, out=moved)
            out = run("float", inputs)
            values = seen[number, step] = [_total(out, weight) for weight in weights]
        return values

    return at


def _total(value: Any, weights: Array | None) -> float:
    """The number that is differentiated."""
    if weights is None and isinstance(value, float):  # NumPy's own are floats too
        return float(value)
    return float(np.asarray(contracted(value, weights)).item())


def _along(
    sampled: Callable[[int, float], list[float]], k: int, expected: Expected, here: float
) -> list[Seen] | None:
    """The slopes for one cotangent, at the first length at which all are known."""
    enough = ENOUGH * max(abs(slope) for slope, _ in expected)
    for length in LENGTHS:
        found: list[Seen] = []
        for number, slope in enumerate(expected):
            f = partial(_one, sampled, number, k)
            seen = _slope(f, slope, here, length, enough, kinks=number == 0)
            if seen is None:
                break
            found.append(seen)
        else:
            return found
    return None


def _one(sampled: Callable[[int, float], list[float]], number: int, k: int, step: float) -> float:
    return sampled(number, step)[k]


def _slope(
    f: Callable[[float], float], expected: Seen, here: float, length: float, enough: float,
    *, kinks: bool,
) -> Seen | None:  # fmt: skip
    """The slope and its bar from a few samples or a glance; None if that is not enough.

    `kinks` asks for a sample more, which shows one at the point, where two meet the slope.
    """
    (slope, bar), near, far = expected, NEAR * length, FAR * length
    left, right = f(-near), f(near)
    inner = (right - left) / (2 * near)
    if not abs(inner - slope) <= SHORT_OF * enough + bar:
        return None
    known = _heard(left, right) / near
    met = known <= enough and abs(inner - slope) <= known + bar
    if met and not kinks:
        return inner, known
    beyond = f(far)
    turn = (beyond - right) - 2 * (right - here) + (here - left)
    if met and abs(turn) <= TURN * known * near:
        return inner, known
    before = f(-far)
    known = _heard(left, right, beyond, before) / near
    value = inner + (inner - (beyond - before) / (2 * far)) / 3
    strayed = abs(value - slope)
    if not (strayed <= enough + bar and known <= enough):
        return None
    bend = (4 * (right - here + left - here) - (beyond - here + before - here)) / far
    if strayed <= known + bar and abs(bend) <= TURN * known:
        return value, known
    seen = glance(f, 0.0, length, here, sure=math.inf)
    return None if seen is None or not seen.error <= enough else (seen.value, seen.error)


def _heard(*values: float) -> float:
    """The rounding that some values of the function may carry."""
    return HEARD * (EPS * max(map(abs, values)) + TINY)
