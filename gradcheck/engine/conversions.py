"""Where a tensor becomes something else: numbers, arrays, truth, text, copies.

What would lose the memory of how a tensor was made silently raises here, with advice. Comparisons
give plain arrays, which masks and branches want.
"""

from typing import Any, Self

import numpy as np

from gradcheck.engine import advice
from gradcheck.engine.printing import show
from gradcheck.engine.recording import MODE
from gradcheck.engine.state import State


class Convertible(State):
    """The part of a tensor that leaves the tape."""

    __slots__ = ()

    def item(self) -> Any:
        """The Python number of a one-element tensor."""
        if self._value.size != 1:
            raise RuntimeError(
                f"a Tensor with {self._value.size} elements cannot be converted to Scalar"
            )
        MODE.taken += self._tracked
        return self._value.item()

    def tolist(self) -> Any:
        """Nested lists of Python numbers."""
        MODE.taken += self._tracked
        return self._value.tolist()

    def numpy(self) -> Any:
        """The NumPy array; refused while gradients are tracked."""
        if self.requires_grad:
            raise RuntimeError(advice.NO_NUMPY)
        self._share()
        return self._value

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        if self.requires_grad:
            raise TypeError(advice.NO_ARRAY)
        self._share()
        return np.array(self._value, dtype=dtype, copy=copy)

    def __float__(self) -> float:
        return float(self._number())

    def __int__(self) -> int:
        return int(self._number())

    def __complex__(self) -> complex:
        return complex(self._number())

    def _number(self) -> Any:
        if self.requires_grad:
            raise TypeError(advice.NO_FLOAT)
        if self._value.size != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return self._value.item()

    def __index__(self) -> int:
        if self._value.dtype.kind in "iub" and self._value.size == 1:
            return int(self._value.item())
        raise TypeError("only integer tensors of a single element can be converted to an index")

    def __bool__(self) -> bool:
        if self._value.size != 1:
            raise RuntimeError(advice.AMBIGUOUS if self._value.size else advice.NO_TRUTH)
        return bool(self._value.item())

    def __len__(self) -> int:
        if self._value.ndim == 0:
            raise TypeError("len() of a 0-d tensor")
        return len(self._value)

    def __contains__(self, element: Any) -> bool:
        if not isinstance(element, State | int | float | np.number):
            raise RuntimeError(
                "Tensor.__contains__ only supports Tensor or scalar, but you passed in a "
                f"{type(element)}."
            )
        return bool(np.any(self == element))

    def __repr__(self) -> str:
        node = self.grad_fn
        return show(self._value, node.name() if node else "", self.requires_grad)

    def __format__(self, form: str) -> str:
        return format(self.item(), form) if self._value.ndim == 0 else object.__format__(self, form)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        twin: Self = memo.setdefault(id(self), self._copied(np.array(self._value)[()]))
        MODE.taken += self._tracked
        if self._grad is not None:
            twin._grad = self._grad.__deepcopy__(memo)
        return twin

    def __copy__(self) -> Self:
        self._share()
        twin = self._copied(self._value)
        twin._cell, twin._grad = self._cell, self._grad
        return twin

    def __reduce__(self) -> Any:
        self._copied(self._value)
        return type(self), (self._value, self._tracked)

    def _copied(self, value: Any) -> Self:
        """A leaf like this one, around another value; refused for what is not a leaf."""
        if not self.is_leaf:
            raise RuntimeError(advice.NO_DEEPCOPY)
        return type(self)(value, self._tracked)

    # -- comparisons -----------------------------------------------------------------------------

    __hash__ = object.__hash__

    def __lt__(self, other: Any) -> Any:
        return self._value < bare(other)

    def __le__(self, other: Any) -> Any:
        return self._value <= bare(other)

    def __gt__(self, other: Any) -> Any:
        return self._value > bare(other)

    def __ge__(self, other: Any) -> Any:
        return self._value >= bare(other)

    def __eq__(self, other: Any) -> Any:
        return False if other is None else self._value == bare(other)

    def __ne__(self, other: Any) -> Any:
        return True if other is None else self._value != bare(other)


def bare(value: Any) -> Any:
    """The NumPy value inside, for comparisons, masks and indices; sequences are looked into."""
    if isinstance(value, State):
        return value._value
    if type(value) in (list, tuple):
        return type(value)(map(bare, value))
    return value
