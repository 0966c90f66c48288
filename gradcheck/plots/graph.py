"""A tape as a graph: nodes with values and gradients, edges with local derivatives; DOT and SVG.

The picture has levels from the leaves down to the value, placed by one sweep.
"""

import ast
import textwrap
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import count, pairwise

import numpy as np

from gradcheck.documents.document import locate_node
from gradcheck.engine.tape import Leaf, Node, Step, find_outer, list_reachable, pull, read_saved
from gradcheck.engine.tensor import unwrap
from gradcheck.errors import GradcheckError
from gradcheck.language.program import Program
from gradcheck.opinions.opinion import Case
from gradcheck.opinions.tape import Given, record
from gradcheck.values import Array

MOST = 60
FIRST = 8  # entries of an array that are kept
WIDEST = 28  # letters of a line on a node
MOST_LINES = 2
DIGITS, IN_ARRAYS = 4, 3


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


def make_graph(heading: str, case: Case, program: Program, most: int = MOST) -> Graph:
    """The tape of a case; raises NothingToDraw where nothing is tracked."""
    tape = record(case)
    if tape is None:
        raise NothingToDraw("the value depends on nothing that requires a gradient")
    below = reversed(list_reachable([tape.root]))
    steps = [step for step in below if step in (tape.root, find_outer(step)[0])]
    try:
        with np.errstate(all="ignore"):
            gradients = tape.back(only=set(steps))
    except RuntimeError as error:  # the engine refuses to go back, in PyTorch's words
        raise NothingToDraw(str(error)) from error
    names = {t._step(): name for name, t in tape.leaves.items() if t.requires_grad}
    values = {t._step(): unwrap(t) for t in tape.leaves.values()}
    values |= {node: unwrap(given.value) for node, given in tape.given.items()}
    nodes = [step for step in steps if isinstance(step, Node)][-most:]
    used = {tape.root, *(step for node in nodes for step, _ in node.next_functions)}
    shown: list[Step] = [s for s in steps if isinstance(s, Leaf) and s in used]
    keys = {step: f"n{k + 1}" for k, step in enumerate([*shown, *nodes])}
    assigned = {
        program.passage.span(locate_node(node.value)): node.targets[0].id
        for node in ast.walk(program.tree)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    vertices = []
    for step, key in keys.items():
        span = step.span if isinstance(step, Node) else None
        name = names.get(step) or (assigned.get(span, "") if span else "")
        text = " ".join(program.source[slice(*span)].split()) if span else ""
        known = values.get(step), gradients.get(step)
        vertices.append(Vertex(key, isinstance(step, Leaf), step.name(), name, text, *known))
    edges = tuple(edge for node in nodes for edge in _list_edges(node, keys, tape.given.get(node)))
    return Graph(heading, tuple(vertices), edges, len(steps) - len(keys))


def _list_edges(node: Node, keys: Mapping[Step, str], given: Given | None) -> Iterator[GraphEdge]:
    plain = given is not None and not np.shape(given.value)
    for i, edge in enumerate(node.edges):
        operand = edge if edge is None else find_outer(edge)[0]
        if operand is not None and operand in keys:
            yield GraphEdge(keys[operand], keys[node], _find_factor(node, i) if plain else None)


def _find_factor(node: Node, i: int) -> float | None:
    """What a cotangent is multiplied by on its way to a scalar, from one."""
    known = node.forms[i]
    if known is None or known[0]:
        return None
    y, operands = read_saved(node)
    with np.errstate(all="ignore"):
        piece = pull(node, i, np.float64(1.0), y, operands)
    return None if piece is None else float(piece)


# -- what stands on it -----------------------------------------------------------------------------


def format_number(value: float, digits: int = DIGITS) -> str:
    return f"{value + 0.0:.{digits}g}"


def heading_lines(vertex: Vertex) -> list[str]:
    formula = f"{vertex.name} = {vertex.text}" if vertex.name and vertex.text else ""
    words = formula or vertex.name or vertex.text or "?"
    return textwrap.wrap(words, WIDEST, max_lines=MOST_LINES, placeholder=" …")


def list_lines(graph: Graph, vertex: Vertex) -> list[str]:
    """All lines under the heading: PyTorch's name, the value, the gradient."""
    gradient = f"{vertex.name or 'leaf'}.grad" if vertex.leaf else "gradient"
    found = [] if vertex.leaf or not graph.node_names else [vertex.made_by]
    found.append(describe_value("value", vertex.value))
    return [*found, describe_value(gradient, vertex.gradient)] if graph.solved else found


def list_all_lines(graph: Graph, vertex: Vertex) -> list[str]:
    return [*heading_lines(vertex), *list_lines(graph, vertex)]


def describe_value(name: str, value: Array | None) -> str:
    """`value 3`; `value (2×3) [1, 0.5, …]` with as many entries as there is room for."""
    if value is None:
        return f"{name} none"
    if not np.ndim(value):
        return f"{name} {format_number(float(value))}"
    head = f"{name} ({'×'.join(map(str, value.shape))})"
    entries = [format_number(float(entry), IN_ARRAYS) for entry in value.flat[:FIRST]]
    for n in range(len(entries), 0, -1):
        more = ", …" if n < value.size else ""
        line = f"{head} [{', '.join(entries[:n])}{more}]"
        if len(line) <= WIDEST:
            return line
    return head[:WIDEST]


def label_of(graph: Graph, edge: GraphEdge) -> str:
    """`×2`: the gradient is multiplied by the local derivative on its way back."""
    return f"×{format_number(edge.factor)}" if graph.solved and edge.factor is not None else ""


def list_remarks(graph: Graph) -> list[str]:
    found = ["Values go down, gradients go up." if graph.solved else "Values go down."]
    if any(label_of(graph, edge) for edge in graph.edges):
        found = ["Values go down; gradients go up, times the local derivative."]
    if graph.left_out:
        kept = len(graph.vertices)
        found.append(f"Only the last {kept} of {kept + graph.left_out} nodes are drawn.")
    return found


# -- DOT -------------------------------------------------------------------------------------------


def write_dot(graph: Graph) -> str:
    lines = [
        f"digraph {quote([graph.heading])} {{",
        f"  label={quote([graph.heading, *list_remarks(graph)])};",
        '  labelloc="t";',
        '  node [shape="box", fontname="monospace", fontsize="11"];',
        '  edge [fontname="monospace", fontsize="10"];',
    ]
    for vertex in graph.vertices:
        label = quote(list_all_lines(graph, vertex))
        look = ("filled", "#fdebd0") if vertex.leaf else ("rounded,filled", "#e3eef7")
        width = ', penwidth="2"' if vertex is graph.vertices[-1] else ""
        style = 'style="{}", fillcolor="{}"'.format(*look)
        lines.append(f"  {vertex.key} [label={label}, {style}{width}];")
    for edge in graph.edges:
        words = label_of(graph, edge)
        label = f" [label={quote([words])}]" if words else ""
        lines.append(f"  {edge.start} -> {edge.end}{label};")
    return "\n".join([*lines, "}\n"])


def quote(lines: Sequence[str]) -> str:
    """A quoted string of DOT: one label of several lines."""
    escaped = (line.replace("\\", "\\\\").replace('"', '\\"') for line in lines)
    return '"' + "\\n".join(escaped) + '"'


# -- the picture: where everything stands ----------------------------------------------------------

PAGE = 600.0  # points: 800 pixels of a browser
SCALE = 1.25  # pixels of a page for a point: letters are then nearly as large as the text's
SIZE = 9.0
LETTER, LINE, PAD = 0.602 * SIZE, 1.35 * SIZE, 5.0  # of a typewriter's font
LANE, GAP, DOWN, MARGIN, ARROW, ROUND = 6.0, 12.0, 40.0, 14.0, 6.0, 6
HEAD, HEAD_LETTER, LETTERS = 18.0, 6.5, 85  # of the texts above it
STYLE = """
svg { background: #fff; }
text { font: 9px "DejaVu Sans Mono", monospace; }
.name { font-weight: 700; }
.head { font: 700 11px "DejaVu Sans", sans-serif; }
.note { font: 9.5px "DejaVu Sans", sans-serif; }
.factor { paint-order: stroke; stroke: #fff; stroke-width: 4px; }
rect { stroke-width: 1.2; }
.leaf { fill: #fdebd0; stroke: #d55e00; }
.node { fill: #e3eef7; stroke: #0072b2; }
.value { stroke-width: 2.4; }
.edge { fill: none; stroke: #5f5f5f; stroke-width: 1.1; }
.tip { fill: #5f5f5f; }
"""

Place = str | tuple[str, int]
"""What takes room in a level: a node, or the lane of one on its way down to where it is used."""
Spot = tuple[float, float, float]
"""Where a place is: the middle across, top and bottom of its level."""


@dataclass(frozen=True, eq=False)
class Layout:
    """The levels from the top down, the level of every place, its middle across, its width."""

    levels: Sequence[Sequence[Place]]
    level: Mapping[Place, int]
    across: Mapping[Place, float]
    widths: Mapping[Place, float]
    width: float


def find_stops(level: Mapping[Place, int], edge: GraphEdge) -> list[Place]:
    """The places that an edge goes through, from the operand down to what is made of it."""
    between = range(level[edge.start] + 1, level[edge.end])
    return [edge.start, *((edge.start, k) for k in between), edge.end]


def lay_out(graph: Graph, widths: Mapping[str, float], page: float = PAGE) -> Layout:
    """Levels as wide as the page, each in the middle.

    Operands come before what is made of them, so a walk from the last to the first meets a node
    when all its uses have their places.
    """
    above, taken = dict[str, int](), defaultdict[int, float](float)  # levels, from the value up
    for vertex in reversed(graph.vertices):
        k = max((above[e.end] + 1 for e in graph.edges if e.start == vertex.key), default=0)
        while taken[k] and taken[k] + widths[vertex.key] + GAP > page:
            k += 1
        above[vertex.key] = k
        taken[k] += widths[vertex.key] + GAP
    level: dict[Place, int] = {key: max(above.values()) - k for key, k in above.items()}
    for edge in graph.edges:
        level |= zip(find_stops(level, edge), count(level[edge.start]), strict=False)
    room = {p: widths[p] if isinstance(p, str) else LANE for p in level}
    levels = _order_levels(graph, level)
    wide = [sum(room[p] + GAP for p in places) - GAP for places in levels]
    across: dict[Place, float] = {}
    for places, own in zip(levels, wide, strict=True):
        x = (max(wide) - own) / 2
        for place in places:
            across[place] = x + room[place] / 2
            x += room[place] + GAP
    return Layout(levels, level, across, room, max(wide))


def _order_levels(graph: Graph, level: Mapping[Place, int]) -> list[list[Place]]:
    """Each level in the order in which a walk from the value up, operand by operand, meets it."""
    operands = defaultdict[Place, list[Place]](list)
    for edge in graph.edges:
        for upper, lower in pairwise(find_stops(level, edge)):
            operands[lower].append(upper)
    found: dict[Place, None] = {}
    stack: list[Place] = [v.key for v in graph.vertices]
    while stack:
        place = stack.pop()
        if place not in found:
            found[place] = None
            stack += reversed(operands[place])
    return [[p for p in found if level[p] == k] for k in range(max(level.values()) + 1)]


# -- SVG -------------------------------------------------------------------------------------------


def render_graph(graph: Graph) -> str:
    """The picture as an `svg` element of a page, with its words for those who listen."""
    body, width, height = _draw(graph)
    size = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width * SCALE:.0f}"'
    words = f'role="img" aria-label="{_describe(graph).removeprefix(". ")}"'
    return f'<svg class="graph" {size} {words}>{body}</svg>'


def render_graph_file(graph: Graph) -> str:
    """The picture as a file of its own, with its title, words and look."""
    body, width, height = _draw(graph)
    size = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}pt"'
    told = f"<title>{escape(graph.heading)}</title><desc>{_describe(graph)}</desc>"
    xmlns = 'xmlns="http://www.w3.org/2000/svg"'
    return f"<svg {xmlns} {size}>{told}<style>{STYLE}</style>{body}</svg>\n"


def _describe(graph: Graph) -> str:
    nodes = ["; ".join(list_all_lines(graph, vertex)) for vertex in graph.vertices]
    return escape(". ".join([graph.heading, *nodes]))


def _draw(graph: Graph) -> tuple[str, float, float]:
    """Texts, edges, and above them the boxes; width and height.

    A page around it tells how it is to be read; where it has a heading, it does so itself.
    """
    sizes = {vertex.key: _measure(graph, vertex) for vertex in graph.vertices}
    layout = lay_out(graph, {key: wide for key, (wide, _) in sizes.items()}, PAGE - 2 * MARGIN)
    remarks = textwrap.wrap(" ".join(list_remarks(graph)), LETTERS)
    told = [graph.heading, *remarks] if graph.heading else []
    width = max([layout.width, *(len(line) * HEAD_LETTER for line in told)]) + 2 * MARGIN
    body, top = list[str](), MARGIN
    for line in told:
        body.append(_draw_text(MARGIN, top + HEAD / 2, line, "note" if body else "head", "start"))
        top += HEAD
    spots, left = dict[Place, Spot](), (width - layout.width) / 2
    for places in layout.levels:
        height = max((sizes[p][1] for p in places if isinstance(p, str)), default=0.0)
        spots |= {p: (left + layout.across[p], top, top + height) for p in places}
        top += height + DOWN
    for vertex in graph.vertices:
        body += _draw_edges(graph, vertex, layout.level, spots, sizes)
    for vertex in graph.vertices:
        body += _draw_box(graph, vertex, spots[vertex.key], *sizes[vertex.key])
    return "".join(body), width, top - DOWN + MARGIN


def _measure(graph: Graph, vertex: Vertex) -> tuple[float, float]:
    """Room for every line, and for what stands side by side above the box."""
    lines = list_all_lines(graph, vertex)
    coming = [len(label_of(graph, edge)) for edge in graph.edges if edge.end == vertex.key]
    abreast = len(coming) * (max(coming, default=0) + 1)
    return max(abreast, *map(len, lines)) * LETTER + 2 * PAD, len(lines) * LINE + 2 * PAD


def _draw_edges(
    graph: Graph,
    vertex: Vertex,
    level: Mapping[Place, int],
    spots: Mapping[Place, Spot],
    sizes: Mapping[str, tuple[float, float]],
) -> Iterator[str]:
    """Every edge to a node with its arrow and factor, from the left to the right as they come."""
    coming = [(find_stops(level, e), e) for e in graph.edges if e.end == vertex.key]
    coming.sort(key=lambda each: spots[each[0][-2]][0])
    (middle, y, _), wide = spots[vertex.key], sizes[vertex.key][0]
    for k, (stops, edge) in enumerate(coming):
        x = middle + wide * ((k + 0.5) / len(coming) - 0.5)
        start, high, _ = spots[edge.start]
        line = [f"M{start:.1f} {high + sizes[edge.start][1]:.1f}"]
        for upper, lower in pairwise(stops):
            (a, _, above), (b, below, _) = spots[upper], spots[lower]
            b, below = (x, below - ARROW) if lower == vertex.key else (b, below)
            half = (above + below) / 2
            line.append(f"L{a:.1f} {above:.1f} C{a:.1f} {half:.1f}")
            line.append(f"{b:.1f} {half:.1f} {b:.1f} {below:.1f}")
        yield f'<path class="edge" d="{" ".join(line)}"/>'
        tip = ((x, y), (x - ARROW / 2, y - ARROW), (x + ARROW / 2, y - ARROW))
        yield f'<polygon class="tip" points="{" ".join(f"{a:.1f},{b:.1f}" for a, b in tip)}"/>'
        if words := label_of(graph, edge):
            yield _draw_text(x, y - ARROW - 8, words, "factor")


def _draw_box(
    graph: Graph, vertex: Vertex, spot: Spot, width: float, height: float
) -> Iterator[str]:
    """A leaf with corners, a node without; the value's frame is thick."""
    kinds = "leaf" if vertex.leaf else "node value" if vertex is graph.vertices[-1] else "node"
    x, y, _ = spot
    place = f'x="{x - width / 2:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
    rounded = "" if vertex.leaf else f' rx="{ROUND}"'
    yield f'<rect class="{kinds}" {place}{rounded}/>'
    bold = len(heading_lines(vertex))
    for k, line in enumerate(list_all_lines(graph, vertex)):
        yield _draw_text(x, y + PAD + (k + 0.5) * LINE, line, "name" if k < bold else "said")


def _draw_text(x: float, y: float, words: str, kind: str, anchor: str = "middle") -> str:
    place = f'x="{x:.1f}" y="{y + 0.32 * LINE:.1f}" text-anchor="{anchor}"'
    return f'<text class="{kind}" {place}>{escape(words)}</text>'
