"""What `check` gives back: gradients, closed forms, and a repr that a person reads."""

import numpy as np
import pytest

from gradcheck import check, tensor

ONE, TWO = (6.0, "2*x"), ([2.0, 4.0], ["2*x[0]", "2*x[1]"])


@pytest.mark.parametrize(("x", "expected"), [
    (3, ONE), (3.0, ONE), (np.int64(3), ONE), (tensor(3.0, requires_grad=True), ONE),
    ([1, 2], TWO), ([1.0, 2.0], TWO), (np.array([1, 2]), TWO), (tensor([1.0, 2.0]), TWO),
])  # fmt: skip
def test_numbers_and_arrays_of_any_kind_are_taken(x, expected):
    """d/dx sum(x²) = 2x, entry by entry."""
    found = check(lambda x: np.sum(x**2), x)
    np.testing.assert_allclose(found.gradient, expected[0], rtol=1e-15)
    assert found.closed_form == expected[1]


def test_several_arguments_give_tuples():
    """d/dx sum(x y) = y, and the other way round."""
    found = check(lambda x, y: np.sum(x * y), [1.0, 2.0], [3.0, 4.0])
    np.testing.assert_array_equal(found.gradient, [[3.0, 4.0], [1.0, 2.0]])
    assert found.closed_form == (["y[0]", "y[1]"], ["x[0]", "x[1]"])


def test_the_repr_is_a_report():
    found = check(lambda x: x**2 + np.sin(x), 3, gradient=lambda x: 2 * x - np.cos(x))
    lines = repr(found).splitlines()
    assert lines[0] == "agree: the opinions agree, the gradient given does not"
    assert lines[1].startswith("  d/dx = 5.0100075")  # 2*3 + cos(3)
    assert lines[2] == "  d/dx = 2*x + cos(x)"
    assert "sign-error" in repr(found)
    assert "d/dx in [-1, 1]" in repr(check(abs, 0.0))
    assert "cos" not in repr(check(np.sin, np.ones(2)))  # cotangents of sixteen digits are drawn
