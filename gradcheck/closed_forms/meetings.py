"""A definition met in a product: its factors among others, whatever their indices are called."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from gradcheck.closed_forms.index import (
    Applied,
    Axis,
    Called,
    Factor,
    Index,
    Named,
    Product,
    Sum,
    is_free,
)

Met = dict[Index, Axis]  # what the indices of a definition are in the product


def text_of(factor: Factor) -> str:
    """What a factor is called, or the text of its function."""
    return factor.name if isinstance(factor, Named) else getattr(factor, "text", "")


def by_name(product: Product, name: str, definition: Sum) -> Product | None:
    """The product with the factors of a definition by their name; None where it has them not.

    Some of them may stand in a sum beside the others, `Σ_k A[i,k]*B[i,k] * c[i]`.
    """
    needed = definition.products[0].factors
    if len(needed) <= len(product.factors):
        for used, met in _meetings(needed, product.factors, {}):
            whole = Named(
                name, tuple(None if a is None else met.get(a, a) for a in definition.axes)
            )
            first = min(used)
            rest = (
                whole if k == first else f
                for k, f in enumerate(product.factors)
                if k == first or k not in used
            )
            return replace(product, factors=tuple(rest))
    for k, factor in enumerate(product.factors):
        if isinstance(factor, Sum) and len(factor.products) == 1 and not is_free(factor):
            found = _across(product, k, name, definition)
            if found is not None:
                return found
    return None


def _across(product: Product, k: int, name: str, definition: Sum) -> Product | None:
    """The same where some factors stand in the sum at place k, and others beside it."""
    group = product.factors[k]
    assert isinstance(group, Sum)
    inner = group.products[0]
    outer = [f for i, f in enumerate(product.factors) if i != k and set(f.axes) <= set(group.axes)]
    every = (*inner.factors, *outer)
    needed = definition.products[0].factors
    for used, met in _meetings(needed, every, {}):
        taken = [every[i] for i in used if i >= len(inner.factors)]
        if not taken or len(taken) == len(used):
            continue
        whole = Named(name, tuple(None if a is None else met.get(a, a) for a in definition.axes))
        left = [f for i, f in enumerate(inner.factors) if i not in used]
        rest = list(product.factors)
        rest[k] = Sum((replace(inner, factors=(*left, whole)),), group.axes)
        for factor in taken:
            rest.remove(factor)
        return replace(product, factors=tuple(rest))
    return None


def _meetings(
    needed: Sequence[Factor], given: Sequence[Factor], met: Met
) -> Iterator[tuple[frozenset[int], Met]]:
    """Every way in which factors are found among others: their places, and what indices are."""
    if not needed:
        yield frozenset(), met
        return
    for k, factor in enumerate(given):
        found = _unified(needed[0], factor, met)
        if found is None:
            continue
        for used, whole in _meetings(needed[1:], given, found):
            if k not in used:
                yield used | {k}, whole


def _unified(a: Factor, b: Factor, met: Met) -> Met | None:
    """What the indices of one factor are in another of the same form; None where it is not."""
    if type(a) is not type(b) or text_of(a) != text_of(b) or len(a.axes) != len(b.axes):
        return None
    found: Met | None = met
    if not isinstance(a, Applied):
        found = _same_axes(a.axes, b.axes, met)
    if isinstance(a, Sum) and isinstance(b, Sum):
        return _same_sums(a, b, found)
    if isinstance(a, Called) and isinstance(b, Called):
        return found if a.parts == b.parts else None
    if isinstance(a, Applied) and isinstance(b, Applied):
        for x, y in zip(a.parts, b.parts, strict=True):
            found = None if found is None else _unified(x, y, found)
    return found


def _same_axes(a: Sequence[Axis], b: Sequence[Axis], met: Met) -> Met | None:
    found = dict(met)
    for x, y in zip(a, b, strict=True):
        if (x is None) != (y is None):
            return None
        if x is not None and found.setdefault(x, y) != y:
            return None
    return found if len(set(found.values())) == len(found) else None


def _same_sums(a: Sum, b: Sum, met: Met | None) -> Met | None:
    if met is None or len(a.products) != len(b.products):
        return None
    for p, q in zip(a.products, b.products, strict=True):
        if (p.number, p.sizes, len(p.factors)) != (q.number, q.sizes, len(q.factors)):
            return None
        for x, y in zip(p.factors, q.factors, strict=True):
            met = None if met is None else _unified(x, y, met)
    return met
