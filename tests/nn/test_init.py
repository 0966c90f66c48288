"""How parameters begin and how gradients are clipped, against PyTorch."""

import numpy as np
import pytest

import gradcheck
from gradcheck import nn
from gradcheck.engine.factories import count_fans, find_gain

DRAWS = ("uniform_", "normal_", "xavier_uniform_", "xavier_normal_", "kaiming_uniform_",
         "kaiming_normal_")  # fmt: skip


@pytest.mark.parametrize("shape", [(3, 5), (4, 2, 3, 3)])
def test_fans_and_gains_are_pytorchs(shape):
    torch = pytest.importorskip("torch")
    assert count_fans(shape) == torch.nn.init._calculate_fan_in_and_fan_out(torch.empty(shape))
    for name in ("linear", "sigmoid", "tanh", "relu", "leaky_relu"):
        assert find_gain(name, 0.1) == pytest.approx(torch.nn.init.calculate_gain(name, 0.1))


@pytest.mark.parametrize("name", DRAWS)
def test_what_is_drawn_spreads_as_pytorchs(name):
    """The standard deviation of 40,000 numbers is known to a few thousandths."""
    torch = pytest.importorskip("torch")
    gradcheck.manual_seed(1)
    torch.manual_seed(1)
    shape = (200, 200)
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
