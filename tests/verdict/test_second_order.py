"""Hessians and Jacobians: three opinions, PyTorch's numbers, forms that hold at another size."""

from pathlib import Path

import numpy as np
import pytest
import yaml

from gradcheck.errors import TextError
from gradcheck.opinions import again
from gradcheck.problem import load_text
from gradcheck.problem.draw import given_point
from gradcheck.verdict.consult import consult

WORDS = {"order": {"order": 2}, "jacobian": {"jacobian": True}}
ASKED = {
    name: {**row, "words": WORDS[kind]}
    for kind, rows in yaml.safe_load(
        Path(__file__).with_name("second_order.yaml").read_text()
    ).items()
    for name, row in rows.items()
}


def problem(name, seed=1):
    row, rng = ASKED[name], np.random.default_rng(seed)
    drawn = {n: rng.normal(size=shape) for n, shape in row["inputs"].items()}
    wrt = row["wrt"].split()
    given = {n: {"value": v.tolist(), "requires_grad": n in wrt} for n, v in drawn.items()}
    whole = {"id": "t", "inputs": given, "program": row["program"], **row["words"]}
    return load_text(yaml.safe_dump(whole)).problems[0]


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.sampled(3)
def test_pytorch_gives_the_same(name):
    """All three opinions agree, and on PyTorch's Hessian or Jacobian."""
    torch = pytest.importorskip("torch")
    asked = problem(name)
    found = consult(asked.case(given_point(asked)))
    assert found.verdict == "agree"
    assert not any(opinion.abstains for opinion in found.opinions.values())
    tensors = {n: torch.tensor(np.array(v, float)) for n, v in given_point(asked).items()}
    scope = {k: getattr(torch, k) for k in ("sin", "tanh", "relu", "sigmoid", "log", "exp", "sum")}
    scope |= {"norm": torch.linalg.vector_norm}
    for k in ("softmax", "logsumexp", "cumsum"):
        scope[k] = lambda x, axis, k=k: getattr(torch, k)(x, axis)

    def function(*given):
        named = dict(zip(asked.wrt, given, strict=True))
        return eval(asked.program.source, scope, tensors | named)

    given = tuple(tensors[n] for n in asked.wrt)
    way = torch.autograd.functional
    due = (way.hessian if asked.order == 2 else way.jacobian)(function, given)
    for part, gradient in found.parts.items():
        places = [asked.wrt.index(n) for n in part.split(".")]
        block = due[places[0]][places[1]] if asked.order == 2 else due[places[0]]
        assert gradient.gradient is not None
        np.testing.assert_allclose(gradient.gradient.value, block.numpy(), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(
    ("way", "opinion"),
    [("by_line", "symbolic"), ("by_steps", "differences"), ("grad", "reverse")],
)
@pytest.mark.parametrize("name", ["logistic", "two variables"])
def test_each_way_to_differentiate_first_is_its_own(name, way, opinion, monkeypatch):
    """A first derivative that is off for one kind of number is that opinion's dissent."""
    right, off = getattr(again, way), 1 + 2.0**-10

    def wrong(*args, **more):
        found = right(*args, **more)
        return tuple(g * off for g in found) if way == "grad" else found * off

    monkeypatch.setattr(again, way, wrong)
    asked = problem(name)
    found = consult(asked.case(given_point(asked)))
    assert found.verdict == "dissent"
    assert {entry.lonely for entry in found.entries if entry.part} == {opinion}


def test_a_kink_of_a_first_derivative_is_told():
    """The slope of 2|x| jumps from -2 to 2 at zero, and is smooth elsewhere."""
    words = {"id": "t", "inputs": {"x": [0.0, 1.0]}, "program": "sum(abs(x)*x)", "order": 2}
    asked = load_text(yaml.safe_dump(words)).problems[0]
    part = consult(asked.case(given_point(asked))).parts["x.x"]
    assert (part.verdict, part.interval) == ("kink", (-2.0, 2.0))
    assert [entry.index for entry in part.entries] == [(0, 0)]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"order": 2, "cotangent": [1.0, 2.0]}, "`order` asks for every entry"),
        ({"order": 2, "jacobian": True}, "a Jacobian of second derivatives is not followed"),
        ({"jacobian": True, "ask": {"g": "x.grad"}}, "a program that goes back by itself"),
        ({"jacobian": True, "wrt": ["y"], "program": "y = x**2\ny"}, "is asked by inputs"),
    ],
)
def test_what_does_not_go_together_is_complained_of(words, said):
    whole = {"id": "t", "inputs": {"x": [1.0, 2.0]}, "program": "x**2"} | words
    with pytest.raises(TextError, match=said):
        load_text(yaml.safe_dump(whole))
