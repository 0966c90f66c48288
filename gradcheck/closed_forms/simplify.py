"""Expressions made shorter: bound indices alike, quotients that cancel, sums that melt away."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from itertools import product as pairs

from gradcheck.closed_forms.definitions import reciprocal
from gradcheck.closed_forms.index import (
    RECIPROCAL,
    Applied,
    Axes,
    Axis,
    Called,
    Factor,
    Index,
    Named,
    Product,
    Sum,
    added,
    distinct,
    is_free,
    single,
)
from gradcheck.closed_forms.picking import quotients

MOST = 24  # products that an expansion may have


def simplified(expression: Sum) -> Sum:
    """The expression, each of its products written out where that is shorter."""
    inner = canonical(_inside(expression))
    products = [p for product in inner.products for p in _shorter(product)]
    return added([Sum((p,), inner.axes) for p in products], inner.axes)


def canonical(expression: Sum) -> Sum:
    """The expression with indices that are summed over numbered in order: equal parts look so.

    From the outside in, for moving a sum gives those inside of it new numbers.
    """
    if not expression.indexed:
        return expression
    depth, products = expression.depth, []
    for product in expression.products:
        bound = [a for a in product.axes if a is not None and a not in expression.axes]
        where: dict[Index, Axis] = {
            a: Index(-1000 * depth - k, a.size) for k, a in enumerate(bound)
        }
        moved = product.at(where)
        products.append(replace(moved, factors=tuple(map(_canonical, moved.factors))))
    return Sum(tuple(products), expression.axes)


def _canonical(factor: Factor) -> Factor:
    if isinstance(factor, Sum):
        return canonical(factor)
    if isinstance(factor, Called):
        return replace(factor, parts=tuple(canonical(_alone(p)) for p in factor.parts))
    if isinstance(factor, Applied):
        return replace(factor, parts=tuple(map(canonical, factor.parts)))
    return factor


def _alone(part: Sum) -> Sum:
    """What is called on a whole tensor has indices that nobody outside knows."""
    where: dict[Index, Axis] = {
        a: Index(-k - 1, a.size) for k, a in enumerate(part.axes) if a is not None
    }
    return part.at(where)


def _inside(expression: Sum) -> Sum:
    """The same, with what stands inside of functions and nested sums simplified first."""
    whole = (
        reduce(Product.times, (_spliced(_inner(f)) for f in p.factors), replace(p, factors=()))
        for p in expression.products
    )
    return Sum(tuple(whole), expression.axes)


def _spliced(factor: Factor) -> Product:
    """A factor as a product: one product in brackets without them, one over it factor by factor."""
    inner = factor
    if isinstance(factor, Applied) and factor.text == RECIPROCAL:
        inner = reciprocal(factor.parts[0])
    if isinstance(inner, Sum) and len(inner.products) == 1 and is_free(inner):
        return inner.products[0]
    return Product(factors=(factor,))


def _inner(factor: Factor) -> Factor:
    if isinstance(factor, Sum):
        return simplified(factor)
    if isinstance(factor, Applied | Called):
        return replace(factor, parts=tuple(map(simplified, factor.parts)))
    return factor


def _shorter(product: Product) -> Sequence[Product]:
    """The product, or the sum that it is when written out: first where quotients cancel."""
    product = cancelled(product)
    groups = [f for f in product.factors if _is_group(f, product)]
    hopeful = [g for g in groups if _divided_by(g) & (set(product.factors) - {g})]
    if not hopeful:
        return (product,)
    axes = product.axes
    partly = _terms(product, hopeful)
    wholly = [t for p in partly for t in _terms(p, [f for f in p.factors if _is_group(f, p)])]
    candidates = [(product,), *(_added(terms, axes) for terms in (partly, wholly))]
    candidates += [(_inwards(product, g),) for g in hopeful]
    return min(candidates, key=_weight)


def _inwards(product: Product, group: Factor) -> Product:
    """The product with what a bracket is divided by multiplied into it."""
    assert isinstance(group, Sum)
    own = set(group.axes)
    moved = [f for f in product.factors if f in _divided_by(group) and set(f.axes) <= own]
    moved = list(dict.fromkeys(moved))
    left = list(product.factors)
    for factor in (group, *moved):
        left.remove(factor)
    terms = (cancelled(replace(p, factors=(*p.factors, *moved))) for p in group.products)
    return replace(product, factors=(*left, Sum(tuple(terms), group.axes)))


def _added(terms: Sequence[Product], axes: Axes) -> Sequence[Product]:
    return added([Sum((_ordered(p),), axes) for p in terms], axes).products


def _ordered(product: Product) -> Product:
    """The factors in one order: equal products look alike."""
    return replace(product, factors=tuple(sorted(product.factors, key=repr)))


def _divided_by(group: Factor) -> set[Factor]:
    assert isinstance(group, Sum)
    divided = {d for p in group.products for d in _dividers(p.factors)}
    picked = (entry for p in group.products for _, entry in quotients(p.factors))
    return divided.union(*picked)


def _dividers(factors: Sequence[Factor]) -> Iterator[Factor]:
    """What stands below the line: a single factor, or a sum."""
    for factor in factors:
        if isinstance(factor, Applied) and factor.text == RECIPROCAL:
            yield below(factor)


def below(factor: Applied) -> Factor:
    """What a reciprocal divides by."""
    part = factor.parts[0]
    one = part.products[0] if len(part.products) == 1 else None
    plain = one is not None and one.number == 1 and not one.sizes and len(one.factors) == 1
    return one.factors[0] if plain and one is not None else part


def _is_group(factor: Factor, product: Product) -> bool:
    """Whether a factor is a sum that sums over nothing: only then it may be written out."""
    return isinstance(factor, Sum) and all(
        a is None or a in factor.axes for p in factor.products for a in p.axes
    )


def _terms(product: Product, groups: Sequence[Factor]) -> list[Product]:
    """The product with some of its groups written out."""
    left = list(product.factors)
    for group in groups:
        left.remove(group)
    found = [replace(product, factors=tuple(left))]
    for group in groups:
        assert isinstance(group, Sum)
        if len(found) * len(group.products) > MOST:
            return [product]
        found = [cancelled(a.times(b)) for a, b in pairs(found, group.products)]
    return found


def cancelled(product: Product) -> Product:
    """The product without factors that stand above and below the line."""
    left = list(product.factors)
    for factor in product.factors:
        if isinstance(factor, Applied) and factor.text == RECIPROCAL and factor in left:
            divider = below(factor)
            if divider in left:
                left.remove(factor)
                left.remove(divider)
    for over, entry in list(quotients(left)):
        if over in left and not Counter(entry) - Counter(left):
            for factor in (over, *entry):
                left.remove(factor)
    return replace(product, factors=tuple(left))


def _weight(products: Sequence[Product]) -> int:
    """How long products are to read."""
    return sum(1 + sum(map(_of_factor, p.factors)) for p in products)


def _of_factor(factor: Factor) -> int:
    if isinstance(factor, Sum):
        return _weight(factor.products)
    if isinstance(factor, Applied | Called):
        return 1 + sum(_weight(part.products) for part in factor.parts)
    return 1


def with_parts(factor: Factor, change: Callable[[Sum], Sum]) -> Factor:
    """A factor with what stands inside of it changed."""
    if isinstance(factor, Sum):
        return change(factor)
    if isinstance(factor, Applied | Called):
        return replace(factor, parts=tuple(map(change, factor.parts)))
    return factor


def raised(expression: Sum) -> Sum:
    """The expression with powers in the place of equal factors."""
    products = []
    for product in expression.products:
        factors = [with_parts(f, raised) for f in product.factors]
        times: Counter[Factor] = Counter(f for f in factors if isinstance(f, Named | Sum))
        whole: list[Factor] = []
        for factor in factors:
            if factor not in times:
                whole.append(factor)
            elif times[factor]:
                whole.append(_power(factor, times[factor]))
                times[factor] = 0
        products.append(replace(product, factors=tuple(whole)))
    return Sum(tuple(products), expression.axes)


def _power(factor: Factor, times: int) -> Factor:
    if times == 1:
        return factor
    axes = distinct(factor.axes)
    return Applied(f"u0**{times}", (single(factor, axes),))
