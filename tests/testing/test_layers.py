"""Layers as courses write them: right ones pass in both kinds of float, slips are caught."""

import zlib

import numpy as np
import pytest

from gradcheck.testing import GradientError, assert_vjp
from tests.support import slips
from tests.support.caught import first_line
from tests.support.layers import LAYERS

SCALES = (1.0, 1e3, 1e-6)
KINDS = (np.float64, np.float32)
SEEDS = 60
SLIPS = {title: rest for title, *rest in slips.cases()}
SAMPLE = list(SLIPS)[::12]


def repeated(x, scale):
    """The second row once more the first."""
    x[1] = x[0]
    return x


def zero_row(x, scale):
    """What padding leaves."""
    x[-1] = 0
    return x


def rank_one(x, scale):
    """Rows that are multiples of one another."""
    rows = x.reshape(len(x), -1)
    return np.outer(rows[:, 0], rows[0] / scale).reshape(x.shape) if x.ndim > 1 else x


def tied(x, scale):
    """Whole numbers, many of them alike."""
    return np.round(x / scale) * scale


SPECIAL = (lambda x, scale: x, repeated, zero_row, rank_one, tied)


def judged(name, seed, scale, kind):
    """Whether it passes; also where it gives no number, and cannot be judged."""
    forward, backward, make = LAYERS[name]
    first, *rest = make(np.random.default_rng(seed), scale)
    args = [a.astype(kind) for a in (SPECIAL[seed % len(SPECIAL)](first, scale), *rest)]
    with np.errstate(all="ignore"):
        value = np.asarray(forward(*args))
        came = backward(np.ones_like(value)[()], *args)
    numbers = (value, *(came if isinstance(came, tuple) else (came,)))
    if all(np.all(np.isfinite(v)) for v in numbers):
        assert assert_vjp(forward, backward, *args, seed=seed)


@pytest.mark.parametrize("name", LAYERS)
def test_a_right_layer_passes(name):
    """Each once, at a seed, scale and kind of float of its own."""
    chosen = zlib.crc32(name.encode())
    judged(name, chosen % SEEDS, SCALES[chosen % len(SCALES)], KINDS[chosen % len(KINDS)])


def test_a_slope_too_large_for_float64_is_no_fault_of_an_op():
    """1/p of a probability of 2e-311 is infinite, and reverse mode has no number there."""
    judged("cross-entropy", 57, 1e3, np.float64)


@pytest.mark.sweep
@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_right_layer_passes_at_every_seed(name, scale, kind):
    """Each at sixty seeds."""
    for seed in range(SEEDS):
        judged(name, seed, scale, kind)


@pytest.mark.parametrize("title", SAMPLE)
def test_a_slip_is_caught_and_named(title):
    """A twelfth of them; by a name that was written down before, where there is one."""
    *pair, args, names = SLIPS[title]
    line = first_line(*pair, args, (GradientError, TypeError))
    assert line.startswith(("d/d", "backward", "2 gradients came for 3"))
    assert names in line or any(name in line.split(" ") for name in names.split())


@pytest.mark.sweep
@pytest.mark.parametrize("title", [title for title in SLIPS if title not in SAMPLE])
def test_the_other_slips_are_caught_and_named(title):
    """All of them."""
    test_a_slip_is_caught_and_named(title)
