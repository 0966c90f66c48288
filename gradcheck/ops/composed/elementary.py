"""Functions of one entry (or of entries side by side) that are formulas of the rows."""

import math
from typing import Any

import numpy as np

from gradcheck.ops.activations import elu, relu6, sigmoid, softmax
from gradcheck.ops.composed.picking import along, is_nan, seen, times
from gradcheck.ops.exponential import xlogy
from gradcheck.ops.formula import composed
from gradcheck.ops.row import Example
from gradcheck.ops.special import erfc, loggamma

ONE = {"a": (3,), "b": (3,)}
TWO = {"a": (3,), "b": (3,), "c": (3,)}


@composed(watches=("result",), example=Example("rsqrt(a * a) * b", ONE))
def rsqrt(x: Any) -> Any:
    """One over the root."""
    return 1 / np.sqrt(x)


@composed(example=Example("frac(3 * a) * b", ONE))
def frac(x: Any) -> Any:
    """What is behind the point; of the sign of x."""
    return x - np.trunc(x)


@composed(watches=("x",), example=Example("logit(sigmoid(a)) * b", ONE))
def logit(x: Any, eps: float | None = None) -> Any:
    """log(x / (1 - x)), of x within eps and 1 - eps."""
    if eps is not None:
        x = np.where(x < eps, eps, np.where(x > 1 - eps, 1 - eps, x))
    return np.log(x / (1 - x))


@composed(example=Example("lerp(a, b, 0.3) * c", TWO))
def lerp(x: Any, end: Any, weight: Any) -> Any:
    """The point that far from x to the end: x + weight (end - x)."""
    return x + weight * (end - x)


@composed(example=Example("clamp_min(a, 0.1) * b", ONE))
def clamp_min(x: Any, min: Any) -> Any:
    """`clamp(x, min=)`."""
    return np.clip(x, min, None)


@composed(example=Example("clamp_max(a, 0.1) * b", ONE))
def clamp_max(x: Any, max: Any) -> Any:
    """`clamp(x, max=)`."""
    return np.clip(x, None, max)


@composed(example=Example("addcmul(a, b, c, value=2)", TWO))
def addcmul(x: Any, tensor1: Any, tensor2: Any, *, value: float = 1) -> Any:
    """X + value a b."""
    return x + times(value, tensor1 * tensor2)


@composed(example=Example("addcdiv(a, b, c, value=2)", TWO))
def addcdiv(x: Any, tensor1: Any, tensor2: Any, *, value: float = 1) -> Any:
    """X + value a / b."""
    return x + times(value, tensor1 / tensor2)


@composed(example=Example("rsub(a, b) * c", TWO))
def rsub(x: Any, other: Any, *, alpha: float = 1) -> Any:
    """Other - alpha x."""
    return other - times(alpha, x)


@composed(watches=("x", "y"), example=Example("xlog1py(a, b * b) * c", TWO))
def xlog1py(x: Any, y: Any) -> Any:
    """X log(1 + y), and 0 where x is 0."""
    flat = np.equal(seen(x), 0) & ~is_nan(np.asarray(seen(y)))
    return np.where(flat, 0.0, x * np.log1p(np.where(flat, 0.0, y)))


@composed(example=Example("entr(a * a) * b", ONE))
def entr(x: Any) -> Any:
    """-x log x; 0 at 0, and minus infinity below."""
    return np.where(np.less(seen(x), 0), -np.inf, -xlogy(x, x))


@composed(example=Example("ndtr(a) * b", ONE))
def ndtr(x: Any) -> Any:
    """The normal distribution function."""
    return 0.5 * erfc(x * -math.sqrt(0.5))


@composed(example=Example("tanhshrink(a) * b", ONE))
def tanhshrink(x: Any) -> Any:
    """X - tanh(x)."""
    return x - np.tanh(x)


@composed(watches=("x",), example=Example("softshrink(a) * b", ONE))
def softshrink(x: Any, lambd: float = 0.5) -> Any:
    """X moved towards 0 by lambda, and 0 within."""
    return np.where(x > lambd, x - lambd, np.where(x < -lambd, x + lambd, 0.0 * x))


@composed(watches=("x",), example=Example("hardshrink(a) * b", ONE))
def hardshrink(x: Any, lambd: float = 0.5) -> Any:
    """x, and 0 within lambda of 0."""
    return np.where((x > lambd) | (x < -lambd), x, 0.0 * x)


@composed(watches=("x",), example=Example("threshold(a, 0.1, 2.0) * b", ONE))
def threshold(x: Any, threshold: float, value: float, inplace: bool = False) -> Any:
    """X above the threshold, else the value."""
    return np.where(x > threshold, x, value)


@composed(example=Example("hardswish(a) * b", ONE))
def hardswish(x: Any, inplace: bool = False) -> Any:
    """X relu6(x + 3) / 6."""
    return x * relu6(x + 3) / 6


@composed(watches=("x",), example=Example("hardsigmoid(a) * b", ONE))
def hardsigmoid(x: Any, inplace: bool = False) -> Any:
    """relu6(x + 3) / 6."""
    return relu6(x + 3) / 6


@composed(watches=("x",), example=Example("celu(a, 2.0) * b", ONE))
def celu(x: Any, alpha: float = 1.0, inplace: bool = False) -> Any:
    """max(0, x) + min(0, alpha (exp(x / alpha) - 1))."""
    return alpha * elu(x / alpha)


@composed(
    watches=("x", "weight"),
    size="channelled",
    example=Example("prelu(a, b) * c", {"a": (2, 3), "b": (3,), "c": (2, 3)}),
)
def prelu(x: Any, weight: Any) -> Any:
    """X above 0, weight x below; one weight, or one for each channel (the second axis)."""
    shape = [-1 if k == 1 else 1 for k in range(np.ndim(x))] if np.size(weight) > 1 else ()
    return np.where(x > 0, x, np.reshape(weight, shape) * x)


@composed(example=Example("rrelu(a) * b", ONE))
def rrelu(
    x: Any,
    lower: float = 1 / 8,
    upper: float = 1 / 3,
    training: bool = False,
    inplace: bool = False,
) -> Any:
    """X above 0, and below it times the middle of the slopes; raises where slopes are drawn."""
    if training:
        raise TypeError("rrelu draws slopes in training: write `prelu(x, slopes)` with your own")
    return np.where(x > 0, x, (lower + upper) / 2 * x)


@composed(watches=("x",), example=Example("glu(a) * b", {"a": (4,), "b": (2,)}))
def glu(x: Any, axis: int = -1) -> Any:
    """The first half of an axis times the sigmoid of the second."""
    n = np.shape(x)[axis]
    if n % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {axis} is size {n}")
    halves = (slice(n // 2), slice(n // 2, n))
    a, b = (x[along(x, axis, half)] for half in halves)
    return a * sigmoid(b)


@composed(example=Example("softmin(a) * b", ONE))
def softmin(x: Any, axis: int = -1, dtype: Any = None) -> Any:
    """softmax(-x)."""
    return softmax(-x, axis=axis)


@composed(watches=("x", "result"), size="stepwise", example=Example("logcumsumexp(a, 0) * b", ONE))
def logcumsumexp(x: Any, axis: int) -> Any:
    """The logarithm of the running sum of exponentials, about the largest so far."""
    if np.ndim(x) == 0 or not np.size(x):
        return 1 * x
    first, *rest = np.moveaxis(x, axis, 0)
    sums = [first]
    for entry in rest:
        sums.append(np.logaddexp(sums[-1], entry))
    return np.stack(sums, axis=axis)


@composed(watches=("x",), size="ordered", example=Example("mvlgamma(a * a + 3, 2) * b", ONE))
def mvlgamma(x: Any, p: int) -> Any:
    """The logarithm of the multivariate gamma function of order p."""
    shift = p * (p - 1) / 4 * math.log(math.pi)
    return shift + sum(loggamma(x - j / 2) for j in range(p))


@composed(watches=("x", "result"), example=Example("log_ndtr(a) * b", ONE))
def log_ndtr(x: Any) -> Any:
    """The logarithm of the normal distribution function (of x above -20)."""
    return np.log(0.5 * erfc(x * -math.sqrt(0.5)))


@composed(
    watches=("x", "other", "result"),
    example=Example("dist(a, b) * c", {"a": (3,), "b": (3,), "c": ()}),
)
def dist(x: Any, other: Any, p: float = 2) -> Any:
    """The p-norm of the difference of all entries."""
    return np.linalg.norm(np.ravel(x - other), p)


@composed(example=Example("aminmax(a)[0] * a", {"a": (3,)}))
def aminmax(x: Any, *, axis: int | None = None, keepdims: bool = False) -> tuple[Any, Any]:
    """The smallest and the largest."""
    return np.min(x, axis=axis, keepdims=keepdims), np.max(x, axis=axis, keepdims=keepdims)
