"""`autograd.functional` and `func`: PyTorch's numbers, shapes and nesting."""

import numpy as np
import pytest

import gradcheck

X, Y = [1.0, 2.0, 3.0], [0.5, -1.0, 2.0]


# Each makes of a library and two tensors what is compared.
def test_what_stays_on_the_tape():
    """A derivative by an argument keeps its place by what else is tracked."""
    w = gradcheck.tensor(Y, requires_grad=True)
    g = gradcheck.func.grad(lambda x: (x * x * w).sum())(gradcheck.tensor(X))
    (found,) = gradcheck.grad(g.sum(), w)
    np.testing.assert_array_equal(found.numpy(), 2 * np.array(X))
    x = gradcheck.tensor(X, requires_grad=True)
    h = gradcheck.autograd.functional.hessian(lambda a: (a**3).sum(), x, create_graph=True)
    (found,) = gradcheck.grad(h.sum(), x)
    np.testing.assert_array_equal(found.numpy(), [6.0, 6.0, 6.0])


def test_refused():
    x = gradcheck.tensor(X)
    with pytest.raises(RuntimeError, match="single element"):
        gradcheck.autograd.functional.hessian(lambda a: a * a, x)
    with pytest.raises(RuntimeError, match="got tensor with 1 dims"):
        gradcheck.func.grad(lambda a: a * a)(x)
