"""Wrong backward passes are caught, in the argument where they are, and named as reviewers would.

The names were decided before anything was run; what has none of them is listed, not left out.
"""

import numpy as np
import pytest

import tests.support.wrong_layers  # noqa: F401 - it enters its mistakes into WRONG
from gradcheck.testing import GradientError, assert_vjp
from tests.support.caught import first_line
from tests.support.wrong_backwards import WRONG

UNNAMED = {  # what has another name than those, or none
    "tanh, plus", "sqrt, two above", "leaky slope", "silu, product rule", "softplus as relu",
    "cotangent twice", "logsumexp, exp", "cross-entropy, no label", "variance, no ddof",
    "gradients swapped", "outer, swapped", "inverse, no transpose", "kernel not flipped",
    "batch norm, no n", "convolution, off by one",
    "flip", "rms norm, square for cube", "glu, halves swapped", "gelu, the other formula",
    "multi-head, cotangent lost", "lstm, gates swapped", "product, the other path",
    "rms norm, root constant",
}  # fmt: skip
SAMPLE = list(WRONG)[::6]


def told(name):
    """What pytest's summary shows of a slip."""
    return first_line(*WRONG[name][:3])


def test_there_are_enough():
    """A hundred and fifty; four of five named."""
    assert len(WRONG) >= 150
    assert set(WRONG) >= UNNAMED
    assert len(UNNAMED) <= len(WRONG) / 5


@pytest.mark.parametrize("name", SAMPLE)
def test_the_wrong_is_caught_and_named(name):
    """A sixth of them."""
    first = told(name)
    assert first.startswith(("d/d", "backward"))
    assert name in UNNAMED or any(word in first for word in WRONG[name][3]), first


@pytest.mark.sweep
@pytest.mark.parametrize("name", [name for name in WRONG if name not in SAMPLE])
def test_the_rest_is_caught_and_named(name):
    """All the others."""
    test_the_wrong_is_caught_and_named(name)


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
