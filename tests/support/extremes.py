"""Right backward passes where float64 saturates, cancels or nearly overflows, each with one slip.

A row is (forward, backward, maker): the backward takes, after the arguments, a `slip` that
multiplies one of its factors (1 is right), the maker draws arguments from a generator at a scale.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

Maker = Callable[[np.random.Generator, float], tuple[Any, ...]]
EXTREMES: dict[str, tuple[Callable[..., Any], Callable[..., Any], Maker]] = {}
Y = np.array([1.0, 0.0, 0.0, 1.0, 1.0])
LABELS = np.array([0, 2, 1])
HOT = np.eye(4)[LABELS]


def enter(name: str, maker: Maker, forward: Callable[..., Any], backward: Callable[..., Any]):
    """Enter a row."""
    EXTREMES[name] = forward, backward, maker


def wide(*shapes):
    """Normal arguments of the scale's size."""
    return lambda rng, scale: tuple(scale * rng.normal(size=s) for s in shapes or [(5,)])


def high(offset, *shapes):
    """Normal arguments about a large number, which the scale does not touch."""
    return lambda rng, scale: tuple(offset + scale * rng.normal(size=s) for s in shapes or [(5,)])


def tiny(least, most, count=5):
    """Positive numbers of many magnitudes, the smaller the larger the scale."""
    return lambda rng, scale: (10.0 ** -rng.uniform(least, least + (most - least) * scale / 30,
                                                    count),)  # fmt: skip


def near_one(rng, scale):
    """Numbers below one by 10^-1 to 10^-12."""
    return (1 - tiny(1, 12)(rng, scale)[0],)


def near_constant(rng, scale):
    """Rows that hardly vary."""
    return (1 + 10.0 ** (-scale / 5) * rng.normal(size=(3, 4)),)


def near_pairs(rng, scale):
    """Rows, and others that hardly differ from them."""
    x = rng.normal(size=(3, 4))
    return x, x + 10.0 ** (-scale / 5) * rng.normal(size=(3, 4))


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def softmax(x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def log_softmax(x):
    z = x - np.max(x, axis=-1, keepdims=True)
    return z - np.log(np.sum(np.exp(z), axis=-1, keepdims=True))


def normed(x):
    return np.sqrt(np.sum(x**2, axis=-1, keepdims=True))


# -- losses of logits and of probabilities ---------------------------------------------------------


def chosen(z):
    """The probability of what is true, of a sigmoid."""
    p = sigmoid(z)
    return np.where(Y == 1, p, 1 - p)


def focal_back(c, z, k=1):
    t = chosen(z)
    return c * np.where(Y == 1, 1, -1) * (1 - t) ** 2 * (2 * k * t * np.log(t) - (1 - t)) / 5


def focal_classes(x):
    t = softmax(x)[np.arange(3), LABELS]
    return np.sum(-((1 - t) ** 2) * np.log(t))


def focal_classes_back(c, x, k=1):
    p = softmax(x)
    t = p[np.arange(3), LABELS]
    dt = 2 * k * (1 - t) * np.log(t) - (1 - t) ** 2 / t
    return c * (dt * t)[:, None] * (HOT - p)


enter("bce, naive", wide(),
      lambda z: -np.mean(Y * np.log(sigmoid(z)) + (1 - Y) * np.log(1 - sigmoid(z))),
      lambda c, z, k=1: c * (k * sigmoid(z) - Y) / 5)  # fmt: skip
enter("bce, stable", wide(),
      lambda z: np.mean(np.maximum(z, 0) - z * Y + np.log1p(np.exp(-np.abs(z)))),
      lambda c, z, k=1: c * (k * sigmoid(z) - Y) / 5)  # fmt: skip
enter("bce of probabilities", near_one,
      lambda p: -np.mean(Y * np.log(p) + (1 - Y) * np.log(1 - p)),
      lambda c, p, k=1: c * ((1 - Y) / (1 - p) - k * Y / p) / 5)  # fmt: skip
enter("bce of clipped probabilities", wide(),
      lambda z: -np.mean(np.log(np.clip(chosen(z), 1e-7, 1 - 1e-7))),
      lambda c, z, k=1: c * k * np.where((chosen(z) > 1e-7) & (chosen(z) < 1 - 1e-7),
                                         sigmoid(z) - Y, 0) / 5)  # fmt: skip
enter("focal", wide(), lambda z: -np.mean((1 - chosen(z)) ** 2 * np.log(chosen(z))), focal_back)
enter("focal of classes", wide((3, 4)), focal_classes, focal_classes_back)
enter("cross-entropy, far out", high(1e3, (3, 4)),
      lambda x: -np.mean(log_softmax(x)[np.arange(3), LABELS]),
      lambda c, x, k=1: c * (softmax(x) - k * HOT) / 3)  # fmt: skip
enter("cross-entropy, smoothed", wide((3, 4)),
      lambda x: -np.mean(np.sum((0.9 * HOT + 0.025) * log_softmax(x), axis=-1)),
      lambda c, x, k=1: c * (softmax(x) - k * (0.9 * HOT + 0.025)) / 3)  # fmt: skip
enter("softmax, far out", high(-1e3, (3, 4)), softmax,
      lambda c, x, k=1: softmax(x) * (c - k * np.sum(c * softmax(x), -1, keepdims=True))
)  # fmt: skip
enter("softmax, cold", wide((3, 4)), lambda x: softmax(x / 0.1),
      lambda c, x, k=1: softmax(x / 0.1) * (
          c - np.sum(c * softmax(x / 0.1), -1, keepdims=True)) / (0.1 * k))  # fmt: skip
enter("log-softmax, far out", high(1e3, (3, 4)), log_softmax,
      lambda c, x, k=1: c - k * softmax(x) * np.sum(c, -1, keepdims=True))  # fmt: skip
enter("logsumexp, far out", high(-1e3, (3, 4)),
      lambda x: np.log(np.sum(np.exp(x - x.max(-1, keepdims=True)), -1)) + x.max(-1),
      lambda c, x, k=1: k * softmax(x) * c[:, None])  # fmt: skip
enter("logaddexp", wide((5,), (5,)), np.logaddexp,
      lambda c, a, b, k=1: (c * sigmoid(a - b), k * c * sigmoid(b - a)))  # fmt: skip


def entropy_back(c, x, k=1):
    p, q = softmax(x), log_softmax(x)
    return -c * p * (q - k * np.sum(p * q, -1, keepdims=True))


def kl_back(c, x, y, k=1):
    p, d = softmax(x), log_softmax(x) - log_softmax(y)
    return c * p * (d - np.sum(p * d, -1, keepdims=True)), c * (softmax(y) - k * p)


enter("entropy", wide((3, 4)), lambda x: -np.sum(softmax(x) * log_softmax(x)), entropy_back)
enter("divergence of neighbours", near_pairs,
      lambda x, y: np.sum(softmax(x) * (log_softmax(x) - log_softmax(y))), kl_back)  # fmt: skip


def dice_back(c, z, k=1):
    p = sigmoid(z)
    top, bottom = 2 * np.sum(p * Y) + 1, np.sum(p) + np.sum(Y) + 1
    return c * (k * top / bottom**2 - 2 * Y / bottom) * p * (1 - p)


enter("dice", wide(), lambda z: 1 - (2 * np.sum(sigmoid(z) * Y) + 1) / (
    np.sum(sigmoid(z)) + np.sum(Y) + 1), dice_back)  # fmt: skip


def nce(a, b):
    return -np.mean(np.diag(log_softmax(a @ b.T / 0.5)))


def nce_back(c, a, b, k=1):
    d = c * (softmax(a @ b.T / 0.5) - np.eye(3)) / 3 / 0.5
    return d @ b, k * d.T @ a


enter("contrastive", lambda rng, s: tuple(np.sqrt(s) * rng.normal(size=(3, 4)) for _ in "ab"),
      nce, nce_back)  # fmt: skip
enter("poisson", wide(), lambda z: np.sum(np.exp(z) - 3 * z),
      lambda c, z, k=1: c * (np.exp(z) - 3 * k))  # fmt: skip
enter("gaussian, log variance", wide((5,), (5,)),
      lambda m, v: np.sum(0.5 * (v + m**2 * np.exp(-v))),
      lambda c, m, v, k=1: (c * m * np.exp(-v), c * 0.5 * (1 - k * m**2 * np.exp(-v))))  # fmt: skip
enter("discretised logistic", high(3, (5,)),
      lambda x: -np.sum(np.log(sigmoid(x + 0.01) - sigmoid(x - 0.01))),
      lambda c, x, k=1: -c * (sigmoid(x + 0.01) * (1 - sigmoid(x + 0.01)) - k * sigmoid(x - 0.01)
                              * (1 - sigmoid(x - 0.01)))
      / (sigmoid(x + 0.01) - sigmoid(x - 0.01)))  # fmt: skip

# -- saturating functions --------------------------------------------------------------------------

enter("sigmoid", wide(), sigmoid, lambda c, x, k=1: c * sigmoid(x) * (1 - k * sigmoid(x)))
enter("logsigmoid, naive", wide(), lambda x: np.log(sigmoid(x)),
      lambda c, x, k=1: k * c * (1 - sigmoid(x)))  # fmt: skip
enter("logsigmoid", wide(), lambda x: -np.logaddexp(0, -x), lambda c, x, k=1: k * c * sigmoid(-x))
enter("one minus sigmoid", wide(), lambda x: np.log(1 - sigmoid(x)),
      lambda c, x, k=1: -k * c * sigmoid(x))  # fmt: skip
enter("softplus, naive", wide(), lambda x: np.log(1 + np.exp(x)),
      lambda c, x, k=1: c * np.exp(x) / (k + np.exp(x)))  # fmt: skip
enter("softplus, log1p", wide(), lambda x: np.log1p(np.exp(-np.abs(x))) + np.maximum(x, 0),
      lambda c, x, k=1: k * c * sigmoid(x))  # fmt: skip
enter("softplus, threshold", wide(),
      lambda x: np.where(x > 20, x, np.log1p(np.exp(np.minimum(x, 20)))),
      lambda c, x, k=1: k * c * np.where(x > 20, 1, sigmoid(x)))  # fmt: skip
enter("tanh", wide(), np.tanh, lambda c, x, k=1: c * (1 - k * np.tanh(x) ** 2))
enter("tanh by exponentials", wide(),
      lambda x: (np.exp(x) - np.exp(-x)) / (np.exp(x) + np.exp(-x)),
      lambda c, x, k=1: 4 * k * c / (np.exp(x) + np.exp(-x)) ** 2)  # fmt: skip
enter("tanh by a sigmoid", wide(), lambda x: 2 * sigmoid(2 * x) - 1,
      lambda c, x, k=1: 4 * k * c * sigmoid(2 * x) * (1 - sigmoid(2 * x)))  # fmt: skip
enter("sech squared", wide(), lambda x: 1 / np.cosh(x) ** 2,
      lambda c, x, k=1: -2 * k * c * np.tanh(x) / np.cosh(x) ** 2)  # fmt: skip
enter("x over cosh", wide(), lambda x: x / np.cosh(x),
      lambda c, x, k=1: c * (1 - k * x * np.tanh(x)) / np.cosh(x))  # fmt: skip
enter("log cosh", wide(), lambda x: np.log(np.cosh(x)), lambda c, x, k=1: k * c * np.tanh(x))
enter("log cosh, stable", wide(),
      lambda x: np.abs(x) + np.log1p(np.exp(-2 * np.abs(x))) - np.log(2),
      lambda c, x, k=1: k * c * np.tanh(x))  # fmt: skip
enter("silu", wide(), lambda x: x * sigmoid(x),
      lambda c, x, k=1: c * (sigmoid(x) + k * x * sigmoid(x) * (1 - sigmoid(x))))  # fmt: skip


def mish_back(c, x, k=1):
    t = np.tanh(np.logaddexp(0, x))
    return c * (t + k * x * (1 - t**2) * sigmoid(x))


def gelu_back(c, x, k=1):
    a = np.sqrt(2 / np.pi)
    t = np.tanh(a * (x + 0.044715 * x**3))
    return c * (0.5 * (1 + t) + 0.5 * k * x * (1 - t**2) * a * (1 + 3 * 0.044715 * x**2))


enter("mish", wide(), lambda x: x * np.tanh(np.logaddexp(0, x)), mish_back)
enter("gelu", wide(), lambda x: 0.5 * x * (1 + np.tanh(
    np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))), gelu_back)  # fmt: skip
enter("elu", wide(), lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
      lambda c, x, k=1: c * np.where(x > 0, 1, k * np.exp(np.minimum(x, 0))))  # fmt: skip
enter("gaussian", wide(), lambda x: np.exp(-(x**2) / 2),
      lambda c, x, k=1: -k * c * x * np.exp(-(x**2) / 2))  # fmt: skip
enter("student", wide(), lambda x: 2 * np.log1p(x**2 / 3),
      lambda c, x, k=1: 4 * k * c * x / (3 + x**2))  # fmt: skip
enter("geman", wide(), lambda x: x**2 / (1 + x**2),
      lambda c, x, k=1: 2 * c * x / (1 + x**2) - 2 * k * c * x**3 / (1 + x**2) ** 2)  # fmt: skip
enter("hill", lambda rng, s: (np.exp(rng.normal(size=5) * s / 10),), lambda x: x**8 / (1 + x**8),
      lambda c, x, k=1: 8 * k * c * x**7 / (1 + x**8) ** 2)  # fmt: skip
