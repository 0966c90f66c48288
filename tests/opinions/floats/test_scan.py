"""Scans of functions whose derivative is known."""

import math
import random
import statistics
from collections.abc import Callable
from functools import cache
from itertools import cycle

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from gradcheck.opinions.floats.blackbox import glance
from gradcheck.opinions.floats.scan import Scanned, scan
from gradcheck.opinions.limits import SURE
from tests.support.scanned import (
    BROKEN,
    LOST,
    SMOOTH,
    covered,
    gelu,
    named,
    noisy,
    swinging,
    true_slope,
    versine,
)


@pytest.mark.parametrize("case", SMOOTH, ids=named)
def test_a_derivative_is_found_within_its_bar(case):
    slope = scan(case.f, case.x)
    assert slope.kind == case.kind, slope
    assert covered(slope, true_slope(case.truth, case.x)), slope


@pytest.mark.parametrize("case", LOST, ids=named)
def test_lost_digits_are_no_confident_answer(case):
    """Where f itself has lost the digits the bar still covers the truth, or there is no answer."""
    slope = scan(case.f, case.x)
    if slope.kind == "unresolved":
        assert (math.isnan(slope.value), slope.error) == (True, math.inf)
    else:
        assert slope.kind == "smooth"
        assert covered(slope, true_slope(case.truth, case.x)), slope


@pytest.mark.parametrize("case", BROKEN, ids=named)
def test_a_point_without_derivative_is_named(case):
    """The kind, the one-sided derivatives as far as they exist, and the detail are right."""
    slope = scan(case.f, case.x)
    assert slope.kind == case.kind, slope
    assert math.isnan(slope.value), slope
    bar = slope.error if case.kind == "kink" else 1e-9
    assert slope.left == pytest.approx(case.left, abs=bar, nan_ok=True), slope
    assert slope.right == pytest.approx(case.right, abs=bar, nan_ok=True), slope
    assert case.says in slope.detail
    assert case.kind != "kink" or slope.error < 1e-9 * abs(case.right - case.left)


@pytest.mark.parametrize(
    ("name", "bar"),
    [
        ("sine", 1e-12),
        ("abs beside its kink", 1e-12),
        ("versine at 1e-4", 2e-6),
        ("log", 1e-11),
        ("beyond a pole", 1e-12),
    ],
)
def test_a_bar_is_no_wider_than_it_must_be(name, bar):
    case = next(case for case in SMOOTH if case.name == name)
    assert scan(case.f, case.x).error < bar


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (versine, 1e-7),
        (lambda x: math.floor(1000 * x), 0.52),
        (noisy(1.0), 1.0),
        *((swinging(speed), 0.0) for speed in (0.4, 1.0, 2.0, 3.0)),
        (lambda x: swinging(1.0)(x - 1), 1.0),
        (lambda x: x * math.log(-math.log(abs(x))) if x else 0.0, 0.0),
        (lambda x: abs(x) ** 0.9997, 0.0),
    ],
)
def test_never_a_guess(f, x):
    """Stairs that may be meant, noise without end, slopes that never settle: unresolved."""
    slope = scan(f, x, scale=0.25)
    assert (slope.kind, slope.error) == ("unresolved", math.inf)
    assert math.isnan(slope.value)


@pytest.mark.parametrize(
    "outside",
    [
        lambda x: math.nan,
        lambda x: math.inf,
        lambda x: 1j * x,
        lambda x: 1 / 0,
        lambda x: math.sqrt(-1),
        lambda x: math.exp(1e4),
    ],
    ids=["nan", "inf", "complex", "ZeroDivisionError", "ValueError", "OverflowError"],
)
def test_every_way_to_leave_the_domain_is_one(outside):
    """Where f is outside its domain to one side, the other side's derivative is found."""
    slope = scan(lambda x: x * x if x >= 1 else outside(x), 1.0)
    assert slope.kind == "one-sided"
    assert abs(slope.value - 2) <= slope.error < 1e-9
    assert (slope.value, math.isnan(slope.left)) == (slope.right, True)
    other = scan(lambda x: x * x if x <= 1 else outside(x), 1.0)
    assert (other.kind, other.value, math.isnan(other.right)) == ("one-sided", other.left, True)


def test_f_is_asked_once_a_point_and_its_own_errors_are_not_hidden():
    """No point is asked twice; a TypeError inside f is a bug, not an edge of the domain."""
    asked: list[float] = []
    scan(lambda x: asked.append(x) or gelu(x), -8.0)
    assert len(asked) == len(set(asked)) < 600
    with pytest.raises(TypeError):
        scan(len, 1.0)  # type: ignore[arg-type]


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e5])
def test_along_a_direction_the_scale_bounds_the_steps(scale):
    """With `scale`, f is asked only within 1.25 of it, down to a few ulps of it; the bar holds."""
    asked: list[float] = []
    slope = scan(lambda t: asked.append(t) or math.exp(2 + t / scale), 0.0, scale=scale)
    steps = [abs(t) for t in asked if t]
    assert max(steps) <= 1.25 * scale
    assert 2 * math.ulp(scale) < min(steps) < 64 * math.ulp(scale)
    assert slope.kind == "smooth"
    assert abs(slope.value - math.exp(2) / scale) <= slope.error < 1e-11 * abs(slope.value)


def test_a_direction_through_large_coordinates():
    """x0 + t u rounds t away below an ulp of x0: the bar knows it."""
    x0, u = np.array([3e5, -2e5]), np.array([1.0, 1.0])
    slope = scan(lambda t: float(np.prod(x0 + t * u)), 0.0, scale=1.0)
    assert slope.kind == "smooth"
    assert abs(slope.value - 1e5) <= slope.error < 1e-2


@pytest.mark.parametrize(
    ("f", "x", "scale", "says"),
    [
        (lambda x: x + 1e-9 * (x > 1), 1.0, None, "f(x+0) - f(x) = 1e-09"),  # float32's or f's own?
        (math.sin, 1e10, 1e-4, "resolution"),  # no ladder fits between 8 ulp of 1e10 and 1e-4
    ],
)
def test_what_cannot_be_told_is_unresolved(f, x, scale, says):
    """A step as small as rounding; a scale below the resolution of x."""
    slope = scan(f, x, scale=scale)
    assert slope.kind == "unresolved"
    assert says in slope.detail


@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    x=st.floats(-1e3, 1e3),
    left=st.integers(-50, 50),
    right=st.integers(-50, 50),
    bend=st.integers(-5, 5),
)
def test_two_parabolas_that_meet(x, left, right, bend):
    """Slopes that differ make a kink with both slopes, equal ones a smooth point."""

    def f(t):
        return (right if t > x else left) * (t - x) + bend * (t - x) ** 2

    slope = scan(f, x)
    assert slope.kind == ("smooth" if left == right else "kink")
    assert abs(slope.left - left) <= 1e-9
    assert abs(slope.right - right) <= 1e-9
    assert slope.error <= 1e-9


@settings(deadline=None, derandomize=True, max_examples=60)
@given(distance=st.floats(1e-12, 0.3), side=st.sampled_from([-1, 1]))
def test_a_kink_beside_x_is_not_at_x(distance, side):
    """However near the kink of |x - c|, x has the slope of its own side, and a bar as derived.

    Three rungs this side of the kink, each at most 10/8 of twice the last, are enough for a bar
    without truncation: the finest of them is above a tenth of the distance d. There an ulp of x
    misplaced costs eps / h, and twice (`SAFETY`) the noise over h is heard: 2 eps (d + h) / h of
    the values' own rounding, or the height of a step that halving finds between neighbouring
    floats at the kink, two ulps, counted twice. Together 10 (1 + 2 * 4) eps / d and 2 * 2 * 11 eps.
    """
    slope = scan(lambda t: abs(t - 1), 1 + side * distance)
    assert slope.kind == "smooth"
    assert abs(slope.value - side) <= slope.error < (90 / distance + 44) * 2**-52


@pytest.mark.parametrize("width", [1e-7, 3e-7, 1e-6, 3e-6, 1e-5])
@pytest.mark.parametrize("aside", [-0.3, -0.1, 0.02, 0.1, 0.3])
def test_a_bend_that_rounding_hides_is_not_smoothed_away(width, aside):
    """Far from a narrow hyperbola's bottom central quotients settle, at another slope.

    Rounding inside 1 - (1 - t) hides the bottom; the slopes to both sides differ all the same.
    """
    away = -aside * width

    def f(t):
        return math.sqrt(1 - (1 - (width**2 + (t - 0.3 + away) ** 2))) + 0.1 * t

    slope = scan(f, 0.3)
    assert slope.kind == "smooth"
    assert abs(slope.value - 0.1 - away / math.hypot(width, away)) <= slope.error


# -- slopes beside a bend or a bump that is far narrower than x: near it, at its foot, beyond it


# A formula a shape, of u = (x - place) / width and the height over the width; a slope beside it.
SHAPES = {
    "hypot": lambda m, x, u, a: a * m.sqrt(1 + u * u) + x,
    "softplus": lambda m, x, u, a: a * m.log(1 + m.exp(u)) + x,
    "tanh": lambda m, x, u, a: a * m.tanh(u) + x * x,
    "arctan": lambda m, x, u, a: a * u * m.atan(u) + m.sin(x),
    "log of cosh": lambda m, x, u, a: a * m.log(m.cosh(u)) + m.cos(3 * x),
    "gauss": lambda m, x, u, a: a * m.exp(-u * u) + x,
    "lorentz": lambda m, x, u, a: a / (1 + u * u) + m.sin(x),
    "sech": lambda m, x, u, a: a / m.cosh(u) + m.exp(x / 3),
    "erf": lambda m, x, u, a: a * m.erf(u) + m.cos(x),
    "packet": lambda m, x, u, a: a * m.exp(-u * u) * m.sin(3 * u) + x * x,
}


def beside(shape, draw):
    """A scan up to six widths from a bend, and the slope in 60 digits."""
    x, width = draw.choice((-1, 1)) * draw.uniform(0.1, 3), 10 ** draw.uniform(-9, -2)
    place, height = x - width * draw.uniform(-6, 6), width * 10 ** draw.uniform(-3, 3)
    f = lambda m, t: SHAPES[shape](m, t, (t - place) / width, height)
    with mp.workdps(60):
        truth = mpmath.diff(lambda t: f(mpmath, t), mpf(x), h=mpf(width) * mpf(10) ** -20)
    return scan(lambda t: f(math, t), x), truth


@pytest.mark.parametrize(
    ("seed", "points"),
    [(1, 500), *(pytest.param(seed, 2_000, marks=pytest.mark.sweep) for seed in (21, 22, 23))],
)
def test_the_bar_holds_beside_bends(seed, points):
    draw = random.Random(seed)
    seen = [beside(list(SHAPES)[k % len(SHAPES)], draw) for k in range(points)]
    sure = [(s, truth) for s, truth in seen if s.kind != "unresolved"]
    assert len(sure) > 0.98 * points
    missed = [s for s, t in sure if s.kind != "smooth" or abs(mpf(s.value) - t) > s.error]
    assert len(missed) <= max(1, points / 1000), missed


# -- how often the bar of a scan or a glance covers the truth, over twenty smooth families ---------

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
