"""Scripts on the command line of `solve`."""

import json
import subprocess
import sys

from tests.support.commands import SINE

LESSON = """import torch
import torch.nn as nn
net = nn.Sequential(nn.Linear(1, 1, bias=False), nn.Tanh())
x = torch.tensor(2.0, requires_grad=True)
(x**2).backward()
print(x.grad)
"""


HALF = """
class Half(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return a * a
    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]
Half.apply(x).backward()
"""


def spawned(*words):
    """A command as a process: a script runs in one of its own, which writes where this one does."""
    words = [sys.executable, "-m", "gradcheck", *words]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def test_scripts_and_problem_files_are_solved_together(file):
    """In one list: `--problem` chooses among them, and what a script ends in is exit code 1."""
    lesson, sine = file(LESSON, "lesson.py"), file(SINE)
    wrong = file(LESSON + "(x**2 + torch.ones(2)).backward()\n", "ends.py")
    said = spawned("solve", lesson, wrong, sine, "--json").stdout
    first, ends, problem = (json.loads(line) for line in said.splitlines())
    assert (first["problem"], first["printed"]) == ("lesson", "tensor(4.)\n")
    assert [call["line"] for call in first["calls"]] == [5]
    assert (ends["problem"], ends["verdict"]) == ("ends", "error")
    assert problem["problem"] == "cubic-plus-sine"
    ended = spawned("solve", wrong, sine)
    assert ended.returncode == 1
    assert "grad can be implicitly created only for scalar outputs" in ended.stderr
    assert "\n  error  the program ended in an error" in ended.stdout


def test_a_wrong_backward_of_a_script_is_a_dissent(file):
    dissent = spawned("solve", file(LESSON + HALF, "half.py")).stdout
    assert "4, not 2" in dissent  # the gradient, and what came back
    assert "line 16, x: reverse" in dissent
