"""State that is put back, buffers that hold other numbers, single precision that is told."""

import operator
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pytest

from gradcheck.testing import GradientError, assert_gradient, assert_vjp, check

X = np.random.default_rng(1).normal(size=(4, 3))
V, W = np.linspace(0.3, 1.9, 9), np.array([0.7, -1.2, 0.4])
F = np.array([0.3, -0.7, 1.2, 0.4])


# -- state -----------------------------------------------------------------------------------------


class Dense:
    """Keeps its input and output, and adds up the gradient of its weights."""

    def __init__(self):
        self.w = np.random.default_rng(0).normal(size=(3, 2))
        self.dw = np.zeros((3, 2))

    def forward(self, x):
        self.x, self.y = x, np.tanh(x @ self.w)
        return self.y

    def backward(self, c):
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
def test_layers_that_keep_state_are_judged_and_left_as_they_were(layer):
    """At twenty seeds; a factor on the way back is seen through the state."""
    for seed in range(20):
        it = layer()
        before = {name: np.array(value) for name, value in vars(it).items()}
        x = np.random.default_rng(seed).normal(size=(4, 3))
        assert assert_vjp(it.forward, it.backward, x, seed=seed)
        assert vars(it).keys() == before.keys()
        for name, value in before.items():
            np.testing.assert_array_equal(vars(it)[name], value)
    it = layer()
    with pytest.raises(GradientError, match="d/dx"):
        assert_vjp(it.forward, lambda c, *x: 1.001 * it.backward(c, *x[: layer is not Dense]), X)


def test_weights_of_a_layer_that_takes_the_cotangent_alone_are_asked_for():
    """As any argument of functions around it."""
    it = Dense()

    def forward(x, w):
        it.w = w
        return it.forward(x)

    def backward(c):
        return it.backward(c), it.dw

    assert assert_vjp(forward, backward, X, np.ones((3, 2)))
    with pytest.raises(GradientError, match="d/dw"):
        assert_vjp(forward, lambda c: (backward(c)[0], 2 * it.dw), X, np.ones((3, 2)))


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


def test_compiled_functions_are_judged_by_floats():
    """They have no state to look into; of numba forward and backward, alone and inside."""
    assert assert_gradient(Compiled(), X, gradient=lambda x: 2 * x)
    with pytest.raises(GradientError):
        assert_gradient(Compiled(), X, gradient=lambda x: 2.1 * x)
    numba = pytest.importorskip("numba")
    f = numba.njit(lambda x: np.sum(x**2))
    assert assert_gradient(f, X, gradient=lambda x: 2 * x)
    assert assert_vjp(lambda x: 3 * f(x), numba.njit(lambda c, x: 6 * c * x), X)


@dataclass
class Turned:
    own: object = None


def test_what_refers_to_itself_is_no_endless_tree():
    """A dataclass and a dict that hold themselves, as arguments."""
    layer, named = Turned(), {"w": W}
    layer.own = named["own"] = layer
    for held in (layer, named):
        assert assert_vjp(lambda x, held: x * W, lambda c, x, held: (c * W, None), W, held, wrt=0)


def filling(x):
    out = np.zeros(x.shape)
    for i, v in enumerate(x):
        out[i] = np.tanh(v)
    return out


def pooled(g, x):
    """Wrong; with another map inside of the one it waits for ever, and no repair may try it."""
    with ThreadPoolExecutor(2) as pool:
        return np.stack(list(pool.map(lambda a: a[0] * (1 - np.tanh(a[1])), zip(g, x))))  # noqa: B905


def test_threads_see_nothing_of_one_another():
    """Two assert, on buffers, while a third makes arrays with NumPy."""

    def asserting():
        for seed in range(5):
            x = np.random.default_rng(seed).normal(size=4)
            assert assert_vjp(filling, lambda g, x: g * (1 - np.tanh(x) ** 2), x)
            with pytest.raises(GradientError):
                assert_vjp(filling, pooled, x)

    def plain():
        for _ in range(2000):
            made = np.zeros(3)
            made[:] = 1.5
            assert type(made) is np.ndarray
            assert made.dtype == float

    with ThreadPoolExecutor(3) as pool:
        for done in [pool.submit(work) for work in (asserting, asserting, plain)]:
            done.result()


# -- buffers ---------------------------------------------------------------------------------------


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
    def run(self, x):
        return super().run(np.tanh(x))


NET = Filling(Inheriting(), Filling())
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
    "methods, and layers inside layers": lambda x, w: NET.run(x).sum(),
    "a buffer": lambda x, w: (filling(x) ** 2).sum(),
    "a step makes another number": lambda x, w: operator.imul(n := x @ x, 2) * n * w[0],
    "whole numbers": lambda x, w: (filling(x[np.array([2, 0])]) ** 2).sum(),
}


@pytest.mark.parametrize("name", GATHERED)
def test_gathered_numbers_keep_their_history(name):
    """No opinion abstains, and they agree; meanwhile the module's makers are NumPy's own."""
    makers, seen = (np.zeros, np.array), []

    def f(x, w):
        value = GATHERED[name](x, w)
        seen.append((sys.modules["numpy"].zeros, sys.modules["numpy"].array) == makers)
        return value

    found = check(f, V, W)
    assert found.verdict == "agree"
    assert not any(opinion.abstains for opinion in found.worst.opinions.values())
    assert all(seen)


DYING = """
import numpy as np
from gradcheck.testing import assert_gradient

def judge(draw):
    def f(x):
        y = np.zeros(4)
        y[:] = x * draw()
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


def test_compiled_code_beside_a_buffer_lives():
    """What NumPy's and SciPy's own compiled code makes is never an array of ours."""
    code = DYING + "".join(f"judge(lambda: {drawn})\n" for drawn in COMPILED)
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout.split()) == (0, ["agree"] * 6), ended.stderr[-500:]


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
        assert assert_gradient(shuffled, V[:4], gradient=2 * V[:4] * b)
        with pytest.raises(GradientError):
            assert_gradient(shuffled, V[:4], gradient=2 * V[:4] * np.sort(b))


def test_a_black_box_is_known_by_one_opinion():
    """Nothing agrees with it, and what would help is told; it is not said to be unknown."""
    told = check(lambda x: float(x[0]) * float(x[1]), V[:2]).message
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


# -- single precision ------------------------------------------------------------------------------


def cast(c, x):
    return c.astype("f") * (1 - np.tanh(x) ** 2).astype("f")


def cast_and_back(c, x):
    c = np.asarray(c, np.float32)
    return (c * (1 - np.tanh(x) ** 2)).astype(float)


def cast_in_passing(c, x):
    return (c.astype("f") * (1 - np.tanh(x) ** 2)).astype(np.float64)


def into_a_buffer(c, x):
    out = np.zeros_like(x, dtype=np.float32)
    out += c * (1 - np.tanh(x) ** 2)
    return out


LINES = {
    cast: "c.astype",
    cast_and_back: "np.asarray",
    cast_in_passing: "c.astype",
    into_a_buffer: "np.zeros_like",
}


@pytest.mark.parametrize("backward", LINES)
def test_single_precision_in_a_backward_is_told(backward):
    """A note says the line; nothing is said where a tolerance was given."""
    found = assert_vjp(np.tanh, backward, F)
    (note,) = (note for note in found.notes if "float32" in note)
    assert "test_copies.py:" in note
    assert LINES[backward] in note
    assert not assert_vjp(np.tanh, backward, F, rtol=1e-5).notes


@pytest.mark.parametrize(("slip", "told"), [
    (lambda c, x: cast(c, x) * np.float32(1.0004), True),
    (lambda c, x: 1.0001 * c * (1 - np.tanh(x) ** 2), False),
])  # fmt: skip
def test_a_slip_beyond_its_precision_is_refused(slip, told):
    """Four parts in ten thousand are more than float32 rounds; all in doubles has no such note."""
    with pytest.raises(GradientError) as caught:
        assert_vjp(np.tanh, slip, F)
    assert ("float32" in str(caught.value)) is told


def squared(x):
    y = np.zeros(x.shape, dtype=np.float32)
    y[:] = x * x
    return y


def buffered(x):
    return (squared(x) * x).sum()


def test_single_precision_in_a_function_is_no_fault_of_ours():
    """The claim is judged by what is exact, and the line is told."""
    found = check(buffered, F)
    assert found.ok
    assert found.verdict == "unstable-forward"
    assert "y = np.zeros(x.shape, dtype=np.float32)" in found.message
    assert assert_vjp(squared, lambda c, x: 2 * c.astype("f") * x, np.repeat(F, 3) + 1)
    assert assert_gradient(buffered, F, gradient=lambda x: 3 * x**2)
    with pytest.raises(GradientError):
        assert_gradient(buffered, F, gradient=lambda x: 3.001 * x**2)
