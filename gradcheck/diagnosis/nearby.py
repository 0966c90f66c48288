"""The tensors of a run that stand beside one another, and are mistaken for one another."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gradcheck.engine.tape import Leaf, Node, Step
from gradcheck.opinions.tape import Tape

NEAREST = 12  # tensors on either side of a node: what stands in the same lines of code
LARGEST = 100_000  # entries: of larger tensors no mix-up is tried

NAMED = 30  # characters of a step's text that a sentence has room for
EARLIER = "an earlier value"

Around = Mapping[Node, tuple[Any, ...]]
Inside = tuple[Callable[..., Any], tuple[Any, ...]]


def nearby(tape: Tape) -> Around:
    """For each node the distinct tensors that were made or read last before it, or next after."""
    order, at = _in_turn(tape)
    return {node: _nearest(order, k) for node, k in at.items()}


def _in_turn(tape: Tape) -> tuple[list[Any], dict[Node, int]]:
    """The distinct tensors in the order in which the run met them; how many before each node."""
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
    return order, at


def _print(tensor: Any) -> Any:
    return np.shape(tensor), np.asarray(tensor).tobytes()


def _nearest(order: list[Any], k: int) -> tuple[Any, ...]:
    """Those before the k-th, the last one first, then those from it on."""
    return (*reversed(order[max(k - NEAREST, 0) : k]), *order[k : k + NEAREST])


def inside(tape: Tape, step: Step | None) -> Inside | None:
    """The sum or difference that a step is, as a function of its two operands; else None."""
    if not isinstance(step, Node) or step.op.name not in ("add", "subtract"):
        return None
    _, operands = tape.values[step]
    return step.op.forward, operands


def called(tape: Tape, step: Step) -> Any:
    """What a step is called: its input's name, or its text if that is short."""
    if isinstance(step, Leaf):
        names = (n for n, leaf in tape.leaves.items() if leaf is step.variable)
        return next(names, EARLIER)
    short = step.span is not None and step.span[-1] - step.span[-2] <= NAMED
    return step.span if short else EARLIER
