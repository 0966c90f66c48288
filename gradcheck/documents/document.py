"""A file that was read: its plain values, and the line and column of each."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from gradcheck.documents.passage import WIDEST
from gradcheck.errors import Complaint

Value: TypeAlias = "dict[str, Value] | list[Value] | str | int | float | bool | None"
Path: TypeAlias = Sequence[str | int]


class DocumentSpot(NamedTuple):
    """A line and a column, counted from 1, and how many characters of the line are meant."""

    line: int
    column: int
    width: int = 1


class DocumentNode(NamedTuple):
    """A value with its spot, its text as written, and the nodes inside it."""

    value: Value
    spot: DocumentSpot
    written: str = ""
    style: str = ""
    key: DocumentSpot | None = None
    entries: "dict[str, DocumentNode] | list[DocumentNode] | None" = None

    def entry(self, step: str | int) -> "DocumentNode | None":
        """The node under one key or index, None where there is none."""
        entries = self.entries
        if isinstance(entries, dict):
            return entries.get(str(step))
        if entries and isinstance(step, int) and 0 <= step < len(entries):
            return entries[step]
        return None


@dataclass(frozen=True)
class Document:
    """The value of a file, and the place of everything in it."""

    root: DocumentNode
    file: str
    lines: tuple[str, ...]

    @property
    def value(self) -> Value:
        """Plain dicts (keys are text), lists, strings, numbers, booleans and None."""
        return self.root.value

    def node(self, path: Path) -> DocumentNode:
        """The node at a path, or the deepest one on the way to what is missing."""
        node = self.root
        for step in path:
            inner = node.entry(step)
            if inner is None:
                break
            node = inner
        return node

    def spot(self, path: Path, *, key: bool = False) -> DocumentSpot:
        """The spot of the value at a path, or of the key that it stands under."""
        node = self.node(path)
        return node.key if key and node.key else node.spot

    def origin(self, path: Path) -> tuple[int, int]:
        """Where the first character of the text at a path stands, inside quotes or a block."""
        node = self.node(path)
        line, column, _ = node.spot
        if node.style in ("|", ">"):
            return line + 1, 1 + self._margin(line, node.written)
        return line, column + len(node.style)

    def _margin(self, header: int, text: str) -> int:
        """By how many columns the block under a header line is indented."""
        for below, content in enumerate(text.split("\n")):
            if content.strip() and header + below < len(self.lines):
                line = self.lines[header + below]
                return len(line) - len(line.lstrip(" ")) - len(content) + len(content.lstrip(" "))
        return 0

    def complaint(
        self, path: Path, message: str, cure: str = "", *, key: bool = False
    ) -> Complaint:
        """A complaint about the value at a path, or about its key."""
        return complaint(self.file, self.lines, self.spot(path, key=key), message, cure)


def complaint(
    file: str, lines: Sequence[str], spot: DocumentSpot, message: str, cure: str = ""
) -> Complaint:
    """A complaint about a spot of a file, with its line unless that is too long to show."""
    line, column, width = spot
    shown = lines[line - 1] if line <= len(lines) else ""
    return Complaint(
        message, cure, file, line, column, shown if len(shown) <= WIDEST else "", width
    )
