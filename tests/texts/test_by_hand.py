"""Every line of a network's backward pass by hand: rows picked, batch norm, tanh, softmax."""

import pytest

from gradcheck.problem import load_text
from gradcheck.problem.draw import given_point
from gradcheck.texts.steps import derive

PROGRAM = """
id: by-hand
inputs:
  C: {shape: [5, 2]}
  W1: {shape: [6, 4]}
  b1: {shape: [4]}
  W2: {shape: [4, 5]}
  b2: {shape: [5]}
  gain: [[1.0, 1.1, 0.9, 1.0]]
  bias: [[0.1, 0.0, 0.2, -0.1]]
  places: {value: [[0, 1, 2], [3, 0, 1], [2, 2, 4], [1, 4, 0]], requires_grad: false}
  due: {value: [1, 3, 0, 2], requires_grad: false}
program: |
  n = 4
  emb = C[places]
  flat = emb.view(emb.shape[0], -1)
  z = flat @ W1 + b1
  mu = 1/n*z.sum(0, keepdim=True)
  d = z - mu
  var = 1/(n - 1)*(d**2).sum(0, keepdim=True)
  inv_std = (var + 1e-5)**-0.5
  raw = d*inv_std
  act = gain*raw + bias
  h = tanh(act)
  logits = h @ W2 + b2
  counts = exp(logits)
  total = counts.sum(1, keepdim=True)
  p = counts/total
  logp = log(p)
  loss = -logp[range(n), due].mean()
  loss
"""
BY_HAND = {
    "logp": "-eye(W2.shape[1])[[1, 3, 0, 2]] / 4",
    "p": "cotangent_of_logp / p",
    "total": "-sum(cotangent_of_p * p, axis=1, keepdims=True) / total",
    "logits": "cotangent_of_counts * counts",
    "h": "cotangent_of_logits @ W2.T",
    "W2": "h.T @ cotangent_of_logits",
    "b2": "sum(cotangent_of_logits, axis=0)",
    "act": "cotangent_of_h * (1 - h ** 2)",
    "gain": "sum(cotangent_of_act * raw, axis=0, keepdims=True)",
    "bias": "sum(cotangent_of_act, axis=0, keepdims=True)",
    "raw": "cotangent_of_act * gain",
    "inv_std": "sum(cotangent_of_raw * d, axis=0, keepdims=True)",
    "mu": "-sum(cotangent_of_d, axis=0, keepdims=True)",
    "z": "cotangent_of_d + cotangent_of_mu / n",
    "flat": "cotangent_of_z @ W1.T",
    "W1": "flat.T @ cotangent_of_z",
    "b1": "sum(cotangent_of_z, axis=0)",
    "emb": "reshape(cotangent_of_flat, (4, 3, C.shape[1]))",
}


@pytest.fixture(scope="module")
def chain() -> dict[str, str]:
    """The chain rule from the loss down, name by name."""
    (problem,) = load_text(PROGRAM).problems
    return {stage.name: stage.text for stage in derive(problem, given_point(problem)).backward}


@pytest.mark.parametrize("name", BY_HAND)
def test_each_line_is_the_one_of_the_exercise(chain: dict[str, str], name: str) -> None:
    """As somebody writes it who goes back through the lines with pen and paper."""
    assert chain[name] == BY_HAND[name]


def test_every_named_value_has_its_line(chain: dict[str, str]) -> None:
    """Nothing is left out, the rows of an embedding included."""
    assert set(chain) == {*BY_HAND, "counts", "var", "d", "C"}
    rows = "eye(C.shape[0])[[0, 1, 2, 3, 0, 1, 2, 2, 4, 1, 4, 0]].T"
    assert chain["C"] == f"{rows} @ reshape(cotangent_of_emb, (12, C.shape[1]))"


MINUS = """
id: minus
inputs:
  X: {shape: [4, 3], requires_grad: false}
  w: {shape: [3]}
program: |
  z = -X @ w
  mean(1/(1 + exp(z)))
"""


def test_a_minus_comes_first() -> None:
    """`-dz @ X`, and not a second minus before X."""
    (problem,) = load_text(MINUS).problems
    chain = {stage.name: stage.text for stage in derive(problem, given_point(problem)).backward}
    assert chain["w"] == "-X.T @ cotangent_of_z"
