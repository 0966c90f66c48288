"""Training programs do what PyTorch does: the same text, run by both."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from gradcheck.problem import Problem, load_text
from gradcheck.training import run_and_judge
from tests.support.programs import by_torch
from tests.support.scripts import scripts_of
from tests.support.shipped import SETS

torch = pytest.importorskip("torch")

SHIPPED = {problem.id: problem for problem in SETS["training"].problems}

MORE = scripts_of(Path(__file__).with_name("programs.md"))


def extra(name):
    program = MORE[name]
    lines = "\n".join(f"  {line}" for line in program.splitlines())
    calls = re.findall(r"record\((.*)\)$", program, re.MULTILINE)
    names = {name for call in calls for name in re.findall(r"(\w+)=", call)}
    asked = ", ".join(f"{n}: recorded.{n}" for n in sorted(names))
    text = f"id: extra\ninputs: {{w: [1.0, -2.0]}}\nprogram: |\n{lines}\nask: {{{asked}}}\n"
    return load_text(text).problems[0]


PROGRAMS: dict[str, Callable[[], Problem]] = {
    **{name: (lambda p=problem: p) for name, problem in SHIPPED.items()},
    **{name: (lambda n=name: extra(n)) for name in MORE},
}


def plain(value):
    if isinstance(value, torch.Size):
        return tuple(value)
    if hasattr(value, "detach"):
        return value.detach().numpy()
    if type(value).__name__.endswith("Backward0"):
        return value.name()
    if isinstance(value, list):
        return np.array([v.numpy() if hasattr(v, "numpy") else v for v in value])
    return np.array(value) if isinstance(value, float) else value


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")
@pytest.mark.parametrize("name", PROGRAMS)
def test_traces_are_those_of_pytorch(name):
    """Every answer is PyTorch's to 1e-10, and the three opinions agree on every event."""
    problem = PROGRAMS[name]()
    ours = run_and_judge(problem)
    assert ours.events
    assert [e.verdict.verdict for e in ours.events] == ["agree"] * len(ours.events)
    theirs = by_torch(problem, problem.program.source, ours.point)
    for part, value in zip(problem.parts, theirs, strict=True):
        expected, found = plain(value), ours.trace.values[part.name]
        if isinstance(expected, np.ndarray):
            np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)
        else:
            assert found == expected
            assert type(found) is type(expected)
