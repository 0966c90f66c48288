"""How parameters begin: `torch.nn.init`, as far as it fills from a number or a seeded generator.

The bounds are those of Glorot and Bengio 2010 (`xavier`) and He et al. 2015 (`kaiming`); the
numbers that are drawn are NumPy's, and not PyTorch's.
"""

from collections.abc import Callable
from functools import partial
from math import prod, sqrt

import numpy as np

from gradcheck.engine.factories import Generator
from gradcheck.engine.recording import no_grad
from gradcheck.engine.tensor import Tensor
from gradcheck.values import Array, Routine, Value

Shape = tuple[int, ...]


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


def _glorot(shape: Shape, gain: float = 1.0) -> float:
    """The standard deviation by Glorot and Bengio (2010): equal variance both ways."""
    return gain * sqrt(2 / sum(fans(shape)))


def _he(
    shape: Shape, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu"
) -> float:
    """The standard deviation by He and others (2015): equal variance forward, or "fan_out" back."""
    return gain_of(nonlinearity, a) / sqrt(fans(shape)[mode == "fan_out"])


def filling(generator: Generator) -> dict[str, Routine]:
    """PyTorch's functions: each writes into the parameter that it is given, and returns it."""

    def uniform(shape: Shape, a: float = 0.0, b: float = 1.0) -> Array:
        return np.asarray(a + (b - a) * generator.rand(shape))

    def normal(shape: Shape, mean: float = 0.0, std: float = 1.0) -> Array:
        return np.asarray(mean + std * generator.randn(shape))

    def evenly(
        deviation: Callable[..., float], shape: Shape, *args: Value, **named: Value
    ) -> Array:
        bound = sqrt(3) * deviation(shape, *args, **named)
        return uniform(shape, -bound, bound)

    def normally(
        deviation: Callable[..., float], shape: Shape, *args: Value, **named: Value
    ) -> Array:
        return normal(shape, 0.0, deviation(shape, *args, **named))

    fillers: dict[str, Callable[..., Array]] = {
        "constant_": lambda shape, val: np.full(shape, float(val)),
        "zeros_": np.zeros,
        "ones_": np.ones,
        "eye_": lambda shape: np.eye(*shape),
        "uniform_": uniform,
        "normal_": normal,
        "xavier_uniform_": partial(evenly, _glorot),
        "xavier_normal_": partial(normally, _glorot),
        "kaiming_uniform_": partial(evenly, _he),
        "kaiming_normal_": partial(normally, _he),
    }
    return {name: partial(_fill, fill) for name, fill in fillers.items()}


def _fill(fill: Callable[..., Array], t: Value, *args: Value, **kwargs: Value) -> Value:
    with no_grad():
        return t.copy_(Tensor(fill(tuple(t.shape), *args, **kwargs)))
