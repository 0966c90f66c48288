"""The same entries in another shape or order: picked, put together, padded, cut apart, sorted."""

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from math import prod
from typing import NamedTuple

import numpy as np

from gradcheck.ops.arithmetic import maximum, minimum
from gradcheck.ops.row import (
    Op,
    Pull,
    add_back,
    formula,
    handler_of,
    join,
    moving,
    number_entries,
    op,
    pass_on,
)
from gradcheck.values import Call, Numbers, Routine

Shape = tuple[int, ...]


def along(x: Numbers, axis: int, place: Numbers) -> tuple[Numbers, ...]:
    """The index that takes `place` on one axis and everything on the others."""
    where: list[Numbers] = [slice(None)] * max(np.ndim(x), 1)
    where[axis] = place
    return tuple(where)


def lay_along(values: Numbers, rank: int, axis: int) -> Numbers:
    return np.reshape(values, [-1 if k == axis % rank else 1 for k in range(rank)])


def bare_numbers(x: Numbers) -> Numbers:
    """The bare numbers of any kind, for a choice that has no derivative."""
    return x._bare().numpy() if hasattr(x, "_bare") else np.asarray(x)


def is_number(x: Numbers) -> Numbers:
    """Which entries are numbers; those of exact kinds always are."""
    bare = bare_numbers(x)
    return ~np.isnan(bare) if bare.dtype.kind == "f" else np.ones(bare.shape, dtype=bool)


def as_tuple(value: Numbers) -> tuple[Numbers, ...]:
    return tuple(value) if isinstance(value, tuple | list) else (value,)


# -- other shapes and orders -----------------------------------------------------------------------


def _unpack(args: tuple[Numbers, ...]) -> tuple[Numbers, ...]:
    """`reshape(2, 3)` and `reshape((2, 3))` mean the same."""
    return as_tuple(args[0]) if len(args) == 1 else args


def _arrange_shape(
    x: Numbers, *sizes: Numbers, shape: Numbers = None, newshape: Numbers = None, order: str = "C"
) -> Call:
    if order != "C":
        raise TypeError(f"reshape follows rows only - transpose first instead of order='{order}'")
    return (x,), {"shape": _unpack(sizes or (newshape if shape is None else shape,))}


def _arrange_axes(x: Numbers, *order: Numbers, axes: Numbers = None, axis: Numbers = None) -> Call:
    order = order or (axis if axes is None else axes,)
    return (x,), {"axes": None if order == (None,) else _unpack(order)}


_in_own_shape = lambda y, x, **how: lambda g, shape=x.shape: np.reshape(g, shape)
"""The rule of what gives all entries in their order another shape."""
moving(
    np.reshape, _in_own_shape, arrange=_arrange_shape, school=("view",),
    forward=lambda x, shape: np.reshape(x, shape),  # noqa: PLW0108 - NumPy 2.0 says newshape=
)  # fmt: skip
for _same in (np.ravel, np.atleast_1d, np.atleast_2d, np.atleast_3d):
    moving(_same, _in_own_shape)
moving(np.expand_dims, _in_own_shape, params=("axis",), school=("unsqueeze",))
moving(np.squeeze, _in_own_shape, params=("axis",))
moving(np.broadcast_to, pass_on, arrange=_arrange_shape)
moving(np.copy, pass_on, school=("clone",))
moving(
    np.transpose,
    lambda y, x, axes=None: lambda g: np.transpose(
        g, axes and tuple(np.argsort(np.mod(axes, len(axes))).tolist())
    ),
    arrange=_arrange_axes, school=("permute", "t"),
)  # fmt: skip
moving(
    np.swapaxes, lambda y, x, axis1, axis2: lambda g: np.swapaxes(g, axis1, axis2),
    params=("axis1", "axis2"),
)  # fmt: skip
moving(
    np.matrix_transpose, lambda y, x: lambda g: np.swapaxes(g, -1, -2),
    also=(np.linalg.matrix_transpose,),
)  # fmt: skip
moving(
    np.moveaxis,
    lambda y, x, source, destination: lambda g: np.moveaxis(g, destination, source),
    params=("source", "destination"), school=("movedim",),
)  # fmt: skip
moving(np.roll, params=("shift", "axis"))
moving(np.flip, lambda y, x, axis=None: lambda g: np.flip(g, axis=axis), params=("axis",))
moving(np.flipud)
moving(np.fliplr)
moving(np.rot90, params=("k", "axes"))


@formula(np.rollaxis)
def rollaxis(x: Numbers, axis: int, start: int = 0) -> Numbers:
    axis, start = axis % np.ndim(x), start + np.ndim(x) if start < 0 else start
    return np.moveaxis(x, axis, start - 1 if axis < start else start)


@formula()
def flatten(x: Numbers, start_dim: int = 0, end_dim: int = -1) -> Numbers:
    """`flatten(x, start_dim, end_dim)`: these axes and those between as one."""
    shape = np.shape(x) or (1,)
    if not (isinstance(start_dim, int) and isinstance(end_dim, int)):
        raise TypeError("flatten takes the first and the last axis that become one")
    first, after = start_dim % len(shape), end_dim % len(shape) + 1
    return np.reshape(x, (*shape[:first], prod(shape[first:after]), *shape[after:]))


@formula()
def expand(x: Numbers, *sizes: Numbers, size: Numbers = None, implicit: bool = False) -> Numbers:
    """`expand(x, 2, -1)`: broadcast to a shape, where -1 keeps the length."""
    given = _unpack(sizes if size is None else (size,))
    own = (-1,) * (len(given) - np.ndim(x)) + np.shape(x)
    kept = [m if n == -1 else int(n) for n, m in zip(given, own, strict=True)]
    return np.broadcast_to(x, tuple(kept))


formula(name="expand_as")(lambda x, other: np.broadcast_to(x, np.shape(other)))
formula(name="reshape_as", school=("view_as",))(lambda x, other: np.reshape(x, np.shape(other)))


@formula(np.broadcast_arrays, school=("broadcast_tensors",))
def broadcast_arrays(*arrays: Numbers) -> tuple[Numbers, ...]:
    shape = np.broadcast_shapes(*map(np.shape, arrays))
    return tuple(np.broadcast_to(each, shape) for each in arrays)


@formula(np.meshgrid)
def meshgrid(
    *vectors: Numbers, indexing: str = "xy", sparse: bool = False, copy: bool = True
) -> Numbers:
    """Each vector along an axis of its own; NumPy's "xy" lets the first lie along the second."""
    if len(vectors) == 1 and isinstance(vectors[0], list | tuple):
        vectors = tuple(vectors[0])
    laid = [lay_along(v, len(vectors), k) for k, v in enumerate(vectors)]
    if indexing == "xy" and len(vectors) > 1:
        laid = [np.swapaxes(v, 0, 1) for v in laid]
    return tuple(laid) if sparse else tuple(np.broadcast_arrays(*laid))


# -- entries by their places ---------------------------------------------------------------------


def is_basic(index: Numbers) -> bool:
    """Whether NumPy answers the index with a view: numbers, slices, `...` and None only."""
    parts = index if isinstance(index, tuple) else (index,)
    return all(
        (part is None or part is Ellipsis or isinstance(part, int | np.integer | slice))
        and not isinstance(part, bool)
        for part in parts
    )


def _scatter(g: Numbers, shape: Shape, index: Numbers) -> Numbers:
    out = np.zeros(shape, g.dtype)
    if is_basic(index):
        out[index] = g
    else:
        np.add.at(out, index, g)
    return out


def _write(x: Numbers, value: Numbers, index: Numbers) -> Numbers:
    given = np.asarray(value)
    exact = given.dtype.kind == "O"  # numbers of an exact kind into plain ones
    out = np.array(x, dtype=object if exact else None)
    out[index] = given[()]  # one number, not the box around it
    return out


def _send_to_last(g: Numbers, index: Numbers) -> Numbers:
    """The cotangents of what was written; of several writes to one entry only the last stays."""
    if is_basic(index):
        return g[index]
    where = number_entries(g.shape)[index] - 1
    order = number_entries(where.shape)
    last = np.zeros(g.size, dtype=int)
    last[where] = order
    stays = last[where] == order
    return g[index] if np.all(stays) else np.where(stays, g[index], 0.0)


def _arrange_indices(usual: int | None) -> Routine:
    return lambda x, indices, axis=usual: ((x,), {"indices": np.asarray(indices), "axis": axis})


moving(
    lambda x, index: x[index],
    lambda y, x, index: lambda g, shape=x.shape: scatter(g, shape=shape, index=index),
    name="getitem", params=("index",),
)  # fmt: skip
scatter: Op = moving(
    _scatter, lambda y, x, shape, index: lambda g: g[index], name="scatter",
    params=("shape", "index"),
)  # fmt: skip
setitem: Op = op(
    _write,
    (
        lambda y, x, value, index: lambda g: setitem(g, 0.0, index),
        lambda y, x, value, index: lambda g: _send_to_last(g, index),
    ),
    name="setitem", elementwise=False, rounds=False, params=("index",),
)  # fmt: skip
moving(np.take, arrange=_arrange_indices(None))
moving(np.take_along_axis, arrange=_arrange_indices(-1))
moving(np.diagonal, params=("offset", "axis1", "axis2"))
for _triangle in (np.diag, np.tril, np.triu):
    moving(_triangle, params=("k",))


def _trace_rule(y: Numbers, x: Numbers, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Pull:
    shape = x.shape
    places = np.diagonal(number_entries(shape), offset, axis1, axis2) - 1
    return lambda g: add_back(np.broadcast_to(np.expand_dims(g, -1), places.shape), shape, places)


op(np.trace, (_trace_rule,), elementwise=False, params=("offset", "axis1", "axis2"))


@formula(np.delete)
def delete(x: Numbers, obj: Numbers, axis: int | None = None) -> Numbers:
    x, axis = (np.ravel(x), 0) if axis is None else (x, axis)
    return np.take(x, np.delete(np.arange(np.shape(x)[axis]), bare_numbers(obj)), axis=axis)


@formula(np.lib.stride_tricks.sliding_window_view)
def sliding_window_view(
    x: Numbers, window_shape: Numbers, axis: Numbers = None, *,
    subok: bool = False, writeable: bool = False,
) -> Numbers:  # fmt: skip
    """Windows along axes, their places at the end; a copy, where NumPy gives a view."""
    axes = range(np.ndim(x)) if axis is None else as_tuple(axis)
    for size, k in zip(as_tuple(window_shape), (k % np.ndim(x) for k in axes), strict=True):
        places = np.arange(np.shape(x)[k] - size + 1)[:, None] + np.arange(size)
        x = np.moveaxis(np.take(x, places, axis=k), k + 1, -1)
    return x


# -- put together, repeated, padded --------------------------------------------------------------


def _arrange_arrays(arrays: Numbers, axis: int = 0, **how: Numbers) -> Call:
    given = [name for name, v in how.items() if v not in (None, "same_kind", np.float64)]
    if given or how.keys() - {"dtype", "casting", "out"}:
        raise TypeError(f"arrays are joined as they are: leave `{'`, `'.join(given or how)}` out")
    return tuple(a if hasattr(a, "shape") else np.asarray(a) for a in arrays), {"axis": axis}


def _concatenate_rule(y: Numbers, *arrays: Numbers, axis: int | None = 0) -> Pull:
    shapes = [a.shape for a in arrays]
    ends = np.cumsum([0, *(prod(s) if axis is None else s[axis] for s in shapes)]).tolist()
    return lambda i, g: np.reshape(
        g[along(g, axis or 0, slice(ends[i], ends[i + 1]))], shapes[i]
    )  # fmt: skip


def _enter_joining(function: Routine, vjp: Routine, **cells: Numbers) -> Op:
    def forward(*arrays: Numbers, axis: int | None = 0) -> Numbers:
        y = function(arrays, axis=axis)  # laid row by row, as PyTorch does
        return np.ascontiguousarray(y) if type(y) is np.ndarray else y

    return op(
        function, vjp, forward=forward, elementwise=False, rounds=False, operands=None,
        arrange=_arrange_arrays, **cells,
    )  # fmt: skip


_enter_joining(np.concatenate, _concatenate_rule, school=("cat", "concat"))
_enter_joining(np.stack, lambda y, *arrays, axis=0: lambda i, g: np.moveaxis(g, axis, 0)[i])


def _join_laid(arrays: Numbers, lay: Routine, axis: int, **how: Numbers) -> Numbers:
    laid = [lay(a) for a in arrays]
    return np.concatenate(laid, axis=min(axis, np.ndim(laid[0]) - 1), **how)


_lay: Numbers
for _joins, _lay, _axis in (
    (np.hstack, np.atleast_1d, 1), (np.vstack, np.atleast_2d, 0), (np.dstack, np.atleast_3d, 2),
    (np.column_stack, lambda x: np.reshape(x, (-1, 1)) if np.ndim(x) < 2 else x, 1),
):  # fmt: skip
    formula(_joins)(partial(_join_laid, lay=_lay, axis=_axis))
moving(
    np.tile, operands=1,
    arrange=lambda x, *reps, **named: ((x,), named or {"reps": reps if len(reps) > 1 else reps[0]}),
)  # fmt: skip
moving(np.repeat, params=("repeats", "axis"), school=("repeat_interleave",))
formula(np.append)(lambda x, values, axis=None: np.concatenate([join(x), join(values)], axis=axis))

REPEATING = ("edge", "reflect", "symmetric", "wrap")
"""The modes of `pad` that put entries of x around x."""


def _arrange_padding(
    x: Numbers, pad_width: Numbers, mode: str = "constant", constant_values: float = 0.0
) -> Call:
    if mode not in ("constant", *REPEATING):
        raise TypeError(
            f"pad follows mode='constant' and {', '.join(REPEATING)}; build mode='{mode}' with "
            "np.concatenate"
        )
    how = {"constant_values": constant_values} if mode == "constant" else {"mode": mode}
    return (x,), {"pad_width": pad_width, **how}


def _pad_rule(
    y: Numbers, x: Numbers, pad_width: Numbers, mode: Numbers = "", constant_values: float = 0.0
) -> Pull:
    """The middle of g, without what stands around it; or all of it to where it came from."""
    shape = x.shape
    if mode:
        return lambda g: add_back(g, shape, np.pad(number_entries(shape) - 1, pad_width, mode=mode))
    before = np.broadcast_to(pad_width, (len(shape), 2))[:, 0].tolist()
    middle = tuple(slice(b, b + n) for b, n in zip(before, shape, strict=True))
    return lambda g: g[middle]


moving(
    np.pad, _pad_rule, operands=1, arrange=_arrange_padding,
    forward=lambda x, **how: np.pad(x, **how),  # noqa: PLW0108 - by name
)  # fmt: skip
PYTORCHS_MODES: dict[str, Numbers] = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}
"""PyTorch's words for what is put around, and NumPy's."""


@formula(school=("constant_pad_nd",))
def pad_last(
    x: Numbers, pad: Sequence[int], mode: Numbers = "constant", value: Numbers = None
) -> Numbers:
    """PyTorch's `F.pad(x, (left, right, ...))`: from the last axis on; negative widths cut off."""
    if not isinstance(mode, str):
        mode, value = "constant", mode
    widths = np.zeros((np.ndim(x), 2), dtype=int)
    widths[np.ndim(x) - len(pad) // 2 :] = np.reshape(pad, (-1, 2))[::-1]
    if np.any(widths < 0):
        cut = zip(np.maximum(-widths, 0).tolist(), np.shape(x), strict=True)
        x = x[tuple(slice(before, n - after) for (before, after), n in cut)]
    around = np.maximum(widths, 0).tolist()
    if mode == "constant":
        return np.pad(x, around, constant_values=0.0 if value is None else float(value))
    return np.pad(x, around, mode=PYTORCHS_MODES[mode])


# -- cut apart -----------------------------------------------------------------------------------


def _cut(
    x: Numbers, indices_or_sections: Numbers, axis: int = 0, *,
    cut: Routine = np.split, most: bool = False,
) -> Numbers:  # fmt: skip
    """Slices of an array, where NumPy would cut it; of a vector along its only axis, at `most`."""
    axis = min(axis, x.ndim - 1) if most else axis
    places = cut(np.arange(x.shape[axis]), bare_numbers(indices_or_sections))
    bounds = [slice(k[0], k[-1] + 1) if len(k) else slice(0, 0) for k in places]
    return [x[along(x, axis, bound)] for bound in bounds]


for _cuts, _axis in ((np.hsplit, 1), (np.vsplit, 0), (np.dsplit, 2)):
    formula(_cuts)(partial(_cut, axis=_axis, most=True))
for _cuts in (np.split, np.array_split):
    formula(_cuts)(partial(_cut, cut=_cuts))


@formula(also=(np.unstack,) if hasattr(np, "unstack") else (), school=("unstack",))
def unbind(x: Numbers, axis: int = 0) -> tuple[Numbers, ...]:
    """`unbind(x, dim)`: the slices along an axis, one by one."""
    return tuple(x[along(x, axis, i)] for i in range(np.shape(x)[axis]))


@formula()
def split_along(x: Numbers, split_size_or_sections: Numbers, axis: int = 0) -> tuple[Numbers, ...]:
    """PyTorch's `split(x, 2, dim)`: parts of that length (the last may be less), or of several."""
    lengths, n = split_size_or_sections, np.shape(x)[axis]
    if isinstance(lengths, int):
        if lengths < 1:
            raise RuntimeError(f"split expects split_size be positive, got split_size={lengths}")
        lengths = [min(lengths, n - i) for i in range(0, n, lengths)] or [0]
    if sum(lengths) != n:
        raise RuntimeError(f"split expects lengths that sum exactly to {n}, got {list(lengths)}")
    ends = np.cumsum([0, *lengths]).tolist()
    return tuple(x[along(x, axis, slice(*part))] for part in pairwise(ends))


@formula()
def chunk(x: Numbers, chunks: int, axis: int = 0) -> tuple[Numbers, ...]:
    """`chunk(x, n, dim)`: parts of equal length, the last perhaps shorter."""
    return split_along(x, -(-np.shape(x)[axis] // chunks) or [0] * chunks, axis)  # type: ignore[no-any-return]


# -- PyTorch's words for indexing ------------------------------------------------------------------


@formula()
def gather(x: Numbers, axis: int, index: Numbers, *, sparse_grad: bool = False) -> Numbers:
    """`gather(x, dim, index)`: for each place of the index the entry there, along one axis."""
    index = bare_numbers(index)
    grid = list(np.indices(index.shape, sparse=True))
    grid[axis] = index
    return x[tuple(grid)]


@formula()
def masked_fill(x: Numbers, mask: Numbers, value: Numbers) -> Numbers:
    return np.where(bare_numbers(mask).astype(bool), value, x)


@formula(also=(np.select,))
def select(x: Numbers, *how: Numbers, **named: Numbers) -> Numbers:
    """`select(x, dim, place)`; of lists NumPy's: the first choice whose condition holds."""
    if isinstance(x, list | tuple):
        return _choose_first(x, *how, **named)
    given = [*how, *(named[k] for k in ("axis", "index") if k in named)]
    return x[along(x, given[0], int(given[1]))]


def _choose_first(condlist: Numbers, choicelist: Numbers, default: Numbers = 0.0) -> Numbers:
    y = default
    for condition, choice in zip(reversed(condlist), reversed(choicelist), strict=True):
        y = np.where(bare_numbers(condition), choice, y)
    return y


# -- in order ------------------------------------------------------------------------------------


class Picked(NamedTuple):
    values: Numbers
    indices: Numbers


def _pick(x: Numbers, places: Numbers, axis: int, lost: bool = False) -> Picked:
    """The entries at places along an axis, which may be `lost`."""
    found = np.take_along_axis(x, places, axis), places
    return Picked(*(np.squeeze(each, axis) for each in found)) if lost else Picked(*found)


def _pick_extreme(
    x: Numbers, axis: Numbers, keepdims: bool = False, *, of_two: Routine, place: Routine
) -> Numbers:
    if handler_of((axis,)) or np.ndim(axis):
        return of_two(x, axis)
    places = np.expand_dims(place(bare_numbers(x), axis=axis), axis)
    return _pick(x, places, axis, not keepdims)


max_along = formula(name="max_along")(partial(_pick_extreme, of_two=maximum, place=np.argmax))
formula(name="min_along")(partial(_pick_extreme, of_two=minimum, place=np.argmin))


def _order(x: Numbers, axis: int, descending: bool = False) -> Numbers:
    """The places of the entries in order, of equal ones as they stand; what is no number is last.

    Descending it is the other way round, and what is no number comes first.
    """
    bare = bare_numbers(x)
    if not descending:
        return np.argsort(bare, axis=axis, kind="stable")
    back = np.argsort(np.flip(bare, axis), axis=axis, kind="stable")
    return bare.shape[axis] - 1 - np.flip(back, axis)


@formula()
def sort_along(
    x: Numbers, axis: int = -1, descending: bool = False, stable: bool = False
) -> Picked:
    """PyTorch's `sort(x, dim)`: the entries of each line in order, and their places."""
    return _pick(x, _order(x, axis, descending), axis)


@formula()
def median_along(x: Numbers, axis: int | None = None, keepdims: bool = False) -> Numbers:
    """PyTorch's `median(x, dim)`: the lower of two middle entries, and its place.

    Of all entries it is the lower middle one, and those that equal it share its gradient. Of what
    is no number the first is the median, or all.
    """
    known = is_number(x)
    if axis is None:
        bare = np.ravel(bare_numbers(x))
        middle = np.sort(bare)[(len(bare) - 1) // 2]
        same = bare == middle if known.all() else ~np.ravel(known)
        return np.sum(np.where(same, np.ravel(x), 0.0)) / np.sum(same)
    order = _order(x, axis)
    middle = (order.shape[axis] - 1) // 2
    places = order[along(order, axis, slice(middle, middle + 1))]
    lost = np.argmin(known, axis=axis, keepdims=True)
    places = np.where(known.all(axis=axis, keepdims=True), places, lost)
    return _pick(x, places, axis, not keepdims)


@formula()
def topk(x: Numbers, k: int, axis: int = -1, largest: bool = True, sorted: bool = True) -> Picked:
    """`topk(x, k, dim)`: the k largest along an axis, from the largest on, and their places."""
    order = _order(x, axis)
    if k > order.shape[axis]:
        raise RuntimeError("selected index k out of range")
    places = (np.flip(order, axis) if largest else order)[along(order, axis, slice(k))]
    return _pick(x, places, axis)


@formula(np.partition)
def partition(x: Numbers, kth: Numbers, axis: int | None = -1) -> Numbers:
    """Sorted: one of the orders that NumPy's `partition` may give; its own places are followed."""
    if axis is None:
        x, axis = np.ravel(x), -1
    return np.take_along_axis(x, np.argpartition(bare_numbers(x), kth, axis=axis), axis)
