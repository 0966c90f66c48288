"""Views: tensors that look at another tensor's memory, and follow when it is written.

A view remembers its base and the path of rows that leads from the base to it. A write through a
view is a write to a region of the base (PyTorch's CopySlices): the base gets a new node, and every
view of it is derived anew, when it is next asked for, from what the base has become.
"""

from functools import partial

import numpy as np

from gradcheck.engine.hooks import move_keeper
from gradcheck.engine.recording import MODE
from gradcheck.engine.state import State, record
from gradcheck.engine.tape import MOVES, Node, blank, make_node
from gradcheck.ops import TABLE
from gradcheck.ops.row import Op, add_back, number_entries
from gradcheck.ops.shapes import is_basic
from gradcheck.values import Numbers, Params, Value

Path = tuple[Value, Op, Params] | None
"""The last step of a path, and the path before it: as short to extend as to begin."""

READ_ONLY = ("diagonal", "broadcast_to")
"""Rows whose views NumPy protects; a write looks itself whether it would hit an entry twice."""


class View:
    """Whose memory a view looks at (`base`, never a view itself), along which path.

    `seen` is the base's node when the view's own node was made; a `frozen` one, of a no_grad block
    or one of several outputs, may not be written where that is recorded.
    """

    __slots__ = ("base", "frozen", "path", "seen")

    def __init__(self, base: State, path: Path, frozen: bool = False) -> None:
        self.base = base
        self.path = path
        self.seen = base._node
        self.frozen = frozen

    def settle(self, view: State) -> None:
        """Bring the view's node up to date with the base."""
        if self.base._tracked:
            view._tracked = True
        if self.base._node is not self.seen:
            self.seen = self.base._node
            _derive(AS_STRIDED, (self.base,), {"path": self.path}, view)


def forward(row: Op, x: State, params: Params) -> Value:
    """The value of a row that moves entries: as a view, also where NumPy copies a number out."""
    x._share()
    y = row.forward(x._value, **params)
    if row.name in READ_ONLY:
        y.flags.writeable = x._value.flags.writeable
    if row.name != "getitem" or isinstance(y, np.ndarray) or not is_basic(params["index"]):
        return y
    index = params["index"]
    return x._value[(*index, ...) if isinstance(index, tuple) else (index, ...)]


def link(out: State, operands: tuple[Value, ...], row: Op, params: Params) -> None:
    """Make `out` a view if its memory is that of an operand; a copy, if its row gives no views."""
    y = out._value
    if type(y) is not np.ndarray:
        return
    for x in operands:
        if not isinstance(x, State) or (y.base is None and y is not x._value):
            continue
        if not np.may_share_memory(x._value, y):
            continue
        if row not in MOVING:
            out._value = np.array(y)
            continue
        base, path = (x._view.base, x._view.path) if x._view else (x, None)
        frozen = not MODE.recording or bool(x._view and x._view.frozen)
        out._view = View(base, (path, row, params), frozen)
        out._cell = x._cell


def write_through(view: State, written: State) -> None:
    """Let the base's node say that the region behind the view now holds `written`."""
    base, path = view._view.base, view._view.path
    _derive(COPY_SLICES, (base, written), {"path": path}, base)
    base._cell[1] = COPY_SLICES.grad_fn


def past_hooks(node: Node | None) -> Node | None:
    """A view's node without its hooks: what a write through the view sends back goes past them."""
    if node is None or not node.hooks:
        return node
    saved = node.operands or (), node.params, node.y, node.watch
    twin = make_node(node.op, node.edges, node.forms, *saved)
    twin.order = node.order
    return twin


def _derive(row: Op, operands: tuple[State, ...], params: Params, out: State) -> None:
    before = out._node
    values = [blank(t._value) for t in operands]
    record(row, operands, params, values, tuple([t._tracked for t in operands]), out)
    move_keeper(out, before)


# -- rows of the engine itself: entries by their places in the base --------------------------------


def _places(shape: tuple[int, ...], path: Path) -> Value:
    """The numbers (from 0) of the entries that a path shows of an array of that shape."""
    steps = []
    while path is not None:
        path, row, params = path
        steps.append((row, params))
    places = number_entries(shape) - 1
    for row, params in reversed(steps):
        places = np.asarray(row.forward(places, **params))
    return places


def _look_at(x: Numbers, path: Path) -> Numbers:
    return np.reshape(x, -1)[_places(x.shape, path)]


def _overwritten(x: Numbers, value: Numbers, path: Path) -> Numbers:
    """A copy of x with the value where the path looks."""
    entries = TABLE["setitem"](np.reshape(x, -1), value, index=_places(x.shape, path))
    return np.reshape(entries, x.shape)


_of_region = partial(Op, elementwise=False, rounds=False, params=("path",))
AS_STRIDED = _of_region(
    name="as_strided",
    forward=_look_at,
    function=_look_at,
    vjps=(lambda y, x, path: lambda g, shape=x.shape: add_back(g, shape, _places(shape, path)),),
    grad_fn="AsStridedBackward0",
)
COPY_SLICES = _of_region(
    name="copy_slices",
    forward=_overwritten,
    function=_overwritten,
    vjps=(
        lambda y, x, value, path: lambda g: _overwritten(g, 0.0, path),
        lambda y, x, value, path: lambda g: _look_at(g, path),
    ),
    grad_fn="CopySlices",
    operands=2,
)

MOVING = frozenset(row for name, row in TABLE.items() if name in MOVES)
