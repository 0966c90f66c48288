"""Around the graph: hooks, retained gradients, modes, conversions and copies."""

import copy
import pickle

from gradcheck.engine import Tensor, grad, no_grad, tensor


def test_grad_accumulates_into_the_same_object():
    """The tensor in `.grad` is added to in place: whoever holds it sees the sum."""
    s = tensor(2.0, requires_grad=True)
    (s * 2).backward()
    held = s.grad
    (s * 3).backward()
    assert s.grad is held
    assert held.item() == 5.0


def test_deepcopy_of_a_leaf_is_a_leaf_of_its_own():
    """Values, flag and gradient are copied; what is shared once stays shared once."""
    x = tensor([1.0, 2.0], requires_grad=True)
    (x * 3).sum().backward()
    twin, again = copy.deepcopy([x, x])
    assert twin is again
    assert twin is not x
    assert twin.requires_grad
    assert twin.tolist() == [1.0, 2.0]
    assert twin.grad.tolist() == [3.0, 3.0]
    with no_grad():
        x[0] = 9.0
    assert twin.tolist() == [1.0, 2.0]


def test_pickle_and_copy_of_a_leaf():
    """A leaf survives pickling; a shallow copy looks at the same memory."""
    x = tensor([1.0, 2.0], requires_grad=True)
    back = pickle.loads(pickle.dumps(x))
    assert isinstance(back, Tensor)
    assert back.requires_grad
    assert back.tolist() == [1.0, 2.0]
    assert copy.copy(x).tolist() == [1.0, 2.0]


def test_a_number_keeps_its_gradient_path_through_max():
    """`max(t, 0)` takes a branch: the gradient is that of the branch taken."""
    t = tensor(2.0, requires_grad=True)
    assert grad(max(t, 0.0) * 3, t)[0].item() == 3.0
