"""YAML 1.2 (and so JSON), read safely: plain values, and where each stands."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn, TypeAlias

import yaml

from gradcheck.documents.decimals import WrittenFloat, check_digits
from gradcheck.documents.passage import WIDEST
from gradcheck.documents.table import decode
from gradcheck.errors import Complaint, TextError

Value: TypeAlias = "dict[str, Value] | list[Value] | str | int | float | bool | None"
Path: TypeAlias = Sequence[str | int]

BYTES = 1_000_000
DEPTH = 50
VALUES = 100_000
COMPLAINTS = 20

LOADER: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

# What the parser counts as the end of a line, so that our line numbers are its.
LINE_END = re.compile("\r\n|[\r\n\x85\u2028\u2029]")
SURROGATES = re.compile(r"(?<!\\)((?:\\\\)*)(\\ud[89ab][\da-f]{2}\\ud[c-f][\da-f]{2})", re.I)
"""Two escapes of JSON for one character, which YAML does not know."""

# What the parser's own words contain, and what to do about it; first match first.
CURES = (
    ("mapping values", "put a text that contains `: ` in quotes, or indent all keys alike"),
    ("',' or", "close the bracket, or put a comma between two entries"),
    ("escape", "a backslash in \"...\" starts an escape: double it, or write '...'"),
    ("end of stream", "close the quote or the bracket"),
    ("start any token", "write spaces instead of tabs, and put a text in quotes"),
    ("character", "remove it"),
    ("", "indent all keys of one entry alike; put the text in quotes if it is meant as text"),
)


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
    style: str | None = ""
    key: DocumentSpot | None = None
    entries: "dict[str, DocumentNode] | list[DocumentNode] | None" = None

    def entry(self, step: str | int) -> "DocumentNode | None":
        """The node under one key or index, None where there is none."""
        if isinstance(self.entries, dict):
            return self.entries.get(str(step))
        listed = self.entries or ()
        return listed[step] if isinstance(step, int) and 0 <= step < len(listed) else None


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
            if (inner := node.entry(step)) is None:
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
        header, column, _ = node.spot
        if node.style not in ("|", ">"):
            return header, column + len(node.style or "")
        for line, content in zip(self.lines[header:], node.written.split("\n"), strict=False):
            if content.strip():  # the file's line has the block's margin more
                margin = len(line) - len(line.lstrip(" "))
                return header + 1, 1 + margin - len(content) + len(content.lstrip(" "))
        return header + 1, 1

    def complaint(
        self, path: Path, message: str, cure: str = "", *, key: bool = False
    ) -> Complaint:
        """A complaint about the value at a path, or about its key."""
        return _complaint(self.file, self.lines, self.spot(path, key=key), message, cure)


def _complaint(
    file: str, lines: Sequence[str], spot: DocumentSpot, message: str, cure: str = ""
) -> Complaint:
    """A complaint about a spot of a file, with its line if that can be shown."""
    line, column, width = spot
    shown = lines[line - 1] if line <= len(lines) else ""
    shown = shown if len(shown) <= WIDEST and shown.isprintable() else ""
    return Complaint(message, cure, file, line, column, shown, width)


def read_yaml(text: str | bytes, file: str = "", *, limit: int = BYTES) -> "Document":
    """The document in a text of at most `limit` bytes; TextError has one complaint a fault."""
    if len(text) > limit:
        words = f"{len(text):,} bytes, at most {limit:,} are read"
        raise TextError([Complaint(words, "split the file", file, 1, 1)])
    text = text if isinstance(text, str) else decode(text, file)
    text = SURROGATES.sub(lambda found: found[1] + json.loads(f'"{found[2]}"'), text)
    reader = _Reader(text.removeprefix("\ufeff"), file)
    return Document(reader.document(), file, reader.lines)


class _Reader:
    """The parser's events, made into nodes one by one; collects faults on the way.

    PyYAML's own nodes forget anchors, and it makes them without a limit of depth.
    """

    def __init__(self, text: str, file: str) -> None:
        self.text, self.file, self.lines = text, file, tuple(LINE_END.split(text))
        self.faults: list[Complaint] = []
        self.values = 0

    def document(self) -> DocumentNode:
        """The one document of the text."""
        root = DocumentNode(None, DocumentSpot(1, 1))
        try:
            self.events = LOADER(self.text)
            self.events.get_event()
            if not isinstance(self.events.get_event(), yaml.StreamEndEvent):
                root = self._node(0)
                self.events.get_event()
                if not isinstance(event := self.events.get_event(), yaml.StreamEndEvent):
                    cure = "one file holds one: remove `---`"
                    self._complain(_spot(event), "a second document", cure)
        except (yaml.YAMLError, UnicodeEncodeError) as error:
            self._complain(*self._describe(error), stop=True)
        if self.faults:
            raise TextError(self.faults)
        return root

    def _describe(self, error: Exception) -> tuple[DocumentSpot, str, str]:
        """Where the parser stopped, what it says, and the cure."""
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
        if "end of stream" in problem or "expected ':'" in problem:  # it begins before
            mark = getattr(error, "context_mark", None) or mark
        cure = next(cure for words, cure in CURES if words in problem)
        position = getattr(error, "position", getattr(error, "start", None))
        before = LINE_END.split(self.text[:position])
        spot = DocumentSpot(len(before), len(before[-1]) + 1)
        if mark and mark.line < len(self.lines):
            spot = DocumentSpot(mark.line + 1, mark.column + 1)
        return spot, f"not readable as YAML: {problem}", cure

    def _complain(self, spot: DocumentSpot, message: str, cure: str, *, stop: bool = False) -> None:
        """Note a fault; where the rest makes no sense, or nobody would read more, it is the end."""
        self.faults.append(_complaint(self.file, self.lines, spot, message, cure))
        if stop or len(self.faults) >= COMPLAINTS:
            raise TextError(self.faults)

    def _node(self, depth: int) -> DocumentNode:
        """The next node, with all that is in it."""
        event = self.events.get_event()
        spot = _spot(event)
        self.values += 1
        if self.values > VALUES:
            self._complain(spot, f"more than {VALUES:,} values", "split the file", stop=True)
        if depth > DEPTH:
            self._complain(spot, f"more than {DEPTH} levels deep", "flatten it", stop=True)
        self._check_properties(event, spot)
        match event:
            case yaml.ScalarEvent(value=text, style=style):
                value: Value = text
                try:
                    value = text if style else plain_value(text)
                except ValueError as error:
                    self._complain(spot, str(error), "put it in quotes if it is meant as text")
                return DocumentNode(value, spot, text, style)
            case yaml.SequenceStartEvent():
                nodes = []
                while not self._ends(yaml.SequenceEndEvent):
                    nodes.append(self._node(depth + 1))
                return DocumentNode([node.value for node in nodes], spot, entries=nodes)
            case yaml.MappingStartEvent():
                entries = self._entries(depth + 1)
                values = {key: node.value for key, node in entries.items()}
                return DocumentNode(values, spot, entries=entries)
        return DocumentNode(None, spot)

    def _ends(self, end: type) -> bool:
        return self.events.check_event(end) and bool(self.events.get_event())

    def _check_properties(self, event: Any, spot: DocumentSpot) -> None:
        """Refuse aliases, anchors and tags."""
        what = ""
        if event.anchor is not None:
            alias = isinstance(event, yaml.AliasEvent)
            what = f"the alias `*{event.anchor}`" if alias else f"the anchor `&{event.anchor}`"
        elif getattr(event, "tag", None) is not None:
            what = f"the tag `{event.tag}`"
        if what:
            self._complain(spot, what, "write it out, or put the text in quotes if it is a text")

    def _entries(self, depth: int) -> dict[str, DocumentNode]:
        """The nodes of a mapping by their keys, which are texts as they were written."""
        nodes: dict[str, DocumentNode] = {}
        while not self._ends(yaml.MappingEndEvent):
            event = self.events.peek_event()
            spot = _spot(event)
            if isinstance(event, yaml.ScalarEvent):
                self._check_properties(self.events.get_event(), spot)
                key = str(event.value)
            else:
                self._complain(spot, "a key that is no plain text", "write `key: value`")
                key = self._node(depth).written
            if first := nodes.get(key):
                line = first.key.line if first.key else 0
                cure = f"it first stands in line {line}: keep one"
                self._complain(spot, f"the key `{key}` stands here twice", cure)
            nodes[key] = self._node(depth)._replace(key=spot)
        return nodes


def _spot(event: Any) -> DocumentSpot:
    """Where an event starts, and its width if it ends on that line."""
    start, end = event.start_mark, event.end_mark
    width = end.column - start.column if end.line == start.line else 1
    return DocumentSpot(start.line + 1, start.column + 1, max(width, 1))


def plain_value(text: str) -> Value:
    """The value, by the core schema, of a scalar without quotes; ValueError refuses a number."""
    if text and text[0] not in STARTS:
        return text
    return next((value(text) for pattern, value in CORE if pattern.fullmatch(text)), text)


def _integer(text: str) -> int:
    check_digits(text.lstrip("+-"))
    return int(text, 0)


def _not_finite(text: str) -> NoReturn:
    raise ValueError(f"`{text}` is not a finite number")


# First match first. Leading zeros make a text: 0123 is somebody's number, not a quantity.
CORE: tuple[tuple[re.Pattern[str], Callable[[str], Value]], ...] = (
    (re.compile(r"|~|null|Null|NULL"), lambda text: None),
    (re.compile(r"true|True|TRUE"), lambda text: True),
    (re.compile(r"false|False|FALSE"), lambda text: False),
    (re.compile(r"[-+]?(0|[1-9][0-9]*)|0o[0-7]+|0x[0-9a-fA-F]+"), _integer),
    (re.compile(r"[-+]?(\.[0-9]+|(0|[1-9][0-9]*)(\.[0-9]*)?)([eE][-+]?[0-9]+)?"), WrittenFloat),
    (re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"), _not_finite),
)
STARTS = frozenset("0123456789+-.~nNtTfF")
