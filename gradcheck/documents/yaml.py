"""YAML 1.2 (and so JSON), read safely: plain values, and where each stands."""

import re
from collections.abc import Callable
from typing import Any, NoReturn

import yaml

from gradcheck.documents.decimals import WrittenFloat, check_digits
from gradcheck.documents.document import Document, DocumentNode, DocumentSpot, Value, complaint
from gradcheck.errors import Complaint, TextError

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


def read_yaml(text: str | bytes, file: str = "", *, limit: int = BYTES) -> Document:
    """The document in a text of at most `limit` bytes; TextError has one complaint a fault."""
    decoded = _decode(text, file, limit)
    lines = tuple(LINE_END.split(decoded))
    reader = _Reader(decoded, file, lines)
    try:
        root = reader.document()
    except yaml.YAMLError as error:
        _refuse_syntax(reader, error)
    if reader.complaints:
        raise TextError(reader.complaints)
    return Document(root, file, lines)


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


def _refuse_syntax(reader: "_Reader", error: yaml.YAMLError) -> NoReturn:
    """Refuse what the parser could not read, after the faults found before it."""
    mark = getattr(error, "problem_mark", None)
    problem = str(getattr(error, "problem", "")) or "a character that may not stand here"
    if (
        "end of stream" in problem or "expected ':'" in problem
    ):  # what is never closed begins where the context does
        mark = getattr(error, "context_mark", None) or mark
    cure = next(cure for words, cure in CURES if words in problem)
    spot = DocumentSpot(mark.line + 1, mark.column + 1) if mark else DocumentSpot(1, 1)
    if spot.line > len(reader.lines):
        spot = DocumentSpot(len(reader.lines), len(reader.lines[-1]) + 1)
    reader.complain(spot, f"not readable as YAML: {problem}", cure)
    raise TextError(reader.complaints)


class _Reader:
    """The parser's events, made into nodes one by one; collects complaints on the way."""

    def __init__(self, text: str, file: str, lines: tuple[str, ...]) -> None:
        """Start at the first event."""
        self.events = LOADER(text)
        self.file, self.lines = file, lines
        self.complaints: list[Complaint] = []
        self.values = 0

    def document(self) -> DocumentNode:
        """The one document of the stream."""
        self._next()
        event = self._next()
        if isinstance(event, yaml.StreamEndEvent):
            return DocumentNode(None, DocumentSpot(1, 1))
        root = self._node(self._next(), 0)
        self._next()
        event = self._next()
        if not isinstance(event, yaml.StreamEndEvent):
            self.complain(_spot(event), "a second document", "one file holds one: remove `---`")
        return root

    def complain(self, spot: DocumentSpot, message: str, cure: str) -> None:
        """Note a fault; past the most that anybody reads, stop."""
        self.complaints.append(complaint(self.file, self.lines, spot, message, cure))
        if len(self.complaints) >= COMPLAINTS:
            raise TextError(self.complaints)

    def _stop(self, spot: DocumentSpot, message: str, cure: str) -> NoReturn:
        """Note a fault after which reading on makes no sense."""
        self.complain(spot, message, cure)
        raise TextError(self.complaints)

    def _next(self) -> Any:
        """The next event."""
        return self.events.get_event()

    def _node(self, event: Any, depth: int) -> DocumentNode:
        """The node that an event starts."""
        self.values += 1
        if self.values > VALUES:
            self._stop(_spot(event), f"more than {VALUES:,} values", "split the file")
        if depth > DEPTH:
            self._stop(_spot(event), f"more than {DEPTH} levels deep", "flatten it")
        self._check_properties(event)
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event)
        if isinstance(event, yaml.SequenceStartEvent):
            return self._sequence(event, depth)
        if isinstance(event, yaml.MappingStartEvent):
            return self._mapping(event, depth)
        return DocumentNode(None, _spot(event))

    def _check_properties(self, event: Any) -> None:
        """Refuse aliases, anchors and tags."""
        cure = "write it out, or put the text in quotes if it is meant as text"
        if isinstance(event, yaml.AliasEvent):
            self.complain(_spot(event), f"the alias `*{event.anchor}`", cure)
        elif event.anchor is not None:
            self.complain(_spot(event), f"the anchor `&{event.anchor}`", cure)
        elif event.tag is not None:
            self.complain(_spot(event), f"the tag `{event.tag}`", "remove it, or quote the text")

    def _scalar(self, event: Any) -> DocumentNode:
        """A scalar: a text where it is quoted or a block, else what the core schema says."""
        spot, style = _spot(event), event.style or ""
        value: Value = event.value
        if not style:
            try:
                value = plain_value(event.value)
            except ValueError as error:
                self.complain(spot, str(error), "put it in quotes if it is meant as text")
        return DocumentNode(value, spot, event.value, style)

    def _sequence(self, start: Any, depth: int) -> DocumentNode:
        """A list."""
        nodes: list[DocumentNode] = []
        while not isinstance(event := self._next(), yaml.SequenceEndEvent):
            nodes.append(self._node(event, depth + 1))
        return DocumentNode([node.value for node in nodes], _spot(start), entries=nodes)

    def _mapping(self, start: Any, depth: int) -> DocumentNode:
        """A dict whose keys are texts, as they were written."""
        nodes: dict[str, DocumentNode] = {}
        while not isinstance(event := self._next(), yaml.MappingEndEvent):
            key, spot = self._key(event, depth), _spot(event)
            if first := nodes.get(key):
                line = first.key.line if first.key else 0
                cure = f"it first stands in line {line}: keep one"
                self.complain(spot, f"the key `{key}` stands here twice", cure)
            nodes[key] = self._node(self._next(), depth + 1)._replace(key=spot)
        values = {key: node.value for key, node in nodes.items()}
        return DocumentNode(values, _spot(start), entries=nodes)

    def _key(self, event: Any, depth: int) -> str:
        """The text of a key."""
        if isinstance(event, yaml.ScalarEvent):
            self._check_properties(event)
            return str(event.value)
        self.complain(_spot(event), "a key that is no plain text", "write `key: value`")
        return self._node(event, depth + 1).written


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
