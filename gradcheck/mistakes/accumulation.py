"""The backprop family where contributions add up: paths that meet, operands that were broadcast."""

import numpy as np

from gradcheck.mistakes.row import GENERIC, ONE_LONG, SYMMETRIC, Edge, anywhere, fit, mistake, pull
from gradcheck.values import Numbers


def _is_stretched(e: Edge) -> bool:
    return bool(np.shape(e.g) != e.shape)


def _other_axis(e: Edge) -> Numbers:
    stretched = 0 if len(e.shape) < 2 or e.shape[0] == 1 else 1
    return np.sum(e.g, axis=1 - stretched, keepdims=len(e.shape) == 2)


def _one_row(e: Edge, row: int) -> Numbers:
    left = e.g[row] if np.ndim(e.g) > len(e.shape) else e.g[row][None]
    left = np.sum(left, axis=tuple(range(np.ndim(left) - len(e.shape))))
    stretched = tuple(k for k, n in enumerate(e.shape) if n == 1 != left.shape[k])
    return np.sum(left, axis=stretched, keepdims=True)


# fmt: off
mistake("accumulate", "overwritten-not-accumulated", anywhere,
    "`{text}` is used more than once: the gradients of all its uses add up, here only one of them "
    "is left.",
    (lambda m: m.g, "sum(x**3 + sin(x))", "3*x**2"), rank=GENERIC)
for _side, _answer in (("held", "2*A @ x"), ("g", "2*A.T @ x")):
    mistake("accumulate", "matrix-taken-as-symmetric", lambda m: m.matrix,
        "`{text}` meets the matrix from both sides, once transposed: taking twice one of them "
        "needs a symmetric matrix.",
        (lambda m, side=_side: 2 * getattr(m, side), "x @ A @ x", _answer,
         {"x": (3,), "A": (3, 3)}), habit=False)
pull("counted-twice", lambda e: e.shared,
    "What comes back from `{text}` was added twice.",
    (lambda e: 2 * e.right, "sum(x**3 + sin(x))", "6*x**2 + cos(x)"), habit=False)
pull("path-dropped", anywhere,
    "The path back through `{text}` to `{u}` is missing from the gradient.",
    (lambda e: 0 * e.right, "sum((x - mean(x))**3)", "3*(x - mean(x))**2", {"x": (5,)}),
    habit=False)
fit("broadcast-not-summed", _is_stretched,
    "An operand of `{text}` was broadcast: its gradient must be summed over the stretched axes.",
    (lambda e: e.g, "sum((X + b)**2)", {"b": "2*(X + b)"}), hidden_by=(ONE_LONG,))
fit("overwritten-not-accumulated",
    lambda e: _is_stretched(e) and (np.ndim(e.g) > len(e.shape) or e.shape[:1] == (1,)),
    "An operand of `{text}` was broadcast: the gradients of all rows add up, here only one is "
    "left.",
    (_one_row, "sum((X + b)**2)", {"b": "2*(X[-1] + b)"}), choices=lambda e: (-1, 0),
    hidden_by=(ONE_LONG,))
fit("broadcast-averaged", _is_stretched,
    "An operand of `{text}` was broadcast: its gradient is the sum over the stretched axes, not "
    "the mean.",
    (lambda e: e.right * (e.right.size / np.size(e.g)), "sum((X + b)**2)",
     {"b": "mean(2*(X + b), axis=0)"}), hidden_by=(ONE_LONG,))
fit("summed-over-wrong-axis", lambda e: _is_stretched(e) and np.ndim(e.g) == 2 and len(e.shape) > 0,
    "The gradient of the broadcast operand of `{text}` was summed over the wrong axis.",
    (_other_axis, "sum((X + b)**2)", {"b": "sum(2*(X + b), axis=1)"}),
    hidden_by=(ONE_LONG, SYMMETRIC))
fit("summed-over-wrong-axis", lambda e: _is_stretched(e) and len(e.shape) > 0,
    "The gradient of the broadcast operand of `{text}` was summed over all axes.",
    (lambda e, shape: np.full(shape, np.sum(e.g)), "sum((X + b)**2)", {"b": "sum(2*(X + b))"}),
    choices=lambda e: ((), e.shape), hidden_by=(ONE_LONG, SYMMETRIC))
