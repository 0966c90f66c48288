"""Right or wrong beyond doubt: forms of the same derivative, and forms that only look the same."""

from collections import Counter
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from flint import arb

from gradcheck.grading.equivalence import NoValue, compare, compare_numbers
from gradcheck.grading.key import Key, key
from gradcheck.numbers.run import Undecided
from gradcheck.problem import load_text
from tests.support.grading import judged, keyed, scalar
from tests.support.pairs import Pair, pairs
from tests.support.sweeping import at_most

TRICKY = [
    ("tanh(x)", "0.5", "4/(e^x + e^(-x))^2", "right"),
    ("tanh(x)", "0.5", "1 - tanh^2 x", "right"),
    ("x**x", "1.5", "e^(x ln x) (1 + ln x)", "right"),
    ("x**x", "1.5", "x^x ln x", "wrong"),
    ("abs(x)", "1.5", "x/sqrt(x^2)", "right"),
    ("abs(x)", "1.5", "sign(x)", "right"),
    ("abs(x)", "1.5", "tanh(1000x)", "wrong"),
    ("x**2/2", "1.5", "sqrt(x^2)", "wrong"),
    ("(x - 3)**6000", "3.5", "6000 ((x-3)^1000)^5 (x-3)^999", "right"),
    ("(x - 3)**6000", "3.5", "5999 ((x-3)^1000)^5 (x-3)^999", "wrong"),
    ("10**6*x**2/2 - cos(x)", "1.5", "10^6 x + sin x", "right"),
    ("10**6*x**2/2 - cos(x)", "1.5", "10^6 x", "wrong"),
    ("x**2/2", "1.5", "x", "right"),
    ("x**2/2", "1.5", "x + 1e-6", "wrong"),
    ("x**2/2", "1.5", "x + 1e-40", "wrong"),
    ("x**2/2", "1.5", "x + 1e-399", "wrong"),
    ("x**2/2", "1.5", "x^(1 + 1e-399)", "wrong"),
    ("arctan(x) + arctan(1/x)", "1.5", "0*x", "right"),
    ("-arctan(1/x)", "1.5", "1/(1 + x^2)", "right"),
    ("exp(x) + 2", "1.5", "e^x", "right"),
    ("exp(x) + 2", "1.5", "e^x + 2", "wrong"),
    ("log(abs(x))", "1.5", "1/x", "right"),
    ("log(abs(x))", "1.5", "1/|x|", "wrong"),
    ("sqrt(x - 8)*exp(x)", "9.0", "e^x/(2sqrt(x-8)) + sqrt(x-8) e^x", "right"),
    ("sqrt(x - 8)*exp(x)", "9.0", "e^x/(2sqrt(x-8)) - sqrt(x-8) e^x", "wrong"),
    ("x**12*sin(x)", "0.1", "12x^11 sin x + x^12 cos x", "right"),
    ("x**12*sin(x)", "0.1", "12x^11 sin x - x^12 cos x", "wrong"),
    ("cos(8*x)**x", "0.1", "cos(8x)^x (ln cos 8x - 8x tan 8x)", "right"),
    ("7**(x + 8)", "0.5", "7^(x+8) ln 7", "right"),
    ("7**(x + 8)", "0.5", "(x+8)*7^(x+7)", "wrong"),
    ("sin(x)**2 + cos(x)**2", "1.5", "sin(x) - sin(x)", "right"),
    ("sin(x)**2 + cos(x)**2", "1.5", "x*1e-50", "wrong"),
    ("log(x/3)", "1.5", "x^-1", "right"),
    ("x/3", "1.5", "1/3 + 0x", "right"),
    ("x/3", "1.5", "0.333333333333333333333333333 + 0x", "wrong"),
]


@pytest.mark.parametrize(("program", "x", "answer", "verdict"), TRICKY)
def test_tricky_pairs(program, x, answer, verdict):
    """Pairs on which other checkers time out, guess, or are fooled by a tolerance."""
    assert judged(scalar(program, x), answer).verdict == verdict


BREAKS = [
    ("x**2/2", "x + max(x - 40, 0)"),
    ("x**2/2", "x + max(-40 - x, 0)"),
    ("x**2/2", "x + |x - 700| - (700 - x)"),
    ("x**2/2", "x + 1e-9*where(x > 5000, 1, 0)"),
    ("x**2/2", "where(x < -123456, 0, x)"),
    ("x**2/2", "x*sqrt((x - 2000)^2)/(2000 - x)"),
    ("x**2/2", "x + floor(|x|/100000)"),
    ("x**3 if x > 100 else x**2", "2x"),
    ("x**3 if x > 100 else x**2", "3x^2"),
    ("maximum(x, 37.5)*x", "37.5 + 0x"),
]


@pytest.mark.parametrize(("program", "answer"), BREAKS)
def test_both_sides_of_every_breakpoint_are_visited(program, answer):
    """A formula that is right only on one side of a knot, however far out, is wrong."""
    assert judged(scalar(program), answer).verdict == "wrong"


@pytest.mark.parametrize(
    ("program", "answer"),
    [
        ("x**3 if x > 100 else x**2", "where(x > 100, 3x^2, 2x)"),
        ("maximum(x, 37.5)*x", "where(x > 37.5, 2x, 37.5)"),
        ("abs(x - 40)", "sign(x - 40)"),
        ("abs(x - 40)", "(x - 40)/|x - 40|"),
    ],
)
def test_a_formula_with_the_same_breakpoints_is_right(program, answer):
    """The paths of the program, written out by the student."""
    assert judged(scalar(program), answer).verdict == "right"


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
    """No value anywhere is not a narrower domain."""
    found = judged(scalar("x**2/2"), answer)
    assert (found.verdict, found.tags, found.score) == ("wrong", (), 0.0)
    assert "has no value at any point" in found.remarks[-1]


@pytest.mark.parametrize(
    ("answer", "tag"), [("x/x * x", ()), ("x*tan(x)*cot(x)", ()), ("e^(ln x)", ("narrower",))]
)
def test_a_wider_or_pointwise_gap_is_no_fault(answer, tag):
    """Single points that are missing from an answer's domain are not drawn; half lines are."""
    assert judged(scalar("x**2/2"), answer).tags == tag


@pytest.mark.parametrize(
    "answer",
    [
        "x + e^(-10^9*x^2)",
        "x + 0.5(tanh(10^9*x)^2 - 1)",
        "x + sqrt(sin(x)^2 + cos(x)^2 - 1)",
        "x + 1/(sin(x)^2 + cos(x)^2 - 1)",
        "e^(e^(e^(e^(x^2+9))))",
    ],
)
def test_where_precision_runs_out_a_person_decides(answer):
    """A zero that no digits prove, under a root or a bar; a term too small ever to be seen."""
    found = judged(scalar("x**2/2"), answer)
    assert found.verdict == "needs-review"
    assert found.remarks


def test_cancellation_only_costs_precision():
    """1e40 in between loses 40 digits; more bits bring them back."""
    ready = scalar("x**2/2")
    assert judged(ready, "(x + 1e40) - 1e40").verdict == "right"
    assert judged(ready, "(x + 1e200) - 1e200").verdict == "right"
    assert judged(ready, "(x + 1e200) - 1e200 + 1e-25").verdict == "wrong"


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


SHAPES = [
    ("(X @ w - y) @ X + 0", "right"),
    ("sum(X.T @ (X @ w - y))", "shape"),
    ("[sum(X.T @ (X @ w - y))]", "shape"),
    ("expand_dims(X.T @ (X @ w - y), 0)", "shape"),
    ("2", "shape"),
    ("X @ (X @ w - y)", "cannot be evaluated"),
    ("X.T @ w", "cannot be evaluated"),
    ("w[7]", "cannot be evaluated"),
]


@pytest.mark.parametrize(("answer", "outcome"), SHAPES)
def test_shapes_come_first(answer, outcome):
    """Another shape is wrong even if it broadcasts; shapes that clash are wrong with a remark."""
    ready = keyed(
        "id: lsq\ninputs:\n  X: {shape: [4, 2], requires_grad: false}\n  w: {shape: [2]}\n"
        "  y: {shape: [4], requires_grad: false}\nprogram: ((X @ w - y)**2).sum()/2\n"
    )
    found = judged(ready, answer)
    if outcome == "right":
        assert found.verdict == "right"
    elif outcome == "shape":
        assert (found.verdict, found.tags) == ("wrong", ("shape",))
    else:
        assert found.verdict == "wrong"
        assert any(outcome in remark for remark in found.remarks)


# -- the comparison itself -----------------------------------------------------------------------


def ball(middle: str, radius: float = 0.0):
    """A constant function of the precision."""
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
    """An answer that only says something with 1,000 bits is asked with 1,000 bits."""
    asked = []

    def late(bits: int):
        asked.append(bits)
        if bits < 1000:
            raise Undecided
        return arb(3)

    assert compare([late], [ball("3")]).kind == "equal"
    assert max(asked) >= 1000
    assert compare([late], [ball("4")]).kind == "different"


def test_no_value_somewhere_is_narrower_and_everywhere_different():
    """The points tell the two apart."""

    def nothing(bits: int):
        raise NoValue("`ln(x)` has no value")

    mixed = compare([ball("1"), nothing], [ball("1"), ball("2")])
    assert (mixed.kind, mixed.point, mixed.why) == ("narrower", 1, "`ln(x)` has no value")
    assert compare([nothing, nothing], [ball("1"), ball("2")]).kind == "different"
    assert compare([nothing, ball("5")], [ball("1"), ball("2")]).kind == "different"


def typed(value: str, half: str | None, reference: str, noise: float = 0.0):
    """A typed number beside a reference of 60 digits."""
    halves = np.array(None if half is None else Fraction(half), dtype=object)
    return compare_numbers(ball(value), halves, ball(reference), np.array(noise))


@pytest.mark.parametrize(
    ("value", "half", "reference", "kind", "rounded"),
    [
        ("11.17", "0.005", "11.1677", "equal", True),
        ("11.16", "0.005", "11.1677", "different", False),
        ("11.5", "0.5", "12", "equal", True),
        ("11.5", "0.5", "12.0000001", "different", False),
        ("11", None, "11.0000001", "different", False),
        ("11", None, "11", "equal", False),
        ("0", "0.05", "0.04", "different", False),
        ("0", "0.05", "0", "equal", False),
        ("0.3333333333333333", "5e-17", "0.33333333333333333333333333", "equal", False),
        ("0.3333333333333", "5e-14", "0.33333333333333333333333333", "equal", False),
        ("0.33333333333", "5e-12", "0.33333333333333333333333333", "equal", True),
        ("0.3333333334", "5e-11", "0.33333333333333333333333333", "different", False),
    ],
)
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

FAST = 120
SWEEP = at_most(3_000)


def verdicts(sample: list[Pair]) -> tuple[Counter[tuple[bool, str]], list[Pair]]:
    """How often each truth met each verdict, and the pairs on which they contradict."""
    keys: dict[str, Key] = {}
    counts: Counter[tuple[bool, str]] = Counter()
    misjudged = []
    for pair in sample:
        if pair.program not in keys:
            text = f"id: t\ninputs: {{x: {pair.start}}}\nprogram: {pair.program}\n"
            keys[pair.program] = key(load_text(text).problems[0])
        verdict = judged(keys[pair.program], pair.answer, diagnose=False).verdict
        counts[pair.right, verdict] += 1
        if verdict != ("right" if pair.right else "wrong"):
            misjudged.append(pair)
    return counts, misjudged


def test_generated_pairs_are_judged_rightly():
    """No wrong answer is accepted, no right one refused, none left to a person."""
    counts, misjudged = verdicts(list(pairs(FAST, seed=5)))
    assert not misjudged
    assert counts[True, "right"] > FAST / 4
    assert counts[False, "wrong"] > FAST / 4


@pytest.mark.sweep
def test_many_generated_pairs_are_judged_rightly():
    """The same of as many as GRADCHECK_SWEEP says."""
    counts, misjudged = verdicts(list(pairs(SWEEP, seed=7)))
    assert not misjudged
    assert sum(counts.values()) > SWEEP * 0.8


SQUARES = "id: t\ninputs: {x: {shape: [3]}}\nprogram: sum(x**2)\n"
LAYER = "id: t\ninputs: {X: {shape: [3, 2]}, w: {shape: [2]}}\nprogram: sum((X @ w)**2)\nwrt: [w]\n"


READ_OUT = """id: t
inputs: {x: 2.0, w: [1.0, -2.0]}
program: |
  y = x**2
  y.backward()
  with no_grad():
      w -= 0.2 * w
ask: {v: y, g: x.grad, w: w}
"""


@pytest.mark.parametrize(
    ("part", "answer", "verdict"),
    [
        ("v", "x^2", "right"),
        ("v", "x^2*(x < 900)", "wrong"),
        ("v", "x^2 + max(0, x - 900)", "wrong"),
        ("g", "2x + (x > 500)", "wrong"),
        ("w", "0.8*w", "right"),
        ("w", "0.8*w*(w < 50)", "wrong"),
        ("w", "0.8*w + maximum(0, w - 100)", "wrong"),
    ],
)
def test_what_a_program_is_asked_at_its_end_is_seen_far_out_too(part, answer, verdict):
    assert judged(keyed(READ_OUT), answer, part).verdict == verdict


@pytest.mark.parametrize(
    ("text", "answer", "verdict"),
    [
        (SQUARES, "2*x + (x > 500)", "wrong"),
        (SQUARES, "2*x + maximum(0, x - 1000)", "wrong"),
        (SQUARES, "where(x > 500, 0, 2*x)", "wrong"),
        (SQUARES, "2*x*(sum(x) < 700)", "wrong"),
        (SQUARES, "2*clip(x, -100, 100)", "wrong"),
        (SQUARES, "[2x[0], 2x[1], 2x[2] + (x[0] > 99)]", "wrong"),
        (SQUARES, "abs(2*x)*sign(x)", "right"),
        (SQUARES, "2*x*((x > 0) - -(x <= 0))", "right"),
        (SQUARES, "2*x*((x > 7) + (x <= 7))", "right"),
        (SQUARES, "2*x*erf(10^5*abs(x))", "wrong"),
        (SQUARES, "2*x + 10^(-500)", "needs-review"),
        (SQUARES, "2*x + (x > 10^12)", "wrong"),
        (SQUARES, "2*x + (x > 10^40)", "needs-review"),
        (LAYER, "2*X.T @ maximum(X @ w, -500)", "wrong"),
        (LAYER, "2*X.T @ (X @ w) * (w[0] < 100)", "wrong"),
        (LAYER, "2*X.T @ (relu(X @ w) - relu(-X @ w))", "right"),
    ],
)
def test_answers_of_arrays_are_seen_where_their_rule_changes(text, answer, verdict):
    """Far out, and near the numbers that they mention, or one over them."""
    assert judged(keyed(text), answer).verdict == verdict


@pytest.mark.parametrize(
    ("program", "answer", "verdict"),
    [
        ("x**2", "2x + (x > 500)", "wrong"),
        ("x**2", "2x*(x < 5000)", "wrong"),
        ("x**2", "clip(2x, -1000, 1000)", "wrong"),
        ("x**2", "2x + (x > 10^12)", "wrong"),
        ("x**2", "2x + (x > 10^40)", "needs-review"),
        ("x**2", "2x + max(0, x - 10^40)", "needs-review"),
        ("x**2", "2x + 10^40*(abs(x) - sqrt(x^2))", "right"),
        ("relu(x)", "(x > 10^-6)", "wrong"),
        ("relu(x)", "(x > -10^-9)", "wrong"),
    ],
)
def test_comparisons_that_are_numbers_are_seen_too(program, answer, verdict):
    assert judged(scalar(program), answer).verdict == verdict
