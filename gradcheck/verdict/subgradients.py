"""Which gradients are possible at a kink: one by one, and together.

Any gradient of a point just beside the kink is possible (Clarke 1983, theorem 2.5.1), and so is
what PyTorch's conventions give. Against others speak the ridges, the directions through a kink
along which the function is smooth. At `maximum(x, y)` with x = y each entry alone may have any
slope between 0 and 1, but together they have 1: along x = y the function is smooth, and there
every subgradient has its slope (Rockafellar, Convex Analysis, theorem 25.6).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import combinations
from typing import Any

import numpy as np

from gradcheck.engine.backward import RIGHT, pull
from gradcheck.engine.tape import Node
from gradcheck.numbers.ball import middle
from gradcheck.opinions.floats.blackbox import slope_along
from gradcheck.opinions.floats.lines import line
from gradcheck.opinions.opinion import Array, Case, Direction
from gradcheck.opinions.reverse import once
from gradcheck.verdict.consult import Verdict

NEIGHBOURS = 48
BESIDE = 1e-10
"""How many points beside a kink are asked, and how near they are, in units of the inputs."""
MOST = 16
"""How many entries at kinks of one curvature are looked at."""
TOGETHER = 5
"""How large a family of kinks may be for every choice among them to be tried."""
LIKE = 1e-6
"""How near, beside the largest entry, a gradient is that of a point beside a kink."""
SURE = 1e-6
"""The widest bar, relative to the rises of the kinks, that settles anything."""
GLANCE = 1e-5
GLANCED = 1e-2
"""The step of a first glance, and the part of a rise that is too much to be smooth there."""
SAMPLES = 6
"""How many pairs of directions are added up to see whether all kinks bend the same way."""

Index = tuple[int, ...]


@dataclass(frozen=True)
class _Kink:
    """An entry with different slopes on its two sides, and by how much the slope rises."""

    part: str
    index: Index
    rise: float


Signed = Sequence[tuple[_Kink, float]]


@dataclass(frozen=True)
class Ridge:
    """A smooth direction with its slope; `certain()` looks whether every subgradient has it.

    `rise` is the least rise of the kinks that meet here.
    """

    direction: Direction
    rise: float
    certain: Callable[[], bool]


def ridges(case: Case, verdict: Verdict) -> Iterator[Ridge]:
    """The smooth directions that could be found, each with its slope.

    Two entries that meet in one kink are moved by amounts in the inverse ratio of their rises, one
    way or the other: that leaves the two branches equal. A kink that bends upwards and one that
    bends downwards may cancel without meeting; they are not mixed.
    """
    kinks = _kinks(verdict)
    for bent in (1, -1):
        alike = [kink for kink in kinks if kink.rise * bent > 0][:MOST]
        least = min((abs(kink.rise) for kink in alike), default=0.0)
        for family in _families(case, alike, least):
            for chosen in _choices(family):
                along = _moved(case, chosen, least)
                if _breaks(case, along, least):
                    continue
                found = slope_along(case, along)
                settled = found.slope.is_finite() and found.slope.rad() <= SURE * least
                if found.kind is None and settled:
                    yield Ridge(found, least, partial(_bends, case, chosen, bent, least))


def _families(case: Case, kinks: Sequence[_Kink], least: float) -> list[Signed]:
    """Entries that meet in a kink, with signs: what moving both does is not what each does.

    The signs are those with which they meet; moved so, they leave the branches equal.
    """
    if len(kinks) < 2:
        return []
    step = _step(case)

    @cache
    def at(*moved: tuple[_Kink, float]) -> float:
        return line(case, _moved(case, moved, least))(step)

    def meet(one: tuple[_Kink, float], other: tuple[_Kink, float]) -> bool:
        return abs(at(one, other) - at(one) - at(other) + at()) > GLANCED * least * step

    left, found = list(kinks), []
    while left:
        family = [(left.pop(0), 1.0)]
        for member in family:
            met = [(k, s) for k in left for s in (member[1], -member[1]) if meet(member, (k, s))]
            signs = dict(reversed(met))
            family += signs.items()
            left = [kink for kink in left if kink not in signs]
        found.append(family)
    return [family for family in found if len(family) > 1]


def _choices(family: Signed) -> Iterator[Signed]:
    """Every few of a family, or where it is large the pairs and all together."""
    if len(family) > TOGETHER:
        yield family
    for count in range(2, 1 + (len(family) if len(family) <= TOGETHER else 2)):
        yield from combinations(family, count)


def _step(case: Case) -> float:
    sizes = [float(np.max(np.abs(v), initial=0.0)) for v in case.floats().values()]
    return GLANCE * max([1.0, *sizes])


def _breaks(case: Case, along: Mapping[str, Array], least: float) -> bool:
    """A glance: whether the slopes of two short steps differ as at a kink."""
    at, step = line(case, along), _step(case)
    return not abs(at(-step) - 2 * at(0.0) + at(step)) <= GLANCED * least * step


def _kinks(verdict: Verdict) -> list[_Kink]:
    seen = verdict.opinions["differences"].slopes
    rises = [_Kink(*place, s.right - s.left) for place, s in seen.items() if s.kind == "kink"]
    return [kink for kink in rises if np.isfinite(kink.rise)]


def _bends(case: Case, chosen: Signed, bent: int, least: float) -> bool:
    """Whether the slope to one side is sublinear (superlinear) in the direction, as far as seen.

    Only then do subgradients reach it along every direction; otherwise kinks cancel in it.
    """
    rng = np.random.default_rng(case.seed)
    kinks = [kink for kink, _ in chosen]
    for _ in range(SAMPLES):
        weights = rng.standard_normal((2, len(kinks)))
        one, other, both = (
            _to_the_right(slope_along(case, _moved(case, tuple(zip(kinks, w, strict=True)), least)))
            for w in (*weights, weights.sum(axis=0))
        )
        if not (one + other - both) * bent >= -SURE * least:
            return False
    return True


def _to_the_right(seen: Direction) -> float:
    """The slope to the right; nan if it is not known."""
    if seen.kind is not None:
        return seen.kind.right if seen.kind.kind == "kink" else np.nan
    return middle(seen.slope) if seen.slope.is_finite() else np.nan


def _moved(case: Case, chosen: Signed, least: float) -> dict[str, Array]:
    """The direction that moves every entry by its weight over its rise (the least rise by 1)."""
    along: dict[str, Array] = {}
    for kink, weight in chosen:
        u = along.setdefault(kink.part, np.zeros(np.shape(case.inputs[kink.part])))
        u[kink.index] = weight * least / abs(kink.rise)
    return along


def neighbours(case: Case) -> Iterator[dict[str, Array]]:
    """Reverse mode's gradient at the point, and at points so near that only kinks are crossed.

    Among them those to which every kink of an op leans alike: as each of many units may lean either
    way, a few random points would not meet that, and `x > 0` in a backward pass is just that. No
    point need lie there: `relu(x) - relu(-x)` with `x >= 0` in both gives 2 where the slope is 1.
    Such a choice of a side for each op is a gradient almost everywhere, and what reverse mode gives
    is of that kind (Bolte and Pauwels, Conservative set valued fields, 2021).
    """
    for lean in (-BESIDE, BESIDE):
        try:
            with np.errstate(all="ignore"):
                yield once(case, replace(RIGHT, pull=_leaning(lean)))[1]
        except Exception:  # noqa: BLE001 - a user's program may refuse tensors
            return
    rng = np.random.default_rng(case.seed)
    for n in range(1 + NEIGHBOURS):
        moved = {
            name: v + (n > 0) * BESIDE * rng.standard_normal(v.shape) * np.where(v, v, 1.0)
            for name, v in case.floats().items()
            if name in case.wrt
        }
        try:
            with np.errstate(all="ignore"):
                yield once(replace(case, inputs={**case.inputs, **moved}))[1]
        except Exception:  # noqa: BLE001 - a user's program may refuse tensors
            return


def _leaning(lean: float) -> Callable[..., Any]:
    """The pull with the first operand of every op that has kinks moved by very little."""

    def leaning(node: Node, i: int, g: Any, y: Any, operands: tuple[Any, ...]) -> Any:
        if node.op.kinks and node.op.elementwise and operands and operands[0] is not None:
            first = np.asarray(operands[0])
            operands = (first + lean * np.where(first, np.abs(first), 1.0), *operands[1:])
            y = y if y is None else y + lean
        return pull(node, i, g, y, operands)

    return leaning


def spelled(direction: Direction) -> str:
    """The direction in words: `x + 0.5 y[1]`."""
    terms = []
    for name, u in direction.along.items():
        for index in zip(*np.nonzero(u), strict=True) if u.ndim else [()]:
            step = float(u[index])
            place = f"{name}[{', '.join(map(str, index))}]" if index else name
            size = "" if abs(step) == 1 else f"{abs(step):.6g} "
            terms.append(f"{'-' if step < 0 else '+'} {size}{place}")
    return " ".join(terms).removeprefix("+ ")
