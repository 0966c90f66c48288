"""More everyday layers with the backward passes that engineers write for them."""

import numpy as np

from tests.support.right_backwards import log_softmax, right, shapes, softmax

AWAY = 0.2  # from a kink: the tables of kinks are elsewhere


def away(*wanted):
    """Normal arguments without entries near zero."""

    def make(rng, size):
        drawn = (rng.normal(size=shape) for shape in wanted)
        return tuple(d + AWAY * np.sign(d) for d in drawn)

    return make


def positive(*wanted):
    """Arguments of one sign, none near zero."""
    return lambda rng, size: tuple(rng.uniform(0.5, 2, shape) for shape in wanted)


def columns(x, k=2):
    """The windows of k by k of one image as rows."""
    h, w = x.shape[0] - k + 1, x.shape[1] - k + 1
    return np.stack([x[i : i + k, j : j + k].ravel() for i in range(h) for j in range(w)])


@right("conv2d by im2col", shapes((4, 5), (4, 3), (3,)), lambda x, w, b: columns(x) @ w + b)
def conv2d_back(c, x, w, b):
    dc, dx = c @ w.T, np.zeros(x.shape)
    for k, (i, j) in enumerate(np.ndindex(3, 4)):
        dx[i : i + 2, j : j + 2] += dc[k].reshape(2, 2)
    return dx, columns(x).T @ c, c.sum(0)


@right("max pooling", shapes((4, 6)), lambda x: x.reshape(2, 2, 3, 2).max(axis=(1, 3)))
def max_pool_back(c, x):
    blocks = x.reshape(2, 2, 3, 2)
    top = blocks == blocks.max(axis=(1, 3), keepdims=True)
    return (top * c[:, None, :, None]).reshape(x.shape)


@right("mean pooling", shapes((4, 6)), lambda x: x.reshape(2, 2, 3, 2).mean(axis=(1, 3)))
def mean_pool_back(c, x):
    return np.repeat(np.repeat(c, 2, axis=0), 2, axis=1) / 4


@right("rms norm", shapes((3, 5), (5,)), lambda x, g: g * x / np.sqrt((x**2).mean(-1)[:, None]))
def rms_norm_back(c, x, g):
    r = np.sqrt(np.mean(x**2, axis=-1, keepdims=True))
    gc = g * c
    return gc / r - x * np.mean(gc * x, axis=-1, keepdims=True) / r**3, np.sum(c * x / r, axis=0)


def group_norm(x):
    g = x.reshape(len(x), 2, -1)
    d = g - g.mean(-1, keepdims=True)
    return (d / np.sqrt((d**2).mean(-1, keepdims=True) + 1e-5)).reshape(x.shape)


@right("group norm", shapes((3, 8)), group_norm)
def group_norm_back(c, x):
    g, c = x.reshape(len(x), 2, -1), c.reshape(len(x), 2, -1)
    d = g - g.mean(-1, keepdims=True)
    s = 1 / np.sqrt((d**2).mean(-1, keepdims=True) + 1e-5)
    hat = d * s
    inner = (c * hat).mean(-1, keepdims=True)
    return (s * (c - c.mean(-1, keepdims=True) - hat * inner)).reshape(x.shape)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def lstm_cell(z, kept):
    i, f, o, g = np.split(z, 4, axis=-1)
    return sigmoid(o) * np.tanh(sigmoid(f) * kept + sigmoid(i) * np.tanh(g))


@right("lstm cell", shapes((2, 12), (2, 3)), lstm_cell)
def lstm_cell_back(c, z, kept):
    i, f, o, g = np.split(z, 4, axis=-1)
    i, f, o, g = sigmoid(i), sigmoid(f), sigmoid(o), np.tanh(g)
    t = np.tanh(f * kept + i * g)
    d = c * o * (1 - t**2)
    di, df, do = d * g * i * (1 - i), d * kept * f * (1 - f), c * t * o * (1 - o)
    return np.concatenate([di, df, do, d * i * (1 - g**2)], axis=-1), d * f


@right("gru gate", shapes((2, 3), (2, 3), (2, 3)),
       lambda h, n, z: sigmoid(z) * h + (1 - sigmoid(z)) * np.tanh(n))  # fmt: skip
def gru_back(c, h, n, z):
    s, t = sigmoid(z), np.tanh(n)
    return c * s, c * (1 - s) * (1 - t**2), c * (h - t) * s * (1 - s)


@right("glu", shapes((3, 6)), lambda x: x[:, :3] * sigmoid(x[:, 3:]))
def glu_back(c, x):
    s = sigmoid(x[:, 3:])
    return np.hstack([c * s, c * x[:, :3] * s * (1 - s)])


LOGITS = np.array([1.0, 0.0, 1.0, 1.0, 0.0])


@right("binary cross-entropy with logits", shapes((5,)),
       lambda x: np.mean(np.maximum(x, 0) - x * LOGITS + np.log1p(np.exp(-np.abs(x)))))  # fmt: skip
def bce_back(c, x):
    return c * (sigmoid(x) - LOGITS) / x.size


@right("kl divergence", shapes((3, 4), (3, 4)),
       lambda a, b: np.sum(softmax(a) * (log_softmax(a) - log_softmax(b))))  # fmt: skip
def kl_back(c, a, b):
    p, d = softmax(a), log_softmax(a) - log_softmax(b)
    return c * p * (d - np.sum(p * d, axis=-1, keepdims=True)), c * (softmax(b) - p)


def cosine(a, b):
    return np.sum(a * b) / (np.linalg.norm(a) * np.linalg.norm(b))


@right("cosine similarity", shapes((5,), (5,)), cosine)
def cosine_back(c, a, b):
    m, n, s = np.linalg.norm(a), np.linalg.norm(b), cosine(a, b)
    return c * (b / (m * n) - s * a / m**2), c * (a / (m * n) - s * b / n**2)


@right("rows of length one", shapes((3, 4)),
       lambda x: x / np.linalg.norm(x, axis=-1, keepdims=True))  # fmt: skip
def unit_rows_back(c, x):
    n = np.linalg.norm(x, axis=-1, keepdims=True)
    return (c - x * np.sum(c * x, axis=-1, keepdims=True) / n**2) / n


@right("leaky relu", away((3, 4)), lambda x: np.where(x > 0, x, 0.01 * x))
def leaky_back(c, x):
    return c * np.where(x > 0, 1.0, 0.01)


@right("elu", away((3, 4)), lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))))
def elu_back(c, x):
    return c * np.where(x > 0, 1.0, np.exp(np.minimum(x, 0)))


@right("hard tanh", away((3, 4)), lambda x: np.clip(x, -1, 1))
def hard_tanh_back(c, x):
    return c * (np.abs(x) < 1)


@right("softsign", away((5,)), lambda x: x / (1 + np.abs(x)))
def softsign_back(c, x):
    return c / (1 + np.abs(x)) ** 2


@right("mish", shapes((5,)), lambda x: x * np.tanh(np.logaddexp(0, x)))
def mish_back(c, x):
    t = np.tanh(np.logaddexp(0, x))
    return c * (t + x * (1 - t**2) * sigmoid(x))


def huber(p, t):
    d = np.abs(p - t)
    return np.sum(np.where(d < 1, d**2 / 2, d - 0.5))


@right("huber", away((6,), (6,)), huber)
def huber_back(c, p, t):
    g = c * np.clip(p - t, -1, 1)
    return g, -g


@right("hinge", shapes((6,)), lambda x: np.mean(np.maximum(0, 1 - x * np.sign(LOGITS6))))
def hinge_back(c, x):
    y = np.sign(LOGITS6)
    return -c * y * (1 - x * y > 0) / x.size


LOGITS6 = np.array([1.0, -1.0, 1.0, 1.0, -1.0, -1.0])


@right("maximum over an axis", shapes((3, 4)), lambda x: x.max(axis=1))
def amax_back(c, x):
    g = np.zeros(x.shape)
    g[np.arange(3), x.argmax(axis=1)] = c
    return g


@right("standard deviation", shapes((4, 3)), lambda x: x.std(axis=0))
def std_back(c, x):
    return c * (x - x.mean(0)) / (x.std(0) * len(x))


KEPT = np.random.default_rng(5).random((3, 4)) < 0.7


@right("dropout of a fixed mask", shapes((3, 4)), lambda x: x * KEPT / 0.7)
def dropout_back(c, x):
    return c * KEPT / 0.7


def causal(s):
    return softmax(np.where(np.tri(4, dtype=bool), s, -1e9))


@right("causal attention", shapes((4, 4), (4, 2)), lambda s, v: causal(s) @ v)
def causal_back(c, s, v):
    a = causal(s)
    da = c @ v.T
    return a * (da - np.sum(a * da, axis=-1, keepdims=True)), a.T @ c


ANGLES = np.arange(3)[:, None] * np.array([1.0, 0.1])


def rotary(x):
    a, b = x[:, 0::2], x[:, 1::2]
    s, t = np.sin(ANGLES), np.cos(ANGLES)
    return np.stack([a * t - b * s, a * s + b * t], axis=-1).reshape(x.shape)


@right("rotary embedding", shapes((3, 4)), rotary)
def rotary_back(c, x):
    a, b = c[:, 0::2], c[:, 1::2]
    s, t = np.sin(ANGLES), np.cos(ANGLES)
    return np.stack([a * t + b * s, b * t - a * s], axis=-1).reshape(x.shape)


@right("nearest upsampling", shapes((2, 3)), lambda x: np.repeat(np.repeat(x, 2, 0), 2, 1))
def upsample_back(c, x):
    return c.reshape(2, 2, 3, 2).sum(axis=(1, 3))


@right("pixel shuffle", shapes((4, 2, 3)),
       lambda x: x.reshape(2, 2, 2, 3).transpose(2, 0, 3, 1).reshape(4, 6))  # fmt: skip
def shuffle_back(c, x):
    return c.reshape(2, 2, 3, 2).transpose(1, 3, 0, 2).reshape(x.shape)


def weight_norm(v, g):
    return g * v / np.linalg.norm(v, axis=0)


@right("weight normalisation", shapes((4, 3), (3,)), weight_norm)
def weight_norm_back(c, v, g):
    n = np.linalg.norm(v, axis=0)
    dg = np.sum(c * v / n, axis=0)
    return g / n * c - g * dg / n**2 * v, dg


@right("contrastive", shapes((4, 3), (4, 3)), lambda a, b: -np.trace(log_softmax(a @ b.T)) / 4)
def contrastive_back(c, a, b):
    d = c * (softmax(a @ b.T) - np.eye(4)) / 4
    return d @ b, d.T @ a


@right("log determinant", lambda rng, size: (_spd(rng),), lambda a: np.linalg.slogdet(a)[1])
def logdet_back(c, a):
    return c * np.linalg.inv(a).T


@right("solve", lambda rng, size: (_spd(rng), rng.normal(size=3)), np.linalg.solve)
def solve_back(c, a, b):
    db = np.linalg.solve(a.T, c)
    return -np.outer(db, np.linalg.solve(a, b)), db


def _spd(rng):
    a = rng.normal(size=(3, 3))
    return a @ a.T + 3 * np.eye(3)


@right("bilinear form", shapes((3,), (3, 4), (4,)), lambda x, a, y: x @ a @ y)
def bilinear_back(c, x, a, y):
    return c * (a @ y), c * np.outer(x, y), c * (x @ a)


@right("cumulative product", positive((5,)), np.cumprod)
def cumprod_back(c, x):
    return np.cumsum((c * np.cumprod(x))[::-1])[::-1] / x


@right("residual block", shapes((3, 4), (4, 4), (4, 4)), lambda x, a, b: x + np.tanh(x @ a) @ b)
def residual_back(c, x, a, b):
    h = np.tanh(x @ a)
    d = (c @ b.T) * (1 - h**2)
    return c + d @ a.T, x.T @ d, h.T @ c


@right("multi-head attention", shapes((2, 3, 4), (2, 3, 4), (2, 3, 4)),
       lambda q, k, v: softmax(q @ k.transpose(0, 2, 1) / 2) @ v)  # fmt: skip
def heads_back(c, q, k, v):
    a = softmax(q @ k.transpose(0, 2, 1) / 2)
    da = c @ v.transpose(0, 2, 1)
    ds = a * (da - np.sum(da * a, axis=-1, keepdims=True)) / 2
    return ds @ k, ds.transpose(0, 2, 1) @ q, a.transpose(0, 2, 1) @ c
