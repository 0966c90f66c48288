"""How parameters begin and how gradients are clipped, against PyTorch."""

import numpy as np
import pytest

import gradcheck
from gradcheck import nn
from gradcheck.engine.factories import fans, gain_of

GRADS = ([3.0, -4.0], [[1.0, 2.0], [-2.0, 0.5]])
DRAWS = ("uniform_", "normal_", "xavier_uniform_", "xavier_normal_", "kaiming_uniform_",
         "kaiming_normal_")  # fmt: skip


def with_grads(torch):
    made = [torch.ones(np.shape(g), requires_grad=True) for g in GRADS]
    for p, g in zip(made, GRADS, strict=True):
        p.grad = torch.tensor(g)
    return made


@pytest.mark.parametrize("norm", [2.0, 1.0, 3.0, float("inf")])
@pytest.mark.parametrize("most", [1.0, 100.0])
def test_the_norm_is_clipped_as_by_pytorch(norm, most):
    torch = pytest.importorskip("torch")
    ours, theirs = with_grads(gradcheck), with_grads(torch)
    total = nn.utils.clip_grad_norm_(ours, most, norm)
    due = torch.nn.utils.clip_grad_norm_(theirs, most, norm)
    assert float(total) == pytest.approx(float(due), rel=1e-6)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy(), rtol=1e-6)


def test_values_are_clipped():
    ours = with_grads(gradcheck)
    assert nn.utils.clip_grad_value_(ours, 1.5) is None
    assert [p.grad.tolist() for p in ours] == [[1.5, -1.5], [[1.0, 1.5], [-1.5, 0.5]]]


def test_without_gradients_there_is_nothing_to_clip():
    assert float(nn.utils.clip_grad_norm_([gradcheck.ones(2, requires_grad=True)], 1.0)) == 0.0


@pytest.mark.parametrize("shape", [(3, 5), (4, 2, 3, 3)])
def test_fans_and_gains_are_pytorchs(shape):
    torch = pytest.importorskip("torch")
    assert fans(shape) == torch.nn.init._calculate_fan_in_and_fan_out(torch.empty(shape))
    for name in ("linear", "sigmoid", "tanh", "relu", "leaky_relu"):
        assert gain_of(name, 0.1) == pytest.approx(torch.nn.init.calculate_gain(name, 0.1))


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
