# cython: binding=False
# With binding, `Node.release(3)` would take the 3 for a Node and crash.
"""The tape: nodes, their edges and what they keep."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy import ndarray

from gradcheck.engine import advice, native
from gradcheck.ops.row import Op

Hook = Callable[[Any], Any]
Form = tuple[tuple[int, ...], np.dtype[Any]] | None

MOVES = {
    "getitem", "reshape", "ravel", "transpose", "swapaxes", "matrix_transpose", "moveaxis",
    "squeeze", "expand_dims", "broadcast_to", "diagonal", "atleast_1d", "atleast_2d", "atleast_3d",
    "as_strided",
}  # fmt: skip
"""The rows that give a view; where NumPy gives one for another row (flip), PyTorch copies."""

PARAMETERS = {"power": (0, 1), "subtract": (0,), "remainder": (1,), "fmod": (1,)}
COMMUTING = ("add", "multiply")

NUMBER_TYPE = np.dtype(np.float64)
NUMBER: Form = ((), NUMBER_TYPE)

RECENT: list[Any] = [None] * native.SPOTS
"""Form and blank of the float64 arrays seen last, each at its shape's spot."""


class Node:
    """One op on the tape: its row, the edges to its operands' nodes, and what its VJPs will read.

    `forms[i]` is the (shape, dtype) of operand i, None for a plain number; `edges[i]` is None for
    a constant; `watch` has the operand (-1 for the value, `Kept` for what is none of the two), its
    version cell and the version that was saved, one operand behind the other, and is None where
    nothing was saved.
    """

    __slots__ = (
        "__weakref__", "edges", "forms", "hooks", "op", "operands", "order", "params", "posts",
        "span", "watch", "y",
    )  # fmt: skip

    op: Op
    edges: tuple["Step | None", ...]
    forms: tuple[Form, ...]
    operands: tuple[Any, ...] | None
    params: Mapping[str, Any]
    y: Any
    watch: tuple[Any, ...] | None
    hooks: list[Hook] | None
    posts: list[Any] | None
    span: tuple[int, int] | None
    order: int

    def name(self) -> str:
        """PyTorch's name of the node, `MulBackward0`."""
        stand_ins = self.operands
        if stand_ins is None:
            stand_ins = tuple(None if known is None else _blank(*known) for known in self.forms)
        return self.op.backward_name(stand_ins, self.params)

    def __repr__(self) -> str:
        """`<MulBackward0 object>`, as PyTorch prints a node."""
        return f"<{self.name()} object at {id(self):#x}>"

    @property
    def next_functions(self) -> tuple[tuple["Step | None", int], ...]:
        """The nodes that backward visits next, one pair an operand; (None, 0) for a constant.

        PyTorch knows no operand where a condition stands, or a number that is a parameter to it
        (PARAMETERS); it puts a number behind the tensor that is added or multiplied; a write
        through a view shows the operands of what was written.
        """
        if self.op.name == "copy_slices" and isinstance(self.edges[1], Node):
            return ((self.edges[0], 0), *self.edges[1].next_functions[1:])
        found = [
            (None, 0) if edge is None else seen_from_outside(edge)
            for i, edge in enumerate(self.edges)
            if self._is_seen(i)
        ]
        return tuple(found[::-1] if self.is_turned() else found)

    def is_turned(self) -> bool:
        """Whether PyTorch has the operands the other way round: a number before a tensor."""
        return self.op.name in COMMUTING and self.forms[0] is None

    def place(self, i: int) -> int:
        """Which output of PyTorch's backward function belongs to operand i."""
        return sum(map(self._is_seen, range(i)))

    def _is_seen(self, i: int) -> bool:
        if self.edges[i] is not None:
            return True
        number = self.forms[i] is None and i in PARAMETERS.get(self.op.name, ())
        return not (number or self.op.vjp(i) is None)

    def register_hook(self, hook: Callable[..., Any]) -> Any:
        """Call `hook(grad_inputs, grad_outputs)` after the node; its answer goes on instead."""
        return DOORS["post"](self, hook)

    def register_prehook(self, hook: Callable[..., Any]) -> Any:
        """Call `hook(grad_outputs)` before the node; what it returns replaces them."""
        return DOORS["pre"](self, hook)

    def __getattr__(self, name: str) -> Any:
        """`_saved_self`, `_saved_other`, `_saved_result`: what the node keeps for backward."""
        return DOORS["saved"](self, name)

    def release(self) -> None:
        """Forget the saved values (not the edges): they were wanted once."""
        if self.watch is not None:
            self.operands = self.y = None
            self.watch = ()


class Kept:
    """What PyTorch's node of a formula keeps, and ours does not: by shape and maker."""

    __slots__ = ("maker", "stand_in")

    def __init__(self, value: Any, maker: Any) -> None:
        """The shape of a value, and the node that made it."""
        self.stand_in, self.maker = blank(value), maker


class Leaf:
    """PyTorch's AccumulateGrad: the end of a path, where a gradient lands in `.grad`."""

    __slots__ = ("__weakref__", "hooks", "order", "posts", "variable")
    edges: tuple["Step | None", ...] = ()
    next_functions: tuple[Any, ...] = ()

    variable: Any
    hooks: list[Hook] | None
    posts: list[Any] | None
    order: int

    def name(self) -> str:
        """PyTorch's name of the node."""
        return "AccumulateGrad"

    def register_hook(self, hook: Callable[..., Any]) -> Any:
        """Call `hook((), grad_outputs)` when the gradient has landed."""
        return DOORS["landed"](self, hook)

    def __repr__(self) -> str:
        """As PyTorch prints it."""
        return f"<AccumulateGrad object at {id(self):#x}>"


Step = Node | Leaf

DOORS: dict[str, Callable[..., Any]] = {}
"""What users find on nodes; `nodes`, above this module, fills them."""

OUTPUT = "output"
"""The row of one output of an op that has several; outside, only the op itself is seen."""


def seen_from_outside(step: Step) -> tuple[Step, int]:
    """The op that made a value, and which of its outputs the value is."""
    if type(step) is Node and step.op.name == OUTPUT and step.edges[0] is not None:
        return step.edges[0], step.params["index"]
    return step, 0


def saved(node: Node) -> tuple[Any, tuple[Any, ...]]:
    """The value and the operands that the node kept, if they are still there and unchanged."""
    expect_saved(node)
    return node.y, node.operands or ()


def expect_saved(node: Node) -> None:
    """Raise RuntimeError, in PyTorch's words, where saved values are gone or changed."""
    if node.operands is None:
        raise RuntimeError(advice.FREED)
    watch = () if node.watch is None else node.watch
    for k in range(0, len(watch), 3):
        cell: list[Any] = watch[k + 1]
        if cell[0] != watch[k + 2]:
            raise RuntimeError(_changed(node, watch[k], cell, watch[k + 2]))


def watched_cells(node: Node) -> dict[int, list[Any]]:
    """The version cells of the operands that were saved (-1: of the value)."""
    watch = node.watch or ()
    return dict(zip(watch[::3], watch[1::3], strict=True))


def _changed(node: Node, i: Any, cell: list[Any], version: int) -> str:
    """PyTorch's words for a saved tensor (operand i, or the value: -1) that was overwritten."""
    if type(i) is Kept:
        origin = i.maker.name() if isinstance(i.maker, Node) else ""
        return advice.changed(i.stand_in, cell[1] or origin, cell[0], version)
    value = node.y if i < 0 else (node.operands or ())[i]
    maker = node if i < 0 else node.edges[i]
    origin = maker.name() if isinstance(maker, Node) else ""
    if i >= 0 and cell[1]:  # the write has given the operand another node
        origin = "AsStrided" if isinstance(maker, Node) and maker.op.name in MOVES else cell[1]
    return advice.changed(value, origin, cell[0], version)


# -- recording -----------------------------------------------------------------------------------


def noted(  # noqa: PLR0917 - by position: it is called for every op
    op: Op,
    edges: tuple[Step | None, ...],
    forms: tuple[Form, ...],
    operands: tuple[Any, ...],
    params: Mapping[str, Any],
    y: Any,
    watch: tuple[Any, ...] | None,
) -> Node:
    """A node with its record; nothing is computed."""
    node: Node = Node.__new__(Node)
    node.op = op
    node.edges = edges
    node.forms = forms
    node.operands = operands
    node.params = params
    node.y = y
    node.watch = watch
    node.hooks = node.posts = node.span = None
    node.order = native.tick()
    return node


def ended(variable: Any) -> Leaf:
    """The end of the paths to a leaf tensor."""
    leaf: Leaf = Leaf.__new__(Leaf)
    leaf.variable = variable
    leaf.hooks = leaf.posts = None
    leaf.order = native.tick()
    return leaf


def form(value: Any) -> Form:
    """Shape and dtype of an operand; None for a number of the program's text.

    Raises TypeError for complex numbers.
    """
    if type(value) is np.float64:
        return NUMBER
    if type(value) in (int, float):
        return None
    if np.iscomplexobj(value):
        raise TypeError(advice.COMPLEX)
    return (value.shape, value.dtype) if hasattr(value, "dtype") else None


def blank(value: Any) -> Any:
    """A value that no VJP reads, without its memory: only shape and dtype are left of an array."""
    return _blank(value.shape, value.dtype) if type(value) is ndarray else value


def stand_in(value: Any) -> tuple[Form, Any]:
    """The form of an operand, and its blank."""
    if not native.of_type(value, NUMBER_TYPE):
        return form(value), blank(value)
    spot = native.spot(value)
    known: tuple[Any, Any] | None = RECENT[spot]
    if known is None or not native.has_form(value, known[0]):
        known = RECENT[spot] = form(value), blank(value)
    return known


@lru_cache(maxsize=4096)
def _blank(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    return np.broadcast_to(np.zeros((), dtype), shape)
