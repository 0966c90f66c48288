"""What is drawn of a slope: the error of difference quotients against their step."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from flint import arb
from numpy.typing import NDArray

from gradcheck.errors import GradcheckError
from gradcheck.opinions.floats.lines import of_entry
from gradcheck.opinions.floats.richardson import finite
from gradcheck.opinions.floats.scan import scan
from gradcheck.opinions.opinion import Case, Slope
from gradcheck.plots.traces import NothingToDraw
from gradcheck.verdict.consult import Verdict

Floats = NDArray[np.float64]
Function = Callable[[float], float]
Index = tuple[int, ...]

DECADES = 16
PER_DECADE = 6
EPSILON = float(np.finfo(np.float64).eps)
BENT = 0.2  # by which the slope of a curve may miss that of its guide line


@dataclass(frozen=True, eq=False)
class Curve:
    """|quotient - slope| at each step that stays inside the domain; `hand` says which quotient."""

    hand: str
    steps: Floats
    errors: Floats

    @property
    def best(self) -> tuple[float, float]:
        """The step with the smallest error, and that error."""
        k = int(np.argmin(self.errors))
        return float(self.steps[k]), float(self.errors[k])


@dataclass(frozen=True)
class Guide:
    """A straight line that a curve follows: the error is `factor * h**power` on these steps."""

    power: int
    factor: float
    steps: tuple[float, float]


@dataclass(frozen=True)
class Chosen:
    """What the opinion of scanned floats settles on: its steps, its error bar, its true error."""

    steps: tuple[float, float]
    bar: float
    error: float


@dataclass(frozen=True, eq=False)
class Differences:
    """One picture: an entry of a part, its curves, and what was chosen, or why nothing was.

    `entries` is how many entries the part has; `bar` what is not known of the slope itself.
    """

    part: str
    index: Index
    entries: int
    at: float
    slope: float
    bar: float
    curves: tuple[Curve, ...]
    guides: tuple[Guide, ...] = ()
    chosen: Chosen | None = None
    why: str = ""

    @property
    def label(self) -> str:
        """`w`, or `W[0, 2]`."""
        return f"{self.part}[{', '.join(map(str, self.index))}]" if self.index else self.part


QUOTIENTS: dict[str, Callable[[float, float, float, float], float]] = {
    "central": lambda left, here, right, h: (right - left) / (2 * h),
    "left": lambda left, here, right, h: (here - left) / h,
    "right": lambda left, here, right, h: (right - here) / h,
}
"""From the values at x - h, x and x + h."""


def differences_of(case: Case, verdict: Verdict, part: str) -> Differences:
    """The picture of a part's largest entry; raises NothingToDraw where no slope is known."""
    index = _largest(verdict, part)
    f, x = of_entry(case, part, index)
    inside = _inside(f)
    hands = _hands(verdict, part, index, inside, x)
    steps = max(1.0, abs(x)) * 10.0 ** np.linspace(-DECADES, 0, DECADES * PER_DECADE + 1)
    curves = tuple(_curve(hand, inside, x, slope, steps) for hand, slope in hands.items())
    slope = next(iter(hands.values()))
    smooth = len(curves) == 1
    chosen, why = _chosen(inside, x, slope) if smooth else (None, "the slopes to both sides differ")
    return Differences(
        part,
        index,
        int(np.prod(np.shape(case.inputs[part]))),
        x,
        float(slope.mid()),
        float(slope.rad()),
        curves,
        _guides(curves[0], inside, x) if smooth else (),
        chosen,
        why,
    )


def _largest(verdict: Verdict, part: str) -> Index:
    """The entry with the steepest slope; where no entry has a slope, the first that was looked at.

    Ties go to the first.
    """
    found = verdict.parts.get(part)
    if found is None or found.gradient is None:
        raise NothingToDraw("; ".join(verdict.notes) or "no opinion has a gradient")
    sizes = np.abs(found.gradient.value)
    if sizes.size == 0:
        raise NothingToDraw("there are no entries")
    known = np.where(np.isfinite(sizes), sizes, -1.0)
    return tuple(int(k) for k in np.unravel_index(np.argmax(known), known.shape))


def _hands(verdict: Verdict, part: str, index: Index, f: Function, x: float) -> dict[str, arb]:
    """Which quotients have a slope to tend to, and that slope."""
    seen = verdict.opinions["differences"]
    slope = seen.slopes.get((part, index), Slope("smooth", math.nan, math.nan))
    if slope.kind == "kink":
        return {"left": arb(slope.left), "right": arb(slope.right)}
    known = [verdict.parts[part].gradient, seen.gradients.get(part)]
    balls = (estimate.balls[index] for estimate in known if estimate is not None)
    ball = next((ball for ball in balls if ball.is_finite()), None)
    smooth = slope.kind in ("smooth", "unresolved")
    if ball is None or not (smooth or slope.kind == "one-sided"):
        raise NothingToDraw(slope.detail or "there is no finite slope")
    if smooth:
        return {"central": ball}
    aside = x + max(1.0, abs(x)) * math.sqrt(EPSILON)
    return {"right" if math.isfinite(f(aside)) else "left": ball}


def _inside(f: Function) -> Function:
    """The function with nan wherever the program has no finite value, or refuses."""

    def inside(t: float) -> float:
        try:
            return finite(f, t)
        except GradcheckError:
            return math.nan

    return inside


def _curve(hand: str, f: Function, x: float, slope: arb, steps: Floats) -> Curve:
    """The error at every step; the steps that leave the domain are left out."""
    here = f(x)
    quotient = QUOTIENTS[hand]
    found = [(h, quotient(f(x - h), here, f(x + h), h)) for h in map(float, steps)]
    told = [(h, _off(q, slope)) for h, q in found if math.isfinite(q)]
    if not told:
        raise NothingToDraw("the program has no finite value around the point")
    taken, errors = np.array(told).T
    return Curve(hand, taken, errors)


def _off(number: float, slope: arb) -> float:
    """How far a float lies from the middle of a ball."""
    return float(abs(arb(number) - slope.mid()).mid())


def _chosen(f: Function, x: float, slope: arb) -> tuple[Chosen | None, str]:
    """What a scan of floats settles on, or why it does not."""
    seen = scan(f, x)
    if not math.isfinite(seen.value):
        return None, seen.detail
    return Chosen(seen.steps, seen.error, _off(seen.value, slope)), ""


def _guides(curve: Curve, f: Function, x: float) -> tuple[Guide, ...]:
    """Truncation to the right of the best step, rounding to its left, where the curve follows."""
    best, _ = curve.best
    rounding = Guide(-1, EPSILON * abs(f(x)), (float(curve.steps[0]), best))
    seen = rounding.factor > 0 and best > 10 * curve.steps[0]
    truncation = _followed(curve, 2 if curve.hand == "central" else 1, best)
    return (*((rounding,) if seen else ()), *((truncation,) if truncation else ()))


def _followed(curve: Curve, power: int, best: float) -> Guide | None:
    """The line of this power through the curve's right branch; None where it runs otherwise."""
    right = (curve.steps > 10 * best) & (curve.errors > 0)
    steps, errors = curve.steps[right], curve.errors[right]
    if len(steps) <= PER_DECADE:
        return None
    slopes = np.diff(np.log(errors)) / np.diff(np.log(steps))
    if abs(float(np.median(slopes)) - power) > BENT:
        return None
    factor = float(np.median(errors / steps**power))
    return Guide(power, factor, (best, float(curve.steps[-1])))
