"""PyTorch's functions, modules and `autograd.Function`; JAX where installed."""

import functools
import importlib

import numpy as np
import pytest

from gradcheck.testing import GradientError, assert_gradient, assert_vjp

X = np.random.default_rng(0).normal(size=(2, 3))


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


def function_of(torch, forward, backward):
    class Own(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, *more):
            ctx.save_for_backward(x, *more)
            return forward(x, *more)

        @staticmethod
        def backward(ctx, *g):
            return backward(*g, *ctx.saved_tensors)

    return Own


def test_a_function_of_tensors(torch):
    """The drop-in for `torch.autograd.gradcheck(fn, inputs)`, in float32 as well."""
    f = lambda x, w: torch.tanh(x @ w).sum(0)
    w = torch.randn(3, 2)
    found = assert_gradient(f, torch.tensor(X), w)
    assert found
    assert "float64" in found.message
    assert assert_gradient(f, torch.tensor(X, dtype=torch.float32), w)
    bent = function_of(torch, lambda x: x**2, lambda g, x: g * torch.where(x > 0, 2 * x, x))
    with pytest.raises(GradientError, match=r"d/dx\["):
        assert_gradient(bent.apply, torch.tensor(abs(X)), at=[(torch.tensor(X),)])
    with pytest.raises(TypeError, match="at= is a list"):
        assert_gradient(bent.apply, torch.tensor(X), at=5)


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
    right = function_of(torch, lambda x: x**3, lambda g, x: 3 * g * x**2)
    wrong = function_of(torch, lambda x: x**3, lambda g, x: 3 * g * x)
    x = torch.tensor(X)
    assert assert_vjp(right.apply, x)
    assert assert_gradient(lambda x: right.apply(x).sum(), x)
    for check in (assert_vjp, assert_gradient):
        with pytest.raises(GradientError, match=r"d/dx\[") as caught:
            check(wrong.apply, x)
        assert caught.value.result.repair.file == __file__  # what is ours is not to be changed


def test_a_slip_is_found_in_the_text_of_a_backward(torch):
    """Swish, whose slope is s + x s (1 - s): Ramachandran, Zoph, Le, Searching for Activations."""

    class Swish(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * torch.sigmoid(x)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            s = torch.sigmoid(x)
            return g * (s + x * s * (1 + s))

    x, given = torch.tensor(X), vars(Swish)["backward"]
    with pytest.raises(GradientError) as raised:
        assert_gradient(Swish.apply, x)
    said = str(raised.value)
    assert "sign-error" in said.split("\n", maxsplit=1)[0]
    assert "  + return g * (s + x * s * (1 - s))\n" in said
    assert "abstain" not in said  # that PyTorch takes no other numbers is in the note
    assert vars(Swish)["backward"] is given


def test_a_slip_is_found_where_slopes_are_known_along_directions_alone(torch):
    """More than sixteen entries: the factor that a mean in layer norm's backward lacks.

    Ba, Kiros, Hinton, Layer Normalization (2016).
    """

    class Norm(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            inv = (x.var(-1, unbiased=False, keepdim=True) + 1e-5).rsqrt()
            hat = (x - x.mean(-1, keepdim=True)) * inv
            ctx.save_for_backward(hat, inv)
            return hat

        @staticmethod
        def backward(ctx, g):
            hat, inv = ctx.saved_tensors
            return inv * (g - g.mean(-1, keepdim=True) - hat * g.mean(-1, keepdim=True))

    x = torch.tensor(np.random.default_rng(2).normal(size=(4, 6)))
    with pytest.raises(GradientError, match=r"\+ .*hat \* \(g \* hat\)\.mean\(-1, "):
        assert_vjp(Norm.apply, x)


def test_arguments_that_are_no_arrays_are_handed_on(torch):
    """The shape that a norm is over, a text, nothing; a function that is built in."""
    x, of = torch.tensor(X), torch.nn.functional
    assert all(assert_gradient(f, x, *more) for f, *more in ((of.layer_norm, (3,)), (torch.sin,)))
    assert assert_gradient(lambda x, how: of.gelu(x, approximate=how), x[0], "tanh")


def test_dropout_is_told_how_to_be_still(torch):
    """A module that draws is no function."""
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Dropout(0.5))
    with pytest.raises(GradientError, match=r"\.eval\(\)"):
        assert_gradient(net, torch.tensor(X))
    assert assert_gradient(net.eval(), torch.tensor(X))


def test_what_gradcheck_of_torch_misses(torch):
    """A wrong gradient a millionth in size, which an absolute tolerance of 1e-5 swallows."""
    scaled = function_of(torch, lambda x: 1e-6 * (x**2).sum(), lambda g, x: -2e-6 * g * x)
    x = torch.tensor(X, requires_grad=True)
    assert torch.autograd.gradcheck(scaled.apply, (x,))
    with pytest.raises(GradientError):
        assert_gradient(scaled.apply, x)


def test_values_and_arguments_in_trees(torch):
    """What `gradcheck(fn, inputs)` takes too: several outputs; and a dict of weights."""
    x = torch.tensor(X)
    assert assert_vjp(lambda x: (torch.sin(x), x.sum()), x)
    assert assert_vjp(lambda x: (torch.sin(x), {"s": x.sum()}), x)
    assert assert_vjp(lambda x: {"a": torch.sin(x), "b": x.sum()}, x)
    assert assert_gradient(lambda p: (p["w"] @ p["b"]).sum(), {"w": x, "b": x[0]})


@pytest.fixture
def jax():
    return pytest.importorskip("jax", reason="JAX IS NOT INSTALLED")


@pytest.fixture
def sines(jax):
    jnp = importlib.import_module("jax.numpy")
    total = jax.jit(lambda x: jnp.sum(jnp.sin(x)))
    two = jax.jit(lambda p: jnp.sum(p[0] @ p[1]["b"]))
    return {
        "jitted": (total, X),
        "on an array of JAX": (total, jnp.asarray(X)),
        "not jitted": (lambda x: jnp.sum(jnp.sin(x)), X),
        "a rule of its own": (jax.custom_vjp(lambda x: jnp.sum(jnp.sin(x))), X),
        "trees": (two, [jnp.asarray(X), {"b": X[0]}]),
        "a value and more": (lambda x: (jnp.sin(x), {"s": jnp.sum(x)}), X),
        "several values": (jax.jit(lambda x: {"a": jnp.sin(x), "s": jnp.sum(x)}), X),
        "whole numbers": (jax.jit(lambda x: jnp.sum(x[np.array([0, 1])])), X),
        "relu at its kink": (jax.jit(jax.nn.relu), np.array([0.0, 1.0, -1.0])),
    }


def test_functions_of_jax(sines):
    """Jitted or not, on NumPy's arrays or its own, in trees; all in float64."""
    sines["a rule of its own"][0].defvjp(
        lambda x: (np.sum(np.sin(x)), x), lambda x, g: (g * np.cos(x),)
    )
    for name, (f, x) in sines.items():
        found = assert_vjp(f, x)
        assert found, name
        assert "by JAX" in " ".join(found.message.split())


def test_a_wrong_rule_of_jax(jax):
    """Judged alone, inside another function, and where a gradient is given for its function."""
    jnp = importlib.import_module("jax.numpy")
    wrong = jax.custom_vjp(jnp.sin)
    wrong.defvjp(lambda x: (jnp.sin(x), x), lambda x, g: (-g * jnp.cos(x),))
    for f in (wrong, jax.jit(wrong), lambda x: jnp.sum(wrong(x))):
        with pytest.raises(GradientError, match=r"d/dx\["):
            assert_gradient(f, X)
    total = lambda x: jnp.sum(jnp.sin(x))
    found = assert_gradient(total, X, gradient=jnp.cos)
    assert max(off.sensitivity for off in found.judged) < 1e-8  # not that of float32
    with pytest.raises(GradientError):
        assert_gradient(total, X, gradient=jax.grad(lambda x: jnp.sum(wrong(x))))


def test_lessons_of_jax(jax):
    """As its tutorials have it: weights in a dict, `jax.grad` itself, a backward in `jnp`."""
    jnp = importlib.import_module("jax.numpy")

    def loss(p):
        return jnp.sum(jnp.tanh(X * p["w"]) ** 2) + p["b"] ** 2

    weights = {"w": jnp.asarray(X), "b": jnp.asarray(0.5)}
    assert assert_gradient(loss, weights, gradient=jax.grad(loss))
    assert assert_gradient(jax.grad(lambda x: x**3 / 3), 2.0)
    assert assert_vjp(jnp.sin, lambda c, x: c * jnp.cos(x), jnp.asarray(X))
    assert assert_vjp(lambda x: jnp.sin(2 * x), lambda c, x: 2 * c * jnp.cos(2 * x), X)
    with pytest.raises(GradientError, match=r"p\['b'\]"):
        assert_gradient(loss, weights, gradient=lambda p: {**jax.grad(loss)(p), "b": p["b"]})
    with pytest.raises(TypeError, match="give the gradients alone"):
        assert_gradient(loss, weights, gradient=jax.value_and_grad(loss))


def test_rules_and_keys_of_jax(jax):
    """Arguments that a rule holds, keys of random numbers."""

    @functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
    def power(x, n):
        return x**n

    power.defvjp(lambda x, n: (power(x, n), x), lambda n, x, g: (n * x ** (n - 1) * g,))
    assert assert_vjp(power, X, 3.0)
    applied = jax.custom_vjp(lambda f, x: f(x), nondiff_argnums=(0,))
    applied.defvjp(lambda f, x: (f(x), x), lambda f, x, g: (jax.numpy.cos(x) * g,))
    assert assert_vjp(applied, jax.numpy.sin, X)
    assert assert_vjp(functools.partial(applied, jax.numpy.sin), X)
    kept = lambda x, key: jax.numpy.where(jax.random.bernoulli(key, 0.5, x.shape), 2 * x, 0)
    for key in (jax.random.PRNGKey(0), jax.random.key(0)):
        assert assert_gradient(kept, X, key)


def lessons_of_torch(torch):
    class Scaled(torch.autograd.Function):
        @staticmethod
        def forward(x, constant):
            return x * constant

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.constant = inputs[1]

        @staticmethod
        def backward(ctx, g):
            return g * ctx.constant, None

    cube = function_of(
        torch, lambda x: (x**3, 3 * x**2), lambda g, slope, x: g * 3 * x**2 + slope * 6 * x
    )

    class Sorted(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            values, order = x.sort(dim=1)
            ctx.mark_non_differentiable(order)
            ctx.save_for_backward(order)
            return values, order

        @staticmethod
        def backward(ctx, g, _):
            (order,) = ctx.saved_tensors
            return torch.zeros_like(g).scatter(1, order, g)

    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx, g):
            return 2 * g

    x = torch.tensor(X)
    return (Scaled.apply, x, 3.5), (cube.apply, x), (Sorted.apply, x), (Doubled.apply, x), (cube, x)


@pytest.mark.parametrize("k", range(5))
def test_lessons_of_pytorch(torch, k):
    """A constant that is a number, several values, one of whole numbers, a value in place."""
    assert assert_vjp(*lessons_of_torch(torch)[k])


def test_what_is_no_gradient_is_told(torch):
    """A straight-through estimator; the two halves of a Function, which share a context."""
    signs = function_of(torch, lambda x: x.sign(), lambda g, x: g)
    with pytest.raises(GradientError, match="straight-through"):
        assert_vjp(signs.apply, torch.tensor(X))
    with pytest.raises(TypeError, match=r"Own.apply"):
        assert_vjp(signs.forward, signs.backward, torch.tensor(X))


def test_what_pytorch_sums_in_silence_is_told(torch):
    """A gradient with the shape of the value, of an argument that was broadcast."""
    scaled = function_of(torch, lambda x, b: x * b, lambda g, x, b: (g * b, g * x))
    x, b = (torch.tensor(v, dtype=torch.float64) for v in ([0.5, -1.5, 2.0], 1.5))
    with pytest.raises(GradientError, match="has the shape"):
        assert_vjp(scaled.apply, x, b)
    assert assert_vjp(scaled.apply, x, torch.tensor([1.5, 2.0, -1.0], dtype=torch.float64))


def test_a_pair_that_is_written_in_tensors(torch):
    """Forward and backward are plain functions of tensors: both are handed tensors of float64."""
    x, w = torch.tensor(X, dtype=torch.float32), torch.randn(3, 2)
    layer = lambda x, w: torch.tanh(x @ w)

    def backward(g, x, w):
        d = g * (1 - layer(x, w) ** 2)
        return d @ w.T, x.T @ d

    assert assert_vjp(layer, backward, x, w)
    with pytest.raises(GradientError, match=r"d/dw\["):
        assert_vjp(layer, lambda g, x, w: (backward(g, x, w)[0], x.T @ g), x, w)
    cached = lambda x: (torch.exp(x), {"y": torch.exp(x)})
    assert assert_vjp(cached, lambda g, cache: g * cache["y"], x)
