"""The message of a failed assertion: argument, entry, numbers with error bars, mistake, place."""

from collections.abc import Iterator, Mapping, Sequence

from gradcheck.diagnosis import Diagnosis, words
from gradcheck.report.underline import underlined
from gradcheck.testing.claims import Judged, Off
from gradcheck.verdict.consult import Verdict

SHOWN = 5
PASSED = {
    "agree": "the opinions agree",
    "kink": "the point is a kink: any slope of its interval counts as right",
    "unstable-forward": "the function itself loses digits in float64 here; its gradient is right",
    "undecided": "only one opinion could be formed; the gradient given agrees with it",
}
FAILED = {
    "undecided": "no gradient could be established",
    "jump": "the function jumps at this point: it has no gradient there",
    "undefined": "the function has no finite slope at this point",
    "dissent": "gradcheck's own opinions differ: this is a fault of gradcheck, please report it",
}


def message(
    verdict: Verdict,
    judged: Sequence[Judged],
    diagnoses: Mapping[str, Diagnosis],
    faults: Sequence[str],
    source: str,
    *,
    notes: Sequence[str] = (),
) -> str:
    """What the check found, in the order of likely causes, and what it could not have seen."""
    wrong = [part for part in judged if not part.right]
    blocks = [f"  {fault}" for fault in faults]
    blocks += [line for part in wrong for line in _wrong(part, diagnoses.get(part.part), source)]
    unsound = verdict.verdict in FAILED and not judged
    if unsound:
        blocks += _unsound(verdict)
    head = PASSED.get(verdict.verdict, "")
    if blocks:
        head = FAILED[verdict.verdict] if unsound and not faults else "the gradient is not right"
    told = [f"  note: {note}" for note in notes]
    return "\n".join([head, *blocks, *_unseen(verdict, judged), *told])


def _unsound(verdict: Verdict) -> Iterator[str]:
    """Why no gradient could be established, and whom the pattern blames."""
    yield f"  verdict: {verdict.verdict}"
    for entry in [e for e in verdict.entries if e.verdict == verdict.verdict][:SHOWN]:
        yield f"    {_name(entry.part or 'value', entry.index)}: {entry.why}"
    for suspect in verdict.suspects[:1]:
        yield f"    first op whose own rule is off: {suspect.op}, cell {suspect.cell}"
    for name, opinion in verdict.opinions.items():
        if opinion.abstains:
            yield f"    {name} abstains: {opinion.abstains}"


def _wrong(part: Judged, diagnosis: Diagnosis | None, source: str) -> Iterator[str]:
    if part.shape or part.together:
        yield f"  d/d{part.part}: {part.shape or part.together}"
    elif len(part.off) == 1:
        yield f"  d/d{part.part}: one entry is out:"
    else:
        yield f"  d/d{part.part}: {len(part.off)} entries are out; the largest:"
    for off in sorted(part.off, key=_distance, reverse=True)[:SHOWN]:
        yield _off(off)
    if diagnosis is not None:
        yield from _named(diagnosis, source)


def _distance(off: Off) -> float:
    distance = abs(off.claimed - off.expected)
    return distance if distance >= 0 else float("inf")


def _off(off: Off) -> str:
    head = f"    {_name(off.part, off.index)}  claimed {off.claimed:.10g}"
    if off.interval is not None:
        low, high = off.interval
        return f"{head}  outside the kink's interval [{low:g}, {high:g}]"
    return (
        f"{head}  expected {off.expected:.10g} ± {off.error:.1g}  (tolerance {off.tolerance:.1g})"
    )


def _name(part: str, index: tuple[int, ...]) -> str:
    return f"{part}[{', '.join(map(str, index))}]" if index else part


def _named(diagnosis: Diagnosis, source: str) -> Iterator[str]:
    """The mistakes that give just this gradient, with the line they were made on underlined."""
    perhaps = "perhaps " if len(diagnosis.hypotheses) > 1 else ""
    for hypothesis in diagnosis.hypotheses:
        yield f"    {perhaps}{' and '.join(hypothesis.ids)}: {words(hypothesis, source)}"
        if hypothesis.span is not None:
            yield from underlined(source, (hypothesis.span[-2], hypothesis.span[-1]))
    for remark in diagnosis.remarks:
        yield f"    {remark}"


def _unseen(verdict: Verdict, judged: Sequence[Judged]) -> Iterator[str]:
    """What this check could not have seen."""
    for part in judged:
        if part.sensitivity and part.right:
            least = f"{part.sensitivity:.1g}"
            yield f"  d/d{part.part}: an entry off by less than {least} would not have been seen"
        if part.lossy:
            yield f"  d/d{part.part}: the formula is right, but loses digits in float64 here"
    widest = max((part.sensitivity for part in judged if not part.right), default=0.0)
    if widest:
        yield f"  not seen: entries off by less than {widest:.1g}, and faults at other points"
    for note in verdict.notes:
        if note:
            yield f"  note: {note}"
