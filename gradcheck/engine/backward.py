"""Reverse mode in four verbs: seed, pull, fit, accumulate.

**seed** starts the cotangent at a root, **pull** takes it through one op to one argument, **fit**
sums away what broadcasting had stretched, **accumulate** adds where paths meet. The right verbs are
the functions below; a mistake is one of them said wrong at one site.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Any

import numpy as np
from numpy import float64, ndarray

from gradcheck.engine import native
from gradcheck.engine.tape import NUMBER, Node, Step, expect_saved
from gradcheck.ops.row import passed

Shape = tuple[int, ...]
Position = int

SUM = np.add.reduce


def seed(root: Step, g: Any) -> Any:
    """The cotangent at the root: 1 for a scalar, or what the caller gives."""
    return g


def pull(node: Node, i: int, g: Any, y: Any, operands: tuple[Any, ...]) -> Any:
    """G . dy/dx_i: the cotangent of operand i, before it is fitted."""
    return node.op.pull(i, g, y, operands, node.params)


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
    node when its turn comes. What lands is in memory of its own. `read(node)` gives the value and
    the operands where they are not to be as they were saved. Raises RuntimeError, in PyTorch's
    words, where saved values are gone or changed.
    """
    arrived: dict[Step, Any] = {}
    for root, g in roots:
        start = verbs.seed(root, g)
        arrived[root] = verbs.accumulate(root, arrived[root], start) if root in arrived else start
    above = None if only is None else _above(only, arrived)
    landed: dict[Step, Any] = {}
    waiting = [(-root.order, root) for root in arrived if type(root) is Node]
    heapify(waiting)
    node: Node = None  # type: ignore[assignment]
    ahead: Node | None = None  # the node just come to, while its cotangent is still at hand
    g = coming = None
    while waiting or ahead is not None:
        if not waiting:
            node, g = ahead, coming  # type: ignore[assignment]
        else:
            if ahead is not None:
                arrived[ahead] = coming
                heappush(waiting, (-ahead.order, ahead))
            node = heappop(waiting)[1]
            g = arrived.pop(node)
        ahead = coming = None
        if node.hooks:
            g = hooked(node, g)
        if only is not None and node in only:
            landed[node] = g
        if above is not None and node not in above:
            continue
        y, operands = _values(node, read)
        rules: Any = _rules(node, y, operands) if verbs is RIGHT else None
        for i, edge in enumerate(node.edges):
            if edge is None or not (above is None or edge in above or edge in only):  # type: ignore[operator]
                continue
            if rules is None:
                piece = verbs.pull(node, i, g, y, operands)
                piece = piece if piece is None else verbs.fit(node, i, piece)
            else:
                piece = _piece(node, i, g, y, operands, rules)
            if piece is None:
                continue
            if edge is ahead:
                coming = verbs.accumulate(edge, coming, piece)
            elif edge in arrived:
                arrived[edge] = verbs.accumulate(edge, arrived[edge], piece)
            elif ahead is None and type(edge) is Node:
                ahead, coming = edge, piece
            else:
                arrived[edge] = piece
                if type(edge) is Node:
                    heappush(waiting, (-edge.order, edge))
        if not retain:
            node.release()
    leaves = {leaf: hooked(leaf, g) for leaf, g in arrived.items()}
    return {step: g.copy() if type(g) is ndarray else g for step, g in (landed | leaves).items()}


def _values(node: Node, read: Read) -> tuple[Any, tuple[Any, ...]]:
    """The value and the operands of a node, as they were saved or as they are to be read."""
    if node.watch is not None:
        expect_saved(node)
        if read is not None:
            return read(node)
    return node.y, node.operands or ()


def _rules(node: Node, y: Any, operands: tuple[Any, ...]) -> Any:
    """The rules of a row, one an operand, or what its rule for all operands makes of these."""
    rules: Any = node.op.vjps
    return rules if type(rules) is tuple else rules(y, *operands, **node.params)


def _piece(  # noqa: PLR0917 - by position: it is called for every edge
    node: Node, i: Position, g: Any, y: Any, operands: tuple[Any, ...], rules: Any
) -> Any:
    """`pull` and `fit` for operand i, without detours."""
    if type(rules) is not tuple:
        piece = rules(i, g)
        return piece if piece is None else fit(node, i, piece)
    rule = rules[i]
    if rule is passed:
        piece = g
    elif rule is None:
        return pull(node, i, g, y, operands)
    elif node.params:
        piece = rule(y, *operands, **node.params)(g)
    elif len(operands) == 2:
        piece = rule(y, operands[0], operands[1])(g)
    else:
        piece = rule(y, *operands)(g)
    form = node.forms[i]
    if (type(piece) is float64 and form is NUMBER) or native.has_form(piece, form):
        return piece
    return fit(node, i, piece)


def hooked(step: Step, g: Any) -> Any:
    """The cotangent after the hooks that hang on a step."""
    for hook in step.hooks or ():
        g = hook(g)
    return g


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
