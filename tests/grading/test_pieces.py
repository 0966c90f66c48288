"""One small change of what was typed that makes it right: what belongs in whose place."""

import pytest

from gradcheck.diagnosis import words
from gradcheck.grading.judgement import Judgement
from gradcheck.grading.key import key
from gradcheck.grading.marking import mark
from gradcheck.grading.pieces import standing
from gradcheck.problem.question import question
from tests.support.grading import scalar


def marked(program: str, answer: str) -> Judgement:
    """An answer, marked as in a batch."""
    ready = scalar(program, 1.3)
    return mark(ready, ready.problem.parts[0], answer)


@pytest.mark.parametrize(
    ("program", "answer", "cure"),
    [
        ("pi*x**2", "6.28x", "with `2*pi` for `6.28`"),
        ("pi*x**2", "6.283185307179586x", "with `2*pi` for `6.283185307179586`"),
        ("x**2/3", "0.667x", "with `2/3` for `0.667`"),
        ("log10(x)", "0.434/x", "with `1/log(10)` for `0.434`"),
        ("2**x", "0.69*2^x", "with `log(2)` for `0.69`"),
        ("sin(x) + x**3*sqrt(2)/3", "cos x + 1.41x^2", "with `sqrt(2)` for `1.41`"),
        ("exp(x)*(x**2 + x)", "e^x (x^2 + 3x + 17)", "with `1` for `17`"),
    ],
)
def test_the_number_that_belongs_there(program: str, answer: str, cure: str) -> None:
    """Of a rounded decimal the exact one, however short the answer is."""
    found = marked(program, answer)
    assert found.verdict == "wrong"
    assert found.diagnosis is not None
    assert cure in words(found.diagnosis.hypotheses[0], program)


@pytest.mark.parametrize("answer", ["6.4x", "5x", "6.28x + 0.01", "6.28x^2"])
def test_no_other_number_is_a_rounded_one(answer: str) -> None:
    """Not one that differs by more than its last digit."""
    found = marked("pi*x**2", answer)
    told = found.diagnosis.hypotheses if found.diagnosis else ()
    assert not any("2*pi`" in words(hypothesis) for hypothesis in told)


PLACES = [
    ("x^3 + 2sin x", "3x^2 - 2cos x", "- 2cos x"),
    ("x^3 + 2sin x", "3x^2 + 2sin x", "sin x"),
    ("x^3 + 2sin x", "3x^3 + 2cos x", "3x^3"),
    ("x^3 + 2sin x", "3x^2+3cos x", "3"),
    ("x^3 + 2sin x", "x^2+2cos x", "x^2"),
    ("x^3 + 2sin x", "3x^2 + cos x", "+ cos x"),
    ("x^3 + 2sin x", "f'(x) = 3x^2 - 2cos x", "- 2cos x"),
    ("sin(x^2)", "cos(x^2)", "cos(x^2)"),
    ("sin(x^2)", "2x cos(2x)", "cos(2x)"),
    ("sin(x^2)", "2x sin(x^2)", "sin(x^2)"),
    ("sin(x^2)", "-2x cos(x^2)", "-2x cos(x^2)"),
    ("x^2*sin(3x)", "2x*sin(3x)-3x^2*cos(3x)", "-3x^2*cos(3x)"),
    ("x^2*sin(3x)", "2x*sin(3x)+3x^2*sin(3x)", "sin(3x)"),
    ("x^2/sin x", "(2x*sin x + x^2 cos x)/(sin x)^2", "+ x^2 cos x"),
    ("x^2/sin x", "(2x*sin x - x^2 cos x)/(sin x)", "sin x"),
    ("x^2/sin x", "(x^2 cos x - 2x sin x)/sin^2 x", "(x^2 cos x - 2x sin x)/sin^2 x"),
    ("sqrt(x^2+1)", "1/(2sqrt(x^2+1))", "1/(2sqrt(x^2+1))"),
    ("a*exp(-k*x)", "-k*exp(-k*x)", "-k*exp(-k*x)"),
    ("(x^2+3x)^4", "3(x^2+3x)^3*(2x+3)", "3"),
]


@pytest.mark.parametrize(("function", "answer", "place"), PLACES)
def test_the_piece_to_blame(function, answer, place):
    ready = key(question(function, ["a=2", "k=3"] if "k" in function else [], ["x"]))
    start, end = standing(ready, ready.problem.parts[0], answer)
    assert answer[start:end] == place


@pytest.mark.parametrize(
    ("function", "answer"),
    [
        ("x^3 + 2sin x", "3x^2"),
        ("x^2*sin(3x)", "2x*sin(3x)"),
        ("x^2*sin(3x)", "2x*cos(3x)*3"),
        ("x^3", "x +"),
        ("x^3", "foo x"),
        ("x^3", "1/(x-x)"),
        ("sum(X**2)", "X"),
        ("x^3", "[x, 2x]"),
    ],
)
def test_what_stands_nowhere(function, answer):
    """A term that was left out, a product in another form, what is no formula of numbers."""
    given = ["X=[1, 2]"] if "X" in function else []
    ready = key(question(function, given, []))
    assert standing(ready, ready.problem.parts[0], answer) is None


def test_beside_arrays_nothing_is_looked_at():
    """Slopes are known entry by entry there: the one of x is not the second."""
    ready = key(question("x^3*sum(X)", ["X=[1, 2]", "x=2"], []))
    assert standing(ready, ready.problem.part("x"), "3x^3") is None


@pytest.mark.parametrize(
    ("answer", "line", "before", "place"),
    [
        ("= 2x cos(x^2) \n= 2x sin(x^2)", 2, "= 2x cos(x^2) \n= 2x ", "sin(x^2)"),
        ("cos(x^2)*2x = -2x cos(x^2)", None, "cos(x^2)*2x = ", "-2x cos(x^2)"),
        ("2x sin(x^2)\n2x cos(x^2)\n3x cos(x^2)", 1, "2x ", "sin(x^2)"),
    ],
)
def test_of_working_the_line_that_does_not_hold_is_looked_at(answer, line, before, place):
    ready = key(question("sin(x^2)", [], ["x"]))
    start, end = standing(ready, ready.problem.parts[0], answer, line)
    assert (answer[:start], answer[start:end]) == (before, place)


@pytest.mark.parametrize("typed", ["2x + sinc((x-9)^0.3)", "relu((x-9)^(1/3))"])
def test_a_root_of_a_negative_number_is_no_value(typed: str) -> None:
    """Python's power gives a complex number there, which a function of reals must not take."""
    assert marked("x**2 + x**3", typed).verdict != "right"
