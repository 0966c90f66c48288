"""Curves: the error of difference quotients against their step, and recorded series.

Of matplotlib figures alone are used, so that nothing of a program's own plots is touched.
"""

import math
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO

import matplotlib
import numpy as np
from flint import arb
from matplotlib.figure import Figure

from gradcheck.errors import GradcheckError
from gradcheck.mistakes import Mistake
from gradcheck.mistakes.training import TRAINING
from gradcheck.opinions.floats.blackbox import on_entry
from gradcheck.opinions.floats.scan import evaluate_finite
from gradcheck.opinions.opinion import Case, Slope
from gradcheck.plots.graph import NothingToDraw, format_number
from gradcheck.training import Output, Reference
from gradcheck.training.outputs import departs, is_same
from gradcheck.values import Array, Value
from gradcheck.verdict.consult import Verdict

Function = Callable[[float], float]

INCH, WIDE, HIGH, LETTERS = 72.0, 600.0, 360.0, 76
# Okabe and Ito's colours, which nearly everybody can tell apart.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7", "#56B4E9")
GREY, MARKS = "#5F5F5F", "osD^vP"
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
QUOTIENTS: Mapping[str, tuple[str, Callable[..., float]]] = {
    "central": ("(f(x + h) − f(x − h)) / 2h", lambda a, here, b, h: (b - a) / (2 * h)),
    "left": ("(f(x) − f(x − h)) / h", lambda a, here, b, h: (here - a) / h),
    "right": ("(f(x + h) − f(x)) / h", lambda a, here, b, h: (b - here) / h),
}
"""From the values at x - h, x and x + h."""


@dataclass(frozen=True, eq=False)
class Curve:
    """|quotient - slope| at each step that stays inside the domain; `hand` says which quotient."""

    hand: str
    steps: Array
    errors: Array

    @property
    def best(self) -> tuple[float, float]:
        k = int(np.argmin(self.errors))
        return float(self.steps[k]), float(self.errors[k])


@dataclass(frozen=True, eq=False)
class Differences:
    """The curves of a part's steepest entry; `bar` is what is not known of the slope itself."""

    label: str
    entries: int
    slope: float
    bar: float
    curves: tuple[Curve, ...]


def collect_differences(case: Case, verdict: Verdict, part: str) -> Differences:
    """The picture of a part's largest entry; raises NothingToDraw where no slope is known."""
    index = _find_steepest(verdict, part)
    f, x = on_entry(case, part, index)
    sides = _find_sides(verdict, part, index)
    steps = max(1.0, abs(x)) * 10.0 ** np.linspace(-DECADES, 0, DECADES * PER_DECADE + 1)
    found = [_follow_curve(hand, f, x, slope, steps) for hand, slope in sides.items()]
    if not found[0].steps.size:  # an end of the domain has one side
        found = [_follow_curve(hand, f, x, sides["central"], steps) for hand in ("left", "right")]
    curves = tuple(curve for curve in found if curve.steps.size)
    if not curves:
        raise NothingToDraw("the program has no finite value around the point")
    slope = next(iter(sides.values()))
    label = f"{part}[{', '.join(map(str, index))}]" if index else part
    entries = int(np.prod(np.shape(case.inputs[part])))
    return Differences(label, entries, float(slope.mid()), float(slope.rad()), curves)


def _find_steepest(verdict: Verdict, part: str) -> tuple[int, ...]:
    """The entry with the steepest slope; where no entry has a slope, the first."""
    found = verdict.parts.get(part)
    if found is None or found.gradient is None:
        raise NothingToDraw("; ".join(verdict.notes) or "no opinion has a gradient")
    sizes = np.abs(found.gradient.value)
    if sizes.size == 0:
        raise NothingToDraw("there are no entries")
    known = np.where(np.isfinite(sizes), sizes, -1.0)
    return tuple(map(int, np.unravel_index(np.argmax(known), known.shape)))


def _find_sides(verdict: Verdict, part: str, index: tuple[int, ...]) -> dict[str, arb]:
    seen = verdict.opinions["differences"]
    slope = seen.slopes.get((part, index), Slope("smooth", math.nan, math.nan))
    if slope.kind == "kink":
        return {"left": arb(slope.left), "right": arb(slope.right)}
    known = [verdict.parts[part].gradient, seen.gradients.get(part)]
    balls = (estimate.balls[index] for estimate in known if estimate is not None)
    ball = next((ball for ball in balls if ball.is_finite()), None)
    if ball is None or slope.kind not in ("smooth", "unresolved", "one-sided"):
        raise NothingToDraw(slope.detail or "there is no finite slope")
    return {"central": ball}


def _follow_curve(hand: str, f: Function, x: float, slope: arb, steps: Array) -> Curve:
    """The error at every step; the steps that leave the domain are left out."""
    quotient = QUOTIENTS[hand][1]

    def value(t: float) -> float:
        try:
            return evaluate_finite(f, t)
        except GradcheckError:  # the program refuses
            return math.nan

    here = value(x)
    found = [(h, quotient(value(x - h), here, value(x + h), h)) for h in map(float, steps)]
    told = [(h, float(abs(arb(q) - slope.mid()).mid())) for h, q in found if math.isfinite(q)]
    return Curve(hand, *np.array(told).reshape(-1, 2).T)


def find_floor(found: Differences) -> float:
    """A power of ten below everything that is not zero; zeros are drawn there."""
    least = min((e for c in found.curves for e in c.errors.tolist() if e > 0), default=1e-16)
    return float(10.0 ** (math.ceil(math.log10(least)) - 2))


def render_differences(problem: str, found: Differences) -> str:
    which = f", the steepest of {found.entries} entries" if found.entries > 1 else ""
    heading = f"{problem}: difference quotients for d/d{found.label}{which}"
    said = [f"The slope is {format_number(found.slope)}"]
    floor = find_floor(found)
    with _open_figure(heading) as figure:
        axes = figure.subplots()
        axes.set(xlabel="step h", ylabel="error of the slope, |quotient − slope|")
        for curve, colour, mark in zip(found.curves, COLOURS, MARKS, strict=False):
            step, error = (format_number(each, 2) for each in curve.best)
            words = f"{QUOTIENTS[curve.hand][0]}: best {error} at h = {step}"
            errors = np.maximum(curve.errors, floor)
            axes.loglog(curve.steps, errors, color=colour, marker=mark, ms=3, lw=1.0, label=words)
            said.append(f"{curve.hand} difference {words}")
        axes.set_ylim(floor / 2, None)
        figure.legend(loc="outside lower left")
        return _write_svg(figure, heading, *said)


# -- recorded series -------------------------------------------------------------------------------

ENTRIES = 6  # of arrays with more entries the 2-norm is drawn
CALLS = "calls of record(), counted from 0"
UNCHANGED = "no mistake of the training loop that gradcheck knows changes it"


@dataclass(frozen=True, eq=False)
class Series:
    """What `record(name=...)` noted, call by call; and with the first mistake that changes it."""

    name: str
    right: Output
    mistake: Mistake | None = None
    wrong: Output = None


def collect_series(reference: Reference) -> Iterator[Series]:
    made = [r for row in TRAINING for r in reference.make(row)]
    for name, right in reference.trace.recorded.items():
        wrong = (r for r in made if not is_same(r.recorded.get(name), right))
        first = next(wrong, None)
        more = () if first is None else (first.mistake, first.recorded.get(name))
        yield Series(name, right, *more)


def trace_svg(problem: str, series: Series) -> str:
    """A series as SVG: the run as it is, and beside it the one with the mistake, on one scale.

    Raises NothingToDraw where its entries are not alike numbers.
    """
    heading = f"{problem}: the recorded series {series.name}"
    right, parting = _split_lines(series.name, series.right), departs(series.wrong, series.right)
    runs = {"the program as it is" + f"\n{UNCHANGED}" * (series.mistake is None): right}
    if series.mistake is not None:
        at = "" if parting is None else f"parts at call {parting} "
        title = f"with the mistake {series.mistake.id}\n{at}(dotted: as it is)"
        runs[title] = _split_lines(series.name, series.wrong)
    with _open_figure(heading) as figure:
        rows: Value = figure.subplots(1, len(runs), sharex=True, sharey=True, squeeze=False)
        for axes, (title, lines) in zip(rows[0], runs.items(), strict=True):
            axes.set(title=title, xlabel=CALLS)
            axes.xaxis.get_major_locator().set_params(integer=True)
            for values in right.values() if lines is not right else ():
                axes.plot(values, color=GREY, lw=1.2, ls=":")
            for (label, line), colour, mark in zip(lines.items(), COLOURS, MARKS, strict=False):
                axes.plot(line, color=colour, marker=mark, label=label)
            if parting is not None:
                axes.axvline(parting, color="#000000", lw=1.0, ls="--")
        several = len(right) > 1
        size = np.asarray(series.right)[0].size
        norm = f"{series.name}: 2-norm of its {size} entries"
        rows[0][0].set_ylabel(f"entries of {series.name}" if several else next(iter(right)) or norm)
        if spans_decades([values for lines in runs.values() for values in lines.values()]):
            rows[0][0].set_yscale("log")
        if several:
            figure.legend(*rows[0][0].get_legend_handles_labels(), loc="outside lower center")
        return _write_svg(figure, heading, *(title.replace("\n", ". ") for title in runs))


def _split_lines(name: str, value: Output) -> dict[str, Array]:
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


def spans_decades(lines: Sequence[Array]) -> bool:
    """Whether all values are positive and the largest is a hundred times the least: a loss."""
    values = np.concatenate(lines)
    return bool(np.all(values > 0) and values.max() >= 100 * values.min())
