"""Words by which PyTorch and NumPy mean different things: followed, or refused with advice."""

import warnings

import numpy as np
import pytest

from gradcheck.engine import tensor
from gradcheck.errors import TextError
from gradcheck.language import check_program
from gradcheck.language.kinds import VOCABULARY

torch = pytest.importorskip("torch")

NUMBERS = np.random.default_rng(3).uniform(0.2, 0.9, (3, 3))


def both(function, numbers=NUMBERS):
    """Value and gradient of a function of one tensor, of ours and of PyTorch's."""
    told = []
    for make in (tensor, torch.tensor):
        x = make(np.array(numbers), requires_grad=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # PyTorch's of cross without an axis
            y = function(x)
        (y * y).sum().backward()
        told.append((y.detach().numpy(), x.grad.numpy()))
    return zip(*told, strict=True)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.norm(1),
        lambda x: x.norm(p=1),
        lambda x: x.norm(2),
        lambda x: x.norm(3),
        lambda x: x.norm(-1),
        lambda x: x.norm(float("inf")),
        lambda x: x.norm("fro"),
        lambda x: x.norm(p=2, dim=(0, 1)),
        lambda x: x.norm(1, 0),
        lambda x: x.norm(1, dim=1, keepdim=True),
        lambda x: x.norm(dim=0),
        lambda x: x.cross(2 * x + 1),
        lambda x: x[:2].cross(x[1:]),
        lambda x: x.cross(2 * x + 1, dim=-1),
        lambda x: x[None].transpose(0, 1),
        lambda x: x.transpose(1, 0),
        lambda x: x.polygamma(2),
        lambda x: x.triu(diagonal=1),
        lambda x: x.sum(dim=[0, 1]),
        lambda x: x.mean([0, 1]),
        lambda x: x.std(dim=0, correction=1),
        lambda x: x.var(dim=1, unbiased=True),
    ],
)
def test_methods_that_numpy_has_not(function):
    """A method that is no NumPy array's, or a spelling that is not, means what PyTorch means."""
    for ours, theirs in both(function):
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    ("function", "advice"),
    [
        (lambda x: x.std(dim=0), "correction=1"),
        (lambda x: x.var(dim=0, keepdim=True), "correction=1"),
        (lambda x: x.max(dim=0), "axis="),
        (lambda x: x.min(dim=0), "axis="),
        (lambda x: x.sort(dim=0), "np.sort"),
        (lambda x: x.median(dim=0), "np.median"),
        (lambda x: x.split(2, dim=0), "np.split"),
        (lambda x: x.transpose(0, 1), "swapaxes"),
        (lambda x: x.norm(p=1, dim=(0, 1)), "np.linalg.norm"),
    ],
)
def test_methods_refused(function, advice):
    """A method of NumPy's arrays in PyTorch's words, where the two differ, is refused."""
    with pytest.raises(TypeError, match=advice):
        function(tensor(NUMBERS))


@pytest.mark.parametrize(
    ("program", "advice"),
    [
        ("F.softmax(x)", "dim=-1"),
        ("torch.nn.functional.log_softmax(x)", "dim=-1"),
        ("x.std(dim=0)", "correction=1"),
        ("x.max(dim=0)[0]", "amax"),
        ("v, i = x.min(dim=0)", "amin"),
        ("x.sort(dim=0)", "np.sort"),
        ("x.median(dim=0)", "np.median"),
        ("x.transpose(0, 1)", "swapaxes"),
    ],
)
def test_programs_refused(program, advice):
    """What PyTorch would answer otherwise than NumPy is refused where PyTorch is meant."""
    with pytest.raises(TextError) as caught:
        check_program(program, declared={"x"}, vocabulary=VOCABULARY)
    assert advice in str(caught.value)


@pytest.mark.parametrize(
    "program",
    [
        "F.softmax(x, dim=0)", "F.softmax(x, 0)", "softmax(x)", "np.pad(x, 1)", "np.cross(x, x)",
        "torch.linalg.cross(x, x)", "torch.cross(x, x, dim=-1)", "torch.norm(x)", "x.norm(p=1)",
        "torch.norm(x, 1)", "torch.cross(x, x)", "F.pad(x, (1, 1))", "torch.transpose(x, 0, 1)",
        "torch.norm(x, 1, dim=0)", "torch.linalg.norm(x, 1)", "norm(x, 1)", "x.norm(2)",
        "x.norm(1)",
        "x.std(0)", "x.std(dim=0, unbiased=False)", "x.max(axis=0)", "max(x, dim=0)",
        "x.max(dim=0)", "x.min(dim=0, keepdim=True)", "x.max(axis=0)[0]",
        "x.transpose(1, 0)", "x.transpose((1, 0))", "x.transpose(-1, -2)",
    ],
)  # fmt: skip
def test_programs_that_stay(program):
    """Where NumPy is meant, or both say the same, nothing is refused."""
    check_program(program, declared={"x"}, vocabulary=VOCABULARY)


def test_reciprocal_of_integers():
    """`t.reciprocal()` of integers is PyTorch's, in floats; NumPy's own function says 0."""
    np.testing.assert_allclose(tensor([3, 4], dtype=int).reciprocal().numpy(), [1 / 3, 1 / 4])


@pytest.mark.parametrize(("a", "b"), [(-3.0, 0.3), (3.0, 1e-8), (7.0, -2.0)])
def test_floor_division_of_tracked_numbers(a, b):
    """`a // b` is Python's also where a / b is rounded up to an integer; its gradient is 0."""
    x = tensor(b, requires_grad=True)
    y = a // x
    y.backward()
    assert (y.item(), x.grad.item()) == (a // b, 0)
