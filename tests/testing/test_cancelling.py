"""Backward passes that are right, of functions whose digits cancel on the way."""

import numpy as np
import pytest

from gradcheck.testing import GradientError, assert_vjp

GAMMA, ALPHA = 2.0, 0.25


def focal(labels):
    """The focal loss of a sigmoid and its backward pass (Lin et al. 2017, eq. 5)."""

    def chosen(z):
        p = 1 / (1 + np.exp(-z))
        return np.where(labels == 1, p, 1 - p), np.where(labels == 1, ALPHA, 1 - ALPHA)

    def forward(z):
        pt, a = chosen(z)
        return -np.mean(a * (1 - pt) ** GAMMA * np.log(pt))

    def backward(g, z, slip=1.0):
        (pt, a), sign = chosen(z), np.where(labels == 1, 1, -1)
        slope = a * sign * (1 - pt) ** GAMMA * (slip * GAMMA * pt * np.log(pt) - (1 - pt))
        return g * slope / len(z)

    return forward, backward


@pytest.mark.parametrize(
    ("count", "scale", "seed"),
    [*((5, scale, seed) for scale in (20, 30) for seed in (*range(10), 50)), (3_000, 6, 2)],
)
def test_few_disturbed_runs_accuse_nobody(count, scale, seed):
    """1 - p loses digits that one disturbed run in five does not move: then more are made.

    A slip in the same formula is caught where its digits are there.
    """
    rng = np.random.default_rng(seed)
    z = rng.normal(size=count) * scale
    labels = np.array([1, 0, 0, 1, 1.0] * (count // 5))
    forward, backward = focal(labels)
    with np.errstate(divide="ignore", invalid="ignore"):
        if not np.isfinite(forward(z)):
            pytest.skip("infinite there")
        assert_vjp(forward, backward, z)
    wrong = z / scale
    with pytest.raises(GradientError):
        assert_vjp(forward, lambda g, x: backward(g, x, slip=0.5), wrong)
