"""A batch from the command line: judged once, kept, gone on with, told apart, and written out."""

import csv
import io
import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from gradcheck.batch.collect import AT_ONCE, Collector
from gradcheck.batch.ledger import Ledger
from gradcheck.cli import main
from tests.support.batches import (
    CLASS_ANSWERS,
    SET,
    calls,
    grade,
    lines,
    made,
    outputs,
    report,
)

ADA = "student: ada\nanswers: {line: 6x, two: {x: 2x y, y: 1}}\n"
BOB = "student: bob\nanswers: {line: 3x, two: {x: 2x y}}\n"


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A set, and the answers of two students."""
    return made(tmp_path, {"set.yaml": SET, "answers/ada.yaml": ADA, "answers/bob.yaml": BOB})


def run(here: Path, *more: object):
    """Grade the answers into the directory `out`."""
    return grade(here / "set.yaml", here / "answers", "-o", here / "out", "--jobs", 1, *more)


def test_what_a_batch_leaves(here):
    """Lines in the order student, problem, part; grades; a page a student and one for the class."""
    assert run(here).exit_code == 0
    assert (here / "out").stat().st_mode & 0o777 == 0o700, "nobody else reads it"
    left = outputs(here / "out")
    told = lines(left["results.jsonl"].decode())
    assert [(t["student"], t["problem"], t["part"], t["verdict"]) for t in told] == [
        ("ada", "line", "x", "right"),
        ("ada", "two", "x", "right"),
        ("ada", "two", "y", "wrong"),
        ("bob", "line", "x", "wrong"),
        ("bob", "two", "x", "right"),
        ("bob", "two", "y", "missing"),
    ]
    grades = list(csv.reader(io.StringIO(left["grades.csv"].decode())))
    assert grades == [
        ["student", "line", "two", "total", "possible", "needs_review"],
        ["ada", "2", "0.5", "2.5", "3", "0"],
        ["bob", "0", "0.5", "0.5", "3", "0"],
    ]
    assert len([name for name in left if name.startswith("students/")]) == 2
    assert "index.html" in left


def test_the_lines_are_those_of_json(here):
    """Kept or not, told or written."""
    told = run(here, "--json").stdout
    assert told.encode() == (here / "out" / "results.jsonl").read_bytes()
    assert grade(here / "set.yaml", here / "answers", "--json").stdout == told


def test_the_same_answer_is_judged_once(here):
    """In the whole batch; a number with another last digit is another answer."""
    for name in ("cy", "di", "ed"):
        made(here, {f"answers/{name}.yaml": BOB.replace("bob", name)})
    made(
        here,
        {"answers/fay.yaml": "answers: {line: 12.0}", "answers/gus.yaml": "answers: {line: 12}"},
    )
    run(here)
    found = calls(here / "out")
    # line: 6x, 3x, 12.0, 12; two.x: 2x y, missing; two.y: 1, missing
    assert found == [1] * 8


def test_a_second_run_grades_nothing(here):
    """And leaves the same bytes."""
    run(here)
    first = outputs(here / "out")
    again = run(here, "--diff")
    assert "no judgement has changed" in again.stdout
    assert outputs(here / "out") == first
    assert set(calls(here / "out")) == {1}


def test_only_what_changed_is_graded_again(here):
    """Another answer, another rubric: and it is said who gains or loses what, and why."""
    run(here)
    made(here, {"answers/bob.yaml": BOB.replace("3x", "6x")})
    said = run(here, "--diff").stdout
    assert "bob  line.x  wrong 0 of 2 -> right 2 of 2  (another answer)" in said
    assert set(calls(here / "out")) == {1}
    made(here, {"set.yaml": SET.replace("points: 2", "points: 4")})
    said = run(here, "--diff").stdout
    assert "ada  line.x  right 2 of 2 -> right 4 of 4  (the problem or its rubric changed)" in said
    assert "two" not in said.partition("->")[0].split("\n")[-1]
    assert set(calls(here / "out")) == {1}
    with closing(sqlite3.connect(here / "out" / "results.sqlite")) as ledger:
        count = ledger.execute("SELECT COUNT(*) FROM questions WHERE problem = 'two'")
        assert count.fetchone() == (3,), "the other problem was not judged again"


def test_the_same_points_are_no_change(here):
    """What was judged again to the same end is counted, and not told line by line."""
    run(here)
    made(here, {"set.yaml": SET.replace("points: 2", "points: 2, credit: {sign-error: 0.5}")})
    again = run(here, "--diff")
    assert again.exit_code == 0, again.stderr
    said = again.stdout
    assert "->" not in said
    assert "no judgement has changed; 2 answers were judged again, with the same points" in said


def test_words_about_a_problem_change_no_judgement(here):
    """A title is no rubric: the pages show it, the judge is not asked."""
    run(here)
    before = len(calls(here / "out"))
    made(here, {"set.yaml": SET.replace("{id: line,", "{id: line, title: A parabola,")})
    assert "no judgement has changed" in run(here, "--diff").stdout
    assert len(calls(here / "out")) == before
    assert "A parabola" in (here / "out" / "index.html").read_text()


def test_who_is_gone_leaves_no_page(here):
    """The results are those of the answers that were given, and it is said who is missing."""
    run(here)
    (here / "answers" / "bob.yaml").unlink()
    again = run(here, "--diff")
    assert "not among these answers: 1: bob" in again.stderr
    assert "bob  line.x  wrong 0 of 2 -> nothing" in again.stdout
    assert [name for name in outputs(here / "out") if "bob" in name] == []


def test_one_student_or_problem_alone(here):
    """`--only` and `--problem` grade these again, and keep the others as they were."""
    run(here)
    made(
        here,
        {"answers/ada.yaml": ADA.replace("6x", "7x"), "answers/bob.yaml": BOB.replace("3x", "6x")},
    )
    run(here, "--only", "ada")
    told = lines((here / "out" / "results.jsonl").read_text())
    assert [t["answer"] for t in told if t["problem"] == "line"] == ["7x", "3x"]
    run(here, "--problem", "line")
    told = lines((here / "out" / "results.jsonl").read_text())
    assert [t["answer"] for t in told if t["problem"] == "line"] == ["7x", "6x"]
    assert len(told) == 6
    alone = grade(
        here / "set.yaml", here / "answers", "--only", "bob", "--problem", "two", "--json"
    )
    assert [t["part"] for t in lines(alone.stdout)] == ["x", "y"]
    assert grade(here / "set.yaml", here / "answers", "--problem", "zzz").exit_code == 2


def test_no_text_of_a_stranger_commands_the_terminal(tmp_path):
    """Escapes in names of files, problems and answers are shown as what they are: nothing."""
    made(tmp_path, {"set.yaml": SET, "answers/\x1b[2Ja.yaml": "answers: ["})
    text = '{"student": "b", "answers": {"\\u001b[31m": 1, "line": "\\u001b[2J x \\u202e"}}'
    made(tmp_path, {"answers/b.json": text})
    found = grade(tmp_path / "set.yaml", tmp_path / "answers")
    assert found.exit_code == 3
    assert "\x1b" not in found.output
    assert "\u202e" not in found.output


def test_a_roster_says_who_is_missing(here):
    """Who handed nothing in has a page and no points; who is not on it is told."""
    made(here, {"roster.csv": "student,name\nbob,Bob B.\ncy,Cy C.\n"})
    found = run(here, "--roster", here / "roster.csv", "--json", "--fail-under", "0.1")
    assert found.exit_code == 1
    assert "nothing was handed in by 1: cy" in found.stderr
    assert "ada is not on the roster" in found.stderr
    assert [t["verdict"] for t in lines(found.stdout) if t["student"] == "cy"] == ["missing"] * 3
    assert "Cy C." in (here / "out" / "index.html").read_text()


IDENTITIES = "student,name,id,email\nada,Ada L.,101,ada@example.edu\nbob,Bob B.,102,bob@b.org\n"


def test_one_person_under_many_names(here):
    """A form's address, a download's number and a file's name are one student's."""
    (here / "answers" / "bob.yaml").unlink()
    form = "student,two.x,two.y\nADA@example.edu,2x y,x^2\nbob@b.org,,x^2\n"
    made(
        here,
        {"roster.csv": IDENTITIES, "form.csv": form, "answers/102.yaml": "answers: {line: 6x}"},
    )
    words = [
        here / "set.yaml",
        here / "answers",
        here / "form.csv",
        "--roster",
        here / "roster.csv",
    ]
    found = grade(*words, "-o", here / "out", "--jobs", 1)
    assert found.exit_code == 0
    assert "not on the roster" not in found.stderr
    got = {row.split(",")[0]: row for row in (here / "out/grades.csv").read_text().splitlines()}
    assert got['"ada"'] == '"ada","2","1","3","3","0"'
    assert got['"bob"'] == '"bob","2","0.5","2.5","3","0"'
    made(here, {"export.csv": "Student,ID,Homework (7)\nL.,101,\nB.,102,\n"})
    words = ["--as", "canvas", "--points", here / "export.csv", "-o", here / "filled.csv"]
    assert report(here / "out", *words).exit_code == 0
    assert (here / "filled.csv").read_text().splitlines()[1:] == ["L.,101,3", "B.,102,2.5"]


TWICE = "time,student,line,two.x\n2026-03-01 10:00,ada,6x,1\n2026-03-02 10:00,ada,3x,2x y\n"


@pytest.mark.parametrize(
    ("words", "line", "two"),
    [
        ([], 0, 0.5),
        (["--attempt", "first"], 2, 0),
        (["--attempt", "best"], 2, 0.5),
        (["--due", "2026-03-01T12:00"], 0, 0.25),
        (["--due", "2026-03-01T12:00", "--attempt", "best"], 2, 0.25),
        (["--due", "2026-03-02T10:00"], 0, 0.5),
    ],
)
def test_which_attempt_counts_and_until_when(tmp_path, words, line, two):
    """The last, the first, or of each problem that with most points; half is lost when late."""
    made(
        tmp_path,
        {"set.yaml": SET.replace("title: Two", "title: Two\nlate: 0.5"), "form.csv": TWICE},
    )
    found = grade(tmp_path / "set.yaml", tmp_path / "form.csv", *words, "--json")
    assert found.exit_code == 0
    got = {(t["problem"], t["part"]): t for t in lines(found.stdout)}
    assert (got["line", "x"]["score"], got["two", "x"]["score"]) == (line, two)
    if "--due" in words and two == 0.25:
        assert got["two", "x"]["tags"] == ["late"]
        assert got["two", "x"]["remarks"] == ["handed in late: 50% of the points are lost"]


def test_who_is_late_may_be_refused(tmp_path):
    """What came in time counts then."""
    late = SET.replace("title: Two", "title: Two\nlate: refused")
    made(tmp_path, {"set.yaml": late, "form.csv": TWICE})
    words = [tmp_path / "set.yaml", tmp_path / "form.csv", "--due", "2026-03-01T12:00", "--json"]
    found = grade(*words)
    assert [t["score"] for t in lines(found.stdout)] == [2, 0, 0]
    assert "ada was late (2026-03-02 10:00): line, two refused" in found.stderr


# -- a person's marks ------------------------------------------------------------------------------


def marked(here, *words):
    return CliRunner().invoke(main, ["mark", str(here / "out"), *map(str, words)])


def test_a_mark_stands_whatever_is_graded_again(here):
    """In the lines, the points, the student's page and a gradebook; until it is taken back."""
    run(here)
    first = outputs(here / "out")
    place = ["--student", "bob", "--problem", "line"]
    found = marked(here, *place, "--points", 1.5, "--note", "the idea <is> right")
    assert (found.exit_code, found.output) == (0, "bob: line.x: 1.5 of 2\n")
    made(here, {"set.yaml": SET.replace("id: two,", "id: two, points: 4,")})
    run(here)
    left = outputs(here / "out")
    told = next(t for t in lines(left["results.jsonl"].decode()) if t["student"] == "bob")
    assert (told["verdict"], told["score"], told["tags"]) == ("wrong", 1.5, ["marked"])
    assert "marked by a person: the idea <is> right" in told["remarks"]
    assert '"bob","1.5","2","3.5"' in left["grades.csv"].decode()
    (page,) = (here / "out" / "students").glob("bob-*.html")
    assert "marked by a person: the idea &lt;is&gt; right" in page.read_text()
    assert marked(here, *place, "--undo").exit_code == 0
    made(here, {"set.yaml": SET})
    run(here)
    assert outputs(here / "out") == first


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["--student", "eve", "--problem", "line", "--points", 1],
            "no student of the batch goes by",
        ),
        (["--student", "bob", "--problem", "lime", "--points", 1], "there are line, two"),
        (["--student", "bob", "--problem", "two", "--points", 0.5], "with --part: x, y"),
        (["--student", "bob", "--problem", "line", "--points", 3], "worth 2 points, not 3"),
        (["--student", "bob", "--problem", "line"], "either --points N or --undo"),
        (["--student", "bob", "--problem", "line", "--undo"], "has no mark by hand"),
    ],
)
def test_a_mark_that_cannot_be(here, words, said):
    run(here)
    found = marked(here, *words)
    assert found.exit_code == 2
    assert said in found.output


def test_whose_answers_count(tmp_path):
    """A later row replaces all of an earlier one, a later file the problems that it answers."""
    made(tmp_path, {"set.yaml": SET})
    form = "student,line,two.x\nada,6x,2x y\nbob,6x,\nada,,1\n"
    made(
        tmp_path / "answers", {"a.csv": form, "b.yaml": "student: bob\nanswers: {two: {x: 2x y}}\n"}
    )
    found = run(tmp_path, "--json")
    verdicts = {(t["student"], t["problem"], t["part"]): t["verdict"] for t in lines(found.stdout)}
    assert verdicts["ada", "line", "x"] == "missing"
    assert verdicts["ada", "two", "x"] == "wrong"
    assert verdicts["bob", "line", "x"] == verdicts["bob", "two", "x"] == "right"
    (said,) = [line for line in found.stderr.splitlines() if "comes again" in line]
    assert "a.csv:2: ada comes again in" in said
    assert said.endswith("a.csv:4, which counts")


def test_what_was_not_asked_is_told(here):
    """Of an answer to a problem that cannot be graded it is not said that nobody asked."""
    kink = "- {id: kink, inputs: {x: 0.0}, program: abs(x)}\n"
    made(here, {"set.yaml": SET + kink})
    made(
        here, {"answers/ada.yaml": "answers: {kink: 1, line: 2, two: {z: 1}, other: 3, two.y: x^2}"}
    )
    found = run(here, "--json")
    assert found.exit_code == 3
    assert "not graded: kink: kink at the given point" in found.stderr
    assert "`kink` is not graded" in found.stderr
    for name in ("other", "two.z"):
        assert f"`{name}` was not asked" in found.stderr
    told = [t for t in lines(found.stdout) if (t["student"], t["part"]) == ("ada", "y")]
    assert [t["verdict"] for t in told] == ["right"], "`two.y` is a part of `two`"


def test_a_strange_column_is_told_once(here):
    """Not once a row; a name in many files once, with how many more."""
    rows = "".join(f"s{k},6x,{k},{k}\n" for k in range(30))
    made(here, {"form.csv": "student,line,shoe,two.z\n" + rows})
    made(here, {f"answers/t{k}.yaml": "answers: {line: 2, other: 3}" for k in range(7)})
    found = grade(here / "set.yaml", here / "form.csv", here / "answers", "--json")
    told = [line for line in found.stderr.splitlines() if "asked" in line]
    assert [line.partition("form.csv")[2] for line in told[:2]] == [
        ": the column `shoe` was not asked",
        ": the column `two.z` was not asked",
    ]
    assert len(told) == 3
    assert told[2].endswith("t0.yaml: `other` was not asked, nor in 6 more")


def test_a_name_with_a_slip_in_it_must_be_looked_at(here):
    """A student's points hang on it, or, in a mapping, a whole class's."""
    made(here, {"ada.yaml": "answers: {lines: 6x, two: {x: 2x y, y: x^2}}"})
    found = grade(here / "set.yaml", here / "ada.yaml", "--json")
    assert found.exit_code == 3
    assert "ada.yaml: `lines` was not asked; `line` was\n" in found.stderr


def test_many_strange_names_of_one_file_are_told_in_one_line(here):
    made(here, {"ada.json": json.dumps({"answers": {f"p{k}": 1 for k in range(9)}})})
    found = grade(here / "set.yaml", here / "ada.json", "--json")
    assert "ada.json: `p0`, `p1`, `p2` and 6 more were not asked\n" in found.stderr


def test_submissions_are_committed_as_they_are_read(here, monkeypatch):
    """A run that dies while it reads leaves what it read; a choice then waits for a whole run."""
    made(here, {"form.csv": "student,line\n" + "".join(f"s{k},{k}x\n" for k in range(400))})
    words = [here / "set.yaml", here / "form.csv", "-o", here / "out", "--jobs", 1]
    taken, kept = Collector._take, []

    def dying(self, read):
        if getattr(read, "student", "") == "s310":
            with closing(sqlite3.connect(here / "out" / "results.sqlite")) as other:
                kept.extend(other.execute("SELECT DISTINCT student FROM answers").fetchall())
            raise OSError("the disk is gone")
        taken(self, read)

    monkeypatch.setattr(Collector, "_take", dying)
    found = grade(*words)
    assert found.exit_code == 2
    assert "the disk is gone" in found.stderr
    assert 310 - AT_ONCE / 3 - 1 < len(kept) < 310, "others see what was committed"
    monkeypatch.undo()
    found = grade(*words, "--only", "s399")
    assert (found.exit_code, "run it again without --only" in found.stderr) == (2, True)
    assert grade(*words).exit_code == 0
    assert len(lines((here / "out" / "results.jsonl").read_text())) == 1200


def test_a_set_without_a_gradable_problem_is_malformed(tmp_path):
    """Nothing to grade: exit code 2."""
    made(
        tmp_path,
        {"set.yaml": "id: kink\ninputs: {x: 0.0}\nprogram: abs(x)\n", "answers/a.yaml": ADA},
    )
    assert run(tmp_path).exit_code == 2


def test_feedback_holds_for_the_files_too(here):
    """What students are not to be told is in no page."""
    run(here, "--feedback", "verdict")
    told = lines((here / "out" / "results.jsonl").read_text())
    assert all(t["mistakes"] is t["witness"] is None for t in told)
    (page,) = (here / "out" / "students").glob("bob-*.html")
    assert "expected" not in page.read_text()
    run(here)
    assert "expected" in page.read_text(), "the ledger knows it all"


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The sample class, graded in this process: its directory, and what was shown."""
    out = tmp_path_factory.mktemp("sample")
    found = grade(*CLASS_ANSWERS, "-o", out, "--jobs", 1)
    assert found.exit_code == 0
    return out, found.stdout


def test_processes_give_the_same_bytes(sample, tmp_path, monkeypatch):
    """Judged, and the pages written, in this process and in two others."""
    monkeypatch.setattr("gradcheck.batch.outputs.WORTH", 0)
    monkeypatch.setattr("gradcheck.batch.outputs.SLICE", 7)
    (one, _), two = sample, tmp_path
    assert grade(*CLASS_ANSWERS, "-o", two, "--jobs", 2).exit_code == 0
    assert outputs(one) == outputs(two)
    assert len(list((one / "students").iterdir())) == 40
    assert set(calls(one)) == set(calls(two)) == {1}
    in_the_way = next((two / "students").iterdir())
    in_the_way.unlink()
    in_the_way.mkdir()
    told = grade(*CLASS_ANSWERS, "-o", two, "--jobs", 2)
    assert told.exit_code == 2
    assert in_the_way.name in told.stderr
    assert "what was judged before is kept" in told.stderr


def test_the_sample_class(sample):
    """Forty students, one of whom handed nothing in; the summary counts verdicts and mistakes."""
    directory, shown = sample
    told = lines((directory / "results.jsonl").read_text())
    assert len(told) == 40 * 10
    flipped = sum(t["verdict"] == "right" for t in told if t["problem"] == "double-angle")
    row = next(line for line in shown.splitlines() if line.startswith("double-angle"))
    assert row.split()[1] == str(flipped)
    named = sum(m["id"] == "sign-error" for t in told for m in t["mistakes"] or ())
    row = next(line for line in shown.splitlines() if line.startswith("sign-error"))
    assert row.split()[1] == str(named)


# -- what can happen to a ledger -------------------------------------------------------------------


def test_a_second_process_is_refused(here):
    """With a message that names the first; what the first does is not disturbed."""
    (here / "out").mkdir()
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys; from pathlib import Path; from gradcheck.batch.lock import only_writer\n"
            "with only_writer(Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()",
            str(here / "out"),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    refused = run(here)
    holder.communicate("")
    assert refused.exit_code == 2
    assert f"process {holder.pid} on " in refused.stderr
    assert run(here).exit_code == 0


def test_a_full_disk_loses_nothing(here, monkeypatch):
    """It is told plainly, and the same command goes on when there is room."""
    run(here)
    many = "student: cy\nanswers: {line: " + "1 + " * 400 + "1}\n"
    made(here, {"answers/cy.yaml": many})
    opened = Ledger.__init__

    def small(self, path, **how):
        opened(self, path, **how)
        pages = self.db.execute("PRAGMA page_count").fetchone()[0]
        self.db.execute(f"PRAGMA max_page_count = {pages}")

    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "__init__", small)
        full = run(here)
    assert full.exit_code == 2
    assert "disk is full" in full.stderr
    assert "is kept" in full.stderr
    assert run(here).exit_code == 0
    assert set(calls(here / "out")) == {1}


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs a place that root cannot write")
def test_a_read_only_directory_is_told(here):
    """Plainly, before anything is judged."""
    refused = grade(here / "set.yaml", here / "answers", "-o", "/proc/self/out")
    assert refused.exit_code == 2
    assert "/proc/self/out: cannot be written" in refused.stderr


def test_a_file_in_the_way_is_told(here):
    """A directory is due."""
    made(here, {"out/results.sqlite/x": ""})
    refused = run(here)
    assert refused.exit_code == 2
    assert "results.sqlite" in refused.stderr


def test_a_damaged_ledger_is_told(here):
    """And how to start anew."""
    run(here)
    path = here / "out" / "results.sqlite"
    content = bytearray(path.read_bytes())
    content[4096:12288] = bytes(8192)
    path.write_bytes(content)
    refused = run(here)
    assert refused.exit_code == 2
    assert "move it away to start anew" in refused.stderr


@pytest.mark.parametrize(("version", "which"), [(99, "a later"), (1, "an earlier")])
def test_a_ledger_of_another_version_is_left_alone(here, version, which):
    """It is not understood, so it is not written."""
    run(here)
    with closing(sqlite3.connect(here / "out" / "results.sqlite")) as ledger:
        ledger.execute(f"PRAGMA user_version = {version}")
    refused = run(here)
    assert refused.exit_code == 2
    assert f"{which} version of gradcheck" in refused.stderr


def flipped(path: Path, text: bytes, at: int, bit: int) -> None:
    """One bit of a file is another, in the first place where a text stands."""
    content = bytearray(path.read_bytes())
    content[content.index(text) + at] ^= 1 << bit
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("text", "at", "bit"),
    [
        (b'"score": 2.0', 9, 0),  # 3.0
        (b'"score": 2.0', 0, 2),  # no JSON
        (b'"verdict": "wrong"', 13, 7),  # no UTF-8
        (b"right\x02{", 0, 1),  # the verdict beside the line, before a score of 2.0
        (b'"6x"', 1, 0),  # the answer that was judged: "7x"
    ],
)
def test_a_damaged_judgement_is_made_again(here, text, at, bit):
    """It is said, nothing else is judged, and the results are the same bytes."""
    run(here)
    first, before = outputs(here / "out"), sum(calls(here / "out"))
    flipped(here / "out" / "results.sqlite", text, at, bit)
    told = report(here / "out")
    assert told.exit_code == 2
    assert "1 judgement in the ledger damaged - `gradcheck grade` judges again" in told.stderr
    again = run(here)
    assert again.exit_code == 0, again.stderr
    assert "1 judgement in the ledger damaged: judged again" in again.stderr
    assert outputs(here / "out") == first
    assert sum(calls(here / "out")) <= before + 1
    assert report(here / "out").exit_code == 0


@pytest.mark.parametrize(
    "change", ["answers SET kept = 0.5 WHERE student = 'bob'", "students SET called = 'Bo'"]
)
def test_a_damaged_row_is_read_again(here, change):
    """Who is there and who answered what: it is said, and the submissions make it good."""
    run(here)
    first = outputs(here / "out")
    with closing(sqlite3.connect(here / "out" / "results.sqlite")) as ledger:
        ledger.execute(f"UPDATE {change}")
        ledger.commit()
    assert "damaged" in report(here / "out").stderr
    assert "damaged" in run(here, "--only", "ada").stderr
    assert run(here).exit_code == 0
    assert outputs(here / "out") == first
    assert report(here / "out").exit_code == 0


def test_a_damaged_mark_is_told(here):
    run(here)
    marked(here, "--student", "bob", "--problem", "line", "--points", 1.5, "--note", "agreed")
    assert report(here / "out").exit_code == 0
    with closing(sqlite3.connect(here / "out" / "results.sqlite")) as ledger:
        ledger.execute("UPDATE marks SET points = 2")
        ledger.commit()
    assert "damaged" in report(here / "out").stderr


def test_a_choice_is_refused_where_an_answer_is_damaged(here):
    """The others' answers are in their submissions alone."""
    run(here)
    flipped(here / "out" / "results.sqlite", b'"6x"', 1, 0)
    found = run(here, "--only", "bob")
    assert found.exit_code == 2
    assert "its file is damaged: run it again without --only" in found.stderr
    assert run(here).exit_code == 0


def test_names_are_safe_everywhere(tmp_path):
    """In pages, tables and file names; two names never share a page."""
    names = [
        "<script>alert(1)</script>",
        "=cmd()",
        "../../x",
        "..",
        "a" * 200,
        "@x",
        "é",
        "É",
        "A",
        "a",
    ]
    made(tmp_path, {"set.yaml": SET})
    for k, name in enumerate(names):
        typed = {"student": name, "answers": {"line": "</code><script>"}}
        made(tmp_path, {f"answers/{k}.json": json.dumps(typed)})
    assert run(tmp_path).exit_code == 0
    pages = list((tmp_path / "out" / "students").iterdir())
    assert len(pages) == len(names)
    assert all(set(page.name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-.") for page in pages)
    for page in [*pages, tmp_path / "out" / "index.html"]:
        assert "<script" not in page.read_text()
    grades = list(csv.reader(io.StringIO((tmp_path / "out" / "grades.csv").read_text())))
    assert {row[0] for row in grades} >= {"'=cmd()", "'@x"}
    assert sorted(p.name for p in tmp_path.iterdir()) == ["answers", "out", "set.yaml"]
