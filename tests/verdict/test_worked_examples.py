"""Worked examples from textbooks and PyTorch's own tutorials, by hand and by all three opinions."""

import numpy as np
import pytest

from gradcheck.engine.autograd import grad, tensor
from gradcheck.engine.tensor import Tensor
from gradcheck.verdict.consult import Verdict, consult
from tests.support.cases import case


def leaf(values: object) -> Tensor:
    """A tensor that is differentiated."""
    return tensor(values, requires_grad=True)


def numbers(t: object) -> np.ndarray:
    """The numbers of a tensor, without its memory."""
    return np.asarray(t.detach().tolist())


def gradient(verdict: Verdict, name: str, opinion: str) -> np.ndarray:
    """What one opinion says of one gradient."""
    return verdict.opinions[opinion].gradients[name].value


def all_say(verdict: Verdict, **expected: object) -> None:
    """Each of the three opinions gives these gradients, and they agree."""
    assert verdict.verdict == "agree", verdict.entries
    for name, right in expected.items():
        for opinion in ("reverse", "symbolic", "differences"):
            np.testing.assert_allclose(gradient(verdict, name, opinion), right, rtol=1e-13)


def test_a_parabola():
    """(x + 1)^2, multiplied out, is 16 at 3 and rises by 8."""
    found = consult(case(lambda x: x**2 + 2 * x + 1, x=3.0))
    assert found.value.value == 16
    all_say(found, x=8.0)


def test_two_layers_without_activation():
    """Two weight matrices on [1, 2]: both hidden values, and both gradients of the sum."""
    seen = {}

    def forward(first, second):
        seen["hidden"] = first @ np.array([1.0, 2.0])
        seen["out"] = second @ seen["hidden"]
        return np.sum(seen["out"])

    weights = {"first": [[1, 2], [3, 4]], "second": [[2, 3], [4, 2]]}
    found = consult(case(forward, **weights))
    assert found.value.value == 85
    all_say(found, first=[[6, 12], [5, 10]], second=[[5, 11], [5, 11]])
    forward(**{name: np.array(w, dtype=float) for name, w in weights.items()})
    assert (seen["hidden"].tolist(), seen["out"].tolist()) == ([5, 11], [43, 42])


def test_the_mean_of_shifted_squares():
    """Nine ones, shifted by 5 and squared, have the mean 36 and the slope 12/9 each."""
    found = consult(case(lambda x: np.mean((x + 5) ** 2), x=np.ones((3, 3))))
    assert found.value.value == 36
    all_say(found, x=np.full((3, 3), 4 / 3))


def test_doubling_until_the_norm_is_large():
    """A loop that asks for the norm: the gradient is the cotangent times the power of two taken."""

    def doubled(x):
        y = x * 2
        while np.linalg.norm(y) < 1000:
            y = y * 2
        return y

    start, cotangent = np.array([0.3, -1.1, 0.7]), np.array([0.1, 1.0, 1e-4])
    times = 2.0 ** np.ceil(np.log2(1000 / np.linalg.norm(start)))
    all_say(consult(case(doubled, x=start, cotangent=cotangent)), x=times * cotangent)


def test_a_squared_line_and_its_tape():
    """(w x + b)^2 at 3, 2, 1: the value 49, three gradients, and PyTorch's names on the tape."""
    found = consult(case(lambda w, x, b: (w * x + b) ** 2, w=3.0, x=2.0, b=1.0))
    assert found.value.value == 49
    all_say(found, x=42.0, w=28.0, b=14.0)
    w, x, b = leaf(3.0), leaf(2.0), leaf(1.0)
    names = [t.grad_fn.name() for t in (w * x, w * x + b, (w * x + b) ** 2)]
    assert names == ["MulBackward0", "AddBackward0", "PowBackward0"]


@pytest.mark.parametrize(
    ("cubic", "expected"), [(True, 11.0), (False, 2 * np.cos(2.0) + np.sin(2.0))]
)
def test_a_branch_on_a_python_value(cubic, expected):
    """An `if` on an ordinary variable takes one branch, and its gradient is that branch's."""
    found = consult(case(lambda x: x**3 - x if cubic else x * np.sin(x), x=2.0))
    all_say(found, x=expected)


def test_backward_twice_on_a_kept_graph():
    """`.grad` adds up: x^3 at 2, backward twice, is 12 + 12."""
    x = leaf(2.0)
    y = x**3
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.item() == 24


def test_a_linear_layer_with_squared_error():
    """Four rows through a 3-to-2 layer: shapes of the gradients, and the formula of the book."""
    rng = np.random.default_rng(3)
    rows, target = rng.normal(size=(4, 3)), rng.normal(size=(4, 2))
    weights, bias = rng.normal(size=(3, 2)), rng.normal(size=2)
    residual = rows @ weights + bias - target
    by_hand = {"weights": rows.T @ residual / 4, "bias": residual.sum(0) / 4}

    def loss(weights, bias):
        return np.mean((rows @ weights + bias - target) ** 2)

    found = consult(case(loss, weights=weights, bias=bias))
    assert found.parts["weights"].gradient.value.shape == (3, 2)
    assert found.parts["bias"].gradient.value.shape == (2,)
    assert found.verdict == "agree"
    for name, right in by_hand.items():
        np.testing.assert_allclose(gradient(found, name, "reverse"), right, rtol=1e-12)


def test_grad_leaves_the_leaf_alone():
    """`grad` returns 3 x^2 + 4 x = 20 at 2 and puts nothing into `.grad`."""
    x = leaf(2.0)
    (found,) = grad(x**3 + 2 * x**2, x)
    assert found.item() == 20
    assert x.grad is None
