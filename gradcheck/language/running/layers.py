"""How much the formulas of `ops.composed` make: windows, stacks, tables, on the way or in the end.

A bound from above: what stands between may be larger than the result.
"""

from collections.abc import Callable, Mapping, Sequence
from math import isqrt, prod
from typing import Any, NamedTuple

from gradcheck.language.running.shapes import broadcast, integers, number, shape_as_array


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


def _first(args: Args, count: int = 1) -> tuple[tuple[int, ...], ...]:
    """The shapes of the first arguments."""
    return (*map(shape_as_array, args[:count]), *[()] * count)[:count]


def _given(args: Args, kwargs: Named, position: int, name: str) -> list[int]:
    """The whole numbers of a setting, by position or by name."""
    return integers(args[position] if len(args) > position else kwargs.get(name))


def beside(args: Args, kwargs: Named) -> Size:
    """`gather(x, dim, index)`, `index_put(...)`: no more than all arguments hold."""
    return Size(size((*args, *kwargs.values())))


def joined(args: Args, kwargs: Named) -> Size:
    """`broadcast_arrays(a, b)`, `append(a, b)`: each argument in the shape of all."""
    parts = [p for each in args for p in (each if isinstance(each, list | tuple) else [each])]
    wide = prod(broadcast(*map(shape_as_array, parts)))
    return Size(size(parts) + len(parts) * wide)


def paired(args: Args, kwargs: Named) -> Size:
    """`diagflat(x)`, `block_diag(a, b)`, `pdist(x)`, `cov(x)`: each entry with each at most."""
    offset = sum(integers(*kwargs.values()))
    return Size((size(args) + offset) ** 2)


def powers(args: Args, kwargs: Named) -> Size:
    """`vander(x, n)`: n powers of each entry, as many as there are entries by default."""
    count = max(integers(*args[1:2], kwargs.get("N")), default=size(args[:1]))
    return Size(size(args[:1]) * count, count * 1000)


def stepwise(args: Args, kwargs: Named) -> Size:
    """`logcumsumexp(x, 0)`, `polyval(p, x)`: one pass for each entry of the first argument."""
    (shape,) = _first(args)
    elements = prod(broadcast(*_first(args[1:], 1))) if len(args) > 1 else 1
    return Size(prod(shape) + elements, max(shape, default=1) * max(elements, 1000))


def linear(args: Args, kwargs: Named) -> Size:
    """`linear(x, W, b)`: rows of x times rows of W."""
    x = shape_as_array(args[0])
    weight = shape_as_array(args[1] if len(args) > 1 else kwargs["weight"])
    made = prod(x[:-1]) * prod(weight[:-1])
    return Size(made, made * (x[-1] if x else 1))


def added(args: Args, kwargs: Named) -> Size:
    """`addmm(x, a, b)`, `addr(x, u, v)`: a product, and what it is added to."""
    a, b = _first(args[1:], 2)
    rows = prod(a[:-1]) if len(b) > 1 or len(a) > 1 else prod(a)
    made = rows * (b[-1] if len(b) > 1 or len(a) < 2 else 1) if b else rows
    return Size(size(args[:1]) + made, made * (a[-1] if a else 1))


def bilinear(args: Args, kwargs: Named) -> Size:
    """`bilinear(x, y, W)`: each row with each matrix of the weight."""
    return Size(size(args[:2]) * size(args[2:3]), size(args[:2]) * size(args[2:3]))


def attended(args: Args, kwargs: Named) -> Size:
    """`scaled_dot_product_attention(q, k, v)`, `cdist(a, b)`: each row with each row."""
    q, k = _first(args, 2)
    stack = prod(broadcast(q[:-2], k[:-2])) or 1
    made = max(stack, prod(q[:-2]), prod(k[:-2])) * prod(q[-2:-1]) * prod(k[-2:-1])
    return Size(made * prod(q[-1:]), made * prod(q[-1:]))


def chained(args: Args, kwargs: Named) -> Size:
    """`multi_dot([a, b, c])`: no product is larger than the longest axis, squared."""
    parts = list(args[0]) if len(args) == 1 else list(args)
    longest = max((n for each in parts for n in shape_as_array(each)), default=1)
    return Size(longest**2, len(parts) * longest**3)


def systems(args: Args, kwargs: Named) -> Size:
    """`tensorsolve(a, b)`: a as a square matrix."""
    entries = prod(shape_as_array(args[0]))
    return Size(entries, entries * (isqrt(entries) + 1))


def looked_up(args: Args, kwargs: Named) -> Size:
    """`embedding(places, W)`: a row for each place."""
    weight = shape_as_array(args[1] if len(args) > 1 else kwargs["weight"])
    return Size(size(args[:1]) * prod(weight[1:]))


def compared(args: Args, kwargs: Named) -> Size:
    """`interp(x, xp, fp)`, `quantile(x, q)`: each entry with each of the second argument."""
    return Size(size(args[:1]) * max(size([*args[1:2], *kwargs.values()]), 1))


def convolved(args: Args, kwargs: Named) -> Size:
    """`conv2d(x, w)`, and its transpose: windows of the kernel's size at every place."""
    x, weight = _first(args, 2)
    if not weight:
        weight = shape_as_array(kwargs["weight"])
    kernel = weight[2:]
    strides = max(integers(*args[3:], *kwargs.values()), default=1)
    settings = (*args[3:], *(v for name, v in kwargs.items() if name not in ("weight", "bias")))
    largest = max(integers(*settings), default=0)
    wide = [
        n * max(strides, 1) + 2 * (largest + 1) * (k + 1)
        for n, k in zip(x[-len(kernel) :], kernel, strict=False)
    ]
    windows = prod(x[: len(x) - len(kernel)]) * prod(wide) * prod(kernel)
    return Size(windows, windows * prod(weight[:1]))


def pooled(args: Args, kwargs: Named) -> Size:
    """`max_pool2d(x, k)`: windows of k by k at every place at most."""
    (x,) = _first(args)
    settings = integers(*args[1:], *kwargs.values())
    largest = max(settings, default=1)
    kernel = max(
        _given(args, kwargs, 1, "kernel_size") + _given(args, kwargs, 1, "output_size"), default=1
    )
    count = 1 + (len(x) > 2) + (len(x) > 4)
    outer, inner = x[: len(x) - count], x[len(x) - count :]
    return Size(prod(outer) * prod((n + 2 * largest) * kernel for n in inner))


def windowed(args: Args, kwargs: Named) -> Size:
    """`unfold(x, dim, size, step)`, `F.unfold(x, kernel)`, `sliding_window_view(x, size)`."""
    sizes = integers(*args[1:], *kwargs.values())
    padding = max(_given(args, kwargs, 3, "padding"), default=0) if len(args) != 4 else 0
    return Size(size(args[:1]) * prod(max(n, 1) for n in sizes) * (1 + 2 * padding) ** 2)


def resized(args: Args, kwargs: Named) -> Size:
    """`interpolate(x, size)`, `interpolate(x, scale_factor=2)`: all axes after the second."""
    (x,) = _first(args)
    inner = x[2:]
    sizes = _given(args, kwargs, 1, "size")
    factor = args[2] if len(args) > 2 else kwargs.get("scale_factor", 1)
    factors = factor if isinstance(factor, list | tuple) else [factor]
    grown = max((abs(number(f)) for f in factors), default=1.0)
    longest = max([*sizes, *(int(min(n * grown, 1e18)) + 1 for n in inner)], default=1)
    most = max([longest, *inner])
    made = prod(x[:2]) * most ** len(inner)
    return Size(max(made, most**2), made * most)


RULES: Mapping[str, Estimate] = {
    rule.__name__: rule
    for rule in (
        beside, joined, paired, powers, stepwise, linear, added, bilinear, attended, chained,
        systems, looked_up, compared, convolved, pooled, windowed, resized,
    )
}  # fmt: skip
"""By the word that a formula says of itself (`Compound.size`)."""
