"""Derivatives of named functions as they are misremembered, each typed as an answer.

The slopes of a neighbour in the table (of cot for tan, of arsinh for arctan), a sign or a square
off, and a reciprocal for an inverse: every function's at its own argument.
"""

import pytest

from gradcheck.diagnosis import explain, prepare
from tests.support.school import evaluated, school

FUNCTION, INVERSE = "wrong-function-derivative", "inverse-function-derivative-wrong"
TABLE = """
sin(x)         | 1/cos(x)
cos(x)         | 1/sin(x)
tan(x)         | 1/cos(x)
tan(x)         | tan(x)/cos(x)
tan(x)         | 1/sin(x)**2
cot(x)         | 1/sin(x)
cot(x)         | -1/(tan(x)*sin(x))
cot(x)         | 1/cos(x)**2
sec(x)         | 1/cos(x)**2
sec(x)         | tan(x)
sec(x)         | tan(x)**2
csc(x)         | -1/sin(x)**2
csc(x)         | -1/tan(x)
csc(x)         | -1/tan(x)**2
sinh(x)        | cos(x)
cosh(x)        | -sin(x)
tanh(x)        | 1 - tanh(x)
tanh(x)        | 1 + tanh(x)**2
tanh(x)        | 1/cosh(x)
sigmoid(x)     | 1 - sigmoid(x)
sigmoid(x)     | sigmoid(x)**2
sigmoid(x)     | sigmoid(x)*(1 + sigmoid(x))
sqrt(x)        | 2/sqrt(x)
sqrt(x)        | 1/(2*x)
erf(x)         | exp(-x**2)
exp(x)         | 1/x
arctan(x/2)    | 1/2/sqrt(1 - x**2/4)
arctan(x)      | 1/(1 - x**2)
arctan(x)      | 1/sqrt(1 + x**2)
arctan(x)      | 1/(1 + x)
arctan(x)      | -1/sin(x)**2
arctan(x)      | 1/cos(arctan(x))
arcsin(x/2)    | 1/2/sqrt(1 + x**2/4)
arcsin(x/2)    | 1/2/(1 - x**2/4)
arcsin(x/2)    | 1/2/(1 + x**2/4)
arcsin(x/2)    | -cos(x/2)/(2*sin(x/2)**2)
arcsin(x/2)    | cos(arcsin(x/2))/2
arccos(x/2)    | -1/2/sqrt(1 + x**2/4)
arccos(x/2)    | -1/2/(1 - x**2/4)
arccos(x/2)    | 1/2/(1 + x**2/4)
arccos(x/2)    | sin(x/2)/(2*cos(x/2)**2)
arccos(x/2)    | -sin(arccos(x/2))/2
arcsinh(x/2)   | 1/2/sqrt(1 - x**2/4)
arcsinh(x + 2) | 1/sqrt((x + 2)**2 - 1)
arcsinh(x)     | 1/(1 + x**2)
arcsinh(x)     | -cosh(x)/sinh(x)**2
arccosh(x + 2) | 1/sqrt(1 + (x + 2)**2)
arccosh(x + 2) | 1/((x + 2)**2 - 1)
arccosh(x + 2) | -sinh(x + 2)/cosh(x + 2)**2
arctanh(x/3)   | 1/3/(1 + x**2/9)
arctanh(x/3)   | 1/3/sqrt(1 - x**2/9)
arctanh(x/3)   | 1/3/sqrt(1 + x**2/9)
arctanh(x/3)   | -1/3/sinh(x/3)**2
"""
LINES = [tuple(cell.strip() for cell in line.split("|")) for line in TABLE.strip().splitlines()]


@pytest.mark.parametrize(("text", "answer"), LINES, ids=[": ".join(line) for line in LINES])
def test_a_slope_misremembered_is_named(text: str, answer: str) -> None:
    """At the points of the school's other answers."""
    cases = school(text)
    found = explain(prepare(cases), "x", [evaluated(answer, c.inputs) for c in cases])
    due = INVERSE if text.startswith("arc") else FUNCTION
    assert due in {h.mistake.id for h in (*found.hypotheses, *found.beneath)}
