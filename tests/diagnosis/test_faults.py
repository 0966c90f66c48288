"""Eighty classic faults of networks differentiated by hand: most are named, from numbers alone."""

from functools import cache

import numpy as np
import pytest

from gradcheck.diagnosis import Prepared, explain, prepare
from tests.support.faults import NETS, Inputs, Net, Pick
from tests.support.school import case

ALL = [(name, fault) for name, net in NETS.items() for fault in {**net.faults, **net.later}]
NAMED = 0.9


def inputs_of(net: Net) -> Inputs:
    """The numbers of the one point that the net stands at."""
    return net.inputs(np.random.default_rng(7))


@cache
def prepared_of(name: str) -> Prepared:
    """The net at that point with every mistake made in it."""
    net = NETS[name]
    inputs = inputs_of(net)
    return prepare([case(net.program, inputs, tuple(net.back(inputs, Pick())))])


@pytest.mark.parametrize("name", NETS)
def test_hand_and_tape_agree(name: str) -> None:
    """Without a fault the pass by hand is the gradient, and nothing is said of it."""
    prepared = prepared_of(name)
    for part, right in NETS[name].back(inputs_of(NETS[name]), Pick()).items():
        np.testing.assert_allclose(prepared.right[0][part], right, rtol=1e-10, atol=1e-13)
        assert explain(prepared, part, [right]).hypotheses == ()


def test_faults_are_named() -> None:
    """Of eighty faults nine in ten are named in every part that they change."""
    assert len(ALL) == 80
    missed = {(name, fault): said for name, fault in ALL if (said := _unnamed(name, fault))}
    assert len(missed) <= (1 - NAMED) * len(ALL), missed


def _unnamed(name: str, fault: str) -> list[object]:
    """What is said of the parts in which a fault has no name that may be given to it."""
    net, prepared = NETS[name], prepared_of(name)
    may_be = set({**net.faults, **net.later}[fault].split())
    right, wrong = (net.back(inputs_of(net), Pick(f)) for f in ("", fault))
    changed = [p for p in right if not _same(wrong[p], right[p])]
    assert changed, fault
    said = [explain(prepared, part, [wrong[part]]).hypotheses for part in changed]
    return [s for s in said if not may_be & {h.mistake.id for h in s if h.with_ is None}]


def _same(a: object, b: object) -> bool:
    return np.shape(a) == np.shape(b) and np.allclose(a, b)


@pytest.mark.parametrize("name", NETS)
def test_random_arrays_are_not_named(name: str) -> None:
    """Nothing is said of numbers that no fault gave."""
    prepared, rng = prepared_of(name), np.random.default_rng(3)
    for part, right in prepared.right[0].items():
        for _ in range(10):
            answer = np.abs(right).max() * rng.normal(size=right.shape)
            assert explain(prepared, part, [answer]).hypotheses == ()
