"""What students handed in: files, notebooks and rows of tables, read without running anything."""

import io
import json
import os
import re
import stat
import sys
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from html import unescape
from html.parser import HTMLParser
from itertools import chain, islice
from pathlib import Path, PurePath, PurePosixPath
from typing import IO, Any

from gradcheck.batch.ledger import NAME
from gradcheck.batch.roster import NoName, Roster, normalize_name
from gradcheck.documents import STDIN, WrittenFloat, read_yaml
from gradcheck.documents.document import BYTES
from gradcheck.documents.table import COLUMNS, TABLE, WINDOWS, decode, is_bomb, read_table
from gradcheck.errors import Complaint, GradcheckError, TextError
from gradcheck.report.figures import escape_controls

CELL_BYTES, PAGE = 20_000_000, 4_000_000  # bytes with pictures; letters of a page without them
PICTURE = re.compile("""(?<=["'])data:[^"']*""")
MOST = 1_000  # answers in one file
TAG = re.compile(r"\s*(?:#\|?\s*gradcheck:|%%gradcheck\b)\s*(\S.*)")
TIMES = frozenset(
    {"time", "timestamp", "completion time", "submitted", "submitted at", "zeitstempel"}
    | {"horodateur", "marca temporal", "informazioni cronologiche"}
)
# As Google's and Microsoft's forms write it, in America and elsewhere.
FORMS = (
    *("%Y/%m/%d %I:%M:%S %p", "%m/%d/%Y %H:%M:%S", "%m/%d/%y %H:%M:%S", "%m/%d/%Y %I:%M:%S %p"),
    *("%m/%d/%Y %H:%M", "%d.%m.%Y %H:%M:%S", "%d.%m.%Y %H:%M", "%d %B %Y %I:%M %p"),
)
SLASHED = re.compile(r"(\d{1,2})/(\d{1,2})(?=/\d{2,4}\b)")
OFFSET = re.compile(r"(?:\b(?:UTC|GMT)|(?<=\d)Z|(?<=:\d\d)(?=[-+]))(?:([-+]\d{1,2}):?(\d\d)?)?$")
ZONE = re.compile(r" (?![AP]M$)(?:[A-Z]{2,5}|(?:GMT|UTC)[-+0-9:]*)$")
NAMING = (
    *("student", "students", "email", "username", "login", "matrikelnummer", "kennung"),
    *("courriel", "électronique", "utilisateur", "name", "id"),
)
"""Words in the headers that forms give to the column of who answered: the surest first."""
DISARMED = re.compile(r"'(?=[=+@-])")  # before what a spreadsheet would take for a formula
SIGNS = {",": "a comma", ";": "a semicolon", "\t": "a tab"}
ONLINE = re.compile(r"(?:onlinetext|_text)\.html?$")  # what was typed into Moodle or Canvas
HALVES = re.compile("[\ud800-\udfff]")  # of signs: nothing writes them
HEAD = re.compile(r"([\w.-]+)\s*:\s*(.*)")
LINES = frozenset(("p", "div", "li", "tr", "pre", "h1", "h2", "h3", "h4", "title"))
OPENED = {"sup": "^(", "sub": "_(", **dict.fromkeys(("br", *LINES), "\n")}
DOCUMENTS = (".yaml", ".yml", ".json")
ENDINGS = (*DOCUMENTS, ".ipynb", ".csv", ".xlsx", ".zip")
MEMBERS = 200_000  # files in one archive: a course of 100,000 with two files each
EXPANDED = 4_000_000_000  # bytes of all of them
BROKEN = (OSError, EOFError, ValueError, AssertionError, RuntimeError, zlib.error, zipfile.error)
PIECE = 1 << 16  # bytes read at once
WRITTEN = {"grades.csv", "grades.xlsx", "canvas.csv", "moodle.csv", "codes.csv", "gradescope"}
WRITTEN |= {"filled.csv", "filled.xlsx"}
LEFT_BY_SYSTEMS = ("__MACOSX", "Thumbs.db", "desktop.ini")
NAMED, LONGEST = 5, 300  # files in a notice, characters of a name
TITLES = 10  # lines among which the headers are


@dataclass(frozen=True)
class Notice:
    """What is said of a file or a row; `grave` where nobody is graded by it."""

    why: str
    grave: bool = True


@dataclass(frozen=True)
class File:
    """A file to be read: `name` tells people, `path` is its name below the directory or archive."""

    name: str
    path: str
    open: Callable[[], IO[bytes]]

    @property
    def ending(self) -> str:
        """`.yaml` of `Ada.YAML`."""
        return PurePosixPath(self.path).suffix.lower()

    @property
    def stem(self) -> str:
        """`ada` of `week-1/ada.yaml`: the student, where nothing else names one."""
        return PurePosixPath(self.path).stem

    def read(self, most: int, cure: str) -> bytes:
        """All of it, in pieces: room for the most is not made for every small file."""
        content = bytearray()
        with self.open() as stream:
            while piece := stream.read(PIECE):
                content += piece
                if len(content) > most:
                    raise GradcheckError(f"more than {most:,} bytes{cure}")
        return bytes(content)


@dataclass(frozen=True)
class Submission:
    """One student's answers, by `problem` or `problem.part`; `called` is a name for people.

    `table` is the file that it is a row of, where it is one: a later row of it replaces an earlier
    one, in all that its columns have `asked`. `at` is when it was handed in, where that is known,
    and `or_at` when else that may have been, as nobody knows which is the month.
    """

    student: str
    answers: Mapping[str, Any]
    file: str = ""
    called: str = ""
    table: str = ""
    asked: tuple[str, ...] = ()
    at: datetime | None = None
    or_at: datetime | None = None
    late: bool = False  # as a platform says, without a time


Read = Submission | Notice


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
        return header == self.time if self.time else header.lower() in TIMES


AS_THEY_ARE = Mapped()
NOBODY = Roster()


def read_submissions(
    paths: Iterable[Path],
    names: re.Pattern[str] | None = None,
    mapping: Mapped = AS_THEY_ARE,
    roster: Roster = NOBODY,
    asked: Collection[str] = (),
) -> Iterator[Read]:
    """Every submission in order; what cannot be read does not stop the others.

    `names` tells who handed a file in, `mapping` what the columns of tables mean. A file that is
    named otherwise than `names` says is that of the student of the `roster` who is called so.
    `asked` are the problems, which a document may answer without `answers:` above them.
    """
    for file in list_files(paths):
        if isinstance(file, Notice):
            yield file
            continue
        try:
            if file.ending in (".csv", ".xlsx"):
                yield from _read_rows(file, mapping)
            else:
                yield from _read_file(file, names, roster, asked)
        except TextError as error:  # with its place
            yield Notice(str(error))
        except GradcheckError as error:
            yield Notice(f"{file.name}: {error}")
        except BROKEN as error:
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            yield Notice(f"{file.name}: cannot be read: {reason}")


def _read_file(
    file: File, names: re.Pattern[str] | None, roster: Roster, asked: Collection[str]
) -> Iterator[Read]:
    """What a file that is no table holds: one submission of the student whom its name tells."""
    student, told, owner = None, dict[str, str](), roster.owner(file.stem)
    if names is not None:
        found = names.search(file.path)
        if found is not None:
            student, told = found["student"] or "", found.groupdict("")
            if roster.student(student) not in roster.called:  # a number that nobody wrote there
                student = roster.owner(told.get("called", ""), whole=True) or student
        elif (student := owner) is None:
            raise GradcheckError("the name does not fit --names, so nobody is graded by it")
    inside, given = (_read_document if file.ending in DOCUMENTS else _read_cells)(file, asked)
    if len(given) > MOST:
        raise GradcheckError(f"more than {MOST} answers - split the file")
    times = Counter(name for name, _ in given)
    if twice := [f"`{name}`" for name, count in times.items() if count > 1]:
        words = f"answered several times, of which the last counts: {list_names(twice)}"
        yield Notice(f"{file.name}: {words}", grave=False)
    named = next(n for n in (student, inside, owner, file.stem) if n is not None)
    called, late = told.get("called", ""), bool(told.get("late"))
    yield Submission(normalize_name(named), dict(given), file.name, called, late=late)


Given = list[tuple[str, Any]]  # a problem (and part), and what was answered


def _read_document(file: File, asked: Collection[str]) -> tuple[str | None, Given]:
    """Whom a YAML or JSON file names, if anybody, and what it answers."""
    content = file.read(BYTES, " are no answers - split the file")
    value: Any = read_yaml(content, file.name).value
    if isinstance(value, dict) and "answers" not in value and not value.keys().isdisjoint(asked):
        named = {"student": value.pop("student")} if "student" in value else {}
        value = {"answers": value, **named}
    if not isinstance(value, dict) or not isinstance(value.get("answers"), dict):
        cure = "write `answers:`, and under it a line for each problem: `id: answer`"
        raise GradcheckError(f"no answers were found here - {cure}")
    student = value.get("student", "")
    if student is None or isinstance(student, dict | list):
        raise GradcheckError("`student:` holds no name - write one, as text")
    written = student.written if isinstance(student, WrittenFloat) else str(student)
    given = [each for named in value["answers"].items() for each in _name_parts(*named)]
    return written if "student" in value else None, given


def _name_parts(problem: str, answer: Any) -> Given:
    if not isinstance(answer, dict):
        return [(problem, answer)]
    return [(f"{problem}.{part}", each) for part, each in answer.items()]


class _Typed(HTMLParser):
    """What somebody typed into a platform's editor: a line a paragraph, `^(2)` what stands high."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.pieces.append(OPENED.get(tag, ""))

    def handle_endtag(self, tag: str) -> None:
        self.pieces.append("\n" if tag in LINES else ")" if tag in ("sup", "sub") else "")

    def handle_data(self, data: str) -> None:
        self.pieces.append("" if self.cdata_elem else " ".join(data.split("\n")))


def _read_typed(text: str, asked: Collection[str]) -> Iterator[tuple[str, Any]]:
    """What lines `problem: answer` of a page answer; a line of its own continues what is above."""
    typed, found, inside, deep = _Typed(), [("", list[str]())], "", 0
    if len(text := PICTURE.sub("", text)) > PAGE:
        raise GradcheckError(f"more than {PAGE:,} letters - hand in the answers alone")
    typed.feed(text)
    typed.handle_data(unescape(typed.rawdata))  # no `close`: it looks for an end from every `<`
    for line in map(str.strip, "".join(typed.pieces).splitlines()):
        said = line
        if not deep > 0 and (head := HEAD.match(line)):
            name, said = head.groups()
            if any(f"{name}.".startswith(f"{id}.") for id in asked):
                inside = "" if said else name
            elif inside:  # a part of the problem above
                name = f"{inside}.{name}"
            found.append((name, []))
            deep = 0
        if said:
            lines = found[-1][1]
            lines.append(said)
            deep = deep + said.count("{") - said.count("}") if lines[0][0] == "{" else 0
    for name, lines in found[1:]:
        answer: Any = "\n".join(lines)
        with suppress(GradcheckError):
            if answer.startswith("{") and isinstance(parts := read_yaml(answer).value, dict):
                answer = parts
        yield from _name_parts(name, answer) if answer != "" else ()


def _read_cells(file: File, asked: Collection[str]) -> tuple[None, Given]:
    """What a notebook or a typed page answers; None for what is empty."""
    text = decode(file.read(CELL_BYTES, " - leave outputs and pictures out"), file.name)[0]
    if file.ending == ".ipynb":
        found, cure = _read_tagged(text), "an answer's cell begins `#| gradcheck: PROBLEM`"
    else:
        found, cure = _read_typed(text, asked), "write a line `PROBLEM: answer` for each"
    if not (cells := list(found)):
        raise GradcheckError(f"no answers were found here - {cure}")
    return None, cells


def _read_tagged(text: str) -> Iterator[tuple[str, str | None]]:
    try:
        value: Any = json.loads(text, parse_int=str)  # no number is read, however long
    except (json.JSONDecodeError, RecursionError) as error:
        raise GradcheckError(f"not readable as a notebook: {error}") from None
    cells = value.get("cells") if isinstance(value, dict) else None
    if not isinstance(cells, list):
        raise GradcheckError("not a notebook - it has no cells")
    for cell in cells:
        source = cell.get("source", "") if isinstance(cell, dict) else ""
        if isinstance(source, list):
            source = "".join(line for line in source if isinstance(line, str))
        if isinstance(source, str) and (tag := TAG.match(source)):
            typed = HALVES.sub("\ufffd", source[tag.end() :].strip())
            yield tag[1].rstrip(), typed or None


# -- tables ---------------------------------------------------------------------------------------


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


def _read_rows(file: File, mapping: Mapped) -> Iterator[Read]:
    """A submission a row, as it is read; a column that says nothing is said once."""
    content = file.read(TABLE, " - split the file")
    table = read_table(content, file.name)
    if table.encoding == WINDOWS:
        words = "not UTF-8, so it is read as Windows-1252, as Excel saves it: look at an accent"
        yield Notice(f"{file.name}: {words}", grave=False)
    if table.others:
        cure = "save each that has answers as a file of its own"
        words = f"the sheets {list_names(table.others)} are not read - {cure}"
        yield Notice(f"{file.name}: {words}", grave=False)
    first = list(islice(table.rows, TITLES))
    above = next((k for k, (_, row) in enumerate(first) if mapping.student in row), 0)
    headers = [header.strip() for _, row in first[above : above + 1] for header in row]
    targets = _read_columns(file, headers, mapping)
    asked = tuple(targets.values())
    when = next((k for k, h in enumerate(headers) if mapping.tells_when(h)), len(headers))
    for words in _list_unknown(headers, mapping):
        yield Notice(f"{file.name}:1: {words}", grave=False)
    day_first = _is_day_first(content, file.name, first, when)
    for line, row in chain(first[above + 1 :], table.rows):
        place = f"{file.name}:{line}"
        if any(cell.strip() for cell in row[len(headers) :]):
            words = f"{len(row)} cells under {len(headers)} headers, so nobody is graded by them"
            cure = f"put an answer with {SIGNS[table.delimiter]} in quotation marks"
            yield Notice(f"{place}: {words} - {cure}")
        elif any(cell.strip() for cell in row):
            cells = dict(enumerate(DISARMED.sub("", cell.strip()) for cell in row))
            given = {target: cells[k] for k, target in targets.items() if cells.get(k)}
            times = read_times(cells.get(when, ""), day_first)
            try:
                name = normalize_name(cells.get(headers.index(mapping.student), ""))
            except NoName as error:
                yield Notice(f"{place}: {error}")
            else:
                yield Submission(name, given, place, "", file.name, asked, *times)


def _read_columns(file: File, headers: list[str], mapping: Mapped) -> dict[int, str]:
    if mapping.student not in headers:
        came = ", ".join(f"`{header}`" for header in headers[:8]) or "nothing"
        named = [(word, h) for h in headers for word in h.lower().replace("-", "").split()]
        names = (header for best in NAMING for word, header in named if word == best)
        cure = f"write `student: {next(names, 'its header')}` into a file for --mapping"
        words = f"a column `{mapping.student}` was expected, {came} came"
        raise TextError([Complaint(words, cure, file.name, 1)])
    if len(headers) > COLUMNS:
        raise TextError([Complaint(f"{len(headers):,} columns", "split the file", file.name, 1)])
    return {
        k: target
        for k, header in enumerate(headers)
        if k != headers.index(mapping.student) and header not in mapping.ignore
        if (target := mapping.target(header))
    }


def _list_unknown(headers: list[str], mapping: Mapped) -> Iterator[str]:
    """What a mapping neither uses nor ignores, and what it names that is not there."""
    for header, times in Counter(headers).items():
        if header and times > 1 and mapping.target(header):
            yield f"{times} columns are called `{header}`: the last answer in a row counts"
    if mapping.answers is None:
        return
    known = {"", mapping.student, *mapping.answers, *mapping.ignore}
    for header in headers:
        if header not in known and not mapping.tells_when(header):
            yield f"the column `{header}` is not in the mapping"
    for header in mapping.answers:
        if header not in headers:
            yield f"there is no column `{header}`, which the mapping names"


def read_time(text: str) -> datetime | None:
    """The time that a form wrote, on the clock of where it was; None where it cannot be read."""
    bare = ZONE.sub("", " ".join(text.split()))
    with suppress(ValueError):
        return datetime.fromisoformat(bare).replace(tzinfo=None)
    for form in FORMS:
        with suppress(ValueError):
            return datetime.strptime(bare, form)
    return None


def read_times(text: str, day_first: bool | None) -> tuple[datetime | None, datetime | None]:
    """When something was handed in, and when else, in the zone that the text tells, if any."""
    turned = SLASHED.sub(r"\2/\1", text)
    texts = {None: (text, turned), True: (turned,), False: (text,)}[day_first]
    zone = None
    if given := OFFSET.search(text.strip()):
        sign = -1 if (given[1] or "").startswith("-") else 1
        zone = timezone(timedelta(hours=int(given[1] or 0), minutes=sign * int(given[2] or 0)))
    found = [at.replace(tzinfo=zone) for each in texts if (at := read_time(each))]
    return found[0] if found else None, found[1] if len(set(found)) > 1 else None


def _is_day_first(
    content: bytes, name: str, first: Iterable[tuple[int, list[str]]], column: int
) -> bool | None:
    """Whether days stand before months in a column of times; None where nobody can tell."""
    if not any(SLASHED.match(row[column]) for _, row in first if column < len(row)):
        return False
    days = set()
    with suppress(TextError):  # told where the rows are read
        for _, row in read_table(content, name).rows:
            if column < len(row) and (found := SLASHED.match(row[column])):
                days |= {k for k in (1, 2) if int(found[k]) > 12}
    return days == {1} if len(days) == 1 else None


# -- files -----------------------------------------------------------------------------------------


def list_files(paths: Iterable[Path]) -> Iterator[File | Notice]:
    """Every file of the paths, in order; what cannot be opened is said and passed over."""
    for path in paths:
        others: list[str] = []
        below = path.is_dir()
        yield from _list_below(path, others) if below else _open_path(path, path.name, others)
        if others:
            words = f"not read, for their kind is none of {' '.join(ENDINGS)}"
            if any(name.endswith(".py") for name in others):
                words += " (programs stand in YAML after a `|`, or in cells of notebooks)"
            named = list_names(list(map(escape_controls, others)))
            yield Notice(f"{path}: {words}: {named}", grave=False)


def list_names(names: Sequence[str], most: int = NAMED, between: str = ", ") -> str:
    """The first names, and how many more there are."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return between.join(names[:most]) + more


def _list_below(root: Path, others: list[str]) -> Iterator[File | Notice]:
    failed: list[OSError] = []
    found: list[Path] = []
    for folder, inner, names in os.walk(root, onerror=failed.append):
        own = WRITTEN if NAME in names else ()  # what a batch has written is no answer
        inner[:] = set(inner).difference(own)
        found += (Path(folder, name) for name in names if name not in own)
    for path in sorted(found):
        below = path.relative_to(root)
        if not _is_wanted(below, others):
            continue
        if path.is_symlink():
            yield Notice(f"{path}: a link is not followed - copy the file there")
        elif path.is_file():
            yield from _open_path(path, below.as_posix(), others)
    yield from (Notice(f"{error.filename}: {error.strerror}") for error in failed)


def _open_path(path: Path, below: str, others: list[str]) -> Iterator[File | Notice]:
    if path == STDIN:
        text = sys.stdin.buffer.read()
        yield File("-", "standard-input.yaml", lambda: io.BytesIO(text))
    elif path.suffix.lower() == ".zip":
        yield from _list_members(path, others)
    else:
        yield File(escape_controls(str(path)), below, lambda: path.open("rb"))


def _is_wanted(path: PurePath, others: list[str]) -> bool:
    """Whether a file is read; those of other kinds are put into `others`."""
    parts = [part for part in path.parts if part != ".."]
    if any(part.startswith(".") or part in LEFT_BY_SYSTEMS for part in parts):
        return False
    read = path.suffix.lower() in ENDINGS or ONLINE.search(path.name) is not None
    others += [] if read else [path.as_posix()]
    return read


def _list_members(path: Path, others: list[str]) -> Iterator[File | Notice]:
    """The files of an archive, in the order of their names; nothing is unpacked to the disk."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = ((PurePosixPath(i.filename), i) for i in archive.infolist() if not i.is_dir())
            wanted = [info for name, info in names if _is_wanted(name, others)]
            for found, what, most in (
                (len(wanted), "files in one archive", MEMBERS),
                (sum(info.file_size for info in wanted), "bytes when unpacked", EXPANDED),
            ):
                if found > most:
                    words = f"{found:,} {what}, at most {most:,} are read"
                    yield Notice(f"{path}: {words} - split it")
                    return
            for info in sorted(wanted, key=lambda info: info.filename):
                yield _open_member(path, archive, info)
    except BROKEN as error:
        yield Notice(f"{path}: not readable as a zip archive: {error}")


def _open_member(path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> File | Notice:
    name = f"{path}/{escape_controls(info.filename)[:LONGEST]}"
    inside = PurePosixPath(info.filename)
    times = info.file_size // max(info.compress_size, 1)
    refused = {
        "the name leads out of the archive - it is not read": ".." in inside.parts
        or info.filename.startswith(("/", "\\")),
        "a link is not followed - pack the file itself": stat.S_ISLNK(info.external_attr >> 16),
        "it is encrypted - unpack it with its password first": info.flag_bits & 1,
        f"grows {times:,}-fold when unpacked - it is not read": is_bomb(info),
        "an archive in an archive - unpack it first": inside.suffix.lower() == ".zip",
    }
    if why := next((words for words, true in refused.items() if true), ""):
        return Notice(f"{name}: {why}")
    return File(name, info.filename, lambda: archive.open(info))
