"""Whether the points depend on the numbers that students drew: a permutation test, no assumptions.

The statistic is the spread of the groups' means, weighted by their sizes (Fisher, The Design of
Experiments, 1935, section 21: all that is assumed is that chance dealt the numbers, which it did).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

SHUFFLES = 2_000
SEED = 20  # the same ledger gives the same page
FEWEST = 10  # students, below whom nothing is said


@dataclass(frozen=True)
class Fairness:
    """The mean share of the points for each value of an input: (value, students, mean).

    `chance` is how often shuffled points differ among the values as much as these; None for few.
    """

    name: str
    groups: Sequence[tuple[str, int, float]]
    chance: float | None


def fairness(name: str, shares: Mapping[str, Sequence[float]]) -> Fairness:
    """Compare the shares of the points (0 to 1) of the students who drew each value."""
    order = sorted(shares, key=_by_size)
    groups = [(value, len(shares[value]), float(np.mean(shares[value]))) for value in order]
    return Fairness(name, groups, _chance([shares[value] for value in order]))


def _chance(groups: Sequence[Sequence[float]]) -> float | None:
    """The share of shuffles that spread the means as far; counted with the one that came."""
    points = np.concatenate([np.asarray(group, dtype=float) for group in groups])
    if len(points) < FEWEST or np.ptp(points) == 0:
        return None
    ends = np.cumsum([len(group) for group in groups])[:-1]
    random = np.random.default_rng(SEED)
    came = _spread(points, ends)
    far = sum(_spread(random.permutation(points), ends) >= came - 1e-12 for _ in range(SHUFFLES))
    return (far + 1) / (SHUFFLES + 1)


def _spread(points: "np.ndarray[tuple[int], np.dtype[np.float64]]", ends: object) -> float:
    """The sum over groups of their size times their mean squared; the rest is the same for all."""
    return float(sum(len(g) * np.mean(g) ** 2 for g in np.split(points, ends)))  # type: ignore[call-overload]


def _by_size(value: str) -> tuple[float, str]:
    """Numbers in their order, then whatever else."""
    try:
        return float(value), ""
    except ValueError:
        return float("inf"), value
