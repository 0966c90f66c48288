"""A claim judged with what floats excuse: digits that a formula loses, slopes too small to see."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from flint import arb

from gradcheck.opinions.floats.blackbox import flat_at, unseen
from gradcheck.opinions.limits import STIR
from gradcheck.opinions.opinion import Array, Case
from gradcheck.testing.call import Call
from gradcheck.testing.claims import EPSILON, Grain, Judged, Off, judge
from gradcheck.testing.rounding import ROUGH, in_balls, rough, shaken, torn
from gradcheck.testing.single import Coarse, coarse_inside
from gradcheck.verdict.consult import Verdict

PRECISIONS = (256, 2048)
LOOKED = 8  # entries that rounding may excuse which are looked at more closely
DECIDED = 1e-3  # of a slope: no rounding of a reference, nor a tolerance, is so large
FLAT = 64  # entries at which it is asked whether the function moves at all


@dataclass(frozen=True)
class Claim:
    """Gradients given at one point, or how to make them there and on other numbers, or both."""

    call: Call
    given: Mapping[str, Any] | None = None
    by: Callable[..., Any] | None = None
    cotangent: Array | None = None

    @cached_property
    def gradients(self) -> Mapping[str, Any]:
        """What is claimed, made when it is first asked for."""
        if self.given is not None:
            return self.given
        assert self.by is not None
        return self.call.by_name(self.made(self.by, self.call.fresh()))

    @cached_property
    def coarse(self) -> Coarse:
        """What is coarser than float64 inside the function or what makes the claim."""
        found = self.call.coarse
        if found.kind or self.by is None:
            return found
        last = () if self.cotangent is None else (self.cotangent.copy(),)
        return coarse_inside(self.by, self.call.fresh(), *last)

    @property
    def again(self) -> Callable[[list[Any]], Any] | None:
        """The claim as a function of other arguments."""
        return None if self.by is None else partial(self.made, self.by)

    def made(self, by: Callable[..., Any], args: list[Any]) -> Any:
        """What another backward pass would claim."""
        return by(args) if self.cotangent is None else by(args, self.cotangent.copy())


def judged_claim(case: Case, verdict: Verdict, claim: Claim, rtol: float) -> tuple[Judged, ...]:
    """The claim as floats; where that is out and it can be run again, what rounding does to it."""
    unit = claim.call.grain(*claim.gradients.values())
    first = judge(verdict, claim.gradients, rtol, case=case, grain=Grain(unit))
    if claim.again is None or not any(part.off for part in first):
        return first
    if unit == EPSILON and claim.coarse.unit > unit:
        moves = shaken(claim.again, claim.call, claim.coarse.unit)
        grain = Grain(claim.coarse.unit, moves)
        return judge(verdict, claim.gradients, rtol, case=case, grain=grain)
    if unit > EPSILON and (finer := _in_doubles(case, verdict, claim, rtol, first)):
        return finer
    with np.errstate(invalid="ignore"):  # a claim may be infinite
        moves = shaken(claim.again, claim.call)
    exact = None
    for bits in PRECISIONS if unit == EPSILON else ():
        exact = in_balls(claim.again, claim.call, bits)
        found = judge(verdict, claim.gradients, rtol, case=case, grain=Grain(unit, moves, exact))
        if all(part.right for part in found):
            return found
        if exact is None or _wrong_without_rounding(claim, first, exact):
            break
    grain = Grain(unit, moves)
    last = judge(verdict, claim.gradients, rtol, case=case, grain=grain)
    if exact is None and unit == EPSILON:
        last = _rounded(case, verdict, claim, rtol, last, moves)
    return tuple(_saturated(case, part, replace(grain, exact=exact)) for part in last)


def _wrong_without_rounding(
    claim: Claim, judged: Sequence[Judged], exact: Mapping[str, Array]
) -> bool:
    """Whether the formula itself gives another slope at some entry: more bits change nothing."""
    for off in (off for part in judged for off in part.off):
        if exact[off.part].shape == np.shape(claim.gradients[off.part]):
            ball = exact[off.part][off.index]
            far = abs(ball - off.expected) > arb(off.error) + DECIDED * abs(ball)
            if ball.is_finite() and off.interval is None and far:
                return True
    return False


def _rounded(  # noqa: PLR0917 - as `judge`, and what is known so far
    case: Case,
    verdict: Verdict,
    claim: Claim,
    rtol: float,
    first: tuple[Judged, ...],
    moves: Mapping[str, Array],
) -> tuple[Judged, ...]:
    """The judgement where entries may be off by what the claim is heard to round inside.

    Of those that would be excused by that, the farthest off are looked at: whether it is rounding.
    """
    assert claim.again is not None
    with np.errstate(all="ignore"):
        wider = _wider(moves, rough(claim.again, claim.call))
        second = judge(verdict, claim.gradients, rtol, case=case, grain=Grain(EPSILON, wider))
        for was, now in zip(first, second, strict=True):
            left = {off.index for off in now.off}
            excused = [off for off in was.off if off.index not in left and off.part in wider]
            for off in sorted(excused, key=lambda off: -abs(off.claimed - off.expected))[:LOOKED]:
                rms = float(wider[off.part][off.index]) / ROUGH
                if not torn(claim.again, claim.call, off.part, off.index, rms):
                    return first
    return tuple(
        replace(now, lossy="float64") if was.off and now.right else now
        for was, now in zip(first, second, strict=True)
    )


def _wider(some: Mapping[str, Array], others: Mapping[str, Array]) -> dict[str, Array]:
    """The larger of two bars, part by part."""
    return {n: np.maximum(bars, others[n]) if n in others else bars for n, bars in some.items()}


def _saturated(case: Case, part: Judged, grain: Grain) -> Judged:
    """A claim for a slope that a value of order one does not show in float64, where it is so.

    The 0 of a saturated `tanh` is such, and so are the few digits that are left of `1 - y` where
    the claim takes floats alone; the 1 of `1e20 + x`, which float64 does not see either, is not.
    Nor is a 0 that the formula gives in balls too: no rounding has made that.
    """
    exact = (grain.exact or {}).get(part.part)
    if exact is not None and exact.shape != np.shape(case.inputs[part.part]):
        exact = None
    faint = part.off[:FLAT]
    if len(faint) < len(part.off) or not all(_faint(case, off, exact) for off in faint):
        return part
    return replace(part, off=(), lossy="float64") if faint else part


def _faint(case: Case, off: Off, exact: Array | None) -> bool:
    """Whether both slopes are so small that the value does not tell them apart."""
    if not max(abs(off.claimed), abs(off.expected)) < EPSILON / STIR:
        return False
    if exact is None and abs(off.claimed - off.expected) <= unseen(case, off.part, off.index):
        return True
    made = exact is None or not exact[off.index].is_zero()
    return off.claimed == 0.0 and made and flat_at(case, off.part, off.index)


def _in_doubles(
    case: Case, verdict: Verdict, claim: Claim, rtol: float, first: tuple[Judged, ...]
) -> tuple[Judged, ...]:
    """The judgement where the formula is right in float64 and coarser floats lose its digits.

    Nothing where it is wrong there too, takes no float64, or is not finite as it is.
    """
    assert claim.again is not None
    fine = claim.call.in_doubles()
    if not all(np.isfinite(off.claimed) for part in first for off in part.off):
        return ()
    try:
        gradients = fine.by_name(claim.again(fine.fresh()))
    except Exception:  # noqa: BLE001 - a second chance only: a user's code may raise anything
        return ()
    if fine.grain(*gradients.values()) > EPSILON:
        return ()
    found = judged_claim(case, verdict, Claim(fine, gradients, claim.by, claim.cotangent), rtol)
    if not all(part.right for part in found):
        return ()
    coarse = np.result_type(*(g for g in claim.gradients.values() if g is not None)).name
    return tuple(
        replace(now, lossy=coarse) if was.off else was
        for was, now in zip(first, found, strict=True)
    )
