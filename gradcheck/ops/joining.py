"""Functions that put arrays together, repeat them, pad them and cut them apart."""

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcheck.ops.formula import compound
from gradcheck.ops.indexing import places, sent_back
from gradcheck.ops.reads import by_shape
from gradcheck.ops.row import Example, Op, moving

Shape = tuple[int, ...]


def _slab(g: Any, axis: int, start: int, stop: int) -> Any:
    """The entries of g from start to stop along an axis."""
    where = [slice(None)] * g.ndim
    where[axis] = slice(start, stop)
    return g[tuple(where)]


def _joined(index: int, g: Any, arrays: tuple[Any, ...], axis: int, lifted: Any) -> Any:
    """The slab of g that came from array `index`, in that array's shape."""
    widths = [lifted(a.shape)[axis] for a in arrays]
    start = sum(widths[:index])
    return np.reshape(_slab(g, axis, start, start + widths[index]), arrays[index].shape)


def _shaped(arrays: tuple[Any, ...]) -> tuple[Any, ...]:
    """Plain numbers and lists among the arrays as arrays: they have shapes then."""
    return tuple(a if hasattr(a, "shape") else np.asarray(a) for a in arrays)


def _sequence(arrays: Any, axis: int = 0, **how: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arrays, and the axis; another dtype than float64 is refused."""
    given = [name for name, v in how.items() if v not in (None, "same_kind", np.float64)]
    if given or how.keys() - {"dtype", "casting", "out"}:
        raise TypeError(f"arrays are joined as they are: leave `{'`, `'.join(given or how)}` out")
    return _shaped(tuple(arrays)), {"axis": axis}


def _along_its_own(arrays: Any, **how: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arrays of a function that knows its axis."""
    return _sequence(arrays, **how)[0], {}


def _one_axis(shape: Shape) -> Shape:
    return shape or (1,)


def _two_axes(shape: Shape) -> Shape:
    return (1,) * (2 - len(shape)) + shape


def _as_column(shape: Shape) -> Shape:
    return shape if len(shape) > 1 else (*(shape or (1,)), 1)


def _three_axes(shape: Shape) -> Shape:
    return (1, *(shape or (1,)), 1) if len(shape) < 2 else shape + (1,) * (3 - len(shape))


def _side_by_side(
    function: Callable[..., Any],
    axis: Callable[[Any], int],
    lifted: Callable[[Shape], Shape],
    example: Example,
) -> Op:
    """The row of a function that lifts its arrays to shapes and joins them along an axis."""
    return moving(
        function,
        forward=lambda *arrays: function(arrays),
        vjps=by_shape(lambda index, g, y, *arrays: _joined(index, g, arrays, axis(g), lifted)),
        grad_fn="CatBackward0",
        operands=None,
        arrange=_along_its_own,
        example=example,
    )


concatenate = moving(
    np.concatenate,
    forward=lambda *arrays, axis=0: np.concatenate(arrays, axis=axis),
    vjps=by_shape(
        lambda index, g, y, *arrays, axis=0: (
            _joined(index, g, arrays, axis, lambda shape: shape)
            if axis is not None
            else _joined(index, g, arrays, 0, lambda shape: (int(np.prod(shape, dtype=int)),))
        )
    ),
    grad_fn="CatBackward0",
    operands=None,
    arrange=_sequence,
    school=("cat", "concat"),
    example=Example("concatenate([a, b]) * c", {"a": (2,), "b": (3,), "c": (5,)}),
)

stack = moving(
    np.stack,
    forward=lambda *arrays, axis=0: np.stack(arrays, axis=axis),
    vjps=by_shape(lambda index, g, y, *arrays, axis=0: np.take(g, index, axis=axis)),
    grad_fn="StackBackward0",
    operands=None,
    arrange=_sequence,
    example=Example("stack([a, b]) * c", {"a": (2,), "b": (2,), "c": (2, 2)}),
)

hstack = _side_by_side(
    np.hstack,
    lambda g: 0 if g.ndim == 1 else 1,
    _one_axis,
    Example("hstack([a, b]) * c", {"a": (2,), "b": (), "c": (3,)}),
)

vstack = _side_by_side(
    np.vstack,
    lambda g: 0,
    _two_axes,
    Example("vstack([a, b]) * c", {"a": (2,), "b": (2, 2), "c": (3, 2)}),
)

column_stack = _side_by_side(
    np.column_stack,
    lambda g: 1,
    _as_column,
    Example("column_stack([a, b]) * c", {"a": (2,), "b": (2, 2), "c": (2, 3)}),
)

dstack = _side_by_side(
    np.dstack,
    lambda g: 2,
    _three_axes,
    Example("dstack([a, b]) * c", {"a": (2,), "b": (2,), "c": (1, 2, 2)}),
)

tile = moving(
    np.tile,
    vjps=(lambda g, y, x, reps: sent_back(g, x.shape, np.tile(places(x.shape), reps)),),
    grad_fn="RepeatBackward0",
    size="tiled",
    arrange=lambda x, *reps, **named: ((x,), named or {"reps": reps if len(reps) > 1 else reps[0]}),
    example=Example("tile(a, 2) * b", {"a": (2,), "b": (4,)}),
)

repeat = moving(
    np.repeat,
    vjps=(
        lambda g, y, x, repeats, axis=None: sent_back(
            g, x.shape, np.repeat(places(x.shape), repeats, axis=axis)
        ),
    ),
    grad_fn="ViewBackward0",
    size="repeated",
    params=("repeats", "axis"),
    school=("repeat_interleave",),
    example=Example("repeat(a, 2, axis=0) * b", {"a": (2,), "b": (4,)}),
)


REPEATING = ("edge", "reflect", "symmetric", "wrap")
"""The modes of `pad` that put entries of x around x."""


def _padding(
    x: Any, pad_width: Any, mode: str = "constant", constant_values: float = 0.0
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Constants or entries of x around; what computes others is refused."""
    if mode in REPEATING:
        return (x,), {"pad_width": pad_width, "mode": mode}
    if mode != "constant":
        raise TypeError(
            f"pad follows mode='constant' and {', '.join(REPEATING)}; build mode='{mode}' with "
            "np.concatenate"
        )
    return (x,), {"pad_width": pad_width, "constant_values": constant_values}


def _unpadded(g: Any, shape: Shape, pad_width: Any, mode: Any = "", **around: Any) -> Any:
    """The middle of g, without what stands around it; or all of it to where it came from."""
    if mode:
        return sent_back(g, shape, np.pad(places(shape), pad_width, mode=mode))
    before = np.broadcast_to(pad_width, (len(shape), 2))[:, 0]
    return g[tuple(slice(int(b), int(b) + n) for b, n in zip(before, shape, strict=True))]


pad = moving(
    np.pad,
    forward=lambda x, **how: np.pad(x, **how),  # noqa: PLW0108 - by name
    vjps=(lambda g, y, x, **how: _unpadded(g, x.shape, **how),),
    grad_fn=lambda operands, params: (
        "IndexBackward0" if "mode" in params else "ConstantPadNdBackward0"
    ),
    size="padded",
    operands=1,
    arrange=_padding,
    example=Example("pad(a, 1) * b", {"a": (2,), "b": (4,)}),
)


def _pieces(x: Any, sections: Any, axis: int, cut: Callable[..., Any]) -> list[Any]:
    """The pieces of x along an axis, each a slice of it, where NumPy's `cut` would cut."""
    bounds = [
        (k[0], k[-1] + 1) if len(k) else (0, 0) for k in cut(np.arange(x.shape[axis]), sections)
    ]
    return [_slab(x, axis, int(start), int(stop)) for start, stop in bounds]


split = compound(
    np.split,
    lambda x, indices_or_sections, axis=0: _pieces(x, indices_or_sections, axis, np.split),
    size="divided",
    example=Example("split(a, 2)[0] * b", {"a": (4,), "b": (2,)}),
)
array_split = compound(
    np.array_split,
    lambda x, indices_or_sections, axis=0: _pieces(x, indices_or_sections, axis, np.array_split),
    size="divided",
    example=Example("array_split(a, 2)[1] * b", {"a": (3,), "b": (1,)}),
)


def _split_by(
    cut: Callable[..., Any], name: str, axis: Callable[[int], int], example: Example
) -> None:
    compound(
        cut,
        lambda x, indices_or_sections: _pieces(x, indices_or_sections, axis(x.ndim), np.split),
        name,
        size="divided",
        example=example,
    )


_split_by(
    np.hsplit, "hsplit", lambda ndim: 0 if ndim == 1 else 1,
    Example("hsplit(a, 2)[0] * b", {"a": (2, 2), "b": (2, 1)}),
)  # fmt: skip
_split_by(
    np.vsplit, "vsplit", lambda ndim: 0, Example("vsplit(a, 2)[0] * b", {"a": (2, 2), "b": (1, 2)})
)
_split_by(
    np.dsplit, "dsplit", lambda ndim: 2,
    Example("dsplit(a, 2)[0] * b", {"a": (1, 2, 2), "b": (1, 2, 1)}),
)  # fmt: skip
