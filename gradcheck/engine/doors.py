"""What NumPy's doors let through to the rows, or past them with bare values."""

import numpy as np

from gradcheck.engine.advice import refused
from gradcheck.ops import TABLE
from gradcheck.values import Routine, Value

REDUCTIONS: dict[Value, str] = {
    np.add: "sum",
    np.multiply: "prod",
    np.maximum: "max",
    np.minimum: "min",
}

ACCUMULATIONS: dict[Value, str] = {np.add: "cumsum", np.multiply: "cumprod"}


def _outer(ufunc: np.ufunc, row: Value, a: Value, b: Value) -> Value:
    """`np.multiply.outer(a, b)`: each entry of a with all of b."""
    return row(np.reshape(a, np.shape(a) + (1,) * np.ndim(b)), b)


def _accumulate(ufunc: np.ufunc, row: Value, x: Value, axis: int = 0) -> Value:
    """`np.add.accumulate(x)`: running sums and products."""
    if ufunc not in ACCUMULATIONS:
        raise TypeError(refused(ufunc, "accumulate", {}, no_row=False))
    return TABLE[ACCUMULATIONS[ufunc]](x, axis=axis)


SPREADS: dict[str, Routine] = {"outer": _outer, "accumulate": _accumulate}
"""The methods of NumPy's functions that rows can say."""

# Functions whose answer has no derivative: they see the bare values and give plain arrays.
PLAIN: set[Routine] = {
    np.shape, np.ndim, np.size, np.argmax, np.argmin, np.argsort, np.allclose, np.isclose,
    np.array_equal, np.any, np.all, np.count_nonzero, np.nonzero, np.searchsorted, np.result_type,
    np.iscomplexobj, np.isrealobj, np.isfinite, np.isnan, np.isinf, np.greater, np.greater_equal,
    np.less, np.less_equal, np.equal, np.not_equal, np.logical_and, np.logical_or, np.logical_not,
    np.signbit, np.iscomplex, np.isreal, np.broadcast_shapes, np.array_repr, np.array_str,
    np.argwhere, np.flatnonzero,
}  # fmt: skip


LIKE: set[Routine] = {np.zeros_like, np.ones_like, np.empty_like, np.full_like}
"""What makes a buffer of a tensor's shape: a tensor, which other tensors can be written into."""
