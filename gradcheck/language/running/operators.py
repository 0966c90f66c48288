"""Python's operators between two values, within the budget: integers divide exactly."""

import operator
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from gradcheck.language.running import texts
from gradcheck.language.running.budget import Meter, over
from gradcheck.language.running.shapes import shape_as_array, shape_of
from gradcheck.language.running.sizes import elementwise, multiplied
from gradcheck.ops.row import joined

Function = Callable[..., Any]

# An operation's name: what it does to two values, and what it does in place.
OPERATIONS: dict[str, tuple[Function, Function]] = {
    "add": (operator.add, operator.iadd),
    "subtract": (operator.sub, operator.isub),
    "multiply": (operator.mul, operator.imul),
    "divide": (operator.truediv, operator.itruediv),
    "power": (operator.pow, operator.ipow),
    "matmul": (operator.matmul, operator.imatmul),
    "floor_divide": (operator.floordiv, operator.ifloordiv),
    "remainder": (operator.mod, operator.imod),
    "and": (operator.and_, operator.iand),
    "or": (operator.or_, operator.ior),
    "equal": (operator.eq, operator.eq),
    "not_equal": (operator.ne, operator.ne),
    "less": (operator.lt, operator.lt),
    "less_equal": (operator.le, operator.le),
    "greater": (operator.gt, operator.gt),
    "greater_equal": (operator.ge, operator.ge),
}

SEQUENCES = (list, tuple, range)
FLOATS = frozenset({float, np.float64})
GROWING = frozenset({"add", "subtract", "multiply", "matmul", "power"})
EXACT_WHOLES = 2.0**53  # smaller whole numbers are the same in every kind of number


@dataclass(frozen=True)
class Operators:
    """The operators of one run: its budget, and how it makes decimal numbers."""

    meter: Meter
    literal: Callable[[Fraction], Any]

    def operation(self, name: str) -> Function:
        """An operator; between two floats there is nothing to guard."""
        plain = OPERATIONS[name][0]

        def guarded(a: Any, b: Any) -> Any:
            if type(a) in FLOATS and type(b) in FLOATS:
                return plain(a, b)
            return self.operate(name, a, b)

        return partial(self.operate, name) if name == "power" else guarded

    def operate(self, name: str, a: Any, b: Any, place: int = 0) -> Any:
        """An operator between two values; in place of the first where `place` is 1."""
        if isinstance(a, int) and isinstance(b, int):
            return self.integers(name, a, b)
        if (
            name == "add"
            and isinstance(a, list)
            and not (isinstance(b, list | tuple) or shape_of(b))
        ):
            raise TypeError("what is added to a list has to be a list - write `list(...)`")
        a, b = self._as_arrays(a, b)
        first, second = shape_of(a), shape_of(b)
        if not (first and second):
            if isinstance(a, SEQUENCES) or isinstance(b, SEQUENCES):
                self._sequences(name, a, b)
        elif name == "matmul":
            self.meter.expect(*multiplied((a, b), {}))
        elif first != second:
            self.meter.pair(first, second)
        if name == "power":
            self._exponent(b)
        if not place:
            a = self._of_the_kind(name, a, b)
        made = OPERATIONS[name][place](a, b)
        if isinstance(made, complex):
            raise ValueError("a negative number to a fractional power is not real")
        self.meter.charge(made)
        return made

    def _as_arrays(self, a: Any, b: Any) -> tuple[Any, Any]:
        """Both operands; a list beside an array is one, as NumPy has it."""
        if (isinstance(a, list) and shape_of(b)) or (isinstance(b, list) and shape_of(a)):
            self.meter.measure(a)
            self.meter.measure(b)
            return joined(a), joined(b)
        return a, b

    def integers(self, name: str, a: int, b: int) -> Any:
        """An operator between integers: exact, where Python would leave them for floats."""
        if name == "divide":
            if b == 0:
                raise ZeroDivisionError("division by zero")
            return self.literal(Fraction(a, b))
        if name == "power":
            self._exponent(b)
            self.meter.integer(abs(a).bit_length() * abs(b))
            if b < 0 and a == 0:
                raise ZeroDivisionError("zero to a negative power")
            return self.literal(Fraction(a) ** b) if b < 0 else a**b
        self.meter.integer(abs(a).bit_length() + abs(b).bit_length())
        return OPERATIONS[name][0](a, b)

    def _of_the_kind(self, name: str, a: Any, b: Any) -> Any:
        """The first operand; of this kind where NumPy's whole numbers would not be exact."""
        one = self.literal(Fraction(1))
        if name == "divide" and _plain(a) and _plain(b) and np.all(b):
            return a if isinstance(one, float) else a * one  # `(x <= 0) / 5`, `ones(3) / 3`
        return a if not (whole(a) and whole(b)) or _stays_exact(name, a, b) else a * one

    def _exponent(self, exponent: Any) -> None:
        """Refuse an integer exponent that exact numbers could not bear."""
        limit = self.meter.budget.exponent
        if isinstance(exponent, int) and abs(exponent) > limit:
            raise over("as the exponent of a power", limit, "choose a smaller exponent")

    def _sequences(self, name: str, a: Any, b: Any) -> None:
        """Refuse lists that would grow or be compared without end, and texts among numbers."""
        if not (isinstance(a, SEQUENCES) and isinstance(b, SEQUENCES)):
            texts.refuse_texts(name, [each for each in (a, b) if isinstance(each, list | tuple)])
        if name == "multiply" and (isinstance(a, int) or isinstance(b, int)):
            many, times = (b, a) if isinstance(a, int) else (a, b)
            self.meter.room(len(many) * max(times, 0))
        elif name == "add":
            self.meter.room(sum(shape_as_array(each)[0] for each in (a, b) if shape_as_array(each)))
        else:
            self.meter.measure(a)
            self.meter.measure(b)
        sizes = (multiplied if name == "matmul" else elementwise)((a, b), {})
        self.meter.expect(*sizes)

    def chain(self, names: tuple[str, ...], *sides: Any) -> Any:
        """`a < b < c`: the first comparison that fails, or the last."""
        result: Any = True
        for name, a, b in zip(names, sides, sides[1:], strict=False):
            result = self.operate(name, a, b)
            if not result:
                break
        return result

    def in_place(self, name: str, a: Any, b: Any) -> Any:
        """`a += b`."""
        return self.operate(name, a, b, place=1)


def _plain(value: Any) -> bool:
    """Whether a value is an integer or NumPy's own: a count, truth values, `ones(3)`."""
    if isinstance(value, np.ndarray | np.generic):
        return value.dtype.kind in "biuf"
    return isinstance(value, int)


def whole(value: Any) -> bool:
    """Whether a value is a whole number, or an array of them."""
    return isinstance(value, int) or getattr(value, "dtype", np.dtype(object)).kind in "bi"


def _stays_exact(name: str, a: Any, b: Any) -> bool:
    """Whether an operation between arrays of whole numbers is exact in NumPy's 64 bits."""
    if name == "power" and np.any(np.less(b, 0)):
        return False
    if name not in GROWING:
        return True
    large = [np.abs(np.asarray(each, dtype=np.float64)) for each in (a, b)]
    return bool(np.all(OPERATIONS[name][0](*large) < EXACT_WHOLES))
