"""What `gradcheck lint` says of a problem's own names, numbers and self-tests."""

import csv
import json

import pytest

from tests.support.commands import run
from tests.support.sets import set_of

LABELS = set_of("labels-given")


@pytest.mark.parametrize(
    ("name", "meant"),
    [("T", "a transpose"), ("e", "Euler"), ("i", "an index"), ("t", ""), ("I", "")],
)
def test_an_input_that_is_named_like_something_else(file, name, meant):
    """Students write `x^T`, `e^x` and a sum over i; of other names there is nothing to say."""
    found = run("lint", file(f"{{id: one, inputs: {{{name}: 2.0}}, program: '{name}**3'}}"))
    said = f"an input named `{name}` is easily taken for {meant}"
    assert (said in found.output, "named" in found.output) == (bool(meant), bool(meant))
    assert not meant or found.exit_code == 1


def test_a_wrong_self_test_says_what_is_right(file):
    found = run("lint", file("{id: one, inputs: {x: 3.0}, program: x**2, right: [x, 2*x, 5]}"))
    assert "x answered 5: expected right, came wrong" in found.output
    assert "at x = 3.0: yours 5, expected 6" in found.output
    assert found.output.count("self-test") == 2


def test_self_tests_alone(file):
    """An input called `e` is no finding then."""
    clean = file("{id: one, inputs: {e: 3.0}, program: e**2, right: [2*e]}")
    assert run("lint", clean).exit_code == 1
    assert run("lint", "--self-tests-only", clean).exit_code == 0
    wrong = file("{id: one, inputs: {e: 3.0}, program: e**2, right: [e]}")
    assert run("lint", "--self-tests-only", wrong).exit_code == 1


@pytest.mark.parametrize(("more", "said"), [("", True), (", domain: 'L > 0, g > 0'", False)])
def test_an_answer_for_positive_numbers_alone_is_told(file, more, said):
    """Of `sqrt(L/g)` students write roots of L and of g, which have no value where both are < 0."""
    text = f"{{id: one, inputs: {{L: 0.7, g: 9.81}}, program: sqrt(L/g){more}}}"
    words = " ".join(run("lint", file(text)).output.split())
    assert ("say so with `domain:`" in words) == said


def test_labels_have_no_other_values(file):
    assert "use other values" not in run("lint", file(LABELS)).output


def test_a_table_says_who_has_which_numbers(file, tmp_path):
    text = "id: wave\ninputs: {x: 0.5, a: {choose: [2, 3, 5]}}\nwrt: [x]\nprogram: sin(a*x)\n"
    sheets, roster = tmp_path / "sheets", file("student\nada\nemmy\n", "roster.csv")
    assert run("variants", file(text), "--students", roster, "-o", str(sheets)).exit_code == 0
    rows = list(csv.DictReader((sheets / "variants.csv").read_text().splitlines()))
    for row in rows:
        told = run("solve", file(text), "--student", row["student"], "--json").stdout
        assert json.loads(told)["variant"] == {"a": int(row["value"])}
    assert [row["student"] for row in rows] == ["ada", "emmy"]
