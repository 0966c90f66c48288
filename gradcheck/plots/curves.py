"""Curves: the error of difference quotients against their step, and recorded series.

Of matplotlib figures alone are used, so that nothing of a program's own plots is touched.
"""

import math
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO

import matplotlib
import numpy as np
from flint import arb
from matplotlib.figure import Figure
from numpy.typing import NDArray

from gradcheck.errors import GradcheckError
from gradcheck.opinions.floats.blackbox import on_entry
from gradcheck.opinions.floats.richardson import evaluate_finite
from gradcheck.opinions.opinion import Case, Slope
from gradcheck.plots.graph import NothingToDraw, format_number
from gradcheck.training import Output
from gradcheck.values import Value
from gradcheck.verdict.consult import Verdict

Floats = NDArray[np.float64]

INCH, WIDE, HIGH, LETTERS = 72.0, 600.0, 360.0, 76
# Okabe and Ito's colours, which nearly everybody can tell apart.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7", "#56B4E9")
MARKS = "osD^vP"
LOOK: dict[Value, Value] = {
    "svg.fonttype": "none", "svg.hashsalt": "gradcheck", "font.family": ["sans-serif"],
    "font.sans-serif": ["DejaVu Sans"], "axes.titlesize": 10.0, "figure.titlesize": 11.0,
    "axes.grid": True, "grid.color": "#DDDDDD", "legend.frameon": False,
}  # fmt: skip


@contextmanager
def _open_figure(heading: str) -> Iterator[Figure]:
    """An empty figure with a heading, whatever a program has set for its own plots."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(LOOK)
        figure = Figure(figsize=(WIDE / INCH, HIGH / INCH), facecolor="white")
        figure.set_layout_engine("constrained")
        figure.suptitle(textwrap.fill(heading, LETTERS), weight="bold")
        yield figure


def _write_svg(figure: Figure, title: str, *description: str) -> str:
    """The figure as SVG: the same bytes for the same figure, with words for those who listen."""
    told = ". ".join([title, *description]) + "."
    words = {"Title": title, "Description": told, "Creator": "gradcheck", "Date": None}
    data = BytesIO()
    figure.savefig(data, format="svg", metadata=words)
    return data.getvalue().decode()


# -- difference quotients --------------------------------------------------------------------------

DECADES, PER_DECADE = 16, 6
QUOTIENT = "(f(x + h) − f(x − h)) / 2h"


@dataclass(frozen=True, eq=False)
class Differences:
    """|quotient - slope| of a part's steepest entry at each step that stays inside the domain.

    `bar` is what is not known of the slope itself.
    """

    label: str
    entries: int
    slope: float
    bar: float
    steps: Floats
    errors: Floats

    @property
    def best(self) -> tuple[float, float]:
        k = int(np.argmin(self.errors))
        return float(self.steps[k]), float(self.errors[k])


def collect_differences(case: Case, verdict: Verdict, part: str) -> Differences:
    """The picture of a part's largest entry; raises NothingToDraw where no slope is known."""
    index = _find_steepest(verdict, part)
    f, x = on_entry(case, part, index)
    slope = _find_slope(verdict, part, index)

    def value(t: float) -> float:
        try:
            return evaluate_finite(f, t)
        except GradcheckError:  # the program refuses
            return math.nan

    steps = max(1.0, abs(x)) * 10.0 ** np.linspace(-DECADES, 0, DECADES * PER_DECADE + 1)
    found = [(h, (value(x + h) - value(x - h)) / (2 * h)) for h in map(float, steps)]
    told = [(h, float(abs(arb(q) - slope.mid()).mid())) for h, q in found if math.isfinite(q)]
    if not told:
        raise NothingToDraw("the program has no finite value on both sides of the point")
    label = f"{part}[{', '.join(map(str, index))}]" if index else part
    entries = int(np.prod(np.shape(case.inputs[part])))
    return Differences(label, entries, float(slope.mid()), float(slope.rad()), *np.array(told).T)


def _find_steepest(verdict: Verdict, part: str) -> tuple[int, ...]:
    """The entry with the steepest slope; where no entry has a slope, the first."""
    found = verdict.parts.get(part)
    if found is None or found.gradient is None:
        raise NothingToDraw("; ".join(verdict.notes) or "no opinion has a gradient")
    sizes = np.abs(found.gradient.value)
    if sizes.size == 0:
        raise NothingToDraw("there are no entries")
    known = np.where(np.isfinite(sizes), sizes, -1.0)
    return tuple(int(k) for k in np.unravel_index(np.argmax(known), known.shape))


def _find_slope(verdict: Verdict, part: str, index: tuple[int, ...]) -> arb:
    seen = verdict.opinions["differences"]
    slope = seen.slopes.get((part, index), Slope("smooth", math.nan, math.nan))
    known = [verdict.parts[part].gradient, seen.gradients.get(part)]
    balls = (estimate.balls[index] for estimate in known if estimate is not None)
    ball: arb | None = next((ball for ball in balls if ball.is_finite()), None)
    if ball is None or slope.kind not in ("smooth", "unresolved"):
        raise NothingToDraw(slope.detail or "there is no finite slope on both sides")
    return ball


def find_floor(found: Differences) -> float:
    """A power of ten below everything that is not zero; zeros are drawn there."""
    least = min((e for e in found.errors.tolist() if e > 0), default=1e-16)
    return float(10.0 ** (math.ceil(math.log10(least)) - 2))


def render_differences(problem: str, found: Differences) -> str:
    which = f", the steepest of {found.entries} entries" if found.entries > 1 else ""
    heading = f"{problem}: difference quotients for d/d{found.label}{which}"
    floor = find_floor(found)
    step, error = (format_number(each, 2) for each in found.best)
    words = f"{QUOTIENT}: best {error} at h = {step}"
    with _open_figure(heading) as figure:
        axes = figure.subplots()
        axes.set(xlabel="step h", ylabel="error of the slope, |quotient − slope|")
        errors = np.maximum(found.errors, floor)
        axes.loglog(found.steps, errors, color=COLOURS[0], marker="o", ms=3, lw=1.0, label=words)
        axes.set_ylim(floor / 2, None)
        figure.legend(loc="outside lower left")
        slope = f"The slope is {format_number(found.slope)}"
        return _write_svg(figure, heading, slope, f"central difference {words}")


# -- recorded series -------------------------------------------------------------------------------

ENTRIES = 6  # of arrays with more entries the 2-norm is drawn
CALLS = "calls of record(), counted from 0"


def render_series(problem: str, name: str, series: Output) -> str:
    """What `record(name=...)` noted, call by call, as SVG.

    Raises NothingToDraw where its entries are not alike numbers.
    """
    heading, lines = f"{problem}: the recorded series {name}", _split_lines(name, series)
    with _open_figure(heading) as figure:
        axes: Value = figure.subplots()
        axes.set(xlabel=CALLS)
        axes.xaxis.get_major_locator().set_params(integer=True)
        for (label, line), colour, mark in zip(lines.items(), COLOURS, MARKS, strict=False):
            axes.plot(line, color=colour, marker=mark, label=label)
        norm = f"{name}: 2-norm of its {np.asarray(series)[0].size} entries"
        axes.set_ylabel(f"entries of {name}" if len(lines) > 1 else next(iter(lines)) or norm)
        if spans_decades([*lines.values()]):
            axes.set_yscale("log")
        if len(lines) > 1:
            figure.legend(loc="outside lower center")
        return _write_svg(figure, heading)


def _split_lines(name: str, value: Output) -> dict[str, Floats]:
    """The values of each entry by its label; of many entries their 2-norm, without one."""
    if not isinstance(value, np.ndarray) or not value.ndim or not value.size:
        raise NothingToDraw(f"{name} is not a number, or an array of one shape, each time")
    flat = value.reshape(len(value), -1)
    if value.ndim == 1:
        return {name: value}
    if flat.shape[1] > ENTRIES:
        return {"": np.linalg.norm(flat, axis=1)}
    labels = [f"{name}[{', '.join(map(str, i))}]" for i in np.ndindex(value.shape[1:])]
    return dict(zip(labels, flat.T, strict=True))


def spans_decades(lines: Sequence[Floats]) -> bool:
    """Whether all values are positive and the largest is a hundred times the least: a loss."""
    values = np.concatenate(lines)
    return bool(np.all(values > 0) and values.max() >= 100 * values.min())
