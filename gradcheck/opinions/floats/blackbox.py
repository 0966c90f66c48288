"""Finite differences of a program that only takes floats, and directions for large ones."""

import math
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any

import numpy as np
from flint import arb

from gradcheck.opinions.floats.glance import glance
from gradcheck.opinions.floats.scan import Scanned, scan
from gradcheck.opinions.opinion import (
    Array,
    Case,
    Direction,
    Estimate,
    NotScalar,
    Opinion,
    Slope,
    contracted,
    estimate,
    reason,
)  # fmt: skip

DIRECTIONS = 8
ENTRIES = 400
SHORT = 16  # entries up to which each is scanned, whatever a glance says
NEARER = 2.0**-6  # where a network of relus bends within the first glance
GLANCED = 1e-6  # of a slope: the widest bar that settles it
STIR = 1e-3  # of an entry: what would show if it had any influence in float64
HEARD = 4  # times the noise of a scan, an rms of differences: nearly all of a normal distribution


def black_box(case: Case, because: str, count: int = DIRECTIONS) -> Opinion:
    """Scan floats along every entry, or along so many random directions where there are many."""
    try:
        value = np.array(_value(case, case.floats()), dtype=np.float64)
        method = f"scanned floats ({because})"
        if case.size() > ENTRIES:
            found = tuple(slope_along(case, along) for along in islice(directions(case), count))
            known = _valued(case, value, 0.0)
            return Opinion("differences", known, directions=found, method=method)
        gradients, slopes, noise = _each(case)
    except NotScalar:
        raise
    except Exception as error:  # noqa: BLE001 - a user's program may raise anything
        return Opinion("differences", abstains=reason(error))
    known = _valued(case, value, noise)
    return Opinion("differences", known, gradients, slopes=slopes, method=method)


def _valued(case: Case, value: Array, noise: float) -> Estimate:
    """The value with its own rounding, and what the contracted value was seen to carry.

    A cotangent weighs every entry by at least its least weight.
    """
    least = 1.0 if case.cotangent is None else float(np.min(np.abs(case.cotangent), initial=np.inf))
    heard = HEARD * noise / least if 0 < least < np.inf else 0.0
    return estimate(value, 4 * np.finfo(np.float64).eps * np.abs(value) + heard)


def glanced(case: Case, count: int) -> Opinion | None:
    """Slopes along a few directions, at nine samples each if they are enough, else by a scan.

    None where one of them has no slope, or none that is known well.
    """
    try:
        value = np.array(_value(case, case.floats()), dtype=np.float64)
        here = float(np.asarray(contracted(value, case.cotangent)).item())
        found, lengths = [], [1.0, NEARER]
        for along in islice(directions(case), count):
            f = line(case, along)
            glances = (glance(f, 0.0, length, here) for length in lengths)
            seen = next(filter(None, glances), None) or scan(f, 0.0, scale=1.0)
            lengths = lengths if seen.steps[1] == 1.0 else lengths[-1:]
            if seen.kind != "smooth" or seen.error > GLANCED * abs(seen.value):
                return None
            found.append(Direction(along, arb(seen.value, seen.error)))
    except Exception:  # noqa: BLE001 - whatever a program raises, the full opinion will tell
        return None
    method = f"floats along {count} directions"
    known = _valued(case, value, 0.0)
    return Opinion("differences", known, directions=tuple(found), method=method)


def directions(case: Case) -> Iterator[dict[str, Array]]:
    """Signed random directions through all wrt inputs at once, scaled to each input's size."""
    rng = np.random.default_rng(case.seed + 1)
    values = case.floats()
    sizes = {n: float(np.sqrt(np.mean(values[n] ** 2))) or 1.0 for n in case.wrt}
    for _ in range(DIRECTIONS):
        yield {n: np.asarray(sizes[n] * rng.standard_normal(values[n].shape)) for n in case.wrt}


def slope_along(case: Case, along: Mapping[str, Array]) -> Direction:
    """The slope of the program along one direction, by scanning floats."""
    slope, kind = _ball(scan(line(case, along), 0.0, scale=1.0))
    return Direction(along, slope, kind)


def _value(case: Case, inputs: Mapping[str, Array]) -> Any:
    with np.errstate(all="ignore"):
        return case.function("float", inputs)


def line(case: Case, along: Mapping[str, Array]) -> Callable[[float], float]:
    """The contracted value as a function of a step along a direction."""
    start = case.floats()

    def at(step: float) -> float:
        moved = {name: start[name] + step * u for name, u in along.items()}
        out = contracted(_value(case, {**start, **moved}), case.cotangent)
        if np.size(out) != 1:
            raise NotScalar(f"the value has the shape {np.shape(out)}; a cotangent is needed")
        return float(np.asarray(out).item())

    return at


def _each(
    case: Case,
) -> tuple[dict[str, Estimate], dict[tuple[str, tuple[int, ...]], Slope], float]:
    """The slope at every entry of every wrt input, and the loudest noise that was heard."""
    gradients, slopes, noise = {}, {}, 0.0
    for name in case.wrt:
        found = np.empty(np.shape(case.inputs[name]), dtype=object)
        for index in np.ndindex(found.shape):
            f, x = of_entry(case, name, index)
            quick = glance(f, x, max(1.0, abs(x))) if case.size() > SHORT else None
            seen = quick or scan(f, x)
            found[index], slope = _ball(seen)
            noise = max(noise, seen.noise)
            if slope is not None:
                slopes[name, index] = slope
        gradients[name] = estimate(found)
    return gradients, slopes, noise


def of_entry(
    case: Case, name: str, index: tuple[int, ...]
) -> tuple[Callable[[float], float], float]:
    """The contracted value as a function of one entry of an input, and where that entry stands."""
    values = np.asarray(case.inputs[name])
    unit = np.zeros(values.shape)
    unit[index] = 1.0
    at = float(values[index])
    return _shifted(line(case, {name: unit}), at), at


def flat_at(case: Case, name: str, index: tuple[int, ...]) -> bool:
    """Whether float64 shows no change at all of any value when one entry moves a little."""
    start = case.floats()
    for step in (-STIR, STIR):
        moved = start[name].copy()
        moved[index] += step * (abs(moved[index]) or 1.0)
        if not np.array_equal(_value(case, {**start, name: moved}), _value(case, start)):
            return False
    return True


def _shifted(along: Callable[[float], float], x: float) -> Callable[[float], float]:
    """The same function in terms of the entry itself."""
    return lambda at: along(at - x)


def _ball(seen: Scanned) -> tuple[arb, Slope | None]:
    """A scanned slope as a ball; unresolved ones become balls that hold no number."""
    known = math.isfinite(seen.value) and math.isfinite(seen.error)
    ball = arb(seen.value, seen.error) if known else arb(0, math.inf)
    if seen.kind in ("smooth", "unresolved"):
        return ball, None
    slope = Slope(seen.kind, seen.left, seen.right, seen.detail)
    return (ball if seen.kind == "one-sided" else arb.nan()), slope
