"""A tape as a graph: nodes with values and gradients, edges with local derivatives; as DOT."""

import ast
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gradcheck.documents.document import where_is
from gradcheck.engine.tape import Leaf, Node, Step, find_outer, pull, reachable, read_saved
from gradcheck.engine.tensor import bare
from gradcheck.errors import GradcheckError
from gradcheck.language import Program
from gradcheck.opinions.opinion import Case
from gradcheck.opinions.tape import Given, record
from gradcheck.values import Array

MOST = 60
FIRST = 8  # entries of an array that are kept
WIDEST = 28  # letters of a line on a node
MOST_LINES = 2
DIGITS, IN_ARRAYS = 4, 3
STYLES = {True: "filled", False: "rounded,filled"}
COLOURS = {True: "#fdebd0", False: "#e3eef7"}
Span = tuple[int, int]


class NothingToDraw(GradcheckError):
    """Why there is no picture."""


@dataclass(frozen=True)
class Vertex:
    """A leaf or a node of the tape; `made_by` is PyTorch's name of it.

    `name` is the variable that holds the value ("" where none does), `text` what it was computed
    from; a value or a gradient that is not known is None.
    """

    key: str
    leaf: bool
    made_by: str = ""
    name: str = ""
    text: str = ""
    value: Array | None = None
    gradient: Array | None = None


@dataclass(frozen=True)
class GraphEdge:
    """From an operand to what is made of it; `factor` is the local derivative of two scalars."""

    start: str
    end: str
    factor: float | None = None


@dataclass(frozen=True, eq=False)
class Graph:
    """The tape of one value: leaves first, then the nodes as they were made; the value comes last.

    `left_out` is the number of older nodes that are not drawn. Not `solved` is a tape before
    anybody went back over it: values alone. A lesson of calculus has no `node_names`.
    """

    heading: str
    vertices: tuple[Vertex, ...]
    edges: tuple[GraphEdge, ...]
    left_out: int = 0
    solved: bool = True
    node_names: bool = True


def graph_of(heading: str, case: Case, program: Program, most: int = MOST) -> Graph:
    """The tape of a case; raises NothingToDraw where nothing is tracked."""
    tape = record(case)
    if tape is None:
        raise NothingToDraw("the value depends on nothing that requires a gradient")
    below = reversed(reachable([tape.root]))
    steps = [step for step in below if step in (tape.root, find_outer(step)[0])]
    try:
        with np.errstate(all="ignore"):
            gradients = tape.back(only=set(steps))
    except RuntimeError as error:  # the engine refuses to go back, in PyTorch's words
        raise NothingToDraw(str(error)) from error
    names = {t._step(): name for name, t in tape.leaves.items() if t.requires_grad}
    values = {t._step(): bare(t) for t in tape.leaves.values()}
    values |= {node: bare(given.value) for node, given in tape.given.items()}
    nodes = [step for step in steps if isinstance(step, Node)][-most:]
    used = {tape.root, *(step for node in nodes for step, _ in node.next_functions)}
    shown: list[Step] = [s for s in steps if isinstance(s, Leaf) and s in used]
    keys = {step: f"n{k + 1}" for k, step in enumerate([*shown, *nodes])}
    assigned = _name_spans(program)
    vertices = []
    for step, key in keys.items():
        span = step.span if isinstance(step, Node) else None
        name = names.get(step) or (assigned.get(span, "") if span else "")
        text = " ".join(program.source[slice(*span)].split()) if span else ""
        known = values.get(step), gradients.get(step)
        vertices.append(Vertex(key, isinstance(step, Leaf), step.name(), name, text, *known))
    edges = tuple(edge for node in nodes for edge in _edges(node, keys, tape.given.get(node)))
    return Graph(heading, tuple(vertices), edges, len(steps) - len(keys))


def _edges(node: Node, keys: Mapping[Step, str], given: Given | None) -> Iterator[GraphEdge]:
    """One edge an operand that is tracked, if it is drawn."""
    plain = given is not None and not np.shape(given.value)
    for i, (operand, _) in enumerate(node.next_functions):
        if operand is not None and operand in keys:
            yield GraphEdge(keys[operand], keys[node], _factor(node, i) if plain else None)


def _factor(node: Node, i: int) -> float | None:
    """What a cotangent is multiplied by on its way to a scalar, from one."""
    known = node.forms[i]
    if known is None or known[0]:
        return None
    y, operands = read_saved(node)
    with np.errstate(all="ignore"):
        piece = pull(node, i, np.float64(1.0), y, operands)
    return None if piece is None else float(piece)


def _name_spans(program: Program) -> dict[Span, str]:
    found: dict[Span, str] = {}
    for node in ast.walk(program.tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                found[program.passage.span(where_is(value))] = name
    return found


# -- what stands on it -----------------------------------------------------------------------------


def number(value: float, digits: int = DIGITS) -> str:
    return f"{value + 0.0:.{digits}g}"


def heading_lines(vertex: Vertex) -> list[str]:
    formula = f"{vertex.name} = {vertex.text}" if vertex.name and vertex.text else ""
    words = formula or vertex.name or vertex.text or "?"
    return textwrap.wrap(words, WIDEST, max_lines=MOST_LINES, placeholder=" …")


def lines_of(graph: Graph, vertex: Vertex) -> list[str]:
    """All lines under the heading: PyTorch's name, the value, the gradient."""
    gradient = f"{vertex.name or 'leaf'}.grad" if vertex.leaf else "gradient"
    found = [] if vertex.leaf or not graph.node_names else [vertex.made_by]
    found.append(describe_value("value", vertex.value))
    return [*found, describe_value(gradient, vertex.gradient)] if graph.solved else found


def describe_value(name: str, value: Array | None) -> str:
    """`value 3`; `value (2×3) [1, 0.5, …]` with as many entries as there is room for."""
    if value is None:
        return f"{name} none"
    if not np.ndim(value):
        return f"{name} {number(float(value))}"
    head = f"{name} ({'×'.join(map(str, value.shape))})"
    entries = [number(float(entry), IN_ARRAYS) for entry in value.flat[:FIRST]]
    for count in range(len(entries), 0, -1):
        more = ", …" if count < value.size else ""
        line = f"{head} [{', '.join(entries[:count])}{more}]"
        if len(line) <= WIDEST:
            return line
    return head[:WIDEST]


def label_of(graph: Graph, edge: GraphEdge) -> str:
    """`×2`: the gradient is multiplied by the local derivative on its way back."""
    return f"×{number(edge.factor)}" if graph.solved and edge.factor is not None else ""


def remarks_of(graph: Graph) -> list[str]:
    found = ["Values go down, gradients go up." if graph.solved else "Values go down."]
    if any(label_of(graph, edge) for edge in graph.edges):
        found = ["Values go down; gradients go up, times the local derivative."]
    if graph.left_out:
        kept = len(graph.vertices)
        found.append(f"Only the last {kept} of {kept + graph.left_out} nodes are drawn.")
    return found


# -- DOT -------------------------------------------------------------------------------------------


def dot_text(graph: Graph) -> str:
    told = quote([graph.heading, *remarks_of(graph)])
    lines = [f"  label={told};", '  labelloc="t";']
    lines.append('  node [shape="box", fontname="monospace", fontsize="11"];')
    lines.append('  edge [fontname="monospace", fontsize="10"];')
    for vertex in graph.vertices:
        label = quote([*heading_lines(vertex), *lines_of(graph, vertex)])
        style, colour = STYLES[vertex.leaf], COLOURS[vertex.leaf]
        width = ', penwidth="2"' if vertex is graph.vertices[-1] else ""
        look = f'label={label}, style="{style}", fillcolor="{colour}"{width}'
        lines.append(f"  {vertex.key} [{look}];")
    for edge in graph.edges:
        words = label_of(graph, edge)
        label = f" [label={quote([words])}]" if words else ""
        lines.append(f"  {edge.start} -> {edge.end}{label};")
    return "\n".join([f"digraph {quote([graph.heading])} {{", *lines, "}\n"])


def quote(lines: Sequence[str]) -> str:
    """A quoted string of DOT: one label of several lines."""
    escaped = (line.replace("\\", "\\\\").replace('"', '\\"') for line in lines)
    return '"' + "\\n".join(escaped) + '"'
