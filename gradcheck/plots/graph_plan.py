"""Where the boxes and lines of a drawn tape go, in points; y is counted downwards."""

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass

from gradcheck.plots.graphs import Graph, Vertex
from gradcheck.plots.labels import factor_of, heading_lines, lines_of, remarks_of
from gradcheck.plots.layering import Layout, Place, laid_out, path

WIDTH = 600.0
"""800 pixels of a browser."""
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


def planned(graph: Graph) -> Plan:
    """The places of all boxes and bands, in points."""
    sizes = {vertex.key: _size(vertex, _factors(graph, vertex)) for vertex in graph.vertices}
    widths = {key: width for key, (width, _) in sizes.items()}
    layout = laid_out(graph, widths, lane=LANE, gap=ACROSS, page=WIDTH - 2 * MARGIN)
    down = DOWN + LABEL * any(map(factor_of, graph.edges))
    width = max(layout.width + 2 * MARGIN, NARROWEST if graph.heading else 0.0)
    inside = width - 2 * MARGIN
    heading = textwrap.wrap(graph.heading, int(inside / HEAD_LETTER))
    said = remarks_of(graph) if graph.heading else []  # without one the page around it says them
    wrapped = (textwrap.wrap(words, int(inside / NOTE_LETTER)) for words in said)
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


def arrivals(graph: Graph, plan: Plan) -> dict[int, float]:
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


def middle_of(plan: Plan, place: Place) -> float:
    """The middle of a place, across."""
    left = (plan.width - plan.layout.width) / 2
    return left + plan.layout.across[place]


def reaching(plan: Plan, lane: Place) -> tuple[float, float]:
    """Where a lane enters its layer."""
    return middle_of(plan, lane), plan.bands[plan.layout.layer[lane]][0]


def leaving(plan: Plan, place: Place) -> list[tuple[float, float]]:
    """From the lower side of a box, or the upper end of a lane, to the lower edge of the layer."""
    x, (top, bottom) = middle_of(plan, place), plan.bands[plan.layout.layer[place]]
    start = plan.boxes[place].y + plan.boxes[place].height if isinstance(place, str) else top
    return [(x, start), (x, bottom)]


def description(graph: Graph) -> str:
    """The picture in words."""
    nodes = ["; ".join([*heading_lines(v), *lines_of(v)]) for v in graph.vertices]
    return ". ".join([graph.heading, *nodes])
