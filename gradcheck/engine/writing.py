"""Memory that several tensors look at, and writes into it.

A write is an op like any other: the tensor takes over value and node of `row(t, *others)`, and the
version of its memory is counted. A view remembers its base and the path of rows that leads from
the base to it; a write through it puts a region of the base's current version in place (PyTorch's
CopySlices), and every view is looked up anew, when it is next asked for, in what the base is then.
"""

from functools import partial

import numpy as np

from gradcheck.engine import advice
from gradcheck.engine.backward import move_keeper
from gradcheck.engine.recording import MODE
from gradcheck.engine.tape import (
    MOVES,
    Node,
    State,
    by_ledger,
    count_write,
    make_node,
    record,
    stand_in,
    track,
    unwrap,
)
from gradcheck.ops import TABLE
from gradcheck.ops.row import Op, add_back, number_entries
from gradcheck.ops.shapes import is_basic
from gradcheck.values import Numbers, Params, Routine, Value

Path = tuple[Value, Op, Params] | None
"""The last step of a path, and the path before it: as short to extend as to begin."""

MOVING = frozenset(row for name, row in TABLE.items() if name in MOVES)
READ_ONLY = ("diagonal", "broadcast_to")
"""Rows whose views NumPy protects; a write looks itself whether it would hit an entry twice."""
KINDS = "buif"

# -- two rows of the engine itself: entries by their places in the base ----------------------------


def _find_places(shape: tuple[int, ...], path: Path) -> Value:
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
    return x if path is None else np.reshape(x, -1)[_find_places(x.shape, path)]


def _put_into(x: Numbers, value: Numbers, path: Path, node: str = "") -> Numbers:
    """A copy of x with the value where the path looks: everywhere without one."""
    if path is None:
        return np.broadcast_to(np.asarray(value), x.shape).astype(x.dtype)
    entries = TABLE["setitem"](np.reshape(x, -1), value, index=_find_places(x.shape, path))
    return np.reshape(entries, x.shape)


_of_places = partial(Op, elementwise=False, rounds=False)
LOOK = _of_places(
    name="as_strided", forward=_look_at, function=_look_at, params=("path",),
    vjps=(lambda y, x, path: lambda g, s=x.shape: add_back(g, s, _find_places(s, path)),),
    grad_fn="AsStridedBackward0",
)  # fmt: skip
PUT = _of_places(
    name="replace", forward=_put_into, function=_put_into, operands=2, params=("path", "node"),
    vjps=(
        lambda y, x, value, path, node: lambda g: _put_into(g, 0.0, path),
        lambda y, x, value, path, node: lambda g: _look_at(g, path),
    ),
)  # fmt: skip
"""The row of every write of values as they are; `node` is PyTorch's name of the one that it was."""

# -- views -----------------------------------------------------------------------------------------


class View:
    """Whose memory a view looks at (`base`, never a view itself), along which path.

    `seen` is the base's node when the view's own node was made.
    """

    __slots__ = ("base", "path", "seen")

    def __init__(self, base: State, path: Path) -> None:
        self.base, self.path, self.seen = base, path, base._node

    def settle(self, view: State) -> None:
        """Bring the view's node up to date with the base."""
        if self.base._tracked:
            view._tracked = True
        if self.base._node is not self.seen:
            self.seen = self.base._node
            _derive(LOOK, (self.base,), {"path": self.path}, view)


def _derive(row: Op, operands: tuple[State, ...], params: Params, out: State) -> None:
    before = out._node
    values = [stand_in(t._value)[1] for t in operands]
    record(row, operands, params, values, tuple([t._tracked for t in operands]), out)
    move_keeper(out, before)


def forward(row: Op, x: State, params: Params) -> Value:
    """The value of a row that moves entries: as a view, also where NumPy copies a number out."""
    x._share()
    y = row.forward(x._value, **params)
    if row.name in READ_ONLY:
        y.flags.writeable = x._value.flags.writeable
    if row.name != "getitem":
        return y
    if not is_basic(params["index"]):  # NumPy lays some of it column by column
        return np.ascontiguousarray(y) if np.ndim(y) else y
    if isinstance(y, np.ndarray):
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
        out._view = View(base, (path, row, params))
        out._writes = x._memory


# -- writes ----------------------------------------------------------------------------------------


def write(
    t: Value,
    row: Op,
    others: tuple[Value, ...],
    params: Params,
    *,
    assigns: bool = False,
    verb: str = "write",
) -> Value:
    """Replace the value by row(t, *others), bump the version, and take over the node.

    An assignment takes any number into its own dtype; arithmetic only within its kind.
    """
    by_ledger(verb, t, partial(_write, t, row, others, params, assigns))
    return t


def _write(t: Value, row: Op, others: tuple[Value, ...], params: Params, assigns: bool) -> None:
    recorded = MODE.recording and any(map(track, (t, *others)))
    if recorded:
        _refuse_if_leaf(t)
    before = _restore(t, row, others) if recorded else t._bare()
    result = before.__apply_op__(row, (before, *others), params)
    if result.shape != t.shape:
        raise RuntimeError(
            f"output with shape {list(t.shape)} doesn't match the broadcast shape "
            f"{list(result.shape)}"
        )
    if not assigns and KINDS.index(result.dtype.kind) > KINDS.index(t.dtype.kind):
        raise RuntimeError(
            f"result type {advice.name_scalar_type(result)} can't be cast to the desired output "
            f"type {advice.name_scalar_type(t)}"
        )
    t._share()
    if not t._value.flags.writeable or _overlaps_itself(t._value):
        raise RuntimeError(advice.OVERLAP)
    t._value[...] = result._value
    count_write(t)
    if recorded:
        _take_over(t, result)


def _restore(t: Value, row: Op, others: tuple[Value, ...]) -> Value:
    """The tensor before the write, for its node: with a copy of the value if a VJP will read it.

    What a write through a view sends back goes past the hooks of the view.
    """
    keep, _ = row.keeps(tuple(map(track, (t, *others))))
    node: Node | None = t._node
    if t._view is not None and node is not None and (node.hooks or node.keeper):
        twin = make_node(node.op, node.edges, node.forms, node.operands or (), node.params)
        twin.y, twin.watch, twin.order, node = node.y, node.watch, node.order, twin
    return type(t)(np.array(t._value) if keep[0] else t._value, t._tracked, node)


def _take_over(t: Value, result: Value) -> None:
    """The tensor is now what the result's node made; a view hands that on to its base."""
    before, node = t._node, result._node
    if node is not None and node.y is not None:
        node.y = t._value
        kept = (node.watch or ())[:-3]  # what was saved of the value stands last
        node.watch = (*kept, -1, t._memory, t._memory.version)
    if t._view is not None:
        params = {"path": t._view.path, "node": "CopySlices"}
        _derive(PUT, (t._view.base, result), params, t._view.base)
        t._memory.writer = "CopySlices"
    elif node is not None:
        t._node, t._tracked = node, True
        t._memory.writer = node.name()
        move_keeper(t, before)


def _refuse_if_leaf(t: Value, region: bool = False) -> None:
    view = t._view
    of_leaf = view is not None and view.base._tracked and view.base._node is None
    if of_leaf or (t._tracked and t._node is None):
        raise RuntimeError("a view of " * (of_leaf or region) + advice.LEAF_WRITTEN)
    if t.dtype.kind != "f":
        raise RuntimeError("only Tensors of floating point dtype can require gradients")


def _overlaps_itself(a: Value) -> bool:
    """Whether entries share their memory: those that an expanded axis repeats."""
    if not isinstance(a, np.ndarray) or not a.size:  # of nothing NumPy says any strides
        return False
    return any(n > 1 and step == 0 for n, step in zip(a.shape, a.strides, strict=True))


def _is_same_place(*arrays: Value) -> bool:
    if not all(isinstance(each, np.ndarray) for each in arrays):
        return False
    a, b = ((x.__array_interface__["data"], x.shape, x.strides, x.dtype) for x in arrays)
    return a == b


# -- what users write ------------------------------------------------------------------------------


def set_item(t: Value, index: Value, value: Value) -> None:
    """`t[index] = value`; nothing happens where the value lies there already (`t[0] += 1`)."""
    index = unwrap(index)
    if MODE.recording and (track(t) or track(value)):
        _refuse_if_leaf(t, region=is_basic(index))
    if isinstance(value, State):
        t._share()
        bases = [each if each._view is None else each._view.base for each in (t, value)]
        if _is_same_place(t._value[index], value._value) and bases[0] is bases[1]:
            count_write(t)  # PyTorch counts the copy of what lies there already
            return
    if _overlaps_itself(t._value) and is_basic(index):
        put(t[index], value, "CopyBackwards")
    else:
        write(t, TABLE["setitem"], (value,), {"index": index}, assigns=True)


def put(t: Value, value: Value, node: str, verb: str = "write") -> Value:
    return write(t, PUT, (value,), {"path": None, "node": node}, assigns=True, verb=verb)


def zero_(t: Value) -> Value:
    """Fill with zeros, in place."""
    return put(t, 0.0, "ZeroBackward0", "zero")


def fill_(t: Value, value: Value) -> Value:
    """Fill with one number, in place."""
    return put(t, value, f"FillBackward{3 if isinstance(value, State) else 2}")


def copy_(t: Value, source: Value) -> Value:
    """Copy the entries of another tensor, broadcast and cast, in place."""
    return put(t, source, "CopyBackwards")


def _make_scaled(name: str) -> Routine:
    return lambda t, other, *, alpha=1: write(
        t, TABLE[name], (other if alpha == 1 else other * alpha,), {}
    )


add_, sub_ = map(_make_scaled, ("add", "subtract"))


def expose(t: Value) -> Value:
    """`t.data`: the same memory, of whose writes the tape hears nothing.

    But it hears of those to a number by itself, of which it may have saved a copy.
    """
    twin = t.detach()
    if t.ndim or t._view:
        twin._writes = None
        twin._memory.source = t._place
    return twin


def assign(t: Value, source: Value) -> None:
    """`t.data = source`: from here on the memory of another; who looked at the old one still does.

    Raises TypeError, in PyTorch's words, for what is no tensor.
    """
    if not isinstance(source, State):
        raise TypeError(f"Variable data has to be a tensor, but got {type(source).__name__}")
    by_ledger("write", t, partial(_move_to, t, source))


def _move_to(t: Value, source: Value) -> None:
    if not _is_same_place(t._value, source._value):  # as it is after `t.data += 1`
        t._settle()
        source._share()
        t._value, t._view = source._value.astype(t.dtype, copy=False), None
        count_write(t)  # what was saved of it is gone, where PyTorch goes back with other numbers
