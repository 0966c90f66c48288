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
    told = first["problem"], first["printed"], *(call["line"] for call in first["calls"])
    assert told == ("lesson", "tensor(4.)\n", 5)
    told = ends["problem"], ends["verdict"], problem["problem"]
    assert told == ("ends", "error", "cubic-plus-sine")
    code, said, complained = solve(wrong, sine)
    words = "grad can be implicitly created only for scalar outputs" in complained
    assert (code, words, "\n  error  the program ended in an error" in said) == (1, True, True)
    dies = file("import os\nos.kill(os.getpid(), 9)\n", "dies.py")
    assert solve(dies, sine)[::2] == (1, f"{dies}: its process ended with -9\n")


def test_a_wrong_backward_of_a_script_is_a_dissent(file, solve, monkeypatch, tmp_path):
    """A file beside it that is called like a library is none of ours."""
    monkeypatch.chdir(tmp_path)
    file("1/0", "click.py")
    _, dissent, _ = solve(file(f"{LESSON}\n{HALF}", "half.py"))
    assert "4, not 2" in dissent  # the gradient, and what came back
    assert "line 16, x: reverse" in dissent
