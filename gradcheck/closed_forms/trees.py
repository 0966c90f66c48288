"""Small syntax trees: numbers, signs, factors, calls, texts of our own with trees in them."""

import ast
import re
from collections.abc import Collection, Mapping
from fractions import Fraction
from functools import cache

PREFIX = "cotangent_of_"  # before a step's name: its cotangent's
LARGEST = 10**6  # a denominator beyond is a decimal number


def number_tree(value: Fraction) -> ast.expr:
    if value.denominator > LARGEST:
        whole: ast.expr = ast.Constant(abs(float(value)))
    else:
        whole = ast.Constant(abs(value.numerator))
    if 1 != value.denominator <= LARGEST:
        whole = ast.BinOp(whole, ast.Div(), ast.Constant(value.denominator))
    return negated(whole) if value < 0 else whole


def negated(tree: ast.expr) -> ast.expr:
    """`-2*X` and not `-(2*X)`: the sign stands before the first factor."""
    if isinstance(tree, ast.Compare):
        return ast.BinOp(ast.UnaryOp(ast.USub(), ast.Constant(1)), ast.Mult(), tree)
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Mult | ast.Div | ast.MatMult):
        return ast.BinOp(negated(tree.left), tree.op, tree.right)
    return ast.UnaryOp(ast.USub(), tree)


def scaled(factor: ast.expr, tree: ast.expr) -> ast.expr:
    """`2 * a * b` and not `2 * (a * b)`."""
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Mult | ast.Div):
        return ast.BinOp(scaled(factor, tree.left), tree.op, tree.right)
    return ast.BinOp(factor, ast.Mult(), tree)


def call_tree(name: str, *args: ast.expr, **words: ast.expr) -> ast.expr:
    return ast.Call(
        ast.Name(name), list(args), [ast.keyword(key, value) for key, value in words.items()]
    )


def parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def filled(text: str, inner: Mapping[str, ast.expr]) -> ast.expr:
    """A text of our own with trees in the place of `u0`, `u1`, ..."""

    class Fill(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return inner.get(node.id, node)

    tree: ast.expr = Fill().visit(parsed(text))
    return tree


PATTERNS = {
    "sum(u0, axis=1, keepdims=True)[:, 0]": "sum(u0, axis=1)",
    "norm(u0, axis=1, keepdims=True)[:, 0]": "norm(u0, axis=1)",
    "sum(u0, axis=1, keepdims=True)[:, 0, :]": "sum(u0, axis=1)",
    "u0[:, None][:, 0]": "u0",
    "sum(sum(u0, axis=0))": "sum(u0)",
    "sum(sum(u0, axis=1))": "sum(u0)",
    "sqrt(sum(u0**2))": "norm(u0)",
    "sqrt(sum(u0**2, axis=0))": "norm(u0, axis=0)",
    "sqrt(sum(u0**2, axis=1))": "norm(u0, axis=1)",
    "sqrt(sum(u0**2, axis=1, keepdims=True))": "norm(u0, axis=1, keepdims=True)",
    "1 - sigmoid(-u0)": "sigmoid(u0)",
    "1 - sigmoid(-u0 @ u1)": "sigmoid(u0 @ u1)",
    "u0.T.T": "u0",
    "-u0 @ -u1": "u0 @ u1",
    "u0 @ -u1": "-u0 @ u1",
}
"""What is written in fewer words, once what stands in it is."""


class _Shorter(ast.NodeTransformer):
    """Patterns by their names, from the inside out; `symmetric` are matrices that need no `.T`."""

    def __init__(self, symmetric: Collection[str]) -> None:
        self.symmetric = symmetric

    def visit(self, node: ast.AST) -> ast.AST:
        """A node whose parts are shortened already."""
        self.generic_visit(node)
        if isinstance(node, ast.Attribute) and node.attr == "T" and self._equal(node.value):
            return node.value
        if isinstance(node, ast.expr):
            for pattern, short in _patterns():
                met: dict[str, ast.expr] = {}
                if _meets(pattern, node, met):
                    return filled(short, met)
        return node

    def _equal(self, tree: ast.expr) -> bool:
        """Whether a matrix equals its transpose."""
        match tree:
            case ast.Name(id=name):
                return name in self.symmetric
            case ast.Call(func=ast.Name(id="inv"), args=[inner]):
                return self._equal(inner)
            case ast.Call(func=ast.Name(id="eye"), args=[_]):
                return True
        return False


@cache
def _patterns() -> tuple[tuple[ast.expr, str], ...]:
    return tuple((parsed(long), short) for long, short in PATTERNS.items())


def _meets(pattern: ast.AST, node: object, met: dict[str, ast.expr]) -> bool:
    """Whether a tree has the form of a pattern; `met` gets what stands for its letters."""
    if isinstance(pattern, ast.Name) and re.fullmatch(r"u\d", pattern.id):
        if not isinstance(node, ast.expr):
            return False
        return ast.dump(met.setdefault(pattern.id, node)) == ast.dump(node)
    if type(pattern) is not type(node):
        return False
    assert isinstance(node, ast.AST)
    for name in pattern._fields:
        a, b = getattr(pattern, name, None), getattr(node, name, None)
        if name == "ctx":
            continue
        if isinstance(a, list) and isinstance(b, list):
            if len(a) != len(b):
                return False
            if not all(_meets(x, y, met) for x, y in zip(a, b, strict=True)):
                return False
        elif isinstance(a, ast.AST):
            if not _meets(a, b, met):
                return False
        elif a != b:
            return False
    return True


def shorter(tree: ast.expr, symmetric: Collection[str] = ()) -> ast.expr:
    """A tree with patterns by their names, and without transposes of what is `symmetric`."""
    found = _Shorter(symmetric).visit(tree)
    assert isinstance(found, ast.expr)
    return found


def unsigned(tree: ast.expr) -> tuple[bool, ast.expr]:
    """Whether a product begins with a minus, and what is left without it."""
    match tree:
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            negative, rest = unsigned(inner)
            return not negative, rest
        case ast.BinOp(left=left, op=ast.Mult() | ast.Div() | ast.MatMult() as op, right=right):
            negative, rest = unsigned(left)
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
