"""The faults put to the diagnosis: which of them are named in every part that they change."""

from collections.abc import Iterator
from functools import cache

import numpy as np

from gradcheck.diagnosis import Prepared, explain, prepare
from tests.support.faults import NETS, Inputs, Net, Pick
from tests.support.school import case


def inputs_of(net: Net) -> Inputs:
    """The numbers of the one point that the net stands at."""
    return net.inputs(np.random.default_rng(net.seed))


@cache
def prepared_of(name: str) -> Prepared:
    """The net at that point with every mistake made in it."""
    net = NETS[name]
    inputs = inputs_of(net)
    return prepare([case(net.program, inputs, tuple(net.back(inputs, Pick())))])


def unnamed(name: str, fault: str) -> list[object]:
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


def random_arrays(name: str, count: int) -> Iterator[bool]:
    """Whether a mistake is named for arrays that no fault gave, of the gradients' size."""
    prepared, rng = prepared_of(name), np.random.default_rng(3)
    for part, right in prepared.right[0].items():
        for _ in range(count):
            answer = np.abs(right).max() * rng.normal(size=right.shape)
            yield bool(explain(prepared, part, [answer]).hypotheses)


def summary() -> str:
    """A line for the faults and one for random arrays."""
    every = [(name, fault) for name, net in NETS.items() for fault in {**net.faults, **net.later}]
    named = sum(not unnamed(name, fault) for name, fault in every)
    arrays = [named for name in NETS for named in random_arrays(name, 20)]
    return (
        f"{'faults of networks':28}{len(every):7}{named / len(every):8.1%}\n"
        f"{'random arrays':28}{len(arrays):7}{sum(arrays) / len(arrays):8.1%}"
    )
