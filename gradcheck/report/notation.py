"""A formula in NumPy's spelling, set as mathematics; read as a tree, never evaluated.

What is bracketed and where a sign of multiplication stands is decided here, once; how a fraction
or a root is spelled is the business of a `Notation`.
"""

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

SUM, PRODUCT, UNARY, POWER, ATOM = range(1, 6)
LONGEST = 1_000  # characters: beyond, a formula is no picture anybody reads
SIGNS = {ast.Add: "+", ast.Sub: "−", ast.MatMult: "⋅"}
COMPARED = {
    ast.Lt: "<",
    ast.LtE: "≤",
    ast.Gt: ">",
    ast.GtE: "≥",
    ast.Eq: "=",
    ast.NotEq: "≠",
}
NOWHERE = "0 / 0"  # as an answer by cases has it where it has no value
Written = tuple[str, int]  # the formula, and how tightly it binds


class _Unknown(Exception):
    """Something that has no place in a formula."""


@dataclass(frozen=True)
class Notation:
    """How pieces of a formula are put together; every piece is a text in the same notation.

    `group` makes one thing of several, `raised` and `below` get the base first; `times` stands
    where nothing is seen, `apply` between a function and its brackets. `cases` gets values with
    their conditions; no condition is all else.
    """

    name: Callable[[str], str]
    function: Callable[[str], str]
    number: Callable[[object], str]
    sign: Callable[[str], str]
    word: Callable[[str], str]
    group: Callable[[str], str]
    bracketed: Callable[[str, str, str], str]
    fraction: Callable[[str, str], str]
    raised: Callable[[str, str], str]
    below: Callable[[str, str], str]
    root: Callable[[str], str]
    cases: Callable[[Sequence[tuple[str, str]]], str]
    times: str
    apply: str


def notated(text: str, notation: Notation) -> str:
    """A formula in a notation; empty where it is none."""
    if len(text) > LONGEST:
        return ""
    try:
        return _Writer(notation).written(ast.parse(text, mode="eval").body)[0]
    except (SyntaxError, ValueError, RecursionError, MemoryError, _Unknown):
        return ""


class _Writer:
    """Writes one tree."""

    def __init__(self, notation: Notation) -> None:
        self.to = notation

    def written(self, node: ast.AST) -> Written:
        """A node, and how tightly it binds."""
        writer = WRITERS.get(type(node))
        if writer is None:
            raise _Unknown
        return writer(self, node)

    def _in(self, node: ast.AST, rank: int) -> str:
        """A node, in brackets if it binds more loosely than the rank."""
        inner, own = self.written(node)
        return self.to.group(inner) if own >= rank else self.to.bracketed(inner, "(", ")")

    def _binop(self, node: ast.BinOp) -> Written:
        if isinstance(node.op, ast.Div):
            return self.to.fraction(self._in(node.left, 0), self._in(node.right, 0)), POWER
        if isinstance(node.op, ast.Pow):
            return self.to.raised(self._in(node.left, ATOM), self._in(node.right, 0)), POWER
        if isinstance(node.op, ast.Mult):
            left, right = self._in(node.left, PRODUCT), self._second(node.right, UNARY)
            digits = _begins_with_digits(node.right)
            return left + (self.to.sign("⋅") if digits else self.to.times) + right, PRODUCT
        sign = SIGNS.get(type(node.op))
        if sign is None:
            raise _Unknown
        rank = PRODUCT if sign == "⋅" else SUM
        pieces = self._in(node.left, rank), self.to.sign(sign), self._second(node.right, rank + 1)
        return "".join(pieces), rank

    def _second(self, node: ast.AST, rank: int) -> str:
        """What follows a sign: in brackets too, if it begins with one."""
        return self._in(node, ATOM + 1 if isinstance(_first(node, ast.Pow), ast.UnaryOp) else rank)

    def _unaryop(self, node: ast.UnaryOp) -> Written:
        if not isinstance(node.op, ast.USub | ast.UAdd):
            raise _Unknown
        sign = "−" if isinstance(node.op, ast.USub) else "+"
        return self.to.sign(sign) + self._in(node.operand, PRODUCT), PRODUCT

    def _call(self, node: ast.Call) -> Written:
        if not isinstance(node.func, ast.Name):
            raise _Unknown
        name = node.func.id
        if name == "where" and len(node.args) == 3 and not node.keywords:
            return self.to.cases([(self._in(v, 0), self._said(c)) for v, c in _cases(node)]), 0
        given = [self._in(argument, 0) for argument in node.args]
        named = ((k.arg or "", self._in(k.value, 0)) for k in node.keywords)
        given += [self.to.word(name) + self.to.sign("=") + value for name, value in named]
        if len(given) == 1 and name == "sqrt":
            return self.to.root(given[0]), ATOM
        if len(given) == 1 and name == "exp":
            return self.to.raised(self.to.name("e"), given[0]), POWER
        if len(given) == 1 and name in {"abs", "absolute"}:
            return self.to.bracketed(given[0], "|", "|"), ATOM
        inner = self.to.bracketed(self._joined(given), "(", ")")
        return self.to.function(name) + self.to.apply + inner, POWER

    def _said(self, condition: ast.AST | None) -> str:
        return "" if condition is None else self._in(condition, 0)

    def _name(self, node: ast.Name) -> Written:
        head, _, below = node.id.partition("_")
        if head and below:
            return self.to.below(self.to.name(head), self.to.name(below)), ATOM
        return self.to.name(node.id), ATOM

    def _constant(self, node: ast.Constant) -> Written:
        if isinstance(node.value, bool) or not isinstance(node.value, int | float):
            raise _Unknown
        return self.to.number(node.value), ATOM

    def _attribute(self, node: ast.Attribute) -> Written:
        if node.attr != "T":
            raise _Unknown
        return self.to.raised(self._in(node.value, ATOM), self.to.name("T")), POWER

    def _subscript(self, node: ast.Subscript) -> Written:
        return self.to.below(self._in(node.value, ATOM), self._in(node.slice, 0)), ATOM

    def _list(self, node: ast.List) -> Written:
        inner = self._joined([self._in(entry, 0) for entry in node.elts])
        return self.to.bracketed(inner, "[", "]"), ATOM

    def _tuple(self, node: ast.Tuple) -> Written:
        return self._joined([self._in(entry, 0) for entry in node.elts]), ATOM

    def _compare(self, node: ast.Compare) -> Written:
        signs = (COMPARED.get(type(op)) for op in node.ops)
        pieces = [self._in(node.left, SUM)]
        for sign, right in zip(signs, node.comparators, strict=True):
            if sign is None:
                raise _Unknown
            pieces += [self.to.sign(sign), self._in(right, SUM)]
        return "".join(pieces), 0

    def _joined(self, pieces: Sequence[str]) -> str:
        return self.to.sign(",").join(pieces)


WRITERS: dict[type[ast.AST], Callable[[_Writer, Any], Written]] = {
    ast.BinOp: _Writer._binop,
    ast.UnaryOp: _Writer._unaryop,
    ast.Call: _Writer._call,
    ast.Name: _Writer._name,
    ast.Constant: _Writer._constant,
    ast.Attribute: _Writer._attribute,
    ast.Subscript: _Writer._subscript,
    ast.List: _Writer._list,
    ast.Tuple: _Writer._tuple,
    ast.Compare: _Writer._compare,
}


def _cases(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST | None]]:
    """The values of where(...) with their conditions, then all else: nothing where that is 0/0."""
    while isinstance(node, ast.Call) and ast.unparse(node.func) == "where" and len(node.args) == 3:
        condition, value, node = node.args
        yield value, condition
    if ast.unparse(node) != NOWHERE:
        yield node, None


def _begins_with_digits(node: ast.AST) -> bool:
    """Whether a factor without brackets begins with a number; a quotient stands as a whole."""
    closed = not isinstance(node, ast.BinOp) or isinstance(node.op, ast.Div | ast.Pow)
    return closed and isinstance(_first(node), ast.Constant)


def _first(node: ast.AST, *closed: type[ast.operator]) -> ast.AST:
    """What stands first; fractions, and other operators that are `closed`, stand as a whole."""
    while isinstance(node, ast.BinOp) and not isinstance(node.op, (ast.Div, *closed)):
        node = node.left
    return node
