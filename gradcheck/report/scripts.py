"""What `gradcheck solve` says of a script: every pass back that was judged, line by line."""

import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Group, RenderableType
from rich.text import Text

from gradcheck.opinions.opinion import Estimate
from gradcheck.report.figures import nest, plain
from gradcheck.report.rows import TextTable, indent
from gradcheck.report.verdicts import MEANINGS, STYLES, json_part, where
from gradcheck.scripts import Ended, ScriptJudgement
from gradcheck.verdict.consult import Verdict
from gradcheck.verdict.passes import JudgedPass

SHOWN = 3  # lines whose gradients are written out
SHORT = 6


def script_report(
    file: Path, source: Sequence[str], found: ScriptJudgement, error: Ended | None = None
) -> RenderableType:
    """A row a line that goes back, what it gives, the verdict, and why it is not agreement."""
    if not found.judged:
        return Text("the script never goes back: there is nothing to judge", style="dim")
    said = _verdict(found, error)
    lines = [(line, list(same)) for line, same in groupby(found.judged, lambda j: j.call.place)]
    blocks: list[RenderableType] = [Text(file.name, style="bold")]
    blocks.append(indent(_table(source, found), 2))
    tables = [_gradients(same[0]) for _, same in lines[:SHOWN]]
    blocks += [indent(table, 2) for table in tables if table.rows]
    meaning = f"every pass back that was judged: {MEANINGS[said]}"
    words = meaning if said == "agree" else _meaning(said)
    blocks.append(indent(Text.assemble((said, STYLES[said]), f"  {words}"), 2))
    blocks += [indent(Text(each, style="dim"), 4) for each in _findings(found)]
    return Group(*blocks)


def _verdict(found: ScriptJudgement, error: Ended | None) -> str:
    """The verdict; of a script that ended in an error nobody says that all is well."""
    return "error" if found.verdict == "agree" and error is not None else found.verdict


def _meaning(said: str) -> str:
    """Of a dissent in a script the script's own functions are the first to be asked."""
    if said == "dissent":
        return "what went back is not the gradient of what went forward"
    return MEANINGS[said]


def _table(source: Sequence[str], found: ScriptJudgement) -> RenderableType:
    table = TextTable(("line", "", "value", "by", "verdict"))
    lines = dict.fromkeys(judged.call.place for judged in found.judged)
    for line in sorted(lines):
        same = [judged for judged in found.judged if judged.call.place == line]
        worst = max(same, key=lambda each: list(MEANINGS).index(each.verdict.verdict))
        said = Text(worst.verdict.verdict, style=STYLES[worst.verdict.verdict])
        count, judged = found.calls[line], len(same)
        if count > judged:
            said.append(f"  ({judged} of {count} judged)", style="dim")
        text = source[line - 1].strip() if 0 < line <= len(source) else ""
        names = list(dict.fromkeys(name for each in same for name in each.call.names.values()))
        value = same[0].verdict.value
        shown = "" if value is None else _short(value)
        table.add(str(line), text[:40], shown, _few(names), said)
    return table


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:4]) + (f", {len(names) - 4} more" if len(names) > 4 else "")


def _gradients(judged: JudgedPass) -> TextTable:
    """What one pass gives to its leaves, and the closed forms of numbers."""
    verdict = judged.verdict
    table = TextTable((f"line {judged.call.place}", "gradient", "closed form"))
    for name, part in verdict.parts.items():
        if part.gradient is None:
            continue
        shown, own = _short(part.gradient), verdict.opinions["reverse"].gradients.get(name)
        if part.verdict == "dissent" and own is not None:
            shown += f", not {_short(own)}"
        table.add(name, shown, _form(verdict, name))
    return table


def _short(found: Estimate) -> str:
    """Numbers on a line; of a large array shape and norm."""
    if np.size(found.value) <= SHORT:
        listed = [plain(float(v), 6) for v in np.ravel(found.value)]
        return listed[0] if found.shape == () else f"[{', '.join(listed)}]"
    sizes = "x".join(map(str, found.shape))
    return f"{sizes}, norm {plain(float(np.linalg.norm(found.value)), 6)}"


def _form(verdict: Verdict, name: str) -> str:
    closed = verdict.opinions["symbolic"].closed if "symbolic" in verdict.opinions else {}
    form = closed.get(name)
    return "" if form is None or np.size(form) != 1 else str(np.ravel(form)[0])


def _findings(found: ScriptJudgement) -> Iterator[str]:
    """Why a pass is not agreed; which were not looked at."""
    told: dict[str, None] = {}
    for judged in found.judged:
        if judged.verdict.verdict != "agree":
            line = f"line {judged.call.place}"
            told |= {f"{line}, {where(e)}: {e.why}": None for e in judged.verdict.entries[:2]}
            told |= {f"{line}: {note}": None for note in judged.verdict.notes[:2]}
    yield from list(told)[:12]
    left = sum(found.calls.values()) - len(found.judged)
    if left:
        yield f"{left} more passes back were not judged"


def script_line(file: Path, found: ScriptJudgement, printed: str, error: Ended | None) -> str:
    """The line of `solve --json`."""
    line: dict[str, Any] = {"problem": file.stem, "verdict": _verdict(found, error), "value": None}
    line |= {"parts": {}, "printed": printed, "error": error and error.text}
    line["calls"] = [_call(judged) for judged in found.judged]
    line["passes"] = {str(number): count for number, count in found.calls.items()}
    return json.dumps(line, ensure_ascii=False, allow_nan=False)


def _call(judged: JudgedPass) -> dict[str, Any]:
    verdict = judged.verdict
    value = None if verdict.value is None else nest(verdict.value.value)
    made = {"line": judged.call.place, "verdict": verdict.verdict, "value": value}
    parts = {name: json_part(verdict, name) for name in verdict.parts}
    return made | {"parts": parts, "notes": list(verdict.notes)}
