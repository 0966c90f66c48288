"""Layers that hold parameters: PyTorch's values, gradients, names and prints."""

import numpy as np
import pytest

import gradcheck
from tests.support.oracle import double, torch

RNG = np.random.default_rng(0)
BATCH, IMAGE = RNG.normal(size=(4, 3)), RNG.normal(size=(2, 2, 4, 4))
STATE = RNG.normal(size=(4, 2))

# The layer, its settings by position and name, and its inputs.
LAYERS = [
    ("Linear", (3, 2), {}, (BATCH,)),
    ("Linear", (3, 2), {"bias": False}, (BATCH,)),
    ("Embedding", (5, 3), {}, (np.array([[0, 2], [2, 4]]),)),
    ("Conv1d", (4, 3, 2), {}, (IMAGE[0],)),
    ("Conv1d", (4, 4, 2, 2), {"padding": 1, "groups": 2, "bias": False}, (IMAGE[0],)),
    ("Conv1d", (4, 3, 3), {"padding": "same", "dilation": 2}, (IMAGE[0],)),
    ("Conv2d", (2, 4, 3, 1, 1, 1, 2), {}, (IMAGE,)),
    ("Conv2d", (2, 3, (1, 2)), {"stride": (2, 1)}, (IMAGE,)),
    ("LayerNorm", (3,), {}, (BATCH,)),
    ("LayerNorm", ((4, 4), 0.1), {"bias": False}, (IMAGE,)),
    ("LayerNorm", (3,), {"elementwise_affine": False}, (BATCH,)),
    ("BatchNorm1d", (3,), {}, (BATCH,)),
    ("BatchNorm1d", (2,), {"momentum": 0.4, "affine": False}, (IMAGE[:, :, 0],)),
    ("BatchNorm2d", (2,), {"track_running_stats": False}, (IMAGE,)),
    ("RNNCell", (3, 2), {}, (BATCH, STATE)),
    ("GRUCell", (3, 2), {"bias": False}, (BATCH,)),
    ("GRUCell", (3, 2), {}, (BATCH, STATE)),
    ("LSTMCell", (3, 2), {}, (BATCH,)),
    ("LSTMCell", (3, 2), {}, (BATCH, (STATE, 2 * STATE))),
    ("MaxPool1d", (2,), {}, (IMAGE[0],)),
    ("MaxPool2d", (3,), {"stride": 1, "padding": 1}, (IMAGE,)),
    ("AvgPool1d", (2,), {}, (IMAGE[0],)),
    ("AvgPool2d", (2, 1), {}, (IMAGE,)),
]


def of(library, value):
    return tuple(of(library, v) for v in value) if type(value) is tuple else library.tensor(value)


def values(made):
    return [np.asarray(v.detach()) for v in (made if type(made) is tuple else (made,))]


def pair(name, settings, named):
    mine = getattr(gradcheck.nn, name)(*settings, **named)
    hers = getattr(torch.nn, name)(*settings, **named)
    for (path, p), (known, q) in zip(mine.named_parameters(), hers.named_parameters(), strict=True):
        assert path == known
        with gradcheck.no_grad():
            p.copy_(gradcheck.tensor(q.detach().numpy()))
    return mine, hers


@pytest.mark.parametrize(("name", "settings", "named", "inputs"), LAYERS)
def test_layers(name, settings, named, inputs):
    """Values, gradients of every parameter, and the print; in training, and after it."""
    with double():
        mine, hers = pair(name, settings, named)
        assert repr(mine) == repr(hers)
        for training in (True, True, False):
            made = mine.train(training)(*of(gradcheck, inputs))
            known = hers.train(training)(*of(torch, inputs))
            for ours, theirs in zip(values(made), values(known), strict=True):
                np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-14)
            if mine.parameters():
                first = made[0] if type(made) is tuple else made
                expected = known[0] if type(known) is tuple else known
                (first * first).sum().backward()
                (expected * expected).sum().backward()
        for p, q in zip(mine.parameters(), hers.parameters(), strict=True):
            np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), rtol=1e-9, atol=1e-12)


def test_batches_of_another_shape():
    """PyTorch's complaints of what a batch norm cannot take."""
    for shape in ((3,), (1, 3), (2, 3, 4, 5)):
        said = []
        for library in (gradcheck, torch):
            with pytest.raises(ValueError) as caught:  # noqa: PT011 - the words are compared
                library.nn.BatchNorm1d(3)(library.tensor(np.ones(shape, np.float32)))
            said.append(str(caught.value))
        assert said[0] == said[1]


def test_layers_are_drawn_otherwise():
    """Two layers of one kind differ, and the same seed gives the same."""
    gradcheck.manual_seed(1)
    first, second = gradcheck.nn.GRUCell(2, 2), gradcheck.nn.GRUCell(2, 2)
    gradcheck.manual_seed(1)
    again = gradcheck.nn.GRUCell(2, 2)
    assert not np.array_equal(first.weight_ih.detach().numpy(), second.weight_ih.detach().numpy())
    assert np.array_equal(first.weight_ih.detach().numpy(), again.weight_ih.detach().numpy())


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
    assert repr(drop) == repr(torch.nn.Dropout(0.25))
    for library in (gradcheck, torch):
        with pytest.raises(ValueError, match="between 0 and 1, but got 2"):
            library.nn.Dropout(2)


def test_modules_inside_modules():
    """Lists, states and children, as PyTorch has them."""

    def net(m):
        class Net(m.nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = m.nn.ModuleList([m.nn.Linear(2, 2) for _ in range(2)])
                self.last = m.nn.Linear(2, 1)

            def forward(self, x):
                for layer in self.layers:
                    x = layer(x).relu()
                return self.last(x)

        made = Net()
        for k, p in enumerate(made.parameters()):
            m.nn.init.constant_(p, 0.1 * (k + 1))
        return made

    told = []
    for m in (gradcheck, torch):
        with double():
            first, second = net(m), net(m)
            with m.no_grad():
                first.last.bias.fill_(5.0)
            second.load_state_dict(first.state_dict())
            y = second(m.tensor([[1.0, 2.0]]))
            second.requires_grad_(False)
            told.append(
                (
                    repr(second),
                    list(first.state_dict()),
                    y.item(),
                    len(list(second.modules())),
                    [type(each).__name__ for each in second.children()],
                    second.eval().last.training,
                    second(m.tensor([[1.0, 2.0]])).requires_grad,
                )
            )
    assert told[0] == told[1]
