"""Drawing a tape: layers of boxes from the leaves down to the value."""

from itertools import pairwise

from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch, PathPatch, Polygon
from matplotlib.path import Path

from gradcheck.plots.canvas import BLACK, BLUE, GREY, VERMILION, blank, look, svg_of
from gradcheck.plots.graph_plan import (
    ARROW,
    HEAD,
    LINE,
    MARGIN,
    NOTE,
    PAD,
    SIZE,
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

FILLS = {True: "#FDEBD0", False: "#E3EEF7"}
FRAMES = {True: VERMILION, False: BLUE}


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
    coming = arrivals(graph, plan)
    drawn: set[tuple[Place, Place]] = set()
    for number, edge in enumerate(graph.edges):
        stops = path(plan.layout, edge)
        for upper, lower in pairwise(stops[:-1]):
            if (upper, lower) not in drawn:
                drawn.add((upper, lower))
                _line(axes, leaving(plan, upper), reaching(plan, lower))
        x, y = coming[number], plan.boxes[edge.end].y
        _line(axes, leaving(plan, stops[-2]), (x, y - ARROW))
        head = [(x, y), (x - ARROW / 2, y - ARROW), (x + ARROW / 2, y - ARROW)]
        axes.add_patch(Polygon(head, closed=True, color=GREY, lw=0, zorder=1))
        if factor_of(edge):
            axes.text(x, y - ARROW - 8, factor_of(edge), ha="center", va="center_baseline",
                      size=SIZE, family="monospace", color=BLACK, zorder=1.5,
                      bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0})  # fmt: skip


def _line(axes: Axes, leaving: list[tuple[float, float]], to: tuple[float, float]) -> None:
    """Straight to the edge of the layer, then in a bow to the next."""
    (x, y), (x_to, y_to) = leaving[-1], to
    half = (y + y_to) / 2
    points = [*leaving, (x, half), (x_to, half), to]
    codes = [Path.MOVETO, Path.LINETO, Path.CURVE4, Path.CURVE4, Path.CURVE4]
    line = PathPatch(Path(points, codes), facecolor="none", edgecolor=GREY, lw=1.1, zorder=1)
    axes.add_patch(line)
