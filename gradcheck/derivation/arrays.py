"""The backward pass over arrays, node by node: what each step is called, its shape and value."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gradcheck.engine.autograd import tensor
from gradcheck.engine.backward import RIGHT, walk
from gradcheck.engine.recording import watched
from gradcheck.engine.tape import Leaf, Node
from gradcheck.engine.tensor import Tensor, bare
from gradcheck.opinions.opinion import Array
from gradcheck.problem.record import Point, Problem, executing


@dataclass(frozen=True)
class Stage:
    """One line: `name = text`, PyTorch's node, and the array it came to."""

    name: str
    text: str
    node: str
    value: Array


@dataclass(frozen=True)
class Walked:
    """The tape forward, and the cotangents in the order in which they arrive."""

    forward: tuple[Stage, ...]
    backward: tuple[Stage, ...]


def walked(problem: Problem, point: Point) -> Walked:
    """Record the program at a point and walk back over it once."""
    case = problem.case(point)
    leaves = {n: tensor(v, requires_grad=n in case.wrt) for n, v in case.floats().items()}
    made: list[tuple[Node, Any]] = []

    def observe(node: Node, out: Tensor, operands: Any) -> None:
        node.span = executing()
        made.append((node, np.array(bare(out))))

    with watched(observe=observe), np.errstate(all="ignore"):
        outcome = problem.outcome_on("tensor", leaves)
    root = outcome.value
    if not isinstance(root, Tensor) or not root.requires_grad:
        return Walked((), ())
    names = _names(made, root, dict(outcome.names), leaves)
    forward = tuple(
        Stage(names[node], _text(problem, node), node.name(), value) for node, value in made
    )
    seed = np.ones(root.shape)[()] if case.cotangent is None else np.array(case.cotangent, float)
    return Walked(forward, tuple(_backward(root, seed, names)))


def _names(
    made: list[tuple[Node, Any]], root: Tensor, variables: dict[str, Any], leaves: dict[str, Any]
) -> dict[Any, str]:
    """The program's variables where a node is one, `v1, v2, ...` where it is not."""
    names: dict[Any, str] = {t._step(): name for name, t in leaves.items() if t.requires_grad}
    for name, value in variables.items():
        if isinstance(value, Tensor) and value.requires_grad:
            names.setdefault(value._step(), name)
    names.setdefault(root._step(), "value")
    count = 0
    for node, _ in made:
        if node not in names:
            count += 1
            names[node] = f"v{count}"
    return names


def _text(problem: Problem, node: Node) -> str:
    if node.span is None:
        return node.op.name
    return " ".join(problem.program.source[node.span[0] : node.span[1]].split())


def _backward(root: Tensor, seed: Any, names: dict[Any, str]) -> list[Stage]:
    """Every cotangent as it is pulled: `dloss/dW` through the node that sent it."""
    stages: list[Stage] = []
    arrived: dict[Any, list[str]] = {}
    said: set[Any] = set()
    end = names[root._step()]

    def pull(node: Node, i: int, g: Any, y: Any, operands: tuple[Any, ...]) -> Any:
        if node is not root._step() and node not in said:
            said.add(node)
            stages.append(_arrival(end, names[node], arrived.get(node, []), g))
        arrived.setdefault(node.edges[i], []).append(node.name())
        return RIGHT.pull(node, i, g, y, operands)

    landed = walk([(root._step(), seed)], verbs=replace(RIGHT, pull=pull))
    for step, g in landed.items():
        if isinstance(step, Leaf):
            stages.append(_arrival(end, names[step], arrived.get(step, []), g))
    return stages


def _arrival(end: str, name: str, through: list[str], g: Any) -> Stage:
    return Stage(f"d{end}/d{name}", "", " + ".join(through), np.array(g))
