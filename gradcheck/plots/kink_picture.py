"""Drawing a kink: the function with its two tangents."""

import numpy as np
from matplotlib.axes import Axes

from gradcheck.plots.canvas import BLACK, BLUE, GREEN, VERMILION, blank, look, svg_of, titled
from gradcheck.plots.graph_plan import WIDTH
from gradcheck.plots.kinks import Kink
from gradcheck.plots.labels import number

HEIGHT = 420.0
DIGITS = 6


def kink_svg(problem: str, kink: Kink) -> str:
    """The picture as SVG."""
    with look():
        figure = blank(WIDTH, HEIGHT)
        titled(figure, heading(problem, kink))
        axes = figure.subplots()
        axes.set_xlabel(kink.label)
        axes.set_ylabel("value of the program")
        axes.plot(kink.steps, kink.values, color=BLUE, lw=2.2, label="the program")
        _tangent(axes, kink, kink.left, -1, VERMILION)
        _tangent(axes, kink, kink.right, 1, GREEN)
        axes.plot(kink.at, kink.value, "o", color=BLACK, ms=7, label=between(kink))
        figure.legend(loc="outside lower left")
        return svg_of(figure, heading(problem, kink), description(problem, kink))


def heading(problem: str, kink: Kink) -> str:
    """The problem, the entry, and where it is."""
    return f"{problem}: a kink at {kink.label} = {number(kink.at, DIGITS)}"


def _tangent(axes: Axes, kink: Kink, slope: float, side: int, colour: str) -> None:
    """The tangent to one side, thin beyond the point; within what the function shows."""
    ends = kink.at + np.array([-1.0, 1.0]) * max(1.0, abs(kink.at))
    own = np.array([kink.at, ends[(side + 1) // 2]])
    for steps, width, words in ((ends, 0.8, None), (own, 1.8, sided(slope, side))):
        line = kink.value + slope * (steps - kink.at)
        axes.plot(steps, line, "--", color=colour, lw=width, label=words)


def sided(slope: float, side: int) -> str:
    """`slope to the left: -1`."""
    return f"slope to the {'right' if side > 0 else 'left'}: {number(slope, DIGITS)}"


def between(kink: Kink) -> str:
    """What reverse mode gives there, as PyTorch does."""
    if not np.isfinite(kink.chosen):
        return "the point"
    return f"the point; backward gives {number(kink.chosen, DIGITS)}"


def description(problem: str, kink: Kink) -> str:
    """The picture in words."""
    said = (heading(problem, kink), sided(kink.left, -1), sided(kink.right, 1), between(kink))
    return ". ".join(said) + "."
