"""What `gradcheck solve` says of a program that calls `backward` itself."""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from gradcheck.problem import Problem
from gradcheck.report.figures import nested, plain
from gradcheck.report.underline import underlined
from gradcheck.report.verdicts import MEANINGS, STYLES
from gradcheck.training import Judged, Reference, shown
from gradcheck.verdict.consult import VERDICTS

SHORT = 6
MOST_EVENTS = 12
MOST_LINES = 60
OPINIONS = ("reverse", "symbolic", "differences")
VERBS = {"add": "adds", "clear": "cleared", "step": "steps"}


def verdict_of(reference: Reference) -> str:
    """The gravest verdict of all events; agreement where nothing goes back."""
    said = (event.verdict.verdict for event in reference.events)
    return max(said, key=VERDICTS.index, default="agree")


def training_report(problem: Problem, reference: Reference, with_steps: bool) -> RenderableType:
    """The program, its events, what is asked and its answers; with steps, the ledger of `.grad`."""
    head = Text(problem.id, style="bold")
    if problem.title:
        head.append(f"  {problem.title}", style="not bold dim")
    said = verdict_of(reference)
    blocks: list[RenderableType] = [head, Padding(Text(problem.program.source.rstrip()), (0, 4))]
    if reference.events:
        blocks.append(Padding(_events(reference), (0, 2)))
    if with_steps:
        blocks.append(Padding(_ledger(reference), (0, 2)))
    blocks.append(Padding(_answers(reference), (0, 2)))
    blocks.append(Text.assemble("  ", (said, STYLES[said]), f"  {_meaning(reference, said)}"))
    blocks += [Text(f"    {line}", style="dim") for line in _findings(problem, reference)]
    return Group(*blocks, Text(""))


def _meaning(reference: Reference, said: str) -> str:
    if not reference.events:
        return "the program never goes back: its answers are the engine's"
    return f"every backward call: {MEANINGS[said]}" if said == "agree" else MEANINGS[said]


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in columns:
        table.add_column(name, no_wrap=True)
    return table


def _events(reference: Reference) -> Table:
    """One line an event: what it starts from, and the three opinions' verdict."""
    table = _table("event", "value", "by the leaves", "verdict")
    for event in reference.events[:MOST_EVENTS]:
        said = event.verdict.verdict
        names = ", ".join(event.event.names) or "-"
        value = _short(event.event.value)
        table.add_row(event.event.label, value, names, Text(said, style=STYLES[said]))
    if len(reference.events) > MOST_EVENTS:
        table.add_row(f"... {len(reference.events) - MOST_EVENTS} more", "", "", "")
    return table


def _ledger(reference: Reference) -> Table:
    """Every line of the ledger: who added what, what was cleared, what was stepped."""
    table = _table("ledger", "leaf", "by", "amount", "holds")
    for entry in reference.trace.entries[:MOST_LINES]:
        by = "" if entry.event is None else reference.events[entry.event].event.label
        name = entry.leaf.name if entry.verb == "step" else f"{entry.leaf.name}.grad"
        amount = "" if entry.amount is None else _short(entry.amount)
        cells = (amount, _short(entry.total))
        table.add_row(VERBS[entry.verb], name, by, *cells)
    if len(reference.trace.entries) > MOST_LINES:
        table.add_row(f"... {len(reference.trace.entries) - MOST_LINES} more", "", "", "", "")
    return table


def _answers(reference: Reference) -> Table:
    table = _table("part", "answer")
    table.columns[0].min_width = max(map(len, reference.trace.values), default=0)
    for name, value in reference.trace.values.items():
        table.add_row(Text(name, style="bold"), _short(value))
    return table


def _short(value: Any) -> str:
    """A value on a line; of a large array the shape."""
    if value is None:
        return "None"
    if isinstance(value, np.ndarray) and value.size > SHORT:
        return f"of shape {value.shape}"
    if isinstance(value, np.ndarray):
        return plain(float(value)) if not value.shape else _listed(value.tolist())
    if isinstance(value, list):
        return "[" + ", ".join(map(_short, value)) + "]"
    return str(value)


def _listed(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(map(_listed, value)) + "]"
    return plain(value, 6)


def _findings(problem: Problem, reference: Reference) -> Iterator[str]:
    """Why an event is not agreed, its suspect, and PyTorch's warnings."""
    for event in reference.events:
        yield from _words(problem, event)
    for note in reference.trace.notes:
        yield f"PyTorch warns: {note}"


def _words(problem: Problem, event: Judged) -> Iterator[str]:
    if event.verdict.verdict == "agree":
        return
    for entry in event.verdict.entries[:2]:
        yield f"{event.event.label}: {entry.why}"
    for note in event.verdict.notes:
        yield f"{event.event.label}: {note}"
    for suspect in event.verdict.suspects[:1]:
        yield f"first op whose own rule is off: {suspect.op}, cell {suspect.cell}"
        yield from underlined(problem.program.source, suspect.span)


def training_line(problem: Problem, reference: Reference) -> str:
    """The line of `solve --json`: what is asked as parts, the events and the ledger beside them."""
    line: dict[str, Any] = {"problem": problem.id, "verdict": verdict_of(reference), "value": None}
    line["parts"] = {
        name: {"verdict": verdict_of(reference), "closed_form": None, "answer": _json(shown(value))}
        for name, value in reference.trace.values.items()
    }
    line["events"] = [_event(event) for event in reference.events]
    line["ledger"] = [
        {
            "verb": entry.verb,
            "leaf": entry.leaf.name,
            "event": entry.event,
            "amount": None if entry.amount is None else nested(np.asarray(entry.amount)),
            "holds": None if entry.total is None else nested(np.asarray(entry.total)),
        }
        for entry in reference.trace.entries
    ]
    return json.dumps(line, ensure_ascii=False, allow_nan=False)


def _event(event: Judged) -> dict[str, Any]:
    found: dict[str, Any] = {
        "verdict": event.verdict.verdict,
        "value": nested(event.event.value),
        "opinions": {
            name: event.verdict.opinions[name].abstains or "given"
            for name in OPINIONS
            if name in event.verdict.opinions
        },
    }
    return found | ({"notes": list(event.verdict.notes)} if event.verdict.notes else {})


def _json(value: Any) -> Any:
    """Numbers that JSON does not know as texts."""
    if isinstance(value, list):
        return [_json(each) for each in value]
    return str(value) if isinstance(value, float) and not np.isfinite(value) else value
