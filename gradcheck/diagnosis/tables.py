"""Which of many prepared gradients an answer is equal to, all compared at once."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradcheck.diagnosis.closeness import ABSOLUTE, RELATIVE
from gradcheck.opinions.opinion import Array


@dataclass(frozen=True, eq=False)
class Table:
    """Gradients of one shape, one row each: (row, point, entry), with what rounding may do."""

    who: Array
    flat: Array
    allowed: Array


def table(who: Array, flat: Array) -> Table:
    """Rows and their tolerance: relative to the entry, and to the largest of the row.

    A row with an entry that is no number fits nothing.
    """
    flat = np.where(np.isfinite(flat), flat, np.nan)
    size = np.abs(flat)
    largest = np.max(np.nan_to_num(size), axis=(1, 2), initial=0.0)[:, None, None]
    return Table(who, flat, RELATIVE * size + ABSOLUTE * largest)


def by_shape(arrays: Sequence[Sequence[Any]]) -> dict[tuple[int, ...], Table]:
    """Rows of arrays (one a point) in tables by their shape; a row of mixed shapes is left out."""
    rows: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for n, row in enumerate(arrays):
        shapes = {np.shape(a) for a in row}
        if len(shapes) == 1:
            rows[shapes.pop()].append(n)
    return {
        shape: table(np.array(who), np.array([[np.ravel(a) for a in arrays[n]] for n in who]))
        for shape, who in rows.items()
    }


@dataclass(frozen=True, eq=False)
class Given:
    """An answer at the points where it is known, with the slack of typed digits."""

    points: list[int]
    flat: Array
    shape: tuple[int, ...]
    slack: float


def given(answer: Sequence[Any], slack: float) -> Given | None:
    """The known part of an answer; None where nothing is known, or shapes differ between points."""
    points = [k for k, a in enumerate(answer) if a is not None]
    shapes = {np.shape(answer[k]) for k in points}
    if len(shapes) != 1:
        return None
    flat = np.array([np.ravel(np.asarray(answer[k], dtype=float)) for k in points])
    return Given(points, flat, shapes.pop(), slack)


def fitting(found: Table | None, wanted: Given, flat: Array | None = None) -> Array:
    """Numbers of the rows that are equal to the answer at every known point."""
    if found is None or not found.flat.size:
        return np.array([], dtype=int)
    wanted_flat = wanted.flat if flat is None else flat
    off = np.abs(found.flat[:, wanted.points] - wanted_flat)
    fits = (off <= found.allowed[:, wanted.points] + wanted.slack).all(axis=(1, 2))
    who: Array = found.who[fits]
    return who
