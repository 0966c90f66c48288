"""Lessons as they are written: as problem programs and as scripts, with PyTorch's numbers."""

import json
import textwrap
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from numpy.testing import assert_allclose

from gradcheck.cli import main
from gradcheck.problem import load_text
from gradcheck.training import prepared
from gradcheck.training.trace import ERROR
from tests.support.scripts import DRAWN, LESSONS, alike, shown

ENDS_IN_AN_ERROR = {"buffer_3_not_scalar", "graph_3_freed"}
# What is asked where no leaf has a name at the top level, or the lesson ends in an error.
ASKED = {
    "buffer_3_not_scalar": "{error: error}",
    "buffer_5_accumulate": "{W: model.weight}",
    "buffer_6_exercise": "{last: 'cleared[-1]'}",
    "function_3_module": "{g: net.scale.grad, losses: 'printed[0]'}",
    "graph_3_freed": "{error: error, x: x.grad}",
}
# By hand, or facts of the lessons themselves.
ANSWERS: dict[str, dict[str, Any]] = {
    "buffer_1_fill": {"v.grad": [2.0, 4.0, 6.0]},
    "buffer_2_adds_up": {"x.grad": 12.0},
    "buffer_3_not_scalar": {ERROR: "grad can be implicitly created only for scalar outputs"},
    "buffer_6_exercise": {"last": 5**0.5 * 0.8**5},
    "reverse_1_polynomial": {"x.grad": 8.0},
    "graph_1_nodes": {"w.grad": 28.0, "x.grad": 42.0, "b.grad": 14.0},
    "graph_2_retained": {"x.grad": 24.0},
    "graph_3_freed": {"x": 12.0},
    "graph_4_exercise": {"x.grad": 20.0},
    "function_1_two_layers": {"W1.grad": [[6, 12], [5, 10]], "W2.grad": [[5, 11], [5, 11]]},
    "function_2_custom": {"x.grad": [6.0, -12.0, 18.0]},
    "example_1_ones": {"a.grad": [[6.0, 6.0], [6.0, 6.0]]},
    "example_3_norm": {"x.grad": [102.4, 1024.0, 0.1024]},
    "example_4_several": {"x.grad": 2.0, "w.grad": 1.0, "b.grad": 1.0},
}


def as_problem(name: str) -> str:
    """The file of a problem whose program is the lesson, word for word."""
    asked = f"ask: {ASKED[name]}\n" if name in ASKED else ""
    return f"id: {name}\n{asked}program: |\n{textwrap.indent(LESSONS[name], '  ')}"


@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_is_a_problem(name: str) -> None:
    """It is read, every backward call is agreed on, and the answers are the known ones."""
    (problem,) = load_text(as_problem(name)).problems
    found = prepared(problem)
    assert [judged.verdict.verdict for judged in found.events] == ["agree"] * len(found.events)
    assert (found.trace.error is not None) == (name in ENDS_IN_AN_ERROR)
    for part, due in ANSWERS.get(name, {}).items():
        value = found.trace.values[part]
        if isinstance(due, str):
            assert value == due
        else:
            assert_allclose(value, due, rtol=1e-12)


@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_is_a_script(name: str) -> None:
    """`gradcheck solve lesson.py` shows what PyTorch shows, and ends as the lesson does."""
    pytest.importorskip("torch")
    file = Path(__file__).parent.parent / "support" / "lessons" / f"{name}.py"
    result = CliRunner().invoke(main, ["solve", str(file), "--json"])
    line = json.loads(result.stdout)
    printed, error = shown(LESSONS[name], name)
    assert result.exit_code == (1 if name in ENDS_IN_AN_ERROR else 0)
    assert (line["verdict"], bool(line["error"])) == ("agree", bool(error))
    assert alike(line["printed"], printed) or name in DRAWN
