"""What a problem's page shows besides its text: values, the graph, curves."""

import ast
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import numpy as np

from gradcheck.errors import GradcheckError
from gradcheck.grading.equivalence import find_floats
from gradcheck.grading.key import Key
from gradcheck.grading.spots import Spot
from gradcheck.opinions.opinion import Case, NotScalar
from gradcheck.opinions.reverse import run_once
from gradcheck.plots.graph import list_remarks, make_graph, render_graph
from gradcheck.problem.record import Part
from gradcheck.report.figures import WRITTEN_ENTRIES, plain

POINTS = 121
HALF = 2.0  # what is seen of the axis to either side, times |x| where that is more than 1
CURVES = 500  # of which a worker remembers the points
NODES = 24  # of a larger tape the last ones are drawn
FAULTS = (GradcheckError, NotScalar, ArithmeticError, LookupError, TypeError, ValueError)
Drawn = dict[str, Any]
Curve = Sequence[Sequence[float | None]]


def draw_problem(key: Key) -> Drawn:
    """Everything that is the same for every answer; None where there is nothing to draw."""
    graph, solved, remarks = draw_graphs(key)
    return {
        "given": [
            [name, _write_entries(value)]
            for name, value in key.problem.select_inputs(key.points[0]).items()
        ],
        "shapes": {name: list(entry.shape) for name, entry in key.problem.inputs.items()},
        "graph": graph,
        "solved": solved,
        "remarks": remarks,
        "curves": {
            part.name: _try_drawing(partial(_draw_curves, key, part.name))
            for part in (key.problem.parts if _is_plane(key) else ())
            if part.name not in key.problem.made
        },
    }


def trace_answer(key: Key, part: Part, answer: Any) -> Curve | None:
    """An answer's own curve, where the problem has one."""
    return _try_drawing(partial(_trace, key, part, answer)) if _is_plane(key) else None


def _try_drawing(draw: Callable[[], Any]) -> Any:
    try:
        return draw()
    except FAULTS:
        return None


def _write_entries(value: Any) -> Any:
    """An input's value as nested lists of texts; of a large array, or a deep one, a sentence."""
    array = np.asarray(value)
    if array.size > WRITTEN_ENTRIES or array.ndim > 2 or not array.size:
        return f"an array of the shape {array.shape}"
    texts = np.array([plain(float(entry), 6) for entry in array.flat], dtype=object)
    return texts.reshape(array.shape).tolist() if array.shape else texts[0]


# -- the graph, and the rules of calculus ----------------------------------------------------------


def draw_graphs(key: Key) -> tuple[str | None, str | None, list[str]]:
    """The tape with values alone, with the gradients that came back, and how that is to be read."""
    case = _find_case(key)
    if case is None:
        return None, None, []
    found = _try_drawing(partial(make_graph, "", case, key.problem.program, NODES))
    if found is None:
        return None, None, []
    calculus = all(np.ndim(value) == 0 for value in case.inputs.values())
    found = replace(found, node_names=not calculus)
    return render_graph(replace(found, solved=False)), render_graph(found), list_remarks(found)


def _find_case(key: Key) -> Case | None:
    """What went back: of a program with events the first call that can be followed."""
    if key.run is not None:
        return next((event.case for event in key.run.events if event.case is not None), None)
    problem, own = key.problem.plain, key.problem.select_inputs(key.problem.inputs)
    wrt = [name for name in problem.wrt if name in own] or [n for n in own if own[n].requires_grad]
    # The run itself, not that of its gradient.
    return replace(problem, order=1, wrt=tuple(wrt)).case(problem.select_inputs(key.points[0]))


OF_TWO = {
    ast.Add: "a sum: term by term",
    ast.Sub: "a difference: term by term",
    ast.Mult: "a product: each factor's derivative times the other factor, added",
    ast.Div: "a quotient: (u'v - uv') / v squared",
    ast.Pow: "a power: the exponent comes down, and is one less",
}
FACTOR = "a constant factor stays"
EXPONENTIAL = "an exponential: itself, times the logarithm of its base"
OUTER = "a function of what is inside: its derivative there, times that of the inside"


def name_rule(text: str) -> str:
    """The rule by which one step of a derivation, in NumPy's spelling, is differentiated."""
    match ast.parse(text, mode="eval").body:
        case ast.BinOp(ast.Constant(), ast.Mult()):
            return FACTOR
        case ast.BinOp(_, ast.Mult() | ast.Div(), ast.Constant()):
            return FACTOR
        case ast.BinOp(ast.Constant(), ast.Pow()):
            return EXPONENTIAL
        case ast.BinOp(_, op):
            return OF_TWO.get(type(op), "")
        case ast.Call():
            return OUTER
    return ""


# -- curves ----------------------------------------------------------------------------------------


def _is_plane(key: Key) -> bool:
    """Whether value and gradient are numbers, functions of numbers."""
    scalar = all(entry.shape == () for entry in key.problem.inputs.values())
    return key.run is None and scalar and key.problem.cotangent is None


@lru_cache(maxsize=CURVES)
def _list_spots(key: Key, part: str) -> list[tuple[float, Spot]]:
    """The given point with one input moved to either side; spots remember what answers ask."""
    given: Mapping[str, Any] = key.points[0]
    here = _find_middle(given[part])
    reach = HALF * max(1.0, abs(here))
    moved = map(float, np.linspace(here - reach, here + reach, POINTS))
    points = ((x, {**given, part: np.array(Fraction(x), dtype=object)}) for x in moved)
    return [(x, Spot(key.problem, point)) for x, point in points]


def _draw_curves(key: Key, part: str) -> Drawn:
    """The value and its derivative by a part, with the other inputs as they are given."""
    found = []
    for x, spot in _list_spots(key, part):
        value = slope = None
        with suppress(Exception), np.errstate(all="ignore"):  # outside its domain
            value, gradients = run_once(key.problem.case(spot.point))
            slope = gradients[part]
        found.append((x, _take_finite(value), _take_finite(slope)))
    return {
        "at": _find_middle(key.points[0][part]),
        "f": [(x, y) for x, y, _ in found],
        "slope": [(x, slope) for x, _, slope in found],
    }


def _find_middle(value: Any) -> float:
    return float(np.asarray(value, dtype=object).item())


def _trace(key: Key, part: Part, answer: Any) -> Curve | None:
    ready = key.read(part, answer)
    if ready.plain:
        return None
    found = []
    for x, spot in _list_spots(key, part.name):
        value: Any = None
        with suppress(*FAULTS):
            value = find_floats(ready.at(spot))
        found.append((x, _take_finite(value) if np.ndim(value) == 0 else None))
    return found


def _take_finite(value: Any) -> float | None:
    number = float(np.asarray(value, dtype=float).reshape(-1)[0])
    return number if math.isfinite(number) else None


# -- the picture of curves -------------------------------------------------------------------------


WIDTH, HEIGHT = 640, 300
LEFT, RIGHT, TOP, BOTTOM = 46, WIDTH - 12, 10, HEIGHT - 26
TICKS = 5
TRIMMED = 0.04  # of a curve's highest and lowest values may leave the picture


def plot(part: str, curves: Mapping[str, Any], yours: Curve | None) -> dict[str, Any]:
    """The picture, with places in its own units; nothing where there is no value."""
    lines = {"f": curves["f"], "slope": curves["slope"]} | ({"yours": yours} if yours else {})
    low, high = _find_range(lines)
    left, right = (float(curves["f"][k][0]) for k in (0, -1))

    def across(x: float) -> float:
        return round(LEFT + (RIGHT - LEFT) * (x - left) / (right - left), 1)

    def up(y: float) -> float:
        return round(TOP + (BOTTOM - TOP) * (high - y) / (high - low), 1)

    def stretches(points: Curve) -> Iterator[str]:
        """A path for every stretch on which there are values; far outside it is cut."""
        stretch: list[str] = []
        for x, y in [*points, (None, None)]:
            if x is not None and y is not None and 2 * low - high < y < 2 * high - low:
                stretch.append(f"{across(x)} {up(y)}")
                continue
            if len(stretch) > 1:
                yield f"M{' L'.join(stretch)}"
            stretch = []

    return {
        "width": WIDTH, "height": HEIGHT, "left": LEFT, "right": RIGHT, "top": TOP,
        "bottom": BOTTOM, "here": across(curves["at"]), "words": _describe(part, lines),
        "rows": [("grid" if y else "zero", up(y), f"{y:g}") for y in place_ticks(low, high)],
        "columns": [
            ("grid" if x else "zero", across(x), f"{x:g}" if x else f"{part} = 0")
            for x in place_ticks(left, right)
        ],
        "curves": [(kind, path) for kind, line in lines.items() for path in stretches(line)],
    } if high > low else {}  # fmt: skip


def place_ticks(low: float, high: float) -> list[float]:
    step = 10.0 ** math.floor(math.log10((high - low) / TICKS))
    step *= next(m for m in (1, 2, 5, 10) if (high - low) / (step * m) <= TICKS)
    first, last = math.ceil(low / step), math.floor(high / step)
    return [float(f"{k * step:.12g}") for k in range(first, last + 1)]


def _find_range(lines: Mapping[str, Curve]) -> tuple[float, float]:
    """What is seen of the other axis: the bulk of the function and its derivative, and zero.

    An answer may widen it to three times that, no more.
    """
    bulk = [0.0, *_find_bulk(lines["f"]), *_find_bulk(lines["slope"])]
    low, high = min(bulk), max(bulk)
    reach = (high - low) or 1.0
    own = _find_bulk(lines.get("yours", ()))
    low, high = max(min([low, *own]), low - reach), min(max([high, *own]), high + reach)
    return low - 0.06 * (high - low), high + 0.06 * (high - low)


def _find_bulk(points: Curve) -> list[float]:
    """The lowest and the highest value but for a few on either side."""
    found = sorted(y for _, y in points if y is not None)
    cut = int(TRIMMED * len(found))
    return [found[cut], found[-1 - cut]] if found else []


def _describe(part: str, lines: Mapping[str, Curve]) -> str:
    said = f"The function, its derivative by {part}"
    if "yours" not in lines:
        return f"{said}."
    pairs = ((a[1], b[1]) for a, b in zip(lines["slope"], lines["yours"], strict=True))
    both = ((a, b) for a, b in pairs if a is not None and b is not None)
    near = (abs(a - b) <= 1e-6 * (1 + abs(a)) for a, b in both)
    same = "lies on" if all(near) else "differs from"
    return f"{said}, and your answer: your answer {same} the derivative."
