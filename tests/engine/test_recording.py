"""What happens in which order: hooks, writes through views; the same in PyTorch."""

import numpy as np
import pytest

import gradcheck
from gradcheck.engine import is_grad_enabled

torch = pytest.importorskip("torch")


class Ours:
    Function, grad, no_grad = gradcheck.Function, gradcheck.grad, gradcheck.no_grad
    enabled = staticmethod(is_grad_enabled)

    @staticmethod
    def leaf(values):
        return gradcheck.tensor(values, requires_grad=True)


class Theirs:
    Function, no_grad = torch.autograd.Function, torch.no_grad
    grad, enabled = staticmethod(torch.autograd.grad), staticmethod(torch.is_grad_enabled)

    @staticmethod
    def leaf(values):
        return torch.tensor(values, dtype=torch.float64, requires_grad=True)


def hooks_on_a_view(box, x, log):
    """Hooks that were there before a write through the view, and after it."""
    y = x * 2
    v = y[:2]
    v.register_hook(lambda g: log.append(("before", g.tolist())))
    y.register_hook(lambda g: (log.append(("base", g.tolist())), g * 3)[1])
    v *= 3
    v.register_hook(lambda g: (log.append(("after", g.tolist())), g * 5)[1])
    y.register_hook(lambda g: (log.append(("base after", g.tolist())), g * 7)[1])
    return (y * y).sum() + v.sum()


def hooks_twice(box, x, log):
    """Hooks that make something of the gradient, differentiated again."""
    y = x * x
    y.register_hook(lambda g: (log.append(g.sum().item()), g * y)[1])
    x.register_hook(lambda g: (log.append(-g.sum().item()), g * x)[1])
    (first,) = box.grad((y * y).sum(), [x], create_graph=True)
    (second,) = box.grad(first.sum(), [x], create_graph=True)
    return (first + second).sum()


def detached_view(box, x, log):
    """A recorded write into memory that is shared with what is not recorded."""
    d = (x * 2).detach()
    e, f = d[1:], d[:2]
    e[:] = x[:2] * x[0]
    log.append((d.requires_grad, f.tolist()))
    return (f * d[:2] * x[1]).sum()


STORIES = (hooks_on_a_view, hooks_twice, detached_view)


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_the_same_story(story):
    """The same log, the same value and the same gradient."""
    told = []
    for box in (Ours, Theirs):
        x, log = box.leaf([1.0, 2.0, 3.0]), []
        value = story(box, x, log)
        value.backward()
        told.append((log, value.item(), x.grad.tolist()))
    ours, theirs = told
    assert ours[0] == theirs[0]
    np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-14)
    np.testing.assert_allclose(ours[2], theirs[2], rtol=1e-14)
