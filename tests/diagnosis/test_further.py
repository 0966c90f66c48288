"""The second search: asked for what nothing near explains, and for nothing else."""

import numpy as np

from gradcheck.diagnosis import explain, prepare
from tests.support.school import case

SHAPES = {"A": (3, 3), "x": (3, 2), "V": (3, 2)}


def prepared():
    """Two products of matrices."""
    rng = np.random.default_rng(5)
    inputs = {name: rng.normal(size=shape) for name, shape in SHAPES.items()}
    return inputs, prepare([case("sum(A @ (A @ x) * V)", inputs, ["x"])])


def ids(ready, answer):
    """What is named for an answer to x."""
    return [h.mistake.id for h in explain(ready, "x", [answer]).hypotheses]


def test_what_is_near_does_not_ask_for_it():
    """A mistake at one step, and the right answer, are known without it."""
    inputs, ready = prepared()
    right = inputs["A"].T @ inputs["A"].T @ inputs["V"]
    assert ids(ready, right) == []
    assert ids(ready, -right) == ["sign-error"]
    assert "further" not in vars(ready)


def test_several_steps_passed_over_are_found():
    """The answer stops where the way back begins."""
    inputs, ready = prepared()
    assert ids(ready, inputs["V"]) == ["chain-factor-dropped"]
    assert "further" in vars(ready)


def test_numbers_of_two_digits_carry_no_second_search():
    """What has so few digits is met by one of so many stories; of floats nothing is."""
    _, ready = prepared()
    rng = np.random.default_rng(6)
    assert not ids(ready, rng.normal(size=(3, 2)))
    assert not any(ids(ready, rng.integers(-3, 4, size=(3, 2)) * 1.0) for _ in range(50))
