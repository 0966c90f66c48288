"""Finite differences' opinion: in balls where the program takes them, else by scanning floats.

In balls there is no rounding error to balance: steps of 2^-72 and 2^-80 of the input's own size
leave a truncation error that the two one-sided slopes bound, and a kink, a jump or a vertical
tangent shows in how they change from one step to the next.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from flint import arb

from gradcheck.errors import OutOfBudget, TextError
from gradcheck.numbers import run
from gradcheck.numbers.ball import Ball, Scalars, arbs, balls, middle, radius
from gradcheck.numbers.run import RUN, TooWide, Undecided
from gradcheck.opinions import limits, opinion
from gradcheck.opinions.floats.blackbox import black_box, draw_directions
from gradcheck.opinions.opinion import Case, Directions, NotScalar, Opinion, Slope
from gradcheck.values import Array, Params

DOUBLE = 53  # bits of a float64

Along = Callable[[arb], arb]
Pair = tuple[arb, arb]  # of the left and of the right


@opinion.by_rows
def differences(case: Case, directions: int = limits.DIRECTIONS) -> Opinion:
    """Value and gradients by central differences, each entry (or direction) with its bar.

    Along so many `draw_directions` the slope is taken where there are too many entries.
    """
    try:
        try:
            return run.refine(lambda bits: _form(case, bits, directions), limits.BALL_BITS)
        except SteppedOver:
            deep = limits.STEPS_DEEP
            return run.refine(lambda bits: _form(case, bits, directions, deep), run.PATIENCE // 2)
    except NotScalar:
        raise
    except Undecided as error:  # floats would only take the branch that they take
        return Opinion("differences", abstains=opinion.describe_reason(error))
    except Exception as error:  # noqa: BLE001 - a user's program may raise anything
        return black_box(case, opinion.describe_reason(error), directions)


def open_in_floats(case: Case) -> str:
    """What the program's path hangs on that float64 cannot tell; nothing where there is no such."""
    try:
        with run.precision(DOUBLE), run.change_settings(keyed=False, as_floats=True):
            case.function("ball", {name: balls(values) for name, values in case.inputs.items()})
    except Undecided as error:
        return str(error)
    except Exception:  # noqa: BLE001 - a user's program may raise anything
        return ""
    return ""


class SteppedOver(ArithmeticError):
    """Several jumps of a floor lie within a step: nearer steps tell whether one is at the point."""


def _form(case: Case, bits: int, count: int, steps: tuple[int, int, int] = limits.STEPS) -> Opinion:
    point = {name: balls(values) for name, values in case.inputs.items()}
    before = RUN.made
    value, here, floors = _evaluate(case, point)
    cost = RUN.made - before
    if cost * len(limits.STEPS) * 4 * count > limits.BALLS:
        raise OutOfBudget("too many operations for ball arithmetic")
    found = Opinion("differences", opinion.estimate(value), method=f"balls of {bits} bits")

    def ask(along: Params, x: arb) -> tuple[arb, Slope | None]:
        def at(step: arb) -> arb:
            moved = {name: step_from(point[name], u, step) for name, u in along.items()}
            try:
                _, there, beside = _evaluate(case, {**point, **moved})
            except (ZeroDivisionError, ValueError, TextError):
                return arb.nan()
            several = any(abs(b - a) > 1 for a, b in zip(floors, beside, strict=False))
            if several and steps is limits.STEPS:
                raise SteppedOver
            return there

        return measure_slope(at, here, x, bits < run.PATIENCE, steps)

    if cost * (4 * case.size() + 1) > limits.BALLS:
        asked = Directions.look(draw_directions(case, count), lambda row: ask(row, arb(1)))
        return replace(found, directions=asked, ties=RUN.ties)
    gradients, slopes = opinion.ask_entries(
        case,
        lambda name, index: ask(
            {name: opinion.unit(case.inputs[name], index)}, arbs(point[name])[index]
        ),
    )
    return replace(found, gradients=gradients, slopes=slopes, ties=RUN.ties)


def _evaluate(case: Case, point: Params) -> tuple[Array, arb, list[arb]]:
    """The value, what is differentiated of it, and what floors came to on the way."""
    floors: list[arb] = []
    with run.change_settings(floors=floors):
        out = case.function("ball", {name: values.copy() for name, values in point.items()})
    root = opinion.contract(out, None if case.cotangent is None else balls(case.cotangent))
    return arbs(out), arbs(root).item(), floors


def step_from(start: Scalars, u: Array, step: arb) -> Scalars:
    """Start + step * u, touching only the entries where u is not zero."""
    moved = np.array(start, dtype=object)
    for index in zip(*np.nonzero(u), strict=True) if u.ndim else [()]:
        moved[index] = moved[index] + Ball(step * float(u[index]))
    return moved.view(Scalars)


@dataclass(frozen=True)
class _Line:
    """A function of a step, its value at step 0, the size of the input that is stepped, by what."""

    f: Along
    here: arb
    size: arb
    steps: tuple[int, int, int]

    def slope(self, k: int, sign: int) -> arb:
        h = sign * self.size * arb(2) ** -k
        return (self.f(h) - self.here) / h

    def slopes(self, k: int) -> Pair:
        return self.slope(k, -1), self.slope(k, 1)

    def rise(self, k: int) -> float:
        """How far the value on the right is above that on the left."""
        return middle(sum(self.slopes(k), arb(0)) * self.size * arb(2) ** -k)

    def diverges(self, side: int) -> bool:
        """Whether one side's slope keeps changing as the step shrinks (x log x at 0)."""
        far, mid, near = (self.slope(k, 2 * side - 1) for k in self.steps)
        first, second = abs(mid - far).mid(), abs(near - mid).mid()
        return bool(second > limits.BEND * abs(near).mid() and second > first / 2)


def measure_slope(
    f: Along, here: arb, x: arb, may_retry: bool, steps: tuple[int, int, int] = limits.STEPS
) -> tuple[arb, Slope | None]:
    """The derivative of f at step 0 with its bar; a Slope where f is not smooth there.

    `here` is f(0), `x` the input (its size sets the steps). Raises TooWide while `may_retry`.
    """
    line = _Line(f, here, abs(x.mid()) if x.mid() != 0 else arb(1), steps)
    fine = line.slopes(steps[2])
    if fine[0].is_finite() and fine[1].is_finite():
        central = (fine[0] + fine[1]) / 2
        tolerable = arb(2) ** -70 * (abs(central.mid()) + abs(here.mid()) / line.size)
        if may_retry and central.rad() > tolerable:
            raise TooWide
        known = _fit_parabola(line, fine)
        if known is not None:
            return known, None
        coarse = line.slopes(steps[1])
        if coarse[0].is_finite() and coarse[1].is_finite():
            return _join_sides(line, coarse, fine)
    return _take_side(line, line.slopes(steps[1]), fine)


def _fit_parabola(line: _Line, fine: Pair) -> arb | None:
    """The slope of the parabola through three values, where a fourth farther out lies on it too.

    The left side is asked at one step only: where its quotient there is the right one's, and that
    changes with the step as a parabola's does, neither is a kink's, a jump's or a vertical's.
    """
    left, right = fine
    far = line.slope(line.steps[1], 1)
    gap, central = right - left, (left + right) / 2
    close = max(limits.BEND * (abs(left) + abs(right)).mid(), abs(far - right).mid() / 8, gap.rad())
    if not far.is_finite() or abs(gap).mid() > close or _is_growing(right, far):
        return None
    off = abs(far - central - gap * arb(2) ** (line.steps[2] - line.steps[1] - 1))
    if _is_noise(off, central, far):
        return None
    bar = abs(gap).mid() + gap.rad() + 2 * (off.mid() + off.rad())
    return arb(central.mid(), central.rad() + bar)


def _take_side(line: _Line, coarse: Pair, fine: Pair) -> tuple[arb, Slope | None]:
    left, right = map(middle, fine)
    if not line.here.is_finite() or not (fine[0].is_finite() or fine[1].is_finite()):
        return arb.nan(), Slope("undefined", np.nan, np.nan, "no value around the point")
    side = 1 if fine[1].is_finite() else 0
    near, far = fine[side], coarse[side]
    if not far.is_finite() or abs(near) > 4 * abs(far) + 1 or line.diverges(side):
        return arb.nan(), Slope("vertical", left, right, "vertical tangent")
    change = 2 * abs(near - far)
    words = f"defined on the {('left', 'right')[side]} only"
    return near + arb(0, radius(change) + middle(change)), Slope("one-sided", left, right, words)


def _join_sides(line: _Line, coarse: Pair, fine: Pair) -> tuple[arb, Slope | None]:
    left, right = fine
    central, before = (left + right) / 2, (coarse[0] + coarse[1]) / 2
    gap, wide = abs(right - left), abs(coarse[1] - coarse[0])
    close = max(limits.BEND * (abs(left) + abs(right)).mid(), wide.mid() / 8, gap.rad())
    if gap.mid() > close or any(map(_is_growing, fine, coarse)):
        return _name_break(line, coarse, fine)
    change = abs(central - before)
    if _is_noise(change, central, before):
        return arb(0, math.inf), None
    bar = gap.mid() + gap.rad() + 2 * (change.mid() + change.rad())
    return arb(central.mid(), central.rad() + bar), None


def _is_noise(change: arb, near: arb, far: arb) -> bool:
    """Whether a slope neither settles nor vanishes as the step shrinks: waves shorter than it."""
    return bool(change > abs(near) / 4 and abs(near) > abs(far) / 64)


def _is_growing(near: arb, far: arb) -> bool:
    return bool(abs(near) > 2 * abs(far) and abs(far).mid() > 0)


def _name_break(line: _Line, coarse: Pair, fine: Pair) -> tuple[arb, Slope | None]:
    """A kink, a jump or a vertical tangent: told by how the slopes grow as the step shrinks."""
    ratio = arb(2) ** (line.steps[2] - line.steps[1])
    left, right = map(_settle, fine, coarse)
    sizes = [(abs(now).mid(), abs(was).mid()) for now, was in zip(fine, coarse, strict=True)]
    if any(now > was * ratio / 2 for now, was in sizes if was > 0):
        rise, closer = (line.rise(k) for k in (line.steps[2], 2 * line.steps[2]))
        if abs(closer - rise) > abs(rise) / 2:  # waves shorter than the step
            return arb(0, math.inf), None
        return arb.nan(), Slope("jump", np.nan, np.nan, f"the value jumps by {rise:.6g}")
    if any(now > 2 * was for now, was in sizes if was > 0) or any(map(line.diverges, (0, 1))):
        return arb.nan(), Slope("vertical", left, right, "vertical tangent")
    detail = f"slope {left:.6g} on the left, {right:.6g} on the right"
    return arb.nan(), Slope("kink", left, right, detail)


def _settle(near: arb, far: arb) -> float:
    """A one-sided slope; zero where it is no larger than what it still changes by with the step."""
    return 0.0 if abs(near).mid() <= abs(near - far).mid() + near.rad() else middle(near)
