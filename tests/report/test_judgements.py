"""Parts of one problem read together."""

import json
import math

import pytest

from gradcheck.errors import Complaint, underline
from gradcheck.grading.marking import mark
from gradcheck.report.judgements import locate_mistake, make_line, merge_lines
from tests.support.commands import SINE, run
from tests.support.grading import keyed


def part(name, *ids, verdict="wrong", certainty="unique"):
    """A line of a part with the mistakes that explain it; `a+b` are two at once."""
    pairs = (i.partition("+") for i in ids)
    told = [{"id": a, **({"with": {"id": b}} if b else {})} for a, _, b in pairs]
    said = {"verdict": verdict, "mistakes": told, "certainty": certainty}
    return {"part": name, "hints": [], **said}


def read(*lines):
    """What is left of each: the ids, the certainty, and the part with the same mistake."""
    return [
        ([m["id"] for m in one["mistakes"]], one["certainty"], one.get("same") or "")
        for one in merge_lines(lines)
    ]


def test_one_misconception_in_three_places_is_one():
    """The first says it, the others point to the first; a part that is torn is torn no longer."""
    lines = (
        part("W1", "transposed"),
        part("W2", "operands-swapped", "transposed", certainty="torn"),
        part("b", "broadcast-averaged"),
        part("W3", "transposed"),
    )
    assert read(*lines) == [
        (["transposed"], "unique", ""),
        (["transposed"], "unique", "W1"),
        (["broadcast-averaged"], "unique", ""),
        (["transposed"], "unique", "W1"),
    ]
    torn = (
        part("u", "sum-for-mean", "path-dropped", certainty="torn"),
        part("v", "chain-factor-dropped", "path-dropped", certainty="torn"),
    )
    assert read(*torn) == [(["path-dropped"], "unique", ""), (["path-dropped"], "unique", "u")]


def test_slips_right_parts_and_pairs_are_left_alone():
    lines = (
        part("a", "sign-error"),
        part("b", "sign-error"),
        part("c", "transposed", verdict="right"),
        part("d", "transposed"),
        part("e", "transposed+sum-for-mean"),
    )
    assert merge_lines(lines) == list(lines)


def test_what_no_float_shows_is_not_printed_twice():
    """The numbers of the proof differ behind the digits of a float."""
    said = run("check", "pi*x^2", "6.283185307179586x").output
    assert "but for digits that a float does not hold" in said
    assert "yours" not in said
    apart = {"2x + 1e-11": "yours -1.1199999999900001, expected -1.1200000000000001"}
    for typed, numbers in (apart | {"3x": "yours -1.68, expected -1.12"}).items():
        assert numbers in run("check", "x^2", typed).output


def test_a_slip_is_found_where_it_was_typed():
    key = keyed("id: t\ninputs: {x: 1.3}\nprogram: sin(3*x) + x**2\n")
    part, typed = key.problem.parts[0], "3cos(3x) + 3x"
    said = make_line(mark(key, part, typed), key.problem.program.source)
    assert locate_mistake(key, part, said) == (typed.rindex("3"), typed.rindex("3") + 1)


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
