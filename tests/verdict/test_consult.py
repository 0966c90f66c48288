"""The verdict where a function is not smooth, not defined, or loses its digits in float64."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from gradcheck.numbers.ball import middle
from gradcheck.opinions.opinion import Opinion, Slope, estimate
from gradcheck.ops import TABLE, Op
from gradcheck.verdict.consult import consult, read
from tests.support.cases import case

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
    row = TABLE["exp"]
    right = row.vjps
    object.__setattr__(row, "vjps", (lambda y, x: lambda g: 1.01 * g * y,))
    Op.keeps.cache_clear()
    try:
        f = lambda x: np.maximum(x, 0) - np.maximum(-x, 0) + np.exp(x)
        found = consult(case(f, x=0.0))
    finally:
        object.__setattr__(row, "vjps", right)
        Op.keeps.cache_clear()
    assert found.verdict == "dissent"


def test_the_value_of_a_verdict_is_the_best_known():
    """Not float64's value but the ball's."""
    found = consult(case(lambda x: (1 - np.cos(x)) / x**2, x=1e-9))
    assert middle(found.value.balls.item()) == pytest.approx(0.5, rel=1e-15)


def test_a_number_taken_out_of_a_tensor_is_not_our_fault():
    """`tolist` drops the history in silence, as PyTorch's does: reverse mode's 0 is no dissent."""
    found = consult(case(lambda x: np.sum(np.array([t**2 for t in x.tolist()])), x=[1.0, 2.0]))
    assert found.verdict == "undecided"
    assert "their gradient is lost" in found.parts["x"].entries[0].why


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
