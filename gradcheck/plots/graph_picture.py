"""Drawing a tape: layers of boxes from the leaves down to the value."""

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch, PathPatch, Polygon
from matplotlib.path import Path

from gradcheck.plots.canvas import BLACK, BLUE, GREY, VERMILION, WIDTH, blank, look, svg_of
from gradcheck.plots.graphs import Graph, Vertex
from gradcheck.plots.labels import factor_of, heading_lines, lines_of, remarks_of
from gradcheck.plots.layering import Layout, Place, laid_out, path

SIZE = 9.0
LETTER = 0.602 * SIZE
"""The width of every letter of a typewriter's font."""
LINE = 1.35 * SIZE
PAD = 5.0
LANE, ACROSS, DOWN = 6.0, 12.0, 26.0
LABEL = 14.0
"""What a local derivative on an edge takes in height."""
MARGIN = 14.0
NARROWEST = 420.0
HEAD, HEAD_LETTER = 22.0, 7.6
NOTE, NOTE_LETTER = 14.0, 5.6
ARROW = 6.0
FILLS = {True: "#FDEBD0", False: "#E3EEF7"}
FRAMES = {True: VERMILION, False: BLUE}


@dataclass(frozen=True)
class Box:
    """A rectangle: its left upper corner, y counted downwards, and its size."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, eq=False)
class Plan:
    """Where everything goes: the boxes, the upper and lower edge of every layer, the whole size."""

    layout: Layout
    boxes: Mapping[str, Box]
    bands: tuple[tuple[float, float], ...]
    width: float
    height: float
    heading: tuple[str, ...]
    remarks: tuple[str, ...]


def graph_svg(graph: Graph) -> str:
    """The picture as SVG."""
    plan = planned(graph)
    with look():
        figure = blank(plan.width, plan.height)
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_axis_off()
        axes.set_xlim(0, plan.width)
        axes.set_ylim(plan.height, 0)
        for k, line in enumerate(plan.heading):
            axes.text(MARGIN, MARGIN + k * HEAD, line, va="top", weight="bold", size=11)
        for k, line in enumerate(plan.remarks):
            y = MARGIN + len(plan.heading) * HEAD + k * NOTE
            axes.text(MARGIN, y, line, va="top", size=9.5)
        _edges(axes, graph, plan)
        for vertex in graph.vertices:
            _box(axes, vertex, plan.boxes[vertex.key], vertex is graph.vertices[-1])
        return svg_of(figure, graph.heading, description(graph))


def planned(graph: Graph) -> Plan:
    """The places of all boxes and bands, in points."""
    sizes = {vertex.key: _size(vertex, _factors(graph, vertex)) for vertex in graph.vertices}
    widths = {key: width for key, (width, _) in sizes.items()}
    layout = laid_out(graph, widths, lane=LANE, gap=ACROSS, page=WIDTH - 2 * MARGIN)
    down = DOWN + LABEL * any(map(factor_of, graph.edges))
    width = max(layout.width + 2 * MARGIN, NARROWEST)
    inside = width - 2 * MARGIN
    heading = textwrap.wrap(graph.heading, int(inside / HEAD_LETTER))
    wrapped = (textwrap.wrap(words, int(inside / NOTE_LETTER)) for words in remarks_of(graph))
    remarks = [line for lines in wrapped for line in lines]
    top = MARGIN + HEAD * len(heading) + NOTE * len(remarks) + PAD
    left = (width - layout.width) / 2
    boxes: dict[str, Box] = {}
    bands = []
    for layer in layout.layers:
        keys = [place for place in layer if isinstance(place, str)]
        height = max(sizes[key][1] for key in keys)
        for key in keys:
            wide, high = sizes[key]
            boxes[key] = Box(left + layout.across[key] - wide / 2, top, wide, high)
        bands.append((top, top + height))
        top += height + down
    return Plan(
        layout, boxes, tuple(bands), width, top - down + MARGIN, tuple(heading), tuple(remarks)
    )


def _factors(graph: Graph, vertex: Vertex) -> list[str]:
    """What stands on the edges that come in."""
    return [factor_of(edge) for edge in graph.edges if edge.end == vertex.key]


def _size(vertex: Vertex, factors: list[str]) -> tuple[float, float]:
    """Room for every line, and for what stands side by side above the box."""
    lines = [*heading_lines(vertex), *lines_of(vertex)]
    abreast = len(factors) * (max(map(len, factors), default=0) + 1)
    return max(abreast, *map(len, lines)) * LETTER + 2 * PAD, len(lines) * LINE + 2 * PAD


def _box(axes: Axes, vertex: Vertex, box: Box, last: bool) -> None:
    """A leaf with corners, a node without; the value's frame is thick."""
    style = "square,pad=0" if vertex.leaf else "round,pad=0,rounding_size=6"
    frame = FancyBboxPatch(
        (box.x, box.y), box.width, box.height, boxstyle=style, facecolor=FILLS[vertex.leaf],
        edgecolor=FRAMES[vertex.leaf], linewidth=2.4 if last else 1.2,
        linestyle="--" if vertex.cut else "-", zorder=2,
    )  # fmt: skip
    axes.add_patch(frame)
    bold = heading_lines(vertex)
    for k, line in enumerate([*bold, *lines_of(vertex)]):
        axes.text(box.x + box.width / 2, box.y + PAD + (k + 0.5) * LINE, line, ha="center",
                  va="center_baseline", size=SIZE, family="monospace", zorder=3,
                  weight="bold" if k < len(bold) else "normal")  # fmt: skip


# -- edges -----------------------------------------------------------------------------------------


def _edges(axes: Axes, graph: Graph, plan: Plan) -> None:
    """Every edge with its arrow and factor; uses of one value share a lane on their way."""
    arrivals = _arrivals(graph, plan)
    drawn: set[tuple[Place, Place]] = set()
    for number, edge in enumerate(graph.edges):
        stops = path(plan.layout, edge)
        for upper, lower in pairwise(stops[:-1]):
            if (upper, lower) not in drawn:
                drawn.add((upper, lower))
                _line(axes, _leaving(plan, upper), _reaching(plan, lower))
        x, y = arrivals[number], plan.boxes[edge.end].y
        _line(axes, _leaving(plan, stops[-2]), (x, y - ARROW))
        head = [(x, y), (x - ARROW / 2, y - ARROW), (x + ARROW / 2, y - ARROW)]
        axes.add_patch(Polygon(head, closed=True, color=GREY, lw=0, zorder=1))
        if factor_of(edge):
            axes.text(x, y - ARROW - 8, factor_of(edge), ha="center", va="center_baseline",
                      size=SIZE, family="monospace", color=BLACK, zorder=1.5,
                      bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0})  # fmt: skip


def _arrivals(graph: Graph, plan: Plan) -> dict[int, float]:
    """Where each edge meets the upper side of its box, from left to right as they come."""
    coming: dict[str, list[int]] = {}
    for number, edge in enumerate(graph.edges):
        coming.setdefault(edge.end, []).append(number)
    found = {}
    for end, numbers in coming.items():
        before = {n: plan.layout.across[path(plan.layout, graph.edges[n])[-2]] for n in numbers}
        box = plan.boxes[end]
        for k, number in enumerate(sorted(numbers, key=before.__getitem__)):
            found[number] = box.x + box.width * (k + 0.5) / len(numbers)
    return found


def _middle(plan: Plan, place: Place) -> float:
    left = (plan.width - plan.layout.width) / 2
    return left + plan.layout.across[place]


def _reaching(plan: Plan, lane: Place) -> tuple[float, float]:
    """Where a lane enters its layer."""
    return _middle(plan, lane), plan.bands[plan.layout.layer[lane]][0]


def _leaving(plan: Plan, place: Place) -> list[tuple[float, float]]:
    """From the lower side of a box, or the upper end of a lane, to the lower edge of the layer."""
    x, (top, bottom) = _middle(plan, place), plan.bands[plan.layout.layer[place]]
    start = plan.boxes[place].y + plan.boxes[place].height if isinstance(place, str) else top
    return [(x, start), (x, bottom)]


def _line(axes: Axes, leaving: list[tuple[float, float]], to: tuple[float, float]) -> None:
    """Straight to the edge of the layer, then in a bow to the next."""
    (x, y), (x_to, y_to) = leaving[-1], to
    half = (y + y_to) / 2
    points = [*leaving, (x, half), (x_to, half), to]
    codes = [Path.MOVETO, Path.LINETO, Path.CURVE4, Path.CURVE4, Path.CURVE4]
    line = PathPatch(Path(points, codes), facecolor="none", edgecolor=GREY, lw=1.1, zorder=1)
    axes.add_patch(line)


def description(graph: Graph) -> str:
    """The picture in words."""
    nodes = ["; ".join([*heading_lines(v), *lines_of(v)]) for v in graph.vertices]
    return ". ".join([graph.heading, *nodes])
