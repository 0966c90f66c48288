"""The message of a failed assertion: argument, entry, numbers with error bars, mistake, place."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gradcheck.report.underline import underlined
from gradcheck.testing.claims import Judged, Off
from gradcheck.testing.doubt import WIDE, level, lone
from gradcheck.testing.foreign.edge import PLAIN
from gradcheck.testing.repair import Repair
from gradcheck.verdict.consult import Verdict

if TYPE_CHECKING:  # imported where a claim is wrong: a suite that passes needs none of it
    from gradcheck.diagnosis import Diagnosis

SHOWN = 3  # entries of one argument; the largest first
LINES = 15
EPSILON = 2.0**-52
PASSED = {
    "agree": "the opinions agree",
    "kink": "the point is a kink: any slope of its interval counts as right",
    "unstable-forward": "the function itself loses digits in float64 here; its gradient is right",
    "undecided": "only one opinion could be formed; the gradient given agrees with it",
}
CURE = (
    "  its values as plain floats say no more of its slope here: pass arguments at which fewer",
    "  digits cancel, or write it in NumPy alone, that exact numbers can pass through it",
)
STEPS = (
    "  note: the function does not change with {name} here (it takes steps?): a straight-through\n"
    "    estimator is no gradient of it; check the smooth function that it stands for"
)
ALONE = "only one opinion could be formed, from its values as plain floats: none agrees with it"
HELP = (
    "  hand in the gradient that is to be judged, or write it in NumPy alone, that exact numbers",
    "  can pass through it",
)
FAILED = {
    "undecided": "no gradient could be established",
    "jump": "the function jumps at this point: it has no gradient there",
    "undefined": "the function has no finite slope at this point",
    "dissent": "gradcheck's own opinions differ: this is a fault of gradcheck, please report it",
}


def message(
    verdict: Verdict,
    judged: Sequence[Judged],
    diagnoses: Mapping[str, "Diagnosis"],
    faults: Sequence[str],
    source: str,
    *,
    notes: Sequence[str] = (),
    repair: Repair | None = None,
) -> str:
    """What the check found, the likeliest cause first, and what it could not have seen.

    The first line is what pytest's summary shows: argument, entry, mistake, both numbers.
    """
    wrong = [part for part in judged if not part.right]
    told = [*_unseen(verdict, judged), *(f"  note: {note}" for note in notes)]
    told += [STEPS.format(name=part.part) for part in wrong if _is_flat(verdict, part)]
    if wrong:
        blocks = [f"  {fault}" for fault in faults]
        blocks += [] if repair is None else [f"  {repair}"]
        said = wrong[1:] if wrong[0].shape else wrong  # of a shape the first line says all
        blocks += [line for part in said for line in _wrong(part)]
        blocks += _named({part.part: diagnoses.get(part.part) for part in wrong}, source)
        return _short([_first(wrong[0], diagnoses, repair), *blocks], told)
    if verdict.verdict in FAILED and not judged:
        first, *more = faults or [_failed(verdict)]
        return _short([first, *(f"  {fault}" for fault in more), *_unsound(verdict)], told)
    if faults:
        return _short([faults[0], *(f"  {fault}" for fault in faults[1:])], told)
    return "\n".join([PASSED.get(verdict.verdict, ""), *told])


def _is_flat(verdict: Verdict, part: Judged) -> bool:
    """Whether all slopes of a part are 0 as far as is known, and the claim says otherwise."""
    known = verdict.parts[part.part].gradient if part.part in verdict.parts else None
    flat = known is not None and bool(np.all(np.abs(known.value) <= known.error))
    return flat and bool(part.off)


def _short(found: Sequence[str], told: Sequence[str]) -> str:
    """No more lines than are read: what was not seen, and the notes, at the end."""
    kept = list(found)[: max(LINES - len(told), LINES // 2)]
    return "\n".join([*kept, *told[: LINES - len(kept)]])


def _first(part: Judged, diagnoses: Mapping[str, "Diagnosis"], repair: Repair | None) -> str:
    """Argument, entry, mistake, numbers."""
    mistake = _mistake(diagnoses.get(part.part), repair)
    said = f": {mistake}" if mistake else ""
    if part.shape or not part.off:
        return f"d/d{part.part} is not right{said}{part.shape and f' ({part.shape})'}"
    off = max(part.off, key=_distance)
    place = _name(off.part or part.part, off.index)
    due = "another branch's" if off.interval else f"{off.expected:.6g}"
    return f"d/d{place} is not right{said} (claimed {off.claimed:.6g}, expected {due})"


def _mistake(diagnosis: "Diagnosis | None", repair: Repair | None) -> str:
    """The names of what it may be, two at most.

    One of the way back through the ops, one of the repair: where they are the same, that alone.
    """
    found = () if diagnosis is None else diagnosis.hypotheses
    names = list(dict.fromkeys(" and ".join(h.ids) for h in found))
    if repair is not None:
        names = [repair.name] if repair.name in names else [*names[:1], repair.name]
    return " or ".join(names[:2])


def _failed(verdict: Verdict) -> str:
    """Why there is no gradient to judge by; a backward of the user's own is no fault of ours."""
    theirs = next((s for s in verdict.suspects[:1] if s.users), None)
    if verdict.verdict == "dissent" and theirs is not None:
        return f"{theirs.op}.backward is wrong: {theirs.detail}"
    return ALONE if _known(verdict) else FAILED[verdict.verdict]


def _known(verdict: Verdict) -> bool:
    """Whether differences, alone, leave no entry open: what is missing is somebody who agrees."""
    known = [part.gradient for part in verdict.parts.values() if part.gradient is not None]
    whole = lone(verdict) and len(known) == len(verdict.parts)
    wide = WIDE * level(verdict)
    return whole and all(bool(np.all(each.error <= wide)) for each in known)


def _left_open(verdict: Verdict) -> Iterator[str]:
    """Which entries the differences, alone, leave open, and what helps."""
    mine = [opinion for opinion in verdict.opinions.values() if not opinion.abstains]
    if verdict.verdict != "undecided" or [opinion.name for opinion in mine] != ["differences"]:
        return
    if _known(verdict):
        yield from HELP
        return
    bars = {(n, i): e for n, g in mine[0].gradients.items() for i, e in np.ndenumerate(g.error)}
    for name, index in sorted(bars, key=lambda place: -bars[place])[:SHOWN]:
        value, bar = mine[0].gradients[name].value[index], bars[name, index]
        known = f"known as {value:.6g} ± {bar:.1g}" if np.isfinite(bar) else "not known"
        slope = mine[0].slopes.get((name, index))
        why = f", {slope.detail}" if slope is not None else ""
        yield f"    {_name(name, index)}: {known}{why}"
    yield from CURE


def _unsound(verdict: Verdict) -> Iterator[str]:
    """Why no gradient could be established, and whom the pattern blames."""
    yield f"  verdict: {verdict.verdict}"
    for entry in [e for e in verdict.entries if e.verdict == verdict.verdict][:SHOWN]:
        yield f"    {_name(entry.part or 'value', entry.index)}: {entry.why}"
    for suspect in (s for s in verdict.suspects[:1] if not s.users):
        yield f"    first op whose own rule is off: {suspect.op}, cell {suspect.cell}"
    for name, opinion in verdict.opinions.items():
        noted = any(opinion.abstains in note for note in verdict.notes)
        if opinion.abstains and not (noted or opinion.abstains.endswith(PLAIN)):
            yield f"    {name} abstains: {opinion.abstains}"
    yield from _left_open(verdict)


def _wrong(part: Judged) -> Iterator[str]:
    if part.shape:
        yield f"  d/d{part.part}: {part.shape}"
    elif len(part.off) == 1:
        yield f"  d/d{part.part}: one entry is out:"
    else:
        yield f"  d/d{part.part}: {len(part.off)} entries are out; the largest:"
    for off in sorted(part.off, key=_distance, reverse=True)[:SHOWN]:
        yield _off(off)


def _distance(off: Off) -> float:
    distance = abs(off.claimed - off.expected)
    return distance if distance >= 0 else float("inf")


def _off(off: Off) -> str:
    head = f"    {_name(off.part, off.index)}  claimed {off.claimed:.10g}"
    if off.interval is not None:
        low, high = off.interval
        return f"{head}  outside the kink's interval [{low:g}, {high:g}]"
    bar = max(off.error, EPSILON * abs(off.expected))  # no float64 says more
    return f"{head}  expected {off.expected:.10g} ± {bar:.1g}  (tolerance {off.tolerance:.1g})"


def _name(part: str, index: tuple[int, ...]) -> str:
    return f"{part}[{', '.join(map(str, index))}]" if index else part


def _named(diagnoses: Mapping[str, "Diagnosis | None"], source: str) -> Iterator[str]:
    """The mistakes that give just this gradient, each once, the first one's line underlined."""
    from gradcheck.diagnosis import words  # noqa: PLC0415

    said: set[str] = set()
    for diagnosis in filter(None, diagnoses.values()):
        several = len({h.ids for h in diagnosis.hypotheses}) > 1
        for k, hypothesis in enumerate(diagnosis.hypotheses):
            which = ("or " if k else "either ") if several else ""
            line = f"    {which}{' and '.join(hypothesis.ids)}: {words(hypothesis, source)}"
            if line not in said and hypothesis.span is not None and not said:
                said.add(line)
                yield line
                yield from underlined(source, (hypothesis.span[-2], hypothesis.span[-1]))
            elif line not in said:
                said.add(line)
                yield line
        for remark in diagnosis.remarks:
            if remark not in said:
                said.add(remark)
                yield f"    {remark}"


def _unseen(verdict: Verdict, judged: Sequence[Judged]) -> Iterator[str]:
    """What this check could not have seen."""
    for part in judged:
        if part.sensitivity and part.right:
            least = f"{part.sensitivity:.1g}"
            yield f"  d/d{part.part}: an entry off by less than {least} would not have been seen"
        if part.lossy:
            words = f"right as far as {part.lossy} can show: the formula loses digits here"
            yield f"  d/d{part.part}: {words}"
    widest = max((part.sensitivity for part in judged if not part.right), default=0.0)
    if widest:
        yield f"  not seen: entries off by less than {widest:.1g}, and faults at other points"
    for note in verdict.notes:
        if note and PLAIN not in note:  # another library's: its own note says so
            yield f"  note: {note}"
