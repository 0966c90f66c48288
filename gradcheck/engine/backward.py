"""Reverse mode in four verbs: seed, pull, fit, accumulate.

**seed** starts the cotangent at a root, **pull** takes it through one op to one argument, **fit**
sums away what broadcasting had stretched, **accumulate** adds where paths meet. The right verbs are
the functions below; a mistake is one of them said wrong at one site.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from heapq import heapify, heappop, heappush, heappushpop
from typing import Any

import numpy as np
from numpy import add, float64, ndarray

from gradcheck.engine.tape import NUMBER, Node, Step, saved


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
    return rule(g, y, *operands, **params) if params else rule(g, y, *operands)


def fit(node: Node, i: int, g: Any) -> Any:
    """The cotangent in the operand's own shape and dtype: what was broadcast is summed."""
    shape, dtype = node.forms[i]  # type: ignore[misc]
    if g.shape != shape:
        g = unbroadcast(g, shape)
    return g if g.dtype is dtype or g.dtype == dtype else g.astype(dtype)


def accumulate(node: Step, held: Any, g: Any) -> Any:
    """Paths that meet add their cotangents."""
    return held + g


def unbroadcast(g: Any, shape: tuple[int, ...]) -> Any:
    """Sum g over the axes that broadcasting added or stretched; the adjoint of broadcast_to."""
    extra = len(g.shape) - len(shape)
    if extra > 0:
        axes = tuple(range(extra)) if extra > 1 else 0
        g = add.reduce(g, axis=axes) if type(g) is ndarray else g.sum(axis=axes)
        if g.shape == shape:
            return g
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
Read = Callable[[Node], tuple[Any, tuple[Any, ...]]]


def walk(  # noqa: PLR0912 - one loop: this is where the time goes
    roots: list[tuple[Step, Any]],
    *,
    verbs: Verbs = RIGHT,
    retain: bool = False,
    read: Read = saved,
    only: set[Step] | None = None,
) -> dict[Step, Any]:
    """Cotangents of the leaves (or of the steps in `only`), from seeded roots.

    The latest node goes first: operands are older than their op, so everything has arrived at a
    node when its turn comes. What lands at a leaf is in memory of its own. Raises RuntimeError, in
    PyTorch's words, where saved values are gone or changed.
    """
    say_pull, say_fit, say_accumulate = verbs.pull, verbs.fit, verbs.accumulate
    pulls_rightly, fits_rightly = say_pull is pull, say_fit is fit
    arrived = _seeded(roots, verbs)
    landed: dict[Step, Any] = {}
    waiting = [(-root.order, root) for root in arrived if type(root) is Node]
    heapify(waiting)
    above = None if only is None else _above(only, arrived)
    node: Node | None = _latest(waiting, None) if waiting else None
    while node is not None:
        g = arrived.pop(node)
        ahead: Node | None = None
        if node.hooks:
            g = hooked(node, g)
        if only is not None and node in only:
            landed[node] = g
        if above is None or node in above:
            y, operands = (node.y, node.operands or ()) if node.watch is None else read(node)
            rules: Any = node.op.vjps
            plainly = (
                pulls_rightly and type(rules) is tuple and not node.params and None not in rules
            )
            for i, edge in enumerate(node.edges):
                if edge is None or not (above is None or edge in above or edge in only):  # type: ignore[operator]
                    continue
                if plainly and len(operands) == 2:
                    piece = rules[i](g, y, operands[0], operands[1])
                elif plainly:
                    piece = rules[i](g, y, *operands)
                else:
                    piece = say_pull(node, i, g, y, operands)
                    if piece is None:
                        continue
                if not fits_rightly:
                    piece = say_fit(node, i, piece)
                elif type(piece) is not float64 or node.forms[i] is not NUMBER:
                    shape, dtype = node.forms[i]  # type: ignore[misc]
                    if piece.shape != shape or piece.dtype is not dtype:
                        piece = fit(node, i, piece)
                held = arrived.get(edge)
                if held is not None:
                    arrived[edge] = say_accumulate(edge, held, piece)
                elif type(edge) is Node:
                    arrived[edge] = piece
                    if ahead is not None:
                        heappush(waiting, (-edge.order, edge))
                    else:
                        ahead = edge
                else:
                    arrived[edge] = _own(piece, plainly and piece is not g)
            if not retain and node.watch is not None:
                node.release()
        node = _latest(waiting, ahead) if waiting else ahead
    return landed | {leaf: hooked(leaf, g) if leaf.hooks else g for leaf, g in arrived.items()}


def _seeded(roots: list[tuple[Step, Any]], verbs: Verbs) -> dict[Step, Any]:
    """The cotangents to begin with; one root may stand there twice."""
    arrived: dict[Step, Any] = {}
    for root, g in roots:
        start = verbs.seed(root, g if type(root) is Node else _own(g))
        held = arrived.get(root)
        arrived[root] = start if held is None else verbs.accumulate(root, held, start)
    return arrived


def _own(g: Any, fresh: bool = False) -> Any:
    """The cotangent in memory of its own: copied, unless it was made afresh and is no view."""
    if type(g) is not ndarray or (fresh and g.base is None):
        return g
    return g.copy()


def _latest(waiting: list[tuple[int, Node]], ahead: Node | None) -> Node:
    """Take the latest node of those that wait (a heap) and the one just come to."""
    if ahead is None:
        return heappop(waiting)[1]
    return heappushpop(waiting, (-ahead.order, ahead))[1]


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
