"""A tape as SVG: levels from the leaves down to the value, placed by one sweep."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from statistics import fmean

from gradcheck.plots.graph import (
    Graph,
    GraphEdge,
    Vertex,
    factor_of,
    heading_lines,
    lines_of,
    remarks_of,
)

PAGE = 600.0  # points: 800 pixels of a browser
SCALE = 1.25  # pixels of a page for a point: letters are then nearly as large as the text's
SIZE = 9.0
LETTER, LINE, PAD = 0.602 * SIZE, 1.35 * SIZE, 5.0  # of a typewriter's font
LANE, GAP, DOWN, MARGIN, ARROW, ROUND = 6.0, 12.0, 40.0, 14.0, 6.0, 6
HEAD, HEAD_LETTER, NOTE, NOTE_LETTER, NARROWEST = 22.0, 7.6, 14.0, 5.6, 420.0
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
.cut { stroke-dasharray: 4 3; }
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

    @property
    def width(self) -> float:
        """From the leftmost edge, which is at 0, to the rightmost."""
        return max(self.across[p] + w / 2 for p, w in self.widths.items())

    def stops(self, edge: GraphEdge) -> list[Place]:
        """The places that an edge goes through, from the operand down to what is made of it."""
        first, last = self.level[edge.start], self.level[edge.end]
        return [edge.start, *((edge.start, k) for k in range(first + 1, last)), edge.end]


def lay_out(graph: Graph, widths: Mapping[str, float], page: float = PAGE) -> Layout:
    """Levels as wide as the page; each place under the middle of its operands, where there is room.

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
    levels: list[list[Place]] = [[] for _ in range(height + 1)]
    for vertex in graph.vertices:
        key, top = vertex.key, height - above[vertex.key]
        levels[top].append(key)
        last = height - min((above[end] for end in uses.get(key, ())), default=above[key])
        for k in range(top + 1, last):
            levels[k].append((key, k))
    level = {place: k for k, places in enumerate(levels) for place in places}
    room = {p: widths[p] if isinstance(p, str) else LANE for p in level}
    found = Layout(levels, level, {}, room)
    operands: dict[Place, list[Place]] = {place: [] for place in level}
    for edge in graph.edges:
        for upper, lower in pairwise(found.stops(edge)):
            operands[lower].append(upper)
    ordered = _order(levels, operands)
    across: dict[Place, float] = {}
    for places in ordered:
        means = [fmean([across[q] for q in operands[p]] or [page / 2]) for p in places]
        across |= _apart(means, places, room)
    left = min(across[p] - w / 2 for p, w in room.items())
    return Layout(ordered, level, {p: x - left for p, x in across.items()}, room)


def _order(
    levels: Sequence[Sequence[Place]], operands: Mapping[Place, Sequence[Place]]
) -> list[list[Place]]:
    """Each level in the order in which a walk from the value up, operand by operand, meets it."""
    found: dict[Place, None] = {}
    stack = list(levels[-1])
    while stack:
        place = stack.pop()
        if place not in found:
            found[place] = None
            stack += reversed(operands[place])
    rank = {place: n for n, place in enumerate(found)}
    return [sorted(places, key=lambda p: rank.get(p, len(rank))) for places in levels]


def _apart(
    wanted: Sequence[float], places: Sequence[Place], room: Mapping[Place, float]
) -> dict[Place, float]:
    """The middles nearest to what is wanted, nobody in another's room.

    Neighbours that want the same room form a block, which moves to the mean of what they want.
    """
    offsets = [0.0]
    for left, right in pairwise(places):
        offsets.append(offsets[-1] + (room[left] + room[right]) / 2 + GAP)
    blocks: list[tuple[float, int]] = []
    for want, offset in zip(wanted, offsets, strict=True):
        mean, count = want - offset, 1
        while blocks and blocks[-1][0] >= mean:
            before, many = blocks.pop()
            mean, count = (before * many + mean * count) / (many + count), many + count
        blocks.append((mean, count))
    starts = [mean for mean, count in blocks for _ in range(count)]
    return {p: s + o for p, s, o in zip(places, starts, offsets, strict=True)}


# -- SVG -------------------------------------------------------------------------------------------


def graph_markup(graph: Graph) -> str:
    """The picture as an `svg` element of a page, with its words for those who listen."""
    body, width, height = _draw(graph)
    words = escape(description(graph).removeprefix(". "), quote=True)
    size = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width * SCALE:.0f}"'
    return f'<svg class="graph" {size} role="img" aria-label="{words}">{body}</svg>'


def graph_svg(graph: Graph) -> str:
    """The picture as a file of its own, with its title, words and look."""
    body, width, height = _draw(graph)
    size = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}pt"'
    told = f"<title>{escape(graph.heading)}</title><desc>{escape(description(graph))}</desc>"
    xmlns = 'xmlns="http://www.w3.org/2000/svg"'
    return f"<svg {xmlns} {size}>{told}<style>{STYLE}</style>{body}</svg>\n"


def description(graph: Graph) -> str:
    """The picture in words."""
    nodes = ["; ".join([*heading_lines(v), *lines_of(v)]) for v in graph.vertices]
    return ". ".join([graph.heading, *nodes])


def _draw(graph: Graph) -> tuple[str, float, float]:
    """Texts, edges, and above them the boxes; width and height."""
    sizes = {v.key: _size(v, [e for e in graph.edges if e.end == v.key]) for v in graph.vertices}
    layout = lay_out(graph, {key: wide for key, (wide, _) in sizes.items()}, PAGE - 2 * MARGIN)
    width = max(layout.width + 2 * MARGIN, NARROWEST if graph.heading else 0.0)
    body, top = _texts(graph, width)
    middle = {p: (width - layout.width) / 2 + x for p, x in layout.across.items()}
    bands = []
    for places in layout.levels:
        height = max((sizes[p][1] for p in places if isinstance(p, str)), default=0.0)
        bands.append((top, top + height))
        top += height + DOWN
    body += _edges(graph, layout, middle, bands, sizes)
    for vertex in graph.vertices:
        wide, high = sizes[vertex.key]
        corner = middle[vertex.key] - wide / 2, bands[layout.level[vertex.key]][0]
        body += _box(vertex, corner, (wide, high), vertex is graph.vertices[-1])
    return "".join(body), width, top - DOWN + MARGIN


def _size(vertex: Vertex, coming: Sequence[GraphEdge]) -> tuple[float, float]:
    """Room for every line, and for what stands side by side above the box."""
    lines = [*heading_lines(vertex), *lines_of(vertex)]
    abreast = len(coming) * (max((len(factor_of(e)) for e in coming), default=0) + 1)
    return max(abreast, *map(len, lines)) * LETTER + 2 * PAD, len(lines) * LINE + 2 * PAD


def _texts(graph: Graph, width: float) -> tuple[list[str], float]:
    """The heading, and how the picture is to be read: without one the page around it says so."""
    if not graph.heading:
        return [], MARGIN
    found, y = [], MARGIN
    for words, kind, high, letter in (
        ([graph.heading], "head", HEAD, HEAD_LETTER),
        (remarks_of(graph), "note", NOTE, NOTE_LETTER),
    ):
        for line in (li for w in words for li in textwrap.wrap(w, int((width - 28) / letter))):
            found.append(_text(MARGIN, y + high / 2, line, kind, "start"))
            y += high
    return found, y + PAD


def _edges(
    graph: Graph,
    layout: Layout,
    middle: Mapping[Place, float],
    bands: Sequence[tuple[float, float]],
    sizes: Mapping[str, tuple[float, float]],
) -> Iterator[str]:
    """Every edge with its arrow and factor, from the left to the right as they come."""
    for vertex in graph.vertices:
        coming = [(layout.stops(e), e) for e in graph.edges if e.end == vertex.key]
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
            if factor_of(edge):
                yield _text(x, y - ARROW - 8, factor_of(edge), "factor")


def _box(
    vertex: Vertex, corner: tuple[float, float], size: tuple[float, float], last: bool
) -> Iterator[str]:
    """A leaf with corners, a node without; the value's frame is thick."""
    kinds = ["leaf" if vertex.leaf else "node", "value" * last, "cut" * vertex.cut]
    (x, y), (width, height) = corner, size
    place = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
    rounded = "" if vertex.leaf else f' rx="{ROUND}"'
    yield f'<rect class="{" ".join(filter(None, kinds))}" {place}{rounded}/>'
    bold = heading_lines(vertex)
    for k, line in enumerate([*bold, *lines_of(vertex)]):
        kind = "name" if k < len(bold) else "said"
        yield _text(x + width / 2, y + PAD + (k + 0.5) * LINE, line, kind)


def _text(x: float, y: float, words: str, kind: str, anchor: str = "middle") -> str:
    place = f'x="{x:.1f}" y="{y + 0.32 * LINE:.1f}" text-anchor="{anchor}"'
    return f'<text class="{kind}" {place}>{escape(words)}</text>'
