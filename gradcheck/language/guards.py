"""What a lowered program calls in place of Python's operators, items, loops and calls.

Nothing is started whose result would not fit the budget; integers divide exactly.
"""

import operator
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial, partialmethod, reduce
from itertools import islice
from math import isfinite, prod
from operator import index
from types import FunctionType
from typing import NamedTuple

import numpy as np

from gradcheck.engine.advice import TorchSize
from gradcheck.engine.recording import MODE
from gradcheck.engine.tensor import Tensor, unwrap
from gradcheck.language.budget import (
    MULTIPLIERS,
    Meter,
    count_ahead,
    count_letters,
    count_multiplications,
    find_array_shape,
    shape_of,
)
from gradcheck.language.kinds import Rounded, as_in_program
from gradcheck.language.vocabulary import WORDS
from gradcheck.numbers.ball import Scalar, Scalars, arbs
from gradcheck.ops import TABLE
from gradcheck.ops.arithmetic import COMPARISONS
from gradcheck.ops.arithmetic import OPERATIONS as NAMED
from gradcheck.ops.pytorch import OF_METHODS
from gradcheck.ops.row import join
from gradcheck.values import Params, Routine, Value

OPERATIONS: dict[str, tuple[Routine, Routine]] = {
    **{row: (getattr(operator, w), getattr(operator, f"i{w}")) for w, row in NAMED.items()},
    **{name: (getattr(operator, w), getattr(operator, w)) for w, name in COMPARISONS.items()},
    "and": (operator.and_, operator.iand),
    "or": (operator.or_, operator.ior),
}
"""An operation's name: what it does to two values, and what it does in place."""

SEQUENCES = (list, tuple, range)
UNTRACKED = (Scalar, Scalars, np.ndarray, np.float64)  # numbers that no tape remembers
FLOATS = frozenset({float, np.float64, Rounded})
GROWING = frozenset({"add", "subtract", "multiply", "matmul", "power"})
POWER_BITS = 4_096  # of a power of a float that may be exact
EXACT_WHOLES = 2.0**53  # smaller whole numbers are the same in every kind of number
# What may be assigned on a tensor; which of them a program may is for its vocabulary to say.
ASSIGNABLE = frozenset({"grad", "requires_grad", "data"})
OF_WHOLES = "an array of whole numbers cannot hold this - begin with `array([0.0, 0.0])`"


class _Written(NamedTuple):
    guards: "Guards"
    owner: Value

    def __setitem__(self, key: Value, value: Value) -> None:
        self.guards.put(self.owner, key, value)


@dataclass(frozen=True)
class Guards:
    """The operators, items, loops and calls of one run.

    `literal` makes decimal numbers, `find` knows the number kind's functions. An entry of `arrays`
    is a number, as in NumPy: `s = b[0]; s += 1` leaves `b` as it is. Where a run `records`, numbers
    are taken out of what learns.
    """

    meter: Meter
    literal: Callable[[Fraction], Value]
    find: Callable[[str], Routine]
    arrays: bool = False
    records: bool = False

    def look_up(self, name: str) -> Routine:
        if name not in OPERATIONS:
            return getattr(self, name)  # type: ignore[no-any-return]
        plain = OPERATIONS[name][0]

        def guard(a: Value, b: Value) -> Value:
            if type(a) in FLOATS and type(b) in FLOATS:
                made = plain(a, b)
                return made if MODE.disturb is None else _round(name, made, a, b)
            return self.operate(name, a, b)

        return partial(self.operate, name) if name == "power" else guard

    def operate(self, name: str, a: Value, b: Value, place: int = 0) -> Value:
        """An operator between two values; in place of the first where `place` is 1."""
        if isinstance(a, int) and isinstance(b, int):
            return self.integers(name, a, b)
        added = name == "add" and isinstance(a, list)
        if added and not (isinstance(b, list | tuple) or shape_of(b)):
            raise TypeError("what is added to a list has to be a list - write `list(...)`")
        if (isinstance(a, list) and shape_of(b)) or (isinstance(b, list) and shape_of(a)):
            self.meter.measure(a)  # a list beside an array is one, as NumPy has it
            self.meter.measure(b)
            a, b = join(a), join(b)
        first, second = shape_of(a), shape_of(b)
        if not (first and second):
            if isinstance(a, SEQUENCES) or isinstance(b, SEQUENCES):
                self._limit_sequences(name, a, b)
        elif name == "matmul":
            columns = prod(second[-1:] if len(second) > 1 else ())
            self.meter.expect("elements", prod(first[:-1]) * columns)
        elif first != second:
            self.meter.expect("elements", count_ahead(name, (a, b)))
        if name == "power":
            b = self._limit_exponent(b)
        if not place:
            a = self._convert_kind(name, a, b)
        made = OPERATIONS[name][place](a, b)
        if isinstance(made, complex):
            raise ValueError("a negative number to a fractional power is not real")
        made = _round(name, made, a, b)
        self.meter.charge(made)
        if name == "matmul":
            self.meter.spend("products", count_multiplications((a, b), made))
        return made

    def integers(self, name: str, a: int, b: int) -> Value:
        """An operator between integers: exact, where Python would leave them for floats."""
        if name == "divide":
            if b == 0:
                raise ZeroDivisionError("division by zero")
            return self.literal(Fraction(a, b))
        if name == "power":
            self._limit_exponent(b)
            self.meter.expect("bits", abs(a).bit_length() * abs(b))
            if b < 0 and a == 0:
                raise ZeroDivisionError("zero to a negative power")
            return self.literal(Fraction(a) ** b) if b < 0 else a**b
        self.meter.expect("bits", abs(a).bit_length() + abs(b).bit_length())
        return OPERATIONS[name][0](a, b)

    def _convert_kind(self, name: str, a: Value, b: Value) -> Value:
        """The first operand; of this kind where NumPy's whole numbers would not be exact."""
        one = self.literal(Fraction(1))
        if name == "divide" and _is_plain(a) and _is_plain(b) and np.all(b):
            return a if isinstance(one, float) else a * one  # `(x <= 0) / 5`, `ones(3) / 3`
        return a if not (is_whole(a) and is_whole(b)) or _stays_exact(name, a, b) else a * one

    def _limit_exponent(self, exponent: Value) -> Value:
        """An exponent within the budget; rounding makes no fraction of a whole one."""
        if isinstance(exponent, int):
            self.meter.expect("exponent", abs(exponent))
        plain = as_in_program(exponent)
        return plain if plain is not exponent and plain.is_integer() else exponent

    def _limit_sequences(self, name: str, a: Value, b: Value) -> None:
        both = isinstance(a, SEQUENCES) and isinstance(b, SEQUENCES)
        if both and name != "add":
            self.meter.measure(a)
            self.meter.measure(b)
        self.meter.expect("elements", count_ahead(name, (a, b)))
        if both and name == "add":
            self.meter.expect("entries", len(a) + len(b))
        elif not both:
            self.refuse_texts(name, [each for each in (a, b) if isinstance(each, list | tuple)])
            if name == "multiply" and (isinstance(a, int) or isinstance(b, int)):
                many, times = (b, a) if isinstance(a, int) else (a, b)
                self.meter.expect("entries", len(many) * max(times, 0))

    def refuse_texts(self, function: str, values: Iterable[Value]) -> None:
        """Measure lists, and refuse texts among numbers: but for words that say how, subscripts."""
        for each in values:
            if isinstance(each, str) and each not in WORDS and function != "einsum":
                raise TypeError(f"a text is no argument of `{function}` - give it numbers")
            if isinstance(each, list | tuple) and self.meter.measure(each):
                said = f"a text among the numbers of `{function}`, or a type"
                raise TypeError(f"{said} - give it numbers")

    def chain(self, names: tuple[str, ...], *sides: Value) -> Value:
        result: Value = True
        for name, a, b in zip(names, sides, sides[1:], strict=False):
            result = self.operate(name, a, b)
            if not result:
                break
        return result

    def in_place(self, name: str, a: Value, b: Value) -> Value:
        return self.operate(name, a, b, place=int(not self.arrays or shape_of(a) != ()))

    # -- items, loops, calls ---------------------------------------------------------------------

    def attribute_in_place(self, name: str, owner: Value, attribute: str, b: Value) -> None:
        if attribute not in ASSIGNABLE:
            raise AttributeError(f"`.{attribute}` cannot be assigned here")
        setattr(owner, attribute, self.in_place(name, getattr(owner, attribute), b))

    def item_in_place(self, name: str, owner: Value, key: Value, b: Value) -> None:
        self.put(owner, key, self.in_place(name, self.item(owner, key), b))

    def item(self, owner: Value, key: Value) -> Value:
        made = owner[self.index(owner, key)]
        if not isinstance(owner, SEQUENCES) or isinstance(key, slice):
            self.meter.charge(made)
        return made

    def put(self, owner: Value, key: Value, value: Value) -> None:
        """`x[i] = y`; NumPy would cut off what stands behind the point in whole numbers."""
        if isinstance(owner, np.ndarray) and is_whole(owner) and not is_whole(value):
            raise TypeError(OF_WHOLES)
        self.meter.measure(value)
        owner[self.index(owner, key)] = value

    def index(self, owner: Value, key: Value) -> Value:
        for each in key if isinstance(key, tuple) else (key,):
            self.meter.measure(each)
        return key

    def entries(self, owner: Value) -> "_Written":
        """What `x[i] = y` writes to."""
        return _Written(self, owner)

    def each(self, values: Iterable[Value]) -> Iterator[Value]:
        """The items of a loop, counted; what is no list fails here, in its place."""
        found = iter(values)
        return (value for value in found if self.turn(True))

    def last(self, value: Value) -> Value:
        """The value of the program, for whoever will look at all of it."""
        self.meter.measure(value)
        return value

    def turn(self, test: Value) -> bool:
        self.meter.spend("steps")
        return bool(test)

    def call(self, callee: Value, /, *args: Value, **kwargs: Value) -> Value:
        if isinstance(callee, FunctionType):
            return self.meter.call(callee, args, kwargs)
        if not callable(callee):
            raise TypeError(f"a {type(callee).__name__} cannot be called - multiply with `*`")
        return self.count_call(callee, args, kwargs)

    def method(self, owner: Value, name: str, /, *args: Value, **kwargs: Value) -> Value:
        if isinstance(owner, list):
            if name == "extend" and not all(isinstance(each, list | tuple) for each in args):
                raise TypeError("what extends a list has to be a list - write `list(...)`")
            for each in args:
                self.meter.measure(each)
            more = sum(prod(find_array_shape(each)[:1]) for each in args)
            self.meter.expect("entries", len(owner) + more)
        else:
            self.fits(name, (owner, *args), kwargs)
            if name == "tolist":
                self.meter.charge_list(prod(shape_of(owner)))
        if name in ("detach", "numpy") and isinstance(owner, UNTRACKED):
            return owner
        return self.count_call(getattr(owner, name), args, kwargs)

    slice = staticmethod(slice)
    same = staticmethod(lambda value: value)
    truth = staticmethod(bool)
    rank = staticmethod(lambda value: len(shape_of(value)))
    count = staticmethod(lambda value: prod(shape_of(value)))

    def cast(self, value: Value, dtype: type) -> Value:
        """`y.to(int)`, `(y == label).float()`: the entries as numbers of another type."""
        plain = np.asarray(unwrap(value))
        if dtype is float:
            return plain.astype(np.float64)[()] if plain.dtype.kind in "biu" else value
        if plain.dtype.kind == "O" or not any(dtype is kind for kind in (int, bool)):
            raise TypeError("numbers are made floats, whole or truth values only - write `float`")
        return plain.astype(dtype)[()]

    floats = partialmethod(cast, dtype=float)
    wholes = partialmethod(cast, dtype=int)

    def truths(self, value: Value) -> Value:
        return self.operate("not_equal", value, 0)

    def copy_as(self, value: Value, dtype: type) -> Value:
        """`y.astype(int)`, which NumPy makes a copy of in any case."""
        made = self.cast(value, dtype)
        return self.find("copy")(value) if made is value else made

    def lengths(self, value: Value, dim: int | None = None) -> Value:
        """`x.size()`, `x.size(0)`."""
        return TorchSize(shape_of(value)) if dim is None else shape_of(value)[dim]

    def function(self, name: str, plain: Routine) -> Routine:
        """A function of the vocabulary, within the budget; `add(2, 3)` is what `2 + 3` is."""
        name = name.removeprefix(OF_METHODS)
        is_operator = name in OPERATIONS

        def guard(*args: Value, **kwargs: Value) -> Value:
            if is_operator and len(args) == 2 and not kwargs:
                if isinstance(args[0], int) and isinstance(args[1], int):
                    return self.integers(name, *args)
                if name == "power":
                    self._limit_exponent(args[1])
            self.fits(name, args, kwargs)
            if name == "einsum" and isinstance(args[0], str):  # it multiplies them all
                self.meter.spend("products", count_letters(args, summed=True))
            made = self.count_call(plain, args, kwargs)
            if name in MULTIPLIERS:
                self.meter.spend("products", count_multiplications((*args, *kwargs.values()), made))
            return made

        return guard

    def fits(self, name: str, args: tuple[Value, ...], kwargs: Params) -> None:
        given = (*args, *kwargs.values())
        self.refuse_texts(name, given)
        self.meter.expect("elements", count_ahead(name, given))

    def count_call(self, plain: Routine, args: tuple[Value, ...], kwargs: Params) -> Value:
        self.meter.spend("steps")
        made = plain(*args, **kwargs)
        self.meter.charge(made)
        return made

    # -- Python's own functions

    def builtin(self, name: str) -> Routine:
        plain = BUILTIN[name]

        def count(*args: Value, **kwargs: Value) -> Value:
            self.meter.spend("steps")
            return plain(self, *args, **kwargs)

        return count

    def numbers(self, *bounds: Value) -> range:
        made = range(*map(index, bounds))
        self.meter.expect("elements", (made.stop - made.start) // made.step)
        return made

    def list_items(self, values: Iterable[Value] = ()) -> list[Value]:
        made = list(islice(iter(values), self.meter.budget.entries + 1))
        self.meter.charge(made)
        return made

    def sort_items(self, values: Iterable[Value], reverse: Value = False) -> list[Value]:
        items = self.list_items(values)
        self.meter.measure(items)
        return sorted(items, reverse=bool(reverse))

    def absolute(self, value: Value) -> Value:
        return abs(value) if isinstance(value, int | float) else self.find("abs")(value)

    def total(self, values: Value, *start: Value, **kwargs: Value) -> Value:
        if kwargs or not _is_listing(values):
            return self.find("sum")(values, *start, **kwargs)
        items = [*start, *self.list_items(values)]
        return reduce(partial(self.operate, "add"), items) if items else 0

    def extreme(self, name: str, *args: Value, **kwargs: Value) -> Value:
        plain, pairwise = EXTREMES[name]
        if kwargs or (len(args) == 1 and not _is_listing(args[0])):
            return self.find(name)(*args, **kwargs)
        if len(args) == 2 and isinstance(args[1], int) and shape_of(args[0]):
            raise TypeError(UNCLEAR.format(name, args[1], pairwise))
        items = self.list_items(args[0]) if len(args) == 1 else args
        if all(isinstance(item, int | float) for item in items):
            return plain(items)
        return reduce(self.find(pairwise), items)

    def whole(self, value: Value = 0) -> int:
        if isinstance(value, Scalar | Scalars):
            value = arbs(self.find("trunc")(value)).item().unique_fmpz()
        made = int(value)
        self.meter.expect("bits", made.bit_length())
        return made

    def real(self, value: Value = 0) -> Value:
        if self.records and isinstance(value, Tensor):
            return value.item()
        if isinstance(value, Rounded | Scalar | Scalars):
            return value
        return self.literal(Fraction(value)) if isinstance(value, int) else float(value)


def _round(name: str, made: Value, a: Value, b: Value) -> Value:
    """A number off the tape is rounded too, where it is not exact: `1.0001**9000` is far off."""
    if MODE.disturb is None or type(made) not in FLOATS:
        return made
    a, b = as_in_program(a), as_in_program(b)
    plain = OPERATIONS[name][0](a, b)
    moved = made if _is_exact(name, a, b, plain) else MODE.disturb(TABLE[name], made)
    return Rounded(moved, plain)


def _is_exact(name: str, a: Value, b: Value, made: float) -> bool:
    if not all(isinstance(each, int | float) and isfinite(each) for each in (a, b, made)):
        return False
    x, y = Fraction(a), Fraction(b)
    if name == "power":
        bits = max(x.numerator.bit_length(), x.denominator.bit_length())
        if y.denominator > 1 or abs(y) * bits > POWER_BITS:
            return False
    return bool(OPERATIONS[name][0](x, y) == made)


def _is_plain(value: Value) -> bool:
    if isinstance(value, np.ndarray | np.generic):
        return value.dtype.kind in "biuf"
    return isinstance(value, int)


def is_whole(value: Value) -> bool:
    return isinstance(value, int) or getattr(value, "dtype", np.dtype(object)).kind in "bi"


def _stays_exact(name: str, a: Value, b: Value) -> bool:
    """Whether an operation between arrays of whole numbers is exact in NumPy's 64 bits."""
    if name == "power" and np.any(np.less(b, 0)):
        return False
    if name not in GROWING:
        return True
    large = [np.abs(np.asarray(each, dtype=np.float64)) for each in (a, b)]
    return bool(np.all(OPERATIONS[name][0](*large) < EXACT_WHOLES))


# -- Python's own functions ------------------------------------------------------------------------

EXTREMES = {"max": (max, "maximum"), "min": (min, "minimum")}
UNCLEAR = "`{0}(x, {1})` means an axis or a number - write `{0}(x, axis={1})` or `{2}(x, {1})`"


def _is_listing(values: Value) -> bool:
    return hasattr(values, "__iter__") and not hasattr(values, "shape")


BUILTIN: dict[str, Routine] = {
    "range": Guards.numbers,
    "len": lambda own, values: int(shape_of(values)[0]) if shape_of(values) else len(values),
    "enumerate": lambda own, *args, **kwargs: enumerate(*args, **kwargs),
    "zip": lambda own, *lists, strict=False: zip(*lists, strict=strict),
    "abs": Guards.absolute,
    "min": lambda own, *args, **kwargs: own.extreme("min", *args, **kwargs),
    "max": lambda own, *args, **kwargs: own.extreme("max", *args, **kwargs),
    "sum": Guards.total,
    "int": Guards.whole,
    "float": Guards.real,
    "bool": lambda own, value=False: bool(value),
    "list": Guards.list_items,
    "tuple": lambda own, values=(): tuple(own.list_items(values)),
    "sorted": Guards.sort_items,
    "reversed": lambda own, values: own.list_items(values)[::-1],
}
TYPE: dict[str, type] = {"float": float, "int": int, "bool": bool} | (
    dict.fromkeys(("float32", "float64", "double"), float)
    | dict.fromkeys(("int32", "int64", "long"), int)
)
"""Types of numbers; whatever its name says, a number with a point is float64 here."""
