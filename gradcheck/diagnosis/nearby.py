"""The tensors of a run that stand beside one another, and are mistaken for one another."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from gradcheck.engine.tape import Node
from gradcheck.opinions.tape import Tape

NEAREST = 12  # tensors on either side of a node: what stands in the same lines of code
LARGEST = 100_000  # entries: of larger tensors no mix-up is tried

Around = Mapping[Node, tuple[Any, ...]]


def nearby(tape: Tape) -> Around:
    """For each node the distinct tensors that were made or read last before it, or next after."""
    order: list[Any] = []
    seen: set[Any] = set()
    at: dict[Node, int] = {}
    for node in tape.nodes:
        value, operands = tape.values[node]
        for tensor in (*operands, value):
            if 1 < np.size(tensor) <= LARGEST and _print(tensor) not in seen:
                seen.add(_print(tensor))
                order.append(tensor)
        at[node] = len(order)
    return {node: _nearest(order, k) for node, k in at.items()}


def _print(tensor: Any) -> Any:
    return np.shape(tensor), np.asarray(tensor).tobytes()


def _nearest(order: list[Any], k: int) -> tuple[Any, ...]:
    """Those before the k-th, the last one first, then those from it on."""
    return (*reversed(order[max(k - NEAREST, 0) : k]), *order[k : k + NEAREST])
