"""The three rules: layers as courses write them, extremes of float64, digits that cancel.

The right pass in both kinds of float, and slips do not.
"""

import itertools
import zlib

import numpy as np
import pytest

from gradcheck.testing import GradientError, assert_vjp
from tests.support import slips
from tests.support.extremes import EXTREMES
from tests.support.layers import LAYERS, STEPS

SEEDS = 60


def several(came):
    return came if isinstance(came, tuple) else (came,)


def has_numbers(forward, backward, args):
    with np.errstate(all="ignore"):
        value = np.asarray(forward(*args))
        came = several(backward(np.ones_like(value)[()], *args))
    return all(np.all(np.isfinite(v)) for v in (value, *came))


def floats_alone(function):
    """The same, refusing every other kind of number: what a compiled function does."""

    def compiled(*args):
        if any(type(a) is not np.ndarray or a.dtype.kind != "f" for a in args[-1:]):
            raise TypeError("floats only")
        return function(*args)

    return compiled


# -- layers ----------------------------------------------------------------------------------------

LAYER_SCALES = (1.0, 1e3, 1e-6)
KINDS = (np.float64, np.float32)
SLIPS = {title: rest for title, *rest in slips.cases()}


def repeated(x, scale):
    x[1] = x[0]
    return x


def zero_row(x, scale):
    x[-1] = 0
    return x


def rank_one(x, scale):
    rows = x.reshape(len(x), -1)
    return np.outer(rows[:, 0], rows[0] / scale).reshape(x.shape) if x.ndim > 1 else x


def tied(x, scale):
    return np.round(x / scale) * scale


SPECIAL = (lambda x, scale: x, repeated, zero_row, rank_one, tied)


def judged_as_a_layer(name, seed, scale, kind):
    forward, backward, make = LAYERS[name]
    first, *rest = make(np.random.default_rng(seed), scale)
    args = [a.astype(kind) for a in (SPECIAL[seed % len(SPECIAL)](first, scale), *rest)]
    if has_numbers(forward, backward, args):
        assert assert_vjp(forward, backward, *args, seed=seed)


def turn(name, *settings):
    """A seed and a setting of each kind, which take turns."""
    chosen = zlib.crc32(name.encode())
    return [chosen % SEEDS], *(each[chosen % len(each)] for each in settings)


SWEEP = pytest.mark.sweep


@pytest.mark.parametrize(
    ("name", "seeds", "scale", "kind"),
    [
        *((name, *turn(name, LAYER_SCALES, KINDS)) for name in LAYERS),
        # 1/p of a probability of 2e-311 is infinite, and reverse mode has no number there
        ("cross-entropy", [57], 1e3, np.float64),
        *(
            pytest.param(*each[:1], range(SEEDS), *each[1:], marks=SWEEP)
            for each in itertools.product(LAYERS, LAYER_SCALES, KINDS)
        ),
    ],
)
def test_a_right_layer_passes(name, seeds, scale, kind):
    """Each once, at a seed, scale and kind of float of its own; in the sweep at sixty seeds."""
    for seed in seeds:
        judged_as_a_layer(name, seed, scale, kind)


@pytest.mark.parametrize("title", SLIPS)
@pytest.mark.sampled(40)
def test_a_slip_is_caught_and_named(title):
    """By a name that was written down before, where there is one."""
    *pair, args, names = SLIPS[title]
    with pytest.raises((GradientError, TypeError)) as caught, np.errstate(all="ignore"):
        assert_vjp(*pair, *args)
    line, *rest = str(caught.value).split("\n")
    assert len(rest) < 20
    assert max(map(len, rest), default=0) <= 60
    assert line.startswith(("d/d", "backward", "2 gradients came for 3"))
    assert names in line or any(name in line.split(" ") for name in names.split())


# -- extremes --------------------------------------------------------------------------------------

SCALES = (1, 10, 30)
SLIP = 0.5
VISIBLE = 1e-2  # of the largest entry: what a slip has to change to count
FAINT = 2.3e-13  # slopes of values of order one that float64 does not show: see `judging`
TAKES_FLOATS = "softmax, cold", "sigmoid", "dice", "tanh"
CASES = [(name, scale) for name in EXTREMES for scale in SCALES]


def slipped(name):
    return lambda c, *args: EXTREMES[name][1](c, *args, SLIP)


def visible(name, args, seed):
    forward, backward, _ = EXTREMES[name]
    c = np.random.default_rng(seed).choice([-1.0, 1.0], np.shape(forward(*args)))
    both = several(backward(c, *args)), several(slipped(name)(c, *args))
    return any(
        np.max(np.abs(w - r)) > max(VISIBLE * np.max(np.abs(r)), FAINT)
        for r, w in zip(*both, strict=True)
    )


def judged(name, scale, seed):
    forward, backward, make = EXTREMES[name]
    args = make(np.random.default_rng(seed), scale)
    if not has_numbers(forward, backward, args):
        return
    assert assert_vjp(forward, backward, *args, seed=seed)
    if seed % 3 == 0 and visible(name, args, seed):
        with pytest.raises(GradientError):
            assert_vjp(forward, slipped(name), *args, seed=seed)


@pytest.mark.parametrize(
    ("name", "scale", "seeds"),
    [
        *(
            (name, SCALES[k % 3], turn(f"{name} {SCALES[k % 3]}")[0])
            for k, name in enumerate(EXTREMES)
        ),
        # `3 * 0.044715` in GELU's slope, where in float64 1 + tanh is 0 and balls have to decide
        ("gelu", 30, [8]),
        *(pytest.param(*case, range(SEEDS), marks=SWEEP) for case in CASES),
    ],
)
def test_extremes(name, scale, seeds):
    """Each once, at a seed of its own, the scales taking turns; in the sweep at sixty seeds."""
    for seed in seeds:
        judged(name, scale, seed)


def passes_or_is_open(forward, backward, args, seed):
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
    if has_numbers(forward, backward, args):
        assert passes_or_is_open(floats_alone(forward), floats_alone(backward), args, seed)


@pytest.mark.parametrize(
    ("name", "scale", "seeds"),
    [
        *((name, 30, [zlib.crc32(name.encode()) % 10]) for name in list(EXTREMES)[3::4]),
        *(pytest.param(*case, range(10), marks=SWEEP) for case in CASES),
    ],
)
def test_extremes_as_black_boxes(name, scale, seeds):
    """Each fourth where it is hardest, at a seed of its own; in the sweep all at ten seeds."""
    for seed in seeds:
        judged_as_a_black_box(name, scale, seed)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", TAKES_FLOATS)
def test_a_backward_that_takes_floats_alone(name, scale):
    """Where its digits are lost nothing is decided, and a tolerance settles it."""
    forward, backward, make = EXTREMES[name]
    for seed in (0, 5):
        args = make(np.random.default_rng(seed), scale)
        assert passes_or_is_open(forward, floats_alone(backward), args, seed)
        assert assert_vjp(forward, floats_alone(backward), *args, seed=seed, rtol=1e-6)


@pytest.mark.parametrize("name", TAKES_FLOATS)
def test_a_slip_of_a_backward_that_takes_floats_alone(name):
    forward, _, make = EXTREMES[name]
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


# -- digits that cancel ----------------------------------------------------------------------------

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
    if not has_numbers(forward, backward, [z]):
        pytest.skip("infinite there")
    assert_vjp(forward, backward, z)
    wrong = z / scale
    with pytest.raises(GradientError):
        assert_vjp(forward, lambda g, x: backward(g, x, slip=0.5), wrong)


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
    """Float32's digits, where nothing tells of it: undecided, unless a tolerance is given."""
    few = getattr(np, "float32")  # noqa: B009 - a name that no reader of lines knows

    def coarse(c, x):
        return (c * np.cos(x.astype(few))).astype(np.float64)

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
        assert_vjp(forward, backward, x, seed=seed, explain=0)
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
