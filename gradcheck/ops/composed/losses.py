"""PyTorch's further losses, as formulas of the rows; `reduction=` as in `ops.losses`."""

import math
from typing import Any

import numpy as np

from gradcheck.ops.activations import logsigmoid, softplus
from gradcheck.ops.composed.picking import seen
from gradcheck.ops.composed.products import pairwise_distance
from gradcheck.ops.exponential import xlogy
from gradcheck.ops.formula import composed
from gradcheck.ops.losses import reduced, refuse_old
from gradcheck.ops.row import Example

PAIR = {"a": (2, 3), "b": (2, 3)}
SIGNS = {"a": (3,), "b": (3,), "y": [1.0, -1.0, 1.0]}


def _above_zero(x: Any) -> Any:
    return np.maximum(x, 0.0)


@composed(example=Example("kl_div(a, b * b)", PAIR))
def kl_div(
    x: Any,
    target: Any,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Any:
    """Target (log target - x), x being logarithms; "batchmean" divides by the first axis."""
    refuse_old(size_average, reduce)
    entropy = np.exp(target) * target if log_target else xlogy(target, target)
    losses = entropy - (np.exp(target) if log_target else target) * x
    if reduction == "batchmean":
        return np.sum(losses) / (np.shape(x)[0] if np.ndim(x) else 1)
    return reduced(losses, reduction)


@composed(watches=("x", "target"), example=Example("soft_margin_loss(a, y)", SIGNS))
def soft_margin_loss(
    x: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Any:
    """log(1 + exp(-y x))."""
    refuse_old(size_average, reduce)
    return reduced(softplus(-target * x), reduction)


@composed(example=Example("margin_ranking_loss(a, b, y)", SIGNS))
def margin_ranking_loss(
    input1: Any,
    input2: Any,
    target: Any,
    margin: float = 0.0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    """max(0, -y (a - b) + margin)."""
    refuse_old(size_average, reduce)
    return reduced(_above_zero(-target * (input1 - input2) + margin), reduction)


@composed(example=Example("hinge_embedding_loss(a, y)", SIGNS))
def hinge_embedding_loss(
    x: Any,
    target: Any,
    margin: float = 1.0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    """X where y is 1, max(0, margin - x) where it is -1."""
    refuse_old(size_average, reduce)
    target = seen(target)
    apart = np.where(target == 1, 0.0, _above_zero(margin - x))
    return reduced(apart + np.where(target == -1, 0.0, x), reduction)


@composed(example=Example("cosine_embedding_loss(a, b, y)", PAIR | {"y": [1.0, -1.0]}))
def cosine_embedding_loss(
    input1: Any,
    input2: Any,
    target: Any,
    margin: float = 0.0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    """1 - cos where y is 1, max(0, cos - margin) where it is -1; PyTorch's eps of 1e-12."""
    refuse_old(size_average, reduce)
    squares = (np.sum(v * v, axis=-1) + 1e-12 for v in (input1, input2))
    first, second = squares
    cos = np.sum(input1 * input2, axis=-1) / np.sqrt(first * second)
    target = seen(target)
    return reduced(
        np.where(target == 1, 1 - cos, 0.0)
        + np.where(target == -1, _above_zero(cos - margin), 0.0),
        reduction,
    )


@composed(example=Example("triplet_margin_loss(a, b, c)", PAIR | {"c": (2, 3)}))
def triplet_margin_loss(
    anchor: Any,
    positive: Any,
    negative: Any,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    """max(0, d(anchor, positive) - d(anchor, negative) + margin)."""
    refuse_old(size_average, reduce)
    near, far = (pairwise_distance(anchor, v, p, eps) for v in (positive, negative))
    if swap:
        far = np.minimum(far, pairwise_distance(positive, negative, p, eps))
    return reduced(_above_zero(near - far + margin), reduction)


@composed(example=Example("poisson_nll_loss(a, b * b)", PAIR))
def poisson_nll_loss(
    x: Any,
    target: Any,
    log_input: bool = True,
    full: bool = False,
    size_average: Any = None,
    eps: float = 1e-8,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    """exp(x) - y x, or x - y log(x + eps); with `full` Stirling's term where y > 1."""
    refuse_old(size_average, reduce)
    losses = np.exp(x) - target * x if log_input else x - target * np.log(x + eps)
    if full:
        large = seen(target) > 1
        t = np.where(large, target, 1.0)
        losses = losses + np.where(large, t * np.log(t) - t + 0.5 * np.log(2 * math.pi * t), 0.0)
    return reduced(losses, reduction)


@composed(example=Example("gaussian_nll_loss(a, b, c * c)", PAIR | {"c": (2, 3)}))
def gaussian_nll_loss(
    x: Any, target: Any, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Any:
    """(log v + (x - y)^2 / v) / 2; PyTorch's gradient does not see that v is at least eps."""
    var = seen(var) * 1.0 if isinstance(var, float) else var
    shape, given = np.shape(x), np.shape(var)
    if given not in ((), shape, shape[:-1], (*shape[:-1], 1)):
        raise ValueError(f"var is of incorrect size: {list(given)} beside {list(shape)}")
    if np.ndim(var) == np.ndim(x) - 1:
        var = var[..., None]
    var = var + np.where(seen(var) < eps, eps - seen(var), 0.0)
    losses = 0.5 * (np.log(var) + (x - target) ** 2 / var)
    return reduced(losses + 0.5 * math.log(2 * math.pi) if full else losses, reduction)


@composed(
    example=Example("multilabel_soft_margin_loss(a, y)", {"a": (2, 2), "y": [[1, 0], [1, 1]]})
)
def multilabel_soft_margin_loss(
    x: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    """The mean over classes of the logistic losses."""
    refuse_old(size_average, reduce)
    losses = -(target * logsigmoid(x) + (1 - target) * logsigmoid(-x))
    losses = losses if weight is None else losses * weight
    return reduced(np.sum(losses, axis=-1) / np.shape(x)[-1], reduction)


@composed(watches=("x",), example=Example("multi_margin_loss(a, y)", {"a": (2, 3), "y": [0, 2]}))
def multi_margin_loss(
    x: Any,
    target: Any,
    p: int = 1,
    margin: float = 1.0,
    weight: Any = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    """The mean over wrong classes of max(0, margin - x_right + x_wrong)^p."""
    refuse_old(size_average, reduce)
    single = np.ndim(x) < 2
    x = np.reshape(x, (1, -1)) if single else x
    rows, right = np.arange(np.shape(x)[0]), np.reshape(seen(target), (-1,))
    gaps = _above_zero(margin - x[rows, right][:, None] + x)
    gaps = gaps if p == 1 else gaps * gaps
    gaps = gaps if weight is None else gaps * weight[right][:, None]
    wrong = np.arange(np.shape(x)[1]) != right[:, None]
    losses = np.sum(np.where(wrong, gaps, 0.0), axis=1) / np.shape(x)[1]
    return reduced(losses[0] if single else losses, reduction)
