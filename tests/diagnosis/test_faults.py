"""Classic faults of networks differentiated by hand: most are named, from numbers alone."""

import numpy as np
import pytest

from gradcheck.diagnosis import explain
from tests.support.faults import NETS, Pick
from tests.support.faults.trial import inputs_of, prepared_of, random_arrays, unnamed

ALL = [(name, fault) for name, net in NETS.items() for fault in {**net.faults, **net.later}]
NAMED = 0.9


@pytest.mark.parametrize("name", NETS)
def test_hand_and_tape_agree(name: str) -> None:
    """Without a fault the pass by hand is the gradient, and nothing is said of it."""
    prepared = prepared_of(name)
    for part, right in NETS[name].back(inputs_of(NETS[name]), Pick()).items():
        np.testing.assert_allclose(prepared.right[0][part], right, rtol=1e-10, atol=1e-13)
        assert explain(prepared, part, [right]).hypotheses == ()


def test_faults_are_named() -> None:
    """Of eighty faults of eleven nets nine in ten are named in every part that they change."""
    assert len(ALL) == 80
    missed = {(name, fault): said for name, fault in ALL if (said := unnamed(name, fault))}
    assert len(missed) <= (1 - NAMED) * len(ALL), missed


@pytest.mark.parametrize("count", [3, pytest.param(20, marks=pytest.mark.sweep)])
@pytest.mark.parametrize("name", NETS)
def test_random_arrays_are_not_named(name: str, count: int) -> None:
    """Nothing is said of numbers that no fault gave."""
    assert not any(random_arrays(name, count))
