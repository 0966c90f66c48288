"""Words by which PyTorch and NumPy mean different things: followed, or refused with advice."""

import warnings

import numpy as np
import pytest

import gradcheck as ours
from gradcheck.engine import tensor
from gradcheck.errors import TextError
from gradcheck.language import Budget, check_program
from gradcheck.language.kinds import KINDS, VOCABULARY
from gradcheck.language.run import run

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
    for mine, theirs in both(function):
        assert mine.shape == theirs.shape
        np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    "text",
    [
        "torch.max(x, 1).values", "torch.min(x, dim=0)[0]", "x.max(dim=0).values * 2",
        "torch.max(x, 1, keepdim=True)[0]", "torch.max(x, 1 - x)", "x.min(dim=-1)[0]",
        "torch.median(x)", "torch.median(x, dim=1).values", "x.median()", "x.median(dim=0)[0]",
        "torch.sort(x).values", "torch.sort(x, descending=True)[0]", "x.sort(dim=0)[0]",
        "torch.split(x, 2)[1]", "torch.split(x, [1, 2], dim=1)[1]", "x.split(2)[0]",
        "torch.max(x, 0).values[torch.max(x[0] * 3, 0).indices]", "torch.erfinv(x)",
    ],
)  # fmt: skip
def test_pytorchs_own(text):
    """Where PyTorch is meant and its function is another than NumPy's: its value and gradient.

    The same by the engine and in the text of a problem.
    """
    both_told = both(lambda x: eval(text, {"x": x, "torch": torch if torch.is_tensor(x) else ours}))
    for mine, theirs in both_told:
        np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-14)
    program = check_program(text, declared={"x"}, vocabulary=VOCABULARY)
    found = run(program, {"x": tensor(NUMBERS)}, KINDS["tensor"], Budget()).value
    expected = eval(text, {"x": torch.tensor(NUMBERS), "torch": torch})
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-12)


def test_ties_and_places():
    """The first of equal entries is taken along an axis; all of them share the median of all."""
    x = [[1.0, 3.0, 3.0, 0.0], [2.0, 2.0, 2.0, 2.0]]
    for function in (
        lambda t, x: t.max(x, 1).values.sum(),
        lambda t, x: t.min(x, 1).values.sum(),
        lambda t, x: t.median(x),
    ):
        mine, hers = tensor(x, requires_grad=True), torch.tensor(x, requires_grad=True)
        function(ours, mine).backward()
        function(torch, hers).backward()
        np.testing.assert_array_equal(mine.grad.numpy(), hers.grad.numpy())
    for name in ("max", "min"):
        mine, hers = getattr(ours, name)(tensor(x), 1), getattr(torch, name)(torch.tensor(x), 1)
        np.testing.assert_array_equal(mine.indices, hers.indices.numpy())
    mine, hers = ours.sort(tensor(x)), torch.sort(torch.tensor(x), stable=True)
    np.testing.assert_array_equal(mine.indices, hers.indices.numpy())


def test_one_hot():
    """Whole numbers, as many classes as are seen; PyTorch's complaints."""
    labels = [[0, 2], [1, 1]]
    for more in ((), (4,)):
        mine = ours.nn.functional.one_hot(tensor(labels), *more)
        hers = torch.nn.functional.one_hot(torch.tensor(labels), *more)
        np.testing.assert_array_equal(mine.numpy(), hers.numpy())
        assert mine.dtype == np.int64
    for labels, more in (([3], (2,)), ([-1], ())):
        with pytest.raises(RuntimeError) as mine:
            ours.nn.functional.one_hot(tensor(labels), *more)
        with pytest.raises(RuntimeError) as hers:
            torch.nn.functional.one_hot(torch.tensor(labels), *more)
        assert str(mine.value) == str(hers.value)


@pytest.mark.parametrize(
    ("function", "advice"),
    [
        (lambda x: x.std(dim=0), "correction=1"),
        (lambda x: x.var(dim=0, keepdim=True), "correction=1"),
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
