"""Right backward passes where float64 saturates, cancels or nearly overflows, each with one slip.

A row is (forward, backward, maker): the backward takes, after the arguments, a `slip` that
multiplies one of its factors (1 is right), the maker draws arguments from a generator at a scale.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.support.layers import log_softmax, sigmoid, softmax

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


enter("bce, naive", wide(),
      lambda z: -np.mean(Y * np.log(sigmoid(z)) + (1 - Y) * np.log(1 - sigmoid(z))),
      lambda c, z, k=1: c * (k * sigmoid(z) - Y) / 5)  # fmt: skip
enter("bce of probabilities", near_one,
      lambda p: -np.mean(Y * np.log(p) + (1 - Y) * np.log(1 - p)),
      lambda c, p, k=1: c * ((1 - Y) / (1 - p) - k * Y / p) / 5)  # fmt: skip
enter("bce of clipped probabilities", wide(),
      lambda z: -np.mean(np.log(np.clip(chosen(z), 1e-7, 1 - 1e-7))),
      lambda c, z, k=1: c * k * np.where((chosen(z) > 1e-7) & (chosen(z) < 1 - 1e-7),
                                         sigmoid(z) - Y, 0) / 5)  # fmt: skip
enter("focal", wide(), lambda z: -np.mean((1 - chosen(z)) ** 2 * np.log(chosen(z))), focal_back)
enter("cross-entropy, far out", high(1e3, (3, 4)),
      lambda x: -np.mean(log_softmax(x)[np.arange(3), LABELS]),
      lambda c, x, k=1: c * (softmax(x) - k * HOT) / 3)  # fmt: skip
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


def kl_back(c, x, y, k=1):
    p, d = softmax(x), log_softmax(x) - log_softmax(y)
    return c * p * (d - np.sum(p * d, -1, keepdims=True)), c * (softmax(y) - k * p)


enter("divergence of neighbours", near_pairs,
      lambda x, y: np.sum(softmax(x) * (log_softmax(x) - log_softmax(y))), kl_back)  # fmt: skip


def dice_back(c, z, k=1):
    p = sigmoid(z)
    top, bottom = 2 * np.sum(p * Y) + 1, np.sum(p) + np.sum(Y) + 1
    return c * (k * top / bottom**2 - 2 * Y / bottom) * p * (1 - p)


enter("dice", wide(), lambda z: 1 - (2 * np.sum(sigmoid(z) * Y) + 1) / (
    np.sum(sigmoid(z)) + np.sum(Y) + 1), dice_back)  # fmt: skip


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
enter("one minus sigmoid", wide(), lambda x: np.log(1 - sigmoid(x)),
      lambda c, x, k=1: -k * c * sigmoid(x))  # fmt: skip
enter("softplus, naive", wide(), lambda x: np.log(1 + np.exp(x)),
      lambda c, x, k=1: c * np.exp(x) / (k + np.exp(x)))  # fmt: skip
enter("softplus, threshold", wide(),
      lambda x: np.where(x > 20, x, np.log1p(np.exp(np.minimum(x, 20)))),
      lambda c, x, k=1: k * c * np.where(x > 20, 1, sigmoid(x)))  # fmt: skip
enter("tanh", wide(), np.tanh, lambda c, x, k=1: c * (1 - k * np.tanh(x) ** 2))
enter("tanh by exponentials", wide(),
      lambda x: (np.exp(x) - np.exp(-x)) / (np.exp(x) + np.exp(-x)),
      lambda c, x, k=1: 4 * k * c / (np.exp(x) + np.exp(-x)) ** 2)  # fmt: skip
enter("x over cosh", wide(), lambda x: x / np.cosh(x),
      lambda c, x, k=1: c * (1 - k * x * np.tanh(x)) / np.cosh(x))  # fmt: skip
enter("log cosh", wide(), lambda x: np.log(np.cosh(x)), lambda c, x, k=1: k * c * np.tanh(x))
enter("silu", wide(), lambda x: x * sigmoid(x),
      lambda c, x, k=1: c * (sigmoid(x) + k * x * sigmoid(x) * (1 - sigmoid(x))))  # fmt: skip


def gelu_back(c, x, k=1):
    a = np.sqrt(2 / np.pi)
    t = np.tanh(a * (x + 0.044715 * x**3))
    return c * (0.5 * (1 + t) + 0.5 * k * x * (1 - t**2) * a * (1 + 3 * 0.044715 * x**2))


enter("gelu", wide(), lambda x: 0.5 * x * (1 + np.tanh(
    np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))), gelu_back)  # fmt: skip
enter("elu", wide(), lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
      lambda c, x, k=1: c * np.where(x > 0, 1, k * np.exp(np.minimum(x, 0))))  # fmt: skip
enter("gaussian", wide(), lambda x: np.exp(-(x**2) / 2),
      lambda c, x, k=1: -k * c * x * np.exp(-(x**2) / 2))  # fmt: skip
enter("hill", lambda rng, s: (np.exp(rng.normal(size=5) * s / 10),), lambda x: x**8 / (1 + x**8),
      lambda c, x, k=1: 8 * k * c * x**7 / (1 + x**8) ** 2)  # fmt: skip

# -- digits that cancel ----------------------------------------------------------------------------

enter("log of one minus exp", tiny(0, 10), lambda x: np.log(1 - np.exp(-x)),
      lambda c, x, k=1: k * c * np.exp(-x) / (1 - np.exp(-x)))  # fmt: skip
enter("exp minus one over x", tiny(0, 6), lambda x: (np.exp(x) - 1) / x,
      lambda c, x, k=1: c * (np.exp(x) / x - k * (np.exp(x) - 1) / x**2))  # fmt: skip
enter("one minus cosine over x²", tiny(0, 4), lambda x: (1 - np.cos(x)) / x**2,
      lambda c, x, k=1: c * (np.sin(x) / x**2 - 2 * k * (1 - np.cos(x)) / x**3))  # fmt: skip
enter("sinh by exponentials", tiny(0, 10), lambda x: (np.exp(x) - np.exp(-x)) / 2,
      lambda c, x, k=1: c * (np.exp(x) + k * np.exp(-x)) / 2)  # fmt: skip
enter("pseudo-huber", tiny(0, 8), lambda x: np.sqrt(1 + x**2) - 1,
      lambda c, x, k=1: k * c * x / np.sqrt(1 + x**2))  # fmt: skip
enter("difference of roots", lambda rng, s: (10.0 ** rng.uniform(1, 1 + s / 3, 5),),
      lambda x: np.sqrt(x + 1) - np.sqrt(x),
      lambda c, x, k=1: c * (0.5 / np.sqrt(x + 1) - 0.5 * k / np.sqrt(x)))  # fmt: skip
enter("smaller root", lambda rng, s: (10.0 ** rng.uniform(1, 1 + s / 6, 5), rng.uniform(1, 2, 5)),
      lambda b, q: (b - np.sqrt(b**2 - 4 * q)) / 2,
      lambda c, b, q, k=1: (c * (1 - k * b / np.sqrt(b**2 - 4 * q)) / 2,
                            c / np.sqrt(b**2 - 4 * q)))  # fmt: skip
enter("variance by squares", lambda rng, s: (10.0 ** (s / 8) + rng.normal(size=(3, 6)),),
      lambda x: np.mean(x**2, -1) - np.mean(x, -1) ** 2,
      lambda c, x, k=1: 2 * c[:, None] * (x - k * np.mean(x, -1, keepdims=True)) / 6)  # fmt: skip
enter("determinant, nearly none", lambda rng, s: (np.array([[1.0, 2.0], [2.0, 4.0]])
                                                  + 10.0 ** (-s / 4) * rng.normal(size=(2, 2)),),
      lambda m: np.log(np.abs(m[0, 0] * m[1, 1] - m[0, 1] * m[1, 0])),
      lambda c, m, k=1: c * np.array([[m[1, 1], -k * m[1, 0]], [-m[0, 1], m[0, 0]]])
      / (m[0, 0] * m[1, 1] - m[0, 1] * m[1, 0]))  # fmt: skip
enter("logit", near_one, lambda p: np.log(p / (1 - p)), lambda c, p, k=1: k * c / (p * (1 - p)))
enter("arctanh by logs", near_one, lambda p: 0.5 * np.log((1 + p) / (1 - p)),
      lambda c, p, k=1: 0.5 * c * (1 / (1 + p) + k / (1 - p)))  # fmt: skip

# -- rows that hardly vary, vectors that hardly differ ---------------------------------------------


def standard(eps):
    """Rows less their mean over their root mean square, and the backward pass."""

    def forward(x):
        d = x - np.mean(x, -1, keepdims=True)
        return d / np.sqrt(np.mean(d**2, -1, keepdims=True) + eps)

    def backward(c, x, k=1):
        d = x - np.mean(x, -1, keepdims=True)
        s = np.sqrt(np.mean(d**2, -1, keepdims=True) + eps)
        back = c / s - d * np.mean(c * d, -1, keepdims=True) / s**3
        return back - k * np.mean(c, -1, keepdims=True) / s

    return forward, backward


def std(eps):
    """The standard deviation of rows, and the backward pass."""

    def forward(x):
        return np.sqrt(np.mean((x - np.mean(x, -1, keepdims=True)) ** 2, -1) + eps)

    def backward(c, x, k=1):
        return c[:, None] * (x - k * np.mean(x, -1, keepdims=True)) / (
            x.shape[-1] * forward(x)[:, None])  # fmt: skip

    return forward, backward


def constant(rng, scale):
    """Rows of which one does not vary at all."""
    x = scale * rng.normal(size=(3, 4))
    x[1] = x[1, 0]
    return (x,)


enter("layer norm, hardly varying", near_constant, *standard(1e-5))
enter("layer norm without epsilon", near_constant, *standard(0.0))
enter("layer norm, a constant row", constant, *standard(1e-5))
enter("deviation, a constant row", constant, *std(1e-8))


def unit_back(c, x, k=1):
    n = normed(x)
    return c / n - k * x * np.sum(c * x, -1, keepdims=True) / n**3


def unit_clamped_back(c, x, k=1):
    n = normed(x)
    bent = c / n - k * x * np.sum(c * x, -1, keepdims=True) / n**3
    return np.where(n > 1e-3, bent, c / 1e-3)


def cosine(x, y):
    return np.sum(x * y, -1) / (normed(x) * normed(y))[:, 0]


def cosine_back(c, x, y, k=1):
    n, m, s, g = normed(x), normed(y), cosine(x, y)[:, None], c[:, None]
    return g * (y / (n * m) - k * s * x / n**2), g * (x / (n * m) - s * y / m**2)


def angle_back(c, x, y, k=1):
    s = cosine(x, y)
    return cosine_back(-c * k / np.sqrt(1 - s**2), x, y)


enter("unit vectors, short", lambda rng, s: (10.0 ** (-s / 3) * rng.normal(size=(3, 4)),),
      lambda x: x / normed(x), unit_back)  # fmt: skip
enter("unit vectors, clamped", lambda rng, s: (10.0 ** (-s / 6) * rng.normal(size=(3, 4)),),
      lambda x: x / np.maximum(normed(x), 1e-3), unit_clamped_back)  # fmt: skip
enter("one minus cosine", near_pairs, lambda x, y: np.sum(1 - cosine(x, y)),
      lambda c, x, y, k=1: cosine_back(-c * np.ones(3), x, y, k))  # fmt: skip
enter("angle of neighbours", near_pairs, lambda x, y: np.arccos(cosine(x, y)), angle_back)


def far(eps):
    """Distances of all pairs of points, and the backward pass."""

    def forward(a, b):
        return np.sqrt(np.sum((a[:, None] - b[None]) ** 2, -1) + eps)

    def backward(c, a, b, k=1):
        g = (c / forward(a, b))[..., None] * (a[:, None] - b[None])
        return g.sum(1), -k * g.sum(0)

    return forward, backward


def expanded(a, b):
    return np.sum(a**2, 1)[:, None] + np.sum(b**2, 1) - 2 * a @ b.T


def expanded_back(c, a, b, k=1):
    da = 2 * a * c.sum(1)[:, None] - 2 * k * c @ b
    return da, 2 * b * c.sum(0)[:, None] - 2 * c.T @ a


def meeting(rng, scale):
    """Points of which one stands in both sets."""
    a, b = scale * rng.normal(size=(3, 4)), scale * rng.normal(size=(2, 4))
    b[1] = a[2]
    return a, b


enter("distances of neighbours", near_pairs, *far(0.0))
enter("distances, one none", meeting, *far(1e-12))
enter("squared distances, expanded", near_pairs, expanded, expanded_back)

# -- near the ends of the range --------------------------------------------------------------------

enter("exp, nearly too large", lambda rng, s: (23 * s + rng.normal(size=5),), np.exp,
      lambda c, x, k=1: k * c * np.exp(x))  # fmt: skip
enter("exp, nearly nothing", lambda rng, s: (-23 * s + rng.normal(size=5),), np.exp,
      lambda c, x, k=1: k * c * np.exp(x))  # fmt: skip
enter("log of little", tiny(0, 300), np.log, lambda c, x, k=1: k * c / x)
enter("root of little", tiny(0, 14), np.sqrt, lambda c, x, k=1: 0.5 * k * c / np.sqrt(x))
enter("power of little", lambda rng, s: (*tiny(0, 14)(rng, s), rng.uniform(0.2, 3, 5)),
      lambda x, y: x**y,
      lambda c, x, y, k=1: (c * y * x ** (y - 1), k * c * x**y * np.log(x)))  # fmt: skip
enter("product by logs", tiny(0, 20), lambda x: np.exp(np.sum(np.log(x))),
      lambda c, x, k=1: k * c * np.exp(np.sum(np.log(x))) / x)  # fmt: skip
enter("norm of high order", wide(), lambda x: np.sum(np.abs(x) ** 8) ** (1 / 8),
      lambda c, x, k=1: k * c * x * np.abs(x) ** 6 * np.sum(np.abs(x) ** 8) ** (-7 / 8)
)  # fmt: skip
enter("hypot of little and much", lambda rng, s: (10.0**s * rng.normal(size=5), rng.normal(size=5)),
      np.hypot,
      lambda c, a, b, k=1: (c * a / np.hypot(a, b), k * c * b / np.hypot(a, b)))  # fmt: skip
