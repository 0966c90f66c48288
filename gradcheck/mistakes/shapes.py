"""The backprop family at ops that move, reduce or scale a whole tensor."""

from collections.abc import Sequence
from math import prod

import numpy as np

from gradcheck.mistakes.backprop import AS_LARGE
from gradcheck.mistakes.row import ALIKE, ONE_LONG, SYMMETRIC, Edge, pull
from gradcheck.values import Numbers


def _row_sum(e: Edge) -> Numbers:
    """What the pull of a softmax, or of its logarithm, takes away from the cotangent."""
    return e.g * (e.y if e.op == "softmax" else 1) - e.right


sign_of_row_sum = pull(
    "sign-error",
    where=lambda e: e.op in AS_LARGE,
    wrong=lambda e: e.right + 2 * _row_sum(e),
    says="In the derivative of `{text}` the sum over the row is to be taken away: here it is "
    "added.",
    example=(
        "sum(softmax(Z) * V)",
        {"Z": "softmax(Z) * (V + sum(V*softmax(Z), axis=1, keepdims=True))"},
    ),
)

row_sum_alone = pull(
    "path-dropped",
    where=lambda e: e.op in AS_LARGE,
    wrong=lambda e: -_row_sum(e),
    says="In the derivative of `{text}` only the sum over the row is left: what each entry does to "
    "itself is missing.",
    example=("sum(log_softmax(Z) * V)", {"Z": "-softmax(Z) * sum(V, axis=1, keepdims=True)"}),
)


cumulated_forwards = pull(
    "cumulated-forwards",
    where=lambda e: e.op == "cumsum" and np.shape(e.g) == e.shape,
    wrong=lambda e: e.forward(e.g),
    says="The cotangent was added up along `{text}` from the start once more: it is to be added up "
    "from the end.",
    example=("sum(cumsum(x) * v)", "cumsum(v)", {"x": (4,), "v": (4,)}),
    hidden_by=(ALIKE,),
)


multiplied = pull(
    "multiplied-not-divided",
    where=lambda e: e.op == "divide" and e.i == 0,
    wrong=lambda e: e.g * e.other,
    says="On the way back through `{text}` it was multiplied where it is to be divided.",
    example=("sum(sin(x / v))", "cos(x / v) * v"),
    habit=False,
)


divided = pull(
    "divided-not-multiplied",
    where=lambda e: e.op == "multiply",
    wrong=lambda e: e.g / e.other,
    says="On the way back through `{text}` it was divided where it is to be multiplied.",
    example=("sum(sin(x * v))", "cos(x * v) / v"),
    habit=False,
)


def _left(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(n for k, n in enumerate(shape) if k not in axes)


def _other_places(e: Edge) -> Sequence[int]:
    """Axes along which the cotangent of a sum might be spread instead; none of a whole sum."""
    axis = e.params.get("axis")
    if not isinstance(axis, int):
        return []
    others = [k for k in range(len(e.shape)) if k != axis % len(e.shape)]
    return [k for k in others if prod(_left(e.shape, (k,))) == np.size(e.g)]


def _spread(e: Edge, axis: int) -> Numbers:
    g = np.reshape(e.g, _left(e.shape, (axis,)))
    wide = np.broadcast_to(np.expand_dims(g, axis), e.shape)
    return wide / (e.shape[axis] if e.op == "mean" else 1)


spread_elsewhere = pull(
    "summed-over-wrong-axis",
    where=lambda e: e.op in ("sum", "mean"),
    choices=_other_places,
    wrong=_spread,
    says="The gradient of `{text}` was spread along another axis than the one that was summed "
    "away.",
    example=("sum(sum(X, axis=2)**2)", {"X": "2*sum(X, axis=2)[:, None] + 0*X"}, {"X": (2, 3, 3)}),
    hidden_by=(ONE_LONG, SYMMETRIC),
)
