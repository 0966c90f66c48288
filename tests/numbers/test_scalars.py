"""Exact numbers in NumPy's hands: arrays that stay exact, buffers that stay plain."""

from fractions import Fraction

import numpy as np
import pytest

from gradcheck.numbers.ball import Ball, balls
from gradcheck.numbers.scalars import Scalars
from gradcheck.numbers.symbolic import Symbolic, constants, leaves

MAKERS = {"balls": balls, "constants": constants, "leaves": lambda values: leaves("x", values)}


@pytest.fixture(params=MAKERS)
def made(request):
    return MAKERS[request.param]


def test_single_numbers_stay_wrapped(made):
    x = made([[1, 2], [3, 4]])
    for found in (x[0, 1], np.sum(x), x.T[1, 0], np.exp(x)[0], x @ x, x.astype(float)):
        assert isinstance(found, Scalars)
    assert isinstance(x[0, 1].item(), Ball | Symbolic)
    x[0, 0] = x[1, 1]
    assert x[0, 0] == 4


def test_a_place_to_write_into_is_served(made):
    """`out=` and `where=` are NumPy's own affair."""
    x, out = made([1, 2]), made([0, 0])
    np.add(x, x, out=out)
    assert [bool(each == due) for each, due in zip(out, (2, 4), strict=True)] == [True, True]
    np.multiply(x, 5, out=out, where=np.array([True, False]))
    assert (bool(out[0] == 5), bool(out[1] == 4)) == (True, True)


def test_a_buffer_of_plain_numbers_gives_plain_numbers():
    buffer = np.array([0.0, 1.5], dtype=object).view(Scalars)
    found = np.add(buffer, buffer)
    assert (type(found), found.dtype.kind, found.tolist()) == (np.ndarray, "f", [0.0, 3.0])
    assert np.logaddexp(buffer, buffer).dtype.kind == "f"


@pytest.mark.parametrize("cast", [float, int, lambda x: [1, 2][x]])
def test_no_number_is_cast_to_a_float(made, cast):
    with pytest.raises(TypeError, match="exact history would be lost"):
        cast(made([1])[0].item())
    with pytest.raises(TypeError, match="exact history would be lost"):
        float(made([1])[0])


def test_what_is_shown_of_a_number():
    assert repr(constants([Fraction(1, 3)])[0].item()).startswith("Symbolic(1/3, [0.333")
    assert repr(np.sin(leaves("x", [1.0]))[0].item()).startswith("Symbolic(sin, [0.84")
    assert repr(Ball(2)) == "Ball(2.00000000000000)"
