"""Making and printing tensors: constructor, dtypes, requires_grad, repr."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradcheck
from gradcheck import nn, tensor
from gradcheck.engine.factories import count_fans, find_gain
from tests.support.oracle import double, torch

inf, nan = math.inf, math.nan


def test_the_data_are_copied():
    """A tensor does not follow the array that it was made of."""
    data = np.array([1.0, 2.0])
    t = tensor(data)
    data[0] = 9.0
    assert t.tolist() == [1.0, 2.0]


def test_copying_a_tracked_tensor_is_refused():
    """Where PyTorch only warns that the gradient is lost, the engine raises and says the cure."""
    with pytest.raises(TypeError, match=r"t\.clone\(\).*t\.detach\(\)\.clone\(\)"):
        tensor(tensor(1.0, requires_grad=True))
    with pytest.raises(TypeError, match=r"np\.stack"):
        tensor([tensor(1.0, requires_grad=True)])


@settings(deadline=None, derandomize=True, max_examples=150)
@given(
    st.lists(
        st.one_of(
            st.floats(allow_nan=True, allow_infinity=True, width=64),
            st.integers(-2000, 2000).map(float),
            st.floats(-5, 5).map(lambda v: round(v, 2)),
        ),
        min_size=0,
        max_size=40,
    )
)
def test_repr_of_any_vector(numbers):
    """Whatever the numbers, the text is PyTorch's."""
    with double():
        expected = repr(torch.tensor(numbers))
    assert repr(tensor(np.array(numbers))) == expected


@pytest.mark.parametrize(
    "buffer",
    [np.zeros_like, np.ones_like, np.empty_like, lambda x: np.full_like(x, 2.0)],
    ids=["zeros", "ones", "empty", "full"],
)
def test_numpys_buffers_hold_tensors(buffer):
    """`np.zeros_like(t)` is a tensor, into which others are written; of integers it is an array."""
    x = tensor([1.0, 2.0, 3.0], requires_grad=True)
    out = buffer(x)
    assert not out.requires_grad
    for i in range(3):
        out[i] = x[i] ** 2
    out.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [2.0, 4.0, 6.0])
    assert type(np.zeros_like(x, dtype=int)) is np.ndarray


# -- how parameters begin and how gradients are clipped --------------------------------------------

DRAWS = ("uniform_", "normal_", "xavier_uniform_", "xavier_normal_", "kaiming_uniform_",
         "kaiming_normal_")  # fmt: skip


@pytest.mark.parametrize("shape", [(3, 5), (4, 2, 3, 3)])
def test_fans_and_gains_are_pytorchs(shape):
    assert count_fans(shape) == torch.nn.init._calculate_fan_in_and_fan_out(torch.empty(shape))
    for name in ("linear", "sigmoid", "tanh", "relu", "leaky_relu"):
        assert find_gain(name, 0.1) == pytest.approx(torch.nn.init.calculate_gain(name, 0.1))


@pytest.mark.parametrize("name", DRAWS)
def test_what_is_drawn_spreads_as_pytorchs(name):
    """The standard deviation of 40,000 numbers is known to a few thousandths."""
    gradcheck.manual_seed(1)
    torch.manual_seed(1)
    shape = (400, 100)
    ours = getattr(nn.init, name)(gradcheck.zeros(shape, requires_grad=True))
    theirs = getattr(torch.nn.init, name)(torch.zeros(shape))
    assert ours.is_leaf
    assert ours.requires_grad
    assert np.std(ours.tolist()) == pytest.approx(float(theirs.std()), rel=0.02)
    if "uniform" in name:
        assert np.max(ours.tolist()) == pytest.approx(float(theirs.max()), rel=1e-3)


def test_filled_with_a_number():
    p = gradcheck.zeros(2, 2, requires_grad=True)
    assert nn.init.constant_(p, 3.0).tolist() == [[3.0, 3.0], [3.0, 3.0]]
    assert nn.init.eye_(p).tolist() == [[1.0, 0.0], [0.0, 1.0]]
    with pytest.raises(ValueError, match="two axes"):
        nn.init.xavier_uniform_(gradcheck.zeros(3, requires_grad=True))
