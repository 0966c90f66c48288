"""Layers, losses and optimizers: PyTorch's formulas, texts and updates."""

import numpy as np
import pytest

import gradcheck
from gradcheck import nn, tensor
from gradcheck.engine.factories import manual_seed
from gradcheck.nn import Linear

W = [[0.1, -0.2, 0.3], [0.4, 0.5, -0.6]]
B = [0.05, -0.05]
X = [[1.0, 2.0, 3.0], [-1.0, 0.5, 2.0], [0.0, 1.0, -1.0], [2.0, 2.0, 0.5]]


@pytest.mark.parametrize("target", [[1, 2], [1.0]])
def test_targets_that_do_not_fit(target):
    """Refused with the shape that was expected, where PyTorch speaks of dtypes and batch sizes."""
    with pytest.raises(ValueError, match=r"but .* was expected: class numbers"):
        nn.CrossEntropyLoss()(tensor([[1.0, 2.0, 3.0]]), tensor(target))


def test_a_layer_is_seeded():
    """The same seed draws the same weights, inside PyTorch's bound; another seed others."""
    one, again, other = Linear(16, 4, seed=0), Linear(16, 4, seed=0), Linear(16, 4, seed=1)
    assert np.array_equal(one.weight.tolist(), again.weight.tolist())
    assert not np.array_equal(one.weight.tolist(), other.weight.tolist())
    assert np.abs(one.weight.tolist()).max() <= 1 / 4
    assert [p.shape for p in one.parameters()] == [(4, 16), (4,)]
    assert all(p.requires_grad and p.is_leaf for p in one.parameters())
    assert Linear(3, 2, bias=False).parameters()[0].shape == (2, 3)


def test_given_weights_must_fit():
    with pytest.raises(ValueError, match=r"\(2, 3\).*\(1, 3\)"):
        Linear(3, 2, weight=[[1.0, 2.0, 3.0]])


def test_the_formula_of_linear():
    """A layer is x W^T + b, for a vector and for stacks of rows."""
    expected = np.array(X) @ np.transpose(W) + B
    net = Linear(3, 2, weight=W, bias=B)
    np.testing.assert_allclose(net(tensor(X)).tolist(), expected, rtol=1e-15)
    np.testing.assert_allclose(net(tensor([X])).tolist(), [expected], rtol=1e-15)


def test_a_setting_that_is_not_there():
    with pytest.raises(TypeError, match="LeakyReLU: too many"):
        nn.LeakyReLU(0.1, False, 0.2)


@pytest.mark.parametrize("name", ["Softmax", "LogSoftmax"])
def test_an_axis_has_to_be_said(name):
    """Where PyTorch guesses by the shape (and warns): axis 0 of a vector and of three axes."""
    with pytest.raises(TypeError, match="missing a required argument"):
        getattr(nn, name)()


@pytest.mark.parametrize("layer", [Linear, nn.GRUCell])
def test_the_weights_of_a_layer_follow_the_seed(layer):
    manual_seed(3)
    first, second = layer(2, 2), layer(2, 2)
    manual_seed(3)
    again = layer(2, 2)
    weights = [made.parameters()[0].tolist() for made in (first, again, second)]
    assert weights[0] == weights[1]
    assert not np.any(np.equal(weights[0], weights[2]))


def test_dropout():
    """Entries are 0 or over 1 - p, their slopes alike; after `eval()` nothing is drawn."""
    gradcheck.manual_seed(0)
    drop = gradcheck.nn.Dropout(0.25)
    x = gradcheck.tensor(np.ones((40, 50)), requires_grad=True)
    y = drop(x)
    y.sum().backward()
    assert set(np.unique(y.detach().numpy())) == {0.0, 1 / 0.75}
    assert np.array_equal(x.grad.numpy(), y.detach().numpy())
    assert abs(np.mean(y.detach().numpy()) - 1) < 0.08  # six standard deviations of the mean
    assert np.array_equal(drop.eval()(x).detach().numpy(), x.detach().numpy())


def test_a_reduction_that_is_none():
    with pytest.raises(TypeError, match="'mean', 'sum' or 'none' was expected"):
        nn.MSELoss(reduction="foo")(tensor([1.0]), tensor([2.0]))
