"""The derivative of the program with one of its numbers misread, at all points of its line."""

from collections.abc import Iterator, Sequence

import numpy as np

from gradcheck.diagnosis.line import Line
from gradcheck.opinions.opinion import Array

LITERALS = 12  # of a longer program somebody reads it from the paper


def literals(line: Line) -> list[tuple[int, int]]:
    """Node and place of each number that is written in the program's text."""
    found = [
        (k, i)
        for k, args in enumerate(line.args)
        for i, a in enumerate(args)
        if a is None and i < 2 and line.spans[k] is not None
    ]
    return found if len(found) <= LITERALS else []


def misread(line: Line, at: tuple[int, int], number: Array) -> Array | None:
    """The derivative (P, size) with another number (P,) at a place; None where it has none."""
    y, tangents = list(line.y), list(line.tangents)
    for k in _above(line, at[0]):
        row, args = line.rows[k], line.args[k]
        if row is None or row.params or len(args) > 2:
            return None
        values = [
            number if (k, i) == at else (line.u, line.v)[i][k] if a is None else y[a]
            for i, a in enumerate(args)
        ]
        y[k] = row.forward(*values)
        parts = list(_parts(line, k, values, y[k], tangents))
        tangents[k] = sum(parts[1:], parts[0]) if parts else None
    end = tangents[-1]
    return np.zeros(line.x.shape) if end is None else end


def _above(line: Line, k: int) -> Iterator[int]:
    """The node, and all that are made of it."""
    yield k
    yield from (m for m in range(k + 1, len(line.nodes)) if line.above[m] >> k & 1)


def _parts(
    line: Line, k: int, values: Sequence[Array], y: Array, tangents: Sequence[Array | None]
) -> Iterator[Array]:
    """What each argument adds to the derivative of node k."""
    row = line.rows[k]
    for i, a in enumerate(line.args[k]):
        inner = None if a is None else tangents[a]
        if inner is not None and row is not None and row.differentiates(i):
            slope = row.pull(i, np.float64(1.0), y, tuple(values), {})
            yield np.asarray(slope + 0 * y)[:, None] * inner
