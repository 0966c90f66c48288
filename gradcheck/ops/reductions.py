"""Sums, means, products and extremes along axes."""

from typing import Any

import numpy as np

from gradcheck.ops.axes import (
    Axis,
    before_each,
    count,
    gathered,
    one_replaced,
    repeated,
    scattered,
    shares,
    spread,
    squared_fits,
)
from gradcheck.ops.row import Composed, Example, Op, op

FLOAT = np.dtype(np.float64)


sum = op(
    np.sum,
    vjps=(
        lambda g, y, x, axis=None, keepdims=False: repeated(
            spread(g, x.shape, axis, keepdims), x.shape
        ),
    ),
    grad_fn=lambda operands, params: f"SumBackward{int(params.get('axis') is not None)}",
    elementwise=False,
    neutral=0.0,
    params=("axis", "keepdims"),
    example=Example("sum(a, axis=0) * b", {"a": (3, 2), "b": (2,)}),
)


def _mean(x: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    """NumPy's mean, without the detours that other dtypes ask for."""
    if type(x) is np.ndarray and x.dtype is FLOAT and x.size and x.ndim:
        total: Any = np.add.reduce(x, axis, None, None, keepdims)  # type: ignore[call-overload]
        return total / (x.size if axis is None else count(x.shape, axis))
    return np.mean(x, axis=axis, keepdims=keepdims)


mean = op(
    np.mean,
    forward=_mean,
    vjps=(
        lambda g, y, x, axis=None, keepdims=False: (
            repeated(g / x.size, x.shape)
            if axis is None
            else repeated(spread(g, x.shape, axis, keepdims) / count(x.shape, axis), x.shape)
        ),
    ),
    grad_fn=lambda operands, params: f"MeanBackward{int(params.get('axis') is not None)}",
    elementwise=False,
    params=("axis", "keepdims"),
    example=Example("mean(a, axis=0) * b", {"a": (3, 2), "b": (2,)}),
)


def _extreme(word: str, function: Any, also: Any, names: tuple[str, str]) -> Op:
    """The row of the largest or the smallest along axes; entries that tie share the cotangent.

    `names` are PyTorch's of the node with and without an axis.
    """
    return op(
        function,
        name=word,
        also=(also,),
        vjps=(
            lambda g, y, x, axis=None, keepdims=False: (
                spread(g, x.shape, axis, keepdims) * shares(y, x, axis, keepdims)
            ),
        ),
        kinks="ties",
        grad_fn=lambda operands, params: names["axis" not in params],
        elementwise=False,
        rounds=False,
        params=("axis", "keepdims"),
        school=(f"a{word}",),
        example=Example(f"{word}(a, axis=0) * b", {"a": (3, 2), "b": (2,)}),
    )


max = _extreme("max", np.max, np.amax, ("AmaxBackward0", "MaxBackward1"))
min = _extreme("min", np.min, np.amin, ("AminBackward0", "MinBackward1"))


def _without_each(y: Any, x: Any, axis: Axis, keepdims: bool) -> Any:
    """The product of all the others, for each entry; entry by entry where one of them is zero."""
    if np.all(np.not_equal(x, 0)):
        return spread(y, x.shape, axis, keepdims) / x
    return scattered(_others(gathered(x, axis)), x.shape, axis)


def _others(x: Any) -> Any:
    """The product of all others on the last axis: at once, or of those before and those after."""
    if squared_fits(x):
        return np.prod(one_replaced(x), axis=-1)
    return before_each(x) * np.flip(before_each(np.flip(x, axis=-1)), axis=-1)


prod = op(
    np.prod,
    vjps=(
        lambda g, y, x, axis=None, keepdims=False: (
            spread(g, x.shape, axis, keepdims) * _without_each(y, x, axis, keepdims)
        ),
    ),
    grad_fn=lambda operands, params: f"ProdBackward{int(params.get('axis') is not None)}",
    elementwise=False,
    neutral=1.0,
    params=("axis", "keepdims"),
    example=Example("prod(a, axis=0) * b", {"a": (3, 2), "b": (2,)}),
)

nansum = op(
    np.nansum,
    vjps=(
        lambda g, y, x, axis=None, keepdims=False: (
            spread(g, x.shape, axis, keepdims) * np.logical_not(np.isnan(x))
        ),
    ),
    exact=Composed(lambda x, axis=None, keepdims=False: np.sum(x, axis=axis, keepdims=keepdims)),
    grad_fn="NansumBackward0",
    elementwise=False,
    params=("axis", "keepdims"),
    example=Example("nansum(a, axis=0) * b", {"a": (3, 2), "b": (2,)}),
)


def shifted_logsumexp(x: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    """Shifted by the largest entry, so that nothing overflows."""
    top = np.max(x, axis=axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    total = np.log(np.sum(np.exp(x - top), axis=axis, keepdims=True)) + top
    return total if keepdims else np.squeeze(total, axis=axis)


def plain_logsumexp(x: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    return np.log(np.sum(np.exp(x), axis=axis, keepdims=keepdims))


logsumexp = op(
    shifted_logsumexp,
    name="logsumexp",
    vjps=(
        lambda g, y, x, axis=None, keepdims=False: (
            spread(g, x.shape, axis, keepdims) * np.exp(x - spread(y, x.shape, axis, keepdims))
        ),
    ),
    exact=Composed(plain_logsumexp),
    grad_fn="LogsumexpBackward0",
    elementwise=False,
    params=("axis", "keepdims"),
    example=Example("logsumexp(a, axis=1) * b", {"a": (2, 3), "b": (2,)}),
)
