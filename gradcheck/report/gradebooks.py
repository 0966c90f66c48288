"""Rows of CSV that a spreadsheet reads as what they are."""

from collections.abc import Sequence

# A cell that begins so is a formula to a spreadsheet (CWE-1236); an apostrophe makes it a text.
FORMULAS = ("=", "+", "-", "@", "\t", "\r")


def cells(row: Sequence[str], *, texts: int | None = None) -> str:
    """A row, every cell in quotes; the first `texts` cells (all, if None) are strangers' texts."""
    count = len(row) if texts is None else texts
    safe = [*map(harmless, row[:count]), *row[count:]]
    return ",".join('"{}"'.format(cell.replace('"', '""')) for cell in safe)


def harmless(text: str) -> str:
    """A text that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(FORMULAS) else text


def figure(points: float) -> str:
    """Points as a person writes them: no `.0`, no rounding noise."""
    return f"{points:.10g}"
