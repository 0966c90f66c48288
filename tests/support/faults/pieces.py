"""What the passes by hand have in common: inputs by shape, and a few functions in NumPy."""

from typing import Any

import numpy as np

from tests.support.faults.net import Inputs


def drawn(**shapes: tuple[int, ...]) -> Any:
    """Inputs of these shapes, drawn from a normal distribution."""

    def inputs(rng: np.random.Generator) -> Inputs:
        return {name: rng.normal(size=shape) for name, shape in shapes.items()}

    return inputs


def softmax(z: Any, axis: int = -1) -> Any:
    """Exponentials over their sum along an axis."""
    e = np.exp(z - z.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def through_softmax(p: Any, dp: Any, axis: int = -1) -> Any:
    """What comes back through a softmax of the value `p`."""
    return p * (dp - (dp * p).sum(axis, keepdims=True))


def sigmoid(z: Any) -> Any:
    """The logistic function."""
    return 1 / (1 + np.exp(-z))
