"""Slices of one tensor: where a program takes them, and what comes of others in their place."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gradcheck.diagnosis.blocks import LARGEST, value_of
from gradcheck.engine.backward import RIGHT
from gradcheck.engine.tape import Node, Step
from gradcheck.mistakes import Windows
from gradcheck.opinions.tape import Tape

Index = tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Taken:
    """The slices of a step: the nodes that took them, and where."""

    step: Step
    nodes: Sequence[Node]
    windows: Windows


def taken(tape: Tape) -> Iterator[Taken]:
    """For each tensor of which slices were taken, all of them together."""
    found: dict[Step, dict[Node, Any]] = defaultdict(dict)
    for node in tape.nodes:
        step = node.edges[0] if node.op.name == "getitem" else None
        if step is not None and 0 < np.size(value_of(tape, step)) <= LARGEST:
            at = _window(node.params.get("index"), np.shape(value_of(tape, step)))
            if at is not None:
                found[step][node] = at
    for step, nodes in found.items():
        shape = np.shape(value_of(tape, step))
        yield Taken(step, tuple(nodes), Windows(shape, tuple(nodes.values())))


def _window(index: Any, shape: tuple[int, ...]) -> tuple[tuple[int, int, int], ...] | None:
    """Start, length and step along each axis; None for any other index."""
    parts = list(index) if isinstance(index, tuple) else [index]
    if not all(isinstance(part, int | slice) for part in parts) or len(parts) > len(shape):
        return None
    found = []
    for part, n in zip([*parts, *[slice(None)] * (len(shape) - len(parts))], shape, strict=True):
        if isinstance(part, int):
            found.append((part % n, 1, 0))
        else:
            start, stop, step = part.indices(n)
            if step < 0:
                return None
            found.append((start, len(range(start, stop, step)), step))
    return tuple(found)


def back_through(tape: Tape, slices: Taken, at: Sequence[Any]) -> Iterator[Mapping[str, Any]]:
    """The gradients where the way back takes other slices: to add to, or to multiply by."""
    whole = value_of(tape, slices.step)
    other = {n: _index(each) for n, each in zip(slices.nodes, at, strict=True)}

    def added(node: Node, i: int, g: Any, y: Any, operands: tuple[Any, ...]) -> Any:
        if node not in other:
            return RIGHT.pull(node, i, g, y, operands)
        out = np.zeros(np.shape(whole))
        out[other[node]] += g
        return out

    def multiplied(node: Node, i: int, g: Any, y: Any, operands: tuple[Any, ...]) -> Any:
        edges = zip(node.edges, operands, strict=True)
        read = tuple(whole[other[e]] if e in other else v for e, v in edges)
        return RIGHT.pull(node, i, g, y, operands if node in other else read)

    for pull in (added, multiplied):
        yield tape.gradients(tape.back(replace(RIGHT, pull=pull)))


def _index(at: Sequence[tuple[int, int, int]]) -> Index:
    """The index of a slice that is given by starts, lengths and steps."""
    return tuple(
        slice(start, start + (count - 1) * step + 1, step) if step else start
        for start, count, step in at
    )
