"""Marking as a teacher does: lines of working, and slips in what was typed."""

import json
import re
from pathlib import Path

import pytest
import yaml

from gradcheck.grading.judging import judge
from gradcheck.grading.key import key
from gradcheck.grading.marking import mark, mark_all
from gradcheck.mistakes.typing import SLIPS
from gradcheck.problem.question import question
from gradcheck.report.judgements import line, restrict
from tests.support.grading import keyed, scalar

PRODUCT = "x**2*sin(x)"
SHEETS = Path(__file__).with_name("sheets.yaml")


def marked(ready, typed, feedback="full"):
    said = line(mark(ready, ready.problem.parts[0], typed), ready.problem.program.source)
    return restrict(json.loads(json.dumps(said)), feedback)


@pytest.mark.parametrize("sheet", yaml.safe_load(SHEETS.read_text())["working"])
def test_a_sheet_with_working(sheet):
    """The last step is judged, and the first that does not hold is named."""
    said = marked(scalar(PRODUCT), sheet["typed"])
    assert (said["verdict"], said["line"]) == (sheet["verdict"], sheet.get("line"))
    assert said["answer"] == sheet["typed"]
    if "mistake" in sheet:
        assert sheet["mistake"] in [each["id"] for each in said["mistakes"]]
    if "line" in sheet:
        assert f"line {sheet['line']}: " in " ".join(said["remarks"])


@pytest.mark.parametrize("typed", ["d/dx(x^2 sin x)", "(x^2 sin x)'", "2x sin x = (x^2 sin x)'"])
def test_an_answer_is_a_derivative_that_was_taken(typed):
    """To say what is to be done is no answer."""
    assert marked(scalar(PRODUCT), typed)["verdict"] == "invalid"


def test_the_place_of_a_slip_is_in_what_was_typed():
    """`start` and `end` count from the first character of the whole sheet."""
    typed = "2x sin x + x^2 cos x\n= x(2 sin x + cos x)"
    slip = marked(scalar(PRODUCT), typed)["mistakes"][0]
    assert slip["in"] == "answer"
    assert typed[slip["start"] : slip["end"]] == slip["text"] == "cos x"


@pytest.mark.parametrize("row", dict.fromkeys(SLIPS.values()), ids=lambda row: row.id)
def test_a_row_of_slips_proves_itself(row):
    """Its example is named so, at a place in the answer; in few words."""
    ready = key(question(row.example.program, [], ["x"]))
    said = marked(ready, row.example.answer["x"])
    assert [each["id"] for each in said["mistakes"]] == [row.id]
    assert len(re.sub("`.*?`", "formula", said["mistakes"][0]["says"]).split()) <= 25
    assert row.slip


def test_a_slip_earns_what_the_set_says():
    """`credit: {slip: 0.5}` is for slips in the answer too; without it they earn nothing."""
    text = "problems:\n- {id: t, inputs: {x: 1.2}, program: exp(x)*(x**2 + x) + x**3, points: 4}\n"
    typed = "e^x (x^2 + 3x + 17) + 3x^2"
    assert marked(keyed(text), typed)["score"] == 0.0
    assert marked(keyed("credit: {slip: 0.5}\n" + text), typed)["score"] == 2.0
    own = text.replace("points: 4", "points: 4, credit: {number-slip: 0.25}")
    assert marked(keyed("credit: {number-slip: 1}\n" + own), typed)["score"] == 1.0


def test_few_words_leave_something_to_do():
    """At `place` neither the missing factor nor what belongs in its place is told."""
    ready = scalar("sin(3*x)")
    said = marked(ready, "cos(3x)", "place")
    assert said["mistakes"]
    assert "3" not in json.dumps([said["remarks"], [m.get("says") for m in said["mistakes"]]])
    slip = marked(
        keyed("id: t\ninputs: {x: 1.2}\nprogram: exp(x)*(x**2 + x) + x**3\n"),
        "e^x (x^2 + 3x + 17) + 3x^2",
        "place",
    )["mistakes"][0]
    assert set(slip) == {"id", "in", "text", "start", "end"}


def test_several_parts_with_working():
    """A part may be given with working, and another one follow from its last line."""
    ready = keyed(
        "id: t\ninputs: {x: 0.7, w: 1.3}\nprogram: |\n  z = w*x\n  h = tanh(z)\n"
        "  (h - 0.5)**2\nwrt: [h, w]\n"
    )
    given = {"h": "2(h - 0.5)\n= 2h - 0.5", "w": "(2h - 0.5)(1 - h^2) = (2h - 0.5)(1 - h^2) x"}
    found = mark_all(ready, given)
    assert (found["h"].verdict, found["h"].line) == ("wrong", 2)
    assert (found["w"].verdict, found["w"].follows) == ("right", "h")


@pytest.mark.parametrize(
    "typed", ["x = " * 5_000, "x\n" * 2_000, "= " * 90, "d/dx(" * 400, "(x)'" * 400]
)
def test_endless_working_is_refused_at_once(typed):
    """What no page holds is judged as one formula, which it is not."""
    assert marked(scalar(PRODUCT), typed)["verdict"] in ("invalid", "wrong")


def test_an_answer_without_working_is_judged_as_ever():
    """Nothing changes for one formula, a list, a number, or something unreadable."""
    ready = scalar(PRODUCT)
    part = ready.problem.parts[0]
    for typed in ("2x sin x + x^2 cos x", "2x cos x", 3, None, "2x +", "[1, 2]", True, {"a": 1}):
        assert mark(ready, part, typed) == judge(ready, part, typed)
