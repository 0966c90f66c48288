"""Worked examples from textbooks and PyTorch's own tutorials, by hand and by all three opinions."""

import numpy as np
import pytest

from gradcheck.verdict.consult import consult
from tests.support.cases import case

START, COTANGENT = np.array([0.3, -1.1, 0.7]), np.array([0.1, 1.0, 1e-4])
RNG = np.random.default_rng(3)
ROWS, TARGET = RNG.normal(size=(4, 3)), RNG.normal(size=(4, 2))
WEIGHTS, BIAS = RNG.normal(size=(3, 2)), RNG.normal(size=2)
RESIDUAL = ROWS @ WEIGHTS + BIAS - TARGET


def doubled(x):
    y = x * 2
    while np.linalg.norm(y) < 1000:
        y = y * 2
    return y


def cubic_or(cubic):
    return lambda x: x**3 - x if cubic else x * np.sin(x)


# a function, its inputs, the value where it is whole, and the gradients
EXAMPLES = {
    "a parabola, multiplied out": (lambda x: x**2 + 2 * x + 1, {"x": 3.0}, 16, {"x": 8.0}),
    "two layers without activation on [1, 2]": (
        lambda first, second: np.sum(second @ (first @ np.array([1.0, 2.0]))),
        {"first": [[1, 2], [3, 4]], "second": [[2, 3], [4, 2]]},
        85,
        {"first": [[6, 12], [5, 10]], "second": [[5, 11], [5, 11]]},
    ),
    "the mean of nine ones, shifted by 5 and squared": (
        lambda x: np.mean((x + 5) ** 2),
        {"x": np.ones((3, 3))},
        36,
        {"x": np.full((3, 3), 4 / 3)},
    ),
    "doubling until the norm is large": (
        doubled,
        {"x": START, "cotangent": COTANGENT},
        None,
        {"x": 2.0 ** np.ceil(np.log2(1000 / np.linalg.norm(START))) * COTANGENT},
    ),
    "a squared line": (
        lambda w, x, b: (w * x + b) ** 2,
        {"w": 3.0, "x": 2.0, "b": 1.0},
        49,
        {"x": 42.0, "w": 28.0, "b": 14.0},
    ),
    "one branch": (cubic_or(True), {"x": 2.0}, 6, {"x": 11.0}),
    "the other": (cubic_or(False), {"x": 2.0}, None, {"x": 2 * np.cos(2.0) + np.sin(2.0)}),
    "a linear layer with squared error": (
        lambda weights, bias: np.mean((ROWS @ weights + bias - TARGET) ** 2),
        {"weights": WEIGHTS, "bias": BIAS},
        None,
        {"weights": ROWS.T @ RESIDUAL / 4, "bias": RESIDUAL.sum(0) / 4},
    ),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_worked_example(name):
    """Each of the three opinions gives these gradients, and they agree."""
    f, inputs, value, gradients = EXAMPLES[name]
    found = consult(case(f, **inputs))
    assert found.verdict == "agree", found.entries
    assert value is None or found.value.value == value
    for part, right in gradients.items():
        for said in found.opinions.values():
            given = said.gradients[part].value
            assert np.shape(given) == np.shape(right)
            np.testing.assert_allclose(given, right, rtol=1e-12)
