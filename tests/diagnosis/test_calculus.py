"""Wrong answers as textbooks and lists of malrules describe them, to functions of our own.

Each line was worked out by hand: function, wrong derivative, the mistakes that explain it.
"""

from pathlib import Path

import numpy as np
import pytest

from gradcheck.diagnosis import explain, prepare
from gradcheck.diagnosis.line import derive_lines
from gradcheck.diagnosis.preparing import find_literals, misread
from tests.support.school import case, evaluated, school

TABLE = Path(__file__).with_name("textbook.txt").read_text().splitlines()
LINES = [tuple(cell.strip() for cell in line.split("|")) for line in TABLE if line[0] != "#"]

TWO = """
x**3*sin(x) + cos(4*x) | 3*x**2*cos(x) - sin(4*x) | product-of-derivatives missing-inner-derivative
x**5 + sin(x**2)         | x**4 - 2*x*cos(x**2)      | power-coefficient-missing sign-error
sin(x**3)                | -cos(x**3)                | missing-inner-derivative sign-error
exp(cos(x**3))           | exp(cos(x**3))*sin(x**3)  | missing-inner-derivative sign-error
"""
PAIRS = [tuple(cell.strip() for cell in line.split("|")) for line in TWO.strip().splitlines()]


def diagnosed(text, answer):
    cases = school(text)
    return explain(prepare(cases), "x", [evaluated(answer, c.inputs) for c in cases])


@pytest.mark.parametrize(("text", "answer", "ids"), LINES, ids=[f"{a}: {b}" for a, b, _ in LINES])
def test_textbook_mistake_is_named(text, answer, ids):
    found = diagnosed(text, answer)
    told = (*found.hypotheses, *(found.beneath if "function" in ids else ()))
    named = [h.mistake.id for h in told]
    assert set(ids.split()) <= set(named), named
    assert found.hypotheses[0].with_ is None


UNIQUE = [line for line in LINES if line[2] in {"product-of-derivatives", "numerator-squared"}]


@pytest.mark.parametrize(("text", "answer", "mistake"), UNIQUE)
def test_nothing_else_is_suspected(text, answer, mistake):
    """Generic functions leave no room for a second explanation."""
    found = diagnosed(text, answer)
    assert (found.certainty, [h.mistake.id for h in found.hypotheses]) == ("unique", [mistake])


@pytest.mark.parametrize(("text", "answer", "ids"), PAIRS)
def test_two_mistakes_in_one_answer(text, answer, ids):
    assert set(diagnosed(text, answer).hypotheses[0].ids) == set(ids.split())


def test_place_is_the_whole_term():
    """A sign on an unbranched path is reported at the largest term it may stand for."""
    text = "x**3 + 2*sin(x)"
    found = diagnosed(text, "3*x**2 - 2*cos(x)")
    assert found.certainty == "unique"
    assert found.hypotheses[0].span == (7, 15)


def test_torn_commonest_first():
    """e^(sin x) answered e^(sin x) may be either; the missing inner derivative is commonest."""
    found = diagnosed("exp(sin(x))", "exp(sin(x))")
    ids = [h.mistake.id for h in found.hypotheses]
    assert found.certainty == "torn"
    assert ids == ["missing-inner-derivative", "not-differentiated"]


@pytest.mark.parametrize(
    ("text", "answer"),
    [("cos(2*x)", "-sin(2*x)"), ("sin(2*x)*cos(3*x)", "cos(2*x)*cos(3*x) - sin(2*x)*sin(3*x)")],
)
def test_what_lies_within_is_not_said_beside(text, answer):
    """Of an inner derivative that is missing it is not said too that its factor was lost."""
    found = diagnosed(text, answer)
    assert (found.certainty, [h.mistake.id for h in found.hypotheses]) == (
        "unique",
        ["missing-inner-derivative"],
    )
    assert "constant-factor-lost" in {h.mistake.id for h in found.beneath}


def test_same_mistake_everywhere_is_one():
    """Every inner derivative left out is one misconception, its place is all that is concerned."""
    found = diagnosed("sin(x**3) + exp(x**2)", "cos(x**3) + exp(x**2)")
    assert [h.mistake.id for h in found.hypotheses] == ["missing-inner-derivative"]
    assert found.hypotheses[0].everywhere
    assert found.hypotheses[0].span == (0, 21)


def test_slip_says_the_factor():
    """A coefficient that no rule explains is said with what belongs there: 24."""
    found = diagnosed("6*x**4 + x", "21*x**3 + 1")
    assert (found.hypotheses[0].texts["factor"], found.hypotheses[0].texts["c"]) == ("21", "24")
    assert found.hypotheses[0].span == (0, 6)


def test_nonsense_is_unnamed():
    found = diagnosed("x**3 * sin(x)", "log(x + 9)")
    assert (found.certainty, found.hypotheses) == ("unnamed", ())


@pytest.mark.parametrize(
    ("program", "slope"), [("sin(2*x)", 4 * np.cos(2.8)), ("softplus(2*x, 3)", None)]
)
def test_of_a_function_with_parameters_no_number_is_read_otherwise(program, slope):
    """4 for the 2 at x = 0.7; the slope of softplus would be that of another beta."""
    ((_, line),) = derive_lines([case(program, {"x": 0.7})])
    (at,) = find_literals(line)
    found = misread(line, at, np.array([4.0]))
    assert found is None if slope is None else found == pytest.approx(slope)
