"""Where the nodes of a graph are drawn: layers from the leaves down to the value.

The layers are built from the value up: a node stands right above the first layer in which it is
used, and a layer that is full pushes what is left further up. A value that is used farther below
has a lane to get there: one for all its uses, with a turn-off at each.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from statistics import fmean

from gradcheck.plots.graphs import Edge, Graph

SWEEPS = 8
SETTLING = 150
# How much a place follows its neighbours: a lane itself above all, a node other nodes more than
# lanes, for a chain is to be straight too.
PULL = {(True, True): 16.0, (False, False): 4.0, (True, False): 1.0, (False, True): 1.0}

Lane = tuple[str, int]
Place = str | Lane
"""What takes room in a layer: a node, or the lane of one on its way down."""


@dataclass(frozen=True, eq=False)
class Layout:
    """The layers from the top down, the layer of every place, and its middle across, from 0 up."""

    layers: tuple[tuple[Place, ...], ...]
    layer: Mapping[Place, int]
    across: Mapping[Place, float]
    width: float


def laid_out(
    graph: Graph, widths: Mapping[str, float], *, lane: float, gap: float, page: float
) -> Layout:
    """The layout of a graph whose nodes have these widths, with gaps between.

    It is no wider than the page, unless a single layer is: where many lanes go through.
    """
    levels = _levels(graph, {key: width + gap for key, width in widths.items()}, page)
    layers = _layers(graph, levels)
    links = _links(graph, layers)
    ordered = _ordered(layers, links)
    room = {p: widths[p] if isinstance(p, str) else lane for layer in layers for p in layer}
    across = _placed(ordered, links, Room(room, gap, page))
    left = min(across[place] - room[place] / 2 for place in room)
    right = max(across[place] + room[place] / 2 for place in room)
    return Layout(
        tuple(map(tuple, ordered)),
        {place: k for k, layer in enumerate(ordered) for place in layer},
        {place: x - left for place, x in across.items()},
        right - left,
    )


def path(layout: Layout, edge: Edge) -> list[Place]:
    """The places that an edge goes through, from the operand down to what is made of it."""
    first, last = layout.layer[edge.start], layout.layer[edge.end]
    return [edge.start, *((edge.start, k) for k in range(first + 1, last)), edge.end]


# -- layers ----------------------------------------------------------------------------------------


def _layers(graph: Graph, level: Mapping[str, int]) -> list[list[Place]]:
    """The nodes by layers, top first, and the lanes between."""
    height = max(level.values())
    layers: list[list[Place]] = [[] for _ in range(height + 1)]
    for vertex in graph.vertices:
        layers[height - level[vertex.key]].append(vertex.key)
    for start, ends in _uses(graph.edges).items():
        lowest = min(level[end] for end in ends)
        for k in range(height - level[start] + 1, height - lowest):
            layers[k].append((start, k))
    return layers


def _levels(graph: Graph, room: Mapping[str, float], limit: float) -> dict[str, int]:
    """How many layers above the value each node stands.

    Operands come before what is made of them, so a walk from the last to the first meets a node
    when all its uses have their places.
    """
    uses = _uses(graph.edges)
    level: dict[str, int] = {}
    taken: dict[int, float] = {}
    for vertex in reversed(graph.vertices):
        k = max((level[end] + 1 for end in uses.get(vertex.key, ())), default=0)
        while k in taken and taken[k] + room[vertex.key] > limit:
            k += 1
        level[vertex.key] = k
        taken[k] = taken.get(k, 0.0) + room[vertex.key]
    return level


def _uses(edges: Iterable[Edge]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for edge in edges:
        found.setdefault(edge.start, []).append(edge.end)
    return found


# -- order and places ------------------------------------------------------------------------------

Links = tuple[Mapping[Place, list[Place]], Mapping[Place, list[Place]]]
"""The neighbours of every place in the layer above it, and in the layer below."""
Order = Sequence[Sequence[Place]]


@dataclass(frozen=True, eq=False)
class Room:
    """The width of every place, the gap between two, and the width of the page."""

    of: Mapping[Place, float]
    gap: float
    page: float


def _links(graph: Graph, layers: Order) -> Links:
    where = {place: k for k, layer in enumerate(layers) for place in layer}
    above: dict[Place, list[Place]] = {place: [] for place in where}
    below: dict[Place, list[Place]] = {place: [] for place in where}
    for edge in graph.edges:
        lanes = [(edge.start, k) for k in range(where[edge.start] + 1, where[edge.end])]
        stops: list[Place] = [edge.start, *lanes, edge.end]
        for upper, lower in pairwise(stops):
            if upper not in above[lower]:
                above[lower].append(upper)
                below[upper].append(lower)
    return above, below


def _ordered(layers: Order, links: Links) -> Order:
    """Each layer from left to right, with as few crossings as a few tries find.

    The first try orders the operands as the program does, which is best for trees; then each layer
    goes by the middle of its neighbours, from above and from below by turns.
    """
    now = best = _as_written(layers, links)
    least = _crossings(best, links)
    for sweep in range(SWEEPS):
        if not least:
            break
        now = _swept(now, links[sweep % 2], upwards=bool(sweep % 2))
        if (count := _crossings(now, links)) < least:
            best, least = now, count
    return best


def _as_written(layers: Order, links: Links) -> Order:
    """The places in the order in which a walk from the value up, operand by operand, finds them."""
    found: dict[Place, None] = {}
    stack = list(layers[-1])
    while stack:
        place = stack.pop()
        if place not in found:
            found[place] = None
            stack += reversed(links[0][place])
    rank = {place: n for n, place in enumerate(found)}
    return [sorted(layer, key=rank.__getitem__) for layer in layers]


def _swept(order: Order, near: Mapping[Place, list[Place]], *, upwards: bool) -> Order:
    """Layer by layer, every place by the mean rank of its neighbours."""
    found = [list(layer) for layer in order]
    rank = {place: float(n) for layer in order for n, place in enumerate(layer)}
    for layer in reversed(found) if upwards else found:
        means = {place: fmean([rank[q] for q in near[place]] or [rank[place]]) for place in layer}
        layer.sort(key=means.__getitem__)
        rank |= {place: float(n) for n, place in enumerate(layer)}
    return found


def _crossings(order: Order, links: Links) -> int:
    """How many pairs of lines cross."""
    rank = {place: n for layer in order for n, place in enumerate(layer)}
    count = 0
    for layer in order:
        lines = [(rank[place], rank[lower]) for place in layer for lower in links[1][place]]
        count += sum((a - c) * (b - d) < 0 for (a, b), (c, d) in combinations(lines, 2))
    return count


def _placed(ordered: Order, links: Links, room: Room) -> dict[Place, float]:
    """The middle of every place: as close to its neighbours' as the order allows."""
    across: dict[Place, float] = {}
    for layer in ordered:
        across |= _apart([room.page / 2] * len(layer), layer, room)
    for sweep in range(SETTLING):
        for layer in ordered if sweep % 2 else reversed(ordered):
            wanted = [_wanted(place, links, across) for place in layer]
            across |= _apart(wanted, layer, room)
    return across


def _wanted(place: Place, links: Links, across: Mapping[Place, float]) -> float:
    """The mean of the neighbours' middles."""
    near = [*links[0][place], *links[1][place]]
    if not near:
        return across[place]
    weights = [PULL[isinstance(place, tuple), isinstance(q, tuple)] for q in near]
    return fmean([across[q] for q in near], weights)


def _apart(wanted: Sequence[float], layer: Sequence[Place], room: Room) -> dict[Place, float]:
    """The middles nearest to what is wanted (least squares), nobody in another's room, on the page.

    Neighbours that want the same room form a block, which moves to the mean of what they want.
    """
    offsets = [0.0]
    for left, right in pairwise(layer):
        offsets.append(offsets[-1] + (room.of[left] + room.of[right]) / 2 + room.gap)
    blocks: list[tuple[float, int]] = []
    for want, offset in zip(wanted, offsets, strict=True):
        mean, count = want - offset, 1
        while blocks and blocks[-1][0] >= mean:
            before, many = blocks.pop()
            mean, count = (before * many + mean * count) / (many + count), many + count
        blocks.append((mean, count))
    least = room.of[layer[0]] / 2
    most = max(least, room.page - offsets[-1] - room.of[layer[-1]] / 2)
    starts = [min(max(mean, least), most) for mean, count in blocks for _ in range(count)]
    middles = (start + offset for start, offset in zip(starts, offsets, strict=True))
    return dict(zip(layer, middles, strict=True))
