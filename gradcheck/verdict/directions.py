"""Many entries at once: slopes along random directions, their power, and masked probes.

A gradient is compared with the slope of the program along signed random directions through all
inputs. Where the two differ, probes that move only half of what is still suspected, and then half
of that, lead to the input and the entry.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from flint import arb

from gradcheck.numbers.ball import middle, radius
from gradcheck.opinions.floats.blackbox import slope_along
from gradcheck.opinions.floats.lines import size_of
from gradcheck.opinions.limits import MISSED, PRODUCT, WIDTH
from gradcheck.opinions.opinion import Case, Estimate, Opinion, unit
from gradcheck.values import Array, Params
from gradcheck.verdict.entries import Entry, Scale, entry_of

DIFFERENCES = "differences"
BROKEN = {"kink": "kink", "jump": "jump", "vertical": "undefined", "undefined": "undefined"}


@dataclass(frozen=True)
class Located:
    """The entry that masked probes led to: what was given there, and the slope with its bar."""

    part: str
    index: tuple[int, ...]
    given: float
    slope: arb

    def __str__(self) -> str:
        """`W[3, 1]: 0.25 was given, the slope is 0.5 +/- 1e-12`."""
        place = f"{self.part}[{', '.join(map(str, self.index))}]" if self.index else self.part
        return f"{place}: {self.given:.10g} was given, the slope is {self.slope.str(10)}"


def along_directions(
    given: Sequence[Opinion], known: Mapping[str, Sequence[arb]] = MappingProxyType({})
) -> tuple[Entry, ...]:
    """Gradients against slopes along directions, where entries are too many to look at.

    `known` are the slopes that opinions' gradients are known to have along the differences'.
    """
    found = []
    for asked in given:
        for k, direction in enumerate(asked.directions):
            if direction.kind is not None and direction.kind.kind in BROKEN:
                kind = BROKEN[direction.kind.kind]
                found.append(Entry("", (k,), kind, direction.kind.detail))
                continue
            slopes = {asked.name: direction.slope}
            for o in given:
                if o.gradients:
                    mine = known.get(o.name) if asked.name == DIFFERENCES else None
                    slopes[o.name] = mine[k] if mine else _dot(o.gradients, direction.along)
            size = max(abs(middle(ball)) for ball in slopes.values())
            found.append(entry_of("", (k,), slopes, None, Scale(size)))
    return tuple(entry for entry in found if entry.verdict != "agree")


def _dot(gradients: Mapping[str, Estimate], along: Mapping[str, Array]) -> arb:
    """The slope that a gradient claims along a direction, and the bar of that."""
    total, bar = slope_claimed({name: g.value for name, g in gradients.items()}, along)
    bar += sum(float(np.vdot(gradients[name].error, np.abs(u))) for name, u in along.items())
    return arb(total, bar) if np.isfinite(total + bar) else arb.nan()


def slope_claimed(
    gradients: Params, along: Mapping[str, Array], relative: float = 0.0
) -> tuple[float, float]:
    """The same of plain arrays: its bar is the product's own rounding, and a relative tolerance."""
    found = [dot(np.asarray(gradients[name], np.float64), u) for name, u in along.items()]
    lengths = [length for _, length in found]
    bar = PRODUCT * sum(lengths) + relative * max(lengths)
    return sum(part for part, _ in found), bar


def slopes_of(gradients: Array, errors: Array, chosen: Array) -> list[tuple[float, float]]:
    """The slopes that a gradient claims along directions, one a row, and their bars."""
    terms = chosen * gradients
    totals = terms.sum(axis=1)
    lengths = np.sqrt(np.einsum("ij,ij->i", terms, terms))
    bars = np.abs(chosen, out=terms) @ errors + PRODUCT * lengths
    return list(zip(totals.tolist(), bars.tolist(), strict=True))


def dot(values: Array, u: Array) -> tuple[float, float]:
    """The product of two arrays summed up, and the root of its squared terms' sum.

    Its rounding is some units of that: terms of random signs, summed in pairs.
    """
    terms = values.reshape(-1) * u.reshape(-1)
    return float(np.sum(terms)), math.sqrt(terms @ terms)


def power(case: Case, given: Sequence[Opinion]) -> tuple[str, ...]:
    """What a check along directions would have seen, stated in numbers."""
    counts = {o.name: len(o.directions) for o in given if o.directions}
    words = []
    if DIFFERENCES in counts:
        words.append(
            f"{case.size()} entries checked along {counts[DIFFERENCES]} random directions: any "
            f"single wrong entry above {least_seen(given):.1g} would have been seen with "
            "probability 1 - 1e-6"
        )
    if "symbolic" in counts:
        drawn = counts["symbolic"]
        words.append(f"the closed form was formed for {drawn} entries drawn at random")
    return tuple(words)


def least_seen(given: Sequence[Opinion]) -> float:
    """The size of a single wrong entry that is seen with probability 1 - 1e-6.

    It is off by delta * u along each direction; all K directions miss it only if every |u| is less
    than twice bar / delta. For even draws within w = WIDTH / 2 sizes the chance of that is
    (2 bar / (delta w size))^K. Twice, because the gradient and the slope may each stray by a bar
    before they cease to overlap.
    """
    found = [d for o in given if o.name == DIFFERENCES for d in o.directions]
    sizes = {name: size_of(u) for name, u in found[0].along.items()}
    bar = max(radius(d.slope) for d in found)
    bar += max((_widest(o.gradients, sizes) for o in given if o.gradients), default=0.0)
    miss = math.pow(MISSED, 1 / len(found))
    return 2 * bar / (min(sizes.values()) * WIDTH / 2 * miss)


def _widest(gradients: Mapping[str, Estimate], sizes: Mapping[str, float]) -> float:
    """The widest that the bar of a gradient's slope along any direction can be."""
    wide = 0.0
    for name, size in sizes.items():
        g = gradients[name].value.reshape(-1)
        wide += size * (float(gradients[name].error.sum()) + PRODUCT * math.sqrt(g @ g))
    return WIDTH / 2 * wide


# -- where the difference is ---------------------------------------------------------------------


def locate_differences(case: Case, opinions: Mapping[str, Opinion]) -> tuple[str, ...]:
    """Where reverse mode differs from the slopes of a program too large to look at every entry."""
    mine = opinions.get("reverse")
    if mine is None or not mine.gradients or not any(o.directions for o in opinions.values()):
        return ()
    found = locate(case, {name: g.value for name, g in mine.gradients.items()})
    return () if found is None else (f"masked probes lead to {found}",)


def locate(case: Case, gradients: Params) -> Located | None:
    """The entry at which a gradient differs from the program's slope; None where none is found.

    Of two halves the one goes on whose probe strays more from its slope, beyond the bar of both.
    """
    rng = np.random.default_rng(case.seed + 2)

    def stray(name: str, entries: Array) -> float:
        u: Array = np.zeros(np.size(case.inputs[name]))
        u[entries] = rng.uniform(0.5, 1.5, len(entries)) * rng.choice([-1.0, 1.0], len(entries))
        u = u.reshape(np.shape(case.inputs[name]))
        seen = slope_along(case, {name: u}).slope
        total, length = dot(np.asarray(gradients[name], dtype=np.float64), u)
        if not seen.is_finite():
            return 0.0
        return max(0.0, abs(total - middle(seen)) - radius(seen) - PRODUCT * length)

    name = max(case.wrt, key=lambda name: stray(name, np.arange(np.size(case.inputs[name]))))
    entries = np.arange(np.size(case.inputs[name]))
    while len(entries) > 1:
        halves = entries[: len(entries) // 2], entries[len(entries) // 2 :]
        entries = max(halves, key=lambda half: stray(name, half))
    if not len(entries) or stray(name, entries) <= 0:
        return None
    index = tuple(int(k) for k in np.unravel_index(entries[0], np.shape(case.inputs[name])))
    slope = slope_along(case, {name: unit(case.inputs[name], index)}).slope
    return Located(name, index, float(np.asarray(gradients[name])[index]), slope)
