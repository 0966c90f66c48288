"""Keys of a problem that say how its answers are to be judged: known, form, tolerance, domain."""

import pytest

from gradcheck.errors import TextError
from gradcheck.grading.selftest import faults
from gradcheck.problem import load_text
from tests.support.grading import judged, keyed, scalar

KNOWN = """
id: k
inputs: {x: 1.5}
program: x**2 * sin(x)
known:
  - {answer: 2x cos x, says: "Both at once {sic}.", credit: 0.25, id: both}
  - {answer: 4x sin x, says: Half a square., credit: 0.5, id: half}
"""


def named(said):
    """The ids that are named."""
    return [h.mistake.id for h in said.diagnosis.hypotheses]


@pytest.mark.parametrize(
    ("answer", "id", "score"),
    [
        ("2x cos x", "both", 0.25),
        ("x cos(x) + cos(x) x", "both", 0.25),
        ("4 sin(x) x", "half", 0.5),
        ("0.2122", "both", 0.25),
        ("2x sin x", "lost-product-term", 0.0),
    ],
)
def test_a_known_answer_has_the_teachers_words(answer, id, score):
    """However it is spelled, and before the catalogue is asked; others are as ever."""
    said = judged(keyed(KNOWN), answer)
    assert (said.verdict, named(said), said.score) == ("wrong", [id], score)
    if id == "both":
        assert said.diagnosis.hypotheses[0].mistake.says.format() == "Both at once {sic}."


def test_a_known_answer_that_is_right_is_a_fault_of_the_problem():
    """The self-tests say so."""
    text = KNOWN.replace("4x sin x", "2x sin x + x^2 cos x")
    assert [fault.expected for fault in faults(keyed(text))] == ["wrong: half"]


def test_a_formula_where_one_is_due():
    """A number for the point does not do; of a derivative that is constant it is the formula."""
    text = "id: f\ninputs: {x: 2.0}\nprogram: %s\nform: formula\n"
    said = judged(keyed(text % "x**3"), "12")
    assert said.verdict == "wrong"
    assert any("a formula is due" in remark for remark in said.remarks)
    assert judged(keyed(text % "x**3"), "3x^2").verdict == "right"
    assert judged(keyed(text % "4*x"), "4").verdict == "right"


@pytest.mark.parametrize(
    ("tolerance", "answer", "verdict"),
    [
        ("1e-3", "6.28x", "right"), ("1e-3", "6.2x", "wrong"), ("3 digits", "6.28x", "right"),
        ("3 digits", "6.2x", "wrong"), ("1e-3", "6.28*1.5", "right"), ("1e-6", "6.28x", "wrong"),
    ],
)  # fmt: skip
def test_decimals_within_a_tolerance(tolerance, answer, verdict):
    """2 pi x, with its factor in decimals."""
    text = f"id: t\ninputs: {{x: 1.5}}\nprogram: pi*x**2\ntolerance: {tolerance}\n"
    said = judged(keyed(text), answer)
    assert (said.verdict, "rounded" in said.tags) == (verdict, verdict == "right")


def test_answers_are_compared_on_the_domain():
    """1 is the slope of |x| where x > 0, and of nothing else."""
    text = "id: d\ninputs: {x: 2.0}\nprogram: abs(x)*x\n"
    assert judged(keyed(text), "2x").verdict == "wrong"
    held = keyed(text + "domain: x > 0\n")
    assert judged(held, "2x").verdict == "right"
    assert all(point["x"].item() > 0 for point in held.points)


def test_a_given_point_outside_of_the_domain_is_a_complaint():
    """It is said where, and what to do."""
    with pytest.raises(TextError, match="outside of the domain"):
        load_text("id: d\ninputs: {x: -2.0}\nprogram: x**2\ndomain: x > 0\n")


def test_a_number_judged_at_one_point_is_tagged():
    """The slope of |x| at 2 is 1, and is another one elsewhere; that of 3x is not."""
    assert judged(scalar("abs(x)", 2.0), "1").tags == ("one-point",)
    assert judged(scalar("3*x", 2.0), "3").tags == ()
