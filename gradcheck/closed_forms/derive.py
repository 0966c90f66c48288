"""The gradient of a recorded run in index notation: the product rule and contracted deltas."""

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction

from gradcheck.closed_forms.definitions import reciprocal
from gradcheck.closed_forms.index import (
    Applied,
    Axes,
    Axis,
    Called,
    Delta,
    Factor,
    Named,
    Product,
    Sum,
    Where,
    added,
    contracted,
    fresh,
    multiplied,
)
from gradcheck.closed_forms.slopes import BY_ARGUMENT, BY_VALUE, NoText, slopes_of
from gradcheck.closed_forms.steps import HIDDEN, Step

Pulled = Iterator[tuple[Named, Sum]]
PREFIX = "cotangent_of_"  # before a step's name: its cotangent's


def gradients(steps: list[Step], seed: Sum) -> dict[str, Sum]:
    """The gradient of the last step (times the seed) by every step, by name, written out."""
    return {step.name: g for step, _, g in _back(steps, seed, lambda step: "")}


def cotangents(
    steps: list[Step], seed: Sum, *, hidden: bool = True
) -> Iterator[tuple[Step, str, Sum]]:
    """The same, each in terms of those before it: a step, its cotangent's name, how it is made.

    Without `hidden`, those of steps without a name, and the seed, are written out.
    """
    told = {step.name for step in steps if hidden or not (step.hidden or step is steps[-1])}
    return _back(steps, seed, lambda s: PREFIX + s.name if s.name in told else "")


def _back(
    steps: list[Step], seed: Sum, named: Callable[[Step], str]
) -> Iterator[tuple[Step, str, Sum]]:
    """Every step's cotangent from the last one down; further ones refer to it by its name."""
    arriving: dict[str, list[Sum]] = {steps[-1].name: [seed]}
    known = {step.name: step for step in steps}
    for step in reversed(steps):
        g = added(arriving.get(step.name, ()), step.axes)
        name = named(step)
        yield step, name, g
        if step.definition is None or not g.products:
            continue
        if name:
            g = Sum((Product(factors=(Named(name, step.axes),)),), step.axes)
        own = Named(step.name, step.axes)
        for leaf, piece in pulled(step.definition, g, own):
            where = (
                dict(zip(leaf.axes, known[leaf.name].axes, strict=True))
                if leaf.name in known
                else {}
            )
            at = {a: b for a, b in where.items() if a is not None}
            arriving.setdefault(leaf.name, []).append(piece.at(at))


def pulled(definition: Sum, g: Sum, own: Named | None = None) -> Pulled:
    """What a cotangent of an expression becomes at every tensor in it."""
    alone = own is not None and _is_one_factor(definition)
    for product in definition.products:
        for k, factor in enumerate(product.factors):
            rest = replace(product, factors=(*product.factors[:k], *product.factors[k + 1 :]))
            piece = multiplied((g, Sum((rest,), rest.axes)), _indices(factor))
            yield from _through(factor, piece, own if alone else None)


def _is_one_factor(definition: Sum) -> bool:
    products = definition.products
    whole = len(products) == 1 and len(products[0].factors) == 1
    return whole and products[0].number == 1 and not products[0].sizes


def _indices(factor: Factor) -> Axes:
    return tuple(dict.fromkeys(a for a in factor.axes if a is not None))


def _through(factor: Factor, g: Sum, own: Named | None) -> Pulled:
    """A cotangent of one factor (at its distinct indices) at every tensor in it."""
    if isinstance(factor, Named):
        yield _at_own_indices(factor, g)
    elif isinstance(factor, Sum):
        yield from pulled(factor, replace(g, axes=factor.axes))
    elif isinstance(factor, Applied):
        yield from _through_function(factor, g, own)
    elif isinstance(factor, Called):
        yield from _through_call(factor, g, own)


def _at_own_indices(factor: Named, g: Sum) -> tuple[Named, Sum]:
    """The cotangent with one index an axis: `A[i,i]` becomes A[i,j] where i is j."""
    axes: list[Axis] = []
    for axis in factor.axes:
        if axis is not None and axis in axes:
            other = fresh(axis)
            same = Sum((Product(factors=(Delta((axis, other)),)),), (axis, other))
            g = multiplied((g, same), (*g.axes, other))
            axes.append(other)
        else:
            axes.append(axis)
    return Named(factor.name, tuple(axes)), Sum(g.products, tuple(axes))


def _through_function(factor: Applied, g: Sum, own: Named | None) -> Pulled:
    value = own or factor
    for part, slope in zip(factor.parts, _slopes(factor, own), strict=True):
        if slope == "0":
            continue
        each = _slope(factor, slope, value)
        yield from pulled(part, multiplied((g, each), part.axes))


def _slopes(factor: Applied, own: Named | None) -> tuple[str, ...]:
    """The slope by each part, in terms of what has a name."""
    named = own is not None and not own.name.startswith(HIDDEN)
    if not named and factor.text in BY_ARGUMENT:
        return BY_ARGUMENT[factor.text]
    if named and factor.text in BY_VALUE and not all(map(_is_plain, factor.parts)):
        return BY_VALUE[factor.text]
    known = len(factor.slopes) == len(factor.parts)
    return factor.slopes if known else slopes_of(factor.text, len(factor.parts))


def _is_plain(part: Sum) -> bool:
    """Whether it is a number, or a tensor that the program names."""
    if not part.products:
        return True
    factors = part.products[0].factors
    named = all(isinstance(f, Named) and not f.name.startswith(HIDDEN) for f in factors)
    return len(part.products) == 1 and named


def _slope(factor: Applied, slope: str, value: Factor) -> Sum:
    """The slope as an expression: powers and reciprocals as factors, the value by its name."""
    known = {f"u{i}": part for i, part in enumerate(factor.parts)}
    known["y"] = Sum((Product(factors=(value,)),), factor.axes)
    return multiplied(_factors(ast.parse(slope, mode="eval").body, known), factor.axes)


def _factors(tree: ast.expr, known: Mapping[str, Sum], below: bool = False) -> list[Sum]:
    """The factors of a slope's text, numbers and reciprocals among them."""
    match tree:
        case ast.Constant(value=int(value)):
            return [Sum((Product(Fraction(value)),), ())]
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return [Sum((Product(Fraction(-1)),), ()), *_factors(inner, known)]
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return [*_factors(left, known), *_factors(right, known)]
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            return [*_factors(left, known), *map(reciprocal, _factors(right, known, below=True))]
        case ast.Name(id=name):
            return [known[name]]
        case ast.BinOp(left=ast.Name(id=name), op=ast.Pow(), right=ast.Constant(value=int(power))):
            if below:
                return [known[name]] * power
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right) if not below:
            sides = (_factors(left, known), _factors(right, known))
            axes = tuple(dict.fromkeys(a for side in sides for f in side for a in f.axes))
            first, second = (multiplied(side, axes) for side in sides)
            if isinstance(op, ast.Sub):
                second = multiplied((Sum((Product(Fraction(-1)),), ()), second), axes)
            return [added((first, second), axes)]
    names = [n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id in known]
    used = {name: f"u{i}" for i, name in enumerate(dict.fromkeys(names))}
    text = ast.unparse(_renamed(tree, used))
    parts = tuple(known[name] for name in used)
    axes = tuple(dict.fromkeys(a for part in parts for a in part.axes))
    return [Sum((Product(factors=(Applied(text, parts),)),), axes)]


def _renamed(tree: ast.expr, names: Mapping[str, str]) -> ast.expr:
    class Rename(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return ast.Name(names.get(node.id, node.id))

    renamed: ast.expr = Rename().visit(tree)
    return renamed


# -- functions of whole tensors ------------------------------------------------------------------


def _through_call(factor: Called, g: Sum, own: Named | None) -> Pulled:
    if not factor.parts:
        return
    name = factor.text.partition("(")[0]
    if name in CONSTANT:
        return
    if name not in CALLS:
        raise NoText(f"no slope of {factor.text}")
    value = own or factor
    g = replace(g, axes=factor.axes)
    for part in factor.parts:
        found = CALLS[name](factor, part, value, g)
        if found.products:
            yield from pulled(part, found)


def _at(factor: Factor, axes: Axes) -> Sum:
    """A tensor at other indices."""
    where = {
        a: b for a, b in zip(factor.axes, axes, strict=True) if a is not None and b is not None
    }
    return Sum((Product(factors=(factor.at(where),)),), axes)


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
    own = Sum((Product(factors=(value,)),), ())
    whole = multiplied((g, own, Sum((Product(factors=(inverse,)),), (m, k))), (k, m))
    return _onto(part, Called("", factor.parts, (k, m)), whole)


def _logabsdet(factor: Called, part: Sum, value: Factor, g: Sum) -> Sum:
    """G * inv(A).T; the sign is a constant."""
    if factor.text.endswith("[0]"):
        return Sum((), part.axes)
    row, column = part.axes
    inverse = Called("inv(u0)", factor.parts, (column, row))
    return multiplied((g, Sum((Product(factors=(inverse,)),), (column, row))), part.axes)


def _cholesky(factor: Called, part: Sum, value: Factor, g: Sum) -> Sum:
    """Half of S + S.T, where S = inv(L).T @ (lower half of L.T @ g) @ inv(L).

    The diagonal of the lower half counts half (Murray: Differentiation of the Cholesky
    decomposition, 2016, eq. 10).
    """
    i, j = factor.axes
    assert i is not None
    assert j is not None
    a, b, k, m = (fresh(i) for _ in range(4))
    whole = Sum((Product(factors=(value,)),), factor.axes)
    inverse = Called("inv(u0)", (whole,), factor.axes)
    lower = Called(f"tril(ones(({i.size}, {i.size}))) - eye({i.size})/2", (), (a, b))
    inner = multiplied((_at(value, (i, a)), g.at({j: b})), (a, b))
    parts = (_at(inverse, (a, k)), Sum((Product(factors=(lower,)),), (a, b)), inner)
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
    return multiplied((Sum((Product(factors=(cut,)),), blocks), other), part.axes)


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
    return multiplied((g.at(where), Sum((Product(factors=(chosen,)),), part.axes)), part.axes)


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
    return Sum((Product(factors=(value.at(where),)),), axes), where


def _reshape(factor: Called, part: Sum, value: Factor, g: Sum) -> Sum:
    """G in the shape that the tensor had."""
    sizes = ("1" if a is None else a.size for a in part.axes)
    back = Called(f"reshape(u0, ({', '.join(sizes)},))", (g,), part.axes)
    return Sum((Product(factors=(back,)),), part.axes)


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


# -- only names of the program are kept -----------------------------------------------------------


def inlined(expression: Sum, hidden: Mapping[str, Step]) -> Sum:
    """The expression with values that have no name written out."""
    products = [multiplied(_written_out(p, hidden), expression.axes) for p in expression.products]
    return added(products, expression.axes)


def _written_out(product: Product, hidden: Mapping[str, Step]) -> list[Sum]:
    parts = [Sum((replace(product, factors=()),), ())]
    for factor in product.factors:
        parts.append(_factor(factor, hidden))
    return parts


def _factor(factor: Factor, hidden: Mapping[str, Step]) -> Sum:
    if isinstance(factor, Named) and factor.name in hidden:
        step = hidden[factor.name]
        assert step.definition is not None
        where = {a: b for a, b in zip(step.axes, factor.axes, strict=True) if a is not None}
        found = inlined(step.definition.at(where), hidden)
        once = {a for a in found.axes if a is not None}
        if len(once) == sum(a is not None for a in found.axes):
            return found
        return Sum(found.products, tuple(dict.fromkeys(found.axes)))  # a diagonal
    if isinstance(factor, Sum):
        return inlined(factor, hidden)
    if isinstance(factor, Applied | Called):
        parts = tuple(inlined(part, hidden) for part in factor.parts)
        factor = replace(factor, parts=parts)
    return Sum((Product(factors=(factor,)),), factor.axes)
