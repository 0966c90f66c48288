"""An answer that is the gradient but for a sum that was not taken."""

import numpy as np

from gradcheck.diagnosis.blocks import subsets
from gradcheck.diagnosis.closeness import equal
from gradcheck.diagnosis.hypothesis import Hypothesis
from gradcheck.diagnosis.preparing import Prepared
from gradcheck.diagnosis.tables import Given
from gradcheck.mistakes.whole_answer import not_summed

DEEPEST = 4  # axes of an answer: a longer one is nobody's cotangent


def unsummed(prepared: Prepared, part: str, wanted: Given) -> list[Hypothesis]:
    """The axes over which the answer has to be summed to be the gradient, where there are any."""
    right = [prepared.right[k][part] for k in wanted.points]
    if not 0 < len(wanted.shape) <= DEEPEST or np.prod(wanted.shape) <= right[0].size:
        return []
    for axes in subsets(len(wanted.shape)):
        made = [a.reshape(wanted.shape).sum(axis=axes) for a in wanted.flat]
        if made[0].size == right[0].size and all(
            equal(np.ravel(a), np.ravel(r)) for a, r in zip(made, right, strict=True)
        ):
            said = " and ".join(f"axis {k}" for k in axes)
            return [Hypothesis(not_summed, prepared.span, texts={"c": said})]
    return []
