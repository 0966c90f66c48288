"""Which of many prepared gradients an answer is equal to, all compared at once."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gradcheck.values import Array, Value

RELATIVE = 1e-8  # of the entry: two floats that were computed in different ways
ABSOLUTE = 1e-11  # of the largest entry at the point: what is left where large terms cancel
CANCELLED = 1e-14  # of the right gradient: what is left of it where a mistake takes it all away


def equal(a: Value, b: Value, slack: Value = 0.0) -> bool:
    """Equal shapes, and entries equal to rounding (relative to b and to its largest entry)."""
    return np.shape(a) == np.shape(b) and not np.any(off(a, b, slack))


def off(a: Value, b: Value, slack: Value = 0.0) -> Value:
    """Which entries differ by more than rounding; one that is no number does."""
    size = np.abs(b)
    allowed = RELATIVE * size + ABSOLUTE * np.max(size, initial=0.0) + slack
    with np.errstate(invalid="ignore"):
        return ~(np.abs(np.asarray(a) - b) <= allowed)


def room(flat: Value, scale: Value) -> Value:
    """What rounding may do to gradients (..., point, entry), where `scale` (point,) is usual."""
    least = np.maximum(ABSOLUTE * scale_of(flat), CANCELLED * scale)
    return RELATIVE * np.abs(flat) + least[..., None]


def scale_of(flat: Value) -> Value:
    """The size of the largest entry at each point, of (point, entry); nan is no entry."""
    return np.fmax.reduce(np.abs(flat), axis=-1, initial=0.0)


def ratio(a: Value, b: Value, scale: Value) -> float:
    """The number k for which a is nearest to k b, where every point (point, entry) counts alike."""
    weight = np.where(scale == 0, 1.0, scale)[:, None]
    a, b = a / weight, b / weight
    with np.errstate(all="ignore"):
        return float(np.nan_to_num(np.vdot(b, a) / np.vdot(b, b)))


@dataclass(frozen=True, eq=False)
class MistakeTable:
    """Gradients of one shape, one row each: (row, point, entry), with what rounding may do."""

    who: Array
    flat: Array
    allowed: Array


def table(who: Array, rows: Array, scale: Array) -> MistakeTable:
    """Rows and their tolerance at each point, where the right gradient has this `scale` (P,).

    A row with an entry that is no number fits nothing.
    """
    rows = np.where(np.isfinite(rows), rows, np.nan)
    return MistakeTable(who, rows, room(rows, scale))


def by_shape(
    arrays: Sequence[Sequence[Value]], scale: Array
) -> dict[tuple[int, ...], MistakeTable]:
    """Rows of arrays (one a point) in tables by their shape; a row of mixed shapes is left out."""
    rows: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for n, row in enumerate(arrays):
        shapes = {np.shape(a) for a in row}
        if len(shapes) == 1:
            rows[shapes.pop()].append(n)
    return {
        shape: table(np.array(who), np.array([flat(arrays[n]) for n in who]), scale)
        for shape, who in rows.items()
    }


def flat(arrays: Sequence[Value]) -> Array:
    """Arrays of one shape as (point, entry)."""
    return np.array([np.ravel(a) for a in arrays])


@dataclass(frozen=True, eq=False)
class GivenAnswer:
    """An answer at the points where it is known, with the slack of typed digits, entry by entry."""

    points: list[int]
    flat: Array
    shape: tuple[int, ...]
    slack: Array


def known_part(answer: Sequence[Value], slack: Value) -> GivenAnswer | None:
    """The known part of an answer; None where nothing is known, or shapes differ between points."""
    points = [k for k, a in enumerate(answer) if a is not None]
    shapes = {np.shape(answer[k]) for k in points}
    if len(shapes) != 1:
        return None
    flat = np.array([np.ravel(np.asarray(answer[k], dtype=float)) for k in points])
    return GivenAnswer(points, flat, shapes.pop(), np.ravel(slack))


def fitting(found: MistakeTable | None, wanted: GivenAnswer, flat: Array | None = None) -> Array:
    """Numbers of the rows that are equal to the answer at every known point."""
    if found is None or not found.flat.size:
        return np.array([], dtype=int)
    flat = wanted.flat if flat is None else flat
    who, rows, allowed = found.who, found.flat, found.allowed
    for n, k in enumerate(wanted.points):  # after the first point hardly any are left
        fits = (np.abs(rows[:, k] - flat[n]) <= allowed[:, k] + wanted.slack).all(axis=1)
        who, rows, allowed = who[fits], rows[fits], allowed[fits]
    return who
