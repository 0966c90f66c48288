"""Making and printing tensors: constructor, dtypes, requires_grad, repr."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradcheck.engine import tensor
from tests.support.oracle import double, same, table, torch

inf, nan = math.inf, math.nan


@table(
    ints=lambda m: m.tensor([1, 2]),
    bools=lambda m: m.tensor([True, False]),
    mixed=lambda m: m.tensor([1, 2.5]),
    one_int=lambda m: m.tensor(1),
    one_bool=lambda m: m.tensor(True),
    numpy_float32=lambda m: m.tensor(np.float32(1)),
    numpy_float64=lambda m: m.tensor(np.float64(1)),
    numpy_int32=lambda m: m.tensor(np.int32(3)),
    array_float32=lambda m: m.tensor(np.array([1, 2], np.float32)),
    array_int32=lambda m: m.tensor(np.array([1, 2], np.int32)),
    array_uint16=lambda m: m.tensor(np.array([1, 2], np.uint16)),
    array_float64=lambda m: m.tensor(np.array([1.0, 2.0])),
    list_of_float32=lambda m: m.tensor([np.float32(1)]),
    empty=lambda m: m.tensor([]),
    empty_rows=lambda m: m.tensor([[]]),
    asked_float32=lambda m: m.tensor([1.0, 2.0], dtype=m.float32),
    asked_float=lambda m: m.tensor([1, 2], dtype=m.float64),
    tuple=lambda m: m.tensor((1, 2)),
    range=lambda m: m.tensor(range(3)),
    tensors=lambda m: m.tensor([m.tensor(1.0), m.tensor(2.0)]),
    ragged=lambda m: m.tensor([[1, 2], [3]]),
    ragged_deep=lambda m: m.tensor([[[1, 2], [3, 4]], [[1, 2], [3]]]),
    nothing=lambda m: m.tensor(None),
    nothings=lambda m: m.tensor([None]),
    mapping=lambda m: m.tensor({1: 2}),
    int_with_gradient=lambda m: m.tensor(1, requires_grad=True),
    bool_with_gradient=lambda m: m.tensor([True], requires_grad=True),
    int_asked_later=lambda m: m.tensor(1).requires_grad_(),
    nonleaf_refuses=lambda m: (m.leaf(1.0) * 2).requires_grad_(False),
    nonleaf_may_stay=lambda m: (m.leaf(1.0) * 2).requires_grad_(True),
    leaf_toggled=lambda m: m.leaf(1.0).requires_grad_(False).requires_grad_(),
)
def test_constructor(snippet):
    """Values, dtypes and complaints of `tensor(...)` are PyTorch's."""
    same(snippet)


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


@table(
    number=lambda m: m.leaf(1.0),
    half=lambda m: m.tensor(1.5),
    negative=lambda m: m.tensor([-1.0, 2.0, -3.5]),
    whole=lambda m: m.tensor([1.0, -2.0, 30.0]),
    specials=lambda m: m.tensor([1.0, nan, inf, -inf]),
    specials_half=lambda m: m.tensor([1.5, nan, inf, -inf]),
    only_specials=lambda m: m.tensor([nan, inf, -inf]),
    nan=lambda m: m.tensor(nan),
    zeros=lambda m: m.tensor([0.0, 0.0]),
    minus_zero=lambda m: m.tensor([-0.0, 1.0]),
    tiny=lambda m: m.tensor([1e-5, 1.0]),
    wide=lambda m: m.tensor([1.0, 2000.5]),
    wide_whole=lambda m: m.tensor([1.0, 2000.0]),
    huge=lambda m: m.tensor(1e10),
    big_whole=lambda m: m.tensor([1e8, 1e9]),
    bools=lambda m: m.tensor([True, False]),
    ints=lambda m: m.tensor([1, -20, 300]),
    matrix=lambda m: m.tensor([[1.0, 2.5], [-3.25, 4.0]]),
    cube=lambda m: m.tensor([[[1.0, 2.0]], [[3.0, 4.0]]]),
    hypercube=lambda m: m.tensor(np.arange(16.0).reshape(2, 2, 2, 2)),
    float32=lambda m: m.tensor([1.5, 2.0], dtype=m.float32),
    float32_leaf=lambda m: m.leaf([1.5, 2.0], dtype=m.float32),
    float32_third=lambda m: m.tensor(1 / 3, dtype=m.float32),
    empty_float32=lambda m: m.tensor([], dtype=m.float32),
    empty_block=lambda m: m.tensor(np.zeros((0, 3))),
    empty_ints=lambda m: m.tensor(np.zeros((2, 0), np.int64)),
    wrapped=lambda m: m.tensor(np.arange(30.0) / 7),
    wrapped_rows=lambda m: m.tensor(np.arange(60.0).reshape(2, 30) / 7),
    at_the_threshold=lambda m: m.tensor(np.arange(1000.0)),
    summarised=lambda m: m.tensor(np.arange(1001.0)),
    summarised_matrix=lambda m: m.tensor(np.arange(2000.0).reshape(40, 50)),
    summarised_flat=lambda m: m.tensor(np.arange(2000.0).reshape(4, 500)),
    summarised_cube=lambda m: m.tensor(np.arange(8000.0).reshape(20, 20, 20)),
    summarised_by_corners=lambda m: m.tensor(np.r_[1.0, 2, 3, [1e9] * 2000, 4, 5, 6]),
    long_suffix=lambda m: m.leaf(np.arange(8.0) / 7),
    suffix_wrapped=lambda m: m.leaf(np.arange(9.0) * 1.5).exp(),
    suffix_wrapped_dtype=lambda m: m.leaf(np.arange(9.0) * 1.5, dtype=m.float32).exp(),
    grad_fn=lambda m: m.leaf(1.0) * 2,
    grad_fn_vector=lambda m: (m.leaf([1.0, 2.0]) ** 2).sum(),
    list_of_tensors=lambda m: [m.tensor(1.0), m.leaf([2.0])],
    formatted=lambda m: f"{m.leaf(1.23456):.3f} {m.tensor(2.0)} {m.tensor(3)}",
    formatted_vector=lambda m: f"{m.tensor([1.0]):.3f}",
    formatted_plain=lambda m: f"{m.tensor([1.0])}",
)
def test_repr(snippet):
    """A tensor prints as PyTorch's does when its default dtype is float64."""
    same(snippet)


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
