"""Ops of arrays against PyTorch: gradients, twice, and closed forms."""

import numpy as np
import pytest

pytest.importorskip("torch")

from tests.support.array_programs import PROGRAMS
from tests.support.torch_ops import (
    drawn,
    same_gradients,
    same_in_exact_numbers,
    same_second_derivatives,
)


def case(name):
    """The program of that name, with values drawn from a generator of its own."""
    ours, theirs, shapes = PROGRAMS[name]
    rng = np.random.default_rng(sum(map(ord, name)))
    return ours, theirs, [drawn(rng, shape, -2, 2) for shape in shapes], rng


@pytest.mark.parametrize("name", PROGRAMS)
def test_value_and_gradient(name):
    """The op and its VJPs agree with PyTorch's."""
    same_gradients(*case(name))


@pytest.mark.parametrize("name", PROGRAMS)
def test_second_derivative(name):
    """The VJPs are made of ops themselves: differentiated again they agree with PyTorch's."""
    same_second_derivatives(*case(name))


@pytest.mark.parametrize("name", PROGRAMS)
def test_exact_numbers(name):
    """On balls and symbols the op is the same function, and its closed form PyTorch's gradient."""
    same_in_exact_numbers(*case(name))
