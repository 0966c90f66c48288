"""Lists of numbers where NumPy takes an array: each kind of number takes them, too."""

from pathlib import Path

import pytest
import yaml

from gradcheck.problem import load_text
from gradcheck.verdict.consult import consult

CALLS = yaml.safe_load(Path(__file__).with_name("lists.yaml").read_text())


@pytest.mark.parametrize("text", CALLS)
def test_each_opinion_takes_lists(text):
    problem = load_text(f'id: t\ninputs: {{x: 1.5}}\nprogram: "{text}"\n').problems[0]
    found = consult(problem.case({"x": problem.inputs["x"].value}))
    assert found.verdict == "agree"
    assert not any(said.abstains for said in found.opinions.values())
    for said in found.opinions.values():
        assert float(said.gradients["x"].value) == pytest.approx(CALLS[text])
