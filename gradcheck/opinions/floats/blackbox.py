"""Finite differences of a program that only takes floats: entry by entry, or along directions."""

import math
from dataclasses import replace

import numpy as np
from flint import arb

from gradcheck.opinions import limits, opinion
from gradcheck.opinions.floats import lines
from gradcheck.opinions.floats.quick import glance, look_along, opinion_along
from gradcheck.opinions.floats.scan import Scanned, scan
from gradcheck.opinions.opinion import Case, Directions, Estimate, NotScalar, Opinion, Slope
from gradcheck.values import Array, Params


def black_box(case: Case, because: str, count: int = limits.DIRECTIONS) -> Opinion:
    """Slopes of floats along every entry, or along so many random directions where many are."""
    method = f"scanned floats ({because})"
    try:
        with np.errstate(all="ignore"):
            value = np.array(case.function("float", case.floats()), dtype=np.float64)
            if case.size() > limits.ENTRIES:
                found = scan_along(case, lines.draw_directions(case, count))
                known = opinion.estimate_value(case, value, 0.0)
                return Opinion("differences", known, directions=found, method=method)
            gradients, slopes, noise = _look_at_each(case)
    except NotScalar:
        raise
    except Exception as error:  # noqa: BLE001 - a user's program may raise anything
        return Opinion("differences", abstains=opinion.reason(error))
    known = opinion.estimate_value(case, value, noise)
    return Opinion("differences", known, gradients, slopes=slopes, method=method)


def slopes_along(case: Case, along: Params) -> Opinion | None:
    """The opinion along directions, from a quick look or else from scans.

    None where one of them has no slope, or none that is known well beside the steepest.
    """
    seen = look_along([case], along, [None])[0]
    if seen is not None:
        return seen
    try:
        with np.errstate(all="ignore"):
            value = np.array(case.function("float", case.floats()), dtype=np.float64)
            found = scan_along(case, along)
    except Exception:  # noqa: BLE001 - whatever a program raises, the full opinion will tell
        return None
    settled = found.slopes.widest < limits.SETTLED * found.slopes.largest
    return opinion_along(case, value, found) if settled and not found.kinds else None


def scan_along(case: Case, along: Params) -> Directions:
    ask = lambda row: _make_ball(scan(lines.on_line(case, row), 0.0, scale=1.0))
    return Directions.look(along, ask)


def _look_at_each(
    case: Case,
) -> tuple[dict[str, Estimate], dict[tuple[str, tuple[int, ...]], Slope], float]:
    """The slope at every entry of every wrt input, and the loudest noise that was heard.

    Every bar allows for rounding that shows only when other inputs are moved: beside 1 a
    probability of 1e-17 is lost without a trace in `log(1 + p)`. What is lost of an entry of the
    value is no more than what is heard of it elsewhere, over the length on which the slope varies.
    """
    places = [(name, i) for name in case.wrt for i in np.ndindex(np.shape(case.inputs[name]))]
    moved = {}  # which entries of the value an entry of an input moves
    for name, index in places:
        value = lines.move_along(case, {name: opinion.unit(case.inputs[name], index)})
        here = np.array(value(0.0))
        length = max(1.0, abs(float(np.asarray(case.inputs[name])[index])))
        there = [np.asarray(value(far * length)) for far in limits.MOVING]
        moved[name, index] = np.asarray(np.any([each != here for each in there], axis=0))
    found = {place: _look_at(case, *place, moved[place]) for place in places}
    loud = np.max([seen.noise * moved[place] for place, seen in found.items()], axis=0)
    gradients = {name: np.empty(np.shape(case.inputs[name]), dtype=object) for name in case.wrt}
    slopes = {}
    for (name, index), seen in found.items():
        heard = float(np.max(loud, initial=0.0, where=moved[name, index]))
        unheard = heard / seen.steps[1] if heard else 0.0
        gradients[name][index], slope = _make_ball(replace(seen, error=seen.error + unheard))
        if slope is not None:
            slopes[name, index] = slope
    noise = float(np.max(loud, initial=0.0))
    return {name: opinion.estimate(balls) for name, balls in gradients.items()}, slopes, noise


def _look_at(case: Case, name: str, index: tuple[int, ...], moved: Array) -> Scanned:
    """The slope at one entry: by a quick look where there are many and it is sure, else a scan.

    Of the entries of the value that it moves, for what the others carry is no noise of theirs; of
    all, beside which they may be small, where those leave it open.
    """
    f, x = lines.on_entry(case, name, index)
    length = max(1.0, abs(x))
    quick = glance(f, x, length) if case.size() > limits.SCANNED else None
    if quick is not None and quick.error <= limits.SURE * abs(quick.value):
        return quick
    if case.cotangent is None:
        return scan(f, x)
    masked = replace(case, cotangent=np.where(moved, case.cotangent, 0.0))
    seen = scan(lines.on_entry(masked, name, index)[0], x)
    whole = scan(f, x) if seen.kind == "unresolved" else seen
    return seen if whole.kind == "unresolved" else whole


def _make_ball(seen: Scanned) -> tuple[arb, Slope | None]:
    """A scanned slope as a ball; unresolved ones become balls that hold no number."""
    known = math.isfinite(seen.value) and math.isfinite(seen.error)
    ball = arb(seen.value, seen.error) if known else arb(0, math.inf)
    if seen.kind == "smooth":
        return ball, None
    slope = Slope(seen.kind, seen.left, seen.right, seen.detail)
    return (ball if seen.kind in ("one-sided", "unresolved") else arb.nan()), slope
