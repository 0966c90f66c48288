"""Softmax and normalisations are known however they are written, and nothing else is."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from gradcheck.diagnosis import explain, prepare
from gradcheck.diagnosis.blocks import blocks
from gradcheck.opinions.tape import record
from tests.support.grading import keyed
from tests.support.school import case

RNG = np.random.default_rng(5)
X, V = RNG.normal(size=(5, 4)), RNG.normal(size=(5, 4))


def softmax(x):
    e = np.exp(x)
    return e / e.sum(1, keepdims=True)


def normalised(x, ddof, eps):
    """The rows less their mean, over their deviation; and this."""
    r = np.sqrt(x.var(1, ddof=ddof, keepdims=True) + eps)
    return (x - x.mean(1, keepdims=True)) / r, r


# What is written, the blocks in it, the wrong gradient by hand, and its name.
WRITTEN: Mapping[str, tuple[str, set[str], Callable[[], Any], str]] = {
    "softmax, its largest entry taken away": (
        "e = exp(x - max(x, axis=1, keepdims=True))\nsum(e / sum(e, axis=1, keepdims=True) * v)",
        {"softmax"},
        lambda: V * softmax(X) * (1 - softmax(X)),
        "jacobian-diagonal-only",
    ),
    "log-softmax": (
        "sum((x - log(sum(exp(x), axis=1, keepdims=True))) * v)",
        {"logsumexp", "log_softmax"},
        lambda: V - np.log(softmax(X)) * V.sum(1, keepdims=True),
        "wrong-tensor-in-derivative",
    ),
    "variance of a sample": (
        "d = x - mean(x, axis=1, keepdims=True)\n"
        "sum(d / sqrt(sum(d**2, axis=1, keepdims=True) / 3) * v)",
        {"normalise"},
        lambda: V / normalised(X, 1, 0.0)[1],
        "path-dropped",
    ),
    "variance of all": (
        "d = x - mean(x, axis=1, keepdims=True)\n"
        "sum(d * (mean(d**2, axis=1, keepdims=True) + 0.1)**-0.5 * v)",
        {"normalise"},
        lambda: (V - V.mean(0)) / normalised(X, 0, 0.1)[1],
        "",
    ),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_a_block_is_known_by_its_numbers(name):
    """A mistake in the derivative of the whole is named."""
    program, kinds, wrong, id = WRITTEN[name]
    given = case(program, {"x": X, "v": V}, ("x",))
    tape = record(given)
    assert tape is not None
    assert {block.edge.op for block in blocks(tape)} == kinds
    said = {h.mistake.id for h in explain(prepare([given]), "x", [wrong()]).hypotheses}
    assert id in said if id else not said


def test_layer_norm_is_a_normalisation():
    """Its statistics held constant are said to be."""
    ready = keyed(
        "id: p\ninputs:\n  x: {shape: [5, 4]}\n  a: {shape: [4]}\n  b: {shape: [4]}\n"
        "  v: {shape: [5, 4], requires_grad: false}\nprogram: sum(layer_norm(x, 4, a, b) * v)\n"
    )
    given = ready.case(0)
    at = given.floats()
    _, r = normalised(at["x"], 0, 1e-5)
    found = explain(prepare([given]), "x", [at["v"] * at["a"] / r])
    assert {h.mistake.id for h in found.hypotheses} == {"path-dropped"}


@pytest.mark.parametrize(
    "program",
    [
        "e = exp(x)\nsum(e / sum(e) * v)",  # sums to 1 over all, along no axis
        "sum((x - mean(x, axis=1, keepdims=True)) * v)",  # divided by nothing
        "a = abs(x)\nsum(a / sum(a, axis=1, keepdims=True) * v)",  # rows of 1, but no exponentials
    ],
)
def test_what_only_looks_like_one_is_none(program):
    """No row of 1, and no mean of 0, is enough."""
    tape = record(case(program, {"x": X, "v": V}, ("x",)))
    assert tape is not None
    assert not list(blocks(tape))
