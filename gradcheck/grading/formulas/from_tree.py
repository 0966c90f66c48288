"""From the tree of a formula to its line of operations, where it is one of single numbers."""

import ast
import operator
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any

from flint import arb

from gradcheck.grading.formulas.line import CHOICE, Leaf, Line, Rule
from gradcheck.language.kinds import CONSTANTS, FORMULAS
from gradcheck.numbers.ball import Ball, exact
from gradcheck.numbers.exponents import FORMULA
from gradcheck.numbers.run import Undecided
from gradcheck.ops import TABLE
from gradcheck.ops.row import Composed

Shapes = Mapping[str, tuple[int, ...]]
LONGEST = 2_000  # bits of a folded fraction

BINARY: dict[type[ast.AST], str] = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.Div: "divide",
    ast.Pow: "power",
}
FOLDED: dict[str, Callable[[Fraction, Fraction], Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "power": operator.pow,
}
# Enclosures need no decision where the ops' own cells ask which side it is.
ENCLOSED: dict[str, Rule] = {
    "absolute": abs,
    "sign": lambda x: x.sgn(),
    "maximum": arb.max,
    "minimum": arb.min,
    "fmax": arb.max,
    "fmin": arb.min,
    "relu": lambda x: arb.max(x, arb(0)),
}


def _decided(holds: Callable[[arb, arb], bool], fails: Callable[[arb, arb], bool]) -> Rule:
    """A comparison of balls: true, false, or asking for more precision."""

    def rule(a: arb, b: arb) -> bool:
        if holds(a, b):
            return True
        if fails(a, b):
            return False
        raise Undecided

    return rule


COMPARISONS: dict[type[ast.AST], Rule] = {
    ast.Lt: _decided(operator.lt, operator.ge),
    ast.LtE: _decided(operator.le, operator.gt),
    ast.Gt: _decided(operator.gt, operator.le),
    ast.GtE: _decided(operator.ge, operator.lt),
    ast.Eq: _decided(operator.eq, operator.ne),
    ast.NotEq: _decided(operator.ne, operator.eq),
}


def line_from_tree(tree: ast.Expression, text: str, shapes: Shapes) -> Line | None:
    """The formula as a line of operations; None where it is more than single numbers."""
    line = _LineBuilder(text, shapes)
    try:
        end = line.number_at(tree.body)
    except _Beyond:
        return None
    return line.finished(end)


class _Beyond(LookupError):
    """Not a formula of single numbers."""


# A slot before the slots are counted: its place among its kind, times four, and the kind.
_Ref = int
LEAF, NUMBER, STEP, TEST = range(KINDS := 4)
BOTH = "both"  # the name of a step: two tests that hold together


class _LineBuilder:
    """A line of operations in the making."""

    def __init__(self, text: str, shapes: Shapes) -> None:
        self.text, self.shapes = text, shapes
        self.leaves: dict[Leaf, int] = {}
        self.numbers: dict[str | tuple[int, int], int] = {}  # a Fraction takes long to hash
        self.typed: list[Fraction | str] = []
        self.steps: dict[tuple[Any, ...], int] = {}
        self.made: list[tuple[Rule, tuple[_Ref, ...], str, tuple[int, int]]] = []

    def number_at(self, node: ast.AST) -> _Ref:
        """The slot of a node's number."""
        reader = _READERS.get(type(node))
        if reader is None:
            raise _Beyond
        return reader(self, node)

    def leaf(self, name: str, index: tuple[int, ...]) -> _Ref:
        shape = self.shapes.get(name)
        if shape is None or len(index) != len(shape):
            raise _Beyond
        if any(not -size <= i < size for i, size in zip(index, shape, strict=True)):
            raise _Beyond
        return self.leaves.setdefault((name, index), len(self.leaves)) * KINDS + LEAF

    def number(self, value: Fraction | str) -> _Ref:
        key = value if isinstance(value, str) else (value.numerator, value.denominator)
        place = self.numbers.setdefault(key, len(self.typed))
        if place == len(self.typed):
            self.typed.append(value)
        return place * KINDS + NUMBER

    def fraction(self, ref: _Ref) -> Fraction | None:
        """The exact value in a slot of a typed number."""
        typed = self.typed[ref // KINDS] if ref % KINDS == NUMBER else None
        return typed if type(typed) is Fraction else None

    def step(self, rule: Rule, name: str, args: tuple[_Ref, ...], node: ast.AST) -> _Ref:
        """The slot of an operation; the same operation on the same slots is made once."""
        key = (name, rule if name == "test" else None, *args)
        at = self.steps.setdefault(key, len(self.made))
        if at == len(self.made):
            place = (getattr(node, "col_offset", 0), getattr(node, "end_col_offset", 0))
            self.made.append((rule, args, name, place))
        return at * KINDS + (TEST if name in ("test", BOTH) else STEP)

    def applied(self, name: str, args: tuple[_Ref, ...], node: ast.AST) -> _Ref:
        """An op of the table on numbers."""
        kinds = [arg % KINDS for arg in args]
        if TEST in kinds:
            raise _Beyond
        folded = self._folded(name, args) if kinds.count(NUMBER) == len(kinds) else None
        return self.step(rule_of(name), name, args, node) if folded is None else self.number(folded)

    def _folded(self, name: str, args: tuple[_Ref, ...]) -> Fraction | None:
        """The exact result of an operation on typed numbers, while it stays short."""
        if name == "negative":
            value = self.fraction(args[0])
            return None if value is None else -value
        if name not in FOLDED or len(args) != 2:
            return None
        a, b = self.fraction(args[0]), self.fraction(args[1])
        if a is None or b is None or (b == 0 and name == "divide"):
            return None
        if name == "power" and (
            b.denominator != 1 or abs(b) > FORMULA or (a == 0 and b < 0) or _long(a, abs(b))
        ):
            return None
        result = Fraction(FOLDED[name](a, b))
        return None if _long(result, Fraction(1)) else result

    def finished(self, end: _Ref) -> Line | None:
        """The line with its slots counted."""
        if end % KINDS == TEST:
            return None
        numbered = len(self.leaves) + len(self.numbers)
        offset = (0, len(self.leaves), numbered, numbered)

        def slots(refs: tuple[_Ref, ...]) -> tuple[int, ...]:
            return tuple([offset[ref % KINDS] + ref // KINDS for ref in refs])

        made = [(rule, slots(refs), name, at) for rule, refs, name, at in self.made]
        leaves, numbers = tuple(self.leaves), tuple(self.typed)
        return Line(self.text, leaves, numbers, made, slots((end,))[0])


def _long(value: Fraction, times: Fraction) -> bool:
    bits = value.numerator.bit_length() + value.denominator.bit_length()
    return bits * times > LONGEST


@cache
def rule_of(name: str) -> Rule:
    """An op's rule on arbs; what the row says in terms of Balls is wrapped."""
    if name in ENCLOSED:
        return ENCLOSED[name]
    row = TABLE.get(name)
    if row is None or not row.elementwise or row.ball is None:
        raise _Beyond
    return _lifted(row.ball.function) if isinstance(row.ball, Composed) else row.ball


def _lifted(function: Rule) -> Rule:
    """A rule on Balls as a rule on arbs; where a ball holds no number, neither does the result."""

    def rule(*args: arb) -> arb:
        try:
            result = function(*map(Ball, args))
        except ValueError:
            return arb("nan")
        return result.x if type(result) is Ball else exact(result)

    return rule


# -- one reader a kind of node -------------------------------------------------------------------


def _name(line: _LineBuilder, node: ast.Name) -> _Ref:
    if node.id in line.shapes:
        return line.leaf(node.id, ())
    if node.id not in CONSTANTS:
        raise _Beyond
    return line.number(node.id)


def _constant(line: _LineBuilder, node: ast.Constant) -> _Ref:
    value: object = node.value
    if isinstance(value, bool) or not isinstance(value, int | Fraction):
        raise _Beyond
    return line.number(_whole(value) if type(value) is int else Fraction(value))


@lru_cache(maxsize=1_000)
def _whole(value: int) -> Fraction:
    return Fraction(value)


def _binary(line: _LineBuilder, node: ast.BinOp) -> _Ref:
    name = BINARY.get(type(node.op))
    if name is None:
        raise _Beyond
    args = (line.number_at(node.left), line.number_at(node.right))
    if name == "multiply" and [arg % KINDS for arg in args] == [TEST, TEST]:
        return line.step(operator.and_, BOTH, args, node)
    return line.applied(name, args, node)


def _unary(line: _LineBuilder, node: ast.UnaryOp) -> _Ref:
    inner = line.number_at(node.operand)
    return line.applied("negative", (inner,), node) if isinstance(node.op, ast.USub) else inner


def _subscript(line: _LineBuilder, node: ast.Subscript) -> _Ref:
    """`x[0]`, `W[1, -1]`: an entry of an input."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if not isinstance(node.value, ast.Name):
        raise _Beyond
    return line.leaf(node.value.id, tuple(map(_place, parts)))


def _place(node: ast.expr) -> int:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_place(node.operand)
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    raise _Beyond


def _call(line: _LineBuilder, node: ast.Call) -> _Ref:
    name = FORMULAS.function(node.func.id) if isinstance(node.func, ast.Name) else None
    row = TABLE.get(name or "")
    if name is None or row is None or row.params or row.arrange:
        raise _Beyond
    if node.keywords or len(node.args) != row.operands:
        raise _Beyond
    args = tuple([line.number_at(arg) for arg in node.args])
    if name == CHOICE:
        if [arg % KINDS == TEST for arg in args] != [True, False, False]:
            raise _Beyond
        return line.step(lambda test, a, b: a if test else b, name, args, node)
    return line.applied(name, args, node)


def _comparison(line: _LineBuilder, node: ast.Compare) -> _Ref:
    """A test: it may only stand where a choice asks for one."""
    if len(node.ops) != 1:
        raise _Beyond
    args = (line.number_at(node.left), line.number_at(node.comparators[0]))
    if any(arg % KINDS == TEST for arg in args):
        raise _Beyond
    return line.step(COMPARISONS[type(node.ops[0])], "test", args, node)


_READERS: dict[type[ast.AST], Callable[[_LineBuilder, Any], _Ref]] = {
    ast.Name: _name,
    ast.Constant: _constant,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.Subscript: _subscript,
    ast.Call: _call,
    ast.Compare: _comparison,
}
