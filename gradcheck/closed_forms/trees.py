"""Small syntax trees: numbers, calls, texts of our own with trees in them."""

import ast
from collections.abc import Mapping
from fractions import Fraction

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


class _Shorter(ast.NodeTransformer):
    """`sqrt(sum(x**2))` as `norm(x)`."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.Call(
                func=ast.Name(id="sqrt"),
                args=[
                    ast.Call(
                        func=ast.Name(id="sum"),
                        args=[ast.BinOp(left=inner, op=ast.Pow(), right=ast.Constant(value=2))],
                        keywords=[],
                    )
                ],
            ):
                return call_tree("norm", inner)
        return node


def shorter(tree: ast.expr) -> ast.expr:
    """A tree with patterns by their names."""
    found: ast.expr = _Shorter().visit(tree)
    return found
