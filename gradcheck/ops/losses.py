"""Losses, as PyTorch has them: `reduction=` is "mean" (unless said otherwise), "sum" or "none"."""

import math
from collections.abc import Callable

import numpy as np

from gradcheck.ops.networks import log_softmax, sigmoid
from gradcheck.ops.row import REAL_LINE, Composed, Interval, Pull, formula, op
from gradcheck.ops.shapes import lay_along
from gradcheck.values import Call, Numbers, Routine

REDUCTIONS: dict[str, Callable[[Numbers], Numbers]] = {
    "mean": np.mean, "sum": np.sum, "none": lambda losses: losses,
}  # fmt: skip
# PyTorch's bounds: no logarithm below -100, no p (1 - p) below 1e-12 (in single precision).
LEAST, LEAST_PRODUCT = math.exp(-100), float(np.float32(1e-12))


def reduce_loss(losses: Numbers, reduction: str) -> Numbers:
    if reduction not in REDUCTIONS:
        raise TypeError(f"reduction={reduction!r}: 'mean', 'sum' or 'none' was expected")
    return REDUCTIONS[reduction](losses)


def _refuse_tracked(weights: Numbers) -> Numbers:
    """Weights as an array: no derivative goes through them. Raises TypeError where one would."""
    if getattr(weights, "requires_grad", False):
        raise TypeError("the weights of a loss are plain numbers: write weight.detach()")
    return np.asarray(weights, dtype=float)


# -- losses of entries ---------------------------------------------------------------------------


def _enter(
    name: str, loss: Routine, slopes: tuple[Routine, Routine], defined: Routine | None = None,
    **cells: Numbers,
) -> Numbers:  # fmt: skip
    """Enter a loss of two arrays' entries, its slopes by both, and how exact numbers say it."""

    def rule(slope: Routine) -> Numbers:
        def vjp(
            y: Numbers, a: Numbers, b: Numbers, reduction: str = "mean", **how: Numbers
        ) -> Pull:
            size = math.prod(np.broadcast_shapes(np.shape(a), np.shape(b)))
            share = float(size) if reduction == "mean" else 1.0
            return lambda g: g / share * slope(a, b, **how)

        return vjp

    def whole(formula: Routine) -> Numbers:
        return lambda a, b, reduction="mean", **how: reduce_loss(formula(a, b, **how), reduction)

    return op(
        whole(loss), (rule(slopes[0]), rule(slopes[1])), name=name, elementwise=False,
        exact=Composed(whole(defined or loss)), params=("reduction",), **cells,
    )  # fmt: skip


_enter("mse_loss", lambda a, b: (a - b) ** 2, (lambda a, b: 2 * (a - b), lambda a, b: 2 * (b - a)))


@formula()
def l1_loss(a: Numbers, b: Numbers, reduction: str = "mean") -> Numbers:
    return reduce_loss(np.absolute(a - b), reduction)


@formula()
def huber_loss(a: Numbers, b: Numbers, reduction: str = "mean", delta: float = 1.0) -> Numbers:
    """Half the square of the difference up to delta, and a straight line beyond."""
    cut = np.clip(a - b, -delta, delta)
    return reduce_loss(cut * (a - b) - cut * cut / 2, reduction)


@formula()
def smooth_l1_loss(a: Numbers, b: Numbers, reduction: str = "mean", beta: float = 1.0) -> Numbers:
    """Huber's loss over beta, which is the absolute difference where beta is 0."""
    return huber_loss(a, b, reduction, beta) / beta if beta else l1_loss(a, b, reduction)


def _arrange_alike(
    a: Numbers, b: Numbers, weight: Numbers = None, *,
    reduction: str = "mean", pos_weight: Numbers = None,
) -> Call:  # fmt: skip
    """Input and target of one shape (or a number): PyTorch refuses here what it would broadcast.

    A weight for each entry multiplies its loss, `pos_weight` its part of the target.
    """
    if np.ndim(a) and np.ndim(b) and np.shape(a) != np.shape(b):
        raise ValueError(
            f"Target size (torch.Size({list(np.shape(b))})) must be the same as input size "
            f"(torch.Size({list(np.shape(a))}))"
        )
    weights = {"weight": weight, "pos_weight": pos_weight}
    given = {k: _refuse_tracked(v) for k, v in weights.items() if v is not None}
    return (a, b), {"reduction": reduction, **given}


_enter(
    "binary_cross_entropy",
    lambda p, t, weight=1.0: -weight * (
        t * np.log(np.maximum(p, LEAST)) + (1 - t) * np.log(np.maximum(1 - p, LEAST))
    ),
    (
        lambda p, t, weight=1.0: weight * (p - t) / np.maximum(p * (1 - p), LEAST_PRODUCT),
        lambda p, t, weight=1.0: weight * (np.log(1 - p) - np.log(p)),
    ),
    lambda p, t, weight=1: weight * (t * np.log(1 / p - 1) - np.log(1 - p)),
    domain=(Interval(0, 1), REAL_LINE), school=("bce_loss",), arrange=_arrange_alike, operands=2,
)  # fmt: skip
_enter(  # with p weighting the target: p t log(1 + exp(-z)) + (1 - t) log(1 + exp(z))
    "binary_cross_entropy_with_logits",
    lambda z, t, weight=1.0, pos_weight=1.0: weight * (
        pos_weight * t * np.logaddexp(0.0, -z) + (1 - t) * np.logaddexp(0.0, z)
    ),
    (
        lambda z, t, weight=1.0, pos_weight=1.0: weight * (
            (1 - t) * sigmoid(z) - pos_weight * t * sigmoid(-z)
        ),
        lambda z, t, weight=1.0, pos_weight=1.0: weight * (
            pos_weight * np.logaddexp(0.0, -z) - np.logaddexp(0.0, z)
        ),
    ),
    arrange=_arrange_alike, operands=2,
)  # fmt: skip


# -- losses of classes: minus the logarithms, weighted by the probabilities of the classes ---------


def _arrange_classes(
    x: Numbers, target: Numbers, weight: Numbers = None, *,
    ignore_index: int = -100, reduction: str = "mean", label_smoothing: float = 0.0,
) -> Call:  # fmt: skip
    """Numbers of classes, class weights, smoothed labels and labels to ignore as weights.

    Whole numbers are probabilities where there is one for each entry, which PyTorch refuses.
    Raises ValueError or IndexError where a target is missing, too many, or no class.
    """
    target = target if hasattr(target, "dtype") else np.asarray(target)
    shape, given, axis = np.shape(x), np.shape(target), _find_classes(x)
    labelled = target.dtype.kind in "iu" and given != shape
    due = shape[:axis] + shape[axis + 1 :] if labelled else shape
    if given != due:
        raise ValueError(
            f"the target has the shape {given}, but {due} was expected: class numbers (integers) "
            "for each sample, or a probability for each entry"
        )
    by_class = 1.0 if weight is None else lay_along(_refuse_tracked(weight), len(shape), axis)
    if labelled:
        labels = np.asarray(target)
        for label in labels[(labels != ignore_index) & ((labels < 0) | (labels >= shape[axis]))]:
            raise IndexError(f"Target {label} is out of bounds.")
        by_class = by_class * np.expand_dims(labels != ignore_index, axis)
        target = np.expand_dims(labels, axis) == lay_along(np.arange(shape[axis]), len(shape), axis)
        if reduction == "mean":  # over the weights of the right classes
            by_class = by_class * np.divide(np.size(labels), np.sum(by_class * target))
        target = target * 1.0
    if label_smoothing:
        target = (1 - label_smoothing) * target + label_smoothing / shape[axis]
    if weight is not None or labelled:
        target = target * by_class
    single = getattr(x, "dtype", None) == np.float32
    how = {"reduction": reduction, "labels": len(given) if labelled else None}
    return (x, target.astype(np.float32) if single else target), how


def _find_classes(x: Numbers) -> int:
    return 0 if np.ndim(x) == 1 else 1


def _by_class(times: Routine) -> Routine:
    """The loss of logarithms and weights, whose products are these."""
    return lambda x, w, *, reduction, labels: reduce_loss(
        -np.sum(times(x, w), axis=_find_classes(x)), reduction
    )


def _share_out(g: Numbers, shape: tuple[int, ...], reduction: str) -> Numbers:
    axis = 0 if len(shape) == 1 else 1
    if reduction == "none":
        return np.expand_dims(g, axis)
    samples = float(math.prod(shape[:axis] + shape[axis + 1 :]))
    return g / samples if reduction == "mean" else g


nll_loss = op(
    _by_class(lambda logs, w: w * np.where(np.equal(w, 0), 0.0, logs)),  # 0 times a log of 0 is 0
    (
        lambda y, x, w, reduction, labels: (
            lambda g, shape=x.shape: -_share_out(g, shape, reduction) * w
        ),
        lambda y, x, w, reduction, labels: lambda g: -_share_out(g, x.shape, reduction) * x,
    ),
    name="nll_loss", exact=Composed(_by_class(lambda x, w: w * x)), elementwise=False, operands=2,
    arrange=_arrange_classes,
)  # fmt: skip


@formula()
def cross_entropy(x: Numbers, target: Numbers, *how: Numbers, **named: Numbers) -> Numbers:
    """`nll_loss`, with its arguments, of the logarithms of softmax."""
    return nll_loss(log_softmax(x, axis=_find_classes(x)), target, *how, **named)
