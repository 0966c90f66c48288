# cython: binding=False
# With binding, `Node.release(3)` would take the 3 for a Node and crash.
"""The tape: nodes, their edges and what they keep."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy import ndarray

from gradcheck.engine import advice, native
from gradcheck.engine.names import node_name
from gradcheck.ops.row import Op

Hook = Callable[[Any], Any]
Form = tuple[tuple[int, ...], np.dtype[Any]] | None

MOVES = {
    "getitem", "reshape", "ravel", "transpose", "swapaxes", "matrix_transpose", "moveaxis",
    "squeeze", "expand_dims", "broadcast_to", "diagonal", "atleast_1d", "atleast_2d", "atleast_3d",
    "as_strided",
}  # fmt: skip
"""The rows that give a view; where NumPy gives one for another row (flip), PyTorch copies."""

NUMBER_TYPE = np.dtype(np.float64)
NUMBER: Form = ((), NUMBER_TYPE)

RECENT: list[Any] = [None] * native.SPOTS
"""Form and blank of the float64 arrays seen last, each at its shape's spot."""


class Node:
    """One op on the tape: its row, the edges to its operands' nodes, and what its VJPs will read.

    `forms[i]` is the (shape, dtype) of operand i, None for a plain number; `edges[i]` is None for
    a constant; `watch` has the operand (-1: the value), its version cell and the version that was
    saved, one operand behind the other, and is None where nothing was saved.
    """

    __slots__ = (
        "__weakref__", "edges", "forms", "hooks", "op", "operands", "order", "params", "span",
        "watch", "y",
    )  # fmt: skip

    op: Op
    edges: tuple["Step | None", ...]
    forms: tuple[Form, ...]
    operands: tuple[Any, ...] | None
    params: Mapping[str, Any]
    y: Any
    watch: tuple[Any, ...] | None
    hooks: list[Hook] | None
    span: tuple[int, int] | None
    order: int

    def name(self) -> str:
        """PyTorch's name of the node, `MulBackward0`."""
        stand_ins = self.operands
        if stand_ins is None:
            stand_ins = tuple(None if known is None else _blank(*known) for known in self.forms)
        return node_name(self.op, stand_ins, self.params)

    def __repr__(self) -> str:
        """`<MulBackward0 object>`, as PyTorch prints a node."""
        return f"<{self.name()} object at {id(self):#x}>"

    @property
    def next_functions(self) -> tuple[tuple["Step | None", int], ...]:
        """The nodes that backward visits next, one pair an operand; (None, 0) for a constant."""
        found = ((None, 0) if e is None else seen_from_outside(e) for e in self.edges)
        return tuple(found)

    def release(self) -> None:
        """Forget the saved values (not the edges): they were wanted once."""
        if self.watch is not None:
            self.operands = self.y = None
            self.watch = ()


class Leaf:
    """PyTorch's AccumulateGrad: the end of a path, where a gradient lands in `.grad`."""

    __slots__ = ("__weakref__", "hooks", "order", "variable")
    edges: tuple["Step | None", ...] = ()
    next_functions: tuple[Any, ...] = ()

    variable: Any
    hooks: list[Hook] | None
    order: int

    def name(self) -> str:
        """PyTorch's name of the node."""
        return "AccumulateGrad"

    def __repr__(self) -> str:
        """As PyTorch prints it."""
        return f"<AccumulateGrad object at {id(self):#x}>"


Step = Node | Leaf

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
    node.hooks = node.span = None
    node.order = native.tick()
    return node


def ended(variable: Any) -> Leaf:
    """The end of the paths to a leaf tensor."""
    leaf: Leaf = Leaf.__new__(Leaf)
    leaf.variable = variable
    leaf.hooks = None
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
