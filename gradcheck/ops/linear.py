"""Linear algebra: products of vectors and matrices."""

import numpy as np

from gradcheck.ops.row import Example, op


def _turned(m):
    return np.swapaxes(m, -1, -2)


def _left(g, y, a, b):
    """g . b^T, for every mixture of vectors, matrices and stacks of matrices."""
    if b.ndim == 1:
        return g[..., None] * b if a.ndim > 1 else g * b
    if a.ndim == 1:
        return np.sum(g[..., None, :] * b, axis=-1)
    return g @ _turned(b)


def _right(g, y, a, b):
    """a^T . g, likewise."""
    if a.ndim == 1:
        return a[:, None] * g[..., None, :] if b.ndim > 1 else g * a
    if b.ndim == 1:
        return np.sum(a * g[..., None], axis=tuple(range(a.ndim - 1)))
    return _turned(a) @ g


def _product_name(operands, params):
    ranks = tuple(len(v.shape if hasattr(v, "shape") else v[0]) for v in operands)
    names = {(1, 1): "Dot", (2, 1): "Mv", (2, 2): "Mm", (1, 2): "Squeeze4"}
    return f"{names.get(ranks, 'Bmm' if ranks == (3, 3) else 'UnsafeView')}Backward0"


matmul = op(
    np.matmul,
    vjps=(_left, _right),
    grad_fn=_product_name,
    elementwise=False,
    school=("mm", "mv", "bmm"),
    example=Example("matmul(a, b) * c", {"a": (2, 3), "b": (3, 4), "c": (2, 4)}),
)

swapaxes = op(
    np.swapaxes,
    vjps=(lambda g, y, x, axis1, axis2: np.swapaxes(g, axis1, axis2),),
    grad_fn="TransposeBackward0",
    elementwise=False,
    rounds=False,
    params=("axis1", "axis2"),
    example=Example("swapaxes(a, 0, 1) * b", {"a": (2, 3), "b": (3, 2)}),
)
