"""The JSON Schema of problem files says what is read of them."""

import copy
import json
import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from gradcheck.errors import TextError
from gradcheck.problem import load_text
from gradcheck.problem.model import InputModel, ProblemModel, SetModel, make_schema
from tests.support.commands import run
from tests.support.shipped import FILES


def test_every_reference_leads_somewhere():
    text = json.dumps(make_schema())
    found = set(re.findall(r'"#/[$]defs/(\w+)"', text))
    assert found == {"InputModel", "KnownModel", "ProgramModel", "WrongModel", "ProblemModel"}
    assert found == set(make_schema()["$defs"])


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_keys_of_shipped_sets_are_in_it(file):
    whole = yaml.safe_load(file.read_text())
    form = make_schema()["$defs"]["ProblemModel"]
    for problem in whole["problems"]:
        assert set(form["required"]) <= set(problem) <= set(form["properties"])


def test_bounds_and_choices_are_in_it():
    keys = make_schema()["$defs"]["ProblemModel"]["properties"]
    due = {"type": "number", "minimum": 0, "default": 1.0}
    assert keys["points"].items() >= due.items()
    assert keys["order"]["enum"] == [1, 2]
    assert keys["id"]["pattern"] == "^[A-Za-z0-9._-]{1,64}$"
    assert keys["wrong"]["items"] == {"$ref": "#/$defs/WrongModel"}


# -- bad files: one clear message with line and column, and no traceback ---------------------------

CASES = yaml.safe_load(Path(__file__).with_name("faults.yaml").read_text())
LARGE = "# " + "x" * 10**7
CASES += [{"name": "large", "file": LARGE, "place": "1:1", "says": "more than 1,000,000 bytes"}]


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_bad_file(case, file):
    """The message names the place, says what is wrong, and the exit code is 2."""
    result = run("solve", file(case["file"]))
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert case["says"] in result.output
    assert case.get("unsaid", "Traceback") not in result.output
    assert result.exit_code == 2
    assert f"set.yaml:{case['place']}" in result.output


@pytest.mark.parametrize("inputs", ["imputs: {x: 2.0}", "inputs: {2x: 2.0}"])
def test_one_fault_is_told_once(file, inputs):
    """A misspelled key is not missing too; a program is not blamed for an input's bad name."""
    text = f"id: p\n{inputs}\nprogram: x\n"
    assert run("solve", file(text)).output.count("set.yaml:") == 1


def test_all_faults_of_a_file_are_told_at_once(file):
    programs = {"a": "x + y", "b": "foo(x) + z"}
    rows = [f"- {{id: {n}, inputs: {{x: 1.5}}, program: {p}}}\n" for n, p in programs.items()]
    said = run("solve", file("problems:\n" + "".join(rows))).output
    for words in ("set.yaml:2:", "set.yaml:3:", "`y`", "`foo`", "`z`"):
        assert words in said


BROKEN = [None, True, 2.5, "x", "1/0", "x.backward()", [], [[1], [2, 3]], {}, {"a": 1}, 10**30]
BROKEN += ["\n", "for", [None], {"shape": [10**9]}, {"integers": [5, 2]}, {"choose": []}]
WHOLE = {"problems": [{"id": "p", "inputs": {"x": 2.0, "A": {"shape": [2, 2]}}, "program": "x"}]}
KEYS = sorted({*SetModel.model_fields, *ProblemModel.model_fields, *InputModel.model_fields})


@settings(deadline=None, derandomize=True, max_examples=300)
@given(st.sampled_from(["set", "problem", "input"]), st.sampled_from(KEYS), st.sampled_from(BROKEN))
def test_every_complaint_has_its_place_and_a_cure(where, key, value):
    """Any key with anything behind it, in the set, in a problem or in an input."""
    file = copy.deepcopy(WHOLE)
    problem = file["problems"][0]
    {"set": file, "problem": problem, "input": problem["inputs"]["A"]}[where][key] = value
    complaints = ()
    try:
        load_text(json.dumps(file), "set.yaml")
    except TextError as error:
        complaints = error.complaints
    assert all(each.line and each.column and each.cure for each in complaints)
    assert not any(" should " in each.message for each in complaints)
