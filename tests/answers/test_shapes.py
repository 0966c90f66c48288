"""Products without a sign in problems of arrays: what fits the shapes is read."""

from typing import NamedTuple

import pytest

from gradcheck.answers import FUNCTIONS, read_formula


class Sized(NamedTuple):
    """An input of a shape."""

    shape: tuple[int, ...]


INPUTS = {
    "X": Sized((5, 3)),
    "W": Sized((3, 2)),
    "Y": Sized((5, 2)),
    "S": Sized((3, 3)),
    "v": Sized((3,)),
    "c": Sized(()),
}
READ = {
    "XW": "X @ W",
    "X W - Y": "X @ W - Y",
    "X^T(XW-Y)": "X.T @ (X @ W - Y)",
    "2/10 X^T (XW - Y)": "2/10*X.T @ (X @ W - Y)",
    r"\frac{2}{Y.size} X^\top (X W - Y)": "2/Y.size*X.T @ (X @ W - Y)",
    "2(XW-Y)(1-Y^2)": "2*(X @ W - Y)*(1 - Y**2)",
    "Xv": "X @ v",
    "X(v + W)": "X*(v + W)",
    "vX^T": "v @ X.T",
    "SS": "S*S",
    "cX": "c*X",
    "2X": "2*X",
    "vv": "v*v",
    "tanh(XW)Y": "tanh(X @ W)*Y",
    "X*W": "X*W",
    "X.T.shape[0] c": "X.T.shape[0]*c",
}


@pytest.mark.parametrize(("typed", "understood"), READ.items())
def test_a_product_is_read_as_it_fits(typed, understood):
    """A matrix beside a vector is a product; else entry by entry where that fits; with a note."""
    formula = read_formula(typed, names=INPUTS, functions=FUNCTIONS)
    assert formula.understood == understood
    assert ("@" not in understood) or any("matrix product" in note for note in formula.notes)
