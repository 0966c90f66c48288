"""Right backward passes where float64 saturates, cancels or nearly overflows, each with one slip.

`EXTREMES` has (forward, backward, maker) by name: the backward takes, after the arguments, a `slip`
that multiplies one of its factors (1 is right), the maker draws arguments at a scale.
"""

import linecache
from pathlib import Path

import numpy as np

from tests.support.layers import log_softmax, sigmoid, softmax

Y = np.array([1.0, 0.0, 0.0, 1.0, 1.0])
LABELS = np.array([0, 2, 1])
HOT = np.eye(4)[LABELS]


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
    return (1 + 10.0 ** (-scale / 5) * rng.normal(size=(3, 4)),)


def near_pairs(rng, scale):
    x = rng.normal(size=(3, 4))
    return x, x + 10.0 ** (-scale / 5) * rng.normal(size=(3, 4))


def normed(x):
    return np.sqrt(np.sum(x**2, axis=-1, keepdims=True))


def chosen(z):
    p = sigmoid(z)
    return np.where(Y == 1, p, 1 - p)


def focal_back(c, z, k=1):
    t = chosen(z)
    return c * np.where(Y == 1, 1, -1) * (1 - t) ** 2 * (2 * k * t * np.log(t) - (1 - t)) / 5


def kl_back(c, x, y, k=1):
    p, d = softmax(x), log_softmax(x) - log_softmax(y)
    return c * p * (d - np.sum(p * d, -1, keepdims=True)), c * (softmax(y) - k * p)


def dice_back(c, z, k=1):
    p = sigmoid(z)
    top, bottom = 2 * np.sum(p * Y) + 1, np.sum(p) + np.sum(Y) + 1
    return c * (k * top / bottom**2 - 2 * Y / bottom) * p * (1 - p)


def gelu_back(c, x, k=1):
    a = np.sqrt(2 / np.pi)
    t = np.tanh(a * (x + 0.044715 * x**3))
    return c * (0.5 * (1 + t) + 0.5 * k * x * (1 - t**2) * a * (1 + 3 * 0.044715 * x**2))


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
    return cosine_back(-c * k / np.sqrt(1 - cosine(x, y) ** 2), x, y)


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


def read():
    file = Path(__file__).with_suffix(".txt")
    text = "\n".join(line for line in file.read_text().splitlines() if line[0] != "#")
    found = {}
    for row in text.replace("\n  ", "\r").split("\n"):
        head, forward, backward = row.split("\r")
        name, maker, args = head.split(" ; ")
        texts = f"lambda {args}: {forward}", f"lambda c, {args}, k=1: {backward}"
        pair = (_function(f"<{name}, {k}>", text) for k, text in enumerate(texts))
        found[name] = (*pair, eval(maker))
    return found


def _function(file, text):
    linecache.cache[file] = (len(text), None, [text], file)
    return eval(compile(text, file, "eval"), globals())


EXTREMES = read() | {
    "layer norm, hardly varying": (*standard(1e-05), near_constant),
    "layer norm without epsilon": (*standard(0.0), near_constant),
    "layer norm, a constant row": (*standard(1e-05), constant),
    "deviation, a constant row": (*std(1e-08), constant),
    "distances of neighbours": (*far(0.0), near_pairs),
    "distances, one none": (*far(1e-12), meeting),
}
