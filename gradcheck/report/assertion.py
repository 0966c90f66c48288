"""The message of a failed assertion: argument, entry, numbers with error bars, mistake, place."""

from collections.abc import Mapping, Sequence

from gradcheck.claims import Judged, Off
from gradcheck.diagnosis import Diagnosis
from gradcheck.report.underline import underlined
from gradcheck.verdict import Verdict

SHOWN = 5


def message(
    verdict: Verdict,
    judged: Sequence[Judged],
    diagnoses: Mapping[str, Diagnosis],
    faults: Sequence[str],
    source: str,
) -> str:
    """What the check found, in the order of likely causes; empty lines between the findings."""
    blocks = [f"  {fault}" for fault in faults]
    if verdict.verdict not in ("agree", "kink", "unstable-forward"):
        blocks.append(_unsound(verdict))
    for part in judged:
        if not part.right:
            blocks.append(_wrong(part, diagnoses.get(part.part), source))
    notes = [f"  note: {note}" for note in verdict.notes if note]
    head = "the gradient is not right" if blocks else verdict.verdict
    return "\n".join([head, *blocks, *notes])


def _unsound(verdict: Verdict) -> str:
    """Why no gradient could be established, and whom the pattern blames."""
    lines = [f"  verdict: {verdict.verdict}"]
    for entry in [e for e in verdict.entries if e.verdict == verdict.verdict][:SHOWN]:
        lines.append(f"    {_entry_name(entry.part or 'value', entry.index)}: {entry.why}")
    for suspect in verdict.suspects[:1]:
        lines.append(f"    first op whose own rule is off: {suspect.op}, cell {suspect.cell}")
    for name, opinion in verdict.opinions.items():
        if opinion.abstains:
            lines.append(f"    {name} abstains: {opinion.abstains}")
    return "\n".join(lines)


def _wrong(part: Judged, diagnosis: Diagnosis | None, source: str) -> str:
    if part.shape:
        lines = [f"  d/d{part.part}: {part.shape}"]
    else:
        lines = [f"  d/d{part.part}: {len(part.off)} entries are out; the largest:"]
        lines += [_off(off) for off in sorted(part.off, key=_distance, reverse=True)[:SHOWN]]
    if diagnosis is not None:
        lines += _named(diagnosis, source)
    if part.sensitivity:
        lines.append(f"    an entry off by less than {part.sensitivity:.1g} would not have been seen")
    return "\n".join(lines)


def _distance(off: Off) -> float:
    return abs(off.claimed - off.expected) if off.interval is None else float("inf")


def _off(off: Off) -> str:
    name = _entry_name(off.part, off.index)
    if off.interval is not None:
        low, high = off.interval
        return f"    {name}  claimed {off.claimed:.10g}  outside the kink's interval [{low:g}, {high:g}]"
    return (
        f"    {name}  claimed {off.claimed:.10g}  expected {off.expected:.10g} ± {off.error:.1g}  "
        f"(tolerance {off.tolerance:.1g})"
    )


def _entry_name(part: str, index: tuple[int, ...]) -> str:
    return f"{part}[{', '.join(map(str, index))}]" if index else part


def _named(diagnosis: Diagnosis, source: str) -> list[str]:
    """The mistakes that give just this gradient, with the line they were made on underlined."""
    lines = []
    several = len(diagnosis.hypotheses) > 1
    for hypothesis in diagnosis.hypotheses:
        text = _text(source, hypothesis.span)
        words = hypothesis.mistake.says.replace("{text}", text)
        lines.append(f"    {'perhaps ' if several else ''}{hypothesis.mistake.id}: {words}")
        lines += underlined(source, hypothesis.span)
    return lines + [f"    {remark}" for remark in diagnosis.remarks]


def _text(source: str, span: tuple[int, int] | None) -> str:
    return source[span[0] : span[1]] if span and source else "the expression"
