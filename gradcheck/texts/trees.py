"""NumPy's text as a tree: its axes and its factors."""

import ast
from collections.abc import Mapping

PREFIX = "cotangent_of_"  # before the name of a value: its cotangent's

REDUCES = frozenset(
    {"sum", "mean", "trace", "det", "norm", "max", "min", "size", "argmax", "argmin", "logsumexp"}
)
MADE_MATRIX = frozenset({"outer", "eye", "inv"})
SHAPED = {"ones": 0, "zeros": 0, "arange": 0, "reshape": 1}
"""Which argument is the shape of what comes."""


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
        case ast.Subscript(value=inner, slice=places):
            return rank(inner, axes) + _gained_axes(places, axes)
        case ast.List(elts=parts):
            return 1 + max((rank(part, axes) for part in parts), default=0)
        case ast.BinOp(left=left, op=ast.MatMult(), right=right):
            return rank(left, axes) + rank(right, axes) - 2
        case ast.BinOp(left=left, right=right) | ast.Compare(left=left, comparators=[right]):
            return max(rank(left, axes), rank(right, axes))
        case ast.Call(func=ast.Name(id=name), keywords=words, args=args):
            return _of_call(name, {word.arg for word in words}, args, axes)
    return 0


def _gained_axes(places: ast.expr, axes: Mapping[str, int]) -> int:
    """How many axes more there are behind an index: `None` is one, a number takes one away.

    Arrays take one away each, and give together what the widest of them has.
    """
    parts = places.elts if isinstance(places, ast.Tuple) else [places]
    chosen = [p for p in parts if not isinstance(p, ast.Slice)]
    arrays = [p for p in chosen if not (isinstance(p, ast.Constant) and p.value is None)]
    widest = max((rank(p, axes) for p in arrays), default=0)
    return len(chosen) - 2 * len(arrays) + widest


def _of_call(
    name: str, words: set[str | None], args: list[ast.expr], axes: Mapping[str, int]
) -> int:
    if name in MADE_MATRIX:
        return 2
    if name in SHAPED:
        shape = args[SHAPED[name]]
        return len(shape.elts) if isinstance(shape, ast.Tuple) else 1
    if name == "einsum" and isinstance(args[0], ast.Constant):
        return len(str(args[0].value).partition("->")[2])
    if name in REDUCES and "axis" not in words:
        return 0
    widest = max((rank(arg, axes) for arg in args), default=0)
    if name == "diag":
        return 3 - widest
    if name == "concatenate":
        return widest - 1
    return widest - (name in REDUCES and "axis" in words and "keepdims" not in words)


def parse_formula(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def split_sign(tree: ast.expr) -> tuple[bool, ast.expr]:
    """Whether a product begins with a minus, and what is left without it."""
    match tree:
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            negative, rest = split_sign(inner)
            return not negative, rest
        case ast.BinOp(left=left, op=ast.Mult() | ast.Div() | ast.MatMult() as op, right=right):
            negative, rest = split_sign(left)
            one = isinstance(rest, ast.Constant) and rest.value == 1
            if negative and one and isinstance(op, ast.Mult):
                return True, right
            return negative, ast.BinOp(rest, op, right)
    return False, tree


def factors(tree: ast.expr) -> tuple[list[ast.expr], list[ast.expr]]:
    """What stands above and below the line of a chain of products and quotients."""
    match tree:
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            a, b = factors(left), factors(right)
            return a[0] + b[0], a[1] + b[1]
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            a, b = factors(left), factors(right)
            return _no_one(a[0] + b[1]), _no_one(a[1] + b[0])
    return [tree], []


def _no_one(factors: list[ast.expr]) -> list[ast.expr]:
    return [f for f in factors if not (isinstance(f, ast.Constant) and f.value == 1)]
