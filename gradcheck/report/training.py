"""What `gradcheck solve` says of a program that calls `backward` itself."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
from rich.console import Group, RenderableType
from rich.text import Text

from gradcheck.problem import Problem
from gradcheck.problem.section import ERROR
from gradcheck.report.figures import SHOWN_ENTRIES, nest, plain
from gradcheck.report.findings import underline
from gradcheck.report.rows import TextTable, indent
from gradcheck.report.verdicts import (
    MEANINGS,
    STYLES,
    gradients,
    json_part,
    problem_head,
    where,
)
from gradcheck.training import Reference, to_json
from gradcheck.verdict.passes import JudgedPass

DRAWN = "random numbers are drawn by gradcheck's own generator: they are not PyTorch's"
SHORT = 6
MOST_EVENTS, FEW_EVENTS = 12, 2
FEW_ENTRIES = 3  # of an array whose closed forms are written unasked
MOST_LINES = 60
OPINIONS = ("reverse", "symbolic", "differences")
VERBS = {"add": "adds", "clear": "cleared", "step": "steps"}


def training_report(problem: Problem, reference: Reference, with_steps: bool) -> RenderableType:
    """The program, its events, what is asked and its answers; with steps, the ledger of `.grad`."""
    said = verdict_of(reference)
    blocks = [problem_head(problem)]
    if reference.events:
        blocks.append(indent(_events(reference), 2))
    if with_steps or len(reference.events) <= MOST_EVENTS:
        told = (MOST_EVENTS, SHOWN_ENTRIES) if with_steps else (FEW_EVENTS, FEW_ENTRIES)
        blocks += _gradients(reference, *told)
    if with_steps:
        blocks.append(indent(_ledger(reference), 2))
    if answers := _answers(reference):
        blocks.append(indent(answers, 2))
    words = Text.assemble((said, STYLES[said]), f"  {_meaning(reference, said)}")
    blocks += [indent(words, 2)]
    blocks += [indent(Text(line, style="dim"), 4) for line in _findings(problem, reference)]
    return Group(*blocks, Text(""))


def verdict_of(reference: Reference) -> str:
    """The verdict on a run: of one that ended in an error nobody says that all is well."""
    agreed = reference.verdict == "agree"
    return "error" if agreed and reference.trace.error is not None else reference.verdict


def _meaning(reference: Reference, said: str) -> str:
    if not reference.events and reference.trace.error is not None:
        return "the program ended in an error before it went back"
    if not reference.events:
        return "the program never goes back: its answers are the engine's"
    return f"every backward call: {MEANINGS[said]}" if said == "agree" else MEANINGS[said]


def _events(reference: Reference) -> RenderableType:
    """A row an event: what it starts from, and the verdict; of very many the suspicious ones."""
    table = TextTable(("event", "value", "by the leaves", "verdict"))
    several = len(reference.events) > MOST_EVENTS
    listed = _suspicious(reference) if several else reference.events
    for event in listed[:MOST_EVENTS]:
        said = event.verdict.verdict
        names = ", ".join(event.names) or "-"
        verdict = Text(said, style=STYLES[said])
        value = reference.trace.calls[event.call.number].value
        table.add(event.label, _short(value), names, verdict)
    if len(listed) > MOST_EVENTS:
        table.add(f"... {len(listed) - MOST_EVENTS} more")
    if not several:
        return table
    counts = Counter(event.verdict.verdict for event in reference.events)
    words = ", ".join(f"{count} {said}" for said, count in counts.items())
    summary = Text(f"{len(reference.events)} backward calls: {words}")
    return Group(summary, table) if listed else summary


def _suspicious(reference: Reference) -> tuple[JudgedPass, ...]:
    return tuple(event for event in reference.events if event.verdict.verdict != "agree")


def _gradients(reference: Reference, most: int, written: int) -> Iterator[RenderableType]:
    """What each of the first events gives to its leaves: its opinions, closed forms."""
    for judged in reference.events[:most]:
        verdict = judged.written
        if (
            judged.case is not None
            and verdict.opinions
            and not any(o.directions for o in verdict.opinions.values())
        ):
            shapes = {name: np.shape(judged.case.inputs[name]) for name in judged.names}
            yield Text(f"  {judged.label}", style="dim")
            yield from gradients(verdict, shapes, written=written)


def _ledger(reference: Reference) -> TextTable:
    """Every line of the ledger: who added what, what was cleared, what was stepped."""
    table = TextTable(("ledger", "leaf", "by", "amount", "holds"))
    for entry in reference.trace.entries[:MOST_LINES]:
        by = "" if entry.event is None else reference.events[entry.event].label
        name = entry.leaf.name if entry.verb == "step" else f"{entry.leaf.name}.grad"
        amount = "" if entry.amount is None else _short(entry.amount)
        table.add(VERBS[entry.verb], name, by, amount, _short(entry.total))
    if len(reference.trace.entries) > MOST_LINES:
        table.add(f"... {len(reference.trace.entries) - MOST_LINES} more")
    return table


def _answers(reference: Reference) -> TextTable | None:
    """One line a part; None where nothing is asked."""
    asked = {k: v for k, v in reference.trace.values.items() if k != ERROR or v is not None}
    table = TextTable(("part", "answer"))
    for name, value in asked.items():
        table.add(name, _short(value))
    return table if asked else None


def _short(value: Any) -> str:
    """A value on a line; of a large array the shape."""
    if value is None:
        return "None"
    if isinstance(value, np.ndarray) and value.size > SHORT:
        return f"of shape {value.shape}"
    if isinstance(value, np.ndarray):
        return plain(float(value)) if not value.shape else _list_text(value.tolist())
    if isinstance(value, list):
        return "[" + ", ".join(map(_short, value)) + "]"
    return str(value)


def _list_text(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(map(_list_text, value)) + "]"
    return plain(value, 6)


def _findings(problem: Problem, reference: Reference) -> Iterator[str]:
    """Why an event is not agreed, its suspect, and PyTorch's warnings."""
    for event in _suspicious(reference)[:MOST_EVENTS]:
        yield from _words(problem, event)
    if reference.trace.drawn:
        yield DRAWN
    for note in reference.trace.notes:
        yield f"PyTorch warns: {note}"


def _words(problem: Problem, event: JudgedPass) -> Iterator[str]:
    for entry in event.verdict.entries[:2]:
        yield f"{event.label}, {where(entry)}: {entry.why}"
    for note in event.verdict.notes:
        yield f"{event.label}: {note}"
    for suspect in event.verdict.suspects[:1]:
        yield f"first op whose own rule is off: {suspect.op}, cell {suspect.cell}"
        yield from underline(problem.program.source, suspect.span)


def training_line(problem: Problem, reference: Reference) -> str:
    """The line of `solve --json`: what is asked as parts, the events and the ledger beside them."""
    line: dict[str, Any] = {"problem": problem.id, "verdict": verdict_of(reference), "value": None}
    line["parts"] = {
        name: {"verdict": reference.verdict, "closed_form": None, "answer": _json(to_json(value))}
        for name, value in reference.trace.values.items()
    }
    line["error"] = _error(reference)
    values = (nest(call.value) for call in reference.trace.calls)
    pairs = enumerate(zip(reference.events, values, strict=True))
    line["events"] = [_event(event, value, k < MOST_EVENTS) for k, (event, value) in pairs]
    line["ledger"] = [
        {
            "verb": entry.verb,
            "leaf": entry.leaf.name,
            "event": entry.event,
            "amount": None if entry.amount is None else nest(np.asarray(entry.amount)),
            "holds": None if entry.total is None else nest(np.asarray(entry.total)),
        }
        for entry in reference.trace.entries
    ]
    return json.dumps(line, ensure_ascii=False, allow_nan=False)


def _error(reference: Reference) -> str | None:
    return None if reference.trace.error is None else str(reference.trace.error)


def _event(event: JudgedPass, value: Any, written: bool) -> dict[str, Any]:
    """One event; of the first ones closed forms and numbers too."""
    found: dict[str, Any] = {
        "verdict": event.verdict.verdict,
        "value": value,
        "opinions": {
            name: event.verdict.opinions[name].abstains or "given"
            for name in OPINIONS
            if name in event.verdict.opinions
        },
    }
    if written and event.verdict.opinions:
        found["parts"] = {name: json_part(event.written, name) for name in event.verdict.parts}
    return found | ({"notes": list(event.verdict.notes)} if event.verdict.notes else {})


def _json(value: Any) -> Any:
    """Numbers that JSON does not know as texts."""
    if isinstance(value, list):
        return [_json(each) for each in value]
    return str(value) if isinstance(value, float) and not np.isfinite(value) else value
