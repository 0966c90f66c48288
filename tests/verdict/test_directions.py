"""Gradients of thousands of entries: by directions, with a stated power, and located."""

import re

import numpy as np
import pytest

from gradcheck.opinions.opinion import Directions, Opinion, estimate
from gradcheck.opinions.reverse import once
from gradcheck.testing import GradientError, assert_gradient, check
from gradcheck.verdict.consult import consult
from gradcheck.verdict.directions import least_seen, locate
from tests.support.cases import case

RNG = np.random.default_rng(11)
ROWS, TARGET = RNG.normal(size=(32, 64)), RNG.normal(size=(32, 10))
SHAPES = {"w1": (64, 64), "b1": (64,), "w2": (64, 64), "b2": (64,), "w3": (64, 10), "b3": (10,)}
PARAMETERS = {name: 0.2 * RNG.normal(size=shape) for name, shape in SHAPES.items()}


def loss(w1, b1, w2, b2, w3, b3):  # noqa: PLR0917
    """A tanh network of three layers on 32 rows, with the mean squared error."""
    h = np.tanh(np.tanh(ROWS @ w1 + b1) @ w2 + b2)
    return np.mean((h @ w3 + b3 - TARGET) ** 2)


def by_hand(w1, b1, w2, b2, w3, b3):  # noqa: PLR0917
    h1 = np.tanh(ROWS @ w1 + b1)
    h2 = np.tanh(h1 @ w2 + b2)
    d3 = 2 * (h2 @ w3 + b3 - TARGET) / TARGET.size
    d2 = (d3 @ w3.T) * (1 - h2**2)
    d1 = (d2 @ w2.T) * (1 - h1**2)
    return ROWS.T @ d1, d1.sum(0), h1.T @ d2, d2.sum(0), h2.T @ d3, d3.sum(0)


def changed(name, change):
    right = dict(zip(SHAPES, by_hand(**PARAMETERS), strict=True))
    return tuple((right | {name: change(right[name].copy())})[n] for n in SHAPES)


def one_off(g):
    g[17, 3] *= -1
    return g


def test_nine_thousand_parameters_agree_with_a_stated_power():
    """The verdict is `agree`, and says which single wrong entry it would have seen."""
    found = check(loss, *PARAMETERS.values(), gradient=by_hand)
    assert found
    assert found.verdict == "agree"
    least = re.search(r"entry above (\S+) would have been seen", found.message)
    assert float(least.group(1)) < 1e-6


@pytest.mark.parametrize(
    ("name", "change"), [("w2", one_off), ("w3", lambda g: -g), ("b2", lambda g: g[::-1])]
)
def test_a_wrong_backward_of_thousands_is_caught(name, change):
    """One entry, one sign, one permutation: caught, and the argument is named."""
    with pytest.raises(GradientError, match=f"d/d{name}"):
        assert_gradient(loss, *PARAMETERS.values(), gradient=changed(name, change))


@pytest.mark.parametrize(("name", "index"), [("w2", (17, 3)), ("w1", (63, 0)), ("b3", (4,))])
def test_masked_probes_lead_to_the_entry(name, index):
    """Halving what is moved finds the input and the entry that is off; nothing in what is right."""
    question = case(loss, **PARAMETERS)
    _, gradients = once(question)
    assert locate(question, gradients) is None
    gradients[name][index] += 0.01
    found = locate(question, gradients)
    assert (found.part, found.index) == (name, index)
    assert float(found.slope.mid()) == pytest.approx(found.given - 0.01, rel=1e-6)


def test_a_large_dissent_is_located():
    """Reverse mode's own fault among many entries is located by probes."""

    def leaking(x):
        kept = x if isinstance(x, np.ndarray) else x * np.r_[np.ones(1000), 1.01, np.ones(499)]
        return np.sum(np.sin(kept) * np.cos(np.arange(1500)))

    found = consult(case(leaking, x=np.linspace(-1, 1, 1500)), write=False)
    assert found.verdict == "dissent"
    assert any("masked probes lead to x[1000]" in note for note in found.notes), found.notes


def test_a_large_black_box_locates_a_wrong_claim():
    """A function of hundreds of floats that takes nothing else: the claim is located."""

    def closed(x):
        return float(sum(float(v) ** 2 for v in x))

    x = np.linspace(0.5, 1.5, 500)
    assert assert_gradient(closed, x, gradient=2 * x)
    wrong = 2 * x
    wrong[123] += 1e-3
    with pytest.raises(GradientError, match=r"x\[123\]"):
        assert_gradient(closed, x, gradient=wrong)


def test_the_stated_power_pays_for_the_bars_of_the_gradient_and_of_its_product():
    """By hand: the slope along u strays by |u| times each entry's bar, and by rounding of g · u."""
    ones = np.ones(100)
    along = Opinion("differences", directions=Directions({"x": ones[None]}, estimate(np.zeros(1))))

    def seen(value, error):
        mine = Opinion("reverse", gradients={"x": estimate(value * ones, error * ones)})
        return least_seen([along, mine])

    one_sure, every_bar = seen(0.0, 1e-9), 2 * 100 * 1e-9
    assert one_sure == pytest.approx(every_bar / 1e-6)  # one direction alone: a chance of 1e-6
    rounding = 2 * 16 * np.finfo(float).eps * np.sqrt(100) * 1e8
    assert seen(1e8, 1e-9) - one_sure == pytest.approx(rounding / 1e-6, rel=1e-3)
