"""How often the bar of a scan or a glance covers the truth, over twenty smooth families."""

import math
import random
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from types import ModuleType

import mpmath
import pytest
from mpmath import mp, mpf

from gradcheck.opinions.floats.quick import glance
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
SEED, SWEEPS = 2718, (31, 415, 9265)


@dataclass(frozen=True)
class Point:
    """A family's function at a point, with the true slope in 50 digits."""

    family: str
    x: float
    a: float
    slope: Scanned
    truth: mpf

    def error(self) -> float:
        """How far the scan was off."""
        return float(abs(mpf(self.slope.value) - self.truth))

    def held(self) -> bool:
        """Whether the answer is none, or a smooth one whose bar covers the truth."""
        if self.slope.kind == "unresolved":
            return True
        return self.slope.kind == "smooth" and self.error() <= self.slope.error


@cache
def sample(points: int, seed: int) -> list[Point]:
    """Scans at random points, |x| from 3e-5 to 40 evenly in its logarithm; every third is round."""
    draw = random.Random(seed)
    families = list(FAMILIES) * math.ceil(points / len(FAMILIES))
    return [scanned(family, draw) for family in families[:points]]


def scanned(family: str, draw: random.Random, seen: Callable[..., Scanned] = scan) -> Point:
    """One random point of a family, scanned; round ones have three bits, as homework does."""
    f, a = FAMILIES[family], draw.uniform(0.3, 3.0)
    x = draw.choice((-1, 1)) * 10 ** draw.uniform(-4.5, 1.6)
    if draw.random() < 1 / 3:
        a, x = rounded(a), rounded(x)
    with mp.workdps(50):
        truth = mpmath.diff(lambda t: f(mpmath, t, mpf(a)), mpf(x))
    return Point(family, x, a, seen(bind(f, math, a), x), truth)


def rounded(x: float) -> float:
    """The nearest number of three bits."""
    mantissa, exponent = math.frexp(x)
    return math.ldexp(round(8 * mantissa), exponent - 3)


def bind(f: Callable, m: ModuleType, a: float) -> Callable[[float], float]:
    """A family's function of x alone."""
    return lambda x: f(m, x, a)


def glimpsed(f: Callable[[float], float], x: float) -> Scanned:
    """A glance as black boxes of more than a few entries take it; unresolved where it has none."""
    seen = glance(f, x, max(1.0, abs(x)))
    if seen is None or seen.error > SURE * abs(seen.value):
        return Scanned("unresolved")
    return seen


def check(points: list[Point]) -> None:
    """The three promises: coverage, bars of use, and answers nearly everywhere."""
    missed = [point for point in points if not point.held()]
    assert len(missed) <= len(points) / 1000, missed
    answered = [point for point in points if point.slope.kind == "smooth"]
    bar = statistics.median(point.slope.error for point in answered)
    error = statistics.median(point.error() for point in answered)
    assert bar < 1e3 * error
    assert len(answered) > 0.98 * len(points)


def test_the_truth_itself() -> None:
    """The reference slopes agree with derivatives worked out by hand."""
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


def test_the_bar_covers_the_truth() -> None:
    """On 300 random points no bar misses, and the median bar is under 1000 median errors."""
    check(sample(300, SEED))


def test_bars_are_narrow_where_nothing_cancels() -> None:
    """Well-conditioned families keep ten digits or more at most points."""
    easy = {"softplus", "rational", "composition", "logsumexp", "deep composition"}
    relative = [
        point.slope.error / abs(float(point.truth))
        for point in sample(300, SEED)
        if point.family in easy and abs(point.truth) > 1e-3
    ]
    assert statistics.median(relative) < 1e-11


def test_the_bar_of_a_glance_covers_the_truth() -> None:
    """Of 1,100 random points two of three are settled by nine samples, at most one bar misses."""
    draw = random.Random(SEED)
    points = [scanned(family, draw, glimpsed) for family in 50 * list(FAMILIES)]
    missed = [point for point in points if not point.held()]
    assert len(missed) <= len(points) / 1000, missed
    assert sum(point.slope.kind == "smooth" for point in points) > len(points) * 2 / 3


@pytest.mark.sweep
@pytest.mark.parametrize("seed", SWEEPS)
def test_the_bar_covers_the_truth_at_length(seed: int) -> None:
    """On 2,000 random points of each seed at least 99.9 % of the bars hold."""
    check(sample(2000, seed))
