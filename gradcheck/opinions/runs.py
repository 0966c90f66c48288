"""Runs of a program on floats at one point, which several questions about it share."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
ROOM = 2**22  # numbers that are kept, some 32 MB
STACK = 2**20  # numbers of one stack of points
Step = float


@dataclass(eq=False)
class Runs:
    """Values of one function at points beside one point, by the line they lie on and their step.

    `stacked` is the function on a stack of points, a leading axis of each input, where it takes
    such; its value has that axis too.
    """

    function: Callable[..., Any]
    inputs: Mapping[str, Array]
    stacked: Callable[[Mapping[str, Array]], Array] | None = None
    room: int = ROOM
    values: dict[Any, dict[Step, Any]] = field(default_factory=dict)

    def keep(self, line: Any, step: Step, value: Any) -> None:
        """Keep a value, while there is room."""
        if np.size(value) <= self.room:
            self.room -= np.size(value)
            self.values.setdefault(line, {})[step] = value

    def rows(self) -> int:
        """How many points one stack holds; 1 where it would take too much memory to hold more."""
        size = sum(np.size(values) for values in self.inputs.values())
        return max(1, STACK // max(1, size))
