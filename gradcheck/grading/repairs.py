"""Small changes of a formula that somebody typed: one number, sign, letter, function, or factor.

Each is a tree of its own beside the place of what was changed, and how that is to be typed.
"""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import Any

from gradcheck.answers.echo import PRODUCT, bracketed, echo

MOST = 400  # changes of one formula
SMALL = range(13)  # what is tried in the place of any number
FUNCTIONS = (
    ("sin", "cos", "tan", "sec", "csc", "cot"),
    ("sinh", "cosh", "tanh"),
    ("arcsin", "arccos", "arctan"),
    ("exp", "log", "sqrt"),
)


@dataclass(frozen=True)
class Repair:
    """A formula with one change: its kind, its place in the text, and what belongs there.

    `now` is empty where nothing does.
    """

    tree: ast.Expression
    kind: str
    start: int
    end: int
    now: str


@dataclass(frozen=True, eq=False)
class Change:
    """A piece of a formula, and what would stand in its place."""

    kind: str
    node: ast.expr
    new: ast.expr

    def made(self, tree: ast.Expression) -> Repair:
        """The formula with the change made in it."""
        shown = _shown(self.kind, self.node, self.new)
        return Repair(_with(tree, self.node, self.new), self.kind, *shown)


def repairs(tree: ast.Expression, names: Sequence[str]) -> Iterator[Repair]:
    """Every small change of a formula in these names of single numbers; the likeliest first."""
    return (change.made(tree) for change in changes(tree, names))


def changes(tree: ast.Expression, names: Sequence[str]) -> Iterator[Change]:
    """The same, not yet made."""
    return islice(_changes(tree, names), MOST)


def _changes(tree: ast.Expression, names: Sequence[str]) -> Iterator[Change]:
    nodes, terms = list(_nodes(tree.body)), _terms(tree.body)
    for kinds in (_signs, _numbers, _functions, _letters, _factors, _brackets, _missing):
        for node in nodes:
            for kind, new in kinds(node, names, node in terms):
                yield Change(kind, node, new)


def _shown(kind: str, node: ast.expr, new: ast.expr) -> tuple[int, int, str]:
    """The smallest place of a change, and what belongs there."""
    start, end = node.col_offset, node.end_col_offset or 0
    match node:
        case ast.BinOp(left, ast.Mult(), right) if kind == "too much":
            gone = right if new is left else left
            return gone.col_offset, gone.end_col_offset or 0, ""
        case ast.BinOp(left, ast.Add() | ast.Sub()) if kind == "sign" and isinstance(
            new, ast.BinOp
        ):
            sign = "-" if isinstance(new.op, ast.Sub) else "+"
            return left.end_col_offset or 0, end, f"{sign} {bracketed(new.right, PRODUCT)}"
    return start, end, echo(new)


News = Iterator[tuple[str, ast.expr]]


def _nodes(node: ast.AST) -> Iterator[ast.expr]:
    """All expressions of a formula but the names of its functions."""
    if isinstance(node, ast.expr):
        yield node
    for child in ast.iter_child_nodes(node):
        if not (isinstance(node, ast.Call) and child is node.func):
            yield from _nodes(child)


def _terms(body: ast.expr) -> list[ast.expr]:
    """The whole, and what is added or subtracted in it or in a bracket."""
    found = [body]
    for node in _nodes(body):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
            found += [node.left, node.right]
    return found


def _signs(node: ast.expr, names: Sequence[str], term: bool) -> News:
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            yield "sign", inner
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            yield "sign", ast.BinOp(left, ast.Sub(), right)
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            yield "sign", ast.BinOp(left, ast.Add(), right)
        case ast.BinOp() | ast.Name() | ast.Call() | ast.Constant() if term:
            yield "sign", ast.UnaryOp(ast.USub(), node)


def _numbers(node: ast.expr, names: Sequence[str], term: bool) -> News:
    if not isinstance(node, ast.Constant) or not isinstance(node.value, int | Fraction):
        return
    value = Fraction(node.value)
    turned = [Fraction(int(str(value)[::-1]))] if value.denominator == 1 and value > 9 else []
    inverse = 1 / (value or Fraction(1))
    near = [value - 1, value + 1, 2 * value, value / 2, 10 * value, value / 10, inverse]
    for other in dict.fromkeys([*near, *turned, *map(Fraction, SMALL)]):
        if other not in (value, 0):
            yield "number", _number(other)


def _number(value: Fraction) -> ast.expr:
    if value.denominator == 1:
        return ast.Constant(value.numerator)
    return ast.BinOp(_number(Fraction(value.numerator)), ast.Div(), ast.Constant(value.denominator))


def _functions(node: ast.expr, names: Sequence[str], term: bool) -> News:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        for family in FUNCTIONS:
            for other in family if node.func.id in family else ():
                if other != node.func.id:
                    yield "function", ast.Call(ast.Name(other, ast.Load()), node.args, [])


def _letters(node: ast.expr, names: Sequence[str], term: bool) -> News:
    if isinstance(node, ast.Name):
        for other in names:
            if other != node.id:
                yield "letter", ast.Name(other, ast.Load())


def _factors(node: ast.expr, names: Sequence[str], term: bool) -> News:
    """A factor, a divisor or an exponent that is too much."""
    match node:
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            yield "too much", left
            yield "too much", right
        case ast.BinOp(left=left, op=ast.Div() | ast.Pow()):
            yield "too much", left


def _missing(node: ast.expr, names: Sequence[str], term: bool) -> News:
    """A factor or a divisor that a term lacks, a power that a name lacks."""
    if isinstance(node, ast.Name):
        yield "missing", ast.BinOp(node, ast.Pow(), ast.Constant(2))
    if not term:
        return
    for name in names:
        yield "missing", ast.BinOp(ast.Name(name, ast.Load()), ast.Mult(), node)
    for number in (2, 3):
        yield "missing", ast.BinOp(ast.Constant(number), ast.Mult(), node)
    own = node.id if isinstance(node, ast.Name) else ""
    for below in (*(ast.Name(name, ast.Load()) for name in names if name != own), ast.Constant(2)):
        yield "missing", ast.BinOp(node, ast.Div(), below)


def _brackets(node: ast.expr, names: Sequence[str], term: bool) -> News:
    """A bracket taken away from a sum, or put around one."""
    match node:
        case ast.BinOp(ast.BinOp(a, first, b), second, c):
            yield from _regrouped(first, second, ast.BinOp(a, first, ast.BinOp(b, second, c)))
    match node:
        case ast.BinOp(a, first, ast.BinOp(b, second, c)):
            yield from _regrouped(first, second, ast.BinOp(ast.BinOp(a, first, b), second, c))
        case ast.Call(function, [ast.BinOp(a, plus, b)]) if isinstance(plus, PLUS):
            yield "bracket", ast.BinOp(ast.Call(function, [a], []), plus, b)


PLUS, TIMES = (ast.Add, ast.Sub), (ast.Mult, ast.Div)


def _regrouped(first: ast.operator, second: ast.operator, new: ast.expr) -> News:
    """Three numbers in other brackets, where that makes a difference of sums and products."""
    known = all(isinstance(op, PLUS + TIMES) for op in (first, second))
    if known and isinstance(first, PLUS) != isinstance(second, PLUS):
        yield "bracket", new


def _with(tree: ast.Expression, old: ast.expr, new: ast.expr) -> ast.Expression:
    """The tree with something else in one place; the rest of it is shared."""
    return ast.Expression(_swapped(tree.body, old, _placed(new, old)))


def _swapped(node: ast.expr, old: ast.expr, new: ast.expr) -> ast.expr:
    if node is old:
        return new
    fields = {name: _each(value, old, new) for name, value in ast.iter_fields(node)}
    return ast.copy_location(type(node)(**fields), node)


def _each(value: Any, old: ast.expr, new: ast.expr) -> Any:
    """What a field holds: an expression, a list of them, or something that stays."""
    if isinstance(value, list):
        return [_each(each, old, new) for each in value]
    return _swapped(value, old, new) if isinstance(value, ast.expr) else value


def _placed(new: ast.expr, old: ast.expr) -> ast.expr:
    """What is new stands where the old one stood."""
    for node in ast.walk(new):
        if isinstance(node, ast.expr) and not hasattr(node, "lineno"):
            ast.copy_location(node, old)
    return new
