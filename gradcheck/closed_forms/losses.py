"""Losses and normalisations as what they are made of, in index notation."""

from typing import Any

from gradcheck.closed_forms.definitions import (
    RULES,
    apply,
    averaged,
    multiply,
    reciprocal,
    reduced,
    rule,
    spread,
    summed,
    times,
    variance,
)
from gradcheck.closed_forms.index import Called, Product, Sum, added, single
from gradcheck.closed_forms.slopes import NoText
from gradcheck.closed_forms.steps import Made, Operand, as_operand

LONGEST = 64  # classes that are written out


@rule("l1_loss")
def _l1(a: Operand, b: Operand, reduction: str = "mean") -> Made:
    gap = _less(a, b)
    sizes = apply("abs(u0)", (gap.expression,), ("sign(u0)",), gap.expression.axes)
    return reduced(Operand(sizes, gap.shape, gap.sizes), reduction)


@rule("binary_cross_entropy")
def _binary(a: Operand, b: Operand, reduction: str = "mean") -> Made:
    logs = [_function("log(u0)", o, "1/u0") for o in (a, _one_less(a))]
    yes, no = (as_operand(multiply(o, g)) for o, g in zip((b, _one_less(b)), logs, strict=True))
    return reduced(_negative(_plus(yes, no)), reduction)


@rule("binary_cross_entropy_with_logits")
def _with_logits(a: Operand, b: Operand, reduction: str = "mean") -> Made:
    soft = _function("softplus(u0)", a, "sigmoid(u0)")
    return reduced(_plus(soft, _negative(as_operand(multiply(a, b)))), reduction)


@rule("cross_entropy")
def _cross_entropy(
    x: Operand, *given: Operand, target: Any = None, reduction: str = "mean"
) -> Made:
    k = min(1, len(x.shape) - 1)
    if given:
        logs = as_operand(RULES["log_softmax"](x, axis=k))
        return _averaged(_negative(as_operand(multiply(logs, given[0]))), reduction)
    total = as_operand(RULES["logsumexp"](x, axis=k))
    due = as_operand(summed(as_operand(multiply(x, _due(x, target))), k, False))
    return _averaged(_less(total, due), reduction, x)


@rule("nll_loss")
def _nll(x: Operand, *given: Operand, target: Any = None, reduction: str = "mean") -> Made:
    weights = given[0] if given else _due(x, target)
    return _averaged(_negative(as_operand(multiply(x, weights))), reduction)


def _due(x: Operand, target: Any) -> Operand:
    """Ones at the classes that are due: `eye(k)[[0, 2, 1]]`."""
    labels = getattr(target, "tolist", lambda: target)()
    if isinstance(labels, list) and len(labels) > LONGEST:
        raise NoText("too many labels to be written out")
    text = f"eye({x.sizes[-1]})[{labels}]"
    return Operand(single(Called(text, (), x.axes)), x.shape, x.sizes)


def _averaged(losses: Operand, reduction: str, samples: Operand | None = None) -> Made:
    """Losses added up; a mean is over the samples, the first of two axes."""
    samples = samples or losses
    if len(samples.shape) > 2 or reduction == "none" or None in samples.axes:
        raise NoText("a loss of several classes that is not added up")
    whole = summed(losses, None, False)
    if reduction == "sum" or len(samples.shape) == 1:
        return whole
    count = Sum((Product(sizes=((samples.sizes[0], 1),)),), ())
    return multiply(as_operand(whole), Operand(reciprocal(count), (), ()))


@rule("std")
def _std(x: Operand, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Made:
    squares = variance(x, axis, ddof, keepdims)
    made = _function("sqrt(u0)", as_operand(squares), "1/(2*y)")
    return Made(made.expression, made.shape, made.sizes)


@rule("layer_norm")
def _layer_norm(x: Operand, weight: Operand, bias: Operand, axis: Any, eps: Any) -> Made:
    centred = _less(x, as_operand(averaged(x, axis, keepdims=True)))
    squares = Operand(
        apply("u0**2", (centred.expression,), ("2*u0",), centred.axes),
        centred.shape,
        centred.sizes,
    )
    spreading = as_operand(averaged(squares, axis, keepdims=True))
    shifted = apply(f"sqrt(u0 + {eps})", (spreading.expression,), ("1/(2*y)",), spreading.axes)
    below = Operand(reciprocal(shifted), spreading.shape, spreading.sizes)
    scaled = as_operand(multiply(as_operand(multiply(centred, below)), weight))
    made = _plus(scaled, bias)
    return Made(made.expression, made.shape, made.sizes)


# -- small words ---------------------------------------------------------------------------------


def _plus(a: Operand, b: Operand) -> Operand:
    (x, y), axes, shape, sizes = spread((a, b))
    return Operand(added((x, y), axes), shape, sizes)


def _negative(a: Operand) -> Operand:
    return Operand(times(-1, a.expression), a.shape, a.sizes)


def _less(a: Operand, b: Operand) -> Operand:
    return _plus(a, _negative(b))


def _one_less(a: Operand) -> Operand:
    """One minus it."""
    whole = added((Sum((Product(),), a.axes), times(-1, a.expression)), a.axes)
    return Operand(whole, a.shape, a.sizes)


def _function(text: str, a: Operand, slope: str) -> Operand:
    return Operand(apply(text, (a.expression,), (slope,), a.axes), a.shape, a.sizes)
