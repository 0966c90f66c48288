"""What a program may use, counted as it runs: no clock, so the same program ends the same way."""

from collections.abc import Collection
from dataclasses import dataclass
from math import isqrt, prod
from operator import index
from typing import NamedTuple

from gradcheck.errors import PROGRAM_EXPONENT, OutOfBudget
from gradcheck.language.vocabulary import words
from gradcheck.values import Routine, Value

# -- sizes -----------------------------------------------------------------------------------------

Shape = tuple[int, ...]

DEEPEST = 32
MAKERS = words(
    "zeros ones empty full zeros_like ones_like eye arange linspace tile repeat pad broadcast_to "
    "expand rand randn randint round polygamma"
)
"""What makes as much, or works as long, as a number says that it is given."""
MULTIPLIERS = words(
    "matmul vecdot dot inner vdot tensordot einsum det logabsdet signdet slogdet logdet inv solve "
    "cholesky eigh eigvalsh eigenvectors svdvals pinv matrix_power left_singular_vectors "
    "right_singular_vectors"
)
"""What multiplies matrices."""


def shape_of(value: Value) -> Shape:
    shape = getattr(value, "shape", ())
    return shape if isinstance(shape, tuple) else ()


def size_of(value: Value) -> int:
    return prod(shape_of(value))


def shape_as_array(value: Value) -> Shape:
    """The shape that a value has or, being lists in lists, would have as an array."""
    shape: Shape = ()
    while isinstance(value, list | tuple) and value and len(shape) < DEEPEST:
        shape += (len(value),)
        value = value[0]
    return shape + shape_of(value)


class NestedCount(NamedTuple):
    entries: int
    elements: int


def count_nested(value: Value, most: NestedCount) -> NestedCount:
    """What is in lists in lists; stops beyond the most, for a list may hold itself."""
    if not isinstance(value, list | tuple | dict):
        return NestedCount(0, size_of(value))
    entries, extra, left = len(value), 0, [value]
    while left and entries <= most.entries and entries + extra <= most.elements:
        inner = left.pop()
        for each in inner.values() if isinstance(inner, dict) else inner:
            if isinstance(each, list | tuple | dict):
                entries += len(each)
                left.append(each)
            elif type(each) is not float and type(each) is not int:
                extra += size_of(each) - 1
    return NestedCount(entries, entries + extra)


def broadcast(*shapes: Shape) -> Shape:
    """The shape that shapes broadcast to; () where they do not fit, for then nothing is made."""
    longest = max(map(len, shapes), default=0)
    padded = [(1,) * (longest - len(shape)) + shape for shape in shapes]
    result = []
    for sizes in zip(*padded, strict=True):
        wide = {size for size in sizes if size != 1}
        if len(wide) > 1:
            return ()
        result.append(wide.pop() if wide else 1)
    return tuple(result)


def about_to_make(name: str, args: Collection[Value]) -> int:
    """How many elements a call is to make by its arguments: broadcast together, or a number."""
    shapes = [shape for each in args if (shape := shape_as_array(each))]
    numbers = [_number(each) for each in args] if name in MAKERS else []
    most, given = max([*numbers[: 1 if name == "full" else None], 0]), list(map(prod, shapes))
    if name in ("outer", "kron", "meshgrid", "convolve", "correlate"):
        return prod(given)
    if name in ("tile", "repeat") and given:
        return given[0] * most
    if name in ("eye", "diag") and max(map(len, shapes), default=0) < 2:
        return max(most, *given, 0) ** 2
    if name == "einsum" and isinstance(subscripts := next(iter(args), None), str):
        return _letters(subscripts, shapes)
    return max(prod(broadcast(*shapes)), most)


def _letters(subscripts: str, shapes: list[Shape]) -> int:
    left, arrow, right = subscripts.replace(" ", "").replace(".", "").partition("->")
    pairs = zip(left.split(","), shapes, strict=False)
    lengths = {k: n for word, shape in pairs for k, n in zip(word[::-1], shape[::-1], strict=False)}
    kept = right if arrow else [k for k in lengths if left.count(k) == 1]
    return prod(lengths.get(k, 1) for k in kept)


def _number(value: Value) -> int:
    """An integer, or those of a shape multiplied; 0 of anything else."""
    if isinstance(value, tuple | list):
        return prod(max(_number(each), 1) for each in value[:DEEPEST])
    try:
        return abs(index(value))
    except TypeError:
        return 0


def multiplications(args: Collection[Value], made: Value) -> int:
    """How many multiplications a product of matrices took: n m k for sizes n m, m k and n k."""
    sizes = sorted((prod(shape_as_array(each)) for each in args), reverse=True)
    first, second = (*sizes, 1)[:2]
    if second == 1:  # an inverse, a determinant
        return isqrt(first) ** 3
    return isqrt(first * second * max(size_of(made), 1))


# -- budgets ---------------------------------------------------------------------------------------

# An entry of a list takes this many times as long to look at as an element of an array.
LIST_ENTRY = 20


@dataclass(frozen=True)
class Budget:
    steps: int = 100_000  # turns of loops, and calls
    depth: int = 50  # helpers that call helpers
    elements: int = 10_000_000  # of one array or range
    entries: int = 1_000_000  # of one list, with those of the lists in it
    total: int = 200_000_000  # elements made over the whole run
    products: int = 1_000_000_000  # multiplications inside matmul and its kin, over the whole run
    bits: int = 10_000  # of an integer
    exponent: int = PROGRAM_EXPONENT  # of a power, where it is an integer


@dataclass
class Meter:
    budget: Budget
    steps: int = 0
    depth: int = 0
    total: int = 0
    products: int = 0

    def step(self) -> None:
        self.steps += 1
        if self.steps > self.budget.steps:
            raise over("steps (turns of loops, and calls)", self.budget.steps, "use fewer turns")

    def expect(self, elements: int) -> None:
        if elements > self.budget.elements:
            raise over("elements in one array", self.budget.elements, "make it smaller")

    def work(self, products: int) -> None:
        self.products += products
        if self.products > self.budget.products:
            cure = "multiply smaller matrices"
            raise over("multiplications of matrix entries", self.budget.products, cure)

    def charge(self, made: Value) -> None:
        if isinstance(made, list | tuple):
            self.list_items(len(made))
            return
        size = size_of(made)
        self.spend(size)
        if size > self.budget.elements:
            self.expect(size)

    def list_items(self, entries: int) -> None:
        self.room(entries)
        self.spend(LIST_ENTRY * entries)

    def room(self, entries: int) -> None:
        if entries > self.budget.entries:
            raise over("entries in one list", self.budget.entries, "make it shorter")

    def spend(self, elements: int) -> None:
        self.total += elements
        if self.total > self.budget.total:
            raise over(
                "elements made altogether", self.budget.total, "use fewer turns or smaller arrays"
            )

    def measure(self, value: Value) -> None:
        """Count the entries of lists in lists; refused if those or their arrays are many."""
        most = NestedCount(self.budget.entries, self.budget.elements)
        count = count_nested(value, most)
        self.list_items(count.entries)
        self.expect(count.elements)

    def integer(self, bits: int) -> None:
        if bits > self.budget.bits:
            limit = self.budget.bits
            raise over("bits in one integer", limit, "write a decimal number: `10.0**n`")

    def called(self, function: Routine, args: Value, kwargs: Value) -> Value:
        self.step()
        if self.depth >= self.budget.depth:
            raise over("calls inside calls", self.budget.depth, "write a loop")
        self.depth += 1
        try:
            return function(*args, **kwargs)
        finally:
            self.depth -= 1


def over(what: str, limit: int, cure: str) -> OutOfBudget:
    return OutOfBudget(f"more than {limit:,} {what} - {cure}")
