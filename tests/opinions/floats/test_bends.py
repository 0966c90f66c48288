"""Slopes beside a bend or a bump that is far narrower than x: near it, at its foot, beyond it."""

import math
import random

import mpmath
import pytest
from mpmath import mp, mpf

from gradcheck.opinions.floats.scan import scan

# A formula a shape, of u = (x - place) / width and the height over the width; a slope beside it.
SHAPES = {
    "hypot": lambda m, x, u, a: a * m.sqrt(1 + u * u) + x,
    "softplus": lambda m, x, u, a: a * m.log(1 + m.exp(u)) + x,
    "tanh": lambda m, x, u, a: a * m.tanh(u) + x * x,
    "arctan": lambda m, x, u, a: a * u * m.atan(u) + m.sin(x),
    "log of cosh": lambda m, x, u, a: a * m.log(m.cosh(u)) + m.cos(3 * x),
    "gauss": lambda m, x, u, a: a * m.exp(-u * u) + x,
    "lorentz": lambda m, x, u, a: a / (1 + u * u) + m.sin(x),
    "sech": lambda m, x, u, a: a / m.cosh(u) + m.exp(x / 3),
    "erf": lambda m, x, u, a: a * m.erf(u) + m.cos(x),
    "packet": lambda m, x, u, a: a * m.exp(-u * u) * m.sin(3 * u) + x * x,
}


def beside(shape, draw):
    """A scan up to six widths from a bend, and the slope in 60 digits."""
    x, width = draw.choice((-1, 1)) * draw.uniform(0.1, 3), 10 ** draw.uniform(-9, -2)
    place, height = x - width * draw.uniform(-6, 6), width * 10 ** draw.uniform(-3, 3)
    f = lambda m, t: SHAPES[shape](m, t, (t - place) / width, height)
    with mp.workdps(60):
        truth = mpmath.diff(lambda t: f(mpmath, t), mpf(x), h=mpf(width) * mpf(10) ** -20)
    return scan(lambda t: f(math, t), x), truth


@pytest.mark.parametrize(
    ("seed", "points"),
    [(1, 500), *(pytest.param(seed, 2_000, marks=pytest.mark.sweep) for seed in (21, 22, 23))],
)
def test_the_bar_holds_beside_bends(seed, points):
    draw = random.Random(seed)
    seen = [beside(list(SHAPES)[k % len(SHAPES)], draw) for k in range(points)]
    sure = [(s, truth) for s, truth in seen if s.kind != "unresolved"]
    assert len(sure) > 0.98 * points
    missed = [s for s, t in sure if s.kind != "smooth" or abs(mpf(s.value) - t) > s.error]
    assert len(missed) <= max(1, points / 1000), missed
