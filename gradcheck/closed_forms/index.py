"""Index notation: sums of products of tensors at indices, as expressions that can be read.

`2/n * X[i,a] * (P[i,j] - Y[i,j])`, summed over every index that the result does not have
(Einstein's convention; Laue, Mitterreiter, Giesen: A simple and efficient tensor calculus, 2020).
An index is a number that stands for one axis; an axis of length one has none (None).
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import count

_keys = count(1).__next__


@dataclass(frozen=True)
class Index:
    """What stands for one axis; `size` is what its length is called (`X.shape[0]`)."""

    key: int
    size: str = field(compare=False, default="1")


Axis = Index | None
Axes = tuple[Axis, ...]
RECIPROCAL = "1/u0"  # the text of what stands below the line
Sizes = tuple[tuple[str, int], ...]  # the text of a size (`X.shape[0]`), and its power
Where = Mapping[Index, Axis]


def fresh(like: Index) -> Index:
    """A new index for an axis as long as another."""
    return Index(_keys(), like.size)


def indices(shape: Iterable[int], sizes: Iterable[str]) -> Axes:
    """A new index for each axis, none for those of length one."""
    return tuple(
        Index(_keys(), size) if n != 1 else None for n, size in zip(shape, sizes, strict=True)
    )


@dataclass(frozen=True)
class Named:
    """A tensor that has a name, at indices."""

    name: str
    axes: Axes

    def at(self, where: Where) -> "Named":
        """The same tensor at other indices."""
        return replace(self, axes=_moved(self.axes, where))


@dataclass(frozen=True)
class Applied:
    """A function of one entry of each part: NumPy text in `u0`, `u1`, ... that stand for them.

    `slopes` are its derivatives by each part, as texts in which `y` is its own value; without them
    it is not differentiated again.
    """

    text: str
    parts: tuple["Sum", ...]
    slopes: tuple[str, ...] = ()

    @property
    def axes(self) -> Axes:
        """The indices that it has, each once."""
        return distinct(*(part.axes for part in self.parts))

    def at(self, where: Where) -> "Applied":
        """The same at other indices."""
        if not any(part.indexed for part in self.parts):
            return self
        return replace(self, parts=tuple(part.at(where) for part in self.parts))


@dataclass(frozen=True)
class Called:
    """A function of whole tensors (`inv(A)`, `softmax(Z, axis=-1)`): text in `u0`, ..., at indices.

    Each part is printed with its own axes; the result has `axes`.
    """

    text: str
    parts: tuple["Sum", ...]
    axes: Axes

    def at(self, where: Where) -> "Called":
        """The same tensor at other indices; what is inside keeps its own."""
        return replace(self, axes=_moved(self.axes, where))


@dataclass(frozen=True)
class Delta:
    """One where two indices are equal, else zero."""

    axes: tuple[Index, Index]

    def at(self, where: Where) -> "Delta":
        """The same between other indices."""
        return Delta(_moved(self.axes, where))  # type: ignore[arg-type]


@dataclass(frozen=True)
class Product:
    """A number, sizes of axes to whole powers, and factors; summed over what is not asked for."""

    number: Fraction = Fraction(1)
    sizes: Sizes = ()
    factors: tuple["Factor", ...] = ()

    @property
    def axes(self) -> Axes:
        """The indices of the factors, each once."""
        return distinct(*(f.axes for f in self.factors))

    def at(self, where: Where) -> "Product":
        """The same at other indices."""
        return replace(self, factors=tuple(f.at(where) for f in self.factors))

    def times(self, other: "Product") -> "Product":
        """The product of two products."""
        powers = Counter(dict(self.sizes))
        powers.update(dict(other.sizes))
        sizes = tuple(sorted((text, power) for text, power in powers.items() if power))
        return Product(self.number * other.number, sizes, (*self.factors, *other.factors))


@dataclass(frozen=True)
class Sum:
    """Products added up; `axes` are the indices of the result, in the order of its axes."""

    products: tuple[Product, ...]
    axes: Axes

    def __hash__(self) -> int:
        """As of every frozen dataclass, but worked out once: expressions are deep."""
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.products, self.axes))

    @cached_property
    def indexed(self) -> bool:
        """Whether an index stands anywhere inside: in a program of numbers there is none."""
        factors = (factor for product in self.products for factor in product.factors)
        return any(self.axes) or any(map(_is_indexed, factors))

    @cached_property
    def depth(self) -> int:
        """How deep sums are nested: the numbers of one are never met inside of another."""
        parts = (part for p in self.products for f in p.factors for part in inside(f))
        return 1 + max((part.depth for part in parts), default=0)

    def at(self, where: Where) -> "Sum":
        """The same at other indices; an index that is summed over inside is never met by them."""
        if not self.indexed:
            return self
        bound = {
            axis
            for product in self.products
            for axis in product.axes
            if axis is not None and axis not in self.axes
        }
        inner = {axis: fresh(axis) for axis in bound} | {
            axis: new for axis, new in where.items() if axis not in bound
        }
        return Sum(tuple(p.at(inner) for p in self.products), _moved(self.axes, inner))


Factor = Named | Applied | Called | Delta | Sum


def inside(factor: Factor) -> Sequence[Sum]:
    """The expressions inside of a factor."""
    if isinstance(factor, Sum):
        return (factor,)
    return factor.parts if isinstance(factor, Applied | Called) else ()


def _is_indexed(factor: Factor) -> bool:
    own = () if isinstance(factor, Applied | Sum) else factor.axes
    return any(own) or any(part.indexed for part in inside(factor))


def single(factor: Factor, axes: Axes | None = None) -> Sum:
    """One factor as an expression, at its own indices unless others are given."""
    return Sum((Product(factors=(factor,)),), factor.axes if axes is None else axes)


def one(axes: Axes = ()) -> Sum:
    """The number one, at every index."""
    return Sum((Product(),), axes)


def added(parts: Iterable[Sum], axes: Axes) -> Sum:
    """The sum of expressions over the same indices; equal products are counted."""
    products: dict[tuple[object, ...], Product] = {}
    for part in parts:
        for product in part.products:
            key = (product.sizes, product.factors)
            before = products[key].number if key in products else 0
            products[key] = replace(product, number=before + product.number)
    return Sum(tuple(p for p in products.values() if p.number), axes)


def multiplied(parts: Iterable[Sum], axes: Axes) -> Sum:
    """The product of expressions, summed over the indices that `axes` does not have.

    A single product is taken in; a sum of several stays together as one factor. An index that
    nothing depends on counts as often as it is long.
    """
    whole, every = Product(), dict.fromkeys(a for a in axes if a is not None)
    for part in parts:
        every.update(dict.fromkeys(a for a in part.axes if a is not None))
        whole = whole.times(_taken_in(part))
    for lone in (a for a in every if a not in axes and a not in whole.axes):
        whole = whole.times(_long(lone))
    whole = contracted(whole, axes)
    return Sum((whole,), axes) if whole.number else Sum((), axes)


def _long(index: Index) -> Product:
    """How long an axis is."""
    if index.size.isdigit():
        return Product(Fraction(index.size))
    return Product(sizes=((index.size, 1),))


def _taken_in(part: Sum) -> Product:
    """A part as a product: one that adds or sums up stays a factor, but for what is common."""
    if len(part.products) == 1 and is_free(part):
        return part.products[0]
    outer, rest = common(part.products)
    return replace(outer, factors=(Sum(rest, part.axes),)) if rest else Product(Fraction(0))


def common(products: tuple[Product, ...]) -> tuple[Product, tuple[Product, ...]]:
    """The number and the sizes that all products have, and what is left of each."""
    numbers = {abs(p.number) for p in products}
    number = numbers.pop() if len(numbers) == 1 else Fraction(1)
    number = -number if all(p.number < 0 for p in products) else number
    sizes = products[0].sizes if len({p.sizes for p in products}) == 1 else ()
    rest = (replace(p, number=p.number / number, sizes=() if sizes else p.sizes) for p in products)
    return Product(number, sizes), tuple(rest)


def is_free(part: Sum) -> bool:
    """Whether a product sums over nothing: only then its indices cannot be mixed up."""
    return all(a is None or a in part.axes for a in part.products[0].axes)


def contracted(product: Product, axes: Axes) -> Product:
    """The product without the deltas over an index that is summed over."""
    for factor in product.factors:
        if isinstance(factor, Delta):
            a, b = factor.axes
            rest = tuple(f for f in product.factors if f is not factor)
            if a == b:
                return contracted(replace(product, factors=rest), axes)
            gone, stays = (a, b) if a not in axes else (b, a)
            if gone not in axes:
                return contracted(replace(product, factors=rest).at({gone: stays}), axes)
    return product


def _moved(axes: Axes, where: Where) -> Axes:
    return tuple(None if a is None else where.get(a, a) for a in axes)


def distinct(*many: Axes) -> tuple[Index, ...]:
    """Every index of these axes, each once."""
    return tuple(dict.fromkeys(a for axes in many for a in axes if a is not None))
