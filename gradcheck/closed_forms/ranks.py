"""How many axes the value of a formula has, read from its text and the axes of its names."""

import ast
from collections.abc import Mapping

MADE_SCALAR = frozenset({"sum", "mean", "trace", "det", "norm", "max", "min", "size"})
MADE_MATRIX = frozenset({"outer", "eye", "inv", "diag"})


def rank(tree: ast.expr, axes: Mapping[str, int]) -> int:
    """The number of axes of what a tree stands for; a name that `axes` lacks is a number."""
    match tree:
        case ast.Name(id=name):
            return axes.get(name, 0)
        case ast.Constant() | ast.Attribute(attr="size"):
            return 0
        case ast.Attribute(value=inner, attr="T") | ast.UnaryOp(operand=inner):
            return rank(inner, axes)
        case ast.Subscript(value=ast.Attribute(attr="shape")):
            return 0
        case ast.Subscript(value=inner, slice=ast.Tuple(elts=parts)):
            fixed = [p for p in parts if not isinstance(p, ast.Slice)]
            added = [p for p in fixed if isinstance(p, ast.Constant) and p.value is None]
            return rank(inner, axes) - len(fixed) + 2 * len(added)
        case ast.Subscript(value=inner):
            return rank(inner, axes) - 1
        case ast.BinOp(left=left, op=ast.MatMult(), right=right):
            return rank(left, axes) + rank(right, axes) - 2
        case ast.BinOp(left=left, right=right) | ast.Compare(left=left, comparators=[right]):
            return max(rank(left, axes), rank(right, axes))
        case ast.Call(func=ast.Name(id=name), keywords=words, args=args):
            return _of_call(name, {word.arg for word in words}, args, axes)
    return 0


def _of_call(
    name: str, words: set[str | None], args: list[ast.expr], axes: Mapping[str, int]
) -> int:
    """The same of a call with these keywords."""
    if name in MADE_MATRIX:
        return 2
    if name == "einsum" and isinstance(args[0], ast.Constant):
        return len(str(args[0].value).partition("->")[2])
    if name in MADE_SCALAR and "axis" not in words:
        return 0
    lost = name in MADE_SCALAR | {"logsumexp"} and "keepdims" not in words
    return max((rank(arg, axes) for arg in args), default=0) - lost
