"""The edit of a backward pass's own source that makes it right: which line, and what for what."""

import importlib
import logging
import re
import sys
import threading
import warnings

import numpy as np
import pytest

from gradcheck import Function, check
from gradcheck.testing import GradientError, assert_gradient, assert_vjp
from tests.support.layers import softmax

RNG = np.random.default_rng(0)
X, W, B = RNG.normal(size=(4, 3)), RNG.normal(size=(3, 2)), RNG.normal(size=2)
SQUARE = RNG.normal(size=(2, 3, 3))


def linear(x, w, b):
    return np.tanh(x @ w + b)


def wrong_linear(c, x, w, b):
    d = c * (1 - linear(x, w, b) ** 2)
    dx = d @ w.T
    return dx, x.T @ d, d.mean(0)


def closed():
    scale = 3.0

    def backward(c, x):
        return c * scale / x

    return backward


def slip_in_one_of_two(g, x, w):
    y = np.tanh(x @ w)
    return g * (1 - y**2) @ w.T, x.T @ g


def softmax_back(g, x):
    y = softmax(x)
    return y * (g - np.sum(g, axis=-1, keepdims=True))


def ignoring(g, x):
    return 1 - np.tanh(x) ** 2


def tanh_slope(y):
    logging.warning("a log asks its thread for its name")
    return 1 - y


def tanh_back(g, x):
    return g * tanh_slope(np.tanh(x))


def by_slope(g, x):
    slope = lambda v: 3 * np.sin(v)
    return g * slope(x)


def halved(x):
    while np.max(np.abs(x)) > 0.25:
        x = x / 2
    return x


def endless(c, x):
    """An edit may take away what ends the loop."""
    while np.max(np.abs(x)) > 0.25:
        x, c = x / 2, c / 2
    return 3 * c


class Layer:
    """A layer whose method adds up twice."""

    def forward(self, x):
        self.x, self.y = x, np.exp(x)
        return self.y

    def backward(self, c, x):
        g = np.zeros_like(x)
        g += c * self.y
        g += c * self.y
        return g


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


class Activation:
    """A layer whose backward asks a method of the class for its slope, which is wrong."""

    def forward(self, x):
        self.x = x
        return np.tanh(x)

    def backward(self, g):
        return g * self.slope(self.x)

    def slope(self, x):
        return 1 + np.tanh(x) ** 2


def of(layer):
    return layer.forward, lambda c, x: layer.backward(c)


SCALE = np.array([0.5, 3.0, -2.0])
KEEP = np.array([True, False, True, True])


def times_scale(g, x):
    d = g + 0
    d *= SCALE
    return d


def mean_back(g, x, b):
    n = len(x)  # noqa: F841 - a name that could be brought
    return g, np.mean(g, axis=0)


def masked(x):
    mask = KEEP[:, None] / 0.75
    return x * mask, mask


def masked_back(dout, cache):
    mask = cache
    return dout * (mask > 0)


def smeared(x):
    there = np.pad(x, 1)
    return there[:-2, 1:-1] + 2 * there[1:-1, 1:-1]


def smeared_back(g, x):
    pad, (h, w) = 1, x.shape
    d = np.zeros((h + 2 * pad, w + 2 * pad))
    d[:-2, 1:-1] += g
    d[1:-1, 1:-1] += 2 * g
    return d[:h, :w]


def scaled(x, gamma):
    return x * gamma, {"x": x, "gamma": gamma}


def scaled_back(dout, cache):
    dx = dout
    return dx, np.sum(dout * cache["x"], axis=0)


def slope_of_arctan(x):
    return 1 / (1 + x**2)


def slope_of_softplus(x):
    return 1 / (1 + np.exp(-x))


def other_slope(g, x):
    return g * slope_of_softplus(x)


def recurrent(xs):
    h, every = np.zeros(3), []
    for x in xs:
        h = np.sin(x) + np.exp(-x) * h
        every.append(h)
    return np.array(every)


def recurrent_back(g, xs):
    every, dxs = [np.zeros(3), *recurrent(xs)], np.zeros_like(xs)
    dnext = np.zeros(3)
    for t in range(len(xs) - 1, -1, -1):
        dh = g[t] + dnext
        dxs[t] = dh * (np.cos(xs[t]) - np.exp(-xs[t]) * every[t])
        dprev = dh * np.exp(-xs[t])  # noqa: F841 - the slip
    return dxs


def softsign(x, derivative=False):
    if derivative:
        return 1 / (1 + np.abs(x))
    return x / (1 + np.abs(x))


class Dated:
    """A gate whose forward keeps what backward needs, but the wrong one."""

    def forward(self, x):
        self.x, self.y = x, np.tanh(x)
        return self.y

    def backward(self, dout):
        return dout * (1 - self.x**2)


def gated(z, r, h):
    """Of three gradients one is wrong: where the others come from is no matter."""
    return (1 - z) * np.tanh(r * h)


def gated_back(g, z, r, h):
    t = np.tanh(r * h)
    dz = -g * t
    dt = g * (1 - z) * (1 - t**2)
    dr = dt * h
    dh = dt
    return dz, dr, dh


FOCUS = 2.0


def focal(p):
    return -((1 - p) ** FOCUS) * np.log(p)


def focal_back(g, p):
    """Its second term has the wrong sign; `(p - 1) ** (FOCUS - 1)` is right at 2 alone."""
    dlog = (1 - p) ** FOCUS / p
    dmod = FOCUS * (1 - p) ** (FOCUS - 1) * np.log(p)
    return -g * (dlog + dmod)


def unit(x):
    return x / np.sqrt(np.sum(x**2, axis=1, keepdims=True))


def unit_back(g, x):
    """Another variable at the end: `y = x / norm**2` comes to the same, and is no unit vector."""
    norm = np.sqrt(np.sum(x**2, axis=1, keepdims=True))
    y = x / norm
    dot = np.sum(g * y, axis=1, keepdims=True)
    return (g - x * dot) / norm


# slip: (forward, backward, arguments, its name, the line as it stands, the line as it is to be)
ROW = np.array([[0.5, -1.5, 2.0]])
SLIPS = {
    "a mean": (linear, wrong_linear, (X, W, B), "mean-for-sum",
               "return (dx, x.T @ d, d.mean(0))", "return (dx, x.T @ d, d.sum(0))"),
    "a method": (Layer().forward, Layer.backward, (X,), "", "g += c * self.y", ""),
    "a closure": (lambda x: 3 * x, closed(), (X,), "chain",
                  "return c * scale / x", "return c * scale"),
    "a lambda": (np.sin, lambda c, x: c * np.sin(x), (X,), "function-misread",
                 "c * np.sin(x)", "c * np.cos(x)"),
    "a long name": (lambda a_name_that_is_long, b: np.sin(a_name_that_is_long),
                    lambda c, x, b: (c * np.sin(x), 0 * b), (X, B), "function-misread",
                    "(c * np.sin(x), 0 * b)", "(c * np.cos(x), 0 * b)"),
    "a lambda that it names": (lambda x: 3 * np.sin(x), by_slope, (X,), "function-misread",
                               "lambda v: 3 * np.sin(v)", "lambda v: 3 * np.cos(v)"),
    "a sign": (lambda x: np.maximum(x, 0), lambda c, x: c * (x < 0), (X,), "mask",
               "c * (x < 0)", "c * (x > 0)"),
    "a loop that may not end": (halved, endless, (X,), "", "return 3 * c", ""),
    "what the class keeps": (*of(Gate()), (ROW,), "", "return dout * (1 - self.out)",
                             "return dout * (1 - self.out) * self.out"),
    "a side of the weights": (*of(Linear()), (ROW,), "transposed", "return dout @ self.weights",
                              "return dout @ self.weights.T"),
    "what the other line has": (lambda x, w: np.tanh(x @ w), slip_in_one_of_two, tuple(SQUARE), "",
                                "...* 2) @ w.T, x.T @ g)",
                                "...* 2) @ w.T, x.T @ (g * (1 - y ** 2)))"),
    "a factor inside a sum": (softmax, softmax_back, (X,), "", "",
                              "np.sum(g * y, axis=-1, keepdims=True)"),
    "a cotangent": (np.tanh, ignoring, (X,), "upstream-ignored", "return 1 - np.tanh(x) ** 2",
                    "return (1 - np.tanh(x) ** 2) * g"),
    "a method that is called": (*of(Activation()), (X,), "", "return 1 + np.tanh(x) ** 2",
                                "return 1 - np.tanh(x) ** 2"),
    "a complement": (lambda z, h: (1 - z) * h, lambda g, z, h: (-(g * h), g * z), (X, X + 1),
                     "complement", "(-(g * h), g * z)", "(-(g * h), g * (1 - z))"),
    "the first of many": (lambda x, b: x + b, lambda g, x, b: (g, g[:1]), (X, X[:1] + 1),
                          "broadcast", "(g, g[:1])", "(g, g.sum(0, keepdims=True))"),
    "a factor for a divisor": (lambda x: x / SCALE, times_scale, (X,), "", "d *= SCALE",
                               "d /= SCALE"),
    "what brings no name first": (lambda x, b: x + b, mean_back, (X, X[0] + 1), "mean-for-sum",
                                  "np.mean(g, axis=0)", "np.sum(g, axis=0)"),
    "a mask for a scale": (masked, masked_back, (X,), "mask", "dout * (mask > 0)",
                           "return dout * mask"),
    "a mask": (lambda x, keep: x * keep[:, None], lambda g, x, keep: (g, None), (X, KEEP), "mask",
               "(g, None)", "(g * keep[..., None], None)"),
    "where it was padded": (smeared, smeared_back, (X,), "index", "return d[:h, :w]",
                            "return d[pad:pad + h, pad:pad + w]"),
    "what the cache names": (scaled, scaled_back, (X, X[0] + 1), "chain", "dx = dout",
                             "dx = dout * cache['gamma']"),
    "another function of the file": (np.arctan, other_slope, (X,), "function-misread",
                                     "g * slope_of_softplus(x)", "g * slope_of_arctan(x)"),
    "what a turn hands on": (recurrent, recurrent_back, (X,), "path-dropped",
                             "dprev = dh * np.exp(-xs[t])", "dnext = dprev"),
    "what forward calls too": (softsign, lambda g, x: g * softsign(x, derivative=True), (X,), "",
                               "1 / (1 + np.abs(x))", "1 / (1 + np.abs(x)) / (1 + np.abs(x))"),
    "another that it keeps": (Dated().forward, None, (X,), "", "self.x ** 2", "self.y ** 2"),
    "the one that is wrong": (gated, gated_back, (X, X + 1, X - 1), "chain", "dh = dt",
                              "dh = dt * r"),
    "the last letters of an einsum": (lambda x: np.einsum("ij->ji", x) ** 2,
                                      lambda g, x: 2 * np.einsum("ij,ji->ij", g, x), (SQUARE[0],),
                                      "transposed", "'ij,ji->ij'", "'ij,ji->ji'"),
    "a constant of the file": (focal, focal_back, (np.array([0.3, 0.6, 0.8]),), "sign-error",
                               "dlog + dmod", "dlog - dmod"),
    "what forward has is right": (unit, unit_back, (X,), "another-name", "(g - x * dot) / norm",
                                  "(g - y * dot) / norm"),
    "a function that is called": (np.tanh, tanh_back, (X,), "", "return 1 - y",
                                  "return 1 - y ** 2"),
}  # fmt: skip


@pytest.mark.parametrize("name", SLIPS)
def test_the_line_is_found(name):
    """The place in the backward's own source, and both texts; nothing is wider than a summary."""
    forward, backward, args, mistake, old, new = SLIPS[name]
    if name == "a method":
        layer = Layer()
        forward, backward = layer.forward, layer.backward
    if backward is None:
        backward = forward.__self__.backward
    with pytest.raises(GradientError) as caught:
        assert_vjp(forward, backward, *args)
    repair, text = caught.value.result.repair, str(caught.value)
    with open(__file__, encoding="utf-8") as file:
        line = file.read().split("\n")[repair.line - 1]
    assert set(re.findall(r"\w+", repair.old)) <= set(re.findall(r"\w+", line))
    assert old in repair.old
    assert new in repair.new
    assert mistake in text.split("\n", maxsplit=1)[0]
    assert "\n".join(repair.lines) in text
    first, *others = map(len, text.split("\n"))
    assert first <= 80
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


def reflected(vs, x):
    for v in vs:
        x = x - 2 * v * (v @ x) / (v @ v)
    return x


def reflected_back(c, vs, x):
    """`for v in seen` in the place of `for v in vs` would never end."""
    seen = [x]
    for v in vs:
        seen.append(seen[-1] - 2 * v * (v @ seen[-1]) / (v @ v))
    dvs = np.zeros_like(vs)
    for i in reversed(range(len(vs))):
        v, before = vs[i], seen[i]
        dvs[i] = -2 / (v @ v) * ((c @ v) * before + (v @ before) * c)
        c = c - 2 * v * (v @ c) / (v @ v)
    return dvs, c


def rows_back(g, x):
    """NumPy would read a list that stands inside of itself for ever, and nobody could end it."""
    rows = []
    for dy, row in zip(g, x, strict=True):
        row_slopes = []
        y = softmax(row)
        row_slopes.append(dy @ (np.diag(y) + np.outer(y, y)))
        rows.append(row_slopes)
    return np.array(rows).reshape(x.shape)


@pytest.mark.parametrize(("forward", "backward", "args"), [
    (reflected, reflected_back, (RNG.normal(size=(4, 4)), RNG.normal(size=4))),
    (softmax, rows_back, (X,)),
])  # fmt: skip
def test_a_loop_over_what_it_adds_to_ends(forward, backward, args):
    """A list that grows is put nowhere else."""
    assert ", should be " in repaired(forward, backward, *args)[0]


class Square(Function):
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
    """Reverse mode's opinion, alone: no fault of gradcheck, nor undecided as held constants are."""
    found = check(f, X[0])
    assert not found
    assert found.message.startswith("Square.backward is wrong")
    assert "fault of gradcheck" not in found.message
    assert {entry.lonely for entry in found.verdicts[0].entries} == {"reverse"}


def test_a_right_backward_of_a_function_of_theirs_agrees():
    right = type(
        "Right", (Square,), {"backward": staticmethod(lambda ctx, g: 2 * g * ctx.saved_tensors[0])}
    )
    assert check(lambda x: right.apply(x).sum(), X[0]).ok


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
    assert repaired(layer.forward, layer.backward, ROW[0])[0].startswith("d/dx[")


@pytest.mark.parametrize(("forward", "backward", "args", "order"), [
    (lambda a, b, c: np.sum(a * b) + np.sum(c**3),
     lambda g, a, b, c: (3 * g * c**2, g * b, g * a), RNG.normal(size=(3, 4)), "2, 3, 1"),
    (lambda x, w, b: x @ w + b, lambda g, x, w, b: (x.T @ g, g @ w.T, g.sum(0)), (X, W, B), "2, 1"),
])  # fmt: skip
def test_gradients_in_another_order_are_told_with_the_order(forward, backward, args, order):
    """Of three arguments of one shape, and of three shapes."""
    with pytest.raises(GradientError, match="gradients-swapped") as caught:
        assert_vjp(forward, backward, *args)
    assert any(f"in the order {order}" in note for note in caught.value.result.notes)


PICKED, LABELS = np.arange(5), np.array([0, 3, 1, 1, 2])


def margins(x):
    loss = np.maximum(0, x - x[PICKED, LABELS][:, None] + 1)
    return np.sum(np.where(np.arange(4) == LABELS[:, None], 0, loss)) / len(x)


def margins_back(g, x):
    """An edit may come to `1[0]`, of which Python warns aloud: it is not tried."""
    n = x.shape[0]
    mask = (x - x[np.arange(n), LABELS][:, None] + 1 > 0).astype(float)
    mask[np.arange(n), LABELS] = 0
    mask[np.arange(n), LABELS] = -1
    return g * mask / n


def spread_back(g, x):
    """Of two rows `ddof=2` would leave none, of which NumPy warns aloud."""
    return 2 * g * (x - x.mean(0)) / np.sqrt(x.var(0, ddof=1))


@pytest.mark.parametrize(("forward", "backward", "x"), [
    (margins, margins_back, RNG.normal(size=(5, 4))),
    (lambda x: x.std(0, ddof=1), spread_back, np.diff(X[:3], axis=0) + 1),
])  # fmt: skip
def test_no_warning_of_an_edit_is_heard(forward, backward, x):
    """Neither the compiler's nor NumPy's; and nobody's filters are other than they were."""
    importlib.import_module("sympy")  # adds a filter of its own when it is imported first
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        before = list(warnings.filters)
        repaired(forward, backward, x)
        assert warnings.filters == before
    assert [str(each.message) for each in heard] == []


def test_nobody_else_sees_the_methods_that_are_tried():
    """While a layer is mended another thread calls the same method: it is always the user's own."""
    other, cotangent, method = Gate(), np.ones(3), Gate.backward
    other.out = np.array([0.5, 0.25, 0.125])
    due, seen, done = cotangent * (1 - other.out), [], threading.Event()

    def look():
        while not done.is_set():
            seen.append(np.array_equal(other.backward(cotangent), due))

    thread = threading.Thread(target=look)
    thread.start()
    repaired(*of(Gate()), ROW)
    done.set()
    thread.join()
    assert len(seen) > 100
    assert all(seen)
    assert Gate.backward is method


HOMEWORK = """
import numpy as np

SCALE, Logistic = 3.0, object

def cubed_back(g, x):
    return g * SCALE * x

class Logistic(Logistic):
    def __call__(self, x):
        return 1 / (1 + np.exp(-x))

    def slope(self, x):
        y = self(x)
        return y * (1 + y)
"""


@pytest.fixture
def homework(tmp_path, monkeypatch):
    (tmp_path / "homework_of_ada.py").write_text(HOMEWORK)
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("homework_of_ada")
    yield module
    del sys.modules["homework_of_ada"]


def repaired(forward, backward, *args):
    with pytest.raises(GradientError) as raised:
        assert_vjp(forward, backward, *args)
    return str(raised.value).splitlines()[:4]


def test_what_another_file_has_is_mended(homework):
    """A function by its module or by its name, a class's method; the module keeps its own."""
    own, layer = homework.cubed_back, homework.Logistic()
    fix = ["  homework_of_ada.py:7", "  - return g * SCALE * x", "  + return g * SCALE * x ** 2"]
    assert repaired(lambda x: x**3, lambda g, x: (homework.cubed_back(g, x),), X)[1:] == fix
    assert repaired(lambda x: x**3, lambda g, x: (own(g, x),), X)[1:] == fix
    assert homework.cubed_back is own
    first, place, *lines = repaired(layer, lambda g, x: g * layer.slope(x), X)
    assert first.endswith(": sign-error")
    assert place == "  homework_of_ada.py:15"
    assert lines == ["  - return y * (1 + y)", "  + return y * (1 - y)"]


def test_a_function_that_gives_its_gradient_too_is_mended():
    """The gradient alone: an edit that changes the value is none."""

    def least_squares(w, x, y):
        r = x @ w - y
        return np.mean(r**2), x.T @ r / len(y)

    given = X[0], RNG.normal(size=(5, 3)), np.ones(5)
    with pytest.raises(GradientError) as raised:
        assert_gradient(least_squares, *given, gradient=True, wrt=0)
    said = str(raised.value).splitlines()
    assert said[0].endswith(": factor-two")
    assert said[2] == "  - return (np.mean(r ** 2), x.T @ r / len(y))"
    assert said[3].startswith("  + return (np.mean(r ** 2), ")


def test_no_repair_holds_only_where_an_argument_is_zero():
    """`db * (1 - b)` has the right shape, and the right numbers as long as b is 0."""

    def backward(g, x, w, b):
        return g @ w.T, x.T @ g, g.sum(0)

    said = repaired(lambda x, w, b: x @ w + b, backward, X, W, np.zeros((1, 2)))
    assert said[0].startswith("d/db has the shape (2,), not (1, 2)")
    assert not any("1 - b" in line for line in said)


def test_a_factor_of_two_is_no_length_that_happens_to_be_two():
    """Axes of one length grow together, so that a second shape is met where arrays must fit."""
    args = RNG.normal(size=(3, 2)), RNG.normal(size=3)
    halved = lambda g, a, b: (g * np.outer(b, b) @ a, 2 * g * a @ (a.T @ b))
    said = repaired(lambda a, b: np.sum((b @ a) ** 2), halved, *args)
    assert said[0].endswith(": factor-two")
    assert not any("shape" in line or "len(" in line for line in said)


def test_a_second_shape_is_asked_where_floats_alone_judge():
    """`* len(x)` is right for two numbers only."""
    squared = lambda x: sum(v * v for v in x.tolist())
    said = repaired(squared, lambda g, x: g * x, RNG.normal(size=2))
    assert said[0].endswith(": factor-two")
    assert not any("len(" in line or "size" in line for line in said)


def test_what_is_added_is_no_ignored_cotangent():
    said = repaired(np.sin, lambda g, x: g * np.cos(x) + 0.01 * x, X)
    assert said[0].endswith(": term-too-many")
    with pytest.raises(GradientError, match="adds what does not hang on its cotangent"):
        assert_vjp(np.sin, lambda g, x: g * np.cos(x) + 0.01 * x, X)
    assert assert_vjp(np.sin, lambda g, x: g * np.cos(x) + 1e-17 * x, X)


def test_words_that_are_compared_are_no_mathematics():
    def backward(g, x, mode="scaled"):
        if mode != "scaled":
            g = g / 3.0
        return 3.0 * g * x**2 / 3.0

    said = repaired(lambda x: x**3, backward, X[0])
    assert not any("mode" in line for line in said)


class Cone:
    """What a statistician writes: the value and its gradient, of two coordinates."""

    def __init__(self, power=1.0, data=X):
        self.power, self.data, self.faces = power, data, data.view(np.matrix)

    def distance(self, x):
        return -(np.linalg.norm(x) ** self.power), -x * (x @ x) ** (self.power - 1)

    def twice(self, x):
        return (0.5 / len(self.data)) * np.sum((self.data @ x) ** 2)

    def twice_slope(self, x):
        slope = self.data.T @ (self.data @ x)
        slope *= 2.0 / len(self.data)
        return slope

    def pair(self, x):
        return x[0] ** 2 * x[1], np.array([x[0] * x[1], x[0] ** 2])


def test_what_an_object_keeps_is_neither_changed_nor_special():
    """`self.power` is 1, where a wrong exponent has many fixes; an edit may write into the data."""
    cone, was = Cone(), X.copy()
    said = check(cone.distance, X[0, :2], gradient=True).message
    assert "norm(x)" not in said
    with pytest.raises(GradientError) as raised:
        assert_gradient(cone.twice, X[0], gradient=cone.twice_slope)
    assert raised.value.result.repair.lines[1:] == [
        "  - slope *= 2.0 / len(self.data)",
        "  + slope *= 1.0 / len(self.data)",
    ]
    assert np.array_equal(X, was)


def test_a_shape_that_is_written_in_a_program_is_not_grown():
    found = check(Cone().pair, X[0, :2], gradient=True)
    assert "2 * x" in found.repair.lines[2]


@pytest.mark.parametrize("shape", [(0, 3), (2, 0)])
def test_an_argument_without_entries_cannot_grow(shape):
    back = lambda g, x, w: (g.sum() * np.ones_like(x), 3 * g * w)
    said = repaired(lambda x, w: (x.sum() + w) ** 2, back, np.zeros(shape), X[0])
    assert said[0].endswith(": coefficient-slip")


def test_what_is_done_to_a_long_value_is_a_line_below():
    """By its name, so that all of the fix can be read."""
    scale = X.std(0, keepdims=True)
    with pytest.raises(GradientError) as caught:
        assert_vjp(lambda x, s: (x - x.mean(0)) / s, lambda g, x, s: (centered(g, s), None),
                   X, scale, wrt=0)  # fmt: skip
    lines = caught.value.result.repair.lines
    assert lines[1].startswith("    dx = ")
    assert lines[2] == "  + dx = dx - dx.mean(0, keepdims=True)"


def centered(g, the_deviation_of_everything_in_a_column):
    """The mean is held constant, in a long line."""
    dx = g / the_deviation_of_everything_in_a_column + 0.0 * the_deviation_of_everything_in_a_column
    dx += 0
    return dx
