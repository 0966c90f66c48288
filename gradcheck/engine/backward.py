"""Reverse mode in four verbs: seed, pull, fit, accumulate.

**seed** starts the cotangent at a root, **pull** takes it through one op to one argument, **fit**
sums away what broadcasting had stretched, **accumulate** adds where paths meet. The right verbs are
the functions below; a mistake is one of them said wrong at one site.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

from gradcheck.ops.row import Op

FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after "
    "they have already been freed). Saved intermediate values of the graph are freed when you call "
    ".backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the "
    "graph a second time or if you need to access saved tensors after calling backward."
)

clock = count(1).__next__


class Node:
    """One op on the tape: its row, the edges to its operands' nodes, and what its VJPs will read.

    `forms[i]` is the (shape, dtype) of operand i; `edges[i]` is None for a constant; `watch` has
    (operand or -1 for the value, its version cell, the version that was saved).
    """

    __slots__ = (
        "__weakref__", "edges", "forms", "hooks", "op", "operands", "order", "params", "saves",
        "span", "watch", "y",
    )  # fmt: skip

    def __init__(
        self,
        op: Op,
        edges: tuple["Node | Leaf | None", ...],
        forms: tuple[Any, ...],
        operands: tuple[Any, ...],
        params: Mapping[str, Any],
        y: Any,
        saves: bool,
        watch: tuple[tuple[int, list[int], int], ...],
    ) -> None:
        """Keep the record; nothing is computed."""
        self.op = op
        self.edges = edges
        self.forms = forms
        self.operands: tuple[Any, ...] | None = operands
        self.params = params
        self.y = y
        self.saves = saves
        self.watch = watch
        self.hooks: list[Callable[[Any], Any]] | None = None
        self.span: tuple[int, int] | None = None
        self.order = clock()

    def name(self) -> str:
        """PyTorch's name of the node, `MulBackward0`."""
        stand_ins = self.operands if self.operands is not None else self.forms
        return self.op.backward_name(stand_ins, self.params)

    def __repr__(self) -> str:
        """`<MulBackward0 object>`, as PyTorch prints a node."""
        return f"<{self.name()} object at {id(self):#x}>"

    @property
    def next_functions(self) -> tuple[tuple["Node | Leaf | None", int], ...]:
        """The nodes that backward visits next, one pair an operand; (None, 0) for a constant."""
        return tuple((edge, 0) for edge in self.edges)

    def release(self) -> None:
        """Forget the saved values (not the edges): they were wanted once."""
        if self.saves:
            self.operands = self.y = None
            self.watch = ()


class Leaf:
    """PyTorch's AccumulateGrad: the end of a path, where a gradient lands in `.grad`."""

    __slots__ = ("__weakref__", "hooks", "order", "variable")
    edges: tuple["Node | Leaf | None", ...] = ()
    next_functions: tuple[Any, ...] = ()

    def __init__(self, variable: Any) -> None:
        """Remember the leaf tensor itself."""
        self.variable = variable
        self.hooks: list[Callable[[Any], Any]] | None = None
        self.order = clock()

    def name(self) -> str:
        """PyTorch's name of the node."""
        return "AccumulateGrad"

    def __repr__(self) -> str:
        """As PyTorch prints it."""
        return f"<AccumulateGrad object at {id(self):#x}>"


Step = Node | Leaf


def seed(root: Step, g: Any) -> Any:
    """The cotangent at the root: 1 for a scalar, or what the caller gives."""
    return g


def pull(node: Node, i: int, g: Any, y: Any, operands: tuple[Any, ...]) -> Any:
    """g . dy/dx_i: the cotangent of operand i, before it is fitted."""
    rule = node.op.vjp(i)
    if rule is None:
        raise RuntimeError(f"derivative for {node.op.name} is not implemented")
    return rule(g, y, *operands, **node.params)


def fit(node: Node, i: int, g: Any) -> Any:
    """The cotangent in the operand's own shape and dtype: what was broadcast is summed."""
    shape, dtype = node.forms[i]
    if g.shape != shape:
        g = unbroadcast(g, shape)
    return g if g.dtype is dtype or g.dtype == dtype else g.astype(dtype)


def accumulate(node: Step, held: Any, g: Any) -> Any:
    """Paths that meet add their cotangents."""
    return held + g


def unbroadcast(g: Any, shape: tuple[int, ...]) -> Any:
    """Sum g over the axes that broadcasting added or stretched; the adjoint of broadcast_to."""
    if len(g.shape) < len(shape) or g.size < np.prod(shape, dtype=int):
        return np.broadcast_to(g, shape)
    extra = len(g.shape) - len(shape)
    axes = tuple(range(extra)) + tuple(
        extra + k for k, n in enumerate(shape) if n == 1 and g.shape[extra + k] != 1
    )
    return np.reshape(np.sum(g, axis=axes), shape)


@dataclass(frozen=True)
class Verbs:
    """The four verbs as they are to be said in one backward pass."""

    seed: Callable[[Step, Any], Any] = seed
    pull: Callable[[Node, int, Any, Any, tuple[Any, ...]], Any] = pull
    fit: Callable[[Node, int, Any], Any] = fit
    accumulate: Callable[[Step, Any, Any], Any] = accumulate


RIGHT = Verbs()
Read = Callable[[Node], tuple[Any, tuple[Any, ...]]]


def saved(node: Node) -> tuple[Any, tuple[Any, ...]]:
    """The value and the operands that the node kept, if they are still there and unchanged."""
    if node.operands is None:
        raise RuntimeError(FREED)
    for i, cell, version in node.watch:
        if cell[0] != version:
            raise RuntimeError(changed(node, i, cell[0], version))
    return node.y, node.operands


def changed(node: Node, i: int, now: int, version: int) -> str:
    """PyTorch's words for a saved tensor (operand i, or the value: -1) that was overwritten."""
    value = node.y if i < 0 else (node.operands or ())[i]
    maker = node if i < 0 else node.edges[i]
    kind = {"float64": "DoubleTensor", "float32": "FloatTensor"}.get(str(value.dtype), "Tensor")
    origin = f", which is output 0 of {maker.name()}," if isinstance(maker, Node) else ""
    return (
        "one of the variables needed for gradient computation has been modified by an inplace "
        f"operation: [torch.{kind} {list(value.shape)}]{origin} is at version {now}; expected "
        f"version {version} instead. Hint: enable anomaly detection to find the operation that "
        "failed to compute its gradient, with torch.autograd.set_detect_anomaly(True)."
    )


def reachable(roots: Iterable[Step]) -> list[Step]:
    """Every node below the roots, latest made first: operands are older than their op."""
    roots = list(roots)
    seen = set(roots)
    stack = list(seen)
    while stack:
        for edge in stack.pop().edges:
            if edge is not None and edge not in seen:
                seen.add(edge)
                stack.append(edge)
    return sorted(seen, key=_age, reverse=True)


def _age(node: Step) -> int:
    return node.order


def walk(
    roots: list[tuple[Step, Any]],
    *,
    verbs: Verbs = RIGHT,
    retain: bool = False,
    read: Read = saved,
    only: set[Step] | None = None,
) -> dict[Step, Any]:
    """Cotangents of the leaves (or of the nodes in `only`), from seeded roots.

    Raises RuntimeError, in PyTorch's words, where saved values are gone or changed.
    """
    arrived: dict[Step, Any] = {}
    for root, g in roots:
        start = verbs.seed(root, g)
        arrived[root] = verbs.accumulate(root, arrived[root], start) if root in arrived else start
    landed: dict[Step, Any] = {}
    order = reachable(arrived)
    needed = None if only is None else _leading_to(only, order)
    say_pull, say_fit, say_accumulate = verbs.pull, verbs.fit, verbs.accumulate
    for node in order:
        g = arrived.pop(node, None)
        if g is None:
            continue
        if node.hooks:
            for hook in node.hooks:
                g = hook(g)
        if type(node) is Leaf or (only is not None and node in only):
            landed[node] = g
        if type(node) is Leaf or (needed is not None and node not in needed):
            continue
        y, operands = read(node)  # type: ignore[arg-type]
        for i, edge in enumerate(node.edges):
            if edge is None or (needed is not None and edge not in needed):
                continue
            piece = say_fit(node, i, say_pull(node, i, g, y, operands))  # type: ignore[arg-type]
            held = arrived.get(edge)
            arrived[edge] = piece if held is None else say_accumulate(edge, held, piece)
        if not retain:
            node.release()  # type: ignore[union-attr]
    return landed


def _leading_to(targets: set[Step], order: list[Step]) -> set[Step]:
    """The nodes of `order` from which some target can be reached."""
    found = set(targets)
    for node in reversed(order):
        if any(edge in found for edge in node.edges):
            found.add(node)
    return found
