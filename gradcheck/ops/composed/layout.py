"""Arrays in other shapes: PyTorch's words for reshaping, broadcasting and padding."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcheck.ops.composed.picking import along
from gradcheck.ops.formula import composed
from gradcheck.ops.row import Example


@composed(example=Example("unflatten(a, 0, (2, -1)) * b", {"a": (4,), "b": (2, 2)}))
def unflatten(x: Any, axis: int, sizes: Sequence[int]) -> Any:
    """`unflatten(x, dim, sizes)`: one axis as several."""
    shape, axis = np.shape(x), axis % np.ndim(x)
    return np.reshape(x, (*shape[:axis], *sizes, *shape[axis + 1 :]))


@composed(size="joined", example=Example("expand_as(a, b) * b", {"a": (3,), "b": (2, 3)}))
def expand_as(x: Any, other: Any) -> Any:
    """`expand_as(x, other)`: broadcast to the shape of the other."""
    return np.broadcast_to(x, np.shape(other))


@composed(school=("view_as",), example=Example("reshape_as(a, b) * b", {"a": (4,), "b": (2, 2)}))
def reshape_as(x: Any, other: Any) -> Any:
    """`reshape_as(x, other)`: in the shape of the other."""
    return np.reshape(x, np.shape(other))


@composed(
    size="joined",
    function=np.broadcast_arrays,
    school=("broadcast_tensors",),
    example=Example("broadcast_arrays(a, b)[0] * b", {"a": (3,), "b": (2, 3)}),
)
def broadcast_arrays(*arrays: Any) -> tuple[Any, ...]:
    """All arguments in the shape that they broadcast to."""
    shape = np.broadcast_shapes(*map(np.shape, arrays))
    return tuple(np.broadcast_to(each, shape) for each in arrays)


@composed(
    size="blocks", example=Example("block_diag(a, b) * c", {"a": (1, 2), "b": (2,), "c": (2, 4)})
)
def block_diag(*blocks: Any) -> Any:
    """`block_diag(a, b)`: matrices along the diagonal of a larger one."""
    matrices = [np.reshape(b, (1,) * (2 - np.ndim(b)) + np.shape(b)) for b in blocks]
    wide = sum(m.shape[1] for m in matrices)
    rows, before = [], 0
    for m in matrices:
        rows.append(np.pad(m, ((0, 0), (before, wide - before - m.shape[1]))))
        before += m.shape[1]
    return np.concatenate(rows, axis=0)


@composed(example=Example("flatten(a) * b", {"a": (2, 2), "b": (4,)}))
def flatten(x: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    """`flatten(x, start_dim, end_dim)`: these axes and those between as one."""
    shape = np.shape(x) or (1,)
    if not (isinstance(start_dim, int) and isinstance(end_dim, int)):
        raise TypeError("flatten takes the first and the last axis that become one")
    first, last = start_dim % len(shape), end_dim % len(shape)
    return np.reshape(
        x, (*shape[:first], int(np.prod(shape[first : last + 1], dtype=int)), *shape[last + 1 :])
    )


@composed(size="reshaped", example=Example("expand(a, 2, -1) * b", {"a": (3,), "b": (2, 3)}))
def expand(x: Any, *sizes: Any, size: Any = None, implicit: bool = False) -> Any:
    """`expand(x, 2, -1)`: broadcast to a shape, where -1 keeps the length."""
    given = size if size is not None else sizes
    given = given[0] if len(given) == 1 and isinstance(given[0], list | tuple) else given
    own = (-1,) * (len(given) - np.ndim(x)) + np.shape(x)
    wanted = tuple(m if n == -1 else int(n) for n, m in zip(given, own, strict=True))
    if -1 in wanted:
        raise RuntimeError(
            "expand: the expanded size of the tensor (-1) isn't allowed in a leading, "
            "non-existing dimension"
        )
    return np.broadcast_to(x, wanted)


PYTORCHS_MODES: dict[str, Any] = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}
"""PyTorch's words for what is put around, and NumPy's."""


@composed(
    size="padded",
    example=Example("pad_last(a, (1, 0)) * b", {"a": (3,), "b": (4,)}),
    school=("constant_pad_nd",),
)
def pad_last(x: Any, pad: Sequence[int], mode: Any = "constant", value: Any = None) -> Any:
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
