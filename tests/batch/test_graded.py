"""`gradcheck report`: a graded batch rendered again, in every form, and looked at in a browser."""

import csv
import json
import re
import shutil
import sqlite3
from contextlib import closing

import pytest

from gradcheck.report.pages import name_page
from tests.support.batches import CLASS_ANSWERS, SET, expect, grade, lines, made, outputs, report
from tests.support.browser import driven, opened
from tests.support.readme import HELP

STUDENT = "quentin.moreau@example.edu"


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """The sample class, and a student whose every text is a long and a hostile one."""
    directory = tmp_path_factory.mktemp("graded")
    typed = {"sine-of-square": "x" * 3_000, "double-angle": "<img src=http://x.org/a.png>" * 9}
    nasty = {"student": "W" * 190, "answers": {**typed, "three-shells": [[1e300] * 40] * 9}}
    made(directory, {"more/nasty.json": json.dumps(nasty)})
    problems, *rest = CLASS_ANSWERS
    expect(grade(problems, directory / "more", *rest, "-o", directory / "out", "--jobs", 1), 0)
    return directory / "out"


def test_an_anonymous_page_of_the_class_names_nobody(tmp_path):
    """Neither beside wrong answers, nor in the notices of who handed in nothing.

    And who is deleted, as the help says it, is nowhere, by no name.
    """
    files = {"roster.csv": "student,email\nolga,o@x.org\nbertha,b@x.org\ncecil,c@x.org\n"}
    for name in ("olga", "bertha"):
        files[f"in/{name}.json"] = json.dumps({"answers": {"sine-of-square": "cos(x^2)"}})
    made(tmp_path, files)
    keep = ("--roster", tmp_path / "roster.csv", "-o", tmp_path / "out", "--jobs", 1)
    expect(grade(CLASS_ANSWERS[0], tmp_path / "in", *keep, "--anonymous"), 0)
    page = (tmp_path / "out/index.html").read_text()
    assert "cos(x^2)" in page
    assert not re.search("olga|bertha|cecil", page.split("</style>")[-1])
    expect(report(tmp_path / "out", "--as", "moodle", "-o", tmp_path / "m.csv"), 0)
    assert '"b@x.org","0"' in (tmp_path / "m.csv").read_text()
    erase = (HELP / "server.md").read_text().partition("<<'END'\n")[2].partition("END\n")[0]
    with closing(sqlite3.connect(tmp_path / "out/results.sqlite")) as ledger:
        ledger.executescript(erase.replace("ada", "olga"))  # in a hash there is an ada
    expect(report(tmp_path / "out"), 0)
    written = {path: path.read_bytes() for path in (tmp_path / "out").rglob("*.*")}
    assert [path.name for path in written if b"olga" in written[path]] == []


def test_the_page_of_the_class_shows_an_unlucky_draw(tmp_path):
    """The share of the points by the number that was drawn, in the mean of all who had it."""
    text = """{id: wave, program: a*x**2, points: 2, inputs: {x: 0.7,
        a: {choose: [3, 5], requires_grad: false}}}"""
    rows = "".join(f"s{k},{'2*a*x' if k % 2 else 'x'}\n" for k in range(8))
    made(tmp_path, {"wave.yaml": text, "in.csv": f"student,wave\n{rows}"})
    keep = ("-o", tmp_path / "out", "--jobs", 1, "--json")
    told = lines(expect(grade(tmp_path / "wave.yaml", tmp_path / "in.csv", *keep), 0).stdout)
    page = (tmp_path / "out/index.html").read_text()
    for number in (3, 5):
        scores = [line["score"] for line in told if line["variant"] == {"a": number}]
        share = f"a = {number}: {50 * sum(scores) / len(scores):.0f} % of {len(scores)}<"
        assert share in page


def test_the_pages_are_those_of_the_ledger(graded):
    before = outputs(graded)
    shutil.rmtree(graded / "students")
    expect(report(graded), 0)
    assert outputs(graded) == before


@pytest.mark.parametrize("form", ["canvas", "moodle", "csv"])
def test_a_gradebook_has_a_row_a_student(graded, tmp_path, form):
    expect(report(graded, "--as", form, "-o", tmp_path / "out.csv"), 0)
    assert (tmp_path / "out.csv").read_text().count("@example.edu") == 40


def test_an_export_of_canvas_comes_back_filled_in(graded, tmp_path):
    head = "Student,ID,SIS Login ID,Homework (9)"
    made(tmp_path, {"export.csv": f"{head}\nQ,7,{STUDENT},\n"})
    expect(report(tmp_path), 2, "no graded batch is here - `gradcheck grade")
    words = ["--as", "canvas", "--points", tmp_path / "export.csv", "-o", tmp_path / "new.csv"]
    expect(report(graded, *words), 0, "students of the batch who are not in the export, ")
    told, row = (tmp_path / "new.csv").read_text().splitlines()
    assert told == head
    assert re.fullmatch(rf"Q,7,{re.escape(STUDENT)},[\d.]+", row)


def test_moodle_tells_each_student(graded, tmp_path):
    """What was found of each answer, as harmless HTML, where the export has a column for it."""
    head = "Email address,Grade,Maximum Grade,Feedback comments\n"
    made(tmp_path, {"m.csv": f"{head}{STUDENT},,12,\n{'W' * 190},,12,\n"})
    words = ["--as", "moodle", "--points", tmp_path / "m.csv", "-o", tmp_path / "new.csv"]

    def comments(*more):
        expect(report(graded, *words, *more), 0)
        with (tmp_path / "new.csv").open() as file:
            return [row["Feedback comments"] for row in csv.DictReader(file)]

    assert comments() == ["", ""], "not asked for"
    own, nasty = comments("--comments")
    assert own.count("<p>") == own.count("</p>") == 10
    assert own.startswith("<p><b>sine-of-square.x</b>: ")
    assert re.search(r": wrong, 0 of 1 &ndash; at x = [\d.]+: yours \S+, expected \S+", own)
    assert "<img" not in nasty


def test_gradescope(graded, tmp_path):
    """A results.json for each student, whose tests sum to the points; an export has no columns."""
    expect(report(graded, "--as", "gradescope", "-o", tmp_path / "gs"), 0)
    assert len(list((tmp_path / "gs").iterdir())) == 41
    told = json.loads((tmp_path / "gs" / name_page(STUDENT).replace(".html", ".json")).read_text())
    assert len(told["tests"]) == 10
    assert sum(test["max_score"] for test in told["tests"]) == 12
    assert {test["status"] for test in told["tests"]} <= {"passed", "failed"}
    made(tmp_path, {"export.csv": "Student,Homework\n"})
    words = ["--as", "gradescope", "--points", tmp_path / "export.csv", "-o", tmp_path / "new"]
    expect(report(graded, *words), 2, "--points goes with canvas, moodle, csv, not with gradescope")
    assert not (tmp_path / "new").exists()


def test_what_a_person_has_to_decide_is_listed(graded, tmp_path):
    """Of the class nothing; a zero that no digits prove, under a bar, with its reason."""
    heading = "For a person to decide"
    assert heading not in (graded / "index.html").read_text()
    answer = "6x + 1/(sin(x)^2 + cos(x)^2 - 1)"
    made(tmp_path, {"set.yaml": SET, "ada.yaml": f"student: ada\nanswers: {{line: {answer}}}\n"})
    words = [tmp_path / "set.yaml", tmp_path / "ada.yaml", "-o", tmp_path / "out", "--jobs", 1]
    expect(grade(*words), 3)
    assert answer in (tmp_path / "out" / "index.html").read_text().partition(heading)[2]


# -- pages ----------------------------------------------------------------------------------------


def luminance(colour):
    """Relative luminance (WCAG 2.2)."""
    parts = (int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5))
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_contrast(graded, scheme):
    """Every colour of text on its backgrounds: 4.5 to 1 at least (WCAG AA)."""
    styles = re.findall(r":root \{(.*?)\}", (graded / "index.html").read_text(), re.DOTALL)
    found = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{3,6})", styles[scheme]))
    texts = ("text", "soft", "link", "right", "wrong", "invalid", "missing", "review")
    for text, ground in [(t, g) for t in texts for g in ("back", "card")] + [("text", "mark")]:
        light, dark = sorted((luminance(found[text]), luminance(found[ground])), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5, f"{text} on {ground}"


def test_pages_are_complete_in_themselves(graded):
    """No script, nothing from elsewhere, one language, one main heading."""
    for path in [graded / "index.html", *(graded / "students").iterdir()]:
        page = path.read_text()
        assert "<script" not in page
        assert not re.search(r'<[^>]*(src|href)="?(https?:)?//', page)
        assert '<html lang="en">' in page
        assert page.count("<h1>") == 1


PLANTED = {
    "too wide": "<p style='width: 1500px'>wide</p>",
    "127.0.0.1": "<img src='http://127.0.0.1:9/a.png' alt=''>",
    "script": "<script>console.error('planted')</script>",
}


def test_in_a_browser(graded, tmp_path):
    """Nothing reaches beyond the window, nothing is asked of the network or complained of.

    Of each of these a fault is planted in a further page, and seen there.
    """
    own = graded / "students" / name_page(STUDENT)
    with driven() as browser:
        for path in [graded / "index.html", own, graded / "students" / name_page("W" * 190)]:
            assert told(browser, path) == []
        for fault, bad in PLANTED.items():
            made(tmp_path, {"bad.html": own.read_text().replace("</h1>", f"</h1>{bad}")})
            assert any(fault in each for each in told(browser, tmp_path / "bad.html")), fault


def told(browser, path):
    """What is wrong with a page, narrow and dark, wide and light."""
    found: list[str] = []
    with opened(browser, path.parent.as_uri(), path.as_uri(), found) as page:
        for width, scheme in ((390, "dark"), (1280, "light")):
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(color_scheme=scheme)
            if page.evaluate("document.documentElement.scrollWidth") > width:
                found.append(f"{path.name}: too wide for {width}")
    return found
