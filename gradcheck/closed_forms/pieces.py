"""Arrays as text with an index for each axis: lined up, multiplied, summed as NumPy does it."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce

from gradcheck.closed_forms.index import Axes, Index
from gradcheck.closed_forms.slopes import NoText
from gradcheck.closed_forms.trees import call_tree, number_tree, parsed

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


def divided(pieces: list[Piece], divider: Piece) -> list[Piece]:
    """The divider below the smallest piece that has all of its indices, else below a one."""
    for k, piece in sorted(enumerate(pieces), key=lambda pair: len(pair[1].indices)):
        if set(divider.indices) <= set(piece.indices):
            under = aligned(divider, piece.axes)
            return [
                *pieces[:k],
                Piece(ast.BinOp(piece.tree, ast.Div(), under.tree), piece.axes),
                *pieces[k + 1 :],
            ]
    return [
        *pieces,
        Piece(ast.BinOp(number_tree(Fraction(1)), ast.Div(), divider.tree), divider.axes),
    ]


def picked(pieces: list[Piece], wanted: set[Index]) -> list[Piece]:
    """Pieces in which `eye(n)[1:]` beside a tensor is the tensor's index: `x[1:]`."""
    for selection in pieces:
        places = _places(selection)
        axis = selection.axes[-1] if places is not None else None
        others = [p for p in pieces if p is not selection and axis in p.indices]
        if places is None or axis is None or axis in wanted or not others:
            continue
        if len(others) > 1 and any(set(p.axes) != {axis} for p in others):
            continue
        other = multiplied(others, others[0].axes)
        if set(selection.axes[:-1]) & set(other.axes):
            continue
        k = other.axes.index(axis)
        words = [*(ast.Slice() for _ in range(k)), places]
        tree = ast.Subscript(other.tree, words[0] if k == 0 else ast.Tuple(words))
        axes = (*other.axes[:k], *selection.axes[:-1], *other.axes[k + 1 :])
        rest = [p for p in pieces if p is not selection and p not in others]
        return picked([*rest, Piece(tree, axes)], wanted)
    return pieces


def _places(piece: Piece) -> ast.expr | None:
    """The index of `eye(n)[index]`."""
    match piece.tree:
        case ast.Subscript(value=ast.Call(func=ast.Name(id="eye")), slice=places):
            return places
    return None


def one_step(
    pieces: list[Piece], bound: list[Index], wanted: set[Index], order: Axes
) -> list[Piece]:
    """Sum over one index: a product of matrices where two groups meet in it, else a sum."""
    for axis in dict.fromkeys(bound):
        having = [p for p in pieces if axis in p.indices]
        groups = _groups(having, {axis})
        others = [p for p in pieces if axis not in p.indices]
        kept = wanted | {a for p in others for a in p.indices}
        if _is_trace(having, kept):
            first, second = (p.tree for p in having)
            whole = ast.BinOp(first, ast.MatMult(), second)
            return [*others, Piece(call_tree("trace", whole), ())]
        if len(groups) == 2:
            left, right = (multiplied(g, _axes_of(g)) for g in groups)
            shared = set(left.indices) & set(right.indices)
            if shared == {axis} and max(len(left.axes), len(right.axes)) <= 2:
                hints = [order, *(p.axes for p in others)]
                return [*others, _oriented(left, right, axis, hints)]
        if len(groups) == 1 and _grows(having):
            return [*others, _einsum(having, kept)]
        if len(groups) == 1:
            joined = multiplied(groups[0], _axes_of(groups[0]))
            gone = [a for a in joined.indices if a not in kept]
            return [*others, _added_up(joined, gone)]
    having = [p for p in pieces if bound[0] in p.indices]
    others = [p for p in pieces if bound[0] not in p.indices]
    kept = wanted | {a for p in others for a in p.indices}
    if all(set(p.indices) == set(having[0].indices) for p in having):
        joined = multiplied(having, having[0].axes)
        return [*others, _added_up(joined, [a for a in joined.indices if a not in kept])]
    return [*others, _einsum(having, kept)]


def _is_trace(having: Sequence[Piece], kept: set[Index]) -> bool:
    """Whether two matrices meet in both of their axes, the one turned against the other."""
    if len(having) != 2 or any(len(p.axes) != 2 or len(set(p.indices)) != 2 for p in having):
        return False
    return having[0].axes == having[1].axes[::-1] and not kept & set(having[0].axes)


def _grows(pieces: Sequence[Piece]) -> bool:
    """Whether lining pieces up makes an array with more axes than any of them has."""
    every = {a for p in pieces for a in p.indices}
    plain = not any(None in p.axes for p in pieces)
    return plain and len(every) > max(3, *(len(p.indices) for p in pieces))


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
    return Piece(_flipped(piece.tree), piece.axes[::-1])


def _flipped(tree: ast.expr) -> ast.expr:
    """The transpose; of a product of matrices, its factors turned where that is no longer."""
    if isinstance(tree, ast.Attribute) and tree.attr == "T":
        return tree.value
    whole = ast.Attribute(tree, "T")
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.MatMult):
        turned = ast.BinOp(_flipped(tree.right), ast.MatMult(), _flipped(tree.left))
        return min((turned, whole), key=lambda t: ast.unparse(t).count(".T"))
    return whole


def _added_up(piece: Piece, gone: Sequence[Index]) -> Piece:
    """`sum(X, axis=0)`; over all axes `sum(X)`."""
    axes = [k for k, a in enumerate(piece.axes) if a in gone]
    stay = tuple(a for a in piece.axes if a not in gone)
    if not any(a is not None for a in stay):
        if isinstance(piece.tree, ast.Call) and ast.unparse(piece.tree.func) == "diag":
            return Piece(call_tree("trace", *piece.tree.args), ())
        return Piece(call_tree("sum", piece.tree), ())
    words = {"axis": parsed(str(axes[0] if len(axes) == 1 else tuple(axes)))}
    return Piece(call_tree("sum", piece.tree, **words), stay)


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
    return Piece(call_tree("einsum", ast.Constant(text), *(p.tree for p in pieces)), out)


def broadcast(many: Sequence[Axes]) -> Axes:
    """The axes of arrays that are lined up at their last axis."""
    longest = max(map(len, many), default=0)
    columns = ([a[k] for a in many if len(a) >= -k] for k in range(-longest, 0))
    return tuple(next((a for a in column if a is not None), None) for column in columns)


def multiplied(pieces: Sequence[Piece], order: Axes) -> Piece:
    """Pieces multiplied entry by entry, with the axes in the order."""
    if len(pieces) == 1:
        return pieces[0]
    present = {a for p in pieces for a in p.indices}
    axes = tuple(a for a in order if a is None or a in present)
    axes += tuple(a for p in pieces for a in p.indices if a not in axes)
    if len(axes) == 2 and {p.axes for p in pieces if p.axes} == {(a,) for a in axes}:
        numbers, *sides = (
            [p for p in pieces if p.axes == own] for own in ((), *((a,) for a in axes))
        )
        row, column = (multiplied(side, side[0].axes).tree for side in sides)
        return multiplied([*numbers, Piece(call_tree("outer", row, column), axes)], axes)
    pieces = sorted(pieces, key=lambda p: isinstance(p.tree, ast.Compare))
    trees = [aligned(p, axes).tree for p in pieces]
    widest = max((len(aligned(p, axes).axes) for p in pieces), default=0)
    return Piece(
        reduce(lambda a, b: ast.BinOp(a, ast.Mult(), b), trees), axes[len(axes) - widest :]
    )


def aligned(piece: Piece, order: Axes) -> Piece:
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
            piece = Piece(call_tree("transpose", piece.tree, parsed(str(perm))), tuple(wanted))
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
        first_only: list[ast.expr] = [
            ast.Constant(0) if a is None else ast.Slice() for a in piece.axes
        ]
        piece = Piece(ast.Subscript(piece.tree, ast.Tuple(first_only)), piece.indices)
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
    return Piece(call_tree(ast.unparse(tree.func), *tree.args, **words), own)


def diagonal(piece: Piece) -> Piece:
    if len(set(piece.indices)) == len(piece.indices):
        return piece
    if len(piece.axes) == 2:
        return Piece(call_tree("diag", piece.tree), piece.axes[:1])
    raise NoText("a diagonal of a tensor")
