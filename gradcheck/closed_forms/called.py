"""How a cotangent goes back through functions of whole tensors: softmax, inv, cholesky, kron."""

from fractions import Fraction

from gradcheck.closed_forms.definitions import reciprocal
from gradcheck.closed_forms.index import (
    Applied,
    Axes,
    Called,
    Factor,
    Product,
    Sum,
    Where,
    added,
    contracted,
    fresh,
    multiplied,
    single,
)


def _at(factor: Factor, axes: Axes) -> Sum:
    """A tensor at other indices."""
    where = {
        a: b for a, b in zip(factor.axes, axes, strict=True) if a is not None and b is not None
    }
    return single(factor.at(where), axes)


def _axis_of(factor: Called) -> int:
    return int(factor.text.partition("axis=")[2].partition(",")[0].rstrip(")"))


def _softmax(factor: Called, part: Sum, value: Factor, g: Sum) -> Sum:
    """P * (g - sum of g*P along the axis)."""
    along = factor.axes[_axis_of(factor)]
    assert along is not None
    other = tuple(fresh(along) if a == along else a for a in factor.axes)
    own = _at(value, factor.axes)
    dot = multiplied((g, own), tuple(a for a in factor.axes if a != along))
    dot = Sum(tuple(p.at({along: other[_axis_of(factor)]}) for p in dot.products), dot.axes)
    first = multiplied((own, g), factor.axes)
    second = multiplied((own, Sum((Product(Fraction(-1)),), ()), dot), factor.axes)
    return _onto(part, factor, added((first, second), factor.axes))


def _log_softmax(factor: Called, part: Sum, value: Factor, g: Sum) -> Sum:
    """G - softmax * (sum of g along the axis)."""
    k = _axis_of(factor)
    along = factor.axes[k]
    assert along is not None
    chances = Called(f"softmax(u0, axis={k})", factor.parts, factor.axes)
    total = Sum(
        tuple(p.at({along: fresh(along)}) for p in g.products),
        tuple(a for a in g.axes if a != along),
    )
    second = multiplied(
        (Sum((Product(Fraction(-1)),), ()), _at(chances, factor.axes), total), factor.axes
    )
    return _onto(part, factor, added((g, second), factor.axes))


def _logsumexp(factor: Called, part: Sum, value: Factor, g: Sum) -> Sum:
    """G * softmax."""
    k = _axis_of(factor)
    kept = list(factor.axes)
    if len(kept) < len(part.axes):
        kept.insert(k, None)
    along = part.axes[k]
    assert along is not None
    axes = tuple(fresh(along) if i == k else a for i, a in enumerate(kept))
    chances = Called(f"softmax(u0, axis={k})", factor.parts, axes)
    whole = multiplied((g, _at(chances, axes)), axes)
    return _onto(part, chances, whole)


def _inv(factor: Called, part: Sum, value: Factor, g: Sum) -> Sum:
    """- inv(A).T @ g @ inv(A).T."""
    i, j = factor.axes
    assert i is not None
    k, m = fresh(i), fresh(i)
    left, right = _at(value, (i, k)), _at(value, (m, j))
    whole = multiplied((Sum((Product(Fraction(-1)),), ()), left, g, right), (k, m))
    return _onto(part, Called("", factor.parts, (k, m)), whole)


def _det(factor: Called, part: Sum, value: Factor, g: Sum) -> Sum:
    """G * det(A) * inv(A).T."""
    row = part.axes[0]
    assert row is not None
    k, m = fresh(row), fresh(row)
    inverse = Called("inv(u0)", factor.parts, (m, k))
    own = single(value, ())
    whole = multiplied((g, own, single(inverse)), (k, m))
    return _onto(part, Called("", factor.parts, (k, m)), whole)


def _logabsdet(factor: Called, part: Sum, value: Factor, g: Sum) -> Sum:
    """G * inv(A).T; the sign is a constant."""
    if factor.text.endswith("[0]"):
        return Sum((), part.axes)
    row, column = part.axes
    inverse = Called("inv(u0)", factor.parts, (column, row))
    return multiplied((g, single(inverse)), part.axes)


def _cholesky(factor: Called, part: Sum, value: Factor, g: Sum) -> Sum:
    """Half of S + S.T, where S = inv(L).T @ (lower half of L.T @ g) @ inv(L).

    The diagonal of the lower half counts half (Murray: Differentiation of the Cholesky
    decomposition, 2016, eq. 10).
    """
    i, j = factor.axes
    assert i is not None
    assert j is not None
    a, b, k, m = (fresh(i) for _ in range(4))
    whole = single(value, factor.axes)
    inverse = Called("inv(u0)", (whole,), factor.axes)
    lower = Called(f"tril(ones(({i.size}, {i.size}))) - eye({i.size})/2", (), (a, b))
    inner = multiplied((_at(value, (i, a)), g.at({j: b})), (a, b))
    parts = (_at(inverse, (a, k)), single(lower), inner)
    turned = (Sum((Product(Fraction(1, 2)),), ()), *parts, _at(inverse, (b, m)))
    first = multiplied(turned, (k, m))
    second = Sum(first.at({k: m, m: k}).products, (k, m))
    return _onto(part, Called("", factor.parts, (k, m)), added((first, second), (k, m)))


def _cumprod(factor: Called, part: Sum, value: Factor, g: Sum) -> Sum:
    """The sum of g * y from an entry on, over the entry."""
    k = _axis_of(factor) if "axis=" in factor.text else 0
    along = factor.axes[k]
    assert along is not None
    first = part.axes[k]
    where = {a: b for a, b in zip(factor.axes, part.axes, strict=True) if a and b and a != along}
    later = Called(f"tril(ones(({along.size}, {along.size})))", (), (along, first))
    own = Sum((Product(factors=(value, later)),), (*factor.axes, first))
    moved = (g.at(where), own.at(where), reciprocal(part))
    return multiplied(moved, part.axes)


def _kron(factor: Called, part: Sum, value: Factor, g: Sum) -> Sum:
    """G in blocks, each entry times that of the other matrix, summed over the other's axes."""
    a, b = factor.parts
    blocks = tuple(x for pair in zip(a.axes, b.axes, strict=True) for x in pair)
    sizes = ("1" if x is None else x.size for x in blocks)
    cut = Called(f"reshape(u0, ({', '.join(sizes)}))", (g,), blocks)
    other = b if part is a else a
    return multiplied((single(cut), other), part.axes)


def _extreme(factor: Called, part: Sum, value: Factor, g: Sum) -> Sum:
    """G where an entry is the largest (or the least); without ties."""
    own, where = _beside(factor, part, value)
    chosen: Factor = Applied("u0 == u1", (part, own))
    k = _axis_of(factor) if "axis=" in factor.text else 0
    if len(part.axes) == 1 or ("axis=" in factor.text and len(part.axes) == 2):
        along = part.axes[k]
        assert along is not None
        place = f"arg{factor.text[:3]}(u0{f', axis={k}' if len(part.axes) > 1 else ''})"
        turned = ".T" if len(part.axes) > 1 and k == 0 else ""
        chosen = Called(f"eye({along.size})[{place}]{turned}", (part,), part.axes)
    return multiplied((g.at(where), single(chosen)), part.axes)


def _prod(factor: Called, part: Sum, value: Factor, g: Sum) -> Sum:
    """G * y / x."""
    own, where = _beside(factor, part, value)
    return multiplied((g.at(where), own, reciprocal(part)), part.axes)


def _beside(factor: Called, part: Sum, value: Factor) -> tuple[Sum, Where]:
    """The value of a reduction at the indices of what was reduced, and how they correspond."""
    k = _axis_of(factor) if "axis=" in factor.text else None
    if len(factor.axes) == len(part.axes):
        kept = tuple(None if k in (None, i) else a for i, a in enumerate(part.axes))
    else:
        kept = () if k is None else (*part.axes[:k], *part.axes[k + 1 :])
    where: Where = {
        a: b for a, b in zip(factor.axes, kept, strict=True) if a is not None and b is not None
    }
    axes = tuple(a for a in kept if a is not None)
    return single(value.at(where), axes), where


def _reshape(factor: Called, part: Sum, value: Factor, g: Sum) -> Sum:
    """G in the shape that the tensor had."""
    sizes = ("1" if a is None else a.size for a in part.axes)
    back = Called(f"reshape(u0, ({', '.join(sizes)},))", (g,), part.axes)
    return single(back)


CONSTANT = frozenset({"eye"})  # which entries are chosen does not change with them
CALLS = {
    "slogdet": _logabsdet,
    "cholesky": _cholesky,
    "cumprod": _cumprod,
    "kron": _kron,
    "reshape": _reshape,
    "max": _extreme,
    "min": _extreme,
    "prod": _prod,
    "softmax": _softmax,
    "log_softmax": _log_softmax,
    "logsumexp": _logsumexp,
    "inv": _inv,
    "det": _det,
}


def _onto(part: Sum, called: Called, g: Sum) -> Sum:
    """A cotangent at the indices of the call, at those of what it was given."""
    where = {
        a: b for a, b in zip(called.axes, part.axes, strict=True) if a is not None and b is not None
    }
    return Sum(tuple(contracted(p, part.axes) for p in g.at(where).products), part.axes)
