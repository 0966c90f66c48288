"""A tape as SVG: levels from the leaves down to the value, placed by one sweep."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from gradcheck.plots.graph import (
    Graph,
    GraphEdge,
    Vertex,
    heading_lines,
    label_of,
    lines_of,
    remarks_of,
)

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
    uses: dict[str, list[str]] = {}
    for edge in graph.edges:
        uses.setdefault(edge.start, []).append(edge.end)
    above: dict[str, int] = {}  # how many levels above the value
    taken: dict[int, float] = {}
    for vertex in reversed(graph.vertices):
        k = max((above[end] + 1 for end in uses.get(vertex.key, ())), default=0)
        while taken.get(k) and taken[k] + widths[vertex.key] + GAP > page:
            k += 1
        above[vertex.key] = k
        taken[k] = taken.get(k, 0.0) + widths[vertex.key] + GAP
    height = max(above.values())
    level: dict[Place, int] = {}
    for key, k in ((v.key, above[v.key]) for v in graph.vertices):
        level[key] = height - k
        lowest = height - min((above[end] for end in uses.get(key, ())), default=k)
        level |= {(key, lane): lane for lane in range(height - k + 1, lowest)}
    room = {p: widths[p] if isinstance(p, str) else LANE for p in level}
    levels = _order_levels(graph, level, height + 1)
    wide = [sum(room[p] + GAP for p in places) - GAP for places in levels]
    across: dict[Place, float] = {}
    for places, own in zip(levels, wide, strict=True):
        x = (max(wide) - own) / 2
        for place in places:
            across[place] = x + room[place] / 2
            x += room[place] + GAP
    return Layout(levels, level, across, room, max(wide))


def _order_levels(graph: Graph, level: Mapping[Place, int], height: int) -> list[list[Place]]:
    """Each level in the order in which a walk from the value up, operand by operand, meets it."""
    operands: dict[Place, list[Place]] = {}
    for edge in graph.edges:
        for upper, lower in pairwise(find_stops(level, edge)):
            operands.setdefault(lower, []).append(upper)
    found: dict[Place, None] = {}
    stack: list[Place] = [v.key for v in graph.vertices]
    while stack:
        place = stack.pop()
        if place not in found:
            found[place] = None
            stack += reversed(operands.get(place, []))
    levels: list[list[Place]] = [[] for _ in range(height)]
    for place in found:
        levels[level[place]].append(place)
    return levels


# -- SVG -------------------------------------------------------------------------------------------


def graph_markup(graph: Graph) -> str:
    """The picture as an `svg` element of a page, with its words for those who listen."""
    body, width, height = _draw(graph)
    words = escape(describe(graph).removeprefix(". "), quote=True)
    size = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width * SCALE:.0f}"'
    return f'<svg class="graph" {size} role="img" aria-label="{words}">{body}</svg>'


def graph_svg(graph: Graph) -> str:
    """The picture as a file of its own, with its title, words and look."""
    body, width, height = _draw(graph)
    size = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}pt"'
    told = f"<title>{escape(graph.heading)}</title><desc>{escape(describe(graph))}</desc>"
    xmlns = 'xmlns="http://www.w3.org/2000/svg"'
    return f"<svg {xmlns} {size}>{told}<style>{STYLE}</style>{body}</svg>\n"


def describe(graph: Graph) -> str:
    nodes = ["; ".join([*heading_lines(v), *lines_of(graph, v)]) for v in graph.vertices]
    return ". ".join([graph.heading, *nodes])


def _draw(graph: Graph) -> tuple[str, float, float]:
    """Texts, edges, and above them the boxes; width and height.

    A page around it tells how it is to be read; where it has a heading, it does so itself.
    """
    sizes = {vertex.key: _measure(graph, vertex) for vertex in graph.vertices}
    layout = lay_out(graph, {key: wide for key, (wide, _) in sizes.items()}, PAGE - 2 * MARGIN)
    told = [graph.heading, *textwrap.wrap(" ".join(remarks_of(graph)), LETTERS)]
    told = told if graph.heading else []
    width = max([layout.width, *(len(line) * HEAD_LETTER for line in told)]) + 2 * MARGIN
    body, top = list[str](), MARGIN
    for line in told:
        body.append(_draw_text(MARGIN, top + HEAD / 2, line, "note" if body else "head", "start"))
        top += HEAD
    middle = {p: (width - layout.width) / 2 + x for p, x in layout.across.items()}
    bands = []
    for places in layout.levels:
        height = max((sizes[p][1] for p in places if isinstance(p, str)), default=0.0)
        bands.append((top, top + height))
        top += height + DOWN
    body += _draw_edges(graph, layout, middle, bands, sizes)
    for vertex in graph.vertices:
        wide, high = sizes[vertex.key]
        corner = middle[vertex.key] - wide / 2, bands[layout.level[vertex.key]][0]
        body += _draw_box(graph, vertex, corner, (wide, high))
    return "".join(body), width, top - DOWN + MARGIN


def _measure(graph: Graph, vertex: Vertex) -> tuple[float, float]:
    """Room for every line, and for what stands side by side above the box."""
    lines = [*heading_lines(vertex), *lines_of(graph, vertex)]
    coming = [len(label_of(graph, edge)) for edge in graph.edges if edge.end == vertex.key]
    abreast = len(coming) * (max(coming, default=0) + 1)
    return max(abreast, *map(len, lines)) * LETTER + 2 * PAD, len(lines) * LINE + 2 * PAD


def _draw_edges(
    graph: Graph,
    layout: Layout,
    middle: Mapping[Place, float],
    bands: Sequence[tuple[float, float]],
    sizes: Mapping[str, tuple[float, float]],
) -> Iterator[str]:
    """Every edge with its arrow and factor, from the left to the right as they come."""
    for vertex in graph.vertices:
        coming = [(find_stops(layout.level, e), e) for e in graph.edges if e.end == vertex.key]
        coming.sort(key=lambda each: middle[each[0][-2]])
        wide, y = sizes[vertex.key][0], bands[layout.level[vertex.key]][0]
        for k, (stops, edge) in enumerate(coming):
            x = middle[vertex.key] + wide * ((k + 0.5) / len(coming) - 0.5)
            at = bands[layout.level[edge.start]][0] + sizes[edge.start][1]
            line = [f"M{middle[edge.start]:.1f} {at:.1f}"]
            for upper, lower in pairwise(stops):
                start, end = bands[layout.level[upper]][1], bands[layout.level[lower]][0]
                to = (x, end - ARROW) if lower == vertex.key else (middle[lower], end)
                half = (start + to[1]) / 2
                line.append(f"L{middle[upper]:.1f} {start:.1f} C{middle[upper]:.1f} {half:.1f}")
                line.append(f"{to[0]:.1f} {half:.1f} {to[0]:.1f} {to[1]:.1f}")
            yield f'<path class="edge" d="{" ".join(line)}"/>'
            tip = ((x, y), (x - ARROW / 2, y - ARROW), (x + ARROW / 2, y - ARROW))
            yield f'<polygon class="tip" points="{" ".join(f"{a:.1f},{b:.1f}" for a, b in tip)}"/>'
            if words := label_of(graph, edge):
                yield _draw_text(x, y - ARROW - 8, words, "factor")


def _draw_box(
    graph: Graph, vertex: Vertex, corner: tuple[float, float], size: tuple[float, float]
) -> Iterator[str]:
    """A leaf with corners, a node without; the value's frame is thick."""
    kinds = "leaf" if vertex.leaf else "node value" if vertex is graph.vertices[-1] else "node"
    (x, y), (width, height) = corner, size
    place = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
    rounded = "" if vertex.leaf else f' rx="{ROUND}"'
    yield f'<rect class="{kinds}" {place}{rounded}/>'
    bold = heading_lines(vertex)
    for k, line in enumerate([*bold, *lines_of(graph, vertex)]):
        kind = "name" if k < len(bold) else "said"
        yield _draw_text(x + width / 2, y + PAD + (k + 0.5) * LINE, line, kind)


def _draw_text(x: float, y: float, words: str, kind: str, anchor: str = "middle") -> str:
    place = f'x="{x:.1f}" y="{y + 0.32 * LINE:.1f}" text-anchor="{anchor}"'
    return f'<text class="{kind}" {place}>{escape(words)}</text>'
