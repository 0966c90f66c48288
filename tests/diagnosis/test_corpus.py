"""Programs of our own for the tests of diagnosis, and the small evaluator that runs them."""

import math

import numpy as np
import pytest

from gradcheck.opinions.reverse import once
from tests.support.school import SCHOOL, place_in, runner, school


@pytest.mark.parametrize("text", SCHOOL)
def test_programs_run_on_every_kind(text: str) -> None:
    """A program of the corpus has a finite value and a gradient at its points."""
    for each in school(text):
        value, gradients = once(each)
        assert np.isfinite(value)
        assert all(np.isfinite(g) for g in gradients.values())


def test_place_is_that_of_the_innermost_expression() -> None:
    """`where` points at the product while the product is computed."""
    text = "x**3 + 2*sin(x)"
    seen = []
    place = place_in(text)

    class Spy(float):
        def __pow__(self, other: float) -> float:
            seen.append(place())
            return float(self) ** other

    runner(text)("float", {"x": Spy(2.0), "sin": math.sin})
    assert [text[a:b] for a, b in seen] == ["x**3"]
