"""`gradcheck mine`: unnamed answers grouped by equality, and what was differentiated instead."""

import json

from click.testing import CliRunner

from gradcheck.cli import main
from tests.support.batches import grade, made

SET = """
problems:
- {id: p, inputs: {x: 2.0}, program: x**3*sin(x) + 5*x}
- {id: v, inputs: {x: [1.0, 2.0]}, program: sum(x**3)}
"""
# Of five the derivative of x^3 tan x + 5x, in two spellings; two are alike and of nothing near.
ROWS = [
    "3x^2 tan x + x^3 sec(x)^2 + 5,x",
    "3x^2 tan x + x^3 sec(x)^2 + 5,3x^2",
    "3x^2 tan x + x^3 sec(x)^2 + 5,x**7 + x",
    "x^3/cos(x)^2 + 3x^2 tan(x) + 5,x + x**7",
    "5 + 3x^2 tan x + x^3/cos(x)^2,2x +",
    "x^2 + 8x^9,",
    "8x^9 + x*x,",
]


def mined(where, *more):
    return CliRunner().invoke(main, ["mine", str(where), *more])


def test_groups_and_what_they_are_the_derivative_of(tmp_path):
    """The largest group first; answers to arrays are grouped, and nothing is proposed for them."""
    form = "\n".join(["student,p,v", *(f"s{k},{row}" for k, row in enumerate(ROWS))])
    here = made(tmp_path, {"set.yaml": SET, "form.csv": form})
    grade(here / "set.yaml", here / "form.csv", "-o", here / "out", "--jobs", 1)
    told = [json.loads(line) for line in mined(here / "out", "--json").output.splitlines()]
    found = {(each["problem"], each["count"], each["proposed"]) for each in told}
    assert ("p", 5, "x**3*tan(x) + 5*x") in found
    assert ("p", 2, "") in found
    assert told[0]["count"] == 5
    assert len(told[0]["answers"]) == 3
    text = mined(here / "out").output
    assert "as if the program were  x**3*tan(x) + 5*x" in text
    assert "5x  p.x" in text


def test_without_a_batch_there_is_nothing_to_mine(tmp_path):
    """One line says what is missing."""
    said = mined(tmp_path)
    assert said.exit_code == 2
    assert "no graded batch" in said.output
