"""Reverse mode's opinion: one backward pass on tensors, and its rounding error by sampling.

The program runs a few times more with every leaf, every forward value, the cotangent to begin with
and every pulled one disturbed by rounding (see `rounding`). Ops that only move numbers do not
round, but what they moved is added up later: that is why the first cotangent is disturbed too. A
scalar's cotangent is exactly 1.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from gradcheck.engine.autograd import grad
from gradcheck.engine.backward import RIGHT, Verbs, pull, walk
from gradcheck.engine.conversions import TAKEN
from gradcheck.engine.recording import watched
from gradcheck.engine.tape import Node, Step
from gradcheck.engine.tensor import Tensor, bare
from gradcheck.opinions.opinion import Array, Case, NotScalar, Opinion, estimate, reason
from gradcheck.opinions.rounding import EPSILON, SAMPLES, noise, spread
from gradcheck.opinions.rows import by_rows, stacked
from gradcheck.opinions.tape import gradients_at, leaves_of, seed_of
from gradcheck.ops.row import Op

LINEAR = 1e-3  # of a number: what rounding may move while a few samples still tell how far
HUMBLE = 16.0
LEAVES_THE_TAPE = "plain numbers are taken out of tensors (.item(), .tolist(), deepcopy)"


@by_rows
def reverse(case: Case, samples: int = SAMPLES) -> Opinion:
    """Value and gradients by the tape, with bars; abstains where the program refuses tensors."""
    try:
        with np.errstate(all="ignore"):
            before = TAKEN[0]
            value, gradients = once(case)
            taken = TAKEN[0] > before
            rng = np.random.default_rng(case.seed)
            runs = [_disturbed(case, rng) for _ in range(samples)]
    except NotScalar:
        raise
    except Exception as error:  # noqa: BLE001 - a user's program may raise anything
        return Opinion("reverse", abstains=reason(error))
    return Opinion(
        "reverse",
        method=LEAVES_THE_TAPE if taken else "",
        value=estimate(value, _bar(value, [run[0] for run in runs])),
        gradients={
            name: estimate(g, _bar(g, [run[1][name] for run in runs]))
            for name, g in gradients.items()
        },
    )


def once(case: Case, verbs: Verbs = RIGHT, rng: Any = None) -> tuple[Array, dict[str, Array]]:
    """One forward and one backward pass: the bare value, and the gradient of each wrt input.

    Of a case with rows there is one of each for every row.
    """
    if case.rows is not None:
        found = [once(row, verbs, rng) for row in case.each_row()]
        return found[0][0], stacked(case, [gradients for _, gradients in found])
    values = case.floats()
    if rng is not None:
        values = {name: v * noise(rng, v.shape) for name, v in values.items()}
    leaves = leaves_of(case, values)
    out = case.function("tensor", leaves)
    value = np.asarray(bare(out), dtype=np.float64)
    seed = seed_of(value, case.cotangent)
    tracked = isinstance(out, Tensor) and out.requires_grad
    landed = walk([(out._step(), seed)], verbs=verbs) if tracked else {}
    return value, gradients_at(leaves, landed, case.wrt)


def twice(case: Case, name: str) -> float:
    """The second derivative by one scalar input, by going back through the way back."""
    leaves = leaves_of(case, case.floats())
    out = case.function("tensor", leaves)
    (first,) = grad(out, [leaves[name]], grad_outputs=case.cotangent, create_graph=True)
    if first is None or not first.requires_grad:
        return 0.0
    (second,) = grad(first, [leaves[name]], allow_unused=True)
    return 0.0 if second is None else float(bare(second))


def _disturbed(case: Case, rng: Any) -> tuple[Array, Mapping[str, Array]]:
    def disturb(row: Op, y: Any) -> Any:
        return y * noise(rng, np.shape(y)) if row.rounds and np.asarray(y).dtype.kind == "f" else y

    def noisy_pull(node: Node, i: int, g: Any, y: Any, operands: tuple[Any, ...]) -> Any:
        piece = pull(node, i, g, y, operands)
        return piece * noise(rng, np.shape(piece)) if node.op.rounds else piece

    def noisy_seed(root: Step, g: Any) -> Any:
        return g if case.cotangent is None else g * noise(rng, np.shape(g))

    verbs = replace(RIGHT, seed=noisy_seed, pull=noisy_pull)
    with watched(disturb=disturb):
        value, gradients = once(case, verbs, rng)
        if np.all(np.isfinite(value)):
            return value, gradients
        return once(case, verbs)  # a disturbed exponent of a negative number gives no number


def _bar(value: Array, runs: list[Array]) -> Array:
    """The spread of the disturbed runs and the value's own rounding; infinite if none is told.

    Where rounding moves more than a thousandth of the number, few samples say little of how far it
    can go.
    """
    with np.errstate(all="ignore"):
        bar = spread(value, runs) + 2 * EPSILON * np.abs(value)
        bar = np.where(bar > LINEAR * np.abs(value), HUMBLE * bar, bar)
    return np.where(np.isfinite(bar), bar, np.inf)
