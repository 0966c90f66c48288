"""Layers, losses and optimizers: PyTorch's formulas, texts and updates."""

from collections import OrderedDict

import numpy as np
import pytest

import gradcheck
from gradcheck import nn
from gradcheck.engine import SGD, Adam, Linear, MSELoss, tensor
from gradcheck.engine.factories import manual_seed
from tests.support.oracle import double, same, table, torch

W = [[0.1, -0.2, 0.3], [0.4, 0.5, -0.6]]
B = [0.05, -0.05]
X = [[1.0, 2.0, 3.0], [-1.0, 0.5, 2.0], [0.0, 1.0, -1.0], [2.0, 2.0, 0.5]]
Y = [[0.5, 1.0], [0.0, -1.0], [1.0, 1.0], [-0.5, 0.5]]


def layer(m):
    if hasattr(m, "Tensor"):
        return m.Linear(3, 2, weight=W, bias=B)
    made = m.Linear(3, 2)
    with m.no_grad():
        made.weight.copy_(m.tensor(W))
        made.bias.copy_(m.tensor(B))
    return made


def trained(optimizer, steps=6):
    """A snippet: a regression trained for some steps; the parameters and the last loss."""

    def snippet(m):
        net, loss_of = layer(m), m.MSELoss()
        descent = optimizer(m, list(net.parameters()))
        for _ in range(steps):
            loss = loss_of(net(m.tensor(X)), m.tensor(Y))
            descent.zero_grad()
            loss.backward()
            descent.step()
        return [p.detach() for p in net.parameters()], f"{loss.item():.12f}"

    return snippet


@table(
    sgd=trained(lambda m, p: m.SGD(p, lr=0.05)),
    momentum=trained(lambda m, p: m.SGD(p, lr=0.05, momentum=0.9)),
    dampened=trained(lambda m, p: m.SGD(p, lr=0.05, momentum=0.9, dampening=0.3)),
    nesterov=trained(lambda m, p: m.SGD(p, lr=0.05, momentum=0.9, nesterov=True)),
    decayed=trained(lambda m, p: m.SGD(p, lr=0.05, momentum=0.5, weight_decay=0.1)),
    adam=trained(lambda m, p: m.Adam(p, lr=0.05)),
    adam_tuned=trained(lambda m, p: m.Adam(p, lr=0.05, betas=(0.5, 0.9), eps=1e-3)),
    adam_decayed=trained(lambda m, p: m.Adam(p, lr=0.05, weight_decay=0.1)),
)
def test_updates(snippet):
    """Six steps of every optimizer end where PyTorch's end."""
    same(snippet)


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
    """Weights of another shape are refused with both shapes."""
    with pytest.raises(ValueError, match=r"\(2, 3\).*\(1, 3\)"):
        Linear(3, 2, weight=[[1.0, 2.0, 3.0]])


def test_a_step_writes_in_place_and_counts_the_write():
    """After a step an old graph that saved the parameter complains, as in PyTorch."""
    w = tensor([1.0, 2.0], requires_grad=True)
    y = (w * w).sum()
    y.backward(retain_graph=True)
    SGD([w], lr=0.1).step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_optimizers_skip_what_has_no_gradient():
    """A parameter that backward did not reach stays where it is."""
    w, v = (tensor([1.0], requires_grad=True) for _ in range(2))
    (w * 2).sum().backward()
    descent = Adam([w, v], lr=0.5)
    descent.step()
    assert v.tolist() == [1.0]
    assert w.tolist() == pytest.approx([0.5], abs=1e-6)


def test_the_formula_of_linear():
    """A layer is x W^T + b, for a vector and for stacks of rows."""
    with double():
        expected = torch.nn.functional.linear(torch.tensor(X), torch.tensor(W), torch.tensor(B))
    net = Linear(3, 2, weight=W, bias=B)
    np.testing.assert_allclose(net(tensor(X)).tolist(), expected.tolist(), rtol=1e-15)
    np.testing.assert_allclose(net(tensor([X])).tolist(), [expected.tolist()], rtol=1e-15)
    assert MSELoss()(net(tensor(X)), tensor(Y)).shape == ()


def test_the_weights_of_a_layer_follow_the_seed():
    """Another draw for each layer, the same again after the same seed; a given seed counts."""
    manual_seed(3)
    first, second = Linear(2, 2), Linear(2, 2)
    manual_seed(3)
    again = Linear(2, 2)
    assert (first.weight == again.weight).all()
    assert not (first.weight == second.weight).any()
    assert (Linear(2, 2, seed=5).weight == Linear(2, 2, seed=5).weight).all()


@pytest.mark.parametrize("name", ["BCELoss", "BCEWithLogitsLoss", "L1Loss", "SmoothL1Loss"])
@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_losses_are_pytorchs(name, reduction):
    """Value and gradient, with either reduction."""
    given, target = [0.2, 0.9, 0.6], [0.0, 1.0, 1.0]
    ours = tensor(given, requires_grad=True)
    made = getattr(nn, name)(reduction=reduction)(ours, tensor(target))
    made.backward()
    with double():
        theirs = torch.tensor(given, requires_grad=True)
        due = getattr(torch.nn, name)(reduction=reduction)(theirs, torch.tensor(target))
        due.backward()
    np.testing.assert_allclose(made.item(), due.item(), rtol=1e-12)
    np.testing.assert_allclose(ours.grad, theirs.grad.numpy(), rtol=1e-12)


APPLIED = {
    "ReLU": ("ReLU()", ()),
    "Tanh": ("Tanh()", ()),
    "Sigmoid": ("Sigmoid()", ()),
    "LeakyReLU": ("LeakyReLU(negative_slope=0.2)", (0.2,)),
    "ELU": ("ELU(alpha=0.5)", (0.5,)),
    "GELU": ("GELU(approximate='none')", ()),
    "SiLU": ("SiLU()", ()),
    "Softplus": ("Softplus(beta=2.0)", (2.0,)),
    "Softmax": ("Softmax(dim=1)", (1,)),
    "LogSoftmax": ("LogSoftmax(dim=0)", (0,)),
    "Flatten": ("Flatten(start_dim=1, end_dim=-1)", ()),
}


@pytest.mark.parametrize("name", APPLIED)
def test_functions_as_modules(name):
    """Value, gradient and text are PyTorch's (which also prints the threshold of Softplus)."""
    text, args = APPLIED[name]
    numbers, weights = np.array(X).reshape(2, 2, 3), np.arange(12.0)
    found = []
    for module, tensors in ((nn, gradcheck), (torch.nn, torch)):
        x = tensors.tensor(numbers.tolist(), dtype=tensors.float64, requires_grad=True)
        made = getattr(module, name)(*args)
        y = made(x)
        (y.reshape(-1) * tensors.tensor(weights.tolist(), dtype=tensors.float64)).sum().backward()
        found.append((y.detach().numpy(), x.grad.numpy()))
        assert repr(made).replace(", threshold=20.0", "") == text
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-15)


def test_a_setting_that_is_not_there():
    with pytest.raises(TypeError, match="LeakyReLU: too many"):
        nn.LeakyReLU(0.1, False, 0.2)


@pytest.mark.parametrize("name", ["Softmax", "LogSoftmax"])
def test_an_axis_has_to_be_said(name):
    """Where PyTorch guesses by the shape (and warns): axis 0 of a vector and of three axes."""
    with pytest.raises(TypeError, match="missing a required argument"):
        getattr(nn, name)()


def test_activations_in_place_are_pytorchs():
    """What they write over is seen by later uses, and a leaf is refused."""
    seen = []
    for library in (gradcheck, torch):
        x = library.tensor([-1.0, 2.0], requires_grad=True)
        first, second = x * 1, x * 3
        net = library.nn.ReLU(True)
        out = net(first) + first + library.nn.functional.leaky_relu(second, 0.1, inplace=True)
        (out * second).sum().backward()
        with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
            library.nn.functional.relu(x, inplace=True)
        seen.append((repr(net), out.tolist(), x.grad.tolist()))
    assert seen[0][0] == seen[1][0]
    np.testing.assert_allclose(seen[0][1:], seen[1][1:], rtol=1e-6)


def test_named_modules_of_a_sequence_are_applied():
    """By a dict, or one by one: none is left out."""
    shown = []
    for library in (nn, torch.nn):
        net = library.Sequential(OrderedDict(first=library.ReLU(), second=library.Tanh()))
        net.third = library.Sigmoid()
        value = net((gradcheck if library is nn else torch).tensor([-1.0, 2.0]))
        shown.append((repr(net), len(net), repr(net[2]), np.round(value.tolist(), 6).tolist()))
    assert shown[0] == shown[1]
