"""The backprop family: each verb said wrong at each site of the tape.

And in steps that together are one function of a textbook: softmax, a normalisation. Those are known
by their numbers, not by how they are written: y is the softmax of x if its rows sum to 1 and
log y - x is the same along each row. No wrong step gives what goes wrong in the whole.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import prod

import numpy as np

from gradcheck.diagnosis.line import Gradients, Key, Span, cover_spans
from gradcheck.engine.tape import RIGHT, Leaf, Node, Step, Verbs, list_reachable, walk
from gradcheck.engine.tensor import unwrap
from gradcheck.mistakes import Accumulation, Edge, Mistake, Start
from gradcheck.mistakes.backprop import subsets
from gradcheck.opinions.tape import Tape
from gradcheck.ops import TABLE
from gradcheck.values import Params, Routine, Value

NEAREST = 12  # tensors on either side of a node: what stands in the same lines of code
NAMED = 30  # characters of a step's text that a sentence has room for
EARLIER = "an earlier value"
SAME = 1e-9  # of the largest entry: equal but for rounding
LARGEST = 100_000  # entries: larger tensors are not looked at
LONGEST = 300  # steps likewise
DEEPEST = 4  # axes: of more, too many subsets would have to be looked at
OVERFLOW = 700  # exp of more is infinite
UNFIT = (ValueError, TypeError, IndexError)  # of a wrong cotangent: such code would not have run

# Key, row, span, whether it is done everywhere, what its words may mention, the gradients.
WrongVerb = tuple[Key, Mistake, Span, bool, Params, Gradients]


@dataclass(frozen=True, eq=False)
class Site:
    """Where a verb is said: an edge (node, i), a meeting (step, -1), or the start (root, -1).

    `key` finds the same site on the tape of another point; `seen` is what a row may read there in
    the right pass, `said` what its words may mention. Of a mistake that can be made in several ways
    `choice` is what it is made with, `way` which one it is.
    """

    step: Step
    i: int
    key: Key
    span: Span
    seen: Value
    said: Params = field(default_factory=dict)
    choice: Value = None
    way: Key = ()


def list_acts(tape: Tape, rows: Sequence[Mistake]) -> Iterator[WrongVerb]:
    """Every row at every site where it can happen, then at all of them together."""
    span = getattr(tape.root, "span", None)
    start = Site(tape.root, -1, ("start",), span, Start(tape.seed, tape.value))
    found = {"seed": [start], "accumulate": list(_find_meetings(tape)), **_find_edges(tape)}
    by_hand = [
        (block, Site(block.y, -1, ("block", block.edge.op, k), block.y.span, block.edge))
        for k, block in enumerate(find_blocks(tape))
    ]
    for n, row in enumerate(rows):
        if row.verb == "stop":
            yield from _stop_early(tape, row, n)
            continue
        together: dict[Key, list[Site]] = defaultdict(list)
        for site in _list_ways(row, found.get(row.verb, ())):
            yield from _say(tape, row, [site], (n, *site.key))
            together[site.way].append(site)
        for way, sites in together.items():
            if row.habit and len(sites) > 1:
                yield from _say(tape, row, sites, (n, "everywhere", *way))
        for block, place in by_hand if row.verb == "pull" else ():
            for site in _list_ways(row, [place]):
                yield from _err_in_block(tape, row, block, replace(site, key=(n, *site.key)))


def _list_ways(row: Mistake, sites: Iterable[Site]) -> Iterator[Site]:
    """The sites where a row can happen, once for each way in which it can be made there."""
    for site in sites:
        try:
            possible = row.where(site.seen)
        except UNFIT:
            continue
        if possible and row.choices is None:
            yield site
        elif possible and row.choices is not None:
            for n, choice in enumerate(row.choices(site.seen)):
                way = ("way", n)
                yield replace(site, key=(*site.key, *way), choice=choice, way=way)


def _find_meetings(tape: Tape) -> Iterator[Site]:
    """Steps that more than one edge leads to; an input has no place in the text, but a name."""
    again: Counter[Key] = Counter()
    names = {id(leaf): name for name, leaf in tape.leaves.items()}
    for step, count in tape.uses.items():
        if count > 1:
            span = getattr(step, "span", None)
            label = names.get(id(step.variable)) if isinstance(step, Leaf) else step.op.name
            again[span, label] += 1
            said = {"text": label} if isinstance(step, Leaf) and label else {}
            key = (span, label, again[span, label])
            yield Site(step, -1, key, span, Accumulation(None, None), said)


def _find_edges(tape: Tape) -> dict[str, list[Site]]:
    """All edges as the right backward pass sees them, for a pull and for a fit."""
    found: dict[str, list[Site]] = {"pull": [], "fit": []}
    again: Counter[Key] = Counter()
    around = _find_nearby(tape)

    def pull(node: Node, i: int, g: Value, y: Value, operands: tuple[Value, ...]) -> Value:
        right, below = RIGHT.pull(node, i, g, y, operands), node.edges[i]
        assert below is not None  # nothing is pulled where there is no edge
        if node not in tape.sums:
            key = (node.span, node.op.name, i)
            again[key] += 1
            edge = replace(_describe_edge(tape, node, i, g, right), around=around[node])
            if isinstance(below, Node) and below.op.name in ("add", "subtract"):
                edge = replace(edge, inside=(below.op.forward, tape.given[below].operands))
            said = {"u": _name_step(tape, below)}
            site = Site(node, i, (*key, again[key]), node.span, edge, said)
            found["pull"].append(site)
            fitted = _describe_edge(tape, node, i, right, RIGHT.fit(node, i, right))
            found["fit"].append(replace(site, seen=fitted))
        return right

    tape.back(replace(RIGHT, pull=pull))
    return found


def _find_nearby(tape: Tape) -> Mapping[Node, tuple[Value, ...]]:
    """For each node the distinct tensors that were made or read last before it, or next after."""
    order: dict[Value, Value] = {}
    at: dict[Node, int] = {}
    for node in tape.nodes:
        given = tape.given[node]
        for tensor in (*given.operands, given.value):
            if 1 < np.size(tensor) <= LARGEST:
                order.setdefault((np.shape(tensor), np.asarray(tensor).tobytes()), tensor)
        at[node] = len(order)
    every = list(order.values())
    return {
        node: (*reversed(every[max(k - NEAREST, 0) : k]), *every[k : k + NEAREST])
        for node, k in at.items()
    }


def _name_step(tape: Tape, step: Step) -> Value:
    if isinstance(step, Leaf):
        return next((n for n, leaf in tape.leaves.items() if leaf is step.variable), EARLIER)
    short = step.span is not None and step.span[-1] - step.span[-2] <= NAMED
    return step.span if short else EARLIER


def _describe_edge(tape: Tape, node: Node, i: int, g: Value, right: Value) -> Edge:
    edge = node.edges[i]
    return Edge(
        op=node.op.name,
        i=i,
        g=g,
        right=right,
        y=tape.given[node].value,
        operands=tape.given[node].operands,
        params=node.params,
        shape=_find_shape(node, i),
        elementwise=node.op.elementwise,
        shared=edge is not None and tape.uses[edge] > 1,
        rule=lambda g, y, operands: node.op.pull(i, g, y, operands, node.params),
        forward=partial(node.op.forward, **node.params),
    )


def _stop_early(tape: Tape, row: Mistake, n: int) -> Iterator[WrongVerb]:
    """The gradient by each step in the place of that by what the step is made of."""
    back = tape.back(only=set(tape.nodes))
    names = {id(leaf): name for name, leaf in tape.leaves.items()}
    again: Counter[Key] = Counter()
    for node in tape.nodes:
        place = (node.span, node.op.name)
        again[place] += 1
        if node in back and node is not tape.root and np.size(back[node]) <= LARGEST:
            leaves = [s for s in list_reachable([node]) if isinstance(s, Leaf)]
            below = [names[id(s.variable)] for s in leaves if id(s.variable) in names]
            gradients = {name: np.asarray(row.wrong(back[node])) for name in below}
            yield ("stop", n, *place, again[place]), row, node.span, False, {}, gradients


def _err_in_block(tape: Tape, row: Mistake, block: "Block", site: Site) -> Iterator[WrongVerb]:
    try:
        wrong = _err(row, block.edge, site)
    except UNFIT:
        return
    if np.shape(wrong) == block.edge.shape:
        more = tape.gradients(walk([(block.x, wrong - block.edge.right)], retain=True))
        changed = {name: g + more[name] for name, g in tape.right.items()}
        yield site.key, row, site.span, False, {}, changed


def _say(tape: Tape, row: Mistake, sites: Sequence[Site], key: Key) -> Iterator[WrongVerb]:
    """The row at these sites together, unless such code would not have run."""
    verbs = _misspeak(tape, row, {(site.step, site.i): site for site in sites})
    try:
        gradients = tape.gradients(tape.back(verbs))
    except UNFIT:
        return
    span = cover_spans(site.span for site in sites) or getattr(tape.root, "span", None)
    alone = len(sites) == 1
    yield key, row, span, not alone, sites[0].said if alone else {}, gradients


def _err(row: Mistake, edge: Edge, site: Site) -> Value:
    return row.wrong(edge, site.choice) if row.choices else row.wrong(edge)


def _misspeak(tape: Tape, row: Mistake, sites: Mapping[tuple[Step, int], Site]) -> Verbs:
    def wrong(node: Node, i: int, g: Value, right: Value) -> Value:
        site = sites.get((node, i))
        return _err(row, _describe_edge(tape, node, i, g, right), site) if site else right

    def seed(step: Step, g: Value) -> Value:
        return row.wrong(Start(g, tape.value)) if (step, -1) in sites else g

    def pull(node: Node, i: int, g: Value, y: Value, operands: tuple[Value, ...]) -> Value:
        return wrong(node, i, g, RIGHT.pull(node, i, g, y, operands))

    def fit(node: Node, i: int, g: Value) -> Value:
        return wrong(node, i, g, _fit(node, i, g))

    def accumulate(step: Step, held: Value, g: Value) -> Value:
        right = RIGHT.accumulate(step, held, g)
        return row.wrong(Accumulation(held, g)) if (step, -1) in sites else right

    said = {"seed": seed, "pull": pull, "fit": fit, "accumulate": accumulate}
    return replace(RIGHT, **{"fit": _fit, row.verb: said[row.verb]})  # type: ignore[arg-type]


def _fit(node: Node, i: int, g: Value) -> Value:
    """The right fit; a cotangent that broadcasting cannot have made goes on as it is."""
    shape = _find_shape(node, i)
    try:
        fits = g.shape == shape or np.broadcast_shapes(shape, g.shape) == g.shape
    except ValueError:
        fits = False
    return RIGHT.fit(node, i, g) if fits else g


def _find_shape(node: Node, i: int) -> tuple[int, ...]:
    form = node.forms[i]
    assert form is not None  # only tracked operands have edges
    return tuple(form[0])


# -- blocks ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Block:
    """The way back from a node `y` to an earlier step `x`, as that through one op."""

    y: Node
    x: Step
    edge: Edge


def find_blocks(tape: Tape) -> Iterator[Block]:
    """Every block of several ops, from its earliest argument."""
    if len(tape.nodes) > LONGEST:
        return
    for y in tape.nodes:
        made = tape.given[y].value
        if 0 < np.ndim(made) <= DEEPEST and 0 < np.size(made) <= LARGEST:
            found = _find_block(tape, y)
            if found is not None:
                yield found


def _find_block(tape: Tape, y: Node) -> Block | None:
    made = tape.given[y].value
    kinds = [name for name, kind in KINDS.items() if y.op.name not in KINDS and kind.may_be(made)]
    for x in reversed(list_reachable([y])) if kinds else ():
        for name in kinds:
            params = KINDS[name].is_it(find_value(tape, x), made) if x is not y else None
            if params is not None:
                return _check(tape, y, x, name, params)
    return None


def find_value(tape: Tape, step: Step) -> Value:
    """The value of a node, or what a leaf holds."""
    if isinstance(step, Leaf):
        return np.asarray(unwrap(step.variable))
    return tape.given[step].value


def _check(tape: Tape, y: Node, x: Step, name: str, params: Params) -> Block | None:
    """The block, if its rule, in one of its forms, is what the run's own steps give."""
    g = tape.back(only={y}).get(y)
    if g is None:
        return None
    there = walk([(y, g)], verbs=RIGHT, retain=True, only={x}).get(x)
    for form in KINDS[name].forms:
        edge = _make_edge(name, g, tape.given[y].value, find_value(tape, x), {**params, **form})
        room = SAME * np.max(np.abs(edge.right))
        if there is not None and np.allclose(there, edge.right, rtol=0, atol=room):
            return Block(y, x, edge)
    return None


def _make_edge(name: str, g: Value, y: Value, x: Value, params: Params) -> Edge:
    def rule(g: Value, y: Value, operands: tuple[Value, ...]) -> Value:
        return KINDS[name].pull(g, y, *operands, **params)

    return Edge(
        op=name, i=0, g=g, right=rule(g, y, (x,)), y=y, operands=(x,), params=params,
        shape=x.shape, elementwise=False, shared=False, rule=rule,
    )  # fmt: skip


# -- what the kinds are known by -------------------------------------------------------------------


@dataclass(frozen=True)
class BlockKind:
    """A function of the textbook: does y look like one, its parameters if it is of x, its pull.

    `forms` are further parameters, of which one will do.
    """

    may_be: Callable[[Value], bool]
    is_it: Callable[[Value, Value], Params | None]
    pull: Routine
    forms: tuple[Params, ...] = ({},)


def _is_level(a: Value, axis: int) -> bool:
    return bool(np.all(np.ptp(a, axis=axis) <= SAME * np.maximum(1.0, np.max(np.abs(a)))))


def _is(a: Value, b: Value) -> bool:
    return bool(np.all(np.abs(a - b) <= SAME))


def _try(test: Callable[[Value, int], Value]) -> Callable[[Value], bool]:
    return lambda y: any(test(y, axis) for axis, n in enumerate(y.shape) if n > 1)


def _on_one_axis(test: Callable[[Value, Value, int], bool]) -> Callable[[Value, Value], Value]:
    """The axis along which a test holds of x and y of equal shapes, as a parameter."""

    def is_it(x: Value, y: Value) -> Params | None:
        if np.shape(x) != np.shape(y):
            return None
        axes = [k for k in range(np.ndim(y)) if y.shape[k] > 1 and test(x, y, k)]
        return {"axis": axes[-1]} if axes else None

    return is_it


def _is_softmax(x: Value, y: Value, axis: int) -> bool:
    return bool(np.all(y > 0)) and _is(y.sum(axis=axis), 1.0) and _is_level(np.log(y) - x, axis)


def _is_log_softmax(x: Value, y: Value, axis: int) -> bool:
    return bool(np.all(y < 0)) and _is(np.exp(y).sum(axis=axis), 1.0) and _is_level(y - x, axis)


def _is_logsumexp(x: Value, y: Value) -> Params | None:
    if not np.size(x) or not 0 < np.ndim(x) <= 2 or np.max(np.abs(x)) > OVERFLOW:
        return None
    for axis in range(np.ndim(x)):
        for keepdims in (False, True):
            made = np.log(np.exp(x).sum(axis=axis, keepdims=keepdims))
            if made.shape == np.shape(y) and _is(made, y):
                return {"axis": axis, "keepdims": keepdims}
    return None


def _is_normal(x: Value, y: Value) -> Params | None:
    """`scale` is the standard deviation by which was divided."""
    if np.shape(x) != np.shape(y) or _is(x, y):
        return None
    for axis in subsets(np.ndim(y)):
        if not _is_centred(y, axis):
            continue
        d = x - _take_mean(x, axis)
        scale = np.sqrt(_take_mean(d**2, axis) / _take_mean(y**2, axis))
        if np.all(np.isfinite(scale)) and _is(y * scale, d):
            return {"axis": axis, "scale": scale}
    return None


def _is_centred(y: Value, axis: tuple[int, ...]) -> bool:
    return prod(y.shape[k] for k in axis) > 1 and _is(y.mean(axis=axis), 0.0)


def _take_mean(a: Value, axis: tuple[int, ...]) -> Value:
    return np.mean(a, axis=axis, keepdims=True)


def _pull_normal(
    g: Value, y: Value, x: Value, *, axis: tuple[int, ...], scale: Value, ddof: int
) -> Value:
    """Ioffe and Szegedy 2015, the backward pass of batch normalisation, where eps is part of y."""
    n = prod(y.shape[k] for k in axis)
    return (g - _take_mean(g, axis) - y * _take_mean(g * y, axis) * n / (n - ddof)) / scale


def _pick(name: str) -> Routine:
    return lambda g, y, *operands, **params: TABLE[name].pull(0, g, y, operands, params)


KINDS: Mapping[str, BlockKind] = {
    "softmax": BlockKind(
        _try(lambda y, axis: _is(y.sum(axis=axis), 1.0)),
        _on_one_axis(_is_softmax),
        _pick("softmax"),
    ),
    "log_softmax": BlockKind(
        _try(lambda y, axis: np.all(y < 0) and _is(np.exp(y).sum(axis=axis), 1.0)),
        _on_one_axis(_is_log_softmax),
        _pick("log_softmax"),
    ),
    "logsumexp": BlockKind(
        lambda y: bool(np.all(np.isfinite(y))), _is_logsumexp, _pick("logsumexp")
    ),
    "normalise": BlockKind(
        lambda y: any(_is_centred(y, axis) for axis in subsets(np.ndim(y))),
        _is_normal,
        _pull_normal,
        ({"ddof": 0}, {"ddof": 1}),
    ),
}
