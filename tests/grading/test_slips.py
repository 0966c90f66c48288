"""One small change of what was typed that makes it right: what belongs in whose place."""

import pytest

from gradcheck.diagnosis import words
from gradcheck.grading.judgement import Judgement
from gradcheck.grading.marking import mark
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
