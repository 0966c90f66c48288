"""A small network, its backward pass by hand in NumPy, and the faults somebody may make in it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

Inputs = Mapping[str, Any]


@dataclass(frozen=True)
class Pick:
    """The right number, unless the fault that is being made has another one for it."""

    fault: str = ""

    def __call__(self, right: Any, wrong: Mapping[str, Any]) -> Any:
        """What stands here; `wrong` has a number for each fault that can be made here."""
        return wrong.get(self.fault, right)


@dataclass(frozen=True)
class Net:
    """A program in its inputs, and `back(inputs, pick)`, its gradients by hand.

    `faults` has for each fault the ids of which one must be named, written before it was tried;
    `later` likewise, written after the catalogue had been completed by what `faults` had missed.
    """

    program: str
    inputs: Callable[[np.random.Generator], Inputs]
    back: Callable[[Inputs, Pick], dict[str, Any]]
    faults: Mapping[str, str]
    later: Mapping[str, str]
    seed: int = 7
