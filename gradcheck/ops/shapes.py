"""Functions that move entries without changing them."""

import numpy as np

from gradcheck.ops.row import Example, op


def _numbered(args):
    """`reshape(2, 3)` and `reshape((2, 3))` mean the same."""
    return tuple(args[0]) if len(args) == 1 and isinstance(args[0], tuple | list) else tuple(args)


reshape = op(
    np.reshape,
    vjps=(lambda g, y, x, shape: np.reshape(g, x.shape),),
    grad_fn="ViewBackward0",
    elementwise=False,
    rounds=False,
    arrange=lambda x, *shape, **named: (
        (x,),
        {"shape": _numbered(shape) if shape else named.get("shape", named.get("newshape"))},
    ),
    school=("view",),
    example=Example("reshape(a, (3, 2)) * b", {"a": (2, 3), "b": (3, 2)}),
)

transpose = op(
    np.transpose,
    vjps=(lambda g, y, x, axes=None: np.transpose(g, None if axes is None else np.argsort(axes)),),
    grad_fn=lambda operands, params: "PermuteBackward0" if params.get("axes") else "TBackward0",
    elementwise=False,
    rounds=False,
    arrange=lambda x, *axes, **named: (
        (x,),
        {"axes": _numbered(axes) if axes and axes != (None,) else named.get("axes")},
    ),
    school=("permute",),
    example=Example("transpose(a) * b", {"a": (2, 3), "b": (3, 2)}),
)

broadcast_to = op(
    np.broadcast_to,
    vjps=(lambda g, y, x, shape: g,),
    grad_fn="ExpandBackward0",
    elementwise=False,
    rounds=False,
    params=("shape",),
    school=("expand",),
    example=Example("broadcast_to(a, (3, 2)) * b", {"a": (2,), "b": (3, 2)}),
)


getitem = op(
    lambda x, index: x[index],
    name="getitem",
    vjps=(lambda g, y, x, index: scatter(g, shape=x.shape, index=index),),
    grad_fn="SelectBackward0",
    elementwise=False,
    rounds=False,
    params=("index",),
    example=Example("a[[0, 2, 2]] * b", {"a": (3,), "b": (3,)}),
)


def _scatter(g, shape, index):
    out = np.zeros(shape, g.dtype)
    np.add.at(out, index, g)
    return out


scatter = op(
    _scatter,
    name="scatter",
    vjps=(lambda g, y, x, shape, index: g[index],),
    elementwise=False,
    rounds=False,
    params=("shape", "index"),
)


def _written(x, value, index):
    out = np.array(x)
    out[index] = value
    return out


setitem = op(
    _written,
    name="setitem",
    vjps=(
        lambda g, y, x, value, index: _written(g, 0.0, index),
        lambda g, y, x, value, index: g[index],
    ),
    grad_fn="CopySlices",
    elementwise=False,
    rounds=False,
    params=("index",),
)


def _joined(index, g, y, *arrays, axis=0):
    """The slice of g that came from array `index`."""
    start = np.sum([a.shape[axis] for a in arrays[:index]], dtype=int)
    where = [slice(None)] * g.ndim
    where[axis] = slice(start, start + arrays[index].shape[axis])
    return g[tuple(where)]


concatenate = op(
    np.concatenate,
    forward=lambda *arrays, axis=0: np.concatenate(arrays, axis=axis),
    vjps=_joined,
    grad_fn="CatBackward0",
    elementwise=False,
    rounds=False,
    operands=None,
    arrange=lambda arrays, axis=0: (tuple(arrays), {"axis": axis}),
    school=("cat",),
    example=Example("concatenate([a, b]) * c", {"a": (2,), "b": (3,), "c": (5,)}),
)


def _unstacked(index, g, y, *arrays, axis=0):
    where = [slice(None)] * g.ndim
    where[axis] = index
    return g[tuple(where)]


stack = op(
    np.stack,
    forward=lambda *arrays, axis=0: np.stack(arrays, axis=axis),
    vjps=_unstacked,
    grad_fn="StackBackward0",
    elementwise=False,
    rounds=False,
    operands=None,
    arrange=lambda arrays, axis=0: (tuple(arrays), {"axis": axis}),
    example=Example("stack([a, b]) * c", {"a": (2,), "b": (2,), "c": (2, 2)}),
)

copy = op(
    np.copy,
    vjps=(lambda g, y, x: g,),
    grad_fn="CloneBackward0",
    elementwise=False,
    rounds=False,
    school=("clone",),
    example=Example("copy(a) * b", {"a": (3,), "b": (3,)}),
)
