"""Entries picked, filled in and added to: PyTorch's words for what indexing does."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcheck.ops.formula import composed
from gradcheck.ops.indexing import scatter, setitem
from gradcheck.ops.row import Example


def seen(x: Any) -> Any:
    """The bare numbers of any kind, for a choice that has no derivative."""
    return x.detach().numpy() if hasattr(x, "detach") else np.asarray(x)


def is_nan(bare: Any) -> Any:
    """Where bare numbers are none; exact ones always are."""
    return np.isnan(bare) if bare.dtype.kind == "f" else np.zeros(np.shape(bare), dtype=bool)


def along(x: Any, axis: int, place: Any) -> tuple[Any, ...]:
    """The index that takes `place` on one axis and everything on the others."""
    where: list[Any] = [slice(None)] * max(np.ndim(x), 1)
    where[axis] = place
    return tuple(where)


def _each_along(axis: int, index: Any) -> tuple[Any, ...]:
    """The index of `gather` and `scatter_add`: on one axis as given, on the others one's own."""
    grid = list(np.indices(index.shape, sparse=True))
    grid[axis] = index
    return tuple(grid)


def times(number: float, x: Any) -> Any:
    """A number times x; x itself for 1, so that nothing has to be kept for backward."""
    return x if number == 1 else number * x


def lined(x: Any) -> Any:
    """A number as an array of one entry, anything else as it is."""
    return np.reshape(x, (1,)) if np.ndim(x) == 0 else x


def like(y: Any, x: Any) -> Any:
    """A result in the shape of a number, where x was one."""
    return np.reshape(y, ()) if np.ndim(x) == 0 else y


@composed(
    watches=("x",),
    size="beside",
    example=Example("gather(a, 1, i) * b", {"a": (2, 3), "b": (2, 1), "i": [[1], [0]]}),
)
def gather(x: Any, axis: int, index: Any, *, sparse_grad: bool = False) -> Any:
    """`gather(x, dim, index)`: for each place of the index the entry there, along one axis."""
    index = seen(index)
    shape = index.shape
    picked = lined(x)[_each_along(axis, np.reshape(index, shape or (1,)))]
    return np.reshape(picked, shape)


@composed(
    size="taken",
    example=Example("index_select(a, 1, i) * b", {"a": (2, 3), "b": (2, 2), "i": [2, 0]}),
)
def index_select(x: Any, axis: int, index: Any) -> Any:
    """`index_select(x, dim, index)`: slices, by their places."""
    return like(np.take(lined(x), np.reshape(seen(index), (-1,)), axis=axis), x)


@composed(
    watches=("x",),
    size="along_one",
    example=Example("take_along_dim(a, i, 1) * b", {"a": (2, 3), "b": (2, 1), "i": [[1], [0]]}),
)
def take_along_dim(x: Any, indices: Any, axis: int | None = None) -> Any:
    """`take_along_dim(x, indices, dim)`: along one axis, or of all entries in a row."""
    if axis is None:
        return np.take(np.ravel(x), np.ravel(seen(indices)))
    indices = seen(indices)
    shape = list(np.broadcast_shapes(*(tuple(np.delete(v.shape, axis)) for v in (x, indices))))
    shape.insert(axis % x.ndim, 1)
    wide = [
        tuple(
            n if k == axis % x.ndim else m
            for k, (m, n) in enumerate(zip(shape, v.shape, strict=True))
        )
        for v in (x, indices)
    ]
    return np.take_along_axis(np.broadcast_to(x, wide[0]), np.broadcast_to(indices, wide[1]), axis)


@composed(example=Example("masked_fill(a, a > 0, 0.5) * b", {"a": (4,), "b": (4,)}))
def masked_fill(x: Any, mask: Any, value: Any) -> Any:
    """`masked_fill(x, mask, value)`: the value where the mask holds."""
    return np.where(seen(mask).astype(bool), value, x)


@composed(
    watches=("x",),
    size="masked",
    example=Example("masked_select(a, m) * b", {"a": (3,), "b": (2,), "m": [True, False, True]}),
)
def masked_select(x: Any, mask: Any) -> Any:
    """`masked_select(x, mask)`: the entries where the mask holds, in a row."""
    mask = seen(mask).astype(bool)
    shape = np.broadcast_shapes(np.shape(x), mask.shape)
    if not shape:
        return lined(x)[np.reshape(mask, (1,))]
    return np.broadcast_to(x, shape)[np.broadcast_to(mask, shape)]


@composed(
    size="masked",
    example=Example(
        "masked_scatter(a, m, b) * c", {"a": (3,), "b": (2,), "c": (3,), "m": [True, False, True]}
    ),
)
def masked_scatter(x: Any, mask: Any, source: Any) -> Any:
    """`masked_scatter(x, mask, source)`: the source's entries, in order, where the mask holds."""
    shape = np.broadcast_shapes(np.shape(x), np.shape(mask))
    mask = np.broadcast_to(seen(mask).astype(bool), shape)
    count = int(np.sum(mask))
    wide = np.broadcast_to(x, shape)
    return setitem(lined(wide), np.ravel(source)[:count], np.reshape(mask, shape or (1,))).reshape(
        shape
    )


def _sent(x: Any, axis: int, index: Any, src: Any) -> Any:
    """The source's entries at the places of the index, added, in the shape of x."""
    shape = index.shape or (1,)
    part = lined(src)[tuple(slice(n) for n in shape)] if np.ndim(src) else src * np.ones(shape)
    sent = scatter(part, shape=np.shape(lined(x)), index=_each_along(axis, index.reshape(shape)))
    return like(sent, x)


@composed(
    size="beside",
    example=Example(
        "scatter_add(a, 1, i, b) * c",
        {"a": (2, 3), "b": (2, 2), "c": (2, 3), "i": [[0, 0], [1, 2]]},
    ),
)
def scatter_add(x: Any, axis: int, index: Any, src: Any) -> Any:
    """`scatter_add(x, dim, index, src)`: each entry of src added where the index sends it."""
    return x + _sent(x, axis, seen(index), src)


@composed(
    size="beside",
    example=Example(
        "index_add(a, 1, i, b) * c", {"a": (2, 3), "b": (2, 2), "c": (2, 3), "i": [0, 0]}
    ),
)
def index_add(x: Any, axis: int, index: Any, source: Any, *, alpha: float = 1) -> Any:
    """`index_add(x, dim, index, source)`: each slice added at its place."""
    full = lined(x)
    place = along(full, axis, np.reshape(seen(index), (-1,)))
    sent = scatter(lined(source), shape=np.shape(full), index=place)
    return like(full + alpha * sent, x)


@composed(
    size="beside",
    example=Example(
        "index_copy(a, 1, i, b) * c", {"a": (2, 3), "b": (2, 2), "c": (2, 3), "i": [0, 2]}
    ),
)
def index_copy(x: Any, axis: int, index: Any, source: Any) -> Any:
    """`index_copy(x, dim, index, source)`: each slice of the source in the place of one of x."""
    full = lined(x)
    place = along(full, axis, np.reshape(seen(index), (-1,)))
    return like(setitem(full, lined(source), place), x)


@composed(example=Example("index_fill(a, 1, i, 0.5) * c", {"a": (2, 3), "c": (2, 3), "i": [0, 2]}))
def index_fill(x: Any, axis: int, index: Any, value: Any) -> Any:
    """`index_fill(x, dim, index, value)`: the value in the slices at these places."""
    full = lined(x)
    return like(setitem(full, value, along(full, axis, np.reshape(seen(index), (-1,)))), x)


@composed(
    size="placed",
    example=Example("index_put(a, (i,), b) * c", {"a": (3,), "b": (2,), "c": (3,), "i": [0, 2]}),
)
def index_put(x: Any, indices: Sequence[Any], values: Any, accumulate: bool = False) -> Any:
    """`index_put(x, indices, values)`: written, or with `accumulate` added."""
    index = tuple(map(seen, indices))
    if not accumulate:
        return setitem(x, values, index)
    shape = np.shape(x[index])
    return x + scatter(np.broadcast_to(values, shape), shape=np.shape(x), index=index)


@composed(
    function=None,
    name="select",
    size="joined",
    example=Example("select([a > 0, b > 0], [a, b], 0.5) * c", {"a": (3,), "b": (3,), "c": (3,)}),
    also=(np.select,),
)
def select(x: Any, *how: Any, **named: Any) -> Any:
    """`select(x, dim, place)`; of lists NumPy's: the first choice whose condition holds."""
    if isinstance(x, list | tuple):
        return _chosen(x, *how, **named)
    axis, place = (*how, *(named[k] for k in ("axis", "index") if k in named))
    return x[along(x, axis, int(place))]


def _chosen(condlist: Any, choicelist: Any, default: Any = 0.0) -> Any:
    """NumPy's `select`: from the last condition to the first, each takes precedence."""
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    y = default
    for condition, choice in zip(reversed(condlist), reversed(choicelist), strict=True):
        y = np.where(seen(condition), choice, y)
    return y


@composed(example=Example("select_scatter(a, b, 1, 0) * a", {"a": (2, 3), "b": (2,)}))
def select_scatter(x: Any, src: Any, axis: int, index: int) -> Any:
    """`select_scatter(x, src, dim, place)`: x with src in the place of one slice."""
    return setitem(x, src, along(x, axis, int(index)))


@composed(example=Example("slice_scatter(a, b, 0, 1) * a", {"a": (3,), "b": (2,)}))
def slice_scatter(
    x: Any, src: Any, axis: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> Any:
    """`slice_scatter(x, src, dim, start, end, step)`: x with src in the place of a slice."""
    return setitem(x, src, along(x, axis, slice(start, end, step)))


@composed(example=Example("diagonal_scatter(a, b) * a", {"a": (2, 2), "b": (2,)}))
def diagonal_scatter(x: Any, src: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """`diagonal_scatter(x, src, offset, dim1, dim2)`: x with src on a diagonal."""
    numbers = np.arange(np.size(seen(x))).reshape(np.shape(x))
    places = np.diagonal(numbers, offset, axis1, axis2)
    return np.reshape(setitem(np.ravel(x), src, (places,)), np.shape(x))


@composed(size="diagonals", example=Example("diag_embed(a) * b", {"a": (2,), "b": (2, 2)}))
def diag_embed(x: Any, offset: int = 0, axis1: int = -2, axis2: int = -1) -> Any:
    """`diag_embed(x, offset, dim1, dim2)`: the last axis on the diagonal of two new ones."""
    *outer, n = np.shape(x)
    size = n + abs(offset)
    full = np.zeros((*outer, size, size))
    rows, columns = np.arange(n) + max(-offset, 0), np.arange(n) + max(offset, 0)
    made = setitem(full, x, (..., rows, columns))
    first, second = axis1 % made.ndim, axis2 % made.ndim
    return np.moveaxis(made, (-2, -1), (first, second))


@composed(
    size="on_a_diagonal",
    function=np.diagflat,
    example=Example("diagflat(a) * b", {"a": (2,), "b": (2, 2)}),
)
def diagflat(x: Any, k: int = 0, *, offset: int = 0) -> Any:
    """All entries on a diagonal."""
    return np.diag(np.ravel(x), k or offset)


def along_shape(ndim: int, axis: int) -> tuple[int, ...]:
    """The shape that lays a vector along one of so many axes, its own length as -1."""
    return tuple(-1 if k == axis % ndim else 1 for k in range(ndim))
