"""An expression in index notation as NumPy text: products of matrices where there are some."""

import ast
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from operator import and_

from gradcheck.closed_forms.index import (
    RECIPROCAL,
    Applied,
    Axes,
    Called,
    Delta,
    Factor,
    Named,
    Product,
    Sum,
    common,
    distinct,
)
from gradcheck.closed_forms.pieces import (
    Piece,
    aligned,
    broadcast,
    diagonal,
    divided,
    multiplied,
    one_step,
    picked,
)
from gradcheck.closed_forms.simplify import cancelled
from gradcheck.closed_forms.trees import (
    LARGEST,
    call_tree,
    filled,
    negated,
    number_tree,
    parsed,
    scaled,
    shorter,
)


@dataclass(frozen=True)
class Printer:
    """How sizes are written: `size(names)` gives the text of a product of sizes.

    `symmetric` are named matrices that equal their transposes.
    """

    size: Callable[[Sequence[str]], str]
    symmetric: frozenset[str] = frozenset()

    def text(self, expression: Sum, like: str = "") -> str:
        """An expression as NumPy text, its axes in order; `like` names a tensor of its shape."""
        piece = aligned(self._sum(expression, expression.axes), expression.axes)
        tree = piece.tree
        if len(piece.indices) < sum(a is not None for a in expression.axes):
            tree = _as_large(tree, expression.axes, like)
        elif len(piece.axes) < len(expression.axes):  # as rows: the first axes have one entry
            for _ in expression.axes[len(piece.axes) :]:
                tree = _as_row(tree)
        return ast.unparse(shorter(tree, self.symmetric))

    # -- sums and products -----------------------------------------------------------------------

    def _sum(self, expression: Sum, order: Axes) -> Piece:
        """An expression with exactly the axes of `order`, those it lacks left to broadcasting."""
        if not expression.products:
            return Piece(number_tree(Fraction(0)), ())
        common = tuple(
            a for a in order if a is None or any(a in p.axes for p in expression.products)
        )
        outer, inside = _common(expression.products, expression.axes)
        if outer is not None:
            group = Sum(inside, _group_axes(outer, inside, expression.axes))
            whole = Product(outer.number, outer.sizes, (*outer.factors, group))
            return self._product(whole, order)
        positive_first = sorted(expression.products, key=lambda p: p.number < 0)
        pieces = [
            (
                self._product(_absolute(p), common if len(expression.products) > 1 else order),
                p.number < 0,
            )
            for p in positive_first
        ]
        first, negative = pieces[0]
        tree = first.tree
        if negative:
            tree = negated(tree)
        for piece, minus in pieces[1:]:
            op = ast.Sub() if minus else ast.Add()
            tree = ast.BinOp(tree, op, piece.tree)
        return Piece(tree, broadcast([p.axes for p, _ in pieces]))

    def _product(self, product: Product, order: Axes) -> Piece:
        """A product as numbers, numerator and denominator."""
        factors = cancelled(product).factors
        above, below = _split(factors)
        joined = self._on_diagonal(factors, order)
        if joined is None:
            pieces = [self._factor(f, order, alone=len(above) == 1) for f in above]
            joined = self._contracted(pieces, order, below)
        top = [s for s, power in product.sizes for _ in range(power) if power > 0]
        bottom = [s for s, power in product.sizes for _ in range(-power) if power < 0]
        number = product.number
        tree = joined.tree if joined is not None else None
        lead: list[ast.expr] = []
        if number.denominator > LARGEST or (number.denominator != 1 and _chooses(tree)):
            lead.append(number_tree(abs(number)))
            number = Fraction(1)
        elif abs(number.numerator) != 1 or (tree is None and not top):
            lead.append(number_tree(Fraction(abs(number.numerator))))
        if top:
            lead.append(parsed(self.size(top)))
        parts = [*lead, *([tree] if tree is not None else [])]
        tree = reduce(scaled, parts)
        tree = negated(tree) if product.number < 0 else tree
        if number.denominator != 1:
            tree = ast.BinOp(tree, ast.Div(), number_tree(Fraction(number.denominator)))
        if bottom:
            tree = ast.BinOp(tree, ast.Div(), parsed(self.size(bottom)))
        return Piece(tree, joined.axes if joined is not None else ())

    def _on_diagonal(self, factors: Sequence[Factor], order: Axes) -> Piece | None:
        """A matrix that is zero off its diagonal, `diag(p)`; None where it is not just that."""
        deltas = [f for f in factors if isinstance(f, Delta)]
        rest = tuple(f for f in factors if not isinstance(f, Delta))
        if len(deltas) != 1 or not rest or not set(deltas[0].axes) <= set(order):
            return None
        a, b = deltas[0].axes
        along = Product(factors=rest).at({b: a})
        free = {i for i in along.axes if i in order}
        if free != {a}:
            return None
        inner = aligned(self._product(along, (a,)), (a,))
        return Piece(call_tree("diag", inner.tree), _ordered((a, b), order))

    # -- contraction -----------------------------------------------------------------------------

    def _contracted(self, pieces: list[Piece], order: Axes, below: list[Sum]) -> Piece | None:
        """Pieces multiplied, divided by what stands below, and summed to the indices of order."""
        wanted = {a for a in order if a is not None}
        dividers = [self._power(part, below.count(part)) for part in dict.fromkeys(below)]
        for divider in dividers:  # a divider goes with the piece that has all its indices
            pieces = divided(pieces, divider)
        pieces = picked(pieces, wanted)
        while True:
            bound = [a for p in pieces for a in p.indices if a not in wanted]
            if not bound:
                break
            pieces = one_step(pieces, bound, wanted, order)
        if not pieces:
            return None
        return aligned(multiplied(pieces, order), order)

    def _group(self, part: Sum, order: Axes, alone: bool = False) -> Piece:
        """A sum in the place of a factor: its axes as it has them itself, or if alone as wanted."""
        free = None not in part.axes and set(part.axes) <= set(order)
        return self._sum(
            part, tuple(a for a in order if a in part.axes) if alone and free else part.axes
        )

    def _power(self, part: Sum, times: int) -> Piece:
        """What stands below the line so many times."""
        piece = self._sum(part, part.axes)
        if times == 1:
            return piece
        return Piece(ast.BinOp(piece.tree, ast.Pow(), ast.Constant(times)), piece.axes)

    def whole(self, part: Sum) -> ast.expr:
        """A whole tensor as NumPy text, of its full shape where its text has fewer axes."""
        piece = aligned(self._sum(part, part.axes), part.axes)
        if len(piece.indices) == sum(a is not None for a in part.axes):
            return piece.tree
        sizes = ", ".join("1" if a is None else a.size for a in part.axes)
        return ast.BinOp(piece.tree, ast.Mult(), call_tree("ones", parsed(f"({sizes},)")))

    def _factor(self, factor: Factor, order: Axes, alone: bool = False) -> Piece:
        if isinstance(factor, Named):
            return diagonal(Piece(parsed(factor.name), factor.axes))
        if isinstance(factor, Sum):
            return self._group(factor, order, alone)
        if isinstance(factor, Called):
            inner = {f"u{i}": self.whole(p) for i, p in enumerate(factor.parts)}
            return diagonal(Piece(filled(factor.text, inner), factor.axes))
        if isinstance(factor, Applied) and not factor.parts:
            return Piece(parsed(factor.text), ())
        if isinstance(factor, Applied):
            axes = _order_of(factor.parts, order)
            pieces = [self._sum(part, axes) for part in factor.parts]
            inner = {f"u{i}": aligned(p, axes).tree for i, p in enumerate(pieces)}
            return Piece(filled(factor.text, inner), axes)
        if isinstance(factor, Delta):
            size = parsed(factor.axes[0].size)
            return Piece(call_tree("eye", size), _ordered(factor.axes, order))
        raise TypeError(factor)


def _ordered(axes: Axes, order: Axes) -> Axes:
    """The indices of what is symmetric, in the order that is wanted."""
    return tuple(sorted(axes, key=lambda a: order.index(a) if a in order else len(order)))


def _as_row(tree: ast.expr) -> ast.expr:
    """With an axis of one entry in front: a sum keeps its axis, all else is indexed."""
    match tree:
        case ast.UnaryOp(op, inner):
            return ast.UnaryOp(op, _as_row(inner))
        case ast.BinOp(left, ast.Div() as op, right):
            return ast.BinOp(_as_row(left), op, right)
        case ast.BinOp(left, ast.Mult() as op, right) if _is_first_sum(right):
            return ast.BinOp(left, op, _as_row(right))
        case ast.Call(func, args, keywords) if _is_first_sum(tree):
            kept = ast.keyword("keepdims", ast.Constant(True))
            return ast.Call(func, args, [*keywords, kept])
    return ast.Subscript(tree, ast.Constant(None), ast.Load())


def _is_first_sum(tree: ast.expr) -> bool:
    """Whether it is `sum(x, axis=0)`."""
    return isinstance(tree, ast.Call) and [ast.unparse(k) for k in tree.keywords] == ["axis=0"]


def _as_large(tree: ast.expr, axes: Axes, like: str) -> ast.expr:
    """A text repeated to the shape of a tensor that is called `like`, or of some axes."""
    sizes = parsed(f"({', '.join('1' if a is None else a.size for a in axes)},)")
    if isinstance(tree, ast.Constant) and tree.value == 0 and not like:
        return call_tree("zeros", sizes)
    ones = call_tree("ones_like", ast.Name(like)) if like else call_tree("ones", sizes)
    return ast.BinOp(tree, ast.Mult(), ones)


def _chooses(tree: ast.expr | None) -> bool:
    """Whether conditions stand in a text: they are divided as whole numbers, and that rounds."""
    return tree is not None and any(isinstance(n, ast.Compare) for n in ast.walk(tree))


def _common(
    products: tuple[Product, ...], axes: Axes
) -> tuple[Product | None, tuple[Product, ...]]:
    """Number, sizes and factors that all products of a sum have, and what is left of each.

    What is summed over stays inside, unless only plain tensors are left there: `X.T @ (m - y)`.
    """
    if len(products) < 2:
        return None, products
    outer, rest = common(products)
    if any(isinstance(f, Delta) for p in products for f in p.factors):
        return (None, products) if outer == Product() else (outer, rest)
    shared = list(reduce(and_, (Counter(p.factors) for p in rest)).elements())
    if any(len(p.factors) > len(shared) + 1 for p in rest):
        shared = [f for f in shared if all(a is None or a in axes for a in f.axes)]
    if outer == Product() and not shared:
        return None, products
    rest = tuple(replace(p, factors=_less(p.factors, shared)) for p in rest)
    return replace(outer, factors=tuple(shared)), rest


def _group_axes(outer: Product, inside: tuple[Product, ...], axes: Axes) -> Axes:
    """The indices of what stands in brackets: those of the whole, and those met outside."""
    every = (*axes, *(a for a in outer.axes if a not in axes))
    if None in axes:
        return every
    own = [a for p in inside for a in p.axes if a in every]
    return tuple(dict.fromkeys((*own, *every)))


def _less(factors: Sequence[Factor], shared: Sequence[Factor]) -> tuple[Factor, ...]:
    """Factors without those that are shared."""
    left = list(factors)
    for factor in shared:
        left.remove(factor)
    return tuple(left)


def _absolute(product: Product) -> Product:
    return Product(abs(product.number), product.sizes, product.factors)


def _split(factors: Sequence[Factor]) -> tuple[list[Factor], list[Sum]]:
    """What stands above the line, and what below."""
    above = [f for f in factors if not (isinstance(f, Applied) and f.text == RECIPROCAL)]
    below = [f.parts[0] for f in factors if isinstance(f, Applied) and f.text == RECIPROCAL]
    return above, below


def _order_of(parts: Sequence[Sum], order: Axes) -> Axes:
    """The axes of a function of several parts: as the longest has them, else as is wanted."""
    longest = max((p.axes for p in parts), key=len)
    every = distinct(*(p.axes for p in parts))
    if set(every) <= {a for a in longest if a is not None}:
        return longest
    return tuple(a for a in order if a in every) + tuple(a for a in every if a not in order)
