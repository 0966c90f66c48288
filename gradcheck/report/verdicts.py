"""What `gradcheck solve` says: a report for people, and one line of JSON a problem."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from gradcheck.derivation import Stage, Steps, Walked
from gradcheck.opinions.opinion import Opinion
from gradcheck.problem import Problem
from gradcheck.report.figures import bar, nested, nested_text, numbers, plain
from gradcheck.report.underline import underlined
from gradcheck.verdict.consult import Entry, Verdict

ORDER = ("reverse", "symbolic", "differences")
HEADS = {"reverse": "reverse mode", "symbolic": "closed form", "differences": "differences"}
STYLES = {
    "agree": "green",
    "kink": "yellow",
    "unstable-forward": "yellow",
    "undecided": "yellow",
    "jump": "magenta",
    "undefined": "magenta",
    "dissent": "bold red",
}
MEANINGS = {
    "agree": "all three within their error bars",
    "kink": "no derivative here: the one-sided slopes differ",
    "unstable-forward": "the formula loses its digits in float64; the gradient is not to blame",
    "undecided": "the opinions cannot tell: see the reasons",
    "jump": "the value jumps here",
    "undefined": "no finite derivative here",
    "dissent": "the opinions contradict each other: gradcheck itself is wrong somewhere",
}
ENTRIES = 12
SHOWN_ENTRIES = 6
READABLE = 160


def _meaning(verdict: Verdict) -> str:
    """What a verdict means; of an opinion that abstains it says nothing."""
    abstain = any(opinion.abstains for opinion in verdict.opinions.values())
    if abstain and verdict.verdict == "agree":
        return "the two opinions that were formed are within their error bars"
    return MEANINGS[verdict.verdict]


def problem_report(
    problem: Problem, verdict: Verdict, derivation: Steps | Walked | None
) -> RenderableType:
    """One problem: its program, the value, a table of opinions a part, the verdict, the steps."""
    head = Text(problem.id, style="bold")
    if problem.title:
        head.append(f"  {problem.title}", style="not bold dim")
    blocks: list[RenderableType] = [head, Padding(Text(problem.program.source.rstrip()), (0, 4))]
    value = verdict.value
    if value is not None and value.balls.ndim == 0:
        blocks.append(Text(f"  value  {plain(float(value.value))}"))
    blocks.append(
        Padding(opinions_table(verdict, {n: i.shape for n, i in problem.inputs.items()}), (0, 2))
    )
    blocks += closed_forms(verdict)
    blocks += [Padding(line, (0, 2)) for line in _findings(problem, verdict)]
    if derivation is not None:
        steps = _derivation(derivation) if isinstance(derivation, Steps) else _walked(derivation)
        blocks.append(Padding(steps, (0, 2)))
    return Group(*blocks, Text(""))


def opinions_table(verdict: Verdict, shapes: Mapping[str, tuple[int, ...]]) -> Table:
    """The three numbers of each entry of each gradient; `shapes` are those of the variables."""
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("part", style="bold", no_wrap=True)
    for name in ORDER:
        table.add_column(HEADS[name], justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True, min_width=7)
    for name, part in verdict.parts.items():
        indices = list(np.ndindex(shapes.get(name, ())))
        for k, index in enumerate(indices[:ENTRIES]):
            label = f"d/d{name}" + (f"[{','.join(map(str, index))}]" if index else "")
            cells = [_cell(verdict.opinions[o], name, index) for o in ORDER]
            entry = next((e for e in part.entries if e.index == index), None)
            said = entry.verdict if entry else part.verdict if not part.entries else "agree"
            table.add_row(label, *cells, Text(said, style=STYLES[said]))
            if k == ENTRIES - 1 and len(indices) > ENTRIES:
                table.add_row("", f"... {len(indices) - ENTRIES} more", "", "", "")
    return table


def _cell(opinion: Opinion, part: str, index: tuple[int, ...]) -> Text:
    if opinion.abstains:
        return Text("abstains", style="dim")
    if part not in opinion.gradients:
        return Text("by directions", style="dim")
    estimate = opinion.gradients[part]
    slope = opinion.slopes.get((part, index))
    if slope is not None and slope.kind != "one-sided":
        return Text(f"{plain(slope.left)} | {plain(slope.right)}")
    text = Text(plain(float(estimate.value[index]), 6 if index else 10))
    text.append(f" {bar(float(estimate.error[index]))}", style="dim")
    return text


def closed_forms(verdict: Verdict) -> list[RenderableType]:
    """The closed forms of scalar parts and short arrays, with the conditions of the path."""
    found: list[RenderableType] = []
    opinion = verdict.opinions["symbolic"]
    for name, form in opinion.closed.items():
        if form is None or np.size(form) > SHOWN_ENTRIES:
            continue
        entries = np.asarray(form, dtype=object)
        for index in np.ndindex(entries.shape):
            label = f"d/d{name}" + (f"[{', '.join(map(str, index))}]" if index else "")
            line = f"  {label} = {entries[index]}"
            found.append(Text(line if len(line) <= READABLE else f"  {label} = ... (in --json)"))
    if opinion.conditions and found:
        found.append(Text(f"  where {', '.join(opinion.conditions[:6])}", style="dim"))
    return found


def _findings(problem: Problem, verdict: Verdict) -> Iterable[RenderableType]:
    said = verdict.verdict
    yield Text.assemble((said, STYLES[said]), f"  {_meaning(verdict)}")
    for entry in verdict.entries[:ENTRIES]:
        words = f"{entry.why}{_interval(entry)}{_convention(verdict, entry)}"
        yield Text(f"  {_where(entry)}: {words}", style="dim")
    for suspect in verdict.suspects[:1]:
        yield Text(f"  first op whose own rule is off: {suspect.op}, cell {suspect.cell}")
        for line in underlined(problem.program.source, suspect.span):
            yield Text(line)
    for name, opinion in verdict.opinions.items():
        if opinion.abstains:
            yield Text(f"  {HEADS[name]} abstains: {opinion.abstains}", style="dim")
    for note in verdict.notes:
        yield Text(f"  {note}", style="dim")


def _where(entry: Entry) -> str:
    index = f"[{', '.join(map(str, entry.index))}]" if entry.index else ""
    return f"{entry.part or 'value'}{index}"


def _interval(entry: Entry) -> str:
    if entry.interval is None:
        return ""
    low, high = map(plain, entry.interval)
    return f"; every slope in [{low}, {high}] is a subgradient"


def _convention(verdict: Verdict, entry: Entry) -> str:
    """At a kink: the slope that reverse mode, like PyTorch, takes there."""
    reverse = verdict.opinions["reverse"]
    if entry.interval is None or entry.part not in reverse.gradients:
        return ""
    return f"; PyTorch takes {plain(float(reverse.gradients[entry.part].value[entry.index]))}"


def _derivation(derivation: Steps) -> Text:
    text = Text("the values, from the inputs up\n", style="dim")
    if derivation.left_out:
        text.append(f"  ... {derivation.left_out} steps before\n", style="dim")
    for step in derivation.forward:
        text.append(f"  {_equation(step.name, step.formula, step.value)}\n", style="not dim")
    text.append("the chain rule, from the value down\n", style="dim")
    for step in derivation.backward:
        text.append(f"  {_equation(step.name, step.formula, step.value)}\n", style="not dim")
    return text


def _walked(derivation: Walked) -> Text:
    text = Text("the values, from the inputs up\n", style="dim")
    for stage in derivation.forward:
        text.append(f"  {stage.name} = {stage.text}", style="not dim")
        text.append(f"  {_array(stage)}  {stage.node}\n", style="dim")
    text.append("the cotangents, from the value down\n", style="dim")
    for stage in derivation.backward:
        text.append(f"  {stage.name}", style="not dim")
        text.append(f"  {_array(stage)}  through {stage.node}\n", style="dim")
    return text


def _array(stage: Stage) -> str:
    """The shape, and the entries where they fit on a line."""
    value = stage.value
    if value.size > SHOWN_ENTRIES:
        return f"of shape {value.shape}"
    return np.array2string(value, precision=6, separator=", ").replace("\n", "")


def _equation(name: str, formula: str, value: float) -> str:
    shown = plain(value)
    return f"{name} = {formula}" if formula == shown else f"{name} = {formula} = {shown}"


def summary(verdicts: Mapping[str, str]) -> Text:
    """One line for a whole run."""
    counts: dict[str, int] = {}
    for said in verdicts.values():
        counts[said] = counts.get(said, 0) + 1
    words = ", ".join(f"{count} {said}" for said, count in counts.items())
    return Text(f"{len(verdicts)} problems: {words}")


def json_line(problem: Problem, verdict: Verdict) -> str:
    """The contract's line of `solve --json`."""
    value = None if verdict.value is None else nested(verdict.value.value)
    line: dict[str, Any] = {"problem": problem.id, "verdict": verdict.verdict, "value": value}
    line["parts"] = {name: json_part(verdict, name) for name in verdict.parts}
    notes = [f"{_where(e)}: {e.why}" for e in verdict.entries if e.why] + list(verdict.notes)
    if notes:
        line["notes"] = notes
    return json.dumps(line, ensure_ascii=False, allow_nan=False)


def json_part(verdict: Verdict, name: str) -> dict[str, Any]:
    """One gradient as JSON: its verdict, its closed form, and the three opinions on it."""
    part = verdict.parts[name]
    closed = verdict.opinions["symbolic"].closed.get(name)
    found: dict[str, Any] = {"verdict": part.verdict, "closed_form": nested_text(closed)}
    for key in ORDER:
        opinion = verdict.opinions[key]
        if opinion.abstains:
            found[key] = {"abstains": opinion.abstains}
        elif name in opinion.gradients:
            found[key] = numbers(opinion.gradients[name])
        else:
            found[key] = {"directions": len(opinion.directions)}
    if part.interval is not None:
        found["interval"] = list(part.interval)
    return found
