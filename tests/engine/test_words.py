"""Words by which PyTorch and NumPy mean different things: followed, or refused with advice."""

import warnings
from pathlib import Path

import numpy as np
import pytest
import yaml

import gradcheck as ours
from gradcheck.engine import tensor
from gradcheck.errors import TextError
from gradcheck.language import Budget, check_program
from gradcheck.language.kinds import KINDS, VOCABULARY
from gradcheck.language.run import run

torch = pytest.importorskip("torch")

TABLE = yaml.safe_load(Path(__file__).with_name("words.yaml").read_text())

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


@pytest.mark.parametrize("text", TABLE["methods"])
def test_methods_that_numpy_has_not(text):
    """A method that is no NumPy array's, or a spelling that is not, means what PyTorch means."""
    for mine, theirs in both(eval(f"lambda x: {text}")):
        assert mine.shape == theirs.shape
        np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("text", TABLE["pytorch's own"])
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


@pytest.mark.parametrize(("text", "advice"), TABLE["methods refused"])
def test_methods_refused(text, advice):
    """A method of NumPy's arrays in PyTorch's words, where the two differ, is refused."""
    with pytest.raises(TypeError, match=advice):
        eval(text, {"x": tensor(NUMBERS)})


@pytest.mark.parametrize(("program", "advice"), TABLE["programs refused"])
def test_programs_refused(program, advice):
    """What PyTorch would answer otherwise than NumPy is refused where PyTorch is meant."""
    with pytest.raises(TextError) as caught:
        check_program(program, declared={"x"}, vocabulary=VOCABULARY)
    assert advice in str(caught.value)


@pytest.mark.parametrize("program", TABLE["programs that stay"])
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
