"""One small change of what was typed that makes it right: what belongs in whose place."""

from pathlib import Path

import pytest

from gradcheck.diagnosis import write_words
from gradcheck.grading.key import make_key
from gradcheck.grading.marking import mark
from gradcheck.grading.pieces import locate_blame
from gradcheck.problem.load import make_question
from tests.support.grading import scalar


def marked(program, answer):
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
def test_the_number_that_belongs_there(program, answer, cure):
    """Of a rounded decimal the exact one, however short the answer is."""
    found = marked(program, answer)
    assert found.verdict == "wrong"
    assert found.diagnosis is not None
    assert cure in write_words(found.diagnosis.hypotheses[0], program)


@pytest.mark.parametrize("answer", ["6.4x", "5x", "6.28x + 0.01", "6.28x^2"])
def test_no_other_number_is_a_rounded_one(answer):
    """Not one that differs by more than its last digit."""
    found = marked("pi*x**2", answer)
    told = found.diagnosis.hypotheses if found.diagnosis else ()
    assert not any("2*pi`" in write_words(hypothesis) for hypothesis in told)


TABLE = Path(__file__).with_name("pieces.txt").read_text().splitlines()[1:]
PLACES = [tuple(cell.strip() for cell in line.split("|")) for line in TABLE]


@pytest.mark.parametrize(("function", "answer", "place"), PLACES)
def test_the_piece_to_blame(function, answer, place):
    """A term that was left out, and what is no formula of numbers, stands nowhere."""
    given = ["a=2", "k=3"] if "k" in function else ["X=[1, 2]"] if "X" in function else []
    ready = make_key(make_question(function, [*given, "x=2"] if "X)" in function else given, []))
    part = ready.problem.part("x") or ready.problem.parts[0]
    found = locate_blame(ready, part, answer)
    assert (answer[slice(*found)] if found else "-") == place


@pytest.mark.parametrize(
    ("answer", "line", "before", "place"),
    [
        ("= 2x cos(x^2) \n= 2x sin(x^2)", 2, "= 2x cos(x^2) \n= 2x ", "sin(x^2)"),
        ("cos(x^2)*2x = -2x cos(x^2)", None, "cos(x^2)*2x = ", "-2x cos(x^2)"),
        ("2x sin(x^2)\n2x cos(x^2)\n3x cos(x^2)", 1, "2x ", "sin(x^2)"),
    ],
)
def test_of_working_the_line_that_does_not_hold_is_looked_at(answer, line, before, place):
    ready = make_key(make_question("sin(x^2)", [], ["x"]))
    start, end = locate_blame(ready, ready.problem.parts[0], answer, line)
    assert (answer[:start], answer[start:end]) == (before, place)


@pytest.mark.parametrize("typed", ["2x + sinc((x-9)^0.3)", "relu((x-9)^(1/3))"])
def test_a_root_of_a_negative_number_is_no_value(typed):
    """Python's power gives a complex number there, which a function of reals must not take."""
    assert marked("x**2 + x**3", typed).verdict != "right"
