"""One entry of a value or a gradient, as several opinions give it: the pattern of their balls."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from flint import arb

from gradcheck.numbers.ball import middle, radius
from gradcheck.opinions.limits import COMPARED, DIGITS_LOST, NOTHING, SMALLEST, TIGHT
from gradcheck.opinions.opinion import Estimate, Slope
from gradcheck.values import Array

BROKEN = {"kink": "kink", "jump": "jump", "vertical": "undefined", "undefined": "undefined"}
"""Kinds of slopes that are none, by the verdict on them."""

Index = tuple[int, ...]
Balls = Mapping[str, arb]


@dataclass(frozen=True)
class Entry:
    """The verdict on one entry of one part (or of the value: part "").

    `lonely` is the opinion that differs from the others; `tie` says that it may do so only because
    the point is where two branches meet.
    """

    part: str
    index: Index
    verdict: str
    why: str = ""
    lonely: str = ""
    interval: tuple[float, float] | None = None
    tie: bool = False


@dataclass(frozen=True)
class Scale:
    """What counts as large: the whole part, and the value over the input; and whether any tie.

    A value that is 0 but for rounding is held against the `input`, up to 1.
    """

    part: float = 0.0
    value: float = 0.0
    tied: bool = False
    input: float = 0.0


def compare_entries(
    part: str, estimates: Mapping[str, Estimate], slopes: Mapping[Index, Slope], scale: Scale
) -> tuple[Entry, ...]:
    """Every entry on which something is to be said."""
    shapes = {name: e.shape for name, e in estimates.items()}
    times = Counter(shapes.values())
    if len(times) > 1:
        odd = [name for name, shape in shapes.items() if times[shape] == 1]
        lonely = odd[0] if len(odd) == 1 else "several"
        return (Entry(part, (), "dissent", f"shapes differ: {shapes}", lonely),)
    clear = _agree(estimates, slopes, scale)
    if clear.all():
        return ()
    found = []
    for index in map(tuple, np.argwhere(~clear).tolist()):
        balls = {name: e.balls[index] for name, e in estimates.items()}
        found.append(judge_entry(part, index, balls, slopes.get(index), scale))
    return tuple(entry for entry in found if entry.verdict != "agree" or entry.why)


def _agree(estimates: Mapping[str, Estimate], slopes: Mapping[Index, Slope], scale: Scale) -> Array:
    """The entries on which reverse mode and one other agree, as floats with their bars show.

    A hundred thousand balls take a second.
    """
    several = list(estimates.values())
    if len(several) != 2 or "reverse" not in estimates or any(e.exact is not None for e in several):
        return np.zeros(several[0].shape if several else (), dtype=bool)  # of balls floats say less
    a, b = several
    bars = (a.error + b.error) * COMPARED  # of what is not finite infinite, and its value is nan
    near = bars <= TIGHT * COMPARED * max(scale.part, scale.value)
    found = np.asarray(near & (abs(a.value - b.value) <= bars))
    for index in slopes:
        found[index] = False
    return found


def judge_entry(part: str, index: Index, balls: Balls, slope: Slope | None, scale: Scale) -> Entry:
    if slope is not None and slope.kind in BROKEN:
        low, high = sorted((slope.left, slope.right))
        interval = (low, high) if slope.kind == "kink" else None
        return Entry(part, index, BROKEN[slope.kind], slope.detail, interval=interval)
    known = {name: ball for name, ball in balls.items() if ball.mid().is_finite()}
    if len(known) < len(balls):
        return _judge_not_finite(part, index, balls, known)
    lonely = find_odd_ball(known)
    if lonely is None:
        return _judge_digits(part, index, known, scale)
    small = SMALLEST**0.5 if lonely == "reverse" and known[lonely].mid() == 0 else SMALLEST
    if lonely == "reverse" and all(abs(ball.mid()) < small for ball in known.values()):
        # the square of so small a number is none: 0 came of a step on the way
        level = max(scale.part, scale.value) if known[lonely].mid() == 0 else 0.0
        if level > NOTHING and all(abs(ball) < NOTHING * level for ball in known.values()):
            return Entry(part, index, "agree")
        why = f"float64 underflows: {spell_out(known)}"
        return Entry(part, index, "unstable-forward", why)
    if scale.tied and "differences" in known:
        return _judge_tie(part, index, known, lonely)
    return Entry(part, index, "dissent", spell_out(known), lonely)


def _judge_not_finite(part: str, index: Index, balls: Balls, known: Balls) -> Entry:
    """Nobody has a number: undefined. Only reverse mode has none: float64 loses it on its way."""
    without = [name for name in balls if name not in known]
    words = f"no finite number in {', '.join(without)}"
    if without == ["reverse"] and len(known) == 2 and find_odd_ball(known) is None:
        return Entry(part, index, "unstable-forward", f"{words}: {spell_out(known)}", "reverse")
    return Entry(part, index, "undefined", words)


def _judge_tie(part: str, index: Index, balls: Balls, lonely: str) -> Entry:
    """Two branches meet: the closed form follows one of them, reverse mode its convention."""
    if not part:
        why = f"a comparison cannot be decided, and the value hangs on it: {spell_out(balls)}"
        return Entry(part, index, "undecided", why, lonely, tie=True)
    if lonely == "symbolic":
        why = "the closed form is one branch's at a tie"
        return Entry(part, index, "agree", why, lonely, tie=True)
    smooth = middle(balls["differences"])
    why = f"kinks cancel here: the slope is {smooth:.6g}, reverse mode's convention gives another"
    return Entry(part, index, "kink", why, lonely, (smooth, smooth), tie=True)


def _judge_digits(part: str, index: Index, balls: Balls, scale: Scale) -> Entry:
    """All overlap: asks whether the bars say anything and the float keeps its digits."""
    exact = sorted((ball for name, ball in balls.items() if name != "reverse"), key=radius)
    size = max(abs(float(exact[0].mid())), scale.part, scale.value, 1e-300)
    if all(ball.contains(0) for ball in exact):  # zero has no digits that could be lost
        size = max(size, scale.input)
    tight = [name for name, ball in balls.items() if radius(ball) <= TIGHT * size]
    if "reverse" in balls and len(exact) == 2 and len(tight) >= 2:
        floated = float(balls["reverse"].mid())
        if abs(floated - float(exact[0].mid())) > DIGITS_LOST * size:
            why = f"float64 gives {floated:.6g}: {spell_out(balls)}"
            return Entry(part, index, "unstable-forward", why)
    if len(tight) >= 2:
        return Entry(part, index, "agree")
    return Entry(part, index, "undecided", f"error bars too wide: {spell_out(balls)}")


def find_odd_ball(balls: Balls) -> str | None:
    """Who overlaps with nobody while the others agree; "several" if no one can be singled out.

    Where both exact kinds agree and reverse mode differs from only one of them (the other's ball is
    wide), it is reverse mode that differs.
    """
    apart = [pair for pair in combinations(balls, 2) if not balls[pair[0]].overlaps(balls[pair[1]])]
    if not apart:
        return None
    blamed = [name for name in balls if all(name in pair for pair in apart)]
    if len(balls) > 2 and len(blamed) == 2 and "reverse" in blamed:
        return "reverse"
    return blamed[0] if len(blamed) == 1 and len(balls) > 2 else "several"


def spell_out(balls: Balls) -> str:
    return ", ".join(f"{name} {ball.str(15)}" for name, ball in balls.items())
