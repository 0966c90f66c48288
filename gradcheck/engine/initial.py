"""How parameters begin: `torch.nn.init`, as far as it fills from a number or a seeded generator.

The bounds are those of Glorot and Bengio 2010 (`xavier`) and He et al. 2015 (`kaiming`); the
numbers that are drawn are NumPy's, and not PyTorch's.
"""

from collections.abc import Callable, Mapping
from math import prod, sqrt
from typing import Any

import numpy as np

from gradcheck.engine.factories import Array, Generator
from gradcheck.engine.recording import no_grad
from gradcheck.engine.tensor import Tensor

Shape = tuple[int, ...]
Filler = Callable[..., Array]


def fans(shape: Shape) -> tuple[int, int]:
    """How many numbers an output is made of, and how many outputs a number goes to."""
    if len(shape) < 2:
        raise ValueError("fans need at least two axes: (out, in, ...)")
    window = prod(shape[2:])
    return shape[1] * window, shape[0] * window


def gain_of(nonlinearity: str, a: float) -> float:
    """What keeps the variance through a nonlinearity, by PyTorch's table."""
    gains = {
        "linear": 1.0,
        "sigmoid": 1.0,
        "tanh": 5 / 3,
        "relu": sqrt(2),
        "leaky_relu": sqrt(2 / (1 + a * a)),
    }
    if nonlinearity not in gains:
        raise ValueError(f"nonlinearity {nonlinearity!r}: one of {', '.join(gains)} was expected")
    return gains[nonlinearity]


def glorot(shape: Shape, gain: float) -> float:
    """The standard deviation by Glorot and Bengio (2010): equal variance both ways."""
    return gain * sqrt(2 / sum(fans(shape)))


def he(shape: Shape, a: float, mode: str, nonlinearity: str) -> float:
    """The standard deviation by He and others (2015): equal variance forward, or "fan_out" back."""
    return gain_of(nonlinearity, a) / sqrt(fans(shape)[mode == "fan_out"])


def fillers(generator: Generator) -> Mapping[str, Filler]:
    """The entries for a shape, by PyTorch's name of the function that fills with them."""

    def uniform(shape: Shape, a: float = 0.0, b: float = 1.0) -> Array:
        return np.asarray(a + (b - a) * generator.rand(shape))

    def normal(shape: Shape, mean: float = 0.0, std: float = 1.0) -> Array:
        return np.asarray(mean + std * generator.randn(shape))

    def evenly(shape: Shape, std: float) -> Array:
        return uniform(shape, -sqrt(3) * std, sqrt(3) * std)

    def by_he(draw: Callable[[Shape, float], Array]) -> Filler:
        def fill(
            shape: Shape, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu"
        ) -> Array:
            return draw(shape, he(shape, a, mode, nonlinearity))

        return fill

    def around_zero(shape: Shape, std: float) -> Array:
        return normal(shape, 0.0, std)

    return {
        "constant_": lambda shape, val: np.full(shape, float(val)),
        "zeros_": np.zeros,
        "ones_": np.ones,
        "eye_": lambda shape: np.eye(*shape),
        "uniform_": uniform,
        "normal_": normal,
        "xavier_uniform_": lambda shape, gain=1.0: evenly(shape, glorot(shape, gain)),
        "xavier_normal_": lambda shape, gain=1.0: around_zero(shape, glorot(shape, gain)),
        "kaiming_uniform_": by_he(evenly),
        "kaiming_normal_": by_he(around_zero),
    }


def written(t: Any, values: Array) -> Any:
    """The tensor with these entries in its own memory."""
    with no_grad():
        return t.copy_(Tensor(values))


def filling(generator: Generator) -> dict[str, Callable[..., Any]]:
    """The functions themselves: each writes into the parameter that it is given, and returns it."""

    def made(fill: Filler) -> Callable[..., Any]:
        return lambda t, *args, **kwargs: written(t, fill(tuple(t.shape), *args, **kwargs))

    return {name: made(fill) for name, fill in fillers(generator).items()}
