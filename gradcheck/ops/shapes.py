"""Functions that give the same entries another shape or order."""

from typing import Any

import numpy as np

from gradcheck.ops.row import Example, moving, passed


def _numbered(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """`reshape(2, 3)` and `reshape((2, 3))` mean the same."""
    return tuple(args[0]) if len(args) == 1 and isinstance(args[0], tuple | list) else tuple(args)


def _shaped(
    x: Any, *sizes: Any, shape: Any = None, newshape: Any = None, order: str = "C"
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if order != "C":
        raise TypeError(f"reshape follows rows only - transpose first instead of order='{order}'")
    return (x,), {"shape": _numbered(sizes or (newshape if shape is None else shape,))}


def _ordered(
    x: Any, *order: Any, axes: Any = None, axis: Any = None
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    order = order or (axis if axes is None else axes,)
    return (x,), {"axes": None if order == (None,) else _numbered(order)}


def _back(axes: Any) -> Any:
    """The order of axes that undoes an order."""
    return None if axes is None else tuple(int(k) for k in np.argsort(np.mod(axes, len(axes))))


def _opposite(shift: Any) -> Any:
    return tuple(-k for k in shift) if isinstance(shift, tuple | list) else -shift


reshape = moving(
    np.reshape,
    forward=lambda x, shape: np.reshape(x, shape),  # noqa: PLW0108 - NumPy 2.0 says newshape=
    vjps=(lambda g, y, x, shape: np.reshape(g, x.shape),),
    grad_fn="ViewBackward0",
    arrange=_shaped,
    school=("view",),
    example=Example("reshape(a, (3, 2)) * b", {"a": (2, 3), "b": (3, 2)}),
)

ravel = moving(
    np.ravel,
    vjps=(lambda g, y, x: np.reshape(g, x.shape),),
    grad_fn="ViewBackward0",
    example=Example("ravel(a) * b", {"a": (2, 2), "b": (4,)}),
)

transpose = moving(
    np.transpose,
    vjps=(lambda g, y, x, axes=None: np.transpose(g, _back(axes)),),
    grad_fn="PermuteBackward0",
    arrange=_ordered,
    school=("permute", "t"),
    example=Example("transpose(a) * b", {"a": (2, 3), "b": (3, 2)}),
)

swapaxes = moving(
    np.swapaxes,
    vjps=(lambda g, y, x, axis1, axis2: np.swapaxes(g, axis1, axis2),),
    grad_fn="TransposeBackward0",
    params=("axis1", "axis2"),
    example=Example("swapaxes(a, 0, 1) * b", {"a": (2, 3), "b": (3, 2)}),
)

matrix_transpose = moving(
    np.matrix_transpose,
    also=(np.linalg.matrix_transpose,),
    vjps=(lambda g, y, x: np.swapaxes(g, -1, -2),),
    grad_fn="TransposeBackward0",
    example=Example("matrix_transpose(a) * b", {"a": (2, 3), "b": (3, 2)}),
)

moveaxis = moving(
    np.moveaxis,
    vjps=(lambda g, y, x, source, destination: np.moveaxis(g, destination, source),),
    grad_fn="PermuteBackward0",
    params=("source", "destination"),
    school=("movedim",),
    example=Example("moveaxis(a, 0, 1) * b", {"a": (2, 3), "b": (3, 2)}),
)

expand_dims = moving(
    np.expand_dims,
    vjps=(lambda g, y, x, axis: np.reshape(g, x.shape),),
    grad_fn="UnsqueezeBackward0",
    params=("axis",),
    school=("unsqueeze",),
    example=Example("expand_dims(a, 0) * b", {"a": (3,), "b": (2, 3)}),
)

squeeze = moving(
    np.squeeze,
    vjps=(lambda g, y, x, axis=None: np.reshape(g, x.shape),),
    grad_fn=lambda operands, params: (
        "SqueezeBackward" + {int: "1", tuple: "2"}.get(type(params.get("axis")), "0")
    ),
    params=("axis",),
    example=Example("squeeze(a) * b", {"a": (3, 1), "b": (3,)}),
)

atleast_1d = moving(
    np.atleast_1d,
    vjps=(lambda g, y, x: np.reshape(g, x.shape),),
    grad_fn="ViewBackward0",
    example=Example("atleast_1d(a) * b", {"a": (), "b": (1,)}),
)

atleast_2d = moving(
    np.atleast_2d,
    vjps=(lambda g, y, x: np.reshape(g, x.shape),),
    grad_fn="UnsqueezeBackward0",
    example=Example("atleast_2d(a) * b", {"a": (3,), "b": (1, 3)}),
)

atleast_3d = moving(
    np.atleast_3d,
    vjps=(lambda g, y, x: np.reshape(g, x.shape),),
    grad_fn="UnsqueezeBackward0",
    example=Example("atleast_3d(a) * b", {"a": (3,), "b": (1, 3, 1)}),
)

broadcast_to = moving(
    np.broadcast_to,
    vjps=(passed,),
    grad_fn="ExpandBackward0",
    size="reshaped",
    arrange=_shaped,
    example=Example("broadcast_to(a, (3, 2)) * b", {"a": (2,), "b": (3, 2)}),
)

copy = moving(
    np.copy,
    vjps=(passed,),
    grad_fn="CloneBackward0",
    school=("clone",),
    example=Example("copy(a) * b", {"a": (3,), "b": (3,)}),
)

roll = moving(
    np.roll,
    vjps=(lambda g, y, x, shift, axis=None: np.roll(g, _opposite(shift), axis=axis),),
    grad_fn="RollBackward0",
    params=("shift", "axis"),
    example=Example("roll(a, 1) * b", {"a": (4,), "b": (4,)}),
)

flip = moving(
    np.flip,
    vjps=(lambda g, y, x, axis=None: np.flip(g, axis=axis),),
    grad_fn="FlipBackward0",
    params=("axis",),
    example=Example("flip(a, axis=1) * b", {"a": (2, 3), "b": (2, 3)}),
)

flipud = moving(
    np.flipud,
    vjps=(lambda g, y, x: np.flipud(g),),
    grad_fn="FlipBackward0",
    example=Example("flipud(a) * b", {"a": (3,), "b": (3,)}),
)

fliplr = moving(
    np.fliplr,
    vjps=(lambda g, y, x: np.fliplr(g),),
    grad_fn="FlipBackward0",
    example=Example("fliplr(a) * b", {"a": (2, 3), "b": (2, 3)}),
)

rot90 = moving(
    np.rot90,
    vjps=(lambda g, y, x, k=1, axes=(0, 1): np.rot90(g, -k, axes=axes),),
    grad_fn="Rot90Backward0",
    params=("k", "axes"),
    example=Example("rot90(a) * b", {"a": (2, 3), "b": (3, 2)}),
)
