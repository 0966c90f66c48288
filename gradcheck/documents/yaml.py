"""YAML 1.2 (and so JSON), read safely: plain values, and where each stands."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn, TypeAlias

import yaml

from gradcheck.documents.decimals import WrittenFloat, check_digits
from gradcheck.documents.passage import WIDEST
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
FORBIDDEN = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
FLOW = re.compile(r"\s*[\[{]")
MARGIN = re.compile(r"^[ \t]+", re.MULTILINE)
SURROGATES = re.compile(r"(?<!\\)((?:\\\\)*)\\u(d[89ab][\da-f]{2})\\u(d[c-f][\da-f]{2})", re.I)

# What the parser's own words contain, and what to do about it; first match first.
CURES = (
    (
        "mapping values are not allowed",
        "put a text that contains `: ` in quotes, or indent all keys alike",
    ),
    ("',' or", "close the bracket, or put a comma between two entries"),
    ("escape", "a backslash in \"...\" starts an escape: double it, or write '...'"),
    ("did not find expected", "indent all keys of one entry alike; put a text in quotes"),
    ("block", "indent the entries of one list or mapping alike"),
    ("end of stream", "close the quote or the bracket"),
    ("':'", "write `key: value`"),
    ("", "put the text in quotes if it is meant as text"),
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
        return line, column + len(node.style or "")

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
        return _complaint(self.file, self.lines, self.spot(path, key=key), message, cure)


def _complaint(
    file: str, lines: Sequence[str], spot: DocumentSpot, message: str, cure: str = ""
) -> Complaint:
    """A complaint about a spot of a file, with its line unless that is too long to show."""
    line, column, width = spot
    shown = lines[line - 1] if line <= len(lines) else ""
    return Complaint(
        message, cure, file, line, column, shown if len(shown) <= WIDEST else "", width
    )


def read_yaml(text: str | bytes, file: str = "", *, limit: int = BYTES) -> "Document":
    """The document in a text of at most `limit` bytes; TextError has one complaint a fault."""
    decoded = _decode(text, file, limit)
    reader = _Reader(decoded, file)
    try:
        root = reader.document()
    except yaml.YAMLError as error:
        reader.stop(*_syntax(error, reader.lines))
    if reader.complaints:
        raise TextError(reader.complaints)
    return Document(root, file, reader.lines)


def _decode(text: str | bytes, file: str, limit: int) -> str:
    """The characters of a file that is small enough, UTF-8, and free of tabs and controls."""
    if len(text) > limit:
        _refuse(file, "", f"{len(text):,} bytes, at most {limit:,} are read", "split the file")
    try:
        decoded = text if isinstance(text, str) else text.decode("utf-8")
    except UnicodeDecodeError as error:
        before = error.object[: error.start].decode("utf-8")
        _refuse(file, before, "this is not UTF-8", "save the file as UTF-8")
    decoded = decoded.removeprefix("\ufeff")
    if FLOW.match(decoded):
        decoded = _yaml_of_json(decoded)
    if bad := FORBIDDEN.search(decoded):
        what = f"the character U+{ord(bad[0]):04X} may not stand in YAML"
        _refuse(file, decoded[: bad.start()], what, "remove it")
    if (tab := decoded.find("\t")) >= 0:
        _refuse(file, decoded[:tab], "a tab", "write spaces; each editor shows tabs differently")
    return decoded


def _yaml_of_json(text: str) -> str:
    """JSON as YAML reads it: tabs of the margin as spaces, surrogate pairs as one escape."""
    spaced = MARGIN.sub(lambda margin: " " * len(margin[0]), text)
    return SURROGATES.sub(_one_escape, spaced)


def _one_escape(pair: re.Match[str]) -> str:
    """The YAML escape of the character that two JSON escapes stand for."""
    high, low = int(pair[2], 16) - 0xD800, int(pair[3], 16) - 0xDC00
    return f"{pair[1]}\\U{0x10000 + (high << 10) + low:08X}"


def _refuse(file: str, before: str, message: str, cure: str) -> NoReturn:
    """Refuse the whole file for what stands after `before`."""
    lines = LINE_END.split(before)
    raise TextError([Complaint(message, cure, file, len(lines), len(lines[-1]) + 1)])


def _syntax(error: yaml.YAMLError, lines: Sequence[str]) -> tuple[DocumentSpot, str, str]:
    """Where and why the parser could not go on."""
    mark = getattr(error, "problem_mark", None)
    problem = str(getattr(error, "problem", "")) or "a character that may not stand here"
    if "end of stream" in problem or "expected ':'" in problem:  # what lacks its end begins before
        mark = getattr(error, "context_mark", None) or mark
    cure = next(cure for words, cure in CURES if words in problem)
    spot = DocumentSpot(mark.line + 1, mark.column + 1) if mark else DocumentSpot(1, 1)
    if spot.line > len(lines):
        spot = DocumentSpot(len(lines), len(lines[-1]) + 1)
    return spot, f"not readable as YAML: {problem}", cure


class _Reader:
    """The parser's events, made into nodes one by one; collects complaints on the way.

    PyYAML's own nodes forget anchors, and it makes them without a limit of depth.
    """

    def __init__(self, text: str, file: str) -> None:
        self.events = LOADER(text)
        self.file, self.lines = file, tuple(LINE_END.split(text))
        self.complaints: list[Complaint] = []
        self.values = 0

    def document(self) -> DocumentNode:
        """The one document of the stream."""
        self.events.get_event()
        if isinstance(self.events.get_event(), yaml.StreamEndEvent):
            return DocumentNode(None, DocumentSpot(1, 1))
        root = self._node(0)
        self.events.get_event()
        event = self.events.get_event()
        if not isinstance(event, yaml.StreamEndEvent):
            self.complain(_spot(event), "a second document", "one file holds one: remove `---`")
        return root

    def complain(self, spot: DocumentSpot, message: str, cure: str) -> None:
        """Note a fault; past the most that anybody reads, stop."""
        self.complaints.append(_complaint(self.file, self.lines, spot, message, cure))
        if len(self.complaints) >= COMPLAINTS:
            raise TextError(self.complaints)

    def stop(self, spot: DocumentSpot, message: str, cure: str) -> NoReturn:
        """Note a fault after which reading on makes no sense."""
        self.complain(spot, message, cure)
        raise TextError(self.complaints)

    def _node(self, depth: int) -> DocumentNode:
        """The next node, with all that is in it."""
        event = self.events.get_event()
        spot = _spot(event)
        self.values += 1
        if self.values > VALUES:
            self.stop(spot, f"more than {VALUES:,} values", "split the file")
        if depth > DEPTH:
            self.stop(spot, f"more than {DEPTH} levels deep", "flatten it")
        self._check_properties(event, spot)
        match event:
            case yaml.ScalarEvent(value=text, style=style):
                return DocumentNode(text if style else self._plain(text, spot), spot, text, style)
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

    def _plain(self, text: str, spot: DocumentSpot) -> Value:
        try:
            return plain_value(text)
        except ValueError as error:
            self.complain(spot, str(error), "put it in quotes if it is meant as text")
            return text

    def _check_properties(self, event: Any, spot: DocumentSpot) -> None:
        """Refuse aliases, anchors and tags."""
        cure = "write it out, or put the text in quotes if it is meant as text"
        if isinstance(event, yaml.AliasEvent):
            self.complain(spot, f"the alias `*{event.anchor}`", cure)
        elif event.anchor is not None:
            self.complain(spot, f"the anchor `&{event.anchor}`", cure)
        elif event.tag is not None:
            self.complain(spot, f"the tag `{event.tag}`", "remove it, or quote the text")

    def _entries(self, depth: int) -> dict[str, DocumentNode]:
        """The nodes of a mapping by their keys, which are texts as they were written."""
        nodes: dict[str, DocumentNode] = {}
        while not self._ends(yaml.MappingEndEvent):
            spot, key = _spot(self.events.peek_event()), self._key(depth)
            if first := nodes.get(key):
                line = first.key.line if first.key else 0
                cure = f"it first stands in line {line}: keep one"
                self.complain(spot, f"the key `{key}` stands here twice", cure)
            nodes[key] = self._node(depth)._replace(key=spot)
        return nodes

    def _key(self, depth: int) -> str:
        event = self.events.peek_event()
        if isinstance(event, yaml.ScalarEvent):
            self._check_properties(self.events.get_event(), _spot(event))
            return str(event.value)
        self.complain(_spot(event), "a key that is no plain text", "write `key: value`")
        return self._node(depth).written


def _spot(event: Any) -> DocumentSpot:
    """Where an event starts, and its width if it ends on that line."""
    start, end = event.start_mark, event.end_mark
    width = end.column - start.column if end.line == start.line else 1
    return DocumentSpot(start.line + 1, start.column + 1, max(width, 1))


# -- the core schema: which value a scalar without quotes has -------------------------------------


def plain_value(text: str) -> Value:
    """The value of a scalar without quotes; ValueError says why a number is refused."""
    if text and text[0] not in STARTS:
        return text
    for pattern, value in CORE:
        if pattern.fullmatch(text):
            return value(text)
    return text


def _integer(text: str) -> int:
    """An integer in any of the core schema's bases."""
    check_digits(text.lstrip("+-"))
    return int(text, 0)


def _not_finite(text: str) -> NoReturn:
    """There is nothing to differentiate at infinity, or at NaN."""
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
