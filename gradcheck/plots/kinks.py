"""What is drawn of a kink: the function around the point, and a tangent to each side."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gradcheck.errors import GradcheckError
from gradcheck.opinions.floats.lines import of_entry
from gradcheck.opinions.floats.richardson import finite
from gradcheck.opinions.opinion import Case
from gradcheck.plots.curves import Function, Index
from gradcheck.plots.traces import NothingToDraw
from gradcheck.verdict.consult import Verdict

Floats = NDArray[np.float64]
SAMPLES = 201  # an odd number: the point itself is one of them


@dataclass(frozen=True, eq=False)
class Kink:
    """An entry of a part at `at`, the slopes to its sides, what reverse mode says, the function.

    `steps` and `values` are where the function is finite, from `at` minus its size to plus.
    """

    part: str
    index: Index
    at: float
    value: float
    left: float
    right: float
    chosen: float
    steps: Floats
    values: Floats

    @property
    def label(self) -> str:
        """`w`, or `W[0, 2]`."""
        return f"{self.part}[{', '.join(map(str, self.index))}]" if self.index else self.part


def kinked(verdict: Verdict, part: str) -> Index | None:
    """The first entry of a part whose slopes to both sides differ."""
    slopes = verdict.opinions["differences"].slopes if "differences" in verdict.opinions else {}
    return next((i for (name, i), s in slopes.items() if name == part and s.kind == "kink"), None)


def kink_of(case: Case, verdict: Verdict, part: str) -> Kink:
    """The picture of the first kink of a part; raises NothingToDraw where there is none."""
    index = kinked(verdict, part)
    if index is None:
        raise NothingToDraw("there is no kink")
    slope = verdict.opinions["differences"].slopes[part, index]
    f, x = of_entry(case, part, index)
    reach = max(1.0, abs(x))
    steps = np.linspace(x - reach, x + reach, SAMPLES)
    values = np.array([_told(f, float(t)) for t in steps])
    there = np.isfinite(values)
    found = verdict.opinions["reverse"].gradients.get(part)
    chosen = math.nan if found is None else float(found.value[index])
    return Kink(part, index, x, f(x), slope.left, slope.right, chosen, steps[there], values[there])


def _told(f: Function, t: float) -> float:
    """The value, nan where the program has none."""
    try:
        return finite(f, t)
    except GradcheckError:
        return math.nan
