"""Calls as people write them: caches, several outputs, layers, options, trees of arguments."""

import functools
from dataclasses import dataclass

import numpy as np
import pytest

from gradcheck.testing import GradientError, assert_gradient, assert_vjp
from gradcheck.testing.program import list_leaves, put
from tests.support.layers import dense, dense_back

RNG = np.random.default_rng(0)
X, W, B = RNG.normal(size=(4, 3)), RNG.normal(size=(3, 2)), RNG.normal(size=2)
V = np.array([0.3, -1.2, 0.7])


@dataclass
class Weights:
    w: np.ndarray
    b: np.ndarray
    name: str = "dense"


def tree_back(arranged):
    def back(c, x, p):
        leaves = list(list_leaves(p).values())
        dx, *rest = dense_back(c, x, *leaves[:2])
        return dx, arranged(*rest)

    return back


def cell(x, h, c):
    f = 1 / (1 + np.exp(-(x + h)))
    n = f * c + np.tanh(x)
    return f * np.tanh(n), n, (x, h, c, f, n)


def cell_back(dh, dc, cache):
    x, _, c, f, n = cache
    dn = dc + dh * f * (1 - np.tanh(n) ** 2)
    df = dh * np.tanh(n) + dn * c
    dz = df * f * (1 - f)
    return dz + dn * (1 - np.tanh(x) ** 2), dz, dn * f


def both(x):
    return np.sin(x), x**2


def conv(x, w, conv_param):
    """As the course has it: parameters of the layer in a dict, which the cache keeps."""
    return conv_param["scale"] * x * w, (x, w, conv_param)


def matmul(x, w):
    return x @ w


def cached(x, w):
    return x @ w, (x, w)


def with_options(dout, cache, scale=1.0):
    return scale * dout @ cache[1].T, cache[0].T @ dout


CALLS = {
    "a cache that is an array": (
        lambda x: (np.exp(x), np.exp(x)), lambda dout, cache: dout * cache, (V,)),
    "a cache": (cached, lambda c, cache: (c @ cache[1].T, cache[0].T @ c), (X, W)),
    "a cache and options": (cached, with_options, (X, W)),
    "outputs and a cache": (cell, cell_back, (V, V[::-1].copy(), V + 1)),
    "cotangents one by one": (both, lambda ga, gb, x: ga * np.cos(x) + 2 * gb * x, (V,)),
    "cotangents of a dict one by one": (
        lambda x: {"a": np.sin(x), "b": x**2}, lambda a, b, x: a * np.cos(x) + 2 * b * x, (V,)),
    "cotangents in a tuple": (both, lambda g, x: g[0] * np.cos(x) + 2 * g[1] * x, (V,)),
    "cotangents in a tuple, with a cache, and the gradient in a list": (
        lambda x: (np.sin(x), x**2, {"x": x}),
        lambda g, cache: [g[0] * np.cos(cache["x"]) + 2 * g[1] * cache["x"]], (V,)),
    "outputs of several shapes": (
        lambda x: (np.sin(x), np.sum(x)), lambda c, x: c[0] * np.cos(x) + c[1], (B,)),
    "outputs in a dict": (
        lambda x, w: {"y": x @ w, "s": np.sum(w)},
        lambda c, x, w: (c["y"] @ w.T, x.T @ c["y"] + c["s"]), (X, W)),
    "parameters in a dict": (
        conv, lambda dout, c: (c[2]["scale"] * dout * c[1], c[2]["scale"] * dout * c[0]),
        (V, V + 2, {"scale": 3.0, "pad": 1})),
    "gradients by name": (matmul, lambda c, x, w: {"dx": c @ w.T, "dw": x.T @ c}, (X, W)),
    "options behind the arguments": (
        matmul, lambda c, x, w, scale=1.0: (scale * c @ w.T, x.T @ c), (X, W)),
    "one gradient beside a dict": (
        lambda x, how: x**2 if how["power"] == 2 else x, lambda c, x, how: 2 * c * x,
        (V, {"power": 2})),
    "a dict": (lambda x, p: dense(x, p["w"], p["b"]), tree_back(lambda w, b: {"w": w, "b": b}),
               (X, {"w": W, "b": B})),
    "a dataclass": (lambda x, p: dense(x, p.w, p.b), tree_back(Weights), (X, Weights(W, B))),
    "a list": (lambda x, ps: dense(x, *ps), tree_back(lambda w, b: [w, b]), (X, [W, B])),
}  # fmt: skip
PLACES = {"a dict": "p['w'][", "a dataclass": "p.w[", "a list": "ps[0]["}


def but(came, factor=1.001):
    """What came with its last array off; of a tree its first."""
    if isinstance(came, Weights | dict | list):
        paths = list_leaves(came)
        return put(came, {path: factor * g if isinstance(g, np.ndarray) else g
                          for path, g in paths.items()})  # fmt: skip
    return (*came[:-1], but(came[-1], factor)) if isinstance(came, tuple) else factor * came


@pytest.mark.parametrize("name", CALLS)
def test_calls_as_they_are_written(name):
    """Each is right, and not so with a gradient a thousandth off, which is told by its place."""
    forward, backward, args = CALLS[name]
    assert assert_vjp(forward, backward, *args)
    wrong = functools.wraps(backward)(lambda *given: but(backward(*given)))
    with pytest.raises(GradientError, match=r"should be") as caught:
        assert_vjp(forward, wrong, *args, explain=0)
    assert f"d/d{PLACES.get(name, '')}" in str(caught.value)


class Layer:
    def __init__(self):
        self.params = {"W": W.copy(), "b": B.copy(), "x": np.zeros(2)}
        self.grads = {}
        self.w = W.copy()  # backward alone makes dw

    def forward(self, x):
        self.x, self.y = x, dense(x, self.params["W"], self.params["b"])
        return self.y

    def backward(self, dy, retain_grads=True):
        assert retain_grads is True
        dx, dw, db = dense_back(dy, self.x, self.params["W"], self.params["b"])
        self.grads = {"W": dw, "b": db}
        return dx

    def times(self, x):
        self.x = x
        return x @ self.w

    def times_back(self, dy):
        self.dw = self.x.T @ dy
        return dy @ np.transpose(self.w)


def test_a_layer_with_its_weights():
    """In a dict that backward makes anew, in attributes; what is left out has a gradient of 0."""
    it = Layer()
    found = assert_vjp(it.forward, it.backward, X, params=it.params, grads=lambda: it.grads)
    assert set(found.verdicts[0].parts) == {"x", "W", "b", "params['x']"}
    far, dw = [[[[[[it]]]]]], lambda: it.dw  # however deep it lies, it is found
    deep = lambda x: 1 * far[0][0][0][0][0][0].times(x)
    assert set(assert_vjp(deep, it.times_back, X, params=it.w, grads=dw).case.wrt) == {"x", "w"}
    assert assert_vjp(it.times, it.times_back, X, params=["w"], grads=["dw"])
    it.w = W.tolist()  # rows of numbers, handed out one by one
    assert assert_vjp(it.times, it.times_back, X, params=lambda: iter([it.w]), grads=dw)
    assert it.w == W.tolist()
    inside = lambda: [{"x": np.zeros(2), **it.grads}]  # as a net has those of its layers
    assert assert_vjp(it.forward, it.backward, X, params=[it.params], grads=inside)
    assert assert_vjp(it.forward, it.backward, X)


def test_gradients_of_weights_may_come_behind_those_of_arguments():
    """One each, or in a dict; a slip among them is told by the weight's name."""
    it = Layer()
    del it.params["x"], it.grads
    one_each = lambda dy: dense_back(dy, it.x, it.params["W"], it.params["b"])
    in_a_dict = lambda dy: (one_each(dy)[0], dict(zip(("dW", "db"), one_each(dy)[1:], strict=True)))
    assert assert_vjp(it.forward, one_each, X, params=it.params)
    assert assert_vjp(it.forward, in_a_dict, X, params=it.params)
    with pytest.raises(GradientError, match=r"d/db\["):
        assert_vjp(it.forward, lambda dy: but(one_each(dy)), X, params=it.params, explain=0)
    with pytest.raises(TypeError, match="1 gradients came for 2 weights"):
        assert_vjp(it.forward, lambda dy: one_each(dy)[:2], X, params=it.params)


def test_whole_numbers_stay_whole_beside_weights():
    """An embedding's arguments are rows to pick; what is differentiated are its weights."""

    class Embedding:
        def __init__(self):
            self.params, self.grads = {"W": X}, {}

        def forward(self, rows):
            self.rows = rows
            return self.params["W"][rows]

        def backward(self, dy):
            self.grads["W"] = np.zeros_like(X)
            np.add.at(self.grads["W"], self.rows, dy)

    it, rows = Embedding(), np.array([[0, 2], [1, 0]])
    assert assert_vjp(it.forward, it.backward, rows, params=it.params).case.wrt == ("W",)


@pytest.mark.parametrize(("slip", "words"), [
    (lambda grads: grads | {"b": grads["b"] / 4}, r"d/db\["),
    (lambda grads: {"W": grads["W"]}, r"d/db\[\d\] is 0, should be"),
])  # fmt: skip
def test_a_layers_weights_are_judged(slip, words):
    """A mean for a sum, and a weight that is forgotten."""

    class Forgetful(Layer):
        def backward(self, dy):
            found = super().backward(dy)
            self.grads = slip(self.grads)
            return found

    it = Forgetful()
    with pytest.raises(GradientError, match=words):
        assert_vjp(it.forward, it.backward, X, params=it.params, grads=lambda: it.grads)


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


def test_a_function_that_gives_more_than_its_value():
    """Its gradient too, as `scipy.optimize.minimize(f, x, jac=True)` takes it; a loss's details."""
    assert assert_gradient(lambda x: (np.sum(x**2), 2 * x), V, gradient=True)
    assert assert_gradient(lambda x, w: (np.sum(x * w), w, x), V, V + 1, gradient=True)
    with pytest.raises(GradientError):
        assert_gradient(lambda x: (np.sum(x**2), x), V, gradient=True)
    assert assert_gradient(lambda x: (np.sum(x**2), {"seen": x}), B, gradient=lambda x: 2 * x)


@pytest.mark.parametrize(("forward", "backward", "error", "note"), [
    (cell, lambda dh, dc, cache: nowhere, NameError, "(cotangent_0, cotangent_1, cache)"),  # noqa: F821
    (lambda x, h, c: (np.sin(x), (np.cos(x),)), lambda saved, g: saved[0] * g[5],
     IndexError, "(cotangent, cache)"),
])  # fmt: skip
def test_an_error_of_a_backward_is_shown_with_its_call(forward, backward, error, note):
    """It is theirs: nothing of ours is raised in its place."""
    with pytest.raises(error) as caught:
        assert_vjp(forward, backward, V, V, V)
    assert note in caught.value.__notes__[0]


def test_a_backward_that_cannot_be_called_is_told_how_it_is_called():
    """Neither with the arguments nor without them."""
    with pytest.raises(TypeError, match=r"<lambda>\(cotangent, x, y\)"):
        assert_vjp(lambda x, y: x * y, lambda c, x: c * x, X, X)


def test_a_gradient_is_arranged_as_its_argument():
    """The only argument is a dict, and so is its gradient, as numbers or as a function."""
    loss = lambda p: np.sum(p["w"] ** 2) + np.sum(p["b"])
    p = {"w": W, "b": B}
    right = lambda p: {"w": 2 * p["w"], "b": np.ones_like(p["b"])}
    assert assert_gradient(loss, p, gradient=right)
    assert assert_gradient(loss, p, gradient=right(p))
    with pytest.raises(GradientError):
        assert_gradient(loss, p, gradient=lambda p: {"w": p["w"], "b": np.ones_like(p["b"])})


def test_keyword_arguments_are_handed_over():
    """To the function, and to a backward that takes them."""
    f = lambda x, *, scale: scale * np.sin(x)
    assert assert_vjp(f, lambda c, x, *, scale: scale * c * np.cos(x), B, kwargs={"scale": 3.0})
    power = lambda x, *, n: np.sum(x**n)
    assert assert_gradient(power, B, gradient=lambda x: 3 * x**2, kwargs={"n": 3})
    with pytest.raises(GradientError):
        assert_vjp(f, lambda c, x: c * np.cos(x), B, kwargs={"scale": 3.0})


def test_a_constant_without_a_gradient_is_told_how_to_be_left_out():
    """None is no gradient of a number; `wrt=` says what is differentiated."""
    scaled, back = lambda x, s: x * s, lambda g, x, s: (g * s, None)
    with pytest.raises(GradientError, match="left out by wrt="):
        assert_vjp(scaled, back, X, 3.5)
    assert assert_vjp(scaled, back, X, 3.5, wrt=0)


@pytest.mark.parametrize("wrt", [0, 1, 2, -1, (1,), (0, 2), (2, 1), None])
def test_a_backward_may_give_more_than_is_asked_for(wrt):
    """All gradients that came are judged, each as that of its own argument."""
    wrong = lambda c, x, w, b: (*dense_back(c, x, w, b)[:2], c.mean(0))
    assert assert_vjp(dense, dense_back, X, W, B, wrt=wrt)
    with pytest.raises(GradientError, match=r"d/db\["):
        assert_vjp(dense, wrong, X, W, B, wrt=wrt, explain=0)
