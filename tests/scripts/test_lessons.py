"""Lessons as they are written, run by `gradcheck solve`: PyTorch's numbers, every pass judged."""

import json
from typing import Any

import pytest
from numpy.testing import assert_allclose

from tests.support.scripts import DRAWN, LESSONS, alike, shown, solved

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


@pytest.fixture(scope="module")
def lessons(tmp_path_factory):
    return solved(LESSONS, tmp_path_factory.mktemp("lessons"))


@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_is_a_script(lessons, name):
    """It shows what PyTorch shows, ends as the lesson does, and every pass back is agreed on."""
    pytest.importorskip("torch")
    code, out, told = lessons[name]
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
