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
        exact=Composed(exact),
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


def _words(reduction: Any, size_average: Any, reduce: Any, how: Any) -> str:
    """The reduction, raises TypeError for PyTorch's old words."""
    if size_average is not None or reduce is not None:
        raise TypeError("size_average= and reduce= are PyTorch's old words: write reduction=")
    return str(how if reduction is None else reduction)


def _alike(  # noqa: PLR0917 - PyTorch's order
    a: Any,
    b: Any,
    weight: Any = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    pos_weight: Any = None,
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Input and target of one shape (or a number): PyTorch refuses here what it would broadcast.

    A weight for each entry multiplies its loss, `pos_weight` its part of the target.
    """
    if isinstance(weight, str):
        weight, reduction = None, weight
    if np.ndim(a) and np.ndim(b) and np.shape(a) != np.shape(b):
        raise ValueError(
            f"Target size ({np.shape(b)}) must be the same as input size ({np.shape(a)})"
        )
    how = {"reduction": _words(None, size_average, reduce, reduction)}
    weights = {"weight": weight, "pos_weight": pos_weight}
    return (a, b), how | {k: _plain(v) for k, v in weights.items() if v is not None}


def _plain(weights: Any) -> Any:
    """Weights as an array: no derivative goes through them. Raises TypeError where one would."""
    if getattr(weights, "requires_grad", False):
        raise TypeError("the weights of a loss are plain numbers: write weight.detach()")
    return np.asarray(weights, dtype=float)


binary_cross_entropy = _pair(
    "binary_cross_entropy",
    loss=lambda p, t, weight=1.0: -weight * (t * _bounded_log(p) + (1 - t) * _bounded_log(1 - p)),
    slopes=(
        lambda p, t, weight=1.0: weight * (p - t) / np.maximum(p * (1 - p), LEAST_PRODUCT),
        lambda p, t, weight=1.0: weight * (np.log(1 - p) - np.log(p)),
    ),
    defined=lambda p, t, weight=1: weight * (t * np.log(1 / p - 1) - np.log(1 - p)),
    domain=(Interval(0, 1), Interval(-inf, inf)),
    grad_fn="BinaryCrossEntropyBackward0",
    school=("bce_loss",),
    arrange=_alike,
    operands=2,
)


def _by_logits(z: Any, t: Any, weight: Any = 1.0, pos_weight: Any = None) -> Any:
    """log(1 + exp(z)) - t z; with p weighting the target, p t log(1 + exp(-z)) + the rest."""
    if pos_weight is None:
        return weight * (np.logaddexp(0.0, z) - t * z)
    right, wrong = np.logaddexp(0.0, -z), np.logaddexp(0.0, z)
    return weight * (pos_weight * t * right + (1 - t) * wrong)


def _by_logits_defined(z: Any, t: Any, weight: Any = 1, pos_weight: Any = 1) -> Any:
    right, wrong = np.log(1 + np.exp(-z)), np.log(1 + np.exp(z))
    return weight * (pos_weight * t * right + (1 - t) * wrong)


def _logits_slope(z: Any, t: Any, weight: Any = 1.0, pos_weight: Any = None) -> Any:
    if pos_weight is None:
        return weight * (sigmoid(z) - t)
    return weight * ((1 - t) * sigmoid(z) - pos_weight * t * sigmoid(-z))


def _target_slope(z: Any, t: Any, weight: Any = 1.0, pos_weight: Any = None) -> Any:
    if pos_weight is None:
        return -weight * z
    return weight * (pos_weight * np.logaddexp(0.0, -z) - np.logaddexp(0.0, z))


binary_cross_entropy_with_logits = _pair(
    "binary_cross_entropy_with_logits",
    loss=_by_logits,
    slopes=(_logits_slope, _target_slope),
    defined=_by_logits_defined,
    grad_fn="BinaryCrossEntropyWithLogitsBackward0",
    arrange=_alike,
    operands=2,
)


def _classified(  # noqa: PLR0917 - PyTorch's order
    x: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Class numbers are a parameter; class probabilities are an operand, and differentiated.

    Class weights, smoothed labels and labels to ignore are said as weights of the classes. Whole
    numbers are probabilities where there is one for each entry, which PyTorch refuses.
    Raises ValueError or IndexError where a target is missing, too many, or no class.
    """
    if isinstance(weight, str):
        weight, reduction = None, weight
    reduction = _words(None, size_average, reduce, reduction)
    target = target if hasattr(target, "dtype") else np.asarray(target)
    shape = np.shape(x)
    numbers = target.dtype.kind in "iu" and np.shape(target) != shape
    axis = _classes(shape)
    wanted = shape[:axis] + shape[axis + 1 :] if numbers else shape
    if np.shape(target) != wanted:
        raise ValueError(
            f"the target has the shape {np.shape(target)}, but {wanted} was expected: class "
            "numbers (integers) for each sample, or a probability for each entry"
        )
    by_class = 1.0 if weight is None else _along_classes(_plain(weight), shape)
    if not numbers:
        target = _smoothed(target, label_smoothing, shape)
        return (x, target if weight is None else target * by_class), {"reduction": reduction}
    labels = np.asarray(target)
    kept = labels != ignore_index
    for label in np.ravel(labels)[np.ravel(kept & ((labels < 0) | (labels >= shape[axis])))]:
        raise IndexError(f"Target {label} is out of bounds.")
    if weight is None and not label_smoothing and np.all(kept):
        return (x,), {"target": labels, "reduction": reduction}
    chosen, by_class = _chosen(labels, shape) * 1.0, by_class * np.expand_dims(kept, axis)
    weights = by_class * _smoothed(chosen, label_smoothing, shape)
    if reduction == "mean":
        weights = weights * np.divide(np.size(labels), np.sum(by_class * chosen))
    return (x, weights), {"reduction": reduction}


def _smoothed(target: Any, smoothing: float, shape: tuple[int, ...]) -> Any:
    """Probabilities of the classes, a share of which is spread evenly over all of them."""
    if not smoothing:
        return target
    return (1 - smoothing) * target + smoothing / shape[_classes(shape)]


def _along_classes(weights: Any, shape: tuple[int, ...]) -> Any:
    """A weight for each class, laid along the axis of the classes."""
    return np.reshape(weights, [-1 if k == _classes(shape) else 1 for k in range(len(shape))])


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
    watches=(0,),
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
    exact=Composed(
        lambda x, *given, target=None, reduction: _spent(
            _logs(x, plain_logsumexp), given, target, reduction
        )
    ),
    grad_fn=_loss_name,
    elementwise=False,
    arrange=_classified,
    example=Example("cross_entropy(a, [0, 2])", {"a": (2, 3)}),
)
