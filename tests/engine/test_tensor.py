"""What a tensor is not: the compiled classes must refuse it, never read its memory as their own."""

import weakref
from fractions import Fraction

import numpy as np
import pytest

from gradcheck import Tensor, tensor
from gradcheck.engine.tape import Leaf, Node
from gradcheck.nn import Linear
from gradcheck.optim import SGD

NOT_TENSORS = [None, 3, [1.0], np.ones(3), "x"]
METHODS = ("requires_grad_", "_share", "_step", "_settle", "sum", "exp", "relu", "mean")


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("wrong", NOT_TENSORS, ids=repr)
def test_a_method_of_tensor_wants_a_tensor(name, wrong):
    """Called on the class with something else for `self`: `Tensor.sum(None)`."""
    with pytest.raises((TypeError, AttributeError)):
        getattr(Tensor, name)(wrong)


@pytest.mark.parametrize("kind", [Node, Leaf], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("name", ["name", "__repr__"])
def test_a_method_of_the_tape_wants_a_node(kind, name):
    """What needs nothing of `self` may answer; what does not, must raise."""
    for wrong in NOT_TENSORS:
        try:
            answer = getattr(kind, name)(wrong)
        except (TypeError, AttributeError):
            continue
        assert kind is Leaf
        assert "AccumulateGrad" in answer


def test_a_parameter_that_is_none():
    """A layer counts it out, as PyTorch's does; an optimizer meets it as an error."""
    layer = Linear(2, 2)
    layer.weight = None
    assert len(layer.parameters()) == 1
    descent = SGD([tensor(1.0, requires_grad=True)], lr=1)
    descent.params[0] = None
    for call in (descent.zero_grad, descent.step):
        with pytest.raises(AttributeError, match="_grad"):
            call()
    assert type(None).__mro__ == (type(None), object)


COMPLEX = [1j, np.complex128(1j), np.array([1j, 2.0])]


@pytest.mark.parametrize("value", COMPLEX, ids=repr)
def test_complex_numbers_are_refused_where_something_is_tracked(value):
    """From either side, by operator and by function."""
    x = tensor([1.0, 2.0], requires_grad=True)
    for act in (lambda: x * value, lambda: value * x, lambda: np.add(value, x), lambda: x**value):
        with pytest.raises(TypeError, match="complex numbers are not followed"):
            act()


@pytest.mark.parametrize(
    ("value", "number"),
    [(Fraction(1, 2), 0.5), (True, 1.0), (np.float32(2), 2.0), (np.int64(3), 3.0), (range(3), 3.0)],
    ids=str,
)
def test_other_numbers_are_taken_for_what_they_are(value, number):
    """The gradient of x times a number is that number, or the sum of several."""
    for act in (lambda x: x * value, lambda x: value * x):
        x = tensor(1.5, requires_grad=True)
        act(x).sum().backward()
        assert float(x.grad) == number


def test_no_subclasses():
    """A kind of number is known by its type: a subclass would not be recognized."""
    with pytest.raises(TypeError, match="cannot be subclassed"):
        type("Mine", (Tensor,), {})


@pytest.mark.usefixtures("uncollected")
def test_a_hook_does_not_keep_its_tensor():
    """Neither the tensor nor the graph behind it, when all else lets go."""
    x = tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    y.register_hook(lambda g: None)
    y.retain_grad()
    gone = weakref.ref(y)
    del y
    assert gone() is None


def test_a_tensor_where_numpy_wants_plain_numbers_is_refused():
    """`x.tile(y)` ran round and round between NumPy and the tape, until the stack was used up."""
    x = tensor([1.0, 2.0])
    with pytest.raises(TypeError, match="plain numbers"):
        x.tile(x)
