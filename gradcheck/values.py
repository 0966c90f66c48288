"""The words of types: what ops, programs and calls hand on.

NumPy's functions take all four kinds of number through its protocols, which no checker follows:
`Numbers` and `Value` say to the reader what they cannot say to the checker.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[Any, Any]
"""A plain NumPy array."""

FLOAT = np.dtype(np.float64)

Numbers: TypeAlias = Any
"""A number or an array of any of the four kinds: floats, tensors, balls, closed forms."""

Value: TypeAlias = Any
"""Whatever a program computes with: numbers of a kind, a truth value, a text, a list of them."""

Params = Mapping[str, Value]
"""Values by their names: the keywords of a call, the inputs of a program."""

Routine = Callable[..., Value]
"""Anything that is called with values and gives one."""

Call = tuple[tuple[Value, ...], dict[str, Value]]
"""What a function is called with: by place, and by name."""
