"""How large the result of a call is that makes more than it is given, before it runs.

Whatever makes no more is counted afterwards; what else a process may hold is for the system to
limit. A rule gives the elements of the result, and the multiplications of matrices on the way.
"""

from collections.abc import Callable, Mapping
from math import prod
from typing import Any, NamedTuple

from gradcheck.language.rules.vocabulary import words
from gradcheck.language.running.shapes import (
    Shape,
    broadcast,
    integers,
    number,
    shape_as_array,
)
from gradcheck.ops.formula import COMPOUNDS

Args = tuple[Any, ...]
Named = Mapping[str, Any]


class Size(NamedTuple):
    """How much a call makes, and how many multiplications of matrix entries that takes."""

    elements: int
    products: int = 0


Estimate = Callable[[Args, Named], Size]


def estimate(name: str, args: Args, kwargs: Named) -> Size:
    """The size of what a function makes; arguments that make no sense might fit each with each.

    Raises TypeError where the arguments are not those of the formula.
    """
    row = COMPOUNDS.get(name)
    if row is not None:
        args, kwargs = row.in_order(args, kwargs)
    try:
        return RULES.get(name, elementwise if row is None else given)(args, kwargs)
    except (IndexError, TypeError, ValueError):
        return outer((*args, *kwargs.values()), {})


def given(args: Args, kwargs: Named) -> Size:
    """No more than the largest argument."""
    return Size(max((_size([each]) for each in (*args, *kwargs.values())), default=0))


def _size(values: Any) -> int:
    """The elements of some values together."""
    return sum(prod(shape_as_array(each)) for each in values)


def elementwise(args: Args, kwargs: Named) -> Size:
    """All arguments broadcast together."""
    shapes = map(shape_as_array, (*args, *kwargs.values()))
    return Size(prod(broadcast(*(shape for shape in shapes if shape))))


def filled(args: Args, kwargs: Named) -> Size:
    """`zeros((2, 3))`, `zeros(2, 3)`."""
    return Size(prod(integers(*args, kwargs.get("shape"), kwargs.get("size"))))


def filled_like(args: Args, kwargs: Named) -> Size:
    """`zeros_like(x)`, `zeros_like(x, shape=(2, 3))`."""
    return Size(max(_size(args[:1]), prod(integers(*args[1:], *kwargs.values()))))


def square(args: Args, kwargs: Named) -> Size:
    """`eye(n)`, `eye(n, m)`, `tril_indices(n)`."""
    sizes = integers(*args, *kwargs.values())
    return Size(max(sizes, default=0) ** 2)


def stepped(args: Args, kwargs: Named) -> Size:
    """`arange(start, stop, step)`."""
    named = (kwargs[name] for name in ("start", "stop", "end", "step") if name in kwargs)
    bounds = [*map(number, (*args[:3], *named)), 0.0]
    first, last = (0.0, bounds[0]) if len(bounds) == 2 else bounds[:2]
    step = bounds[2] if len(bounds) > 3 and bounds[2] else 1.0
    return Size(int(min(abs((last - first) / step), 1e300)) + 1)


def spaced(args: Args, kwargs: Named) -> Size:
    """`linspace(start, stop, num)`; the ends may be arrays."""
    counts = integers(*args[2:3], kwargs.get("num"), kwargs.get("steps"))
    return Size(max(counts, default=100) * elementwise(args[:2], {}).elements)


def tiled(args: Args, kwargs: Named) -> Size:
    """`tile(x, (2, 3))`, `vander(x, 5)`, windows of a size at every place."""
    return Size(_size(args[:1]) * prod(max(n, 1) for n in integers(*args[1:], *kwargs.values())))


def repeated(args: Args, kwargs: Named) -> Size:
    """`repeat(x, 2)`, `repeat(x, [1, 2, 3])`, `x.repeat(2, 3)`."""
    counts = (integers(each) for each in (*args[1:], kwargs.get("repeats")))
    return Size(_size(args[:1]) * prod(max(each, default=1) or 1 for each in counts))


def reshaped(args: Args, kwargs: Named) -> Size:
    """`broadcast_to(x, shape)`, `x.expand(2, 3)`."""
    return Size(prod(integers(*args[1:], *kwargs.values())))


def padded(args: Args, kwargs: Named) -> Size:
    """`pad(x, width)`."""
    width = max(integers(*args[1:2], kwargs.get("pad_width"), kwargs.get("pad")), default=0)
    return Size(prod(length + 2 * width for length in shape_as_array(args[0]) if args))


def diagonal(args: Args, kwargs: Named) -> Size:
    """`diag(v, k)`: a vector becomes a matrix."""
    offset = sum(integers(*args[1:], *kwargs.values()))
    return Size((_size(args[:1]) + offset) ** 2 if len(shape_as_array(args[0])) == 1 else 0)


def outer(args: Args, kwargs: Named) -> Size:
    """`outer(a, b)`, `kron(a, b)`: each entry with each."""
    return Size(prod(_size([each]) for each in args))


def taken(args: Args, kwargs: Named) -> Size:
    """`take(x, index, axis)`: for each index at most all that is not on the shortest axis."""
    shape = shape_as_array(args[0]) if args else ()
    indices = max((_size([each]) for each in (*args[1:], *kwargs.values())), default=1)
    return Size(indices * prod(shape) // max(min(shape, default=1), 1))


def ordered(args: Args, kwargs: Named) -> Size:
    """`polygamma(n, x)`, `round(x, n)`: work that grows with n, not with the result."""
    plain = [each for each in (*args, *kwargs.values()) if not shape_as_array(each)]
    order = max(integers(*plain), default=0)
    return Size(elementwise(args, kwargs).elements, order * 10_000)


def multiplied(args: Args, kwargs: Named) -> Size:
    """`a @ b`: rows times columns, for each of the matrices in a stack."""
    a, b = (*map(shape_as_array, args[:2]), (), ())[:2]
    if not a or not b:
        return elementwise(args, kwargs)
    stack = prod(broadcast(a[:-2], b[:-2]))
    made = stack * prod(a[-2:-1]) * prod(b[-1:] if len(b) > 1 else ())
    return Size(made, made * a[-1])


def dotted(args: Args, kwargs: Named) -> Size:
    """`dot(a, b)`, `inner(a, b)`: each row of a with each of b."""
    a, b = (*map(shape_as_array, args[:2]), (), ())[:2]
    if not a or not b:
        return elementwise(args, kwargs)
    length = max(a[-1], 1)
    made = (prod(a) // length) * max(prod(b) // length, 1)
    return Size(made, made * length)


def contracted(args: Args, kwargs: Named) -> Size:
    """`tensordot(a, b, axes)`: what is left of a times what is left of b."""
    axes = kwargs.get("axes", kwargs.get("axis", args[2] if len(args) > 2 else 2))
    a = shape_as_array(args[0])
    if isinstance(axes, int):
        summed = prod(a[len(a) - axes :])
    else:
        firsts = axes[0] if isinstance(axes[0], list | tuple) else [axes[0]]
        summed = prod(a[axis] for axis in firsts)
    made = outer(args[:2], {}).elements // max(summed**2, 1)
    return Size(made, made * summed)


def einsum(args: Args, kwargs: Named) -> Size:
    """`einsum("ij,jk->ik", a, b)`: the letters of the result; all letters."""
    if not args or not isinstance(args[0], str):
        return outer(args, kwargs)
    left, arrow, right = args[0].replace(" ", "").partition("->")
    lengths: dict[str, int] = {}
    dots: list[Shape] = []
    for letters, operand in zip(left.split(","), args[1:], strict=False):
        dots.append(_read_letters(letters, shape_as_array(operand), lengths))
    if not arrow:
        right = "".join(each for each in lengths if left.count(each) == 1)
    rest = prod(broadcast(*dots))
    made = prod(lengths.get(each, 1) for each in right)
    return Size(made * rest, prod(lengths.values()) * rest)


def _read_letters(letters: str, shape: Shape, lengths: dict[str, int]) -> Shape:
    """Note the length of each letter's axis; what the dots stand for remains."""
    before, _, after = letters.partition("...")
    middle = len(shape) - len(after) if "..." in letters else len(before)
    for letter, length in [
        *zip(before, shape, strict=False),
        *zip(after, shape[middle:], strict=False),
    ]:
        lengths[letter] = max(length, lengths.get(letter, 1))
    return shape[len(before) : max(middle, 0)]


def cubic(args: Args, kwargs: Named) -> Size:
    """`inv(a)`, `det(a)`, `solve(a, b)`: as many passes over a as it has rows."""
    shape = shape_as_array(args[0]) if args else ()
    size = elementwise(args, kwargs).elements
    return Size(max(prod(shape), size), prod(shape) * max(shape, default=1))


RULES: Mapping[str, Estimate] = {
    name: rule
    for rule, names in (
        (filled, "zeros ones empty full rand randn randint Linear Embedding Conv1d Conv2d"),
        (filled, "LayerNorm BatchNorm1d BatchNorm2d RNNCell GRUCell LSTMCell"),
        (filled_like, "zeros_like ones_like"),
        (square, "eye"),
        (stepped, "arange"),
        (spaced, "linspace"),
        (tiled, "tile vander sliding_window_view"),
        (repeated, "repeat"),
        (reshaped, "broadcast_to expand"),
        (padded, "pad pad_last"),
        (diagonal, "diag"),
        (outer, "outer kron convolve correlate meshgrid masked_select"),
        (taken, "take take_along_axis index_select"),
        (ordered, "polygamma round"),
        (multiplied, "matmul vecdot"),
        (dotted, "dot inner vdot"),
        (contracted, "tensordot"),
        (einsum, "einsum"),
        (cubic, "det logabsdet signdet inv solve cholesky eigvalsh eigenvectors svdvals pinv"),
        (cubic, "left_singular_vectors right_singular_vectors slogdet eigh matrix_power logdet"),
    )
    for name in words(names)
}
"""By the name of the function; all others go element by element."""
