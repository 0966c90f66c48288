"""Derivatives of every entry, and of derivatives, in index notation: Jacobians and Hessians."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from gradcheck.closed_forms.derive import cotangents, gradients
from gradcheck.closed_forms.index import (
    Applied,
    Axes,
    Called,
    Delta,
    Factor,
    Named,
    Product,
    Sum,
    contracted,
    fresh,
    multiplied,
    single,
)
from gradcheck.closed_forms.slopes import NoText
from gradcheck.closed_forms.steps import HIDDEN, Step
from gradcheck.closed_forms.trees import PREFIX

ROW = f"{HIDDEN}row"  # the cotangent of the value whose entries are differentiated


def jacobians(steps: Sequence[Step]) -> dict[str, Sum]:
    """The gradient of every entry of the last step by every step; the entry's indices come first.

    A gradient is linear in the cotangent: what it is at one entry has a delta in its place.
    """
    end = steps[-1]
    seed = single(Named(ROW, end.axes))
    row = tuple(None if a is None else fresh(a) for a in end.axes)
    return {name: _at_entry(g, row) for name, g in gradients(list(steps), seed).items()}


def with_gradient(steps: Sequence[Step], name: str) -> list[Step]:
    """The steps of a run, and after them those of the way back up to the gradient by one."""
    found = list(steps)
    for step, cotangent, g in cotangents(found[:], Sum((Product(),), steps[-1].axes)):
        hidden = HIDDEN + PREFIX + step.name
        found.append(Step(hidden, step.shape, step.axes, step.sizes, _hidden(g)))
        assert cotangent == PREFIX + step.name
        if step.name == name:
            return found
    raise NoText(f"the value does not depend on {name}")


def _hidden(g: Sum) -> Sum:
    """An expression with cotangents under the names that they have as steps."""
    return Sum(tuple(_renamed(p) for p in g.products), g.axes)


def _renamed(product: Product) -> Product:
    return replace(product, factors=tuple(map(_renamed_factor, product.factors)))


def _renamed_factor(factor: Factor) -> Factor:
    if isinstance(factor, Named) and factor.name.startswith(PREFIX):
        return replace(factor, name=HIDDEN + factor.name)
    if isinstance(factor, Sum):
        return _hidden(factor)
    if isinstance(factor, Applied | Called):
        return replace(factor, parts=tuple(map(_hidden, factor.parts)))
    return factor


def _at_entry(g: Sum, row: Axes) -> Sum:
    """A gradient with deltas for its cotangent: of the entry at the indices `row`."""
    axes = (*row, *g.axes)
    products = (_product_at(p, row, axes) for p in g.products)
    return Sum(tuple(p for whole in products for p in _multiplied_out(whole, axes)), axes)


def _multiplied_out(product: Product, axes: Axes) -> Iterator[Product]:
    """A product, or those that follow where a sum in it has a delta: `diag(p) - outer(p, p)`."""
    for factor in product.factors:
        if isinstance(factor, Sum) and any(_has_delta(p) for p in factor.products):
            rest = replace(product, factors=tuple(f for f in product.factors if f is not factor))
            for each in factor.products:
                parts = (Sum((rest,), rest.axes), Sum((each,), factor.axes))
                for found in multiplied(parts, axes).products:
                    yield from _multiplied_out(found, axes)
            return
    yield from [product] if product.number else []


def _has_delta(product: Product) -> bool:
    return any(isinstance(f, Delta) for f in product.factors)


def _product_at(product: Product, row: Axes, axes: Axes) -> Product:
    factors: list[Factor] = []
    for factor in product.factors:
        if isinstance(factor, Named) and factor.name == ROW:
            pairs = zip(factor.axes, row, strict=True)
            factors += [Delta((a, b)) for a, b in pairs if a is not None and b is not None]
        elif isinstance(factor, Sum) and _mentions(factor):
            inner = tuple(dict.fromkeys((*factor.axes, *(a for a in row if a is not None))))
            products = tuple(_product_at(p, row, inner) for p in factor.products)
            factors.append(Sum(products, inner))
        elif _mentions(factor):
            raise NoText("a cotangent inside of a function of tensors")
        else:
            factors.append(factor)
    return contracted(replace(product, factors=tuple(factors)), axes)


def _mentions(factor: Factor) -> bool:
    """Whether the cotangent stands in an expression."""
    if isinstance(factor, Named):
        return factor.name == ROW
    if isinstance(factor, Sum):
        return any(_mentions(f) for p in factor.products for f in p.factors)
    return isinstance(factor, Applied | Called) and any(map(_mentions, factor.parts))
