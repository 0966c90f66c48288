"""Submissions in: every kind of file, every encoding, and what strangers put into them."""

import io
import json
import os
import stat
import zipfile
from datetime import datetime
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from gradcheck.batch.files import Notice
from gradcheck.batch.roster import read_names, read_roster
from gradcheck.batch.submissions import Mapped, Read, Submission, moment, read_mapping, submissions
from gradcheck.errors import TextError
from tests.support.batches import made

LINK = "link.yaml"
ADA = "student: ada\nanswers: {line: 6x}\n"
NOTEBOOK = json.dumps({"cells": [{"source": "#| gradcheck: line\n6x"}]})


def read(*paths: Path, **how: Any) -> list[Read]:
    """All that is read of some paths."""
    return list(submissions(paths, **how))


def is_refused(each: Read) -> bool:
    """Whether nobody is graded by a file or a row."""
    return isinstance(each, Notice) and each.grave


def zipped(files: dict[str, str | bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip archive."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name)  # of 1980: two runs make the same bytes
            entry.external_attr = (stat.S_IFLNK if name == LINK else 0) << 16
            archive.writestr(entry, content, compression)
    return out.getvalue()


def only(found: list[Read]) -> Read:
    """The one thing that was read."""
    (each,) = found
    return each


def test_documents(tmp_path):
    """YAML and JSON; a bare answer for a one-part problem; a file without a name gives its own."""
    files = {
        "ada.yaml": "answers: {line: 6x, two: {x: 2x y, y: x^2}}\n",
        "bob.json": '{\n\t"student": 17, "answers": {"line": {"x": 12.0}}}',
        "cy.yaml": "answers: [1, 2]\n",
        "di.yaml": "student: {a: b}\nanswers: {line: 6x}\n",
        "notes.txt": "not an answer",
        ".hidden.yaml": ADA,
    }
    found = read(made(tmp_path, files), tmp_path / "nobody.yaml")
    handed_in = [each for each in found if isinstance(each, Submission)]
    assert [each.student for each in handed_in] == ["ada", "17"]
    assert handed_in[0].answers == {"line": {"": "6x"}, "two": {"x": "2x y", "y": "x^2"}}
    lost = [each for each in found if is_refused(each)]
    assert [Path(each.why.partition(":")[0]).name for each in lost] == [
        "cy.yaml",
        "di.yaml",
        "nobody.yaml",
    ]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("name", ["ada.yaml", "ada.csv", "ada.ipynb"])
def test_encodings(tmp_path, name, encoding):
    """UTF-8 with or without a mark, and UTF-16 with one, in every kind of file."""
    notebook = {"cells": [{"cell_type": "code", "source": "#| gradcheck: line\n√(x)·π"}]}
    text = {
        "ada.yaml": "student: ada\nanswers: {line: √(x)·π}\n",
        "ada.csv": "student,line\nada,√(x)·π\n",
        "ada.ipynb": json.dumps(notebook, ensure_ascii=False),
    }[name]
    found = only(read(made(tmp_path, {name: text.encode(encoding)}) / name))
    assert isinstance(found, Submission)
    assert (found.student, found.answers) == ("ada", {"line": {"": "√(x)·π"}})


@pytest.mark.parametrize("name", ["ada.yaml", "ada.ipynb"])
def test_another_encoding_is_told(tmp_path, name):
    """Latin-1 is not guessed at: the byte, its line and the cure are said."""
    made(tmp_path, {name: "student,line\nAndré,6x\n".encode("latin-1")})
    found = only(read(tmp_path / name))
    assert is_refused(found)
    assert "not UTF-8: the byte E9" in found.why
    assert f"{name}:2" in found.why
    assert "save the file as UTF-8" in found.why


def test_a_table_of_windows_is_read_and_said(tmp_path):
    """Excel's `CSV`: the accents, the dash and the product sign of Windows-1252."""
    rows = "student;line\nAndré;6·x – 2²\n"
    notice, found = read(made(tmp_path, {"a.csv": rows.encode("cp1252")}))
    assert not is_refused(notice)
    assert "read as Windows-1252" in notice.why
    assert isinstance(found, Submission)
    assert (found.student, found.answers) == ("André", {"line": {"": "6·x – 2²"}})


def workbook(rows):
    """The bytes of a workbook with these rows."""
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.create_sheet("another").append(["student", "line"])
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


@pytest.mark.parametrize("name", ["form.xlsx", "form.csv"])
def test_workbooks(tmp_path, name):
    """As a form exports it: numbers, times and empty cells as they are seen; the first sheet."""
    when = datetime(2026, 3, 12, 10, 3, 54)
    content = workbook(
        [["Time", "student", "line", "two.x"], [when, "ada", "6x", 0.25], [when, 4711, 12.0, None]]
    )
    mapping = Mapped("student", {"Time": "time", "line": "line", "two.x": "two.x"})
    ada, number = submissions([made(tmp_path, {name: content})], mapping=mapping)
    assert ada.answers == {
        "time": {"": "2026-03-12 10:03:54"}, "line": {"": "6x"}, "two.x": {"": "0.25"}
    }  # fmt: skip
    assert ada.at == when
    assert (number.student, number.answers["line"], number.file[-2:]) == ("4711", {"": "12"}, ":3")
    assert "two.x" not in number.answers
    assert read_roster(tmp_path / name).called == {"ada": "", "4711": ""}


@pytest.mark.parametrize("content", [b"PK\x03\x04" + bytes(40), workbook([])[:-100]])
def test_what_is_no_workbook_is_told(tmp_path, content):
    found = only(read(made(tmp_path, {"a.xlsx": content})))
    assert is_refused(found)
    assert "a.xlsx:1: not readable as a workbook" in found.why


def test_csv(tmp_path):
    """A row a student; semicolons as well; an empty cell is no answer; lines may be in a cell."""
    made(tmp_path, {"a.csv": 'student;two.x;two.y;line\nada; 2x y ;;"[1,\n2]"\n;;;\n"b, c";1;2;\n'})
    ada, bob = read(tmp_path)
    assert isinstance(ada, Submission)
    assert ada.answers == {"two.x": {"": "2x y"}, "line": {"": "[1,\n2]"}}
    assert isinstance(bob, Submission)
    assert bob.student == "b, c"


def test_csv_without_the_students_column(tmp_path):
    """What was expected, what came, and the cure."""
    made(tmp_path, {"a.csv": "name,line\nada,1\n"})
    found = only(read(tmp_path))
    assert is_refused(found)
    for words in ("a.csv:1", "column `student`", "`name`, `line`", "--mapping"):
        assert words in found.why


def test_a_mapping_renames_headers(tmp_path):
    """What the mapping neither uses nor ignores is said once for each column."""
    mapping = "student: E-mail\nanswers: {'Q1: slope': two.x, Q9: line}\nignore: [Timestamp]\n"
    form = "Timestamp,E-mail,Q1: slope,Comment\nnow,ada@x.org,2x y,=1+1\nnow,bob@x.org,1,\n"
    made(tmp_path, {"mapping.yml": mapping, "form.csv": form})
    mapping = read_mapping(tmp_path / "mapping.yml")
    found = read(tmp_path / "form.csv", mapping=mapping)
    notices = [each.why for each in found if isinstance(each, Notice) and not is_refused(each)]
    assert len(notices) == 2
    assert "`Comment` is not in the mapping" in notices[0]
    assert "no column `Q9`" in notices[1]
    students = [each for each in found if isinstance(each, Submission)]
    assert [each.student for each in students] == ["ada@x.org", "bob@x.org"]
    assert students[0].answers == {"two.x": {"": "2x y"}}


@pytest.mark.parametrize(
    "text", ["[1]", "answers: 3", "answers: {}\nigrone: []", "answers: {}\nignore: a"]
)
def test_a_malformed_mapping_is_refused(tmp_path, text):
    """With its place."""
    made(tmp_path, {"m.yaml": text})
    with pytest.raises(TextError, match=r"m\.yaml:\d+:\d+: "):
        read_mapping(tmp_path / "m.yaml")


def test_a_mapping_may_name_the_student_alone(tmp_path):
    """The other headers are problems already; without it the likely column is said."""
    form = "Timestamp,Email Address,two.x\nnow,ada@x.org,2x y\n"
    made(tmp_path, {"mapping.yml": "student: Email Address\n", "form.csv": form})
    mapping = read_mapping(tmp_path / "mapping.yml")
    (ada,) = read(tmp_path / "form.csv", mapping=mapping)
    assert (ada.student, ada.answers["two.x"]) == ("ada@x.org", {"": "2x y"})
    (said,) = read(tmp_path / "form.csv")
    assert "write `student: Email Address` into a file for --mapping" in said.why


def test_notebooks(tmp_path):
    """Tagged cells hold answers as data, whatever kind of cell; the others are left alone."""
    cells = [
        {"cell_type": "markdown", "source": ["# Homework\n"]},
        {"cell_type": "code", "source": ["#| gradcheck: two.x\n", "2x y\n"], "outputs": [1]},
        {"cell_type": "markdown", "source": "#| gradcheck: line\n[[1, 2],\n [3, 4]]"},
        {"cell_type": "code", "source": "#| gradcheck: empty\n"},
        {"cell_type": "code", "source": "import os; os.abort()"},
    ]
    made(
        tmp_path,
        {"ada.ipynb": json.dumps({"cells": cells}), "bob.ipynb": "{", "cy.ipynb": "[" * 10**5},
    )
    ada, bob, cy = read(tmp_path)
    assert isinstance(ada, Submission)
    assert ada.student == "ada"
    assert ada.answers == {
        "two.x": {"": "2x y"},
        "line": {"": "[[1, 2],\n [3, 4]]"},
        "empty": {"": None},
    }
    for each in (bob, cy):
        assert is_refused(each)
        assert "not readable as a notebook" in each.why


def test_a_notebook_with_many_answers(tmp_path):
    """The last cell counts, and it is said; more answers than may be are not graded."""
    cells = [{"source": f"#| gradcheck: {name}\n{k}x"} for k, name in enumerate("aabb")]
    many = [{"source": "#| gradcheck: a\n1"}] * 1_001
    made(tmp_path, {f"{n}.ipynb": json.dumps({"cells": c}) for n, c in (("a", cells), ("b", many))})
    notice, found, refused = read(tmp_path)
    assert notice.why.endswith("of which the last counts: `a`, `b`")
    assert found.answers == {"a": {"": "1x"}, "b": {"": "3x"}}
    assert "more than 1000 answers" in refused.why


@pytest.mark.parametrize(
    ("names", "path", "student", "called"),
    [
        ("canvas", "doejane_12345_67890_homework.yaml", "12345", "doejane"),
        ("canvas", "doejane_LATE_12345_67890_homework-2.yaml", "12345", "doejane"),
        ("moodle", "Jane Doe_12345_assignsubmission_file_/answers.yaml", "12345", "Jane Doe"),
        ("moodle", "Jane Doe_12345_assignsubmission_file_answers.yaml", "12345", "Jane Doe"),
        (r"submitted/(?P<student>[^/]+)/", "submitted/ada/hw1/answers.yaml", "ada", ""),
    ],
)
def test_names_of_downloads(tmp_path, names, path, student, called):
    """The platform knows who handed a file in; what the student wrote in it does not count."""
    made(tmp_path, {path: "student: mallory\nanswers: {line: 6x}\n"})
    found = only(read(tmp_path, names=read_names(names)))
    assert isinstance(found, Submission)
    assert (found.student, found.called) == (student, called)
    archive = made(tmp_path / "zip", {"all.zip": zipped({path: ADA})})
    inside = only(read(archive, names=read_names(names)))
    assert isinstance(inside, Submission)
    assert inside.student == student


def test_a_name_of_the_roster_fits_beside_a_platforms_own(tmp_path):
    """Downloads, and files that students named: what is written inside counts in neither."""
    inside = "student: mallory\nanswers: {line: 6x}\n"
    made(tmp_path / "in", {"doe_12345_6_hw.yaml": inside, "stud7.yaml": inside, "who.yaml": inside})
    made(tmp_path, {"roster.csv": "student,id,login\ndoe,12345,d1\nann,777,stud7\n"})
    roster = read_roster(tmp_path / "roster.csv")
    found = read(tmp_path / "in", names=read_names("canvas"), roster=roster)
    graded = [each.student for each in found if isinstance(each, Submission)]
    assert sorted(map(roster.student, graded)) == ["ann", "doe"]
    (refused,) = filter(is_refused, found)
    assert "who.yaml: the name does not fit --names" in refused.why


@pytest.mark.parametrize(
    ("file", "owner"),
    [
        ("Ada Lovelace.ipynb", "Lovelace, Ada"),
        ("week3_Lovelace_Ada.ipynb", "Lovelace, Ada"),
        ("hw-s2005.ipynb", "García, José"),
        ("jose garcia (1).ipynb", "García, José"),
        ("Anne-Lee.ipynb", "Lee, Anne"),
        ("Garcia.ipynb", "Garcia"),  # half a name is nobody's
        ("Anne Lee Ada Lovelace.ipynb", "Anne Lee Ada Lovelace"),  # whose, of two?
        ("Points Possible.ipynb", "Points Possible"),
        ("17.ipynb", "17"),  # the points that one student has
    ],
)
def test_a_file_is_its_owners_however_the_name_is_written(tmp_path, file, owner):
    """The roster is Canvas's own gradebook: two lines of headers, and columns of points."""
    rows = (
        "Student,ID,SIS User ID,Section,Week 1 (9001),Final Score\n"
        "    Points Possible,,,,20,(read only)\n"
        '"Lovelace, Ada",410,s2000,A,17,18\n"García, José",447,s2005,A,410,19\n'
        '"Lee, Anne",484,s2006,A,,\n"Lee, Ann",485,s2007,A,,\n'
    )
    made(tmp_path, {"roster.csv": rows, f"in/{file}": NOTEBOOK})
    roster = read_roster(tmp_path / "roster.csv")
    assert len(roster.called) == 4
    assert roster.student("410") == "Lovelace, Ada"
    found = only(read(tmp_path / "in", roster=roster))
    assert found.student == owner


def test_lines_of_problems_alone_are_answers(tmp_path):
    """Where one of them was asked; a file about something else is nobody's submission."""
    made(tmp_path, {"ada.yaml": "line: 6x\ntwo: {x: 2x y}\n", "notes.yaml": "todo: print\n"})
    ada, notes = read(tmp_path, asked=("line", "two"))
    assert ada.answers == {"line": {"": "6x"}, "two": {"x": "2x y"}}
    assert "no answers were found here" in notes.why


def test_files_of_other_kinds_are_said(tmp_path):
    """A scan or a text handed in is not lost in silence; nor does one line a file bury the rest."""
    scans = {f"scan{k}.pdf": "%PDF" for k in range(7)}
    made(tmp_path, {"in/ada.yaml": ADA, "in/below/bob.docx": "PK", **scans})
    _, said = read(tmp_path / "in")
    assert "below/bob.docx" in said.why
    assert not said.grave
    made(tmp_path, {"all.zip": zipped({"ada.yaml": ADA, **scans, "__MACOSX/x.pdf": ""})})
    _, said = read(tmp_path / "all.zip")
    assert said.why.endswith("scan3.pdf, scan4.pdf and 2 more")


def test_a_name_that_does_not_fit_grades_nobody(tmp_path):
    """Rather than the file's own word for it."""
    made(tmp_path, {"ada.yaml": ADA})
    found = only(read(tmp_path, names=read_names("canvas")))
    assert is_refused(found)
    assert "--names" in found.why
    with pytest.raises(ValueError, match="student"):
        read_names("(.*)")
    with pytest.raises(ValueError, match="not a regular expression"):
        read_names("(?P<student>")


def test_a_roster(tmp_path):
    """Names of the column `student`, what people call them, and the names by which they go."""
    rows = (
        "student,name,Email,id,section\nada,Ada Lovelace,Ada@Example.edu,101,A\n\nbob,,,102,A\n"
        "cy,Cy,shared@example.edu,102,B\n"
    )
    made(tmp_path, {"r.csv": rows, "bad.csv": "name\nada\n"})
    found = read_roster(tmp_path / "r.csv")
    assert found.called == {"ada": "Ada Lovelace", "bob": "", "cy": "Cy"}
    whose = {name: found.student(name) for name in ("ada@example.EDU", "101", "102", "A", "x")}
    assert whose == {"ada@example.EDU": "ada", "101": "ada", "102": "102", "A": "A", "x": "x"}
    with pytest.raises(TextError, match="column `student`"):
        read_roster(tmp_path / "bad.csv")


@pytest.mark.parametrize(
    "text",
    [
        "2026-03-12 10:03:54", "2026-03-12T10:03:54", "2026/03/12 10:03:54 AM",
        "2026/03/12 10:03:54 AM GMT+1", "3/12/2026 10:03:54", "3/12/26 10:03:54",
        "12.03.2026 10:03:54", "2026/03/12 10:03:54 AM MEZ",
    ],
)  # fmt: skip
def test_times_of_forms(text):
    assert moment(text) == datetime(2026, 3, 12, 10, 3, 54)
    assert moment("after lunch") is None


def test_archives(tmp_path):
    """Members in the order of their names, read without being unpacked."""
    files = {"b/bob.yaml": ADA.replace("ada", "bob"), "ada.yaml": ADA, "__MACOSX/ada.yaml": "x"}
    made(tmp_path, {"all.zip": zipped(files)})
    found = read(tmp_path / "all.zip")
    assert [each.student for each in found if isinstance(each, Submission)] == ["ada", "bob"]
    assert len(found) == 2


def cut(content: bytes) -> bytes:
    """An archive whose download broke off."""
    return content[: len(content) // 2]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (zipped({"../../evil.yaml": ADA}), "leads out of the archive"),
        (zipped({"/etc/evil.yaml": ADA}), "leads out of the archive"),
        (zipped({"ada.yaml": b"a" * 40_000_000}), "grows 1,0"),
        (zipped({"ada.yaml": b"a" * 1_000_001}, zipfile.ZIP_STORED), "more than 1,000,000 bytes"),
        (zipped({"inner.zip": zipped({"ada.yaml": ADA})}), "an archive in an archive"),
        (zipped({"ada.yaml": "\x1b[2J" * 9}), "U+001B"),
        (cut(zipped({"ada.yaml": ADA})), "not readable as a zip archive"),
        (b"junk", "not readable as a zip archive"),
        (zipped({LINK: "/etc/passwd"}), "a link is not followed"),
        (zipped({"ada.yaml": ADA}, zipfile.ZIP_STORED).replace(b"6x", b"7x"), "Bad CRC-32"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_hostile_archives(tmp_path, content, words):
    """Each costs its own row a message; the next file is read."""
    made(tmp_path, {"a.zip": content, "zoe.yaml": ADA})
    bad, good = read(tmp_path)
    assert is_refused(bad)
    assert words in bad.why
    assert isinstance(good, Submission)


def test_limits_of_an_archive(tmp_path, monkeypatch):
    """So many files, so many bytes; beyond, nothing of it is read."""
    made(tmp_path, {"a.zip": zipped({f"{k}.yaml": ADA for k in range(9)})})
    monkeypatch.setattr("gradcheck.batch.files.MEMBERS", 8)
    assert "9 files" in only(read(tmp_path)).why
    monkeypatch.setattr("gradcheck.batch.files.MEMBERS", 10)
    monkeypatch.setattr("gradcheck.batch.files.EXPANDED", 100)
    assert "bytes when unpacked" in only(read(tmp_path)).why


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\x00\xff" * 500, "not UTF-8"),
        (b"\x7fELF\x02\x01\x01" + bytes(100), "may not stand in YAML"),
        (b"answers: {line: " + b"[" * 900 + b"]" * 900 + b"}", "levels deep"),
        (b"answers: {line: " + b"x" * 1_000_000 + b"}", "more than 1,000,000 bytes"),
        (b"answers: {a: &a [1], b: *a}", "alias"),
        (b"answers: !!python/object/apply:os.abort []", "tag"),
        (b"student: ''\nanswers: {line: 1}", "name is empty"),
        (b"student: '  '\nanswers: {line: 1}", "name is empty"),
        (b"student: " + b"a" * 10_000 + b"\nanswers: {line: 1}", "10,000 characters"),
        ("student: \u202eada\nanswers: {line: 1}".encode(), "U+202E"),
        (b'student: "a\\e[31mb"\nanswers: {line: 1}', "U+001B"),
        (b"answers: {" + b", ".join(b"p%d: 1" % k for k in range(1001)) + b"}", "more than 1000"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_hostile_documents(tmp_path, content, words):
    """Junk, depth, size, tags, and names that are none: a message each, and the next is read."""
    made(tmp_path, {"a.yaml": content, "zoe.yaml": ADA})
    bad, good = read(tmp_path)
    assert is_refused(bad)
    assert words in bad.why
    assert isinstance(good, Submission)


@pytest.mark.parametrize(
    "name", ["<script>alert(1)</script>", "=cmd()", "../../x", "..", "م\u200fحمد"]
)
def test_strange_names_are_names(tmp_path, name):
    """What is safe to keep is kept as it is."""
    made(tmp_path, {"a.yaml": json.dumps({"student": name, "answers": {}})})
    found = only(read(tmp_path))
    assert isinstance(found, Submission)
    assert found.student == name


def test_the_same_name_in_two_spellings_is_one(tmp_path):
    """Composed or not, with one space or two."""
    made(tmp_path, {"a.csv": "student,line\nJose\u0301  A,1\nJosé A,2\n"})
    assert len({each.student for each in read(tmp_path) if isinstance(each, Submission)}) == 1


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"student,line\nada,1\x00\n", "NUL"),
        (b"student,line\nada," + b"x" * 200_000 + b"\n", "field larger"),
        (b"\x89PNG\r\n\x1a\n" + bytes(20), "NUL"),
        (b"", "nothing came"),
        (b"student,line\n" + b"x" * 5_000_001, "a line of more than 5,000,000 characters"),
        (b'student,line\nada,"6x\nbob,6x\n', "a.csv:2: a quotation mark is opened here"),
        (b"student,line\nada,2,5\n", "a.csv:2: 3 cells under 2 headers"),
        (b"student;line\r\nada;2;5", "put an answer with a semicolon in quotation marks"),
        (",".join(["student", *map(str, range(2_000))]).encode(), "2,001 columns"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_hostile_tables(tmp_path, content, words):
    """The rest of the table is not trusted; the next file is read."""
    made(tmp_path, {"a.csv": content, "zoe.yaml": ADA})
    *_, bad, good = read(tmp_path)
    assert is_refused(bad)
    assert words in bad.why
    assert isinstance(good, Submission)


def test_the_last_of_two_columns_counts(tmp_path):
    """Spreadsheets are joined by hand: an empty cell takes nothing away."""
    rows = "student,line,line\nada,6x,\nbob,,6x\ncy,6x,7x\ndi,6x,,\n"
    notice, *found = read(made(tmp_path, {"a.csv": rows}))
    assert "2 columns are called `line`" in notice.why
    assert [each.answers["line"][""] for each in found] == ["6x", "6x", "7x", "6x"]


def test_lines_of_old_machines(tmp_path):
    found = read(made(tmp_path, {"a.csv": "student,line\rada,6x\rbob,7x"}))
    assert [each.student for each in found] == ["ada", "bob"]


def test_links_and_special_files_are_not_followed(tmp_path):
    """A directory of strangers may hold links to elsewhere, and pipes that never end."""
    made(tmp_path, {"out/secret.yaml": ADA, "in/ada.yaml": ADA})
    (tmp_path / "in" / "link.yaml").symlink_to(tmp_path / "out" / "secret.yaml")
    (tmp_path / "in" / "below").symlink_to(tmp_path / "out")
    os.mkfifo(tmp_path / "in" / "pipe.yaml")
    ada, link = read(tmp_path / "in")
    assert isinstance(ada, Submission)
    assert is_refused(link)
    assert "a link" in link.why


def test_a_table_is_read_row_by_row(tmp_path):
    """The first row is there before the last line of the file has been looked at."""
    made(tmp_path, {"a.csv": b"student,line\nada,1\n" + b"bob,2\n" * 100_000 + b"\x81\n"})
    stream = submissions([tmp_path])
    notice, first = next(stream), next(stream)
    assert "Windows-1252" in notice.why
    assert isinstance(first, Submission)
    assert first.student == "ada"
    *_, last = stream
    assert is_refused(last)
