"""Where float64 saturates, cancels or nearly overflows the right pass, and slips do not."""

import zlib

import numpy as np
import pytest

from gradcheck.testing import GradientError, assert_vjp
from tests.support.extremes import EXTREMES

SCALES = (1, 10, 30)
SEEDS = 60
SLIP = 0.5
VISIBLE = 1e-2  # of the largest entry: what a slip has to change to count
FAINT = 2.3e-13  # slopes of values of order one that float64 does not show: see `judging`
TAKES_FLOATS = "softmax, cold", "sigmoid", "dice", "tanh"
CASES = [(name, scale) for name in EXTREMES for scale in SCALES]


def several(came):
    """Gradients as a tuple."""
    return came if isinstance(came, tuple) else (came,)


def finite(*values):
    """Whether there is a number everywhere."""
    return all(np.all(np.isfinite(v)) for v in values)


def slipped(name):
    """The backward with its slip."""
    return lambda c, *args: EXTREMES[name][1](c, *args, SLIP)


def visible(name, args, seed):
    """Whether the slip changes the gradient at these arguments."""
    forward, backward, _ = EXTREMES[name]
    c = np.random.default_rng(seed).choice([-1.0, 1.0], np.shape(forward(*args)))
    both = several(backward(c, *args)), several(slipped(name)(c, *args))
    return any(
        np.max(np.abs(w - r)) > max(VISIBLE * np.max(np.abs(r)), FAINT)
        for r, w in zip(*both, strict=True)
    )


def judged(name, scale, seed):
    """The right one passes, and the slip is caught where it can be seen."""
    forward, backward, make = EXTREMES[name]
    args = make(np.random.default_rng(seed), scale)
    with np.errstate(all="ignore"):
        value = np.asarray(forward(*args))
        if not finite(value, *several(backward(np.ones(value.shape), *args))):
            return
        assert assert_vjp(forward, backward, *args, seed=seed)
        if seed % 3 == 0 and visible(name, args, seed):
            with pytest.raises(GradientError):
                assert_vjp(forward, slipped(name), *args, seed=seed)


TURNS = [(name, SCALES[k % len(SCALES)]) for k, name in enumerate(EXTREMES)]


@pytest.mark.parametrize(("name", "scale"), TURNS)
def test_extremes(name, scale):
    """Each once, at a seed of its own; the scales take turns."""
    judged(name, scale, zlib.crc32(f"{name} {scale}".encode()) % SEEDS)


@pytest.mark.sweep
@pytest.mark.parametrize(("name", "scale"), CASES)
def test_extremes_at_every_seed(name, scale):
    """Each at sixty seeds."""
    for seed in range(SEEDS):
        judged(name, scale, seed)


def floats_alone(function):
    """The same, refusing every other kind of number: what a compiled function does."""

    def compiled(*args):
        if any(type(a) is not np.ndarray or a.dtype.kind != "f" for a in args[-1:]):
            raise TypeError("floats only")
        return function(*args)

    return compiled


def passes_or_is_open(forward, backward, args, seed):
    """Whether a right pair is not accused."""
    try:
        return assert_vjp(forward, backward, *args, seed=seed).ok
    except GradientError as error:
        return error.result.verdict == "undecided"


def judged_as_a_black_box(name, scale, seed):
    """A right pair that both take floats alone is not accused: it passes, or nothing is decided.

    Of a 1 - y with a few hundred steps left no values tell the slope, and of a slope that float64
    does not show a backward of plain floats is as good as its rounding.
    """
    forward, backward, make = EXTREMES[name]
    args = make(np.random.default_rng(seed), scale)
    with np.errstate(all="ignore"):
        value = np.asarray(forward(*args))
        if not finite(value, *several(backward(np.ones(value.shape), *args))):
            return
        assert passes_or_is_open(floats_alone(forward), floats_alone(backward), args, seed)


@pytest.mark.parametrize("name", EXTREMES)
@pytest.mark.sampled(4)
def test_extremes_as_black_boxes(name):
    """Each where it is hardest, at a seed of its own."""
    judged_as_a_black_box(name, 30, zlib.crc32(name.encode()) % 10)


@pytest.mark.sweep
@pytest.mark.parametrize(("name", "scale"), CASES)
def test_extremes_as_black_boxes_at_ten_seeds(name, scale):
    """Each at ten seeds."""
    for seed in range(10):
        judged_as_a_black_box(name, scale, seed)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", TAKES_FLOATS)
def test_a_backward_that_takes_floats_alone(name, scale):
    """Where its digits are lost nothing is decided, and a tolerance settles it; slips are wrong."""
    forward, backward, make = EXTREMES[name]
    for seed in (0, 5):
        args = make(np.random.default_rng(seed), scale)
        assert passes_or_is_open(forward, floats_alone(backward), args, seed)
        assert assert_vjp(forward, floats_alone(backward), *args, seed=seed, rtol=1e-6)
    args = make(np.random.default_rng(0), 1)
    with pytest.raises(GradientError) as caught:
        assert_vjp(forward, floats_alone(slipped(name)), *args)
    assert caught.value.result.verdict != "undecided"


def test_zeros_do_not_pass_where_float64_is_blind():
    """Beside 1e20 float64 sees nothing that x does; that its slope is 1 is known all the same."""
    with pytest.raises(GradientError):
        assert_vjp(lambda x: 1e20 + np.sum(x), lambda g, x: np.zeros_like(x), np.array([1.0, 2.0]))


@pytest.mark.parametrize("nothing", [lambda g, x: 0 * g, lambda g, x: np.zeros_like(x)])
def test_zeros_do_not_pass_for_a_saturated_slope_that_balls_know(nothing):
    """Tanh' of 40 is 7e-35, and no rounding has made these zeros; it has made those of 1 - y**2."""

    def rounded(g, x):
        out = np.zeros(x.shape)  # takes no balls
        out += g * (1 - np.tanh(x) ** 2)
        return out

    x = np.array([40.0, -50.0])
    with pytest.raises(GradientError):
        assert_vjp(np.tanh, nothing, x)
    assert assert_vjp(np.tanh, rounded, x)
    for size in (1, 1e5):  # of 4e6 balls of 2048 bits say no more than that it is near 0
        assert assert_vjp(np.tanh, lambda g, x: g * (1 - np.tanh(x) ** 2), size * x)
