"""A formula of single numbers as a line of ball operations, each on earlier slots.

Quick, because nothing but arbs is touched; each equal piece is computed once; numbers that are
typed stay exact fractions. It knows where it has no value, and where its pieces change their rule.
"""

import ast
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, cached_property
from typing import NamedTuple

from flint import arb

from gradcheck.errors import ANSWER_EXPONENT
from gradcheck.grading.equivalence import NoValue
from gradcheck.language.kinds import CONSTANTS, FORMULAS
from gradcheck.numbers.ball import Ball, exact
from gradcheck.numbers.run import Undecided
from gradcheck.ops import TABLE
from gradcheck.ops.domains import knots
from gradcheck.ops.row import Composed
from gradcheck.values import Array, Routine, Value

Shapes = Mapping[str, tuple[int, ...]]
CHOICE, TEST, BOTH = "where", "test", "both"  # `both`: two tests that hold together
LONGEST = 2_000  # bits of a folded fraction


class InputEntry(NamedTuple):
    """An entry of an input."""

    name: str
    at: tuple[int, ...]


class LineStep(NamedTuple):
    """An operation: its rule, the earlier slots that it is on, its name, its place in the text."""

    rule: Routine
    args: tuple[int, ...]
    name: str
    place: tuple[int, int]


Number = Fraction | str  # typed, or the name of a constant
Slot = InputEntry | LineStep | Number
Knot = tuple[Routine, tuple[int, ...]]  # what is zero where a step changes its rule, of which slots


@dataclass(eq=False)
class Line:
    """Slots in an order in which they can be computed; the value is in slot `end`."""

    text: str
    slots: Sequence[Slot]
    end: int
    known: dict[int, list[Value]] = field(default_factory=dict)

    @cached_property
    def leaves(self) -> list[tuple[int, InputEntry]]:
        """The entries of inputs, with their slots."""
        return [(k, slot) for k, slot in enumerate(self.slots) if isinstance(slot, InputEntry)]

    @cached_property
    def steps(self) -> list[tuple[int, LineStep]]:
        """The operations, with the slots that they fill."""
        return [(k, slot) for k, slot in enumerate(self.slots) if isinstance(slot, LineStep)]

    @property
    def numbers(self) -> Iterator[Fraction]:
        """The numbers that are typed."""
        return (slot for slot in self.slots if isinstance(slot, Fraction))

    def value(self, point: Mapping[str, Array], bits: int) -> arb:
        """The value at a point of arbs, at the precision set; NoValue where there is none."""
        values = self._all(point, bits)
        end: arb = values[self.end]
        if not end.is_finite():
            self._refuse(values, self.end)
        return end

    def knots(self, point: Mapping[str, Array], bits: int) -> list[arb]:
        """What must be zero where a piece of the formula changes its rule, at a point."""
        values = self._all(point, bits)
        return [knot(*[values[i] for i in args]) for knot, args in self.knotted]

    def find_hidden(self, point: Mapping[str, Array], bits: int) -> set[str]:
        """The pieces, as they were typed, that have no influence to be seen at a point."""
        asked = [(rule, s) for _, s in self.steps if (rule := _unseen(s.name)) is not None]
        values = self._all(point, bits) if asked else []
        return {
            self.text[slice(*step.place)]
            for rule, step in asked
            if rule(*[values[i] for i in step.args])
        }

    def _all(self, point: Mapping[str, Array], bits: int) -> list[Value]:
        """What is in every slot at a point."""
        if bits not in self.known:
            self.known[bits] = [_constant(slot) for slot in self.slots]
        values = self.known[bits].copy()
        for k, (name, index) in self.leaves:
            values[k] = point[name][index]
        for k, (rule, args, _, _) in self.steps:
            if len(args) == 2:
                i, j = args
                values[k] = rule(values[i], values[j])
            else:
                values[k] = rule(*[values[i] for i in args])
        return values

    def _refuse(self, values: list[Value], at: int) -> None:
        """Raise NoValue if the innermost piece that failed lies beyond doubt outside its domain."""
        step = self.slots[at]
        if not isinstance(step, LineStep):
            return
        for i in _chosen(step, values):
            if not values[i].is_finite():
                self._refuse(values, i)
                return
        row = TABLE.get(step.name)
        if row and row.undefined and row.undefined(*[values[i] for i in step.args]):
            piece = self.text[slice(*step.place)]
            raise NoValue(f"`{piece}` has no value" if piece else "none of its cases holds")

    @cached_property
    def knotted(self) -> Sequence[Knot]:
        """Each step that changes its rule somewhere: what is zero there, and of which slots."""
        return list(self._add_knots())

    def _add_knots(self) -> Iterator[Knot]:
        for _, step in self.steps:
            for knot in _knots(step.name):
                yield knot, step.args
            if step.name in ("sqrt", "power") and self._is_square(step.args[0]):
                inner = self.slots[step.args[0]]
                assert isinstance(inner, LineStep)
                yield (lambda x: x), inner.args[:1]

    def _is_square(self, at: int) -> bool:
        """Whether a slot has a square: the root of that is an absolute value."""
        match self.slots[at]:
            case LineStep(name="square"):
                return True
            case LineStep(name="multiply", args=(a, b)):
                return a == b
            case LineStep(name="power", args=(_, b)):
                exponent = self.slots[b]
                return isinstance(exponent, Fraction) and exponent.numerator % 2 == 0
        return False


@cache
def _knots(name: str) -> tuple[Routine, ...]:
    """What is zero where an operation changes its rule."""
    if name == TEST:
        return (operator.sub,)
    row = TABLE.get(name)
    return tuple(knots(row.kinks)) if row else ()


def _unseen(name: str) -> Routine | None:
    """Where an operation's result has no influence to be seen, if there is such a place."""
    row = TABLE.get(name)
    return row.unseen if row else None


def _chosen(step: LineStep, values: list[Value]) -> tuple[int, ...]:
    """The slots that a step's value came from: of a choice, only the one that was chosen."""
    if step.name == CHOICE:
        return (step.args[1] if values[step.args[0]] else step.args[2],)
    return tuple(i for i in step.args if isinstance(values[i], arb))


def _constant(slot: Slot) -> arb | None:
    """A number at the precision that is set."""
    if isinstance(slot, Fraction):
        return exact(slot)
    return CONSTANTS[slot][2]() if isinstance(slot, str) else None


# -- from a tree -----------------------------------------------------------------------------------

BINARY: dict[type[ast.AST], str] = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.Div: "divide",
    ast.Pow: "power",
}
FOLDED: dict[str, Callable[[Fraction, Fraction], Value]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "power": operator.pow,
}
# Enclosures need no decision where the ops' own cells ask which side it is.
ENCLOSED: dict[str, Routine] = {
    "absolute": abs,
    "sign": lambda x: x.sgn(),
    "maximum": arb.max,
    "minimum": arb.min,
    "fmax": arb.max,
    "fmin": arb.min,
    "relu": lambda x: arb.max(x, arb(0)),
}


def _comparison(holds: Callable[[arb, arb], bool], fails: Callable[[arb, arb], bool]) -> Routine:
    """A comparison of balls: true, false, or asking for more precision."""

    def rule(a: arb, b: arb) -> bool:
        if holds(a, b):
            return True
        if fails(a, b):
            return False
        raise Undecided

    return rule


COMPARISONS: dict[type[ast.AST], Routine] = {
    ast.Lt: _comparison(operator.lt, operator.ge),
    ast.LtE: _comparison(operator.le, operator.gt),
    ast.Gt: _comparison(operator.gt, operator.le),
    ast.GtE: _comparison(operator.ge, operator.lt),
    ast.Eq: _comparison(operator.eq, operator.ne),
    ast.NotEq: _comparison(operator.ne, operator.eq),
}


def line_from_tree(tree: ast.Expression, text: str, shapes: Shapes) -> Line | None:
    """The formula as a line of operations; None where it is more than single numbers."""
    builder = _LineBuilder(shapes)
    try:
        end = builder.add(tree.body)
    except _Beyond:
        return None
    return None if builder.is_test(end) else Line(text, builder.slots, end)


class _Beyond(LookupError):
    """Not a formula of single numbers."""


class _LineBuilder:
    """A line of operations in the making; what is equal has one slot."""

    def __init__(self, shapes: Shapes) -> None:
        self.shapes = shapes
        self.slots: list[Slot] = []
        self.found: dict[Value, int] = {}

    def add(self, node: ast.expr) -> int:
        """The slot of a node's number."""
        match node:
            case ast.Constant(value):
                return self._number(value)
            case ast.BinOp(left, op, right) if type(op) in BINARY:
                args = (self.add(left), self.add(right))
                if isinstance(op, ast.Mult) and self.is_test(args[0]) and self.is_test(args[1]):
                    return self._step(operator.and_, BOTH, args, node)
                return self._apply(BINARY[type(op)], args, node)
            case ast.Name(name):
                if name in CONSTANTS and name not in self.shapes:
                    return self._slot(name, name)
                return self._leaf(name, ())
            case ast.UnaryOp(ast.USub(), inner):
                return self._apply("negative", (self.add(inner),), node)
            case ast.UnaryOp(_, inner):
                return self.add(inner)
            case ast.Call(ast.Name(name), args, []):
                return self._call(FORMULAS.function(name) or "", args, node)
            case ast.Compare(left, [op], [right]):
                sides = (self.add(left), self.add(right))
                return self._step(COMPARISONS[type(op)], TEST, self._plain(sides), node)
            case ast.Subscript(ast.Name(name), ast.Tuple(parts)):
                return self._leaf(name, tuple(map(_index, parts)))
            case ast.Subscript(ast.Name(name), part):
                return self._leaf(name, (_index(part),))
        raise _Beyond

    def is_test(self, slot: int) -> bool:
        """Whether a comparison is there, which may only stand where a choice asks for one."""
        found = self.slots[slot]
        return isinstance(found, LineStep) and found.name in (TEST, BOTH)

    def _plain(self, args: tuple[int, ...]) -> tuple[int, ...]:
        if any(map(self.is_test, args)):
            raise _Beyond
        return args

    def _slot(self, key: Value, slot: Slot) -> int:
        at = self.found.setdefault(key, len(self.slots))
        if at == len(self.slots):
            self.slots.append(slot)
        return at

    def _leaf(self, name: str, index: tuple[int, ...]) -> int:
        shape = self.shapes.get(name, ())
        inside = all(-size <= i < size for i, size in zip(index, shape, strict=False))
        if name not in self.shapes or len(index) != len(shape) or not inside:
            raise _Beyond
        return self._slot((name, index), InputEntry(name, index))

    def _number(self, value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int | Fraction):
            raise _Beyond
        key = (value.numerator, value.denominator)  # the hash of a Fraction takes long
        at = self.found.get(key)
        return self._slot(key, Fraction(value)) if at is None else at

    def _step(self, rule: Routine, name: str, args: tuple[int, ...], node: ast.expr) -> int:
        """An operation; the same operation on the same slots is made once."""
        place = (getattr(node, "col_offset", 0), getattr(node, "end_col_offset", 0))
        key = (name, rule if name == TEST else None, *args)
        return self._slot(key, LineStep(rule, args, name, place))

    def _apply(self, name: str, args: tuple[int, ...], node: ast.expr) -> int:
        """An op of the table on numbers; of typed numbers the exact result, while it is short."""
        given = [self.slots[i] for i in self._plain(args)]
        folded = _fold(name, *given)
        return (
            self._step(rule_of(name), name, args, node) if folded is None else self._number(folded)
        )

    def _call(self, name: str, args: Sequence[ast.expr], node: ast.expr) -> int:
        row = TABLE.get(name)
        if row is None or row.params or row.arrange or len(args) != row.operands:
            raise _Beyond
        slots = tuple([self.add(arg) for arg in args])
        if name != CHOICE:
            return self._apply(name, slots, node)
        if [self.is_test(slot) for slot in slots] != [True, False, False]:
            raise _Beyond
        return self._step(lambda test, a, b: a if test else b, name, slots, node)


def _index(node: ast.expr) -> int:
    match node:
        case ast.UnaryOp(ast.USub(), inner):
            return -_index(inner)
        case ast.Constant(int() as value) if not isinstance(value, bool):
            return value
    raise _Beyond


def _fold(name: str, a: Slot, b: Slot = "") -> Fraction | None:
    """The exact result of an operation on typed numbers, while it stays short; else None."""
    if not isinstance(a, Fraction):
        return None
    if name == "negative":
        return -a
    if name not in FOLDED or not isinstance(b, Fraction) or (b == 0 and name == "divide"):
        return None
    if name == "power" and (
        b.denominator != 1 or abs(b) > ANSWER_EXPONENT or (a == 0 and b < 0) or _is_long(a, abs(b))
    ):
        return None
    result = Fraction(FOLDED[name](a, b))
    return None if _is_long(result, Fraction(1)) else result


def _is_long(value: Fraction, times: Fraction) -> bool:
    bits = value.numerator.bit_length() + value.denominator.bit_length()
    return bits * times > LONGEST


@cache
def rule_of(name: str) -> Routine:
    """An op's rule on arbs; what the row says in terms of Balls is wrapped."""
    if name in ENCLOSED:
        return ENCLOSED[name]
    row = TABLE.get(name)
    if row is None or not row.elementwise or row.ball is None:
        raise _Beyond
    return _on_arbs(row.ball.function) if isinstance(row.ball, Composed) else row.ball


def _on_arbs(function: Routine) -> Routine:
    """A rule on Balls as a rule on arbs; where a ball holds no number, neither does the result."""

    def rule(*args: arb) -> arb:
        try:
            result = function(*map(Ball, args))
        except ValueError:
            return arb("nan")
        return result.x if type(result) is Ball else exact(result)

    return rule
