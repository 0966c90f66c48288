"""Tables: a row a student, a column a problem or a part; a mapping renames a form's headers."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from gradcheck.batch.submissions.files import File
from gradcheck.batch.submissions.submission import (
    NoName,
    Notice,
    Submission,
    Unreadable,
    student_name,
)
from gradcheck.documents import read_yaml
from gradcheck.documents.table import COLUMNS, WINDOWS, read_table
from gradcheck.errors import Complaint, TextError
from gradcheck.problem.variants import plain

TIMES = frozenset(
    {"time", "timestamp", "completion time", "submitted", "submitted at", "zeitstempel"}
)
# As Google's and Microsoft's forms write it, in America and elsewhere.
FORMS = ("%Y/%m/%d %I:%M:%S %p", "%m/%d/%Y %H:%M:%S", "%m/%d/%y %H:%M:%S", "%d.%m.%Y %H:%M:%S",
         "%d.%m.%Y %H:%M")  # fmt: skip
ZONE = re.compile(r" (?![AP]M$)(?:[A-Z]{2,5}|(?:GMT|UTC)[-+0-9:]*)$")
NAMING = {"student", "students", "email", "username", "login", "name", "id", "matrikelnummer"}
"""Words in the headers that forms give to the column of who answered."""


@dataclass(frozen=True)
class Mapped:
    """A mapping file: the column that names the student, and what the others answer."""

    student: str = "student"
    answers: Mapping[str, str] | None = None  # header -> problem or problem.part; None: as they are
    time: str = ""  # the column that says when; by its usual names, if empty
    ignore: frozenset[str] = field(default_factory=frozenset)

    def target(self, header: str) -> str | None:
        """The problem (and part) that a column answers; None where it answers none."""
        if self.answers is not None:
            return self.answers.get(header)
        return None if self.tells_when(header) else header

    def tells_when(self, header: str) -> bool:
        """Whether a column says when an answer was given."""
        return header == self.time if self.time else header.lower() in TIMES


def read_mapping(path: Path) -> Mapped:
    """The mapping in a YAML file; TextError names what is wrong in it."""
    document = read_yaml(path.read_bytes(), str(path))
    value: Any = document.value
    for key in value if isinstance(value, dict) else ():
        if key not in ("student", "answers", "time", "ignore"):
            cure = "`student`, `answers`, `time` and `ignore` are"
            raise TextError([document.complaint((key,), f"`{key}` is no key here", cure, key=True)])
    answers = value.get("answers") if isinstance(value, dict) else ""
    if not value or not isinstance(answers, dict | None):
        words = "`student:`, and `answers:` where headers are no problems, were expected"
        raise TextError([document.complaint((), words, "under `answers:`, `header: problem`")])
    ignore = value.get("ignore") or []
    if not isinstance(ignore, list):
        raise TextError([document.complaint(("ignore",), "a list was expected", "write `[...]`")])
    targets = answers and {str(header): str(target) for header, target in answers.items()}
    student, time = str(value.get("student", "student")), str(value.get("time", ""))
    return Mapped(student, targets, time, frozenset(map(str, ignore)))


def rows(file: File, mapping: Mapped) -> Iterator[Submission | Notice | Unreadable]:
    """A submission a row, as it is read; a column that says nothing is said once."""
    table = read_table(file.open, file.name)
    if table.encoding == WINDOWS:
        words = "not UTF-8, so it is read as Windows-1252, as Excel saves it: look at an accent"
        yield Notice(file.name, f"{file.name}: {words}")
    _, first = next(table.rows, (0, list[str]()))
    headers = [header.strip() for header in first]
    columns = _columns(file, headers, mapping)
    when = next((k for k, h in enumerate(headers) if mapping.tells_when(h)), None)
    yield from (Notice(file.name, why) for why in _strange(file, headers, mapping))
    for line, row in table.rows:
        if any(cell.strip() for cell in row[len(headers) :]):
            yield _too_long(f"{file.name}:{line}", row, headers, table.delimiter)
        elif any(cell.strip() for cell in row):
            at = moment(row[when]) if when is not None and when < len(row) else None
            yield replace(_row(file.name, line, row, columns), at=at)


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
        if header and header != mapping.student and not (known or mapping.tells_when(header)):
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
    return Submission(name, answers, f"{table}:{line}", table=table, asked=tuple(targets.values()))


def moment(text: str) -> datetime | None:
    """The time that a form wrote, on the clock of where it was; None where it cannot be read."""
    bare = ZONE.sub("", " ".join(text.split()))
    try:
        return datetime.fromisoformat(bare).replace(tzinfo=None)
    except ValueError:
        pass
    for form in FORMS:
        with suppress(ValueError):
            return datetime.strptime(bare, form)
    return None


def _too_long(place: str, row: list[str], headers: list[str], delimiter: str) -> Unreadable:
    """A row in which an answer was cut in two, most likely: nobody is graded by half of it."""
    sign = {",": "a comma", ";": "a semicolon", "\t": "a tab"}[delimiter]
    words = f"{len(row)} cells under {len(headers)} headers, so nobody is graded by them"
    return Unreadable(place, f"{place}: {words} - put an answer with {sign} in quotation marks")


WORDS = frozenset({"name", "section"})  # columns that tell something, and name nobody


@dataclass(frozen=True)
class Roster:
    """What people call each student, and the student of every other name: a number, an address."""

    called: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)

    def student(self, name: str) -> str:
        """Who goes by a name: the student of the roster, or the name itself."""
        return name if name in self.called else self.names.get(plain(name), name)


def read_roster(path: Path) -> Roster:
    """A table with a column `student`; every other but `name` and `section` names students, too.

    What two of them share names neither.
    """
    table = read_table(lambda: path.open("rb"), str(path)).rows
    headers = [header.strip().lower() for header in next(table, (0, list[str]()))[1]]
    if "student" not in headers:
        came = ", ".join(f"`{name}`" for name in headers) or "nothing"
        words = f"a column `student` was expected, {came} came"
        raise TextError([Complaint(words, "", str(path), 1)])
    called: dict[str, str] = {}
    owners: dict[str, set[str]] = {}
    for line, row in table:
        cells = dict(zip(headers, row, strict=False))
        if not cells.get("student", "").strip():
            continue
        try:
            student = student_name(cells["student"])
        except NoName as error:
            raise TextError(
                [Complaint(f"not readable as a roster: {error}", "", str(path), line)]
            ) from None
        called[student] = cells.get("name", "")
        for header, cell in cells.items():
            if header not in WORDS and cell.strip():
                owners.setdefault(plain(cell), set()).add(student)
    names = {name: min(found) for name, found in owners.items() if len(found) == 1}
    return Roster(called, names)
