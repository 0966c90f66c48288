"""Layers that remember: forward runs before every backward, and what they keep is put back."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pytest

from gradcheck.testing import GradientError, assert_gradient, assert_vjp

X = np.random.default_rng(1).normal(size=(4, 3))


class Dense:
    """Keeps its input and output, and adds up the gradient of its weights."""

    def __init__(self):
        self.w = np.random.default_rng(0).normal(size=(3, 2))
        self.dw = np.zeros((3, 2))

    def forward(self, x):
        self.x, self.y = x, np.tanh(x @ self.w)
        return self.y

    def backward(self, c, x):
        d = c * (1 - self.y**2)
        self.dw += self.x.T @ d
        return d @ self.w.T


class BatchNorm:
    """Keeps running statistics, which its value does not use while it is trained."""

    def __init__(self):
        self.running = np.zeros(3)

    def forward(self, x):
        mean = x.mean(0)
        self.running = 0.9 * self.running + 0.1 * mean
        self.std = np.sqrt(((x - mean) ** 2).mean(0) + 1e-5)
        self.hat = (x - mean) / self.std
        return self.hat

    def backward(self, c, x):
        return (c - c.mean(0) - self.hat * (c * self.hat).mean(0)) / self.std


class Buffered:
    """Gives every gradient in the same memory."""

    def __init__(self):
        self.buffer = np.zeros((4, 3))

    def forward(self, x):
        self.x = x
        return np.sin(x)

    def backward(self, c, x):
        np.multiply(c, np.cos(self.x), out=self.buffer)
        return self.buffer


class Taped:
    """Pushes what backward needs, and takes it off again."""

    def __init__(self):
        self.tape = []

    def forward(self, x):
        self.tape.append(np.exp(x))
        return self.tape[-1]

    def backward(self, c, x):
        return c * self.tape.pop()


LAYERS = (Dense, BatchNorm, Buffered, Taped)


@pytest.mark.parametrize("layer", LAYERS)
def test_layers_that_keep_state_are_not_accused(layer):
    """Nor is anything left in them that was not there before; at twenty seeds."""
    for seed in range(20):
        it = layer()
        before = {name: np.array(value) for name, value in vars(it).items()}
        x = np.random.default_rng(seed).normal(size=(4, 3))
        assert assert_vjp(it.forward, it.backward, x, seed=seed)
        assert vars(it).keys() == before.keys()
        for name, value in before.items():
            np.testing.assert_array_equal(vars(it)[name], value)


@pytest.mark.parametrize("layer", LAYERS)
def test_layers_that_keep_state_are_still_judged(layer):
    """A factor on the way back is seen through the state."""
    it = layer()
    with pytest.raises(GradientError, match="d/dx"):
        assert_vjp(it.forward, lambda c, x: 1.001 * it.backward(c, x), X)


class Keeping(Dense):
    """Its backward takes the cotangent alone, as layers' mostly do."""

    def backward(self, c):
        return super().backward(c, None)


def test_a_layer_that_keeps_what_it_needs_takes_the_cotangent_alone():
    """It is called so, judged so, and its weights are asked for like any argument."""
    it = Keeping()
    assert assert_vjp(it.forward, it.backward, X)
    with pytest.raises(GradientError, match="d/dx"):
        assert_vjp(it.forward, lambda c: 2 * it.backward(c), X)

    def forward(x, w):
        it.w = w
        return it.forward(x)

    def backward(c):
        return it.backward(c), it.dw

    assert assert_vjp(forward, backward, X, np.ones((3, 2)))
    with pytest.raises(GradientError, match="d/dw"):
        assert_vjp(forward, lambda c: (backward(c)[0], 2 * it.dw), X, np.ones((3, 2)))


def test_a_backward_that_cannot_be_called_is_told_how_it_is_called():
    """Neither with the arguments nor without them."""
    with pytest.raises(TypeError, match=r"<lambda>\(cotangent, x, y\)"):
        assert_vjp(lambda x, y: x * y, lambda c, x: c * x, X, X)


def test_a_closure_is_state_too():
    """A dict that forward and backward share, and a loss whose gradient reads it."""
    kept = {}

    def loss(x):
        kept["e"] = np.exp(x)
        return np.sum(kept["e"])

    assert assert_gradient(loss, X, gradient=lambda x: kept["e"])
    assert kept == {}
    with pytest.raises(GradientError):
        assert_gradient(loss, X, gradient=lambda x: 2 * kept["e"])


def test_statistics_that_change_the_value_are_told_and_not_blamed():
    """A counter makes every call's value another one; each call begins with the same state."""
    seen = [1.0]

    def scaled(x):
        seen[0] += 1.0
        return seen[0] * x

    found = assert_vjp(scaled, lambda c, x: 2.0 * c, X)
    assert "(running statistics?)" in found.message
    assert seen == [1.0]


class Compiled:
    """As what numba has compiled: its `__dict__` is no dict, and no kind of ours fits."""

    @property
    def __dict__(self):
        return object()

    def __call__(self, x):
        if not isinstance(x, np.ndarray) or x.dtype != float:
            raise TypeError("cannot determine the type")
        return float(np.sum(x**2))


def test_a_compiled_function_has_no_state_to_look_into():
    """It takes plain floats alone, and is judged by them."""
    assert assert_gradient(Compiled(), X, gradient=lambda x: 2 * x)
    with pytest.raises(GradientError):
        assert_gradient(Compiled(), X, gradient=lambda x: 2.1 * x)


def test_functions_of_numba_are_judged():
    """Compiled forward and backward, alone and inside a function."""
    numba = pytest.importorskip("numba")
    f = numba.njit(lambda x: np.sum(x**2))
    assert assert_gradient(f, X, gradient=lambda x: 2 * x)
    assert assert_vjp(lambda x: 3 * f(x), numba.njit(lambda c, x: 6 * c * x), X)


@dataclass
class Turned:
    """A layer of weights that refers to itself."""

    w: np.ndarray
    own: object = None

    def __post_init__(self):
        self.own = self


def test_what_refers_to_itself_is_no_endless_tree():
    """A dataclass and a dict that hold themselves, as arguments."""
    layer = Turned(np.array([0.5, -1.5, 2.0]))
    named: dict = {"w": layer.w}
    named["own"] = named
    back = lambda c, x, held: (c * W3, None)
    for held in (layer, named):
        assert assert_vjp(lambda x, held: x * W3, back, X, held, wrt=0)


W3 = np.array([0.5, -1.5, 2.0])


def test_threads_see_nothing_of_one_another():
    """Two assert, on buffers, while a third makes arrays with NumPy."""

    def forward(x):
        out = np.zeros(x.shape)
        for i, v in enumerate(x):
            out[i] = np.tanh(v)
        return out

    def asserting():
        for seed in range(5):
            x = np.random.default_rng(seed).normal(size=4)
            assert assert_vjp(forward, lambda g, x: g * (1 - np.tanh(x) ** 2), x)
            with pytest.raises(GradientError):
                assert_vjp(forward, lambda g, x: g * (1 - np.tanh(x)), x)

    def plain():
        for _ in range(2000):
            made = np.zeros(3)
            made[:] = 1.5
            assert type(made) is np.ndarray
            assert made.dtype == float

    with ThreadPoolExecutor(3) as pool:
        for done in [pool.submit(work) for work in (asserting, asserting, plain)]:
            done.result()
