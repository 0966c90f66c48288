"""More rows of extremes: what cancels, norms that vanish, points that meet, numbers near the range.

See `extremes` for what a row is.
"""

import numpy as np

from tests.support.extremes import (
    enter,
    near_constant,
    near_one,
    near_pairs,
    normed,
    tiny,
    wide,
)  # fmt: skip

# -- digits that cancel ----------------------------------------------------------------------------

enter("log of one minus exp", tiny(0, 10), lambda x: np.log(1 - np.exp(-x)),
      lambda c, x, k=1: k * c * np.exp(-x) / (1 - np.exp(-x)))  # fmt: skip
enter("log of expm1", tiny(0, 10), lambda x: np.log(-np.expm1(-x)),
      lambda c, x, k=1: k * c / np.expm1(x))  # fmt: skip
enter("expm1 over x", tiny(0, 10), lambda x: np.expm1(x) / x,
      lambda c, x, k=1: c * (np.exp(x) / x - k * np.expm1(x) / x**2))  # fmt: skip
enter("exp minus one over x", tiny(0, 6), lambda x: (np.exp(x) - 1) / x,
      lambda c, x, k=1: c * (np.exp(x) / x - k * (np.exp(x) - 1) / x**2))  # fmt: skip
enter("one minus cosine over x²", tiny(0, 4), lambda x: (1 - np.cos(x)) / x**2,
      lambda c, x, k=1: c * (np.sin(x) / x**2 - 2 * k * (1 - np.cos(x)) / x**3))  # fmt: skip
enter("sine over x", tiny(0, 8), lambda x: np.sin(x) / x,
      lambda c, x, k=1: c * (np.cos(x) / x - k * np.sin(x) / x**2))  # fmt: skip
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
enter("log1p of minus p", near_one, lambda p: np.log1p(-p), lambda c, p, k=1: -k * c / (1 - p))
enter("arctanh", near_one, np.arctanh, lambda c, p, k=1: k * c / (1 - p**2))
enter("arctanh by logs", near_one, lambda p: 0.5 * np.log((1 + p) / (1 - p)),
      lambda c, p, k=1: 0.5 * c * (1 / (1 + p) + k / (1 - p)))  # fmt: skip
enter("arcsin", near_one, np.arcsin, lambda c, p, k=1: k * c / np.sqrt(1 - p**2))
enter("arccos", near_one, np.arccos, lambda c, p, k=1: -k * c / np.sqrt((1 - p) * (1 + p)))
enter("root of one minus square", near_one, lambda p: np.sqrt(1 - p**2),
      lambda c, p, k=1: -k * c * p / np.sqrt(1 - p**2))  # fmt: skip
enter("arccosh", lambda rng, s: (1 + tiny(0, 10)(rng, s)[0],), np.arccosh,
      lambda c, x, k=1: k * c / np.sqrt(x**2 - 1))  # fmt: skip

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
enter("deviation, hardly varying", near_constant, *std(0.0))
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
enter("cosine of neighbours", near_pairs, cosine, cosine_back)
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
enter("distances, expanded", near_pairs, lambda a, b: np.sqrt(np.abs(expanded(a, b)) + 1e-6),
      lambda c, a, b, k=1: expanded_back(np.sign(expanded(a, b)) * c
                                         / (2 * np.sqrt(np.abs(expanded(a, b)) + 1e-6)), a, b, k)
)  # fmt: skip

# -- near the ends of the range --------------------------------------------------------------------

enter("exp, nearly too large", lambda rng, s: (23 * s + rng.normal(size=5),), np.exp,
      lambda c, x, k=1: k * c * np.exp(x))  # fmt: skip
enter("exp, nearly nothing", lambda rng, s: (-23 * s + rng.normal(size=5),), np.exp,
      lambda c, x, k=1: k * c * np.exp(x))  # fmt: skip
enter("log of little", tiny(0, 300), np.log, lambda c, x, k=1: k * c / x)
enter("x log x of little", tiny(0, 300), lambda x: x * np.log(x),
      lambda c, x, k=1: c * (k * np.log(x) + 1))  # fmt: skip
enter("reciprocal of little", tiny(0, 140), lambda x: 1 / x, lambda c, x, k=1: -k * c / x**2)
enter("root of little", tiny(0, 14), np.sqrt, lambda c, x, k=1: 0.5 * k * c / np.sqrt(x))
enter("cube root of little", tiny(0, 14), np.cbrt, lambda c, x, k=1: k * c / (3 * np.cbrt(x) ** 2))
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
