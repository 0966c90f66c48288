"""PyTorch's functions, modules and `autograd.Function`; JAX and HIPS autograd where installed."""

import importlib
import importlib.util

import numpy as np
import pytest

from gradcheck.testing import GradientError, assert_gradient, assert_vjp

X = np.random.default_rng(0).normal(size=(4, 3))


@pytest.fixture
def torch():
    """PyTorch, or a test that is not run."""
    return pytest.importorskip("torch")


def test_a_function_of_tensors(torch):
    """The drop-in for `torch.autograd.gradcheck(fn, inputs)`, in float32 as well."""
    f = lambda x, w: torch.tanh(x @ w).sum(0)
    w = torch.randn(3, 2)
    found = assert_gradient(f, torch.tensor(X), w)
    assert found
    assert "float64" in found.message
    assert assert_gradient(f, torch.tensor(X, dtype=torch.float32), w)


def test_a_module_with_its_parameters(torch):
    """Inputs and parameters are differentiated; the module is left as it was."""
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.GELU(), torch.nn.Linear(4, 2))
    before = {name: p.clone() for name, p in net.state_dict().items()}
    found = assert_gradient(net, torch.tensor(X, dtype=torch.float32))
    assert {"0.weight", "2.bias"} <= set(found.verdicts[0].parts)
    assert all(torch.equal(p, before[name]) for name, p in net.state_dict().items())
    norm = torch.nn.BatchNorm1d(3)
    assert assert_gradient(norm, torch.tensor(X, dtype=torch.float32))
    assert int(norm.num_batches_tracked) == 0


def test_a_function_with_a_backward_of_its_own(torch):
    """A right one passes; what is wrong is told by its parameter's name."""

    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            return 3 * g * ctx.saved_tensors[0] ** 2

    class Wrong(Cube):
        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0] ** 2

    x = torch.tensor(X)
    assert assert_vjp(Cube.apply, x)
    assert assert_gradient(lambda x: Cube.apply(x).sum(), x)
    for check in (assert_vjp, assert_gradient):
        with pytest.raises(GradientError, match=r"d/dx\["):
            check(Wrong.apply, x)


def test_what_gradcheck_of_torch_misses(torch):
    """A wrong gradient a millionth in size, which an absolute tolerance of 1e-5 swallows."""

    class Scaled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return 1e-6 * (x**2).sum()

        @staticmethod
        def backward(ctx, g):
            return -2e-6 * g * ctx.saved_tensors[0]

    x = torch.tensor(X, requires_grad=True)
    assert torch.autograd.gradcheck(Scaled.apply, (x,))
    with pytest.raises(GradientError):
        assert_gradient(Scaled.apply, x)


@pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="JAX IS NOT INSTALLED")
def test_a_function_of_jax():
    """Jitted, and with a rule of its own that is wrong."""
    jax = importlib.import_module("jax")
    jnp = importlib.import_module("jax.numpy")
    assert assert_gradient(jax.jit(lambda x: jnp.sum(jnp.sin(x))), jnp.asarray(X))
    wrong = jax.custom_vjp(jnp.sin)
    wrong.defvjp(lambda x: (jnp.sin(x), x), lambda x, g: (-g * jnp.cos(x),))
    with pytest.raises(GradientError):
        assert_gradient(wrong, jnp.asarray(X))
