"""Activations and their normalised kin, as neural networks use them."""

import numpy as np
import sympy

from gradcheck.ops.row import Composed, Example, op


def _stable_sigmoid(x):
    return 0.5 * (1 + np.tanh(0.5 * x))


relu = op(
    lambda x: np.maximum(x, 0.0),
    name="relu",
    vjps=(lambda g, y, x: g * np.greater(x, 0),),  # 0 at x = 0
    symbolic=Composed(lambda x: x if x > 0 else 0 * x),
    ball=Composed(lambda x: x if x > 0 else 0 * x),
    kinks=(0.0,),
    grad_fn="ReluBackward0",
    rounds=False,
)

sigmoid = op(
    _stable_sigmoid,
    name="sigmoid",
    vjps=(lambda g, y, x: g * y * (1 - y),),
    symbolic=lambda x: 1 / (1 + sympy.exp(-x)),
    ball=lambda x: 1 / (1 + (-x).exp()),
    grad_fn="SigmoidBackward0",
)

softplus = op(
    lambda x: np.logaddexp(x, 0.0),
    name="softplus",
    vjps=(lambda g, y, x: g * sigmoid(x),),
    symbolic=lambda x: sympy.log(1 + sympy.exp(x)),
    ball=lambda x: (1 + x.exp()).log(),
    grad_fn="SoftplusBackward0",
)


def _shifted(x, axis):
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


def _softmax_defined(x, axis=-1):
    return np.exp(x) / np.sum(np.exp(x), axis=axis, keepdims=True)


softmax = op(
    lambda x, axis=-1: _shifted(x, axis),
    name="softmax",
    vjps=(lambda g, y, x, axis=-1: y * (g - np.sum(g * y, axis=axis, keepdims=True)),),
    symbolic=Composed(_softmax_defined),
    ball=Composed(_softmax_defined),
    grad_fn="SoftmaxBackward0",
    elementwise=False,
    params=("axis",),
    example=Example("softmax(a, axis=-1) * b", {"a": (2, 3), "b": (2, 3)}),
)


def _logsumexp(x, axis=None, keepdims=False):
    top = np.max(x, axis=axis, keepdims=True)
    total = np.log(np.sum(np.exp(x - top), axis=axis, keepdims=True)) + top
    return total if keepdims else np.squeeze(total, axis=axis)


def _logsumexp_defined(x, axis=None, keepdims=False):
    return np.log(np.sum(np.exp(x), axis=axis, keepdims=keepdims))


def _opened(v, x, axis, keepdims):
    return v if keepdims or axis is None else np.expand_dims(v, axis)


logsumexp = op(
    _logsumexp,
    name="logsumexp",
    vjps=(
        lambda g, y, x, axis=None, keepdims=False: (
            _opened(g, x, axis, keepdims) * np.exp(x - _opened(y, x, axis, keepdims))
        ),
    ),
    symbolic=Composed(_logsumexp_defined),
    ball=Composed(_logsumexp_defined),
    grad_fn="LogsumexpBackward0",
    elementwise=False,
    params=("axis", "keepdims"),
    example=Example("logsumexp(a, axis=1) * b", {"a": (2, 3), "b": (2,)}),
)

log_softmax = op(
    lambda x, axis=-1: x - _logsumexp(x, axis, keepdims=True),
    name="log_softmax",
    vjps=(lambda g, y, x, axis=-1: g - np.exp(y) * np.sum(g, axis=axis, keepdims=True),),
    symbolic=Composed(lambda x, axis=-1: x - _logsumexp_defined(x, axis, keepdims=True)),
    ball=Composed(lambda x, axis=-1: x - _logsumexp_defined(x, axis, keepdims=True)),
    grad_fn="LogSoftmaxBackward0",
    elementwise=False,
    params=("axis",),
    example=Example("log_softmax(a, axis=-1) * b", {"a": (2, 3), "b": (2, 3)}),
)

expand_dims = op(
    np.expand_dims,
    vjps=(lambda g, y, x, axis: np.reshape(g, x.shape),),
    grad_fn="UnsqueezeBackward0",
    elementwise=False,
    rounds=False,
    params=("axis",),
    school=("unsqueeze",),
    example=Example("expand_dims(a, 0) * b", {"a": (3,), "b": (2, 3)}),
)
