"""The tensors of a run that stand beside one another, and are mistaken for one another."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from gradcheck.engine.tape import Leaf, Node, Step
from gradcheck.opinions.tape import Tape

NEAREST = 12  # tensors on either side of a node: what stands in the same lines of code
LARGEST = 100_000  # entries: of larger tensors no mix-up is tried

WHOLE = slice(None)
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


def turned(tape: Tape) -> Mapping[str, Mapping[Step, Any]]:
    """For each entry or row that was chosen by its numbers, the one that stands in its place.

    Where the tensor is "reversed", its numbers count from the other end; where it is "transposed",
    they change places. So a kernel is read whose entries are all taken one by one.
    """
    groups: dict[Any, dict[tuple[int, ...], Node]] = defaultdict(dict)
    for node in tape.nodes:
        numbers = _numbers(node)
        if numbers and node.edges[0] is not None:
            groups[node.edges[0]][numbers] = node
    found: dict[str, dict[Step, Any]] = {"reversed": {}, "transposed": {}}
    for group in groups.values():
        ends = [(min(axis), max(axis)) for axis in zip(*group, strict=False)]
        for numbers, node in group.items():
            other = tuple(a + b - n for (a, b), n in zip(ends, numbers, strict=False))
            for how, there in (("reversed", other), ("transposed", numbers[::-1])):
                if there != numbers and there in group:
                    found[how][node] = tape.values[group[there]][0]
    return found


def _whole(part: Any) -> bool:
    """Whether it takes all of an axis; an array of places has no truth value."""
    return isinstance(part, slice) and part == WHOLE


def _numbers(node: Node) -> tuple[int, ...]:
    """The numbers by which an entry or a row was chosen, of whole axes; none for another index."""
    index = node.params.get("index") if node.op.name == "getitem" else None
    parts = [part for part in (index if isinstance(index, tuple) else (index,)) if not _whole(part)]
    return tuple(parts) if all(isinstance(part, int) for part in parts) else ()


def overlaps(tape: Tape, step: Step) -> Iterator[Mapping[tuple[Node, int], Any]]:
    """What is lost of the way back to a step whose slices overlap, if they are assigned in turn.

    For each edge the places that another slice is written to after it: as the program goes, then
    backwards; nothing where none overlap.
    """
    slices = [n for n in tape.nodes if n.op.name == "getitem" and n.edges[0] is step]
    for order in (slices, slices[::-1]):
        covered = np.zeros(np.shape(tape.values[slices[0]][1][0]), dtype=bool) if slices else None
        lost = {}
        for node in reversed(order):
            lost[node, 0] = np.array(covered)
            covered[node.params["index"]] = True  # type: ignore[index]
        if any(np.any(m & _places(*key)) for key, m in lost.items()):
            yield lost


def _places(node: Node, i: int) -> Any:
    """The places that a slice is taken from."""
    form = node.forms[i]
    assert form is not None  # only tracked operands have edges
    out = np.zeros(form[0], dtype=bool)
    out[node.params["index"]] = True
    return out


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
