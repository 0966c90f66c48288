"""The summary of a class for the terminal: students' points, problems, and the mistakes."""

from collections.abc import Iterable, Mapping

from rich.table import Table
from rich.text import Text

VERDICTS = ("right", "wrong", "invalid", "missing", "needs-review")
STYLES = {
    "right": "green",
    "wrong": "red",
    "invalid": "yellow",
    "missing": "dim",
    "needs-review": "magenta",
}


def table(*headers: str) -> Table:
    """A table without lines, its first column to the left."""
    found = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    for k, header in enumerate(headers):
        found.add_column(header, justify="right" if k else "left", overflow="fold")
    return found


def students(totals: Iterable[tuple[str, float]], possible: float) -> Table:
    """Each student's points."""
    found = table("student", "points")
    for name, got in totals:
        found.add_row(Text(name, style="bold"), f"{got:g} of {possible:g}")
    return found


def problems(verdicts: Mapping[str, Mapping[str, int]]) -> Table:
    """How often each verdict was given to each problem's answers."""
    found = table("problem", *(v.replace("needs-", "") for v in VERDICTS))
    for id, counts in verdicts.items():
        cells = ((counts.get(v, 0), STYLES[v]) for v in VERDICTS)
        row = [Text(str(count), style=style if count else "dim") for count, style in cells]
        found.add_row(Text(id, style="bold"), *row)
    return found


def mistakes(counts: Mapping[str, int]) -> Table:
    """The mistakes of the class, the commonest first."""
    found = table("mistake", "answers")
    for id, count in sorted(counts.items(), key=lambda each: (-each[1], each[0])):
        found.add_row(Text(id, style="bold"), str(count))
    return found
