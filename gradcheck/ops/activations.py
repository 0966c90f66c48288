"""Activations and their normalised kin, as neural networks use them."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb

from gradcheck.ops import domains
from gradcheck.ops.later import sympy
from gradcheck.ops.reductions import plain_logsumexp, shifted_logsumexp
from gradcheck.ops.row import Composed, Example, op, passed
from gradcheck.ops.special import erfc

SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946
CUBIC = 0.044715


def _stable_sigmoid(x: Any) -> Any:
    """Every digit in both tails: 1 + tanh would lose them on the left."""
    e = np.exp(-np.absolute(x))
    return np.where(np.greater_equal(x, 0), 1.0, e) / (1 + e)


def _below_zero(x: Any) -> Any:
    """The negative part; flat at 0 itself, where PyTorch's second derivatives of elu are 0."""
    return np.where(np.less(x, 0), x, 0.0)


relu = op(
    lambda x: np.maximum(x, 0.0),
    name="relu",
    vjps=(lambda g, y, x: g * np.sign(y),),  # 0 at x = 0; like PyTorch's, it reads the value
    exact=Composed(lambda x: x if x > 0 else 0 * x),
    kinks=(0.0,),
    grad_fn="ReluBackward0",
    rounds=False,
)

relu6 = op(
    lambda x: np.minimum(np.maximum(x, 0.0), 6.0),
    name="relu6",
    vjps=(lambda g, y, x: g * (np.greater(x, 0) & np.less(x, 6)),),  # 0 at both bends
    exact=Composed(lambda x: 6 if x >= 6 else x if x > 0 else 0 * x),
    kinks=(0.0, 6.0),
    grad_fn="HardtanhBackward0",
    rounds=False,
)


def _within(x: Any, min_val: float = -1.0, max_val: float = 1.0) -> Any:
    return max_val if x >= max_val else x if x > min_val else min_val


hardtanh = op(
    lambda x, min_val=-1.0, max_val=1.0: np.minimum(np.maximum(x, min_val), max_val),
    name="hardtanh",
    vjps=(
        lambda g, y, x, min_val=-1.0, max_val=1.0: (
            g * (np.greater(x, min_val) & np.less(x, max_val))  # 0 at both bends
        ),
    ),
    exact=Composed(_within),
    kinks=(-1.0, 1.0),
    grad_fn="HardtanhBackward0",
    rounds=False,
    params=("min_val", "max_val"),
)

leaky_relu = op(
    lambda x, negative_slope=0.01: np.where(np.greater(x, 0), x, negative_slope * x),
    name="leaky_relu",
    vjps=(
        lambda g, y, x, negative_slope=0.01: g * np.where(np.greater(x, 0), 1.0, negative_slope),
    ),
    exact=Composed(lambda x, negative_slope=0.01: x if x > 0 else negative_slope * x),
    kinks=(0.0,),
    grad_fn="LeakyReluBackward0",
    params=("negative_slope",),
)

elu = op(
    lambda x, alpha=1.0: np.where(np.greater(x, 0), x, alpha * np.expm1(np.minimum(x, 0.0))),
    name="elu",
    vjps=(
        lambda g, y, x, alpha=1.0: (
            g * np.where(np.greater(x, 0), 1.0, alpha * np.exp(_below_zero(x)))
        ),
    ),
    symbolic=Composed(lambda x, alpha=1.0: x if x > 0 else alpha * (np.exp(x) - 1)),
    ball=Composed(lambda x, alpha=1.0: x if x > 0 else alpha * np.expm1(x)),
    kinks=(0.0,),
    grad_fn="EluBackward0",
    params=("alpha",),
)

selu = op(
    lambda x: SELU_SCALE * np.where(np.greater(x, 0), x, SELU_ALPHA * np.expm1(np.minimum(x, 0.0))),
    name="selu",
    vjps=(
        lambda g, y, x: (
            g
            * np.where(
                np.greater(x, 0), SELU_SCALE, SELU_SCALE * SELU_ALPHA * np.exp(_below_zero(x))
            )
        ),
    ),
    symbolic=Composed(
        lambda x: SELU_SCALE * x if x > 0 else SELU_SCALE * (SELU_ALPHA * (np.exp(x) - 1))
    ),
    ball=Composed(lambda x: SELU_SCALE * x if x > 0 else SELU_SCALE * (SELU_ALPHA * np.expm1(x))),
    kinks=(0.0,),
    grad_fn="EluBackward0",
)

sigmoid = op(
    _stable_sigmoid,
    name="sigmoid",
    vjps=(lambda g, y, x: g * y * (1 - y),),
    symbolic=lambda x: 1 / (1 + sympy.exp(-x)),
    ball=lambda x: 1 / (1 + (-x).exp()),
    unseen=domains.saturated,
    grad_fn="SigmoidBackward0",
    school=("expit",),
)

logsigmoid = op(
    lambda x: -np.logaddexp(0.0, -x),
    name="logsigmoid",
    vjps=(lambda g, y, x: g * sigmoid(-x),),
    symbolic=lambda x: -sympy.log(1 + sympy.exp(-x)),
    ball=lambda x: -(-x).exp().log1p(),
    grad_fn="LogSigmoidBackward0",
)


softplus = op(
    lambda x, beta=1: np.logaddexp(beta * x, 0.0) / beta,
    name="softplus",
    vjps=(lambda g, y, x, beta=1: g * sigmoid(beta * x),),
    symbolic=lambda x, beta=1: sympy.log(1 + sympy.exp(beta * x)) / beta,
    ball=lambda x, beta=1: (1 + (beta * x).exp()).log() / beta,
    unseen=lambda x, beta=1: domains.saturated(x),
    grad_fn="SoftplusBackward0",
    params=("beta",),
)

silu = op(
    lambda x: x * _stable_sigmoid(x),
    name="silu",
    vjps=(lambda g, y, x: g * sigmoid(x) * (1 + x * sigmoid(-x)),),
    symbolic=lambda x: x / (1 + sympy.exp(-x)),
    ball=lambda x: x * x.exp() / (1 + x.exp()),
    grad_fn="SiluBackward0",
    school=("swish",),
)

mish = op(
    lambda x: x * np.tanh(np.logaddexp(x, 0.0)),
    name="mish",
    vjps=(
        lambda g, y, x: (
            g * (np.tanh(softplus(x)) + x * sigmoid(x) * (1 - np.tanh(softplus(x)) ** 2))
        ),
    ),
    symbolic=lambda x: x * sympy.tanh(sympy.log(1 + sympy.exp(x))),
    ball=lambda x: x - 2 * x / (1 + (1 + x.exp()) ** 2),
    grad_fn="MishBackward0",
)

softsign = op(
    lambda x: x / (1 + np.absolute(x)),
    name="softsign",
    vjps=(lambda g, y, x: g / (1 + np.absolute(x)) ** 2,),
    symbolic=Composed(lambda x: x / (1 + x) if x > 0 else x / (1 - x)),
    ball=Composed(lambda x: x / (1 + abs(x))),
    grad_fn="DivBackward0",
)


def _bent(x: Any) -> Any:
    """The argument of tanh in the approximation of gelu."""
    return math.sqrt(2 / math.pi) * (x + CUBIC * x**3)


def _gelu(x: Any, approximate: str = "none") -> Any:
    """The input times the normal distribution function, or times its approximation by tanh."""
    if approximate == "tanh":
        return x * _stable_sigmoid(2 * _bent(x))
    return 0.5 * x * erfc(x * -math.sqrt(0.5))


def _gelu_slope(x: Any, approximate: str) -> Any:
    if approximate == "tanh":
        bend = math.sqrt(2 / math.pi) * (1 + 3 * CUBIC * x**2)
        right, left = sigmoid(2 * _bent(x)), sigmoid(-2 * _bent(x))
        return right + 2 * x * right * left * bend
    return 0.5 * erfc(x * -math.sqrt(0.5)) + x * np.exp(-0.5 * x**2) / math.sqrt(2 * math.pi)


def _gelu_closed(x: Any, approximate: str = "none") -> Any:
    if approximate == "tanh":
        bent = sympy.sqrt(2 / sympy.pi) * (x + sympy.Rational(CUBIC) * x**3)
        return x * (1 + sympy.tanh(bent)) / 2
    return x * (1 + sympy.erf(x / sympy.sqrt(2))) / 2


def _gelu_ball(x: arb, approximate: str = "none") -> arb:
    if approximate == "tanh":
        return x / (1 + (-2 * (2 / arb.pi()).sqrt() * (x + arb(CUBIC) * x**3)).exp())
    return x * (-x / arb(2).sqrt()).erfc() / 2


gelu = op(
    _gelu,
    name="gelu",
    vjps=(lambda g, y, x, approximate="none": g * _gelu_slope(x, approximate),),
    symbolic=_gelu_closed,
    ball=_gelu_ball,
    grad_fn="GeluBackward0",
    params=("approximate",),
)


def _shifted(x: Any, axis: int) -> Any:
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


def _softmax_defined(x: Any, axis: int = -1) -> Any:
    return np.exp(x) / np.sum(np.exp(x), axis=axis, keepdims=True)


def _log_softmax_defined(x: Any, axis: int = -1) -> Any:
    return x - plain_logsumexp(x, axis, keepdims=True)


softmax = op(
    lambda x, axis=-1: _shifted(x, axis),
    name="softmax",
    vjps=(lambda g, y, x, axis=-1: y * (g - np.sum(g * y, axis=axis, keepdims=True)),),
    exact=Composed(_softmax_defined),
    grad_fn="SoftmaxBackward0",
    elementwise=False,
    params=("axis",),
    example=Example("softmax(a, axis=-1) * b", {"a": (2, 3), "b": (2, 3)}),
)

log_softmax = op(
    lambda x, axis=-1: x - shifted_logsumexp(x, axis, keepdims=True),
    name="log_softmax",
    vjps=(lambda g, y, x, axis=-1: g - np.exp(y) * np.sum(g, axis=axis, keepdims=True),),
    exact=Composed(_log_softmax_defined),
    grad_fn="LogSoftmaxBackward0",
    elementwise=False,
    params=("axis",),
    example=Example("log_softmax(a, axis=-1) * b", {"a": (2, 3), "b": (2, 3)}),
)


def _layer(
    x: Any, normalized_shape: Any = None, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """PyTorch's order; over the last axis unless a shape is given."""
    size = normalized_shape
    axes = 1 if size is None or isinstance(size, int) else len(size)
    operands = (x, 1.0 if weight is None else weight, 0.0 if bias is None else bias)
    return operands, {"axis": tuple(range(-axes, 0)), "eps": eps}


def _standard(x: Any, axis: tuple[int, ...], eps: float) -> tuple[Any, Any]:
    """The entries less their mean over the root of their variance, and that root."""
    centred = x - np.mean(x, axis=axis, keepdims=True)
    root = np.sqrt(np.mean(centred * centred, axis=axis, keepdims=True) + eps)
    return centred / root, root


def _layer_norm_rule(g: Any, x: Any, weight: Any, axis: tuple[int, ...], eps: float) -> Any:
    """What is left of g after its mean and its part along the output are taken away."""
    z, root = _standard(x, axis, eps)
    g = g * weight
    along = np.mean(g * z, axis=axis, keepdims=True)
    return (g - np.mean(g, axis=axis, keepdims=True) - z * along) / root


def _layer_norm_defined(x: Any, weight: Any, bias: Any, axis: tuple[int, ...], eps: float) -> Any:
    mean = np.mean(x, axis=axis, keepdims=True)
    variance = np.mean(x * x, axis=axis, keepdims=True) - mean * mean
    return (x - mean) / np.sqrt(variance + Fraction(str(eps))) * weight + bias


layer_norm = op(
    lambda x, weight, bias, axis, eps: _standard(x, axis, eps)[0] * weight + bias,
    name="layer_norm",
    vjps=(
        lambda g, y, x, weight, bias, axis, eps: _layer_norm_rule(g, x, weight, axis, eps),
        lambda g, y, x, weight, bias, axis, eps: g * _standard(x, axis, eps)[0],
        passed,
    ),
    exact=Composed(_layer_norm_defined),
    grad_fn="NativeLayerNormBackward0",
    watches=(0, 1, 2),
    elementwise=False,
    operands=3,
    arrange=_layer,
    example=Example(
        "layer_norm(a, (3,), b, c) * d", {n: (2, 3) if n in "ad" else (3,) for n in "abcd"}
    ),
)
