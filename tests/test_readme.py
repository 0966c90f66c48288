"""The README says what is so: its outputs, its problem, its test, its table."""

import re

import pytest

from gradcheck.problem import load_text
from tests.support.grading import self_test
from tests.support.readme import README, rendered

TEXT = README.read_text()
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", TEXT, re.DOTALL)


def test_outputs_and_tables_are_current():
    """Every shown command prints just what the README shows; the table is the catalogue."""
    assert rendered(TEXT) == TEXT


@pytest.mark.parametrize("text", [t for kind, t in BLOCKS if kind == "yaml" and "id:" in t])
def test_problems_are_sound(text):
    assert self_test(load_text(text)) == []


def test_the_pytest_example_passes():
    (code,) = [text for kind, text in BLOCKS if kind == "python"]
    names: dict[str, object] = {}
    exec(compile(code, "README.md", "exec"), names)
    names["test_softmax"]()
    assert callable(names["softmax_backward"])
