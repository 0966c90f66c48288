"""What float64's rounding does to a result, by sampling: discrete stochastic arithmetic.

The computation is repeated with its numbers disturbed by a few units of rounding, up or down, and
the largest deviation, times a safety factor, is the bar (J. Vignes, A stochastic arithmetic for
reliable scientific computation, 1993). A few units rather than one: an op that rounds inside, to
a coarser grid than its own value's, may not answer to a single one.
"""

import math
from collections.abc import Sequence
from functools import cache
from random import Random

import numpy as np

from gradcheck.opinions.limits import EPSILON, ROW, SPREAD_SAFETY, UNITS
from gradcheck.values import Array


def noise(
    rng: np.random.Generator | Random, shape: tuple[int, ...], unit: float = EPSILON
) -> Array:
    """A factor for every entry: 1, and a few units of rounding up or down.

    Drawn from a random place of a long row of draws, which begins anew where it ends.
    """
    start, row = int(rng.random() * ROW), _draws(unit)
    stop = start + math.prod(shape)
    inside = stop <= len(row)
    found = row[start:stop] if inside else np.resize(np.roll(row, -start), stop - start)
    return found.reshape(shape)


@cache
def _draws(unit: float) -> Array:
    """The row of draws: nobody writes into it, for parts of it are handed out."""
    rng = np.random.default_rng(0)
    drawn = rng.uniform(0.5, 1.0, 2 * ROW) * rng.choice([-1.0, 1.0], 2 * ROW)
    row = np.asarray(1.0 + UNITS * unit * drawn)
    row.flags.writeable = False
    return row


def spread(value: Array, runs: Sequence[Array]) -> Array:
    """The largest deviation of the disturbed runs from the value, with the safety factor.

    A run that is not finite (arccos of 1 and one unit of rounding) tells nothing; nan where none
    tells anything.
    """
    with np.errstate(all="ignore"):
        deviations = [_apart(run, value) for run in runs]
        widest = np.maximum.reduce(deviations) if len(deviations) > 1 else deviations[0]
        if not math.isfinite(widest.max(initial=0.0)):
            told = [np.where(np.isfinite(each), each, np.nan) for each in deviations]
            widest = np.fmax.reduce(told)
        return np.asarray(SPREAD_SAFETY * widest)


def _apart(run: Array, value: Array) -> Array:
    gap: Array = np.asarray(np.subtract(run, value))
    return np.asarray(np.abs(gap, out=gap))
