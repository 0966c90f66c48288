"""The quick look: nine samples where nothing is unusual, four where a slope is expected."""

import math
from dataclasses import replace

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpf

from gradcheck.opinions.floats.blackbox import draw_directions, glance, look_along
from gradcheck.opinions.limits import SPARED
from gradcheck.opinions.opinion import estimate, multiply_along
from gradcheck.testing import check
from gradcheck.verdict.consult import consult_few, find_least_seen
from tests.support import scanned
from tests.support.cases import case
from tests.support.scanned import SMOOTH, Case, covered, named, true_slope


def test_a_glance_is_enough_where_nothing_is_unusual():
    asked: list[float] = []
    assert covered(glance(lambda x: asked.append(x) or math.sin(x), 1.0), mpmath.cos(1))
    assert len(asked) == 9
    for f, x, truth in ((math.log, 1e-10, 1e10), (lambda x: x * x, 1e20, 2e20)):
        assert covered(glance(f, x, abs(x)), mpf(truth))


@pytest.mark.parametrize("one", [*SMOOTH, *scanned.BROKEN], ids=named)
def test_a_glance_is_never_surely_wrong(one):
    """Its bar covers the derivative, or it leaves the question to the scan.

    As it does at kinks, jumps, vertical tangents and edges. Where f has lost all its digits (LOST)
    nine samples may lie on one stair of the rounding; who asks for a glance must know by other
    means that it has not.
    """
    known = isinstance(one, Case)
    found = glance(one.f, one.x, max(1.0, abs(one.x)) if known else abs(one.x) or 1.0)
    assert found is None or (known and covered(found, true_slope(one.truth, one.x)))


@settings(deadline=None, derandomize=True, max_examples=60)
@given(distance=st.floats(1e-9, 0.3))
def test_a_glance_is_not_fooled_by_a_kink_nearby(distance):
    """At 1 + d the slope of |x - 1| is 1: that, or no answer."""
    found = glance(lambda t: abs(t - 1), 1 + distance)
    assert found is None or covered(found, mpf(1))


# -- a slope that is expected ---------------------------------------------------------------------

N = 2_000
RNG = np.random.default_rng(5)
X, W = RNG.normal(size=N), RNG.normal(size=N)
SINES = case(lambda x: np.sum(np.sin(W * x)), x=X)
SLOPES = W * np.cos(W * X)


def asked(question, gradient, seed=0):
    """What the function says where this gradient is expected to be right."""
    question = replace(question, seed=seed)
    along = draw_directions(question, SPARED)
    return look_along([question], along, [multiply_along(along, {"x": estimate(gradient)})])[0]


def test_right_slopes_are_confirmed_by_balls_that_hold_them():
    """The slopes along three directions, by calculus; no two directions are alike."""
    for seed in range(50):
        seen = asked(SINES, SLOPES, seed)
        along = seen.directions.along["x"]
        for ball, u in zip(seen.directions.slopes.balls, along, strict=True):
            assert ball.contains(float(np.vdot(SLOPES, u)))
            assert np.sqrt(np.mean(u**2)) == pytest.approx(np.sqrt(np.mean(X**2)), rel=0.1)
        assert np.max(np.abs(np.corrcoef(along) - np.eye(SPARED))) < 0.15


def test_a_wrong_entry_of_the_stated_size_is_not_confirmed():
    """Expected with one entry off by what is stated to be seen all but once in a million times."""
    seen = asked(SINES, SLOPES)
    least = find_least_seen([seen])
    missed = 0
    for seed in range(300):
        planted = SLOPES.copy()
        planted[RNG.integers(N)] += least * RNG.choice([-1.0, 1.0])
        seen = asked(SINES, planted, seed)
        if seen is not None:
            found = seen.directions.slopes
            due = multiply_along(seen.directions.along, {"x": estimate(planted)})
            missed += np.all(np.abs(found.value - due.value) <= found.error + due.error)
    assert missed == 0


BROKEN = {
    "a kink whose slopes have the mean 0": lambda x: np.sum(np.abs(x)),
    "a small kink": lambda x: np.sum(np.abs(x[:1])) * 1e-6,
    "a jump": lambda x: np.sum(np.where(x > 0, 1e-9, 0.0)),
    "a value apart": lambda x: np.sum(np.where(x == 0, 1e-9, 0.0)),
    "no number": lambda x: np.sum(np.log(x)),
    "noise": lambda x: 1e-3 * np.sum(np.sin(1e12 * x)),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_what_is_not_smooth_is_not_confirmed(kind):
    """Not even where central differences meet the slope that is expected, as at a kink."""
    x = np.zeros(20)
    f = BROKEN[kind]
    with np.errstate(all="ignore"):
        assert asked(case(lambda x: np.sum(x) + f(x), x=x), np.ones(20)) is None
    assert asked(case(np.sum, x=x), np.ones(20)) is not None


def test_one_run_forward_serves_every_cotangent():
    """One run by tensors and one that is disturbed; at most eight samples a direction."""
    runs = []
    w = np.random.default_rng(0).normal(size=(6, 5))

    def f(x):
        runs.append(type(x).__name__)
        return np.tanh(w @ x)

    x = np.random.default_rng(1).normal(size=(5, 30))
    cotangents = np.random.default_rng(2).normal(size=(3, 6, 30))
    question = case(f, x=x, cotangent=cotangents[0])
    found = consult_few([replace(question, cotangent=c) for c in cotangents], claimed=True)
    assert runs.count("Tensor") == 2
    assert runs.count("ndarray") <= 1 + 8 * SPARED
    for c, verdict in zip(cotangents, found, strict=True):
        assert verdict.verdict == "agree"
        right = w.T @ (c * (1 - np.tanh(w @ x) ** 2))
        np.testing.assert_allclose(verdict.parts["x"].gradient.value, right, rtol=1e-10, atol=1e-13)


def test_an_entry_may_stand_where_a_step_leaves_the_domain():
    """d/dx log x = 1/x: at 2 - 2 there is no logarithm of Python's, which raises."""
    found = check(lambda x: sum(math.log(v) for v in x.tolist()), np.array([2.0, 3.5]))
    np.testing.assert_allclose(found.gradient, [1 / 2, 1 / 3.5], rtol=1e-9)
