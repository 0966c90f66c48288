"""The catalogues of ops and of mistakes, read off their tables."""

import math
from itertools import groupby

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from gradcheck.diagnosis import Hypothesis, write_words
from gradcheck.mistakes import CATALOGUE, Mistake
from gradcheck.mistakes.training import TRAINING, WRITTEN
from gradcheck.mistakes.whole_answer import TYPING
from gradcheck.ops import COMPOUNDS, TABLE
from gradcheck.ops.row import Interval
from gradcheck.problem.record import USUAL
from gradcheck.report.tables import TextTable, indent


def make_ops_table() -> TextTable:
    """One line an op: name, other spellings, domain, kinks, which counterparts it has."""
    table = TextTable(("op", "also", "domain", "kinks", "counterparts"))
    for row in sorted(TABLE.values(), key=lambda row: row.name):
        intervals = [row.domain] if isinstance(row.domain, Interval) else row.domain
        domain = " × ".join(map(_format_interval, intervals))
        kinks = row.kinks if isinstance(row.kinks, str) else ", ".join(f"{k:g}" for k in row.kinks)
        own = [name for name in ("symbolic", "ball") if getattr(row, name) is not None]
        table.add(row.name, ", ".join(row.school), domain, kinks, ", ".join(own) or "NumPy")
    for formula in sorted(COMPOUNDS.values(), key=lambda entry: entry.name):
        table.add(formula.name, ", ".join(formula.school), "", "", "a formula of other ops")
    return table


def _format_interval(interval: Interval) -> str:
    low, high = interval
    if math.isinf(low) and math.isinf(high):
        return "ℝ"
    return f"({low:.4g}, {high:.4g})".replace("inf", "∞")


def make_mistakes_page() -> RenderableType:
    """Every mistake by family: its id, an example of it, the words for the student."""
    lines: list[RenderableType] = []
    rows = (*sort_rows(), *TRAINING, *WRITTEN.values(), *TYPING)
    for family, own in groupby(rows, key=lambda row: row.family):
        lines.append(Text(f"{family}\n", style="bold underline"))
        for row in own:
            kind, program = "slip" if row.slip else "misconception", row.example.program.rstrip()
            several = "\n" in row.example.program
            said = Hypothesis(row, None, texts={} if several else {"text": program})
            credit = f"  (a {kind}: usual credit {USUAL[kind]:g})"
            gap = "\n" if several else "  "
            lines += [
                Text.assemble((row.id, "bold"), (credit, "dim")),
                indent(Text(f"{program}{gap}answered  {write_answer(row)}"), 4),
                Padding(Text(write_words(said), style="dim"), (0, 0, 1, 4)),
            ]
    return Group(*lines)


def sort_rows() -> list[Mistake]:
    """The catalogue by family and id; several rows of one id keep their order."""
    return sorted(CATALOGUE, key=lambda row: (row.family, row.id))


def write_answer(row: Mistake) -> str:
    """The example's answer, as it would be typed."""
    return "; ".join(f"{name}: {text}" for name, text in row.example.answer.items())
