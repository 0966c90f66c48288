"""Mistakes in the backward passes of whole layers, with the names that a reviewer accepts."""

import numpy as np

import tests.support.right_backwards as rb
import tests.support.right_layers as rl
from tests.support.right_layers import sigmoid
from tests.support.wrong_backwards import (
    AXIS,
    CHAIN,
    EXTRA,
    IDS,
    MASK,
    MEAN,
    PATH,
    ROUTE,
    SIGN,
    SUM,
    SUMMED,
    TURNED,
    TWICE,
    TWO,
    UPSTREAM,
    WRONG,
)

RNG = np.random.default_rng(8)
MADE = {name: make(np.random.default_rng(3), 1) for name, (_, _, make) in rb.RIGHT.items()}


def wrong(title, of, names):
    """Enter a wrong backward of a layer."""

    def enter(backward):
        WRONG[title] = rb.RIGHT[of][0], backward, MADE[of], names
        return backward

    return enter


@wrong("layer norm, mean constant", "layer norm", PATH)
def _(c, x, gamma, beta):
    centred = x - np.mean(x, axis=-1, keepdims=True)
    scale = 1 / np.sqrt(np.mean(centred**2, axis=-1, keepdims=True) + 1e-5)
    hat, g = centred * scale, c * gamma
    dx = scale * (g - hat * np.mean(g * hat, axis=-1, keepdims=True))
    return dx, np.sum(c * hat, axis=0), np.sum(c, axis=0)


@wrong("layer norm, variance constant", "layer norm", PATH)
def _(c, x, gamma, beta):
    centred = x - np.mean(x, axis=-1, keepdims=True)
    scale = 1 / np.sqrt(np.mean(centred**2, axis=-1, keepdims=True) + 1e-5)
    hat, g = centred * scale, c * gamma
    dx = scale * (g - np.mean(g, axis=-1, keepdims=True))
    return dx, np.sum(c * hat, axis=0), np.sum(c, axis=0)


@wrong("layer norm, wrong axis", "layer norm", AXIS)
def _(c, x, gamma, beta):
    centred = x - np.mean(x, axis=-1, keepdims=True)
    scale = 1 / np.sqrt(np.mean(centred**2, axis=-1, keepdims=True) + 1e-5)
    hat, g = centred * scale, c * gamma
    inner = np.mean(g * hat, axis=0, keepdims=True)
    dx = scale * (g - np.mean(g, axis=-1, keepdims=True) - hat * inner)
    return dx, np.sum(c * hat, axis=0), np.sum(c, axis=0)


@wrong("layer norm, gamma left out", "layer norm", CHAIN | PATH)
def _(c, x, gamma, beta):
    centred = x - np.mean(x, axis=-1, keepdims=True)
    scale = 1 / np.sqrt(np.mean(centred**2, axis=-1, keepdims=True) + 1e-5)
    hat, g = centred * scale, c
    inner = np.mean(g * hat, axis=-1, keepdims=True)
    dx = scale * (g - np.mean(g, axis=-1, keepdims=True) - hat * inner)
    return dx, np.sum(c * hat, axis=0), np.sum(c, axis=0)


@wrong("layer norm, gamma's gradient at x", "layer norm",
       {"another-name", "wrong-tensor-in-derivative"})  # fmt: skip
def _(c, x, gamma, beta):
    centred = x - np.mean(x, axis=-1, keepdims=True)
    scale = 1 / np.sqrt(np.mean(centred**2, axis=-1, keepdims=True) + 1e-5)
    hat, g = centred * scale, c * gamma
    inner = np.mean(g * hat, axis=-1, keepdims=True)
    dx = scale * (g - np.mean(g, axis=-1, keepdims=True) - hat * inner)
    return dx, np.sum(c * x, axis=0), np.sum(c, axis=0)


@wrong("batch norm, statistics constant", "batch norm", PATH)
def _(c, x, gamma, beta):
    centred = x - np.mean(x, axis=0)
    scale = 1 / np.sqrt(np.mean(centred**2, axis=0) + 1e-5)
    return gamma * scale * c, np.sum(c * centred * scale, axis=0), np.sum(c, axis=0)


@wrong("batch norm, no n", "batch norm", SUM | MEAN | CHAIN)
def _(c, x, gamma, beta):
    n = len(x)
    centred = x - np.mean(x, axis=0)
    scale = 1 / np.sqrt(np.mean(centred**2, axis=0) + 1e-5)
    hat = centred * scale
    dgamma, dbeta = np.sum(c * hat, axis=0), np.sum(c, axis=0)
    return gamma * scale / n * (c - dbeta - hat * dgamma), dgamma, dbeta


@wrong("batch norm, plus", "batch norm", SIGN)
def _(c, x, gamma, beta):
    n = len(x)
    centred = x - np.mean(x, axis=0)
    scale = 1 / np.sqrt(np.mean(centred**2, axis=0) + 1e-5)
    hat = centred * scale
    dgamma, dbeta = np.sum(c * hat, axis=0), np.sum(c, axis=0)
    return gamma * scale / n * (n * c - dbeta + hat * dgamma), dgamma, dbeta


@wrong("attention, not scaled", "attention", CHAIN | {"constant-factor-lost"})
def _(c, q, k, v):
    a = rb.softmax(q @ k.T / np.sqrt(q.shape[-1]))
    da = c @ v.T
    ds = a * (da - np.sum(da * a, axis=-1, keepdims=True))
    return ds @ k, ds.T @ q, a.T @ c


@wrong("attention, keys and values", "attention", {"arguments-swapped", "broadcast-not-summed"})
def _(c, q, k, v):
    a = rb.softmax(q @ k.T / np.sqrt(q.shape[-1]))
    da = c @ v.T
    ds = a * (da - np.sum(da * a, axis=-1, keepdims=True)) / np.sqrt(q.shape[-1])
    return ds @ k, a.T @ c, ds.T @ q


@wrong("attention, softmax's sum", "attention", PATH)
def _(c, q, k, v):
    a = rb.softmax(q @ k.T / np.sqrt(q.shape[-1]))
    ds = a * (c @ v.T) / np.sqrt(q.shape[-1])
    return ds @ k, ds.T @ q, a.T @ c


@wrong("attention, sum over the batch", "attention", AXIS)
def _(c, q, k, v):
    a = rb.softmax(q @ k.T / np.sqrt(q.shape[-1]))
    da = c @ v.T
    ds = a * (da - np.sum(da * a, axis=0, keepdims=True)) / np.sqrt(q.shape[-1])
    return ds @ k, ds.T @ q, a.T @ c


@wrong("network, activation at z", "tanh MLP", {"another-name", "function-too-many"} | CHAIN
       | {"wrong-tensor-in-derivative"})  # fmt: skip
def _(c, x, w1, b1, w2):
    z = x @ w1 + b1
    h = np.tanh(z)
    dz = (c @ w2.T) * (1 - z**2)
    return dz @ w1.T, x.T @ dz, dz.sum(0), h.T @ c


@wrong("network, no activation", "tanh MLP", CHAIN)
def _(c, x, w1, b1, w2):
    h = np.tanh(x @ w1 + b1)
    dz = c @ w2.T
    return dz @ w1.T, x.T @ dz, dz.sum(0), h.T @ c


@wrong("network, bias meant", "tanh MLP", SUMMED)
def _(c, x, w1, b1, w2):
    h = np.tanh(x @ w1 + b1)
    dz = (c @ w2.T) * (1 - h**2)
    return dz @ w1.T, x.T @ dz, dz.mean(0), h.T @ c


@wrong("network, second weight at x", "tanh MLP", {"another-name", "wrong-tensor-in-derivative"}
       | CHAIN)  # fmt: skip
def _(c, x, w1, b1, w2):
    z = x @ w1 + b1
    h = np.tanh(z)
    dz = (c @ w2.T) * (1 - h**2)
    return dz @ w1.T, x.T @ dz, dz.sum(0), z.T @ c


@wrong("linear, bias over the wrong axis", "linear", AXIS | SUMMED)
def _(c, x, w, b):
    return c @ w.T, x.T @ c, c.sum(1)[:2]


@wrong("linear, averaged over the batch", "linear", MEAN)
def _(c, x, w, b):
    return c @ w.T, x.T @ c / len(x), c.sum(0)


@wrong("convolution, overwritten", "convolution", {"overwritten-not-accumulated"})
def _(c, x, w):
    dx, dw = np.zeros(len(x)), np.zeros(len(w))
    for i in range(len(c)):
        for j in range(len(w)):
            dx[i + j] = c[i] * w[j]
            dw[j] += c[i] * x[i + j]
    return dx, dw


@wrong("convolution, off by one", "convolution", {"coefficient-slip", "another-name"})
def _(c, x, w):
    dx, dw = np.zeros(len(x)), np.zeros(len(w))
    for i in range(len(c)):
        for j in range(len(w)):
            dx[i + j] += c[i] * w[j]
            dw[j] += c[i] * x[i + j - 1]
    return dx, dw


@wrong("im2col, patches overwritten", "conv2d by im2col", {"overwritten-not-accumulated"})
def _(c, x, w, b):
    dc, dx = c @ w.T, np.zeros(x.shape)
    for k, (i, j) in enumerate(np.ndindex(3, 4)):
        dx[i : i + 2, j : j + 2] = dc[k].reshape(2, 2)
    return dx, rl.columns(x).T @ c, c.sum(0)


@wrong("im2col, patches transposed", "conv2d by im2col", TURNED)
def _(c, x, w, b):
    dc, dx = c @ w.T, np.zeros(x.shape)
    for k, (i, j) in enumerate(np.ndindex(3, 4)):
        dx[i : i + 2, j : j + 2] += dc[k].reshape(2, 2).T
    return dx, rl.columns(x).T @ c, c.sum(0)


@wrong("im2col, bias meant", "conv2d by im2col", SUMMED)
def _(c, x, w, b):
    dc, dx = c @ w.T, np.zeros(x.shape)
    for k, (i, j) in enumerate(np.ndindex(3, 4)):
        dx[i : i + 2, j : j + 2] += dc[k].reshape(2, 2)
    return dx, rl.columns(x).T @ c, c.mean(0)


@wrong("max pooling, shared", "max pooling", MASK | CHAIN | ROUTE)
def _(c, x):
    return np.repeat(np.repeat(c, 2, axis=0), 2, axis=1)


@wrong("max pooling, meaned", "max pooling", MASK)
def _(c, x):
    return np.repeat(np.repeat(c, 2, axis=0), 2, axis=1) / 4


@wrong("mean pooling, not divided", "mean pooling", SUM | {"coefficient-slip"} | CHAIN)
def _(c, x):
    return np.repeat(np.repeat(c, 2, axis=0), 2, axis=1)


@wrong("gather, overwritten", "gather", ROUTE)
def _(c, x):
    g = np.zeros(x.shape)
    g[IDS] = c
    return g


@wrong("gather, += overwrites", "gather", ROUTE)
def _(c, x):
    g = np.zeros(x.shape)
    g[IDS] += c
    return g


@wrong("rms norm, root constant", "rms norm", PATH)
def _(c, x, g):
    r = np.sqrt(np.mean(x**2, axis=-1, keepdims=True))
    return g * c / r, np.sum(c * x / r, axis=0)


@wrong("rms norm, square for cube", "rms norm", {"coefficient-slip"} | EXTRA)
def _(c, x, g):
    r = np.sqrt(np.mean(x**2, axis=-1, keepdims=True))
    gc = g * c
    return gc / r - x * np.mean(gc * x, axis=-1, keepdims=True) / r**2, np.sum(c * x / r, axis=0)


@wrong("rms norm, sum for mean", "rms norm", SUM)
def _(c, x, g):
    r = np.sqrt(np.mean(x**2, axis=-1, keepdims=True))
    gc = g * c
    return gc / r - x * np.sum(gc * x, axis=-1, keepdims=True) / r**3, np.sum(c * x / r, axis=0)


@wrong("lstm, tanh forgotten", "lstm cell", CHAIN)
def _(c, z, kept):
    i, f, o, g = np.split(z, 4, axis=-1)
    i, f, o, g = sigmoid(i), sigmoid(f), sigmoid(o), np.tanh(g)
    t = np.tanh(f * kept + i * g)
    d = c * o
    di, df, do = d * g * i * (1 - i), d * kept * f * (1 - f), c * t * o * (1 - o)
    return np.concatenate([di, df, do, d * i * (1 - g**2)], axis=-1), d * f


@wrong("lstm, gates swapped", "lstm cell", {"arguments-swapped", "another-name"})
def _(c, z, kept):
    i, f, o, g = np.split(z, 4, axis=-1)
    i, f, o, g = sigmoid(i), sigmoid(f), sigmoid(o), np.tanh(g)
    t = np.tanh(f * kept + i * g)
    d = c * o * (1 - t**2)
    di, df, do = d * kept * i * (1 - i), d * kept * f * (1 - f), c * t * o * (1 - o)
    return np.concatenate([di, df, do, d * i * (1 - g**2)], axis=-1), d * f


@wrong("gru, gate's sign", "gru gate", SIGN)
def _(c, h, n, z):
    s, t = sigmoid(z), np.tanh(n)
    return c * s, c * (1 - s) * (1 - t**2), c * (t - h) * s * (1 - s)


@wrong("glu, gate's derivative", "glu", CHAIN)
def _(c, x):
    s = sigmoid(x[:, 3:])
    return np.hstack([c * s, c * x[:, :3] * s])


@wrong("glu, halves swapped", "glu", {"arguments-swapped"})
def _(c, x):
    s = sigmoid(x[:, 3:])
    return np.hstack([c * x[:, :3] * s * (1 - s), c * s])


@wrong("binary cross-entropy, summed", "binary cross-entropy with logits", SUM)
def _(c, x):
    return c * (sigmoid(x) - rl.LOGITS)


@wrong("binary cross-entropy, sign", "binary cross-entropy with logits", SIGN)
def _(c, x):
    return c * (rl.LOGITS - sigmoid(x)) / x.size


@wrong("kl, path through the weights", "kl divergence", PATH)
def _(c, a, b):
    p, d = rb.softmax(a), rb.log_softmax(a) - rb.log_softmax(b)
    return c * p * d, c * (rb.softmax(b) - p)


@wrong("cosine, norms constant", "cosine similarity", PATH)
def _(c, a, b):
    m, n = np.linalg.norm(a), np.linalg.norm(b)
    return c * b / (m * n), c * a / (m * n)


@wrong("rows of length one, norm not squared", "rows of length one",
       {"power-dropped", "divisor-dropped", "coefficient-slip"})  # fmt: skip
def _(c, x):
    n = np.linalg.norm(x, axis=-1, keepdims=True)
    return (c - x * np.sum(c * x, axis=-1, keepdims=True) / n) / n


@wrong("deviation, no n", "standard deviation", SUM | MEAN)
def _(c, x):
    return c * (x - x.mean(0)) / x.std(0)


@wrong("deviation, ddof", "standard deviation", {"ddof"})
def _(c, x):
    return c * (x - x.mean(0)) / (x.std(0) * (len(x) - 1))


@wrong("causal, mask in the wrong place", "causal attention", PATH | CHAIN)
def _(c, s, v):
    a = rl.causal(s)
    da = c @ v.T
    return a * da, a.T @ c


@wrong("rotary, not turned back", "rotary embedding", SIGN)
def _(c, x):
    a, b = c[:, 0::2], c[:, 1::2]
    s, t = np.sin(rl.ANGLES), np.cos(rl.ANGLES)
    return np.stack([a * t - b * s, a * s + b * t], axis=-1).reshape(x.shape)


@wrong("upsampling, averaged", "nearest upsampling", MEAN)
def _(c, x):
    return c.reshape(2, 2, 3, 2).mean(axis=(1, 3))


@wrong("weight norm, direction kept", "weight normalisation", PATH)
def _(c, v, g):
    n = np.linalg.norm(v, axis=0)
    return g / n * c, np.sum(c * v / n, axis=0)


@wrong("contrastive, one side", "contrastive", TURNED)
def _(c, a, b):
    d = c * (rb.softmax(a @ b.T) - np.eye(4)) / 4
    return d @ b, d @ a


@wrong("log determinant, transpose", "bilinear form", {"another-name", "operands-swapped"}
       | TURNED)  # fmt: skip
def _(c, x, a, y):
    return c * (a @ y), c * np.outer(x, y), c * (y[:3] @ a)


@wrong("solve, sign", "solve", SIGN)
def _(c, a, b):
    db = np.linalg.solve(a.T, c)
    return np.outer(db, np.linalg.solve(a, b)), db


@wrong("solve, transpose", "solve", TURNED)
def _(c, a, b):
    db = np.linalg.solve(a, c)
    return -np.outer(db, np.linalg.solve(a, b)), db


@wrong("residual, block forgotten", "residual block", PATH)
def _(c, x, a, b):
    h = np.tanh(x @ a)
    d = (c @ b.T) * (1 - h**2)
    return d @ a.T, x.T @ d, h.T @ c


@wrong("residual, twice", "residual block", TWICE)
def _(c, x, a, b):
    h = np.tanh(x @ a)
    d = (c @ b.T) * (1 - h**2)
    return 2 * c + d @ a.T, x.T @ d, h.T @ c


@wrong("recurrence, overwritten", "recurrence", {"overwritten-not-accumulated"} | PATH)
def _(c, h, w):
    states, dw = rb.rolled(h, w), np.zeros(w.shape)
    for before, after in zip(states[-2::-1], states[:0:-1], strict=True):
        c = c * (1 - after**2)
        dw = np.outer(before, c)
        c = w @ c
    return c, dw


@wrong("recurrence, not transposed", "recurrence", TURNED)
def _(c, h, w):
    states, dw = rb.rolled(h, w), np.zeros(w.shape)
    for before, after in zip(states[-2::-1], states[:0:-1], strict=True):
        c = c * (1 - after**2)
        dw += np.outer(before, c)
        c = c @ w
    return c, dw


@wrong("gelu, the other formula", "gelu", {"wrong-function-derivative"})
def _(c, x):
    return rb.gelu_tanh_back(c, x)


@wrong("mish, sigmoid forgotten", "mish", CHAIN | PATH)
def _(c, x):
    t = np.tanh(np.logaddexp(0, x))
    return c * (t + x * (1 - t**2))


@wrong("huber, no clip", "huber", {"function-too-many"} | MASK | CHAIN)
def _(c, p, t):
    g = c * (p - t)
    return g, -g


@wrong("cumulative product, forwards", "cumulative product", {"not-flipped", "cumulated-forwards"})
def _(c, x):
    return np.cumsum(c * np.cumprod(x)) / x


@wrong("multi-head, cotangent lost", "multi-head attention", UPSTREAM | PATH | CHAIN)
def _(c, q, k, v):
    a = rb.softmax(q @ k.transpose(0, 2, 1) / 2)
    da = c @ v.transpose(0, 2, 1)
    ds = a * (da - np.sum(da * a, axis=-1, keepdims=True)) / 2
    return ds @ k, ds.transpose(0, 2, 1) @ q, a.transpose(0, 2, 1) @ np.ones_like(c)


@wrong("multi-head, factor", "multi-head attention", TWO | CHAIN | {"constant-factor-lost"})
def _(c, q, k, v):
    a = rb.softmax(q @ k.transpose(0, 2, 1) / 2)
    da = c @ v.transpose(0, 2, 1)
    ds = a * (da - np.sum(da * a, axis=-1, keepdims=True))
    return ds @ k, ds.transpose(0, 2, 1) @ q, a.transpose(0, 2, 1) @ c
