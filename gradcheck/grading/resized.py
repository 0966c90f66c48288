"""Whether a right formula for arrays holds at other sizes than the given ones."""

import numpy as np

from gradcheck.answers import Formula
from gradcheck.grading.formulas.values import NotNumbers, floats, readings
from gradcheck.grading.key import Key, Spot
from gradcheck.grading.names import with_named_values
from gradcheck.grading.sizes import FAILURES, Resized

ONE_SIZE = "one-size"
CLOSE = 1e-8  # of the largest entry: both sides in float64


def only_here(key: Key, part: str, read: object) -> str:
    """Words for a formula that is right at the given size alone; nothing where it holds."""
    entry = key.problem.inputs.get(part)
    if not isinstance(read, Formula) or entry is None or not entry.shape:
        return ""
    for other in key.resized:
        if not _holds(other, part, read):
            return f"right for {other.size} = {other.length} only: write {other.size}"
    return ""


def _holds(other: Resized, part: str, read: Formula) -> bool:
    due = other.gradients[part]
    try:
        scope = with_named_values(other.problem, other.point)
        found = floats(readings(scope, read).at(Spot(other.problem, other.point)))
    except (*FAILURES, NotNumbers):
        return False
    room = CLOSE * float(np.max(np.abs(due), initial=1e-300))
    return found is not None and found.shape == due.shape and np.allclose(found, due, 0, room)
