"""Black boxes that take a stack of points at once, and cotangents that share their runs."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradcheck.testing import GradientError, assert_gradient, assert_vjp, check

Counted = Callable[[Any], Any]


class Asked:
    """How often a function of floats alone is run; no state that a check would put back."""

    __slots__ = ("f", "runs")

    def __init__(self, f: Counted) -> None:
        """Not yet."""
        self.f, self.runs = f, 0

    def __call__(self, x: Any) -> Any:
        """Its value."""
        if type(x) is not np.ndarray:
            raise TypeError("floats alone")
        self.runs += 1
        return self.f(x)


def waves(x: Any) -> Any:
    """A sum over the last axis."""
    return np.sum(np.sin(x) ** 2, axis=-1)


def of_waves(x: Any) -> Any:
    """Its gradient: sin(2x)."""
    return np.sin(2 * x)


def layer(x: Any) -> Any:
    """Entry by entry."""
    return np.tanh(x) * x


def of_layer(c: Any, x: Any) -> Any:
    """Its backward pass: tanh + x (1 - tanh^2)."""
    t = np.tanh(x)
    return c * (t + x * (1 - t * t))


def at(n: int) -> Any:
    """A generic point."""
    return np.random.default_rng(n).normal(size=n)


@pytest.mark.parametrize("n", [3, 40, 500])
def test_a_stack_of_points_takes_fewer_runs_and_finds_the_same(n: int) -> None:
    one, many = Asked(waves), Asked(waves)
    assert check(one, at(n), gradient=of_waves)
    found = check(many, at(n), gradient=of_waves, batched=True)
    assert found, found.message
    assert many.runs < one.runs / 2


@pytest.mark.parametrize("n", [3, 40, 500])
def test_a_wrong_gradient_is_refused_in_stacks_too(n: int) -> None:
    with pytest.raises(GradientError):
        assert_gradient(Asked(waves), at(n), gradient=np.sin, batched=True)


def test_the_gradient_of_a_stacked_black_box_is_within_its_bar() -> None:
    x = at(40)
    part = check(Asked(waves), x, batched=True).verdicts[0].parts["x"].gradient
    assert part is not None
    assert np.all(np.abs(part.value - np.sin(2 * x)) <= part.error)


def test_a_backward_pass_of_a_stacked_forward_is_judged() -> None:
    many = Asked(layer)
    assert_vjp(many, of_layer, at(12), batched=True)
    with pytest.raises(GradientError):
        assert_vjp(many, lambda c, x: c * np.tanh(x), at(12), batched=True)


def test_cotangents_share_the_runs_of_a_black_box() -> None:
    vector, number = Asked(layer), Asked(lambda x: np.sum(layer(x)))
    assert_vjp(vector, of_layer, at(8))  # three cotangents
    assert_gradient(number, at(8), gradient=lambda x: of_layer(1.0, x))
    assert vector.runs < 2 * number.runs


def test_runs_are_not_shared_with_another_point() -> None:
    x, beside = at(8), at(8) + 1.0
    assert_vjp(Asked(layer), of_layer, x, at=[(beside,)])


@pytest.mark.parametrize(
    ("f", "said"),
    [
        (lambda x: np.exp(x) / np.sum(np.exp(x)), "is not what its point gives alone"),
        (lambda x: x - np.mean(x, axis=0), "is not what its point gives alone"),
        (lambda x: np.sum(x * x), "does not take a stack of points"),
        (lambda x: x[:5] @ np.ones(5), "does not take a stack of points"),
    ],
)
def test_a_function_that_mixes_its_points_or_takes_one_is_told_so(f: Counted, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        check(Asked(f), at(8), gradient=lambda x: x, batched=True)
