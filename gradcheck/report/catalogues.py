"""`gradcheck ops` and `gradcheck mistakes`: the catalogues, read off their tables."""

import math
from collections.abc import Iterable

from rich.console import Console
from rich.table import Table

from gradcheck.mistakes import CATALOGUE
from gradcheck.ops import TABLE
from gradcheck.ops.row import Interval, Op


def print_ops() -> None:
    """One line an op: name, other spellings, domain, kinks, PyTorch's node."""
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    for head in ("op", "also", "domain", "kinks", "counterparts"):
        table.add_column(head, overflow="fold")
    for row in sorted(TABLE.values(), key=lambda row: row.name):
        cells = (", ".join(row.school), _domain(row), _kinks(row), _counterparts(row))
        table.add_row(row.name, *cells)
    Console(highlight=False).print(table)


def _domain(row: Op) -> str:
    if isinstance(row.domain, Interval):
        return _interval(row.domain)
    return " × ".join(map(_interval, row.domain))


def _interval(interval: Interval) -> str:
    low, high = interval
    if math.isinf(low) and math.isinf(high):
        return ""
    return f"({low:.4g}, {high:.4g})".replace("inf", "∞")


def _kinks(row: Op) -> str:
    return row.kinks if isinstance(row.kinks, str) else ", ".join(f"{k:g}" for k in row.kinks)


def _counterparts(row: Op) -> str:
    own = [name for name in ("symbolic", "ball") if getattr(row, name) is not None]
    return ", ".join(own) or "NumPy"


def print_mistakes() -> None:
    """One line a mistake: id, family, an example of it, the words for the student."""
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    for head in ("mistake", "family", "for example", "words"):
        table.add_column(head, overflow="fold")
    for mistake, family, example, words in catalogue():
        table.add_row(mistake, family, example, words)
    Console(highlight=False).print(table)


def catalogue() -> Iterable[tuple[str, str, str, str]]:
    """Every mistake with its family, its example and its words."""
    for row in CATALOGUE:
        answer = "; ".join(f"{name}: {text}" for name, text in row.example.answer.items())
        yield row.id, row.family, f"{row.example.program} → {answer}", row.says


def markdown_mistakes() -> str:
    """The catalogue as the README's table: one line an id, the example of its first row."""
    lines = ["| mistake | family | for example |", "| --- | --- | --- |"]
    seen: set[tuple[str, str]] = set()
    for mistake, family, example, _ in catalogue():
        if (mistake, family) not in seen:
            seen.add((mistake, family))
            lines.append(f"| `{mistake}` | {family} | `{example.replace('|', chr(92) + '|')}` |")
    return "\n".join(lines)
