"""What a check finds: every claim against the opinions, and what explains or mends a wrong one."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcheck.numbers.ball import middle, radius
from gradcheck.opinions.limits import TIGHT
from gradcheck.opinions.opinion import Array, Case
from gradcheck.testing import source
from gradcheck.testing.blind import moved, taller
from gradcheck.testing.budget import Budget
from gradcheck.testing.call import Call, signed
from gradcheck.testing.fast import fast_verdicts, full_check
from gradcheck.testing.judging import Claim, Judged, is_lone, judged_claim, level, rescanned
from gradcheck.testing.limits import EPSILON, RTOL, WIDE
from gradcheck.testing.program import Program
from gradcheck.testing.purity import IGNORED, unlike
from gradcheck.testing.repair import Repair, repaired
from gradcheck.testing.result import Result
from gradcheck.verdict.consult import Part, Verdict

if TYPE_CHECKING:  # imported where a claim is wrong: a suite that passes needs none of it
    from gradcheck.diagnosis import Diagnosis

SOUND = ("agree", "kink", "unstable-forward")
DIAGNOSED = 2000
ZERO = 1e-100  # the bar of a slope that is zero where the value is zero too
SHARE = 2 / 3  # of the time for explaining: for repairs, which prove what they say
ONE, LEAST = 1 / 12, 0.1  # of that for one edit, and seconds
ENDED = "explaining ended after {seconds:g} s (explain=): not everything was looked through"
SPECIAL = (
    "at the point given these numbers are right; they are wrong at one beside it (every entry "
    "moved by up to a tenth), where no entries are whole or alike"
)
STRANGE = "gradcheck's own: does it look at the type of its argument?"
MENDED = 1e-7  # of a part's largest entry: how near a repaired gradient is to the reference
LESS = 1e-3  # of how far the claim strayed: what a repair may leave of it


@dataclass(frozen=True)
class Check:
    """What is asked of a program: questions, claims, how its functions behave, what to remark."""

    program: Program
    asked: Sequence[tuple[Call, Case]]
    claims: Sequence[Claim]
    rtol: float
    faults: tuple[str, ...]
    notes: tuple[str, ...]
    explain: float


def found(check: Check) -> Result:
    """The result of a check: the first claim that is out ends it, and is explained and mended."""
    asked, verdicts = _consulted(check)
    given: list[Claim | None] = list(check.claims) or [None] * len(asked)
    generic = all(v.verdict != "kink" for v in verdicts)  # at a tie many conventions are right
    told = [
        k
        for k, (each, _) in enumerate(asked)
        if not each.beside or (generic and _knows(verdicts[k], given[k]))
    ]
    asked, verdicts = [asked[k] for k in told], [verdicts[k] for k in told]
    given = [given[k] for k in told]
    claims = [claim for claim in given if claim is not None]
    faults = tuple(dict.fromkeys([*_strange(asked, verdicts), *check.faults]))
    judged: tuple[Judged, ...] = ()
    why, notes = Why(), check.notes
    for k, ((point, case), claim) in enumerate(zip(asked, claims, strict=False)):
        verdicts[k], judged = _judged(case, verdicts[k], claim, check.rtol)
        if not all(part.right for part in judged):
            clear = not any(part.undecided for part in judged)
            why = _explained(check, asked, verdicts, judged, generic) if clear else why
            notes = (*notes, *((SPECIAL,) if point.beside else ()), *why.notes)
            break
        if not _knows(verdicts[k], claim):
            judged = ()
            break
    if check.rtol <= RTOL:
        notes = (*notes, *_of_coarse_floats([each for each, _ in asked], claims))
    doubt = [v for v, c in zip(verdicts, given, strict=True) if not _knows(v, c)]
    open_ = any(part.undecided for part in judged)
    ok = not (faults or doubt) and all(part.right for part in judged)
    worst = (doubt or verdicts)[0]
    read = source.text_of(source.file_of(check.program.forward)) if why.diagnoses else ""
    come = tuple(verdicts), judged, why.diagnoses, faults
    verdict = "undecided" if open_ else worst.verdict
    return Result(ok, verdict, *come, worst, read, notes, asked[0][1], why.repair, why.name)


def _consulted(check: Check) -> tuple[list[tuple[Call, Case]], list[Verdict]]:
    """The questions and their verdicts: on floats alone where buffers of others lead astray."""
    asked, claimed = list(check.asked), bool(check.claims)
    found = [
        _in_single(each, verdict)
        for (each, _), verdict in zip(asked, _verdicts(asked, claimed), strict=True)
    ]
    filled = zip(found, (each for each, _ in asked), strict=True)
    if any(v.verdict not in SOUND and each.fills for v, each in filled):
        asked = list(map(_on_floats_alone, asked))
        found = _verdicts(asked, claimed)
    return asked, found


def _strange(asked: Sequence[tuple[Call, Case]], verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Words where a function gives other values when it is called again, or for our numbers."""
    seen = [(v, each) for v, (each, _) in zip(verdicts, asked, strict=True)]
    points = {id(each): (each, v.opinions["reverse"].value) for v, each in seen}
    again = (unlike(*point) for point in points.values())
    yield from filter(None, (*again, *(_otherwise(v, each) for v, each in seen)))


def _judged(
    case: Case, verdict: Verdict, claim: Claim, rtol: float
) -> tuple[Verdict, tuple[Judged, ...]]:
    """A claim judged, with more care before it is refused; the verdict by which."""
    if not (_knows(verdict, claim) or _alone(verdict)):
        return verdict, ()
    judged = judged_claim(case, verdict, claim, rtol)
    if not all(part.right for part in judged) and _in_passing(verdict):
        verdict = full_check(case, verdict)
        judged = judged_claim(case, verdict, claim, rtol)
    if is_lone(verdict) and any(part.off for part in judged):
        verdict = rescanned(case, verdict, judged)
        judged = judged_claim(case, verdict, claim, rtol)
    return verdict, judged


@dataclass(frozen=True)
class Why:
    """What explains a wrong claim: a repair, diagnoses by part, and what was not looked through.

    `name` is what it is where the numbers alone say so.
    """

    name: str = ""
    repair: Repair | None = None
    diagnoses: Mapping[str, "Diagnosis"] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def _explained(
    check: Check,
    asked: Sequence[tuple[Call, Case]],
    verdicts: Sequence[Verdict],
    judged: Sequence[Judged],
    generic: bool,
) -> Why:
    """What can be found out in the seconds that there are."""
    if not check.explain:
        return Why()
    if IGNORED in check.faults:
        return Why(name="upstream-ignored")
    if order := _order(verdicts[0], check.claims[0]):
        return Why(name="gradients-swapped", notes=(order,))
    budget = Budget(check.explain)
    claims, undo = check.claims[: len(asked)], list[tuple[type, str, Any]]()
    repair = None
    if generic and check.program.backward is not None and not check.program.second:
        of_all = check.program, verdicts, claims, undo, budget
        repair = budget.run(lambda: _mended(*of_all), SHARE * check.explain)
        for owner, name, method in undo:
            setattr(owner, name, method)
    cases = [case for _, case in asked]
    diagnoses = budget.run(lambda: _diagnosed(cases, claims, judged)) or {}
    ended = budget.over and repair is None
    return Why("", repair, diagnoses, (ENDED.format(seconds=check.explain),) if ended else ())


def _verdicts(asked: Sequence[tuple[Call, Case]], claimed: bool) -> list[Verdict]:
    """The verdicts on all questions; those about one call share its runs forward."""
    found: list[Verdict] = []
    for _, several in groupby(asked, key=lambda one: id(one[0])):
        calls, cases = zip(*several, strict=True)
        found += fast_verdicts(cases, claimed, calls[0].in_floats())
    return found


def _on_floats_alone(asked: tuple[Call, Case]) -> tuple[Call, Case]:
    """The question for floats alone: buffers of other numbers may have been read as something else.

    `rng.shuffle(y)` shuffles in another order what is no array of NumPy's.
    """
    point, case = asked
    closed = replace(point, closed=True).answered(point.value, point.left)
    return closed, closed.case(case.seed, case.cotangent)


def _in_single(point: Call, verdict: Verdict) -> Verdict:
    """The verdict, where values differ since the program itself computes in coarser floats."""
    if verdict.verdict != "dissent" or not point.coarse.kind:
        return verdict
    return replace(verdict, verdict="unstable-forward")


def _of_coarse_floats(calls: Sequence[Call], claims: Sequence[Claim]) -> Iterator[str]:
    """Where floats coarser than the arguments came in, as far as that was looked for."""
    for claim in claims[:1]:
        coarse = claim.call.grain(*claim.gradients.values()) > claim.call.grain()
        if coarse and not claim.coarse.kind:
            yield "the gradient given comes in coarser floats than its arguments"
    looked = (vars(each).get("coarse") for each in (*claims, *calls))
    yield from dict.fromkeys(each.words() for each in looked if each is not None and each.kind)


def _otherwise(verdict: Verdict, point: Call) -> str:
    """Words where the function gives other values for plain numbers than for the opinions' own."""
    known, plain = verdict.value, point.plain()
    judged = verdict.verdict in SOUND and verdict.verdict != "unstable-forward"
    if known is None or plain.dtype.kind not in "fiub" or not judged:
        return ""
    if plain.shape != known.shape:
        return f"the function's value has the shape {plain.shape} for plain numbers; {STRANGE}"
    near = point.grain() ** 0.25 * max(1.0, float(np.abs(plain).max(initial=0.0)))
    gap = np.abs(known.value - plain)
    if gap.max(initial=0.0) <= near:
        return ""
    off = gap > near + known.error
    if np.any(off) and point.grain() > EPSILON:  # coarse floats may lose all digits by themselves
        return _otherwise(verdict, point.in_doubles())
    if not np.any(off):
        return ""
    here = f"{plain[off][0]:.6g} for plain numbers and {known.value[off][0]:.6g}"
    return f"the function's value is {here} for {STRANGE}"


def _in_passing(verdict: Verdict) -> bool:
    """Whether the function was only looked at along a few directions."""
    return any(o.directions for o in verdict.opinions.values())


def _knows(verdict: Verdict, claim: Claim | None) -> bool:
    """Whether the opinions are one to lean on: a claim is itself a second beside a lonely one."""
    if verdict.verdict in SOUND:
        return True
    return claim is not None and _alone(verdict) and _lone_is_enough(verdict, claim.gradients)


def _alone(verdict: Verdict) -> bool:
    """Whether one opinion was formed, and nothing is unusual but that."""
    return verdict.verdict == "undecided" and not verdict.entries


def _lone_is_enough(verdict: Verdict, claimed: Mapping[str, Any]) -> bool:
    """Whether a lonely opinion leaves nothing open beside a claim, kinks aside.

    Its bars tell the largest slope from its half, or where they do not the claim is what it says
    as closely as narrow bars would ask for.
    """
    if any(o.directions for o in verdict.opinions.values()):
        return all(d.slope.is_finite() for o in verdict.opinions.values() for d in o.directions)
    known = [part.gradient for part in verdict.parts.values() if part.gradient is not None]
    if len(known) < len(verdict.parts):
        return False
    sizes = [e.largest for e in (*known, verdict.value) if e is not None]
    bar = TIGHT * max(sizes, default=0.0) or ZERO
    wide = max(bar, WIDE * level(verdict))
    return all(_settled(part, claimed.get(name), bar, wide) for name, part in verdict.parts.items())


def _settled(part: Part, claim: Any, bar: float, wide: float) -> bool:
    """Whether every entry that is no kink has no wide bar, or a claim that is near."""
    assert part.gradient is not None
    error = np.array(part.gradient.error)
    for entry in part.entries:
        error[entry.index] = 0.0
    near = np.zeros(error.shape, bool)
    if claim is not None and np.shape(claim) == error.shape:
        near = (np.abs(claim - part.gradient.value) <= bar) & np.isfinite(error)
    return bool(np.all((error <= wide) | near))


def _diagnosed(
    cases: Sequence[Case], claims: Sequence[Claim], judged: Sequence[Judged]
) -> dict[str, "Diagnosis"]:
    """What mistake gives just these gradients; nothing where the tape cannot follow."""
    wrong = [part.part for part in judged if _explicable(part) and part.part in claims[0].gradients]
    if not wrong or cases[0].size() > DIAGNOSED:
        return {}
    from gradcheck.diagnosis import explain, prepare  # noqa: PLC0415

    try:
        prepared = prepare(cases)
    except Exception:  # noqa: BLE001 - diagnosis only explains; a user's program may raise anything
        return {}
    return {
        part: explain(prepared, part, [_floats(claim.gradients[part]) for claim in claims])
        for part in wrong
    }


def _explicable(part: Judged) -> bool:
    """Whether it is wrong where there is one right answer: at a kink there are many."""
    return bool(part.shape) or any(off.interval is None for off in part.off)


def _floats(claim: Any) -> Array | None:
    return None if claim is None else np.asarray(claim, dtype=np.float64)


def _order(verdict: Verdict, claim: Claim) -> str:
    """Words where the gradients are those of the arguments in another order."""
    names = list(claim.gradients)
    places = []
    for name in names:
        known = verdict.parts[name].gradient
        fits = [] if known is None else [
            k for k, other in enumerate(claim.gradients.values())
            if other is not None and np.shape(other) == known.shape
            and np.allclose(other, known.value, rtol=MENDED, atol=MENDED * known.largest)
        ]  # fmt: skip
        places += fits[:1]
    if sorted(places) != list(range(len(names))) or places == sorted(places):
        return ""
    order = ", ".join(str(k + 1) for k in places)
    return f"the gradients stand in another order: in the order {order} they are right"


def _mended(
    program: Program,
    verdicts: Sequence[Verdict],
    claims: Sequence[Claim],
    undo: list[tuple[type, str, Any]],
    budget: Budget,
) -> Repair | None:
    """The repair of the backward that was given, which holds at another point and shape too."""
    assert program.backward is not None
    elsewhere: list[tuple[Verdict, Claim]] | None = None

    def right(other: Callable[..., Any]) -> bool:
        nonlocal elsewhere
        try:
            if not all(map(partial(_met, other), verdicts, claims)):
                return False
            if elsewhere is None:
                elsewhere = list(_elsewhere(claims[0]))
            return all(_met(other, *one) for one in elsewhere)
        except Exception:  # noqa: BLE001 - an edited program may raise anything
            return False

    if right(program.backward):  # what is right but for rounding, no text can mend
        return None
    each = max(ONE * budget.left, LEAST)  # for one edit, which may loop for ever
    return repaired(
        program.backward,
        lambda other: bool(budget.run(lambda: right(other), each)),
        program.forward,
        undo,
    )


def _elsewhere(claim: Claim) -> Iterator[tuple[Verdict, Claim]]:
    """The claim at a point beside, and at one of another shape, where the opinions know it."""
    rng = np.random.default_rng(2)
    for point in (moved(claim.call, rng), taller(claim.call)):
        try:
            if point is None or not np.all(np.isfinite(point.plain())):
                continue
            c = None if claim.cotangent is None else signed(rng, point.shape())
            verdict = fast_verdicts([point.case(0, c)], True)[0]
            there = Claim(point, None, c)
            if verdict.verdict == "agree" and there.gradients:
                yield verdict, there
        except Exception:  # noqa: BLE001 - a function may refuse any point
            continue


def _met_along(gradients: Mapping[str, Any], verdict: Verdict, near: float) -> bool:
    """Whether gradients have the slopes that were seen along directions, where those are known."""
    seen = [d for opinion in verdict.opinions.values() for d in opinion.directions]
    for each in seen:
        if any(np.asarray(gradients.get(name)).shape != u.shape for name, u in each.along.items()):
            return False
        terms = [np.asarray(gradients[name]) * u for name, u in each.along.items()]
        size = max(float(np.max(np.abs(term), initial=0.0)) for term in terms)
        gap = abs(sum(float(np.sum(term)) for term in terms) - middle(each.slope))
        if not gap <= radius(each.slope) + near * size:
            return False
    return bool(seen)


def _met(backward: Callable[..., Any], verdict: Verdict, claim: Claim) -> bool:
    """Whether another backward pass gives the reference, as far as the claim's floats can say."""
    other = replace(claim.call.program, backward=backward)
    gradients = claim.call.by_name(claim.made(other, claim.call.fresh()))
    near = MENDED * (claim.call.grain() / EPSILON) ** 0.5
    if all(verdict.parts[name].gradient is None for name in gradients):
        return _met_along(gradients, verdict, near)
    for name, g in gradients.items():
        known = verdict.parts[name].gradient
        if known is None or g is None or np.shape(g) != known.shape:
            return False
        bar = near * np.max(np.abs(known.value), initial=0.0)
        was = np.asarray(claim.gradients[name])
        strayed = np.max(np.abs(was - known.value), initial=0.0) if was.shape == g.shape else bar
        bar = known.error + (min(bar, LESS * strayed) if strayed > LESS * bar else bar)
        if not np.all(np.abs(g - known.value) <= bar):
            return False
    return True
