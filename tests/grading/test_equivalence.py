"""Right or wrong beyond doubt: forms of the same derivative, and forms that only look the same."""

from collections import Counter
from fractions import Fraction
from pathlib import Path

import mpmath
import numpy as np
import pytest
import yaml
from flint import arb

from gradcheck.grading.equivalence import NoValue, compare
from gradcheck.grading.key import Key, make_key
from gradcheck.numbers.run import Undecided
from gradcheck.problem import load_text
from tests.support.grading import judged, keyed, scalar
from tests.support.pairs import pairs
from tests.support.sweeping import at_most

NUMBERS = yaml.safe_load(Path(__file__).with_name("numbers.yaml").read_text())


def test_the_witness_is_a_proof():
    """The two values that are told are those that mpmath finds there, and they differ."""
    found = judged(scalar("x**3 + 2*sin(x)"), "3x^2 - 2cos x").witness
    x = mpmath.mpf(found.at["x"])
    assert found.yours == pytest.approx(float(3 * x**2 - 2 * mpmath.cos(x)), rel=1e-14)
    assert found.expected == pytest.approx(float(3 * x**2 + 2 * mpmath.cos(x)), rel=1e-14)


def test_a_narrower_domain_is_an_outcome_of_its_own():
    """The square of a root loses the negative numbers: said so, half credit."""
    found = judged(scalar("x**2/2"), "sqrt(x)^2")
    assert (found.verdict, found.tags, found.score) == ("wrong", ("narrower",), 0.5)
    assert found.witness.yours is None
    assert found.witness.expected == found.witness.at["x"] < 0
    assert "`sqrt(x)` has no value" in found.remarks[-1]


@pytest.mark.parametrize("answer", ["x + ln(-x^2)", "x/0", "x + sqrt(-1)", "arcsin(2 + x^2)"])
def test_an_answer_without_any_value_is_wrong(answer):
    found = judged(scalar("x**2/2"), answer)
    assert (found.verdict, found.tags, found.score) == ("wrong", (), 0.0)
    assert "has no value at any point" in found.remarks[-1]


def test_points_are_drawn_from_the_functions_own_domain():
    """All points of sqrt(x - 8) lie beyond 8, and those of log(4 - x^2) between -2 and 2."""
    right_of_8 = [float(p["x"].item()) for p in scalar("sqrt(x - 8)*exp(x)", 9).points]
    inside = [float(p["x"].item()) for p in scalar("log(4 - x**2)", 1).points]
    assert len(right_of_8) >= 8
    assert min(right_of_8) > 8
    assert len(inside) >= 8
    assert -2 < min(inside) < 0 < max(inside) < 2


def test_tensor_formulas_are_compared_at_several_draws():
    """Matrices keep their shapes; entry by entry the reference is X^T(Xw - y)."""
    ready = keyed(
        "id: lsq\ninputs:\n  X: {shape: [4, 2], requires_grad: false}\n  w: {shape: [2]}\n"
        "  y: {shape: [4], requires_grad: false}\nprogram: ((X @ w - y)**2).sum()/2\n"
    )
    assert len({str(point["X"]) for point in ready.points}) >= 5
    assert judged(ready, "X.T @ (X @ w - y)").verdict == "right"
    assert judged(ready, "X.T @ X @ w - X^T @ y").verdict == "right"
    wrong = judged(ready, "X.T @ (X @ w + y)")
    assert wrong.verdict == "wrong"
    at = {name: np.array(value) for name, value in wrong.witness.at.items()}
    expected = at["X"].T @ (at["X"] @ at["w"] - at["y"])
    assert wrong.witness.expected == pytest.approx(expected[wrong.witness.index], rel=1e-12)


# -- the comparison itself -----------------------------------------------------------------------


def ball(middle, radius=0.0):
    return lambda bits: arb(middle, radius)


def test_balls_that_do_not_overlap_are_different():
    """A gap proves the difference; the first one decides."""
    found = compare([ball("1", 1e-9), ball("2")], [ball("1", 1e-9), ball("2.1")])
    assert (found.kind, found.point) == ("different", 1)
    assert found.yours < found.expected


def test_wide_balls_are_never_called_equal():
    """What overlaps to 29 digits only, at any precision, stays undecided."""
    assert compare([ball("1", 1e-29)], [ball("1")]).kind == "undecided"
    assert compare([ball("1", 1e-32)], [ball("1")]).kind == "equal"


def test_precision_is_raised_until_it_is_enough():
    asked = []

    def late(bits):
        asked.append(bits)
        if bits < 1000:
            raise Undecided
        return arb(3)

    assert compare([late], [ball("3")]).kind == "equal"
    assert max(asked) >= 1000
    assert compare([late], [ball("4")]).kind == "different"


def test_no_value_somewhere_is_narrower_and_everywhere_different():
    """The points tell the two apart."""

    def nothing(bits):
        raise NoValue("`ln(x)` has no value")

    mixed = compare([ball("1"), nothing], [ball("1"), ball("2")])
    assert (mixed.kind, mixed.point, mixed.why) == ("narrower", 1, "`ln(x)` has no value")
    assert compare([nothing, nothing], [ball("1"), ball("2")]).kind == "different"
    assert compare([nothing, ball("5")], [ball("1"), ball("2")]).kind == "different"


def typed(value, half, reference, noise=0.0):
    halves = np.array(None if half is None else Fraction(half), dtype=object)
    return compare([ball(value)], [ball(reference)], rounding=(halves, np.array(noise)))


@pytest.mark.parametrize(("value", "half", "reference", "kind", "rounded"), NUMBERS)
def test_typed_numbers(value, half, reference, kind, rounded):
    """Half a unit of the last digit, counted exactly; whole numbers and zeros are meant exactly."""
    found = typed(value, half, reference)
    assert (found.kind, found.rounded) == (kind, rounded)


def test_a_printed_float_may_carry_its_rounding_error():
    """Sixteen digits out of a program are excused by float64's own error bar, not beyond it."""
    assert typed("1.000000000004", "5e-13", "1", noise=2e-12).kind == "equal"
    assert typed("1.00000000004", "5e-12", "1", noise=2e-12).kind == "different"
    assert typed("1.0001000000000000", "5e-17", "1", noise=1e3).kind == "different"


# -- answers whose truth SymPy and mpmath know -----------------------------------------------------


def verdicts(sample):
    """How often each truth met each verdict, and the pairs on which they contradict."""
    keys: dict[str, Key] = {}
    counts: Counter[tuple[bool, str]] = Counter()
    misjudged = []
    for pair in sample:
        if pair.program not in keys:
            text = f"id: t\ninputs: {{x: {pair.start}}}\nprogram: {pair.program}\n"
            keys[pair.program] = make_key(load_text(text).problems[0])
        verdict = judged(keys[pair.program], pair.answer, diagnose=False).verdict
        counts[pair.right, verdict] += 1
        if verdict != ("right" if pair.right else "wrong"):
            misjudged.append(pair)
    return counts, misjudged


@pytest.mark.parametrize(
    ("seed", "count"), [(5, 120), pytest.param(7, at_most(3_000), marks=pytest.mark.sweep)]
)
def test_generated_pairs_are_judged_rightly(seed, count):
    """No wrong answer is accepted, no right one refused, none left to a person."""
    counts, misjudged = verdicts(list(pairs(count, seed=seed)))
    assert not misjudged
    assert min(counts[True, "right"], counts[False, "wrong"]) > count / 4
    assert sum(counts.values()) > 0.8 * count
