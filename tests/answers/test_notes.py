"""The notes that say which rule decided where a spelling is ambiguous."""

import pytest

from tests.support.typed import read

NOTED = {
    "1/2x": "1/2x is read as (1/2)*x",
    "x^1/2": "x^1/2 is read as (x^1)/2",
    "e^2x": "e^2x is read as (e^2)*x",
    "cos 2x/3": "cos 2x/3 is read as cos(2*x)/3",
    "sin x^2": "sin x^2 is read as sin(x^2)",
    "√2x": "√2x is read as sqrt(2)*x",
    "log x": "log is read as the natural logarithm, ln",
    "sin^-1 x": "sin^-1 is read as the inverse function arcsin, not as 1/sin",
    "1e-3": "1e-3 is read as 1*10^-3",
    "max(0,x)": "max of two arguments is read as maximum",
    "2^log_3 x": "log_3 is read as the logarithm to base 3",
    "sqrt 2x": "sqrt 2x is read as sqrt(2*x)",
    "sin 2*x": "sin 2*x is read as sin(2)*x",
    "x^2y": "x^2y is read as (x^2)*y",
    "lg x": "lg is read as log10",
    "X^T": "X^T is read as the transpose X.T",
}


@pytest.mark.parametrize(("typed", "note"), NOTED.items())
def test_a_rule_that_decided_is_noted(typed, note):
    assert read(typed).notes == (note,)


@pytest.mark.parametrize("typed", ["2x", "3x^2 + 2cos x", "sin 2x", "x sin x", "(1/2)x", "-(x^2)"])
def test_no_note_without_a_doubt(typed):
    assert read(typed).notes == ()


def test_a_product_with_a_transpose_is_noted():
    """Side by side is entry by entry, also for matrices: the note says how to write the other."""
    formula = read("X^T X")
    assert formula.understood == "X.T*X"
    assert "a matrix product is written @" in formula.notes[1]


def test_a_note_spells_powers_as_the_student_does():
    assert read("x**2y").notes == ("x**2y is read as (x**2)*y",)
