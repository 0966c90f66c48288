"""Sums, means, products and extremes along axes."""

import numpy as np

from gradcheck.ops.row import Example, op


def _axes(shape, axis):
    if axis is None:
        return tuple(range(len(shape)))
    return tuple(k % len(shape) for k in (axis if isinstance(axis, tuple | list) else (axis,)))


def _spread(g, shape, axis, keepdims):
    """g with the reduced axes put back as ones, so that it broadcasts against `shape`."""
    if keepdims or not shape:
        return g
    gone = _axes(shape, axis)
    return np.reshape(g, tuple(1 if k in gone else n for k, n in enumerate(shape)))


def _count(shape, axis):
    return float(np.prod([shape[k] for k in _axes(shape, axis)], dtype=int))


def _winners(y, x, axis, keepdims):
    """An equal share for every entry that reaches the extreme: PyTorch's convention for amax."""
    tied = np.equal(x, _spread(y, x.shape, axis, keepdims)) * 1.0
    return tied / np.sum(tied, axis=axis, keepdims=True)


sum = op(
    np.sum,
    vjps=(
        lambda g, y, x, axis=None, keepdims=False: np.broadcast_to(
            _spread(g, x.shape, axis, keepdims), x.shape
        ),
    ),
    grad_fn=lambda operands, params: f"SumBackward{int(params.get('axis') is not None)}",
    elementwise=False,
    params=("axis", "keepdims"),
    example=Example("sum(a, axis=0) * b", {"a": (3, 2), "b": (2,)}),
)

mean = op(
    np.mean,
    vjps=(
        lambda g, y, x, axis=None, keepdims=False: np.broadcast_to(
            _spread(g, x.shape, axis, keepdims) / _count(x.shape, axis), x.shape
        ),
    ),
    grad_fn=lambda operands, params: f"MeanBackward{int(params.get('axis') is not None)}",
    elementwise=False,
    params=("axis", "keepdims"),
    example=Example("mean(a, axis=0) * b", {"a": (3, 2), "b": (2,)}),
)

max = op(
    np.max,
    name="max",
    also=(np.amax,),
    vjps=(
        lambda g, y, x, axis=None, keepdims=False: (
            _spread(g, x.shape, axis, keepdims) * _winners(y, x, axis, keepdims)
        ),
    ),
    kinks="ties",
    grad_fn=lambda operands, params: "AmaxBackward0" if "axis" in params else "MaxBackward1",
    elementwise=False,
    rounds=False,
    params=("axis", "keepdims"),
    school=("amax",),
    example=Example("max(a, axis=0) * b", {"a": (3, 2), "b": (2,)}),
)

min = op(
    np.min,
    name="min",
    also=(np.amin,),
    vjps=(
        lambda g, y, x, axis=None, keepdims=False: (
            _spread(g, x.shape, axis, keepdims) * _winners(y, x, axis, keepdims)
        ),
    ),
    kinks="ties",
    grad_fn=lambda operands, params: "AminBackward0" if "axis" in params else "MinBackward1",
    elementwise=False,
    rounds=False,
    params=("axis", "keepdims"),
    school=("amin",),
    example=Example("min(a, axis=0) * b", {"a": (3, 2), "b": (2,)}),
)


def _without_each(x, axis, keepdims):
    """The product of all the others, for each entry; exact where entries are zero."""
    zeros = np.equal(x, 0)
    count = np.sum(zeros * 1.0, axis=axis, keepdims=True)
    safe = np.where(zeros, 1.0, x)
    rest = np.prod(safe, axis=axis, keepdims=True)
    return np.where(np.greater(count - zeros, 0), 0.0, rest / safe)


prod = op(
    np.prod,
    vjps=(
        lambda g, y, x, axis=None, keepdims=False: (
            _spread(g, x.shape, axis, keepdims) * _without_each(x, axis, keepdims)
        ),
    ),
    grad_fn=lambda operands, params: f"ProdBackward{int(params.get('axis') is not None)}",
    elementwise=False,
    params=("axis", "keepdims"),
    example=Example("prod(a, axis=0) * b", {"a": (3, 2), "b": (2,)}),
)
