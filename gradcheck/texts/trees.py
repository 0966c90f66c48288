"""NumPy's text as a tree: its axes, its sign and its factors."""

import ast
from collections.abc import Mapping
from functools import reduce

PREFIX = "cotangent_of_"  # before the name of a value: its cotangent's

REDUCES = frozenset(
    {"sum", "mean", "trace", "det", "norm", "max", "min", "size", "argmax", "argmin", "logsumexp"}
)
SHAPED = {"ones": 0, "zeros": 0, "arange": 0, "reshape": 1}
"""Which argument is the shape of what comes."""

Factors = tuple[list[ast.expr], list[ast.expr]]


def parse_formula(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def rank(tree: ast.expr, axes: Mapping[str, int]) -> int:
    """The number of axes of what a tree stands for; a name that `axes` lacks is a number."""
    match tree:
        case ast.Name(id=name):
            return axes.get(name, 0)
        case ast.Attribute(value=inner, attr="T") | ast.UnaryOp(operand=inner):
            return rank(inner, axes)
        case ast.Subscript(value=inner, slice=places) if not is_size(tree):
            parts = places.elts if isinstance(places, ast.Tuple) else [places]
            new = [p for p in parts if isinstance(p, ast.Constant) and p.value is None]
            picks = [p for p in parts if p not in new and not isinstance(p, ast.Slice)]
            widest = max((rank(p, axes) for p in picks), default=0)
            return rank(inner, axes) + len(new) - len(picks) + widest
        case ast.List(elts=parts):
            return 1 + max((rank(part, axes) for part in parts), default=0)
        case ast.BinOp(left=left, op=op, right=right):
            a, b = rank(left, axes), rank(right, axes)
            return a + b - 2 if isinstance(op, ast.MatMult) else max(a, b)
        case ast.Compare(left=left, comparators=[right]):
            return max(rank(left, axes), rank(right, axes))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=words):
            return _rank_of_call(name, args, {word.arg for word in words}, axes)
    return 0


def _rank_of_call(
    name: str, args: list[ast.expr], words: set[str | None], axes: Mapping[str, int]
) -> int:
    widest = max((rank(arg, axes) for arg in args), default=0)
    if name in SHAPED:
        shape = args[SHAPED[name]]
        return len(shape.elts) if isinstance(shape, ast.Tuple) else 1
    match name, args:
        case "outer" | "eye" | "inv", _:
            return 2
        case "einsum", [ast.Constant(value=str(subscripts)), *_]:
            return len(subscripts.partition("->")[2])
        case "diag", _:
            return 3 - widest
        case "concatenate", _:
            return widest - 1
    if name in REDUCES:
        return widest - ("keepdims" not in words) if "axis" in words else 0
    return widest


def is_size(tree: ast.AST) -> bool:
    match tree:
        case ast.Attribute(attr="size") | ast.Subscript(value=ast.Attribute(attr="shape")):
            return True
    return False


def _is_one(tree: ast.expr) -> bool:
    return isinstance(tree, ast.Constant) and type(tree.value) is int and tree.value == 1


def split_sign(tree: ast.expr) -> tuple[bool, ast.expr]:
    """Whether a product begins with a minus, and what is left without it."""
    match tree:
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            negative, rest = split_sign(inner)
            return not negative, rest
        case ast.BinOp(left=left, op=ast.Mult() | ast.Div() | ast.MatMult() as op, right=right):
            negative, rest = split_sign(left)
            one = negative and isinstance(op, ast.Mult) and _is_one(rest)
            return negative, right if one else ast.BinOp(rest, op, right)
    return False, tree


def factors(tree: ast.expr, axes: Mapping[str, int]) -> Factors:
    """What stands above and below the line of a chain of products and quotients.

    The numbers before a product of matrices stand before the whole of it.
    """
    match tree:
        case ast.BinOp(left=left, op=ast.Mult() | ast.Div() as op, right=right):
            a, b = factors(left, axes), factors(right, axes)
            b = b if isinstance(op, ast.Mult) else b[::-1]
            sides = ([f for f in a[k] + b[k] if not _is_one(f)] for k in (0, 1))
            return next(sides), next(sides)
        case ast.BinOp(left=left, op=ast.MatMult() as op, right=right):
            above, below = factors(left, axes)
            numbers = [f for f in above if rank(f, axes) <= 0]
            arrays = [f for f in above if f not in numbers]
            if numbers and arrays and not below:
                first = reduce(lambda a, b: ast.BinOp(a, ast.Mult(), b), arrays)
                return [*numbers, ast.BinOp(first, op, right)], []
    return [tree], []
