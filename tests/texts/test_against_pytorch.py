"""The printed form of every loss beside PyTorch's gradient: another program, another author."""

import numpy as np
import pytest

from gradcheck.problem.draw import given_point
from tests.support.losses import EVERYDAY, SIZES, drawn
from tests.support.texts import at, derived, problem

torch_losses = pytest.importorskip("tests.support.torch_losses")


@pytest.mark.parametrize("name", EVERYDAY)
def test_the_text_gives_pytorchs_gradient(name: str) -> None:
    """Found at one size, evaluated at another, to 1e-10 of the largest entry."""
    loss = EVERYDAY[name]
    here = problem(loss.program, drawn(loss, SIZES[0], 0), loss.wrt)
    numbers = drawn(loss, SIZES[1], 1)
    there = problem(loss.program, numbers, loss.wrt)
    texts, due = derived(here, given_point(here)), torch_losses.gradients(loss, numbers)
    assert set(texts) == set(due)
    for part, text in texts.items():
        scale = np.max(np.abs(due[part]), initial=1e-300)
        np.testing.assert_allclose(at(text, there), due[part], rtol=1e-10, atol=1e-10 * scale)
