"""Reverse mode in four verbs: seed, pull, fit, accumulate.

**seed** starts the cotangent at a root, **pull** takes it through one op to one argument, **fit**
sums away what broadcasting had stretched, **accumulate** adds where paths meet. The right verbs are
the functions below; a mistake is one of them said wrong at one site.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from heapq import heapify, heappop, heappush, heappushpop
from typing import Any

import numpy as np
from numpy import float64, ndarray

from gradcheck.engine import native
from gradcheck.engine.blocks import is_large, pulled
from gradcheck.engine.tape import NUMBER, Leaf, Node, Step, expect_saved
from gradcheck.ops.row import passed

Shape = tuple[int, ...]
Position = int

SUM = np.add.reduce
NONE: Mapping[str, Any] = {}


def seed(root: Step, g: Any) -> Any:
    """The cotangent at the root: 1 for a scalar, or what the caller gives."""
    return g


def pull(node: Node, i: int, g: Any, y: Any, operands: tuple[Any, ...]) -> Any:
    """G . dy/dx_i: the cotangent of operand i, before it is fitted."""
    rules = node.op.vjps
    rule = rules[i] if type(rules) is tuple else node.op.vjp(i)
    if rule is None:
        raise RuntimeError(f"derivative for {node.op.name} is not implemented")
    params = node.params
    if is_large(g):
        return pulled(node.op, rule, g, y, operands, params)
    return rule(g, y, *operands, **params) if params else rule(g, y, *operands)


def fit(node: Node, i: int, g: Any) -> Any:
    """The cotangent in the operand's own shape and dtype: what was broadcast is summed."""
    form: Any = node.forms[i]
    if not native.has_shape(g, form[0]):
        g = unbroadcast(g, form[0])
    return g if native.has_form(g, form) or g.dtype == form[1] else g.astype(form[1])


def accumulate(node: Step, held: Any, g: Any) -> Any:
    """Paths that meet add their cotangents."""
    return held + g


def unbroadcast(g: Any, shape: Shape) -> Any:
    """Sum g over the axes that broadcasting added or stretched; the adjoint of broadcast_to."""
    extra = native.rank(g) - len(shape)
    if extra > 0:
        axes = tuple(range(extra)) if extra > 1 else 0
        g = SUM(g, axes) if type(g) is ndarray else g.sum(axis=axes)
        extra = 0
    return g if native.has_shape(g, shape) else _unstretched(g, shape, extra)


def _unstretched(g: Any, shape: Shape, extra: int) -> Any:
    if extra < 0 or any(m == 1 != n for n, m in zip(shape, g.shape, strict=True)):
        return np.broadcast_to(g, shape)
    stretched = tuple([k for k, n in enumerate(shape) if n == 1 != g.shape[k]])
    return g.sum(axis=stretched, keepdims=True)


@dataclass(frozen=True)
class Verbs:
    """The four verbs as they are to be said in one backward pass."""

    seed: Callable[[Step, Any], Any] = seed
    pull: Callable[[Node, int, Any, Any, tuple[Any, ...]], Any] = pull
    fit: Callable[[Node, int, Any], Any] = fit
    accumulate: Callable[[Step, Any, Any], Any] = accumulate


RIGHT = Verbs()
Roots = list[tuple[Step, Any]]
Waiting = list[tuple[int, Node]]
Read = Callable[[Node], tuple[Any, tuple[Any, ...]]] | None


def walk(  # noqa: PLR0912, PLR0915 - one loop: this is where the time goes
    roots: Roots,
    *,
    verbs: Verbs = RIGHT,
    retain: bool = False,
    read: Read = None,
    only: set[Step] | None = None,
) -> dict[Step, Any]:
    """Cotangents of the leaves (or of the steps in `only`), from seeded roots.

    The latest node goes first: operands are older than their op, so everything has arrived at a
    node when its turn comes. What lands at a leaf is in memory of its own. `read(node)` gives the
    value and the operands where they are not to be as they were saved. Raises RuntimeError, in
    PyTorch's words, where saved values are gone or changed.
    """
    arrived: dict[Step, Any] = _seeded(roots, verbs)
    landed: dict[Step, Any] = {}
    waiting = [(-root.order, root) for root in arrived if type(root) is Node]
    heapify(waiting)
    above = None if only is None else _above(only, arrived)
    node: Node | None = _latest(waiting, None) if waiting else None
    g = None if node is None else arrived.pop(node)
    while node is not None:
        ahead: Node | None = None  # a node just come to; its cotangent is at hand, not in `arrived`
        coming: Any = None
        if node.hooks:
            g = hooked(node, g)
        if only is not None and node in only:
            landed[node] = g
        if above is None or node in above:
            if node.watch is not None:
                expect_saved(node)
            y = node.y
            operands: tuple[Any, ...] = node.operands or ()
            if read is not None and node.watch is not None:
                y, operands = read(node)
            vjps: Any = node.op.vjps
            plainly: bool = verbs is RIGHT and type(vjps) is tuple and not node.params
            known: Any = None  # the pieces, where hooks have seen them all together
            if node.posts:
                known = seen_by_hooks(node, g, y, operands, verbs)
            edges: tuple[Step | None, ...] = node.edges
            for i in range(len(edges)):
                edge = edges[i]
                if edge is None or not (above is None or edge in above or edge in only):  # type: ignore[operator]
                    continue
                if known is None:
                    piece = _piece(node, i, g, y, operands, vjps if plainly else None, verbs)
                else:
                    piece = known[i]
                if piece is None:
                    continue
                if edge is ahead:
                    coming = verbs.accumulate(edge, coming, piece)
                elif edge in arrived:
                    held = arrived[edge]
                    if plainly and type(edge) is not Node and _alike(held, piece):
                        np.add(held, piece, held)  # what has landed at a leaf is its own
                    else:
                        arrived[edge] = verbs.accumulate(edge, held, piece)
                elif type(edge) is not Node:
                    arrived[edge] = _own(piece, plainly and piece is not g)
                elif ahead is None:
                    ahead, coming = edge, piece
                else:
                    arrived[edge] = piece
                    heappush(waiting, (-edge.order, edge))
            if not retain and node.watch is not None:
                node.release()
        node, g = ahead, coming
        if waiting:
            if ahead is not None:
                arrived[ahead] = coming
            node = _latest(waiting, ahead)
            g = arrived.pop(node)
    return landed | _after_hooks(arrived)


def _after_hooks(arrived: dict[Step, Any]) -> dict[Step, Any]:
    """What has arrived at the leaves, after the hooks that hang there."""
    for step, g in arrived.items():
        leaf: Leaf = step  # type: ignore[assignment]
        if leaf.hooks:
            arrived[step] = hooked(leaf, g)
    return arrived


def _piece(  # noqa: PLR0917 - by position: it is called for every edge
    node: Node,
    i: Position,
    g: Any,
    y: Any,
    operands: tuple[Any, ...],
    rules: tuple[Any, ...] | None,
    verbs: Verbs,
) -> Any:
    """The cotangent of operand i, pulled and fitted; by `rules` without a detour through `pull`."""
    rule = None if rules is None else rules[i]
    if rule is passed:
        piece = g
    elif rule is None:
        piece = verbs.pull(node, i, g, y, operands)
        if piece is None:
            return None
    elif is_large(g):
        piece = pulled(node.op, rule, g, y, operands, NONE)
    elif len(operands) == 2:
        piece = rule(g, y, operands[0], operands[1])
    else:
        piece = rule(g, y, *operands)
    if verbs is not RIGHT:
        return verbs.fit(node, i, piece)
    form = node.forms[i]
    if (type(piece) is float64 and form is NUMBER) or native.has_form(piece, form):
        return piece
    return fit(node, i, piece)


def _alike(a: Any, b: Any) -> bool:
    """Whether two cotangents are arrays of one form."""
    return (
        type(a) is ndarray
        and type(b) is ndarray
        and a.dtype == b.dtype
        and native.has_shape(a, b.shape)
    )


def _seeded(roots: Roots, verbs: Verbs) -> dict[Step, Any]:
    """The cotangents to begin with; one root may stand there twice."""
    arrived: dict[Step, Any] = {}
    for root, g in roots:
        start = verbs.seed(root, g if type(root) is Node else _own(g))
        held = arrived.get(root)
        arrived[root] = start if held is None else verbs.accumulate(root, held, start)
    return arrived


def _own(g: Any, fresh: bool = False) -> Any:
    """The cotangent in memory of its own: copied, unless it was made afresh and is no view."""
    if type(g) is not ndarray or (fresh and not native.looks_on(g)):
        return g
    return g.copy()


def _latest(waiting: Waiting, ahead: Node | None) -> Node:
    """Take the latest node of those that wait (a heap) and the one just come to."""
    if ahead is None:
        return heappop(waiting)[1]
    return heappushpop(waiting, (-ahead.order, ahead))[1]


def hooked(step: Step, g: Any) -> Any:
    """The cotangent after the hooks that hang on a step."""
    for hook in step.hooks or ():
        g = hook(g)
    return g


def seen_by_hooks(node: Node, g: Any, y: Any, operands: tuple[Any, ...], verbs: Verbs) -> list[Any]:
    """The cotangents of all operands, after the hooks that hang behind the node."""
    pieces = [
        None if edge is None else _piece(node, i, g, y, operands, None, verbs)
        for i, edge in enumerate(node.edges)
    ]
    for post in node.posts or ():
        pieces = post(pieces, g)
    return pieces


def reachable(roots: Iterable[Step]) -> list[Step]:
    """Every step below the roots, latest made first."""
    seen = set(roots)
    stack = list(seen)
    while stack:
        for edge in stack.pop().edges:
            if edge is not None and edge not in seen:
                seen.add(edge)
                stack.append(edge)
    return sorted(seen, key=lambda step: step.order, reverse=True)


def _above(targets: set[Step], roots: Iterable[Step]) -> set[Step]:
    """The steps from which some target can be reached along at least one edge."""
    found: set[Step] = set()
    for step in reversed(reachable(roots)):
        if any(edge in found or edge in targets for edge in step.edges):
            found.add(step)
    return found
