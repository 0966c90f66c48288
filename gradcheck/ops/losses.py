"""Losses, as PyTorch has them: `reduction=` is "mean" (unless said otherwise), "sum" or "none"."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcheck.ops.activations import sigmoid
from gradcheck.ops.arithmetic import xlogy
from gradcheck.ops.formula import composed
from gradcheck.ops.reductions import logsumexp, plain_logsumexp, shifted_logsumexp
from gradcheck.ops.row import REAL_LINE, Composed, Interval, op

Shape = tuple[int, ...]
Call = tuple[tuple[Any, ...], dict[str, Any]]
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


def refuse_old(size_average: Any, reduce: Any) -> None:
    """Raises TypeError for PyTorch's old words of a reduction."""
    if size_average is not None or reduce is not None:
        raise TypeError("size_average= and reduce= are PyTorch's old words: write reduction=")


def plain(weights: Any) -> Any:
    """Weights as an array: no derivative goes through them. Raises TypeError where one would."""
    if getattr(weights, "requires_grad", False):
        raise TypeError("the weights of a loss are plain numbers: write weight.detach()")
    return np.asarray(weights, dtype=float)


# -- losses of entries ---------------------------------------------------------------------------


def _pair(
    name: str,
    loss: Callable[..., Any],
    slopes: tuple[Callable[..., Any], Callable[..., Any]],
    defined: Callable[..., Any] | None = None,
    params: tuple[str, ...] = (),
    **cells: Any,
) -> Any:
    """The row of a loss that compares two arrays entry by entry, and then reduces.

    `slopes` are the loss's by a and by b; `defined` is the loss in exact numbers, where it is not
    said as it is in floats.
    """

    def rule(slope: Callable[..., Any]) -> Any:
        def vjp(y: Any, a: Any, b: Any, reduction: str = "mean", **how: Any) -> Any:
            size = math.prod(np.broadcast_shapes(np.shape(a), np.shape(b)))
            share = float(size) if reduction == "mean" else 1.0
            return lambda g: g / share * slope(a, b, **how)

        return vjp

    def whole(formula: Callable[..., Any]) -> Any:
        return lambda a, b, reduction="mean", **how: reduced(formula(a, b, **how), reduction)

    left, right = slopes
    return op(
        whole(loss),
        (rule(left), rule(right)),
        name=name,
        exact=Composed(whole(defined or loss)),
        elementwise=False,
        params=("reduction", *params),
        **cells,
    )


mse_loss = _pair(
    "mse_loss",
    lambda a, b: (a - b) ** 2,
    (lambda a, b: 2 * (a - b), lambda a, b: 2 * (b - a)),
)
l1_loss = _pair(
    "l1_loss",
    lambda a, b: np.absolute(a - b),
    (lambda a, b: np.sign(a - b), lambda a, b: np.sign(b - a)),
    kinks="a = b",
)


def _huber(a: Any, b: Any, delta: float = 1.0) -> Any:
    """Half the square of the difference up to delta, and a straight line beyond."""
    d = np.absolute(a - b)
    return np.where(np.less_equal(d, delta), 0.5 * d * d, delta * (d - 0.5 * delta))


def _huber_defined(a: Any, b: Any, delta: float = 1.0) -> Any:
    """With r, the difference cut at delta: r (d - r / 2)."""
    r = np.where(a - b > delta, delta, np.where(b - a > delta, -delta, a - b))
    return r * (a - b) - r * r / 2


def _smooth(huber: Callable[..., Any]) -> Callable[..., Any]:
    """Huber's loss over beta, which is the absolute difference where beta is 0."""
    return lambda a, b, beta=1.0: huber(a, b, beta) / beta if beta else np.absolute(a - b)


def _smooth_slope(d: Any, beta: float) -> Any:
    return np.clip(d / beta, -1, 1) if beta else np.sign(d)


huber_loss = _pair(
    "huber_loss",
    _huber,
    (
        lambda a, b, delta=1.0: np.clip(a - b, -delta, delta),
        lambda a, b, delta=1.0: np.clip(b - a, -delta, delta),
    ),
    _huber_defined,
    ("delta",),
)
smooth_l1_loss = _pair(
    "smooth_l1_loss",
    _smooth(_huber),
    (
        lambda a, b, beta=1.0: _smooth_slope(a - b, beta),
        lambda a, b, beta=1.0: _smooth_slope(b - a, beta),
    ),
    _smooth(_huber_defined),
    ("beta",),
)


def _alike(
    a: Any,
    b: Any,
    weight: Any = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    pos_weight: Any = None,
) -> Call:
    """Input and target of one shape (or a number): PyTorch refuses here what it would broadcast.

    A weight for each entry multiplies its loss, `pos_weight` its part of the target.
    """
    if isinstance(weight, str):
        weight, reduction = None, weight
    if np.ndim(a) and np.ndim(b) and np.shape(a) != np.shape(b):
        raise ValueError(
            f"Target size ({np.shape(b)}) must be the same as input size ({np.shape(a)})"
        )
    refuse_old(size_average, reduce)
    how = {"reduction": str(reduction)}
    weights = {"weight": weight, "pos_weight": pos_weight}
    return (a, b), how | {k: plain(v) for k, v in weights.items() if v is not None}


def _bounded_log(p: Any) -> Any:
    return np.log(np.maximum(p, LEAST))


binary_cross_entropy = _pair(
    "binary_cross_entropy",
    lambda p, t, weight=1.0: -weight * (t * _bounded_log(p) + (1 - t) * _bounded_log(1 - p)),
    (
        lambda p, t, weight=1.0: weight * (p - t) / np.maximum(p * (1 - p), LEAST_PRODUCT),
        lambda p, t, weight=1.0: weight * (np.log(1 - p) - np.log(p)),
    ),
    lambda p, t, weight=1: weight * (t * np.log(1 / p - 1) - np.log(1 - p)),
    domain=(Interval(0, 1), REAL_LINE),
    school=("bce_loss",),
    arrange=_alike,
    operands=2,
)


def _by_logits(z: Any, t: Any, weight: Any = 1.0, pos_weight: Any = 1.0) -> Any:
    """With p weighting the target: p t log(1 + exp(-z)) + (1 - t) log(1 + exp(z))."""
    right, wrong = np.logaddexp(0.0, -z), np.logaddexp(0.0, z)
    return weight * (pos_weight * t * right + (1 - t) * wrong)


def _by_logits_defined(z: Any, t: Any, weight: Any = 1, pos_weight: Any = 1) -> Any:
    right, wrong = np.log(1 + np.exp(-z)), np.log(1 + np.exp(z))
    return weight * (pos_weight * t * right + (1 - t) * wrong)


def _logits_slope(z: Any, t: Any, weight: Any = 1.0, pos_weight: Any = None) -> Any:
    if pos_weight is None:
        return weight * (sigmoid(z) - t)
    return weight * ((1 - t) * sigmoid(z) - pos_weight * t * sigmoid(-z))


def _target_slope(z: Any, t: Any, weight: Any = 1.0, pos_weight: Any = 1.0) -> Any:
    return weight * (pos_weight * np.logaddexp(0.0, -z) - np.logaddexp(0.0, z))


binary_cross_entropy_with_logits = _pair(
    "binary_cross_entropy_with_logits",
    _by_logits,
    (_logits_slope, _target_slope),
    _by_logits_defined,
    arrange=_alike,
    operands=2,
)


@composed()
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


# -- losses of classes: the logarithm at the right class, of whole numbers or of probabilities ----


def _classified(
    x: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Call:
    """Class numbers are a parameter; class probabilities are an operand, and differentiated.

    Class weights, smoothed labels and labels to ignore are said as weights of the classes. Whole
    numbers are probabilities where there is one for each entry, which PyTorch refuses.
    Raises ValueError or IndexError where a target is missing, too many, or no class.
    """
    if isinstance(weight, str):
        weight, reduction = None, weight
    refuse_old(size_average, reduce)
    reduction = str(reduction)
    target = target if hasattr(target, "dtype") else np.asarray(target)
    shape = np.shape(x)
    numbers = target.dtype.kind in "iu" and np.shape(target) != shape
    axis = _classes(shape)
    _refuse_shape(np.shape(target), shape[:axis] + shape[axis + 1 :] if numbers else shape)
    by_class = 1.0 if weight is None else _along_classes(plain(weight), shape)
    if not numbers:
        target = _smoothed(target, label_smoothing, shape)
        return (x, target if weight is None else target * by_class), {"reduction": reduction}
    labels = np.asarray(target)
    kept = labels != ignore_index
    _refuse_labels(labels[kept], shape[axis])
    if weight is None and not label_smoothing and np.all(kept):
        return (x,), {"target": labels, "reduction": reduction}
    by_class = by_class * np.expand_dims(kept, axis)
    weights = _weighed(labels, by_class, label_smoothing, shape, reduction)
    return (x, weights), {"reduction": reduction}


def _refuse_shape(given: Shape, wanted: Shape) -> None:
    """Raise ValueError where a target has another shape."""
    if given != wanted:
        raise ValueError(
            f"the target has the shape {given}, but {wanted} was expected: class "
            "numbers (integers) for each sample, or a probability for each entry"
        )


def _refuse_labels(labels: Any, classes: int) -> None:
    """Raise IndexError at the first number that no class has."""
    for label in labels[(labels < 0) | (labels >= classes)]:
        raise IndexError(f"Target {label} is out of bounds.")


def _weighed(labels: Any, by_class: Any, smoothing: float, shape: Shape, reduction: str) -> Any:
    """Whole numbers as weights of the classes: a mean is over those of the right classes."""
    chosen = _chosen(labels, shape) * 1.0
    weights = by_class * _smoothed(chosen, smoothing, shape)
    if reduction != "mean":
        return weights
    return weights * np.divide(np.size(labels), np.sum(by_class * chosen))


def _smoothed(target: Any, smoothing: float, shape: Shape) -> Any:
    """Probabilities of the classes, a share of which is spread evenly over all of them."""
    if not smoothing:
        return target
    return (1 - smoothing) * target + smoothing / shape[_classes(shape)]


def _along_classes(weights: Any, shape: Shape) -> Any:
    """A weight for each class, laid along the axis of the classes."""
    return np.reshape(weights, [-1 if k == _classes(shape) else 1 for k in range(len(shape))])


def _classes(shape: Shape) -> int:
    """The axis of the classes: the second, or the only one."""
    return 0 if len(shape) == 1 else 1


def _chosen(target: Any, shape: Shape) -> Any:
    """Whether a class is the right one, for every class of each sample."""
    numbers = _along_classes(np.arange(shape[_classes(shape)]), shape)
    return np.expand_dims(target, _classes(shape)) == numbers


def _spent(logs: Any, given: tuple[Any, ...], target: Any, reduction: str) -> Any:
    """Minus the logarithm at the right class, or minus their mean weighted by probabilities."""
    shape = np.shape(logs)
    kept = given[0] * logs if given else np.where(_chosen(target, shape), logs, 0.0)
    return reduced(-np.sum(kept, axis=_classes(shape)), reduction)


def _share(g: Any, shape: Shape, reduction: str) -> Any:
    """The cotangent of each sample, laid along its classes."""
    axis = _classes(shape)
    if reduction == "none":
        return np.expand_dims(g, axis)
    return g / float(math.prod(shape) / shape[axis]) if reduction == "mean" else g


def _logs(x: Any, total: Callable[..., Any]) -> Any:
    """The logarithms of softmax over the classes."""
    return x - total(x, _classes(np.shape(x)), keepdims=True)


def _softmax_less_target(x: Any, w: Any) -> Any:
    """softmax(x) - w, where the weights of a sample need not add to 1."""
    axis = _classes(np.shape(x))
    return np.exp(_logs(x, logsumexp)) * np.sum(w, axis=axis, keepdims=True) - w


def _nll_rule(y: Any, x: Any, *given: Any, target: Any = None, reduction: str) -> Any:
    shape = x.shape
    return lambda g: (
        -_share(g, shape, reduction) * (given[0] if given else 1.0 * _chosen(target, shape))
    )


def _cross_rule(y: Any, x: Any, *given: Any, target: Any = None, reduction: str) -> Any:
    def back(g: Any) -> Any:
        weights = given[0] if given else 1.0 * _chosen(target, x.shape)
        return _share(g, x.shape, reduction) * _softmax_less_target(x, weights)

    return back


def _of_classes(name: str, rules: Any, logs: Callable[..., Any], exact: Any) -> Any:
    """The row of a loss that spends the logarithms which `logs` finds."""

    def whole(logs: Callable[..., Any]) -> Any:
        return lambda x, *given, target=None, reduction: _spent(logs(x), given, target, reduction)

    return op(
        whole(logs), rules, name=name, exact=Composed(whole(exact)) if exact else None,
        elementwise=False, arrange=_classified,
    )  # fmt: skip


nll_loss = _of_classes(
    "nll_loss",
    (
        _nll_rule,
        lambda y, x, *given, target=None, reduction: lambda g: -_share(g, x.shape, reduction) * x,
    ),
    lambda x: x,
    None,
)
cross_entropy = _of_classes(
    "cross_entropy",
    (
        _cross_rule,
        lambda y, x, *given, target=None, reduction: (
            lambda g: -_share(g, x.shape, reduction) * _logs(x, logsumexp)
        ),
    ),
    lambda x: _logs(x, shifted_logsumexp),
    lambda x: _logs(x, plain_logsumexp),
)
