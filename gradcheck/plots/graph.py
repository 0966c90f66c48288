"""A tape as a graph: nodes with values and gradients, edges with local derivatives; as DOT."""

import ast
import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gradcheck.documents.passage import where_is
from gradcheck.engine.tape import Leaf, Node, Step, pull, read_saved
from gradcheck.engine.tensor import bare
from gradcheck.errors import GradcheckError
from gradcheck.language import Program
from gradcheck.opinions.opinion import Case
from gradcheck.opinions.tape import Given, record
from gradcheck.values import Value

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
class FirstEntries:
    """An array's shape and its first entries: more than a node has room for."""

    shape: tuple[int, ...]
    first: tuple[float, ...]


@dataclass(frozen=True)
class Vertex:
    """A leaf or a node of the tape; `made_by` is PyTorch's name of it.

    `name` is the variable that holds the value ("" where none does), `text` what it was computed
    from; `cut` says that it has operands that are not drawn, `hidden` that gradients are not told.
    """

    key: str
    leaf: bool
    made_by: str
    name: str
    text: str
    value: FirstEntries | None
    gradient: FirstEntries | None
    cut: bool = False
    hidden: bool = False


@dataclass(frozen=True)
class GraphEdge:
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
    edges: tuple[GraphEdge, ...]
    left_out: int = 0


def find_unsolved(graph: Graph) -> Graph:
    """The same tape before anybody went back over it: values alone."""
    vertices = tuple(replace(vertex, hidden=True) for vertex in graph.vertices)
    edges = tuple(replace(edge, factor=None) for edge in graph.edges)
    return replace(graph, vertices=vertices, edges=edges)


def without_node_names(graph: Graph) -> Graph:
    """The same tape for a lesson of calculus: PyTorch's names of nodes would only puzzle."""
    return replace(graph, vertices=tuple(replace(v, made_by="") for v in graph.vertices))


def graph_of(heading: str, case: Case, program: Program, most: int = MOST) -> Graph:
    """The tape of a case; raises NothingToDraw where nothing is tracked."""
    tape = record(case)
    if tape is None:
        raise NothingToDraw("the value depends on nothing that requires a gradient")
    steps = below(tape.root)
    try:
        with np.errstate(all="ignore"):
            gradients = tape.back(only=set(steps))
    except RuntimeError as error:  # the engine refuses to go back, in PyTorch's words
        raise NothingToDraw(str(error)) from error
    leaves = {t._step(): (name, t) for name, t in tape.leaves.items() if t.requires_grad}
    nodes = [step for step in steps if isinstance(step, Node)][-most:]
    used = {tape.root, *(step for node in nodes for step, _ in node.next_functions)}
    shown: list[Step] = [s for s in steps if isinstance(s, Leaf) and s in used]
    keys = {step: f"n{k + 1}" for k, step in enumerate([*shown, *nodes])}
    assigned = _assigned_names(program)
    vertices = []
    for step, key in keys.items():
        span = step.span if isinstance(step, Node) else None
        name, value = leaves.get(step, (assigned.get(span, "") if span else "", None))
        if value is None and isinstance(step, Node) and step in tape.given:
            value = tape.given[step].value
        operands = {operand for operand, _ in step.next_functions if operand is not None}
        vertices.append(
            Vertex(
                key,
                isinstance(step, Leaf),
                step.name(),
                name,
                " ".join(program.source[slice(*span)].split()) if span else "",
                None if value is None else numbers(bare(value)),
                numbers(gradients[step]) if step in gradients else None,
                cut=not operands <= keys.keys(),
            )
        )
    edges = tuple(edge for node in nodes for edge in _edges(node, keys, tape.given.get(node)))
    return Graph(heading, tuple(vertices), edges, len(steps) - len(keys))


def below(root: Step) -> list[Step]:
    """Every step that `next_functions` leads to, the oldest first."""
    found, stack = {root}, [root]
    while stack:
        for step, _ in stack.pop().next_functions:
            if step is not None and step not in found:
                found.add(step)
                stack.append(step)
    return sorted(found, key=lambda step: step.order)


def numbers(array: Value) -> FirstEntries:
    """The shape and the first entries."""
    found = np.asarray(array, dtype=np.float64)
    return FirstEntries(found.shape, tuple(map(float, found.flat[:FIRST])))


def _edges(node: Node, keys: Mapping[Step, str], given: Given | None) -> Iterator[GraphEdge]:
    """One edge an operand that is tracked, if it is drawn."""
    operands = [operand for operand, _ in node.next_functions if operand is not None]
    places = [i for i, edge in enumerate(node.edges) if edge is not None]
    plain = len(places) == len(operands) and given is not None and not np.shape(given.value)
    for k, operand in enumerate(operands):
        if operand in keys:
            yield GraphEdge(keys[operand], keys[node], _factor(node, places[k]) if plain else None)


def _factor(node: Node, i: int) -> float | None:
    """What a cotangent is multiplied by on its way to a scalar, from one."""
    known = node.forms[i]
    if known is None or known[0]:
        return None
    y, operands = read_saved(node)
    with np.errstate(all="ignore"):
        piece = pull(node, i, np.float64(1.0), y, operands)
    return None if piece is None else float(piece)


def _assigned_names(program: Program) -> dict[Span, str]:
    found: dict[Span, str] = {}
    statements: Sequence[ast.AST] = list(ast.walk(program.tree))
    for node in statements:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                found[program.passage.span(where_is(value))] = name
    return found


# -- what stands on it -----------------------------------------------------------------------------


def number(value: float, digits: int = DIGITS) -> str:
    """A number in a few significant digits, zero without a sign."""
    return f"{value + 0.0:.{digits}g}"


def heading_lines(vertex: Vertex) -> list[str]:
    """The variable and its formula, broken and cut to fit."""
    formula = f"{vertex.name} = {vertex.text}" if vertex.name and vertex.text else ""
    words = formula or vertex.name or vertex.text or "?"
    lines = textwrap.wrap(words, WIDEST)[: MOST_LINES + 1]
    if len(lines) > MOST_LINES:
        lines = [*lines[: MOST_LINES - 1], lines[MOST_LINES - 1][: WIDEST - 2] + " …"]
    return lines


def lines_of(vertex: Vertex) -> list[str]:
    """All lines under the heading: PyTorch's name, the value, the gradient unless it is hidden."""
    gradient = f"{vertex.name or 'leaf'}.grad" if vertex.leaf else "gradient"
    found = [vertex.made_by] if vertex.made_by and not vertex.leaf else []
    found += describe_value("value", vertex.value)
    if vertex.hidden:
        return found
    return found + describe_value(gradient, vertex.gradient)


def describe_value(name: str, held: FirstEntries | None) -> list[str]:
    """`value 3`; `value (2×3) [1, 0.5, …]` with as many entries as there is room for."""
    if held is None:
        return [f"{name} none"]
    if not held.shape:
        return [f"{name} {number(held.first[0])}"]
    size = math.prod(held.shape)
    head = f"{name} ({'×'.join(map(str, held.shape))})"
    entries = [number(entry, IN_ARRAYS) for entry in held.first]
    for count in range(len(entries), 0, -1):
        more = ", …" if count < size else ""
        line = f"{head} [{', '.join(entries[:count])}{more}]"
        if len(line) <= WIDEST:
            return [line]
    return [head[:WIDEST]]


def factor_of(edge: GraphEdge) -> str:
    """`×2`: the gradient is multiplied by the local derivative on its way back."""
    return "" if edge.factor is None else f"×{number(edge.factor)}"


def remarks_of(graph: Graph) -> list[str]:
    """How the picture is to be read."""
    hidden = all(vertex.hidden for vertex in graph.vertices)
    found = ["Values go down." if hidden else "Values go down, gradients go up."]
    if any(edge.factor is not None for edge in graph.edges):
        found = ["Values go down; gradients go up, times the local derivative."]
    if graph.left_out:
        kept = len(graph.vertices)
        found.append(f"Only the last {kept} of {kept + graph.left_out} nodes are drawn; "
                     "a dashed frame has operands that are not.")  # fmt: skip
    return found


# -- DOT -------------------------------------------------------------------------------------------


def dot_text(graph: Graph) -> str:
    """The whole text."""
    return "".join(f"{line}\n" for line in _lines(graph))


def _lines(graph: Graph) -> Iterator[str]:
    yield f"digraph {quote([graph.heading])} {{"
    yield f"  label={quote([graph.heading, *remarks_of(graph)])};"
    yield '  labelloc="t";'
    yield '  node [shape="box", fontname="monospace", fontsize="11"];'
    yield '  edge [fontname="monospace", fontsize="10"];'
    for vertex in graph.vertices:
        yield f"  {vertex.key} [{_attributes(vertex, vertex is graph.vertices[-1])}];"
    for edge in graph.edges:
        label = f" [label={quote([factor_of(edge)])}]" if factor_of(edge) else ""
        yield f"  {edge.start} -> {edge.end}{label};"
    yield "}"


def _attributes(vertex: Vertex, last: bool) -> str:
    style = STYLES[vertex.leaf] + (",dashed" if vertex.cut else "")
    found = {
        "label": quote([*heading_lines(vertex), *lines_of(vertex)]),
        "style": quote([style]),
        "fillcolor": quote([COLOURS[vertex.leaf]]),
    }
    if last:
        found["penwidth"] = quote(["2"])
    return ", ".join(f"{name}={value}" for name, value in found.items())


def quote(lines: Sequence[str]) -> str:
    """A quoted string of DOT: one label of several lines."""
    escaped = (line.replace("\\", "\\\\").replace('"', '\\"') for line in lines)
    return '"' + "\\n".join(escaped) + '"'
