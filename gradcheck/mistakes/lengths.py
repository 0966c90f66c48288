"""The backprop family at vectors that are made one long: y = x / |x|, derived as a whole.

The right pull is (g - y sum(g y)) / |x|.
"""

from typing import Any

import numpy as np

from gradcheck.mistakes.norms import other_axes
from gradcheck.mistakes.row import Edge, pull


def _unit(e: Edge, axis: Any, along: Any) -> Any:
    """The pull of a vector made one long, with another axis or another tensor in its sum."""
    return (e.g - e.y * np.sum(e.g * along, axis=axis, keepdims=True)) / e.params["scale"]


length_along_other = pull(
    "summed-over-wrong-axis",
    where=lambda e: e.op == "unit" and np.ndim(e.y) > 1,
    choices=other_axes,
    wrong=lambda e, axis: _unit(e, axis, e.y),
    says="In the derivative of `{text}` the sum goes along the vectors that were made one long: "
    "here along another axis.",
    example=(
        "sum(x / sqrt(sum(x**2, axis=1, keepdims=True)) * v)",
        {
            "x": "(v - x / sqrt(sum(x**2, axis=1, keepdims=True)) * sum(v * x"
            " / sqrt(sum(x**2, axis=1, keepdims=True)), axis=0))"
            " / sqrt(sum(x**2, axis=1, keepdims=True))"
        },
        {"x": (5, 3), "v": (5, 3)},
    ),
    common=0.4,
)

vector_for_direction = pull(
    "wrong-tensor-in-derivative",
    where=lambda e: e.op == "unit",
    wrong=lambda e: _unit(e, e.params["axis"], e.x),
    says="In the derivative of `{text}` the vector stands where its direction belongs.",
    example=(
        "sum(x / sqrt(sum(x**2, axis=1, keepdims=True)) * v)",
        {
            "x": "(v - x / sqrt(sum(x**2, axis=1, keepdims=True))"
            " * sum(v * x, axis=1, keepdims=True)) / sqrt(sum(x**2, axis=1, keepdims=True))"
        },
        {"x": (5, 3), "v": (5, 3)},
    ),
    common=0.4,
)

norm_not_divided = pull(
    "chain-factor-dropped",
    where=lambda e: e.op == "norm" and (np.ndim(e.y) == 0 or bool(e.params.get("keepdims"))),
    wrong=lambda e: e.right * e.y,
    says="The derivative of `{text}` is not divided by the length.",
    example=("sum(norm(x) * v)", {"x": "x * sum(v)"}, {"x": (3,), "v": (2,)}),
    common=0.4,
)
