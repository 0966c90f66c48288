"""What a check finds: every claim against the opinions, and what explains or mends a wrong one."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import prod

import numpy as np

from gradcheck.numbers.run import silence_warnings
from gradcheck.opinions.limits import ENTRIES, EPSILON, MENDED, RTOL
from gradcheck.opinions.opinion import Case, NotScalar
from gradcheck.testing.budget import TimeBudget
from gradcheck.testing.call import (
    IGNORED,
    RANDOM,
    Call,
    describe_impurity,
    describe_randomness,
    draw_signed,
    find_file,
    list_impurities,
    list_nonlinear,
    read_text,
    widen_call,
)
from gradcheck.testing.judging import (
    SOUND,
    Judged,
    Lost,
    Question,
    compare,
    is_alone,
    is_known,
    judge,
)
from gradcheck.testing.program import NONE, UserProgram, is_float
from gradcheck.testing.result import Result
from gradcheck.values import Params, Routine, Value
from gradcheck.verdict.consult import Verdict, consult_few, consult_more

DIAGNOSED = 2000
HALF = 1 / 2  # of the time for explaining is left, however long the check itself took
SHARE = 2 / 3  # of the time for explaining: for repairs, which prove what they say
BEGIN = 0.1  # seconds that explaining needs to begin and to end
ENDED = "explaining ended after {seconds:g} s (explain=): not everything was looked through"
ORDER = "the gradients stand in another order: in the order {order} they are right"
COARSE = "the gradient given comes in coarser floats than its arguments"
SPECIAL = (
    "at the point given these numbers are right; they are wrong at one beside it (every entry "
    "moved by up to a tenth), where no entries are whole or alike"
)
DRIFTS = (
    "the function's value changes with what it keeps from call to call (running statistics?); "
    "every call of this check began with the state that was handed over"
)
COMPARED = ("agree", "kink", "dissent")
COTANGENTS = 3
NEARLY = (
    "off by less than 1e-7 of the largest entry: a difference quotient? rtol= says what will do"
)
SPOILT = (
    "backward writes into the cotangent that it is given: sound where nobody else reads it; "
    "pure=True refuses it"
)


@dataclass
class Check:
    """Questions about a program, one for every point and cotangent; how its functions behave."""

    program: UserProgram
    claim: Value
    pure: bool
    seed: int
    rng: np.random.Generator
    rtol: float
    explain: float
    began: float  # by the thread's clock
    asked: list[Question] = field(default_factory=list)
    faults: dict[str, None] = field(default_factory=dict)
    notes: dict[str, None] = field(default_factory=dict)

    def ask(self, point: Call) -> Call:
        """Ask about one point; the call that was asked about, by every gradient that came."""
        self.faults |= dict.fromkeys(describe_impurity(point))
        if self.program.way.cotangents:
            return self._ask_pulls(point)
        gradients: Params = NONE
        if self.claim is not None:
            runs = self.program.backward is not None
            came = point.run_backward(None) if runs else self.claim
            point, _, gradients = _place(came, point)
            shape, given = point.shape(), {n: np.shape(g) for n, g in gradients.items()}
            small = sum(g.size for g in gradients.values() if g is not None) <= ENTRIES
            each = point.due_shapes()
            due = {n: shape + s for n, s in each.items()}
            columns = all(prod(s) == max(s, default=1) for s in (shape, *each.values()))
            matrix = {n: (prod(shape), prod(s)) for n, s in each.items()}
            if columns and prod(shape) > 1 and each != given == matrix:
                gradients = {n: np.reshape(g, due[n]) for n, g in gradients.items()}
                given = due  # a matrix, where vectors stand as columns
            if shape and small and given == due:
                point = replace(point, rows=True)
        self.asked += _consult(point, [point.case(self.seed + len(self.asked))], [gradients])
        return point

    def _ask_pulls(self, point: Call) -> Call:
        shape, cases, claims = point.shape(), [], []
        for k in range(COTANGENTS if shape else 1):  # a number's VJP is linear in one number
            c = draw_signed(self.rng, shape)
            args, sent = point.fresh(), c.copy()
            came = point.program.pull(args, sent)
            # copies are taken before backward uses its buffer again
            point, found, gradients = _place(came, point, fixed=k > 0 or point.beside)
            cases.append(point.case(self.seed + k, c))
            claims.append(gradients)
            self.faults |= dict.fromkeys(list_impurities(point, found, gradients, args, c))
            if not np.array_equal(sent, c):
                (self.faults if self.pure else self.notes)[SPOILT] = None
        self.faults |= dict.fromkeys(list_nonlinear(point, c, gradients))
        self.asked += _consult(point, cases, claims)
        return point

    def judge(self) -> Result:
        """The result: the first claim that is out ends the check, and is explained and mended."""
        # many are right at a tie
        generic = all(each.verdict.verdict != "kink" for each in self.asked)
        beside = lambda each: not each.call.beside or (generic and is_known(each))
        every = list(filter(beside, self.asked))
        for each in {id(each.call): each for each in every}.values():
            random = describe_randomness(each.call, each.verdict.opinions["reverse"].value)
            self.faults = dict.fromkeys(random) | self.faults
        judged: tuple[Judged, ...] = ()
        why: dict[str, Value] = {}
        lost: dict[int, Lost] = {}  # at every point
        for k, each in enumerate(every if every[0].gradients else ()):
            every[k], judged = _judge(each, self.rtol, lost.setdefault(id(each.call), {}))
            if not all(part.right for part in judged):
                self.notes |= {SPECIAL: None} if each.call.beside else {}
                if self.explain and not any(part.undecided for part in judged):
                    why = self._explain(every, judged, generic=generic)
                break
            if not is_known(every[k]):
                judged = ()
                break
        drifts = [DRIFTS] if self.program.drifts and RANDOM not in self.faults else []
        notes = [*drifts, *self.notes, *(_explain_coarse(every) if self.rtol <= RTOL else ())]
        doubt = [each.verdict for each in every if not is_known(each)]
        worst = doubt[0] if doubt else every[0].verdict
        return Result(
            ok=not (self.faults or doubt) and all(part.right for part in judged),
            verdict="undecided" if any(part.undecided for part in judged) else worst.verdict,
            verdicts=tuple(each.verdict for each in every),
            judged=judged,
            faults=tuple(self.faults),
            worst=worst,
            notes=tuple(notes),
            case=every[0].case,
            **why,
        )

    @silence_warnings()
    def _explain(
        self, every: Sequence[Question], judged: Sequence[Judged], *, generic: bool
    ) -> dict[str, Value]:
        """The mistake's name where the numbers alone say it, a repair, diagnoses by part."""
        name = "upstream-ignored" if IGNORED in self.faults else ""
        if not name and (order := _order(every[0])):
            self.notes[ORDER.format(order=order)] = None
            return {"name": "gradients-swapped"}
        off = [part for part in judged if not part.right]
        if all(part.flat for part in off):
            return {"name": name}
        spent = time.thread_time() - self.began
        budget = TimeBudget(max(self.explain - spent - BEGIN, HALF * self.explain))
        repair = None
        if all(part.nearly for part in off):  # whatever moves its rounding would seem to mend it
            self.notes[NEARLY] = None
        elif generic and self.program.backward is not None:
            from gradcheck.testing.repair import RepairSearch  # noqa: PLC0415 - as above

            search = RepairSearch(self.program, every, self.rtol, budget)
            repair = budget.run(search.run, SHARE * budget.left)
        found = {} if name else budget.run(lambda: _diagnose(every, judged)) or {}
        if budget.over and repair is None:
            self.notes[ENDED.format(seconds=self.explain)] = None
        text = read_text(find_file(self.program.forward)) if found else ""
        return {"name": name, "repair": repair, "diagnoses": found, "source": text}


def _place(came: Value, point: Call, *, fixed: bool = False) -> tuple[Call, Params, Params]:
    """The point by every array for which a gradient came, what came by label, and copies of it."""
    found = point.program.gradients(came, point.wrt)
    there = point if fixed else widen_call(found, point)
    return there, found, there.pick(found)


def _consult(call: Call, cases: Sequence[Case], claims: Sequence[Params]) -> list[Question]:
    """The questions about one call and their verdicts.

    On floats alone where the function gives them another value (`isinstance(x, np.ndarray)`), or
    where buffers of other numbers may have been read as something else: `rng.shuffle(y)` shuffles
    in another order what is no array of NumPy's.
    """
    verdicts: Sequence[Verdict] = ()
    try:
        verdicts = consult_few(cases, bool(claims[0]), call.in_floats())
    except NotScalar:
        if call.closed:
            raise
    verdicts = [_allow_coarse(v, call) for v in verdicts]
    other = not verdicts or any(_differs(each, call) for each in verdicts)
    filled = call.filling and any(v.verdict not in SOUND for v in verdicts)
    if not call.closed and (other or filled):
        closed = replace(call, closed=True)
        return _consult(closed, [closed.case(c.seed, c.cotangent) for c in cases], claims)
    return list(map(Question, [call] * len(cases), cases, verdicts, claims))


def _judge(asked: Question, rtol: float, lost: Lost) -> tuple[Question, tuple[Judged, ...]]:
    verdict = asked.verdict
    if not (asked.gradients and (is_known(asked) or is_alone(verdict))):
        return asked, ()
    if any(o.directions for o in verdict.opinions.values()):  # looked at no further yet
        near = compare(asked, asked.gradients, rtol, asked.unit)
        if all(part.right for part in near):
            return asked, tuple(near)
        off = max(part.farthest for part in near)
        verdict = _allow_coarse(consult_more(asked.case, verdict, off), asked.call)
        asked = replace(asked, verdict=verdict)
    return asked, judge(asked, rtol, lost)


def _allow_coarse(verdict: Verdict, call: Call) -> Verdict:
    """Where the program itself computes in coarser floats, values may differ."""
    coarse = verdict.verdict == "dissent" and call.coarse.kind
    return replace(verdict, verdict="unstable-forward") if coarse else verdict


# -- what is strange -----------------------------------------------------------------------------


def _differs(verdict: Verdict, call: Call) -> bool:
    """Whether the function gives other values for plain numbers than for the opinions' own."""
    mine = verdict.opinions["reverse"].value
    known, value = mine if verdict.verdict == "dissent" else verdict.value, call.plain()
    if known is None or value.dtype.kind not in "fiub" or verdict.verdict not in COMPARED:
        return False
    if value.shape != known.shape:
        return True
    near = call.grain() ** 0.25 * max(1.0, float(np.abs(value).max(initial=0.0)))
    if not np.any(np.abs(known.value - value) > near + known.error):
        return False
    if call.grain() > EPSILON:  # coarse floats may lose all digits by themselves
        every = call.args.items()
        args = {n: np.array(a, dtype=np.float64)[()] if is_float(a) else a for n, a in every}
        return _differs(verdict, replace(call, args=args))
    return True


def _explain_coarse(every: Sequence[Question]) -> Iterator[str]:
    """Where floats coarser than the arguments came in, as far as that was looked for."""
    first = every[0]
    if first.gradients and first.unit > first.call.grain() and not first.coarse.kind:
        yield COARSE
    looked = (vars(each).get("coarse") for each in (*every, *(each.call for each in every)))
    yield from dict.fromkeys(str(each) for each in looked if each is not None and each.kind)


# -- what explains a wrong claim -------------------------------------------------------------------


def _diagnose(every: Sequence[Question], judged: Sequence[Judged]) -> dict[str, Value]:
    """What mistake gives just these gradients; nothing where the tape cannot follow."""
    claims = [each.gradients for each in every]
    wrong = [part.part for part in judged if part.part in claims[0] and (
        part.shape or any(off.interval is None for off in part.off)  # at a kink many are right
    )]  # fmt: skip
    if not wrong or every[0].case.size() > DIAGNOSED:
        return {}
    from gradcheck.diagnosis import explain, prepare  # noqa: PLC0415 - where something is wrong

    try:
        prepared = prepare([each.case for each in every])
    except Exception:  # noqa: BLE001 - diagnosis only explains; a user's program may raise anything
        return {}
    read: Routine = lambda g: None if g is None else np.asarray(g, dtype=np.float64)
    return {part: explain(prepared, part, [read(g[part]) for g in claims]) for part in wrong}


def _order(asked: Question) -> str:
    """In which order the gradients would be right, if that is another than theirs."""
    given = asked.gradients
    places = []
    for name in given:
        known = asked.verdict.parts[name].gradient
        fits = [] if known is None else [
            k for k, other in enumerate(given.values())
            if other is not None and np.shape(other) == known.shape
            and np.allclose(other, known.value, rtol=MENDED, atol=MENDED * known.largest)
        ]  # fmt: skip
        places += fits[:1]
    swapped = sorted(places) == list(range(len(given))) != places
    return ", ".join(str(k + 1) for k in places) if swapped else ""
