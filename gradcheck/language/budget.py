"""What a program may use, counted as it runs: no clock, so the same program ends the same way."""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

from gradcheck.errors import OutOfBudget
from gradcheck.language.sizes import NestedCount, Shape, broadcast, count_nested, size_of
from gradcheck.numbers.exponents import PROGRAM

# An entry of a list takes this many times as long to look at as an element of an array.
LIST_ENTRY = 20


@dataclass(frozen=True)
class Budget:
    """The limits of one run."""

    steps: int = 100_000  # turns of loops, and calls
    depth: int = 50  # helpers that call helpers
    elements: int = 10_000_000  # of one array or range
    entries: int = 1_000_000  # of one list, with those of the lists in it
    total: int = 200_000_000  # elements made over the whole run
    products: int = 1_000_000_000  # multiplications inside matmul and its kin, over the whole run
    bits: int = 10_000  # of an integer
    exponent: int = PROGRAM  # of a power, where it is an integer


@dataclass
class Meter:
    """What a run has used so far."""

    budget: Budget
    steps: int = 0
    depth: int = 0
    total: int = 0
    products: int = 0

    def step(self) -> None:
        """Count a turn of a loop or a call."""
        self.steps += 1
        if self.steps > self.budget.steps:
            raise over("steps (turns of loops, and calls)", self.budget.steps, "use fewer turns")

    def expect(self, elements: int) -> None:
        """Refuse what would have too many elements, before it is made."""
        if elements > self.budget.elements:
            raise over("elements in one array", self.budget.elements, "make it smaller")

    def work(self, products: int) -> None:
        """Count the multiplications of a product of matrices."""
        self.products += products
        if self.products > self.budget.products:
            cure = "multiply smaller matrices"
            raise over("multiplications of matrix entries", self.budget.products, cure)

    def charge(self, made: Any) -> None:
        """Count the elements of what was made."""
        if isinstance(made, list | tuple):
            self.listed(len(made))
            return
        size = size_of(made)
        self.spend(size)
        if size > self.budget.elements:
            self.expect(size)

    def listed(self, entries: int) -> None:
        """Count the entries of a list, before it is made or gone through."""
        self.room(entries)
        self.spend(LIST_ENTRY * entries)

    def room(self, entries: int) -> None:
        """Refuse a list that would have too many entries."""
        if entries > self.budget.entries:
            raise over("entries in one list", self.budget.entries, "make it shorter")

    def spend(self, elements: int) -> None:
        """Count elements."""
        self.total += elements
        if self.total > self.budget.total:
            raise over(
                "elements made altogether", self.budget.total, "use fewer turns or smaller arrays"
            )

    def measure(self, value: Any) -> None:
        """Count the entries of lists in lists; refused if those or their arrays are many."""
        most = NestedCount(self.budget.entries, self.budget.elements)
        count = count_nested(value, most)
        self.listed(count.entries)
        self.expect(count.elements)

    def pair(self, a: Shape, b: Shape) -> None:
        """Refuse an operation between two arrays that broadcasts too far."""
        if prod(a) * prod(b) > self.budget.elements:
            self.expect(prod(broadcast(a, b)))

    def integer(self, bits: int) -> None:
        """Refuse an integer that would have too many digits."""
        if bits > self.budget.bits:
            limit = self.budget.bits
            raise over("bits in one integer", limit, "write a decimal number: `10.0**n`")

    def called(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Call a helper, one level deeper."""
        self.step()
        if self.depth >= self.budget.depth:
            raise over("calls inside calls", self.budget.depth, "write a loop")
        self.depth += 1
        try:
            return function(*args, **kwargs)
        finally:
            self.depth -= 1


def over(what: str, limit: int, cure: str) -> OutOfBudget:
    """The error that says which limit would be passed, and how to stay below."""
    return OutOfBudget(f"more than {limit:,} {what} - {cure}")
