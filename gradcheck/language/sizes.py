"""Shapes of values of any kind, and how large the result of a call will be, before it runs.

What makes no more than it is given is counted afterwards, and what else a process may hold is for
the system to limit: a bound is here for what makes more, and for the multiplications of matrices.
"""

from collections.abc import Callable, Mapping
from math import prod
from operator import index
from typing import Any, NamedTuple

from gradcheck.language.vocabulary import words
from gradcheck.ops.formula import COMPOUNDS

Shape = tuple[int, ...]

# Entries of an array that may be a shape or counts; of a longer one the largest entry stands in.
FEW = 64
DEEPEST = 32


def shape_of(value: Any) -> Shape:
    """The shape of an array of any kind, () of everything else."""
    shape = getattr(value, "shape", ())
    return shape if isinstance(shape, tuple) else ()


def size_of(value: Any) -> int:
    """The number of elements of an array of any kind, 1 of a number."""
    return prod(shape_of(value))


def shape_as_array(value: Any) -> Shape:
    """The shape that a value has or, being lists in lists, would have as an array."""
    shape: Shape = ()
    while isinstance(value, list | tuple) and value and len(shape) < DEEPEST:
        shape += (len(value),)
        value = value[0]
    return shape + shape_of(value)


class NestedCount(NamedTuple):
    """The entries of lists in lists, and the elements of the arrays among them too."""

    entries: int
    elements: int


def count_nested(value: Any, most: NestedCount) -> NestedCount:
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


def integers(*values: Any) -> list[int]:
    """The absolute values of all integers in some values and the sequences among them."""
    found: list[int] = []
    for value in values:
        if isinstance(value, list | tuple):
            found += integers(*value[:FEW])
        elif shape_of(value):
            few = size_of(value) <= FEW and hasattr(value, "tolist")
            found += integers(value.tolist()) if few else [int(number(value.max()))]
        elif not isinstance(value, bool):
            found += _integer(value)
    return found


def _integer(value: Any) -> list[int]:
    """The absolute value of an integer of any type in a list of one, else nothing."""
    try:
        return [abs(index(value))]
    except TypeError:
        return []


def number(value: Any) -> float:
    """A number as a float; 0 where it is none, or must not be read as one."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return 0.0


# -- the size of a result --------------------------------------------------------------------------

Args = tuple[Any, ...]
Named = Mapping[str, Any]


class ResultSize(NamedTuple):
    """How much a call makes, and how many multiplications of matrix entries that takes."""

    elements: int
    products: int = 0


def estimate(name: str, args: Args, kwargs: Named) -> ResultSize:
    """The size of what a function makes; arguments that make no sense might fit each with each.

    Raises TypeError where the arguments are not those of the formula.
    """
    row = COMPOUNDS.get(name)
    if row is not None:
        args, kwargs = row.in_order(args, kwargs)
    try:
        if name in BOUNDS:
            return ResultSize(BOUNDS[name](args, kwargs))
        if name in PRODUCTS:
            return PRODUCTS[name](args, kwargs)
        sizes = [_size(each) for each in (*args, *kwargs.values())]
        return ResultSize(max(sizes, default=0)) if row else elementwise(args, kwargs)
    except (AttributeError, IndexError, TypeError, ValueError):
        return ResultSize(_each_with_each((*args, *kwargs.values()), {}))


def _size(value: Any) -> int:
    return prod(shape_as_array(value))


def elementwise(args: Args, kwargs: Named) -> ResultSize:
    """All arguments broadcast together."""
    shapes = map(shape_as_array, (*args, *kwargs.values()))
    return ResultSize(prod(broadcast(*(shape for shape in shapes if shape))))


def _counts(*values: Any) -> int:
    return prod(max(n, 1) for n in integers(*values))


def _each_with_each(args: Args, kwargs: Named) -> int:
    return prod(map(_size, args))


def _stepped(args: Args, kwargs: Named) -> int:
    """`arange(start, stop, step)`."""
    named = (kwargs[name] for name in ("start", "stop", "end", "step") if name in kwargs)
    bounds = [*map(number, (*args[:3], *named)), 0.0]
    first, last = (0.0, bounds[0]) if len(bounds) == 2 else bounds[:2]
    step = bounds[2] if len(bounds) > 3 and bounds[2] else 1.0
    return int(min(abs((last - first) / step), 1e300)) + 1


def _spaced(args: Args, kwargs: Named) -> int:
    """`linspace(start, stop, num)`; the ends may be arrays."""
    counts = integers(*args[2:3], kwargs.get("num"), kwargs.get("steps"))
    return max(counts, default=100) * elementwise(args[:2], {}).elements


def _repeated(args: Args, kwargs: Named) -> int:
    """`repeat(x, 2)`, `repeat(x, [1, 2, 3])`, `x.repeat(2, 3)`."""
    counts = (integers(each) for each in (*args[1:], kwargs.get("repeats")))
    return _size(args[0]) * prod(max(each, default=1) or 1 for each in counts)


def _padded(args: Args, kwargs: Named) -> int:
    width = max(integers(*args[1:2], kwargs.get("pad_width"), kwargs.get("pad")), default=0)
    return prod(length + 2 * width for length in shape_as_array(args[0]))


def _diagonal(args: Args, kwargs: Named) -> int:
    """`diag(v, k)`: a vector becomes a matrix."""
    offset = sum(integers(*args[1:], *kwargs.values()))
    return (_size(args[0]) + offset) ** 2 if len(shape_as_array(args[0])) == 1 else 0


def _taken(args: Args, kwargs: Named) -> int:
    """`take(x, index, axis)`: for each index at most all that is not on the shortest axis."""
    shape = shape_as_array(args[0])
    indices = max((_size(each) for each in (*args[1:], *kwargs.values())), default=1)
    return indices * prod(shape) // max(min(shape, default=1), 1)


BOUNDS: Mapping[str, Callable[[Args, Named], int]] = {
    name: bound
    for names, bound in (
        (
            "zeros ones empty full rand randn randint Linear Embedding Conv1d Conv2d LayerNorm "
            "BatchNorm1d BatchNorm2d RNNCell GRUCell LSTMCell",
            lambda args, named: _counts(*args, named.get("shape"), named.get("size")),
        ),
        (
            "zeros_like ones_like broadcast_to expand",
            lambda args, named: max(_size(args[0]), _counts(*args[1:], *named.values())),
        ),
        (
            "tile vander sliding_window_view",
            lambda args, named: _size(args[0]) * _counts(*args[1:], *named.values()),
        ),
        ("eye", lambda args, named: max(integers(*args, *named.values()), default=0) ** 2),
        ("arange", _stepped),
        ("linspace", _spaced),
        ("repeat", _repeated),
        ("pad pad_last", _padded),
        ("diag", _diagonal),
        ("outer kron convolve correlate meshgrid", _each_with_each),
        ("take take_along_axis", _taken),
    )
    for name in words(names)
}
"""What makes more than it is given: at most so many elements."""


def ordered(args: Args, kwargs: Named) -> ResultSize:
    """`polygamma(n, x)`, `round(x, n)`: work that grows with n, not with the result."""
    plain = [each for each in (*args, *kwargs.values()) if not shape_as_array(each)]
    return ResultSize(elementwise(args, kwargs).elements, max(integers(*plain), default=0) * 10_000)


def multiplied(args: Args, kwargs: Named) -> ResultSize:
    """`a @ b`: rows times columns, for each of the matrices in a stack."""
    a, b = (*map(shape_as_array, args[:2]), (), ())[:2]
    if not a or not b:
        return elementwise(args, kwargs)
    stack = prod(broadcast(a[:-2], b[:-2]))
    made = stack * prod(a[-2:-1]) * prod(b[-1:] if len(b) > 1 else ())
    return ResultSize(made, made * a[-1])


def contracted(args: Args, kwargs: Named) -> ResultSize:
    """`dot(a, b)`, `tensordot(a, b, axes)`: what is left of a times what is left of b."""
    axes = kwargs.get("axes", kwargs.get("axis", args[2] if len(args) > 2 else None))
    a, b = map(shape_as_array, args[:2])
    if not a or not b:
        return elementwise(args, kwargs)
    if axes is None or isinstance(axes, int):
        summed = prod(a[len(a) - (1 if axes is None else axes) :])
    else:
        firsts = axes[0] if isinstance(axes[0], list | tuple) else [axes[0]]
        summed = prod(a[axis] for axis in firsts)
    made = (prod(a) // max(summed, 1)) * max(prod(b) // max(summed, 1), 1)
    return ResultSize(made, made * summed)


def einsum(args: Args, kwargs: Named) -> ResultSize:
    """`einsum("ij,jk->ik", a, b)`: the letters of the result; all letters."""
    left, arrow, right = args[0].replace(" ", "").partition("->")
    lengths: dict[str, int] = {}
    dots: list[Shape] = []
    for letters, operand in zip(left.split(","), args[1:], strict=False):
        shape = shape_as_array(operand)
        before, _, after = letters.partition("...")
        middle = len(shape) - len(after) if "..." in letters else len(before)
        ends = [*zip(before, shape, strict=False), *zip(after, shape[middle:], strict=False)]
        for letter, length in ends:
            lengths[letter] = max(length, lengths.get(letter, 1))
        dots.append(shape[len(before) : max(middle, 0)])
    if not arrow:
        right = "".join(each for each in lengths if left.count(each) == 1)
    rest = prod(broadcast(*dots))
    made = prod(lengths.get(each, 1) for each in right)
    return ResultSize(made * rest, prod(lengths.values()) * rest)


def cubic(args: Args, kwargs: Named) -> ResultSize:
    """`inv(a)`, `det(a)`, `solve(a, b)`: as many passes over a as it has rows."""
    shape = shape_as_array(args[0]) if args else ()
    made = max(prod(shape), elementwise(args, kwargs).elements)
    return ResultSize(made, prod(shape) * max(shape, default=1))


PRODUCTS: Mapping[str, Callable[[Args, Named], ResultSize]] = {
    name: size
    for names, size in (
        ("polygamma round", ordered),
        ("matmul vecdot", multiplied),
        ("dot inner vdot", contracted),
        ("tensordot", lambda args, named: contracted((*args, 2), named)),
        ("einsum", einsum),
        ("det logabsdet signdet inv solve cholesky eigvalsh eigenvectors svdvals pinv", cubic),
        ("left_singular_vectors right_singular_vectors slogdet eigh matrix_power logdet", cubic),
    )
    for name in words(names)
}
"""What multiplies matrices, or takes time by a number that it is given."""
