"""What `gradcheck solve` says of passes back: a script's by their lines, a program's by number."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Group, RenderableType
from rich.text import Text

from gradcheck.problem import Problem
from gradcheck.problem.record import ERROR
from gradcheck.report.figures import SHOWN_ENTRIES, dump, nest, plain
from gradcheck.report.judgements import strip_value
from gradcheck.report.tables import TextTable, indent
from gradcheck.report.verdicts import (
    MEANINGS,
    ORDER,
    STYLES,
    dump_part,
    format_place,
    list_suspect,
    render_gradients,
    render_head,
    write_summary,
)
from gradcheck.scripts import Ended, ScriptJudgement
from gradcheck.training import Reference
from gradcheck.verdict.passes import JudgedPass

DRAWN = "random numbers are drawn by gradcheck's own generator: they are not PyTorch's"
THEIRS = "what went back is not the gradient of what went forward"
MOST_EVENTS, FEW_EVENTS = 12, 2
FEW_ENTRIES = 3  # of an array whose closed forms are written unasked
MOST_LINES = 60
MOST_REASONS = 12
WRITTEN_LINES = 3  # of a script, whose gradients are written out
VERBS = {"add": "adds", "clear": "cleared", "step": "steps"}


def find_verdict(found: Reference | ScriptJudgement, error: Any) -> str:
    """The verdict; where an error ended all, nobody says that all is well."""
    return "error" if found.verdict == "agree" and error is not None else found.verdict


def _conclude(said: str, words: str, reasons: Iterator[str]) -> Iterator[RenderableType]:
    yield indent(Text.assemble((said, STYLES[said]), f"  {words}"), 2)
    yield from (indent(Text(line, style="dim"), 4) for line in reasons)


def _list_reasons(label: str, judged: JudgedPass) -> Iterator[str]:
    yield from (f"{label}: {s.detail}" for s in judged.verdict.suspects[:1] if s.users)
    yield from (f"{label}, {format_place(e)}: {e.why}" for e in judged.verdict.entries[:2])
    yield from (f"{label}: {note}" for note in judged.verdict.notes)


def _list_odd(judged: Sequence[JudgedPass]) -> list[JudgedPass]:
    return [each for each in judged if each.verdict.verdict != "agree"]


def _format_short(value: Any, digits: int = 6) -> str:
    """A value on a line, one that stands alone in so many digits; of a large array the norm."""
    if isinstance(value, list):
        return f"[{', '.join(map(_format_short, value))}]"
    if not isinstance(value, np.ndarray | np.floating):
        return str(value)
    if value.size > SHOWN_ENTRIES:
        return f"{'x'.join(map(str, value.shape))}, norm {plain(float(np.linalg.norm(value)), 6)}"
    if value.shape:
        return _format_short([_format_short(row) for row in np.asarray(value)])
    return plain(float(value), digits)


# -- scripts ---------------------------------------------------------------------------------------


def render_script(
    file: Path, source: Sequence[str], found: ScriptJudgement, error: Ended | None = None
) -> RenderableType:
    """A row a line that goes back, what it gives, the verdict, and why it is not agreement.

    Of a dissent in a script the script's own functions are the first to be asked.
    """
    if not found.judged:
        return Text("the script never goes back: there is nothing to judge", style="dim")
    said = find_verdict(found, error)
    lines = [next(same) for _, same in groupby(found.judged, lambda each: each.call.place)]
    tables = [_show_gradients(judged) for judged in lines[:WRITTEN_LINES]]
    blocks = [indent(table, 2) for table in (_render_lines(source, found), *tables) if table.rows]
    words = MEANINGS[said] if said != "dissent" else THEIRS
    words = f"every pass back that was judged: {words}" if said == "agree" else words
    return Group(Text(file.name, style="bold"), *blocks, *_conclude(said, words, _open(found)))


def _render_lines(source: Sequence[str], found: ScriptJudgement) -> TextTable:
    table = TextTable(("line", "", "value", "by", "verdict"))
    for line in sorted({judged.call.place for judged in found.judged}):
        same = [judged for judged in found.judged if judged.call.place == line]
        worst = max(same, key=lambda each: list(MEANINGS).index(each.verdict.verdict))
        said = Text(worst.verdict.verdict, style=STYLES[worst.verdict.verdict])
        if found.calls[line] > len(same):
            said.append(f"  ({len(same)} of {found.calls[line]} judged)", style="dim")
        text = source[line - 1].strip() if 0 < line <= len(source) else ""
        names = list(dict.fromkeys(name for each in same for name in each.call.names.values()))
        by = ", ".join(names[:4]) + (f", {len(names) - 4} more" if len(names) > 4 else "")
        value = same[0].verdict.value
        table.add(
            str(line), text[:40], "" if value is None else _format_short(value.value), by, said
        )
    return table


def _show_gradients(judged: JudgedPass) -> TextTable:
    opinions = judged.verdict.opinions
    table = TextTable((f"line {judged.call.place}", "gradient", "closed form"))
    for name, part in judged.verdict.parts.items():
        if part.gradient is None:
            continue
        shown, own = _format_short(part.gradient.value), opinions["reverse"].gradients.get(name)
        if part.verdict == "dissent" and own is not None:
            shown += f", not {_format_short(own.value)}"
        form = opinions["symbolic"].closed.get(name) if "symbolic" in opinions else None
        alone = np.ravel([] if form is None or part.verdict == "kink" else form)
        table.add(name, shown, str(alone[0]) if len(alone) == 1 else "")
    return table


def _open(found: ScriptJudgement) -> Iterator[str]:
    """Why passes are not agreed, or not what came; how many were not looked at."""
    odd = [each for each in found.judged if each.verdict.verdict != "agree" or each.call.hooked]
    told = dict.fromkeys(w for each in odd for w in _list_reasons(f"line {each.call.place}", each))
    yield from list(told)[:MOST_REASONS]
    if left := sum(found.calls.values()) - len(found.judged):
        yield f"{left} more passes back were not judged"


def write_script_line(file: Path, found: ScriptJudgement, printed: str, error: Ended | None) -> str:
    """The line of `solve --json`."""
    calls = [
        {
            "line": judged.call.place,
            "verdict": judged.verdict.verdict,
            "value": judged.verdict.value and nest(judged.verdict.value.value),
            "parts": {name: dump_part(judged.verdict, name) for name in judged.verdict.parts},
            "notes": list(judged.verdict.notes),
        }
        for judged in found.judged
    ]
    return dump(
        {
            "problem": file.stem,
            "verdict": find_verdict(found, error),
            "value": None,
            "parts": {},
            "printed": printed,
            "error": error and error.text,
            "calls": calls,
            "passes": {str(number): n for number, n in found.calls.items()},
        }
    )


# -- programs --------------------------------------------------------------------------------------


def render_training(problem: Problem, reference: Reference, with_steps: bool) -> RenderableType:
    """The program, its events, what is asked and its answers; with steps, the ledger of `.grad`."""
    events, error = reference.events, reference.trace.error
    said = find_verdict(reference, error)
    blocks = [render_head(problem)]
    if events:
        blocks.append(indent(_render_events(reference), 2))
    if with_steps or len(events) <= MOST_EVENTS:
        told = (MOST_EVENTS, SHOWN_ENTRIES) if with_steps else (FEW_EVENTS, FEW_ENTRIES)
        blocks += _render_gradients(reference, *told)
    if with_steps:
        blocks.append(indent(_render_ledger(reference), 2))
    asked = {k: v for k, v in reference.trace.values.items() if k != ERROR or v is not None}
    if asked:
        answers = TextTable(("part", "answer"))
        for name, value in asked.items():
            answers.add(name, _format_short(value, 10))
        blocks.append(indent(answers, 2))
    words = f"every backward call: {MEANINGS[said]}" if said == "agree" else MEANINGS[said]
    if not events:
        words = "the program never goes back: its answers are the engine's"
        words = words if error is None else "the program ended in an error before it went back"
    return Group(*blocks, *_conclude(said, words, _list_remarks(problem, reference)), Text(""))


def _render_events(reference: Reference) -> RenderableType:
    """A row an event: what it starts from, and the verdict; of very many the suspicious ones."""
    table = TextTable(("event", "value", "by the leaves", "verdict"))
    several = len(reference.events) > MOST_EVENTS
    listed = _list_odd(reference.events) if several else reference.events
    for event in listed[:MOST_EVENTS]:
        said = event.verdict.verdict
        value = _format_short(reference.trace.calls[event.call.number].value, 10)
        table.add(event.label, value, ", ".join(event.names) or "-", Text(said, STYLES[said]))
    table.count_more(len(listed) - MOST_EVENTS)
    if not several:
        return table
    summary = write_summary([e.verdict.verdict for e in reference.events], "backward calls")
    return Group(summary, table) if listed else summary


def _render_gradients(reference: Reference, most: int, written: int) -> Iterator[RenderableType]:
    """What each of the first events gives to its leaves: its opinions, closed forms."""
    for judged in reference.events[:most]:
        verdict = judged.written
        sampled = any(opinion.directions for opinion in verdict.opinions.values())
        if judged.case is not None and verdict.opinions and not sampled:
            shapes = {name: np.shape(judged.case.inputs[name]) for name in judged.names}
            yield Text(f"  {judged.label}", style="dim")
            yield from render_gradients(verdict, shapes, written=written)


def _render_ledger(reference: Reference) -> TextTable:
    """Every line of the ledger: who added what, what was cleared, what was stepped."""
    table = TextTable(("ledger", "leaf", "by", "amount", "holds"))
    for entry in reference.trace.entries[:MOST_LINES]:
        by = "" if entry.event is None else reference.events[entry.event].label
        name = entry.leaf.name if entry.verb == "step" else f"{entry.leaf.name}.grad"
        amount = "" if entry.amount is None else _format_short(entry.amount, 10)
        table.add(VERBS[entry.verb], name, by, amount, _format_short(entry.total, 10))
    table.count_more(len(reference.trace.entries) - MOST_LINES)
    return table


def _list_remarks(problem: Problem, reference: Reference) -> Iterator[str]:
    """Why an event is not agreed, its suspect, and PyTorch's warnings."""
    for event in _list_odd(reference.events)[:MOST_EVENTS]:
        yield from _list_reasons(event.label, event)
        yield from list_suspect(problem, event.verdict)
    if reference.trace.generator.used:
        yield DRAWN
    yield from (f"PyTorch warns: {note}" for note in reference.trace.notes)


def write_training_line(problem: Problem, reference: Reference) -> str:
    """The line of `solve --json`: what is asked as parts, the events and the ledger beside them."""
    trace = reference.trace
    said = {"verdict": reference.verdict, "closed_form": None}
    answers = {name: strip_value(value) for name, value in trace.values.items()}
    ledger = [
        {
            "verb": entry.verb,
            "leaf": entry.leaf.name,
            "event": entry.event,
            "amount": nest(entry.amount),
            "holds": nest(entry.total),
        }
        for entry in trace.entries
    ]
    return dump(
        {
            "problem": problem.id,
            "verdict": find_verdict(reference, trace.error),
            "value": None,
            "parts": {name: said | {"answer": answer} for name, answer in answers.items()},
            "error": None if trace.error is None else str(trace.error),
            "events": [
                _write_event(event, nest(call.value), k < MOST_EVENTS)
                for k, (event, call) in enumerate(zip(reference.events, trace.calls, strict=True))
            ],
            "ledger": ledger,
        }
    )


def _write_event(event: JudgedPass, value: Any, written: bool) -> dict[str, Any]:
    """One event; of the first ones closed forms and numbers too."""
    known = event.verdict.opinions
    opinions = {name: known[name].abstains or "given" for name in ORDER if name in known}
    found = {"verdict": event.verdict.verdict, "value": value, "opinions": opinions}
    if written and known:
        found["parts"] = {name: dump_part(event.written, name) for name in event.verdict.parts}
    return found | ({"notes": list(event.verdict.notes)} if event.verdict.notes else {})
