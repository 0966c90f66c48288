"""`gradcheck check`: one answer, without a file."""

import json
from pathlib import Path

import pytest
import yaml

from tests.support.commands import run

ASKED = yaml.safe_load(Path(__file__).with_name("check.yaml").read_text())


@pytest.mark.parametrize(("words", "code", "said"), ASKED)
def test_check_judges_one_answer_without_a_file(words, code, said):
    """Right 0, wrong 1 with the mistake, unreadable or not to be decided 2."""
    result = run("check", *words)
    assert (result.exit_code, said in result.output) == (code, True), result.output


def test_check_json_is_a_line_of_grade():
    line = json.loads(run("check", "x**2 + sin(x)", "2x - cos x", "--json").output)
    assert (line["part"], line["verdict"], line["understood"]) == ("x", "wrong", "2*x - cos(x)")
    assert line["mistakes"][0]["id"] == "sign-error"
