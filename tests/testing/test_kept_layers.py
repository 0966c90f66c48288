"""Layers with a memory, maps, signals and losses: right ones pass, slips are caught and named."""

import zlib

import numpy as np
import pytest

from gradcheck.testing import assert_vjp
from tests.support import kept_slips
from tests.support.caught import first_line
from tests.support.kept_layers import KEPT
from tests.support.maps_and_signals import WRITTEN

SEEDS = 60
KINDS = (np.float64, np.float32)
RIGHT = {**KEPT, **WRITTEN}
SLIPS = {title: rest for title, *rest in kept_slips.cases()}
SAMPLE = list(SLIPS)[::12]


def of_kind(arg, kind):
    """An argument, or a dict of them, in a kind of float."""
    if isinstance(arg, dict):
        return {name: of_kind(each, kind) for name, each in arg.items()}
    return np.asarray(arg).astype(kind)


def judged(name, seed, kind):
    """Nothing is raised for a right one, freshly made."""
    maker, make = RIGHT[name]
    made = maker()
    forward, backward = made if isinstance(made, tuple) else (made.forward, made.backward)
    args = [of_kind(arg, kind) for arg in make(np.random.default_rng(seed))]
    with np.errstate(all="ignore"):
        assert assert_vjp(forward, backward, *args, seed=seed)


@pytest.mark.parametrize("name", RIGHT)
def test_the_right_passes(name):
    """Each once, at a seed and a kind of float of its own."""
    chosen = zlib.crc32(name.encode())
    judged(name, chosen % SEEDS, KINDS[chosen % len(KINDS)])


@pytest.mark.sweep
@pytest.mark.parametrize("name", RIGHT)
@pytest.mark.parametrize("kind", KINDS)
def test_the_right_passes_at_every_seed(name, kind):
    """Each at sixty seeds."""
    for seed in range(SEEDS):
        judged(name, seed, kind)


def told(title):
    """What pytest's summary shows of a slip."""
    return first_line(*SLIPS[title][:3])


@pytest.mark.parametrize("title", SAMPLE)
def test_a_slip_is_caught(title):
    """A twelfth of them."""
    assert told(title).startswith(("d/d", "backward"))


@pytest.mark.sweep
def test_three_of_four_slips_are_named():
    """All are caught, and most have a name that was written down before any was tried."""
    found = [(told(title), names) for title, (*_, names) in SLIPS.items()]
    named = [line for line, names in found if any(name in line for name in names)]
    assert len(named) >= 0.75 * len(SLIPS)
