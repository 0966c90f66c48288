"""Edges of the rows: no freedom left, poles, zeros among many, spellings that were overlooked."""

import warnings

import mpmath
import numpy as np
import pytest

from gradcheck.engine import tensor
from gradcheck.ops import TABLE, everything
from gradcheck.ops.decompositions import MINORS

torch = pytest.importorskip("torch")


def gradient(function, *arrays):
    leaves = [tensor(np.asarray(a, float), requires_grad=True) for a in arrays]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        np.sum(function(*leaves)).backward()
    return [leaf.grad.numpy() for leaf in leaves]


def test_reduce_over_all_axes():
    """`np.add.reduce(x, axis=None)` takes all axes, and without a word the first."""
    numbers = np.arange(6.0).reshape(2, 3)
    for axis in ({}, {"axis": None}, {"axis": 1}, {"axis": (0, 1)}):
        ours = np.add.reduce(tensor(numbers, requires_grad=True), **axis)
        np.testing.assert_array_equal(ours.detach().numpy(), np.add.reduce(numbers, **axis))


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.reshape(x, (-1,), order="F"),
        lambda x: np.cross(x, [1.0, 2.0]),
        lambda x: np.cross(x, [1.0, 2.0, 3.0]),
    ],
)
def test_refused_with_a_reason(call):
    """What the rows cannot follow is refused, not answered as if it had not been said."""
    with pytest.raises(TypeError, match=r"rows only|3 entries"):
        call(tensor(np.ones((3, 2)), requires_grad=True))


def test_more_differences_than_entries():
    """Nothing is left of x, and its gradient is zeros in its own shape."""
    (ours,) = gradient(lambda x: np.diff(x, n=5), np.ones((2, 3)))
    np.testing.assert_array_equal(ours, np.zeros((2, 3)))


@pytest.mark.parametrize("name", ["cross_entropy", "nll_loss"])
@pytest.mark.parametrize(
    ("target", "error"),
    [
        ([0, 3, 1], IndexError),
        ([0, -1, 1], IndexError),
        ([0], ValueError),
        ([0.0, 2.0, 1.0], ValueError),
        ([[0, 1, 2]], ValueError),
    ],
)
def test_targets_that_are_no_classes(name, target, error):
    """A target that is no class of its sample is refused: it would count as a loss of zero."""
    with pytest.raises(error):
        everything()[name](tensor(np.ones((3, 3)), requires_grad=True), target)


@pytest.mark.parametrize("name", ["binary_cross_entropy", "binary_cross_entropy_with_logits"])
def test_binary_targets_of_another_shape(name):
    """PyTorch refuses a target of another shape here, and so do we; a number is one for all."""
    p, t = np.full((2, 3), 0.25), np.full(3, 0.5)
    with pytest.raises(ValueError, match="arget size"):
        getattr(torch.nn.functional, name)(torch.tensor(p), torch.tensor(t))
    with pytest.raises(ValueError, match="Target size"):
        TABLE[name](tensor(p), tensor(t))
    assert TABLE[name](tensor(p), 0.5).item() == TABLE[name](tensor(p), np.full((2, 3), 0.5)).item()


@pytest.mark.parametrize("x", [0.0, 1e-200, 1e-5])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 99])
def test_polygamma_near_its_pole(x, n):
    """Infinite at 0, and where the value is too large for a float; never an error."""
    with np.errstate(all="ignore"):
        ours = TABLE["polygamma"](n, np.float64(x))
    expected = float(mpmath.psi(n, x)) if x else (-1) ** (n + 1) * np.inf
    np.testing.assert_allclose(ours, expected, rtol=1e-12)


@pytest.mark.parametrize("zeros", [(5,), (5, 900)])
@pytest.mark.parametrize("name", ["prod", "cumprod"])
def test_zeros_among_many_factors(name, zeros):
    """The gradient of a long product with zeros is PyTorch's, without an array of n^2 entries."""
    x = np.random.default_rng(0).uniform(0.9, 1.1, 2000)
    x[list(zeros)] = 0
    leaf = torch.tensor(x, requires_grad=True)
    (torch.prod(leaf) if name == "prod" else torch.cumprod(leaf, 0)).sum().backward()
    (ours,) = gradient(getattr(np, name), x)
    np.testing.assert_allclose(ours, leaf.grad.numpy(), rtol=1e-10, atol=1e-12)


def test_determinant_of_a_large_singular_matrix():
    """Beyond a dozen rows the cofactors come from singular values: those of the minors."""
    n = MINORS + 2
    a = np.zeros((n, n))
    a[1:, 1:] = np.random.default_rng(0).uniform(0.2, 1.0, (n - 1, n - 1)) + np.eye(n - 1)
    expected = np.zeros((n, n))
    expected[0, 0] = np.linalg.det(a[1:, 1:])
    (ours,) = gradient(np.linalg.det, a)
    np.testing.assert_allclose(ours, expected, rtol=1e-10, atol=1e-10 * abs(expected[0, 0]))
