"""Balls as matrices: flint multiplies, inverts and solves them whole, with proven bars.

NumPy would go through an object array product by product in Python, some hundred times slower.
"""

from collections.abc import Sequence
from math import prod

import numpy as np
from flint import arb_mat

from gradcheck.errors import OutOfBudget
from gradcheck.ops.row import Composed
from gradcheck.values import Numbers, Routine

PRODUCTS = 400
"""So many products, within a matrix product, take as long as making one ball in Python."""
STEPS = 16
"""Likewise the steps of an elimination, n^3 for n rows."""
WRITTEN_OUT = 100_000
"""The most products that a closed form is made of."""


def of_matrices(rule: Routine, signature: str, share: int) -> Composed:
    """A ball cell that a rule on `arb_mat`s serves, for each matrix of a stack.

    `signature` is NumPy's, "(n,k),(k,m)->(n,m)"; `share` steps of the rule cost as much as a ball.
    """

    def cell(*operands: Numbers) -> Numbers:
        entries = (e for v in operands for e in np.asarray(v, dtype=object).flat)
        kind: Numbers = next(type(e) for e in entries if hasattr(type(e), "by_matrices"))
        return kind.by_matrices(rule, signature, share, operands)

    return Composed(cell)


_PRODUCT = of_matrices(arb_mat.__mul__, "(n,k),(k,m)->(n,m)", PRODUCTS)


def product(a: Numbers, b: Numbers) -> Numbers:
    """`a @ b`; a vector is a row on the left and a column on the right, and comes off again."""
    if not (np.ndim(a) and np.ndim(b) and np.size(a) and np.size(b)):
        return np.matmul(np.asarray(a, dtype=object), np.asarray(b, dtype=object))
    row, column = np.ndim(a) == 1, np.ndim(b) == 1
    y = np.asarray(_PRODUCT.function(a[None, :] if row else a, b[:, None] if column else b))
    y = y[..., 0] if column else y
    return y[..., 0, :] if row and not column else y[..., 0] if row else y


def write_out(a: Numbers, b: Numbers) -> Numbers:
    """`a @ b`, product by product; OutOfBudget where no one would wait for it."""
    products = np.size(a) * (np.shape(b)[-1] if np.ndim(b) > 1 else 1)
    if products > WRITTEN_OUT:
        raise OutOfBudget(f"a matrix product of {products} products, written out one by one")
    return np.matmul(np.asarray(a, dtype=object), np.asarray(b, dtype=object))


def sum_products(terms: Sequence[str], out: str, *operands: Numbers) -> Numbers:
    """Two operands' `einsum` as a stack of matrix products; NumPy's own for anything else.

    What stands in one operand alone is summed there first; what both share with the value is the
    stack, what only they share is contracted.
    """
    plain = [np.asarray(v, dtype=object) for v in operands]
    if len(terms) != 2 or any(map(_repeats, terms)) or _is_stretched(terms, plain):
        return np.einsum(f"{','.join(terms)}->{out}", *plain)
    s, a = _sum_others(terms[0], plain[0], terms[1] + out)
    t, b = _sum_others(terms[1], plain[1], terms[0] + out)
    stack = [c for c in s if c in t and c in out]
    inside = [c for c in s if c in t and c not in out]
    rows, columns = ([c for c in term if c not in stack + inside] for term in (s, t))
    sizes = dict(zip(s, a.shape, strict=True)) | dict(zip(t, b.shape, strict=True))
    a = _lay(a, s, (stack, rows, inside), sizes)
    b = _lay(b, t, (stack, inside, columns), sizes)
    order = stack + rows + columns
    y = np.asarray(product(a, b)).reshape([sizes[c] for c in order])
    return y.transpose([order.index(c) for c in out])


def _repeats(term: str) -> bool:
    return len(set(term)) < len(term)


def _is_stretched(terms: Sequence[str], operands: Sequence[Numbers]) -> bool:
    """Whether a letter stands for axes of different lengths: NumPy repeats those of one entry."""
    axes = {
        pair for t, v in zip(terms, operands, strict=True) for pair in zip(t, v.shape, strict=True)
    }
    return len(axes) > len({letter for letter, _ in axes})


def _sum_others(term: str, v: Numbers, elsewhere: str) -> tuple[list[str], Numbers]:
    """An operand without the letters that stand nowhere else: their axes are summed."""
    alone = tuple(k for k, c in enumerate(term) if c not in elsewhere)
    return [c for c in term if c in elsewhere], np.asarray(np.sum(v, axis=alone), dtype=object)


def _lay(
    v: Numbers, term: list[str], groups: Sequence[list[str]], sizes: dict[str, int]
) -> Numbers:
    """An operand with its axes in three groups, each made one axis."""
    v = np.asarray(v, dtype=object).transpose([term.index(c) for group in groups for c in group])
    return v.reshape([prod(sizes[c] for c in group) for group in groups])
