"""The backprop family: each verb said wrong at each site of the tape."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from gradcheck.diagnosis.blocks import LARGEST, Block, blocks
from gradcheck.diagnosis.line import covering
from gradcheck.engine.tape import RIGHT, Leaf, Node, Step, Verbs, reachable, walk
from gradcheck.mistakes import Accumulation, Edge, Mistake, Start
from gradcheck.opinions.tape import Tape
from gradcheck.values import Array, Params, Routine, Value

Key = tuple[Value, ...]
Span = tuple[Value, ...] | None


@dataclass(frozen=True, eq=False)
class Site:
    """Where a verb is said: an edge (node, i), a meeting (step, -1), or the start (root, -1).

    `key` finds the same site on the tape of another point; `choice` is what the mistake is made
    with there, where there is a choice; `names` is what its words may mention.
    """

    step: Step
    i: int
    key: Key
    span: Span
    choice: Value = None
    names: Params = field(default_factory=dict)

    @property
    def said(self) -> Params:
        """What a meeting of paths is called that has no place in the text: the input's name."""
        named = self.key[1] if isinstance(self.step, Leaf) and len(self.key) > 1 else ""
        return {**self.names, **({"text": named} if named else {})}


def by_way(sites: Sequence[Site]) -> dict[Key, list[Site]]:
    """The sites at which a mistake is made in the same way, as far as ways can be told alike."""
    found: dict[Key, list[Site]] = defaultdict(list)
    for site in sites:
        found[site.key[-2:] if "way" in site.key else ()].append(site)
    return found


def accumulations(tape: Tape) -> Iterator[Site]:
    """Steps that more than one edge leads to."""
    again: Counter[Key] = Counter()
    names = {id(leaf): name for name, leaf in tape.leaves.items()}
    for step, count in tape.uses.items():
        if count > 1:
            span = getattr(step, "span", None)
            label = names.get(id(step.variable)) if isinstance(step, Leaf) else step.op.name
            again[span, label] += 1
            yield Site(step, -1, (span, label, again[span, label]), span)


NEAREST = 12  # tensors on either side of a node: what stands in the same lines of code

NAMED = 30  # characters of a step's text that a sentence has room for
EARLIER = "an earlier value"

Around = Mapping[Node, tuple[Value, ...]]
Inside = tuple[Routine, tuple[Value, ...]]


def nearby(tape: Tape) -> Around:
    """For each node the distinct tensors that were made or read last before it, or next after."""
    order, at = _in_turn(tape)
    return {node: _nearest(order, k) for node, k in at.items()}


def _in_turn(tape: Tape) -> tuple[list[Value], dict[Node, int]]:
    """The distinct tensors in the order in which the run met them; how many before each node."""
    order: list[Value] = []
    seen: set[Value] = set()
    at: dict[Node, int] = {}
    for node in tape.nodes:
        given = tape.given[node]
        for tensor in (*given.operands, given.value):
            if 1 < np.size(tensor) <= LARGEST and _print(tensor) not in seen:
                seen.add(_print(tensor))
                order.append(tensor)
        at[node] = len(order)
    return order, at


def _print(tensor: Value) -> Value:
    return np.shape(tensor), np.asarray(tensor).tobytes()


def _nearest(order: list[Value], k: int) -> tuple[Value, ...]:
    """Those before the k-th, the last one first, then those from it on."""
    return (*reversed(order[max(k - NEAREST, 0) : k]), *order[k : k + NEAREST])


def inside(tape: Tape, step: Step | None) -> Inside | None:
    """The sum or difference that a step is, as a function of its two operands; else None."""
    if not isinstance(step, Node) or step.op.name not in ("add", "subtract"):
        return None
    return step.op.forward, tape.given[step].operands


def name_of(tape: Tape, step: Step) -> Value:
    """What a step is called: its input's name, or its text if that is short."""
    if isinstance(step, Leaf):
        names = (n for n, leaf in tape.leaves.items() if leaf is step.variable)
        return next(names, EARLIER)
    short = step.span is not None and step.span[-1] - step.span[-2] <= NAMED
    return step.span if short else EARLIER


Gradients = Mapping[str, Array]


@dataclass(frozen=True, eq=False)
class WrongVerb:
    """A verb said wrong at a site (None: everywhere), and the gradients that come of it."""

    key: Key
    mistake: Mistake
    site: Site | None
    span: Span
    gradients: Gradients
    said: Params = field(default_factory=dict)


def acts(tape: Tape, rows: Sequence[Mistake]) -> Iterator[WrongVerb]:
    """Every row at every site where it can happen, then at all of them together."""
    edges = edges_of(tape, nearby(tape))
    found = list(blocks(tape))
    for n, row in enumerate(rows):
        if row.verb == "stop":
            yield from _stops(tape, row, n)
            continue
        sites = sites_of(tape, row, edges)
        for site in sites:
            yield from verbs_at(tape, row, [site], (n, *site.key))
        for way, alike in by_way(sites).items() if row.habit else ():
            yield from (
                verbs_at(tape, row, alike, (n, "everywhere", *way)) if len(alike) > 1 else ()
            )
        for k, block in enumerate(found if row.verb == "pull" else ()):
            site = Site(block.y, -1, ("block", block.edge.op, k), block.y.span)
            for one in ways(row, site, block.edge) if can(row, block.edge) else ():
                yield from of_block(tape, row, block, replace(one, key=(n, *one.key)))


def _stops(tape: Tape, row: Mistake, n: int) -> Iterator[WrongVerb]:
    """The gradient by each step in the place of that by what the step is made of."""
    back = tape.back(only=set(tape.nodes))
    names = {id(leaf): name for name, leaf in tape.leaves.items()}
    for node in tape.nodes:
        leaves = [s for s in reachable([node]) if isinstance(s, Leaf)]
        below = [names[id(s.variable)] for s in leaves if id(s.variable) in names]
        if node in back and node is not tape.root and np.size(back[node]) <= LARGEST:
            site = Site(node, -1, ("stop", n, *_place(tape, node)), node.span)
            gradients = {name: np.asarray(row.wrong(back[node])) for name in below}
            yield WrongVerb(site.key, row, site, node.span, gradients)


def _place(tape: Tape, node: Node) -> Key:
    """A node by its text and op, and how many such there were before it."""
    alike = [each for each in tape.nodes if (each.span, each.op) == (node.span, node.op)]
    return node.span, node.op.name, alike.index(node)


def of_block(tape: Tape, row: Mistake, block: Block, site: Site) -> Iterator[WrongVerb]:
    """A row at a block: what it changes goes back from the block's argument."""
    edge = block.edge
    try:
        wrong = row.wrong(edge, site.choice) if row.choices else row.wrong(edge)
    except (ValueError, TypeError, IndexError):
        return  # as in `_made`
    if np.shape(wrong) == edge.shape:
        more = tape.gradients(walk([(block.x, wrong - edge.right)], retain=True))
        changed = {name: g + more[name] for name, g in tape.right.items()}
        yield WrongVerb(site.key, row, site, site.span, changed, site.said)


def edges_of(tape: Tape, around: Around) -> dict[str, list[tuple[Site, Edge]]]:
    """All edges as the right backward pass sees them, for a pull and for a fit."""
    found: dict[str, list[tuple[Site, Edge]]] = {"pull": [], "fit": []}
    again: Counter[Key] = Counter()

    def pull(node: Node, i: int, g: Value, y: Value, operands: tuple[Value, ...]) -> Value:
        right = RIGHT.pull(node, i, g, y, operands)
        if node in tape.sums:
            return right
        again[node.span, node.op.name, i] += 1
        key = (node.span, node.op.name, i, again[node.span, node.op.name, i])
        below = node.edges[i]
        assert below is not None  # nothing is pulled where there is no edge
        site = Site(node, i, key, node.span, names={"u": name_of(tape, below)})
        edge = edge_of(tape, node, i, g, right)
        beside = inside(tape, node.edges[i])
        edge = replace(edge, around=around[node], inside=beside)
        found["pull"].append((site, edge))
        found["fit"].append((site, edge_of(tape, node, i, right, RIGHT.fit(node, i, right))))
        return right

    tape.back(replace(RIGHT, pull=pull))
    return found


def edge_of(tape: Tape, node: Node, i: int, g: Value, right: Value) -> Edge:
    """The way back from a node to its i-th operand, as a row reads it."""
    given = tape.given[node]
    edge = node.edges[i]

    def said(g: Value, y: Value, operands: tuple[Value, ...]) -> Value:
        return node.op.pull(i, g, y, operands, node.params)

    return Edge(
        op=node.op.name,
        i=i,
        g=g,
        right=right,
        y=given.value,
        operands=given.operands,
        params=node.params,
        shape=_shape(node, i),
        elementwise=node.op.elementwise,
        shared=edge is not None and tape.uses[edge] > 1,
        rule=said,
        forward=partial(node.op.forward, **node.params),
    )


def sites_of(
    tape: Tape, row: Mistake, edges: Mapping[str, Sequence[tuple[Site, Edge]]]
) -> list[Site]:
    """Where a row can happen."""
    if row.verb == "seed":
        site = Site(tape.root, -1, ("start",), getattr(tape.root, "span", None))
        return [site] if row.where(Start(tape.seed, tape.value)) else []
    if row.verb == "accumulate":
        met = accumulations(tape)
        return [s for s in met if row.where(Accumulation(None, None, _of_matrices(tape, s.step)))]
    if row.verb not in edges:
        return []
    return [
        one for site, edge in edges[row.verb] if can(row, edge) for one in ways(row, site, edge)
    ]


def _of_matrices(tape: Tape, step: Step) -> bool:
    """Whether just two paths meet at a vector or matrix, both out of products of matrices."""
    users = [node for node in tape.nodes for edge in node.edges if edge is step]
    return len(users) == 2 and all(node.op.name == "matmul" for node in users)


def can(row: Mistake, edge: Edge) -> bool:
    """Whether the row can happen at the edge; a wrong cotangent that does not exist cannot."""
    try:
        return bool(row.where(edge))
    except (ValueError, TypeError, IndexError):
        return False


def ways(row: Mistake, site: Site, edge: Edge) -> list[Site]:
    """The site once for each way in which the mistake can be made there."""
    if row.choices is None:
        return [site]
    found = enumerate(row.choices(edge))
    return [replace(site, key=(*site.key, "way", n), choice=choice) for n, choice in found]


def verbs_at(tape: Tape, row: Mistake, sites: Sequence[Site], key: Key) -> Iterator[WrongVerb]:
    """The row at these sites together, unless such code would not have run."""
    verbs = _misspeak(tape, row, {(site.step, site.i): site for site in sites})
    try:
        gradients = tape.gradients(tape.back(verbs))
    except (ValueError, TypeError, IndexError):
        return  # the wrong cotangent does not fit any further: such code would not have run
    only = sites[0] if len(sites) == 1 else None
    said = only.said if only else {}
    yield WrongVerb(
        key,
        row,
        only,
        covering(site.span for site in sites) or getattr(tape.root, "span", None),
        gradients,
        said,
    )


def _misspeak(tape: Tape, row: Mistake, sites: Mapping[tuple[Step, int], Site]) -> Verbs:
    """The four verbs, one of them said wrong at the given sites."""

    def wrong(node: Node, i: int, g: Value, right: Value) -> Value:
        edge = edge_of(tape, node, i, g, right)
        return row.wrong(edge, sites[node, i].choice) if row.choices else row.wrong(edge)

    def seed(step: Step, g: Value) -> Value:
        return row.wrong(Start(g, tape.value)) if (step, -1) in sites else g

    def pull(node: Node, i: int, g: Value, y: Value, operands: tuple[Value, ...]) -> Value:
        right = RIGHT.pull(node, i, g, y, operands)
        return wrong(node, i, g, right) if (node, i) in sites else right

    def fit(node: Node, i: int, g: Value) -> Value:
        right = _fit(node, i, g)
        return wrong(node, i, g, right) if (node, i) in sites else right

    def accumulate(step: Step, held: Value, g: Value) -> Value:
        right = RIGHT.accumulate(step, held, g)
        return row.wrong(Accumulation(held, g)) if (step, -1) in sites else right

    right = replace(RIGHT, fit=_fit)
    said = {"seed": seed, "pull": pull, "fit": fit, "accumulate": accumulate}
    return replace(right, **{row.verb: said[row.verb]})  # type: ignore[arg-type]


def _fit(node: Node, i: int, g: Value) -> Value:
    """The right fit; a cotangent that broadcasting cannot have made goes on as it is."""
    shape = _shape(node, i)
    try:
        fits = g.shape == shape or np.broadcast_shapes(shape, g.shape) == g.shape
    except ValueError:
        fits = False
    return RIGHT.fit(node, i, g) if fits else g


def _shape(node: Node, i: int) -> tuple[int, ...]:
    form = node.forms[i]
    assert form is not None  # only tracked operands have edges
    return tuple(form[0])
