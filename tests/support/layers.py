"""Layers and losses as they are written in courses and code bases, each with its backward pass.

`LAYERS` has for each name (forward, backward, how its arguments are drawn at a scale). They are
plain functions, so that `slips` can put a mistake into the text of a backward. `STEPS` has the
same for single steps.
"""

import math

import numpy as np

from gradcheck.ops import TABLE


def normal(*shapes):
    """Arguments of these shapes, all of one scale."""
    return lambda rng, scale: [rng.normal(size=shape) * scale for shape in shapes]


def first_scaled(*shapes):
    """The first argument has the scale; weights are of order one."""

    def make(rng, scale):
        first, *rest = (rng.normal(size=shape) for shape in shapes)
        return [first * scale, *rest]

    return make


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def softmax(x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def log_softmax(x):
    z = x - np.max(x, axis=-1, keepdims=True)
    return z - np.log(np.sum(np.exp(z), axis=-1, keepdims=True))


# -- affine ----------------------------------------------------------------------------------------


def dense(x, w, b):
    return x @ w + b


def dense_back(g, x, w, b):
    dx = g @ w.T
    dw = x.T @ g
    db = g.sum(axis=0)
    return dx, dw, db


def mlp(x, w1, b1, w2, b2):
    return np.maximum(0, x @ w1 + b1) @ w2 + b2


def mlp_back(g, x, w1, b1, w2, b2):  # noqa: PLR0917 - a layer's weights
    z = x @ w1 + b1
    h = np.maximum(0, z)
    dw2 = h.T @ g
    db2 = np.sum(g, axis=0)
    dh = g @ w2.T
    dz = dh * (z > 0)
    dw1 = x.T @ dz
    db1 = np.sum(dz, axis=0)
    dx = dz @ w1.T
    return dx, dw1, db1, dw2, db2


def bilinear(x, w, y):
    return np.einsum("ni,ijk,nj->nk", x, w, y)


def bilinear_back(g, x, w, y):
    dx = np.einsum("nk,ijk,nj->ni", g, w, y)
    dw = np.einsum("nk,ni,nj->ijk", g, x, y)
    dy = np.einsum("nk,ijk,ni->nj", g, w, x)
    return dx, dw, dy


def ridge(w, x, y):
    r = x @ w - y
    return np.mean(r**2) + 0.1 * np.sum(w**2)


def ridge_back(g, w, x, y):
    r = x @ w - y
    n = len(y)
    dr = 2 * r / n
    dw = x.T @ dr + 0.2 * w
    dx = np.outer(dr, w)
    return g * dw, g * dx, -g * dr


# -- convolutions and pools ------------------------------------------------------------------------


def padded(x, p=1):
    return np.pad(x, ((0, 0), (0, 0), (p, p), (p, p)))


def im2col(x, w, b):
    n, _, height, width = x.shape
    xp = padded(x)
    windows = np.lib.stride_tricks.sliding_window_view(xp, (3, 3), axis=(2, 3))
    cols = windows.transpose(0, 2, 3, 1, 4, 5).reshape(n * height * width, -1)
    out = cols @ w.reshape(len(w), -1).T + b
    return out.reshape(n, height, width, len(w)).transpose(0, 3, 1, 2)


def im2col_back(g, x, w, b):
    n, c, height, width = x.shape
    xp = padded(x)
    windows = np.lib.stride_tricks.sliding_window_view(xp, (3, 3), axis=(2, 3))
    cols = windows.transpose(0, 2, 3, 1, 4, 5).reshape(n * height * width, -1)
    flat = g.transpose(0, 2, 3, 1).reshape(-1, len(w))
    db = flat.sum(axis=0)
    dw = (flat.T @ cols).reshape(w.shape)
    dcols = (flat @ w.reshape(len(w), -1)).reshape(n, height, width, c, 3, 3)
    dxp = np.zeros(xp.shape)
    for i in range(3):
        for j in range(3):
            dxp[:, :, i : i + height, j : j + width] += dcols[:, :, :, :, i, j].transpose(
                0, 3, 1, 2
            )
    return dxp[:, :, 1:-1, 1:-1], dw, db


def max_pool(x):
    n, c, height, width = x.shape
    return x.reshape(n, c, height // 2, 2, width // 2, 2).max(axis=(3, 5))


def max_pool_back(g, x):
    n, c, height, width = x.shape
    blocks = x.reshape(n, c, height // 2, 2, width // 2, 2).transpose(0, 1, 2, 4, 3, 5)
    flat = blocks.reshape(n, c, height // 2, width // 2, 4)
    best = flat.argmax(axis=-1)
    d = np.zeros(flat.shape)
    np.put_along_axis(d, best[..., None], g[..., None], axis=-1)
    d = d.reshape(n, c, height // 2, width // 2, 2, 2).transpose(0, 1, 2, 4, 3, 5)
    return d.reshape(x.shape)


def avg_pool(x):
    n, c, height, width = x.shape
    return x.reshape(n, c, height // 2, 2, width // 2, 2).mean(axis=(3, 5))


def avg_pool_back(g, x):
    return np.repeat(np.repeat(g, 2, axis=2), 2, axis=3) / 4


# -- norms -----------------------------------------------------------------------------------------

EPS = 1e-5


def batch_norm(x, gamma, beta):
    mu = x.mean(axis=0)
    var = x.var(axis=0)
    hat = (x - mu) / np.sqrt(var + EPS)
    return gamma * hat + beta


def batch_norm_back(g, x, gamma, beta):
    n = x.shape[0]
    mu = x.mean(axis=0)
    var = x.var(axis=0)
    inv = 1 / np.sqrt(var + EPS)
    hat = (x - mu) * inv
    dgamma = np.sum(g * hat, axis=0)
    dbeta = np.sum(g, axis=0)
    dhat = g * gamma
    dvar = np.sum(dhat * (x - mu) * -0.5 * inv**3, axis=0)
    dmu = np.sum(-dhat * inv, axis=0)
    dx = dhat * inv + dvar * 2 * (x - mu) / n + dmu / n
    return dx, dgamma, dbeta


def layer_norm(x, gamma, beta):
    mu = x.mean(-1, keepdims=True)
    inv = (x.var(-1, keepdims=True) + EPS) ** -0.5
    return gamma * (x - mu) * inv + beta


def layer_norm_back(g, x, gamma, beta):
    mu = x.mean(-1, keepdims=True)
    inv = (x.var(-1, keepdims=True) + EPS) ** -0.5
    hat = (x - mu) * inv
    dgamma = (g * hat).sum(0)
    dbeta = g.sum(0)
    gh = g * gamma
    dx = inv * (gh - gh.mean(-1, keepdims=True) - hat * (gh * hat).mean(-1, keepdims=True))
    return dx, dgamma, dbeta


def rms_norm(x, gamma):
    return gamma * x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + EPS)


def rms_norm_back(g, x, gamma):
    d = x.shape[-1]
    rms = np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + EPS)
    dgamma = (g * x / rms).sum(axis=0)
    gg = g * gamma
    dx = gg / rms - x * (gg * x).sum(axis=-1, keepdims=True) / (d * rms**3)
    return dx, dgamma


# -- attention -------------------------------------------------------------------------------------


def attention(q, k, v):
    s = q @ k.T / np.sqrt(q.shape[-1])
    s = np.where(np.tri(len(q), dtype=bool), s, -1e30)
    return softmax(s) @ v


def attention_back(g, q, k, v):
    root = np.sqrt(q.shape[-1])
    s = q @ k.T / root
    s = np.where(np.tri(len(q), dtype=bool), s, -1e30)
    p = softmax(s)
    dv = p.T @ g
    dp = g @ v.T
    ds = p * (dp - (dp * p).sum(-1, keepdims=True))
    dq = ds @ k / root
    dk = ds.T @ q / root
    return dq, dk, dv


def heads(x, wq, wk, wv):
    q, k, v = (np.einsum("btd,dhe->bhte", x, w) for w in (wq, wk, wv))
    p = softmax(np.einsum("bhte,bhse->bhts", q, k) / np.sqrt(q.shape[-1]))
    return np.einsum("bhts,bhse->bthe", p, v)


def heads_back(g, x, wq, wk, wv):
    q, k, v = (np.einsum("btd,dhe->bhte", x, w) for w in (wq, wk, wv))
    scale = 1 / np.sqrt(q.shape[-1])
    p = softmax(np.einsum("bhte,bhse->bhts", q, k) * scale)
    dv = np.einsum("bhts,bthe->bhse", p, g)
    dp = np.einsum("bthe,bhse->bhts", g, v)
    ds = p * (dp - np.sum(dp * p, axis=-1, keepdims=True)) * scale
    dq = np.einsum("bhts,bhse->bhte", ds, k)
    dk = np.einsum("bhts,bhte->bhse", ds, q)
    dx = np.zeros_like(x)
    for d, w in ((dq, wq), (dk, wk), (dv, wv)):
        dx += np.einsum("bhte,dhe->btd", d, w)
    dwq, dwk, dwv = (np.einsum("btd,bhte->dhe", x, d) for d in (dq, dk, dv))
    return dx, dwq, dwk, dwv


# -- recurrent -------------------------------------------------------------------------------------


def rnn(xs, h0, wx, wh, b):
    h, out = h0, []
    for x in xs:
        h = np.tanh(x @ wx + h @ wh + b)
        out.append(h)
    return np.stack(out)


def rnn_back(g, xs, h0, wx, wh, b):  # noqa: PLR0917 - a layer's weights
    hs = [h0]
    for x in xs:
        hs.append(np.tanh(x @ wx + hs[-1] @ wh + b))
    dxs, dwx, dwh, db = np.zeros_like(xs), np.zeros_like(wx), np.zeros_like(wh), np.zeros_like(b)
    dh = np.zeros_like(h0)
    for t in reversed(range(len(xs))):
        dh = dh + g[t]
        dz = dh * (1 - hs[t + 1] ** 2)
        dxs[t] = dz @ wx.T
        dwx += xs[t].T @ dz
        dwh += hs[t].T @ dz
        db += dz.sum(0)
        dh = dz @ wh.T
    return dxs, dh, dwx, dwh, db


def lstm(x, h, c, w, u, b):  # noqa: PLR0917 - a layer's weights
    i, f, o, a = np.split(x @ w + h @ u + b, 4, axis=1)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(a)
    return sigmoid(o) * np.tanh(c)


def lstm_back(g, x, h, c, w, u, b):  # noqa: PLR0917 - a layer's weights
    i, f, o, a = np.split(x @ w + h @ u + b, 4, axis=1)
    i, f, o, a = sigmoid(i), sigmoid(f), sigmoid(o), np.tanh(a)
    tc = np.tanh(f * c + i * a)
    do = g * tc
    dc = g * o * (1 - tc**2)
    di = dc * a
    df = dc * c
    da = dc * i
    dz = np.concatenate(
        [di * i * (1 - i), df * f * (1 - f), do * o * (1 - o), da * (1 - a**2)], axis=1
    )
    return dz @ w.T, dz @ u.T, dc * f, x.T @ dz, h.T @ dz, dz.sum(0)


# -- picking ---------------------------------------------------------------------------------------

IDS = np.array([[0, 2, 2], [3, 0, 1]])
KEEP = np.array([[1, 0, 1, 1], [0, 1, 1, 0], [1, 1, 0, 1]], bool)
LABELS = np.array([2, 0, 1, 2])


def embedding(table):
    return table[IDS].mean(axis=1)


def embedding_back(g, table):
    d = np.zeros_like(table)
    np.add.at(d, IDS, g[:, None, :] / IDS.shape[1])
    return d


def dropout(x):
    return x * KEEP / 0.6


def dropout_back(g, x):
    return g * KEEP / 0.6


def upsample(x):
    return x.repeat(2, axis=0).repeat(3, axis=1)


def upsample_back(g, x):
    h, w = x.shape
    return g.reshape(h, 2, w, 3).sum(axis=(1, 3))


# -- activations and losses ------------------------------------------------------------------------


def cross_entropy(z):
    p = softmax(z)
    return -np.mean(np.log(p[np.arange(len(z)), LABELS]))


def cross_entropy_back(g, z):
    d = softmax(z)
    d[np.arange(len(z)), LABELS] -= 1
    d /= len(z)
    return g * d


def bce(z, t):
    return np.mean(3 * t * np.logaddexp(0, -z) + (1 - t) * np.logaddexp(0, z))


def bce_back(g, z, t):
    s = sigmoid(z)
    dz = 3 * t * (s - 1) + (1 - t) * s
    dt = 3 * np.logaddexp(0, -z) - np.logaddexp(0, z)
    return g * dz / z.size, g * dt / z.size


def huber(x, y):
    d = np.abs(x - y)
    return np.where(d <= 1, 0.5 * d**2, d - 0.5).sum()


def huber_back(g, x, y):
    d = x - y
    slope = np.where(np.abs(d) <= 1, d, np.sign(d))
    return g * slope, -g * slope


def hinge(s):
    correct = s[np.arange(len(s)), LABELS][:, None]
    margins = np.maximum(0, s - correct + 1)
    margins[np.arange(len(s)), LABELS] = 0
    return margins.sum() / len(s)


def hinge_back(g, s):
    n = len(s)
    correct = s[np.arange(n), LABELS][:, None]
    mask = (s - correct + 1 > 0).astype(float)
    mask[np.arange(n), LABELS] = 0
    mask[np.arange(n), LABELS] = -mask.sum(axis=1)
    return g * mask / n


def gaussian_kl(mu, logvar):
    return -0.5 * np.sum(1 + logvar - mu**2 - np.exp(logvar))


def gaussian_kl_back(g, mu, logvar):
    return g * mu, g * 0.5 * (np.exp(logvar) - 1)


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def gelu_back(g, x):
    k = np.sqrt(2 / np.pi)
    t = np.tanh(k * (x + 0.044715 * x**3))
    slope = 0.5 * (1 + t) + 0.5 * x * (1 - t**2) * k * (1 + 3 * 0.044715 * x**2)
    return g * slope


def info_nce(a, b):
    s = a @ b.T / 0.5
    top = s.max(1)
    return np.mean(top + np.log(np.exp(s - top[:, None]).sum(1)) - np.diag(s))


def info_nce_back(g, a, b):
    n = len(a)
    p = softmax(a @ b.T / 0.5)
    ds = g * (p - np.eye(n)) / n / 0.5
    return ds @ b, ds.T @ a


def residual(x, w):
    y = np.tanh(x @ w)
    return x + y * y


def residual_back(g, x, w):
    y = np.tanh(x @ w)
    dy = 2 * g * y
    dz = dy * (1 - y**2)
    return g + dz @ w.T, x.T @ dz


LAYERS = {
    "dense": (dense, dense_back, first_scaled((4, 3), (3, 5), 5)),
    "mlp": (mlp, mlp_back, first_scaled((5, 3), (3, 4), 4, (4, 2), 2)),
    "bilinear": (bilinear, bilinear_back, first_scaled((4, 3), (3, 3, 2), (4, 3))),
    "ridge": (ridge, ridge_back, first_scaled(3, (6, 3), 6)),
    "conv, im2col": (im2col, im2col_back, first_scaled((2, 2, 4, 3), (3, 2, 3, 3), 3)),
    "max pool": (max_pool, max_pool_back, normal((2, 2, 4, 4))),
    "average pool": (avg_pool, avg_pool_back, normal((2, 1, 4, 2))),
    "batch norm": (batch_norm, batch_norm_back, first_scaled((5, 3), 3, 3)),
    "layer norm": (layer_norm, layer_norm_back, first_scaled((4, 5), 5, 5)),
    "rms norm": (rms_norm, rms_norm_back, first_scaled((3, 4), 4)),
    "attention": (attention, attention_back, first_scaled((4, 3), (4, 3), (4, 2))),
    "heads": (heads, heads_back, first_scaled((2, 3, 4), (4, 2, 2), (4, 2, 2), (4, 2, 2))),
    "rnn": (rnn, rnn_back, first_scaled((3, 2, 2), (2, 3), (2, 3), (3, 3), 3)),
    "lstm": (lstm, lstm_back, first_scaled((2, 2), (2, 2), (2, 2), (2, 8), (2, 8), 8)),
    "embedding bag": (embedding, embedding_back, normal((5, 3))),
    "dropout": (dropout, dropout_back, normal((3, 4))),
    "upsample": (upsample, upsample_back, normal((2, 3))),
    "cross-entropy": (cross_entropy, cross_entropy_back, normal((4, 3))),
    "weighted bce": (bce, bce_back, lambda rng, scale: [rng.normal(size=5) * scale, rng.random(5)]),
    "huber": (huber, huber_back, normal(6, 6)),
    "multiclass hinge": (hinge, hinge_back, normal((4, 3))),
    "gaussian kl": (gaussian_kl, gaussian_kl_back, normal((2, 3), (2, 3))),
    "gelu": (gelu, gelu_back, normal(7)),
    "info nce": (info_nce, info_nce_back, normal((4, 3), (4, 3))),
    "residual": (residual, residual_back, first_scaled((3, 3), (3, 3))),
}

# -- single steps ----------------------------------------------------------------------------------

PICKED, ORDER = [0, 3, 3, 1], [3, 0, 5, 1, 4, 2]
ERF = np.vectorize(math.erf)


def softmax_back(g, x):
    y = softmax(x)
    return y * (g - np.sum(g * y, axis=-1, keepdims=True))


def exact_gelu_back(g, x):
    density = np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)
    return g * (0.5 * (1 + ERF(x / np.sqrt(2))) + x * density)


def gather_back(g, x):
    d = np.zeros(x.shape)
    np.add.at(d, PICKED, g)
    return d


def sort_back(g, x):
    return np.take_along_axis(g, np.argsort(np.argsort(x, axis=-1), axis=-1), axis=-1)


def inverse_back(g, a):
    y = np.linalg.inv(a)
    return -y.T @ g @ y.T


STEPS = {
    "softmax": (softmax, softmax_back, normal((3, 4))),
    "log-softmax": (
        log_softmax, lambda g, x: g - softmax(x) * np.sum(g, axis=-1, keepdims=True),
        normal((3, 4)),
    ),
    "sigmoid": (sigmoid, lambda g, x: g * sigmoid(x) * (1 - sigmoid(x)), normal(5)),
    "silu": (
        lambda x: x * sigmoid(x), lambda g, x: g * sigmoid(x) * (1 + x * (1 - sigmoid(x))),
        normal(5),
    ),
    "softplus": (
        lambda x: np.log1p(np.exp(-np.abs(x))) + np.maximum(x, 0), lambda g, x: g * sigmoid(x),
        normal(5),
    ),
    "gelu, exact": (
        lambda x: 0.5 * x * (1 + TABLE["erf"](x / np.sqrt(2))), exact_gelu_back, normal(5)
    ),
    "norm": (
        lambda x: np.sqrt(np.sum(x**2)), lambda g, x: g * x / np.sqrt(np.sum(x**2)), normal(5)
    ),
    "variance": (
        lambda x: np.var(x, axis=0, ddof=1), lambda g, x: 2 * g * (x - x.mean(0)) / (len(x) - 1),
        normal((4, 3)),
    ),
    "cumsum": (
        lambda x: np.cumsum(x, axis=1), lambda g, x: np.cumsum(g[:, ::-1], axis=1)[:, ::-1],
        normal((3, 4)),
    ),
    "sort": (lambda x: np.sort(x, axis=-1), sort_back, normal((2, 5))),
    "gather": (lambda x: x[PICKED], gather_back, normal((5, 2))),
    "permutation": (lambda x: x[ORDER], lambda g, x: g[np.argsort(ORDER)], normal(6)),
    "transpose": (lambda x: x.T, lambda g, x: g.T, normal((3, 4))),
    "outer": (np.outer, lambda g, a, b: (g @ b, a @ g), normal(3, 4)),
    "division": (
        lambda a, b: a / b, lambda g, a, b: (g / b, -np.sum(g * a / b**2, axis=0)),
        normal((3, 4), 4),
    ),
    "product": (np.prod, lambda g, x: g * np.prod(x) / x, normal(4)),
    "inverse": (
        np.linalg.inv, inverse_back,
        lambda rng, scale: [(rng.normal(size=(3, 3)) + 4 * np.eye(3)) * scale],
    ),
}  # fmt: skip
"""A forward, its backward and its arguments for single steps: most layers are made of these."""
