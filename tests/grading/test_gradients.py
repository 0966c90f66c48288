"""Answers that build on gradients asked for before: `X.T @ dZ`, `dL/dH`, `P.grad`."""

import pytest

from gradcheck.grading.judging import judge
from gradcheck.grading.key import Key, key
from gradcheck.problem import load_text

NET = """
id: net
inputs:
  X: {shape: [5, 3], requires_grad: false}
  Y: {shape: [5, 2], requires_grad: false}
  W1: {shape: [3, 4]}
  b1: {shape: [4]}
  W2: {shape: [4, 2]}
wrt: [P, H, Z, W1, b1, W2]
program: |
  Z = X @ W1 + b1
  H = tanh(Z)
  P = H @ W2
  sum((P - Y)**2)/2
"""
RIGHT = [
    ("P", "P - Y"),
    ("H", "dP @ W2.T"),
    ("H", "dL/dP W2^T"),
    ("Z", r"\frac{\partial L}{\partial H} \odot (1 - H^2)"),
    ("W1", "dL/dW1 = X^T dL/dZ"),
    ("b1", "sum(dZ, axis=0)"),
    ("W2", "H.T @ P.grad"),
    ("W2", "H.T @ grad_P"),
]


@pytest.fixture(scope="module")
def net() -> Key:
    """The key to a small network whose intermediate gradients are asked for."""
    return key(load_text(NET).problems[0])


def judged(net: Key, part: str, answer: str):
    """The judgement of one answer."""
    found = net.problem.part(part)
    assert found is not None
    return judge(net, found, answer)


@pytest.mark.parametrize(("part", "answer"), RIGHT, ids=[f"{p}: {a}" for p, a in RIGHT])
def test_what_follows_from_a_nearer_gradient_is_right(net, part, answer):
    """Each line of backpropagation by hand is right by the line before it."""
    assert judged(net, part, answer).verdict == "right"


@pytest.mark.parametrize(
    ("part", "answer"), [("P", "dP"), ("H", "dZ"), ("P", "dH @ W2"), ("Z", "dZ")]
)
def test_the_answer_itself_is_no_answer(net, part, answer):
    """Neither the gradient that is asked for nor one that follows from it may be named."""
    found = judged(net, part, answer)
    assert found.verdict == "invalid"
    assert "is what is asked for" in found.remarks[0]


@pytest.mark.parametrize(
    ("part", "answer", "mistake"),
    [
        ("W1", "X.T @ dH", "chain-factor-dropped"),
        ("b1", "dZ", "broadcast-not-summed"),
        ("W2", "dP.T @ H", "transposed"),
        ("W2", "-H.T @ dP", "sign-error"),
    ],
)
def test_a_slip_after_a_right_gradient_has_its_name(net, part, answer, mistake):
    """The mistake is found as in a formula that is written out."""
    found = judged(net, part, answer)
    assert found.verdict == "wrong"
    assert mistake in {each.mistake.id for each in found.diagnosis.hypotheses}


def test_what_is_not_asked_for_has_no_name(net):
    """The gradient of a value that is no part has to be written out."""
    assert judged(net, "W2", "H.T @ dR").verdict == "invalid"


def test_a_name_of_the_program_comes_first():
    """Where the program assigns dz, that is what dz means."""
    problem = "id: p\ninputs: {x: 2.0}\nwrt: [z, x]\nprogram: |\n  z = x**2\n  dz = 5*z\n  dz\n"
    found = key(load_text(problem).problems[0])
    part = found.problem.part("x")
    assert judge(found, part, "10*x").verdict == "right"
    assert judge(found, part, "2*x*dz").verdict == "wrong"  # the gradient by z is 5


def test_beside_a_d_it_is_a_product():
    """With an input called d, dz is d times z."""
    problem = "id: p\ninputs: {x: 2.0, d: 3.0}\nwrt: [z, x]\nprogram: |\n  z = x**2\n  d*z**2/2\n"
    found = key(load_text(problem).problems[0])
    assert judge(found, found.problem.part("z"), "dz").verdict == "right"
