"""Writing in place: the value changes where it lies, the version is counted, the node replaced."""

from functools import partial

import numpy as np

from gradcheck.engine import advice, views
from gradcheck.engine.hooks import move_keeper
from gradcheck.engine.recording import MODE, Recording
from gradcheck.engine.state import State, bare, by_ledger
from gradcheck.ops import TABLE
from gradcheck.ops.row import Op, pass_on
from gradcheck.ops.shapes import is_basic
from gradcheck.values import Params, Routine, Value

KINDS = "buif"


def _tracked(value: Value) -> bool:
    return isinstance(value, State) and value.requires_grad


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
    recorded = MODE.recording and any(map(_tracked, (t, *others)))
    if recorded:
        refuse_if_leaf(t)
    if not assigns:
        _refuse_overlap(t._value, others)
    before = _as_it_was(t, row, others) if recorded else t.detach()
    result = before.__apply_op__(row, (before, *others), params)
    if result.shape != t.shape:
        raise RuntimeError(
            f"output with shape {list(t.shape)} doesn't match the broadcast shape "
            f"{list(result.shape)}"
        )
    if not assigns and KINDS.index(result.dtype.kind) > KINDS.index(t.dtype.kind):
        raise RuntimeError(
            f"result type {advice.scalar_type(result)} can't be cast to the desired output type "
            f"{advice.scalar_type(t)}"
        )
    t._share()
    if not t._value.flags.writeable or _overlaps_itself(t._value):
        raise RuntimeError(advice.OVERLAP)
    t._value[...] = result._value
    t._cell[0] += 1
    if recorded:
        _take_over(t, result)


def set_item(t: Value, index: Value, value: Value) -> None:
    """`t[index] = value`; nothing happens where the value lies there already (`t[0] += 1`)."""
    index = bare(index)
    if MODE.recording and (_tracked(t) or _tracked(value)):
        refuse_if_leaf(t, region=is_basic(index))
    if isinstance(value, State):
        t._share()
        region = t._value[index]
        if _same_place(region, value._value) and _family(t) is _family(value):
            t._cell[0] += 1  # PyTorch counts the copy of what lies there already
            return
        _refuse_overlap(region, (value,))
    if _overlaps_itself(t._value) and is_basic(index):
        _put(t[index], value, "CopyBackwards")
    else:
        write(t, TABLE["setitem"], (value,), {"index": index}, assigns=True)


def refuse_if_leaf(t: Value, region: bool = False) -> None:
    """PyTorch's refusals of a recorded write; raises RuntimeError."""
    view = t._view
    if view is not None:
        if view.frozen:
            raise RuntimeError(advice.FROZEN_VIEW)
        if view.base._tracked and view.base._node is None:
            raise RuntimeError(f"a view of {advice.LEAF_WRITTEN}")
    if t._tracked and t._node is None:
        raise RuntimeError(("a view of " if region else "") + advice.LEAF_WRITTEN)
    if t.dtype.kind != "f":
        raise RuntimeError("only Tensors of floating point dtype can require gradients")


def _as_it_was(t: Value, row: Op, others: tuple[Value, ...]) -> Value:
    """The tensor before the write, for its node: with a copy of the value if a VJP will read it."""
    keep, _ = row.keeps(tuple(map(_tracked, (t, *others))))
    node = t._node if t._view is None else views.past_hooks(t._node)
    return type(t)(np.array(t._value) if keep[0] else t._value, t._tracked, node)


def _take_over(t: Value, result: Value) -> None:
    """The tensor is now what the result's node made; a view hands that on to its base."""
    before, node = t._node, result._node
    if node is not None and node.y is not None:
        node.y = t._value
        kept = (node.watch or ())[:-3]  # what was saved of the value stands last
        node.watch = (*kept, -1, t._cell, t._cell[0])
    if t._view is not None:
        views.write_through(t, result)
    elif node is not None:
        t._node, t._tracked = node, True
        t._cell[1] = node.name()
        move_keeper(t, before)


# -- where memory lies -----------------------------------------------------------------------------


def _refuse_overlap(region: Value, others: tuple[Value, ...]) -> None:
    """What is read must not lie partly where is written; raises RuntimeError."""
    for other in map(bare, others):
        arrays = isinstance(other, np.ndarray) and isinstance(region, np.ndarray)
        if arrays and np.shares_memory(region, other) and not _same_place(region, other):
            raise RuntimeError(advice.OVERLAP)


def _overlaps_itself(a: Value) -> bool:
    """Whether entries share their memory: those that an expanded axis repeats."""
    if not isinstance(a, np.ndarray) or not a.size:  # of nothing NumPy says any strides
        return False
    return any(n > 1 and step == 0 for n, step in zip(a.shape, a.strides, strict=True))


def _same_place(*arrays: Value) -> bool:
    if not all(isinstance(each, np.ndarray) for each in arrays):
        return False
    a, b = ((x.__array_interface__["data"], x.shape, x.strides, x.dtype) for x in arrays)
    return a == b


def _family(t: Value) -> Value:
    """The tensor whose writes this one follows: the base of a view, or itself."""
    return t if t._view is None else t._view.base


# -- values that are put in the place of others ----------------------------------------------------


def _replace(x: Value, value: Value, node: str) -> Value:
    return np.broadcast_to(np.asarray(value), x.shape).astype(x.dtype)


REPLACE = Op(
    name="replace",
    forward=_replace,
    function=_replace,
    vjps=(lambda y, x, value, node: lambda g: np.zeros(g.shape, g.dtype), pass_on),
    elementwise=False,
    rounds=False,
    operands=2,
    params=("node",),
)
"""The row of every write of values as they are; `node` is PyTorch's name of the one that it was."""


def _put(t: Value, value: Value, node: str, verb: str = "write") -> Value:
    return write(t, REPLACE, (value,), {"node": node}, assigns=True, verb=verb)


def zero_(t: Value) -> Value:
    """Fill with zeros, in place."""
    return _put(t, 0.0, "ZeroBackward0", "zero")


def fill_(t: Value, value: Value) -> Value:
    """Fill with one number, in place."""
    if np.ndim(bare(value)):
        raise RuntimeError(
            "fill_ only supports 0-dimension value tensor but got tensor with "
            f"{value.ndim} dimensions."
        )
    return _put(t, value, f"FillBackward{3 if isinstance(value, State) else 2}")


def copy_(t: Value, source: Value) -> Value:
    """Copy the entries of another tensor, broadcast and cast, in place."""
    if isinstance(source, int | float):
        source = type(t)(np.asarray(source)[()])
    if not isinstance(source, State):
        raise TypeError(
            f"copy_(): argument 'other' (position 1) must be Tensor, not {type(source).__name__}"
        )
    _refuse_overlap(t._value, (source,))
    return _put(t, source, "CopyBackwards")


def _scaled(name: str) -> Routine:
    """`t += alpha * other`, `t -= alpha * other`."""
    return lambda t, other, *, alpha=1: write(
        t, TABLE[name], (other if alpha == 1 else other * alpha,), {}
    )


add_, sub_ = map(_scaled, ("add", "subtract"))


def nth_(t: Value, n: int) -> Value:
    """`t.polygamma_(n)`."""
    row = TABLE["polygamma"]
    return write(t, row, (), row.normal((n, t), {})[1])


def assign(t: Value, source: Value) -> None:
    """`t.data = source`: other numbers of the same shape, of which the tape hears nothing."""
    came = np.shape(bare(source))
    if t.shape != came:
        raise RuntimeError(f"`.data` of shape {t.shape} cannot become {came}: make a new tensor")
    with Recording(False):
        copy_(t, source)
