"""The same entries in another shape or order, picked, put together, repeated, padded, cut apart."""

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import pairwise

import numpy as np

from gradcheck.ops.formula import composed, compound
from gradcheck.ops.row import Op, Pull, add_back, moving, number_entries, op, pass_on
from gradcheck.values import Call, Numbers

Shape = tuple[int, ...]

# -- other shapes --------------------------------------------------------------------------------


def _numbers(args: tuple[Numbers, ...]) -> tuple[Numbers, ...]:
    """`reshape(2, 3)` and `reshape((2, 3))` mean the same."""
    return tuple(args[0]) if len(args) == 1 and isinstance(args[0], tuple | list) else tuple(args)


def _reshape(
    x: Numbers, *sizes: Numbers, shape: Numbers = None, newshape: Numbers = None, order: str = "C"
) -> Call:
    if order != "C":
        raise TypeError(f"reshape follows rows only - transpose first instead of order='{order}'")
    return (x,), {"shape": _numbers(sizes or (newshape if shape is None else shape,))}


def _in_own_shape(y: Numbers, x: Numbers, **how: Numbers) -> Pull:
    """The rule of what gives all entries in their order another shape."""
    shape = x.shape
    return lambda g: np.reshape(g, shape)


reshape = moving(
    np.reshape,
    _in_own_shape,
    forward=lambda x, shape: np.reshape(x, shape),  # noqa: PLW0108 - NumPy 2.0 says newshape=
    arrange=_reshape,
    school=("view",),
)
ravel = moving(np.ravel, _in_own_shape)
expand_dims = moving(np.expand_dims, _in_own_shape, params=("axis",), school=("unsqueeze",))
squeeze = moving(np.squeeze, _in_own_shape, params=("axis",))
atleast_1d = moving(np.atleast_1d, _in_own_shape)
atleast_2d = moving(np.atleast_2d, _in_own_shape)
atleast_3d = moving(np.atleast_3d, _in_own_shape)
broadcast_to = moving(np.broadcast_to, pass_on, arrange=_reshape)
copy = moving(np.copy, pass_on, school=("clone",))

# -- other orders --------------------------------------------------------------------------------


def _order(x: Numbers, *order: Numbers, axes: Numbers = None, axis: Numbers = None) -> Call:
    order = order or (axis if axes is None else axes,)
    return (x,), {"axes": None if order == (None,) else _numbers(order)}


def _back(axes: Numbers) -> Numbers:
    """The order of axes that undoes an order."""
    return None if axes is None else tuple(int(k) for k in np.argsort(np.mod(axes, len(axes))))


transpose = moving(
    np.transpose,
    lambda y, x, axes=None: lambda g: np.transpose(g, _back(axes)),
    arrange=_order,
    school=("permute", "t"),
)
swapaxes = moving(
    np.swapaxes,
    lambda y, x, axis1, axis2: lambda g: np.swapaxes(g, axis1, axis2),
    params=("axis1", "axis2"),
)
matrix_transpose = moving(
    np.matrix_transpose,
    lambda y, x: lambda g: np.swapaxes(g, -1, -2),
    also=(np.linalg.matrix_transpose,),
)
moveaxis = moving(
    np.moveaxis,
    lambda y, x, source, destination: lambda g: np.moveaxis(g, destination, source),
    params=("source", "destination"),
    school=("movedim",),
)
roll = moving(np.roll, params=("shift", "axis"))
flip = moving(np.flip, lambda y, x, axis=None: lambda g: np.flip(g, axis=axis), params=("axis",))
flipud = moving(np.flipud)
fliplr = moving(np.fliplr)
rot90 = moving(np.rot90, params=("k", "axes"))

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


def _scattering(y: Numbers, x: Numbers, index: Numbers) -> Pull:
    shape = x.shape
    return lambda g: scatter(g, shape=shape, index=index)


getitem = moving(lambda x, index: x[index], _scattering, name="getitem", params=("index",))
scatter: Op = moving(
    _scatter,
    lambda y, x, shape, index: lambda g: g[index],
    name="scatter",
    params=("shape", "index"),
)
setitem: Op = op(
    _write,
    (
        lambda y, x, value, index: lambda g: setitem(g, 0.0, index),
        lambda y, x, value, index: lambda g: _send_to_last(g, index),
    ),
    name="setitem",
    elementwise=False,
    rounds=False,
    params=("index",),
)
take = moving(
    np.take,
    arrange=lambda x, indices, axis=None: ((x,), {"indices": np.asarray(indices), "axis": axis}),
)
take_along_axis = moving(
    np.take_along_axis,
    arrange=lambda x, indices, axis=-1: ((x,), {"indices": np.asarray(indices), "axis": axis}),
)
diagonal = moving(np.diagonal, params=("offset", "axis1", "axis2"))
diag = moving(np.diag, params=("k",))
tril = moving(np.tril, params=("k",))
triu = moving(np.triu, params=("k",))


def _trace_rule(y: Numbers, x: Numbers, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Pull:
    shape = x.shape
    places = np.diagonal(number_entries(shape), offset, axis1, axis2) - 1
    return lambda g: add_back(np.broadcast_to(np.expand_dims(g, -1), places.shape), shape, places)


trace = op(np.trace, (_trace_rule,), elementwise=False, params=("offset", "axis1", "axis2"))

# -- put together, repeated, padded --------------------------------------------------------------


def _as_arrays(arrays: Numbers, axis: int = 0, **how: Numbers) -> Call:
    """The arrays, and the axis; another dtype than float64 is refused."""
    given = [name for name, v in how.items() if v not in (None, "same_kind", np.float64)]
    if given or how.keys() - {"dtype", "casting", "out"}:
        raise TypeError(f"arrays are joined as they are: leave `{'`, `'.join(given or how)}` out")
    return tuple(a if hasattr(a, "shape") else np.asarray(a) for a in arrays), {"axis": axis}


def _concatenate_rule(y: Numbers, *arrays: Numbers, axis: int | None = 0) -> Pull:
    """To each array its slab of the cotangent."""
    shapes = [a.shape for a in arrays]
    lengths = [int(np.prod(s, dtype=int)) if axis is None else s[axis] for s in shapes]
    ends = np.cumsum([0, *lengths]).tolist()

    def back(i: int, g: Numbers) -> Numbers:
        return np.reshape(g[along(g, axis or 0, slice(ends[i], ends[i + 1]))], shapes[i])

    return back


def _by_rows(y: Numbers) -> Numbers:
    """Laid row by row, as PyTorch does: flattened, it can be written through."""
    return np.ascontiguousarray(y) if type(y) is np.ndarray else y


_joining = partial(op, elementwise=False, rounds=False, operands=None, arrange=_as_arrays)
concatenate = _joining(
    np.concatenate,
    _concatenate_rule,
    forward=lambda *arrays, axis=0: _by_rows(np.concatenate(arrays, axis=axis)),
    school=("cat", "concat"),
)
stack = _joining(
    np.stack,
    lambda y, *arrays, axis=0: lambda i, g: np.moveaxis(g, axis, 0)[i],
    forward=lambda *arrays, axis=0: _by_rows(np.stack(arrays, axis=axis)),
)


@composed(function=np.hstack)
def hstack(arrays: Numbers, **how: Numbers) -> Numbers:
    """Side by side: vectors along their only axis, others along the second."""
    lines = [np.atleast_1d(a) for a in arrays]
    return np.concatenate(lines, axis=0 if np.ndim(lines[0]) == 1 else 1, **how)


def _as_column(x: Numbers) -> Numbers:
    return np.reshape(x, (-1, 1)) if np.ndim(x) < 2 else x


_lay: Numbers
for _joins, _lay, _axis in (
    (np.vstack, np.atleast_2d, 0), (np.column_stack, _as_column, 1), (np.dstack, np.atleast_3d, 2),
):  # fmt: skip
    compound(
        _joins,
        lambda arrays, lay=_lay, axis=_axis, **how: np.concatenate(
            [lay(a) for a in arrays], axis=axis, **how
        ),
    )
tile = moving(
    np.tile,
    operands=1,
    arrange=lambda x, *reps, **named: ((x,), named or {"reps": reps if len(reps) > 1 else reps[0]}),
)
repeat = moving(np.repeat, params=("repeats", "axis"), school=("repeat_interleave",))

REPEATING = ("edge", "reflect", "symmetric", "wrap")
"""The modes of `pad` that put entries of x around x."""


def _padding(
    x: Numbers, pad_width: Numbers, mode: str = "constant", constant_values: float = 0.0
) -> Call:
    """Constants or entries of x around; what computes others is refused."""
    if mode in REPEATING:
        return (x,), {"pad_width": pad_width, "mode": mode}
    if mode != "constant":
        raise TypeError(
            f"pad follows mode='constant' and {', '.join(REPEATING)}; build mode='{mode}' with "
            "np.concatenate"
        )
    return (x,), {"pad_width": pad_width, "constant_values": constant_values}


def _pad_rule(
    y: Numbers, x: Numbers, pad_width: Numbers, mode: Numbers = "", constant_values: float = 0.0
) -> Pull:
    """The middle of g, without what stands around it; or all of it to where it came from."""
    shape = x.shape
    if mode:
        return lambda g: add_back(g, shape, np.pad(number_entries(shape) - 1, pad_width, mode=mode))
    before = np.broadcast_to(pad_width, (len(shape), 2))[:, 0]
    middle = tuple(slice(int(b), int(b) + n) for b, n in zip(before, shape, strict=True))
    return lambda g: g[middle]


pad = moving(
    np.pad,
    _pad_rule,
    forward=lambda x, **how: np.pad(x, **how),  # noqa: PLW0108 - by name
    operands=1,
    arrange=_padding,
)

# -- cut apart -----------------------------------------------------------------------------------


def _cutting(function: Numbers, cut: Numbers, axis: int = 0) -> None:
    """Enter what cuts an array into slices where NumPy's `cut` would cut it."""

    def pieces(x: Numbers, indices_or_sections: Numbers, axis: int = axis) -> list[Numbers]:
        axis = axis if cut is function else min(axis, x.ndim - 1)
        cuts = cut(np.arange(x.shape[axis]), bare_numbers(indices_or_sections))
        bounds = [slice(k[0], k[-1] + 1) if len(k) else slice(0, 0) for k in cuts]
        return [x[along(x, axis, bound)] for bound in bounds]

    compound(function, pieces)


_cutting(np.split, np.split)
_cutting(np.array_split, np.array_split)
_cutting(np.hsplit, np.split, 1)
_cutting(np.vsplit, np.split, 0)
_cutting(np.dsplit, np.split, 2)


def _outputs(parts: Iterable[Numbers]) -> tuple[Numbers, ...]:
    """Views that one function gives; a number that remembers is told so."""
    return tuple(part._freeze() if hasattr(part, "_freeze") else part for part in parts)


@composed(also=(np.unstack,) if hasattr(np, "unstack") else (), school=("unstack",))
def unbind(x: Numbers, axis: int = 0) -> tuple[Numbers, ...]:
    """`unbind(x, dim)`: the slices along an axis, one by one."""
    return _outputs(x[along(x, axis, i)] for i in range(np.shape(x)[axis]))


@composed()
def split_along(x: Numbers, split_size_or_sections: Numbers, axis: int = 0) -> tuple[Numbers, ...]:
    """PyTorch's `split(x, 2, dim)`: parts of that length (the last may be less), or of several."""
    lengths, n = split_size_or_sections, np.shape(x)[axis]
    if isinstance(lengths, int):
        if lengths < 1:
            raise RuntimeError(
                f"split expects split_size be positive, but got split_size={lengths}"
            )
        lengths = [min(lengths, n - i) for i in range(0, n, lengths)] or [0]
    if sum(lengths) != n:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {n} (input "
            f"tensor's size at dimension {axis}), but got split_sizes={list(lengths)}"
        )
    ends = np.cumsum([0, *lengths]).tolist()
    return _outputs(x[along(x, axis, slice(*part))] for part in pairwise(ends))


@composed()
def chunk(x: Numbers, chunks: int, axis: int = 0) -> tuple[Numbers, ...]:
    """`chunk(x, n, dim)`: parts of equal length, the last perhaps shorter."""
    return split_along(x, -(-np.shape(x)[axis] // chunks) or [0] * chunks, axis)  # type: ignore[no-any-return]


# -- PyTorch's words for shapes ------------------------------------------------------------------


@composed()
def flatten(x: Numbers, start_dim: int = 0, end_dim: int = -1) -> Numbers:
    """`flatten(x, start_dim, end_dim)`: these axes and those between as one."""
    shape = np.shape(x) or (1,)
    if not (isinstance(start_dim, int) and isinstance(end_dim, int)):
        raise TypeError("flatten takes the first and the last axis that become one")
    first, last = start_dim % len(shape), end_dim % len(shape)
    inside = int(np.prod(shape[first : last + 1], dtype=int))
    return np.reshape(x, (*shape[:first], inside, *shape[last + 1 :]))


@composed()
def expand(x: Numbers, *sizes: Numbers, size: Numbers = None, implicit: bool = False) -> Numbers:
    """`expand(x, 2, -1)`: broadcast to a shape, where -1 keeps the length."""
    given = _numbers(sizes if size is None else (size,))
    own = (-1,) * (len(given) - np.ndim(x)) + np.shape(x)
    wanted = tuple(m if n == -1 else int(n) for n, m in zip(given, own, strict=True))
    if -1 in wanted:
        raise RuntimeError(
            "expand: the expanded size of the tensor (-1) isn't allowed in a leading, "
            "non-existing dimension"
        )
    return np.broadcast_to(x, wanted)


expand_as = compound(None, lambda x, other: np.broadcast_to(x, np.shape(other)), "expand_as")
reshape_as = compound(
    None, lambda x, other: np.reshape(x, np.shape(other)), "reshape_as", school=("view_as",)
)


@composed(function=np.broadcast_arrays, school=("broadcast_tensors",))
def broadcast_arrays(*arrays: Numbers) -> tuple[Numbers, ...]:
    """All arguments in the shape that they broadcast to."""
    shape = np.broadcast_shapes(*map(np.shape, arrays))
    return tuple(np.broadcast_to(each, shape) for each in arrays)


PYTORCHS_MODES: dict[str, Numbers] = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}
"""PyTorch's words for what is put around, and NumPy's."""


@composed(school=("constant_pad_nd",))
def pad_last(
    x: Numbers, pad: Sequence[int], mode: Numbers = "constant", value: Numbers = None
) -> Numbers:
    """PyTorch's `F.pad(x, (left, right, ...))`: from the last axis on; negative widths cut off."""
    if not isinstance(mode, str):
        mode, value = "constant", mode
    pairs = [tuple(map(int, pad[k : k + 2])) for k in range(0, len(pad), 2)][::-1]
    widths = [(0, 0)] * (np.ndim(x) - len(pairs)) + pairs
    for k, (before, after) in enumerate(widths):
        if before < 0 or after < 0:
            x = x[along(x, k, slice(max(-before, 0), np.shape(x)[k] - max(-after, 0)))]
    around = [(max(before, 0), max(after, 0)) for before, after in widths]
    if mode == "constant":
        return np.pad(x, around, constant_values=0.0 if value is None else float(value))
    return np.pad(x, around, mode=PYTORCHS_MODES[mode])


def along(x: Numbers, axis: int, place: Numbers) -> tuple[Numbers, ...]:
    """The index that takes `place` on one axis and everything on the others."""
    where: list[Numbers] = [slice(None)] * max(np.ndim(x), 1)
    where[axis] = place
    return tuple(where)


def bare_numbers(x: Numbers) -> Numbers:
    """The bare numbers of any kind, for a choice that has no derivative."""
    return x.detach().numpy() if hasattr(x, "detach") else np.asarray(x)
