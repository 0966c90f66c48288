"""A text inside a file, and the places in it: lines, columns, character offsets."""

import ast
from dataclasses import dataclass
from functools import cached_property

from gradcheck.errors import Complaint

WIDEST = 500

# Line, end line (from 1), byte column, end byte column (from 0) as `co_positions` orders them.
Where = tuple[int, int, int, int]


@dataclass(frozen=True)
class Passage:
    """A text and the place in the file where its first character stands."""

    source: str
    file: str = ""
    line: int = 1
    column: int = 1

    @cached_property
    def lines(self) -> tuple[str, ...]:
        return tuple(self.source.split("\n"))

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The character offset at which each line starts."""
        starts = [0]
        for line in self.lines:
            starts.append(starts[-1] + len(line) + 1)
        return tuple(starts)

    def character(self, line: int, byte: int) -> int:
        """The character column (from 0) of a byte column of a line."""
        if not 1 <= line <= len(self.lines):
            return 0
        text = self.lines[line - 1]
        coded = text.encode(errors="replace")[:byte]
        return byte if text.isascii() else len(coded.decode(errors="ignore"))

    def offset(self, line: int, byte: int) -> int:
        """The character offset in the text of a byte column of a line."""
        return self.starts[min(line, len(self.lines)) - 1] + self.character(line, byte)

    def span(self, where: Where) -> tuple[int, int]:
        """The character offsets between which a place lies."""
        line, end_line, start, end = where
        return self.offset(line, start), self.offset(end_line, end)

    def text(self, where: Where) -> str:
        return self.source[slice(*self.span(where))]

    def complaint(self, message: str, cure: str = "", where: Where = (1, 1, 0, 0)) -> Complaint:
        """A complaint about a place of the text, placed in the file."""
        line, end_line, start, end = where
        shown = self.lines[min(line, len(self.lines)) - 1]
        first = min(self.character(line, start), len(shown))
        last = self.character(line, end) if end_line == line else len(shown)
        return Complaint(
            message=message,
            cure=cure,
            file=self.file,
            line=self.line + line - 1,
            column=self.column + first,
            source=" " * (self.column - 1) + shown if len(shown) <= WIDEST else "",
            width=max(last - first, 1),
        )


def where_is(node: ast.AST) -> Where:
    """The place of a node of a syntax tree; the first character where it has none."""
    line = getattr(node, "lineno", None) or 1
    start = getattr(node, "col_offset", None) or 0
    end_line = getattr(node, "end_lineno", None) or line
    end = getattr(node, "end_col_offset", None) or start
    return line, end_line, start, end
