"""Few questions where nothing is open: the same verdicts, and a power that is really there."""

from functools import cache

import numpy as np
import pytest

from gradcheck.opinions.differences import differences
from gradcheck.opinions.limits import DISTURBED, SPARED
from gradcheck.opinions.opinion import Opinion, estimate
from gradcheck.opinions.reverse import reverse
from gradcheck.testing import fast as room
from gradcheck.testing.fast import fast_verdicts, full_check
from gradcheck.verdict.consult import consult, read
from gradcheck.verdict.directions import least_seen
from tests.support.cases import case
from tests.support.random_programs import random_case

X = np.random.default_rng(0).normal(size=100)


def rosenbrock(x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def test_where_all_agree_balls_are_not_asked(monkeypatch):
    """Reverse mode and three directions settle an ordinary function; that is said."""
    monkeypatch.setattr(room, "consult", None)
    found = fast_verdicts([case(rosenbrock, x=X)])[0]
    assert found.verdict == "agree"
    assert "not asked" in found.opinions["symbolic"].abstains
    assert any("would have been seen" in note for note in found.notes)
    small = fast_verdicts([case(rosenbrock, x=X[:5])])[0]
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
    (found,) = fast_verdicts([case(f, x=x)])
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
    seen = fast_verdicts([asked])[0].opinions["differences"]
    assert len(seen.directions) == SPARED
    mine = Opinion("reverse", seen.value, {"x": estimate(right, 1e-15 * np.abs(right))})
    assert read(asked, [mine, seen]).verdict == "agree"
    least = least_seen([mine, seen])
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
    found = fast_verdicts([asked])[0]
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
    missed = fast_verdicts([case(lambda x: np.sum(sign * x), x=x)])[0]
    assert missed.verdict == "agree"
    found = full_check(question, missed)
    assert [entry.interval for entry in found.parts["x"].entries] == [(-1.0, 1.0)]
