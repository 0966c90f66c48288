"""The nets of `nets.yaml`, differentiated by hand and by the tape, and what is said of faults."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from gradcheck.diagnosis import Prepared, explain, prepare
from tests.support.school import case
from tests.support.slips import replaced

Fault = Sequence[str]
NETS = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text())
FAULTS = [(name, tuple(fault)) for name, net in NETS.items() for fault in net["faults"]]


def drawn(shapes: str) -> dict[str, Any]:
    rng, inputs = np.random.default_rng(7), {}
    for name, *sizes in map(str.split, shapes.split(",")):
        rows = sizes[0] == "%"
        value = rng.normal(size=tuple(map(int, sizes[rows:])))
        inputs[name] = value**2 / (value**2).sum(1, keepdims=True) if rows else value
    return inputs


def by_hand(name: str, fault: Fault | None = None) -> dict[str, Any]:
    net = NETS[name]
    inputs = drawn(net["shapes"])
    space = {**vars(np), **inputs}
    exec(replaced(net["back"], *fault[:2]) if fault else net["back"], space)
    return {part: space[f"d{part}"] for part in inputs if f"d{part}" in space}


@cache
def prepared_of(name: str) -> Prepared:
    inputs = drawn(NETS[name]["shapes"])
    return prepare([case(NETS[name]["program"].strip(), inputs, tuple(by_hand(name)))])


def unnamed(name: str, fault: Fault, most: int = 100) -> Mapping[str, object]:
    """What is said of the parts where a fault has no name that may be given to it, or too many."""
    right, wrong = by_hand(name), by_hand(name, fault)
    changed = [p for p in right if not _same(wrong[p], right[p])]
    assert changed, fault
    said = {part: explain(prepared_of(name), part, [wrong[part]]).hypotheses for part in changed}
    may_be = set(fault[2].split())
    return {
        part: found
        for part, found in said.items()
        if not may_be & {h.mistake.id for h in found if h.with_ is None}
        or len({h.mistake.id for h in found}) > most
    }


def _same(a: object, b: object) -> bool:
    return np.shape(a) == np.shape(b) and np.allclose(a, b)


def random_arrays(name: str, count: int) -> Iterator[bool]:
    """Whether a mistake is named for arrays that no fault gave, of the gradients' size."""
    prepared, rng = prepared_of(name), np.random.default_rng(3)
    for part, right in prepared.right[0].items():
        for _ in range(count):
            answer = np.abs(right).max() * rng.normal(size=right.shape)
            yield bool(explain(prepared, part, [answer]).hypotheses)
