"""Entries that rows of an identity pick, and what is divided by them.

`eye(n)[k]` beside a tensor is its entry k: divided by that entry only the row is left, so that the
gradient of `-log(s[k])` through a softmax s is `s - eye(n)[k]`.
"""

from collections.abc import Iterator, Sequence

from gradcheck.closed_forms.index import RECIPROCAL, Applied, Called, Factor, Index, Product, Sum


def is_row(factor: Factor) -> bool:
    """Whether it is one row of an identity, or several: ones at a place of the last axis."""
    if not isinstance(factor, Called):
        return False
    return factor.text.startswith("eye(") and factor.text.endswith("]")


def quotients(factors: Sequence[Factor]) -> Iterator[tuple[Factor, list[Factor]]]:
    """What is one over an entry that a row among the factors picks, and of what it is the entry.

    Times the row this is one, where the entry stands at the row's index.
    """
    for row in filter(is_row, factors):
        along = row.axes[-1]
        for over in factors:
            if isinstance(over, Applied) and over.text == RECIPROCAL and along is not None:
                entry = _entry(row, along, over.parts[0])
                if entry:
                    yield over, entry


def _entry(row: Factor, along: Index, below: Sum) -> list[Factor]:
    """The factors whose entry a row picks, at its index; none where `below` is something else."""
    first = alone(below)
    if first is None:
        return []
    same = [f for f in first.factors if is_row(f) and _alike(f, row)]
    if len(same) != 1 or same[0].axes[-1] is None or same[0].axes[-1] in below.axes:
        return []
    return [f.at({same[0].axes[-1]: along}) for f in first.factors if f is not same[0]]


def alone(below: Sum) -> Product | None:
    """The one plain product that an expression is, also in brackets."""
    match below.products:
        case [Product(number=1, sizes=(), factors=[Sum() as inner])]:
            return alone(inner)
        case [Product(number=1, sizes=()) as product]:
            return product
    return None


def _alike(a: Factor, b: Factor) -> bool:
    """Whether two rows pick the same, of rows at the same indices."""
    same = (
        isinstance(a, Called) and isinstance(b, Called) and (a.text, a.parts) == (b.text, b.parts)
    )
    return same and a.axes[:-1] == b.axes[:-1]
