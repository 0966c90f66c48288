"""`autograd.functional` and `func`: PyTorch's numbers, shapes and nesting."""

import numpy as np
import pytest

import gradcheck
from tests.support.oracle import double, torch

X, Y = [1.0, 2.0, 3.0], [0.5, -1.0, 2.0]


def cubes(m):
    return lambda x: (x**3).sum()


def two(m):
    return lambda a, b: ((a * b).sin().sum(), a * b[0])


# Each makes of a library and two tensors what is compared.
FUNCTIONAL = {
    "jacobian": lambda m, f, x, y: f.jacobian(lambda a: a**2 * m.flip(a, (0,)), x),
    "jacobian of two": lambda m, f, x, y: f.jacobian(two(m), (x, y)),
    "of a number": lambda m, f, x, y: f.jacobian(cubes(m), x),
    "unused": lambda m, f, x, y: f.jacobian(lambda a, b: a * 2, (x, y)),
    "hessian": lambda m, f, x, y: f.hessian(cubes(m), x),
    "hessian of two": lambda m, f, x, y: f.hessian(lambda a, b: (a * b * b).sum(), (x, y)),
    "vjp": lambda m, f, x, y: f.vjp(lambda a: a.sin(), x, y),
    "vjp of two": lambda m, f, x, y: f.vjp(two(m), (x, y), (m.tensor(2.0), y)),
    "vjp of a number": lambda m, f, x, y: f.vjp(cubes(m), x),
    "jvp": lambda m, f, x, y: f.jvp(lambda a: a.sin() * a, x, y),
    "jvp of two": lambda m, f, x, y: f.jvp(lambda a, b: a * b, (x, y), (y, x)),
    "again": lambda m, f, x, y: f.jacobian(
        lambda a: f.jacobian(lambda b: b**3, a, create_graph=True), x
    ),
}
FUNC = {
    "grad": lambda m, f, x, y: f.grad(cubes(m))(x),
    "twice": lambda m, f, x, y: f.grad(lambda a: f.grad(cubes(m))(a).sum())(x),
    "by others": lambda m, f, x, y: f.grad(lambda a, b: (a * b).sum(), argnums=(0, 1))(x, y),
    "inside": lambda m, f, x, y: f.grad(
        lambda a: f.grad(lambda b: (a * a * b).sum())(y).sum() * a.sum()
    )(x),
    "jacrev": lambda m, f, x, y: f.jacrev(lambda a: a**2)(x),
    "jacfwd": lambda m, f, x, y: f.jacfwd(lambda a, b: a * b, argnums=1)(x, y),
    "hessian": lambda m, f, x, y: f.hessian(cubes(m))(x),
    "vjp": lambda m, f, x, y: (f.vjp(lambda a: a.sin(), x)[0], f.vjp(lambda a: a.sin(), x)[1](y)),
    "jvp": lambda m, f, x, y: f.jvp(lambda a: a.sin(), (x,), (y,)),
}


def told(value):
    if isinstance(value, tuple | list):
        return tuple(map(told, value))
    assert not value.requires_grad
    return np.asarray(value)


def same(mine, hers):
    if isinstance(hers, tuple):
        assert len(mine) == len(hers)
        for a, b in zip(mine, hers, strict=True):
            same(a, b)
        return
    assert mine.shape == hers.shape
    np.testing.assert_allclose(mine, hers, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", FUNCTIONAL)
def test_functional(name):
    """What comes out, and that nothing of it hangs on the tape."""
    with double():
        answers = [
            told(FUNCTIONAL[name](m, m.autograd.functional, m.tensor(X), m.tensor(Y)))
            for m in (gradcheck, torch)
        ]
    same(*answers)


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
@pytest.mark.parametrize("name", FUNC)
def test_func(name):
    """The same of functions that make functions."""
    with double():
        rooms = (gradcheck, gradcheck.func), (torch, torch.func)
        answers = [told(FUNC[name](m, f, m.tensor(X), m.tensor(Y))) for m, f in rooms]
    same(*answers)


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
    """PyTorch's words where a function gives too much."""
    x = gradcheck.tensor(X)
    with pytest.raises(RuntimeError, match="single element"):
        gradcheck.autograd.functional.hessian(lambda a: a * a, x)
    with pytest.raises(RuntimeError, match="got tensor with 1 dims"):
        gradcheck.func.grad(lambda a: a * a)(x)
