"""Jacobians and second derivatives, step by step."""

import numpy as np
import pytest

from gradcheck.derivation import derive
from gradcheck.derivation.again import Twice
from gradcheck.problem import load_text
from gradcheck.problem.draw import given_point


def derived(text: str) -> dict[str, tuple[str, np.ndarray]]:
    """Every entry-wise derivative of a problem: its formula and its numbers."""
    problem = load_text(text).problems[0]
    found = derive(problem, given_point(problem))
    assert isinstance(found, Twice)
    return {stage.name: (stage.text, stage.value) for stage in found.entries}


S = 1 / (1 + np.exp(-np.array([0.1, 0.4])))

CASES = [
    (
        "{id: t, inputs: {x: 0.5}, program: 'x**3', order: 2}",
        {"d(dvalue/dx)/dx": ("6 * x", 3.0)},
    ),
    (
        "id: t\ninputs: {x: [0.1, 0.4]}\nprogram: |\n  s = sigmoid(x)\n  s**2\njacobian: true",
        {
            "dvalue/ds": ("2 * diag(s)", np.diag(2 * S)),
            "dvalue/dx": ("2 * diag(s ** 2 * (1 - s))", np.diag(2 * S**2 * (1 - S))),
        },
    ),
    (
        "id: t\ninputs: {A: [[1, 2], [3, 4]], x: [1, 2]}\nprogram: x @ A @ x\nwrt: [x]\norder: 2",
        {"d(dvalue/dx)/dx": ("A + A.T", np.array([[2.0, 5], [5, 8]]))},
    ),
    (
        "id: t\ninputs: {t: 2.0, W: [1, 3]}\nprogram: sum(W * t**3)\nwrt: [t]\norder: 2",
        {"d(dvalue/dt)/dt": ("6 * t * sum(W)", 48.0)},
    ),
]


@pytest.mark.parametrize(("text", "by_hand"), CASES)
def test_every_named_value_has_its_derivative(text: str, by_hand: dict) -> None:
    """From the end to the inputs, the numbers by hand."""
    found = derived(text)
    assert list(found) == list(by_hand)
    for name, (formula, value) in by_hand.items():
        assert found[name][0] == formula
        np.testing.assert_allclose(found[name][1], value, rtol=1e-12, atol=1e-15)
