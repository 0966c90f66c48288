"""What a user's own script meets: names, prints, errors, notebooks, and the opinions on it."""

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from numpy.testing import assert_allclose

from tests.support.commands import run
from tests.support.scripts import DRAWN, LESSONS, alike, ran, scripts_of, shown, solved

OWN = scripts_of(Path(__file__).with_name("own.md"))
WRONG = OWN["a wrong backward"]
HEAD = "import torch\nimport torch.nn as nn\n"
OUTSIDE = OWN["a forward in numpy"]
LONG = f"""{HEAD}
w = torch.tensor(1.0, requires_grad=True)
for step in range(100):
    w.grad = None
    (w ** 2).backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
print(f"{{w.item():.3e}}")
"""
PICTURE = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()\nprint('over')\n"
PAGE = scripts_of(Path(__file__).with_name("same.md"))
SAME = {name: HEAD + text for name, text in PAGE.items()}


def written(tmp_path, text, name="lesson.py"):
    file = tmp_path / name
    file.write_text(text)
    return file


@pytest.fixture(scope="module")
def same(tmp_path_factory):
    pytest.importorskip("torch")
    return solved(SAME, tmp_path_factory.mktemp("same"))


@pytest.mark.parametrize("name", SAME)
def test_what_is_printed_is_pytorchs(same, name):
    """In float64 for PyTorch's float32, and every pass back is agreed on."""
    code, out, told = same[name]
    line = json.loads(out)
    assert (code, line["error"]) == (0, None), told
    due, _ = shown(SAME[name], name)
    assert alike(line["printed"], due), (line["printed"], due)
    assert {call["verdict"] for call in line["calls"]} <= {"agree"}


# What a script is, the exit code, words of the output and of the complaints.
ENDS = {
    "a wrong derivative of one's own dissents: (x*x)' at 3 is 6, the script's rule says 9": (
        WRONG, 3, ["tensor(9.)\n", "dissent", "2*x", "Square.backward"], [],
    ),
    "of one's own functions the wrong ones are named, also one that leaves for NumPy, or bends": (
        OWN["three slips, and a sum that is zero"], 3,
        ["Sine.backward", "Leaky.backward", "Pair.backward", "agree"], [],
    ),
    "an error is shown after what was judged, with the line of the script": (
        f"{HEAD}x = torch.ones(2, requires_grad=True)\nx.sum().backward()\nx.backward()\n", 1,
        ["agree"], ["line 5", "grad can be implicitly created only for scalar outputs"],
    ),
    "a long loop is judged in part and says so": (
        LONG, 0, ["3 of 100 judged", "97 more passes back were not judged", f"{0.8**100:.3e}"], [],
    ),
    "what is no Python is malformed": ("x = (1\n", 2, [], ["lesson.py:1"]),
    "pictures need no window": (PICTURE, 0, ["over"], []),
}  # fmt: skip


@pytest.mark.parametrize("name", ENDS)
def test_how_a_script_ends(tmp_path, name):
    """Its exit code, and what is said; no line of gradcheck is shown."""
    text, code, printed, complained = ENDS[name]
    if text is PICTURE:
        pytest.importorskip("matplotlib")
    found, out, told = ran(written(tmp_path, text))
    assert found == code
    assert [words for words in printed if words not in out] == []
    assert [words for words in complained if words not in told] == []
    assert "gradcheck/" not in told


MISSING = {
    "torch.fancy_indexing(1)": "`torch.fancy_indexing` is not offered by gradcheck",
    "torch.reluu": "did you mean `relu`?",
    "from torch.nn import Transformer": "`torch.nn.Transformer` is not offered",
    "import torch.utils.tensorboard": "`torch.utils.tensorboard` is not offered",
    "torch.ones(2).sparse_resize_(1)": "`Tensor.sparse_resize_` is not offered",
}


def test_a_missing_name_ends_in_one_sentence(tmp_path):
    """What is not offered, and what is."""
    found = solved({line: f"import torch\n{line}\n" for line in MISSING}, tmp_path)
    for line, words in MISSING.items():
        code, _, told = found[line]
        assert code == 1
        assert words in told
        assert " - " in told.strip().splitlines()[-1]


def test_a_large_net_is_judged_by_floats(tmp_path):
    """Exact numbers would take minutes."""
    text = f"""{HEAD}
net = nn.Sequential(nn.Linear(40, 50), nn.Tanh(), nn.Linear(50, 1))
(net(torch.randn(60, 40)) ** 2).mean().backward()
"""
    code, out, _ = ran(written(tmp_path, text), "--json")
    (call,) = json.loads(out)["calls"]
    assert (code, call["verdict"]) == (0, "agree")


def test_a_leaf_stepped_between_two_uses_is_judged_by_version(tmp_path):
    """d(2u + 3w) is 2 by the value before the step and 3 by the one after it."""
    text = f"""{HEAD}
w = torch.tensor(1.0, requires_grad=True)
a = w * 2
with torch.no_grad():
    w += 1
(a + w * 3).backward()
print(w.grad)
"""
    _, out, _ = ran(written(tmp_path, text), "--json")
    (call,) = json.loads(out)["calls"]
    assert call["verdict"] == "agree"
    found = {name: part["symbolic"]["value"] for name, part in call["parts"].items()}
    assert found == {"w (version 0)": 2.0, "w": 3.0}


def test_a_notebook_runs_cell_by_cell(tmp_path):
    """The last expression is shown; magic commands and a margin of the whole are left out."""
    cells = [
        {"cell_type": "markdown", "source": ["# text"]},
        {"cell_type": "code", "source": "%pylab\nimport torch\nprint('%d'\n  %(3))\n1 + 1"},
        {"cell_type": "code", "source": "\n  x = torch.tensor(2.0, requires_grad=True)\n  x = x"},
        {"cell_type": "code", "source": ["y = x ** 3\n", "y.backward()\n", "x.grad"]},
    ]
    file = written(tmp_path, json.dumps({"cells": cells}), "lesson.ipynb")
    code, out, told = ran(file, "--json")
    line = json.loads(out)
    assert (code, line["printed"]) == (0, "3\n2\ntensor(12.)\n"), told
    assert line["calls"][0]["verdict"] == "agree"


def test_a_forward_beyond_what_is_recorded_is_no_constant(tmp_path):
    """The opinions that follow numbers say nothing; what backward prints is printed once."""
    code, out, told = ran(written(tmp_path, OUTSIDE), "--json")
    line = json.loads(out)
    assert (code, line["printed"]) == (0, "back\ntensor([0., 1., 0.])\n"), told
    assert line["calls"][0]["verdict"] == "agree"


def test_draws_are_the_same_at_each_run(tmp_path):
    """PyTorch's names, NumPy's and Python's begin from a fixed seed."""
    text = "import torch, numpy as np, random\nprint(torch.randn(2), np.random.rand())\n"
    file = written(tmp_path, f"{text}print(random.random())\n")
    assert ran(file) == ran(file)


def test_the_command_runs_a_script_beside_it(tmp_path):
    """Its exit code is the script's; problem files may stand beside it."""
    file = written(tmp_path, "import torch\ntorch.ones(2).sum().item()\n")
    words = [sys.executable, "-m", "gradcheck", "solve", str(file)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0
    assert "never goes back" in done.stdout


@pytest.mark.parametrize(
    ("command", "given", "words"),
    [
        ("solve", ".", "no problem files there"),
        ("lint", "lesson.py", "`gradcheck solve` runs it"),
        ("serve", "lesson.py", "`gradcheck solve` runs it"),
    ],
)
def test_a_script_runs_only_where_it_is_named_to_solve(tmp_path, command, given, words):
    """Neither in a folder, nor as a problem file."""
    written(tmp_path, "open('ran', 'w')\n")
    result = run(command, str(tmp_path / given))
    assert result.exit_code == 2
    assert words in result.stderr
    assert not Path("ran").exists()
    assert not (tmp_path / "ran").exists()


# -- lessons as they are written, run by `gradcheck solve`: PyTorch's numbers, every pass judged


ENDS_IN_AN_ERROR = {"buffer_3_not_scalar", "graph_3_freed"}
# By hand, or facts of the lessons themselves: the gradients of the last pass back.
ANSWERS: dict[str, dict[str, Any]] = {
    "buffer_1_fill": {"v": [2.0, 4.0, 6.0]},
    "reverse_1_polynomial": {"x": 8.0},
    "graph_1_nodes": {"w": 28.0, "x": 42.0, "b": 14.0},
    "graph_4_exercise": {"x": 20.0},
    "function_1_two_layers": {"W1": [[6, 12], [5, 10]], "W2": [[5, 11], [5, 11]]},
    "function_2_custom": {"x": [6.0, -12.0, 18.0]},
    "example_3_norm": {"x": [102.4, 1024.0, 0.1024]},
}


SOLVED = (*ANSWERS, *sorted(ENDS_IN_AN_ERROR))
OTHERS = tuple(name for name in LESSONS if name not in SOLVED)  # in the sweep


@pytest.fixture(scope="module")
def lessons(tmp_path_factory):
    home = tmp_path_factory.mktemp("lessons")
    return cache(lambda names: solved({name: LESSONS[name] for name in names}, home))


@pytest.mark.parametrize(
    "name", [n if n in SOLVED else pytest.param(n, marks=pytest.mark.sweep) for n in LESSONS]
)
def test_a_lesson_is_a_script(lessons, name):
    """It shows what PyTorch shows, ends as the lesson does, and every pass back is agreed on."""
    pytest.importorskip("torch")
    code, out, told = lessons(SOLVED if name in SOLVED else OTHERS)[name]
    line = json.loads(out)
    printed, error = shown(LESSONS[name], name)
    assert code == (1 if name in ENDS_IN_AN_ERROR else 0), told
    assert bool(line["error"]) == bool(error)
    assert {call["verdict"] for call in line["calls"]} <= {"agree"}, line["calls"]
    assert alike(line["printed"], printed) or name in DRAWN
    for part, due in ANSWERS.get(name, {}).items():
        opinions = line["calls"][-1]["parts"][part]
        for opinion in ("reverse", "symbolic", "differences"):
            assert_allclose(opinions[opinion]["value"], due, rtol=1e-12)


def as_gradcheck(text):
    return (
        text.replace("import torch.nn.functional as F", "import gradcheck.nn.functional as F")
        .replace("import torch.nn as nn", "import gradcheck.nn as nn")
        .replace("from torch.nn import", "from gradcheck.nn import")
        .replace("from torch import", "from gradcheck import")
        .replace("import torch\n", "import gradcheck as torch\n")
    )


@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_shows_what_it_shows_with_pytorch(name):
    """With `import gradcheck as torch`: numbers, shapes, names of nodes, the error at the end."""
    pytest.importorskip("torch")
    theirs, their_error = shown(LESSONS[name], name)
    ours, our_error = shown(as_gradcheck(LESSONS[name]), name)
    assert (our_error == "") == (their_error == "")
    if name in DRAWN:
        assert ours == theirs
        return
    assert their_error.startswith(our_error)
    assert alike(ours, theirs), (ours, theirs)


FEW = {"12, 60": "12, 15", "1, 20": "1, 5", "(20)": "(5)", "24": "8"}  # of points and units


@pytest.mark.parametrize(("sizes", "verdicts"), [
    pytest.param(FEW, ["agree", "dissent", "agree", "agree"], id="judged by exact numbers"),
    pytest.param({}, ["undecided", "dissent", "kink", "undecided"], marks=pytest.mark.sweep),
])  # fmt: skip
def test_points_at_which_ramps_bend_are_no_dissent(tmp_path, sizes, verdicts):
    """Of three rows at zero what comes from either side is the same: only curvature differs.

    A slip of a hundredth is, and the function that it is in is named, where it is not large.
    """
    text = OWN["points at which ramps bend"]
    for size, fewer in sizes.items():
        text = text.replace(size, fewer)
    file = written(tmp_path, text)
    _, out, told = ran(file, "--json")
    assert [call["verdict"] for call in json.loads(out)["calls"]] == verdicts, told
    if sizes:
        assert "abstains" not in out  # not for the open end of `clamp(min=0)` either
        assert "Ramp.backward gives the slope" in " ".join(ran(file)[1].split())
