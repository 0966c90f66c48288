"""The backprop family at stretches of several steps, and at slices of one tensor.

They are tried where no mistake at a single step gives the answer.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from gradcheck.mistakes.row import ALIKE, SYMMETRIC, Edge, Windows, mistake, segment

At = tuple[tuple[tuple[int, int, int], ...], ...]
OFFSETS = (1, -1, 2, -2)  # of padding: kernels of three and of five
FEW = 6  # slices of which any two may have been exchanged


def _in_order(e: Edge) -> Any:
    """The cotangent counted off into the other shape, its axes not turned."""
    return np.reshape(e.g, e.shape)


def _slopes(e: Edge) -> Sequence[Any]:
    """What stands in a slope's place: the value, or the slope of a textbook's function."""
    tensors = (e.y, *e.around)
    return [*tensors, *(a * (1 - a) for a in tensors), *(1 - a**2 for a in tensors)]


def _moved(w: Windows) -> Sequence[At]:
    """All slices with steps of one, with gaps between them closed, or some places further on."""
    found = [tuple(tuple((s, n, min(step, 1)) for s, n, step in each) for each in w.at)]
    for axis in range(len(w.shape)):
        starts = sorted({each[axis][0] for each in w.at})
        found.append(_dense(w, axis))
        found.append(_begun(w, axis, {s: starts[0] + k for k, s in enumerate(starts)}))
        found.append(_side_by_side(w, axis))
        found += [_begun(w, axis, {s: s + by for s in starts}) for by in OFFSETS]
    return [at for at in found if w.fit(at)]


def _begun(w: Windows, axis: int, starts: Mapping[int, int]) -> At:
    """The slices with other starts along an axis."""
    return tuple(
        tuple((starts[s], n, d) if k == axis else (s, n, d) for k, (s, n, d) in enumerate(each))
        for each in w.at
    )


def _dense(w: Windows, axis: int) -> At:
    """The slices with steps of one along an axis."""
    return tuple(
        tuple((s, n, min(d, 1)) if k == axis else (s, n, d) for k, (s, n, d) in enumerate(each))
        for each in w.at
    )


def _side_by_side(w: Windows, axis: int) -> At:
    """Interleaved slices as pieces that stand one after another."""
    ranks = {s: k for k, s in enumerate(sorted({each[axis][0] for each in w.at}))}
    return tuple(
        tuple(
            (ranks[s] * n, n, min(d, 1)) if k == axis else (s, n, d)
            for k, (s, n, d) in enumerate(each)
        )
        for each in w.at
    )


def _exchanged(w: Windows) -> Sequence[At]:
    """Any two of few slices in each other's place, and all in reverse order."""
    pairs = combinations(range(len(w.at)), 2) if len(w.at) <= FEW else ()
    orders = [list(range(len(w.at)))[::-1]]
    for i, j in pairs:
        orders.append(list(range(len(w.at))))
        orders[-1][i], orders[-1][j] = j, i
    return [at for order in orders if w.fit(at := tuple(w.at[k] for k in order))]


passed_over = segment(
    "chain-factor-dropped",
    where=lambda e: e.op != "layout",
    wrong=lambda e: e.g,
    says="The cotangent passed unchanged through all steps from `{u}` to `{text}`: their "
    "derivatives are missing.",
    example=("sum(A @ (A @ x) * V)", {"x": "V"}, {"A": (3, 3), "x": (3, 2), "V": (3, 2)}),
    common=0.5,
    habit=False,
    hidden_by=(ALIKE,),
)

segment_twice = segment(
    "chain-factor-twice",
    where=lambda e: e.op == "slope",
    wrong=lambda e: e.rule(e.right, e.y, e.operands),
    says="The derivative of `{text}` by `{u}` is in the answer twice.",
    example=(
        "sum(tanh(3*x)**2 * v)",
        {"x": "2*tanh(3*x) * v * (3*(1 - tanh(3*x)**2))**2"},
        {"x": (4,), "v": (4,)},
    ),
    common=0.35,
    habit=False,
)

another_slope = segment(
    "wrong-function-derivative",
    where=lambda e: e.op == "slope",
    choices=_slopes,
    wrong=lambda e, slope: e.g * slope,
    says="The derivative of `{text}` by `{u}` is that of another function, or the value itself.",
    example=(
        "sum(log(1 + exp(x))**2 * v)",
        {"x": "2*log(1 + exp(x))**2 * v"},
        {"x": (4,), "v": (4,)},
    ),
    common=0.4,
    habit=False,
)

segment_elsewhere = segment(
    "wrong-tensor-in-derivative",
    where=lambda e: e.op == "slope",
    choices=lambda e: (e.y, *e.around),
    wrong=lambda e, x: e.rule(e.g, e.y, (x,)),
    says="The derivative of `{text}` by `{u}` is taken at another tensor of the same shape.",
    example=(
        "sum(log(1 + exp(x))**2 * v)",
        {"x": "2*log(1 + exp(x)) * v * (1 + exp(x)) / (2 + exp(x))"},
        {"x": (4,), "v": (4,)},
    ),
    common=0.35,
    habit=False,
)

not_turned_back = segment(
    "wrong-index",
    where=lambda e: e.op == "layout",
    wrong=_in_order,
    says="On the way back from `{text}` the entries were counted off in order: its axes are to be "
    "turned back first.",
    example=(
        "sum(transpose(reshape(x, (2, 3, 2)), (1, 0, 2)) * V)",
        {"x": "reshape(V, (2, 6))"},
        {"x": (2, 6), "V": (3, 2, 2)},
    ),
    common=0.45,
    habit=False,
    hidden_by=(SYMMETRIC,),
)

windows_elsewhere = mistake(
    "wrong-index",
    verb="window",
    choices=_moved,
    wrong=lambda w, at: at,
    says="The slices of `{u}` were not taken where the program takes them: steps, gaps or offset "
    "differ.",
    example=(
        "sum((x[0:3]*w[0] + x[2:5]*w[1]) * v)",
        {"x": "concatenate((w[0]*v, [0, 0])) + concatenate(([0], w[1]*v, [0]))"},
        {"x": (5,), "w": (2,), "v": (3,)},
    ),
    common=0.4,
    habit=False,
)

windows_exchanged = mistake(
    "wrong-index",
    verb="window",
    choices=_exchanged,
    wrong=lambda w, at: at,
    says="Slices of `{u}` stand in each other's place.",
    example=(
        "sum((sin(x[0:3]) + x[3:6]**2) * v)",
        {"x": "concatenate((2*x[3:6]*v, cos(x[0:3])*v))"},
        {"x": (6,), "v": (3,)},
    ),
    common=0.4,
    habit=False,
)
