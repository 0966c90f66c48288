"""Drawing the error of difference quotients against their step: the V."""

import math
import textwrap

import numpy as np
from matplotlib.axes import Axes

from gradcheck.plots.canvas import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    VERMILION,
    blank,
    decades,
    look,
    svg_of,
    titled,
)
from gradcheck.plots.curves import Chosen, Curve, Differences
from gradcheck.plots.graph_plan import WIDTH
from gradcheck.plots.labels import number

HEIGHT = 420.0
WIDEST = 90
STYLES = {"central": (BLUE, "o"), "left": (BLUE, "o"), "right": (VERMILION, "s")}
QUOTIENTS = {
    "central": "central difference (f(x + h) − f(x − h)) / 2h",
    "left": "difference to the left (f(x) − f(x − h)) / h",
    "right": "difference to the right (f(x + h) − f(x)) / h",
}
LINES = {-1: "rounding of f(x): 2⁻⁵²·|f(x)| / h", 1: "truncation: ~ h", 2: "truncation: ~ h²"}
STROKES = {-1: "--", 1: "-.", 2: "-."}


def curve_svg(problem: str, found: Differences) -> str:
    """The picture as SVG."""
    with look():
        figure = blank(WIDTH, HEIGHT)
        titled(figure, heading(problem, found))
        axes = figure.subplots()
        decades(axes)
        axes.set_xlabel("step h")
        axes.set_ylabel("error of the slope, |quotient − slope|")
        _all(axes, found, floor_of(found))
        figure.legend(loc="outside lower left")
        return svg_of(figure, heading(problem, found), description(problem, found))


def heading(problem: str, found: Differences) -> str:
    """The problem, the entry, and which of how many it is."""
    which = f", the steepest of {found.entries} entries" if found.entries > 1 else ""
    return f"{problem}: difference quotients for d/d{found.label}{which}"


def floor_of(found: Differences) -> float:
    """A power of ten below everything that is not zero; zeros are drawn there."""
    seen = [e for curve in found.curves for e in curve.errors.tolist()]
    if found.chosen is not None:
        seen += [found.chosen.error, found.chosen.bar]
    least = min((e for e in seen if e > 0), default=1e-16)
    return float(10.0 ** (math.ceil(math.log10(least)) - 2))


def _all(axes: Axes, found: Differences, floor: float) -> None:
    for curve in found.curves:
        _curve(axes, curve, floor)
    for guide in found.guides:
        ends = np.array(guide.steps)
        errors = guide.factor * ends**guide.power
        axes.plot(ends, errors, STROKES[guide.power], color=BLACK, lw=1.2, label=LINES[guide.power])
    if found.chosen is not None:
        _chosen(axes, found.chosen, floor)
    else:
        words = textwrap.fill(f"no step is chosen: {found.why}", WIDEST)
        axes.plot([], [], " ", label=words)
    if found.bar > floor:
        axes.axhline(found.bar, color=GREY, ls=":", label="error bar of the slope held against")
    axes.set_ylim(floor / 2, None)


def _curve(axes: Axes, curve: Curve, floor: float) -> None:
    """The errors; those that are zero as triangles at the lower edge."""
    (colour, mark), (step, error) = STYLES[curve.hand], curve.best
    words = f"{QUOTIENTS[curve.hand]}: best {short(error)} at h = {short(step)}"
    errors = np.maximum(curve.errors, floor)
    axes.plot(curve.steps, errors, color=colour, marker=mark, ms=3, lw=1.0, label=words)
    exact = curve.steps[curve.errors == 0]
    if len(exact):
        words = f"no error at all at {len(exact)} of {len(errors)} steps: drawn at the lower edge"
        axes.plot(exact, np.full(len(exact), floor), "v", color=colour, clip_on=False, label=words)


def _chosen(axes: Axes, chosen: Chosen, floor: float) -> None:
    """The steps that were combined, the error bar, and in it the true error."""
    fine, coarse = chosen.steps
    middle = math.sqrt(fine * coarse)
    bar, error = max(chosen.bar, floor), max(chosen.error, floor)
    axes.axvspan(fine, coarse, color=GREEN, alpha=0.15, lw=0)
    axes.plot([middle, middle], [floor / 2, bar], color=GREEN, lw=1.5)
    axes.plot([fine, coarse], [bar, bar], color=GREEN, lw=2.5)
    axes.plot(middle, bar, "_", color=GREEN, ms=16, mew=2.5, label=chosen_words(chosen))
    words = f"true error of what was chosen: {short(chosen.error)}"
    star = axes.plot(middle, error, "*", color=GREEN, ms=13, clip_on=False, label=words)
    star[0].set(markeredgecolor=BLACK, markeredgewidth=0.6)


def chosen_words(chosen: Chosen) -> str:
    """The step, or the steps whose quotients are combined, and the error bar that is claimed."""
    fine, coarse = map(short, chosen.steps)
    which = f"step {fine}" if fine == coarse else f"steps {fine} to {coarse}, combined"
    return f"chosen {which}: error bar {short(chosen.bar)}"


def short(value: float) -> str:
    """A step or an error: two digits tell enough."""
    return number(value, 2)


def description(problem: str, found: Differences) -> str:
    """The picture in words."""
    said = [heading(problem, found), f"The slope is {number(found.slope)}"]
    for curve in found.curves:
        step, error = map(short, curve.best)
        said.append(f"The {curve.hand} difference is best at h = {step}, with an error of {error}")
    if found.chosen is not None:
        said.append(chosen_words(found.chosen))
    return ". ".join(said) + "."
