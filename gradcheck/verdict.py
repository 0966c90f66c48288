"""The verdict: the only place where opinions meet. It reads the pattern, never the majority.

Values are compared first, for an additive slip in a forward vanishes under differentiation; then
gradients, entry by entry, each within its own error bar.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from statistics import NormalDist
from typing import Any

import numpy as np
from flint import arb

from gradcheck.opinions.differences import differences
from gradcheck.opinions.local import Suspect, suspects
from gradcheck.numbers.ball import middle, radius
from gradcheck.opinions.opinion import Array, Case, Estimate, Opinion
from gradcheck.opinions.reverse import reverse
from gradcheck.opinions.symbolic import symbolic

# From harmless to grave: a whole is as grave as its gravest part.
VERDICTS = ("agree", "kink", "unstable-forward", "undecided", "jump", "undefined", "dissent")
TIGHT = 1e-4
DIGITS_LOST = 1e-8
MORE_SAMPLES = 32

Index = tuple[int, ...]


@dataclass(frozen=True)
class Entry:
    """The verdict on one entry of one part (or of the value: part "")."""

    part: str
    index: Index
    verdict: str
    why: str = ""
    lonely: str = ""
    interval: tuple[float, float] | None = None


@dataclass(frozen=True)
class Part:
    """The verdict on one gradient: its entries that are not plainly agreed on, and what is best known."""

    name: str
    verdict: str
    gradient: Estimate | None
    entries: tuple[Entry, ...] = ()

    @property
    def interval(self) -> tuple[float, float] | None:
        """The subgradient interval of the first kink."""
        return next((e.interval for e in self.entries if e.interval is not None), None)


@dataclass(frozen=True)
class Verdict:
    """What the three opinions come to at one point."""

    verdict: str
    value: Estimate | None
    parts: Mapping[str, Part]
    opinions: Mapping[str, Opinion]
    entries: tuple[Entry, ...] = ()
    suspects: tuple[Suspect, ...] = ()
    notes: tuple[str, ...] = field(default_factory=tuple)


def consult(case: Case, *, write: bool = True) -> Verdict:
    """Ask the three opinions about one case and read the pattern of their answers."""
    opinions = [reverse(case), symbolic(case, write=write), differences(case)]
    found = read(case, opinions)
    if found.verdict == "dissent" and _lonely(found) == {"reverse"}:
        found = read(case, [reverse(case, MORE_SAMPLES), *opinions[1:]])
    if found.verdict != "dissent":
        return found
    return Verdict(**{**vars(found), "suspects": suspects(case)})


def read(case: Case, opinions: Sequence[Opinion]) -> Verdict:
    """The verdict on opinions already formed."""
    given = [opinion for opinion in opinions if not opinion.abstains]
    by_name = {opinion.name: opinion for opinion in opinions}
    if len(given) < 2:
        why = "; ".join(f"{o.name} abstains: {o.abstains}" for o in opinions if o.abstains)
        parts = {name: Part(name, "undecided", None) for name in case.wrt}
        return Verdict("undecided", _best_value(given), parts, by_name, notes=(why,))
    values = {o.name: o.value for o in given if o.value is not None}
    size = _size(case, given)
    entries = list(_compared("", values, {}, _Scale(0.0, 0.0)))
    parts = {}
    for name in case.wrt:
        part = _part(name, given, size)
        parts[name] = part
        entries += part.entries
    entries += _along_directions(given)
    grave = _gravest(e.verdict for e in (*entries, *parts.values()))
    return Verdict(grave, _best_value(given), parts, by_name, tuple(entries), notes=_power(case, given))


@dataclass(frozen=True)
class _Scale:
    """What counts as large: the whole part's gradient, and the value over the input."""

    part: float
    value: float


def _part(name: str, given: Sequence[Opinion], value_size: float) -> Part:
    gradients = {o.name: o.gradients[name] for o in given if name in o.gradients}
    best = next(
        (gradients[n] for n in ("symbolic", "differences", "reverse") if n in gradients), None
    )
    if len(gradients) < 2:
        checked = any(o.directions for o in given)
        return Part(name, "agree" if checked else "undecided", best)
    level = max((_largest(g) for n, g in gradients.items() if n != "reverse"), default=0.0)
    slopes = {index: s for o in given for (part, index), s in o.slopes.items() if part == name}
    tied = sum(o.ties for o in given) > 0
    entries = tuple(_compared(name, gradients, slopes, _Scale(level, value_size), tied))
    return Part(name, _gravest(e.verdict for e in entries), best, entries)


def _compared(
    part: str,
    estimates: Mapping[str, Estimate],
    slopes: Mapping[Index, Any],
    scale: _Scale,
    tied: bool = False,
) -> list[Entry]:
    """Every entry on which something is to be said."""
    shapes = {name: e.balls.shape for name, e in estimates.items()}
    if len(set(shapes.values())) > 1:
        lonely = _odd_one(shapes)
        return [Entry(part, (), "dissent", f"shapes differ: {shapes}", lonely)]
    shape = next(iter(shapes.values()), ())
    found = []
    for index in np.ndindex(shape):
        balls = {name: e.balls[index] for name, e in estimates.items()}
        entry = _entry(part, index, balls, slopes.get(index), scale, tied)
        if entry.verdict != "agree" or entry.why:
            found.append(entry)
    return found


def _entry(
    part: str, index: Index, balls: Mapping[str, arb], slope: Any, scale: _Scale, tied: bool
) -> Entry:
    if slope is not None and slope.kind == "kink":
        interval = (min(slope.left, slope.right), max(slope.left, slope.right))
        return Entry(part, index, "kink", slope.detail, interval=interval)
    if slope is not None and slope.kind in ("jump", "vertical", "undefined"):
        verdict = "jump" if slope.kind == "jump" else "undefined"
        return Entry(part, index, verdict, slope.detail)
    finite = {name: ball for name, ball in balls.items() if ball.is_finite()}
    if len(finite) < len(balls):
        return _not_finite(part, index, balls, finite)
    lonely = _odd_ball(finite)
    if lonely is None:
        return _agreed(part, index, finite, scale)
    if tied and "differences" in finite:
        if lonely == "symbolic":
            return Entry(part, index, "agree", "the closed form is one branch's at a tie")
        smooth = float(finite["differences"].mid())
        why = (
            f"kinks cancel here: the slope is {smooth:.6g}, reverse mode's convention gives another"
        )
        return Entry(part, index, "kink", why, interval=(smooth, smooth))
    return Entry(part, index, "dissent", _spelled(finite), lonely)


def _along_directions(given: Sequence[Opinion]) -> list[Entry]:
    """Gradients against slopes along random directions, where entries are too many to look at."""
    entries = []
    for k, direction in enumerate(d for o in given for d in o.directions):
        if direction.kind is not None and direction.kind.kind != "one-sided":
            named = {"kink": "kink", "jump": "jump"}.get(direction.kind.kind, "undefined")
            entries.append(Entry("", (k,), named, direction.kind.detail))
            continue
        slopes = {"differences": direction.slope}
        for o in given:
            if o.gradients:
                slopes[o.name] = _slope_along(o.gradients, direction.along)
        size = max(abs(middle(b)) for b in slopes.values())
        entries.append(_entry("", (k,), slopes, None, _Scale(size, 0.0), tied=False))
    return [entry for entry in entries if entry.verdict != "agree"]


def _slope_along(gradients: Mapping[str, Estimate], along: Mapping[str, Array]) -> arb:
    """gradient . direction, the rounding of the dot product included in the radius."""
    total, bar = 0.0, 0.0
    for name, u in along.items():
        terms = gradients[name].value * u
        total += float(np.sum(terms))
        bar += float(np.sum(gradients[name].error * np.abs(u)))
        bar += 16 * float(np.finfo(np.float64).eps) * float(np.sqrt(np.sum(terms**2)))
    return arb(total, bar) if np.isfinite(total + bar) else arb.nan()


def _power(case: Case, given: Sequence[Opinion]) -> tuple[str, ...]:
    """What a check along random directions would have seen, stated in numbers.

    A single wrong entry is off by delta * u along each direction; all K directions miss it only if
    every |u| < bar / delta, whose probability is P(|N(0, s)| < bar / delta)^K.
    """
    found = [d for o in given for d in o.directions]
    if not found:
        return ()
    bar = max(radius(d.slope) for d in found)
    reverse_bars = [radius(_slope_along(o.gradients, d.along)) for o in given if o.gradients
                    for d in found]  # fmt: skip
    bar += max(reverse_bars, default=0.0)
    miss = 1e-6 ** (1 / len(found))
    size = min(float(np.sqrt(np.mean(np.square(u)))) for u in found[0].along.values())
    least = bar / (size * NormalDist().inv_cdf((1 + miss) / 2))
    return (
        f"{case.size()} entries checked along {len(found)} random directions: any single wrong "
        f"entry above {least:.1g} would have been seen with probability 1 - 1e-6",
    )


def _not_finite(
    part: str, index: Index, balls: Mapping[str, arb], finite: Mapping[str, arb]
) -> Entry:
    """Nobody has a number: undefined. Only some have: whose overflow or branch it is, is said."""
    without = ", ".join(name for name in balls if name not in finite)
    if "differences" in finite and "symbolic" in finite and _odd_ball(finite) is None:
        return Entry(part, index, "unstable-forward", f"no finite number in {without}")
    return Entry(part, index, "undefined", f"no finite number in {without}")


def _agreed(part: str, index: Index, balls: Mapping[str, arb], scale: _Scale) -> Entry:
    """All overlap; but do the bars say anything, and does the float keep its digits?"""
    exact = [ball for name, ball in balls.items() if name != "reverse"]
    truth = abs(float(exact[0].mid()))
    size = max(truth, scale.part, scale.value, 1e-300)
    tight = [name for name, ball in balls.items() if float(ball.rad()) <= TIGHT * size]
    if "reverse" in balls and len(exact) == 2:
        lost = abs(float(balls["reverse"].mid() - exact[0].mid()))
        if lost > DIGITS_LOST * size and len(tight) >= 2:
            why = f"float64 gives {float(balls['reverse'].mid()):.6g}, {_spelled(balls)}"
            return Entry(part, index, "unstable-forward", why)
    if len(tight) >= 2:
        return Entry(part, index, "agree")
    return Entry(part, index, "undecided", f"error bars too wide: {_spelled(balls)}")


def _odd_ball(balls: Mapping[str, arb]) -> str | None:
    """Who overlaps with nobody while the others agree; "several" if no one can be singled out."""
    apart = [pair for pair in combinations(balls, 2) if not balls[pair[0]].overlaps(balls[pair[1]])]
    if not apart:
        return None
    blamed = [name for name in balls if all(name in pair for pair in apart)]
    return blamed[0] if len(blamed) == 1 and len(balls) > 2 else "several"


def _odd_one(shapes: Mapping[str, tuple[int, ...]]) -> str:
    counts = list(shapes.values())
    odd = [name for name, shape in shapes.items() if counts.count(shape) == 1]
    return odd[0] if len(odd) == 1 else "several"


def _spelled(balls: Mapping[str, arb]) -> str:
    return ", ".join(f"{name} {ball.str(8)}" for name, ball in balls.items())


def _lonely(verdict: Verdict) -> set[str]:
    return {entry.lonely for entry in verdict.entries if entry.verdict == "dissent"}


def _gravest(verdicts: Any) -> str:
    return max(verdicts, key=VERDICTS.index, default="agree")


def _largest(gradient: Estimate) -> float:
    finite = [abs(float(ball.mid())) for ball in gradient.balls.flat if ball.is_finite()]
    return max(finite, default=0.0)


def _size(case: Case, given: Sequence[Opinion]) -> float:
    """|value| / max(1, |x|): the natural size of a slope, where the slope itself vanishes."""
    value = max((_largest(o.value) for o in given if o.value is not None), default=0.0)
    inputs = [float(np.max(np.abs(v), initial=0.0)) for v in case.floats().values()]
    return value / max([1.0, *inputs])


def _best_value(given: Sequence[Opinion]) -> Estimate | None:
    order = ("differences", "symbolic", "reverse")
    return next((o.value for name in order for o in given if o.name == name), None)
