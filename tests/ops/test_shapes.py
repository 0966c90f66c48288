"""Whole numbers of the text: places to every function, exact numbers in arithmetic."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from gradcheck.problem import load_text
from gradcheck.verdict.consult import consult
from tests.support.commands import run

torch = pytest.importorskip("torch")

X = np.array([1.5, 2.5, 4.0])
W = np.array([[1.0, 2.0], [3.0, 4.5], [0.5, 0.25]])

PICKED = yaml.safe_load(Path(__file__).with_name("places.yaml").read_text())


def _opinions(program, ones):
    lines = "".join(f"\n  {line}" for line in program.split("\n"))
    text = f"inputs: {{x: {X.tolist()}, W: {W.tolist()}}}\nprogram: |{lines}\n"
    problem = load_text(text).problems[0]
    case = problem.case({name: each.value for name, each in problem.inputs.items()})
    return consult(replace(case, cotangent=ones if ones.ndim else None))


@pytest.mark.parametrize(("program", "theirs"), PICKED, ids=[p for p, _ in PICKED])
def test_all_kinds_of_number_take_them_as_pytorch_does(program, theirs):
    """Value and gradients are PyTorch's, and no opinion has to stand aside."""
    x, w = (torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in (X, W))
    words = {"torch": torch, "x": x, "w": w, "t": lambda v: torch.tensor(v, dtype=_dtype(v))}
    expected = eval(theirs, words)
    ones = np.ones(expected.shape)
    expected.backward(torch.tensor(ones))
    found = _opinions(program, ones)
    assert found.verdict == "agree"
    assert not [said.abstains for said in found.opinions.values() if said.abstains]
    for said in found.opinions.values():
        np.testing.assert_allclose(said.value.value, expected.detach(), rtol=1e-14)
        for name, leaf in (("x", x), ("W", w)):
            right = np.zeros(leaf.shape) if leaf.grad is None else leaf.grad
            np.testing.assert_allclose(said.gradients[name].value, right, rtol=1e-13, atol=1e-16)


def _dtype(values):
    """Of decimal numbers float64, of others PyTorch's own choice."""
    return torch.float64 if np.asarray(values).dtype.kind == "f" else None


WRITTEN = (
    "s[0] = 0.5",
    "s[0] = x[0]",
    "s[0] += 0.5",
    "s[1] -= x[0]",
    "s[0], s[1] = 1, 0.5",
    "s[0] = t = 0.5",
)


@pytest.mark.parametrize("written", WRITTEN)
def test_whole_numbers_hold_no_others(written):
    """NumPy and PyTorch would cut off what stands behind the point."""
    found = _opinions(f"s = array([0, 0])\n{written}\ns * x[0]", np.ones(2))
    for said in found.opinions.values():
        assert "whole numbers cannot hold this" in said.abstains


GIVEN = [
    "cross_entropy(W, y)",
    "-log(softmax(W, axis=1))[arange(3), y].mean()",
    "loss_fn = nn.CrossEntropyLoss()\nloss_fn(W, y).backward()",
    "cross_entropy(W, y).backward()",
    "cross_entropy(W, eye(2)[y])",
    "cross_entropy(W, z)",
]


@pytest.mark.parametrize("program", GIVEN)
def test_constants_of_a_problem_can_be_classes(program, file):
    """Whole numbers that the program uses as places are places, and the gradient is PyTorch's."""
    lines = "".join(f"\n  {line}" for line in program.split("\n"))
    constants = ("y: {value: [0, 1, 1]", "z: {value: [[1, 0], [0, 1], [0, 1]]")
    inputs = ", ".join([f"W: {W.tolist()}", *(f"{c}, requires_grad: false}}" for c in constants)])
    ask = "ask: {W: W.grad}\n" if "backward" in program else ""
    ran = run("solve", "--json", file(f"inputs: {{{inputs}}}\n{ask}program: |{lines}\n"))
    assert ran.exit_code == 0, ran.output
    w = torch.tensor(W, requires_grad=True)
    torch.nn.functional.cross_entropy(w, torch.tensor([0, 1, 1])).backward()
    part = json.loads(ran.output)["parts"]["W"]
    found = part["answer"] if ask else part["reverse"]["value"]
    np.testing.assert_allclose(found, w.grad, rtol=1e-13)
