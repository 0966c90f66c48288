"""Reverse mode's opinion: one backward pass on tensors, and its rounding error by sampling.

The error bar is that of discrete stochastic arithmetic (Vignes 1993): the program runs a few times
more with every leaf, every forward value and every pulled cotangent disturbed by a few units of
rounding, up or down; the largest deviation, times a safety factor, is the bar. A few, for an op
that rounds inside, to a coarser grid than its own value's, may not answer to a single one.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from gradcheck.engine.autograd import tensor
from gradcheck.engine.backward import RIGHT, Verbs, pull, walk
from gradcheck.engine.conversions import TAKEN
from gradcheck.engine.recording import watched
from gradcheck.engine.tape import Leaf, Node
from gradcheck.engine.tensor import Tensor, bare
from gradcheck.opinions.opinion import Array, Case, NotScalar, Opinion, estimate, reason
from gradcheck.ops.row import Op

SAMPLES = 4
UNITS = 8.0
SAFETY = 1.5
LINEAR = 1e-3
HUMBLE = 16.0
EPSILON = float(np.finfo(np.float64).eps)


LEAVES_THE_TAPE = "plain numbers are taken out of tensors (.item(), .tolist())"


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
    """One forward and one backward pass: the bare value, and the gradient of each wrt input."""
    leaves = _leaves(case, rng)
    out = case.function("tensor", leaves)
    zeros = {name: np.zeros(leaves[name].shape) for name in case.wrt}
    value = np.asarray(bare(out), dtype=np.float64)
    seed = _seed(value, case.cotangent)
    if not isinstance(out, Tensor) or not out.requires_grad:
        return value, zeros
    landed = walk([(out._step(), seed)], verbs=verbs)
    found = {id(step.variable): g for step, g in landed.items() if isinstance(step, Leaf)}
    return value, {
        name: np.array(found.get(id(leaves[name]), zero), dtype=np.float64)
        for name, zero in zeros.items()
    }


def recorded(case: Case) -> tuple[Any, Any, dict[str, Tensor]]:
    """One forward pass for those who look at single ops: the output, its seed, and the leaves.

    The output is None where nothing was recorded.
    """
    leaves = _leaves(case, None)
    out = case.function("tensor", leaves)
    seed = _seed(np.asarray(bare(out)), case.cotangent)
    return (out if isinstance(out, Tensor) and out.requires_grad else None), seed, leaves


def _leaves(case: Case, rng: Any) -> dict[str, Tensor]:
    values = case.floats()
    if rng is not None:
        values = {name: v * _noise(rng, v.shape) for name, v in values.items()}
    return {name: tensor(v, requires_grad=name in case.wrt) for name, v in values.items()}


def _seed(value: Array, cotangent: Array | None) -> Any:
    if cotangent is not None:
        return np.broadcast_to(np.asarray(cotangent, dtype=np.float64), value.shape)[()]
    if value.size != 1:
        raise NotScalar(f"the value has the shape {value.shape}; a cotangent of it is needed")
    return np.ones(value.shape)[()]


def _noise(rng: Any, shape: tuple[int, ...]) -> Any:
    """A few units of rounding, up or down, for every entry."""
    return 1.0 + UNITS * EPSILON * rng.uniform(0.5, 1.0, shape) * rng.choice((-1.0, 1.0), shape)


def _disturbed(case: Case, rng: Any) -> tuple[Array, Mapping[str, Array]]:
    def disturb(row: Op, y: Any) -> Any:
        return y * _noise(rng, np.shape(y)) if row.rounds and np.asarray(y).dtype.kind == "f" else y

    def noisy_pull(node: Node, i: int, g: Any, y: Any, operands: tuple[Any, ...]) -> Any:
        piece = pull(node, i, g, y, operands)
        return piece * _noise(rng, np.shape(piece)) if node.op.rounds else piece

    with watched(disturb=disturb):
        return once(case, replace(RIGHT, pull=noisy_pull), rng)


def _bar(value: Array, runs: list[Array]) -> Array:
    """The largest deviation of the disturbed runs, with a safety factor; infinite if none is told.

    A run that left the domain (arccos of 1 and one unit of rounding) tells nothing. Where rounding
    moves more than a thousandth of the number, few samples say little of how far it can go.
    """
    with np.errstate(all="ignore"):
        deviations = np.array([np.abs(run - value) for run in runs])
        deviations[~np.isfinite(deviations)] = np.nan
        bar = SAFETY * np.fmax.reduce(deviations, axis=0) + 2 * EPSILON * np.abs(value)
        bar = np.where(bar > LINEAR * np.abs(value), HUMBLE * bar, bar)
    return np.where(np.isfinite(bar), bar, np.inf)
