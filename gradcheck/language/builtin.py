"""Python's own functions as a program may call them: within the budget, on any kind of number."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial, reduce
from itertools import islice
from operator import index
from typing import Any

from gradcheck.language.guards import Function, Guards
from gradcheck.language.sizes import shape_of

EXTREMES = {"max": (max, "maximum"), "min": (min, "minimum")}
UNCLEAR = "`{0}(x, {1})` means an axis or a number - write `{0}(x, axis={1})` or `{2}(x, {1})`"


@dataclass(frozen=True)
class Builtins:
    """The built-in functions of one run; `find` knows the number kind's functions."""

    guards: Guards
    find: Callable[[str], Function]

    def named(self, name: str) -> Function:
        """The built-in that a program calls by a name; its calls are steps."""
        plain = BUILTIN[name]

        def counted(*args: Any, **kwargs: Any) -> Any:
            self.guards.meter.step()
            return plain(self, *args, **kwargs)

        return counted

    def numbers(self, *bounds: Any) -> range:
        """A range that the budget can walk through."""
        made = range(*map(index, bounds))
        self.guards.meter.expect((made.stop - made.start) // made.step)
        return made

    def listed(self, values: Iterable[Any] = ()) -> list[Any]:
        """The items of anything, up to the budget."""
        made = list(islice(iter(values), self.guards.meter.budget.entries + 1))
        self.guards.meter.charge(made)
        return made

    def ordered(self, values: Iterable[Any], reverse: bool) -> list[Any]:
        """The items from the smallest to the largest; lists are compared entry by entry."""
        items = self.listed(values)
        self.guards.meter.measure(items)
        return sorted(items, reverse=reverse)

    def absolute(self, value: Any) -> Any:
        """The absolute value; of arrays by the number kind."""
        return abs(value) if isinstance(value, int | float) else self.find("abs")(value)

    def total(self, values: Any, *start: Any, **kwargs: Any) -> Any:
        """The items of a list added up one by one; an array is summed by the number kind."""
        if kwargs or not _is_listing(values):
            return self.find("sum")(values, *start, **kwargs)
        items = [*start, *self.listed(values)]
        return reduce(partial(self.guards.operate, "add"), items) if items else 0

    def extreme(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """`max(a, b, c)`, `max(values)`; of arrays and along axes by the number kind."""
        plain, pairwise = EXTREMES[name]
        if kwargs or (len(args) == 1 and not _is_listing(args[0])):
            return self.find(name)(*args, **kwargs)
        if len(args) == 2 and isinstance(args[1], int) and shape_of(args[0]):
            raise TypeError(UNCLEAR.format(name, args[1], pairwise))
        items = self.listed(args[0]) if len(args) == 1 else args
        if all(isinstance(item, int | float) for item in items):
            return plain(items)
        return reduce(self.find(pairwise), items)

    def whole(self, value: Any = 0) -> int:
        """An integer."""
        made = int(value)
        self.guards.meter.integer(made.bit_length())
        return made

    def real(self, value: Any = 0) -> Any:
        """An integer as a number of the kind; other numbers as Python would have them."""
        is_integer = isinstance(value, int)
        return self.guards.literal(Fraction(value)) if is_integer else float(value)


def length(values: Any) -> int:
    """The length of a list, or of the first axis of an array."""
    shape = getattr(values, "shape", None)
    return int(shape[0]) if shape else len(values)


def _is_listing(values: Any) -> bool:
    """Whether something walks like a list, and is no array or number."""
    return hasattr(values, "__iter__") and not hasattr(values, "shape")


BUILTIN: dict[str, Function] = {
    "range": Builtins.numbers,
    "len": lambda own, values: length(values),
    "enumerate": lambda own, *args, **kwargs: enumerate(*args, **kwargs),
    "zip": lambda own, *lists, strict=False: zip(*lists, strict=strict),
    "abs": Builtins.absolute,
    "min": lambda own, *args, **kwargs: own.extreme("min", args, kwargs),
    "max": lambda own, *args, **kwargs: own.extreme("max", args, kwargs),
    "sum": Builtins.total,
    "int": Builtins.whole,
    "float": Builtins.real,
    "bool": lambda own, value=False: bool(value),
    "list": Builtins.listed,
    "tuple": lambda own, values=(): tuple(own.listed(values)),
    "sorted": lambda own, values, reverse=False: own.ordered(values, bool(reverse)),
    "reversed": lambda own, values: own.listed(values)[::-1],
}
TYPE: dict[str, type] = {"float": float, "int": int, "bool": bool} | (
    dict.fromkeys(("float32", "float64", "double"), float)
    | dict.fromkeys(("int32", "int64", "long"), int)
)
"""Types of numbers; whatever its name says, a number with a point is float64 here."""
