"""Which of many prepared gradients an answer is equal to, all compared at once."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradcheck.diagnosis.closeness import room, scale_of
from gradcheck.opinions.opinion import Array


@dataclass(frozen=True, eq=False)
class Table:
    """Gradients of one shape, one row each: (row, point, entry), with what rounding may do."""

    who: Array
    flat: Array
    allowed: Array


def table(who: Array, rows: Array, scale: Array) -> Table:
    """Rows and their tolerance at each point, where the right gradient has this `scale` (P,).

    A row with an entry that is no number fits nothing.
    """
    rows = np.where(np.isfinite(rows), rows, np.nan)
    return Table(who, rows, room(rows, scale))


def by_shape(arrays: Sequence[Sequence[Any]], right: Sequence[Any]) -> dict[tuple[int, ...], Table]:
    """Rows of arrays (one a point) in tables by their shape; a row of mixed shapes is left out."""
    rows: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for n, row in enumerate(arrays):
        shapes = {np.shape(a) for a in row}
        if len(shapes) == 1:
            rows[shapes.pop()].append(n)
    scale = scale_of(flat(right))
    return {
        shape: table(np.array(who), np.array([flat(arrays[n]) for n in who]), scale)
        for shape, who in rows.items()
    }


def flat(arrays: Sequence[Any]) -> Array:
    """Arrays of one shape as (point, entry)."""
    return np.array([np.ravel(a) for a in arrays])


@dataclass(frozen=True, eq=False)
class Given:
    """An answer at the points where it is known, with the slack of typed digits, entry by entry."""

    points: list[int]
    flat: Array
    shape: tuple[int, ...]
    slack: Array


def given(answer: Sequence[Any], slack: Any) -> Given | None:
    """The known part of an answer; None where nothing is known, or shapes differ between points."""
    points = [k for k, a in enumerate(answer) if a is not None]
    shapes = {np.shape(answer[k]) for k in points}
    if len(shapes) != 1:
        return None
    flat = np.array([np.ravel(np.asarray(answer[k], dtype=float)) for k in points])
    return Given(points, flat, shapes.pop(), np.ravel(slack))


def fitting(found: Table | None, wanted: Given, flat: Array | None = None) -> Array:
    """Numbers of the rows that are equal to the answer at every known point."""
    if found is None or not found.flat.size:
        return np.array([], dtype=int)
    wanted_flat = wanted.flat if flat is None else flat
    off = np.abs(found.flat[:, wanted.points] - wanted_flat)
    fits = (off <= found.allowed[:, wanted.points] + wanted.slack).all(axis=(1, 2))
    who: Array = found.who[fits]
    return who
