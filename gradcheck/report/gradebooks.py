"""Gradebooks of learning platforms: a platform's own export with the points filled in."""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import escape

from gradcheck.documents.table import (
    ARCHIVE,
    WINDOWS,
    cell_text,
    marked,
    open_workbook,
    workbook,
)
from gradcheck.errors import GradcheckError
from gradcheck.report.findings import Line, findings

# A cell that begins so is a formula to a spreadsheet (CWE-1236); an apostrophe makes it a text.
FORMULAS = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True)
class Platform:
    """Where an export names students and keeps their grades; the maximum in a row or a column."""

    students: tuple[str, ...]
    grade: re.Pattern[str]
    maximum: str = ""  # the column that holds it
    maximum_row: str = ""  # or the row that does, by its first cell
    feedback: str = ""  # the column that takes a text for the student


PLATFORMS = {
    # A column for each assignment: `Homework 3 (12345)`; the second or third row has the maxima.
    "canvas": Platform(
        ("ID", "SIS User ID", "SIS Login ID", "Student"),
        re.compile(r".+ \(\d+\)"),
        maximum_row="Points Possible",
    ),
    # The grading worksheet of one assignment. Moodle deletes the grades where an upload has
    # feedback and no grade: a feedback goes beside a grade only, and into an empty cell only.
    "moodle": Platform(
        ("Identifier", "ID number", "Email address", "Username", "Full name"),
        re.compile("Grade"),
        maximum="Maximum Grade",
        feedback="Feedback comments",
    ),
    # Any other table: its column is named, and students are where their names stand. Blackboard
    # has the maximum in the header of the column, Gradescope in a column beside it.
    "csv": Platform((), re.compile("(?!)"), maximum="{} - Max Points"),
}
TOTAL = re.compile(r"\[Total Pts: ([\d.,]+)")
PARTICIPANT = "Participant "  # before the number in Moodle's column `Identifier`


class NoGradebook(GradcheckError):
    """An export that cannot be filled in; the message says why."""


@dataclass(frozen=True)
class FilledExport:
    """An export with the grades in it, and what should be known about it."""

    content: bytes
    notices: tuple[str, ...]


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


def filled(  # noqa: PLR0917 - an export, and what goes into it
    export: bytes,
    platform: str,
    points: Mapping[str, float],
    possible: float,
    column: str = "",
    feedback: Callable[[str], str] | None = None,
    names: Mapping[str, str] | None = None,
) -> FilledExport:
    """An export with each student's points in its column of grades; all other cells as they were.

    Where the platform has another maximum, the points are scaled to it. Where it has a column for
    feedback, what `feedback` says to a student is put into it, unless somebody has written there.
    """
    rows, written = _opened(export)
    if not rows:
        raise NoGradebook("the export is empty")
    students = {**dict(names or {}), **{name: name for name in points}}
    known = PLATFORMS[platform]
    place = _column(rows[0], known, column)
    notices = list(_fill(rows, known, place, points, students, possible))
    if feedback is not None and known.feedback in rows[0]:
        notices += _tell(rows, known, points, students, feedback)
    elif feedback is not None:
        notices.append(f"the export has no column `{known.feedback}`: no comments are written")
    return FilledExport(written(rows), tuple(notices))


def fresh(platform: str, title: str, points: Mapping[str, float], possible: float) -> str:
    """A gradebook without an export: one that the platform can match by the students' names."""
    if platform == "canvas":
        head = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", title]
        rows = [["Points Possible", "", "", "", "", figure(possible)]]
        rows += [["", "", "", harmless(name), "", figure(got)] for name, got in points.items()]
    else:
        head = ["Email address", "Grade", "Maximum Grade"]
        most = figure(possible)
        rows = [[harmless(name), figure(got), most] for name, got in points.items()]
    return "".join(f"{cells(row, texts=0)}\r\n" for row in [[harmless(h) for h in head], *rows])


def _fill(  # noqa: PLR0917 - an export, and what goes into it
    rows: list[list[str]],
    platform: Platform,
    place: int,
    points: Mapping[str, float],
    students: Mapping[str, str],
    possible: float,
) -> Iterator[str]:
    """Write the grades into the rows; say who is in one of the two places only."""
    header = rows[0]
    names = _names(rows, platform, students)
    if not names:
        usual = f", such as {', '.join(platform.students)}" if platform.students else ""
        somebody = next(iter(points), "nobody")
        words = f"no column of the export names the students of the batch{usual}"
        raise NoGradebook(f"{words} - in the batch they are called as `{somebody}`")
    maximum = next((_number(r[place]) for r in rows if _is_maximum(r, platform, place)), None)
    if total := TOTAL.search(header[place]):
        maximum = _number(total[1])
    beside = platform.maximum.format(header[place].strip())
    most = header.index(beside) if beside and beside in header else None
    sure, doubtful = _belonging(rows, names, students)
    left = dict(points)
    scaled, unknown = False, 0
    for k, row in enumerate(rows[1:], 1):
        found = sure.get(k)
        if found is None or place >= len(row):
            named = any(j < len(row) and row[j].strip() for j in names)
            unknown += k not in sure and named and not _is_maximum(row, platform, place)
            continue
        own = maximum if most is None or most >= len(row) else _number(row[most])
        factor = own / possible if own and possible else 1.0
        scaled |= factor != 1.0
        row[place] = figure(points[found] * factor)
        left.pop(found, None)
    if scaled:
        yield f"the points, of {figure(possible)}, were scaled to the platform's maximum"
    if maximum is None and most is None:
        yield f"the export tells no maximum: the points, of {figure(possible)}, are not scaled"
    if unknown:
        yield f"{unknown} rows of the export belong to nobody in the batch: left as they are"
    yield from _left_out(doubtful, [student for student in left if student not in doubtful])


def _left_out(doubtful: Sequence[str], left: Sequence[str]) -> Iterator[str]:
    """Who has no grade in the export: rows that may be another's, students without a row."""
    if doubtful:
        cure = "name the students by what only one of them has"
        shown = ", ".join(doubtful[:10])
        yield f"rows of the export that may be another's are left as they are - {cure}: {shown}"
    if left:
        shown = ", ".join(left[:10])
        yield f"{len(left)} students of the batch are not in the export: {shown}"


def _tell(
    rows: list[list[str]],
    platform: Platform,
    points: Mapping[str, float],
    students: Mapping[str, str],
    feedback: Callable[[str], str],
) -> Iterator[str]:
    """Write to each student who has a grade; what a teacher has written stays."""
    names, place = _names(rows, platform, students), rows[0].index(platform.feedback)
    sure, _ = _belonging(rows, names, students)
    kept = 0
    for k, row in enumerate(rows[1:], 1):
        student = sure.get(k)
        if student is None or place >= len(row):
            continue
        kept += bool(row[place].strip())
        row[place] = row[place] if row[place].strip() else feedback(student)
    if kept:
        yield f"{kept} cells of `{platform.feedback}` are not empty: left as they are"


def _names(
    rows: Sequence[Sequence[str]], platform: Platform, students: Mapping[str, str]
) -> list[int]:
    """The columns that name students: by their headers, else those where students are named."""
    named = [k for k, name in enumerate(rows[0]) if name.strip() in platform.students]
    columns = range(len(rows[0]))
    found = (k for k in columns if any(k < len(r) and _student(r[k], students) for r in rows[1:]))
    return named or list(found)


def _belonging(
    rows: Sequence[Sequence[str]], names: Sequence[int], students: Mapping[str, str]
) -> tuple[dict[int, str | None], list[str]]:
    """The student of each row, None where it is in doubt, and of whom: two rows, or two names.

    A number may be one student's participant number and another's ID number.
    """
    named = {
        k: {who for j in names if j < len(row) and (who := _student(row[j], students))}
        for k, row in enumerate(rows)
    }
    rows_of = Counter(student for found in named.values() for student in found)
    doubtful = {s for found in named.values() for s in found if len(found) > 1 or rows_of[s] > 1}
    sure = {k: None if each & doubtful else min(each) for k, each in named.items() if each}
    return sure, sorted(doubtful)


def _is_maximum(row: Sequence[str], platform: Platform, place: int) -> bool:
    named = bool(platform.maximum_row) and bool(row)
    return named and row[0].strip() == platform.maximum_row and place < len(row)


def _student(cell: str, students: Mapping[str, str]) -> str | None:
    """The student of the batch whom a cell names: by the name there, or by one of the roster."""
    bare = " ".join(cell.split())
    for name in (bare, bare.removeprefix(PARTICIPANT), bare.casefold()):
        if name and name in students:
            return students[name]
    return None


def _number(text: str) -> float | None:
    try:
        return float(text.strip().replace(",", "."))
    except ValueError:
        return None


def _column(header: Sequence[str], platform: Platform, wanted: str) -> int:
    """The column of grades: the one that is named, or the only one there is."""
    if wanted:
        fits = [k for k, name in enumerate(header) if name.strip() == wanted]
        fits = fits or [k for k, name in enumerate(header) if name.startswith(f"{wanted} (")]
    else:
        fits = [k for k, name in enumerate(header) if platform.grade.fullmatch(name.strip())]
    if len(fits) == 1:
        return fits[0]
    there = ", ".join(f"`{header[k]}`" for k in fits or range(len(header)) if header[k].strip())
    raise NoGradebook(f"which column takes the grades? Name it with --column: {there}")


def _opened(export: bytes) -> tuple[list[list[str]], Callable[[list[list[str]]], bytes]]:
    """The rows of an export, and what makes one of rows, in the form and the encoding it came."""
    if export.startswith(ARCHIVE):
        book = open_workbook(export, "the export")
        found = book.worksheets[0].iter_rows(values_only=True)
        return [list(map(cell_text, row)) for row in found], lambda rows: workbook(rows, book)
    encoding = marked(export) or "utf-8"
    try:
        text = export.decode(encoding)
    except UnicodeDecodeError:
        encoding = WINDOWS
        text = export.decode(encoding, "replace")
    dialect = _dialect(text)

    def written(rows: list[list[str]]) -> bytes:
        out = io.StringIO(newline="")
        csv.writer(out, dialect).writerows(rows)
        return out.getvalue().encode(encoding, "replace")

    try:
        return list(csv.reader(io.StringIO(text, newline=""), dialect)), written
    except csv.Error as error:
        raise NoGradebook(f"the export is no table: {error}") from None


def _dialect(text: str) -> type[csv.Dialect]:
    """How the export separates cells and ends lines, and whether it quotes them all."""
    first = text.split("\n", 1)[0]

    class Found(csv.excel):
        delimiter = max(",;\t", key=re.sub('"[^"]*"', "", first).count)
        lineterminator = "\r\n" if first.endswith("\r") else "\n"
        quoting = csv.QUOTE_ALL if first.startswith('"') else csv.QUOTE_MINIMAL

    return Found


# What XML 1.0 cannot hold, even as an entity.
FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def gradescope(lines: Sequence[Line], sources: dict[str, str]) -> str:
    """The results.json of one student: a test a part, the points as they stand."""
    tests = [
        {
            "name": f"{line['problem']}.{line['part']}",
            "number": str(number),
            "score": line["score"],
            "max_score": line["points"],
            "status": "passed" if line["verdict"] == "right" else "failed",
            "output": _words(line, sources[line["problem"]]),
            "output_format": "text",
            "visibility": "visible",
            "extra_data": {"verdict": line["verdict"], "certainty": line["certainty"]},
        }
        for number, line in enumerate(lines, 1)
    ]
    result: dict[str, Any] = {"output": "", "visibility": "visible", "tests": tests}
    return json.dumps(result, indent=1) + "\n"


def comments(lines: Sequence[Line]) -> str:
    """What a platform shows to a student beside the grade, as HTML: a paragraph an answer."""
    return "".join(f"<p>{_comment(line)}</p>" for line in lines)


def _comment(line: Line) -> str:
    """The verdict on an answer, and what explains it in words; underlined lines need a page."""
    name = f"<b>{escape(_clean(line['problem']))}.{escape(_clean(line['part']))}</b>"
    silent = line["verdict"] in ("right", "missing")
    found = [] if silent else [w for w in findings(line, "") if not w.startswith(" ")]
    said = escape(_clean("; ".join(found)))
    points = f"{line['score']:.6g} of {line['points']:.6g}"
    return f"{name}: {line['verdict']}, {points}{f' &ndash; {said}' if said else ''}"


def _words(line: Line, source: str) -> str:
    understood = [f"understood  {line['understood']}"] if line["understood"] else []
    found = [line["verdict"], *understood, *findings(line, source), *(line["remarks"] or ())]
    return "\n".join(found)


def _clean(text: str) -> str:
    return FORBIDDEN.sub("\ufffd", text)
