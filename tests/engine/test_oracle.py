"""The oracle of the engine's tests: one snippet run on PyTorch and on the engine, told alike."""

import warnings

import pytest

from gradcheck import engine
from gradcheck.engine.tensor import Tensor
from tests.support.oracle import double, same, torch


def test_the_oracle_sees_a_difference_of_one_word():
    with pytest.raises(AssertionError):
        same(lambda m: "ours" if hasattr(m, "Tensor") else "theirs")


def test_the_oracle_lets_equal_things_pass():
    def complain(m):
        warnings.warn("so", UserWarning, stacklevel=1)
        raise ValueError("no")

    same(lambda m: m.tensor([1.0, 2.5]))
    same(complain)


def test_double_restores_the_default():
    before = torch.get_default_dtype()
    with double():
        assert torch.get_default_dtype() == torch.float64
    assert torch.get_default_dtype() == before
    assert isinstance(engine.tensor(1.0), Tensor)
