"""What a lowered program calls in place of Python's items, loops and calls, within the budget.

Nothing is started whose result would not fit the budget.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from types import FunctionType
from typing import Any, Protocol

import numpy as np

from gradcheck.engine.printing import Size
from gradcheck.engine.tensor import bare
from gradcheck.language.running import texts
from gradcheck.language.running.operators import OPERATIONS, SEQUENCES, Function, Operators, whole
from gradcheck.language.running.shapes import broadcast, shape_as_array, shape_of
from gradcheck.language.running.sizes import estimate
from gradcheck.ops.methods import OF_METHODS


class Kind(Protocol):
    """What a number kind supplies: numbers and functions; nothing here knows more about it."""

    def literal(self, value: Fraction) -> Any:
        """The number of this kind; immutable, for the turns of a loop share it."""

    def constant(self, name: str) -> Any:
        """`pi`, `e`, and the vocabulary's other constants."""

    def function(self, name: str) -> Function:
        """A function of the vocabulary, by its own name."""


# What may be assigned on a tensor; which of them a program may is for its vocabulary to say.
ASSIGNABLE = frozenset({"grad", "requires_grad", "data"})


@dataclass(frozen=True)
class Guards(Operators):
    """The operators, items, loops and calls of one run."""

    def named(self, name: str) -> Function:
        """The guard that the lowering called by a name."""
        return self.operation(name) if name in OPERATIONS else OTHERS[name].__get__(self)

    def attribute_in_place(self, name: str, owner: Any, attribute: str, b: Any) -> None:
        """`w.grad *= b`."""
        if attribute not in ASSIGNABLE:
            raise AttributeError(f"`.{attribute}` cannot be assigned here")
        setattr(owner, attribute, self.in_place(name, getattr(owner, attribute), b))

    def item_in_place(self, name: str, owner: Any, key: Any, b: Any) -> None:
        """`x[i] += b`."""
        self.put(owner, key, self.in_place(name, self.item(owner, key), b))

    def item(self, owner: Any, key: Any) -> Any:
        """`x[i]`."""
        made = owner[self.index(owner, key)]
        if not isinstance(owner, SEQUENCES) or isinstance(key, slice):
            self.meter.charge(made)
        return made

    def put(self, owner: Any, key: Any, value: Any) -> None:
        """`x[i] = y`; NumPy would cut off what stands behind the point in whole numbers."""
        if isinstance(owner, np.ndarray) and whole(owner) and not whole(value):
            raise TypeError(
                "an array of whole numbers cannot hold this - begin with `array([0.0, 0.0])`"
            )
        self.meter.measure(value)
        owner[self.index(owner, key)] = value

    def index(self, owner: Any, key: Any) -> Any:
        """An index; refused if it picks too many elements."""
        keys = key if isinstance(key, tuple) else (key,)
        picks = [shape for each in keys if (shape := shape_as_array(each))]
        if picks:
            self.meter.measure(key)
            picked = prod(broadcast(*picks))
            if picked * prod(shape_of(owner)) > self.meter.budget.elements:
                self.meter.expect(picked * _beside(shape_of(owner), keys))
        return key

    def each(self, values: Iterable[Any]) -> Iterator[Any]:
        """The items of a loop, counted; what is no list fails here, in its place."""
        return self._turns(iter(values))

    def _turns(self, values: Iterator[Any]) -> Iterator[Any]:
        """The items of a loop, counted."""
        for value in values:
            self.meter.step()
            yield value

    def last(self, value: Any) -> Any:
        """The value of the program, for whoever will look at all of it."""
        self.meter.measure(value)
        return value

    def turn(self, test: Any) -> bool:
        """The test of a `while`, counted."""
        self.meter.step()
        return bool(test)

    def call(self, callee: Any, /, *args: Any, **kwargs: Any) -> Any:
        """A helper of the program, or a layer that a variable holds."""
        if isinstance(callee, FunctionType):
            return self.meter.called(callee, args, kwargs)
        if not callable(callee):
            raise TypeError(f"a {type(callee).__name__} cannot be called - multiply with `*`")
        return self.counted(callee, args, kwargs)

    def method(self, owner: Any, name: str, /, *args: Any, **kwargs: Any) -> Any:
        """`x.backward(...)`, `losses.append(loss)`."""
        if isinstance(owner, list):
            if name == "extend" and not all(isinstance(each, list | tuple) for each in args):
                raise TypeError("what extends a list has to be a list - write `list(...)`")
            for each in args:
                self.meter.measure(each)
            self.meter.room(len(owner) + sum(prod(shape_as_array(each)[:1]) for each in args))
        else:
            self.fits(name, (owner, *args), kwargs)
            if name == "tolist":
                self.meter.listed(prod(shape_of(owner)))
        return self.counted(getattr(owner, name), args, kwargs)

    def lengths(self, value: Any, dim: int | None = None) -> Any:
        """`x.size()`, `x.size(0)`."""
        return Size(shape_of(value)) if dim is None else shape_of(value)[dim]

    def function(self, name: str, plain: Function) -> Function:
        """A function of the vocabulary, within the budget; `add(2, 3)` is what `2 + 3` is."""
        name = name.removeprefix(OF_METHODS)
        is_operator = name in OPERATIONS

        def guarded(*args: Any, **kwargs: Any) -> Any:
            if is_operator and len(args) == 2 and not kwargs:
                if isinstance(args[0], int) and isinstance(args[1], int):
                    return self.integers(name, *args)
                if name == "power":
                    self._exponent(args[1])
            self.fits(name, args, kwargs)
            return self.counted(plain, args, kwargs)

        return guarded

    def fits(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Refuse a call whose lists or whose result are too large, or that is given texts."""
        texts.refuse_texts(name, (*args, *kwargs.values()))
        for each in (*args, *kwargs.values()):
            if isinstance(each, list | tuple):
                self.meter.measure(each)
        self.meter.expect(*estimate(name, args, kwargs))

    def counted(self, plain: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call that counts as a step, and what it makes."""
        self.meter.step()
        made = plain(*args, **kwargs)
        self.meter.charge(made)
        return made


OTHERS: dict[str, Function] = {
    "chain": Guards.chain,
    "in_place": Guards.in_place,
    "attribute_in_place": Guards.attribute_in_place,
    "item_in_place": Guards.item_in_place,
    "item": Guards.item,
    "index": Guards.index,
    "put": Guards.put,
    "slice": lambda guards, *bounds: slice(*bounds),
    "each": Guards.each,
    "last": Guards.last,
    "turn": Guards.turn,
    "truth": lambda guards, test: bool(test),
    "call": Guards.call,
    "method": Guards.method,
    "lengths": Guards.lengths,
    "count": lambda guards, value: prod(shape_of(value)),
    "rank": lambda guards, value: len(shape_of(value)),
    "floats": lambda guards, value: _floats(value),
}


def _floats(value: Any) -> Any:
    """`(y == label).float()`: truth values and integers as decimal numbers, others as is."""
    plain = np.asarray(bare(value))
    return plain.astype(np.float64)[()] if plain.dtype.kind in "biu" else value


def _beside(shape: tuple[int, ...], keys: tuple[Any, ...]) -> int:
    """How many elements stand beside those that index arrays pick: the other axes."""
    axis, beside = 0, prod(shape)
    places = [key for key in keys if key is not None]
    for position, key in enumerate(places):
        if key is ...:
            axis = len(shape) - (len(places) - position - 1)
            continue
        picks = len(shape_as_array(key))
        width = picks if "bool" in str(getattr(key, "dtype", "")) else 1
        if picks:
            beside //= max(prod(shape[axis : axis + width]), 1)
        axis += width
    return beside
