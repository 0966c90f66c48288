"""The verdict: the only place where opinions meet. It reads the pattern, never the majority.

Values are compared first, for an additive slip in a forward vanishes under differentiation; then
gradients, entry by entry, each within its own error bar. Where entries are many, a gradient is
compared with slopes along signed random directions through all inputs; where the two differ,
probes that move only half of what is still suspected, and then half of that, lead to the entry.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from types import MappingProxyType

import numpy as np
from flint import arb

from gradcheck.engine.tape import RIGHT, Node, pull
from gradcheck.numbers.run import Undecided
from gradcheck.opinions import limits, opinion
from gradcheck.opinions.differences import differences, open_in_floats
from gradcheck.opinions.floats.blackbox import (
    draw_directions,
    look_along,
    measure_size,
    measure_slopes,
    scan_along,
)
from gradcheck.opinions.limits import BESIDE, MISSED, NEIGHBOURS, PRODUCT, WIDTH
from gradcheck.opinions.opinion import Case, Estimate, Opinion, Slope, unit
from gradcheck.opinions.reverse import LEAVES_THE_TAPE, reverse, reverse_each, run_once
from gradcheck.opinions.symbolic import symbolic
from gradcheck.values import Array, Numbers, Params, Routine
from gradcheck.verdict.blame import Suspect, blame
from gradcheck.verdict.entries import BROKEN, Entry, Scale, compare_entries, judge_entry

__all__ = ["VERDICTS", "Entry", "PartVerdict", "Verdict", "consult", "consult_few", "read"]

# From harmless to grave: a whole is as grave as its gravest part.
VERDICTS = ("agree", "kink", "unstable-forward", "undecided", "jump", "undefined", "dissent")
BEST = ("symbolic", "differences", "reverse")
BEST_AT_A_TIE = BEST_VALUE = ("differences", "symbolic", "reverse")
BLAMABLE = {"reverse", "several"}
INTERVALS = "entries at kinks: {count}; any slope of their intervals counts as right"
UNNEEDED, AGREED, TIED = (
    Opinion("symbolic", abstains=f"not asked: {why}")
    for why in (
        "the gradient given stands beside the differences",
        "reverse mode and the differences are sure and agree",
        "branches meet here, and it follows one",
    )
)


@dataclass(frozen=True)
class PartVerdict:
    """The verdict on one gradient: what is best known, and entries that are not plainly agreed."""

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
    parts: Mapping[str, PartVerdict]
    opinions: Mapping[str, Opinion]
    entries: tuple[Entry, ...] = ()
    suspects: tuple[Suspect, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know: who abstains, the power along directions, remarks."""
        every = list(self.opinions.values())
        return *_describe_silence(every), *state_power(every), *self.remarks


def consult(
    case: Case, *, write: bool = True, mine: Opinion | None = None, closed: Opinion | None = None
) -> Verdict:
    """Ask the three opinions, or those not yet formed, and read the pattern of their answers."""
    closed = closed or symbolic(case, write=write)
    count = limits.CONFIRMING if closed.method else limits.DIRECTIONS
    opinions = [mine or reverse(case), closed, differences(case, directions=count)]
    found = read(case, opinions)
    if found.verdict == "dissent" and _lonely(found) <= BLAMABLE:  # few runs can miss what cancels
        found = read(case, [reverse(case, limits.MORE_SAMPLES), *opinions[1:]])
    if any(entry.tie for entry in found.entries):
        case, found = _look_beside_tie(case, found)
    return _blame(case, found)


def consult_few(
    cases: Sequence[Case], claimed: bool = False, value: Array | None = None
) -> list[Verdict]:
    """The verdicts on questions that differ in their cotangent alone, from the same runs forward.

    Reverse mode gives every entry; the function on plain floats along a few directions must
    confirm it, of a short program its closed form too. Everything is asked only where these leave
    something open. A gradient that is `claimed` is an opinion too: beside it the closed form is not
    asked, and of a black box that is not small slopes along a few directions are enough. `value` is
    the function's at the point, where it is known.
    """
    if cases[0].rows is not None:
        return [consult(case, write=False) for case in cases]
    # NumPy's .tolist() and deepcopy lose nothing: the others see the function
    found = [
        Opinion("reverse", abstains=o.method) if o.method == LEAVES_THE_TAPE else o
        for o in reverse_each(cases, 1 if claimed else limits.DISTURBED)
    ]
    along = draw_directions(cases[0], limits.SPARED)
    expected = [_expect(o, along) for o in found]
    seen = look_along(cases, along, expected, value) if any(expected) else [None] * len(cases)
    asked = zip(cases, found, seen, expected, strict=True)
    return [_settle(case, claimed, along, o, known, e) for case, o, known, e in asked]


def _expect(mine: Opinion, along: Params) -> Estimate | None:
    """Reverse mode's slopes, where it followed and rounding hardly moves its numbers."""
    every = mine.gradients.values()
    sure = mine.value is not None and mine.value.finite and not mine.abstains
    if not (sure and all(g.widest <= limits.SETTLED_BY_ONE * g.largest for g in every)):
        return None
    return opinion.multiply_along(along, mine.gradients)


def _settle(  # noqa: PLR0917 - a question and the answers so far
    case: Case,
    claimed: bool,
    along: Params,
    mine: Opinion,
    seen: Opinion | None,
    slopes: Estimate | None,
) -> Verdict:
    """The verdict on one question from what is known, or from all that can be asked."""
    large, sure = case.size() > limits.ENTRIES, slopes is not None
    if sure or (claimed and (large or (mine.abstains and case.size() > limits.SHORT))):
        seen = seen or measure_slopes(case, along)
    if seen is None:
        tied = judge_tied(case, mine) if sure and large else None
        return tied or consult(case, write=False, mine=mine if mine.abstains else None)
    closed, known = (AGREED, {mine.name: slopes}) if slopes is not None else (UNNEEDED, {})
    if not (sure or mine.abstains):
        mine = reverse(case)
    if case.size() <= limits.SHORT and not claimed:
        closed = symbolic(case, write=False, nodes=limits.SHORT_STEPS)
    found = read(case, [mine, replace(closed, ties=0), seen], known)
    settled = mine.abstains or (found.verdict == "agree" and not closed.ties)
    return found if settled else consult(case, write=False)


def consult_more(case: Case, verdict: Verdict, off: float) -> Verdict:
    """The verdict by which a claim that is `off` may be refused: few disturbed runs can miss much.

    Everything is asked of what is small; of large functions reverse mode is disturbed more often,
    and kinks at the point are looked for along every direction. Where these would have shown an
    entry of reverse mode that is as far off, no rounding of it excuses the claim.
    """
    mine, small = verdict.opinions["reverse"], case.size() <= limits.ENTRIES
    if verdict.verdict != "agree" or mine.abstains:
        return consult(case, write=False) if small else verdict
    look = off or not small
    seen = measure_slopes(case, draw_directions(case, limits.SPARED)) if look else None
    given = [mine, verdict.opinions["symbolic"], seen or verdict.opinions["differences"]]
    if seen is None or off <= find_least_seen(given):  # rounding may excuse it
        if small:
            return consult(case, write=False)
        if seen is None and (tied := judge_tied(case, mine)):
            return tied
        given[0] = reverse(case, limits.MORE_SAMPLES)
    return read(case, given)


def read(
    case: Case, opinions: Sequence[Opinion], known: Mapping[str, Estimate] = MappingProxyType({})
) -> Verdict:
    """The verdict on opinions already formed.

    `known` are the slopes that their gradients have along the differences' directions.
    """
    given = [o for o in opinions if not o.abstains]
    value = next((o.value for name in BEST_VALUE for o in given if o.name == name), None)
    lone = _is_lone(opinions)
    scale, slope = (Scale(), Scale()) if lone else _measure_sizes(case, given)
    parts = {n: _judge_part(n, given[:1] if lone else given, slope, lone) for n in case.parts}
    entries = [e for part in parts.values() for e in part.entries]
    if lone:
        entries = [e for e in entries if e.verdict != "kink"]
    else:
        along = (entry for asked in given for entry in _compare_along(asked, given, known))
        entries = [*compare_entries("", _collect_values(given), {}, scale), *entries, *along]
    grave = _find_gravest((*entries, *parts.values()), "undecided" if lone else "agree")
    return Verdict(grave, value, parts, {o.name: o for o in opinions}, tuple(entries))


def _compare_along(
    asked: Opinion, given: Sequence[Opinion], known: Mapping[str, Estimate]
) -> tuple[Entry, ...]:
    """Gradients against slopes along directions, where entries are too many to look at."""
    if not asked.directions:
        return ()
    slopes = {asked.name: asked.directions.slopes}
    for o in given:
        if o.name in known and asked.name == "differences":
            slopes[o.name] = known[o.name]
        elif o.gradients:
            slopes[o.name] = opinion.multiply_along(asked.directions.along, o.gradients)
    scale = Scale(max(e.largest for e in slopes.values()))
    return compare_entries("", slopes, asked.directions.kinds, scale)


def _collect_values(given: Sequence[Opinion]) -> dict[str, Estimate]:
    """What each says of the value: plain floats round on their way as reverse mode's do."""
    values = {o.name: o.value for o in given if o.value is not None}
    mine = values.get("reverse")
    for o in given:
        scanned = o.name == "differences" and o.method and not o.is_exact
        if scanned and mine and o.value and mine.shape == o.value.shape:
            bars = np.maximum(o.value.error, mine.error)
            values[o.name] = opinion.estimate(o.value.value, bars)
    return values


def _is_lone(opinions: Sequence[Opinion]) -> bool:
    """Whether fewer than two are given, or exact numbers leave a choice open on which all hang."""
    given = [o for o in opinions if not o.abstains]
    open_ = any(o.abstains.startswith(Undecided.__name__) for o in opinions)
    return len(given) < 2 or (open_ and not any(o.is_exact for o in given))


def _describe_silence(opinions: Sequence[Opinion]) -> Iterator[str]:
    if _is_lone(opinions) and any(o.abstains for o in opinions):
        silent: dict[str, list[str]] = {}
        for o in (o for o in opinions if o.abstains):
            silent.setdefault(o.abstains, []).append(o.name)
        yield "; ".join(
            f"{' and '.join(names)} abstain{'s' if len(names) == 1 else ''}: {reason}"
            for reason, names in silent.items()
        )


def _find_gravest(judged: Iterable[Entry | PartVerdict], least: str = "agree") -> str:
    return max([least, *(each.verdict for each in judged)], key=VERDICTS.index)


def _judge_part(name: str, given: Sequence[Opinion], scale: Scale, lone: bool) -> PartVerdict:
    """One gradient as several give it; of a lone one, which nobody confirms, where it breaks."""
    gradients = {o.name: o.gradients[name] for o in given if name in o.gradients}
    order = BEST_AT_A_TIE if scale.tied else BEST
    best = next((gradients[n] for n in order if n in gradients), None)
    slopes: dict[tuple[int, ...], Slope] = {
        index: slope for o in given for (part, index), slope in o.slopes.items() if part == name
    }
    if lone:
        seen = {index: slope for index, slope in slopes.items() if slope.kind in BROKEN}
        entries = tuple(judge_entry(name, index, {}, slope, scale) for index, slope in seen.items())
        return PartVerdict(name, _find_gravest(entries, "undecided"), best, entries)
    if len(gradients) < 2:
        checked = any(o.directions for o in given)
        return PartVerdict(name, "agree" if checked else "undecided", best)
    level = max((g.certain for n, g in gradients.items() if n != "reverse"), default=0.0)
    entries = compare_entries(name, gradients, slopes, replace(scale, part=level))
    return PartVerdict(name, _find_gravest(entries), best, entries)


def _measure_sizes(case: Case, given: Sequence[Opinion]) -> tuple[Scale, Scale]:
    """What counts as large for the value, and for a slope that vanishes: |value| / max(1, |x|).

    What cancels to far less than the inputs, in a value or a slope, is zero.
    """
    level = max((o.value.largest for o in given if o.value is not None), default=0.0)
    top = 1.0
    if level < limits.NOTHING or sum(bool(o.gradients) for o in given) > 1:
        inputs = (np.asarray(v, dtype=np.float64) for v in case.inputs.values())
        top = max(map(opinion.measure_largest, inputs), default=1.0)
    size = min(1.0, top or 1.0)
    scale = Scale(level, limits.NOTHING * size, any(o.ties for o in given), size)
    return scale, replace(scale, value=max(level / max(1.0, top), scale.value), input=0.0)


# -- who is to blame -----------------------------------------------------------------------------


def _lonely(verdict: Verdict) -> set[str]:
    return {entry.lonely for entry in verdict.entries if entry.verdict == "dissent"}


def _blame(case: Case, found: Verdict) -> Verdict:
    """A dissent with its suspects, unless float64 ran out of range and no op is off by itself."""
    alone = [e for e in found.entries if e.lonely in BLAMABLE and not (e.tie and e.part)]
    if found.verdict != "dissent" and not alone:
        return found
    if _lonely(found) <= BLAMABLE and (left := found.opinions["reverse"].method):
        off = [e for e in found.entries if e.lonely in BLAMABLE]
        return overrule(found, off, "undecided", f"{left}, and their gradient is lost")
    seen = [blame(row) for row in case.list_rows()]
    beside = (blame(step_aside(row)) for row in case.list_rows())  # a kink may hide who is wrong
    guilty = next((each.suspects for each in chain(seen, beside) if each.suspects), ())
    if guilty:
        found = overrule(found, alone, "dissent")
    elif _lonely(found) <= BLAMABLE:  # what float64 does to an op that is right, or cannot choose
        why = next((each.excuses[0] for each in seen if each.excuses), "")
        if not why and (words := open_in_floats(case)):
            why = f"float64 may take another branch: {words}"
        if why:
            found = overrule(found, alone, "unstable-forward", why)
    if found.verdict != "dissent":
        return found
    remarks = (*found.remarks, *locate_differences(case, found.opinions))
    return replace(found, suspects=guilty, remarks=remarks)


def overrule(found: Verdict, chosen: Sequence[Entry], verdict: str, because: str = "") -> Verdict:
    """The verdict with another on some entries, and everything that follows from that."""
    why = f"{because}: " if because else ""
    other = {e: replace(e, verdict=verdict, why=why + e.why) for e in chosen}
    parts = dict(found.parts)
    for name, part in found.parts.items():
        if part.entries:
            entries = tuple(other.get(e, e) for e in part.entries)
            parts[name] = replace(part, entries=entries, verdict=_find_gravest(entries))
    entries = tuple(other.get(e, e) for e in found.entries)
    grave = _find_gravest((*entries, *parts.values()))
    return replace(found, verdict=grave, parts=parts, entries=entries)


# -- beside a kink, where branches meet ------------------------------------------------------------


def _look_beside_tie(case: Case, found: Verdict) -> tuple[Case, Verdict]:
    """A tie excuses a difference only if there is none at a point beside it, the case of a dissent.

    What is tied there too (`round(1.5)`, `relu(0)`) is constant, or two that are always equal.
    """
    beside = step_aside(case)
    asked = reverse(beside), symbolic(beside, write=False), differences(beside)
    there = read(beside, [replace(each, ties=0) for each in asked])
    if there.verdict != "dissent":
        return case, found
    wrong = tuple(e for e in there.entries if e.verdict == "dissent")
    remarks = (*found.remarks, "the dissent shows at a point beside the tie")
    entries = (*found.entries, *wrong)
    return beside, replace(found, verdict="dissent", entries=entries, remarks=remarks)


def step_aside(case: Case) -> Case:
    """The same question at a generic point a thousandth beside."""
    rng = np.random.default_rng(case.seed)
    return move(case, limits.ASIDE, lambda shape: rng.uniform(0.5, 1.5, shape))


def judge_tied(case: Case, mine: Opinion) -> Verdict | None:
    """The verdict where many entries meet a kink (a relu's zero): intervals, entry by entry.

    The entries that change at points so near that only kinks are crossed may have any slope
    between (Clarke 1983, theorem 2.5.1). That reverse mode is right at all is seen farther beside,
    where no branches meet. None where no entry changes, or something else is unusual.
    """
    near = list(islice(visit_neighbours(case), limits.TIED))
    there = measure_slopes(beside := step_aside(case), draw_directions(case, limits.SPARED))
    if len(near) < limits.TIED or there is None:
        return None
    if read(beside, [reverse(beside), there]).verdict != "agree":
        return None
    parts = {name: _span_branches(name, mine, near) for name in case.wrt}
    if not any(part.entries for part in parts.values()):
        return None
    entries = tuple(entry for part in parts.values() for entry in part.entries)
    asked = {"reverse": mine, "symbolic": TIED, "differences": there}
    remarks = (INTERVALS.format(count=len(entries)),)
    return Verdict("kink", mine.value, parts, asked, entries, remarks=remarks)


def _span_branches(name: str, mine: Opinion, near: Sequence[Mapping[str, Array]]) -> PartVerdict:
    """A part with the interval of every entry that is not the same at all points so near."""
    gradient = mine.gradients[name]
    every = np.array([gradient.value, *(g[name] for g in near)])
    low, high = every.min(axis=0), every.max(axis=0)
    apart = high - low > limits.LIKE * np.max(np.abs(every), initial=0.0)
    entries = tuple(
        Entry(name, tuple(map(int, index)), "kink", "branches meet here", interval=interval)
        for index in np.argwhere(apart)
        for interval in [(float(low[tuple(index)]), float(high[tuple(index)]))]
    )
    return PartVerdict(name, "kink" if entries else "agree", gradient, entries)


def visit_neighbours(case: Case) -> Iterator[dict[str, Array]]:
    """Reverse mode's gradient at the point, and at points so near that only kinks are crossed.

    Any gradient of a point just beside a kink is possible (Clarke 1983, theorem 2.5.1), and so is
    any choice of a side for each op, as PyTorch's conventions (Bolte and Pauwels, Conservative set
    valued fields, 2021). First those to which every kink leans alike, as with `x > 0` in a backward
    pass: where there are many units, a few random points would not meet that.
    """
    rng = np.random.default_rng(case.seed)
    leaning = ((case, replace(RIGHT, pull=_lean_pull(lean))) for lean in (-BESIDE, BESIDE))
    beside = (
        (move(case, (n > 0) * BESIDE, rng.standard_normal), RIGHT) for n in range(1 + NEIGHBOURS)
    )
    for point, verbs in chain(leaning, beside):
        try:
            with np.errstate(all="ignore"):
                yield run_once(point, verbs)[1]
        except Exception:  # noqa: BLE001 - a user's program may refuse tensors
            return


def move(case: Case, part: float, draw: Callable[[tuple[int, ...]], Array]) -> Case:
    """The question at a point beside: every entry is moved by a part of itself."""
    moved = {
        name: v + part * draw(v.shape) * np.where(v, v, 1.0)
        for name, v in case.floats().items()
        if name in case.wrt
    }
    return replace(case, inputs={**case.inputs, **moved})


def _lean_pull(lean: float) -> Routine:
    """The pull with the first operand of every op that has kinks moved by very little."""

    def leaning(
        node: Node, i: int, g: Numbers, y: Numbers, operands: tuple[Numbers, ...]
    ) -> Numbers:
        if node.op.kinks and node.op.elementwise and operands and operands[0] is not None:
            first = np.asarray(operands[0])
            operands = (first + lean * np.where(first, np.abs(first), 1.0), *operands[1:])
            y = y if y is None else y + lean
        return pull(node, i, g, y, operands)

    return leaning


# -- many entries at once --------------------------------------------------------------------------


def state_power(given: Sequence[Opinion]) -> Iterator[str]:
    """What a check along directions would have seen, in numbers."""
    asked = {o.name: o.directions for o in given if o.directions}
    if seen := asked.get("differences"):
        size = sum(u[0].size for u in seen.along.values())
        yield (
            f"all entries ({size}) checked along {len(seen)} random directions: any "
            f"single wrong entry above {find_least_seen(given):.1g} would have been seen with "
            "probability 1 - 1e-6"
        )
    if "symbolic" in asked:
        yield f"the closed form was formed for {len(asked['symbolic'])} entries drawn at random"


def find_least_seen(given: Sequence[Opinion]) -> float:
    """The size of a single wrong entry that is seen with probability 1 - 1e-6.

    All K directions miss what is off by delta only if every |u| is less than twice bar / delta, as
    the gradient and the slope may each stray by a bar: for even draws within w = WIDTH / 2 sizes a
    chance of (2 bar / (delta w size))^K.
    """
    found = next(o.directions for o in given if o.name == "differences")
    sizes = {name: measure_size(u[0]) for name, u in found.along.items()}
    widest = 0.0  # that the bar of a gradient's slope along any direction can be, of draws within 1
    for gradients in (o.gradients for o in given if o.gradients):
        every = ((gradients[name], size) for name, size in sizes.items())
        bars = (s * float(g.error.sum() + PRODUCT * np.linalg.norm(g.value)) for g, s in every)
        widest = max(widest, sum(bars))
    miss = math.pow(MISSED, 1 / len(found))
    bar = found.slopes.widest + WIDTH / 2 * widest
    return 2 * bar / (min(sizes.values()) * WIDTH / 2 * miss)


def locate_differences(case: Case, opinions: Mapping[str, Opinion]) -> tuple[str, ...]:
    """Where reverse mode differs from the slopes of a program too large to look at every entry."""
    mine = opinions["reverse"].gradients if "reverse" in opinions else {}
    if not mine or not any(o.directions for o in opinions.values()):
        return ()
    if (found := locate(case, {name: g.value for name, g in mine.items()})) is None:
        return ()
    name, index, slope = found
    words = f"{mine[name].value[index]:.10g} was given, the slope is {slope.str(10)}"
    return (f"masked probes lead to {name}{list(index) or ''}: {words}",)


def locate(case: Case, gradients: Params) -> tuple[str, tuple[int, ...], arb] | None:
    """The entry at which a gradient differs from the program's slope, and that with its bar.

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
    return name, index, slope
