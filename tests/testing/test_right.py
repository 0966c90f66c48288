"""Right backward passes are never refused: everyday layers, NumPy's spellings, kinks, memory."""

import zlib

import numpy as np
import pytest

import tests.support.right_layers  # noqa: F401 - it enters its layers into RIGHT
from gradcheck.testing import assert_vjp
from tests.support.right_backwards import RIGHT
from tests.support.right_spellings import SPELLED

SEEDS = 10
SIZES = (1e-3, 1.0, 1e3)
WAYS = [(size, np.float64) for size in SIZES] + [(1.0, np.float32)]
CASES = {
    f"{name}, {np.dtype(kind)} x {size:g}": (table[name], size, kind)
    for table, ways in ((RIGHT, WAYS), (SPELLED, WAYS[1::2]))
    for name in table
    for size, kind in ways
}


def passes(case, seed):
    """Nothing is raised for a right backward of some size and dtype."""
    (forward, backward, make), size, kind = CASES[case]
    args = [(a * size).astype(kind) for a in make(np.random.default_rng(seed), 1)]
    with np.errstate(all="ignore"):
        assert assert_vjp(forward, backward, *args, seed=seed)


def test_there_are_two_hundred():
    """Fifty-three layers at three sizes and in two dtypes, and the spellings."""
    assert len(RIGHT) >= 53
    assert len(CASES) >= 200


@pytest.mark.parametrize("case", CASES)
def test_the_right_passes(case):
    """Each once, at a seed of its own."""
    passes(case, zlib.crc32(case.encode()) % SEEDS)


@pytest.mark.sweep
@pytest.mark.parametrize("case", CASES)
def test_the_right_passes_at_every_seed(case):
    """Each at ten seeds."""
    for seed in range(SEEDS):
        passes(case, seed)
