"""Gradebooks of learning platforms: a platform's own export with the points filled in."""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any
from xml.sax.saxutils import escape

from gradcheck.documents.table import ARCHIVE, open_workbook, read_table, write_cell, write_workbook
from gradcheck.errors import GradcheckError
from gradcheck.problem.draw import list_spellings
from gradcheck.report.judgements import Line, list_findings

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
GROUPING = re.compile(r"\.(?=\d{3},)|,(?=\d{3}(?!\d))")  # of thousands: `1,000.5`, `1.000,5`
PARTICIPANT = "Participant "  # before the number in Moodle's column `Identifier`


@dataclass(frozen=True)
class FilledExport:
    """An export with the grades in it, and what should be known about it."""

    content: bytes
    notices: tuple[str, ...]


def write_table(rows: Iterable[Sequence[str | float]]) -> str:
    """Rows as CSV, every cell in quotes; no text is a formula to a spreadsheet."""
    return "".join(f"{write_cells(row)}\r\n" for row in rows)


def write_cells(row: Sequence[str | float]) -> str:
    cells = (disarm_formula(c) if isinstance(c, str) else format_points(c) for c in row)
    return ",".join('"{}"'.format(cell.replace('"', '""')) for cell in cells)


def disarm_formula(text: str) -> str:
    """A text that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(FORMULAS) else text


def format_points(points: float) -> str:
    """Points as a person writes them: no `.0`, no rounding noise."""
    return f"{points:.10g}"


def fill(  # noqa: PLR0917 - an export, and what goes into it
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
    rows, write = _read_export(export)
    if not rows:
        raise GradcheckError("the export is empty")
    found = _Export(rows, PLATFORMS[platform], {**(names or {}), **{n: n for n in points}})
    notices = list(found.fill(points, possible, column))
    if feedback is not None:
        notices += found.tell(feedback)
    return FilledExport(write(rows), tuple(notices))


def write_gradebook(platform: str, title: str, points: Mapping[str, float], possible: float) -> str:
    """A gradebook without an export: one that the platform can match by the students' names."""
    rows: list[list[str | float]]
    if platform == "canvas":
        rows = [["Student", "ID", "SIS User ID", "SIS Login ID", "Section", title]]
        rows += [["Points Possible", "", "", "", "", possible]]
        rows += [["", "", "", name, "", got] for name, got in points.items()]
    else:
        rows = [["Email address", "Grade", "Maximum Grade"]]
        rows += [[name, got, possible] for name, got in points.items()]
    return write_table(rows)


class _Export:
    """The rows of an export, and whom those belong to of which that is beyond doubt."""

    def __init__(
        self, rows: list[list[str]], platform: Platform, students: Mapping[str, str]
    ) -> None:
        self.platform, self.header = platform, rows[0]
        width = max(map(len, rows))
        self.whole = [[*row, *[""] * (width - len(row))] for row in rows[1:]]  # however short
        columns = range(len(self.header))
        names = [k for k in columns if self.header[k].strip() in platform.students] or [
            k for k in columns if any(_find_student(row[k], students) for row in self.whole)
        ]
        named = [
            {who for k in names if (who := _find_student(row[k], students))} for row in self.whole
        ]
        count = Counter(chain.from_iterable(named))
        # A number may be one student's participant number and another's ID number.
        self.doubtful = {s for found in named for s in found if len(found) > 1 or count[s] > 1}
        told = zip(rows[1:], self.whole, named, strict=True)
        self.owned, self.names, self.unknown = list[tuple[list[str], str]](), names, 0
        for row, whole, found in told:
            if found and not found & self.doubtful:
                self.owned.append((row, min(found)))
            elif not found and not self._is_maximum(whole):
                self.unknown += any(whole[k].strip() for k in names)

    def fill(self, points: Mapping[str, float], possible: float, column: str) -> Iterator[str]:
        """Write the grades into the rows; say who is in one of the two places only."""
        place = _find_column(self.header, self.platform, column)
        if not self.names:
            usual = self.platform.students and f", such as {', '.join(self.platform.students)}"
            somebody = next(iter(points), "nobody")
            words = f"no column of the export names the students of the batch{usual or ''}"
            raise GradcheckError(f"{words} - in the batch they are called as `{somebody}`")
        maxima = [row for row in self.whole if self._is_maximum(row)]
        total = TOTAL.search(self.header[place])
        maximum = _read_number(total[1] if total else maxima[0][place] if maxima else "")
        beside = self.platform.maximum.format(self.header[place].strip())
        most = self.header.index(beside) if beside and beside in self.header else None
        left, scaled = points.keys() - self.doubtful, False
        for row, student in self.owned:
            if place < len(row):
                own = maximum if most is None or most >= len(row) else _read_number(row[most])
                factor = own / possible if own and possible else 1.0
                scaled |= factor != 1.0
                row[place] = format_points(points[student] * factor)
                left.discard(student)
        if scaled:
            yield f"the points, of {format_points(possible)}, were scaled to the platform's maximum"
        if maximum is None and most is None:
            most_here = format_points(possible)
            yield f"the export tells no maximum: the points, of {most_here}, are not scaled"
        if self.unknown:
            yield f"rows of the export that are nobody's are left alone: {self.unknown}"
        if self.doubtful:
            cure = "name the students by what only one of them has"
            shown = "; ".join(sorted(self.doubtful)[:10])
            yield f"rows of the export that may be another's are left as they are - {cure}: {shown}"
        if left:
            shown = "; ".join([student for student in points if student in left][:10])
            yield f"students of the batch who are not in the export, {len(left)}: {shown}"

    def tell(self, feedback: Callable[[str], str]) -> Iterator[str]:
        """Write to each student who has a grade; what a teacher has written stays."""
        if self.platform.feedback not in self.header:
            words = f"the export has no column `{self.platform.feedback}`"
            yield f"{words}: no comments are written"
            return
        place, kept = self.header.index(self.platform.feedback), 0
        for row, student in self.owned:
            if place < len(row):
                kept += bool(row[place].strip())
                row[place] = row[place] if row[place].strip() else feedback(student)
        if kept:
            yield f"cells of `{self.platform.feedback}` that have words are left alone: {kept}"

    def _is_maximum(self, row: Sequence[str]) -> bool:
        return bool(self.platform.maximum_row) and row[0].strip() == self.platform.maximum_row


def _find_student(cell: str, students: Mapping[str, str]) -> str | None:
    """The student of the batch whom a cell names: by the name there, or by one of the roster."""
    bare = " ".join(cell.split())
    spelled = (*list_spellings(bare), *list_spellings(bare.removeprefix(PARTICIPANT)))
    return next((students[name] for name in spelled if name and name in students), None)


def _read_number(text: str) -> float | None:
    try:
        return float(GROUPING.sub("", text.strip()).replace(",", "."))
    except ValueError:
        return None


def _find_column(header: Sequence[str], platform: Platform, wanted: str) -> int:
    if wanted:
        fits = [k for k, name in enumerate(header) if name.strip() == wanted]
        fits = fits or [k for k, name in enumerate(header) if name.startswith(f"{wanted} (")]
    else:
        fits = [k for k, name in enumerate(header) if platform.grade.fullmatch(name.strip())]
    if len(fits) == 1:
        return fits[0]
    there = ", ".join(f"`{header[k]}`" for k in fits or range(len(header)) if header[k].strip())
    raise GradcheckError(f"which column takes the grades? Name it with --column: {there}")


def _read_export(export: bytes) -> tuple[list[list[str]], Callable[[list[list[str]]], bytes]]:
    """The rows of an export, and what makes one of rows, in the form and the encoding it came."""
    if export.startswith(ARCHIVE):
        book = open_workbook(export, "the export")
        found = book.worksheets[0].iter_rows(values_only=True)
        return [list(map(write_cell, row)) for row in found], partial(write_workbook, book=book)
    table = read_table(export, "the export")
    first = export.decode(table.encoding, "replace").partition("\n")[0]

    def write(rows: list[list[str]]) -> bytes:
        """Cells are separated, quoted and ended as they were."""
        out = io.StringIO(newline="")
        csv.writer(
            out,
            delimiter=table.delimiter,
            lineterminator="\r\n" if first.endswith("\r") else "\n",
            quoting=csv.QUOTE_ALL if first.startswith('"') else csv.QUOTE_MINIMAL,
        ).writerows(rows)
        return out.getvalue().encode(table.encoding, "replace")

    return [row for _, row in table.rows], write


# What XML 1.0 cannot hold, even as an entity.
FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_gradescope(lines: Sequence[Line], sources: dict[str, str]) -> str:
    """The results.json of one student: a test a part, the points as they stand."""
    tests = [
        {
            "name": f"{line['problem']}.{line['part']}",
            "number": str(number),
            "score": line["score"],
            "max_score": line["points"],
            "status": "passed" if line["verdict"] == "right" else "failed",
            "output": _write_words(line, sources[line["problem"]]),
            "output_format": "text",
            "visibility": "visible",
            "extra_data": {"verdict": line["verdict"], "certainty": line["certainty"]},
        }
        for number, line in enumerate(lines, 1)
    ]
    result: dict[str, Any] = {"output": "", "visibility": "visible", "tests": tests}
    return json.dumps(result, indent=1) + "\n"


def write_comments(lines: Sequence[Line]) -> str:
    """What a platform shows to a student beside the grade, as HTML: a paragraph an answer."""
    return "".join(f"<p>{_write_comment(line)}</p>" for line in lines)


def _write_comment(line: Line) -> str:
    """The verdict on an answer, and what explains it in words; underlined lines need a page."""
    name = f"<b>{escape(_clean(line['problem']))}.{escape(_clean(line['part']))}</b>"
    silent = line["verdict"] in ("right", "missing")
    found = [] if silent else [w for w in list_findings(line, "") if not w.startswith(" ")]
    said = escape(_clean("; ".join(found)))
    points = f"{line['score']:.6g} of {line['points']:.6g}"
    return f"{name}: {line['verdict']}, {points}{f' &ndash; {said}' if said else ''}"


def _write_words(line: Line, source: str) -> str:
    understood = [f"understood  {line['understood']}"] if line["understood"] else []
    found = [line["verdict"], *understood, *list_findings(line, source), *(line["remarks"] or ())]
    return "\n".join(found)


def _clean(text: str) -> str:
    return FORBIDDEN.sub("\ufffd", text)
