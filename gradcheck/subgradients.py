"""Which gradients are possible at a kink: one by one, and together.

Any gradient of a point just beside the kink is possible (Clarke 1983, theorem 2.5.1), and so is
what PyTorch's conventions give. Against others speak the ridges, the directions through a kink
along which the function is smooth. At `maximum(x, y)` with x = y each entry alone may have any
slope between 0 and 1, but together they have 1: along x = y the function is smooth, and there
every subgradient has its slope (Rockafellar, Convex Analysis, theorem 25.6).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, product

import numpy as np

from gradcheck.numbers.ball import middle
from gradcheck.opinions.blackbox import line, slope_along
from gradcheck.opinions.opinion import Array, Case, Direction
from gradcheck.opinions.reverse import once
from gradcheck.verdict import Verdict

NEIGHBOURS = 48
BESIDE = 1e-10
"""How many points beside a kink are asked, and how near they are, in units of the inputs."""
MOST = 8
"""How many entries at a kink are tried in pairs."""
TOGETHER = 4
"""How many are tried all together, with every choice of signs."""
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


@dataclass(frozen=True)
class Ridge:
    """A smooth direction with its slope; `certain()` looks whether every subgradient has it."""

    direction: Direction
    certain: Callable[[], bool]


def ridges(case: Case, verdict: Verdict) -> Iterator[Ridge]:
    """The smooth directions that could be found, each with its slope.

    Two entries that meet in one kink are moved by amounts in the inverse ratio of their rises, one
    way or the other: that leaves the two branches equal. A kink that bends upwards and one that
    bends downwards may cancel without meeting; they are not mixed.
    """
    kinks = _kinks(verdict)
    for bent in (1, -1):
        for chosen in _choices([kink for kink in kinks if kink.rise * bent > 0]):
            least = min(abs(kink.rise) for kink in chosen)
            for signs in product((1.0, -1.0), repeat=len(chosen) - 1):
                along = _moved(case, chosen, (1.0, *signs))
                if _breaks(case, along, least):
                    continue
                found = slope_along(case, along)
                settled = found.slope.is_finite() and found.slope.rad() <= SURE * least
                if found.kind is None and settled:
                    yield Ridge(found, partial(_bends, case, chosen, bent, least))


def _breaks(case: Case, along: Mapping[str, Array], least: float) -> bool:
    """A glance: whether the slopes of two short steps differ as at a kink."""
    at = line(case, along)
    sizes = [float(np.max(np.abs(v), initial=0.0)) for v in case.floats().values()]
    step = GLANCE * max([1.0, *sizes])
    left, here, right = at(-step), at(0.0), at(step)
    return not abs(left - 2 * here + right) <= GLANCED * least * step


def _kinks(verdict: Verdict) -> list[_Kink]:
    seen = verdict.opinions["differences"].slopes
    rises = [_Kink(*place, s.right - s.left) for place, s in seen.items() if s.kind == "kink"]
    return [kink for kink in rises if np.isfinite(kink.rise)]


def _bends(case: Case, chosen: Sequence[_Kink], bent: int, least: float) -> bool:
    """Whether the slope to one side is sublinear (superlinear) in the direction, as far as seen.

    Only then do subgradients reach it along every direction; otherwise kinks cancel in it.
    """
    rng = np.random.default_rng(case.seed)
    for _ in range(SAMPLES):
        weights = rng.standard_normal((2, len(chosen)))
        one, other, both = (
            _to_the_right(slope_along(case, _moved(case, chosen, w)))
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


def _choices(kinks: Sequence[_Kink]) -> Iterator[Sequence[_Kink]]:
    if len(kinks) <= TOGETHER:
        for count in range(2, len(kinks) + 1):
            yield from combinations(kinks, count)
    else:
        yield from combinations(kinks[:MOST], 2)


def _moved(case: Case, chosen: Sequence[_Kink], weights: Sequence[float]) -> dict[str, Array]:
    """The direction that moves every entry by its weight over its rise (the least rise by 1)."""
    least = min(abs(kink.rise) for kink in chosen)
    along: dict[str, Array] = {}
    for kink, weight in zip(chosen, weights, strict=True):
        u = along.setdefault(kink.part, np.zeros(np.shape(case.inputs[kink.part])))
        u[kink.index] = weight * least / abs(kink.rise)
    return along


def neighbours(case: Case) -> Iterator[dict[str, Array]]:
    """Reverse mode's gradient at the point, and at points so near that only kinks are crossed."""
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
