"""Drawing a recorded series: two runs side by side, on one scale."""

import numpy as np
from matplotlib.axes import Axes

from gradcheck.plots.canvas import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    blank,
    logarithmic,
    look,
    svg_of,
    titled,
)  # fmt: skip
from gradcheck.plots.graph_plan import WIDTH
from gradcheck.plots.labels import number
from gradcheck.plots.traces import Panel, Trace

HEIGHT, LEGEND = 300.0, 24.0
COLOURS = (BLUE, VERMILION, GREEN, ORANGE, PURPLE, SKY)
MARKS = "osD^vP"
DECADES = 100.0
FEW = 12
"""So many steps have a tick each."""


def trace_svg(trace: Trace) -> str:
    """The picture as SVG."""
    labelled = len(trace.panels[0].lines) > 1
    with look():
        figure = blank(WIDTH, HEIGHT + LEGEND * labelled)
        titled(figure, trace.heading)
        rows = figure.subplots(1, len(trace.panels), sharex=True, sharey=True, squeeze=False)
        for axes, panel in zip(rows[0], trace.panels, strict=True):
            _panel(axes, trace, panel)
        rows[0][0].set_ylabel(trace.up)
        if spans_decades(trace):
            logarithmic(rows[0][0], rows[0][0].yaxis)
        if labelled:
            handles = rows[0][0].get_legend_handles_labels()
            figure.legend(*handles, loc="outside lower center", ncols=6)
        return svg_of(figure, trace.heading, description(trace))


def spans_decades(trace: Trace) -> bool:
    """Whether all values are positive and the largest is a hundred times the least: a loss."""
    values = np.concatenate([line.values for panel in trace.panels for line in panel.lines])
    return bool(np.all(values > 0) and values.max() >= DECADES * values.min())


def _panel(axes: Axes, trace: Trace, panel: Panel) -> None:
    """One run; behind the second the first one, in grey."""
    first = trace.panels[0]
    axes.set_title("\n".join([panel.title, *panel.remarks]))
    axes.set_xlabel(trace.across)
    for line in first.lines if panel is not first else ():
        axes.plot(first.steps, line.values, color=GREY, lw=1.2, ls=":")
    wrong = panel is not first and len(panel.lines) == 1
    for line, colour, mark in zip(panel.lines, COLOURS, MARKS, strict=False):
        own = VERMILION if wrong else colour
        axes.plot(panel.steps, line.values, color=own, marker=mark, label=line.label)
    if len(panel.steps) <= FEW:
        axes.set_xticks(panel.steps)
    axes.xaxis.set_major_formatter("{x:g}")
    if trace.parting is not None:
        axes.axvline(trace.parting, color=BLACK, lw=1.0, ls="--")


def description(trace: Trace) -> str:
    """The picture in words."""
    runs = [f"{'. '.join([p.title, *p.remarks])}: {_values(p)}" for p in trace.panels]
    return ". ".join([trace.heading, *runs]) + "."


def _values(panel: Panel) -> str:
    return "; ".join(
        f"{line.label} {', '.join(map(number, line.values))}".strip() for line in panel.lines
    )
