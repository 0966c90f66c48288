"""`solve --steps` on arrays: every value, and every cotangent with its shape and its way."""

import numpy as np
import pytest

from gradcheck.derivation import derive
from gradcheck.derivation.arrays import Walked
from gradcheck.problem import Problem, load_text
from gradcheck.problem.draw import given_point

X = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
GIVEN = f"{{X: {{value: {X}, requires_grad: false}}, W: [0.5, -1.0], x: [1.0, 2.0]}}"


def asked(program: str, **more: object) -> Problem:
    """A problem of that program on X, W and x."""
    body = program.replace("\n", "\n  ")
    rest = "".join(f"{name}: {value}\n" for name, value in more.items())
    return load_text(f"id: t\ninputs: {GIVEN}\n{rest}program: |\n  {body}\n").problems[0]


def walked(problem: Problem) -> Walked:
    """The derivation at the given point."""
    return derive(problem, given_point(problem))


def test_the_cotangents_of_a_mean_of_squares_by_hand():
    """d/dr of mean(r**2) is 2 r / 3, and d/dW of X @ W is X.T times that."""
    found = walked(asked("r = X @ W\n(r**2).mean()"))
    r = np.array([-1.5, -2.5, -3.5])
    assert [(s.name, s.text, s.node) for s in found.forward] == [
        ("r", "X @ W", "MvBackward0"),
        ("v1", "r**2", "PowBackward0"),
        ("value", "(r**2).mean()", "MeanBackward0"),
    ]
    np.testing.assert_allclose(found.forward[0].value, r, rtol=1e-15)
    np.testing.assert_allclose(found.forward[2].value, np.sum(r**2) / 3, rtol=1e-15)
    assert [(s.name, s.node) for s in found.backward] == [
        ("dvalue/dv1", "MeanBackward0"),
        ("dvalue/dr", "PowBackward0"),
        ("dvalue/dW", "MvBackward0"),
    ]
    wanted = [np.full(3, 1 / 3), 2 * r / 3, np.transpose(X) @ (2 * r / 3)]
    for stage, array in zip(found.backward, wanted, strict=True):
        np.testing.assert_allclose(stage.value, array, rtol=1e-14)


def test_where_paths_meet_both_are_named():
    """A cotangent that came along two paths names both nodes, and is their sum."""
    found = walked(asked("(x * x.exp()).sum()"))
    last = found.backward[-1]
    assert last.name == "dvalue/dx"
    assert last.node == "MulBackward0 + ExpBackward0"
    x = np.array([1.0, 2.0])
    np.testing.assert_allclose(last.value, (1 + x) * np.exp(x), rtol=1e-14)


def test_a_written_array_shows_what_it_was():
    """The value of a step is the one it had then, not what was written into it later."""
    found = walked(asked("y = x * 3\nz = y.sum()\ny[0] = 0.0\nz"))
    np.testing.assert_array_equal(found.forward[0].value, [3.0, 6.0])


def test_what_depends_on_no_input_has_no_steps():
    """Nothing is recorded, and nothing is shown."""
    found = walked(asked("(x.detach() * 2).sum()"))
    assert (found.forward, found.backward) == ((), ())


def test_the_cotangent_of_an_array_valued_program_is_the_seed():
    """A problem with a cotangent starts from it."""
    found = walked(asked("x**2", cotangent=[10.0, 0.1]))
    np.testing.assert_allclose(found.backward[-1].value, [20.0, 0.4], rtol=1e-15)


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
    "total": "-(sum(cotangent_of_p * p, axis=1) / total[:, 0])[:, None]",
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
    "z": "cotangent_of_d + cotangent_of_mu / 4",
    "flat": "cotangent_of_z @ W1.T",
    "W1": "flat.T @ cotangent_of_z",
    "b1": "sum(cotangent_of_z, axis=0)",
    "emb": "reshape(cotangent_of_flat, (4, 3, 2))",
}


@pytest.fixture(scope="module")
def chain() -> dict[str, str]:
    """The chain rule from the loss down, name by name."""
    (problem,) = load_text(PROGRAM).problems
    return {stage.name: stage.text for stage in derive(problem, given_point(problem)).chain}


@pytest.mark.parametrize("name", BY_HAND)
def test_each_line_is_the_one_of_the_exercise(chain: dict[str, str], name: str) -> None:
    """As somebody writes it who goes back through the lines with pen and paper."""
    assert chain[name] == BY_HAND[name]


def test_every_named_value_has_its_line(chain: dict[str, str]) -> None:
    """Nothing is left out, the rows of an embedding included."""
    assert set(chain) == {*BY_HAND, "counts", "var", "d", "C"}
    rows = "eye(C.shape[0])[[0, 1, 2, 3, 0, 1, 2, 2, 4, 1, 4, 0]].T"
    assert chain["C"] == f"{rows} @ reshape(cotangent_of_emb, (12, C.shape[1]))"
