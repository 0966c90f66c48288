"""Submissions in: every kind of file, every encoding, and what strangers put into them."""

import io
import json
import os
import stat
import zipfile
from datetime import datetime
from pathlib import Path

import openpyxl
import pytest
import yaml

from gradcheck.batch import submissions as batch
from gradcheck.batch.roster import Roster, read_names, read_roster
from gradcheck.batch.submissions import Notice, Submission, read_submissions
from gradcheck.errors import TextError
from tests.support.batches import made

FORMS = yaml.safe_load(Path(__file__).with_name("forms.yaml").read_text())

LINK = "link.yaml"
ADA = "student: ada\nanswers: {line: 6x}\n"
CALLED = {"ada": "Ada King", "jo": "Jo Ann Lee", "ann": "Jo Ann-Lee"}


def read(*paths, **how):
    return list(read_submissions(paths, **how))


def only(found):
    (each,) = found
    return each


def is_refused(each):
    return isinstance(each, Notice) and each.grave


def students(found):
    return [each.student for each in found if isinstance(each, Submission)]


def zipped(files, compression=zipfile.ZIP_DEFLATED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name)  # of 1980: two runs make the same bytes
            entry.external_attr = (stat.S_IFLNK if name == LINK else 0) << 16
            archive.writestr(entry, content, compression)
    return out.getvalue()


def test_documents(tmp_path):
    """YAML and JSON; a bare answer for a one-part problem; a file without a name gives its own.

    Lines of problems alone are answers where one of them was asked.
    """
    files = {
        "ada.yaml": "answers: {line: 6x, two: {x: 2x y, y: x^2}}\n",
        "bob.json": '{\n\t"student": 17, "answers": {"line": {"x": 12.0}}}',
        "cy.yaml": "answers: [1, 2]\n",
        "di.yaml": "student: {a: b}\nanswers: {line: 6x}\n",
        "ed.yaml": "line: 6x\ntwo: {x: 2x y, y: x^2}\n",
        "notes.yaml": "todo: print\n",
        ".hidden.yaml": ADA,
    }
    found = read(made(tmp_path, files), tmp_path / "nobody.yaml", asked=("line", "two"))
    ada, _, ed = (each for each in found if isinstance(each, Submission))
    assert students(found) == ["ada", "17", "ed"]
    assert ada.answers == ed.answers == {"line": "6x", "two.x": "2x y", "two.y": "x^2"}
    lost = {Path(each.why.partition(":")[0]).name: each.why for each in found if is_refused(each)}
    assert [*lost] == ["cy.yaml", "di.yaml", "notes.yaml", "nobody.yaml"]
    assert "no answers were found here" in lost["notes.yaml"]


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
    assert (found.student, found.answers) == ("ada", {"line": "√(x)·π"})


@pytest.mark.parametrize("name", ["ada.yaml", "ada.ipynb"])
def test_another_encoding_is_told(tmp_path, name):
    """Latin-1 is not guessed at: the byte, its line and the cure are said."""
    made(tmp_path, {name: "student,line\nAndré,6x\n".encode("latin-1")})
    found = only(read(tmp_path / name))
    assert is_refused(found)
    for words in ("not UTF-8: the byte E9", f"{name}:2", "save the file as UTF-8"):
        assert words in found.why


def test_a_table_of_windows_is_read_and_said(tmp_path):
    """Excel's `CSV`: the accents, the dash and the product sign of Windows-1252."""
    rows = "student;line\nAndré;6·x – 2²\n"
    notice, found = read(made(tmp_path, {"a.csv": rows.encode("cp1252")}))
    assert not is_refused(notice)
    assert "read as Windows-1252" in notice.why
    assert (found.student, found.answers) == ("André", {"line": "6·x – 2²"})


def workbook(rows):
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
    mapping = batch.Mapped("student", {"Time": "time", "line": "line", "two.x": "two.x"})
    ada, number = read_submissions([made(tmp_path, {name: content})], mapping=mapping)
    assert ada.answers == {
        "time": "2026-03-12 10:03:54", "line": "6x", "two.x": "0.25"
    }  # fmt: skip
    assert ada.at == when
    assert (number.student, number.answers["line"], number.file[-2:]) == ("4711", "12", ":3")
    assert "two.x" not in number.answers
    assert read_roster(tmp_path / name).called == {"ada": "", "4711": ""}


@pytest.mark.parametrize(
    ("rows", "due"),
    [
        (  # semicolons as well; an empty cell is no answer; lines may be in a cell
            'student;two.x;two.y;line\nada; 2x y ;;"[1,\n2]"\n;;;\n"b, c";1;2;\n',
            {"ada": {"two.x": "2x y", "line": "[1,\n2]"}, "b, c": {"two.x": "1", "two.y": "2"}},
        ),
        # lines of old machines; what a spreadsheet is kept from taking for a formula
        ("student,line\rada,6x\rbob,'-7x", {"ada": {"line": "6x"}, "bob": {"line": "-7x"}}),
        # composed or not, with one space or two, a name is one
        ("student,line\nJose\u0301  A,1\nJosé A,2\n", {"José A": {"line": "2"}}),
        (  # of two columns the last counts: an empty cell takes nothing away
            "student,line,line\nada,6x,\nbob,,6x\ncy,6x,7x\ndi,6x,,\n",
            {name: {"line": "7x" if name == "cy" else "6x"} for name in ("ada", "bob", "cy", "di")},
        ),
    ],
)
def test_csv(tmp_path, rows, due):
    found = read(made(tmp_path, {"a.csv": rows}))
    rows = (each for each in found if isinstance(each, Submission))
    assert {each.student: each.answers for each in rows} == due
    assert ("2 columns are called `line`" in getattr(found[0], "why", "")) == ("di" in due)


def test_a_mapping_renames_headers(tmp_path):
    """What the mapping neither uses nor ignores is said once for each column."""
    mapping = "student: E-mail\nanswers: {'Q1: slope': two.x, Q9: line}\nignore: [Timestamp]\n"
    form = "Timestamp,E-mail,Q1: slope,Comment\nnow,ada@x.org,2x y,=1+1\nnow,bob@x.org,1,\n"
    made(tmp_path, {"mapping.yml": mapping, "form.csv": form})
    found = read(tmp_path / "form.csv", mapping=batch.read_mapping(tmp_path / "mapping.yml"))
    comment, missing = (each.why for each in found if isinstance(each, Notice))
    assert "`Comment` is not in the mapping" in comment
    assert "no column `Q9`" in missing
    assert students(found) == ["ada@x.org", "bob@x.org"]
    (ada,) = (each for each in found if getattr(each, "student", "") == "ada@x.org")
    assert ada.answers == {"two.x": "2x y"}


@pytest.mark.parametrize(
    "text", ["[1]", "answers: 3", "answers: {}\nigrone: []", "answers: {}\nignore: a"]
)
def test_a_malformed_mapping_is_refused(tmp_path, text):
    made(tmp_path, {"m.yaml": text})
    with pytest.raises(TextError, match=r"m\.yaml:\d+:\d+: "):
        batch.read_mapping(tmp_path / "m.yaml")


def test_a_mapping_may_name_the_student_alone(tmp_path):
    """The other headers are problems already; without it the likely column is said."""
    form = "Timestamp,Email Address,two.x\nnow,ada@x.org,2x y\n"
    made(tmp_path, {"mapping.yml": "student: Email Address\n", "form.csv": form})
    ada = only(read(tmp_path / "form.csv", mapping=batch.read_mapping(tmp_path / "mapping.yml")))
    assert (ada.student, ada.answers["two.x"]) == ("ada@x.org", "2x y")
    said = only(read(tmp_path / "form.csv"))
    assert is_refused(said)
    assert "form.csv:1: a column `student` was expected, `Timestamp`, `Email" in said.why
    assert "write `student: Email Address` into a file for --mapping" in said.why


def test_notebooks(tmp_path):
    """Tagged cells hold answers as data, whatever kind of cell; the others are left alone.

    The last of two counts, and it is said; more answers than may be are not graded.
    """
    cells = {
        "ada": [
            {"cell_type": "markdown", "source": ["# Homework\n"]},
            {"cell_type": "code", "source": ["#| gradcheck: two.x\n", "2x y\n"], "outputs": [1]},
            {"cell_type": "markdown", "source": "#| gradcheck: line\n[[1, 2],\n [3, 4]]"},
            {"cell_type": "code", "source": "#| gradcheck: empty\n"},
            {"cell_type": "code", "source": "%%gradcheck three\n1"},
            {"cell_type": "code", "source": "# gradcheck: four.x is a leaf \n2\ud800"},
            {"cell_type": "code", "source": "import os; os.abort()"},
        ],
        "di": [{"source": f"#| gradcheck: {name}\n{k}x"} for k, name in enumerate("aabb")],
        "ed": [{"source": "#| gradcheck: a\n1"}] * 1_001,
    }
    files = {f"{name}.ipynb": json.dumps({"cells": each}) for name, each in cells.items()}
    made(tmp_path, files | {"bob.ipynb": "{", "cy.ipynb": "[" * 10**5})
    ada, bob, cy, notice, di, ed = read(tmp_path)
    assert ada.answers == {
        "two.x": "2x y",
        "line": "[[1, 2],\n [3, 4]]",
        "empty": None,
        "three": "1",
        "four.x is a leaf": "2\ufffd",
    }
    assert notice.why.endswith("of which the last counts: `a`, `b`")
    assert di.answers == {"a": "1x", "b": "3x"}
    bad = "not readable as a notebook"
    for each, said in ((bob, bad), (cy, bad), (ed, "more than 1000 answers")):
        assert is_refused(each)
        assert said in each.why


# -- whose a file is -------------------------------------------------------------------------------


@pytest.mark.parametrize(("names", "path", "student", "called"), FORMS["names"])
def test_names_of_downloads(tmp_path, names, path, student, called):
    """The platform knows who handed a file in; what the student wrote in it does not count."""
    text = "student: mallory\nanswers: {line: 6x}\n"
    known = {"names": read_names(names), "roster": Roster(CALLED)}
    found = only(read(made(tmp_path / "in", {path: text}), **known))
    assert (found.student, found.called) == (student, called)
    archive = made(tmp_path / "zip", {"all.zip": zipped({path: text})})
    assert students(read(archive, **known)) == [student]


@pytest.mark.parametrize(("path", "page"), FORMS["typed"])
def test_what_is_typed_into_a_platform(tmp_path, path, page):
    made(tmp_path, {path: page, "other.html": page})
    found, other = read(tmp_path, names=read_names(r"_(?P<student>\d+)_"), asked=["line", "two"])
    said = {name: given.replace("{6}x", "6x") for name, given in found.answers.items()}
    assert said == {"line": "6x^(2)", "two.x": "2xy", "two.y": "x²"}
    assert "not read" in other.why


def test_a_name_that_does_not_fit_grades_nobody(tmp_path):
    """Rather than the file's own word for it; a name of the roster fits as well."""
    inside = "student: mallory\nanswers: {line: 6x}\n"
    made(tmp_path / "in", {"doe_12345_6_hw.yaml": inside, "stud7.yaml": inside, "who.yaml": inside})
    made(tmp_path, {"roster.csv": "student,id,login\ndoe,12345,d1\nann,777,stud7\n"})
    roster = read_roster(tmp_path / "roster.csv")
    found = read(tmp_path / "in", names=read_names("canvas"), roster=roster)
    assert sorted(map(roster.student, students(found))) == ["ann", "doe"]
    (refused,) = filter(is_refused, found)
    assert "who.yaml: the name does not fit --names" in refused.why
    assert is_refused(only(read(tmp_path / "in" / "stud7.yaml", names=read_names("canvas"))))
    for names, said in (("(.*)", "student"), ("(?P<student>", "not a regular expression")):
        with pytest.raises(ValueError, match=said):
            read_names(names)


@pytest.mark.parametrize(("file", "owner"), FORMS["owners"])
def test_a_file_is_its_owners_however_the_name_is_written(tmp_path, file, owner):
    """The roster is Canvas's own gradebook: two lines of headers, and columns of points."""
    rows = (
        "Student,ID,SIS User ID,Section,Week 1 (9001),Final Score\n"
        "    Points Possible,,,,20,(read only)\n"
        '"Lovelace, Ada",410,s2000,A,17,18\n"García, José",447,s2005,A,410,19\n'
        '"Lee, Anne",484,s2006,A,,\n"Lee, Ann",485,s2007,A,,\n'
    )
    notebook = json.dumps({"cells": [{"source": "#| gradcheck: line\n6x"}]})
    made(tmp_path, {"roster.csv": rows, f"in/{file}": notebook})
    roster = read_roster(tmp_path / "roster.csv")
    assert len(roster.called) == 4
    assert roster.student("410") == "Lovelace, Ada"
    assert students(read(tmp_path / "in", roster=roster)) == [owner]


def test_identities_of_a_roster(tmp_path):
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
    assert {found.student(name) for name in ("00101", "101.0")} == {"ada"}
    made(tmp_path, {"r.csv": "student,id\nada,007\nbob,7\ncy,0042\ncy,43\ncy,43\ndi,5\ndi,5"})
    found = read_roster(tmp_path / "r.csv")
    whose = [*map(found.student, ("007", "7", "42", "cy", "5")), *found.twice]
    assert whose == ["ada", "bob", "cy (0042)", "cy", "di", "cy (43)", "di"]
    with pytest.raises(TextError, match="column `student`"):
        read_roster(tmp_path / "bad.csv")


def test_times_of_forms():
    for text in (
        "2026-03-12 10:03:54", "2026-03-12T10:03:54", "2026/03/12 10:03:54 AM",
        "2026/03/12 10:03:54 AM GMT+1", "3/12/2026 10:03:54", "3/12/26 10:03:54",
        "12.03.2026 10:03:54", "2026/03/12 10:03:54 AM MEZ",
    ):  # fmt: skip
        assert batch.read_time(text) == datetime(2026, 3, 12, 10, 3, 54), text
    assert batch.read_time("after lunch") is None


# -- what else is in a folder, and in what strangers send ------------------------------------------


def test_archives(tmp_path, monkeypatch):
    """Members in the order of their names, read without being unpacked; so many, so many bytes."""
    files = {"b/bob.yaml": ADA.replace("ada", "bob"), "ada.yaml": ADA, "__MACOSX/ada.yaml": "x"}
    found = read(made(tmp_path, {"all.zip": zipped(files)}) / "all.zip")
    assert [each.student for each in found] == ["ada", "bob"]
    made(tmp_path, {"all.zip": zipped({f"{k}.yaml": ADA for k in range(9)})})
    monkeypatch.setattr("gradcheck.batch.submissions.MEMBERS", 8)
    assert "9 files" in only(read(tmp_path)).why
    monkeypatch.setattr("gradcheck.batch.submissions.MEMBERS", 10)
    monkeypatch.setattr("gradcheck.batch.submissions.EXPANDED", 100)
    assert "bytes when unpacked" in only(read(tmp_path)).why


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


ONE = zipped({"ada.yaml": ADA})
ROWS = b"student,line\n"
TAGGED = b'{"source": "#| gradcheck: a%sb"}, '
HOSTILE = [
    ("zip", zipped({"../../evil.yaml": ADA}), "leads out of the archive"),
    ("zip", zipped({"/etc/evil.yaml": ADA}), "leads out of the archive"),
    ("zip", zipped({"ada.yaml": b"a" * 40_000_000}), "grows 1,0"),
    ("zip", zipped({"a.yaml": b"a" * 1_000_001}, zipfile.ZIP_STORED), "more than 1,000,000 bytes"),
    ("zip", zipped({"inner.zip": ONE}), "an archive in an archive"),
    ("zip", zipped({"ada.json": "\x1b[2J" * 9}), "not readable as JSON"),
    ("zip", ONE[: len(ONE) // 2], "not readable as a zip archive"),
    ("zip", zipped({LINK: "/etc/passwd"}), "a link is not followed"),
    ("zip", zipped({"a.yaml": ADA}, zipfile.ZIP_STORED).replace(b"6x", b"7x"), "Bad CRC-32"),
    ("zip", zipped({"é.yaml": ADA}).replace("é".encode(), b"\xff\xff"), "not readable as a zip"),
    ("xlsx", b"PK\x03\x04" + bytes(40), "a.xlsx:1: not readable as a workbook"),
    ("xlsx", zipped({"a.xml": bytes(2_000_000)}), "it is too large"),
    ("ipynb", b'{"cells": [], "n": ' + b"1" * 5_000 + b"}", "no answers were found"),
    ("ipynb", b'{"cells": [%s1]}' % (TAGGED % (b" " * 5_000) * 1_001), "more than 1000 answers"),
    ("onlinetext.html", b"<a " * 50_000, "no answers were found"),
    ("onlinetext.html", b"<a " * 1_400_000, "more than 4,000,000 letters"),
    ("onlinetext.html", b"<img src='data:%s'><![<" % (b"A" * 5_000_000), "cannot be read"),
    ("yaml", b"\x00\xff" * 500, "not UTF-8"),
    ("yaml", b"\x7fELF\x02\x01\x01" + bytes(100), "control characters are not allowed"),
    ("yaml", b"answers: {line: " + b"[" * 900 + b"]" * 900 + b"}", "levels deep"),
    ("yaml", b"answers: {line: " + b"x" * 1_000_000 + b"}", "more than 1,000,000 bytes"),
    ("yaml", b"answers: !!python/object/apply:os.abort []", "tag"),
    ("yaml", b"student: ''\nanswers: {line: 1}", "name is empty"),
    ("yaml", b"student: " + b"a" * 10_000 + b"\nanswers: {line: 1}", "10,000 characters"),
    ("yaml", "student: \u202eada\nanswers: {line: 1}".encode(), "U+202E"),
    ("yaml", b'student: "a\\e[31mb"\nanswers: {line: 1}', "U+001B"),
    ("yaml", b"answers: {" + b", ".join(b"p%d: 1" % k for k in range(1001)) + b"}", "than 1000"),
    ("csv", ROWS + b"ada,1\x00\n", "NUL"),
    ("csv", ROWS + b"ada," + b"x" * 200_000 + b"\n", "field larger"),
    ("csv", b"", "nothing came"),
    ("csv", ROWS + b'ada,"6x\nbob,6x\n', "a.csv:2: a quotation mark is opened here"),
    ("csv", ROWS + b"ada,2,5\n", "a.csv:2: 3 cells under 2 headers"),
    ("csv", b"student;line\r\nada;2;5", "put an answer with a semicolon in quotation marks"),
    ("csv", ",".join(["student", *map(str, range(2_000))]).encode(), "a.csv:1: 2,001 columns"),
]


@pytest.mark.parametrize(
    ("kind", "content", "words"), HOSTILE, ids=[f"{kind}: {says}" for kind, _, says in HOSTILE]
)
def test_what_is_hostile_costs_a_message_and_the_next_is_read(tmp_path, kind, content, words):
    """Junk, depth, size, tags, names that are none; the rest of such a table is not trusted."""
    made(tmp_path, {f"a.{kind}": content, "zoe.yaml": ADA})
    *_, bad, good = read(tmp_path)
    assert is_refused(bad)
    assert words in bad.why
    assert isinstance(good, Submission)


def test_links_and_special_files_are_not_followed(tmp_path):
    """In a directory may be links to elsewhere, pipes that never end, and what we have written."""
    kept = {f"in/g/{name}": "student,line\nada,0\n" for name in ("results.sqlite", "grades.csv")}
    made(tmp_path, {"out/secret.yaml": ADA, "in/\udcffada.yaml": ADA, **kept})
    (tmp_path / "in" / "link.yaml").symlink_to(tmp_path / "out" / "secret.yaml")
    (tmp_path / "in" / "below").symlink_to(tmp_path / "out")
    os.mkfifo(tmp_path / "in" / "pipe.yaml")
    link, ada, _ = read(tmp_path / "in")
    assert ada.file.endswith("/\ufffdada.yaml")  # as a foreign archive leaves it
    assert is_refused(link)
    assert "a link" in link.why
