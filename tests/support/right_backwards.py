"""Backward passes as engineers write them: forward, backward, and how to draw the arguments."""

from collections.abc import Callable
from math import erf
from typing import Any

import numpy as np

Maker = Callable[[np.random.Generator, int], tuple[Any, ...]]
RIGHT: dict[str, tuple[Callable[..., Any], Callable[..., Any], Maker]] = {}
LABELS = np.array([0, 2, 1])
ERF = np.vectorize(erf)


def shapes(*wanted: tuple[int, ...]) -> Maker:
    """Standard normal arguments; the size stretches the first axis."""

    def make(rng: np.random.Generator, size: int) -> tuple[Any, ...]:
        return tuple(rng.normal(size=shape) for shape in wanted)

    return make


def right(name: str, make: Maker, forward: Callable[..., Any]) -> Callable[..., Any]:
    """Enter a forward with the backward that is decorated."""

    def enter(backward: Callable[..., Any]) -> Callable[..., Any]:
        RIGHT[name] = forward, backward, make
        return backward

    return enter


def softmax(x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


@right("softmax", shapes((3, 4)), softmax)
def softmax_back(c, x):
    y = softmax(x)
    return y * (c - np.sum(c * y, axis=-1, keepdims=True))


def log_softmax(x):
    z = x - np.max(x, axis=-1, keepdims=True)
    return z - np.log(np.sum(np.exp(z), axis=-1, keepdims=True))


@right("log-softmax", shapes((3, 4)), log_softmax)
def log_softmax_back(c, x):
    return c - softmax(x) * np.sum(c, axis=-1, keepdims=True)


def logsumexp(x):
    top = np.max(x, axis=-1, keepdims=True)
    return np.log(np.sum(np.exp(x - top), axis=-1)) + top[..., 0]


@right("logsumexp", shapes((3, 4)), logsumexp)
def logsumexp_back(c, x):
    return softmax(x) * c[:, None]


def cross_entropy(x):
    return -np.mean(log_softmax(x)[np.arange(3), LABELS])


@right("cross-entropy", shapes((3, 4)), cross_entropy)
def cross_entropy_back(c, x):
    return c * (softmax(x) - np.eye(4)[LABELS]) / 3


def layer_norm(x, gamma, beta):
    centred = x - np.mean(x, axis=-1, keepdims=True)
    return gamma * centred / np.sqrt(np.mean(centred**2, axis=-1, keepdims=True) + 1e-5) + beta


@right("layer norm", shapes((3, 5), (5,), (5,)), layer_norm)
def layer_norm_back(c, x, gamma, beta):
    centred = x - np.mean(x, axis=-1, keepdims=True)
    scale = 1 / np.sqrt(np.mean(centred**2, axis=-1, keepdims=True) + 1e-5)
    hat, g = centred * scale, c * gamma
    inner = np.mean(g * hat, axis=-1, keepdims=True)
    dx = scale * (g - np.mean(g, axis=-1, keepdims=True) - hat * inner)
    return dx, np.sum(c * hat, axis=0), np.sum(c, axis=0)


def batch_norm(x, gamma, beta):
    centred = x - np.mean(x, axis=0)
    return gamma * centred / np.sqrt(np.mean(centred**2, axis=0) + 1e-5) + beta


@right("batch norm", shapes((6, 3), (3,), (3,)), batch_norm)
def batch_norm_back(c, x, gamma, beta):
    n = len(x)
    centred = x - np.mean(x, axis=0)
    scale = 1 / np.sqrt(np.mean(centred**2, axis=0) + 1e-5)
    hat = centred * scale
    dgamma, dbeta = np.sum(c * hat, axis=0), np.sum(c, axis=0)
    return gamma * scale / n * (n * c - dbeta - hat * dgamma), dgamma, dbeta


def attention(q, k, v):
    return softmax(q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])) @ v


@right("attention", shapes((3, 4), (5, 4), (5, 2)), attention)
def attention_back(c, q, k, v):
    a = softmax(q @ k.T / np.sqrt(q.shape[-1]))
    da = c @ v.T
    ds = a * (da - np.sum(da * a, axis=-1, keepdims=True)) / np.sqrt(q.shape[-1])
    return ds @ k, ds.T @ q, a.T @ c


def conv(x, w):
    return np.stack([np.sum(x[i : i + len(w)] * w) for i in range(len(x) - len(w) + 1)])


@right("convolution", shapes((7,), (3,)), conv)
def conv_back(c, x, w):
    dx, dw = np.zeros(len(x)), np.zeros(len(w))
    for i in range(len(c)):
        for j in range(len(w)):
            dx[i + j] += c[i] * w[j]
            dw[j] += c[i] * x[i + j]
    return dx, dw


def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


@right("gelu by tanh", shapes((5,)), gelu_tanh)
def gelu_tanh_back(c, x):
    t = np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))
    inner = np.sqrt(2 / np.pi) * (1 + 3 * 0.044715 * x**2)
    return c * (0.5 * (1 + t) + 0.5 * x * (1 - t**2) * inner)


def gelu(x):
    from gradcheck.ops import TABLE  # noqa: PLC0415

    return 0.5 * x * (1 + TABLE["erf"](x / np.sqrt(2)))


@right("gelu", shapes((5,)), gelu)
def gelu_back(c, x):
    density = np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)
    return c * (0.5 * (1 + ERF(x / np.sqrt(2))) + x * density)


@right("sigmoid", shapes((5,)), lambda x: 1 / (1 + np.exp(-x)))
def sigmoid_back(c, x):
    y = 1 / (1 + np.exp(-x))
    return c * y * (1 - y)


@right("silu", shapes((5,)), lambda x: x / (1 + np.exp(-x)))
def silu_back(c, x):
    y = 1 / (1 + np.exp(-x))
    return c * y * (1 + x * (1 - y))


@right("softplus", shapes((5,)), lambda x: np.log1p(np.exp(-np.abs(x))) + np.maximum(x, 0))
def softplus_back(c, x):
    return c / (1 + np.exp(-x))


@right("relu", shapes((3, 4)), lambda x: np.maximum(x, 0))
def relu_back(c, x):
    return c * (x > 0)


@right("norm", shapes((5,)), lambda x: np.sqrt(np.sum(x**2)))
def norm_back(c, x):
    return c * x / np.sqrt(np.sum(x**2))


@right("cumsum", shapes((3, 4)), lambda x: np.cumsum(x, axis=1))
def cumsum_back(c, x):
    return np.cumsum(c[:, ::-1], axis=1)[:, ::-1]


def sorted_rows(x):
    return np.sort(x, axis=-1)


@right("sort", shapes((2, 5)), sorted_rows)
def sort_back(c, x):
    back = np.argsort(np.argsort(x, axis=-1), axis=-1)
    return np.take_along_axis(c, back, axis=-1)


@right("gather", shapes((5, 2)), lambda x: x[np.array([0, 3, 3, 1])])
def gather_back(c, x):
    g = np.zeros(x.shape)
    np.add.at(g, [0, 3, 3, 1], c)
    return g


@right("einsum", shapes((2, 3, 4), (4, 2)), lambda a, b: np.einsum("ijk,kl->lij", a, b))
def einsum_back(c, a, b):
    return np.einsum("lij,kl->ijk", c, b), np.einsum("lij,ijk->kl", c, a)


def mlp(x, w1, b1, w2):
    return np.tanh(x @ w1 + b1) @ w2


@right("tanh MLP", shapes((4, 3), (3, 5), (5,), (5, 2)), mlp)
def mlp_back(c, x, w1, b1, w2):
    h = np.tanh(x @ w1 + b1)
    dz = (c @ w2.T) * (1 - h**2)
    return dz @ w1.T, x.T @ dz, dz.sum(0), h.T @ c


@right("linear", shapes((4, 3), (3, 2), (2,)), lambda x, w, b: x @ w + b)
def linear_back(c, x, w, b):
    return c @ w.T, x.T @ c, c.sum(0)


@right("mean squared error", shapes((4, 2), (4, 2)), lambda p, t: np.mean((p - t) ** 2))
def mse_back(c, p, t):
    return 2 * c * (p - t) / p.size, 2 * c * (t - p) / p.size


@right("variance", shapes((4, 3)), lambda x: np.var(x, axis=0, ddof=1))
def var_back(c, x):
    return 2 * c * (x - x.mean(0)) / (len(x) - 1)


@right("transpose", shapes((3, 4)), lambda x: x.T)
def transpose_back(c, x):
    return c.T


@right("flip", shapes((3, 4)), lambda x: np.flip(x, axis=1))
def flip_back(c, x):
    return c[:, ::-1]


@right("permutation", shapes((6,)), lambda x: x[np.array([3, 0, 5, 1, 4, 2])])
def permutation_back(c, x):
    return c[np.argsort([3, 0, 5, 1, 4, 2])]


@right("outer", shapes((3,), (4,)), np.outer)
def outer_back(c, a, b):
    return c @ b, a @ c


@right("division", shapes((3, 4), (4,)), lambda a, b: a / b)
def division_back(c, a, b):
    return c / b, -np.sum(c * a / b**2, axis=0)


@right("product", shapes((4,)), np.prod)
def product_back(c, x):
    return c * np.prod(x) / x


@right("inverse", lambda rng, size: (rng.normal(size=(3, 3)) + 4 * np.eye(3),), np.linalg.inv)
def inverse_back(c, a):
    y = np.linalg.inv(a)
    return -y.T @ c @ y.T


@right("recurrence", shapes((4,), (4, 4)), lambda h, w: rolled(h, w)[-1])
def recurrence_back(c, h, w):
    states, dw = rolled(h, w), np.zeros(w.shape)
    for before, after in zip(states[-2::-1], states[:0:-1], strict=True):
        c = c * (1 - after**2)
        dw += np.outer(before, c)
        c = w @ c
    return c, dw


def rolled(h, w):
    states = [h]
    for _ in range(4):
        states.append(np.tanh(states[-1] @ w))
    return states
