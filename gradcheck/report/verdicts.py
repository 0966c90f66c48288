"""What `gradcheck solve` says: a report for people, and one line of JSON a problem."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from rich.console import Group, RenderableType
from rich.text import Text

from gradcheck.errors import underline
from gradcheck.opinions.opinion import Opinion
from gradcheck.problem import Problem
from gradcheck.problem.draw import fill, write_readable
from gradcheck.problem.record import Point
from gradcheck.report.figures import (
    SHOWN_ENTRIES,
    dump,
    format_bar,
    format_index,
    nest,
    nest_text,
    plain,
    to_mathml,
)
from gradcheck.report.tables import FormulaLine, Gradients, TextTable, indent, name_derivative
from gradcheck.texts import Formulas, PathForm
from gradcheck.texts.notation import write_path
from gradcheck.verdict.consult import Entry, Verdict

ORDER = ("reverse", "symbolic", "differences")
TOO_LONG = "is too long to be written out: `gradcheck solve --steps` writes its chain rule"
HEADS = {"reverse": "reverse mode", "symbolic": "closed form", "differences": "differences"}
STYLES = {
    "agree": "green",
    "kink": "yellow",
    "unstable-forward": "yellow",
    "undecided": "yellow",
    "jump": "magenta",
    "undefined": "magenta",
    "dissent": "bold red",
    "error": "yellow",
}
MEANINGS = {
    "agree": "all three within their error bars",
    "kink": "no derivative here: the one-sided slopes differ",
    "unstable-forward": "the formula loses its digits in float64; the gradient is not to blame",
    "undecided": "the opinions cannot tell: see the reasons",
    "jump": "the value jumps here",
    "undefined": "no finite derivative here",
    "dissent": "the opinions contradict each other: gradcheck itself is wrong somewhere",
    "error": "the program ended in an error; every backward call before it is agreed",
}
TWO = "the two opinions that were formed are within their error bars"
ENTRIES = 12
READABLE = 150
NOT_SHOWN = Formulas()


def render_problem(
    problem: Problem,
    point: Point,
    verdict: Verdict,
    steps: RenderableType | None,
    forms: Formulas,
    *,
    entries: bool = False,
) -> RenderableType:
    """One problem: its program, the value, a line a gradient, the verdict, the steps.

    `forms` are the gradients of arrays as NumPy text, where there is one; `entries` asks for every
    entry of theirs.
    """
    blocks = [render_head(problem)]
    blocks += [indent(line, 2) for line in _list_drawn(problem, point)]
    value = _find_value(problem, point, verdict)
    if value is not None and np.ndim(value) == 0:
        blocks.append(Text(f"  value  {plain(float(value))}"))
    shapes = {name: given.shape for name, given in problem.inputs.items()}
    if problem.has_rows:  # of each entry of the value, or of the gradient
        known = {name: part.gradient for name, part in verdict.parts.items()}
        shapes |= {name: g.shape for name, g in known.items() if g is not None}
    blocks += render_gradients(verdict, shapes, forms, entries)
    blocks += [indent(line, 2) for line in _list_findings(problem, verdict)]
    if steps is not None:
        blocks.append(indent(steps, 2))
    return Group(*blocks, Text(""))


def _find_value(problem: Problem, point: Point, verdict: Verdict) -> Any:
    """The program's value; where second derivatives are asked, that of a run in float64."""
    if problem.order == 1:
        return None if verdict.value is None else verdict.value.value
    return problem.value_on("float", point)


def render_gradients(
    verdict: Verdict,
    shapes: Mapping[str, tuple[int, ...]],
    forms: Formulas = NOT_SHOWN,
    entries: bool = False,
    written: int = SHOWN_ENTRIES,
) -> Iterator[RenderableType]:
    """A row of opinions for a number or an entry not agreed, a line for an array, closed forms.

    Arrays of up to `written` entries have their closed forms entry by entry.
    """
    tensors = {name: shapes[name] for name in verdict.parts if shapes.get(name)}
    rows = make_opinions_table(verdict, shapes, tensors)
    if rows.rows:
        yield indent(rows, 2)
    if tensors:
        yield indent(Gradients(verdict, tensors, forms, STYLES, entries), 2)
    for name, found in forms.paths.items():
        yield indent(FormulaLine(name_derivative(name), found), 2)
    yield from (indent(line, 2) for line in write_closed_forms(verdict, forms, written))


def render_head(problem: Problem) -> RenderableType:
    """The problem's id, its title, and its program."""
    head = Text(problem.id, style="bold")
    if problem.title:
        head.append(f"  {fill(problem.title, _list_numbers(problem))}", style="not bold dim")
    return Group(head, indent(Text(problem.program.source.rstrip()), 4))


def _list_numbers(problem: Problem) -> Mapping[str, Any]:
    """Those that a student has, or somebody without a name."""
    given = {name: problem.inputs[name].value for name in problem.choices}
    return problem.variant or {n: write_readable(v) for n, v in given.items() if v is not None}


def _list_drawn(problem: Problem, point: Point) -> Iterator[Text]:
    """The inputs that were drawn, where they are short; a student's own numbers."""
    if own := ", ".join(f"{name} = {value}" for name, value in _list_numbers(problem).items()):
        whose = "this student's" if problem.variant else "for example: --student NAME has others"
        yield Text(f"{own}  ({whose})", style="dim")
    for name, given in problem.inputs.items():
        if given.value is None and point[name].size <= SHOWN_ENTRIES:
            yield Text(f"{name} = {point[name].astype(float).tolist()}  (drawn)", style="dim")


def make_opinions_table(
    verdict: Verdict, shapes: Mapping[str, tuple[int, ...]], lines: Collection[str] = ()
) -> TextTable:
    """The three numbers of each entry of each gradient; `shapes` are those of the variables.

    Of those that have a line of their own, `lines`, only entries that are not plainly agreed.
    """
    table = TextTable(("part", *HEADS.values(), "verdict"), right=tuple(HEADS.values()))
    for name, part in verdict.parts.items():
        known = {entry.index: entry for entry in part.entries}
        whole = list(np.ndindex(shapes.get(name, ())))
        indices = [i for i in whole if i in known] if name in lines else whole
        for index in indices[:ENTRIES]:
            entry = known.get(index)
            said = entry.verdict if entry else part.verdict if not known else "agree"
            cells = [_format_cell(verdict.opinions[o], name, index, entry) for o in ORDER]
            label = name_derivative(name) + format_index(index)
            table.add(label, *cells, Text(said, style=STYLES[said]))
        table.count_more(len(indices) - ENTRIES)
    return table


def _format_cell(opinion: Opinion, part: str, index: tuple[int, ...], entry: Entry | None) -> Text:
    """The opinion on an entry, with its error bar; at a kink the slopes, or their interval."""
    if opinion.abstains:
        return Text("abstains", style="dim")
    if part not in opinion.gradients:
        return Text(opinion.method if opinion.name == "symbolic" else "by directions", style="dim")
    slope = opinion.slopes.get((part, index))
    if slope is not None and slope.kind not in ("one-sided", "unresolved"):
        sides = np.isfinite([slope.left, slope.right]).all()
        return Text(f"{plain(slope.left)} | {plain(slope.right)}" if sides else "no slope")
    if opinion.name == "symbolic" and entry is not None and entry.interval is not None:
        return Text(_format_between(entry.interval))
    estimate = opinion.gradients[part]
    text = Text(plain(float(estimate.value[index]), 6 if index else 10))
    text.append(f" {format_bar(float(estimate.error[index]))}", style="dim")
    return text


def _format_between(interval: tuple[float, float]) -> str:
    return f"[{', '.join(map(plain, interval))}]"


def write_closed_forms(verdict: Verdict, forms: Formulas, most: int) -> list[RenderableType]:
    """The closed forms of up to `most` entries, but of `forms`; with the conditions of the path."""
    from gradcheck.numbers.closed import spell  # noqa: PLC0415 - both load SymPy
    from gradcheck.texts.rewriting import find_shortest  # noqa: PLC0415

    found: list[RenderableType] = []
    opinion = verdict.opinions["symbolic"]
    kinks = {(e.part, e.index): e.interval for e in verdict.entries if e.interval is not None}
    for name, form in opinion.closed.items():
        part = verdict.parts[name].gradient if name in verdict.parts else None
        if name in forms.texts or name in forms.paths or np.size(form) > most:
            continue
        if form is None:
            if part is not None and part.shape == ():
                found.append(Text(f"{name_derivative(name)} {TOO_LONG}", style="dim"))
            continue
        entries = np.asarray(form, dtype=object)
        for index in np.ndindex(entries.shape):
            label = name_derivative(name) + format_index(index)
            interval = kinks.get((name, index))
            if interval is not None:
                found.append(Text(f"{label} in {_format_between(interval)}"))
                continue
            written = spell(find_shortest(entries[index]))
            if len(written) <= READABLE or not index:
                found.append(FormulaLine(label, PathForm(written)))
    if opinion.conditions and (found or any(forms.texts.values())):
        found.append(Text(f"where {', '.join(opinion.conditions[:6])}", style="dim"))
    return found


def _list_findings(problem: Problem, verdict: Verdict) -> Iterator[RenderableType]:
    said = verdict.verdict
    silent = {name: o.abstains for name, o in verdict.opinions.items() if o.abstains}
    words = TWO if silent and said == "agree" else MEANINGS[said]
    yield Text.assemble((said, STYLES[said]), f"  {words}")
    for entry in verdict.entries[:ENTRIES]:
        words = f"{format_place(entry)}: {entry.why}{_explain_kink(verdict, entry)}"
        yield indent(Text(words, style="dim"), 2)
    for k, line in enumerate(list_suspect(problem, verdict)):
        yield Text(line) if k else indent(Text(line), 2)
    notes = [f"{HEADS[name]} abstains: {why}" for name, why in silent.items()]
    notes += [note for note in verdict.notes if not any(why in note for why in silent.values())]
    yield from (indent(Text(note, style="dim"), 2) for note in notes)


def list_suspect(problem: Problem, verdict: Verdict) -> Iterator[str]:
    """The first op whose own rule is off, and where it stands in the program."""
    for suspect in verdict.suspects[:1]:
        yield f"first op whose own rule is off: {suspect.op}, cell {suspect.cell}"
        yield from underline(problem.program.source, suspect.span)


def format_place(entry: Entry) -> str:
    """The entry of a gradient that is meant: `x[0]`."""
    return f"{entry.part or 'value'}{format_index(entry.index)}"


def _explain_kink(verdict: Verdict, entry: Entry) -> str:
    """The slopes between the sides, and the one that reverse mode, like PyTorch, takes there."""
    if entry.interval is None:
        return ""
    words = f"; every slope in {_format_between(entry.interval)} is a subgradient"
    taken = verdict.opinions["reverse"].gradients.get(entry.part)
    if taken is None:
        return words
    return f"{words}; PyTorch takes {plain(float(taken.value[entry.index]))}"


def write_summary(verdicts: Sequence[str], what: str = "problems") -> Text:
    """One line for a whole run."""
    words = ", ".join(f"{count} {said}" for said, count in Counter(verdicts).items())
    return Text(f"{len(verdicts)} {what}: {words}")


def dump_line(problem: Problem, point: Point, verdict: Verdict, forms: Formulas = NOT_SHOWN) -> str:
    """The contract's line of `solve --json`."""
    value = nest(_find_value(problem, point, verdict))
    line: dict[str, Any] = {"problem": problem.id, "verdict": verdict.verdict, "value": value}
    line["parts"] = {name: dump_part(verdict, name) for name in verdict.parts}
    for name, form in forms.texts.items():
        line["parts"][name]["matrix_form"] = form
        line["parts"][name]["latex"] = forms.latex.get(name)
    for name, found in forms.paths.items():
        latex = write_path(found)
        said = {"form": found.text, "where": found.where or None, "latex": latex or None}
        line["parts"][name] |= said | {"mathml": to_mathml(latex) or None}
    notes = [f"{format_place(e)}: {e.why}" for e in verdict.entries if e.why] + list(verdict.notes)
    if notes:
        line["notes"] = notes
    if problem.variant:
        line["variant"] = dict(problem.variant)
    return dump(line)


def dump_part(verdict: Verdict, name: str) -> dict[str, Any]:
    """One gradient as JSON: its verdict, its closed form, and the three opinions on it."""
    part = verdict.parts[name]
    closed = verdict.opinions["symbolic"].closed.get(name)
    found: dict[str, Any] = {"verdict": part.verdict, "closed_form": nest_text(closed)}
    for key in ORDER:
        opinion = verdict.opinions[key]
        if opinion.abstains:
            found[key] = {"abstains": opinion.abstains}
        elif name in opinion.gradients:
            estimate = opinion.gradients[name]
            widest = nest(np.max(estimate.error, initial=0.0))
            found[key] = {"value": nest(estimate.value), "error": widest}
        else:
            found[key] = {"directions": len(opinion.directions)}
    if part.interval is not None:
        found["interval"] = list(part.interval)
    return found
