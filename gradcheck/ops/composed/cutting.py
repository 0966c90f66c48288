"""Arrays cut apart along an axis, in PyTorch's words."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from gradcheck.ops.composed.picking import along, seen
from gradcheck.ops.formula import composed
from gradcheck.ops.row import Example


def _outputs(maker: str, parts: Iterable[Any]) -> tuple[Any, ...]:
    """Views that one function gives; a number that remembers is told which of them it is."""
    return tuple(
        part._output_of(maker, i) if hasattr(part, "_output_of") else part
        for i, part in enumerate(parts)
    )


@composed(
    size="divided",
    also=(np.unstack,) if hasattr(np, "unstack") else (),
    school=("unstack",),
    example=Example("unbind(a)[0] * unbind(a, 1)[1]", {"a": (2, 2)}),
)
def unbind(x: Any, axis: int = 0) -> tuple[Any, ...]:
    """`unbind(x, dim)`: the slices along an axis, one by one."""
    return _outputs("Unbind", (x[along(x, axis, i)] for i in range(np.shape(x)[axis])))


def _cut(x: Any, lengths: Sequence[int], axis: int) -> tuple[Any, ...]:
    ends = np.cumsum([0, *lengths]).tolist()
    return tuple(x[along(x, axis, slice(*part))] for part in pairwise(ends))


@composed(size="divided", example=Example("chunk(a, 2)[0] * b", {"a": (3,), "b": (2,)}))
def chunk(x: Any, chunks: int, axis: int = 0) -> tuple[Any, ...]:
    """`chunk(x, n, dim)`: parts of equal length, the last perhaps shorter."""
    n = np.shape(x)[axis]
    length = -(-n // chunks) if n else 0
    parts = -(-n // length) if length else chunks
    return _outputs("Split", _cut(x, [min(length, n - i * length) for i in range(parts)], axis))


@composed(
    size="divided", example=Example("split_with_sizes(a, [1, 2])[1] * b", {"a": (3,), "b": (2,)})
)
def split_with_sizes(x: Any, split_sizes: Sequence[int], axis: int = 0) -> tuple[Any, ...]:
    """`split_with_sizes(x, [1, 2], dim)`: parts of these lengths, which have to add up."""
    if sum(split_sizes) != np.shape(x)[axis]:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {np.shape(x)[axis]} (input "
            f"tensor's size at dimension {axis}), but got split_sizes={list(split_sizes)}"
        )
    return _outputs("SplitWithSizes", _cut(x, split_sizes, axis))


@composed(size="divided", example=Example("split_along(a, 2)[0] * b", {"a": (3,), "b": (2,)}))
def split_along(x: Any, split_size_or_sections: Any, axis: int = 0) -> tuple[Any, ...]:
    """PyTorch's `split(x, 2, dim)`: parts of that length, the last perhaps shorter."""
    length, n = split_size_or_sections, np.shape(x)[axis]
    if not isinstance(length, int):
        return split_with_sizes.meaning(x, length, axis)  # type: ignore[no-any-return]
    if length < 1:
        raise RuntimeError(f"split expects split_size be positive, but got split_size={length}")
    lengths = [min(length, n - i) for i in range(0, n, length)] or [0]
    return _outputs("Split", _cut(x, lengths, axis))


@composed(size="divided", example=Example("tensor_split(a, 2)[0] * b", {"a": (3,), "b": (2,)}))
def tensor_split(x: Any, indices_or_sections: Any, axis: int = 0) -> tuple[Any, ...]:
    """`tensor_split(x, n, dim)`: NumPy's `array_split`."""
    where = indices_or_sections
    where = where if isinstance(where, int | list | tuple) else seen(where).tolist()
    return tuple(np.array_split(x, where, axis=axis))


@composed(example=Example("narrow(a, 0, 1, 2) * b", {"a": (3,), "b": (2,)}))
def narrow(x: Any, axis: int, start: Any, length: int) -> Any:
    """`narrow(x, dim, start, length)`: a slice of that length."""
    begin, n = int(start), np.shape(x)[axis]
    begin = begin + n if begin < 0 else begin
    if not (begin >= 0 and begin + length <= n and length >= 0):
        raise IndexError(f"start ({begin}) + length ({length}) exceeds dimension size ({n}).")
    return x[along(x, axis, slice(begin, begin + length))]
