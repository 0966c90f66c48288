"""Right backward passes in the spellings that NumPy offers, near kinks, and with memory."""

import copy
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from tests.support.right_backwards import Maker, shapes

SPELLED: dict[str, tuple[Callable[..., Any], Callable[..., Any], Maker]] = {}


def spelled(name: str, make: Maker, forward: Callable[..., Any]) -> Callable[..., Any]:
    """Enter a forward with the backward that is decorated."""

    def enter(backward: Callable[..., Any]) -> Callable[..., Any]:
        SPELLED[name] = forward, backward, make
        return backward

    return enter


V5, M34 = shapes((5,)), shapes((3, 4))


def filled(x):
    out = np.zeros(5)
    for i in range(5):
        out[i] = x[i] ** 2 + (out[i - 1] if i else 0.0)
    return out


@spelled("a buffer of zeros filled", V5, filled)
def filled_back(c, x):
    return 2 * x * np.cumsum(c[::-1])[::-1]


def filled_rows(x, w):
    out = np.empty((len(x), w.shape[1]), dtype=x.dtype)
    for i, row in enumerate(x):
        out[i] = row @ w
    return out


@spelled("a buffer of rows", shapes((3, 4), (4, 2)), filled_rows)
def filled_rows_back(c, x, w):
    dx, dw = np.zeros_like(x), np.zeros_like(w)
    for i in range(len(x)):
        dx[i] = w @ c[i]
        dw += np.outer(x[i], c[i])
    return dx, dw


def into(x):
    out = np.empty_like(x)
    np.multiply(x, x, out=out)
    np.exp(out, out=out)
    return out


@spelled("out=", shapes((5,)), into)
def into_back(c, x):
    return 2 * x * np.exp(x * x) * c


def added_at(x):
    out = np.zeros(3)
    np.add.at(out, [0, 2, 2, 1, 0], x)
    return out


@spelled("np.add.at", V5, added_at)
def added_at_back(c, x):
    return c[[0, 2, 2, 1, 0]]


@spelled("np.array of a comprehension", V5, lambda x: np.array([v**2 + 1 for v in x]))
def comprehended_back(c, x):
    return np.array([2 * v * w for v, w in zip(x, c, strict=True)])


@spelled("math on each float", V5, lambda x: np.array([math.sin(v) for v in x]))
def math_back(c, x):
    return c * np.cos(x)


@spelled("np.fromiter", V5, lambda x: np.fromiter((v * v for v in x), dtype=float))
def fromiter_back(c, x):
    return 2 * c * x


@spelled("np.vectorize", V5, np.vectorize(lambda v: v**3))
def vectorized_back(c, x):
    return 3 * c * x**2


@spelled("apply_along_axis", M34, lambda x: np.apply_along_axis(np.cumsum, 1, x))
def along_axis_back(c, x):
    return np.cumsum(c[:, ::-1], axis=1)[:, ::-1]


@spelled("sliding windows", shapes((7,), (3,)), lambda x, w: sliding_window_view(x, 3) @ w)
def windows_back(c, x, w):
    return np.convolve(c, w), sliding_window_view(x, 3).T @ c


PADS = {
    "constant": lambda c: c[2:-1],
    "edge": lambda c: np.r_[c[:3].sum(), c[3:-2], c[-2:].sum()],
    "reflect": lambda c: c[2:-1] + np.r_[0, c[1], c[0], c[-1], 0],
    "wrap": lambda c: c[2:-1] + np.r_[c[-1], 0, 0, c[0], c[1]],
}
for mode, back in PADS.items():
    SPELLED[f"pad {mode}"] = (
        lambda x, mode=mode: np.pad(x, (2, 1), mode=mode),
        lambda c, x, back=back: back(c),
        V5,
    )


@spelled("select", V5, lambda x: np.select([x < -0.5, x > 0.5], [-x, x**2], 0.0))
def select_back(c, x):
    return c * np.select([x < -0.5, x > 0.5], [-np.ones_like(x), 2 * x], 0.0)


@spelled("piecewise", V5, lambda x: np.piecewise(x, [x < 0, x >= 0], [lambda t: t**2, np.expm1]))
def piecewise_back(c, x):
    return c * np.where(x < 0, 2 * x, np.exp(x))


@spelled(
    "multi_dot", shapes((2, 3), (3, 4), (4, 2)), lambda a, b, d: np.linalg.multi_dot([a, b, d])
)
def multi_dot_back(c, a, b, d):
    return c @ (b @ d).T, a.T @ c @ d.T, (a @ b).T @ c


@spelled("singular values", M34, lambda x: np.linalg.svd(x, compute_uv=False))
def singular_back(c, x):
    u, _, vt = np.linalg.svd(x, full_matrices=False)
    return (u * c) @ vt


def symmetric(a):
    return np.linalg.eigvalsh(a + a.T)


@spelled("eigenvalues", shapes((3, 3)), symmetric)
def eigen_back(c, a):
    v = np.linalg.eigh(a + a.T)[1]
    return 2 * (v * c) @ v.T


def reassembled(a):
    w, v = np.linalg.eigh(a + a.T)
    return v @ np.diag(w**2) @ v.T


@spelled("eigh reassembled", shapes((3, 3)), reassembled)
def squared_back(c, a):
    s = a + a.T
    d = c @ s + s @ c  # of s @ s, s symmetric
    return d + d.T


@spelled("qr", shapes((4, 3)), lambda a: np.abs(np.diag(np.linalg.qr(a)[1])).prod())
def qr_back(c, a):
    return c * np.sqrt(np.linalg.det(a.T @ a)) * np.linalg.pinv(a).T


@spelled("pinv", shapes((4, 2), (4,)), lambda a, b: np.linalg.pinv(a) @ b)
def pinv_back(c, a, b):
    p = np.linalg.pinv(a)
    x, inner = p @ b, np.linalg.inv(a.T @ a)
    return np.outer(b - a @ x, inner @ c) - np.outer(p.T @ c, x), p.T @ c


@spelled("fft", shapes((8,)), lambda x: np.abs(np.fft.rfft(x)) ** 2)
def fft_back(c, x):
    k, n = np.arange(5)[:, None], np.arange(8)
    wave = np.exp(-2j * np.pi * k * n / 8)
    return np.real(2 * np.conj(c * np.fft.rfft(x)) @ wave)


@spelled("fft and back", shapes((8,)), lambda x: np.fft.irfft(np.fft.rfft(x) * LOW, 8))
def filtered_back(c, x):
    return np.fft.irfft(np.fft.rfft(c) * LOW, 8)


LOW = np.array([1.0, 0.5, 0.25, 0.1, 0.0])


@spelled("tolist", V5, lambda x: np.array([v * v for v in x.tolist()]))
def listed_back(c, x):
    return np.array([2 * v * w for v, w in zip(x.tolist(), c.tolist(), strict=True)])


@spelled("deepcopy", V5, lambda x: np.sin(copy.deepcopy(x)))
def copied_back(c, x):
    return c * np.cos(copy.deepcopy(x))


@spelled("float() of a scalar", V5, lambda x: x * float(x[0]))
def floated_back(c, x):
    g = c * x[0]
    g[0] += np.sum(c * x)
    return g


@spelled("finfo of the dtype", V5, lambda x: np.log(np.abs(x) + np.finfo(x.dtype).eps))
def finfo_back(c, x):
    return c * np.sign(x) / (np.abs(x) + np.finfo(x.dtype).eps)


@spelled("astype", V5, lambda x: (x.astype(np.float64) ** 2).astype(x.dtype))
def astype_back(c, x):
    return (2 * c * x).astype(x.dtype)


def in_place(x):
    y = x.copy()
    y *= 2
    y[1:] += y[:-1]
    y -= y.mean()
    return y


@spelled("in place on a copy", V5, in_place)
def in_place_back(c, x):
    c = c - c.mean()
    g = c.copy()
    g[:-1] += c[1:]
    return 2 * g


@spelled("a view written", V5, lambda x: _set(x.copy()))
def written_back(c, x):
    g = c.copy()
    g[:2] = 0
    return g


def _set(y):
    y[:2] = 1.0
    return y


@spelled("einsum with repeats", shapes((3, 3)), lambda x: np.einsum("ii->i", x) ** 2)
def diagonal_back(c, x):
    return np.diag(2 * c * np.diag(x))


@spelled("tensordot", shapes((2, 3, 4), (3, 4, 2)), lambda a, b: np.tensordot(a, b, 2))
def tensordot_back(c, a, b):
    return np.tensordot(c, b, ((1,), (2,))), np.tensordot(a, c, ((0,), (0,)))


@spelled("np.ix_", shapes((4, 4)), lambda x: x[np.ix_([0, 2], [1, 3])])
def ix_back(c, x):
    g = np.zeros_like(x)
    g[np.ix_([0, 2], [1, 3])] = c
    return g


@spelled("boolean mask", V5, lambda x: np.sum(x[x > 0] ** 2))
def masked_back(c, x):
    g = np.zeros_like(x)
    g[x > 0] = 2 * c * x[x > 0]
    return g


@spelled("interp", V5, lambda x: np.interp(x, [-9.0, -0.111, 0.777, 9.0], [0.0, 1.0, -1.0, 2.0]))
def interp_back(c, x):
    bins = np.digitize(x, [-9.0, -0.111, 0.777, 9.0]) - 1
    return c * np.array([1 / 8.889, -2 / 0.888, 3 / 8.223])[bins]


@spelled("diff and gradient", shapes((6,)), lambda x: np.diff(x, n=2))
def diff_back(c, x):
    return np.convolve(c, [1.0, -2.0, 1.0])


@spelled("convolve", shapes((6,), (3,)), lambda x, w: np.convolve(x, w, mode="valid"))
def convolve_back(c, x, w):
    return np.correlate(c, w, mode="full"), np.correlate(x, c, mode="valid")[::-1]


@spelled("kron", shapes((2, 2), (2, 3)), np.kron)
def kron_back(c, a, b):
    d = c.reshape(2, 2, 2, 3)
    return np.einsum("iajb,ab->ij", d, b), np.einsum("iajb,ij->ab", d, a)


@spelled("roll and flip", M34, lambda x: np.roll(x[::-1], 1, axis=1))
def roll_back(c, x):
    return np.roll(c, -1, axis=1)[::-1]


@spelled("partition", V5, lambda x: np.partition(x, 2)[2])
def median_back(c, x):
    return c * (x == np.median(x))


@spelled("block and split", M34, lambda x: np.block([[x, 2 * x], [x**2, x]]))
def block_back(c, x):
    return c[:3, :4] + 2 * c[:3, 4:] + 2 * x * c[3:, :4] + c[3:, 4:]


@spelled("matrix_power", shapes((3, 3)), lambda a: np.linalg.matrix_power(a, 3))
def power_back(c, a):
    return c @ (a @ a).T + a.T @ c @ a.T + (a @ a).T @ c


def newton(x):
    y = np.ones_like(x)
    for _ in range(30):
        y = (y + x**2 / y) / 2
    return y


@spelled("a loop that converges", lambda rng, size: (rng.uniform(1, 2, 5),), newton)
def newton_back(c, x):
    return c


def sought(x):
    y = x
    while np.max(np.abs(y)) > 0.25:
        y = y / 2
    return y


@spelled("a loop with a condition", V5, sought)
def sought_back(c, x):
    while np.max(np.abs(x)) > 0.25:
        x, c = x / 2, c / 2
    return c


# -- cancellation ------------------------------------------------------------------------------


@spelled("a difference of large numbers", V5, lambda x: (1e8 + x**2) - 1e8)
def cancelled_back(c, x):
    return 2 * c * x


@spelled("a black box that cancels", V5,
         lambda x: np.array([(1e6 + float(v) ** 2) - 1e6 for v in x]))  # fmt: skip
def blind_cancelled_back(c, x):
    return 2 * c * x


@spelled("a black box of float32", V5,
         lambda x: np.array([float(np.float32(v)) ** 2 for v in x]))  # fmt: skip
def blind_float32_back(c, x):
    return 2 * c * x


@spelled("a mean that cancels", lambda rng, size: (1e6 + rng.normal(size=6),),
         lambda x: np.mean(x**2) - np.mean(x) ** 2)  # fmt: skip
def variance_back(c, x):
    return 2 * c * (x - x.mean()) / x.size


# -- kinks nearby ------------------------------------------------------------------------------

NEAR = np.array([0.0, 1e-9, -1e-9, 1e-5, -1e-5, 0.3])
near = lambda rng, size: (rng.permutation(NEAR),)


@spelled("relu at and beside its kink", near, lambda x: np.maximum(x, 0))
def relu_beside(c, x):
    return c * (x > 0)


@spelled("abs at and beside its kink", near, np.abs)
def abs_beside(c, x):
    return c * np.sign(x)


@spelled("clip at its edges", lambda rng, size: (np.array([1.0, -1.0, 1 - 1e-9, 0.5, 2.0]),),
         lambda x: np.clip(x, -1, 1))  # fmt: skip
def clip_beside(c, x):
    return c * ((x >= -1) & (x <= 1))


@spelled("pooling with ties", lambda rng, size: (np.array([[1.0, 1.0], [0.5, 2.0]]),),
         lambda x: x.max(axis=1))  # fmt: skip
def tied_pool(c, x):
    g = np.zeros_like(x)
    g[np.arange(2), x.argmax(axis=1)] = c
    return g


def padded(rng, size):
    x = rng.normal(size=(4, 3))
    x[2] = 0.0
    return x, rng.normal(size=(3, 5)), np.zeros(5)


@spelled("relu network with a row of padding", padded, lambda x, w, b: np.maximum(x @ w + b, 0))
def padded_back(c, x, w, b):
    d = c * (x @ w + b > 0)
    return d @ w.T, x.T @ d, d.sum(0)


@spelled("dead relus", lambda rng, size: (-np.abs(rng.normal(size=5)),),
         lambda x: np.sum(np.maximum(x, 0)))  # fmt: skip
def dead_back(c, x):
    return c * (x > 0)


@spelled("an argument that is not used", shapes((3,), (2,)), lambda x, y: np.sum(x**2))
def unused_back(c, x, y):
    return 2 * c * x, np.zeros_like(y)


@spelled("a blind dead relu", lambda rng, size: (-np.abs(rng.normal(size=5)),),
         lambda x: np.array([max(float(v), 0.0) for v in x]))  # fmt: skip
def blind_dead_back(c, x):
    return c * (x > 0)


@spelled("saturated sigmoid", lambda rng, size: (40 * rng.normal(size=5),),
         lambda x: 1 / (1 + np.exp(-x)))  # fmt: skip
def saturated_back(c, x):
    y = 1 / (1 + np.exp(-x))
    return c * y * (1 - y)


@spelled("smooth where branches meet", lambda rng, size: (np.array([0.0, 1.0, -1.0]),),
         lambda x: np.where(x > 0, x**2, 0.0))  # fmt: skip
def one_sided_square_back(c, x):
    return c * np.where(x > 0, 2 * x, 0.0)


# -- memory ------------------------------------------------------------------------------------

BUFFER = np.zeros(5)


@spelled("a backward that reuses its buffer", V5, np.sin)
def buffered_back(c, x):
    np.multiply(c, np.cos(x), out=BUFFER)
    return BUFFER


TWO = np.zeros((2, 5))


@spelled("two gradients in one buffer", shapes((5,), (5,)), lambda a, b: a * b)
def two_buffered_back(c, a, b):
    np.multiply(c, b, out=TWO[0])
    np.multiply(c, a, out=TWO[1])
    return TWO[0], TWO[1]


CACHE: dict[str, Any] = {}


def cached(x):
    CACHE["e"] = np.exp(x)
    return CACHE["e"] / 2


@spelled("a cache", V5, cached)
def cached_back(c, x):
    return c * CACHE["e"] / 2


HERE = np.zeros(5)


@spelled("a forward that reuses its buffer", V5, lambda x: np.square(x, out=HERE))
def here_back(c, x):
    return 2 * c * x


@spelled("an empty argument", shapes((0, 3), (2,)), lambda x, y: np.sum(x) + np.sum(y**2))
def empty_back(c, x, y):
    return c * np.ones_like(x), 2 * c * y
