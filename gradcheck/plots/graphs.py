"""What is drawn of a tape: nodes with values and gradients, edges with local derivatives."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gradcheck.documents.passage import where_is
from gradcheck.engine.tape import Leaf, Node, Step, pull, saved
from gradcheck.engine.tensor import bare
from gradcheck.language import Program
from gradcheck.opinions.opinion import Case
from gradcheck.opinions.tape import record
from gradcheck.plots.traces import NothingToDraw

MOST = 60
FIRST = 8
Span = tuple[int, int]


@dataclass(frozen=True)
class Numbers:
    """An array's shape and its first entries: more than a node has room for."""

    shape: tuple[int, ...]
    first: tuple[float, ...]


@dataclass(frozen=True)
class Vertex:
    """A leaf or a node of the tape; `made_by` is PyTorch's name of it.

    `name` is the variable that holds the value ("" where none does), `text` what it was computed
    XX
    """

    key: str
    leaf: bool
    made_by: str
    name: str
    text: str
    value: Numbers | None
    gradient: Numbers | None
    cut: bool = False
    hidden: bool = False


@dataclass(frozen=True)
class Edge:
    """From an operand to what is made of it; `factor` is the local derivative of two scalars."""

    start: str
    end: str
    factor: float | None = None


@dataclass(frozen=True, eq=False)
class Graph:
    """The tape of one value: leaves first, then the nodes as they were made; the value comes last.

    `left_out` is the number of older nodes that are not drawn.
    """

    heading: str
    vertices: tuple[Vertex, ...]
    edges: tuple[Edge, ...]
    left_out: int = 0


def unsolved(graph: Graph) -> Graph:
    """The same tape before anybody went back over it: values alone."""
    vertices = tuple(replace(vertex, hidden=True) for vertex in graph.vertices)
    edges = tuple(replace(edge, factor=None) for edge in graph.edges)
    return replace(graph, vertices=vertices, edges=edges)


@dataclass(frozen=True, eq=False)
class _Pass:
    """A pass forward and back: the root, and what was seen at each step."""

    root: Step
    values: Mapping[Step, Numbers]
    gradients: Mapping[Step, Numbers]
    names: Mapping[Step, str]


def graph_of(heading: str, case: Case, program: Program, most: int = MOST) -> Graph:
    """The tape of a case; raises NothingToDraw where nothing is tracked."""
    try:
        seen = _passed(case)
    except RuntimeError as error:  # the engine refuses to go back, in PyTorch's words
        raise NothingToDraw(str(error)) from error
    steps = below(seen.root)
    nodes = [step for step in steps if isinstance(step, Node)][-most:]
    used = {seen.root, *(step for node in nodes for step, _ in node.next_functions)}
    leaves = [step for step in steps if isinstance(step, Leaf) and step in used]
    shown: list[Step] = [*leaves, *nodes]
    keys = {step: f"n{k + 1}" for k, step in enumerate(shown)}
    assigned = _assigned(program)
    vertices = tuple(_vertex(step, keys, seen, program.source, assigned) for step in keys)
    edges = tuple(edge for node in nodes for edge in _edges(node, keys, seen))
    return Graph(heading, vertices, edges, len(steps) - len(keys))


def _passed(case: Case) -> _Pass:
    """Record the case and walk back over it, with the cotangent of every step kept."""
    tape = record(case)
    if tape is None:
        raise NothingToDraw("the value depends on nothing that requires a gradient")
    with np.errstate(all="ignore"):
        arrived = tape.back(only=set(below(tape.root)))
    leaves = tape.leaves.values()
    values: dict[Step, Numbers] = {node: numbers(y) for node, (y, _) in tape.values.items()}
    names = {t._step(): name for name, t in tape.leaves.items() if t.requires_grad}
    inputs = {t._step(): numbers(bare(t)) for t in leaves if t.requires_grad}
    gradients = {step: numbers(g) for step, g in arrived.items()}
    return _Pass(tape.root, values | inputs, gradients, names)


def below(root: Step) -> list[Step]:
    """Every step that `next_functions` leads to, the oldest first."""
    found, stack = {root}, [root]
    while stack:
        for step, _ in stack.pop().next_functions:
            if step is not None and step not in found:
                found.add(step)
                stack.append(step)
    return sorted(found, key=lambda step: step.order)


def numbers(array: Any) -> Numbers:
    """The shape and the first entries."""
    found = np.asarray(array, dtype=np.float64)
    return Numbers(found.shape, tuple(map(float, found.flat[:FIRST])))


def _vertex(
    step: Step, keys: Mapping[Step, str], seen: _Pass, source: str, assigned: Mapping[Span, str]
) -> Vertex:
    span = step.span if isinstance(step, Node) else None
    operands = [operand for operand, _ in step.next_functions if operand is not None]
    return Vertex(
        keys[step],
        isinstance(step, Leaf),
        step.name(),
        seen.names.get(step, assigned.get(span, "") if span else ""),
        " ".join(source[slice(*span)].split()) if span else "",
        seen.values.get(step),
        seen.gradients.get(step),
        any(operand not in keys for operand in operands),
    )


def _edges(node: Node, keys: Mapping[Step, str], seen: _Pass) -> Iterator[Edge]:
    """One edge an operand that is tracked, if it is drawn."""
    operands = [operand for operand, _ in node.next_functions if operand is not None]
    places = [i for i, edge in enumerate(node.edges) if edge is not None]
    plain = len(places) == len(operands) and seen.values.get(node) is not None
    for k, operand in enumerate(operands):
        if operand in keys:
            factor = _factor(node, places[k], seen.values[node]) if plain else None
            yield Edge(keys[operand], keys[node], factor)


def _factor(node: Node, i: int, value: Numbers) -> float | None:
    """What a cotangent is multiplied by on its way from a scalar to a scalar."""
    known = node.forms[i]
    if value.shape or known is None or known[0]:
        return None
    y, operands = saved(node)
    with np.errstate(all="ignore"):
        piece = pull(node, i, np.float64(1.0), y, operands)
    return None if piece is None else float(piece)


def _assigned(program: Program) -> dict[Span, str]:
    """The variable that each right-hand side of the program is given to."""
    found: dict[Span, str] = {}
    statements: Sequence[ast.AST] = list(ast.walk(program.tree))
    for node in statements:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                found[program.passage.span(where_is(value))] = name
    return found
