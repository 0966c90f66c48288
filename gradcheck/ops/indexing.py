"""Functions that pick entries, and `scatter`, which sends a cotangent back to where they were."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from gradcheck.ops.row import Example, Op, moving, op


def places(shape: tuple[int, ...]) -> Any:
    """The number of each entry, laid out as the entries are."""
    return np.arange(np.prod(shape, dtype=int)).reshape(shape)


def sent_back(g: Any, shape: tuple[int, ...], places: Any) -> Any:
    """Every cotangent to the entry it came from; where several came from one, they add."""
    size = int(np.prod(shape, dtype=int))
    return np.reshape(scatter(g, shape=(size,), index=(places,)), shape)


def _index_name(operands: tuple[Any, ...], params: Mapping[str, Any]) -> str:
    """PyTorch takes an index apart from left to right; arrays and masks come last of all."""
    index = params["index"]
    parts = index if isinstance(index, tuple) else (index,)
    if any(isinstance(part, np.ndarray | list | bool) for part in parts):
        return "IndexBackward0"
    if isinstance(index, slice):
        return "SliceBackward0"
    told = [part for part in parts if part is not Ellipsis and part != slice(None)]
    if not told:
        return "AliasBackward0"
    return {type(None): "Unsqueeze", slice: "Slice"}.get(type(told[-1]), "Select") + "Backward0"


def is_basic(index: Any) -> bool:
    """Whether NumPy answers the index with a view: numbers, slices, `...` and None only."""
    parts = index if isinstance(index, tuple) else (index,)
    return all(part is None or part is Ellipsis or _is_place(part) for part in parts)


def _is_place(part: Any) -> bool:
    return isinstance(part, int | np.integer | slice) and not isinstance(part, bool)


def _by_arrays(params: Mapping[str, Any]) -> bool:
    """Whether the index has arrays, which PyTorch saves for backward."""
    return not is_basic(params["index"])


def _scattered(g: Any, shape: tuple[int, ...], index: Any) -> Any:
    out = np.zeros(shape, g.dtype)
    if is_basic(index):
        out[index] = g
    else:
        np.add.at(out, index, g)
    return out


def _written(x: Any, value: Any, index: Any) -> Any:
    exact = np.asarray(value).dtype.kind == "O"  # numbers of an exact kind into plain ones
    out = np.array(x, dtype=object if exact else None)
    out[index] = value
    return out


def _sent_to_last(g: Any, index: Any) -> Any:
    """The cotangents of what was written; of several writes to one entry only the last stays."""
    if is_basic(index):
        return g[index]
    where = places(g.shape)[index]
    order = places(where.shape)
    last = np.zeros(g.size, dtype=int)
    last[where] = order
    stays = last[where] == order
    return g[index] if np.all(stays) else np.where(stays, g[index], 0.0)


def _position(indices: Any) -> Any:
    """Integers as NumPy's functions take them, out of a list or a tensor of integers."""
    return np.asarray(indices)


getitem = moving(
    lambda x, index: x[index],
    name="getitem",
    vjps=(lambda g, y, x, index: scatter(g, shape=x.shape, index=index),),
    grad_fn=_index_name,
    saves=_by_arrays,
    params=("index",),
    example=Example("a[[0, 2, 2]] * b", {"a": (3,), "b": (3,)}),
)

scatter: Op = moving(
    _scattered,
    name="scatter",
    vjps=(lambda g, y, x, shape, index: g[index],),
    grad_fn="IndexPutBackward0",
    saves=_by_arrays,
    params=("shape", "index"),
    example=Example("scatter(a, (2, 2), (1,)) * b", {"a": (2,), "b": (2, 2)}),
)


setitem: Op = moving(
    _written,
    name="setitem",
    vjps=(
        lambda g, y, x, value, index: setitem(g, 0.0, index),
        lambda g, y, x, value, index: _sent_to_last(g, index),
    ),
    grad_fn=lambda operands, params: (
        "CopySlices" if is_basic(params["index"]) else "IndexPutBackward0"
    ),
    saves=_by_arrays,
    params=("index",),
    example=Example("setitem(a, 2 * b, 1) * c", {"a": (2, 3), "b": (3,), "c": (2, 3)}),
)

take = moving(
    np.take,
    vjps=(
        lambda g, y, x, indices, axis=None: sent_back(
            g, x.shape, np.take(places(x.shape), indices, axis=axis)
        ),
    ),
    grad_fn=lambda operands, params: (
        f"{'Take' if params['axis'] is None else 'IndexSelect'}Backward0"
    ),
    size="taken",
    saves=lambda params: True,
    arrange=lambda x, indices, axis=None: ((x,), {"indices": _position(indices), "axis": axis}),
    example=Example("take(a, [0, 2, 2]) * b", {"a": (3,), "b": (3,)}),
)

take_along_axis = moving(
    np.take_along_axis,
    vjps=(
        lambda g, y, x, indices, axis: sent_back(
            g, x.shape, np.take_along_axis(places(x.shape), indices, axis)
        ),
    ),
    grad_fn="GatherBackward0",
    size="taken",
    saves=lambda params: True,
    arrange=lambda x, indices, axis=-1: ((x,), {"indices": _position(indices), "axis": axis}),
    example=Example("take_along_axis(a, i, 1) * b", {"a": (2, 3), "b": (2, 1), "i": [[1], [0]]}),
)

diagonal = moving(
    np.diagonal,
    vjps=(
        lambda g, y, x, offset=0, axis1=0, axis2=1: sent_back(
            g, x.shape, np.diagonal(places(x.shape), offset, axis1, axis2)
        ),
    ),
    grad_fn="DiagonalBackward0",
    params=("offset", "axis1", "axis2"),
    example=Example("diagonal(a) * b", {"a": (2, 3), "b": (2,)}),
)

diag = moving(
    np.diag,
    vjps=(
        lambda g, y, x, k=0: (
            np.diagonal(g, k) if x.ndim == 1 else sent_back(g, x.shape, np.diag(places(x.shape), k))
        ),
    ),
    grad_fn=lambda operands, params: (
        "DiagonalBackward0_copy" if np.ndim(operands[0]) == 2 else "DiagEmbedBackward0"
    ),
    size="diagonal",
    params=("k",),
    example=Example("diag(a) * b", {"a": (2,), "b": (2, 2)}),
)

trace = op(
    np.trace,
    vjps=(
        lambda g, y, x, offset=0, axis1=0, axis2=1: sent_back(
            np.expand_dims(g, -1) * np.ones((*g.shape, 1)),
            x.shape,
            np.diagonal(places(x.shape), offset, axis1, axis2),
        ),
    ),
    grad_fn="TraceBackward0",
    elementwise=False,
    params=("offset", "axis1", "axis2"),
    example=Example("trace(a) * b", {"a": (2, 3), "b": ()}),
)

tril = moving(
    np.tril,
    vjps=(lambda g, y, x, k=0: np.tril(g, k),),
    grad_fn="TrilBackward0",
    params=("k",),
    example=Example("tril(a) * b", {"a": (3, 3), "b": (3, 3)}),
)

triu = moving(
    np.triu,
    vjps=(lambda g, y, x, k=0: np.triu(g, k),),
    grad_fn="TriuBackward0",
    params=("k",),
    example=Example("triu(a) * b", {"a": (3, 3), "b": (3, 3)}),
)
