"""The backprop family: each verb said wrong at each site of the tape.

And in steps that together are one function of a textbook: softmax, a normalisation. Those are known
by their numbers, not by how they are written: y is the softmax of x if its rows sum to 1 and
log y - x is the same along each row. No wrong step gives what goes wrong in the whole.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from math import prod

import numpy as np

from gradcheck.diagnosis.line import Gradients, Key, Made, Span, cover_spans, measure_width
from gradcheck.engine.tape import RIGHT, Leaf, Node, Step, Verbs, list_reachable, walk
from gradcheck.engine.tensor import unwrap
from gradcheck.mistakes import Edge, Mistake
from gradcheck.mistakes.backprop import NORMALISE, subsets
from gradcheck.opinions.tape import Tape
from gradcheck.ops import TABLE
from gradcheck.ops.row import Op
from gradcheck.values import Params, Routine, Value

NEAREST = 12  # tensors on either side of a node: what stands in the same lines of code
NAMED = 30  # characters of a step's text that a sentence has room for
EARLIER = "an earlier value"
SAME = 1e-9  # of the largest entry: equal but for rounding
LARGEST = 100_000  # entries: larger tensors are not looked at
LONGEST = 300  # steps likewise
DEEPEST = 4  # axes: of more, too many subsets would have to be looked at
UNFIT = (ValueError, TypeError, IndexError)  # of a wrong cotangent: such code would not have run

Attempts = Iterator[tuple[Key, Made, Gradients]]


@dataclass(frozen=True, eq=False)
class Site:
    """Where a verb is said: an edge (node, i), a meeting (step, -1), or the start (root, -1).

    `key` finds the same site on the tape of another point; `seen` is what a row is told there in
    the right pass, `said` what its words may mention. Of a mistake that can be made in several ways
    `way` is which one it is, `given` what the row is told of it besides. Of a block `step` is what
    it is made of.
    """

    step: Step
    i: int
    key: Key
    span: Span
    seen: tuple[Value, ...]
    said: Params = field(default_factory=dict)
    way: int = 0
    given: tuple[Value, ...] = ()


def list_acts(tape: Tape, rows: Sequence[Mistake]) -> Attempts:
    """Every row at every site where it can happen, then at all of them together."""
    found, blocks = _find_sites(tape), find_blocks(tape)
    for n, row in enumerate(rows):
        if row.verb == "stop":
            yield from _stop_early(tape, row, n)
            continue
        together: dict[int, list[Site]] = defaultdict(list)
        for site in _list_ways(row, found[row.verb]):
            yield from _say(tape, row, [site], (n, *site.key))
            together[site.way].append(site)
        for way, sites in together.items():
            if row.habit and len(sites) > 1:
                yield from _say(tape, row, sites, (n, "everywhere", way))
        for site in _list_ways(row, blocks) if row.verb == "pull" else ():
            yield from _err_in_block(tape, row, site, (n, *site.key))


def _list_ways(row: Mistake, sites: Iterable[Site]) -> Iterator[Site]:
    """The sites where a row can happen, once for each way in which it can be made there."""
    for site in sites:
        try:
            possible = row.where(*site.seen)
        except UNFIT:
            continue
        if possible:
            ways = [(choice,) for choice in row.choices(*site.seen)] if row.choices else [()]
            for n, given in enumerate(ways):
                yield replace(site, key=(*site.key, n), way=n, given=given)


def _number(again: Counter[Key], *key: Value) -> Key:
    """A key that no other site has, though they stand at one place: in a loop."""
    again[key] += 1
    return (*key, again[key])


def _find_sites(tape: Tape) -> dict[str, list[Site]]:
    """Where each verb is said: at the start, where edges meet, and at every edge as it is right."""
    span = getattr(tape.root, "span", None)
    start = Site(tape.root, -1, ("start",), span, (tape.seed, tape.value))
    found: dict[str, list[Site]] = {"seed": [start], "accumulate": [], "pull": [], "fit": []}
    again: Counter[Key] = Counter()
    for step in (step for step, count in tape.uses.items() if count > 1):
        span, name = getattr(step, "span", None), _name_leaf(tape, step)
        label = (
            step.op.name if isinstance(step, Node) else name
        )  # an input has no place in the text
        key, said = _number(again, span, label), {"text": name} if name else {}
        found["accumulate"].append(Site(step, -1, key, span, (None, None), said))
    around = _find_nearby(tape)

    def pull(node: Node, i: int, g: Value, y: Value, operands: tuple[Value, ...]) -> Value:
        right, below = RIGHT.pull(node, i, g, y, operands), node.edges[i]
        assert below is not None  # nothing is pulled where there is no edge
        if node not in tape.sums:
            edge = replace(_describe_edge(tape, node, i, g, right), around=around[node])
            key = _number(again, node.span, node.op.name, i)
            site = Site(node, i, key, node.span, (edge,), {"u": _name_step(tape, below)})
            found["pull"].append(site)
            fitted = _describe_edge(tape, node, i, right, RIGHT.fit(node, i, right))
            found["fit"].append(replace(site, seen=(fitted,)))
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


def _name_leaf(tape: Tape, step: Step) -> str:
    variable = step.variable if isinstance(step, Leaf) else None
    return next((name for name, leaf in tape.leaves.items() if leaf is variable), "")


def _name_step(tape: Tape, step: Step) -> Value:
    if isinstance(step, Leaf):
        return _name_leaf(tape, step) or EARLIER
    return step.span if 0 <= measure_width(step.span) <= NAMED else EARLIER


def _describe_edge(tape: Tape, node: Node, i: int, g: Value, right: Value) -> Edge:
    below, given = node.edges[i], tape.given[node]
    shared = below is not None and tape.uses[below] > 1
    known = given.value, given.operands, node.params, _find_shape(node, i)
    edge = Edge(node.op, i, g, right, *known, shared)
    if isinstance(below, Node) and below.op.name in ("add", "subtract"):
        return replace(edge, inside=(below.op.forward, tape.given[below].operands))
    return edge


def _stop_early(tape: Tape, row: Mistake, n: int) -> Attempts:
    """The gradient by each step in the place of that by what the step is made of."""
    back = tape.back(only=set(tape.nodes))
    again: Counter[Key] = Counter()
    for node in tape.nodes:
        key = _number(again, node.span, node.op.name)
        if node in back and node is not tape.root and np.size(back[node]) <= LARGEST:
            below = filter(None, (_name_leaf(tape, step) for step in list_reachable([node])))
            found = dict.fromkeys(below, np.asarray(row.wrong(back[node])))
            yield (n, *key), Made(row, node.span), found


def _err_in_block(tape: Tape, row: Mistake, site: Site, key: Key) -> Attempts:
    (edge,) = site.seen
    try:
        wrong = row.wrong(edge, *site.given)
    except UNFIT:
        return
    if np.shape(wrong) == edge.shape:
        more = tape.gradients(walk([(site.step, wrong - edge.right)], retain=True))
        yield key, Made(row, site.span), {name: g + more[name] for name, g in tape.right.items()}


def _say(tape: Tape, row: Mistake, sites: Sequence[Site], key: Key) -> Attempts:
    """The row at these sites together, unless such code would not have run."""
    verbs = _misspeak(tape, row, {(site.step, site.i): site for site in sites})
    try:
        gradients = tape.gradients(tape.back(verbs))
    except UNFIT:
        return
    span = cover_spans(site.span for site in sites) or getattr(tape.root, "span", None)
    alone = len(sites) == 1
    say: Callable[[], Params] = partial(dict, sites[0].said if alone else {})
    yield key, Made(row, span, [], not alone, say), gradients


def _misspeak(tape: Tape, row: Mistake, sites: Mapping[tuple[Step, int], Site]) -> Verbs:
    def err(step: Step, i: int, right: Value, see: Callable[[], tuple[Value, ...]]) -> Value:
        site = sites.get((step, i))
        return right if site is None else row.wrong(*see(), *site.given)

    def err_at(node: Node, i: int, g: Value, right: Value) -> Value:
        return err(node, i, right, lambda: (_describe_edge(tape, node, i, g, right),))

    def accumulate(step: Step, held: Value, g: Value) -> Value:
        return err(step, -1, RIGHT.accumulate(step, held, g), lambda: (held, g))

    verbs: Mapping[str, Routine] = {
        "seed": lambda step, g: err(step, -1, g, lambda: (g, tape.value)),
        "pull": lambda node, i, g, *given: err_at(node, i, g, RIGHT.pull(node, i, g, *given)),
        "fit": lambda node, i, g: err_at(node, i, g, _fit(node, i, g)),
        "accumulate": accumulate,
    }
    return replace(RIGHT, **{"fit": _fit, row.verb: verbs[row.verb]})  # type: ignore[arg-type]


def _fit(node: Node, i: int, g: Value) -> Value:
    """The right fit; a cotangent that broadcasting cannot have made goes on as it is."""
    shape = _find_shape(node, i)
    with suppress(ValueError):
        if g.shape == shape or np.broadcast_shapes(shape, g.shape) == g.shape:
            return RIGHT.fit(node, i, g)
    return g


def _find_shape(node: Node, i: int) -> tuple[int, ...]:
    form = node.forms[i]
    assert form is not None  # only tracked operands have edges
    return tuple(form[0])


# -- blocks ----------------------------------------------------------------------------------------


def find_blocks(tape: Tape) -> list[Site]:
    """Every block of several ops, from its earliest argument."""
    found: list[Site] = []
    for y in tape.nodes if len(tape.nodes) <= LONGEST else ():
        made = tape.given[y].value
        if 0 < np.ndim(made) <= DEEPEST and 0 < np.size(made) <= LARGEST:
            edge, x = _find_block(tape, y, made)
            if edge is not None:
                found.append(Site(x, -1, ("block", edge.op, len(found)), y.span, (edge,)))
    return found


def _find_block(tape: Tape, y: Node, made: Value) -> tuple[Edge | None, Step]:
    """The block as one edge, if its rule, in one of its forms, is what the run's steps give."""
    named = any(row.name == y.op.name for row, *_ in KINDS)
    kinds = [] if named else [(row, find) for row, may_be, find in KINDS if may_be(made)]
    for x, (row, find) in product(reversed(list_reachable([y])[1:]) if kinds else (), kinds):
        operand = np.asarray(unwrap(x.variable) if isinstance(x, Leaf) else tape.given[x].value)
        forms = list(find(operand, made))
        g = tape.back(only={y}).get(y) if forms else None
        there: Value = None if g is None else walk([(y, g)], retain=True, only={x}).get(x)
        for params in forms if there is not None else ():
            right = row.pull(0, g, made, (operand,), params)
            if np.allclose(there, right, rtol=0, atol=SAME * np.max(np.abs(right))):
                return Edge(row, 0, g, right, made, (operand,), params, operand.shape), x
        if forms:
            break
    return None, y


# -- what the kinds are known by -------------------------------------------------------------------


def _is(a: Value, b: Value) -> bool:
    return bool(np.all(np.abs(a - b) <= SAME))


def _sums_to_one(y: Value) -> bool:
    return any(n > 1 and _is(y.sum(axis=axis), 1.0) for axis, n in enumerate(y.shape))


def _list_params(name: str, x: Value, y: Value, *forms: Params) -> Iterator[Params]:
    """With what an op makes y of x, along the last axis that will do."""
    for axis, n in reversed([*enumerate(np.shape(x))]):
        for form in forms if n > 1 and np.size(x) in (np.size(y), n * np.size(y)) else ():
            made = TABLE[name].forward(x, axis=axis, **form)
            if np.shape(made) == np.shape(y) and _is(made, y):
                yield {"axis": axis, **form}
                return


def _list_sums(x: Value, y: Value) -> Iterator[Params]:
    if np.ndim(x) <= 2:
        yield from _list_params("logsumexp", x, y, {"keepdims": False}, {"keepdims": True})


def _list_normal(x: Value, y: Value) -> Iterator[Params]:
    """`scale` is the standard deviation by which was divided."""
    same = np.shape(x) == np.shape(y) and not _is(x, y)
    for axis in filter(partial(_is_centred, y), subsets(np.ndim(y)) if same else ()):
        d = x - x.mean(axis=axis, keepdims=True)
        squares = ((a**2).mean(axis=axis, keepdims=True) for a in (d, y))
        scale = np.sqrt(np.divide(*squares))
        if np.all(np.isfinite(scale)) and _is(y * scale, d):
            yield from ({"axis": axis, "scale": scale, "ddof": ddof} for ddof in (0, 1))
            return


def _is_centred(y: Value, axis: tuple[int, ...]) -> bool:
    return prod(y.shape[k] for k in axis) > 1 and _is(y.mean(axis=axis), 0.0)


# Functions of the textbook: does y look like one, and with what parameters may it be of x.
KINDS: Sequence[tuple[Op, Callable[[Value], bool], Callable[[Value, Value], Iterator[Params]]]] = (
    (
        TABLE["softmax"],
        lambda y: bool(np.all(y > 0)) and _sums_to_one(y),
        lambda x, y: _list_params("log_softmax", x, np.log(y), {}),
    ),
    (
        TABLE["log_softmax"],
        lambda y: bool(np.all(y < 0)) and _sums_to_one(np.exp(y)),
        lambda x, y: _list_params("log_softmax", x, y, {}),
    ),
    (TABLE["logsumexp"], lambda y: bool(np.all(np.isfinite(y))), _list_sums),
    (NORMALISE, lambda y: any(_is_centred(y, axis) for axis in subsets(np.ndim(y))), _list_normal),
)
