"""Classic faults of networks differentiated by hand: most are named, from numbers alone."""

import numpy as np
import pytest

from gradcheck.diagnosis import explain
from tests.support.nets import FAULTS, NETS, by_hand, prepared_of, random_arrays, unnamed

NAMED = 0.9


@pytest.mark.parametrize("name", NETS)
def test_hand_and_tape_agree(name):
    """Without a fault the pass by hand is the gradient, and nothing is said of it."""
    prepared = prepared_of(name)
    for part, right in by_hand(name).items():
        np.testing.assert_allclose(prepared.right[0][part], right, rtol=1e-10, atol=1e-13)
        assert explain(prepared, part, [right]).hypotheses == ()


def test_faults_are_named():
    """Nine in ten are named in every part that they change."""
    missed = {fault: said for fault in FAULTS if (said := unnamed(*fault))}
    assert len(missed) <= (1 - NAMED) * len(FAULTS), missed


@pytest.mark.parametrize("count", [3, pytest.param(20, marks=pytest.mark.sweep)])
@pytest.mark.parametrize("name", NETS)
def test_random_arrays_are_not_named(name, count):
    """Nothing is said of numbers that no fault gave."""
    assert not any(random_arrays(name, count))
