"""An expression in index notation as NumPy text: products of matrices where there are some."""

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce

from gradcheck.closed_forms.index import (
    Applied,
    Axes,
    Called,
    Delta,
    Factor,
    Index,
    Named,
    Product,
    Sum,
    common,
)
from gradcheck.closed_forms.slopes import NoText

LARGEST = 10**6  # a denominator beyond is a decimal number
LETTERS = "ijklmnopqrstuvw"


@dataclass(frozen=True)
class Piece:
    """A text (as its tree) and the index of each of its axes."""

    tree: ast.expr
    axes: Axes

    @property
    def indices(self) -> tuple[Index, ...]:
        """The indices of the axes that are longer than one."""
        return tuple(a for a in self.axes if a is not None)


@dataclass(frozen=True)
class Printer:
    """How sizes are written: `size(names)` gives the text of a product of sizes."""

    size: Callable[[Sequence[str]], str]

    def text(self, expression: Sum, like: str = "") -> str:
        """An expression as NumPy text, its axes in order; `like` names a tensor of its shape."""
        piece = _aligned(self._sum(expression, expression.axes), expression.axes)
        tree = piece.tree
        if like and len(piece.indices) < sum(a is not None for a in expression.axes):
            tree = ast.BinOp(tree, ast.Mult(), _call("ones_like", ast.Name(like)))
        return ast.unparse(tree)

    # -- sums and products -----------------------------------------------------------------------

    def _sum(self, expression: Sum, order: Axes) -> Piece:
        """An expression with exactly the axes of `order`, those it lacks left to broadcasting."""
        if not expression.products:
            return Piece(_number(Fraction(0)), ())
        common = tuple(
            a for a in order if a is None or any(a in p.axes for p in expression.products)
        )
        outer, inside = _common(expression.products)
        if outer is not None:
            group = Sum(inside, expression.axes)
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
            tree = _negated(tree)
        for piece, minus in pieces[1:]:
            op = ast.Sub() if minus else ast.Add()
            tree = ast.BinOp(tree, op, piece.tree)
        return Piece(tree, _broadcast([p.axes for p, _ in pieces]))

    def _product(self, product: Product, order: Axes) -> Piece:
        """A product as numbers, numerator and denominator."""
        above, below = _split(_cancelled(product.factors))
        pieces = [self._factor(f, order, alone=len(above) == 1) for f in above]
        joined = self._contracted(pieces, order, below)
        top = [s for s, power in product.sizes for _ in range(power) if power > 0]
        bottom = [s for s, power in product.sizes for _ in range(-power) if power < 0]
        number = product.number
        tree = joined.tree if joined is not None else None
        lead: list[ast.expr] = []
        if number.denominator > LARGEST:
            lead.append(_number(abs(number)))
            number = Fraction(1)
        elif abs(number.numerator) != 1 or (tree is None and not top):
            lead.append(_number(Fraction(abs(number.numerator))))
        if top:
            lead.append(_parsed(self.size(top)))
        parts = [*lead, *([tree] if tree is not None else [])]
        tree = reduce(lambda a, b: ast.BinOp(a, ast.Mult(), b), parts)
        tree = _negated(tree) if product.number < 0 else tree
        if number.denominator != 1:
            tree = ast.BinOp(tree, ast.Div(), _number(Fraction(number.denominator)))
        if bottom:
            tree = ast.BinOp(tree, ast.Div(), _parsed(self.size(bottom)))
        return Piece(tree, joined.axes if joined is not None else ())

    # -- contraction -----------------------------------------------------------------------------

    def _contracted(self, pieces: list[Piece], order: Axes, below: list[Sum]) -> Piece | None:
        """Pieces multiplied, divided by what stands below, and summed to the indices of order."""
        wanted = {a for a in order if a is not None}
        dividers = [self._power(part, below.count(part)) for part in dict.fromkeys(below)]
        for divider in dividers:  # a divider goes with the piece that has all its indices
            pieces = _divided(pieces, divider)
        while True:
            bound = [a for p in pieces for a in p.indices if a not in wanted]
            if not bound:
                break
            pieces = _one_step(pieces, bound, wanted, order)
        if not pieces:
            return None
        return _aligned(_multiplied(pieces, order), order)

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

    def _factor(self, factor: Factor, order: Axes, alone: bool = False) -> Piece:
        if isinstance(factor, Named):
            return _diagonal(Piece(ast.Name(factor.name), factor.axes))
        if isinstance(factor, Sum):
            return self._group(factor, order, alone)
        if isinstance(factor, Called):
            inner = {f"u{i}": self._sum(p, p.axes).tree for i, p in enumerate(factor.parts)}
            return _diagonal(Piece(_filled(factor.text, inner), factor.axes))
        if isinstance(factor, Applied):
            axes = _order_of(factor.parts, order)
            pieces = [self._sum(part, axes) for part in factor.parts]
            inner = {f"u{i}": _aligned(p, axes).tree for i, p in enumerate(pieces)}
            return Piece(_filled(factor.text, inner), axes)
        if isinstance(factor, Delta):
            return Piece(_call("eye", _parsed(factor.axes[0].size)), factor.axes)
        raise TypeError(factor)


def _common(products: tuple[Product, ...]) -> tuple[Product | None, tuple[Product, ...]]:
    """Number, sizes and factors that all products of a sum have, and what is left of each."""
    if len(products) < 2:
        return None, products
    outer, rest = common(products)
    shared = [f for f in rest[0].factors if all(f in p.factors for p in rest)]
    if outer == Product() and not shared:
        return None, products
    rest = tuple(replace(p, factors=_less(p.factors, shared)) for p in rest)
    return replace(outer, factors=tuple(shared)), rest


def _less(factors: Sequence[Factor], shared: Sequence[Factor]) -> tuple[Factor, ...]:
    """Factors without those that are shared."""
    left = list(factors)
    for factor in shared:
        left.remove(factor)
    return tuple(left)


def _absolute(product: Product) -> Product:
    return Product(abs(product.number), product.sizes, product.factors)


def _cancelled(factors: Sequence[Factor]) -> list[Factor]:
    """Factors without those that stand above and below a line."""
    left = list(factors)
    for factor in factors:
        if isinstance(factor, Applied) and factor.text == "1/u0":
            above = _only(factor.parts[0])
            if above is not None and above in left and factor in left:
                left.remove(above)
                left.remove(factor)
    return left


def _only(part: Sum) -> Factor | None:
    products = part.products
    alone = len(products) == 1 and len(products[0].factors) == 1
    return products[0].factors[0] if alone and products[0].number == 1 else None


def _split(factors: Sequence[Factor]) -> tuple[list[Factor], list[Sum]]:
    """What stands above the line, and what below."""
    above = [f for f in factors if not (isinstance(f, Applied) and f.text == "1/u0")]
    below = [f.parts[0] for f in factors if isinstance(f, Applied) and f.text == "1/u0"]
    return above, below


def _order_of(parts: Sequence[Sum], order: Axes) -> Axes:
    """The axes of a function of several parts: in the wanted order, then as the longest has them."""
    longest = max((p.axes for p in parts), key=len)
    every = tuple(dict.fromkeys(a for p in parts for a in p.axes if a is not None))
    if set(every) <= {a for a in longest if a is not None}:
        return longest
    return tuple(a for a in order if a in every) + tuple(a for a in every if a not in order)


def _divided(pieces: list[Piece], divider: Piece) -> list[Piece]:
    """The divider below the first piece that has all of its indices, else below a one."""
    for k, piece in enumerate(pieces):
        if set(divider.indices) <= set(piece.indices):
            under = _aligned(divider, piece.axes)
            return [
                *pieces[:k],
                Piece(ast.BinOp(piece.tree, ast.Div(), under.tree), piece.axes),
                *pieces[k + 1 :],
            ]
    return [*pieces, Piece(ast.BinOp(_number(Fraction(1)), ast.Div(), divider.tree), divider.axes)]


def _one_step(
    pieces: list[Piece], bound: list[Index], wanted: set[Index], order: Axes
) -> list[Piece]:
    """Sum over one index: a product of matrices where two groups meet in it, else a sum."""
    for axis in dict.fromkeys(bound):
        having = [p for p in pieces if axis in p.indices]
        groups = _groups(having, {axis})
        others = [p for p in pieces if axis not in p.indices]
        kept = wanted | {a for p in others for a in p.indices}
        if len(groups) == 2:
            left, right = (_multiplied(g, _axes_of(g)) for g in groups)
            shared = set(left.indices) & set(right.indices)
            if shared == {axis} and max(len(left.axes), len(right.axes)) <= 2:
                hints = [order, *(p.axes for p in others)]
                return [*others, _oriented(left, right, axis, hints)]
        if len(groups) == 1:
            whole = _multiplied(groups[0], _axes_of(groups[0]))
            gone = [a for a in whole.indices if a not in kept]
            return [*others, _added_up(whole, gone)]
    having = [p for p in pieces if bound[0] in p.indices]
    others = [p for p in pieces if bound[0] not in p.indices]
    kept = wanted | {a for p in others for a in p.indices}
    if all(set(p.indices) == set(having[0].indices) for p in having):
        whole = _multiplied(having, having[0].axes)
        return [*others, _added_up(whole, [a for a in whole.indices if a not in kept])]
    return [*others, _einsum(having, kept)]


def _groups(pieces: Sequence[Piece], bound: set[Index]) -> list[list[Piece]]:
    """Pieces that share a further index have to be multiplied entry by entry: they go together."""
    groups: list[list[Piece]] = []
    for piece in pieces:
        mine = set(piece.indices) - bound
        meets = [g for g in groups if any(mine & (set(p.indices) - bound) for p in g)]
        rest = [g for g in groups if g not in meets]
        groups = [*rest, [*(p for g in meets for p in g), piece]]
    scalars = [g for g in groups if all(set(p.indices) <= bound for p in g)]
    if scalars and len(groups) > 2:
        rest = [g for g in groups if g not in scalars]
        vector = [p for g in scalars for p in g]
        groups = [vector, *rest] if len(rest) == 1 else [[*vector, *rest[0]], *rest[1:]]
    return groups


def _axes_of(group: Sequence[Piece]) -> Axes:
    """The axes of a product of pieces: those of the longest, which must have them all."""
    every = tuple(dict.fromkeys(a for p in group for a in p.indices))
    longest = max(group, key=lambda p: len(p.indices))
    return longest.axes if set(every) == set(longest.indices) else every


def _oriented(left: Piece, right: Piece, axis: Index, hints: Sequence[Axes]) -> Piece:
    """The product in the order that others have, and with the fewest transposes."""

    def against(piece: Piece) -> int:
        places = [[h.index(a) for a in piece.axes] for h in hints if set(piece.axes) <= set(h)]
        return sum(place != sorted(place) for place in places)

    found = (_matmul(left, right, axis), _matmul(right, left, axis))
    return min(found, key=lambda p: (against(p), ast.unparse(p.tree).count(".T")))


def _matmul(left: Piece, right: Piece, axis: Index) -> Piece:
    """A product of matrices (or vectors) over one index."""
    a, b = _last(left, axis), _first(right, axis)
    rest = tuple(x for x in a.axes if x != axis) + tuple(x for x in b.axes if x != axis)
    return Piece(ast.BinOp(a.tree, ast.MatMult(), b.tree), rest)


def _last(piece: Piece, axis: Index) -> Piece:
    """The matrix with an index on its last axis."""
    return piece if piece.axes[-1] == axis else _transposed(piece)


def _first(piece: Piece, axis: Index) -> Piece:
    return piece if piece.axes[0] == axis else _transposed(piece)


def _transposed(piece: Piece) -> Piece:
    if isinstance(piece.tree, ast.Attribute) and piece.tree.attr == "T":
        return Piece(piece.tree.value, piece.axes[::-1])
    if isinstance(piece.tree, ast.BinOp) and isinstance(piece.tree.op, ast.MatMult):
        pass
    return Piece(ast.Attribute(piece.tree, "T"), piece.axes[::-1])


def _added_up(piece: Piece, gone: Sequence[Index]) -> Piece:
    """`sum(X, axis=0)`; over all axes `sum(X)`."""
    axes = [k for k, a in enumerate(piece.axes) if a in gone]
    stay = tuple(a for a in piece.axes if a not in gone)
    if not any(a is not None for a in stay):
        return Piece(_call("sum", piece.tree), ())
    words = {"axis": _parsed(str(axes[0] if len(axes) == 1 else tuple(axes)))}
    return Piece(_call("sum", piece.tree, **words), stay)


def _einsum(pieces: Sequence[Piece], kept: set[Index]) -> Piece:
    """What is no product of matrices: `einsum`."""
    letters: dict[Index, str] = {}
    for piece in pieces:
        if None in piece.axes:
            raise NoText("an axis of one entry inside einsum")
        for axis in piece.indices:
            letters.setdefault(axis, LETTERS[len(letters)])
    out = tuple(a for a in letters if a in kept)
    words = ",".join("".join(letters[a] for a in p.indices) for p in pieces)
    text = f"{words}->{''.join(letters[a] for a in out)}"
    return Piece(_call("einsum", ast.Constant(text), *(p.tree for p in pieces)), out)


def _broadcast(many: Sequence[Axes]) -> Axes:
    """The axes of arrays that are lined up at their last axis."""
    longest = max(map(len, many), default=0)
    columns = ([a[k] for a in many if len(a) >= -k] for k in range(-longest, 0))
    return tuple(next((a for a in column if a is not None), None) for column in columns)


def _multiplied(pieces: Sequence[Piece], order: Axes) -> Piece:
    """Pieces multiplied entry by entry, with the axes in the order."""
    if len(pieces) == 1:
        return pieces[0]
    present = {a for p in pieces for a in p.indices}
    axes = tuple(a for a in order if a is None or a in present)
    axes += tuple(a for p in pieces for a in p.indices if a not in axes)
    if len(axes) == 2 and all(len(p.axes) == 1 for p in pieces):
        row, column = ([p for p in pieces if p.axes[0] == a] for a in axes)
        sides = [_multiplied(side, side[0].axes).tree for side in (row, column)]
        return Piece(_call("outer", *sides), axes)
    pieces = sorted(pieces, key=lambda p: isinstance(p.tree, ast.Compare))
    trees = [_aligned(p, axes).tree for p in pieces]
    widest = max((len(_aligned(p, axes).axes) for p in pieces), default=0)
    return Piece(
        reduce(lambda a, b: ast.BinOp(a, ast.Mult(), b), trees), axes[len(axes) - widest :]
    )


def _aligned(piece: Piece, order: Axes) -> Piece:
    """A piece whose axes stand in the order, ready to be broadcast against it."""
    if piece.axes == order or not piece.axes:
        return piece
    own = [a for a in piece.axes if a is not None]
    wanted = [a for a in order if a in own]
    if own != wanted:
        if len(piece.axes) == 2 and own == wanted[::-1]:
            piece = _transposed(piece)
        else:
            perm = tuple(piece.axes.index(a) for a in wanted)
            if len(perm) != len(piece.axes):
                raise NoText("axes of one entry in another order")
            piece = Piece(_call("transpose", piece.tree, _parsed(str(perm))), tuple(wanted))
    if not _broadcasts(piece.axes, order):
        piece = _with_axes(piece, order)
    return piece


def _broadcasts(own: Axes, order: Axes) -> bool:
    """Whether NumPy lines the axes up as they are."""
    if len(own) > len(order):
        return False
    tail = order[len(order) - len(own) :]
    return all(a is None or a == b for a, b in zip(own, tail, strict=True))


def _with_axes(piece: Piece, order: Axes) -> Piece:
    """`x[:, None]`: axes of length one where the order has an index that the piece lacks."""
    if None in piece.axes:
        words = [ast.Constant(0) if a is None else ast.Slice() for a in piece.axes]
        piece = Piece(ast.Subscript(piece.tree, ast.Tuple(words)), piece.indices)
        if _broadcasts(piece.axes, order):
            return piece
    first = next(k for k, a in enumerate(order) if a in piece.axes)
    tail = order[first:]
    if (kept := _kept(piece, tail)) is not None:
        return kept
    words = ast.Tuple([ast.Slice() if a in piece.axes else ast.Constant(None) for a in tail])
    tree = ast.Subscript(piece.tree, words)
    return Piece(tree, tuple(a if a in piece.axes else None for a in tail))


def _kept(piece: Piece, tail: Axes) -> Piece | None:
    """`sum(X, axis=1, keepdims=True)` where the axis that was summed over is the one that lacks."""
    tree, own = piece.tree, tuple(a if a in piece.axes else None for a in tail)
    if not isinstance(tree, ast.Call) or len(tree.keywords) != 1:
        return None
    axis = tree.keywords[0].value
    if not isinstance(axis, ast.Constant) or not isinstance(axis.value, int):
        return None
    k = axis.value
    if (*piece.axes[:k], None, *piece.axes[k:]) != own:
        return None
    words = {"axis": axis, "keepdims": ast.Constant(True)}
    return Piece(_call(ast.unparse(tree.func), *tree.args, **words), own)


def _diagonal(piece: Piece) -> Piece:
    if len(set(piece.indices)) == len(piece.indices):
        return piece
    if len(piece.axes) == 2:
        return Piece(_call("diag", piece.tree), piece.axes[:1])
    raise NoText("a diagonal of a tensor")


# -- trees ---------------------------------------------------------------------------------------


def _number(value: Fraction) -> ast.expr:
    if value.denominator > LARGEST:
        whole: ast.expr = ast.Constant(abs(float(value)))
    else:
        whole = ast.Constant(abs(value.numerator))
    if 1 != value.denominator <= LARGEST:
        whole = ast.BinOp(whole, ast.Div(), ast.Constant(value.denominator))
    return _negated(whole) if value < 0 else whole


def _negated(tree: ast.expr) -> ast.expr:
    """`-2*X` and not `-(2*X)`: the sign stands before the first factor."""
    if isinstance(tree, ast.Compare):
        return ast.BinOp(ast.UnaryOp(ast.USub(), ast.Constant(1)), ast.Mult(), tree)
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Mult | ast.Div | ast.MatMult):
        return ast.BinOp(_negated(tree.left), tree.op, tree.right)
    return ast.UnaryOp(ast.USub(), tree)


def _call(name: str, *args: ast.expr, **words: ast.expr) -> ast.expr:
    return ast.Call(
        ast.Name(name), list(args), [ast.keyword(key, value) for key, value in words.items()]
    )


def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _filled(text: str, inner: Mapping[str, ast.expr]) -> ast.expr:
    """A text of our own with trees in the place of `u0`, `u1`, ..."""

    class Fill(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return inner.get(node.id, node)

    tree: ast.expr = Fill().visit(_parsed(text))
    return tree
