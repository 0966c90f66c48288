"""`gradcheck report`: a graded batch rendered again, in every form, and looked at in a browser."""

import csv
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from gradcheck.report.pages import page_name
from tests.support.batches import CLASS_ANSWERS, SET, grade, made, outputs, report

CHROMIUM = shutil.which("chromium")
STUDENT = "quentin.moreau@example.edu"
WIDTHS = (390, 1280)
# How far each page reaches beyond its frame, and what it asked of the network: told by the page
# itself to the one around it, whose title headless Chromium prints. A frame may have the width of
# a phone, which a window of Chromium's does not get.
PROBE = """
<script>
addEventListener("load", () => {
  const wide = document.documentElement.scrollWidth - innerWidth;
  const asked = performance.getEntriesByType("resource").map(e => e.name).join(" ");
  const page = location.pathname.split("/").pop();
  parent.postMessage({page, wide, asked, width: innerWidth}, "*");
});
</script>
"""
FRAME = """<!doctype html><title>nothing</title>
<script>
const told = [];
addEventListener("message", message => {
  told.push(message.data);
  document.title = JSON.stringify(told);
});
</script>
"""


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample class, and a student whose every text is a long and a hostile one."""
    directory = tmp_path_factory.mktemp("graded")
    typed = {"sine-of-square": "x" * 3_000, "double-angle": "<img src=http://x.org/a.png>" * 9}
    nasty = {"student": "W" * 190, "answers": {**typed, "three-shells": [[1e300] * 40] * 9}}
    made(directory, {"more/nasty.json": json.dumps(nasty)})
    problems, *rest = CLASS_ANSWERS
    found = grade(problems, directory / "more", *rest, "-o", directory / "out", "--jobs", 1)
    assert found.exit_code == 0
    return directory / "out"


def test_an_anonymous_page_of_the_class_names_nobody(tmp_path):
    """Neither beside wrong answers, nor in the notices of who handed in nothing."""
    roster = tmp_path / "roster.csv"
    roster.write_text("student\nada\nbertha\ncecil\n")
    for name in ("ada", "bertha"):
        text = json.dumps({"answers": {"sine-of-square": "cos(x^2)"}})
        made(tmp_path, {f"in/{name}.json": text})
    problems = CLASS_ANSWERS[0]
    keep = ("--roster", roster, "-o", tmp_path / "out", "--jobs", 1)
    assert grade(problems, tmp_path / "in", *keep, "--anonymous").exit_code == 0
    page = (tmp_path / "out/index.html").read_text()
    assert "cos(x^2)" in page
    assert not re.search("ada|bertha|cecil", page.split("</style>")[-1])


def test_the_pages_are_those_of_the_ledger(graded):
    """Rendered again, they are the same bytes."""
    before = outputs(graded)
    shutil.rmtree(graded / "students")
    assert report(graded).exit_code == 0
    assert outputs(graded) == before


@pytest.mark.parametrize("form", ["canvas", "moodle", "csv"])
def test_gradebooks(graded, tmp_path, form):
    """A row a student."""
    assert report(graded, "--as", form, "-o", tmp_path / "out.csv").exit_code == 0
    assert (tmp_path / "out.csv").read_text().count("@example.edu") == 40


def test_an_export_comes_back_filled_in(graded, tmp_path):
    """As the platform gave it, with the points."""
    export = f"Student,ID,SIS Login ID,Homework (9)\nQ,7,{STUDENT},\n"
    made(tmp_path, {"export.csv": export})
    words = ["--as", "canvas", "--points", tmp_path / "export.csv", "-o", tmp_path / "new.csv"]
    found = report(graded, *words)
    assert found.exit_code == 0
    assert "students of the batch are not in the export" in found.stderr
    head, row = (tmp_path / "new.csv").read_text().splitlines()
    assert head == export.splitlines()[0]
    assert re.fullmatch(rf"Q,7,{re.escape(STUDENT)},[\d.]+", row)


def test_a_form_that_fills_no_export_is_told(graded, tmp_path):
    """Gradescope's files have no columns: an export would be ignored."""
    made(tmp_path, {"export.csv": "Student,Homework\n"})
    words = ["--as", "gradescope", "--points", tmp_path / "export.csv", "-o", tmp_path / "new"]
    found = report(graded, *words)
    assert found.exit_code == 2
    assert "--points goes with canvas, moodle, csv, not with gradescope" in found.stderr
    assert not (tmp_path / "new").exists()


def test_moodle_tells_each_student(graded, tmp_path):
    """What was found of each answer, as harmless HTML, where the export has a column for it."""
    head = "Email address,Grade,Maximum Grade,Feedback comments\n"
    made(tmp_path, {"m.csv": f"{head}{STUDENT},,12,\n{'W' * 190},,12,\n"})
    words = ["--as", "moodle", "--points", tmp_path / "m.csv", "-o", tmp_path / "new.csv"]
    assert report(graded, *words).exit_code == 0
    with (tmp_path / "new.csv").open() as file:
        assert {row["Feedback comments"] for row in csv.DictReader(file)} == {""}, "not asked for"
    assert report(graded, *words, "--comments").exit_code == 0
    with (tmp_path / "new.csv").open() as file:
        own, nasty = (row["Feedback comments"] for row in csv.DictReader(file))
    assert own.count("<p>") == own.count("</p>") == 10
    assert own.startswith("<p><b>sine-of-square.x</b>: ")
    assert re.search(r": wrong, 0 of 1 &ndash; at x = [\d.]+: yours \S+, expected \S+", own)
    assert "<img" not in nasty


def test_gradescope(graded, tmp_path):
    """A results.json for each student, whose tests sum to the points."""
    assert report(graded, "--as", "gradescope", "-o", tmp_path / "gs").exit_code == 0
    assert len(list((tmp_path / "gs").iterdir())) == 41
    told = json.loads((tmp_path / "gs" / page_name(STUDENT).replace(".html", ".json")).read_text())
    assert len(told["tests"]) == 10
    assert sum(test["max_score"] for test in told["tests"]) == 12
    assert {test["status"] for test in told["tests"]} <= {"passed", "failed"}


def test_a_directory_without_a_batch(tmp_path):
    """Is told, with what makes one."""
    found = report(tmp_path)
    assert found.exit_code == 2
    assert "gradcheck grade" in found.stderr


# -- pages ----------------------------------------------------------------------------------------


def colours(page: str, scheme: str) -> dict[str, str]:
    """The colours of a page's style sheet, in the light or in the dark."""
    found = re.findall(r":root \{(.*?)\}", page, re.DOTALL)
    own = found[["light", "dark"].index(scheme)]
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{3,6})", own))


def luminance(colour: str) -> float:
    """Relative luminance (WCAG 2.2)."""
    parts = (int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5))
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(graded, scheme):
    """Every colour of text on both backgrounds: 4.5 to 1 at least (WCAG AA)."""
    found = colours((graded / "index.html").read_text(), scheme)
    for ground in ("back", "card"):
        for text in ("text", "soft", "link", "right", "wrong", "invalid", "missing", "review"):
            light, dark = sorted((luminance(found[text]), luminance(found[ground])), reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= 4.5, f"{text} on {ground}"
    light, dark = sorted((luminance(found["text"]), luminance(found["mark"])), reverse=True)
    assert (light + 0.05) / (dark + 0.05) >= 4.5


def test_pages_are_complete_in_themselves(graded):
    """No script, nothing from elsewhere, one language, one main heading."""
    for path in [graded / "index.html", *(graded / "students").iterdir()]:
        page = path.read_text()
        assert "<script" not in page
        assert not re.search(r'<[^>]*(src|href)="?(https?:)?//', page)
        assert '<html lang="en">' in page
        assert page.count("<h1>") == 1


browser = pytest.mark.skipif(CHROMIUM is None, reason="needs Debian's chromium")


PLANTED = {
    "wide.html": ("<p style='width: 1500px'>wide</p>", "wide.html: 1"),
    "said.html": ("<script>console.error('planted')</script>", "planted"),
    "asked.html": ("<img src='http://127.0.0.1:9/a.png' alt=''>", "asked.html: asked for http"),
}


@browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_in_a_browser(graded, tmp_path, scheme):
    """Nothing reaches beyond the window, nothing is asked of the network or complained of.

    Of each of these a fault is planted in a further page, and seen there.
    """
    own = graded / "students" / page_name(STUDENT)
    paths = [graded / "index.html", own, graded / "students" / page_name("W" * 190)]
    pages = {f"page-{k}.html": path.read_text() for k, path in enumerate(paths)}
    for name, (bad, _) in PLANTED.items():
        pages[name] = own.read_text().replace("</h1>", f"</h1>{bad}")
    found = faults(pages, tmp_path, scheme)
    assert [each for each in found if not any(name in each for name in PLANTED)] == []
    assert [fault for _, fault in PLANTED.values() if fault not in " ".join(found)] == []


def faults(pages: dict[str, str], room: Path, scheme: str) -> list[str]:
    """What is wrong with pages in a browser, narrow and wide.

    A script of the test's own is let in to measure; the pages' policy forbids all others.
    """
    for name, page in pages.items():
        own = page.replace("default-src 'none'", "default-src 'none'; script-src 'unsafe-inline'")
        made(room, {name: own.replace("</body>", f"{PROBE}</body>")})
    frames = (
        f'<iframe src="{name}" width="{width}" height="900" style="border: 0"></iframe>'
        for name in pages
        for width in WIDTHS
    )
    made(room, {"frames.html": FRAME + "".join(frames)})
    found = browse(room / "frames.html", room / "profile", scheme)
    told = json.loads(
        re.findall(r"<title>(\[.*?\])</title>", found.stdout)[0].replace("&quot;", '"')
    )
    assert {(t["page"], t["width"]) for t in told} == {(p, w) for p in pages for w in WIDTHS}
    wide = [f"{t['page']}: {t['wide']} px too wide" for t in told if t["wide"] > 0]
    asked = [f"{t['page']}: asked for {t['asked']}" for t in told if t["asked"]]
    return [*wide, *asked, *(line for line in found.stderr.splitlines() if "CONSOLE" in line)]


def browse(page: Path, profile: Path, scheme: str) -> "subprocess.CompletedProcess[str]":
    """The document as headless Chromium has rendered it."""
    still = "--disable-gpu --disable-quic --no-first-run --disable-background-networking"
    quiet = "--disable-component-update --disable-sync --no-sandbox --enable-logging=stderr"
    colour = f"--blink-settings=preferredColorScheme={['dark', 'light'].index(scheme)}"
    return subprocess.run(
        [
            str(CHROMIUM),
            "--headless",
            *still.split(),
            *quiet.split(),
            colour,
            f"--user-data-dir={profile}",
            "--window-size=1400,1000",
            "--virtual-time-budget=3000",
            "--dump-dom",
            page.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )


def test_what_a_person_has_to_decide_is_listed(graded, tmp_path):
    """Of the class nothing; a zero that no digits prove, under a bar, with its reason."""
    heading = "For a person to decide"
    assert heading not in (graded / "index.html").read_text()
    answer = "6x + 1/(sin(x)^2 + cos(x)^2 - 1)"
    made(tmp_path, {"set.yaml": SET, "ada.yaml": f"student: ada\nanswers: {{line: {answer}}}\n"})
    words = [tmp_path / "set.yaml", tmp_path / "ada.yaml", "-o", tmp_path / "out", "--jobs", 1]
    assert grade(*words).exit_code == 3
    page = (tmp_path / "out" / "index.html").read_text()
    assert answer in page.partition(heading)[2]
