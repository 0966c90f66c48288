"""Gradients that are possible at a kink: those of points so near that only kinks are crossed.

Any gradient of a point just beside a kink is possible (Clarke 1983, theorem 2.5.1), and so is what
PyTorch's conventions give.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain

import numpy as np

from gradcheck.engine.tape import RIGHT, Node, pull
from gradcheck.opinions.limits import BESIDE, NEIGHBOURS
from gradcheck.opinions.opinion import Case
from gradcheck.opinions.reverse import once
from gradcheck.values import Array, Numbers, Routine


def neighbours(case: Case) -> Iterator[dict[str, Array]]:
    """Reverse mode's gradient at the point, and at points so near that only kinks are crossed.

    Among them those to which every kink of an op leans alike: as each of many units may lean either
    way, a few random points would not meet that, and `x > 0` in a backward pass is just that. No
    point need lie there: `relu(x) - relu(-x)` with `x >= 0` in both gives 2 where the slope is 1.
    Such a choice of a side for each op is a gradient almost everywhere, and what reverse mode gives
    is of that kind (Bolte and Pauwels, Conservative set valued fields, 2021).
    """
    rng = np.random.default_rng(case.seed)
    leaning = ((case, replace(RIGHT, pull=_leaning(lean))) for lean in (-BESIDE, BESIDE))
    beside = (
        (move(case, (n > 0) * BESIDE, rng.standard_normal), RIGHT) for n in range(1 + NEIGHBOURS)
    )
    for point, verbs in chain(leaning, beside):
        try:
            with np.errstate(all="ignore"):
                yield once(point, verbs)[1]
        except Exception:  # noqa: BLE001 - a user's program may refuse tensors
            return


def move(case: Case, part: float, draw: Callable[[tuple[int, ...]], Array]) -> Case:
    """The question at a point beside: every entry is moved by a part of itself."""
    moved = {
        name: v + part * draw(v.shape) * np.where(v, v, 1.0)
        for name, v in case.floats().items()
        if name in case.wrt
    }
    return replace(case, inputs={**case.inputs, **moved})


def _leaning(lean: float) -> Routine:
    """The pull with the first operand of every op that has kinks moved by very little."""

    def leaning(
        node: Node, i: int, g: Numbers, y: Numbers, operands: tuple[Numbers, ...]
    ) -> Numbers:
        if node.op.kinks and node.op.elementwise and operands and operands[0] is not None:
            first = np.asarray(operands[0])
            operands = (first + lean * np.where(first, np.abs(first), 1.0), *operands[1:])
            y = y if y is None else y + lean
        return pull(node, i, g, y, operands)

    return leaning
