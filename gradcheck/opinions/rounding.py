"""What float64's rounding does to a result, by sampling: discrete stochastic arithmetic.

The computation is repeated with its numbers disturbed by a few units of rounding, up or down, and
the largest deviation, times a safety factor, is the bar (J. Vignes, A stochastic arithmetic for
reliable scientific computation, 1993). A few units rather than one: an op that rounds inside, to
a coarser grid than its own value's, may not answer to a single one.
"""

from collections.abc import Sequence

import numpy as np

from gradcheck.opinions.opinion import Array

EPSILON = float(np.finfo(np.float64).eps)
SAMPLES = 4
UNITS = 8.0
SAFETY = 1.5
"""Chosen together so that the bars covered the truth in every sweep of this repository's tests."""


def noise(rng: np.random.Generator, shape: tuple[int, ...], unit: float = EPSILON) -> Array:
    """A factor for every entry: 1, and a few units of rounding up or down."""
    up_or_down = rng.uniform(0.5, 1.0, shape) * rng.choice((-1.0, 1.0), shape)
    return np.asarray(1.0 + UNITS * unit * up_or_down)


def spread(value: Array, runs: Sequence[Array]) -> Array:
    """The largest deviation of the disturbed runs from the value, with the safety factor.

    A run that is not finite (arccos of 1 and one unit of rounding) tells nothing; nan where none
    tells anything.
    """
    with np.errstate(all="ignore"):
        deviations = np.array([np.abs(run - value) for run in runs])
        deviations[~np.isfinite(deviations)] = np.nan
        return np.asarray(SAFETY * np.fmax.reduce(deviations, axis=0))
