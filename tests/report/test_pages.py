"""Sections of students' pages: rendered once for answers that are judged alike."""

from gradcheck.report.pages import Sections

ABOUT = {"slope": {"title": "", "prompt": "", "program": "x**2", "choices": []}}
ALIKE = {
    "student": "",
    "problem": "slope",
    "part": "x",
    "verdict": "right",
    "score": 1.0,
    "points": 1.0,
    "mistakes": None,
    "certainty": None,
    "witness": None,
    "remarks": None,
    "tags": None,
    "variant": None,
    "follows": None,
    "line": None,
}


def answered(typed, understood, **more):
    """The line of a right answer."""
    return {**ALIKE, "answer": typed, "understood": understood, **more}


def test_each_section_has_its_own_answer():
    """Whatever was rendered before; and what is typed is escaped."""
    lines = [
        answered("2x", "2*x"),
        answered("<b>x</b>", None),
        answered([1, 2], "[1, 2]"),
        answered("x + x", "x + x", remarks=["seen <twice>"]),
    ]
    known = Sections(ABOUT)
    for line in [*lines, *lines]:
        html = known.section("slope", [line]).html
        assert html == Sections(ABOUT).section("slope", [line]).html
        assert ("<mn>2</mn>" in html) == (line["understood"] in ("2*x", "[1, 2]"))
        assert ("&lt;b&gt;x&lt;/b&gt;" in html) == (line["answer"] == "<b>x</b>")
        assert ("seen &lt;twice&gt;" in html) == bool(line["remarks"])
    assert len(known.frames) == 3, "the first and the third differ in what was typed alone"


def test_frames_are_bounded(monkeypatch):
    """A class of strangers does not fill the memory."""
    monkeypatch.setattr("gradcheck.report.pages.FRAMES", 2)
    known = Sections(ABOUT)
    for k in range(5):
        assert (
            f"note {k}" in known.section("slope", [answered("x", "x", remarks=[f"note {k}"])]).html
        )
    assert len(known.frames) <= 2
