"""The backprop family where contributions add up: paths that meet, operands that were broadcast."""

import numpy as np

from gradcheck.mistakes.row import GENERIC, ONE_LONG, SYMMETRIC, Edge, fit, mistake, pull
from gradcheck.values import Numbers

overwritten_not_accumulated = mistake(
    "overwritten-not-accumulated",
    verb="accumulate",
    wrong=lambda m: m.g,
    says="`{text}` is used more than once: the gradients of all its uses add up, here only one of "
    "them is left.",
    example=("sum(x**3 + sin(x))", "3*x**2"),
    rank=GENERIC,
)

for _side, _answer in (("held", "2*A @ x"), ("g", "2*A.T @ x")):
    mistake(
        "matrix-taken-as-symmetric",
        verb="accumulate",
        where=lambda m: m.matrix,
        wrong=lambda m, side=_side: 2 * getattr(m, side),
        says="`{text}` meets the matrix from both sides, once transposed: taking twice one of them "
        "needs a symmetric matrix.",
        example=("x @ A @ x", _answer, {"x": (3,), "A": (3, 3)}),
        habit=False,
    )


counted_twice = pull(
    "counted-twice",
    where=lambda e: e.shared,
    wrong=lambda e: 2 * e.right,
    says="What comes back from `{text}` was added twice.",
    example=("sum(x**3 + sin(x))", "6*x**2 + cos(x)"),
    habit=False,
)

path_dropped = pull(
    "path-dropped",
    wrong=lambda e: 0 * e.right,
    says="The path back through `{text}` to `{u}` is missing from the gradient.",
    example=("sum((x - mean(x))**3)", "3*(x - mean(x))**2", {"x": (5,)}),
    habit=False,
)


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


broadcast_not_summed = fit(
    "broadcast-not-summed",
    where=_is_stretched,
    wrong=lambda e: e.g,
    says="An operand of `{text}` was broadcast: its gradient must be summed over the stretched "
    "axes.",
    example=("sum((X + b)**2)", {"b": "2*(X + b)"}),
    hidden_by=(ONE_LONG,),
)


one_row_left = fit(
    "overwritten-not-accumulated",
    where=lambda e: _is_stretched(e) and (np.ndim(e.g) > len(e.shape) or e.shape[:1] == (1,)),
    choices=lambda e: (-1, 0),
    wrong=_one_row,
    says="An operand of `{text}` was broadcast: the gradients of all rows add up, here only one "
    "is left.",
    example=("sum((X + b)**2)", {"b": "2*(X[-1] + b)"}),
    hidden_by=(ONE_LONG,),
)

broadcast_averaged = fit(
    "broadcast-averaged",
    where=_is_stretched,
    wrong=lambda e: e.right * (e.right.size / np.size(e.g)),
    says="An operand of `{text}` was broadcast: its gradient is the sum over the stretched axes, "
    "not the mean.",
    example=("sum((X + b)**2)", {"b": "mean(2*(X + b), axis=0)"}),
    hidden_by=(ONE_LONG,),
)

other_axis = fit(
    "summed-over-wrong-axis",
    where=lambda e: _is_stretched(e) and np.ndim(e.g) == 2 and len(e.shape) > 0,
    wrong=_other_axis,
    says="The gradient of the broadcast operand of `{text}` was summed over the wrong axis.",
    example=("sum((X + b)**2)", {"b": "sum(2*(X + b), axis=1)"}),
    hidden_by=(ONE_LONG, SYMMETRIC),
)

all_axes = fit(
    "summed-over-wrong-axis",
    where=lambda e: _is_stretched(e) and len(e.shape) > 0,
    choices=lambda e: ((), e.shape),
    wrong=lambda e, shape: np.full(shape, np.sum(e.g)),
    says="The gradient of the broadcast operand of `{text}` was summed over all axes.",
    example=("sum((X + b)**2)", {"b": "sum(2*(X + b))"}),
    hidden_by=(ONE_LONG, SYMMETRIC),
)
