"""What a check finds: every claim against the opinions, and what explains or mends a wrong one."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby
from types import FunctionType
from typing import TYPE_CHECKING

import numpy as np

from gradcheck.opinions.limits import TIGHT
from gradcheck.opinions.opinion import Case
from gradcheck.testing import source
from gradcheck.testing.budget import TimeBudget, unheard
from gradcheck.testing.call import IGNORED, Call, draw_signed, nudge, taller, unlike
from gradcheck.testing.copies import Copies
from gradcheck.testing.fast import fast_verdicts, full_check
from gradcheck.testing.judging import Claim, Judged, judge_claim, level, within_bars
from gradcheck.testing.limits import EPSILON, RTOL, WIDE
from gradcheck.testing.program import UserProgram
from gradcheck.testing.repair import SourceRepair, called_by, find_repair, is_mendable
from gradcheck.testing.result import Result
from gradcheck.verdict.consult import Verdict

if TYPE_CHECKING:  # imported where a claim is wrong: a suite that passes needs none of it
    from gradcheck.diagnosis import Diagnosis

SOUND = ("agree", "kink", "unstable-forward")
DIAGNOSED = 2000
ZERO = 1e-100  # the bar of a slope that is zero where the value is zero too
HALF = 1 / 2  # of the time for explaining is left, however long the check itself took
SHARE = 2 / 3  # of the time for explaining: for repairs, which prove what they say
ONE, LEAST = 1 / 12, 0.1  # of that for one edit, and seconds
ENDED = "explaining ended after {seconds:g} s (explain=): not everything was looked through"
SPECIAL = (
    "at the point given these numbers are right; they are wrong at one beside it (every entry "
    "moved by up to a tenth), where no entries are whole or alike"
)
STRANGE = "gradcheck's own: does it look at the type of its argument?"
MENDED = 1e-7  # of an entry: how near a repaired gradient is to the reference
Point = tuple[Call, Case]


@dataclass(frozen=True)
class Check:
    """What is asked of a program: questions, claims, how its functions behave, what to remark."""

    program: UserProgram
    asked: Sequence[Point]
    claims: Sequence[Claim]
    rtol: float
    faults: tuple[str, ...]
    notes: tuple[str, ...]
    explain: float
    began: float  # by the thread's clock


@dataclass(frozen=True)
class AskedPoint:
    """One question, its verdict, and the claim that is judged by it, if there is one."""

    call: Call
    case: Case
    verdict: Verdict
    claim: Claim | None


def explain_claims(check: Check) -> Result:
    """The result of a check: the first claim that is out ends it, and is explained and mended."""
    every = _consult(check)
    generic = all(each.verdict.verdict != "kink" for each in every)  # many are right at a tie
    every = [each for each in every if not each.call.beside or (generic and _is_known(each))]
    faults = tuple(dict.fromkeys([*_strange(every), *check.faults]))
    judged: tuple[Judged, ...] = ()
    why, notes = Why(), check.notes
    for k, each in enumerate(every if check.claims else ()):
        every[k], judged = _judge(each, check.rtol)
        if not all(part.right for part in judged):
            if not any(part.undecided for part in judged):
                why = _explain(check, every, judged, generic)
            notes = (*notes, *((SPECIAL,) if each.call.beside else ()), *why.notes)
            break
        if not _is_known(every[k]):
            judged = ()
            break
    if check.rtol <= RTOL:
        notes = (*notes, *_of_coarse_floats(every))
    doubt = [each.verdict for each in every if not _is_known(each)]
    verdicts = tuple(each.verdict for each in every)
    worst = doubt[0] if doubt else verdicts[0]
    return Result(
        ok=not (faults or doubt) and all(part.right for part in judged),
        verdict="undecided" if any(part.undecided for part in judged) else worst.verdict,
        verdicts=verdicts,
        judged=judged,
        diagnoses=why.diagnoses,
        faults=faults,
        worst=worst,
        source=source.text_of(source.file_of(check.program.forward)) if why.diagnoses else "",
        notes=notes,
        case=every[0].case,
        repair=why.repair,
        name=why.name,
    )


def _consult(check: Check) -> list[AskedPoint]:
    """The questions and their verdicts: on floats alone where buffers of others lead astray."""
    points, claimed = list(check.asked), bool(check.claims)
    verdicts = [_in_single(*each) for each in zip(points, _verdicts(points, claimed), strict=True)]
    filled = zip(points, verdicts, strict=True)
    if any(v.verdict not in SOUND and call.fills for (call, _), v in filled):
        points = list(map(_on_floats_alone, points))
        verdicts = _verdicts(points, claimed)
    claims: Sequence[Claim | None] = check.claims or [None] * len(points)
    return [AskedPoint(*p, v, c) for p, v, c in zip(points, verdicts, claims, strict=True)]


def _verdicts(points: Sequence[Point], claimed: bool) -> list[Verdict]:
    found: list[Verdict] = []
    for _, several in groupby(points, key=lambda one: id(one[0])):
        calls, cases = zip(*several, strict=True)
        found += fast_verdicts(cases, claimed, calls[0].in_floats())
    return found


def _in_single(point: Point, verdict: Verdict) -> Verdict:
    """The verdict, where values differ since the program itself computes in coarser floats."""
    if verdict.verdict != "dissent" or not point[0].coarse.kind:
        return verdict
    return replace(verdict, verdict="unstable-forward")


def _on_floats_alone(point: Point) -> Point:
    """The question for floats alone: buffers of other numbers may have been read as something else.

    `rng.shuffle(y)` shuffles in another order what is no array of NumPy's.
    """
    call, case = point
    closed = call.like(closed=True)
    return closed, closed.case(case.seed, case.cotangent)


def _judge(asked: AskedPoint, rtol: float) -> tuple[AskedPoint, tuple[Judged, ...]]:
    case, verdict, claim = asked.case, asked.verdict, asked.claim
    if claim is None or not (_is_known(asked) or _is_alone(verdict)):
        return asked, ()
    if any(o.directions for o in verdict.opinions.values()):  # looked at in passing
        unit = claim.call.grain(*claim.gradients.values())
        near = within_bars(case, verdict, claim.gradients, rtol, unit, every=False)
        if not all(part.right for part in near):
            asked = replace(asked, verdict=full_check(case, verdict))
    return asked, judge_claim(case, asked.verdict, claim, rtol)


# -- what is known, and what is strange ----------------------------------------------------------


def _is_known(asked: AskedPoint) -> bool:
    if asked.verdict.verdict in SOUND:
        return True
    claim = asked.claim
    return claim is not None and _is_alone(asked.verdict) and _is_enough(asked.verdict, claim)


def _is_alone(verdict: Verdict) -> bool:
    """Whether one opinion was formed, and nothing is unusual but that."""
    return verdict.verdict == "undecided" and not verdict.entries


def _is_enough(verdict: Verdict, claim: Claim) -> bool:
    """Whether a lonely opinion leaves nothing open beside a claim, kinks aside.

    Its bars tell the largest slope from its half, or where they do not the claim is what it says
    as closely as narrow bars would ask for.
    """
    along = [d for o in verdict.opinions.values() for d in o.directions]
    if along:
        return all(d.slope.is_finite() for d in along)
    if any(part.gradient is None for part in verdict.parts.values()):
        return False
    value = 0.0 if verdict.value is None else verdict.value.largest
    bar = TIGHT * max(level(verdict), value) or ZERO
    wide = max(bar, WIDE * level(verdict))
    for name, part in verdict.parts.items():
        assert part.gradient is not None
        given, open_ = claim.gradients.get(name), ~(part.gradient.error <= wide)
        for entry in part.entries:
            open_[entry.index] = False
        if given is not None and np.shape(given) == open_.shape:
            near = np.abs(given - part.gradient.value) <= bar
            open_ &= ~(near & np.isfinite(part.gradient.error))
        if np.any(open_):
            return False
    return True


def _strange(every: Sequence[AskedPoint]) -> Iterator[str]:
    """Words where a function gives other values when it is called again, or for our numbers."""
    points = {id(each.call): each for each in every}.values()
    again = (unlike(each.call, each.verdict.opinions["reverse"].value) for each in points)
    yield from filter(None, (*again, *(_otherwise(each.verdict, each.call) for each in every)))


def _otherwise(verdict: Verdict, call: Call) -> str:
    """Words where the function gives other values for plain numbers than for the opinions' own."""
    known, plain = verdict.value, call.plain()
    if known is None or plain.dtype.kind not in "fiub" or verdict.verdict not in ("agree", "kink"):
        return ""
    if plain.shape != known.shape:
        return f"the function's value has the shape {plain.shape} for plain numbers; {STRANGE}"
    near = call.grain() ** 0.25 * max(1.0, float(np.abs(plain).max(initial=0.0)))
    off = np.abs(known.value - plain) > near + known.error
    if not np.any(off):
        return ""
    if call.grain() > EPSILON:  # coarse floats may lose all digits by themselves
        return _otherwise(verdict, call.in_doubles())
    here = f"{plain[off][0]:.6g} for plain numbers and {known.value[off][0]:.6g}"
    return f"the function's value is {here} for {STRANGE}"


def _of_coarse_floats(every: Sequence[AskedPoint]) -> Iterator[str]:
    """Where floats coarser than the arguments came in, as far as that was looked for."""
    claims = [each.claim for each in every if each.claim is not None]
    for claim in claims[:1]:
        coarse = claim.call.grain(*claim.gradients.values()) > claim.call.grain()
        if coarse and not claim.coarse.kind:
            yield "the gradient given comes in coarser floats than its arguments"
    looked = (vars(each).get("coarse") for each in (*claims, *(each.call for each in every)))
    yield from dict.fromkeys(str(each) for each in looked if each is not None and each.kind)


# -- what explains a wrong claim -------------------------------------------------------------------


@dataclass(frozen=True)
class Why:
    """What explains a wrong claim: a repair, diagnoses by part, and what was not looked through.

    `name` is what it is where the numbers alone say so.
    """

    name: str = ""
    repair: SourceRepair | None = None
    diagnoses: Mapping[str, "Diagnosis"] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@unheard()
def _explain(
    check: Check, every: Sequence[AskedPoint], judged: Sequence[Judged], generic: bool
) -> Why:
    if not check.explain:
        return Why()
    name = "upstream-ignored" if IGNORED in check.faults else ""
    if not name and (order := _order(every[0].verdict, check.claims[0])):
        return Why(name="gradients-swapped", notes=(order,))
    spent = time.thread_time() - check.began
    budget = TimeBudget(max(check.explain - spent - LEAST, HALF * check.explain))
    repair = None
    if generic and check.program.backward is not None:
        search = _Search(check.program, every, check.rtol, budget)
        repair = budget.run(search.run, SHARE * budget.left)
    diagnoses = {} if name else budget.run(lambda: _diagnose(every, judged)) or {}
    ended = budget.over and repair is None
    return Why(name, repair, diagnoses, (ENDED.format(seconds=check.explain),) if ended else ())


def _diagnose(every: Sequence[AskedPoint], judged: Sequence[Judged]) -> dict[str, "Diagnosis"]:
    """What mistake gives just these gradients; nothing where the tape cannot follow."""
    claims = [each.claim.gradients for each in every if each.claim is not None]
    wrong = [part.part for part in judged if part.part in claims[0] and (
        part.shape or any(off.interval is None for off in part.off)  # at a kink many are right
    )]  # fmt: skip
    if not wrong or every[0].case.size() > DIAGNOSED:
        return {}
    from gradcheck.diagnosis import explain, prepare  # noqa: PLC0415

    try:
        prepared = prepare([each.case for each in every])
    except Exception:  # noqa: BLE001 - diagnosis only explains; a user's program may raise anything
        return {}
    return {
        part: explain(prepared, part, [
            None if g[part] is None else np.asarray(g[part], dtype=np.float64) for g in claims
        ])
        for part in wrong
    }  # fmt: skip


def _order(verdict: Verdict, claim: Claim) -> str:
    """Words where the gradients are those of the arguments in another order."""
    given = list(claim.gradients.values())
    places = []
    for name in claim.gradients:
        known = verdict.parts[name].gradient
        fits = [] if known is None else [
            k for k, other in enumerate(given)
            if other is not None and np.shape(other) == known.shape
            and np.allclose(other, known.value, rtol=MENDED, atol=MENDED * known.largest)
        ]  # fmt: skip
        places += fits[:1]
    if sorted(places) != list(range(len(given))) or places == sorted(places):
        return ""
    order = ", ".join(str(k + 1) for k in places)
    return f"the gradients stand in another order: in the order {order} they are right"


@dataclass
class _Search:
    """A search for the repair of the backward that was given.

    It is to hold at every point that was asked about, at one beside and at one of another shape.
    """

    program: UserProgram
    every: Sequence[AskedPoint]
    rtol: float
    budget: TimeBudget

    def run(self) -> SourceRepair | None:
        """The first edit that makes everything right."""
        asked, program = self.every[0], self.program
        assert asked.claim is not None
        try:
            functions = self._functions(asked.claim)
        except Exception:  # noqa: BLE001 - a user's objects may refuse to be copied
            return None
        if self._holds(self.every):  # what is right but for rounding, no text can mend
            return None
        each = max(ONE * self.budget.left, LEAST)  # for one edit, which may loop for ever

        def right() -> bool:
            def hold() -> bool:
                return self._holds(self.every) and self._holds(self.elsewhere)

            return bool(self.budget.run(hold, each))

        pulls = asked.claim.cotangent is not None
        forward = None if program.second else program.forward
        return find_repair(functions, right, forward, pulls=pulls)

    @cached_property
    def copies(self) -> Copies:
        """Copies of the functions, which nobody else sees."""
        return Copies()

    @cached_property
    def trial(self) -> UserProgram:
        """The program of copies."""
        return self.program.copied(self.copies)

    def _functions(self, claim: Claim) -> list[FunctionType]:
        """The copies that backward calls and forward, which is the truth, does not.

        A lambda that calls what somebody wrote is the words of a test.
        """
        args = claim.call.fresh
        right = () if self.trial.second else called_by(lambda: self.trial.value(*args()))
        codes = [c for c in called_by(lambda: claim.run(self.trial, args())) if c not in right]
        found = [f for code in codes for f in self.copies.functions(code) if is_mendable(f)]
        test = len(found) > 1 and found[0].__name__ == "<lambda>"
        return found[1:] if test else found

    @cached_property
    def elsewhere(self) -> list[AskedPoint]:
        """The points at which a repair is tried again."""
        return list(_elsewhere(self.every[0]))

    def _holds(self, points: Sequence[AskedPoint]) -> bool:
        """Whether the copies give the reference everywhere."""
        try:
            return all(map(self._meets, points))
        except Exception:  # noqa: BLE001 - an edited program may raise anything
            return False

    def _meets(self, asked: AskedPoint) -> bool:
        claim = asked.claim
        assert claim is not None
        call = claim.call
        if self.trial.second and not np.array_equal(self.trial.value(*call.fresh()), call.plain()):
            return False  # the function that is edited gives the value too
        gradients = call.by_name(claim.run(self.trial, call.fresh()))
        unit = call.grain()
        rtol = max(self.rtol, MENDED * ((unit / EPSILON) ** 0.5 if unit > EPSILON else 0.0))
        found = within_bars(asked.case, asked.verdict, gradients, rtol, unit, every=False)
        return all(part.right for part in found)


def _elsewhere(asked: AskedPoint) -> Iterator[AskedPoint]:
    """The claim at a point beside, and at one of another shape, where the opinions know it."""
    rng, claim = np.random.default_rng(2), asked.claim
    assert claim is not None
    for call in (nudge(claim.call, rng, fill=True), taller(claim.call)):
        try:
            if call is None or not np.all(np.isfinite(call.plain())):
                continue
            c = None if claim.cotangent is None else draw_signed(rng, call.shape())
            case = call.case(0, c)
            there = AskedPoint(call, case, fast_verdicts([case], True)[0], Claim(call, None, c))
            if there.verdict.verdict == "agree" and there.claim and there.claim.gradients:
                yield there
        except Exception:  # noqa: BLE001 - a function may refuse any point
            continue
