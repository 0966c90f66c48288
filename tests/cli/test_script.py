"""Scripts on the command line of `solve`."""

import json
from pathlib import Path

import pytest

from gradcheck.cli import main
from tests.support.commands import SINE

LESSON = """import torch
import torch.nn as nn
net = nn.Sequential(nn.Linear(1, 1, bias=False), nn.Tanh())
x = torch.tensor(2.0, requires_grad=True)
(x**2).backward()
print(x.grad)
"""


HALF = Path(__file__).with_name("half.txt").read_text()


@pytest.fixture
def solve(capfd):
    """The command here: a script runs in a process of its own, which writes where this one does."""

    def solved(*words):
        with pytest.raises(SystemExit) as ended:
            main(["solve", *words])
        return (ended.value.code, *capfd.readouterr())

    return solved


def test_scripts_and_problem_files_are_solved_together(file, solve):
    """In one list: `--problem` chooses among them, and what a script ends in is exit code 1."""
    lesson, sine = file(LESSON, "lesson.py"), file(SINE)
    wrong = file(LESSON + "(x**2 + torch.ones(2)).backward()\n", "ends.py")
    _, said, _ = solve(lesson, wrong, sine, "--json")
    first, ends, problem = (json.loads(line) for line in said.splitlines())
    assert (first["problem"], first["printed"]) == ("lesson", "tensor(4.)\n")
    assert [call["line"] for call in first["calls"]] == [5]
    assert (ends["problem"], ends["verdict"]) == ("ends", "error")
    assert problem["problem"] == "cubic-plus-sine"
    code, said, complained = solve(wrong, sine)
    assert code == 1
    assert "grad can be implicitly created only for scalar outputs" in complained
    assert "\n  error  the program ended in an error" in said


def test_a_wrong_backward_of_a_script_is_a_dissent(file, solve, monkeypatch, tmp_path):
    """A file beside it that is called like a library is none of ours."""
    monkeypatch.chdir(tmp_path)
    file("1/0", "click.py")
    _, dissent, _ = solve(file(f"{LESSON}\n{HALF}", "half.py"))
    assert "4, not 2" in dissent  # the gradient, and what came back
    assert "line 16, x: reverse" in dissent
