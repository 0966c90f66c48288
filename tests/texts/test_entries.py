"""The printed form of every loss beside PyTorch's gradient: another program, another author."""

from typing import Any

import numpy as np
import pytest

from gradcheck.problem.draw import draw_given_point
from tests.support.texts import EVERYDAY, SIZES, at, derived, drawn, problem

torch = pytest.importorskip("torch")


def reduced(function):
    def call(x, axis=None, keepdims=False):
        return function(x) if axis is None else function(x, dim=axis, keepdim=keepdims)

    return call


WORDS = {
    "sum": reduced(torch.sum),
    "mean": reduced(torch.mean),
    "logsumexp": reduced(torch.logsumexp),
    "softmax": lambda x, axis=-1: torch.softmax(x, dim=axis),
    "log_softmax": lambda x, axis=-1: torch.log_softmax(x, dim=axis),
    "softplus": torch.nn.functional.softplus,
    "gelu": torch.nn.functional.gelu,
    "maximum": lambda a, b: torch.maximum(torch.as_tensor(a).double(), b),
    "var": lambda x: torch.var(x, correction=0),
    "norm": torch.linalg.norm,
    "inv": torch.linalg.inv,
    "det": torch.linalg.det,
    "solve": torch.linalg.solve,
    "sqrt": lambda x: torch.sqrt(torch.as_tensor(x).double()),
} | {
    name: getattr(torch, name)
    for name in ("log", "exp", "sigmoid", "tanh", "relu", "abs", "cosh", "trace", "einsum")
}


def gradients(loss, numbers):
    leaves = {
        name: torch.tensor(value, dtype=torch.float64, requires_grad=True)
        for name, value in numbers.items()
    }
    *lines, last = loss.program.split("\n")
    names: dict[str, Any] = {**WORDS, **leaves}
    exec("\n".join(lines), {"__builtins__": {}}, names)
    eval(last, {"__builtins__": {}}, names).backward()
    return {name: leaves[name].grad.numpy() for name in loss.wrt.split()}


@pytest.mark.parametrize("name", EVERYDAY)
def test_the_text_gives_pytorchs_gradient(name):
    """Found at one size, evaluated at another, to 1e-10 of the largest entry."""
    loss = EVERYDAY[name]
    here = problem(loss.program, drawn(loss, SIZES[0], 0), loss.wrt)
    numbers = drawn(loss, SIZES[1], 1)
    there = problem(loss.program, numbers, loss.wrt)
    texts, due = derived(here, draw_given_point(here)), gradients(loss, numbers)
    assert set(texts) == set(due)
    for part, text in texts.items():
        scale = np.max(np.abs(due[part]), initial=1e-300)
        np.testing.assert_allclose(at(text, there), due[part], rtol=1e-10, atol=1e-10 * scale)
