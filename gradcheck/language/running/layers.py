"""How much the formulas of `ops.composed` make: windows, stacks, tables, on the way or in the end.

A bound from above: what stands between may be larger than the result. The arguments of a formula
come by position, with its defaults (`Compound.in_order`); named is only what it takes so alone.
"""

from collections.abc import Callable, Mapping, Sequence
from math import isqrt, prod
from typing import Any, NamedTuple

from gradcheck.language.running.shapes import (
    Shape,
    broadcast,
    integers,
    number,
    shape_as_array,
)


class Size(NamedTuple):
    """What a call will make: elements, and multiplications on the way."""

    elements: int
    products: int = 0


Args = Sequence[Any]
Named = Mapping[str, Any]
Estimate = Callable[[Args, Named], Size]


def size(values: Args) -> int:
    """The elements of some values, as arrays."""
    return sum(prod(shape_as_array(each)) for each in values)


def _first(args: Args, count: int = 1) -> tuple[Shape, ...]:
    """The shapes of the first arguments."""
    return tuple(map(shape_as_array, args[:count]))


def _wide(*shapes: Shape) -> int:
    """The elements of what shapes broadcast to."""
    return prod(broadcast(*shapes))


def beside(args: Args, kwargs: Named) -> Size:
    """`gather(x, dim, index)`, `index_put(...)`: no more than all arguments hold."""
    return Size(size((*args, *kwargs.values())))


def joined(args: Args, kwargs: Named) -> Size:
    """`broadcast_arrays(a, b)`, `append(a, b)`: each argument in the shape of all."""
    parts = [p for each in args for p in (each if isinstance(each, list | tuple) else [each])]
    return Size(size(parts) + len(parts) * _wide(*map(shape_as_array, parts)))


def crossed(args: Args, kwargs: Named) -> Size:
    """`meshgrid(a, b)`: each entry with each, however many arrays see them."""
    parts = args[0] if len(args) == 1 and isinstance(args[0], list | tuple) else args
    return Size(prod(size([each]) for each in parts))


def masked(args: Args, kwargs: Named) -> Size:
    """`masked_select(x, mask)`: both in one shape; of `masked_scatter` the source beside them."""
    return Size(_wide(*_first(args, 2)) + size(args[2:]))


def along_one(args: Args, kwargs: Named) -> Size:
    """`take_along_dim(x, index, dim)`: on one axis the index, on the others the wider of both."""
    (x, index), axis = _first(args, 2), args[2]
    if axis is None:
        return Size(size(args))
    rest = (tuple(n for k, n in enumerate(v) if k != axis % len(v)) for v in (x, index))
    return Size(_wide(*rest) * max(x[axis], index[axis]))


def placed(args: Args, kwargs: Named) -> Size:
    """`index_put(x, (i, j), values)`: for each place what stands on the axes behind the first."""
    (x,) = _first(args)
    places = _wide(*map(shape_as_array, args[1]))
    return Size(max(prod(x), places * prod(x[1:]), size(args[2:3])))


def diagonals(args: Args, kwargs: Named) -> Size:
    """`diag_embed(x, offset)`: a matrix for each row."""
    *outer, n = shape_as_array(args[0]) or (1,)
    return Size(prod(outer) * (n + sum(integers(args[1]))) ** 2)


def on_a_diagonal(args: Args, kwargs: Named) -> Size:
    """`diagflat(x, k)`: a matrix with all entries on a diagonal."""
    return Size((size(args[:1]) + sum(integers(*args[1:], *kwargs.values()))) ** 2)


def blocks(args: Args, kwargs: Named) -> Size:
    """`block_diag(a, b)`: the rows of all matrices times their columns."""
    rows, columns = ([prod(shape_as_array(v)[k:][:1]) for v in args] for k in (-2, -1))
    return Size(sum(rows) * sum(columns))


def covarying(args: Args, kwargs: Named) -> Size:
    """`cov(x, y, rowvar)`: each row with each, or each column."""
    shapes = [shape for shape in _first(args, 2) if shape]
    rows = sum((v[0] if args[2] else v[-1]) if len(v) > 1 else 1 for v in shapes)
    return Size(rows**2 + size(args[:2]), rows * size(args[:2]))


def apart(args: Args, kwargs: Named) -> Size:
    """`pdist(x)`: the difference of each row with each."""
    rows, columns = shape_as_array(args[0])
    return Size(rows**2 * columns)


def channelled(args: Args, kwargs: Named) -> Size:
    """`batch_norm(x, ..., weight, bias)`, `prelu(x, weight)`: numbers along the second axis."""
    (x,) = _first(args)
    channels = x[1] if len(x) > 1 else 1
    widest = max((size([v]) for v in (*args[1:], *kwargs.values())), default=1)
    return Size(prod(x) // max(channels, 1) * max(channels, widest))


def factored(args: Args, kwargs: Named) -> Size:
    """`svd(a, full_matrices)`, `qr(a, mode)`: square factors, unless the thin form is asked for."""
    (a,) = _first(args)
    full = args[1] in (True, "complete")
    made = prod(a[:-2]) * max(a) ** 2 if full else prod(a)
    return Size(made, prod(a) * min(a[-2:]))


def powers(args: Args, kwargs: Named) -> Size:
    """`vander(x, n)`: n powers of each entry, as many as there are entries by default."""
    count = max(integers(args[1]), default=size(args[:1]))
    return Size(size(args[:1]) * count, count * 1000)


def stepwise(args: Args, kwargs: Named) -> Size:
    """`logcumsumexp(x, 0)`, `polyval(p, x)`: one pass for each entry of the first argument."""
    shape, other = _first(args, 2)
    return Size(prod(shape) + prod(other), max(shape, default=1) * max(prod(other), 1000))


def _product(a: Shape, b: Shape) -> tuple[Shape, int]:
    """The shape of `a @ b`, and how long the sums are."""
    made = (*broadcast(a[:-2], b[:-2]), *a[-2:-1], *(b[-1:] if len(b) > 1 else ()))
    return made, a[-1] if a else 1


def linear(args: Args, kwargs: Named) -> Size:
    """`linear(x, W, b)`: rows of x times rows of W."""
    x, weight, bias = _first(args, 3)
    made = (*x[:-1], *weight[:-1])
    return Size(max(_wide(made, bias), prod(made)), prod(made) * prod(x[-1:]))


def added(args: Args, kwargs: Named) -> Size:
    """`addmm(x, a, b)`: a product, and what it is added to."""
    x, a, b = _first(args, 3)
    made, length = _product(a, b)
    return Size(max(_wide(x, made), _wide(x, made[1:]), prod(made)), prod(made) * length)


def added_outer(args: Args, kwargs: Named) -> Size:
    """`addr(x, u, v)`: each entry of u with each of v, and what they are added to."""
    made = tuple(size([v]) for v in args[1:3])
    return Size(max(_wide(_first(args)[0], made), prod(made)))


def bilinear(args: Args, kwargs: Named) -> Size:
    """`bilinear(x, y, W)`: each row with each matrix of the weight."""
    made = size(args[:2]) * size(args[2:3])
    return Size(max(made, size(args[3:])), made)


def attended(args: Args, kwargs: Named) -> Size:
    """`scaled_dot_product_attention(q, k, v)`, `cdist(a, b)`: each row with each row."""
    q, k = _first(args, 2)
    made = _wide(q[:-2], k[:-2]) * prod(q[-2:-1]) * prod(k[-2:-1]) * prod(q[-1:])
    return Size(max(made, size(args)), made)


def chained(args: Args, kwargs: Named) -> Size:
    """`multi_dot([a, b, c])`: from left to right."""
    made, *rest = map(shape_as_array, args[0] if len(args) == 1 else args)
    largest, products = prod(made), 0
    for each in rest:
        made, length = _product(made, each)
        largest, products = max(largest, prod(made)), products + prod(made) * length
    return Size(largest, products)


def systems(args: Args, kwargs: Named) -> Size:
    """`tensorsolve(a, b)`: a as a square matrix."""
    entries = prod(shape_as_array(args[0]))
    return Size(entries, entries * (isqrt(entries) + 1))


def celled(args: Args, kwargs: Named) -> Size:
    """`lstm_cell(x, (h, c), U, W)`: rows of x and h times rows of the weights."""
    x, weight = shape_as_array(args[0]), shape_as_array(args[2])
    made = prod(x[:-1]) * prod(weight[:1])
    return Size(max(made, size(args)), made * (prod(x[-1:]) + prod(weight[:1])))


def looked_up(args: Args, kwargs: Named) -> Size:
    """`embedding(places, W)`: a row for each place."""
    return Size(size(args[:1]) * prod(shape_as_array(args[1])[1:]))


def compared(args: Args, kwargs: Named) -> Size:
    """`interp(x, xp, fp)`, `quantile(x, q)`: each entry with each of the second argument."""
    return Size(size(args[:1]) * max(size(args[1:2]), 1))


def convolved(args: Args, kwargs: Named) -> Size:
    """`conv2d(x, w)`, and its transpose: windows of the kernel's size at every place."""
    x, weight, bias = _first(args, 3)
    kernel = weight[2:]
    largest = max(integers(*args[3:]), default=0)
    wide = [
        n * max(largest, 1) + 2 * (largest + 1) * (k + 1)
        for n, k in zip(x[-len(kernel) :], kernel, strict=True)
    ]
    spots = prod(x[: len(x) - len(kernel)]) * prod(wide)
    made = spots * prod(kernel)
    return Size(max(made, spots * prod(bias)), made * prod(weight[:1]))


def pooled(args: Args, kwargs: Named) -> Size:
    """`max_pool2d(x, k)`: windows of k by k at every place at most."""
    (x,) = _first(args)
    largest = max(integers(*args[1:]), default=1)
    kernel = max(integers(args[1]), default=1)
    count = 1 + (len(x) > 2) + (len(x) > 4)
    outer, inner = x[: len(x) - count], x[len(x) - count :]
    return Size(prod(outer) * prod((n + 2 * largest) * kernel for n in inner))


def windowed(args: Args, kwargs: Named) -> Size:
    """`unfold(x, dim, size, step)`, `sliding_window_view(x, sizes)`: a window at every place."""
    return Size(size(args[:1]) * prod(max(n, 1) for n in integers(*args[1:])))


def columns(args: Args, kwargs: Named) -> Size:
    """`im2col(x, kernel, dilation, padding)`: a window of two axes at every place."""
    *outer, height, width = shape_as_array(args[0])
    kernel, padding = (max(integers(args[k]), default=0) for k in (1, 3))
    return Size(prod(outer) * (height + 2 * padding) * (width + 2 * padding) * kernel**2)


def resized(args: Args, kwargs: Named) -> Size:
    """`interpolate(x, size)`, `interpolate(x, scale_factor=2)`: all axes after the second."""
    (x,) = _first(args)
    inner = x[2:]
    sizes, factor = integers(args[1]), args[2]
    factors = factor if isinstance(factor, list | tuple) else [factor or 1]
    grown = max((abs(number(f)) for f in factors), default=1.0)
    longest = max([*sizes, *(int(min(n * grown, 1e18)) + 1 for n in inner)], default=1)
    most = max([longest, *inner])
    made = prod(x[:2]) * most ** len(inner)
    return Size(max(made, most**2), made * most)


RULES: Mapping[str, Estimate] = {
    rule.__name__: rule
    for rule in (
        beside, joined, crossed, masked, along_one, placed, diagonals, on_a_diagonal, blocks,
        covarying, apart, channelled, factored, powers, stepwise, linear, added, added_outer,
        bilinear, attended, chained, systems, celled, looked_up, compared, convolved, pooled,
        windowed, columns, resized,
    )
}  # fmt: skip
"""By the word that a formula says of itself (`Compound.size`)."""
