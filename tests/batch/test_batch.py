"""A batch from the command line: judged once, kept, gone on with, told apart, and written out."""

import csv
import io
import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import closing
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from gradcheck.batch.collect import AT_ONCE, Collector
from gradcheck.batch.ledger import Ledger
from gradcheck.cli import main
from tests.support.batches import (
    CLASS_ANSWERS,
    SET,
    calls,
    expect,
    grade,
    lines,
    made,
    outputs,
    report,
)

FORMS = yaml.safe_load(Path(__file__).with_name("forms.yaml").read_text())

ADA = "student: ada\nanswers: {line: 6x, two: {x: 2x y, y: 1}}\n"
BOB = "student: bob\nanswers: {line: 3x, two: {x: 2x y}}\n"
FILES = {"set.yaml": SET, "answers/ada.yaml": ADA, "answers/bob.yaml": BOB}


@pytest.fixture
def here(tmp_path):
    return made(tmp_path, FILES)


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    place = made(tmp_path_factory.mktemp("first"), FILES)
    expect(run(place), 0)
    return place


@pytest.fixture
def ran(first, here):
    shutil.copytree(first / "out", here / "out")
    return here


def run(here, *more):
    return grade(here / "set.yaml", here / "answers", "-o", here / "out", "--jobs", 1, *more)


def kept(here):
    return lines((here / "out" / "results.jsonl").read_text())


def execute(here, command):
    with closing(sqlite3.connect(here / "out" / "results.sqlite")) as ledger:
        found = ledger.execute(command).fetchall()
        ledger.commit()
    return found


class Instant:
    """Has done every task before anybody waits for it."""

    room = 1

    def __init__(self, *_, **__): ...

    def submit(self, task, *given, turn=None):
        future, found = Future(), task(*given)
        future.set_result(list(found) if isinstance(found, Iterator) else found)
        return future

    def close(self): ...


def test_nothing_is_left_where_all_that_is_out_comes_back_at_once(here, monkeypatch):
    monkeypatch.setattr("gradcheck.cli.grade.Pool", Instant)
    found = lines(grade(here / "set.yaml", here / "answers", "--json").stdout)
    assert [each["verdict"] for each in found] == [
        "right", "right", "wrong", "wrong", "right", "missing"
    ]  # fmt: skip


def test_what_a_batch_leaves(first):
    """Lines in the order student, problem, part; grades; a page a student and one for the class."""
    assert (first / "out").stat().st_mode & 0o777 == 0o700, "nobody else reads it"
    left = outputs(first / "out")
    assert [(t["student"], t["problem"], t["part"], t["verdict"]) for t in kept(first)] == [
        ("ada", "line", "x", "right"),
        ("ada", "two", "x", "right"),
        ("ada", "two", "y", "wrong"),
        ("bob", "line", "x", "wrong"),
        ("bob", "two", "x", "right"),
        ("bob", "two", "y", "missing"),
    ]
    assert list(csv.reader(io.StringIO(left["grades.csv"].decode()))) == [
        ["student", "line", "two", "total", "possible", "needs_review"],
        ["ada", "2", "0.5", "2.5", "3", "0"],
        ["bob", "0", "0.5", "0.5", "3", "0"],
    ]
    assert len([name for name in left if name.startswith("students/")]) == 2
    assert "index.html" in left
    told = grade(first / "set.yaml", first / "answers", "--json").stdout
    assert told.encode() == left["results.jsonl"], "kept or not, told or written"


def test_the_same_answer_is_judged_once(here):
    """In the whole batch; a number with another last digit is another answer."""
    more = {f"answers/{name}.yaml": BOB.replace("bob", name) for name in ("cy", "di", "ed")}
    numbers = {f"answers/f{n}.yaml": f"answers: {{line: {n}}}" for n in ("12.0", "12")}
    made(here, more | numbers)
    run(here)
    # line: 6x, 3x, 12.0, 12; two.x: 2x y, missing; two.y: 1, missing
    assert calls(here / "out") == [1] * 8


DIFFS = {
    "nothing": ({}, "no judgement has changed"),
    "another answer": (
        {"answers/bob.yaml": BOB.replace("3x", "6x")},
        "bob  line.x  wrong 0 of 2 -> right 2 of 2  (another answer)",
    ),
    "more points": (
        {"set.yaml": SET.replace("points: 2", "points: 4")},
        "ada  line.x  right 2 of 2 -> right 4 of 4  (the problem or its rubric changed)",
    ),
    "another rubric, the same points": (
        {"set.yaml": SET.replace("points: 2", "points: 2, credit: {sign-error: 0.5}")},
        "no judgement has changed; judged again, with the same points: 2",
    ),
    "a title, which is no rubric": (
        {"set.yaml": SET.replace("{id: line,", "{id: line, title: A parabola,")},
        "no judgement has changed",
    ),
}


@pytest.mark.parametrize("name", DIFFS)
def test_grade_diff_says_who_gains_or_loses_what_and_why(ran, name):
    """Only what changed is graded again; where nothing did, the same bytes are left."""
    files, said = DIFFS[name]
    before, two = outputs(ran / "out"), "SELECT COUNT(*) FROM questions WHERE problem = 'two'"
    made(ran, files)
    again = expect(run(ran, "--diff"), 0)
    assert said in again.stdout
    assert ("->" in again.stdout) == ("->" in said)
    assert set(calls(ran / "out")) == {1}
    assert execute(ran, two) == [(3,)], "the other problem was not judged again"
    assert (outputs(ran / "out") == before) == (not files or "same points" in said)
    assert ("A parabola" in (ran / "out" / "index.html").read_text()) == ("title" in name)


def test_who_is_gone_leaves_no_page(ran):
    """The results are those of the answers that were given, and it is said who is missing."""
    (ran / "answers" / "bob.yaml").unlink()
    again = run(ran, "--diff", "--json")
    assert "not among these answers: 1: bob" in again.stderr
    assert "bob  line.x  wrong 0 of 2 -> nothing" in again.stderr
    assert [name for name in outputs(ran / "out") if "bob" in name] == []


def test_only_and_problem_grade_these_again_and_keep_the_others(ran):
    changes = {"ada": ADA.replace("6x", "7x"), "bob": BOB.replace("3x", "6x")}
    made(ran, {f"answers/{name}.yaml": text for name, text in changes.items()})
    for words, due in ((("--only", "ada"), ["7x", "3x"]), (("--problem", "line"), ["7x", "6x"])):
        run(ran, *words)
        assert [t["answer"] for t in kept(ran) if t["problem"] == "line"] == due
    assert len(kept(ran)) == 6
    words = [ran / "set.yaml", ran / "answers"]
    alone = grade(*words, "--only", "bob", "--problem", "two", "--json")
    assert [t["part"] for t in lines(alone.stdout)] == ["x", "y"]
    expect(grade(*words, "--problem", "zzz"), 2)
    (ran / "answers" / "bob.yaml").unlink()
    words = ("--problem", "line", "--roster", made(ran, {"r.csv": "student\nada\nbob\n"}) / "r.csv")
    assert "not among these answers: 1: bob" in run(ran, *words).stderr


def test_no_text_of_a_stranger_commands_the_terminal(tmp_path):
    """Escapes in names of files, problems and answers are shown as what they are: nothing."""
    made(tmp_path, {"set.yaml": SET, "answers/\x1b[2Ja.yaml": "answers: ["})
    text = '{"student": "b", "answers": {"\\u001b[31m": 1, "line": "\\u001b[2J x \\u202e"}}'
    made(tmp_path, {"answers/b.json": text})
    found = expect(grade(tmp_path / "set.yaml", tmp_path / "answers"), 3)
    assert not set("\x1b\u202e") & set(found.output)


def test_a_roster_says_who_is_missing(here):
    """Who handed nothing in has a page and no points; who is not on it is told."""
    made(here, {"roster.csv": "student,name\nbob,Bob B.\ncy,Cy C.\n"})
    found = expect(
        run(here, "--roster", here / "roster.csv", "--json", "--fail-under", "0.1"),
        1,
        "nothing was handed in by 1: cy",
        "ada is not on the roster",
    )
    assert [t["verdict"] for t in lines(found.stdout) if t["student"] == "cy"] == ["missing"] * 3
    assert "Cy C." in (here / "out" / "index.html").read_text()


def test_one_person_under_many_names(here):
    """A form's address, a download's number and a file's name are one student's."""
    (here / "answers" / "bob.yaml").unlink()
    files = {
        "roster.csv": "student,name,id,email\nada,Ada L.,101,ada@example.edu\n"
        "bob,Bob B.,102,bob@b.org\n",
        "form.csv": "student,two.x,two.y\nADA@example.edu,2x y,x^2\nbob@b.org,,x^2\n",
        "answers/102.yaml": "answers: {line: 6x}",
        "export.csv": "Student,ID,Homework (7)\nL.,101,\nB.,102,\n",
    }
    made(here, files)
    found = expect(run(here, here / "form.csv", "--roster", here / "roster.csv"), 0)
    assert "not on the roster" not in found.stderr
    rows = (here / "out/grades.csv").read_text().splitlines()
    assert rows[1:] == ['"ada","2","1","3","3","0"', '"bob","2","0.5","2.5","3","0"']
    words = ["--as", "canvas", "--points", here / "export.csv", "-o", here / "filled.csv"]
    expect(report(here / "out", *words), 0)
    assert (here / "filled.csv").read_text().splitlines()[1:] == ["L.,101,3", "B.,102,2.5"]


TWICE = "time,student,line,two.x\n2026-03-01 10:00,ada,6x,1\n2026-03-02 10:00,ada,3x,2x y\n"
BETWEEN = "--due 2026-03-01T12:00"


@pytest.mark.parametrize(
    ("late", "words", "scores"),
    [
        (0.5, "", (0, 0.5)),
        (0.5, "--attempt first", (2, 0)),
        (0.5, "--attempt best", (2, 0.5)),
        (0.5, BETWEEN, (0, 0.25)),
        (0.5, f"{BETWEEN} --attempt best", (2, 0.25)),
        (0.5, "--due 2026-03-02T10:00", (0, 0.5)),
        ("refused", BETWEEN, (2, 0)),  # what came in time counts
    ],
)
def test_which_attempt_counts_and_until_when(tmp_path, late, words, scores):
    """The last, the first, or of each problem that with most points; half is lost when late."""
    text = SET.replace("title: Two", f"title: Two\nlate: {late}")
    made(tmp_path, {"set.yaml": text, "form.csv": TWICE})
    found = expect(grade(tmp_path / "set.yaml", tmp_path / "form.csv", *words.split(), "--json"), 0)
    line, two, _ = lines(found.stdout)
    assert (line["score"], two["score"]) == scores
    told = "handed in late: 50% of the points are lost" in (two["remarks"] or [])
    assert told == ("late" in (two["tags"] or [])) == (scores[1] == 0.25)
    refused = "ada was late (2026-03-02 10:00): line, two refused" in found.stderr
    assert refused == (late == "refused")


@pytest.mark.parametrize(("times", "due", "late", "said"), FORMS["due"])
def test_the_clock_of_what_is_due(tmp_path, times, due, late, said):
    """The whole minute counts; the column tells which is the month, and a text its zone."""
    rows = "".join(f"{at},s{k},6x\n" for k, at in enumerate(times))
    text = SET.replace("title: Two", "title: Two\nlate: 0.5")
    made(tmp_path, {"set.yaml": text, "form.csv": f"Submitted,student,line\n{rows}"})
    found = grade(tmp_path / "set.yaml", tmp_path / "form.csv", "--due", due, "--json")
    told = [t["tags"] == ["late"] for t in lines(found.stdout) if t["problem"] == "line"]
    assert told == list(map(bool, late))
    assert said in found.stderr


def test_a_platform_says_who_was_late(tmp_path):
    """In the name of a file; of the others one line says that nobody knows when they came."""
    text, named = SET.replace("title: Two", "title: Two\nlate: 0.5"), "doe{}_{}_9_hw.yaml"
    files = {f"in/{named.format(late, k)}": "line: 6x" for k, late in enumerate(("", "_LATE", ""))}
    made(tmp_path, {"set.yaml": text, **files})
    words = [tmp_path / "set.yaml", tmp_path / "in", "--names", "canvas", "-o", tmp_path / "out"]
    assert "late" not in grade(*words).stderr  # nothing was due
    found = grade(*words, "--due", "2026-03-02T10:00", "--diff")
    told = {t["student"]: t["score"] for t in kept(tmp_path) if t["problem"] == "line"}
    assert told == {"0": 2, "1": 1, "2": 2}
    assert "right 2 of 2 -> right 1 of 2  (in time or late, unlike before)" in found.stdout
    assert "1 was late (as the name of the file says)" in found.stderr
    assert found.stderr.count("is not known, so they are in time: 2: ") == 1


def test_what_spreadsheets_and_choices_lose_is_said(tmp_path):
    rows = "student,line,two.x\nada,2026-02-01 00:00:00,1\nbob,6x,01:02:00\n"
    made(tmp_path, {"set.yaml": SET, "form.csv": rows})
    said = grade(tmp_path / "set.yaml", tmp_path / "form.csv", "--json").stderr
    assert "form.csv:2: a spreadsheet has made a date of the answer to line: ask ada" in said
    assert ": ask bob" in said
    said = grade(tmp_path / "set.yaml", tmp_path / "form.csv", "--only", "ADA").stderr
    assert "--only names who handed in nothing here: 1: ADA" in said


# -- a person's marks ------------------------------------------------------------------------------


def marked(here, *words):
    return CliRunner().invoke(main, ["mark", str(here / "out"), *map(str, words)])


def test_a_mark_stands_whatever_is_graded_again_until_mark_undo(ran):
    """In the lines, the points, the student's page and a gradebook; `mark --undo` takes it back."""
    before, place = outputs(ran / "out"), ["--student", "bob", "--problem", "line"]
    found = marked(ran, *place, "--points", 1.5, "--note", "the idea <is> right")
    assert (found.exit_code, found.output) == (0, "bob: line.x: 1.5 of 2\n")
    made(ran, {"set.yaml": SET.replace("id: two,", "id: two, points: 4,")})
    run(ran)
    told = next(t for t in kept(ran) if t["student"] == "bob")
    assert (told["verdict"], told["score"], told["tags"]) == ("wrong", 1.5, ["marked"])
    assert "marked by a person: the idea <is> right" in told["remarks"]
    assert '"bob","1.5","2","3.5"' in (ran / "out" / "grades.csv").read_text()
    (page,) = (ran / "out" / "students").glob("bob-*.html")
    assert "marked by a person: the idea &lt;is&gt; right" in page.read_text()
    expect(report(ran / "out"), 0)
    made(ran, {"set.yaml": SET.replace("id: line", "id: lane")})
    assert "of what is not asked any more: 1: bob: line.x" in run(ran).stderr
    made(ran, {"set.yaml": SET.replace("points: 2", "points: 1")})
    assert "of more points than there are now: 1: bob: line.x" in run(ran).stderr
    expect(marked(ran, *place, "--undo"), 0)
    made(ran, {"set.yaml": SET})
    run(ran)
    assert outputs(ran / "out") == before


@pytest.mark.parametrize(("words", "said"), FORMS["marks"])
def test_a_mark_that_cannot_be(first, words, said):
    assert said in expect(marked(first, *words.split()), 2).output


# -- what was not asked ----------------------------------------------------------------------------


def test_whose_answers_count(tmp_path):
    """A later row replaces all of an earlier one, a later file the problems that it answers."""
    form = "student,line,two.x\nada,6x,2x y\nbob,6x,\nada,,1\n"
    bob = "student: bob\nanswers: {two: {x: 2x y, y: ' '}}\n"
    made(tmp_path, {"set.yaml": SET, "answers/a.csv": form, "answers/b.yaml": bob})
    found = run(tmp_path, "--json")
    verdicts = {(t["student"], t["problem"], t["part"]): t["verdict"] for t in lines(found.stdout)}
    assert verdicts["ada", "line", "x"] == verdicts["bob", "two", "y"] == "missing"
    assert verdicts["ada", "two", "x"] == "wrong"
    assert verdicts["bob", "line", "x"] == verdicts["bob", "two", "x"] == "right"
    (said,) = [line for line in found.stderr.splitlines() if "comes again" in line]
    assert "a.csv:2: ada comes again in" in said
    assert said.endswith("a.csv:4, which counts")


def test_what_was_not_asked_is_told(here):
    """Of an answer to a problem that cannot be graded it is not said that nobody asked."""
    kink = "- {id: kink, inputs: {x: 0.0}, program: abs(x)}\n"
    ada = "answers: {kink: 1, line: 2, two: {z: 1}, other: 3, two.y: x^2}"
    made(here, {"set.yaml": SET + kink, "answers/ada.yaml": ada})
    found = expect(run(here, "--json"), 3)
    for words in (
        "not graded: kink: kink at the given point",
        "`kink` is not graded",
        "`other` was not asked",
        "`two.z` was not asked",
    ):
        assert words in found.stderr
    told = [t for t in lines(found.stdout) if (t["student"], t["part"]) == ("ada", "y")]
    assert [t["verdict"] for t in told] == ["right"], "`two.y` is a part of `two`"
    made(here, {"set.yaml": SET, "none/.keep": ""})
    expect(grade(here / "set.yaml", here / "none"), 2)
    made(here, {"set.yaml": f"problems:\n{kink}"})
    assert run(here).exit_code == 2, "nothing to grade"


def test_a_strange_name_is_told_once(here):
    """A column not once a row; a name in many files once, with how many more.

    A slip in a name must be looked at: points hang on it, in a mapping a whole class's.
    """
    rows = "".join(f"s{k},6x,{k},{k}\n" for k in range(30))
    others = {f"answers/t{k}.yaml": "answers: {line: 2, other: 3}" for k in range(7)}
    slip = "answers: {lines: 6x, two: 2x y}"
    files = {"form.csv": "student,line,shoe,two.z\n" + rows, "slip.yaml": slip}
    made(here, others | files)
    given = [here / name for name in ("set.yaml", "form.csv", "answers")]
    found = expect(grade(*given, here / "slip.yaml", "--json"), 3)
    told = [line for line in found.stderr.splitlines() if "asked" in line]
    assert sorted(line.rpartition("/")[2] for line in told) == [
        "form.csv: the column `shoe` was not asked",
        "form.csv: the column `two.z` was not asked; `two.x` was",
        "slip.yaml: `lines` was not asked; `line` was",
        "slip.yaml: `two` was not asked; `two.x` was",
        "t0.yaml: `other` was not asked, nor in 6 more",
    ]


def test_feedback_holds_for_the_files_too(ran):
    run(ran, "--feedback", "verdict")
    assert all(t["mistakes"] is t["witness"] is None for t in kept(ran))
    (page,) = (ran / "out" / "students").glob("bob-*.html")
    assert "expected" not in page.read_text()
    run(ran)
    assert "expected" in page.read_text(), "the ledger knows it all"


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    """The sample class, graded in this process: its directory, and what was shown."""
    out = tmp_path_factory.mktemp("sample")
    found = expect(grade(*CLASS_ANSWERS, "-o", out, "--jobs", 1), 0)
    return out, found.stdout


def test_processes_give_the_same_bytes(sample, tmp_path):
    """Judged, and the pages written, in this process and in two others."""
    (one, _), two = sample, tmp_path
    expect(grade(*CLASS_ANSWERS, "-o", two, "--jobs", 2), 0)
    assert outputs(one) == outputs(two)
    assert len(list((one / "students").iterdir())) == 40
    assert set(calls(one)) == set(calls(two)) == {1}
    in_the_way = next((two / "students").iterdir())
    in_the_way.unlink()
    in_the_way.mkdir()
    told = expect(grade(*CLASS_ANSWERS, "-o", two, "--jobs", 2), 2)
    assert in_the_way.name in told.stderr
    assert "what was judged before is kept" in told.stderr


def test_the_sample_class(sample):
    """Forty students, one of whom handed nothing in; the summary counts verdicts and mistakes."""
    directory, shown = sample
    told = lines((directory / "results.jsonl").read_text())
    assert len(told) == 40 * 10
    right = sum(t["verdict"] == "right" for t in told if t["problem"] == "double-angle")
    named = sum(m["id"] == "sign-error" for t in told for m in t["mistakes"] or ())
    for row, count in (("double-angle", right), ("sign-error", named)):
        (line,) = (each for each in shown.splitlines() if each.startswith(row))
        assert line.split()[1] == str(count)


# -- what can happen to a ledger -------------------------------------------------------------------


def test_submissions_are_committed_as_they_are_read(here, monkeypatch):
    """A run that dies while it reads leaves what it read; a choice then waits for a whole run."""
    made(here, {"form.csv": "student,line\n" + "".join(f"s{k},{k}x\n" for k in range(400))})
    words = [here / "set.yaml", here / "form.csv", "-o", here / "out", "--jobs", 1]
    taken, read = Collector._take, []

    def dying(self, each):
        if getattr(each, "student", "") == "s310":
            read.extend(execute(here, "SELECT DISTINCT student FROM answers"))
            raise OSError("the disk is gone")
        taken(self, each)

    monkeypatch.setattr(Collector, "_take", dying)
    monkeypatch.setattr("gradcheck.batch.ledger.SECONDS", 1e9)
    found = expect(grade(*words), 2, "the disk is gone")
    assert 310 - AT_ONCE / 3 - 1 < len(read) < 310, "others see what was committed"
    monkeypatch.undo()
    found = grade(*words, "--only", "s399")
    assert (found.exit_code, "run it again without --only" in found.stderr) == (2, True)
    expect(grade(*words), 0)
    assert len(kept(here)) == 1200


def test_a_second_process_is_refused(here):
    """With a message that names the first; what the first does is not disturbed."""
    (here / "out").mkdir()
    hold = (
        "import sys; from pathlib import Path; from gradcheck.batch.ledger import lock_directory\n"
        "with lock_directory(Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()"
    )
    words, pipe = [sys.executable, "-c", hold, str(here / "out")], subprocess.PIPE
    holder = subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    refused = run(here)
    holder.communicate("")
    expect(refused, 2, f"process {holder.pid} on ")
    expect(run(here), 0)


def test_a_full_disk_loses_nothing(ran, monkeypatch):
    """It is told plainly, and the same command goes on when there is room."""
    many = "student: cy\nanswers: {line: " + "1 + " * 400 + "1}\n"
    made(ran, {"answers/cy.yaml": many})
    opened = Ledger.__init__

    def small(self, path, **how):
        opened(self, path, **how)
        pages = self.db.execute("PRAGMA page_count").fetchone()[0]
        self.db.execute(f"PRAGMA max_page_count = {pages}")

    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "__init__", small)
        full = run(ran)
    assert full.exit_code == 2
    assert "disk is full" in full.stderr
    assert "is kept" in full.stderr
    expect(run(ran), 0)
    assert set(calls(ran / "out")) == {1}


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs a place that root cannot write")
def test_a_read_only_directory_is_told(here):
    expect(
        grade(here / "set.yaml", here / "answers", "-o", "/proc/self/out"),
        2,
        "/proc/self/out: cannot be written",
    )


def in_the_way(here):
    (here / "out" / "results.sqlite").unlink()
    made(here, {"out/results.sqlite/x": ""})


def torn(here):
    path = here / "out" / "results.sqlite"
    content = bytearray(path.read_bytes())
    content[4096:12288] = bytes(8192)
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (in_the_way, "results.sqlite"),
        (torn, "move it away to start anew"),
        (lambda here: execute(here, "PRAGMA user_version = 99"), "a later version of gradcheck"),
        (lambda here: execute(here, "PRAGMA user_version = 1"), "an earlier version of gradcheck"),
    ],
)
def test_a_ledger_that_is_not_understood_is_left_alone(ran, harm, said):
    harm(ran)
    refused = expect(run(ran), 2)
    assert said in refused.stderr


NAMES = [
    "<script>alert(1)</script>",
    "=cmd()",
    "../../x",
    "..",
    "م\u200fحمد",
    "@x",
    "é",
    "É",
    *"Aa",
]


def test_names_are_safe_everywhere(tmp_path):
    """In pages, tables and file names; two names never share a page."""
    made(tmp_path, {"set.yaml": SET})
    for k, name in enumerate([*NAMES, "a" * 200]):
        typed = {"student": name, "answers": {"line": "</code><script>"}}
        made(tmp_path, {f"answers/{k}.json": json.dumps(typed)})
    expect(run(tmp_path), 0)
    pages = list((tmp_path / "out" / "students").iterdir())
    assert len(pages) == len(NAMES) + 1
    assert all(set(page.name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-.") for page in pages)
    for page in [*pages, tmp_path / "out" / "index.html"]:
        assert "<script" not in page.read_text()
    grades = list(csv.reader(io.StringIO((tmp_path / "out" / "grades.csv").read_text())))
    assert {row[0] for row in grades} >= {"'=cmd()", "'@x"}
    assert sorted(p.name for p in tmp_path.iterdir()) == ["answers", "out", "set.yaml"]
