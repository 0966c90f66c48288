"""Choices that a program makes by comparing and by rounding down: decided exactly, or left open."""

import operator
import random
import re
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import mp, mpf

from gradcheck.numbers.ball import balls
from gradcheck.numbers.run import PATIENCE, Undecided, precision
from gradcheck.numbers.symbolic import constants
from gradcheck.opinions.differences import differences
from gradcheck.opinions.reverse import reverse
from gradcheck.opinions.symbolic import symbolic
from gradcheck.verdict.consult import consult, consult_few
from tests.support.cases import case, solved
from tests.support.commands import run


@pytest.mark.parametrize(
    ("program", "x"),
    [
        ("where(1 - exp(-x) < 1, x**2, x)", 5000.0),  # an exponential lost beside one
        ("where(sigmoid(x) == 1, x**2, x)", 3000.0),
        ("where(exp(x) * exp(x) > exp(2 * x), x**2, x)", 1.0),  # two spellings of one number
    ],
)
def test_what_no_precision_decides_is_left_open(program, x):
    """Both exact opinions abstain with the reason; reverse mode alone proves nothing."""
    found = solved(program, x)
    assert found.verdict == found.parts["x"].verdict == "undecided"
    for exact in ("symbolic", "differences"):
        assert f"{PATIENCE} bits do not tell" in found.opinions[exact].abstains


@pytest.mark.parametrize(
    ("program", "x", "slope"),
    [
        ("where(1e200 + 1 == 1e200, x**2, x)", 2.0, 1),
        ("where(exp(-1000) > 0, x**2, x)", 2.0, 4),
        ("where(1 - cos(1e-9) > 0, x**2, x)", 2.0, 4),
        ("where(0.3 // 0.1 > 2.5, x**2, x)", 2.0, 4),
        ("where(1 % 0.1 > 0.05, x**2, x)", 2.0, 1),
        ("where(0.1 + 0.2 == 0.3, x**2, x)", 2.0, 4),
    ],
)
def test_a_branch_of_float64_alone_is_no_dissent(program, x, slope):
    """Exact numbers know the slope, worked out by hand; the formula loses its digits."""
    found = solved(program, x)
    assert found.verdict == "unstable-forward"
    assert found.parts["x"].gradient is not None
    assert found.parts["x"].gradient.value == pytest.approx(slope, rel=1e-12)


def test_a_jump_is_no_agreement():
    """At 0.3 floor(10 x) goes from 2 to 3, and the value by 0.3: by hand."""
    found = solved("floor(x*10)*x", 0.3)
    assert found.verdict == found.parts["x"].verdict == "jump"
    assert "jumps by 0.3" in found.parts["x"].entries[0].why


def test_numbers_that_are_equal_meet_whatever_the_precision():
    """A third plus two thirds, sums in another order, functions of equal numbers; no others."""
    for kind in (balls, constants):
        a, b, third, two = kind([0.7, 0.3, Fraction(1, 3), Fraction(2, 3)])
        with precision(64):
            assert third + two == 1
            assert np.exp(np.remainder(-third, two)) == np.exp(third)
            assert np.sqrt(np.floor(9 * third) + 1) == 2 * (third + two)
            assert np.sin(a + b) == np.sin(b + a)
            assert a * b + np.exp(a) - np.exp(a + b - b) == b * a
            assert np.sin(a) != np.sin(b)
            with pytest.raises(Undecided):
                bool(np.exp(a) * np.exp(b) == np.exp(a + b))


def test_kinks_of_irrational_numbers_are_met():
    """Two tanh that are the same number: each may have any share of the slope 1 - tanh(1)^2."""
    found = consult(case(lambda x: np.max(np.tanh(x / 3)), x=[3.0, 3.0, 1.0]))
    assert found.verdict == "kink"
    most = float((1 - mpmath.tanh(1) ** 2) / 3)
    assert [e.interval for e in found.entries] == [(0, pytest.approx(most))] * 2


@pytest.mark.parametrize(
    ("program", "x"), [("maximum(erf(x), 1)*x", 50), ("abs(tanh(x) - 1)*x", 400)]
)
def test_the_path_is_told_where_it_was_decided_by_many_bits(program, x):
    done = run("solve", "-e", program, f"x={x}")
    assert done.exit_code == 0, done.output
    assert "< 1" in done.output


# A saturating function for arrays and in mpmath's words, and what it tends to.
SATURATING: dict[str, tuple[Callable[..., Any], Callable[..., Any], int]] = {
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), lambda x: 1 / (1 + mp.exp(-x)), 1),
    "tanh": (np.tanh, mp.tanh, 1),
    "decay": (lambda x: np.exp(-x), lambda x: mp.exp(-x), 0),
    "charging": (lambda x: 1 - np.exp(-x), lambda x: 1 - mp.exp(-x), 1),
    "gauss": (lambda x: np.exp(-x * x), lambda x: mp.exp(-x * x), 0),
    "softplus": (lambda x: np.log(1 + np.exp(x)) - x, lambda x: mp.log(1 + mp.exp(x)) - x, 0),
    "root": (lambda x: x / np.sqrt(1 + x * x), lambda x: x / mp.sqrt(1 + x * x), 1),
    "sech": (lambda x: 1 / np.cosh(x), lambda x: 1 / mp.cosh(x), 0),
    "power": (lambda x: 1 / (1 + x**8), lambda x: 1 / (1 + x**8), 0),
}
COMPARED = (operator.lt, operator.gt, operator.eq, operator.le, operator.ge, operator.ne)
DIGITS = 4000  # gauss at 3,000 is 10^-3,900,000; what is open at PATIENCE bits is told by it


def one_choice(seed):
    """A random `where` over a saturating function: what is said, and what is wrong with it."""
    draw = random.Random(seed)
    f, truth, limit = SATURATING[draw.choice(list(SATURATING))]
    compare, flip = draw.choice(COMPARED), draw.random() < 0.3
    x = float(round(10 ** draw.uniform(0, 3.6), draw.choice([0, 1, 3])))

    def chosen(value):
        return compare(limit, value) if flip else compare(value, limit)

    found = consult(case(lambda x: np.where(chosen(f(x)), x**2, x), x=x), write=False)
    with mp.workdps(DIGITS):
        slope = 2 * x if chosen(truth(mpf(x))) else 1.0
    known = found.parts["x"].gradient
    right = known is not None and abs(known.value - slope) <= 1e-9 * slope
    expected = {"agree", "unstable-forward", "undecided"}
    fault = found.verdict not in expected or not (right or found.verdict == "undecided")
    return found.verdict, f"{seed}: {found.verdict}, {slope}" if fault else ""


@pytest.mark.parametrize(
    "seeds", [range(100), pytest.param(range(100, 2100), marks=pytest.mark.sweep)]
)
def test_random_choices_over_saturating_functions(seeds):
    """No verdict against the truth in 4,000 digits; few left open."""
    with np.errstate(all="ignore"):
        said = [one_choice(seed) for seed in seeds]
    assert [fault for _, fault in said if fault] == []
    assert Counter(verdict for verdict, _ in said)["undecided"] <= 0.05 * len(said)


CONSTANTS = ("0.1", "0.2", "0.3", "0.7", "1.1", "1.7", "0.05", "0.5", "2", "3")
BY_THEMSELVES = ("x // x", "x % x", "floor(3*x/x) + x // x", "ceil(x/3*30)")
STEPS = (
    "({a} // {c})", "({a} % {c})", "floor({a} / {c})", "ceil({a} * {c})", "({a} + {b})",
    "({a} - {b})", "({a} * {b})", "where({a} > {b}, {a}, {b} * x)",
)  # fmt: skip
EXACTLY = {
    "Fraction": Fraction,
    "floor": lambda q: Fraction(q // 1),
    "ceil": lambda q: Fraction(-(-q // 1)),
    "where": lambda chosen, a, b: a if chosen else b,
}


def whole_steps(draw, depth):
    if not depth:
        return draw.choice(("x", draw.choice(CONSTANTS)))
    a, b = whole_steps(draw, depth - 1), whole_steps(draw, depth - 1)
    return draw.choice(STEPS).format(a=a, b=b, c=draw.choice(CONSTANTS))


def fault_of_floors(seed):
    """What is wrong with what is said of one, by Python's fractions: value, slope or jump."""
    draw, count = random.Random(seed), len(BY_THEMSELVES)
    text, at = whole_steps(draw, 3), draw.choice(("0.1", "0.3", "0.7", "1.1", "0.6", "2.3"))
    if seed % 60 < 4 * count:
        text, at = BY_THEMSELVES[seed % count], ("0.1", "0.3", "0.7", "1.1")[seed % 60 // count]
    exact = re.sub(r"\d+(\.\d+)?", lambda m: f"Fraction('{m[0]}')", text)
    h = Fraction(1, 10**12)
    value, left, right = (eval(exact, EXACTLY | {"x": Fraction(at) + step}) for step in (0, -h, h))
    found = solved(text + " + 0*x", float(at))
    wrong = [
        name
        for name in ("symbolic", "differences")
        if (known := found.opinions[name].value) is None
        or known.error > 1e-30
        or abs(known.value - float(value)) > 1e-12 + 1e-12 * abs(value)
    ]
    if max(abs(right - value), abs(left - value)) > Fraction(1, 10**9):
        wrong += ["no jump"] if found.verdict in ("agree", "unstable-forward") else []
    else:
        slope, given = float((right - left) / (2 * h)), found.parts["x"].gradient
        good = given is not None and abs(given.value - slope) <= 1e-6 * max(1.0, abs(slope))
        wrong += [] if good and found.verdict in ("agree", "unstable-forward") else ["slope"]
    return f"{seed}: {text} at {at}: {found.verdict}, {wrong}" if wrong else ""


@pytest.mark.parametrize(
    "seeds", [range(60), pytest.param(range(60, 560), marks=pytest.mark.sweep)]
)
def test_random_quotients_remainders_and_floors(seeds):
    """Programs of decimals at decimals, many at a jump; of a number by itself at each."""
    assert [fault for fault in map(fault_of_floors, seeds) if fault] == []


# smooth, tied, open, long, of many bits
ASKED: tuple[Callable[..., Any], ...] = (
    lambda x: np.sum(np.sin(x) * np.exp(x)),
    lambda x: np.sum(np.abs(x - x[0])),
    lambda x: np.where(np.exp(-1000 * x[0] ** 2) > 0, x @ x, x[1]),
    lambda x: np.max(np.tanh(x / 3)) + np.sum(np.maximum(x, 0)),
    lambda x: np.sum((1 - np.cos(1e-20 * x)) / (1e-20 * x) ** 2),
)


def answers(question):
    found: list[Any] = [consult_few([question])[0].verdict]
    for opinion in (reverse(question), symbolic(question), differences(question)):
        balls = [ball for g in opinion.gradients.values() for ball in g.balls.flat]
        numbers = [each.man_exp() for ball in balls for each in (ball.mid(), ball.rad())]
        found += [*numbers, opinion.conditions, opinion.ties, opinion.method, opinion.abstains]
        found.append(sorted(opinion.slopes))
    return tuple(map(str, found))


def test_threads_do_not_disturb_one_another():
    """A hundred questions from eight threads, each compared with itself alone."""
    rng = np.random.default_rng(8)
    asked = [case(ASKED[k % len(ASKED)], x=rng.normal(size=3)) for k in range(100)]
    with np.errstate(all="ignore"):
        alone = [answers(each) for each in asked]
        with ThreadPoolExecutor(8) as threads:
            together = list(threads.map(answers, asked))
    assert together == alone
