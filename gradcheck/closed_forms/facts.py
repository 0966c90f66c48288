"""What is known of the values that a program names: used to say its gradients in fewer words.

A quotient that the program calls `P` is written `P`; rows of a softmax add to one, what is centred
adds to zero, and a matrix that equals its transpose needs none.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from gradcheck.closed_forms.index import (
    RECIPROCAL,
    Applied,
    Axes,
    Axis,
    Called,
    Delta,
    Factor,
    Index,
    Named,
    Product,
    Sum,
    added,
    is_free,
    multiplied,
)
from gradcheck.closed_forms.meetings import Met, by_name, text_of
from gradcheck.closed_forms.picking import alone, is_row
from gradcheck.closed_forms.simplify import canonical, raised, simplified, with_parts

TWO = 2


@dataclass(frozen=True)
class Facts:
    """The definitions of named values, each at its own axes, unnamed values written out."""

    definitions: Mapping[str, Sum]

    def said(self, expression: Sum) -> Sum:
        """The expression in the fewest words that are known."""
        found = simplified(self._turned(self._folded(simplified(expression))))
        return raised(simplified(self._vanished(self._turned(self._folded(found)))))

    @cached_property
    def symmetric(self) -> frozenset[str]:
        """The named matrices that equal their transposes."""
        return frozenset(name for name, d in self.definitions.items() if _is_symmetric(d))

    # -- a product that has a name ---------------------------------------------------------------

    @cached_property
    def _named(self) -> list[tuple[str, Sum]]:
        """Definitions that are one product, the longest first."""
        whole = [(name, canonical(d)) for name, d in self.definitions.items() if _is_product(d)]
        return sorted(whole, key=lambda pair: -len(pair[1].products[0].factors))

    def _folded(self, expression: Sum) -> Sum:
        expression = canonical(expression)
        products = (self._fold(p) for p in expression.products)
        return Sum(tuple(products), expression.axes)

    def _fold(self, product: Product) -> Product:
        factors = tuple(with_parts(f, self._folded) for f in product.factors)
        product = _drawn_out(replace(product, factors=factors))
        for name, definition in self._named:
            while (shorter := by_name(product, name, definition)) is not None:
                product = shorter
        return product

    # -- what adds to one or to zero -------------------------------------------------------------

    def _vanished(self, expression: Sum) -> Sum:
        """The expression without sums that are known."""
        found = []
        for product in expression.products:
            factors = tuple(with_parts(f, self._vanished) for f in product.factors)
            if any(isinstance(f, Sum) and not f.products for f in factors):
                continue
            kept = self._summed(replace(product, factors=factors), expression.axes)
            if kept is not None:
                found.append(Sum((kept,), expression.axes))
        return added(found, expression.axes)

    def _summed(self, product: Product, axes: Sequence[Axis]) -> Product | None:
        """The product without factors that add to one; None where one adds to zero."""
        for factor in product.factors:
            others = [f for f in product.factors if f is not factor]
            taken = {a for f in others for a in f.axes} | set(axes)
            lone = [a for a in factor.axes if a is not None and a not in taken]
            if lone and self._adds_to_zero(factor, lone):
                return None
            if len(lone) == 1 and self._adds_to_one(factor, lone[0]):
                rest = replace(product, factors=tuple(others))
                gone = {a for a in factor.axes if a not in {*rest.axes, *axes, lone[0], None}}
                return product if gone else self._summed(rest, axes)
        return product

    def _adds_to_one(self, factor: Factor, along: Index) -> bool:
        """Whether it is a softmax along an index, or rows that were picked from an identity."""
        called = factor
        if isinstance(factor, Named) and factor.name in self.definitions:
            definition = self.definitions[factor.name]
            definition = definition.at(_at_axes(definition.axes, factor.axes))
            if not _is_product(definition, 1):
                return _is_share(definition, along)
            called = definition.products[0].factors[0]
        if not isinstance(called, Called):
            return False
        if is_row(called):
            return called.axes[-1] == along and along not in called.axes[:-1]
        if not called.text.startswith("softmax("):
            return False
        k = int(called.text.partition("axis=")[2].rstrip(")"))
        return called.axes[k] == along and called.axes.count(along) == 1

    def _adds_to_zero(self, factor: Factor, lone: Iterable[Index]) -> bool:
        whole = factor
        if isinstance(factor, Named) and factor.name in self.definitions:
            definition = self.definitions[factor.name]
            whole = definition.at(_at_axes(definition.axes, factor.axes))
        if not isinstance(whole, Sum) or len(whole.products) < TWO:
            return False
        for along in lone:
            axes = tuple(a for a in whole.axes if a != along)
            parts = [
                multiplied((Sum((p,), tuple(dict.fromkeys((*p.axes, along)))),), axes)
                for p in whole.products
            ]
            if not any(_counted((p for part in parts for p in part.products), axes)):
                return True
        return False

    # -- matrices that equal their transposes ------------------------------------------------------

    def _turned(self, expression: Sum) -> Sum:
        """The indices of what is symmetric in one order, so that equal terms look alike."""
        products = []
        for product in canonical(expression).products:
            factors = (with_parts(f, self._turned) for f in product.factors)
            whole = replace(product, factors=tuple(map(self._sorted, factors)))
            products.append(whole if expression.axes else _flat(whole))
        return Sum(tuple(_counted(products, expression.axes)), expression.axes)

    def _sorted(self, factor: Factor) -> Factor:
        if len(factor.axes) != TWO or None in factor.axes:
            return factor
        first, second = factor.axes
        assert first is not None
        assert second is not None
        if first.key <= second.key or not self._equals_its_transpose(factor):
            return factor
        return factor.at({first: second, second: first})

    def _equals_its_transpose(self, factor: Factor) -> bool:
        if isinstance(factor, Sum):
            return _is_symmetric(factor)
        if not isinstance(factor, Named | Called):
            return False
        if isinstance(factor, Named):
            return factor.name in self.symmetric
        if not factor.text.startswith("inv(") or len(factor.parts) != 1:
            return False
        part = factor.parts[0]
        if _is_product(part, 1) and isinstance(part.products[0].factors[0], Named):
            return part.products[0].factors[0].name in self.symmetric
        return _is_symmetric(part)


def facts(definitions: Mapping[str, Sum]) -> Facts:
    """What follows from definitions; they are put in the form in which they are compared."""
    return Facts({name: simplified(d) for name, d in definitions.items()})


def _is_product(definition: Sum, factors: int = 0) -> bool:
    """Whether a definition is one plain product (of so many factors), summed over nothing."""
    if len(definition.products) != 1 or not is_free(definition):
        return False
    (product,) = definition.products
    plain = product.number == 1 and not product.sizes
    if factors:
        return plain and len(product.factors) == factors
    lone = len(product.factors) == 1 and isinstance(product.factors[0], Named | Delta)
    return plain and bool(product.factors) and not lone


def _is_share(definition: Sum, along: Index) -> bool:
    """Whether it is a thing over the sum of such things along an index: `e / sum(e)`."""
    if len(definition.products) != 1:
        return False
    (product,) = definition.products
    for factor in product.factors:
        if text_of(factor) == RECIPROCAL and isinstance(factor, Applied):
            axes = tuple(a for a in definition.axes if a not in {along, None})
            above, below = _without(product, factor), alone(factor.parts[0])
            if below and canonical(Sum((above,), axes)) == canonical(Sum((below,), axes)):
                return True
    return False


def _at_axes(own: Sequence[Axis], others: Sequence[Axis]) -> Met:
    return {a: b for a, b in zip(own, others, strict=True) if a is not None}


def _in_order(product: Product) -> Product:
    """The factors in one order."""
    return replace(product, factors=tuple(sorted(product.factors, key=repr)))


def _counted(products: Iterable[Product], axes: Axes) -> Iterator[Product]:
    """Products that are equal but for brackets and the order of their factors, added up."""
    found: dict[Product, Product] = {}
    for product in products:
        key = _told(replace(product, number=Fraction(1)), axes)
        before = found[key].number if key in found else 0
        found[key] = replace(found.get(key, product), number=before + product.number)
    return (product for product in found.values() if product.number)


def _told(product: Product, axes: Axes) -> Product:
    """A product without brackets, its factors in one order."""
    flat = _in_order(_eyes(_flat(product)))
    return _in_order(canonical(Sum((flat,), axes)).products[0])


def _is_symmetric(definition: Sum) -> bool:
    """Whether an expression of two indices is the same with both exchanged."""
    if len(definition.axes) != TWO or None in definition.axes:
        return False
    i, j = definition.axes
    assert i is not None
    assert j is not None
    if i == j or i.size != j.size:
        return False
    turned = definition.at({i: j, j: i})
    sides = ({_told(p, (i, j)) for p in each.products} for each in (definition, turned))
    return next(sides) == next(sides)


def _flat(product: Product) -> Product:
    """The product with each sum of one product in it written out."""
    found = replace(product, factors=())
    for factor in product.factors:
        if isinstance(factor, Sum) and len(factor.products) == 1:
            inner = factor.at({a: a for a in factor.axes if a is not None})
            found = found.times(_flat(inner.products[0]))
        else:
            found = replace(found, factors=(*found.factors, factor))
    return found


def _eyes(product: Product) -> Product:
    """Deltas and identities with their indices in one order."""

    def sorted_(factor: Factor) -> Factor:
        identity = isinstance(factor, Named | Called) and text_of(factor).startswith("eye(")
        if (identity and text_of(factor).endswith(")")) or isinstance(factor, Delta):
            axes = tuple(sorted(factor.axes, key=lambda a: 0 if a is None else a.key))
            return replace(factor, axes=axes)  # type: ignore[arg-type]
        return factor

    return replace(product, factors=tuple(map(sorted_, product.factors)))


def _drawn_out(product: Product) -> Product:
    """The product with what all terms of a bracket are divided by outside of it."""
    found = replace(product, factors=())
    for factor in product.factors:
        group = factor if isinstance(factor, Sum) else None
        if group is None or len(group.products) < TWO:
            found = replace(found, factors=(*found.factors, factor))
            continue
        shared = set.intersection(*(set(p.factors) for p in group.products))
        kept = [f for f in dict.fromkeys(group.products[0].factors) if f in shared]
        kept = [f for f in kept if _divides(f, group)]
        for each in kept:
            group = replace(group, products=tuple(_without(p, each) for p in group.products))
        found = replace(found, factors=(*found.factors, group, *kept))
    return found


def _divides(factor: Factor, group: Sum) -> bool:
    return text_of(factor) == RECIPROCAL and {a for a in factor.axes if a} <= set(group.axes)


def _without(product: Product, factor: Factor) -> Product:
    left = list(product.factors)
    left.remove(factor)
    return replace(product, factors=tuple(left))
