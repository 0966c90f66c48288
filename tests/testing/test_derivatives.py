"""Jacobian-vector products, Hessians, tables, symmetric arguments, drawn arguments."""

import numpy as np
import pytest
from hypothesis import given, settings

from gradcheck.testing import GradientError, assert_hessian, assert_jvp, assert_vjp, check_table
from gradcheck.testing.strategies import arguments

X = np.array([0.3, -1.2, 0.7])
V = np.array([1.5, 0.2, -0.4])


def test_a_jacobian_vector_product():
    """tanh' v = (1 - tanh^2) v, with or without the value beside it; a wrong entry is located."""
    right = lambda x, v: (1 - np.tanh(x) ** 2) * v
    assert assert_jvp(np.tanh, right, X, V)
    assert assert_jvp(np.tanh, lambda x, v: (np.tanh(x), right(x, v)), X, V)
    assert assert_jvp(lambda a, b: a @ b, lambda x, v: v[0] @ x[1] + x[0] @ v[1], (X, V), (V, X))
    with pytest.raises(GradientError, match=r"f\(x \+ t v\)\[1\]"):
        assert_jvp(np.tanh, lambda x, v: right(x, v) * np.array([1, 1.01, 1]), X, V)
    with pytest.raises(TypeError, match="same shapes"):
        assert_jvp(np.tanh, right, X, V[:2])


def test_a_hessian():
    """Of sum(x^3)/6 + x0 x1 the Hessian is diag(x) and the two ones."""
    f = lambda x: np.sum(x**3) / 6 + x[0] * x[1]
    cross = np.zeros((3, 3))
    cross[0, 1] = cross[1, 0] = 1
    assert assert_hessian(f, lambda x: np.diag(x) + cross, X)
    with pytest.raises(GradientError):
        assert_hessian(f, np.diag, X)
    with pytest.raises(TypeError, match=r"\(3, 3\)"):
        assert_hessian(f, lambda x: x, X)
    assert assert_hessian(lambda x: x**3, lambda x: 6 * x, 2.5)


def test_a_table_has_a_row_an_argument(capsys):
    rows = [
        (np.sin, lambda c, x: c * np.cos(x), X),
        (np.multiply, lambda c, x, y: (c * y, 2 * c * x), X, V),
        (np.exp, None, X),
    ]
    found = check_table(rows, explain=0)
    assert [result.ok for result in found] == [True, False, True]
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 5
    assert sum("wrong" in line for line in lines) == 1


@pytest.mark.parametrize("name", ["eigvalsh", "cholesky"])
def test_a_gradient_by_a_symmetric_matrix(name):
    """Textbook gradients are symmetric (Magnus 1985, Murray 2016); a triangle is read."""

    def of_values(g, a):
        _, v = np.linalg.eigh(a)
        return v @ np.diag(g) @ v.T

    def of_factor(g, a):
        low = np.linalg.cholesky(a)
        inner = np.tril(low.T @ np.tril(g))
        inner[np.diag_indices(3)] /= 2
        inverse = np.linalg.inv(low)
        s = inverse.T @ inner @ inverse
        return (s + s.T) / 2

    a = np.random.default_rng(0).normal(size=(3, 3))
    a = a @ a.T + 3 * np.eye(3)
    backward = {"eigvalsh": of_values, "cholesky": of_factor}[name]
    assert assert_vjp(getattr(np.linalg, name), backward, a)
    with pytest.raises(GradientError):
        assert_vjp(getattr(np.linalg, name), lambda g, a: 1.01 * backward(g, a), a)


@settings(max_examples=10, deadline=None)
@given(arguments(lambda x, y: np.log(x) + np.sqrt(y), (3,), (3,)))
def test_drawn_arguments_are_in_the_domain(args):
    """log and sqrt are finite there, and their gradients are judged."""
    assert assert_vjp(lambda x, y: np.log(x) + np.sqrt(y),
                      lambda c, x, y: (c / x, c / (2 * np.sqrt(y))), *args)  # fmt: skip
