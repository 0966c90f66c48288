"""Balls as flint's matrices: products, contractions, inverses, against NumPy's own on floats."""

import operator
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradcheck.numbers.ball import arbs, balls, middle, radius
from gradcheck.numbers.run import RUN, precision
from gradcheck.testing import assert_gradient

RNG = np.random.default_rng(7)
TINY = 1e-50


def numbers(*shape):
    """Floats between 1 and 2: no sum of products comes near to nothing."""
    return RNG.uniform(1, 2, shape)


def close(found, expected):
    """The balls are narrow, and their midpoints are NumPy's floats but for these's rounding."""
    inside = arbs(found)
    assert inside.shape == np.shape(expected)
    values = np.array([middle(b) for b in inside.flat]).reshape(inside.shape)
    np.testing.assert_allclose(values, expected, rtol=1e-12, atol=TINY)
    assert max((radius(b) for b in inside.flat), default=0.0) < TINY


def both(f, *arrays):
    with precision(256):
        found = f(*[balls(a) for a in arrays])
    close(found, f(*arrays))


RANKS = [
    ((3,), (3,)), ((3,), (3, 2)), ((2, 3), (3,)), ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)),
    ((2, 3), (5, 3, 4)), ((3,), (5, 3, 4)), ((5, 2, 3), (3,)), ((4, 1, 2, 3), (5, 3, 2)),
    ((1, 1), (1, 1)), ((2, 0), (0, 3)), ((0, 2), (2, 3)), ((0, 2, 3), (3, 2)),
]  # fmt: skip
DOTS = [((3,), (3,)), ((2, 3), (3, 3)), ((4, 2, 3), (5, 3, 3)), ((), (2, 2)), ((2,), ())]
AXES = [0, 1, 2, ([0], [1]), ([1, 0], [0, 1]), ([-1], [-2])]
PRODUCTS = [
    *((operator.matmul, shapes) for shapes in RANKS),
    # where the two differ for more than one axis, so do their balls
    *((f, shapes) for f in (np.dot, np.inner) for shapes in DOTS),
    *((partial(np.tensordot, axes=axes), ((3, 3), (3, 3))) for axes in AXES),
    # NumPy stretches an axis of one entry to the other's length, under a letter or under dots
    (partial(np.einsum, "ij,jk->ik"), ((2, 1), (3, 2))),
    (partial(np.einsum, "...i,...i->..."), ((1, 4), (3, 4))),
    (partial(np.einsum, "ij,jk,k->i"), ((2, 3), (3, 2), (2,))),
    (partial(np.einsum, "ij->j"), ((2, 3),)),
]


@pytest.mark.parametrize(("f", "shapes"), PRODUCTS)
def test_products(f, shapes):
    """On balls as on floats, for vectors, matrices and stacks of either."""
    both(f, *[numbers(*shape) for shape in shapes])


EINSUMS = [
    "ij,jk->ik", "ij,jk->ki", "ij,kj->ik", "ij,ij->", "ij,ij->ij", "ij,ij->j", "ij,k->k",
    "ij,k->kji", "bij,bjk->bik", "bij,bkj->bki", "ij,jk->", "ij,jk->k", "i,i->", "i,j->ji",
    "...ij,...jk->...ik", "ij,jk", "ii,ij->j", "ij,jj->i", "bhqd,bhkd->bhqk", "a,ab->b",
]  # fmt: skip


@pytest.mark.parametrize("subscripts", EINSUMS)
def test_einsum(subscripts):
    """Contracted, kept side by side, summed alone, repeated: as NumPy has it."""
    left = subscripts.split("->")[0].split(",")
    shapes = [[3] * len(term.replace("...", "x")) for term in left]
    both(lambda a, b: np.einsum(subscripts, a, b), *[numbers(*shape) for shape in shapes])


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    st.text("abcd", min_size=1, max_size=3),
    st.text("abcd", min_size=1, max_size=3),
    st.permutations("abcd"),
    st.integers(0, 4),
)
def test_einsum_of_any_two(s, t, letters, kept):
    """Letters of sizes 2 to 5, so that no two are mistaken for one another."""
    sizes = dict(zip("abcd", (2, 3, 4, 5), strict=True))
    out = "".join(c for c in letters[:kept] if c in s + t)
    arrays = [numbers(*(sizes[c] for c in term)) for term in (s, t)]
    both(lambda a, b: np.einsum(f"{s},{t}->{out}", a, b), *arrays)


def test_fractions_and_whole_numbers_among_them():
    """A third is a third: Hilbert's matrix times its inverse, which is made of whole numbers."""
    hilbert = np.array([[Fraction(1, i + j + 1) for j in range(4)] for i in range(4)], dtype=object)
    inverse = [[16, -120, 240, -140], [-120, 1200, -2700, 1680],
               [240, -2700, 6480, -4200], [-140, 1680, -4200, 2800]]  # fmt: skip
    with precision(256):
        close(balls(hilbert) @ np.array(inverse), np.eye(4))
        close(np.linalg.inv(balls(hilbert)), inverse)
        close(np.linalg.solve(balls(hilbert), balls([4, 0, 0, 0])), [64, -480, 960, -560])
        close(np.linalg.det(balls(hilbert)), 1 / 6048000)


@pytest.mark.parametrize("bad", [np.inf, np.nan])
def test_what_is_not_finite_spoils_only_what_it_touches(bad):
    """The row with the bad entry has no finite value, the other row has."""
    a = numbers(2, 3)
    a[0, 1] = bad
    with precision(256):
        found = arbs(balls(a) @ balls(numbers(3, 2)))
    assert [[b.is_finite() for b in row] for row in found] == [[False] * 2, [True] * 2]


def test_stacks_of_matrices():
    """One inverse, one determinant and one solution for each; one vector or columns of several."""
    a, b = numbers(3, 1, 2, 2) + 3 * np.eye(2), numbers(4, 2, 5)
    both(np.linalg.inv, a)
    both(np.linalg.det, a)
    both(np.linalg.solve, a, b)
    both(np.linalg.solve, a[0, 0], numbers(2))


def test_forty_rows_are_no_hindrance():
    """Beyond the twenty rows that elimination entry by entry is worth."""
    a = numbers(40, 40) + 40 * np.eye(40)
    both(np.linalg.inv, a)
    both(lambda a: np.linalg.slogdet(a)[1], a)


def test_the_gradient_of_a_large_determinant():
    """Two opinions where the closed form has none: log|det| has the gradient inv(a)^T."""
    a = numbers(24, 24) + 24 * np.eye(24)
    found = assert_gradient(lambda a: np.linalg.slogdet(a)[1], a, gradient=np.linalg.inv(a).T)
    given = {name: o.abstains for name, o in found.verdicts[0].opinions.items()}
    assert given["symbolic"]
    assert not given["reverse"]
    assert not given["differences"]


def test_the_work_is_counted():
    """A product of matrices is cheap, and yet not free: budgets must see it."""
    a = balls(numbers(60, 60))
    before = RUN.made
    a @ a
    assert RUN.made - before > 60 * 60
    assert RUN.made - before < 60 * 60 * 60
