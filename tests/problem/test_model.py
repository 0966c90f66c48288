"""The JSON Schema of problem files says what is read of them."""

import json
import re

import pytest
import yaml

from gradcheck.problem.model import schema
from tests.support.shipped import FILES


def test_every_reference_leads_somewhere():
    text = json.dumps(schema())
    found = set(re.findall(r'"#/[$]defs/(\w+)"', text))
    assert found == {"InputModel", "KnownModel", "ProgramModel", "WrongModel", "ProblemModel"}
    assert found == set(schema()["$defs"])


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_keys_of_shipped_sets_are_in_it(file):
    whole = yaml.safe_load(file.read_text())
    form = schema()["$defs"]["ProblemModel"]
    for problem in whole["problems"]:
        assert set(form["required"]) <= set(problem) <= set(form["properties"])


def test_bounds_and_choices_are_in_it():
    keys = schema()["$defs"]["ProblemModel"]["properties"]
    due = {"type": "number", "minimum": 0, "default": 1.0}
    assert keys["points"].items() >= due.items()
    assert keys["order"]["enum"] == [1, 2]
    assert keys["id"]["pattern"] == "^[A-Za-z0-9._-]{1,64}$"
    assert keys["wrong"]["items"] == {"$ref": "#/$defs/WrongModel"}
