"""Matrix notation as people type it: what else it could mean, and shapes that do not fit."""

import pytest

from gradcheck.answers import misfit, other_readings
from tests.support.typed import read
from tests.support.typed_tables import named

INPUTS = named("X=5x3 R=5x2 H=5x2 W2=2x2 p=5 y=5 w=3 A=3x3 B=3x3")


def formula(typed):
    return read(typed, INPUTS)


def test_the_identity_is_that_of_the_square_matrices():
    """Where all are of one size."""
    assert read("2 tr(A) I", named("A=3x3")).understood == "2*trace(A)*eye(A.shape[0])"


OTHERWISE = {"A^3": "A @ A @ A", "|A|": "det(A)", "2I": "2*eye(X.shape[0])"}


@pytest.mark.parametrize("typed", OTHERWISE)
def test_what_another_reader_would_read_is_kept(typed):
    """A power of a matrix, its determinant, the identity of the other length."""
    others = [other.understood for other in other_readings(formula(typed))]
    assert OTHERWISE[typed] in others


def test_bars_that_pair_up_in_two_ways_are_read_both_ways():
    """The first bar that can close does; the other pairing is kept."""
    found = read("|x|y|a|")
    assert found.understood == "absolute(x)*y*absolute(a)"
    assert [other.understood for other in other_readings(found)] == ["absolute(x*absolute(y)*a)"]


FAULTS = {
    "X R": "`X` should be transposed: shapes (5,3)·(5,2)",
    "X.T @ (R @ X)": "`R` should be transposed: shapes (5,2)·(5,3)",
    "X.T * R": "`X.T` times `R` is a matrix product: write @; shapes (3,5)·(5,2)",
    "X @ p": "`X` should be transposed: shapes (5,3)·(5)",
    "X.T @ R": "",
    "sum(X) * R": "",
}


@pytest.mark.parametrize("typed", FAULTS)
def test_shapes_that_do_not_fit_are_told_in_the_same_notation(typed):
    """Which factor, which shapes, and what would fit."""
    shapes = {name: entry.shape for name, entry in INPUTS.items()}
    assert misfit(formula(typed).tree, shapes) == FAULTS[typed]
