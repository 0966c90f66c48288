"""Figures that come out alike every time: their look, and how they become SVG.

Only this module and the three that draw need matplotlib; of it they use figures alone, so that
nothing of a program's own plots is touched.
"""

import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

POINTS = 72.0
"""An inch."""
AROUND = 6.0
LETTERS = 76
"""So many of a heading's go on a line of that width."""

# Okabe and Ito's colours, which nearly everybody can tell apart.
BLUE, VERMILION, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
ORANGE, SKY, BLACK, GREY = "#E69F00", "#56B4E9", "#000000", "#5F5F5F"

LOOK: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "gradcheck",
    "font.family": ["sans-serif"],
    "font.sans-serif": ["DejaVu Sans"],
    "font.monospace": ["DejaVu Sans Mono"],
    "font.size": 10.0,
    "axes.titlesize": 10.0,
    "axes.labelsize": 10.0,
    "figure.titlesize": 11.0,
    "text.parse_math": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.6,
    "lines.markersize": 5.0,
    "legend.frameon": False,
    "legend.fontsize": 9.5,
}
RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


@contextmanager
def look() -> Iterator[None]:
    """Our settings, whatever a program has set for its own plots."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(LOOK)
        yield


def blank(width: float, height: float) -> Figure:
    """An empty figure of a size in points."""
    return Figure(figsize=(width / POINTS, height / POINTS), facecolor="white")


def titled(figure: Figure, heading: str) -> None:
    """A heading; everything else finds its place below it."""
    figure.set_layout_engine("constrained", w_pad=AROUND / POINTS, h_pad=AROUND / POINTS)
    figure.suptitle(textwrap.fill(heading, LETTERS), weight="bold")


def svg_of(figure: Figure, title: str, description: str) -> str:
    """The figure as SVG: the same bytes for the same figure, with a title for those who listen."""
    words = {"Title": title, "Description": description, "Creator": "gradcheck", "Date": None}
    data = BytesIO()
    figure.savefig(data, format="svg", metadata=words)
    return data.getvalue().decode()


def decades(axes: Axes) -> None:
    """Logarithms on both axes, their ticks written as 10⁻¹⁶ in plain letters."""
    for axis in (axes.xaxis, axes.yaxis):
        logarithmic(axes, axis)


def logarithmic(axes: Axes, axis: Axis) -> None:
    """Logarithms on one of the axes."""
    (axes.set_xscale if axis is axes.xaxis else axes.set_yscale)("log")
    axis.set_major_locator(LogLocator(10.0, numticks=9))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: power_of_ten(value)))


def power_of_ten(value: float) -> str:
    """10⁻⁵ for 0.00001."""
    exponent = f"{value:.0e}".split("e")[1]
    return f"10{str(int(exponent)).translate(RAISED)}"
