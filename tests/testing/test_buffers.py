"""Arrays that are filled or gathered entry by entry: all three opinions speak of them."""

import subprocess
import sys
import warnings

import numpy as np
import pytest

from gradcheck.testing import GradientError, assert_gradient, check

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


def test_numpy_stays_what_it_is():
    """While a program fills a buffer of ours, the module's makers are NumPy's own."""
    makers = np.zeros, np.array
    seen = []

    def f(x):
        out = np.zeros(9)
        out[:] = np.tanh(x)
        seen.append((sys.modules["numpy"].zeros, sys.modules["numpy"].array) == makers)
        return (out * out).sum()

    found = check(f, X)
    assert not any(opinion.abstains for opinion in found.worst.opinions.values())
    assert all(seen)


class Filling:
    """Fills a buffer by methods, one of a base class, in layers inside it."""

    def __init__(self, *inner):
        self.inner = list(inner)

    def run(self, x):
        for layer in self.inner:
            x = layer.run(x)
        return self.halve(x)

    def halve(self, x):
        out = np.empty_like(x)
        for i, v in enumerate(x):
            out[i] = v * v / 2
        return out


class Inheriting(Filling):
    """A layer whose methods stand elsewhere."""

    def run(self, x):
        return super().run(np.tanh(x))


def test_methods_and_layers_inside_layers_fill_buffers():
    """No opinion abstains on what methods of methods write entry by entry."""
    net = Filling(Inheriting(), Filling())
    found = check(lambda x: net.run(x).sum(), X)
    assert found.verdict == "agree"
    assert not any(opinion.abstains for opinion in found.worst.opinions.values())


DYING = """
import numpy as np
from gradcheck.testing import assert_gradient

def f(x):
    y = np.zeros(4)
    y[:] = x * {drawn}
    return y.sum()

print(assert_gradient(f, np.ones(4)).verdict)
"""
COMPILED = (
    "np.random.default_rng(3).random(4)",
    "np.random.default_rng(3).normal(size=4)",
    "np.random.default_rng(3).choice(4, 4)",
    "np.random.RandomState(3).permutation(4)",
    "np.random.default_rng(3).multivariate_normal(np.zeros(4), np.eye(4))",
    "__import__('scipy.spatial').spatial.distance.pdist(np.eye(4)[:3]).sum()",
)


@pytest.mark.parametrize("drawn", COMPILED)
def test_compiled_code_beside_a_buffer_lives(drawn):
    """What NumPy's and SciPy's own compiled code makes is never an array of ours."""
    code = [sys.executable, "-c", DYING.format(drawn=drawn)]
    ended = subprocess.run(code, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout.strip()) == (0, "agree"), ended.stderr[-500:]


def test_what_a_library_does_otherwise_to_a_buffer_is_left_to_floats():
    """`shuffle` shuffles in another order what is no array of NumPy's: no opinion is at fault."""

    def shuffled(x):
        b = np.zeros(4) + np.array([0.3, 0.1, 0.7, 0.2])
        np.random.default_rng(3).shuffle(b)
        y = np.zeros(4)
        y[:] = x**2 * b
        return y.sum()

    b = np.array([0.3, 0.1, 0.7, 0.2])
    np.random.default_rng(3).shuffle(b)
    with warnings.catch_warnings(action="ignore"):  # NumPy's, of what it shuffles
        assert assert_gradient(shuffled, X[:4], gradient=2 * X[:4] * b)
        with pytest.raises(GradientError):
            assert_gradient(shuffled, X[:4], gradient=2 * X[:4] * np.sort(b))


def test_a_black_box_is_known_by_one_opinion():
    """Nothing agrees with it, and what would help is told; it is not said to be unknown."""
    told = check(lambda x: float(x[0]) * float(x[1]), X[:2]).message
    assert "only one opinion could be formed" in told
    assert "hand in the gradient" in told
    assert "digits" not in told
    assert told.count("reverse abstains") == 1


class Base:
    def slopes(self, x):
        out = np.zeros(len(x))
        out[:] = x
        return out


class Doubled(Base):
    def slopes(self, x):
        return 2 * super().slopes(x)


def test_a_method_that_calls_super_runs_once():
    """In a copy of its class too; what the class above fills is left to floats."""
    layer, x = Doubled(), np.array([0.5, -1.5])
    assert check(lambda x: np.sum(layer.slopes(x) ** 2), x, gradient=8 * x).ok
