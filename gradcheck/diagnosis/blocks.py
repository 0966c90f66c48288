"""Steps of a run that together are one function of a textbook: softmax, a normalisation.

They are known by their numbers, not by how they are written: y is the softmax of x if its rows sum
to 1 and log y - x is the same along each row. Somebody who derives the whole by hand goes wrong in
the whole, which no wrong step would give.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import prod

import numpy as np

from gradcheck.engine.tape import RIGHT, Leaf, Node, Step, reachable, walk
from gradcheck.engine.tensor import bare
from gradcheck.mistakes import Edge
from gradcheck.mistakes.norms import subsets
from gradcheck.opinions.tape import Tape
from gradcheck.ops import TABLE
from gradcheck.values import Params, Routine, Value

SAME = 1e-9  # of the largest entry: equal but for rounding
LARGEST = 100_000  # entries: larger tensors are not looked at
LONGEST = 300  # steps likewise
DEEPEST = 4  # axes: of more, too many subsets would have to be looked at
OVERFLOW = 700  # exp of more is infinite


@dataclass(frozen=True, eq=False)
class Block:
    """The way back from a node `y` to an earlier step `x`, as that through one op."""

    y: Node
    x: Step
    edge: Edge


def blocks(tape: Tape) -> Iterator[Block]:
    """Every block of several ops, from its earliest argument."""
    if len(tape.nodes) > LONGEST:
        return
    for y in tape.nodes:
        made = tape.given[y].value
        if 0 < np.ndim(made) <= DEEPEST and 0 < np.size(made) <= LARGEST:
            found = _block(tape, y)
            if found is not None:
                yield found


def _block(tape: Tape, y: Node) -> Block | None:
    made = tape.given[y].value
    kinds = [name for name, kind in KINDS.items() if y.op.name not in KINDS and kind.may_be(made)]
    for x in reversed(reachable([y])) if kinds else ():
        for name in kinds:
            params = KINDS[name].is_it(value_of(tape, x), made) if x is not y else None
            if params is not None:
                return _check(tape, y, x, name, params)
    return None


def value_of(tape: Tape, step: Step) -> Value:
    """The value of a node, or what a leaf holds."""
    if isinstance(step, Leaf):
        return np.asarray(bare(step.variable))
    return tape.given[step].value


def _check(tape: Tape, y: Node, x: Step, name: str, params: Params) -> Block | None:
    """The block, if its rule, in one of its forms, is what the run's own steps give."""
    g = tape.back(only={y}).get(y)
    if g is None:
        return None
    there = walk([(y, g)], verbs=RIGHT, retain=True, only={x}).get(x)
    for form in KINDS[name].forms:
        edge = _edge(name, g, tape.given[y].value, value_of(tape, x), {**params, **form})
        room = SAME * np.max(np.abs(edge.right))
        if there is not None and np.allclose(there, edge.right, rtol=0, atol=room):
            return Block(y, x, edge)
    return None


def _edge(name: str, g: Value, y: Value, x: Value, params: Params) -> Edge:
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


def _level(a: Value, axis: int) -> bool:
    return bool(np.all(np.ptp(a, axis=axis) <= SAME * np.maximum(1.0, np.max(np.abs(a)))))


def _is(a: Value, b: Value) -> bool:
    return bool(np.all(np.abs(a - b) <= SAME))


def _some(test: Callable[[Value, int], Value]) -> Callable[[Value], bool]:
    return lambda y: any(test(y, axis) for axis, n in enumerate(y.shape) if n > 1)


def _along(test: Callable[[Value, Value, int], bool]) -> Callable[[Value, Value], Value]:
    """The axis along which a test holds of x and y of equal shapes, as a parameter."""

    def is_it(x: Value, y: Value) -> Params | None:
        if np.shape(x) != np.shape(y):
            return None
        axes = [k for k in range(np.ndim(y)) if y.shape[k] > 1 and test(x, y, k)]
        return {"axis": axes[-1]} if axes else None

    return is_it


def _is_softmax(x: Value, y: Value, axis: int) -> bool:
    return bool(np.all(y > 0)) and _is(y.sum(axis=axis), 1.0) and _level(np.log(y) - x, axis)


def _is_log_softmax(x: Value, y: Value, axis: int) -> bool:
    return bool(np.all(y < 0)) and _is(np.exp(y).sum(axis=axis), 1.0) and _level(y - x, axis)


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
        d = x - _mean(x, axis)
        scale = np.sqrt(_mean(d**2, axis) / _mean(y**2, axis))
        if np.all(np.isfinite(scale)) and _is(y * scale, d):
            return {"axis": axis, "scale": scale}
    return None


def _is_centred(y: Value, axis: tuple[int, ...]) -> bool:
    return prod(y.shape[k] for k in axis) > 1 and _is(y.mean(axis=axis), 0.0)


def _mean(a: Value, axis: tuple[int, ...]) -> Value:
    return np.mean(a, axis=axis, keepdims=True)


def _normal_pull(
    g: Value, y: Value, x: Value, *, axis: tuple[int, ...], scale: Value, ddof: int
) -> Value:
    """Ioffe and Szegedy 2015, the backward pass of batch normalisation, where eps is part of y."""
    n = prod(y.shape[k] for k in axis)
    return (g - _mean(g, axis) - y * _mean(g * y, axis) * n / (n - ddof)) / scale


def _of(name: str) -> Routine:
    return lambda g, y, *operands, **params: TABLE[name].pull(0, g, y, operands, params)


KINDS: Mapping[str, BlockKind] = {
    "softmax": BlockKind(
        _some(lambda y, axis: _is(y.sum(axis=axis), 1.0)), _along(_is_softmax), _of("softmax")
    ),
    "log_softmax": BlockKind(
        _some(lambda y, axis: np.all(y < 0) and _is(np.exp(y).sum(axis=axis), 1.0)),
        _along(_is_log_softmax),
        _of("log_softmax"),
    ),
    "logsumexp": BlockKind(lambda y: bool(np.all(np.isfinite(y))), _is_logsumexp, _of("logsumexp")),
    "normalise": BlockKind(
        lambda y: any(_is_centred(y, axis) for axis in subsets(np.ndim(y))),
        _is_normal,
        _normal_pull,
        ({"ddof": 0}, {"ddof": 1}),
    ),
}
