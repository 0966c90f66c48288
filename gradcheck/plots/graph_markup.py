"""A tape as SVG, in a page with the page's own colours or as a file with ours: no library."""

from collections.abc import Iterator
from html import escape
from itertools import pairwise

from gradcheck.plots.graph_plan import (
    ARROW,
    HEAD,
    LINE,
    MARGIN,
    NOTE,
    PAD,
    Box,
    Plan,
    arrivals,
    description,
    leaving,
    planned,
    reaching,
)
from gradcheck.plots.graphs import Graph, Vertex
from gradcheck.plots.labels import factor_of, heading_lines, lines_of
from gradcheck.plots.layering import Place, path

ROUND = 6
SCALE = 1.25
"""Pixels of a page for a point of the plan: its letters are then nearly as large as the text's."""
BASE = 0.32 * LINE
"""From the middle of a line of letters down to where they stand."""
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


def graph_markup(graph: Graph) -> str:
    """The picture as an `svg` element, with its words for those who listen."""
    plan = planned(graph)
    said = description(graph).removeprefix(". ")
    words = f'role="img" aria-label="{escape(said, quote=True)}"'
    size = f'{_seen(plan)} width="{plan.width * SCALE:.0f}"'
    return f'<svg class="graph" {size} {words}>{_body(graph, plan)}</svg>'


def graph_svg(graph: Graph) -> str:
    """The picture as a file of its own, with its title, words and look."""
    plan = planned(graph)
    size = f'{_seen(plan)} width="{plan.width:.0f}pt"'
    told = f"<title>{escape(graph.heading)}</title><desc>{escape(description(graph))}</desc>"
    body = f"{told}<style>{STYLE}</style>{_body(graph, plan)}"
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{body}</svg>\n'


def _seen(plan: Plan) -> str:
    return f'viewBox="0 0 {plan.width:.0f} {plan.height:.0f}"'


def _body(graph: Graph, plan: Plan) -> str:
    """Texts, edges, and above them the boxes."""
    body = [*_texts(plan), *_edges(graph, plan)]
    for vertex in graph.vertices:
        body += _box(vertex, plan.boxes[vertex.key], vertex is graph.vertices[-1])
    return "".join(body)


def _texts(plan: Plan) -> Iterator[str]:
    """The heading, if there is one, and how the picture is to be read."""
    for k, line in enumerate(plan.heading):
        yield _text(MARGIN, MARGIN + k * HEAD + HEAD / 2, line, "head", "start")
    for k, line in enumerate(plan.remarks):
        y = MARGIN + len(plan.heading) * HEAD + k * NOTE + NOTE / 2
        yield _text(MARGIN, y, line, "note", "start")


def _box(vertex: Vertex, box: Box, last: bool) -> Iterator[str]:
    """A leaf with corners, a node without; the value's frame is thick."""
    kinds = [
        "leaf" if vertex.leaf else "node",
        "value" if last else "",
        "cut" if vertex.cut else "",
    ]
    corner = "" if vertex.leaf else f' rx="{ROUND}"'
    place = f'x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}"'
    yield f'<rect class="{" ".join(filter(None, kinds))}" {place}{corner}/>'
    bold = heading_lines(vertex)
    for k, line in enumerate([*bold, *lines_of(vertex)]):
        kind = "name" if k < len(bold) else "said"
        yield _text(box.x + box.width / 2, box.y + PAD + (k + 0.5) * LINE, line, kind)


def _edges(graph: Graph, plan: Plan) -> Iterator[str]:
    """Every edge with its arrow and factor; uses of one value share a lane on their way."""
    coming = arrivals(graph, plan)
    drawn: set[tuple[Place, Place]] = set()
    for number, edge in enumerate(graph.edges):
        stops = path(plan.layout, edge)
        for upper, lower in pairwise(stops[:-1]):
            if (upper, lower) not in drawn:
                drawn.add((upper, lower))
                yield _line(leaving(plan, upper), reaching(plan, lower))
        x, y = coming[number], plan.boxes[edge.end].y
        yield _line(leaving(plan, stops[-2]), (x, y - ARROW))
        tip = ((x, y), (x - ARROW / 2, y - ARROW), (x + ARROW / 2, y - ARROW))
        corners = " ".join(f"{a:.1f},{b:.1f}" for a, b in tip)
        yield f'<polygon class="tip" points="{corners}"/>'
        if factor_of(edge):
            yield _text(x, y - ARROW - 8, factor_of(edge), "factor")


def _line(start: list[tuple[float, float]], to: tuple[float, float]) -> str:
    """Straight to the edge of the layer, then in a bow to the next."""
    (x, y), (x_to, y_to) = start[-1], to
    half = (y + y_to) / 2
    straight = " L".join(f"{a:.1f} {b:.1f}" for a, b in start)
    bow = f"C{x:.1f} {half:.1f} {x_to:.1f} {half:.1f} {x_to:.1f} {y_to:.1f}"
    return f'<path class="edge" d="M{straight} {bow}"/>'


def _text(x: float, y: float, words: str, kind: str, anchor: str = "middle") -> str:
    """A line of letters around a middle height."""
    place = f'x="{x:.1f}" y="{y + BASE:.1f}" text-anchor="{anchor}"'
    return f'<text class="{kind}" {place}>{escape(words)}</text>'
