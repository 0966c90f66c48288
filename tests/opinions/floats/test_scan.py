"""Scans of functions whose derivative is known, from the well-behaved to the hopeless."""

import hashlib
import math
import struct
from collections.abc import Callable
from dataclasses import dataclass

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from gradcheck.opinions.floats.glance import glance
from gradcheck.opinions.floats.scan import Scanned, scan

Function = Callable[[float], float]
Truth = Callable[[mpf], mpf] | float | None


@dataclass(frozen=True)
class Case:
    """A function at a point: the kind to be found there and the derivative to be covered."""

    name: str
    f: Function
    x: float
    kind: str
    truth: Truth = None


@dataclass(frozen=True)
class Broken:
    """A function at a point without derivative: the one-sided ones and words of the detail."""

    name: str
    f: Function
    x: float
    kind: str
    left: float
    right: float
    says: str


def relu(x: float) -> float:
    """The positive part."""
    return max(x, 0.0)


def gelu(x: float) -> float:
    """Gelu as it is usually written, with all digits lost far to the left."""
    return 0.5 * x * (1 + math.erf(x / math.sqrt(2)))


def gelu_slope(x: mpf) -> mpf:
    """Gelu's derivative: the normal distribution plus x times its density."""
    return mpmath.ncdf(x) + x * mpmath.npdf(x)


def naive_softplus(x: float) -> float:
    """Softplus that absorbs its exponential in 1."""
    return math.log(1 + math.exp(x))


def sigmoid(x: mpf) -> mpf:
    """Softplus's derivative."""
    return 1 / (1 + mpmath.exp(-x))


def versine(x: float) -> float:
    """(1 - cos x)/x², which cancels."""
    return (1 - math.cos(x)) / x**2


def versine_slope(x: mpf) -> mpf:
    """Derivative of (1 - cos x)/x² by the quotient rule."""
    return mpmath.sin(x) / x**2 - 2 * (1 - mpmath.cos(x)) / x**3


def noisy(size: float) -> Function:
    """The sine with uniform noise that depends on every bit of x."""

    def f(x: float) -> float:
        digest = hashlib.md5(struct.pack("d", x)).digest()
        return math.sin(x) + size * (int.from_bytes(digest[:4], "little") / 2**31 - 1)

    return f


def shifted_cosine(x: mpf) -> mpf:
    """Derivative of sin(x + 1e8)."""
    return mpmath.cos(x + 10**8)


def runge_slope(x: mpf) -> mpf:
    """Derivative of 1/(1 + 25 x²)."""
    return -50 * x / (1 + 25 * x * x) ** 2


def swinging(speed: float) -> Function:
    """X sin(log |x|), whose secants at 0 swing for ever."""
    return lambda x: x * math.sin(speed * math.log(abs(x))) if x else 0.0


def wave(frequency: float) -> Function:
    """A sine of that frequency."""
    return lambda x: math.sin(frequency * x)


def wave_slope(frequency: float) -> Callable[[mpf], mpf]:
    """Its derivative."""
    return lambda x: frequency * mpmath.cos(frequency * x)


SMOOTH = [
    Case("sine", math.sin, 1.0, "smooth", mpmath.cos),
    Case("cosine at its top", math.cos, 0.0, "smooth", 0.0),
    Case("constant", lambda x: 3.0, 1.0, "smooth", 0.0),
    Case("zero", lambda x: 0.0, 2.0, "smooth", 0.0),
    Case("abs beside its kink", abs, 1e-9, "smooth", 1.0),
    Case("relu", relu, 0.3, "smooth", 1.0),
    Case("relu just off", relu, -1e-9, "smooth", 0.0),
    Case("x|x|", lambda x: x * abs(x), 0.0, "smooth", 0.0),
    Case("|x|^1.5", lambda x: abs(x) ** 1.5, 0.0, "smooth", 0.0),
    Case("relu^1.5", lambda x: relu(x) ** 1.5, 0.0, "smooth", 0.0),
    Case("sqrt near its edge", math.sqrt, 1e-8, "smooth", lambda x: 1 / (2 * mpmath.sqrt(x))),
    Case("log near its pole", math.log, 1e-10, "smooth", lambda x: 1 / x),
    Case("log beside its pole", math.log, 1e-300, "smooth", lambda x: 1 / x),
    Case("log", math.log, 0.3, "smooth", lambda x: 1 / x),
    Case("1/x near its pole", lambda x: 1 / x, 1e-6, "smooth", lambda x: -1 / x**2),
    Case("1/x", lambda x: 1 / x, 0.4, "smooth", lambda x: -1 / x**2),
    Case("steep exp", lambda x: math.exp(100 * x), 1.0, "smooth", 100 * mpmath.exp(mpf(100))),
    Case("fast sine", wave(1e6), 1.0, "smooth", wave_slope(1e6)),
    Case("faster sine", wave(1e12), 1.0, "smooth", wave_slope(1e12)),
    Case("x^x near 0", lambda x: x**x, 1e-3, "smooth", lambda x: x**x * (mpmath.log(x) + 1)),
    Case("x^x", lambda x: x**x, 0.5, "smooth", lambda x: x**x * (mpmath.log(x) + 1)),
    Case("versine at 1e-4", versine, 1e-4, "smooth", versine_slope),
    Case("versine at 1e-2", versine, 1e-2, "smooth", versine_slope),
    Case("versine at 1e-3", versine, 1e-3, "smooth", versine_slope),
    Case("versine across 0", versine, -0.017675830842328266, "smooth", versine_slope),
    Case(
        "three digits cancel",
        lambda x: (math.exp(x) - 1) / x - 1 - x / 2,
        0.016809553285329966,
        "smooth",
        lambda x: mpmath.exp(x) / x - (mpmath.exp(x) - 1) / x**2 - mpf(1) / 2,
    ),
    Case(
        "round numbers",
        lambda x: math.cos(x + 1.5) - math.cos(1.5),
        0.0234375,
        "smooth",
        lambda x: -mpmath.sin(x + 1.5),
    ),
    Case("noise 1e-6", noisy(1e-6), 1.0, "smooth", mpmath.cos),
    Case("noise 1e-3", noisy(1e-3), 1.0, "smooth", mpmath.cos),
    Case("float32 inside", lambda x: float(np.sin(np.float32(x))), 1.0, "smooth", mpmath.cos),
    Case("float32 in a sum", lambda x: float(np.float32(x) + np.float32(99)), 0.7, "smooth", 1.0),
    Case("square at 1e10", lambda x: x * x, 1e10, "smooth", 2e10),
    Case("square at 1e20", lambda x: x * x, 1e20, "smooth", 2e20),
    Case("square at 1e-200", lambda x: x * x, 1e-200, "smooth", 2e-200),
    Case("identity at 1e300", lambda x: x, 1e300, "smooth", 1.0),
    Case("sine at 1e-300", math.sin, 1e-300, "smooth", 1.0),
    Case("sine at 1e10", math.sin, 1e10, "smooth", mpmath.cos),
    Case("tan near its pole", math.tan, math.pi / 2 - 1e-3, "smooth", lambda x: mpmath.sec(x) ** 2),
    Case("x² sin(1/x)", lambda x: x * x * math.sin(1 / x) if x else 0.0, 0.0, "smooth", 0.0),
    Case(
        "exp(-1/x²)",
        lambda x: math.exp(-1 / x**2),
        0.05,
        "smooth",
        lambda x: 2 / x**3 * mpmath.exp(-1 / x**2),
    ),
    Case(
        "Runge",
        lambda x: 1 / (1 + 25 * x * x),
        0.2,
        "smooth",
        runge_slope,
    ),
    Case(
        "narrow Runge",
        lambda x: 1 / (1 + 1e6 * x * x),
        1e-3,
        "smooth",
        lambda x: -2e6 * x / (1 + 1e6 * x * x) ** 2,
    ),
    Case("softplus", lambda x: math.log1p(math.exp(x)), -40.0, "smooth", sigmoid),
    Case("large offset", lambda x: 1e8 + x * x, 1.0, "smooth", 2.0),
    Case(
        "ripples",
        lambda x: x * x * (1 + math.sin(1e9 * x) / 128),
        2.0,
        "smooth",
        lambda x: 2 * x * (1 + mpmath.sin(1e9 * x) / 128) + x * x * 1e9 * mpmath.cos(1e9 * x) / 128,
    ),
    Case("floor between steps", math.floor, 0.5, "smooth", 0.0),
    Case("sawtooth", lambda x: x - math.floor(x), 0.5, "smooth", 1.0),
    Case("beside a jump", lambda x: x * x + 1 if x > 0 else x, 1e-3, "smooth", lambda x: 2 * x),
    Case("subnormal values", math.exp, -740.0, "smooth", mpmath.exp),
    Case(
        "rounded argument",
        lambda x: math.sin(x + 1e8),
        1.0,
        "smooth",
        lambda x: mpmath.cos(x + 1e8),
    ),
    Case("eighth power", lambda x: x**8, 0.0, "smooth", 0.0),
    Case("cancels at 0", lambda x: (1 - math.cos(x)) / x if x else 0.0, 0.0, "smooth", 0.5),
    Case(
        "edge of the circle",
        lambda x: math.sqrt(1 - x * x),
        1 - 1e-9,
        "smooth",
        lambda x: -x / mpmath.sqrt(1 - x * x),
    ),
    Case("x^1.5 at its edge", lambda x: x**1.5, 0.0, "one-sided", 0.0),
    Case("asin squared at its edge", lambda x: math.sqrt(1 - x) ** 3, 1.0, "one-sided", 0.0),
]

SMOOTH += [
    Case("product by logs", lambda x: math.exp(math.log(x) - 90), 1e-19, "smooth", math.exp(-90)),
    Case(
        "f(x) alone is off", lambda x: math.sin(x) + 1e-14 * (x == 1.0), 1.0, "smooth", mpmath.cos
    ),
]
LOST = [
    *(Case(f"gelu at {x}", gelu, x, "", gelu_slope) for x in (-6.0, -7.5, -8.0, -8.2, -8.3)),
    *(Case(f"gelu at {x}", gelu, x, "", gelu_slope) for x in (-8.5, -9.0, -12.0, -29.5, -40.0)),
    *(Case(f"softplus at {x}", naive_softplus, x, "", sigmoid) for x in (-20.0, -30.0, -35.0)),
    *(Case(f"softplus at {x}", naive_softplus, x, "", sigmoid) for x in (-37.0, -80.0, -300.0)),
    *(Case(f"versine at {x}", versine, x, "", versine_slope) for x in (1e-5, 1e-6, 1e-7, 1e-8)),
    Case("noise 1", noisy(1.0), 1.0, "", mpmath.cos),
    Case("half precision", lambda x: float(np.float16(x) ** 2), 0.7, "", lambda x: 2 * x),
    Case("near a kink", lambda x: relu(x - 1), 1 + 1e-14, "", 1.0),
]

BROKEN = [
    Broken("abs", abs, 0.0, "kink", -1.0, 1.0, "slope -1 to the left, 1 to the right"),
    Broken("relu", relu, 0.0, "kink", 0.0, 1.0, "slope 0 to the left, 1 to the right"),
    Broken("leaky relu", lambda x: max(x, 0.25 * x), 0.0, "kink", 0.25, 1.0, "slope 0.25"),
    Broken("max(x, x²)", lambda x: max(x, x * x), 1.0, "kink", 1.0, 2.0, "2 to the right"),
    Broken("a kink on a slope", lambda x: 100 * x + abs(x), 0.0, "kink", 99.0, 101.0, "slope 99"),
    Broken("step", lambda x: float(x > 0), 0.0, "jump", 0.0, math.nan, "f(x+0) - f(x) = 1"),
    Broken("floor", math.floor, 1.0, "jump", math.nan, 0.0, "f(x-0) - f(x) = -1"),
    Broken("sign", np.sign, 0.0, "jump", math.nan, math.nan, "f(x-0) - f(x) = -1; f(x+0)"),
    Broken("sqrt", math.sqrt, 0.0, "vertical", math.nan, math.inf, "f(x+h) - f(x) ~ h^0.500"),
    Broken("cbrt", np.cbrt, 0.0, "vertical", math.inf, math.inf, "f(x+h) - f(x) ~ h^0.333"),
    Broken("cusp", lambda x: abs(x) ** 0.99, 0.0, "vertical", -math.inf, math.inf, "~ h^0.990"),
    Broken(
        "x log x",
        lambda x: x * math.log(x) if x else 0.0,
        0.0,
        "vertical",
        math.nan,
        -math.inf,
        "f(x+h) - f(x) ~ h^0.9",
    ),
    Broken("acos", math.acos, 1.0, "vertical", -math.inf, math.nan, "f(x-h) - f(x) ~ h^0.500"),
    Broken("pole", lambda x: 1 / x, 0.0, "undefined", math.nan, math.nan, "f(x) is not"),
    Broken("outside", math.log, -1.0, "undefined", math.nan, math.nan, "f(x) is not"),
    Broken("complex", lambda x: (x - 2) ** 0.5, 1.0, "undefined", math.nan, math.nan, "f(x)"),  # type: ignore[arg-type, return-value]
    Broken(
        "one point",
        lambda x: 1.0 if x == 2 else math.nan,
        2.0,
        "undefined",
        math.nan,
        math.nan,
        "side",
    ),
    Broken("not a point", math.sin, math.nan, "undefined", math.nan, math.nan, "f(x) is not"),
]


def true_slope(truth: Truth, x: float) -> mpf:
    """The truth of a case in 60 digits."""
    with mp.workdps(60):
        return truth(mpf(x)) if callable(truth) else mpf(truth)


def covered(slope: Scanned, truth: mpf) -> bool:
    """Whether the bar reaches the truth."""
    with mp.workdps(60):
        return bool(abs(mpf(slope.value) - truth) <= slope.error)


def named(case: Case | Broken) -> str:
    """The name pytest shows for a case."""
    return case.name


@pytest.mark.parametrize("case", SMOOTH, ids=named)
def test_a_derivative_is_found_within_its_bar(case: Case) -> None:
    """The kind is right and the bar covers the true derivative."""
    slope = scan(case.f, case.x)
    assert slope.kind == case.kind, slope
    assert covered(slope, true_slope(case.truth, case.x)), slope


@pytest.mark.parametrize("case", LOST, ids=named)
def test_lost_digits_are_no_confident_answer(case: Case) -> None:
    """Where f itself has lost the digits the bar still covers the truth, or there is no answer."""
    slope = scan(case.f, case.x)
    unresolved = slope.kind == "unresolved" and math.isnan(slope.value) and slope.error == math.inf
    honest = slope.kind == "smooth" and covered(slope, true_slope(case.truth, case.x))
    assert unresolved or honest, slope


@pytest.mark.parametrize("case", BROKEN, ids=named)
def test_a_point_without_derivative_is_named(case: Broken) -> None:
    """The kind, the one-sided derivatives as far as they exist, and the detail are right."""
    slope = scan(case.f, case.x)
    assert slope.kind == case.kind, slope
    assert math.isnan(slope.value), slope
    bar = slope.error if case.kind == "kink" else 1e-9
    assert slope.left == pytest.approx(case.left, abs=bar, nan_ok=True), slope
    assert slope.right == pytest.approx(case.right, abs=bar, nan_ok=True), slope
    assert case.says in slope.detail


@pytest.mark.parametrize("case", [c for c in BROKEN if c.kind == "kink"], ids=named)
def test_a_kink_has_narrow_bars(case: Broken) -> None:
    """The error at a kink is finite and small against the gap between the two slopes."""
    assert scan(case.f, case.x).error < 1e-9 * abs(case.right - case.left)


@pytest.mark.parametrize(
    ("name", "bar"),
    [("sine", 1e-12), ("abs beside its kink", 1e-12), ("versine at 1e-4", 2e-6), ("log", 1e-11)],
)
def test_a_bar_is_no_wider_than_it_must_be(name: str, bar: float) -> None:
    """Bars that hold because they are huge would be no bars."""
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
def test_never_a_guess(f: Function, x: float) -> None:
    """Stairs that may be meant, noise without end, slopes that never settle: unresolved."""
    slope = scan(f, x, scale=0.25)
    assert (slope.kind, slope.error) == ("unresolved", math.inf)
    assert math.isnan(slope.value)


def test_a_step_as_small_as_rounding_is_neither_jump_nor_slope() -> None:
    """A jump by 1e-9 may be float32's or f's own: unresolved, with the step told."""
    slope = scan(lambda x: x + 1e-9 * (x > 1), 1.0)
    assert slope.kind == "unresolved"
    assert "f(x+0) - f(x) = 1e-09" in slope.detail


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
def test_every_way_to_leave_the_domain_is_one(outside: Function) -> None:
    """Where f is outside its domain to one side, the other side's derivative is found."""
    slope = scan(lambda x: x * x if x >= 1 else outside(x), 1.0)
    assert slope.kind == "one-sided"
    assert abs(slope.value - 2) <= slope.error < 1e-9
    assert (slope.value, math.isnan(slope.left)) == (slope.right, True)
    mirrored = scan(lambda x: x * x if x <= 1 else outside(x), 1.0)
    assert (mirrored.kind, mirrored.value, math.isnan(mirrored.right)) == (
        "one-sided",
        mirrored.left,
        True,
    )


def test_an_error_of_f_that_is_no_domain_error_is_not_hidden() -> None:
    """A TypeError inside f is a bug, not an edge of the domain."""
    with pytest.raises(TypeError):
        scan(len, 1.0)  # type: ignore[arg-type]


def test_evaluations_count_every_call_once() -> None:
    """`evaluations` is the number of times f was called, and no point is asked twice."""
    asked: list[float] = []
    slope = scan(lambda x: asked.append(x) or gelu(x), -8.0)
    assert len(asked) == len(set(asked)) == slope.evaluations < 600


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e5])
def test_along_a_direction_the_scale_bounds_the_steps(scale: float) -> None:
    """With `scale`, f is asked only within 1.25 of it, down to a few ulps of it; the bar holds."""
    asked: list[float] = []
    slope = scan(lambda t: asked.append(t) or math.exp(2 + t / scale), 0.0, scale=scale)
    steps = [abs(t) for t in asked if t]
    assert max(steps) <= 1.25 * scale
    assert 2 * math.ulp(scale) < min(steps) < 64 * math.ulp(scale)
    assert slope.kind == "smooth"
    assert abs(slope.value - math.exp(2) / scale) <= slope.error < 1e-11 * abs(slope.value)


def test_a_direction_through_large_coordinates() -> None:
    """x0 + t u rounds t away below an ulp of x0: the bar knows it."""
    x0, u = np.array([3e5, -2e5]), np.array([1.0, 1.0])
    slope = scan(lambda t: float(np.prod(x0 + t * u)), 0.0, scale=1.0)
    assert slope.kind == "smooth"
    assert abs(slope.value - 1e5) <= slope.error < 1e-2


def test_a_scale_below_the_resolution_of_x_is_refused() -> None:
    """No ladder fits between 8 ulp of 1e10 and 1e-4."""
    slope = scan(math.sin, 1e10, scale=1e-4)
    assert slope.kind == "unresolved"
    assert "resolution" in slope.detail


@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    x=st.floats(-1e3, 1e3),
    left=st.integers(-50, 50),
    right=st.integers(-50, 50),
    bend=st.integers(-5, 5),
)
def test_two_parabolas_that_meet(x: float, left: int, right: int, bend: int) -> None:
    """Slopes that differ make a kink with both slopes, equal ones a smooth point."""

    def f(t: float) -> float:
        return (right if t > x else left) * (t - x) + bend * (t - x) ** 2

    slope = scan(f, x)
    assert slope.kind == ("smooth" if left == right else "kink")
    assert abs(slope.left - left) <= 1e-9
    assert abs(slope.right - right) <= 1e-9
    assert slope.error <= 1e-9


@settings(deadline=None, derandomize=True, max_examples=60)
@given(distance=st.floats(1e-12, 0.3), side=st.sampled_from([-1, 1]))
def test_a_kink_beside_x_is_not_at_x(distance: float, side: int) -> None:
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
def test_a_bend_that_rounding_hides_is_not_smoothed_away(width: float, aside: float) -> None:
    """Far from a narrow hyperbola's bottom central quotients settle, at another slope.

    Rounding inside 1 - (1 - t) hides the bottom; the slopes to both sides differ all the same.
    """
    away = -aside * width

    def f(t: float) -> float:
        return math.sqrt(1 - (1 - (width**2 + (t - 0.3 + away) ** 2))) + 0.1 * t

    slope = scan(f, 0.3)
    assert slope.kind == "smooth"
    assert abs(slope.value - 0.1 - away / math.hypot(width, away)) <= slope.error


def test_a_glance_is_enough_where_nothing_is_unusual() -> None:
    """Ordinary functions are settled with nine evaluations."""
    asked: list[float] = []
    found = glance(lambda x: asked.append(x) or math.sin(x), 1.0)
    assert found is not None
    assert covered(found, mpmath.cos(1))
    assert found.evaluations == len(asked) == 9
    for f, x, truth in ((math.log, 1e-10, 1e10), (lambda x: x * x, 1e20, 2e20)):
        there = glance(f, x, abs(x))
        assert there is not None
        assert covered(there, mpf(truth))


@pytest.mark.parametrize("case", [c for c in SMOOTH if c.truth is not None], ids=named)
def test_a_glance_is_never_surely_wrong(case: Case) -> None:
    """Its bar covers the derivative, or it leaves the question to the scan.

    Where f has lost all its digits (LOST) nine samples may lie on one stair of the rounding; who
    asks for a glance must know by other means that it has not.
    """
    found = glance(case.f, case.x, max(1.0, abs(case.x)))
    assert found is None or covered(found, true_slope(case.truth, case.x))


@pytest.mark.parametrize("case", BROKEN, ids=named)
def test_a_glance_leaves_what_has_no_derivative_to_the_scan(case: Broken) -> None:
    """At kinks, jumps, vertical tangents and edges the full scan must speak."""
    assert glance(case.f, case.x, abs(case.x) or 1.0) is None


@settings(deadline=None, derandomize=True, max_examples=60)
@given(distance=st.floats(1e-9, 0.3))
def test_a_glance_is_not_fooled_by_a_kink_nearby(distance: float) -> None:
    """At 1 + d the slope of |x - 1| is 1: that, or no answer."""
    found = glance(lambda t: abs(t - 1), 1 + distance)
    assert found is None or covered(found, mpf(1))
