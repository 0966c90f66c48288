"""Keys of a problem that say how its answers are to be judged: known, form, tolerance, domain."""

import pytest

from gradcheck.errors import TextError
from gradcheck.grading.selftest import faults
from gradcheck.problem import load_text
from tests.support.grading import judged, keyed

KNOWN = """
id: k
inputs: {x: 1.5}
program: x**2 * sin(x)
known:
  - {answer: 2x cos x, says: "Both at once {sic}.", credit: 0.25, id: both}
  - {answer: 4x sin x, says: Half a square., credit: 0.5, id: half}
"""


def named(said):
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


def test_a_given_point_outside_of_the_domain_is_a_complaint():
    """It is said where, and what to do."""
    with pytest.raises(TextError, match="outside of the domain"):
        load_text("id: d\ninputs: {x: -2.0}\nprogram: x**2\ndomain: x > 0\n")
