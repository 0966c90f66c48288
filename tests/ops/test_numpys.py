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


EITHER = (True, False)


def of_one(function, *, least=1, some_nan=False, several=True, **choices):
    """`sum(x, axis, keepdims)` and its like: by an axis, and words of which one is chosen."""

    def make(d):
        x = d.array(*d.shape(least=least))
        if some_nan:
            x = np.where(d.rng.random(x.shape) < 0.25, np.nan, x)
        named = {"axis": d.axis(x.ndim, several)}
        named |= {name: d.one_of(*values) for name, values in choices.items()}
        return (lambda x: function(x, **named)), [x]

    return make


def shares(function, whole):
    def make(d):
        x, q = d.array(*d.shape()), d.rng.uniform(0.03, 0.97, d.shape(d.one_of(0, 1))) * whole
        named = {"axis": d.axis(x.ndim), "keepdims": d.one_of(*EITHER)}
        return (lambda x: function(x, q, **named)), [x]

    return make


def varying(function):
    def make(d):
        x = d.array(*d.shape(d.one_of(1, 2), least=2))
        named = {"rowvar": d.one_of(*EITHER)}
        named |= d.one_of({}, {"bias": True}, {"ddof": 0}) if function is np.cov else {}
        xs = d.one_of([x], [x, d.array(*x.shape)])
        return (lambda *xs: function(*xs, **named)), xs

    return make


def trapezoid(d):
    y = d.array(*d.shape())
    axis = d.place(y.ndim)
    grid = d.one_of([], [d.array(y.shape[axis])], [d.array(*y.shape)])
    return (lambda y, *x: np.trapezoid(y, *x, axis=axis)), [y, *grid]


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


def interp(d):
    n = d.one_of(2, 3, 5)
    grid = np.cumsum(np.abs(d.array(n)) + 0.2) - 1
    beyond = d.one_of({}, {"left": 0.3}, {"right": -0.2, "left": 0.0})
    x = 2 * d.array(*d.shape(d.one_of(0, 1, 2)))
    return (lambda x, xp, fp: np.interp(x, xp, fp, **beyond)), [x, grid, d.array(n)]


def sums_of_products(function):
    def make(d):
        mode = d.one_of("full", "same", "valid")
        return (lambda a, b: function(a, b, mode)), [d.array(*d.shape(1)), d.array(*d.shape(1))]

    return make


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


KEEPING = {"keepdims": EITHER}
CALLS = {
    **{f.__name__: of_one(f, **KEEPING)
       for f in (np.sum, np.mean, np.prod, np.max, np.min, np.ptp, np.median)},
    **{f.__name__: of_one(f, some_nan=True, **KEEPING) for f in (np.nanmean, np.nansum)},
    **{f.__name__: of_one(f, several=False) for f in (np.cumsum, np.cumprod, np.sort)},
    **{f.__name__: of_one(f, least=2, ddof=(0, 1), **KEEPING) for f in (np.var, np.std)},
    "quantile": shares(np.quantile, 1),
    "percentile": shares(np.percentile, 100),
    "cov": varying(np.cov),
    "corrcoef": varying(np.corrcoef),
    "trapezoid": trapezoid,
    "gradient": gradient,
    "interp": interp,
    "convolve": sums_of_products(np.convolve),
    "correlate": sums_of_products(np.correlate),
    "pad": padded,
    "diff": differences,
    "norm": norms,
    "average": weighed,
    "delete": of_one(lambda x, **named: np.delete(x, [0, -1], **named), least=2, several=False),
    "linspace": spaced,
    "polyval": lambda d: of_some(d, np.polyval),
    "vander": lambda d: (np.vander, [d.array(d.one_of(1, 3))]),
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
