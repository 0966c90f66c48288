"""CSV files: a row a student, a column a problem or a part; a mapping renames a form's headers."""

import csv
import io
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from gradcheck.batch.submissions.encodings import CURE, encoding
from gradcheck.batch.submissions.files import File
from gradcheck.batch.submissions.submission import (
    NoName,
    Notice,
    Submission,
    Unreadable,
    student_name,
)
from gradcheck.documents import read_yaml
from gradcheck.errors import Complaint, TextError

if TYPE_CHECKING:
    from _csv import Reader

DELIMITERS = ",;\t"
COLUMNS = 2_000
LINE = 5_000_000  # characters of a line: all columns, each with the longest answer
NAMING = {"student", "students", "email", "username", "login", "name", "id", "matrikelnummer"}
"""Words in the headers that forms give to the column of who answered."""
END = "\0"  # a last row: no other has it


@dataclass(frozen=True)
class Mapped:
    """A mapping file: the column that names the student, and what the others answer."""

    student: str = "student"
    answers: Mapping[str, str] | None = None  # header -> problem or problem.part; None: as they are
    ignore: frozenset[str] = field(default_factory=frozenset)

    def target(self, header: str) -> str | None:
        """The problem (and part) that a column answers; None where it answers none."""
        return header if self.answers is None else self.answers.get(header)


def read_mapping(path: Path) -> Mapped:
    """The mapping in a YAML file; TextError names what is wrong in it."""
    document = read_yaml(path.read_bytes(), str(path))
    value: Any = document.value
    for key in value if isinstance(value, dict) else ():
        if key not in ("student", "answers", "ignore"):
            cure = "`student`, `answers` and `ignore` are"
            raise TextError([document.complaint((key,), f"`{key}` is no key here", cure, key=True)])
    answers = value.get("answers") if isinstance(value, dict) else ""
    if not value or not isinstance(answers, dict | None):
        words = "`student:`, and `answers:` where headers are no problems, were expected"
        raise TextError([document.complaint((), words, "under `answers:`, `header: problem`")])
    ignore = value.get("ignore") or []
    if not isinstance(ignore, list):
        raise TextError([document.complaint(("ignore",), "a list was expected", "write `[...]`")])
    targets = answers and {str(header): str(target) for header, target in answers.items()}
    return Mapped(str(value.get("student", "student")), targets, frozenset(map(str, ignore)))


def rows(file: File, mapping: Mapped) -> Iterator[Submission | Notice | Unreadable]:
    """A submission a row, as it is read; a column that says nothing is said once."""
    with file.open() as raw:
        stream = io.TextIOWrapper(raw, encoding=_encoding(raw, file.name), newline="")
        delimiter = _delimiter(stream)
        reader = csv.reader(chain(_lines(stream), [END]), delimiter=delimiter)
        try:
            records = _records(reader, file.name)
            headers = [header.strip() for header in next(records, [])]
            columns = _columns(file, headers, mapping)
            yield from (Notice(file.name, why) for why in _strange(file, headers, mapping))
            for row in records:
                if any(cell.strip() for cell in row[len(headers) :]):
                    yield _too_long(f"{file.name}:{reader.line_num}", row, headers, delimiter)
                elif any(cell.strip() for cell in row):
                    yield _row(file.name, reader.line_num, row, columns)
        except UnicodeDecodeError as error:
            words = f"this is not UTF-8: the byte {error.object[error.start]:02X}"
            raise TextError([Complaint(words, CURE, file.name, _undecodable(file))]) from None
        except csv.Error as error:
            words = f"not readable as CSV: {error}"
            raise TextError([Complaint(words, "", file.name, reader.line_num)]) from None


def roster(path: Path) -> dict[str, str]:
    """Who is expected: names of the column `student`, with what people call them (`name`)."""
    file = File(str(path), path.name, lambda: path.open("rb"))
    with file.open() as raw:
        stream = io.TextIOWrapper(raw, encoding=_encoding(raw, str(path)), newline="")
        try:
            reader = csv.reader(chain(_lines(stream), [END]), delimiter=_delimiter(stream))
            records = _records(reader, str(path))
            headers = [header.strip() for header in next(records, [])]
            if "student" not in headers:
                words = "a column `student` was expected"
                came = ", ".join(f"`{name}`" for name in headers)
                raise TextError([Complaint(f"{words}, {came or 'nothing'} came", "", str(path), 1)])
            found = (dict(zip(headers, row, strict=False)) for row in records)
            named = ((each.get("student", ""), each.get("name", "")) for each in found)
            return {student_name(name): called for name, called in named if name.strip()}
        except (UnicodeDecodeError, csv.Error, NoName) as error:
            words = f"not readable as a roster: {error}"
            raise TextError([Complaint(words, "", str(path))]) from None


def _encoding(raw: Any, name: str) -> str:
    """The encoding by the first bytes, which are put back."""
    start = raw.read(4)
    raw.seek(0)
    return encoding(start, name)


def _delimiter(stream: TextIO) -> str:
    """What separates the cells of the first line: a comma, or a semicolon as in many countries."""
    try:
        first = stream.readline(100_000)
    except UnicodeDecodeError:
        first = ""
    stream.seek(0)
    return max(DELIMITERS, key=first.count)


def _undecodable(file: File) -> int:
    """The line of the first byte that is not UTF-8; text is decoded in blocks of many lines."""
    with file.open() as raw:
        wrong = (line.decode("utf-8", "replace") != line.decode("utf-8", "ignore") for line in raw)
        return next((number for number, bad in enumerate(wrong, 1) if bad), 1)


def _lines(stream: TextIO) -> Iterator[str]:
    """The lines; a NUL, as binary files have them, is not for CSV."""
    while line := stream.readline(LINE):
        if "\0" in line:
            raise csv.Error("a NUL character")
        if len(line) == LINE:
            raise csv.Error(f"a line of more than {LINE:,} characters")
        yield line


def _records(reader: "Reader", name: str) -> Iterator[list[str]]:
    """The rows before END; TextError where a quotation mark swallowed it, and so all other rows."""
    first = 1
    for row in reader:
        if row == [END]:
            return
        if row and row[-1].endswith(END):
            words, cure = (
                "a quotation mark is opened here and never closed",
                "close it, or write two",
            )
            raise TextError([Complaint(words, cure, name, first)])
        yield row
        first = reader.line_num + 1


def _columns(file: File, headers: list[str], mapping: Mapped) -> tuple[int, dict[int, str]]:
    """The student's column, and what the others answer; TextError if nobody is named."""
    if mapping.student not in headers:
        came = ", ".join(f"`{header}`" for header in headers[:8]) or "nothing"
        names = (h for h in headers if NAMING & set(h.lower().replace("-", "").split()))
        cure = f"write `student: {next(names, 'its header')}` into a file for --mapping"
        words = f"a column `{mapping.student}` was expected, {came} came"
        raise TextError([Complaint(words, cure, file.name, 1)])
    if len(headers) > COLUMNS:
        raise TextError([Complaint(f"{len(headers):,} columns", "split the file", file.name, 1)])
    found = {k: target for k, header in enumerate(headers) if (target := mapping.target(header))}
    student = headers.index(mapping.student)
    found.pop(student, None)
    return student, {k: t for k, t in found.items() if headers[k] not in mapping.ignore}


def _strange(file: File, headers: list[str], mapping: Mapped) -> Iterator[str]:
    """What a mapping neither uses nor ignores, and what it names that is not there."""
    for header, times in Counter(headers).items():
        if header and times > 1 and mapping.target(header):
            words = f"{times} columns are called `{header}`: the last answer in a row counts"
            yield f"{file.name}:1: {words}"
    if mapping.answers is None:
        return
    for header in headers:
        known = header in mapping.answers or header in mapping.ignore
        if header and header != mapping.student and not known:
            yield f"{file.name}:1: the column `{header}` is not in the mapping"
    for header in mapping.answers:
        if header not in headers:
            yield f"{file.name}:1: there is no column `{header}`, which the mapping names"


def _row(table: str, line: int, row: list[str], columns: tuple[int, dict[int, str]]) -> Submission:
    """One student's answers: empty cells are missing ones."""
    student, targets = columns
    cells = ((targets[k], cell.strip()) for k, cell in enumerate(row) if k in targets)
    answers = {target: {"": cell} for target, cell in cells if cell}
    name = row[student] if student < len(row) else ""
    return Submission(name, answers, f"{table}:{line}", whole=True, table=table)


def _too_long(place: str, row: list[str], headers: list[str], delimiter: str) -> Unreadable:
    """A row in which an answer was cut in two, most likely: nobody is graded by half of it."""
    sign = {",": "a comma", ";": "a semicolon", "\t": "a tab"}[delimiter]
    words = f"{len(row)} cells under {len(headers)} headers, so nobody is graded by them"
    return Unreadable(place, f"{place}: {words} - put an answer with {sign} in quotation marks")
