"""Lists as programs print them and as mathematics sets them."""

from typing import NamedTuple

import pytest

from gradcheck.answers import FUNCTIONS, read_formula
from gradcheck.errors import TextError


class Sized(NamedTuple):
    """An input of some shape."""

    shape: tuple[int, ...]


INPUTS = {"x": Sized((2,)), "M": Sized((2, 3)), "y": Sized(())}
THREE, TWO_ROWS = "[1, -2.5, 3]", "[[1, 2], [3, 4]]"
CASES = [
    ("[1 -2.5 3]", THREE),
    ("[ 1.  -2.5  3. ]", "[1, -2.5, 3]"),
    ("[0.3 -0.2]", "[0.3, -0.2]"),
    ("[3 - 1]", "[3 - 1]"),
    ("[1 2; 3 4]", TWO_ROWS),
    ("[1, 2; 3, 4]", TWO_ROWS),
    ("[[1 2]\n [3 4]]", TWO_ROWS),
    ("1 2\n3 4", TWO_ROWS),
    ("tensor([[1, 2],\n        [3, 4]], dtype=torch.float64)", TWO_ROWS),
    ("tensor([[1, 2],\n        [3, 4],\n        [5, 6]])", "[[1, 2], [3, 4], [5, 6]]"),
    ("tensor([1, -2.5, 3], grad_fn=<MulBackward0>)", THREE),
    ("(1, -2.5, 3)", THREE),
    ("(1, -2.5, 3)^T", THREE),
    ("{1, -2.5, 3}", THREE),
    ("<1, -2.5, 3>", THREE),
    ("((1, 2), (3, 4))", TWO_ROWS),
    ("{{1, 2}, {3, 4}}", TWO_ROWS),
    ("1, -2.5, 3", THREE),
    ("dx = 1, -2.5, 3", THREE),
    ("1 -2.5 3", THREE),
    ("(1; -2,5; 3)", THREE),
    ("[1; -2,5; 3]", THREE),
    ("(2y, y^2)", "[2*y, y**2]"),
    (r"\begin{pmatrix} 1 \\ -2.5 \\ 3 \end{pmatrix}", THREE),
    (r"\begin{bmatrix} 1 & -2.5 & 3 \end{bmatrix}^\top", THREE),
    (r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}", TWO_ROWS),
    (r"\left(\begin{array}{cc} 1 & 2 \\ 3 & 4 \end{array}\right)", TWO_ROWS),
    (r"2\begin{pmatrix} y \\ 1 \end{pmatrix}", "2*[y, 1]"),
    ("1,234,567", "1234567"),
]


@pytest.mark.parametrize(("typed", "understood"), CASES, ids=[c[0] for c in CASES])
def test_they_are_read_as_lists(typed, understood):
    """A blank parts two numbers where no blank follows the sign of the second."""
    read = read_formula(typed, names=INPUTS, functions=FUNCTIONS)
    assert read.understood.replace(".0,", ",").replace(".0]", "]") == understood


@pytest.mark.parametrize("typed", ["3,5", "[1,2,3;4,5]", "x, y", "(3)(4 5)", "1 2 -", "[3 -1 +]"])
def test_what_may_be_something_else_is_refused(typed):
    """A decimal comma, rows of unlike lengths, names without brackets, a sign without number."""
    with pytest.raises(TextError):
        read_formula(typed, names=INPUTS, functions=FUNCTIONS)


def test_tight_commas_beside_semicolons_may_be_rows_or_decimals():
    """Refused where the problem has an array of just these rows; else decimals, as before."""
    square = {"M": Sized((2, 2))}
    with pytest.raises(TextError, match=r"write \[\[1, 2\], ...\]"):
        read_formula("[1,2;3,4]", names=square, functions=FUNCTIONS)
    read = read_formula("[1,2;3,4]", names={"x": Sized((2,))}, functions=FUNCTIONS)
    assert read.understood == "[1.2, 3.4]"


def test_where_one_number_is_due_nothing_is_a_list():
    """`[3 -1]` is then a difference."""
    read = read_formula("[3 -1]", names={"y": Sized(())}, functions=FUNCTIONS, single=True)
    assert read.understood == "3 - 1"
