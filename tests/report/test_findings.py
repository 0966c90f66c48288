"""What `grade` and `check` say of one answer."""

import json
import math

import pytest

from gradcheck.errors import Complaint
from gradcheck.report.findings import underline
from tests.support.commands import SINE, run


def test_what_no_float_shows_is_not_printed_twice():
    """The numbers of the proof differ behind the digits of a float."""
    said = run("check", "pi*x^2", "6.283185307179586x").output
    assert "but for digits that a float does not hold" in said
    assert "yours" not in said


def test_grade_names_the_mistake_and_proves_it(file):
    """A flipped sign is wrong with a witness, named, and pointed at."""
    answers = "student: ada\nanswers:\n  cubic-plus-sine: {x: 3x^2 - 2cos x}\n"
    result = run("grade", file(SINE), file(answers, "ada.yaml"), "--json")
    line = json.loads(result.output)
    assert result.exit_code == 0
    assert (line["verdict"], line["score"], line["points"]) == ("wrong", 0.0, 2.0)
    assert line["understood"] == "3*x**2 - 2*cos(x)"
    assert (line["mistakes"][0]["id"], line["certainty"]) == ("sign-error", "unique")
    x = line["witness"]["at"]["x"]
    for whose, sign in (("expected", 1), ("yours", -1)):
        assert line["witness"][whose] == pytest.approx(3 * x**2 + sign * 2 * math.cos(x), rel=1e-12)


def test_a_long_line_is_shown_around_the_place():
    terms = " + ".join(f"{k}*x" for k in range(100))
    line = f"{terms} + sni(x) + {terms}"
    place = len(terms) + 3
    complaint = str(Complaint("unknown", column=place + 1, source=line, width=3)).splitlines()
    for shown, marks in (complaint[1:], underline(line, (place, place + 3))):
        assert len(shown) < 120
        start = len(marks) - len(marks.strip())
        assert shown[start:][: len(marks.strip())] == "sni"


def test_what_was_understood_of_a_right_answer_is_shown(file):
    answers = file("student: ada\nanswers: {cubic-plus-sine: 2cosx + 3x²}\n", "ada.yaml")
    assert "understood  2*cos(x) + 3*x**2" in run("grade", file(SINE), answers).stdout
