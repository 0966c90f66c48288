"""`Function`: forward and backward of the user's own, as in PyTorch."""

import weakref

import numpy as np
import pytest

from gradcheck import Function, tensor
from tests.support.oracle import made, ours


def test_an_argument_that_is_returned_is_a_copy():
    """Where PyTorch refuses a write into the output, the argument stays what it was here."""
    m = ours()
    x = m.leaf([1.0, 2.0])
    held = x * 1
    y = made(m, lambda ctx, a: a, lambda ctx, g: g * 5).apply(held)
    y.mul_(2)
    y.sum().backward()
    assert (held.tolist(), y.tolist(), x.grad.tolist()) == ([1.0, 2.0], [2.0, 4.0], [10.0, 10.0])


@pytest.mark.usefixtures("uncollected")
def test_what_was_saved_dies_with_the_graph():
    """No reference cycle keeps saved tensors, not even saved outputs, alive."""

    class Squashed(Function):
        """tanh, remembered by its value."""

        @staticmethod
        def forward(ctx, a):
            y = np.tanh(a)
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, g):
            (y,) = ctx.saved_tensors
            return g * (1 - y * y)

    y = Squashed.apply(tensor(np.ones(3), requires_grad=True))
    value = weakref.ref(y._value)
    del y
    assert value() is None
