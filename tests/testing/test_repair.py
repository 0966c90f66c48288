"""The edit of a backward pass's own source that makes it right: which line, and what for what."""

import importlib
import sys
import threading
import warnings

import numpy as np
import pytest

from gradcheck import Function, check
from gradcheck.testing import GradientError, assert_gradient, assert_vjp

RNG = np.random.default_rng(0)
X, W, B = RNG.normal(size=(4, 3)), RNG.normal(size=(3, 2)), RNG.normal(size=2)


def linear(x, w, b):
    """A layer."""
    return np.tanh(x @ w + b)


def wrong_linear(c, x, w, b):
    """Its backward, with a mean where the bias adds up."""
    d = c * (1 - linear(x, w, b) ** 2)
    dx = d @ w.T
    return dx, x.T @ d, d.mean(0)


class Layer:
    """A layer whose method adds up twice."""

    def __init__(self):
        self.calls = 0

    def forward(self, x):
        """Remember the value."""
        self.y = np.exp(x)
        return self.y

    def backward(self, c, x):
        """Twice what it is to be."""
        g = np.zeros_like(x)
        g += c * self.y
        g += c * self.y
        return g


def closed():
    """A backward that is closed over what it reads."""
    scale = 3.0

    def backward(c, x):
        return c * scale / x

    return backward


WRONG = {
    "a mean": (linear, wrong_linear, (X, W, B), "mean-for-sum", "d.sum(0)", "d.mean(0)"),
    "a method": (Layer().forward, Layer.backward, (X,), None, None, "g += c * self.y"),
    "a closure": (lambda x: 3 * x, closed(), (X,), "chain", "c * scale", "c * scale / x"),
    "a lambda": (
        np.sin,
        lambda c, x: c * np.sin(x),
        (X,),
        "function-misread",
        "np.cos(x)",
        "sin",
    ),
    "a long name": (
        lambda a_name_that_is_long, b: np.sin(a_name_that_is_long),
        lambda c, x, b: (c * np.sin(x), 0 * b),
        (X, B),
        "function-misread",
        "np.cos(x)",
        "sin",
    ),
    "a mask": (lambda x: np.maximum(x, 0), lambda c, x: c * (x < 0), (X,), "mask", "x > 0", "x <"),
}


@pytest.mark.parametrize("name", WRONG)
def test_the_line_is_found(name):
    """The place in the backward's own source, and both texts."""
    forward, backward, args, mistake, new, old = WRONG[name]
    if name == "a method":
        layer = Layer()
        forward, backward = layer.forward, layer.backward
    with pytest.raises(GradientError) as caught:
        assert_vjp(forward, backward, *args)
    repair, text = caught.value.result.repair, str(caught.value)
    with open(__file__, encoding="utf-8") as file:
        line = file.read().split("\n")[repair.line - 1]
    assert old in line
    assert old in repair.old
    assert new is None or new in repair.new
    assert mistake is None or mistake in text
    assert "\n".join(repair.lines) in text
    first, *others = map(len, text.split("\n"))
    assert first <= 80  # pytest's summary shows this line alone
    assert max(others) <= 60


def test_the_first_line_says_all():
    """Argument, entry, mistake, numbers: what pytest's summary shows."""
    with pytest.raises(GradientError) as caught:
        assert_gradient(lambda x: np.sum(x**3), X[0], gradient=lambda x: -3 * x**2)
    first = str(caught.value).split("\n")[0]
    assert first.startswith("d/dx[")
    assert ", should be " in first
    assert first.endswith(": sign-error")
    assert type(caught.value).__module__ == "gradcheck.testing"


def test_an_endless_loop_ends():
    """An edit may take away what ends a loop; the mistake is found all the same."""

    def backward(c, x):
        while np.max(np.abs(x)) > 0.25:
            x, c = x / 2, c / 2
        return 3 * c

    def halved(x):
        while np.max(np.abs(x)) > 0.25:
            x = x / 2
        return x

    with pytest.raises(GradientError) as caught:
        assert_vjp(halved, backward, X)
    assert caught.value.result.repair.old == "return 3 * c"


def test_a_loop_over_what_it_adds_to_ends():
    """`for v in seen` in the place of `for v in vs` would never end."""

    def reflected(vs, x):
        for v in vs:
            x = x - 2 * v * (v @ x) / (v @ v)
        return x

    def backward(c, vs, x):
        seen = [x]
        for v in vs:
            seen.append(seen[-1] - 2 * v * (v @ seen[-1]) / (v @ v))
        dvs = np.zeros_like(vs)
        for i in reversed(range(len(vs))):
            v, before = vs[i], seen[i]
            dvs[i] = -2 / (v @ v) * ((c @ v) * before + (v @ before) * c)
            c = c - 2 * v * (v @ c) / (v @ v)
        return dvs, c

    with pytest.raises(GradientError, match="should be"):
        assert_vjp(reflected, backward, RNG.normal(size=(4, 4)), RNG.normal(size=4))


class Square(Function):
    """A user's own function whose backward lacks a factor of two."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x


@pytest.mark.parametrize("f", [Square.apply, lambda x: np.sum(np.sin(Square.apply(x)))])
def test_a_wrong_backward_of_a_function_of_theirs_is_theirs(f):
    """It is not called a fault of gradcheck."""
    found = check(f, X[0])
    assert not found
    assert found.message.startswith("Square.backward is wrong")
    assert "fault of gradcheck" not in found.message


class Gate:
    """A sigmoid layer whose backward lost a factor that forward keeps."""

    def forward(self, x):
        self.out = 1 / (1 + np.exp(-x))
        return self.out

    def backward(self, dout):
        return dout * (1 - self.out)


class Linear:
    """A linear layer that sends back through the wrong side of its weights."""

    def __init__(self):
        self.weights = np.arange(9.0).reshape(3, 3)

    def forward(self, x):
        return x @ self.weights

    def backward(self, dout):
        return dout @ self.weights


@pytest.mark.parametrize(
    ("kind", "mended"),
    [(Gate, "dout * (1 - self.out) * self.out"), (Linear, "dout @ self.weights.T")],
)
def test_the_method_that_a_lambda_calls_is_mended(kind, mended):
    """In its own source, with what its class keeps; and the class is afterwards as it was."""
    layer, method = kind(), kind.backward
    with pytest.raises(GradientError) as caught:
        assert_vjp(layer.forward, lambda c, x: layer.backward(c), np.array([[0.5, -1.5, 2.0]]))
    assert f"  + return {mended}\n" in str(caught.value)
    assert kind.backward is method


def slip_in_one_of_two(g, x, w):
    y = np.tanh(x @ w)
    return g * (1 - y**2) @ w.T, x.T @ g


def test_what_one_line_has_the_other_is_given():
    """Of two gradients one forgets the slope of tanh: the fix is the product beside it."""
    x, w = np.random.default_rng(0).normal(size=(2, 3, 3))
    with pytest.raises(GradientError) as caught:
        assert_vjp(lambda x, w: np.tanh(x @ w), slip_in_one_of_two, x, w)
    assert "  + ...* 2) @ w.T, x.T @ (g * (1 - y ** 2)))\n" in str(caught.value)


def test_a_factor_that_a_sum_lacks_is_put_inside_of_it():
    """The softmax's backward is y (g - sum(g y))."""

    def softmax(x):
        e = np.exp(x - np.max(x, axis=-1, keepdims=True))
        return e / np.sum(e, axis=-1, keepdims=True)

    def backward(g, x):
        y = softmax(x)
        return y * (g - np.sum(g, axis=-1, keepdims=True))

    with pytest.raises(GradientError, match=r"\+ .*np\.sum\(g \* y, axis=-1, keepdims=True\)"):
        assert_vjp(softmax, backward, np.random.default_rng(0).normal(size=(3, 4)))


UNNAMED = """
class Twice:
    def forward(self, x):
        self.x = np.zeros_like(x)
        self.x[:] = x
        return self.x**2
    def backward(self, g):
        return 2 * g
"""


def test_a_class_that_no_module_names_is_judged():
    """It was made by `exec`: nothing of it can be mended, for its text is not at hand."""
    made = {"np": np}
    exec(UNNAMED, made)
    layer = made["Twice"]()
    with pytest.raises(GradientError, match=r"d/dx\[1\] is "):
        assert_vjp(layer.forward, layer.backward, np.array([0.3, -1.2]))


def test_gradients_in_another_order_are_told_with_the_order():
    """Of three arguments of one shape, and of three shapes."""
    f = lambda a, b, c: np.sum(a * b) + np.sum(c**3)
    x, y, z = RNG.normal(size=(3, 4))
    with pytest.raises(GradientError, match="gradients-swapped") as caught:
        assert_vjp(f, lambda g, a, b, c: (3 * g * c**2, g * b, g * a), x, y, z)
    assert any("in the order 2, 3, 1" in note for note in caught.value.result.notes)
    layer = lambda x, w, b: x @ w + b
    with pytest.raises(GradientError, match="gradients-swapped"):
        assert_vjp(layer, lambda g, x, w, b: (x.T @ g, g @ w.T, g.sum(0)), X, W, B)


def test_no_edit_makes_the_compiler_warn():
    """An edit may come to `1[0]`, of which Python warns aloud: it is not tried."""
    x, picked = RNG.normal(size=(5, 4)), np.arange(5)
    labels = np.array([0, 3, 1, 1, 2])

    def margins(x):
        loss = np.maximum(0, x - x[picked, labels][:, None] + 1)
        return np.sum(np.where(np.arange(4) == labels[:, None], 0, loss)) / len(x)

    def backward(g, x):
        n = x.shape[0]
        mask = (x - x[np.arange(n), labels][:, None] + 1 > 0).astype(float)
        mask[np.arange(n), labels] = 0
        mask[np.arange(n), labels] = -1
        return g * mask / n

    assert said_aloud(margins, backward, x) == []


def said_aloud(forward, backward, x):
    """The warnings that leave a check of a wrong backward."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        with pytest.raises(GradientError):
            assert_vjp(forward, backward, x)
    return [str(each.message) for each in heard]


def test_no_edit_asks_for_degrees_of_freedom_that_are_not_there():
    """Of two rows `ddof=2` would leave none, of which NumPy warns aloud."""

    def backward(g, x):
        return 2 * g * (x - x.mean(0)) / np.sqrt(x.var(0, ddof=1))

    assert said_aloud(lambda x: x.std(0, ddof=1), backward, np.diff(X[:3], axis=0) + 1) == []


def test_nobody_else_sees_the_methods_that_are_tried():
    """While a layer is mended another thread calls the same method: it is always the user's own."""
    other, cotangent = Gate(), np.ones(3)
    other.out = np.array([0.5, 0.25, 0.125])
    due, seen, done = cotangent * (1 - other.out), [], threading.Event()

    def look():
        while not done.is_set():
            seen.append(np.array_equal(other.backward(cotangent), due))

    thread = threading.Thread(target=look)
    thread.start()
    layer = Gate()
    with pytest.raises(GradientError):
        assert_vjp(layer.forward, lambda c, x: layer.backward(c), np.array([[0.5, -1.5, 2.0]]))
    done.set()
    thread.join()
    assert len(seen) > 100
    assert all(seen)


HOMEWORK = """
import numpy as np

SCALE = 3.0

def cubed_back(g, x):
    return g * SCALE * x

class Logistic:
    def __call__(self, x):
        return 1 / (1 + np.exp(-x))

    def slope(self, x):
        y = self(x)
        return y * (1 + y)
"""


@pytest.fixture
def homework(tmp_path, monkeypatch):
    """A module in a file of its own, as a test imports what it tests."""
    (tmp_path / "homework_of_ada.py").write_text(HOMEWORK)
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("homework_of_ada")
    yield module
    del sys.modules["homework_of_ada"]


def repaired(forward, backward, *args):
    """What a failing assertion says first, and its repair."""
    with pytest.raises(GradientError) as raised:
        assert_vjp(forward, backward, *args)
    return str(raised.value).splitlines()[:4]


def test_a_function_that_a_lambda_calls_is_mended(homework):
    """Of another file, by its module or by its name; the module keeps its own."""
    own = homework.cubed_back
    fix = ["  homework_of_ada.py:7", "  - return g * SCALE * x", "  + return g * SCALE * x ** 2"]
    assert repaired(lambda x: x**3, lambda g, x: (homework.cubed_back(g, x),), X)[1:] == fix
    assert repaired(lambda x: x**3, lambda g, x: (own(g, x),), X)[1:] == fix
    assert homework.cubed_back is own


def test_a_method_of_another_files_class_is_mended(homework):
    """By the sign that is wrong there."""
    layer = homework.Logistic()
    first, place, old, new = repaired(layer, lambda g, x: g * layer.slope(x), X)
    assert first.endswith(": sign-error")
    assert place == "  homework_of_ada.py:15"
    assert (old, new) == ("  - return y * (1 + y)", "  + return y * (1 - y)")


def test_a_cotangent_that_is_ignored_is_put_in():
    """By the line that forgets it."""

    def backward(g, x):
        return 1 - np.tanh(x) ** 2

    first, _, old, new = repaired(np.tanh, backward, X)
    assert first.endswith(": upstream-ignored")
    assert old == "  - return 1 - np.tanh(x) ** 2"
    assert new == "  + return (1 - np.tanh(x) ** 2) * g"


def test_a_function_that_gives_its_gradient_too_is_mended():
    """The gradient alone: an edit that changes the value is none."""

    def least_squares(w, x, y):
        r = x @ w - y
        return np.mean(r**2), x.T @ r / len(y)

    with pytest.raises(GradientError) as raised:
        assert_gradient(
            least_squares, X[0], RNG.normal(size=(5, 3)), np.ones(5), gradient=True, wrt=0
        )
    said = str(raised.value).splitlines()
    assert said[0].endswith(": factor-two")
    assert said[2] == "  - return (np.mean(r ** 2), x.T @ r / len(y))"
    assert said[3].startswith("  + return (np.mean(r ** 2), ")


class Activation:
    """A layer whose backward asks a method of the class for its slope."""

    def forward(self, x):
        """Remember the argument."""
        self.x = x
        return np.tanh(x)

    def backward(self, g):
        """Right."""
        return g * self.slope(self.x)

    def slope(self, x):
        """Wrong."""
        return 1 + np.tanh(x) ** 2


def tanh_slope(y):
    """Wrong."""
    return 1 - y


def tanh_back(g, x):
    """Right."""
    return g * tanh_slope(np.tanh(x))


def test_what_a_backward_calls_is_mended():
    """A method of its class, a function of its module: where the mistake stands."""
    layer = Activation()
    assert repaired(layer.forward, layer.backward, X)[2:] == [
        "  - return 1 + np.tanh(x) ** 2",
        "  + return 1 - np.tanh(x) ** 2",
    ]
    assert repaired(np.tanh, tanh_back, X)[2:] == ["  - return 1 - y", "  + return 1 - y ** 2"]


def test_no_repair_holds_only_where_an_argument_is_zero():
    """`db * (1 - b)` has the right shape, and the right numbers as long as b is 0."""

    def backward(g, x, w, b):
        return g @ w.T, x.T @ g, g.sum(0)

    said = repaired(lambda x, w, b: x @ w + b, backward, X, W, np.zeros((1, 2)))
    assert said[0].startswith("d/db has the shape (2,), not (1, 2)")
    assert not any("1 - b" in line for line in said)


def test_a_list_that_grows_is_put_nowhere_else():
    """NumPy would read a list that stands inside of itself for ever, and nobody could end it."""

    def softmax(x):
        e = np.exp(x - x.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)

    def backward(g, x):
        rows = []
        for dy, row in zip(g, x, strict=True):
            row_slopes = []
            y = softmax(row)
            row_slopes.append(dy @ (np.diag(y) + np.outer(y, y)))
            rows.append(row_slopes)
        return np.array(rows).reshape(x.shape)

    assert repaired(softmax, backward, X)[0].endswith("sign-error")
