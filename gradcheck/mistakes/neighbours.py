"""The backprop family where one tensor, or one axis, was taken for another."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcheck.mistakes.row import GENERIC, SYMMETRIC, Edge, pull

PRODUCTS = frozenset({"multiply", "matmul", "divide", "einsum"})
CHOICES = 8  # tensors that are tried in one's place
AXES = 3


def _like(e: Edge, model: Any, known: Sequence[Any]) -> Sequence[Any]:
    """The nearest tensors of the shape of a model, turned where that fits, but for known ones."""
    found = [
        each
        for tensor in e.around
        for each in ((tensor, tensor.T) if np.ndim(tensor) == 2 else (tensor,))
        if np.shape(each) == np.shape(model) and not any(np.array_equal(each, k) for k in known)
    ]
    return found[:CHOICES]


def _with_other(e: Edge, tensor: Any) -> Any:
    """The pull with a tensor in the other operand's place."""
    operands = (tensor, e.x) if e.i else (e.x, tensor)
    return e.rule(e.g, e.y, operands)


def _square(e: Edge) -> bool:
    """A product of two matrices that is square."""
    return e.op == "matmul" and np.ndim(e.g) == 2 and len(e.g) == len(e.g.T)


neighbour = pull(
    "wrong-tensor-in-derivative",
    where=lambda e: e.op in PRODUCTS and np.ndim(e.other) > 0,
    choices=lambda e: _like(e, e.other, (e.x, e.other, np.transpose(e.other))),
    rank=GENERIC,
    wrong=_with_other,
    says="At `{text}` another tensor of the same shape was taken for the operand that the "
    "cotangent is multiplied by.",
    example=("sum(sin(x) * exp(x))", {"x": "x*cos(x) + sin(x)*exp(x)"}, {"x": (3,)}),
    common=0.45,
    habit=False,
)

cotangent_transposed = pull(
    "transposed",
    where=_square,
    wrong=lambda e: e.rule(e.g.T, e.y, e.operands),
    says="The cotangent that arrives at `{text}` was transposed.",
    example=("sum(A @ x * V)", {"x": "A.T @ V.T"}, {"A": (3, 3), "x": (3, 3), "V": (3, 3)}),
    common=0.5,
    habit=False,
    hidden_by=(SYMMETRIC,),
)

flipped = pull(
    "flipped",
    where=lambda e: e.op in PRODUCTS and np.ndim(e.right) > 0,
    choices=lambda e: range(-min(np.ndim(e.right), AXES), 0),
    wrong=lambda e, axis: np.flip(e.right, axis),
    says="On the way back through `{text}` the entries stand in reverse order along one axis, as "
    "of a kernel that was flipped.",
    example=("sum(X @ w)", {"w": "sum(X, axis=0)[::-1]"}, {"X": (5, 3), "w": (3,)}),
    common=0.3,
    habit=False,
)
