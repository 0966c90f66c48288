"""Running sums and products, differences of neighbours, and sorting."""

from typing import Any

import numpy as np

from gradcheck.ops.axes import before_each, one_replaced, squared_fits
from gradcheck.ops.row import Example, moving, op


def _from_the_end(g: Any, axis: int | None) -> Any:
    """Running sums backwards; what was flattened (axis None) has one axis."""
    axis = 0 if axis is None else axis
    return np.flip(np.cumsum(np.flip(g, axis=axis), axis=axis), axis=axis)


def _product_rule(g: Any, y: Any, x: Any, axis: int | None) -> Any:
    """The sum over later products of g y / x; entry by entry where one of them is zero."""
    x = np.reshape(x, g.shape)
    if np.all(np.not_equal(x, 0)):
        return _from_the_end(g * y, axis) / x
    axis = 0 if axis is None else axis
    x, g = np.moveaxis(x, axis, -1), np.moveaxis(g, axis, -1)
    if not squared_fits(x):
        return np.moveaxis(before_each(x) * _later_products(g, x), -1, axis)
    others = np.triu(np.cumprod(one_replaced(x), axis=-1))
    return np.moveaxis(np.sum(others * np.expand_dims(g, -2), -1), -1, axis)


def _later_products(g: Any, x: Any) -> Any:
    """The sum over j from each entry on of g_j times the product of what stands between."""
    sums = [g[..., -1]]
    for i in reversed(range(x.shape[-1] - 1)):
        sums.append(g[..., i] + x[..., i + 1] * sums[-1])
    return np.stack(sums[::-1], axis=-1)


def _undifferenced(g: Any, n: int, axis: int) -> Any:
    """Each difference goes to its two neighbours, n times (as many as there were entries)."""
    for _ in range(n):
        nothing = np.zeros([1 if k == axis % g.ndim else m for k, m in enumerate(g.shape)])
        g = np.concatenate([nothing, g], axis=axis) - np.concatenate([g, nothing], axis=axis)
    return g


def _unsorted(g: Any, x: Any, axis: int | None) -> Any:
    """Every entry back to where it was before sorting; equal entries keep their order."""
    if axis is None:
        return np.reshape(_unsorted(g, np.reshape(x, (-1,)), 0), x.shape)
    order = np.argsort(x, axis=axis, kind="stable")
    return np.take_along_axis(g, np.argsort(order, axis=axis), axis)


cumsum = op(
    np.cumsum,
    vjps=(lambda g, y, x, axis=None: np.reshape(_from_the_end(g, axis), x.shape),),
    grad_fn="CumsumBackward0",
    elementwise=False,
    params=("axis",),
    example=Example("cumsum(a, axis=0) * b", {"a": (3, 2), "b": (3, 2)}),
)

cumprod = op(
    np.cumprod,
    vjps=(lambda g, y, x, axis=None: np.reshape(_product_rule(g, y, x, axis), x.shape),),
    grad_fn="CumprodBackward0",
    elementwise=False,
    params=("axis",),
    example=Example("cumprod(a, axis=0) * b", {"a": (3, 2), "b": (3, 2)}),
)


def _differences(
    x: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """With what stands before and behind, joined to x."""
    around = [None if v is None or v is np._NoValue else v for v in (prepend, append)]
    if n and any(v is not None for v in around):
        thin = [1 if k == axis % np.ndim(x) else m for k, m in enumerate(np.shape(x))]
        before, behind = (
            [] if v is None else [v if np.ndim(v) else np.broadcast_to(v, thin)] for v in around
        )
        x = np.concatenate([*before, x, *behind], axis=axis)
    return (x,), {"n": n, "axis": axis}


diff = op(
    np.diff,
    vjps=(lambda g, y, x, n=1, axis=-1: _undifferenced(g, min(n, x.shape[axis]), axis),),
    grad_fn="SubBackward0",
    elementwise=False,
    size="passed",
    operands=1,
    arrange=_differences,
    example=Example("diff(a) * b", {"a": (4,), "b": (3,)}),
)

sort = moving(
    np.sort,
    vjps=(lambda g, y, x, axis=-1: _unsorted(g, x, axis),),
    kinks="ties",
    grad_fn="SortBackward0",
    params=("axis",),
    example=Example("sort(a, axis=-1) * b", {"a": (4,), "b": (4,)}),
)
