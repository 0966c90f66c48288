"""How large a short formula is, and when it is likelier than a mistake."""

import numpy as np
import pytest

from gradcheck.diagnosis import explain, prepare
from gradcheck.diagnosis.evidence import size
from gradcheck.diagnosis.explain import CONSISTENT
from gradcheck.diagnosis.tables import given
from tests.support.school import POINTS, case, evaluated


def values(text):
    """A formula at the points."""
    return [evaluated(text, {"x": np.asarray(point)}) for point in POINTS]


def prepared(program):
    """Every mistake made in a function of x."""
    return prepare([case(program, {"x": point}, ["x"]) for point in POINTS])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x", 1), ("sin(x)", 1), ("exp(x)", 1), ("7 + 0*x", 1), ("2*x", 2), ("x**2", 2),
        ("1/x", 2), ("x + 1", 2), ("exp(2*x)", 2), ("-cos(x)", 2), ("x*sin(x)", 2),
        ("3*x**2", 3), ("2*x*cos(x)", 3), ("1/(x + 1)", 3), ("x**2/2", 4),
        ("3*x**2 - 2*cos(x)", None), ("sin(x**2)", None), ("x**3 - x", None), ("13*x", None),
    ],
)  # fmt: skip
def test_the_size_of_a_formula(text, expected):
    """One for each thing that is not the plainest, counted by hand."""
    wanted = given(values(text), 0.0)
    assert wanted is not None
    assert size(prepared("x**3"), "x", wanted) == expected


@pytest.mark.parametrize(
    ("program", "answer", "weak"),
    [
        ("exp(sqrt(x))", "exp(x)", True),
        ("exp(x**2)", "exp(x)", True),
        ("x**3 + 2*sin(x)", "3*x**2", False),
        ("x**3", "x**2", False),
        ("x**2 * sin(x)", "2*x*cos(x)", False),
    ],
)
def test_a_short_formula_is_only_consistent_with_a_rare_mistake(program, answer, weak):
    """The mistake is named all the same; what is said of it is less."""
    found = explain(prepared(program), "x", values(answer))
    assert found.hypotheses
    assert (CONSISTENT in found.remarks) is weak
    assert found.certainty == ("torn" if weak else "unique")
