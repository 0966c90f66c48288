"""NumPy's functions over random arguments: its own values, and differences of those.

Each maker draws a call: a function of arrays and the arrays. Our value has to be NumPy's, our
gradient the difference quotient (of fourth order) of NumPy's own function.
"""

import numpy as np
import pytest

from gradcheck.engine.autograd import grad, tensor
from tests.support.sweeping import at_most

STEP = 1e-4
"""Of the quotients: their error is near 1e-11, that of smooth functions of order one."""


class Draw:
    """Random arguments of calls."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def array(self, *shape):
        return self.rng.uniform(-1, 1, shape)

    def shape(self, ndim=None, least=1):
        ndim = self.rng.integers(1, 4) if ndim is None else ndim
        return tuple(int(n) for n in self.rng.integers(least, least + 4, ndim))

    def one_of(self, *choices):
        return choices[int(self.rng.integers(len(choices)))]

    def axis(self, ndim, several=True):
        """None, one axis, or several; some counted from the last."""
        if self.rng.random() < 0.2:
            return None
        if several and self.rng.random() < 0.3:
            some = self.rng.choice(ndim, int(self.rng.integers(1, ndim + 1)), replace=False)
            return tuple(int(k) - self.one_of(0, ndim) for k in some)
        return int(self.rng.integers(-ndim, ndim))

    def place(self, ndim):
        return int(self.rng.integers(-ndim, ndim))


def reduced(function, nan=False, several=True, **more):
    """`sum(x, axis, keepdims)` and its like; `nan` puts some nan among the entries."""

    def make(d):
        x = d.array(*d.shape())
        if nan:
            x = np.where(d.rng.random(x.shape) < 0.25, np.nan, x)
        named = {"axis": d.axis(x.ndim, several), "keepdims": d.one_of(True, False)} | more
        return (lambda x: function(x, **named)), [x]

    return make


def running(function):
    def make(d):
        x = d.array(*d.shape())
        axis = d.axis(x.ndim, several=False)
        return (lambda x: function(x, axis=axis)), [x]

    return make


def spread(function):
    def make(d):
        x = d.array(*d.shape(least=2))
        named = {"axis": d.axis(x.ndim), "ddof": d.one_of(0, 1), "keepdims": d.one_of(True, False)}
        return (lambda x: function(x, **named)), [x]

    return make


def shares(d):
    x, q = d.array(*d.shape()), d.rng.uniform(0.03, 0.97, d.shape(d.one_of(0, 1)))
    named = {"axis": d.axis(x.ndim), "keepdims": d.one_of(True, False)}
    return (lambda x: np.quantile(x, q, **named)), [x]


def gradient(d):
    y = d.array(*d.shape(least=3))
    axis = d.axis(y.ndim)
    axes = range(y.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    grids = [np.cumsum(np.abs(d.array(y.shape[k])) + 0.3) for k in axes]
    steps = d.one_of([], [d.array() + 2 for _ in axes], grids)

    def last(y, *steps):
        found = np.gradient(y, *steps, axis=axis)
        return found[-1] if isinstance(found, tuple | list) else found

    return last, [y, *steps]


def sums_of_products(d):
    mode = d.one_of("full", "same", "valid")
    return (lambda a, b: np.convolve(a, b, mode)), [d.array(*d.shape(1)), d.array(*d.shape(1))]


def padded(d):
    x = d.array(*d.shape(least=3))
    mode = d.one_of("constant", "edge", "reflect", "wrap", "symmetric")
    width = [(d.one_of(0, 1, 2), d.one_of(0, 1, 2)) for _ in x.shape]
    return (lambda x: np.pad(x, width, mode=mode)), [x]


def differences(d):
    x = d.array(*d.shape())
    axis, n = d.place(x.ndim), d.one_of(0, 1, 2)
    edge = d.array(*(1 if k == axis % x.ndim else m for k, m in enumerate(x.shape)))
    name = d.one_of("prepend", "append")
    return (lambda x, e: np.diff(x, n, axis, **{name: e})), [x, edge]


def norms(d):
    x, axis = d.array(*d.shape(1), 3, 2), d.one_of(0, -1, (-2, -1), (1, 2))
    vectors, matrices = (None, 1, 2, 3, np.inf, -np.inf, -2), ("fro", "nuc", 1, -1, np.inf, 2, -2)
    named = {"axis": axis, "keepdims": d.one_of(True, False)}
    named["ord"] = d.one_of(*(vectors if isinstance(axis, int) else matrices))
    return (lambda x: np.linalg.norm(x, **named)), [x]


def of_some(d, function, **named):
    return (lambda *xs: function(*xs, **named)), [d.array(*d.shape(1)), d.array(*d.shape(1))]


def weighed(d):
    x = d.array(*d.shape())
    axis = d.axis(x.ndim, several=False)
    w = np.abs(d.array(*(x.shape if axis is None else (x.shape[axis],)))) + 0.1
    return (lambda x, w: np.average(x, axis=axis, weights=w)), [x, w]


def spaced(d):
    a = d.array(*d.shape(d.one_of(0, 1, 2)))
    named = {"num": d.one_of(1, 2, 5), "endpoint": d.one_of(True, False), "axis": d.one_of(0, -1)}
    return (lambda a, b: np.linspace(a, b, **named)), [a, d.array()]


CALLS = {
    **{f.__name__: reduced(f) for f in (np.sum, np.mean, np.prod, np.max, np.min, np.ptp)},
    "nansum": reduced(np.nansum, nan=True),
    "median": reduced(np.median),
    **{f.__name__: running(f) for f in (np.cumsum, np.cumprod, np.sort)},
    **{f.__name__: spread(f) for f in (np.var, np.std)},
    "quantile": shares,
    "gradient": gradient,
    "convolve": sums_of_products,
    "pad": padded,
    "diff": differences,
    "norm": norms,
    "average": weighed,
    "linspace": spaced,
    "append": lambda d: of_some(d, np.append),
    "kron": lambda d: of_some(d, np.kron),
    "meshgrid": lambda d: of_some(d, lambda *v, **named: np.meshgrid(*v, **named)[1],
                                  indexing=d.one_of("xy", "ij"), sparse=d.one_of(True, False)),
}  # fmt: skip


def quotients(function, xs, weights):
    """The slopes of the weighed sum of a function's value, entry by entry."""
    found = []
    for i, x in enumerate(xs):
        slopes = np.zeros_like(x)
        for place in np.ndindex(*x.shape):

            def at(h, i=i, place=place):
                moved = [v.copy() for v in xs]
                moved[i][place] += h
                return np.nansum(weights * function(*moved))

            wide = at(2 * STEP) - at(-2 * STEP)
            slopes[place] = (8 * (at(STEP) - at(-STEP)) - wide) / (12 * STEP)
        found.append(slopes)
    return found


def expect_same(function, xs, rng):
    """Our value and gradient of one call; where NumPy's value is no number, no gradient is due."""
    xs = [np.asarray(x, dtype=float) for x in xs]
    expected = np.asarray(function(*xs))
    leaves = [tensor(x.copy(), requires_grad=True) for x in xs]
    y = function(*leaves)
    np.testing.assert_allclose(y.detach().numpy(), expected, rtol=1e-10, atol=1e-12)
    assert y.shape == expected.shape
    if not np.all(np.isfinite(expected)) or not y.requires_grad:
        return
    weights = rng.standard_normal(expected.shape)
    found = grad((y * weights).sum(), leaves, allow_unused=True, materialize_grads=True)
    for g, slopes, x in zip(found, quotients(function, xs, weights), xs, strict=True):
        there = ~np.isnan(x)
        scale = max(1.0, np.max(np.abs(slopes[there]), initial=0.0))
        np.testing.assert_allclose(g.numpy()[there], slopes[there], rtol=1e-6, atol=1e-7 * scale)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", CALLS)
def test_numpys_own_over_random_arguments(name):
    """Axes from both ends, lengths of 1, several arguments, nan; twenty calls, fewer in short."""
    draw = Draw(sum(map(ord, name)))
    for _ in range(max(at_most(2000) // 100, 2)):
        expect_same(*CALLS[name](draw), draw.rng)


def test_the_comparison_sees():
    """A value and a slope that are another's."""
    rng = np.random.default_rng(0)
    with pytest.raises(AssertionError):
        expect_same(
            lambda x: np.sum(x) if type(x) is np.ndarray else np.prod(x), [rng.random(3)], rng
        )

    def half(x):
        return np.sum(x) if type(x) is np.ndarray else np.sum(x.detach() + x) / 2

    with pytest.raises(AssertionError):
        expect_same(half, [rng.random(3)], rng)
