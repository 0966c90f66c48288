"""What PyTorch does with `.grad` over several backward calls, asked through problem files."""

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from gradcheck.cli import main

TABLE = yaml.safe_load(Path(__file__).with_name("facts.yaml").read_text())
FACTS, ERRORS = TABLE["facts"], TABLE["errors"]


def solved(tmp_path, program, asked):
    text = {"id": "fact", "inputs": {"x": 2.0}, "program": program, "ask": {"answer": asked}}
    path = tmp_path / "fact.json"
    path.write_text(json.dumps(text))
    result = CliRunner().invoke(main, ["solve", str(path), "--json"])
    return result.exit_code, result.output


@pytest.mark.parametrize("name", FACTS)
def test_a_fact_comes_out_through_a_problem_file(name, tmp_path):
    """PyTorch's answer, and the three opinions agree on every call."""
    fact = FACTS[name]
    code, said = solved(tmp_path, fact["program"], fact["asked"])
    line = json.loads(said)
    assert code == 0
    assert line["verdict"] == "agree"
    assert line["parts"]["answer"]["answer"] == (
        fact["answer"]
        if isinstance(fact["answer"], bool | list)
        else pytest.approx(fact["answer"], rel=1e-14)
    )


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_of_pytorch_comes_out_with_its_place(name, tmp_path):
    """PyTorch's words, at the line of the program where they are raised."""
    error = ERRORS[name]
    code, said = solved(tmp_path, error["program"], "x.grad")
    assert code == 2
    assert error["words"] in said
    assert f":{error['line']}:" in said.split("fact.json", 1)[1]


NORMS = {"m.norm(1)": 10.0, "m.norm(2)": 30**0.5, "m.norm()": 30**0.5, "m.norm(3)": 100 ** (1 / 3),
         "m.norm(1, 0).sum()": 10.0, "m.norm(p=1, dim=1).max()": 7.0}  # fmt: skip


@pytest.mark.parametrize("call", NORMS)
def test_the_method_norm_is_pytorchs(call, tmp_path):
    """Of [[1, -2], [3, 4]]: all entries are one vector, unless an axis is given."""
    inputs = {"m": [[1.0, -2.0], [3.0, 4.0]]}
    path = tmp_path / "norm.json"
    path.write_text(json.dumps({"id": "norm", "inputs": inputs, "program": call}))
    result = CliRunner().invoke(main, ["solve", str(path), "--json"])
    assert result.exit_code == 0
    assert json.loads(result.output)["value"] == pytest.approx(NORMS[call], rel=1e-14)
