"""Losses, as PyTorch has them: `reduction=` is "mean" (unless said otherwise), "sum" or "none"."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gradcheck.ops.activations import sigmoid
from gradcheck.ops.reductions import logsumexp, plain_logsumexp, shifted_logsumexp
from gradcheck.ops.row import Composed, Example, Interval, inf, op

REDUCTIONS: dict[str, Callable[[Any], Any]] = {
    "mean": np.mean,
    "sum": np.sum,
    "none": lambda losses: losses,
}
# PyTorch's bounds: no logarithm below -100, no p (1 - p) below 1e-12 (in single precision).
LEAST, LEAST_PRODUCT = math.exp(-100), float(np.float32(1e-12))


def reduced(losses: Any, reduction: str) -> Any:
    """The losses, their mean or their sum; raises TypeError for another word."""
    if reduction not in REDUCTIONS:
        raise TypeError(f"reduction={reduction!r}: 'mean', 'sum' or 'none' was expected")
    return REDUCTIONS[reduction](losses)


def _each(g: Any, a: Any, b: Any, reduction: str) -> Any:
    """The cotangent of each single loss."""
    shape = np.broadcast_shapes(np.shape(a), np.shape(b))
    return g / float(np.prod(shape, dtype=int)) if reduction == "mean" else g


def _pair(
    name: str,
    *,
    loss: Callable[..., Any],
    slopes: tuple[Callable[..., Any], Callable[..., Any]],
    defined: Callable[..., Any],
    shape: tuple[str, ...] = (),
    **cells: Any,
) -> Any:
    """The row of a loss that compares two arrays entry by entry, and then reduces.

    `shape` names its parameter, if it has one; `defined` is the loss in other words.
    """
    left, right = slopes

    def exact(a: Any, b: Any, reduction: str = "mean", **params: Any) -> Any:
        return reduced(defined(a, b, **params), reduction)

    return op(
        lambda a, b, reduction="mean", **params: reduced(loss(a, b, **params), reduction),
        name=name,
        vjps=(
            lambda g, y, a, b, reduction="mean", **params: (
                _each(g, a, b, reduction) * left(a, b, **params)
            ),
            lambda g, y, a, b, reduction="mean", **params: (
                _each(g, a, b, reduction) * right(a, b, **params)
            ),
        ),
        symbolic=Composed(exact),
        ball=Composed(exact),
        elementwise=False,
        params=("reduction", *shape),
        **{"example": Example(f"{name}(a, b)", {"a": (2, 3), "b": (2, 3)})} | cells,
    )


mse_loss = _pair(
    "mse_loss",
    loss=lambda a, b: (a - b) ** 2,
    slopes=(lambda a, b: 2 * (a - b), lambda a, b: 2 * (b - a)),
    defined=lambda a, b: a * a - 2 * a * b + b * b,
    grad_fn="MseLossBackward0",
)

l1_loss = _pair(
    "l1_loss",
    loss=lambda a, b: np.absolute(a - b),
    slopes=(lambda a, b: np.sign(a - b), lambda a, b: np.sign(b - a)),
    defined=lambda a, b: np.where(a > b, a - b, b - a),
    kinks="a = b",
    grad_fn=lambda operands, params: (
        {"sum": "Sum", "none": "Abs"}.get(params.get("reduction", "mean"), "Mean") + "Backward0"
    ),
)


def _huber(a: Any, b: Any, delta: float = 1.0) -> Any:
    """Half the square of the difference up to delta, and a straight line beyond."""
    d = np.absolute(a - b)
    return np.where(np.less_equal(d, delta), 0.5 * d * d, delta * (d - 0.5 * delta))


def _huber_defined(a: Any, b: Any, delta: float = 1.0) -> Any:
    """With r, the difference cut at delta: r (d - r / 2)."""
    r = np.where(a - b > delta, delta, np.where(b - a > delta, -delta, a - b))
    return r * (a - b) - r * r / 2


huber_loss = _pair(
    "huber_loss",
    loss=_huber,
    slopes=(
        lambda a, b, delta=1.0: np.clip(a - b, -delta, delta),
        lambda a, b, delta=1.0: np.clip(b - a, -delta, delta),
    ),
    defined=_huber_defined,
    shape=("delta",),
    grad_fn="HuberLossBackward0",
)


def _smooth_slope(d: Any, beta: float) -> Any:
    """The difference over beta, cut at 1; its sign where beta is 0: the loss is l1_loss then."""
    return np.clip(d / beta, -1, 1) if beta else np.sign(d)


smooth_l1_loss = _pair(
    "smooth_l1_loss",
    loss=lambda a, b, beta=1.0: _huber(a, b, beta) / beta if beta else np.absolute(a - b),
    slopes=(
        lambda a, b, beta=1.0: _smooth_slope(a - b, beta),
        lambda a, b, beta=1.0: _smooth_slope(b - a, beta),
    ),
    defined=lambda a, b, beta=1.0: (
        _huber_defined(a, b, beta) / beta if beta else np.where(a > b, a - b, b - a)
    ),
    shape=("beta",),
    grad_fn="SmoothL1LossBackward0",
)


def _bounded_log(p: Any) -> Any:
    return np.log(np.maximum(p, LEAST))


def _alike(a: Any, b: Any, reduction: str = "mean") -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Input and target of one shape (or a number): PyTorch refuses here what it would broadcast."""
    if np.ndim(a) and np.ndim(b) and np.shape(a) != np.shape(b):
        raise ValueError(
            f"Target size ({np.shape(b)}) must be the same as input size ({np.shape(a)})"
        )
    return (a, b), {"reduction": reduction}


binary_cross_entropy = _pair(
    "binary_cross_entropy",
    loss=lambda p, t: -(t * _bounded_log(p) + (1 - t) * _bounded_log(1 - p)),
    slopes=(
        lambda p, t: (p - t) / np.maximum(p * (1 - p), LEAST_PRODUCT),
        lambda p, t: np.log(1 - p) - np.log(p),
    ),
    defined=lambda p, t: t * np.log(1 / p - 1) - np.log(1 - p),
    domain=(Interval(0, 1), Interval(-inf, inf)),
    grad_fn="BinaryCrossEntropyBackward0",
    school=("bce_loss",),
    arrange=_alike,
    operands=2,
)

binary_cross_entropy_with_logits = _pair(
    "binary_cross_entropy_with_logits",
    loss=lambda z, t: np.logaddexp(0.0, z) - t * z,
    slopes=(lambda z, t: sigmoid(z) - t, lambda z, t: -z),
    defined=lambda z, t: t * np.log(1 + np.exp(-z)) + (1 - t) * np.log(1 + np.exp(z)),
    grad_fn="BinaryCrossEntropyWithLogitsBackward0",
    arrange=_alike,
    operands=2,
)


def _classified(
    x: Any, target: Any, reduction: str = "mean"
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Class numbers are a parameter; class probabilities are an operand, and differentiated.

    Raises ValueError or IndexError where a target is missing, too many, or no class.
    """
    target = target if hasattr(target, "dtype") else np.asarray(target)
    shape, numbers = np.shape(x), target.dtype.kind in "iu"
    axis = _classes(shape)
    wanted = shape[:axis] + shape[axis + 1 :] if numbers else shape
    if np.shape(target) != wanted:
        raise ValueError(
            f"the target has the shape {np.shape(target)}, but {wanted} was expected: class "
            "numbers (integers) for each sample, or a probability for each entry"
        )
    if numbers:
        for label in np.ravel(target)[np.ravel((target < 0) | (target >= shape[axis]))]:
            raise IndexError(f"Target {label} is out of bounds.")
        return (x,), {"target": np.asarray(target), "reduction": reduction}
    return (x, target), {"reduction": reduction}


def _classes(shape: tuple[int, ...]) -> int:
    """The axis of the classes: the second, or the only one."""
    return 0 if len(shape) == 1 else 1


def _chosen(target: Any, shape: tuple[int, ...]) -> Any:
    """Whether a class is the right one, for every class of each sample."""
    axis = _classes(shape)
    along = [-1 if k == axis else 1 for k in range(len(shape))]
    return np.expand_dims(target, axis) == np.reshape(np.arange(shape[axis]), along)


def _weights(shape: tuple[int, ...], given: tuple[Any, ...], target: Any) -> Any:
    """The probability of every class: as given, or 1 for the right one."""
    return given[0] if given else 1.0 * _chosen(target, shape)


def _spent(logs: Any, given: tuple[Any, ...], target: Any, reduction: str) -> Any:
    """Minus the logarithm at the right class, or minus their mean weighted by probabilities."""
    axis = _classes(np.shape(logs))
    kept = given[0] * logs if given else np.where(_chosen(target, np.shape(logs)), logs, 0.0)
    return reduced(-np.sum(kept, axis=axis), reduction)


def _share(g: Any, shape: tuple[int, ...], reduction: str) -> Any:
    """The cotangent of each sample, laid along its classes."""
    axis = _classes(shape)
    if reduction == "none":
        return np.expand_dims(g, axis)
    return g / float(np.prod(shape, dtype=int) / shape[axis]) if reduction == "mean" else g


def _logs(x: Any, total: Callable[..., Any]) -> Any:
    """The logarithms of softmax over the classes."""
    return x - total(x, _classes(np.shape(x)), keepdims=True)


def _softmax_less_target(x: Any, w: Any) -> Any:
    """softmax(x) - w, where the weights of a sample need not add to 1."""
    axis = _classes(np.shape(x))
    return np.exp(_logs(x, logsumexp)) * np.sum(w, axis=axis, keepdims=True) - w


def _loss_name(operands: tuple[Any, ...], params: Mapping[str, Any]) -> str:
    if "target" not in params:
        return "DivBackward1" if params["reduction"] == "mean" else "NegBackward0"
    return f"NllLoss{'2D' if np.ndim(params['target']) > 1 else ''}Backward0"


nll_loss = op(
    lambda x, *given, target=None, reduction: _spent(x, given, target, reduction),
    name="nll_loss",
    vjps=(
        lambda g, y, x, *given, target=None, reduction: (
            -_share(g, x.shape, reduction) * _weights(x.shape, given, target)
        ),
        lambda g, y, x, *given, target=None, reduction: -_share(g, x.shape, reduction) * x,
    ),
    grad_fn=_loss_name,
    elementwise=False,
    arrange=_classified,
    example=Example("nll_loss(a, [0, 2])", {"a": (2, 3)}),
)

cross_entropy = op(
    lambda x, *given, target=None, reduction: _spent(
        _logs(x, shifted_logsumexp), given, target, reduction
    ),
    name="cross_entropy",
    vjps=(
        lambda g, y, x, *given, target=None, reduction: (
            _share(g, x.shape, reduction)
            * _softmax_less_target(x, _weights(x.shape, given, target))
        ),
        lambda g, y, x, *given, target=None, reduction: (
            -_share(g, x.shape, reduction) * _logs(x, logsumexp)
        ),
    ),
    symbolic=Composed(
        lambda x, *given, target=None, reduction: _spent(
            _logs(x, plain_logsumexp), given, target, reduction
        )
    ),
    ball=Composed(
        lambda x, *given, target=None, reduction: _spent(
            _logs(x, plain_logsumexp), given, target, reduction
        )
    ),
    grad_fn=_loss_name,
    elementwise=False,
    arrange=_classified,
    example=Example("cross_entropy(a, [0, 2])", {"a": (2, 3)}),
)
