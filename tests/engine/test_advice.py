"""No silent leak: every way out of a tensor gives the right gradient, or raises with advice."""

import math
import operator
from pathlib import Path

import numpy as np
import pytest

from gradcheck import grad, tensor

ND = np.array([2.0, 3.0])


def leaf():
    return tensor([0.5, 1.5], requires_grad=True)


TEXT = Path(__file__).with_name("leaks.txt").read_text()
WORDS = {"np": np, "math": math, "operator": operator, "tensor": tensor, "ND": ND}


def rows(heading):
    section = TEXT.partition(f"\n## {heading}")[2].partition("\n\n")[0].splitlines()[1:]
    return dict(line.split(": ", 1) for line in section)


def function(text):
    return eval(f"lambda t: {text}", WORDS)


REFUSED = {name: function(text) for name, text in rows("refused").items()}
TAKEN = {name: text.split(" ; ") for name, text in rows("taken").items()}


@pytest.mark.parametrize("way", REFUSED.values(), ids=REFUSED)
def test_what_would_forget_raises(way):
    """Ways that lose the gradient without a word in other libraries raise here."""
    with pytest.raises((TypeError, ValueError, RuntimeError, AttributeError)):
        way(leaf())


ADVISED = ["asarray", "buffer", "float", "math_sin", "mean_of_list", "r_", "add_at", "out"]


@pytest.mark.parametrize("name", [*ADVISED, "array_plus_in_place", "unknown_function"])
def test_the_message_says_what_to_write(name):
    """The advice names a form that keeps the gradient."""
    with pytest.raises((TypeError, RuntimeError), match=r"np\.|detach"):
        REFUSED[name](leaf())


@pytest.mark.parametrize(("way", "right"), TAKEN.values(), ids=TAKEN)
def test_what_is_taken_has_the_right_gradient(way, right):
    """With an array, a number or Python's own functions on either side, the gradient is right."""
    t = leaf()
    found = grad(np.sum(function(way)(t)), t)[0].numpy()
    np.testing.assert_allclose(found, eval(right, WORDS), rtol=1e-14)


COMPARISONS = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]


@pytest.mark.parametrize("compare", COMPARISONS, ids=lambda f: f.__name__)
def test_comparisons_give_plain_arrays_from_either_side(compare):
    t = leaf()
    for left, right in ((t, ND - 1.5), (ND - 1.5, t), (t, 1.5), (1.5, t), (np.float64(1.5), t)):
        mask = compare(left, right)
        plain = [v.detach().numpy() if v is t else v for v in (left, right)]
        assert type(mask) is np.ndarray
        assert mask.tolist() == compare(*plain).tolist()
        assert ND[mask].shape == (mask.sum(),)


def test_untracked_tensors_leave_freely():
    """What carries no gradient converts to arrays and numbers as in PyTorch."""
    t = tensor([1.0, 2.0])
    assert np.asarray(t).tolist() == [1.0, 2.0]
    assert float(t[1]) == 2.0
    assert math.sqrt(tensor(4.0)) == 2.0
    assert np.array([t[0], t[1]]).tolist() == [1.0, 2.0]


@pytest.mark.parametrize("sizes", [(1,), (2, 3), ()])
def test_an_array_on_the_left_never_makes_an_object_array(sizes):
    """Every operator with an ndarray on the left gives one tensor."""
    t = tensor(np.full(sizes, 0.5), requires_grad=True)
    array = np.full(sizes, 2.0)
    for act in (operator.add, operator.sub, operator.mul, operator.truediv, operator.pow,
                operator.mod):  # fmt: skip
        assert type(act(array, t)).__name__ == "Tensor"
