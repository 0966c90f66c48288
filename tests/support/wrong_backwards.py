"""Wrong backward passes, as engineers write them, with the names that a reviewer accepts.

The names were written down before anything was run. `test_wrong.py` counts what is caught and
named; the mistakes of whole layers stand in `wrong_layers.py`.
"""

import numpy as np

import tests.support.right_backwards as rb
from tests.support.right_backwards import softmax
from tests.support.right_layers import AWAY, sigmoid

RNG = np.random.default_rng(7)
V, U = (RNG.normal(size=5) + AWAY for _ in range(2))
M, N = RNG.normal(size=(3, 4)), RNG.normal(size=(3, 4))
S, T = RNG.normal(size=(3, 3)), RNG.normal(size=(3, 3))
A, B = RNG.normal(size=(4, 3)), RNG.normal(size=(3, 2))
P = RNG.uniform(0.5, 2, 5)
IDS = np.array([0, 3, 3, 1])
PERM = np.array([3, 0, 4, 1, 2])

SIGN = {"sign-error", "operands-swapped"}
CHAIN = {"chain-factor-dropped", "missing-inner-derivative", "path-dropped"}
EXTRA = {"chain-factor-twice", "coefficient-slip", "power-increased", "power-not-reduced"}
PATH = {"path-dropped", "overwritten-not-accumulated", "lost-product-term", "treated-as-constant",
        "term-lost"}  # fmt: skip
UPSTREAM = {"upstream-ignored", "seed-not-one"}
SUMMED = {"broadcast-not-summed", "broadcast-averaged", "mean-for-sum"}
AXIS = {"summed-over-wrong-axis"}
MEAN, SUM = {"mean-for-sum", "broadcast-averaged"}, {"sum-for-mean", "factor-two"}
TURNED = {"transposed", "operands-swapped"}
MASK = {"mask-wrong", "operands-swapped"}
TWO = {"factor-two", "coefficient-slip", "constant-factor-lost", "power-coefficient-missing"}
RULE = {"wrong-function-derivative", "wrong-tensor-in-derivative", "function-misread",
        "not-differentiated", "another-name", "power-dropped"}  # fmt: skip
QUOTIENT = {
    "power-dropped",
    "divisor-dropped",
    "quotient-swapped",
    "reciprocal-sign-lost",
    "sign-error",
}
TWICE = {"counted-twice", "factor-two", "line-too-many", "coefficient-slip"}
ROUTE = {"repeated-index-overwritten", "mask-wrong", "permutation-not-inverted"}
SLIP = {"coefficient-slip", "power-coefficient-missing", "constant-factor-lost"}

# name: (forward, wrong backward, arguments, the names that say what is wrong)
WRONG = {
    # -- signs
    "sin, sign": (np.sin, lambda c, x: -c * np.cos(x), (V,), SIGN),
    "cos, sign": (np.cos, lambda c, x: c * np.sin(x), (V,), SIGN),
    "difference, sign": (lambda a, b: a - b, lambda c, a, b: (c, c), (V, U), SIGN),
    "reciprocal, sign": (lambda x: 1 / x, lambda c, x: c / x**2, (V,), QUOTIENT),
    "tanh, plus": (np.tanh, lambda c, x: c * (1 + np.tanh(x) ** 2), (V,), SIGN),
    "squared error, sign": (lambda p, t: np.mean((p - t) ** 2),
                            lambda c, p, t: (2 * c * (p - t) / p.size, 2 * c * (p - t) / p.size),
                            (V, U), SIGN),
    "log-softmax, sign": (rb.log_softmax,
                          lambda c, x: c + softmax(x) * c.sum(-1, keepdims=True), (M,), SIGN),
    "exp of minus, sign": (lambda x: np.exp(-x), lambda c, x: c * np.exp(-x), (V,), SIGN | CHAIN),
    # -- factors
    "square, no two": (lambda x: x**2, lambda c, x: c * x, (V,), TWO),
    "cube, factor two": (lambda x: x**3, lambda c, x: 2 * c * x**2, (V,), SLIP | TWO),
    "cube, power kept": (lambda x: x**3, lambda c, x: 3 * c * x**3, (V,),
                         {"power-not-reduced", "coefficient-slip"} | EXTRA),
    "half a square, doubled": (lambda x: 0.5 * x**2, lambda c, x: 2 * c * x, (V,), TWO),
    "squared error, no two": (lambda p: np.sum((p - U) ** 2), lambda c, p: c * (p - U), (V,), TWO),
    "sqrt, no half": (np.sqrt, lambda c, x: c / np.sqrt(x), (P,), TWO),
    "sqrt, two above": (np.sqrt, lambda c, x: 2 * c / np.sqrt(x), (P,), TWO),
    "norm, half": (lambda x: np.sqrt(np.sum(x**2)),
                   lambda c, x: 0.5 * c * x / np.sqrt(np.sum(x**2)), (V,), TWO),
    "scale forgotten": (lambda x: 3.5 * np.sin(x), lambda c, x: c * np.cos(x), (V,),
                        CHAIN | {"constant-factor-lost", "constant-as-variable"}),
    "temperature forgotten": (lambda x: softmax(x / 2.5), lambda c, x: rb.softmax_back(c, x / 2.5),
                              (M,), CHAIN | {"constant-factor-lost"}),
    "temperature above": (lambda x: np.tanh(x / 2.5),
                          lambda c, x: 2.5 * c * (1 - np.tanh(x / 2.5) ** 2), (V,),
                          {"coefficient-slip", "multiplied-not-divided"} | CHAIN),
    "one percent": (np.sin, lambda c, x: 1.01 * c * np.cos(x), (V,), {"coefficient-slip"}),
    "leaky slope": (lambda x: np.where(x > 0, x, 0.01 * x),
                    lambda c, x: c * np.where(x > 0, 1.0, 0.1), (V - 0.7,), SLIP),
    "elu without alpha": (lambda x: np.where(x > 0, x, 1.7 * np.expm1(x)),
                          lambda c, x: c * np.where(x > 0, 1.0, np.exp(x)), (V - 0.7,),
                          CHAIN | {"constant-factor-lost", "coefficient-slip"}),
    # -- the chain rule
    "inner derivative": (lambda x: np.sin(x**2), lambda c, x: c * np.cos(x**2), (V,), CHAIN),
    "outer derivative": (lambda x: np.sin(x**2), lambda c, x: c * 2 * x, (V,),
                         CHAIN | {"outer-not-differentiated"}),
    "outer at the variable": (lambda x: np.sin(x**2), lambda c, x: 2 * c * x * np.cos(x), (V,),
                              {"outer-at-variable"} | RULE),
    "log, inner": (lambda x: np.log(1 + x**2), lambda c, x: c / (1 + x**2), (V,), CHAIN),
    "exp of a square, inner": (lambda x: np.exp(-(x**2)), lambda c, x: -c * np.exp(-(x**2)), (V,),
                               CHAIN | TWO),
    "two activations, one": (lambda x: np.tanh(np.sin(x)),
                             lambda c, x: c * (1 - np.tanh(np.sin(x)) ** 2), (V,), CHAIN),
    "activation twice": (np.tanh, lambda c, x: c * (1 - np.tanh(x) ** 2) ** 2, (V,),
                         EXTRA),
    "tanh at its value": (np.tanh, lambda c, x: c * (1 - np.tanh(np.tanh(x)) ** 2), (V,), RULE
                          | {"function-too-many"}),
    "sigmoid at x": (lambda x: 1 / (1 + np.exp(-x)), lambda c, x: c * x * (1 - x), (V,), RULE),
    "sigmoid, one factor": (lambda x: 1 / (1 + np.exp(-x)),
                            lambda c, x: c / (1 + np.exp(-x)), (V,), CHAIN | RULE),
    "sigmoid for tanh": (np.tanh, lambda c, x: c * np.tanh(x) * (1 - np.tanh(x)), (V,), RULE),
    "relu for leaky": (lambda x: np.where(x > 0, x, 0.1 * x), lambda c, x: c * (x > 0), (V - 0.7,),
                       MASK | PATH | CHAIN),
    "silu, product rule": (lambda x: x * sigmoid(x),
                           lambda c, x: c * sigmoid(x) * (1 - sigmoid(x)), (V,), PATH | CHAIN),
    "silu, only the gate": (lambda x: x * sigmoid(x), lambda c, x: c * sigmoid(x), (V,), PATH),
    "softplus as relu": (lambda x: np.logaddexp(0, x), lambda c, x: c * (x > 0), (V - 0.7,), RULE),
    "cotangent ignored": (np.sin, lambda c, x: np.cos(x), (V,), UPSTREAM),
    "cotangent ignored in one": (lambda a, b: a * b, lambda c, a, b: (c * b, a), (V, U), UPSTREAM),
    "cotangent summed": (np.sin, lambda c, x: c.sum() * np.cos(x), (V,),
                         {"function-too-many"} | UPSTREAM | CHAIN),
    "cotangent twice": (np.exp, lambda c, x: c * c * np.exp(x), (V,),
                        {"cotangent-twice", "chain-factor-twice"}),
    # -- paths
    "product, one path": (lambda x: x * np.cos(x), lambda c, x: c * np.cos(x), (V,), PATH),
    "product, the other path": (lambda x: x * np.cos(x), lambda c, x: -c * x * np.sin(x), (V,),
                                PATH),
    "sum, one path": (lambda x: np.sin(x) + x**2, lambda c, x: c * np.cos(x), (V,), PATH),
    "residual forgotten": (lambda x, w: x + np.tanh(x @ w),
                           lambda c, x, w: ((c * (1 - np.tanh(x @ w) ** 2)) @ w.T,
                                            x.T @ (c * (1 - np.tanh(x @ w) ** 2))),
                           (A, S), PATH),
    "residual alone": (lambda x: x + np.sin(x) ** 2, lambda c, x: c, (V,), PATH),
    "path twice": (lambda x: np.exp(x) + x, lambda c, x: c * np.exp(x) + 2 * c, (V,), TWICE),
    "centring forgotten": (lambda x: x - x.mean(), lambda c, x: c, (V,), PATH),
    "norm held constant": (lambda x: x / np.linalg.norm(x), lambda c, x: c / np.linalg.norm(x),
                           (V,), PATH),
    "mean held constant": (lambda x: (x - x.mean(0)) ** 2, lambda c, x: 2 * c * (x - x.mean(0)),
                           (M,), PATH),
    "softmax's sum constant": (softmax, lambda c, x: c * softmax(x), (M,), PATH),
    "softmax, diagonal": (softmax, lambda c, x: c * softmax(x) * (1 - softmax(x)), (M,),
                          {"jacobian-diagonal-only"} | PATH),
    "softmax, unweighted": (softmax,
                            lambda c, x: softmax(x) * (c - c.sum(-1, keepdims=True)), (M,),
                            CHAIN | PATH),
    "softmax, mean": (softmax,
                      lambda c, x: softmax(x) * (c - (c * softmax(x)).mean(-1, keepdims=True)),
                      (M,), MEAN),
    "softmax, axis": (softmax,
                      lambda c, x: softmax(x) * (c - (c * softmax(x)).sum(0, keepdims=True)),
                      (M,), AXIS),
    "log-softmax, no sum": (rb.log_softmax, lambda c, x: c - softmax(x), (M,), CHAIN | UPSTREAM
                            | PATH),
    "logsumexp, exp": (rb.logsumexp, lambda c, x: np.exp(x) * c[:, None], (M,), PATH),
    "cross-entropy, not averaged": (rb.cross_entropy,
                                    lambda c, x: c * (softmax(x) - np.eye(4)[rb.LABELS]), (M,),
                                    SUM),
    "cross-entropy, no label": (rb.cross_entropy, lambda c, x: c * softmax(x) / 3, (M,), PATH),
    "cross-entropy, wrong mean": (rb.cross_entropy,
                                  lambda c, x: c * (softmax(x) - np.eye(4)[rb.LABELS]) / x.size,
                                  (M,), MEAN | SLIP | SUM),
    # -- sums, means, broadcasting
    "bias kept": (lambda x, b: x * b, lambda c, x, b: (c * b, c * x), (M, U[:4]), SUMMED),
    "bias meant": (lambda x, b: x + b, lambda c, x, b: (c, c.mean(0)), (M, U[:4]), SUMMED),
    "bias, wrong axis": (lambda x, b: x + b, lambda c, x, b: (c, c.sum(1)), (S, U[:3]), AXIS),
    "column, wrong axis": (lambda x, b: x * b[:, None],
                           lambda c, x, b: (c * b[:, None], (c * x).sum(0)), (S, U[:3]), AXIS),
    "mean, not divided": (np.mean, lambda c, x: c * np.ones_like(x), (M,), SUM),
    "mean over rows, all": (lambda x: x.mean(0), lambda c, x: np.ones_like(x) * c / x.size, (M,),
                            SUM | MEAN | AXIS | SLIP),
    "sum, divided": (lambda x: x.sum(1), lambda c, x: c[:, None] * np.ones_like(x) / x.shape[1],
                     (M,), MEAN),
    "sum, spread along the other": (lambda x: x.sum(1), lambda c, x: np.ones_like(x) * c, (S,),
                                    AXIS | TURNED),
    "variance, ddof": (lambda x: np.var(x, axis=0),
                       lambda c, x: 2 * c * (x - x.mean(0)) / (len(x) - 1), (M,),
                       {"ddof", "coefficient-slip"}),
    "variance, no ddof": (lambda x: np.var(x, ddof=1),
                          lambda c, x: 2 * c * (x - x.mean()) / x.size, (V,), {"ddof"}),
    "deviation, ddof": (np.std, lambda c, x: c * (x - x.mean())
                        / (np.std(x, ddof=1) * x.size), (V,), {"ddof"}),
    "scale summed twice": (lambda x, s: s * x, lambda c, x, s: (s * c, c * x), (M, 1.7), SUMMED),
    "scalar meant": (lambda x, s: s * x, lambda c, x, s: (s * c, np.mean(c * x)), (M, 1.7),
                     SUMMED),
    # -- products
    "left, not transposed": (lambda a, b: a @ b, lambda c, a, b: (c @ b, a.T @ c), (S, T), TURNED),
    "right, not transposed": (lambda a, b: a @ b, lambda c, a, b: (c @ b.T, a @ c), (S, T), TURNED),
    "right, other order": (lambda a, b: a @ b, lambda c, a, b: (c @ b.T, c @ a.T), (S, T), TURNED),
    "gradient transposed": (lambda a, b: a @ b, lambda c, a, b: (c @ b.T, c.T @ a), (S, T), TURNED),
    "batch mean of weights": (lambda x, w: x @ w, lambda c, x, w: (c @ w.T, x.T @ c / len(x)),
                              (A, B), MEAN),
    "swapped operands": (lambda a, b: a * b, lambda c, a, b: (c * a, c * b), (V, U),
                         {"operands-swapped", "arguments-swapped", "another-name"}),
    "gradients swapped": (lambda a, b: a / b, lambda c, a, b: (-c * a / b**2, c / b), (V, U),
                          {"arguments-swapped", "operands-swapped"}),
    "outer, swapped": (np.outer, lambda c, a, b: (c.T @ b, c @ a), (U[:3], V[:3]), TURNED),
    "quadratic form, one side": (lambda x: x @ S @ x, lambda c, x: c * (S @ x), (V[:3],),
                                 PATH | TURNED),
    "quadratic form, twice": (lambda x: x @ S @ x, lambda c, x: 2 * c * (S @ x), (V[:3],),
                              PATH | TURNED | TWICE),
    "inverse, no transpose": (np.linalg.inv,
                              lambda c, a: -np.linalg.inv(a) @ c @ np.linalg.inv(a), (S,), TURNED),
    "inverse, sign": (np.linalg.inv, lambda c, a: np.linalg.inv(a).T @ c @ np.linalg.inv(a).T,
                      (S,), SIGN),
    "einsum, indices": (lambda a, b: np.einsum("ij,jk->ik", a, b),
                        lambda c, a, b: (np.einsum("ik,kj->ij", c, b), a.T @ c), (S, T), TURNED),
    # -- quotients
    "division, not squared": (lambda a, b: a / b, lambda c, a, b: (c / b, -c * a / b), (V, P),
                              QUOTIENT),
    "division, no sign": (lambda a, b: a / b, lambda c, a, b: (c / b, c * a / b**2), (V, P),
                          QUOTIENT),
    "division, turned": (lambda a, b: a / b, lambda c, a, b: (c * b, -c * a / b**2), (V, P),
                         {"multiplied-not-divided", "reciprocal"} | QUOTIENT),
    "log, turned": (np.log, lambda c, x: c * x, (P,), {"multiplied-not-divided", "reciprocal"}
                    | RULE | {"log-derivative-wrong"}),
    "log of more": (lambda x: np.log(x + 0.1), lambda c, x: c / x, (P,),
                    {"outer-at-variable"} | RULE),
    # -- masks and routes
    "relu, inverted": (lambda x: np.maximum(x, 0), lambda c, x: c * (x < 0), (V - 0.7,), MASK),
    "relu, no mask": (lambda x: np.maximum(x, 0), lambda c, x: c, (V - 0.7,), MASK | CHAIN),
    "clip, one edge": (lambda x: np.clip(x, -0.5, 0.5), lambda c, x: c * (x < 0.5), (V - 0.7,),
                       MASK | CHAIN),
    "hinge, mask": (lambda x: np.sum(np.maximum(0, 1 - x)), lambda c, x: -c * (x > 1), (V,), MASK),
    "max, shared": (lambda x: x.max(1), lambda c, x: np.ones_like(x) * c[:, None], (M,),
                    MASK | ROUTE | CHAIN),
    "max, argmin": (lambda x: x.max(1), lambda c, x: np.eye(4)[x.argmin(1)] * c[:, None], (M,),
                    MASK | {"function-misread"}),
    "max, wrong axis": (lambda x: x.max(1), lambda c, x: np.eye(3)[x.argmax(0)] * c[:, None], (S,),
                        AXIS),
    "where, branches": (lambda x: np.where(x > 0, x**2, -x),
                        lambda c, x: c * np.where(x > 0, -1, 2 * x), (V - 0.7,),
                        MASK | {"arguments-swapped"}),
    "dropout, not scaled": (lambda x: x * (np.arange(5) % 2) / 0.6,
                            lambda c, x: c * (np.arange(5) % 2), (V,),
                            CHAIN | {"constant-factor-lost", "coefficient-slip"}),
    "dropout, no mask": (lambda x: x * (np.arange(5) % 2) / 0.6, lambda c, x: c / 0.6, (V,),
                         MASK | CHAIN),
    # -- moved entries
    "permutation": (lambda x: x[PERM], lambda c, x: c[PERM], (V,), ROUTE),
    "flip": (lambda x: x[::-1], lambda c, x: c, (V,), {"not-flipped"}),
    "flip, other axis": (lambda x: np.flip(x, axis=1), lambda c, x: np.flip(c, axis=0), (M,),
                         AXIS | {"not-flipped"}),
    "roll": (lambda x: np.roll(x, 2), lambda c, x: np.roll(c, 2), (V,), {"sign-error"}),
    "cumsum": (np.cumsum, lambda c, x: np.cumsum(c), (V,), {"cumulated-forwards"}),
    "transpose": (lambda x: x.T * 2, lambda c, x: 2 * c, (S,), TURNED),
    "reshape": (lambda x: x.T.reshape(-1), lambda c, x: c.reshape(x.shape), (S,), TURNED),
    "kernel not flipped": (lambda x: np.convolve(x, KERNEL, "valid"),
                           lambda c, x: np.convolve(c, KERNEL, "full"), (V,),
                           {"flipped-kernel", "not-flipped"}),
    "kernel flipped": (lambda x: np.correlate(x, KERNEL, "valid"),
                       lambda c, x: np.convolve(c, KERNEL[::-1], "full"), (V,),
                       {"flipped-kernel", "not-flipped"}),
}  # fmt: skip
KERNEL = np.array([1.0, 2.0, -0.5])
