"""The backprop family at ops that move, reduce or scale a whole tensor."""

from collections.abc import Sequence
from itertools import combinations
from math import prod

import numpy as np

from gradcheck.mistakes.backprop import AS_LARGE
from gradcheck.mistakes.row import ALIKE, ALL_PASS, ONE_LONG, SYMMETRIC, Edge, fit, pull
from gradcheck.values import Numbers

COPYING = frozenset({"repeat", "tile", "broadcast_to"})
KNOWN = frozenset({"matmul", "getitem", "transpose", "swapaxes", "matrix_transpose"})


def _keeps_shape(e: Edge) -> bool:
    """An op that moves, picks or adds up entries, and gives as many as it got."""
    known = e.elementwise or e.op in AS_LARGE or e.op in KNOWN
    return not known and np.shape(e.g) == e.shape != ()


def _row_sum(e: Edge) -> Numbers:
    """What the pull of a softmax, or of its logarithm, takes away from the cotangent."""
    return e.g * (e.y if e.op == "softmax" else 1) - e.right


def _over_other_axes(e: Edge) -> Sequence[tuple[int, ...]]:
    """Axes that leave the operand's shape when summed over, but for those that were stretched."""
    g = np.shape(e.g)
    lost = len(g) - len(e.shape)
    right = tuple(range(lost))
    return [a for a in combinations(range(len(g)), lost) if a != right and _left(g, a) == e.shape]


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


def _places(e: Edge) -> Numbers:
    """For each entry of the value the number of the entry that it is a copy of."""
    return np.ravel(e.forward(np.arange(prod(e.shape)).reshape(e.shape)))


def _one_copy(e: Edge, order: int) -> Numbers:
    """The cotangent of the last copy of each entry, or with -1 of the first."""
    out = np.zeros(prod(e.shape))
    out[_places(e)[::order]] = np.ravel(e.g)[::order]
    return out.reshape(e.shape)


def _mean_of_copies(e: Edge) -> Numbers:
    counts = np.bincount(_places(e), minlength=prod(e.shape)).reshape(e.shape)
    return e.right / np.maximum(counts, 1)


one_copy_left = pull(
    "overwritten-not-accumulated",
    where=lambda e: e.op in COPYING and len(e.shape) > 0,
    choices=lambda e: (1, -1),
    wrong=_one_copy,
    says="`{text}` copies entries: the gradients of all copies add up, here only one is left.",
    example=("sum(repeat(x, 2) * v)", "array([v[0], v[2], v[4]])", {"v": (6,)}),
)

mean_of_copies = pull(
    "mean-for-sum",
    where=lambda e: e.op in COPYING and len(e.shape) > 0,
    wrong=_mean_of_copies,
    says="`{text}` copies entries: the gradients of all copies add up, here their mean was taken.",
    example=(
        "sum(repeat(x, 3) * v)",
        "array([v[0] + v[1] + v[2], v[3] + v[4] + v[5]]) / 3",
        {"x": (2,), "v": (6,)},
    ),
)

passed = pull(
    "chain-factor-dropped",
    where=_keeps_shape,
    wrong=lambda e: e.g,
    says="The cotangent passed through `{text}` unchanged: the derivative of this step is missing.",
    example=("sum(roll(x, 1) * v)", "v", {"x": (4,), "v": (4,)}),
    hidden_by=(ALIKE, ALL_PASS),
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

shifted_again = pull(
    "sign-error",
    where=lambda e: e.op == "roll" and np.shape(e.g) == e.shape,
    wrong=lambda e: e.forward(e.g),
    says="The cotangent was shifted through `{text}` the same way once more: it is to go back, the "
    "other way.",
    example=("sum(roll(x, 1) * v)", "roll(v, 1)", {"x": (4,), "v": (4,)}),
    hidden_by=(ALIKE,),
)

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

over_other_axes = fit(
    "summed-over-wrong-axis",
    where=lambda e: np.ndim(e.g) > max(len(e.shape), 2) and len(e.shape) > 0,
    choices=_over_other_axes,
    wrong=lambda e, axes: np.sum(e.g, axis=axes),
    says="The gradient of the broadcast operand of `{text}` was summed over the wrong axes.",
    example=("sum((X + b)**2)", {"b": "sum(2*(X + b), axis=(0, 2))"}, {"X": (2, 3, 3)}),
    hidden_by=(ONE_LONG, SYMMETRIC),
)

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
