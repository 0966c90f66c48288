"""Activations and their normalised kin, as neural networks use them."""

import math
from functools import partial

import numpy as np
from flint import arb

from gradcheck.ops import domains
from gradcheck.ops.arithmetic import keep, logistic
from gradcheck.ops.elementary import erfc
from gradcheck.ops.reductions import plain_logsumexp, shifted_logsumexp
from gradcheck.ops.row import Composed, op, unary
from gradcheck.values import Numbers

SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946
CUBIC = 0.044715
ROOT = math.sqrt(2 / math.pi)

# -- pieces --------------------------------------------------------------------------------------


def _where_positive(g: Numbers, y: Numbers) -> Numbers:
    """The cotangent where the value is above 0: PyTorch reads the value, too.

    What is recorded hangs on the value, though its derivative is 0.
    """
    if isinstance(g, np.ndarray | np.generic):
        return keep(g, ~np.less_equal(y, 0))
    return np.where(np.less_equal(y, 0), 0.0 * y, g)


def _elu(x: Numbers, alpha: float = 1.0) -> Numbers:
    return np.where(np.greater(x, 0), x, alpha * np.expm1(np.minimum(x, 0.0)))


def _elu_slope(x: Numbers, alpha: float = 1.0) -> Numbers:
    """Of the negative part; at 0 itself, where PyTorch's second derivatives are 0, it is flat."""
    below = np.where(np.less(x, 0), x, 0.0)
    return np.where(np.greater(x, 0), 1.0, alpha * np.exp(below))


_bent = partial(unary, kinks=(0.0,))
op(
    "relu", (lambda y, x: lambda g: _where_positive(g, y),), forward=lambda x: np.maximum(x, 0.0),
    exact=Composed(lambda x: x if x > 0 else 0 * x), kinks=(0.0,), rounds=False,
)  # fmt: skip
_bent(
    "leaky_relu", lambda x, negative_slope=0.01: np.where(np.greater(x, 0), 1.0, negative_slope),
    forward=lambda x, negative_slope=0.01: np.where(np.greater(x, 0), x, negative_slope * x),
    exact=Composed(lambda x, negative_slope=0.01: x if x > 0 else negative_slope * x),
    params=("negative_slope",),
)  # fmt: skip
_bent(
    "elu", lambda x, alpha=1.0: _elu_slope(x, alpha), forward=_elu, params=("alpha",),
    exact=Composed(lambda x, alpha=1.0: x if x > 0 else alpha * np.expm1(x)),
)  # fmt: skip
_bent(
    "selu", lambda x: SELU_SCALE * _elu_slope(x, SELU_ALPHA),
    forward=lambda x: SELU_SCALE * _elu(x, SELU_ALPHA),
    exact=Composed(lambda x: SELU_SCALE * x if x > 0 else SELU_SCALE * (SELU_ALPHA * np.expm1(x))),
)  # fmt: skip

# -- smooth ones ---------------------------------------------------------------------------------

sigmoid = unary(
    "sigmoid", lambda y: y * (1 - y), lambda m, x: 1 / (1 + m.exp(-x)),
    forward=logistic, unseen=domains.is_saturated, school=("expit",),
)  # fmt: skip
unary(
    "logsigmoid", lambda x: sigmoid(-x), lambda m, x: -m.log(1 + m.exp(-x)),
    ball=lambda x: -(-x).exp().log1p(), forward=lambda x: -np.logaddexp(0.0, -x),
)  # fmt: skip
unary(
    "softplus", lambda x, beta=1: sigmoid(beta * x),
    lambda m, x, beta=1: m.log(1 + m.exp(beta * x)) / beta,
    forward=lambda x, beta=1: np.logaddexp(beta * x, 0.0) / beta,
    unseen=lambda x, beta=1: domains.is_saturated(x), params=("beta",),
)  # fmt: skip
unary(
    "silu", lambda x: sigmoid(x) * (1 + x * sigmoid(-x)), lambda m, x: x / (1 + m.exp(-x)),
    forward=lambda x: x * logistic(x), school=("swish",),
)  # fmt: skip


def _gelu(x: Numbers, approximate: str = "none") -> Numbers:
    """The input times the normal distribution function, or times its approximation by tanh."""
    if approximate == "tanh":
        return x * logistic(2 * ROOT * (x + CUBIC * x**3))
    return 0.5 * x * erfc(x * -math.sqrt(0.5))


def _gelu_slope(x: Numbers, approximate: str = "none") -> Numbers:
    if approximate == "tanh":
        bent = 2 * ROOT * (x + CUBIC * x**3)
        right = sigmoid(bent)
        return right + 2 * x * right * sigmoid(-bent) * ROOT * (1 + 3 * CUBIC * x**2)
    return 0.5 * erfc(x * -math.sqrt(0.5)) + x * np.exp(-0.5 * x**2) / math.sqrt(2 * math.pi)


def _gelu_closed(m: Numbers, x: Numbers, approximate: str = "none") -> Numbers:
    if approximate == "tanh":
        bent = m.sqrt(2 / m.pi) * (x + m.Rational(CUBIC) * x**3)
        return x * (1 + m.tanh(bent)) / 2
    return x * (1 + m.erf(x / m.sqrt(2))) / 2


def _gelu_ball(x: arb, approximate: str = "none") -> arb:
    if approximate == "tanh":
        return x / (1 + (-2 * (2 / arb.pi()).sqrt() * (x + arb(CUBIC) * x**3)).exp())
    return x * (-x / arb(2).sqrt()).erfc() / 2


unary(
    "gelu", lambda x, approximate="none": _gelu_slope(x, approximate), _gelu_closed,
    ball=_gelu_ball, forward=_gelu, params=("approximate",),
)  # fmt: skip

# -- over an axis --------------------------------------------------------------------------------


def _softmax(x: Numbers, axis: int = -1) -> Numbers:
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


_over_axis = partial(op, elementwise=False, params=("axis",))
softmax = _over_axis(
    "softmax",
    (lambda y, x, axis=-1: lambda g: y * (g - np.sum(g * y, axis=axis, keepdims=True)),),
    forward=_softmax,
    exact=Composed(lambda x, axis=-1: np.exp(x) / np.sum(np.exp(x), axis=axis, keepdims=True)),
)  # fmt: skip
log_softmax = _over_axis(
    "log_softmax",
    (lambda y, x, axis=-1: lambda g: g - np.exp(y) * np.sum(g, axis=axis, keepdims=True),),
    forward=lambda x, axis=-1: x - shifted_logsumexp(x, axis, keepdims=True),
    exact=Composed(lambda x, axis=-1: x - plain_logsumexp(x, axis, keepdims=True)),
)  # fmt: skip
