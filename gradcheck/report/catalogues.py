"""The catalogues of ops and of mistakes, read off their tables."""

import math

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from gradcheck.diagnosis import Hypothesis, write_words
from gradcheck.mistakes import CATALOGUE, Mistake
from gradcheck.mistakes.training import TRAINING, WRITTEN
from gradcheck.mistakes.whole_answer import TYPING
from gradcheck.ops import COMPOUNDS, TABLE
from gradcheck.ops.row import Interval, Op
from gradcheck.problem.record import USUAL
from gradcheck.report.tables import TextTable


def make_ops_table() -> TextTable:
    """One line an op: name, other spellings, domain, kinks, which counterparts it has."""
    table = TextTable(("op", "also", "domain", "kinks", "counterparts"))
    for row in sorted(TABLE.values(), key=lambda row: row.name):
        cells = (
            ", ".join(row.school),
            _format_domain(row),
            _format_kinks(row),
            _list_counterparts(row),
        )
        table.add(row.name, *cells)
    for formula in sorted(COMPOUNDS.values(), key=lambda entry: entry.name):
        table.add(formula.name, ", ".join(formula.school), "", "", "a formula of other ops")
    return table


def _format_domain(row: Op) -> str:
    if isinstance(row.domain, Interval):
        return _format_interval(row.domain)
    return " × ".join(map(_format_interval, row.domain))


def _format_interval(interval: Interval) -> str:
    low, high = interval
    if math.isinf(low) and math.isinf(high):
        return "ℝ"
    return f"({low:.4g}, {high:.4g})".replace("inf", "∞")


def _format_kinks(row: Op) -> str:
    return row.kinks if isinstance(row.kinks, str) else ", ".join(f"{k:g}" for k in row.kinks)


def _list_counterparts(row: Op) -> str:
    own = [name for name in ("symbolic", "ball") if getattr(row, name) is not None]
    return ", ".join(own) or "NumPy"


def make_mistakes_page() -> RenderableType:
    """Every mistake by family: its id, an example of it, the words for the student."""
    lines: list[RenderableType] = []
    family = ""
    for row in (*sort_rows(), *TRAINING, *WRITTEN.values(), *TYPING):
        if row.family != family:
            family = row.family
            lines.append(Text(f"{family}\n", style="bold underline"))
        kind = "slip" if row.slip else "misconception"
        credit = f"  (a {kind}: usual credit {USUAL[kind]:g})"
        lines.append(Text.assemble((row.id, "bold"), (credit, "dim")))
        program = row.example.program.rstrip()
        gap = "\n" if "\n" in program else "  "
        lines.append(Padding(Text(f"{program}{gap}answered  {write_answer(row)}"), (0, 0, 0, 4)))
        lines.append(
            Padding(
                Text(write_words(Hypothesis(row, None, texts=_quote_texts(row))), style="dim"),
                (0, 0, 1, 4),
            )
        )
    return Group(*lines)


def _quote_texts(row: Mistake) -> dict[str, str]:
    """What the words of a row mention, where they are said of its example."""
    return {} if "\n" in row.example.program else {"text": row.example.program}


def sort_rows() -> list[Mistake]:
    """The catalogue by family and id; several rows of one id keep their order."""
    return sorted(CATALOGUE, key=lambda row: (row.family, row.id))


def write_answer(row: Mistake) -> str:
    """The example's answer, as it would be typed."""
    return "; ".join(f"{name}: {text}" for name, text in row.example.answer.items())
