"""How often the bar of a scan or a glance covers the truth, over twenty smooth families."""

import math
import random
import statistics
from collections.abc import Callable
from functools import cache
from itertools import cycle

import mpmath
import pytest
from mpmath import mp, mpf

from gradcheck.opinions.floats.blackbox import glance
from gradcheck.opinions.floats.scan import Scanned, scan
from gradcheck.opinions.limits import SURE

# One formula a family, written once for both: m is `math` or mpmath, x and a are floats or mpf.
FAMILIES: dict[str, Callable] = {
    "gelu": lambda m, x, a: x / 2 * (1 + m.erf(x / m.sqrt(2))),
    "softplus, naive": lambda m, x, a: m.log(1 + m.exp(a * x)),
    "softplus": lambda m, x, a: m.log1p(m.exp(x)) / a,
    "rational": lambda m, x, a: (x**3 - a * x + 1) / (1 + x * x),
    "narrow peak": lambda m, x, a: 1 / (1 + (32 * a * (x - 1)) ** 2),
    "oscillating": lambda m, x, a: m.sin(64 * a * x) + x * x,
    "chirp": lambda m, x, a: m.cos(8 * a * x * x) * x,
    "product": lambda m, x, a: x * m.exp(-a * x * x) * m.sin(3 * x),
    "composition": lambda m, x, a: m.exp(m.sin(a * m.cos(2 * x))),
    "deep composition": lambda m, x, a: m.tanh(a * m.sin(m.log(1 + x * x)) + m.tanh(x)),
    "x^x": lambda m, x, a: abs(x) ** (a * abs(x)),
    "erf": lambda m, x, a: m.erf(a * x) * x,
    "log1p": lambda m, x, a: m.log1p(a * x * x) - x,
    "logsumexp": lambda m, x, a: m.log(m.exp(x) + m.exp(a) + m.exp(-a * x)),
    "softmax": lambda m, x, a: m.exp(x) / (m.exp(x) + m.exp(-a * x) + 1),
    "cancelling cosine": lambda m, x, a: a * (1 - m.cos(x)) / x**2,
    "cancelling roots": lambda m, x, a: m.sqrt(x * x + a) - m.sqrt(x * x + 1),
    "cancelling variance": lambda m, x, a: (x * x + a * a) / 2 - ((x + a) / 2) ** 2,
    "cancelling cube": lambda m, x, a: ((x - 3 * a) * x + 3 * a * a) * x - a**3,
    "near an edge": lambda m, x, a: a * m.sqrt(1 - (x / (1 + abs(x))) ** 2),
    "near a pole": lambda m, x, a: m.tan(a * x) / x,
    "huge and tiny": lambda m, x, a: 2.0**-600 * m.sin(a * x) + 2.0**-620 * m.exp(x),
}

Point = tuple[str, mpf, Scanned]  # a family at a point, its slope in 50 digits, and what is seen


@cache
def sample(points, seed, seen=scan):
    """Slopes at random points, |x| from 3e-5 to 40 evenly in its logarithm.

    Every third is round: it has three bits, as homework does.
    """
    draw, found = random.Random(seed), []
    for _, family in zip(range(points), cycle(FAMILIES), strict=False):
        f, a = FAMILIES[family], draw.uniform(0.3, 3.0)
        x = draw.choice((-1, 1)) * 10 ** draw.uniform(-4.5, 1.6)
        if draw.random() < 1 / 3:
            a, x = rounded(a), rounded(x)
        with mp.workdps(50):
            truth = mpmath.diff(lambda t, f=f, a=a: f(mpmath, t, mpf(a)), mpf(x))
        found.append((family, truth, seen(lambda t, f=f, a=a: f(math, t, a), x)))
    return found


def error_of(point):
    return float(abs(mpf(point[2].value) - point[1]))


def check(points):
    """Of a thousand bars at most one misses the truth; what is answered."""
    sure = [point for point in points if point[2].kind != "unresolved"]
    missed = [p for p in sure if p[2].kind != "smooth" or not error_of(p) <= p[2].error]
    assert len(missed) <= len(points) / 1000, missed
    return sure


def rounded(x):
    mantissa, exponent = math.frexp(x)
    return math.ldexp(round(8 * mantissa), exponent - 3)


def glimpsed(f, x):
    """A glance as black boxes of more than a few entries take it; unresolved where it has none."""
    seen = glance(f, x, max(1.0, abs(x)))
    if seen is None or seen.error > SURE * abs(seen.value):
        return Scanned("unresolved")
    return seen


def test_the_truth_itself():
    with mp.workdps(50):
        x, a = mpf(0.7), mpf(1.3)
        by_hand = {
            "log1p": 2 * a * x / (1 + a * x * x) - 1,
            "cancelling variance": x - (x + a) / 2,
            "cancelling cube": 3 * (x - a) ** 2,
            "x^x": x ** (a * x) * a * (mpmath.log(x) + 1),
        }
        for family, slope in by_hand.items():
            f = FAMILIES[family]
            found = mpmath.diff(lambda t, f=f: f(mpmath, t, a), x)
            assert abs(found - slope) < mpf(10) ** -30


@pytest.mark.parametrize(
    ("seed", "points"),
    [(2718, 300), *(pytest.param(s, 2_000, marks=pytest.mark.sweep) for s in (31, 415, 9265))],
)
def test_the_bar_covers_the_truth(seed, points):
    """And is narrow: under 1000 median errors, of ten digits or more where nothing cancels."""
    answered = check(sample(points, seed))
    assert len(answered) > 0.98 * points
    bar = statistics.median(seen.error for *_, seen in answered)
    assert bar < 1e3 * statistics.median(map(error_of, answered))
    easy = {"softplus", "rational", "composition", "logsumexp", "deep composition"}
    clear = [(s.error, t) for family, t, s in answered if family in easy and abs(t) > 1e-3]
    assert statistics.median(error / abs(float(truth)) for error, truth in clear) < 1e-11


def test_the_bar_of_a_glance_covers_the_truth():
    """Of 1,100 random points two of three are settled by nine samples, at most one bar misses."""
    assert len(check(sample(1_100, 2718, glimpsed))) > 1_100 * 2 / 3
