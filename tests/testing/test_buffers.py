"""Arrays that are filled or gathered entry by entry: all three opinions speak of them."""

import numpy as np
import pytest

from gradcheck.testing import check
from gradcheck.testing.buffers import PLAIN, buffers

X, W = np.linspace(0.3, 1.9, 9), np.array([0.7, -1.2, 0.4])
GATHERED = {
    "the value": lambda x, w: np.array([np.dot(x[i : i + 3], w) for i in range(7)]),
    "rows": lambda x, w: np.array([x * v for v in w]),
    "nested, with plain numbers": lambda x, w: np.array([[w[0], x[1]], [0.0, 1.0]]) @ x[:2],
    "in the midst": lambda x, w: np.array([np.tanh(v) for v in x]) * x,
    "then reshaped": lambda x, w: np.asarray([v * v for v in x]).reshape(3, 3) @ w,
    "then reduced": lambda x, w: np.exp(np.array([v / 2 for v in x])).mean() + w[0],
    "of a kind": lambda x, w: np.array((x[0] * x[1], w[1]), dtype=float),
    "an array anew": lambda x, w: np.asarray(x, dtype=np.float64).astype(float) ** 2,
    "an iterator": lambda x, w: np.fromiter((v * v for v in x), float),
}


@pytest.mark.parametrize("name", GATHERED)
def test_gathered_numbers_keep_their_history(name):
    """No opinion abstains, and they agree."""
    found = check(GATHERED[name], X, W)
    assert found.verdict == "agree"
    assert not any(opinion.abstains for opinion in found.worst.opinions.values())


def test_whole_numbers_are_left_to_numpy():
    """A list of indices is what NumPy makes of it, beside a buffer of numbers."""

    def picked(x):
        out = np.zeros(2)
        out[:] = x[np.array([2, 0])]
        return (out * out).sum()

    np.testing.assert_allclose(check(picked, X[:3]).gradient, [2 * X[0], 0, 2 * X[2]], rtol=1e-15)


def test_others_call_numpy_as_ever():
    """While the names are changed, code that is not the user's gets what it always got."""
    with buffers("tensor"):
        assert np.array(object=[1, 2]).tolist() == [1, 2]
        assert np.asarray(a=[1.5]).tolist() == [1.5]
        assert np.array([1, 2], int).dtype == np.dtype(int)
    assert np.array is PLAIN["array"]


def test_a_black_box_is_known_by_one_opinion():
    """Nothing agrees with it, and what would help is told; it is not said to be unknown."""
    told = check(lambda x: float(x[0]) * float(x[1]), X[:2]).message
    assert "only one opinion could be formed" in told
    assert "hand in the gradient" in told
    assert "digits" not in told
    assert told.count("reverse abstains") == 1
