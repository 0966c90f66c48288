"""Documents from anybody, read safely: the values of YAML 1.2 (and so JSON), and where each stands.

Decimal numbers are kept as they were written: 0.1 is one tenth for every kind of number.
"""

import ast
import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple, NoReturn, TypeAlias

import yaml

from gradcheck.documents.table import decode
from gradcheck.errors import TYPED_EXPONENT, Complaint, TextError

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
        return (0, *accumulate(len(line) + 1 for line in self.lines))

    def character(self, line: int, byte: int) -> int:
        """The character column (from 0) of a byte column of a line."""
        if not 1 <= line <= len(self.lines):
            return 0
        text = self.lines[line - 1]
        coded = text.encode(errors="replace")[:byte]
        return byte if text.isascii() else len(coded.decode(errors="ignore"))

    def span(self, where: Where) -> tuple[int, int]:
        """The character offsets between which a place lies."""
        first, last = (
            self.starts[min(line, len(self.lines)) - 1] + self.character(line, byte)
            for line, byte in (where[::2], where[1::2])
        )
        return first, last

    def text(self, where: Where) -> str:
        return self.source[slice(*self.span(where))]

    def complaint(self, message: str, cure: str = "", where: Where = (1, 1, 0, 0)) -> Complaint:
        """A complaint about a place of the text, placed in the file."""
        line, end_line, start, end = where
        shown = self.lines[min(line, len(self.lines)) - 1]
        first = min(self.character(line, start), len(shown))
        last = self.character(line, end) if end_line == line else len(shown)
        source = " " * (self.column - 1) + shown if len(shown) <= WIDEST else ""
        place = self.file, self.line + line - 1, self.column + first
        return Complaint(message, cure, *place, source, max(last - first, 1))


def locate_node(node: ast.AST) -> Where:
    """The place of a node of a syntax tree; the first character where it has none."""
    line = getattr(node, "lineno", None) or 1
    start = getattr(node, "col_offset", None) or 0
    end_line = getattr(node, "end_lineno", None) or line
    end = getattr(node, "end_col_offset", None) or start
    return line, end_line, start, end


# -- values and their places ----------------------------------------------------------------------

Value: TypeAlias = "dict[str, Value] | list[Value] | str | int | float | bool | None"
Path: TypeAlias = tuple[str | int, ...]

BYTES = 1_000_000
DEPTH = 50
VALUES = 100_000
COMPLAINTS = 20
DIGITS = 40
DECIMAL = re.compile(r"[-+]?(\d*)\.?(\d*)(?:[eE]([-+]?\d+))?", re.ASCII)

LOADER: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

# What the parser counts as the end of a line, so that our line numbers are its.
LINE_END = re.compile("\r\n|[\r\n\x85\u2028\u2029]")
SURROGATES = re.compile(r"(?<!\\)((?:\\\\)*)(\\ud[89ab][\da-f]{2}\\ud[c-f][\da-f]{2})", re.I)
"""Two escapes of JSON for one character, which YAML does not know."""

# What the parser's own words contain, and what to do about it; first match first.
CURES = (
    (
        "mapping values",
        "put a text that contains `: ` in quotes, indent all keys alike,"
        " and write a blank behind `-` and `:`",
    ),
    ("',' or", "close the bracket, or put a comma between two entries"),
    ("escape", "a backslash in \"...\" starts an escape: double it, or write '...'"),
    ("end of stream", "close the quote or the bracket"),
    ("start any token", "write spaces instead of tabs, and put a text in quotes"),
    ("tab character", "write spaces instead of tabs"),
    ("characters are", "remove it, or save the file as UTF-8"),
    ("", "indent all keys of one entry alike; put the text in quotes if it is meant as text"),
)


class DocumentSpot(NamedTuple):
    """A line and a column, counted from 1, and how many characters of the line are meant."""

    line: int
    column: int
    width: int = 1


def read_yaml(text: str | bytes, file: str = "", *, limit: int = BYTES) -> "Document":
    """The document in a text of at most `limit` bytes; TextError has one complaint a fault."""
    if len(text) > limit:
        words = f"more than {limit:,} bytes, which is all that is read"
        raise TextError([Complaint(words, "split the file", file, 1, 1)])
    text = text if isinstance(text, str) else decode(text, file)[0]
    text = SURROGATES.sub(lambda found: found[1] + json.loads(f'"{found[2]}"'), text)
    return Document(text.removeprefix("\ufeff"), file)


class Document:
    """The value of a file, and the place of everything in it.

    PyYAML's events are kept, by paths, of values and of the keys that they stand under: its nodes
    forget anchors, and it makes them without a limit of depth, up to the first fault.
    """

    def __init__(self, text: str, file: str) -> None:
        """Read the one document of the text; TextError has its faults."""
        self.file, self.lines = file, tuple(LINE_END.split(text))
        self.value: Value = None
        self.faults: list[Complaint] = []
        self.keys: dict[Path, Any] = {}
        try:
            self.parser = LOADER(text)
            self.parser.get_event()
            self.events: dict[Path, Any] = {(): self.parser.get_event()}
            if not isinstance(self.events[()], yaml.StreamEndEvent):
                self.value = self._read(())
                self.parser.get_event()
                if not isinstance(event := self.parser.get_event(), yaml.StreamEndEvent):
                    cure = "one file holds one: remove `---`"
                    self._complain(event, "a second document", cure)
        except (yaml.YAMLError, UnicodeEncodeError) as error:
            self.faults.append(self._place(*self._describe(error, text)))
        if self.faults:
            raise TextError(self.faults)

    # -- places ------------------------------------------------------------------------------------

    def spot(self, path: Path, *, key: bool = False) -> DocumentSpot:
        """The spot of the value at a path, or of its key; of what holds it where it is missing."""
        while path not in self.events:
            path = path[:-1]
        return _locate(self.keys.get(path, self.events[path]) if key else self.events[path])

    def passage(self, path: Path) -> Passage:
        return Passage(self.events[path].value, self.file, *self.origin(path))

    def origin(self, path: Path) -> tuple[int, int]:
        """Where the first character of the text at a path stands, inside quotes or a block."""
        event = self.events[path]
        header, column, _ = _locate(event)
        if event.style not in ("|", ">"):
            return header, column + len(event.style or "")
        for line, content in zip(self.lines[header:], event.value.split("\n"), strict=False):
            if content.strip():  # the file's line has the block's margin more
                margin = len(line) - len(line.lstrip(" "))
                return header + 1, 1 + margin - len(content) + len(content.lstrip(" "))
        return header + 1, 1

    def complaint(
        self, path: Path, message: str, cure: str = "", *, key: bool = False
    ) -> Complaint:
        """A complaint about the value at a path, or about its key."""
        return self._place(self.spot(path, key=key), message, cure)

    def _place(self, spot: DocumentSpot, message: str, cure: str) -> Complaint:
        """A complaint about a spot of the file, with its line if that can be shown."""
        line, column, width = spot
        shown = self.lines[line - 1] if line <= len(self.lines) else ""
        shown = shown if len(shown) <= WIDEST and shown.isprintable() else ""
        return Complaint(message, cure, self.file, line, column, shown, width)

    def _complain(self, event: Any, message: str, cure: str, *, stop: bool = False) -> None:
        """Note a fault; where the rest makes no sense, or nobody would read more, it is the end."""
        self.faults.append(self._place(_locate(event), message, cure))
        if stop or len(self.faults) >= COMPLAINTS:
            raise TextError(self.faults)

    def _describe(self, error: Exception, text: str) -> tuple[DocumentSpot, str, str]:
        """Where the parser stopped, what it says, and the cure."""
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
        if "end of stream" in problem or "expected ':'" in problem:  # it begins before
            mark = getattr(error, "context_mark", None) or mark
        cure = next(cure for words, cure in CURES if words in problem)
        before = LINE_END.split(text[: getattr(error, "position", getattr(error, "start", None))])
        spot = DocumentSpot(len(before), len(before[-1]) + 1)
        if mark and mark.line < len(self.lines):
            spot = DocumentSpot(mark.line + 1, mark.column + 1)
        form = "JSON" if self.file.endswith(".json") else "YAML"
        return spot, f"not readable as {form}: {problem}", cure

    # -- values ------------------------------------------------------------------------------------

    def _read(self, path: Path) -> Value:
        event = self.events[path] = self.parser.get_event()
        if len(self.events) > VALUES:
            self._complain(event, f"more than {VALUES:,} values", "split the file", stop=True)
        if len(path) > DEPTH:
            self._complain(event, f"more than {DEPTH} levels deep", "flatten it", stop=True)
        self._check_properties(event)
        if isinstance(event, yaml.ScalarEvent):
            try:
                return event.value if event.style else read_plain(event.value)
            except ValueError as error:
                self._complain(event, str(error), "put it in quotes if it is meant as text")
        elif isinstance(event, yaml.SequenceStartEvent):
            found: list[Value] = []
            while not self._ends(yaml.SequenceEndEvent):
                found.append(self._read((*path, len(found))))
            return found
        elif isinstance(event, yaml.MappingStartEvent):
            return self._read_entries(path)
        return None

    def _ends(self, end: type) -> bool:
        return self.parser.check_event(end) and bool(self.parser.get_event())

    def _check_properties(self, event: Any) -> None:
        if isinstance(event, yaml.AliasEvent):
            what = f"the alias `*{event.anchor}`"
        elif event.anchor is not None:
            what = f"the anchor `&{event.anchor}`"
        elif event.tag is not None:
            what = f"the tag `{event.tag}`"
        else:
            return
        self._complain(event, what, "write it out, or put the text in quotes if it is a text")

    def _read_entries(self, path: Path) -> dict[str, Value]:
        found: dict[str, Value] = {}
        while not self._ends(yaml.MappingEndEvent):
            event, name = self.parser.peek_event(), ""
            if isinstance(event, yaml.ScalarEvent):
                self._check_properties(self.parser.get_event())
                name = str(event.value)
            else:
                self._complain(event, "a key that is no plain text", "write `key: value`")
                self._read((*path, name))
            inner = (*path, name)
            if name in found:
                first = _locate(self.keys[inner]).line
                cure = f"it first stands in line {first}: keep one"
                self._complain(event, f"the key `{name}` stands here twice", cure)
            self.keys[inner] = event
            found[name] = self._read(inner)
        return found


def _locate(event: Any) -> DocumentSpot:
    """Where an event starts, and its width if it ends on that line."""
    start, end = event.start_mark, event.end_mark
    width = end.column - start.column if end.line == start.line else 1
    return DocumentSpot(start.line + 1, start.column + 1, max(width, 1))


class WrittenFloat(float):
    """A float64 that keeps the decimal number it was written as."""

    __slots__ = ("written",)
    written: str

    def __new__(cls, written: str) -> "WrittenFloat":
        """The float64 nearest to what is written; ValueError says why it is refused."""
        nearest = super().__new__(cls, check_decimal(written))
        nearest.written = written
        return nearest

    @property
    def exact(self) -> Fraction:
        return Fraction(self.written)

    def __getnewargs__(self) -> tuple[str]:  # type: ignore[override]  # float's own names a float
        """What `copy` and `pickle` make it from."""
        return (self.written,)


def read_decimal(text: str) -> Fraction:
    """The exact value of `12`, `.5`, `1_000` or `2.5e-3`; ValueError says why it is refused."""
    written = text.replace("_", "")
    check_decimal(written)
    return Fraction(written)


def check_decimal(written: str) -> float:
    """The float64 nearest to a decimal number that has sane digits, exponent and size."""
    parts = DECIMAL.fullmatch(written)
    if not parts or not (parts[1] or parts[2]):
        raise ValueError(f"`{written[:DIGITS]}` is not a decimal number")
    check_digits(parts[1] + parts[2])
    if parts[3] and (len(parts[3]) > 8 or abs(int(parts[3])) > TYPED_EXPONENT):
        raise ValueError(f"an exponent beyond {TYPED_EXPONENT}")
    nearest = float(written)
    if math.isinf(nearest):
        raise ValueError("a number too large for float64 (about 1.8e308)")
    if nearest == 0 and (parts[1] + parts[2]).strip("0"):
        raise ValueError("a number too small for float64 (about 5e-324)")
    return nearest


def check_digits(digits: str) -> None:
    if len(digits) > DIGITS:
        raise ValueError(f"a number with {len(digits)} digits, at most {DIGITS}")


def read_plain(text: str) -> Value:
    """The value, by the core schema, of a scalar without quotes; ValueError refuses a number."""
    if text and text[0] not in STARTS:
        return text
    return next((value(text) for pattern, value in CORE if pattern.fullmatch(text)), text)


def _read_integer(text: str) -> int:
    check_digits(text.lstrip("+-"))
    return int(text, 0)


def _refuse_infinite(text: str) -> NoReturn:
    raise ValueError(f"`{text}` is not a finite number")


# First match first. Leading zeros make a text: 0123 is somebody's number, not a quantity.
CORE: tuple[tuple[re.Pattern[str], Callable[[str], Value]], ...] = (
    (re.compile(r"|~|null|Null|NULL"), lambda text: None),
    (re.compile(r"true|True|TRUE"), lambda text: True),
    (re.compile(r"false|False|FALSE"), lambda text: False),
    (re.compile(r"[-+]?(0|[1-9][0-9]*)|0o[0-7]+|0x[0-9a-fA-F]+"), _read_integer),
    (re.compile(r"[-+]?(\.[0-9]+|(0|[1-9][0-9]*)(\.[0-9]*)?)([eE][-+]?[0-9]+)?"), WrittenFloat),
    (re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"), _refuse_infinite),
)
STARTS = frozenset("0123456789+-.~nNtTfF")
