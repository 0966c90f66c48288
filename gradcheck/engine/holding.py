"""A layer that holds parameters: how they are drawn, and the function that takes them.

What is drawn comes from the bounds that PyTorch has, and from NumPy's generator.
"""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from gradcheck.engine.factories import GENERATOR
from gradcheck.engine.modules import Module, Parameter
from gradcheck.ops import COMPOUNDS, TABLE

Shape = tuple[int, ...]
Draw = Callable[[np.random.Generator, Shape], Any]


def evenly(bound: float) -> Draw:
    """Between minus and plus a bound."""
    return lambda rng, shape: rng.uniform(-bound, bound, shape)


def normally(rng: np.random.Generator, shape: Shape) -> Any:
    """From the normal distribution."""
    return rng.standard_normal(shape)


def ones(rng: np.random.Generator, shape: Shape) -> Any:
    """Nothing is drawn: each is 1."""
    return np.ones(shape)


def zeros(rng: np.random.Generator, shape: Shape) -> Any:
    """Nothing is drawn: each is 0."""
    return np.zeros(shape)


class Layer(Module):
    """A function of the table of ops that takes parameters; `held` are their names, in order.

    A parameter is None where the layer is made without it.
    """

    row: ClassVar[str]
    held: ClassVar[tuple[str, ...]] = ("weight", "bias")
    weight: Any
    bias: Any

    def hold(self, seed: int | None, **drawn: tuple[Shape, Draw] | None) -> None:
        """Draw the parameters, in order."""
        rng = np.random.default_rng(GENERATOR.seed_of_layer() if seed is None else seed)
        for name, how in drawn.items():
            setattr(self, name, None if how is None else Parameter(how[1](rng, how[0])))

    def arguments(self, of: Any, *inputs: Any) -> tuple[Any, ...]:
        """What the function takes; `of` has the parameters as its attributes."""
        raise NotImplementedError

    def forward(self, *inputs: Any) -> Any:
        """The function of the inputs and the parameters."""
        return (TABLE.get(self.row) or COMPOUNDS[self.row])(*self.arguments(self, *inputs))
