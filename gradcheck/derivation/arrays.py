"""The backward pass over arrays, node by node: what each step is called, its shape and value."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gradcheck.engine.backward import RIGHT
from gradcheck.engine.tape import Leaf, Node
from gradcheck.engine.tensor import Tensor
from gradcheck.language import executing
from gradcheck.language.running.run import Outcome
from gradcheck.opinions.opinion import Array
from gradcheck.opinions.tape import Tape, record
from gradcheck.problem.draw import given_point
from gradcheck.problem.record import Problem


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


def walked(problem: Problem) -> Walked:
    """Record the program at its given point and walk back over it once."""
    outcomes: list[Outcome] = []

    def function(kind: str, inputs: Mapping[str, Any]) -> Any:
        outcomes.append(problem.outcome_on(kind, inputs))
        return outcomes[-1].value

    case = problem.case(given_point(problem))
    tape = record(replace(case, function=function, where=executing))
    if tape is None:
        return Walked((), ())
    names = _names(tape, outcomes[-1].names)
    forward = tuple(
        Stage(names[node], _text(problem, node), node.name(), tape.values[node][0])
        for node in tape.nodes
    )
    return Walked(forward, tuple(_backward(tape, names)))


def _names(tape: Tape, variables: Mapping[str, Any]) -> dict[Any, str]:
    """The program's variables where a node is one, `v1, v2, ...` where it is not."""
    names: dict[Any, str] = {t._step(): n for n, t in tape.leaves.items() if t.requires_grad}
    for name, value in variables.items():
        if isinstance(value, Tensor) and value.requires_grad:
            names.setdefault(value._step(), name)
    names.setdefault(tape.root, "value")
    for count, node in enumerate((n for n in tape.nodes if n not in names), start=1):
        names[node] = f"v{count}"
    return names


def _text(problem: Problem, node: Node) -> str:
    if node.span is None:
        return node.op.name
    return " ".join(problem.program.source[node.span[0] : node.span[1]].split())


def _backward(tape: Tape, names: Mapping[Any, str]) -> list[Stage]:
    """Every cotangent as it is pulled: `dloss/dW` through the node that sent it."""
    stages: list[Stage] = []
    arrived: dict[Any, list[str]] = {}
    said: set[Any] = {tape.root}
    end = names[tape.root]

    def pull(node: Node, i: int, g: Any, y: Any, operands: tuple[Any, ...]) -> Any:
        if node not in said:
            said.add(node)
            stages.append(_arrival(end, names[node], arrived.get(node, []), g))
        arrived.setdefault(node.edges[i], []).append(node.name())
        return RIGHT.pull(node, i, g, y, operands)

    for step, g in tape.back(replace(RIGHT, pull=pull)).items():
        if isinstance(step, Leaf):
            stages.append(_arrival(end, names[step], arrived.get(step, []), g))
    return stages


def _arrival(end: str, name: str, through: list[str], g: Any) -> Stage:
    return Stage(f"d{end}/d{name}", "", " + ".join(through), np.array(g))
