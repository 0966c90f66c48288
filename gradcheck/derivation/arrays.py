"""The backward pass over arrays, node by node: what each step is called, its shape and value."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gradcheck.closed_forms.slopes import NoText
from gradcheck.closed_forms.trees import PREFIX
from gradcheck.derivation.forms import chained, rows_in
from gradcheck.derivation.run import COTANGENT
from gradcheck.engine.tape import RIGHT, Leaf, Node
from gradcheck.engine.tensor import Tensor, bare
from gradcheck.errors import GradcheckError
from gradcheck.language import executing
from gradcheck.language.running.run import Outcome
from gradcheck.opinions.opinion import Array
from gradcheck.opinions.tape import Tape, record
from gradcheck.problem.record import Point, Problem


@dataclass(frozen=True)
class Stage:
    """One line: `name = text`, PyTorch's node, and the array it came to."""

    name: str
    text: str
    node: str
    value: Array


@dataclass(frozen=True)
class Walked:
    """The tape forward, and the cotangents in the order in which they arrive.

    `chain` has those of values with a name, each as a formula of those before it, where all of
    them have one; `end` is what is differentiated, `axes` counts those of the inputs, `rows` are
    the sizes for which `n` is written.
    """

    forward: tuple[Stage, ...]
    backward: tuple[Stage, ...]
    chain: tuple[Stage, ...] = ()
    end: str = "value"
    axes: Mapping[str, int] = field(default_factory=dict)
    rows: Mapping[str, str] = field(default_factory=dict)


def walked(problem: Problem, point: Point) -> Walked:
    """Record the program at a point and walk back over it once."""
    outcomes: list[Outcome] = []

    def function(kind: str, inputs: Mapping[str, Any]) -> Any:
        outcomes.append(problem.outcome_on(kind, inputs))
        return outcomes[-1].value

    case = problem.case(point)
    tape = record(replace(case, function=function, where=executing))
    if tape is None:
        return Walked((), ())
    names = _names(tape, outcomes[-1].names)
    forward = tuple(
        Stage(names[node], _text(problem, node), node.name(), tape.values[node][0])
        for node in tape.nodes
    )
    backward = tuple(_backward(tape, names))
    end = names[tape.root]
    given = {name: np.array(value, dtype=np.float64) for name, value in point.items()}
    chain = _chain(problem, tape, dict(outcomes[-1].names), given, backward, end)
    axes = {name: value.ndim for name, value in given.items()}
    sized = (*forward, *chain)
    shapes = {n: v.shape for n, v in given.items()} | {s.name: s.value.shape for s in sized}
    rows = rows_in([stage.text for stage in chain], shapes)
    return Walked(forward, backward, chain, end, axes, rows)


def _chain(  # noqa: PLR0917 - one run, and what came of it
    problem: Problem,
    tape: Tape,
    variables: Mapping[str, Any],
    given: Mapping[str, Array],
    backward: Sequence[Stage],
    end: str,
) -> tuple[Stage, ...]:
    """The cotangents of named values as formulas; nothing where one of them has none."""
    plain = {n: np.asarray(bare(v)) for n, v in variables.items() if isinstance(v, Tensor)}
    others = {n: v for n, v in variables.items() if isinstance(v, np.ndarray | float)}
    arrived = {stage.name.removeprefix(f"d{end}/d"): stage.value for stage in backward}
    cotangents = {PREFIX + name: value for name, value in arrived.items()}
    if problem.cotangent is not None:
        others[COTANGENT] = np.array(problem.cotangent, dtype=np.float64)
    try:
        texts = chained(problem, tape, variables, {**others, **plain, **given, **cotangents})
    except (NoText, GradcheckError):
        return ()
    named = [name for name in arrived if name in plain or name in given]
    if any(name not in texts for name in named):
        return ()
    return tuple(Stage(name, texts[name], "", arrived[name]) for name in named)


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
