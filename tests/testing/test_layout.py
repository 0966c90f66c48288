"""Arguments and values as people arrange them: dicts, lists, dataclasses, tuples, caches."""

from dataclasses import dataclass

import numpy as np
import pytest

from gradcheck.testing import GradientError, assert_gradient, assert_vjp

RNG = np.random.default_rng(0)
X, W, B = RNG.normal(size=(4, 3)), RNG.normal(size=(3, 2)), RNG.normal(size=2)


@dataclass
class Weights:
    """The weights of a layer, and its name."""

    w: np.ndarray
    b: np.ndarray
    name: str = "dense"


def layer(x, w, b, factor=1.0):
    """A dense layer."""
    return factor * np.tanh(x @ w + b)


def back(c, x, w, b, factor=1.0):
    """Its backward."""
    d = factor * c * (1 - (layer(x, w, b)) ** 2)
    return d @ w.T, x.T @ d, d.sum(0)


def _dict(c, x, p):
    dx, dw, db = back(c, x, p["w"], p["b"])
    return dx, {"w": dw, "b": db}


def _dataclass(c, x, p):
    dx, dw, db = back(c, x, p.w, p.b)
    return dx, Weights(dw, db)


def _list(c, x, ps):
    dx, dw, db = back(c, x, *ps)
    return dx, [dw, db]


TREES = {
    "a dict": (lambda x, p: layer(x, p["w"], p["b"]), _dict, (X, {"w": W, "b": B}), "p['b'][0]"),
    "a dataclass": (lambda x, p: layer(x, p.w, p.b), _dataclass, (X, Weights(W, B)), "p.b[0]"),
    "a list": (lambda x, ps: layer(x, *ps), _list, (X, [W, B]), "ps[1][0]"),
}


@pytest.mark.parametrize("name", TREES)
def test_arguments_may_be_trees(name):
    """The gradients are arranged likewise; a wrong one is told by its place in the tree."""
    forward, backward, args, place = TREES[name]
    assert assert_vjp(forward, backward, *args).verdict == "agree"

    def wrong(c, x, p):
        dx, dp = backward(c, x, p)
        if isinstance(dp, Weights):
            dp.b[0] *= 2
        else:
            dp["b" if isinstance(dp, dict) else 1][0] *= 2
        return dx, dp

    with pytest.raises(GradientError) as caught:
        assert_vjp(forward, wrong, *args)
    assert f"d/d{place}" in str(caught.value)


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
    assert assert_gradient(lambda x, *, n: np.sum(x**n), B, gradient=lambda x: 3 * x**2,
                           kwargs={"n": 3})  # fmt: skip
    with pytest.raises(GradientError):
        assert_vjp(f, lambda c, x: c * np.cos(x), B, kwargs={"scale": 3.0})


def test_a_cotangent_for_every_array_of_a_value():
    """A tuple and a dict of arrays of several shapes."""
    assert assert_vjp(lambda x: (np.sin(x), np.sum(x)), lambda c, x: c[0] * np.cos(x) + c[1], B)
    assert assert_vjp(
        lambda x, w: {"y": x @ w, "s": np.sum(w)},
        lambda c, x, w: (c["y"] @ w.T, x.T @ c["y"] + c["s"]),
        X,
        W,
    )
    with pytest.raises(GradientError):
        assert_vjp(lambda x: (np.sin(x), np.sum(x)), lambda c, x: c[0] * np.cos(x), B)


def with_cache(x, w):
    """The value, and what backward needs."""
    return x @ w, (x, w)


def test_a_cache_goes_to_backward():
    """`forward -> (out, cache)`, `backward(dout, cache)`; and a loss beside which something is."""
    assert assert_vjp(with_cache, lambda c, cache: (c @ cache[1].T, cache[0].T @ c), X, W)
    with pytest.raises(GradientError, match="d/dw"):
        assert_vjp(with_cache, lambda c, cache: (c @ cache[1].T, 2 * cache[0].T @ c), X, W)
    loss = lambda x: (np.sum(x**2), {"seen": x})
    assert assert_gradient(loss, B, gradient=lambda x: 2 * x)


def test_a_backward_with_a_cache_may_have_options():
    """What has a default is not asked of the forward's arguments."""

    def forward(x, w):
        return x @ w, (x, w)

    def backward(dout, cache, scale=1.0):
        x, w = cache
        return scale * dout @ w.T, x.T @ dout

    rng = np.random.default_rng(0)
    assert assert_vjp(forward, backward, rng.normal(size=(3, 4)), rng.normal(size=(4, 2)))


def test_how_a_backward_with_a_cache_was_called_is_told():
    """One that takes them the other way about raises its own error, with a note."""

    def backward(saved, g):
        (slope,) = saved
        return (slope * g,)

    with pytest.raises(ValueError, match="too many") as caught:
        assert_vjp(lambda x: (np.sin(x), (np.cos(x),)), backward, X)
    assert "(cotangent, cache)" in caught.value.__notes__[0]


def test_a_constant_without_a_gradient_is_told_how_to_be_left_out():
    """None is no gradient of a number; `wrt=` says what is differentiated."""
    scaled, back = lambda x, s: x * s, lambda g, x, s: (g * s, None)
    with pytest.raises(GradientError, match="left out by wrt="):
        assert_vjp(scaled, back, X, 3.5)
    assert assert_vjp(scaled, back, X, 3.5, wrt=0)
