"""Losses of classes: the logarithm at the right class, of whole numbers or of probabilities."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gradcheck.ops.losses import plain, reduced, refuse_old
from gradcheck.ops.reductions import logsumexp, plain_logsumexp, shifted_logsumexp
from gradcheck.ops.row import Composed, Example, op


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


def _refuse_shape(given: tuple[int, ...], wanted: tuple[int, ...]) -> None:
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


def _weighed(
    labels: Any, by_class: Any, smoothing: float, shape: tuple[int, ...], reduction: str
) -> Any:
    """Whole numbers as weights of the classes: a mean is over those of the right classes."""
    chosen = _chosen(labels, shape) * 1.0
    weights = by_class * _smoothed(chosen, smoothing, shape)
    if reduction != "mean":
        return weights
    return weights * np.divide(np.size(labels), np.sum(by_class * chosen))


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
