"""What a named mistake leaves of the points: by its id, or by its kind."""

import pytest

from tests.support.grading import judged, keyed

PROBLEM = """
title: t
credit: {CREDIT}
problems:
  - id: t
    inputs: {x: 1.5}
    program: x**3 + 2*sin(x)
    points: 2
"""
SIGN, COEFFICIENT = "3x^2 - 2cos x", "x^2 + 2cos x"


@pytest.mark.parametrize(
    ("credit", "sign", "coefficient"),
    [
        ("{}", 0.0, 0.0),
        ("{slip: 0.5}", 1.0, 0.0),
        ("{slip: 0.5, misconception: 0.25}", 1.0, 0.5),
        ("{slip: 0.5, sign-error: 0}", 0.0, 0.0),
        ("{power-coefficient-missing: 0.75}", 0.0, 1.5),
    ],
)
def test_credit_by_id_and_by_kind(credit: str, sign: float, coefficient: float) -> None:
    """A sign is a slip; an id has the last word over its kind; without a rubric nothing is left."""
    ready = keyed(PROBLEM.replace("{CREDIT}", credit))
    assert judged(ready, SIGN).score == sign
    assert judged(ready, COEFFICIENT).score == coefficient
