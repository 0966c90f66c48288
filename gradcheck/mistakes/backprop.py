"""The backprop family: one of reverse mode's four verbs said wrong at one site.

`site` is (node, i): the edge from an op to its i-th argument. A wrong pull gets the right cotangent
and what it was made of; a wrong fit gets the cotangent before it is summed; a wrong accumulate gets
what had arrived already and what arrives now.
"""

from typing import Any

import numpy as np

from gradcheck.engine.backward import Node, fit
from gradcheck.mistakes.row import mistake


def _stretched(node: Node, i: int, g: Any) -> bool:
    return bool(g.shape != node.forms[i][0])


sign_error = mistake(
    "sign-error",
    verb="pull",
    wrong=lambda right, node, i, g: -right,
    says="The sign flipped on the way back through `{text}`.",
    example=("sum(1 - x**2)", {"x": "2*x"}),
    common=0.9,
)

overwritten_not_accumulated = mistake(
    "overwritten-not-accumulated",
    verb="accumulate",
    wrong=lambda held, g: g,
    says="`{text}` is used more than once: the gradients of all its uses add up, here only one of "
    "them is left.",
    example=("sum(x * x + 3 * x)", {"x": "x + 0*x"}),
    common=0.8,
)

broadcast_not_summed = mistake(
    "broadcast-not-summed",
    verb="fit",
    where=_stretched,
    wrong=lambda node, i, g: g,
    says="`{text}` was broadcast: its gradient must be summed over the stretched axes.",
    example=("sum((X + b)**2)", {"b": "2*(X + b)"}),
    common=0.8,
)

mean_for_sum = mistake(
    "mean-for-sum",
    verb="pull",
    where=lambda node, i, g: node.op.name == "sum",
    wrong=lambda right, node, i, g: right / (right.size / max(np.size(g), 1)),
    says="`{text}` is a sum, but the gradient was divided by the number of terms, as for a mean.",
    example=("sum(x**2)", {"x": "2*x/3"}),
    common=0.6,
)

_ = fit
