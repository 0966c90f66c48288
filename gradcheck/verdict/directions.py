"""Many entries at once: the power of slopes along random directions, and masked probes.

A gradient is compared with the slope of the program along signed random directions through all
inputs. Where the two differ, probes that move only half of what is still suspected, and then half
of that, lead to the input and the entry.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from flint import arb

from gradcheck.opinions.floats.blackbox import scan_along
from gradcheck.opinions.floats.lines import size_of
from gradcheck.opinions.limits import MISSED, PRODUCT, WIDTH
from gradcheck.opinions.opinion import Case, Estimate, Opinion, unit
from gradcheck.values import Array, Params

DIFFERENCES = "differences"


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


def state_power(given: Sequence[Opinion]) -> Iterator[str]:
    """What a check along directions would have seen, in numbers."""
    asked = {o.name: o.directions for o in given if o.directions}
    if DIFFERENCES in asked:
        size = sum(u[0].size for u in asked[DIFFERENCES].along.values())
        yield (
            f"{size} entries checked along {len(asked[DIFFERENCES])} random directions: any "
            f"single wrong entry above {least_seen(given):.1g} would have been seen with "
            "probability 1 - 1e-6"
        )
    if "symbolic" in asked:
        count = len(asked["symbolic"])
        yield f"the closed form was formed for {count} entries drawn at random"


def least_seen(given: Sequence[Opinion]) -> float:
    """The size of a single wrong entry that is seen with probability 1 - 1e-6.

    It is off by delta * u along each direction; all K directions miss it only if every |u| is less
    than twice bar / delta. For even draws within w = WIDTH / 2 sizes the chance of that is
    (2 bar / (delta w size))^K. Twice, because the gradient and the slope may each stray by a bar
    before they cease to overlap.
    """
    found = next(o.directions for o in given if o.name == DIFFERENCES)
    sizes = {name: size_of(u[0]) for name, u in found.along.items()}

    def widest(gradients: Mapping[str, Estimate]) -> float:
        """That the bar of a gradient's slope along any direction can be, of draws within 1."""
        every = ((gradients[name], size) for name, size in sizes.items())
        norm = np.linalg.norm
        return sum(size * float(g.error.sum() + PRODUCT * norm(g.value)) for g, size in every)

    wide = max((widest(o.gradients) for o in given if o.gradients), default=0.0)
    miss = math.pow(MISSED, 1 / len(found))
    bar = found.slopes.widest + WIDTH / 2 * wide
    return 2 * bar / (min(sizes.values()) * WIDTH / 2 * miss)


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
        terms = np.ravel(gradients[name])[entries] * u[entries]
        seen = scan_along(case, {name: u.reshape(1, *np.shape(case.inputs[name]))}).slopes
        off = abs(float(terms.sum()) - float(seen.value[0]))
        return max(0.0, off - seen.widest - PRODUCT * float(np.linalg.norm(terms)))

    name = max(case.wrt, key=lambda name: stray(name, np.arange(np.size(case.inputs[name]))))
    entries = np.arange(np.size(case.inputs[name]))
    while len(entries) > 1:
        halves = entries[: len(entries) // 2], entries[len(entries) // 2 :]
        entries = max(halves, key=lambda half: stray(name, half))
    if not len(entries) or stray(name, entries) <= 0:
        return None
    index = tuple(int(k) for k in np.unravel_index(entries[0], np.shape(case.inputs[name])))
    slope = scan_along(case, {name: unit(case.inputs[name], index)[None]}).slopes.balls[0]
    return Located(name, index, float(np.asarray(gradients[name])[index]), slope)
