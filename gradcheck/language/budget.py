"""What a program may use, counted as it runs: no clock, so the same program ends the same way."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, fields
from math import isqrt, prod
from operator import index

import numpy as np

from gradcheck.errors import PROGRAM_EXPONENT, OutOfBudget
from gradcheck.language.vocabulary import words
from gradcheck.values import Routine, Value

# -- sizes -----------------------------------------------------------------------------------------

Shape = tuple[int, ...]

DEEPEST = 32
OF_ARRAYS = words(
    "zeros_like ones_like tile repeat pad broadcast_to expand round vander diff tensordot "
    "array_split one_hot sliding_window_view"
)
MAKERS = OF_ARRAYS | words("empty full eye arange linspace randint polygamma")
"""What makes as much, or works as long, as a number says that it is given, behind an array or not.

A list of them is a shape, but for these the largest counts.
"""
EACH = words("repeat pad diff linspace round array_split")
MULTIPLIERS = words(
    "matmul vecdot dot inner vdot tensordot det logabsdet signdet slogdet logdet inv solve "
    "cholesky eigh eigvalsh eigenvectors svdvals pinv matrix_power left_singular_vectors "
    "right_singular_vectors"
)
"""What multiplies matrices."""


def shape_of(value: Value) -> Shape:
    shape = getattr(value, "shape", ())
    return shape if isinstance(shape, tuple) else ()


def find_array_shape(value: Value) -> Shape:
    """The shape that a value has or, being lists in lists, would have as an array."""
    shape: Shape = ()
    while isinstance(value, list | tuple) and value and len(shape) < DEEPEST:
        shape += (len(value),)
        value = value[0]
    return shape + shape_of(value)


def broadcast(*shapes: Shape) -> Shape:
    """The shape that shapes broadcast to; () where they do not fit, for then nothing is made."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        return ()


def count_ahead(name: str, args: Collection[Value]) -> int:
    """How many elements a call is to make by its arguments: broadcast together, or a number."""
    shapes = [shape for each in args if (shape := find_array_shape(each))]
    if name in ("zeros", "ones", "rand", "randn"):
        return _read_number(tuple(args), prod)
    told = [*args][name in OF_ARRAYS :] if name in MAKERS else []
    numbers = [_read_number(each, max if name in EACH else prod) for each in told]
    most, given = max([*numbers[: 1 if name == "full" else None], 0]), list(map(prod, shapes))
    if name in ("outer", "kron", "meshgrid", "convolve", "correlate"):
        return prod(given)
    if name in ("tile", "repeat", "diff", "vander") and given:
        return given[0] * most
    if name in ("eye", "diag") and max(map(len, shapes), default=0) < 2:
        return max(most, *given, 0) ** 2
    if name == "one_hot":
        highest = _read_number(next(iter(args), 0), max)
        return max(prod(broadcast(*shapes)), 1) * max(most, highest + 1)
    if name == "einsum" and isinstance(next(iter(args), None), str):
        return count_letters(args)
    return max(prod(broadcast(*shapes)), most)


def count_letters(args: Collection[Value], summed: bool = False) -> int:
    """The elements that `einsum` makes; with those over which it sums, its multiplications."""
    subscripts, *operands = args
    left, arrow, right = subscripts.replace(" ", "").replace(".", "").partition("->")
    pairs = zip(left.split(","), map(find_array_shape, operands), strict=False)
    lengths = {k: n for word, shape in pairs for k, n in zip(word[::-1], shape[::-1], strict=False)}
    kept = right if arrow else [k for k in lengths if left.count(k) == 1]
    return prod(lengths.get(k, 1) for k in (lengths if summed else kept))


def _read_number(value: Value, join: Callable[[Iterable[int]], int]) -> int:
    """An integer, or several joined to one; 0 of anything else."""
    if isinstance(value, np.ndarray) and value.size and value.dtype.kind in "iu":
        value = int(np.max(value)) if join is max else value.tolist()
    if isinstance(value, tuple | list):
        some = value if join is max else value[:DEEPEST]
        return join([1, *(max(_read_number(each, join), 1) for each in some)])
    try:
        return abs(index(value))
    except TypeError:
        return 0


def count_multiplications(args: Collection[Value], made: Value) -> int:
    """How many multiplications a product of matrices took: n m k for sizes n m, m k and n k."""
    sizes = sorted((prod(find_array_shape(each)) for each in args), reverse=True)
    first, second = (*sizes, 1)[:2]
    if second == 1:  # an inverse, a determinant
        return isqrt(first) ** 3
    return isqrt(first * second * max(prod(shape_of(made)), 1))


# -- budgets ---------------------------------------------------------------------------------------

# An entry of a list takes this many times as long to look at as an element of an array.
LIST_ENTRY = 20
FEWER = "use fewer turns or smaller arrays"


def _limit(most: int, what: str, cure: str) -> int:
    """A limit, what there is too much of beyond it, and what to do."""
    return field(default=most, metadata={"what": what, "cure": cure})


@dataclass(frozen=True)
class Budget:
    """What a run may use, of steps, elements made and products altogether."""

    steps: int = _limit(100_000, "steps (turns of loops, and calls)", "use fewer turns")
    depth: int = _limit(50, "calls inside calls", "write a loop")
    elements: int = _limit(10_000_000, "elements in one array", "make it smaller")
    entries: int = _limit(1_000_000, "entries in one list", "make it shorter")
    total: int = _limit(200_000_000, "elements made altogether", FEWER)
    products: int = _limit(10**9, "multiplications of matrix entries", "multiply smaller matrices")
    bits: int = _limit(10_000, "bits in one integer", "write a decimal number: `10.0**n`")
    exponent: int = _limit(
        PROGRAM_EXPONENT, "as the exponent of a power", "choose a smaller exponent"
    )


LIMITS = {each.name: each.metadata for each in fields(Budget)}


class Meter:
    """Refuses what is beyond a budget's limits; `spent` is what adds up over the run.

    `done` counts the steps and the values made.
    """

    def __init__(self, budget: Budget) -> None:
        self.budget, self.spent = budget, {"steps": 0, "depth": 0, "total": 0, "products": 0}
        self.made = 0

    def expect(self, limit: str, amount: int) -> None:
        if amount > getattr(self.budget, limit):
            raise make_refusal(limit=getattr(self.budget, limit), **LIMITS[limit])

    def spend(self, limit: str, amount: int = 1) -> None:
        self.spent[limit] += amount
        self.expect(limit, self.spent[limit])

    @property
    def done(self) -> int:
        return self.spent["steps"] + self.made

    def charge(self, made: Value) -> None:
        self.made += 1
        if isinstance(made, list | tuple):
            self.charge_list(len(made))
            return
        size = prod(shape_of(made))
        self.spend("total", size)
        self.expect("elements", size)

    def charge_list(self, entries: int) -> None:
        self.expect("entries", entries)
        self.spend("total", LIST_ENTRY * entries)

    def measure(self, value: Value) -> bool:
        """Charge for lists in lists; whether a text or a type is among them.

        Looking stops at the limits, for a list may hold itself. A type in a tuple is a dtype whose
        every entry is an array: `(int, (1000, 1000))`.
        """
        if not isinstance(value, list | tuple):
            self.expect("elements", prod(shape_of(value)))
            return False
        entries, extra, left, texts = len(value), 0, [value], False
        while left and entries <= self.budget.entries and entries + extra <= self.budget.elements:
            for each in left.pop():
                if isinstance(each, list | tuple):
                    entries += len(each)
                    left.append(each)
                elif type(each) is not float and type(each) is not int:
                    texts = texts or isinstance(each, str | type)
                    extra += prod(shape_of(each)) - 1
        self.charge_list(entries)
        self.expect("elements", entries + extra)
        return texts

    def call(self, function: Routine, args: Value, kwargs: Value) -> Value:
        self.spend("steps")
        self.spend("depth")
        try:
            return function(*args, **kwargs)
        finally:
            self.spent["depth"] -= 1


def make_refusal(what: str, limit: int, cure: str) -> OutOfBudget:
    return OutOfBudget(f"more than {limit:,} {what} - {cure}")
