"""The verdict where a function is not smooth, not defined, or loses its digits in float64."""

from dataclasses import replace

import numpy as np
import pytest

from gradcheck.numbers.ball import middle
from gradcheck.opinions.opinion import Opinion, Slope, estimate
from gradcheck.ops import TABLE
from gradcheck.verdict.consult import consult, read
from tests.support.cases import case

INF = float("inf")


def newton(a):
    """The square root by eight steps of Newton's iteration."""
    x = a
    for _ in range(8):
        x = (x + a / x) / 2
    return x


def recurrence(x):
    """Two hundred steps of a contracting recurrence."""
    y = x
    for _ in range(200):
        y = np.sin(y) * 0.9 + 0.1 * x
    return y


# f, where, and the interval of one-sided slopes at each broken entry
KINKS = {
    "abs": (np.abs, {"x": 0.0}, {("x", ()): (-1, 1)}),
    "relu": (lambda x: np.maximum(x, 0), {"x": 0.0}, {("x", ()): (0, 1)}),
    "leaky": (lambda x: np.where(x > 0, x, 0.01 * x), {"x": 0.0}, {("x", ()): (0.01, 1)}),
    "branch": (lambda x: x if x < 1 else 3 * x - 2, {"x": 1.0}, {("x", ()): (1, 3)}),
    "maximum": (
        np.maximum,
        {"a": 1.5, "b": 1.5},
        {("a", ()): (0, 1), ("b", ()): (0, 1)},
    ),
    "minimum": (
        np.minimum,
        {"a": -2.0, "b": -2.0},
        {("a", ()): (0, 1), ("b", ()): (0, 1)},
    ),
    "curves meet": (lambda x: np.maximum(x, x * x), {"x": 1.0}, {("x", ()): (1, 2)}),
    "max": (np.max, {"x": [1, 3, 3]}, {("x", (1,)): (0, 1), ("x", (2,)): (0, 1)}),
    "min": (np.min, {"x": [1, 1, 3]}, {("x", (0,)): (0, 1), ("x", (1,)): (0, 1)}),
    "sort": (
        lambda x: np.sum(np.sort(x) * np.array([1.0, 2.0, 4.0])),
        {"x": [1, 1, 0]},
        {("x", (0,)): (2, 4), ("x", (1,)): (2, 4)},
    ),
    "clip above": (lambda x: np.clip(x, -1, 1), {"x": 1.0}, {("x", ()): (0, 1)}),
    "clip below": (lambda x: np.clip(x, -1, 1), {"x": -1.0}, {("x", ()): (0, 1)}),
    "one of three": (
        lambda x: np.sum(np.abs(x) * np.array([1.0, 2.0, 3.0])),
        {"x": [1, 0, -2]},
        {("x", (1,)): (-2, 2)},
    ),
    "norm": (
        np.linalg.norm,
        {"x": [0, 0]},
        {("x", (0,)): (-1, 1), ("x", (1,)): (-1, 1)},
    ),
    "gap of 1e-13": (
        lambda x: np.where(x > 0, x * (1 + 1e-13), x),
        {"x": 0.0},
        {("x", ()): (1, 1 + 1e-13)},
    ),
    "far from 0": (lambda x: np.abs(x - 1e10), {"x": 1e10}, {("x", ()): (-1, 1)}),
    "tiny": (lambda x: np.abs(x - 1e-200), {"x": 1e-200}, {("x", ()): (-1, 1)}),
}


@pytest.mark.parametrize("name", KINKS)
def test_a_kink_has_its_interval(name):
    """Where one-sided slopes differ the verdict is `kink`, with just these slopes, just there."""
    f, inputs, expected = KINKS[name]
    found = consult(case(f, **inputs))
    assert found.verdict == "kink", found.entries
    intervals = {(e.part, e.index): e.interval for e in found.entries if e.verdict == "kink"}
    assert intervals.keys() == expected.keys()
    for place, interval in expected.items():
        np.testing.assert_allclose(intervals[place], interval, rtol=1e-15, atol=1e-15)


SMOOTH = {
    "next to a kink": (np.abs, 1e-9, 1.0),
    "a float of pi": (lambda x: np.maximum(np.sin(x), 0), np.pi, -1.0),
    "x|x|": (lambda x: x * np.abs(x), 0.0, 0.0),
    "|x|^1.5": (lambda x: np.abs(x) ** 1.5, 0.0, 0.0),
    "Huber's joint": (lambda x: np.where(x <= 1, 0.5 * x**2, x - 0.5), 1.0, 1.0),
    "relu - relu": (lambda x: np.maximum(x, 0) - np.maximum(-x, 0), 0.0, 1.0),
    "|x| - |-x|": (lambda x: np.abs(x) - np.abs(-x), 0.0, 0.0),
    "on a stair": (lambda x: np.floor(x) * x, 2.5, 2.0),
    "large": (lambda x: x**2, 1e20, 2e20),
    "swift": (lambda x: np.sin(1e6 * x), 1.0, 936752.1275314786),
    "flat": (np.cos, 0.0, 0.0),
    "constant": (lambda x: 3.0 + 0 * x, 1.0, 0.0),
    "not used": (lambda x: 3.0, 1.0, 0.0),
    "to the power 0": (lambda x: x**0, 0.0, 0.0),
    "x^x": (lambda x: x**x, 0.5, np.sqrt(0.5) * (1 + np.log(0.5))),
    "nearly a pole": (np.tan, np.pi / 2 - 1e-3, 1e6 + 1 / 3),
    "beyond the tail": (np.tanh, 400.0, 0.0),
    "a hidden domain": (lambda x: np.where(x == 0, 1.0, np.sin(x) / (x + (x == 0))), 0.0, 0.0),
    "Newton": (newton, 2.0, 0.5 / np.sqrt(2)),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_smooth_points_agree(name):
    """Where f is smooth the three agree, also beside kinks and where kinks cancel."""
    f, x, slope = SMOOTH[name]
    found = consult(case(f, x=x))
    assert found.verdict == "agree", found.entries
    assert found.parts["x"].gradient.value == pytest.approx(slope, rel=1e-6, abs=1e-12)


def test_kinks_that_cancel_do_not_accuse():
    """3 relu(x) - 3 relu(-x) - |x| + |-x| is 3 x; PyTorch's conventions at 0 give 0, or 3."""
    found = consult(case(lambda x: 3 * TABLE["relu"](x) - 3 * TABLE["relu"](-x), x=0.0))
    assert found.verdict == "kink"
    assert found.parts["x"].interval == (3, 3)


def test_a_tie_is_no_excuse_for_a_wrong_rule(monkeypatch):
    """A wrong VJP elsewhere in the program is a dissent, though there is a tie as well."""
    row = TABLE["exp"]
    right = row.vjps
    object.__setattr__(row, "vjps", (lambda y, x: lambda g: 1.01 * g * y,))
    row._keeps.clear()
    try:
        f = lambda x: np.maximum(x, 0) - np.maximum(-x, 0) + np.exp(x)
        found = consult(case(f, x=0.0))
    finally:
        object.__setattr__(row, "vjps", right)
        row._keeps.clear()
    assert found.verdict == "dissent"


JUMPS = {
    "sign": (np.sign, 0.0),
    "floor": (np.floor, 1.0),
    "step": (lambda x: (x > 0) * 1.0, 0.0),
    "branch": (lambda x: x + 1 if x > 0 else x, 0.0),
    "stairs": (lambda x: x * np.floor(x), 2.0),
    "remainder": (lambda x: x % 1.0, 2.0),
}


@pytest.mark.parametrize("name", JUMPS)
def test_a_jump_is_called_one(name):
    """Where the value jumps there is no slope: neither 0 nor the slope of a side."""
    f, x = JUMPS[name]
    found = consult(case(f, x=x))
    assert found.verdict == "jump", found.entries
    assert "jumps by" in found.parts["x"].entries[0].why


UNDEFINED = {
    "sqrt": (np.sqrt, 0.0),
    "cbrt": (np.cbrt, 0.0),
    "arccos": (np.arccos, 1.0),
    "x log x": (lambda x: TABLE["xlogy"](x, x), 0.0),
    "x^x": (lambda x: x**x, 0.0),
    "guarded sqrt": (lambda x: np.where(x > 0, np.sqrt(x), 0), 0.0),
    "log": (np.log, -1.0),
    "log at 0": (np.log, 0.0),
    "root of a negative": (np.sqrt, -1.0),
    "pole": (lambda x: 1 / x, 0.0),
    "infinite": (lambda x: x * INF, 1.0),
}


@pytest.mark.parametrize("name", UNDEFINED)
def test_vertical_and_undefined(name):
    """A vertical tangent, or no value at all, is `undefined`: no number passes for a slope."""
    f, x = UNDEFINED[name]
    found = consult(case(f, x=x))
    assert found.verdict == "undefined", found.entries


def test_a_one_sided_derivative_agrees():
    """x^(3/2) is defined on the right of 0 only; its slope there is 0, and all three say so."""
    found = consult(case(lambda x: x**1.5, x=0.0))
    assert found.verdict == "agree"
    assert found.opinions["differences"].slopes["x", ()].kind == "one-sided"


UNSTABLE = {
    "1 - cos": (lambda x: (1 - np.cos(x)) / x**2, 1e-4, -8.333333327777778e-06),
    "1 - cos, all lost": (lambda x: (1 - np.cos(x)) / x**2, 1e-9, -1 / 12 * 1e-9),
    "exp - 1": (lambda x: (np.exp(x) - 1) / x, 1e-12, 0.5),
    "log(1 + x) - x": (lambda x: np.log(1 + x) - x, 1e-9, -1e-9),
    "two roots": (lambda x: np.sqrt(x + 1) - np.sqrt(x), 1e12, -2.5e-19),
    "exp overflows": (lambda x: np.log(1 + np.exp(x)), 1000.0, 1.0),
    "exp underflows": (lambda x: np.log(np.exp(x)), -1000.0, 1.0),
    "power overflows": (lambda x: x**200 / x**199, 1e3, 1.0),
    "the other branch": (lambda x: np.where(x > 0, np.sqrt(x), 0), -1.0, 0.0),
    "the other branch, log": (lambda x: np.where(x > 0, np.log(x) ** 0.5, x), -1.0, 1.0),
    "Gauss's tail": (lambda x: np.exp(-(x**2)), 40.0, 0.0),
}


@pytest.mark.parametrize("name", UNSTABLE)
def test_the_formula_loses_the_digits_not_the_gradient(name):
    """Where float64 cannot hold the formula, that is said, and the right slope is given."""
    f, x, slope = UNSTABLE[name]
    found = consult(case(f, x=x))
    assert found.verdict == "unstable-forward", found.entries
    assert found.parts["x"].gradient.value == pytest.approx(slope, rel=1e-6, abs=1e-300)


def test_loops_stay_small():
    """Two hundred steps of a recurrence: closed form, tape and differences agree."""
    x = 0.7
    y, slope = x, 1.0
    for _ in range(200):
        y, slope = 0.9 * np.sin(y) + 0.1 * x, 0.9 * np.cos(y) * slope + 0.1
    found = consult(case(recurrence, x=x))
    assert found.verdict == "agree"
    assert not any(opinion.abstains for opinion in found.opinions.values())
    assert found.parts["x"].gradient.value == pytest.approx(slope, rel=1e-12)


def opinions(**balls):
    """Three opinions on one number, each (value, gradient, bar)."""
    return [
        Opinion(name, estimate(value), {"x": estimate(slope, bar)})
        for name, (value, slope, bar) in balls.items()
    ]


def test_wide_bars_are_undecided():
    """Three that overlap only because their bars are wide have not agreed on anything."""
    wide = dict.fromkeys(("reverse", "symbolic", "differences"), (1.0, 2.0, 1.0))
    assert read(case(lambda x: x, x=1.0), opinions(**wide)).verdict == "undecided"


def test_one_opinion_is_no_verdict():
    """Where two abstain nothing is decided, and their reasons are told."""
    silent = [Opinion(name, abstains="cannot") for name in ("symbolic", "differences")]
    (alone,) = opinions(reverse=(1.0, 2.0, 1e-15))
    found = read(case(lambda x: x, x=1.0), [alone, *silent])
    assert found.verdict == "undecided"
    assert "symbolic and differences abstain: cannot" in found.notes[0]


@pytest.mark.parametrize(("method", "verdict"), [("scan", "undecided"), ("balls", "agree")])
def test_floats_alone_do_not_settle_a_choice_that_exact_numbers_leave_open(method, verdict):
    """Reverse mode and a scan of floats take the same branch; balls that have a slope decided."""
    open_choice = Opinion("symbolic", abstains="Undecided: is it above zero?")
    mine, scanned = opinions(reverse=(1.0, 2.0, 1e-15), differences=(1.0, 2.0, 1e-12))
    given = [mine, open_choice, replace(scanned, method=method)]
    assert read(case(lambda x: x, x=1.0), given).verdict == verdict


@pytest.mark.parametrize("odd", ["reverse", "symbolic", "differences"])
def test_the_lonely_one_is_named(odd):
    """One that differs from two others is the lonely one; there is no vote on who is right."""
    said = dict.fromkeys(("reverse", "symbolic", "differences"), (1.0, 2.0, 1e-12))
    said[odd] = (1.0, 2.1, 1e-12)
    found = read(case(lambda x: x, x=1.0), opinions(**said))
    assert (found.verdict, found.entries[0].lonely) == ("dissent", odd)


def test_values_are_compared_too():
    """An additive slip leaves the gradient alone and still is a dissent."""
    said = dict.fromkeys(("symbolic", "differences"), (1.0, 2.0, 1e-12))
    found = read(case(lambda x: x, x=1.0), opinions(reverse=(1.5, 2.0, 1e-12), **said))
    assert (found.verdict, found.entries[0].part) == ("dissent", "")


def test_a_kink_is_graver_than_agreement_and_lighter_than_dissent():
    """A whole is as grave as its gravest part."""
    f = lambda x: np.sum(np.abs(x))
    mixed = opinions(reverse=(1.0, 0.0, 0.0), symbolic=(1.0, 1.0, 0.0))
    kink = Opinion(
        "differences",
        estimate(1.0),
        {"x": estimate(np.nan)},
        slopes={("x", ()): Slope("kink", -1.0, 1.0)},
    )
    assert read(case(f, x=0.0), [*mixed, kink]).verdict == "kink"


def test_the_value_of_a_verdict_is_the_best_known():
    """Not float64's value but the ball's."""
    found = consult(case(lambda x: (1 - np.cos(x)) / x**2, x=1e-9))
    assert middle(found.value.balls.item()) == pytest.approx(0.5, rel=1e-15)


def test_a_number_taken_out_of_a_tensor_is_not_our_fault():
    """`tolist` drops the history in silence, as PyTorch's does: reverse mode's 0 is no dissent."""
    found = consult(case(lambda x: np.sum(np.array([t**2 for t in x.tolist()])), x=[1.0, 2.0]))
    assert found.verdict == "undecided"
    assert "their gradient is lost" in found.parts["x"].entries[0].why


def test_a_number_that_only_decides_is_no_loss():
    """`item` in a condition leaves the tape, and nothing with it."""
    found = consult(case(lambda x: x * x if x.item() > 1 else x, x=2.0))
    assert found.verdict == "agree"


def test_a_square_of_what_is_zero_but_for_rounding_is_zero():
    """(log x - log 2)^2 + x at 2: a ball around zero can be squared."""
    found = consult(case(lambda x: (np.log(x) - np.log(2.0)) ** 2 + x, x=2.0))
    assert found.verdict == "agree"
    assert found.parts["x"].gradient.value == pytest.approx(1.0)
