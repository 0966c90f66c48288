"""Backward passes that are right, of functions whose digits cancel on the way."""

import numpy as np
import pytest

from gradcheck.testing import GradientError, assert_vjp
from tests.support.layers import STEPS

GAMMA, ALPHA = 2.0, 0.25


def focal(labels):
    """The focal loss of a sigmoid and its backward pass (Lin et al. 2017, eq. 5)."""

    def chosen(z):
        p = 1 / (1 + np.exp(-z))
        return np.where(labels == 1, p, 1 - p), np.where(labels == 1, ALPHA, 1 - ALPHA)

    def forward(z):
        pt, a = chosen(z)
        return -np.mean(a * (1 - pt) ** GAMMA * np.log(pt))

    def backward(g, z, slip=1.0):
        (pt, a), sign = chosen(z), np.where(labels == 1, 1, -1)
        slope = a * sign * (1 - pt) ** GAMMA * (slip * GAMMA * pt * np.log(pt) - (1 - pt))
        return g * slope / len(z)

    return forward, backward


@pytest.mark.parametrize(
    ("count", "scale", "seed"),
    [*((5, scale, seed) for scale in (20, 30) for seed in (*range(10), 50)), (3_000, 6, 2)],
)
@pytest.mark.sampled(4)
def test_few_disturbed_runs_accuse_nobody(count, scale, seed):
    """1 - p loses digits that one disturbed run in five does not move: then more are made.

    A slip in the same formula is caught where its digits are there.
    """
    rng = np.random.default_rng(seed)
    z = rng.normal(size=count) * scale
    labels = np.array([1, 0, 0, 1, 1.0] * (count // 5))
    forward, backward = focal(labels)
    with np.errstate(divide="ignore", invalid="ignore"):
        if not np.isfinite(forward(z)):
            pytest.skip("infinite there")
        assert_vjp(forward, backward, z)
    wrong = z / scale
    with pytest.raises(GradientError):
        assert_vjp(forward, lambda g, x: backward(g, x, slip=0.5), wrong)


def floats_alone(function):
    """The same, of plain arrays only: what a compiled function does."""

    def compiled(*args):
        if any(type(a) is not np.ndarray or a.dtype != np.float64 for a in args):
            raise TypeError("floats only")
        return function(*args)

    return compiled


POINTS = np.array([0.7, 1.3, 2.1])


@pytest.mark.parametrize(
    "off",
    [
        lambda x: 1 + 0.02 * np.sin(1e6 * x),
        lambda x: 1 + 0.01 * np.sin(1e10 * x),
        lambda x: np.where(x > POINTS * (1 - 1e-5), 1.01, 1.0),
    ],
    ids=["a wave", "a fast wave", "a branch beside the point"],
)
@pytest.mark.parametrize("forward", [np.sin, floats_alone(np.sin)], ids=["traced", "a black box"])
def test_what_is_uneven_but_does_not_jump_everywhere_is_no_rounding(forward, off):
    """A wave moves as little from float to float as they differ, a branch jumps once."""
    with pytest.raises(GradientError):
        assert_vjp(forward, floats_alone(lambda c, x: c * np.cos(x) * off(x)), POINTS)


@pytest.mark.parametrize("forward", [np.sin, floats_alone(np.sin)], ids=["traced", "a black box"])
def test_digits_lost_inside_a_backward_of_plain_floats_leave_it_open(forward):
    """Float32 inside, where nothing can look: undecided, unless a tolerance is given."""

    def coarse(c, x):
        return (c * np.cos(x.astype(np.float32))).astype(np.float64)

    with pytest.raises(GradientError, match="floats alone cannot tell") as caught:
        assert_vjp(forward, floats_alone(coarse), POINTS)
    assert caught.value.result.verdict == "undecided"
    assert assert_vjp(forward, floats_alone(coarse), POINTS, rtol=1e-6)
    with pytest.raises(GradientError, match="should be"):
        assert_vjp(forward, floats_alone(lambda c, x: 1.001 * coarse(c, x)), POINTS, rtol=1e-6)


def test_a_slope_that_few_digits_are_left_of_is_known_with_a_bar_that_is_told():
    """Of 1 - cos beside 0 three digits are left: a slip is seen, and what is not seen is said."""
    x = np.array([1e-6, -8e-7, 2e-6])
    forward = floats_alone(lambda x: np.sqrt(1 - np.cos(x)))
    right = np.sign(x) * np.cos(x / 2) / np.sqrt(2)  # of sqrt(2) |sin(x/2)|
    told = assert_vjp(forward, floats_alone(lambda c, x: c * right), x).message
    assert "off by less than 0.0" in told
    for slip in (-1.0, 0.5, 2.0):
        with pytest.raises(GradientError):
            assert_vjp(forward, floats_alone(lambda c, x, slip=slip: slip * c * right), x)


def _float_by_float(c, x, k=2.0):
    """The slope of (1 - cos x)/x², of floats alone: near 0 it has no digits left."""
    x = np.array([float(v) for v in x])
    return c * (np.sin(x) / x**2 - k * (1 - np.cos(x)) / x**3)


def _complaint(forward, backward, x, seed):
    try:
        assert_vjp(forward, backward, x, seed=seed)
    except GradientError as error:
        return str(error)
    return ""


def test_lost_digits_that_close_neighbours_share_are_no_fault():
    """`cos` near 0 is one number for many neighbours: what is right is open, never called wrong."""
    found = []
    for seed in range(8):
        x = 10.0 ** np.random.default_rng(seed).uniform(-4, 0, 5)
        call = (lambda x: (1 - np.cos(x)) / x**2, x, seed)
        found.append(_complaint(call[0], _float_by_float, *call[1:]))
        slip = _complaint(call[0], lambda c, x: _float_by_float(c, x, 1.0), *call[1:])
        assert "should be" in slip
    assert {"floats alone cannot tell" in words for words in found if words} == {True}


def test_where_the_entries_that_move_leave_a_slope_open_the_whole_value_is_asked():
    """A softmax of plain floats: its own entries alone look noisy at this point."""
    forward, backward, make = STEPS["softmax"][:3]
    x = make(np.random.default_rng(7), 1.0)
    assert assert_vjp(floats_alone(forward), floats_alone(backward), *x, seed=7)
