"""Gradebooks as platforms export and import them: every other cell comes back untouched."""

import csv
import io

import openpyxl
import pytest

from gradcheck.documents.table import write_workbook
from gradcheck.errors import GradcheckError
from gradcheck.report.gradebooks import fill, write_cells, write_gradebook

POINTS = {"101": 7.5, "bob@example.edu": 3.0, "Jane Doe": 1.0}
CANVAS = (
    "Student,ID,SIS User ID,SIS Login ID,Section,Homework 2 (77),Homework 3 (78),Current Score\r\n"
    "    Points Possible,,,,,5,20,(read only)\r\n"
    '"Doe, John",101,,jdoe,"A, first",4,,88\r\n'
    "Bob,102,,bob@example.edu,B,,1,=7\r\n"
    "Nobody,103,,nobody,B,2,3,4\r\n"
)
MOODLE = (
    "\ufeffIdentifier,Full name,Email address,Status,Grade,Maximum Grade,Feedback comments\n"
    'Participant 101,John Doe,j@example.edu,Submitted,,"10,00",well done\n'
    'Participant 102,Bob,bob@example.edu,Submitted,,"10,00",\n'
)


def rows(content):
    return list(csv.reader(io.StringIO(content.decode("utf-8-sig"), newline="")))


def canvas_workbook():
    book = openpyxl.Workbook()
    for row in csv.reader(io.StringIO(CANVAS, newline="")):
        book.active.append(row)
    book.active["A1"].font = openpyxl.styles.Font(bold=True)
    book.create_sheet("notes").append(["=1+1"])
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def test_canvas():
    """By id or login; scaled to the column's maximum; the other columns as they were."""
    found = fill(CANVAS.encode(), "canvas", POINTS, 10.0, "Homework 3")
    before, after = rows(CANVAS.encode()), rows(found.content)
    assert [row[6] for row in after] == ["Homework 3 (78)", "20", "15", "6", "3"]
    assert [r[:6] + r[7:] for r in after] == [r[:6] + r[7:] for r in before]
    assert found.content.endswith(b"\r\n")
    for notice, words in zip(found.notices, ("scaled", "alone: 1", "Jane Doe"), strict=True):
        assert words in notice
    lines = [f"{line}," for line in CANVAS.splitlines()]  # as Excel leaves an empty last column
    empty = fill("\r\n".join(lines).encode(), "canvas", POINTS, 10.0, "Homework 3")
    assert [row[:-1] for row in rows(empty.content)] == after


def test_moodle():
    """By the participant's number or the address; the mark at the start of the file is kept."""
    found = fill(MOODLE.encode(), "moodle", POINTS, 10.0)
    assert found.content.startswith(b"\xef\xbb\xbf")
    after = rows(found.content)
    assert [row[4] for row in after] == ["Grade", "7.5", "3"]
    assert [row[5:] for row in after] == [row[5:] for row in rows(MOODLE.encode())]


def test_moodle_is_told_what_was_found():
    """In the column for it, beside a grade; a teacher's own words are left."""
    found = fill(MOODLE.encode(), "moodle", POINTS, 10.0, feedback=lambda name: f"<p>{name}</p>")
    told = [row[6] for row in rows(found.content)]
    assert told == ["Feedback comments", "well done", "<p>bob@example.edu</p>"]
    assert found.notices[-1].endswith("`Feedback comments` that have words are left alone: 1")


@pytest.mark.parametrize(
    ("table", "doubtful"),
    [
        ("Full name,Grade\nJane Doe,\nJane Doe,\nBob,\n", "Jane Doe"),
        ("Identifier,ID number,Grade\nParticipant 101,7,\nParticipant 8,101,\n", "101"),
        ("Identifier,Full name,Grade\nParticipant 101,Jane Doe,\n", "101; Jane Doe"),
    ],
)
def test_nobody_gets_the_points_of_another(table, doubtful):
    """A row that may be somebody else's is left as it is, and that is said."""
    found = fill(table.encode(), "moodle", POINTS, 10.0)
    assert found.content.decode() == table
    (said,) = (words for words in found.notices if "another's" in words)
    assert said.endswith(f": {doubtful}")


def test_cells_come_back_whatever_is_in_them():
    """Separators, quotes and line ends within cells; the header's own do not count."""
    table = 'Full name;"Mark, a, b, c";Grade\r\nJane Doe;"x;""y""\r\n,z";\r\n'
    content = fill(table.encode(), "moodle", POINTS, 10.0).content.decode()
    given, row = csv.reader(io.StringIO(table, newline=""), delimiter=";")
    after = [*csv.reader(io.StringIO(content, newline=""), delimiter=";")]
    assert after == [given, [*row[:2], "1"]]


@pytest.mark.parametrize(
    ("export", "words"),
    [
        (b"Student,ID\n" + b"x" * 200_000 + b",1\n", "not readable as CSV"),
        (CANVAS.encode(), "Homework 2 (77)`, `Homework 3 (78)"),
        (b"Student,ID\nx,1\n", "Name it with --column: `Student`, `ID`"),
        (b"Name,Homework (1)\nx,1\n", "no column of the export names the students of the batch"),
        (b"", "empty"),
        (b"PK\x03\x04", "not readable as a workbook"),
    ],
)
def test_what_cannot_be_filled_in(export, words):
    with pytest.raises(GradcheckError) as error:
        fill(export, "canvas", POINTS, 10.0)
    assert words in str(error.value)


def test_a_new_gradebook():
    """Without an export: the columns that a platform matches by."""
    assert rows(write_gradebook("canvas", "Homework", POINTS, 10.0).encode())[1:3] == [
        ["Points Possible", "", "", "", "", "10"],
        ["", "", "", "101", "", "7.5"],
    ]
    moodle = rows(write_gradebook("moodle", "", POINTS, 10.0).encode())
    assert moodle[2] == ["bob@example.edu", "3", "10"]


def test_no_cell_is_a_formula():
    """A stranger's text never is one to a spreadsheet (CWE-1236); quotes are doubled."""
    for start in "=+-@\t\r":
        assert write_cells([f"{start}1+1", 'a"b']) == f'"\'{start}1+1","a""b"'
    sheet = openpyxl.load_workbook(io.BytesIO(write_workbook([["student"], ["=cmd()"]]))).active
    assert (sheet["A2"].data_type, sheet["A2"].value) == ("s", "=cmd()")


@pytest.mark.parametrize(
    ("header", "more", "ends"),
    [
        ("Username;Homework 3 [Total Pts: 20 Score] |129871", "bob@example.edu;", "6"),
        ("Username;Homework 3 [Total Pts: 1,000 Score] |7", "bob@example.edu;", "300"),
        ("SID;Homework 3;Homework 3 - Max Points", "101;;30", "22.5"),
        ("Vollständiger Name;Homework 3;Bestwertung", "Jane Doe;;30", "1"),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-16", "cp1252"])
def test_any_other_table(header, more, ends, encoding):
    """Students where their names stand; the maximum where Blackboard and Gradescope have it."""
    export = f"{header};\r\n{more};\r\n".encode(encoding)
    column = next(name for name in header.split(";") if name.startswith("Homework 3"))
    found = fill(export, "csv", POINTS, 10.0, column)
    after = [row.split(";") for row in found.content.decode(encoding).splitlines()]
    assert after[0] == [*header.split(";"), ""]
    assert after[1][header.split(";").index(column)] == ends


def test_a_workbook_comes_back_with_the_grades_in_it():
    """As numbers, and only they are new: other cells, their style and other sheets stay."""
    found = fill(canvas_workbook(), "canvas", POINTS, 10.0, "Homework 3")
    after = openpyxl.load_workbook(io.BytesIO(found.content))
    assert [row[6].value for row in after.worksheets[0]] == ["Homework 3 (78)", "20", 15, 6, "3"]
    assert after.worksheets[0]["A1"].font.bold
    assert after["notes"]["A1"].value == "=1+1"
