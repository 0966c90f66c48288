"""Backward passes at ties: any slope of a kink's interval, or of a gradient beside it."""

import random
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradcheck.engine import tensor
from gradcheck.testing import GradientError, assert_vjp
from tests.support.sweeping import at_most

X, Y = np.array([1.0, 2.0, 3.0]), np.array([1.0, 5.0, 3.0])
Z = np.array([2.0, 1.0, 2.0, 2.0])
MANY = np.random.default_rng(0).normal(size=(60, 4))
W, V = np.array([[1.0, -1.0], [2.0, 0.5], [0.3, 0.3]]), np.array([2.0, 2.0])


def layer(c, w, v, at_w, at_v):
    """The backward pass of relu(W v), with a slope at 0 for each of its two products."""
    z = w @ v
    gw, gv = c * np.heaviside(z, at_w), c * np.heaviside(z, at_v)
    return np.outer(gw, v), w.T @ gv


def both_tied(c, x, y, a, b):
    """The backward pass of maximum that gives the parts a and b of the cotangent at a tie."""
    return c * np.where(x == y, a, x > y), c * np.where(x == y, b, x < y)


tied = lambda a, b: lambda c, x, y: both_tied(c, x, y, a, b)
of_layer = lambda at: lambda c, w, v: layer(c, w, v, at, at)
of_max = lambda share: lambda c, z: c * share(z)
RIGHT = {
    "maximum: halves": (np.maximum, tied(0.5, 0.5), (X, Y)),
    "maximum: the first": (np.maximum, tied(1, 0), (X, Y)),
    "maximum: a mixture": (np.maximum, tied(0.3, 0.7), (X, Y)),
    "max: the first": (np.max, of_max(lambda z: np.eye(4)[np.argmax(z)]), (Z,)),
    "max of nine: evenly": (np.max, of_max(lambda z: np.full(9, 1 / 9)), (np.ones(9),)),
    "max: evenly": (np.max, of_max(lambda z: (z == z.max()) / np.sum(z == z.max())), (Z,)),
    "distance": (
        lambda x, y: np.abs(x - y),
        lambda c, x, y: (c * np.sign(x - y), -c * np.sign(x - y)),
        (X, Y),
    ),
    "layer: 0 at 0": (lambda w, v: np.maximum(w @ v, 0), of_layer(0), (W, V)),
    "layer: 1 at 0": (lambda w, v: np.maximum(w @ v, 0), of_layer(1), (W, V)),
    "zeros of both curvatures": (
        lambda x: np.maximum(x, 0), lambda c, x: c * (x > 0), (np.zeros(7),)
    ),
    "sixty units tied at once": (
        lambda v: np.maximum(MANY @ v, 0), lambda c, v: MANY.T @ (c * (MANY @ v >= 0)),
        (np.zeros(4),)
    ),
    "kinks that cancel": (
        lambda x, y: np.maximum(x - y, x) - np.abs(x - y),
        lambda c, x, y: (
            c * (1 - np.where(x >= y, 1, -1)),
            c * (np.where(y <= 0, -1, 0) + np.where(x >= y, 1, -1)),
        ),
        (np.array([1.0, 0.0]), np.array([1.0, 0.0])),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("f", "backward", "args"), RIGHT.values(), ids=RIGHT)
def test_a_right_backward_at_a_tie_passes(f, backward, args):
    """Whatever branch or mixture a backward takes, it is not accused."""
    assert assert_vjp(f, backward, *args)


@pytest.mark.parametrize(("a", "b"), [(20.0, -19.0), (1.5, -0.5)])
def test_what_lies_outside_the_interval_is_wrong(a, b):
    """A tie that rounding could break is no excuse for a slope that neither side has."""
    with pytest.raises(GradientError, match="outside the kink's interval"):
        assert_vjp(np.maximum, tied(a, b), X, Y)


@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.sampled_from([0.5, 1.0, 2.0, 3.0]), min_size=2, max_size=4),
    st.lists(st.floats(0.0, 1.0), min_size=4, max_size=4),
)
def test_mixtures_of_the_branches_of_a_maximum(slopes, weights):
    """max(a_i x_i) at a tie: weights that sum to 1 are right (a textbook's hull)."""
    a = np.array(slopes)
    x = 6.0 / a
    lam = np.array(weights[: len(a)]) + 0.1
    lam /= lam.sum()
    top = lambda x: np.max(a * x)
    assert assert_vjp(top, lambda c, x: c * lam * a, x)


# -- no accusation of PyTorch's conventions, nor of a neighbour's gradient -------------------------

ONE = ("np.abs({})", "np.maximum({}, 0)", "np.minimum({}, 1)", "-{}", "np.clip({}, -1, 1)",
       "({}).sum() * x", "np.max({}) + x", "np.min({}) - y", "{} * {}")  # fmt: skip
TWO = ("np.maximum({}, {})", "np.minimum({}, {})", "{} + {}", "{} - {}")


def _expression(draw, depth):
    if depth == 0:
        return draw.choice(("x", "y", "(x - y)", "(x + y)"))
    form = draw.choice(ONE if draw.random() < 0.45 else TWO)
    return f"({form.format(*(_expression(draw, depth - 1) for _ in range(form.count('{}'))))})"


def _accused(seed, aside):
    """Whether the gradient just beside small integers (or right there) is called wrong there."""
    draw, rng = random.Random(seed), np.random.default_rng(seed)
    text = _expression(draw, draw.choice((1, 2, 3)))
    f = eval(f"lambda x, y: {text}", {"np": np})
    x, y = (rng.integers(-1, 2, 3).astype(float) for _ in range(2))
    by = aside * rng.standard_normal((2, 3))

    def backward(c, x, y):
        leaves = [tensor(v + d, requires_grad=True) for v, d in zip((x, y), by, strict=True)]
        f(*leaves).backward(tensor(np.asarray(c)))
        return [np.zeros(3) if t.grad is None else t.grad.numpy().round(9) for t in leaves]

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert_vjp(f, backward, x, y)
    except GradientError as error:
        return "outside the kink" in str(error)
    return False


@pytest.mark.parametrize("aside", [0.0, 1e-12], ids=["conventions", "neighbours"])
@pytest.mark.parametrize(
    "seeds", [range(25), pytest.param(range(25, 25 + at_most(300)), marks=pytest.mark.sweep)]
)
def test_no_accusation_at_random_ties(aside, seeds):
    assert not [seed for seed in seeds if _accused(seed, aside)]
