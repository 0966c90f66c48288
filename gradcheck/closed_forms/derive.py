"""The gradient of a recorded run in index notation: the product rule and contracted deltas."""

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from types import MappingProxyType

from gradcheck.closed_forms.called import CALLS, CONSTANT
from gradcheck.closed_forms.definitions import reciprocal
from gradcheck.closed_forms.index import (
    Applied,
    Axis,
    Called,
    Delta,
    Factor,
    Named,
    Product,
    Sum,
    added,
    distinct,
    fresh,
    multiplied,
    single,
)
from gradcheck.closed_forms.slopes import BY_ARGUMENT, BY_VALUE, NoText, slopes_of
from gradcheck.closed_forms.steps import HIDDEN, Step
from gradcheck.closed_forms.trees import PREFIX

Pulled = Iterator[tuple[Named, Sum]]
NONE: Mapping[str, Step] = MappingProxyType({})
MOST = 10_000  # factors of a gradient written out: a thousand times what somebody reads


def gradients(steps: list[Step], seed: Sum) -> dict[str, Sum]:
    """The gradient of the last step (times the seed) by every step, by name, written out.

    NoText where one is too long: a loop that uses a value twice doubles it at each turn.
    """
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
        if not name:
            _expect_short(g, NONE)
        yield step, name, g
        if step.definition is None or not g.products:
            continue
        if name:
            g = single(Named(name, step.axes))
        own = Named(step.name, step.axes)
        for leaf, piece in pulled(step.definition, g, own):
            where = (
                dict(zip(leaf.axes, known[leaf.name].axes, strict=True))
                if leaf.name in known
                else {}
            )
            at = {a: b for a, b in where.items() if a is not None}
            arriving.setdefault(leaf.name, []).append(piece.at(at))


def _expect_short(expression: Sum, hidden: Mapping[str, Step]) -> None:
    """NoText where an expression, written out, has more factors than anybody could read."""
    if _length(expression, hidden, {}) > MOST:
        raise NoText(f"more than {MOST:,} factors")


def _length(expression: Sum, hidden: Mapping[str, Step], known: dict[str, int]) -> int:
    """How many factors it has, what is hidden written out; beyond MOST no more are looked at."""
    waiting: list[Factor] = [expression]
    count = 0
    while waiting and count <= MOST:
        factor = waiting.pop()
        count += 1
        if isinstance(factor, Sum):
            waiting += (inner for product in factor.products for inner in product.factors)
        elif isinstance(factor, Applied | Called):
            waiting += factor.parts
        elif isinstance(factor, Named) and factor.name in hidden:
            definition = hidden[factor.name].definition
            assert definition is not None
            if factor.name not in known:
                known[factor.name] = _length(definition, hidden, known)
            count += known[factor.name]
    return count


def pulled(definition: Sum, g: Sum, own: Named | None = None) -> Pulled:
    """What a cotangent of an expression becomes at every tensor in it."""
    alone = own is not None and _is_one_factor(definition)
    for product in definition.products:
        for k, factor in enumerate(product.factors):
            rest = replace(product, factors=(*product.factors[:k], *product.factors[k + 1 :]))
            piece = multiplied((g, Sum((rest,), rest.axes)), distinct(factor.axes))
            yield from _through(factor, piece, own if alone else None)


def _is_one_factor(definition: Sum) -> bool:
    products = definition.products
    whole = len(products) == 1 and len(products[0].factors) == 1
    return whole and products[0].number == 1 and not products[0].sizes


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
            same = single(Delta((axis, other)))
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
    known["y"] = single(value, factor.axes)
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
    return [single(Applied(text, parts), axes)]


def _renamed(tree: ast.expr, names: Mapping[str, str]) -> ast.expr:
    class Rename(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return ast.Name(names.get(node.id, node.id))

    renamed: ast.expr = Rename().visit(tree)
    return renamed


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


# -- only names of the program are kept -----------------------------------------------------------


def inlined(expression: Sum, hidden: Mapping[str, Step]) -> Sum:
    """The expression with values that have no name written out; NoText where that is too long."""
    _expect_short(expression, hidden)
    return _inlined(expression, hidden)


def _inlined(expression: Sum, hidden: Mapping[str, Step]) -> Sum:
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
        found = _inlined(step.definition.at(where), hidden)
        once = {a for a in found.axes if a is not None}
        if len(once) == sum(a is not None for a in found.axes):
            return found
        return Sum(found.products, tuple(dict.fromkeys(found.axes)))  # a diagonal
    if isinstance(factor, Sum):
        return _inlined(factor, hidden)
    if isinstance(factor, Applied | Called):
        parts = tuple(_inlined(part, hidden) for part in factor.parts)
        factor = replace(factor, parts=parts)
    return single(factor)
