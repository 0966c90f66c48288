"""Single precision inside a program of doubles: told with its line, and judged by its digits."""

import numpy as np
import pytest

from gradcheck.testing import GradientError, assert_gradient, assert_vjp, check

X = np.array([0.3, -0.7, 1.2, 0.4])


def cast(c, x):
    """Casts both factors."""
    return c.astype("f") * (1 - np.tanh(x) ** 2).astype("f")


def cast_and_back(c, x):
    """Nothing of it is seen in the dtype of what comes."""
    c = np.asarray(c, np.float32)
    return (c * (1 - np.tanh(x) ** 2)).astype(float)


def into_a_buffer(c, x):
    """Writes into a buffer of single precision."""
    out = np.zeros_like(x, dtype=np.float32)
    out += c * (1 - np.tanh(x) ** 2)
    return out


LINES = {cast: "c.astype", cast_and_back: "np.asarray", into_a_buffer: "np.zeros_like"}


@pytest.mark.parametrize("backward", LINES)
def test_single_precision_in_a_backward_is_told(backward):
    """A note says the line; nothing is said where a tolerance was given."""
    found = assert_vjp(np.tanh, backward, X)
    (note,) = (note for note in found.notes if "float32" in note)
    assert "test_single.py:" in note
    assert LINES[backward] in note
    assert not assert_vjp(np.tanh, backward, X, rtol=1e-5).notes


def test_a_slip_in_single_precision_is_refused():
    """Four parts in ten thousand are more than float32 rounds."""
    with pytest.raises(GradientError, match="float32"):
        assert_vjp(np.tanh, lambda c, x: cast(c, x) * np.float32(1.0004), X)


def test_what_is_all_in_doubles_has_no_such_note():
    """Nor has a wrong one."""
    right = lambda c, x: c * (1 - np.tanh(x) ** 2)
    assert not assert_vjp(np.tanh, right, X).notes
    with pytest.raises(GradientError) as caught:
        assert_vjp(np.tanh, lambda c, x: 1.0001 * right(c, x), X)
    assert "float32" not in str(caught.value)


def buffered(x):
    """A forward with a buffer of single precision: its sum of cubes is right to seven digits."""
    y = np.zeros(4, dtype=np.float32)
    y[:] = x * x
    return (y * x).sum()


def test_single_precision_in_a_function_is_no_fault_of_ours():
    """The claim is judged by what is exact, and the line is told."""
    found = check(buffered, X)
    assert found.ok
    assert found.verdict == "unstable-forward"
    assert "y = np.zeros(4, dtype=np.float32)" in found.message
    assert assert_gradient(buffered, X, gradient=lambda x: 3 * x**2)
    with pytest.raises(GradientError):
        assert_gradient(buffered, X, gradient=lambda x: 3.001 * x**2)
