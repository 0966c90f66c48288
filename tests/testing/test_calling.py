"""Backward passes called as people write them: caches, several outputs, layers, options."""

import functools

import numpy as np
import pytest

from gradcheck.testing import GradientError, assert_gradient, assert_vjp

RNG = np.random.default_rng(0)
X, W, B = RNG.normal(size=(4, 3)), RNG.normal(size=(3, 2)), RNG.normal(size=2)
V = np.array([0.3, -1.2, 0.7])


class Layer:
    """A dense layer that keeps what it needs, and adds to its gradients."""

    def __init__(self):
        self.params = {"W": W.copy(), "b": B.copy()}
        self.grads = {}
        self.w, self.dw = W.copy(), None

    def forward(self, x):
        self.x, self.y = x, np.tanh(x @ self.params["W"] + self.params["b"])
        return self.y

    def backward(self, dy, retain_grads=True):
        d = dy * (1 - self.y**2)
        assert retain_grads is True
        self.grads = {"W": self.x.T @ d, "b": d.sum(0)}
        return d @ self.params["W"].T

    def times(self, x):
        self.x = x
        return x @ self.w

    def times_back(self, dy):
        self.dw = self.x.T @ dy
        return dy @ self.w.T


def exp_with_array(x):
    """The cache is a bare array."""
    y = np.exp(x)
    return y, y


def cell(x, h, c):
    """One step of a cell: two outputs and a cache."""
    f = 1 / (1 + np.exp(-(x + h)))
    n = f * c + np.tanh(x)
    return f * np.tanh(n), n, (x, h, c, f, n)


def cell_back(dh, dc, cache):
    """Its backward."""
    x, _, c, f, n = cache
    dn = dc + dh * f * (1 - np.tanh(n) ** 2)
    df = dh * np.tanh(n) + dn * c
    dz = df * f * (1 - f)
    return dz + dn * (1 - np.tanh(x) ** 2), dz, dn * f


def both(x):
    """Two outputs of one shape."""
    return np.sin(x), x**2


def conv(x, w, conv_param):
    """As the course has it: parameters of the layer in a dict, which the cache keeps."""
    return conv_param["scale"] * x * w, (x, w, conv_param)


def conv_back(dout, cache):
    """A gradient of the arrays alone."""
    x, w, p = cache
    return p["scale"] * dout * w, p["scale"] * dout * x


CALLS = {
    "a cache that is an array": (exp_with_array, lambda dout, cache: dout * cache, (V,)),
    "outputs and a cache": (cell, cell_back, (V, V[::-1].copy(), V + 1)),
    "cotangents one by one": (both, lambda ga, gb, x: ga * np.cos(x) + 2 * gb * x, (V,)),
    "cotangents in a tuple": (both, lambda g, x: g[0] * np.cos(x) + 2 * g[1] * x, (V,)),
    "cotangents in a tuple, with a cache": (
        lambda x: (np.sin(x), x**2, {"x": x}),
        lambda g, cache: g[0] * np.cos(cache["x"]) + 2 * g[1] * cache["x"], (V,)),
    "parameters in a dict": (conv, conv_back, (V, V + 2, {"scale": 3.0, "pad": 1})),
    "gradients by name": (
        lambda x, w: x @ w, lambda c, x, w: {"dx": c @ w.T, "dw": x.T @ c}, (X, W)),
    "options behind the arguments": (
        lambda x, w: x @ w, lambda c, x, w, scale=1.0: (scale * c @ w.T, x.T @ c), (X, W)),
    "one gradient beside a dict": (
        lambda x, how: x**2 if how["power"] == 2 else x, lambda c, x, how: 2 * c * x,
        (V, {"power": 2})),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_calls_as_they_are_written(name):
    """Each is right, and not so with one of its gradients a thousandth off."""
    forward, backward, args = CALLS[name]
    assert assert_vjp(forward, backward, *args)

    def off(came):
        if isinstance(came, dict):
            return {key: 1.001 * g for key, g in came.items()}
        return tuple(1.001 * g for g in came) if isinstance(came, tuple) else 1.001 * came

    @functools.wraps(backward)
    def wrong(*given):
        return off(backward(*given))

    with pytest.raises(GradientError, match=r"should be"):
        assert_vjp(forward, wrong, *args)


def test_a_layer_with_its_weights():
    """In a dict that backward makes anew, in attributes; options keep their default."""
    it = Layer()
    found = assert_vjp(it.forward, it.backward, X, params=it.params, grads=lambda: it.grads)
    assert set(found.verdicts[0].parts) == {"x", "W", "b"}
    assert assert_vjp(it.times, it.times_back, X, params=["w"], grads=["dw"])
    it = Layer()
    assert assert_vjp(it.forward, it.backward, X)

    class Forgetful(Layer):
        def backward(self, dy):
            found = super().backward(dy)
            self.grads["b"] = self.grads["b"] / len(dy)
            return found

    it = Forgetful()
    with pytest.raises(GradientError, match=r"d/db\["):
        assert_vjp(it.forward, it.backward, X, params=it.params, grads=lambda: it.grads)


def test_a_weight_that_backward_leaves_out_has_a_gradient_of_zero():
    """Running statistics beside the weights are right so; a weight that is forgotten is not."""

    class Scale:
        def __init__(self):
            self.params, self.grads = {"w": np.array([0.5, -1.2]), "mean": np.zeros(2)}, {}

        def forward(self, x):
            self.x = x
            return x * self.params["w"]

        def backward(self, dy):
            self.grads = {} if self.forgets else {"w": (dy * self.x).sum(0)}
            return dy * self.params["w"]

    it = Scale()
    it.forgets = False
    assert assert_vjp(it.forward, it.backward, X[:, :2], params=it.params, grads=lambda: it.grads)
    it.forgets = True
    with pytest.raises(GradientError, match=r"d/dw\[\d\] is 0, should be"):
        assert_vjp(it.forward, it.backward, X[:, :2], params=it.params, grads=lambda: it.grads)


def test_a_cotangent_may_have_a_default():
    """`backward(dout=1.0)` of a layer that is the last."""

    class Loss:
        def forward(self, x):
            self.x = x
            return np.sum(x**2)

        def backward(self, dout=1.0):
            return 2 * dout * self.x

    it = Loss()
    assert assert_vjp(it.forward, it.backward, V)


def test_what_cannot_be_told_apart_is_asked():
    """Two arrays, and a backward of two parameters of any name."""
    forward = lambda x, w: (x * w, x + w)
    with pytest.raises(TypeError, match="cache=True"):
        assert_vjp(forward, lambda p, q: (p * q, q), V, V + 1)
    assert assert_vjp(lambda x: (x**2, x), lambda p, q: 2 * p * q, V, cache=True)


def test_a_function_that_gives_its_gradient_too():
    """As `scipy.optimize.minimize(f, x, jac=True)` takes it."""
    assert assert_gradient(lambda x: (np.sum(x**2), 2 * x), V, gradient=True)
    two = lambda x, w: (np.sum(x * w), w, x)
    assert assert_gradient(two, V, V + 1, gradient=True)
    with pytest.raises(GradientError):
        assert_gradient(lambda x: (np.sum(x**2), x), V, gradient=True)


def test_an_error_of_a_backward_is_shown_with_its_call():
    """It is theirs: nothing of ours is raised in its place."""
    with pytest.raises(NameError, match="nowhere") as caught:
        assert_vjp(cell, lambda dh, dc, cache: nowhere, V, V, V)  # noqa: F821
    assert "(cotangent_0, cotangent_1, cache)" in caught.value.__notes__[0]
