"""The verdict where a function is not smooth, loses its digits, or has thousands of entries."""

import random
import re
import warnings
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from gradcheck import no_grad, tensor
from gradcheck.numbers.ball import middle
from gradcheck.opinions.differences import differences
from gradcheck.opinions.limits import DISTURBED, SPARED
from gradcheck.opinions.opinion import Directions, Opinion, Slope, estimate
from gradcheck.opinions.reverse import reverse, run_once
from gradcheck.ops import TABLE
from gradcheck.testing import GradientError, assert_gradient, assert_vjp, check
from gradcheck.verdict import consult as room
from gradcheck.verdict.consult import (
    consult,
    consult_few,
    consult_more,
    find_least_seen,
    locate,
    read,
)
from tests.support.cases import case, solved
from tests.support.random_programs import random_case
from tests.support.rows import falsified
from tests.support.sweeping import at_most

PLAIN = yaml.safe_load(Path(__file__).with_name("plain.yaml").read_text())

POINTS = {
    name: (verdict, row)
    for verdict, rows in yaml.safe_load(Path(__file__).with_name("points.yaml").read_text()).items()
    for name, row in rows.items()
}
LINE = case(lambda x: x, x=1.0)
EXACT = ("symbolic", "differences")


def newton(a):
    x = a
    for _ in range(8):
        x = (x + a / x) / 2
    return x


def recurrence(x):
    y = x
    for _ in range(200):
        y = np.sin(y) * 0.9 + 0.1 * x
    return y


def recurred(x):
    y, slope = x, 1.0
    for _ in range(200):
        y, slope = 0.9 * np.sin(y) + 0.1 * x, 0.9 * np.cos(y) * slope + 0.1
    return slope


NAMES = {"np": np, "newton": newton, "recurrence": recurrence, "recurred": recurred}
NAMES |= {name: TABLE[name] for name in ("relu", "xlogy")}


def number(text):
    return eval(text, NAMES) if isinstance(text, str) else text


@pytest.mark.parametrize("name", POINTS)
def test_the_verdict_at_a_point(name):
    """Just these one-sided slopes just there; the slope where there is one, else a reason."""
    verdict, row = POINTS[name]
    inputs = {n: number(v) for n, v in row.items() if n not in ("f", "at", "slope")}
    found = consult(case(eval(f"lambda {', '.join(inputs)}: {row['f']}", NAMES), **inputs))
    assert found.verdict == verdict, found.entries
    if verdict == "agree":
        assert not any(said.abstains for said in found.opinions.values()) or "item" in row["f"]
    if verdict == "jump":
        assert "jumps by" in found.parts["x"].entries[0].why
    if "slope" in row:
        least = 1e-12 if verdict == "agree" else 1e-300
        slope = pytest.approx(number(row["slope"]), rel=1e-6, abs=least)
        assert found.parts["x"].gradient.value == slope
    due = {(k, ()) if isinstance(k, str) else ("x", (k,)): v for k, v in row.get("at", {}).items()}
    intervals = {(e.part, e.index): e.interval for e in found.entries if e.verdict == "kink"}
    assert intervals.keys() == due.keys()
    for place, interval in due.items():
        np.testing.assert_allclose(intervals[place], interval, rtol=1e-15, atol=1e-15)


def test_a_tie_is_no_excuse_for_a_wrong_rule():
    """A wrong VJP elsewhere in the program is a dissent, though there is a tie as well."""
    f = lambda x: np.maximum(x, 0) - np.maximum(-x, 0) + np.exp(x)
    with falsified(TABLE["exp"], "vjps", (lambda y, x: lambda g: 1.01 * g * y,)):
        assert consult(case(f, x=0.0)).verdict == "dissent"


def test_the_value_of_a_verdict_is_the_best_known():
    """Not float64's value but the ball's."""
    found = consult(case(lambda x: (1 - np.cos(x)) / x**2, x=1e-9))
    assert middle(found.value.balls.item()) == pytest.approx(0.5, rel=1e-15)


def test_a_number_taken_out_of_a_tensor_is_not_our_fault():
    """`tolist` drops the history in silence, as PyTorch's does: reverse mode's 0 is no dissent."""
    found = consult(case(lambda x: np.sum(np.array([t**2 for t in x.tolist()])), x=[1.0, 2.0]))
    assert found.verdict == "undecided"
    assert "their gradient is lost" in found.parts["x"].entries[0].why


def hold(x):
    with no_grad():
        held = x**2
    return held * x


@pytest.mark.parametrize(("program", "x"), PLAIN["undecided"])
def test_what_a_program_holds_constant_is_not_our_fault(program, x):
    found = solved(program, x)
    assert found.verdict == "undecided"
    assert "their gradient is lost" in found.parts["x"].entries[0].why


def test_what_a_function_holds_constant_is_not_our_fault_either():
    assert consult(case(hold, x=2.0)).verdict == "undecided"


def test_a_program_that_is_run_again_warns_of_nothing():
    """NumPy's "Mean of empty slice" is no line of an answer."""
    with warnings.catch_warnings(action="error"), np.errstate(all="ignore"):
        reverse(case(np.mean, x=[]))


@pytest.mark.parametrize("program", ["sin(1e30*x)", "sin(1e300*x)", "x**2 * sin(1e30/x)"])
def test_waves_shorter_than_a_step_are_neither_slope_nor_jump(program):
    assert solved(program, 1.0).verdict == "undecided"


def test_small_slopes_along_directions_keep_their_bars():
    """Squares of 1e-252 are none."""
    x = np.resize([0.1, -0.2, 0.3, -0.4], 280)
    assert consult(case(np.prod, x=x)).verdict == "agree"


@pytest.mark.parametrize(("program", "x"), PLAIN["agree"])
def test_plain_programs_agree(program, x):
    assert solved(program, x).verdict == "agree"


# -- opinions that are given -----------------------------------------------------------------------


def opinions(**balls):
    return [
        Opinion(name, estimate(value), {"x": estimate(slope, bar)})
        for name, (value, slope, bar) in balls.items()
    ]


SURE, WIDE = (1.0, 2.0, 1e-12), (1.0, 2.0, 1.0)


@pytest.mark.parametrize(
    ("said", "verdict", "lonely"),
    [
        ((SURE, SURE, SURE), "agree", ""),
        ((SURE, SURE, WIDE), "agree", ""),
        ((SURE, WIDE, WIDE), "undecided", ""),  # they overlap because their bars are wide
        ((WIDE, WIDE, WIDE), "undecided", ""),
        (((1.0, 2.1, 1e-12), SURE, SURE), "dissent", "reverse"),
        ((SURE, (1.0, 2.1, 1e-12), SURE), "dissent", "symbolic"),
        ((SURE, SURE, (1.0, 2.1, 1e-12)), "dissent", "differences"),
        (((1.0, 2.1, 1e-12), SURE, (1.0, 2.0, 0.2)), "dissent", "reverse"),
        (((1.5, 2.0, 1e-12), SURE, SURE), "dissent", "reverse"),  # an additive slip of the value
        (((1.0, 2.1, 1e-12), SURE, (1.0, 3.0, 1e-12)), "dissent", "several"),
        (((1.0, 1e-320, 0.0), (1.0, 2e-320, 0.0), (1.0, 2e-320, 0.0)), "unstable-forward", ""),
    ],
)
def test_the_lonely_one_is_named(said, verdict, lonely):
    """One that differs from two others; there is no vote on who is right."""
    found = read(LINE, opinions(**dict(zip(("reverse", *EXACT), said, strict=True))))
    first = found.entries[0] if found.entries else None
    assert (found.verdict, first.lonely if first else "") == (verdict, lonely)
    assert first is None or first.part == ("" if said[0][0] == 1.5 else "x")


def test_one_opinion_is_no_verdict():
    """Where two abstain nothing is decided, and their reasons are told."""
    silent = [Opinion(name, abstains="cannot") for name in EXACT]
    found = read(LINE, [*opinions(reverse=SURE), *silent])
    assert found.verdict == "undecided"
    assert "symbolic and differences abstain: cannot" in found.notes[0]


@pytest.mark.parametrize(("method", "verdict"), [("scan", "undecided"), ("balls", "agree")])
def test_floats_alone_do_not_settle_a_choice_that_exact_numbers_leave_open(method, verdict):
    """Reverse mode and a scan of floats take the same branch; balls that have a slope decided."""
    open_choice = Opinion("symbolic", abstains="Undecided: is it above zero?")
    mine, scanned = opinions(reverse=SURE, differences=SURE)
    assert read(LINE, [mine, open_choice, replace(scanned, method=method)]).verdict == verdict


def test_a_kink_is_graver_than_agreement_and_lighter_than_dissent():
    mixed = opinions(reverse=(1.0, 0.0, 0.0), symbolic=(1.0, 1.0, 0.0))
    slopes = {("x", ()): Slope("kink", -1.0, 1.0)}
    kink = Opinion("differences", estimate(1.0), {"x": estimate(np.nan)}, slopes=slopes)
    assert read(case(lambda x: np.sum(np.abs(x)), x=0.0), [*mixed, kink]).verdict == "kink"


# -- few questions where nothing is open: the same verdicts, and a power that is really there ------

X = np.random.default_rng(0).normal(size=100)


def rosenbrock(x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def test_where_all_agree_balls_are_not_asked(monkeypatch):
    """Reverse mode and three directions settle an ordinary function; that is said."""
    monkeypatch.setattr(room, "consult", None)
    found = consult_few([case(rosenbrock, x=X)])[0]
    assert found.verdict == "agree"
    assert "not asked" in found.opinions["symbolic"].abstains
    assert any("would have been seen" in note for note in found.notes)
    small = consult_few([case(rosenbrock, x=X[:5])])[0]
    assert not small.opinions["symbolic"].abstains


UNUSUAL = {
    "kink": (lambda x: np.sum(np.abs(x)), np.array([0.0, 1.0])),
    "jump": (lambda x: np.sum(np.floor(x)), np.array([1.0, 0.5])),
    "undefined": (lambda x: np.sum(np.sqrt(x)), np.array([0.0, 1.0])),
    "unstable-forward": (lambda x: np.sum((1 - np.cos(x)) / x**2), np.array([1e-7, 1e-6])),
}


@pytest.mark.parametrize("verdict", UNUSUAL)
def test_what_is_unusual_gets_the_full_consultation(verdict):
    """The same verdict as from all three opinions on every entry."""
    f, x = UNUSUAL[verdict]
    (found,) = consult_few([case(f, x=x)])
    assert consult(case(f, x=x)).verdict == found.verdict == verdict


@pytest.mark.parametrize(
    ("n", "tries"),
    [(2_000, 1000), (100_000, 10), pytest.param(100_000, 1000, marks=pytest.mark.sweep)],
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_stated_power_is_there(n, tries, dtype):
    """A single wrong entry of the stated size, planted a thousand times, is seen each time.

    Stated is one miss in a million; three in a thousand would be met by chance once in 1e9 tries,
    one in ten once in 100,000.
    """
    rng = np.random.default_rng(n)
    x, w = (rng.normal(size=n).astype(dtype) for _ in range(2))
    asked = case(lambda x: np.sum(np.sin(w * x)), x=x)
    right = np.asarray(w * np.cos(np.float64(w) * x), dtype=np.float64)
    seen = consult_few([asked])[0].opinions["differences"]
    assert len(seen.directions) == SPARED
    mine = Opinion("reverse", seen.value, {"x": estimate(right, 1e-15 * np.abs(right))})
    assert read(asked, [mine, seen]).verdict == "agree"
    least = find_least_seen([mine, seen])
    missed = 0
    for _ in range(tries):
        planted = right.copy()
        planted[rng.integers(n)] += least * rng.choice([-1.0, 1.0])
        wrong = Opinion("reverse", seen.value, {"x": estimate(planted, 1e-15 * np.abs(right))})
        missed += read(asked, [wrong, seen]).verdict == "agree"
    assert missed <= (2 if tries > 50 else 0)


@cache
def by_balls():
    asked = [random_case(seed)[1] for seed in range(200)]
    with np.errstate(all="ignore"):
        found = [(each, differences(each)) for each in asked]
    whole = [pair for pair in found if not (pair[1].directions or pair[1].ties)]
    return [(each, exact) for each, exact in whole if exact.method.startswith("balls")]


@pytest.mark.parametrize(("runs", "covered"), [(1, 0.998), (DISTURBED, 0.9993)])
def test_few_disturbed_runs_cover_rounding(runs, covered):
    """Entries of random programs against balls; expected are 99.9 % and 99.96 %."""
    strayed = total = 0
    with np.errstate(all="ignore"):
        for asked, exact in by_balls():
            given = reverse(asked, runs)
            for name, mine in given.gradients.items():
                truth = exact.gradients[name]
                known = np.isfinite(mine.value) & np.isfinite(truth.error)
                off = np.abs(mine.value - truth.value) > mine.error + truth.error
                strayed, total = strayed + np.sum(off & known), total + np.sum(known)
    assert total > 1_300
    assert strayed <= (1 - covered) * total


def tied(units=10, columns=60):
    """A relu network with one row of zeros: every unit meets its kink there."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(10, columns))
    rows[3] = 0.0
    out = rng.normal(size=units)
    f = lambda w, b: np.sum(np.maximum(rows @ w + b, 0) @ out)
    return f, out, case(f, w=rng.normal(size=(columns, units)), b=np.zeros(units))


def test_ties_of_a_large_network_are_told_unit_by_unit(monkeypatch):
    """Each bias may have the other rows' sum with any share of the tied row; no weight is tied."""
    monkeypatch.setattr(room, "consult", None)
    _, out, asked = tied()
    found = consult_few([asked])[0]
    assert found.verdict == "kink"
    assert not found.parts["w"].entries
    assert len(found.parts["b"].entries) == 10
    assert any("would have been seen" in note for note in found.notes)
    for entry in found.parts["b"].entries:
        low, high = entry.interval
        assert high - low == pytest.approx(abs(out[entry.index]), rel=1e-6)


def test_before_a_claim_is_refused_kinks_are_looked_for_again():
    """|x| at 0 in one entry of many: a verdict that has missed it is not the last word."""
    x = np.random.default_rng(3).normal(size=600)
    x[7] = 0.0
    sign = np.sign(x)
    question = case(lambda x: np.sum(np.abs(x)), x=x)
    missed = consult_few([case(lambda x: np.sum(sign * x), x=x)])[0]
    assert missed.verdict == "agree"
    found = consult_more(question, missed, 1.0)
    assert [entry.interval for entry in found.parts["x"].entries] == [(-1.0, 1.0)]


# -- thousands of entries: by directions, with a stated power, and located -------------------------


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
    least = re.search(r"entry above (\S+) would have been seen", " ".join(found.message.split()))
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
    _, gradients = run_once(question)
    assert locate(question, gradients) is None
    gradients[name][index] += 0.01
    part, place, slope = locate(question, gradients)
    assert (part, place) == (name, index)
    assert float(slope.mid()) == pytest.approx(gradients[name][index] - 0.01, rel=1e-6)


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
        return find_least_seen([along, mine])

    one_sure, every_bar = seen(0.0, 1e-9), 2 * 100 * 1e-9
    assert one_sure == pytest.approx(every_bar / 1e-6)  # one direction alone: a chance of 1e-6
    rounding = 2 * 16 * np.finfo(float).eps * np.sqrt(100) * 1e8
    assert seen(1e8, 1e-9) - one_sure == pytest.approx(rounding / 1e-6, rel=1e-3)


# -- backward passes at ties: any slope of a kink's interval, or of a gradient beside it -----------

TIE, Y = np.array([1.0, 2.0, 3.0]), np.array([1.0, 5.0, 3.0])
Z = np.array([2.0, 1.0, 2.0, 2.0])
MANY = np.random.default_rng(0).normal(size=(60, 4))
W, V = np.array([[1.0, -1.0], [2.0, 0.5], [0.3, 0.3]]), np.array([2.0, 2.0])


def layer(c, w, v, at_w, at_v):
    """The backward pass of relu(W v), with a slope at 0 for each of its two products."""
    z = w @ v
    gw, gv = c * np.heaviside(z, at_w), c * np.heaviside(z, at_v)
    return np.outer(gw, v), w.T @ gv


def both_tied(c, x, y, a, b):
    """The backward pass of maximum that gives the parts a and b of the cotangent at a tie."""
    return c * np.where(x == y, a, x > y), c * np.where(x == y, b, x < y)


tied_by = lambda a, b: lambda c, x, y: both_tied(c, x, y, a, b)
of_layer = lambda at: lambda c, w, v: layer(c, w, v, at, at)
of_max = lambda share: lambda c, z: c * share(z)
RIGHT = {
    "maximum: halves": (np.maximum, tied_by(0.5, 0.5), (TIE, Y)),
    "maximum: the first": (np.maximum, tied_by(1, 0), (TIE, Y)),
    "maximum: a mixture": (np.maximum, tied_by(0.3, 0.7), (TIE, Y)),
    "max: the first": (np.max, of_max(lambda z: np.eye(4)[np.argmax(z)]), (Z,)),
    "max of nine: evenly": (np.max, of_max(lambda z: np.full(9, 1 / 9)), (np.ones(9),)),
    "max: evenly": (np.max, of_max(lambda z: (z == z.max()) / np.sum(z == z.max())), (Z,)),
    "distance": (
        lambda x, y: np.abs(x - y),
        lambda c, x, y: (c * np.sign(x - y), -c * np.sign(x - y)),
        (TIE, Y),
    ),
    "layer: 0 at 0": (lambda w, v: np.maximum(w @ v, 0), of_layer(0), (W, V)),
    "layer: 1 at 0": (lambda w, v: np.maximum(w @ v, 0), of_layer(1), (W, V)),
    "zeros of both curvatures": (
        lambda x: np.maximum(x, 0), lambda c, x: c * (x > 0), (np.zeros(7),)
    ),
    "sixty units tied at once": (
        lambda v: np.maximum(MANY @ v, 0), lambda c, v: MANY.T @ (c * (MANY @ v >= 0)),
        (np.zeros(4),)
    ),
    "kinks that cancel": (
        lambda x, y: np.maximum(x - y, x) - np.abs(x - y),
        lambda c, x, y: (
            c * (1 - np.where(x >= y, 1, -1)),
            c * (np.where(y <= 0, -1, 0) + np.where(x >= y, 1, -1)),
        ),
        (np.array([1.0, 0.0]), np.array([1.0, 0.0])),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("f", "backward", "args"), RIGHT.values(), ids=RIGHT)
def test_a_right_backward_at_a_tie_passes(f, backward, args):
    """Whatever branch or mixture a backward takes, it is not accused."""
    assert assert_vjp(f, backward, *args)


@pytest.mark.parametrize(("a", "b"), [(20.0, -19.0), (1.5, -0.5)])
def test_what_lies_outside_the_interval_is_wrong(a, b):
    """A tie that rounding could break is no excuse for a slope that neither side has."""
    with pytest.raises(GradientError, match="outside the kink's interval"):
        assert_vjp(np.maximum, tied_by(a, b), TIE, Y)


@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.sampled_from([0.5, 1.0, 2.0, 3.0]), min_size=2, max_size=4),
    st.lists(st.floats(0.0, 1.0), min_size=4, max_size=4),
)
def test_mixtures_of_the_branches_of_a_maximum(slopes, weights):
    """max(a_i x_i) at a tie: weights that sum to 1 are right (a textbook's hull)."""
    a = np.array(slopes)
    x = 6.0 / a
    lam = np.array(weights[: len(a)]) + 0.1
    lam /= lam.sum()
    top = lambda x: np.max(a * x)
    assert assert_vjp(top, lambda c, x: c * lam * a, x)


# -- no accusation of PyTorch's conventions, nor of a neighbour's gradient -------------------------

ONE = ("np.abs({})", "np.maximum({}, 0)", "np.minimum({}, 1)", "-{}", "np.clip({}, -1, 1)",
       "({}).sum() * x", "np.max({}) + x", "np.min({}) - y", "{} * {}")  # fmt: skip
TWO = ("np.maximum({}, {})", "np.minimum({}, {})", "{} + {}", "{} - {}")


def _expression(draw, depth):
    if depth == 0:
        return draw.choice(("x", "y", "(x - y)", "(x + y)"))
    form = draw.choice(ONE if draw.random() < 0.45 else TWO)
    return f"({form.format(*(_expression(draw, depth - 1) for _ in range(form.count('{}'))))})"


def _accused(seed, aside):
    """Whether the gradient just beside small integers (or right there) is called wrong there."""
    draw, rng = random.Random(seed), np.random.default_rng(seed)
    text = _expression(draw, draw.choice((1, 2, 3)))
    f = eval(f"lambda x, y: {text}", {"np": np})
    x, y = (rng.integers(-1, 2, 3).astype(float) for _ in range(2))
    by = aside * rng.standard_normal((2, 3))

    def backward(c, x, y):
        leaves = [tensor(v + d, requires_grad=True) for v, d in zip((x, y), by, strict=True)]
        f(*leaves).backward(tensor(np.asarray(c)))
        return [np.zeros(3) if t.grad is None else t.grad.numpy().round(9) for t in leaves]

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert_vjp(f, backward, x, y)
    except GradientError as error:
        return "outside the kink" in str(error)
    return False


@pytest.mark.parametrize("aside", [0.0, 1e-12], ids=["conventions", "neighbours"])
@pytest.mark.parametrize(
    "seeds", [range(25), pytest.param(range(25, 25 + at_most(300)), marks=pytest.mark.sweep)]
)
def test_no_accusation_at_random_ties(aside, seeds):
    assert not [seed for seed in seeds if _accused(seed, aside)]
