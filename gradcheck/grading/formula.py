"""A typed formula as numbers: what it comes to at a point, as arbs at any precision.

A formula of single numbers is a line of operations in which what is equal is computed once and
typed numbers stay exact; any other one is a checked program of arrays.
"""

import ast
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np
from flint import arb

from gradcheck.answers import Entries, Formula, NumberList
from gradcheck.errors import ANSWER_EXPONENT, GradcheckError
from gradcheck.grading.equivalence import At, NoValue, Values
from gradcheck.grading.key import Spot
from gradcheck.language import Budget, Program, check_expression
from gradcheck.language.kinds import CONSTANTS, FORMULAS, KINDS
from gradcheck.language.program import copy_tree
from gradcheck.language.run import run
from gradcheck.numbers.ball import Ball, arbs, balls, exact, middle
from gradcheck.numbers.run import Undecided
from gradcheck.ops import TABLE
from gradcheck.ops.domains import knots
from gradcheck.ops.row import Composed
from gradcheck.problem import Problem
from gradcheck.values import Array, Routine, Value

Shapes = Mapping[str, tuple[int, ...]]
CHOICE, TEST, BOTH = "where", "test", "both"  # `both`: two tests that hold together
LONGEST = 2_000  # bits of a folded fraction
PATIENCE = 1_024  # bits; an array's entry that is no number even then is looked at with floats


class NotNumbers(GradcheckError):
    """A formula came out as something else than the numbers that are due in its place."""


class _Beyond(LookupError):
    """Not a formula of single numbers."""


class Step(NamedTuple):
    """An operation: its rule, the earlier slots that it is on, its name, its place in the text."""

    rule: Routine
    args: tuple[int, ...]
    name: str
    place: tuple[int, int]


class Line:
    """Slots in an order in which they can be computed: numbers, entries of inputs, operations."""

    def __init__(self, text: str, shapes: Shapes) -> None:
        self.text, self.shapes = text, shapes
        self.numbers: dict[int, Fraction | str] = {}  # typed, or the name of a constant
        self.leaves: dict[int, tuple[str, tuple[int, ...]]] = {}
        self.steps: dict[int, Step] = {}
        self.found: dict[Value, int] = {}
        self.known: dict[int, list[Value]] = {}
        self.end = 0

    # -- from a tree -------------------------------------------------------------------------------

    def add(self, node: ast.expr) -> int:
        """The slot of a node's number; what is equal has one. Raises _Beyond where it has none."""
        match node:
            case ast.Constant(int() | Fraction() as value) if not isinstance(value, bool):
                return self.add_number(Fraction(value))
            case ast.BinOp(left, op, right) if type(op) in BINARY:
                args = (self.add(left), self.add(right))
                if isinstance(op, ast.Mult) and all(map(self.is_test, args)):
                    return self._step(operator.and_, BOTH, args, node)
                return self._apply(BINARY[type(op)], args, node)
            case ast.Name(name) if name in CONSTANTS and name not in self.shapes:
                return self._slot(name, self.numbers, name)
            case ast.Name(name):
                return self._leaf(name, ())
            case ast.UnaryOp(ast.USub(), inner):
                return self._apply("negative", (self.add(inner),), node)
            case ast.UnaryOp(_, inner):
                return self.add(inner)
            case ast.Call(ast.Name(name), args, []):
                return self._call(FORMULAS.function(name) or "", args, node)
            case ast.Compare(left, [op], [right]):
                sides = self._plain((self.add(left), self.add(right)))
                return self._step(COMPARISONS[type(op)], TEST, sides, node)
            case ast.Subscript(ast.Name(name), ast.Tuple(parts)):
                return self._leaf(name, tuple(map(_index, parts)))
            case ast.Subscript(ast.Name(name), part):
                return self._leaf(name, (_index(part),))
        raise _Beyond

    def add_number(self, value: Fraction) -> int:
        key = (value.numerator, value.denominator)  # the hash of a Fraction takes long
        return self._slot(key, self.numbers, value)

    def is_test(self, slot: int) -> bool:
        """Whether a comparison is there, which may only stand where a choice asks for one."""
        return slot in self.steps and self.steps[slot].name in (TEST, BOTH)

    def _plain(self, args: tuple[int, ...]) -> tuple[int, ...]:
        if any(map(self.is_test, args)):
            raise _Beyond
        return args

    def _slot(self, key: Value, kind: dict[int, Value], new: Value) -> int:
        at = self.found.get(key)
        if at is None:
            at = self.found[key] = len(self.found)
            kind[at] = new
        return at

    def _leaf(self, name: str, index: tuple[int, ...]) -> int:
        shape = self.shapes.get(name, ())
        inside = all(-size <= i < size for i, size in zip(index, shape, strict=False))
        if name not in self.shapes or len(index) != len(shape) or not inside:
            raise _Beyond
        return self._slot((name, index), self.leaves, (name, index))

    def _step(self, rule: Routine, name: str, args: tuple[int, ...], node: ast.expr) -> int:
        place = (getattr(node, "col_offset", 0), getattr(node, "end_col_offset", 0))
        key = (name, rule if name == TEST else None, *args)
        return self._slot(key, self.steps, Step(rule, args, name, place))

    def _apply(self, name: str, args: tuple[int, ...], node: ast.expr) -> int:
        """An op of the table on numbers; of typed numbers the exact result, while it is short."""
        folded = _fold(name, *[self.numbers.get(i) for i in self._plain(args)])
        if folded is not None:
            return self.add_number(folded)
        return self._step(rule_of(name), name, args, node)

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

    # -- at a point --------------------------------------------------------------------------------

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
        rows = [(TABLE.get(step.name), step) for step in self.steps.values()]
        asked = [(row.unseen, step) for row, step in rows if row and row.unseen]
        values = self._all(point, bits) if asked else []
        return {
            self.text[slice(*step.place)]
            for rule, step in asked
            if rule(*[values[i] for i in step.args])
        }

    def _all(self, point: Mapping[str, Array], bits: int) -> list[Value]:
        """What is in every slot at a point."""
        if bits not in self.known:
            self.known[bits] = [None] * len(self.found)
            for k, number in self.numbers.items():
                self.known[bits][k] = (
                    CONSTANTS[number][2]() if isinstance(number, str) else exact(number)
                )
        values = self.known[bits].copy()
        for k, (name, index) in self.leaves.items():
            values[k] = point[name][index]
        for k, (rule, args, _, _) in self.steps.items():
            if len(args) == 2:
                i, j = args
                values[k] = rule(values[i], values[j])
            else:
                values[k] = rule(*[values[i] for i in args])
        return values

    def _refuse(self, values: list[Value], at: int) -> None:
        """Raise NoValue if the innermost piece that failed lies beyond doubt outside its domain."""
        step = self.steps.get(at)
        if step is None:
            return
        chosen = tuple(i for i in step.args if isinstance(values[i], arb))
        if step.name == CHOICE:
            chosen = (step.args[1] if values[step.args[0]] else step.args[2],)
        for i in chosen:
            if not values[i].is_finite():
                self._refuse(values, i)
                return
        row = TABLE.get(step.name)
        if row and row.undefined and row.undefined(*[values[i] for i in step.args]):
            piece = self.text[slice(*step.place)]
            raise NoValue(f"`{piece}` has no value" if piece else "none of its cases holds")

    @cached_property
    def knotted(self) -> list[tuple[Routine, tuple[int, ...]]]:
        """Each step that changes its rule somewhere: what is zero there, and of which slots."""
        found = []
        for step in self.steps.values():
            found += [(knot, step.args) for knot in _knots(step.name)]
            inner = self.steps.get(step.args[0])
            if step.name in ("sqrt", "power") and inner and self._is_square(inner):
                found.append((lambda x: x, inner.args[:1]))
        return found

    def _is_square(self, step: Step) -> bool:
        """Whether a step is a square: the root of that is an absolute value."""
        if step.name == "power":
            exponent = self.numbers.get(step.args[1])
            return isinstance(exponent, Fraction) and exponent.numerator % 2 == 0
        twice = step.name == "multiply" and step.args[0] == step.args[1]
        return step.name == "square" or twice


@cache
def _knots(name: str) -> tuple[Routine, ...]:
    """What is zero where an operation changes its rule."""
    row = TABLE.get(name)
    return (operator.sub,) if name == TEST else tuple(knots(row.kinks)) if row else ()


def line_from_tree(tree: ast.expr, text: str, shapes: Shapes) -> Line | None:
    """The formula as a line of operations; None where it is more than single numbers."""
    line = Line(text, shapes)
    try:
        line.end = line.add(tree)
    except _Beyond:
        return None
    return None if line.is_test(line.end) else line


def line_of_number(value: Fraction) -> Line:
    line = Line("", {})
    line.add_number(value)
    return line


def _index(node: ast.expr) -> int:
    match node:
        case ast.UnaryOp(ast.USub(), inner):
            return -_index(inner)
        case ast.Constant(int() as value) if not isinstance(value, bool):
            return value
    raise _Beyond


def _fold(name: str, a: Fraction | str | None, b: Value = None) -> Fraction | None:
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


# -- rules on arbs ---------------------------------------------------------------------------------

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


@cache
def rule_of(name: str) -> Routine:
    """An op's rule on arbs; what the row says in terms of Balls is wrapped."""
    if name in ENCLOSED:
        return ENCLOSED[name]
    row = TABLE.get(name)
    if row is None or not row.elementwise or row.ball is None:
        raise _Beyond
    if not isinstance(row.ball, Composed):
        return row.ball
    function = row.ball.function

    def rule(*args: arb) -> arb:
        try:
            result = function(*map(Ball, args))
        except ValueError:  # where a ball holds no number, neither does the result
            return arb("nan")
        return result.x if type(result) is Ball else exact(result)

    return rule


# -- answers ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Readings:
    """A readable answer: its pieces (a formula, or one for each entry), ready to be evaluated.

    `names` are the inputs it mentions; `half_units` half a unit of the last digit of each entry
    that is a typed decimal, else None.
    """

    pieces: Value
    names: frozenset[str]
    half_units: Array

    def at(self, spot: Spot) -> At:
        """The answer at a point, as a function of the number of bits."""
        known: dict[int, Values] = {}

        def value(bits: int) -> Values:
            if bits not in known:
                known[bits] = _values(self.pieces, spot, bits)
            return known[bits]

        return value

    def varies(self, problem: Problem) -> bool:
        """Whether an answer mentions what has other values at other points."""
        return any(problem.inputs[name].varies for name in self.names & problem.inputs.keys())

    @property
    def lines(self) -> tuple[Line, ...]:
        """The pieces that are lines of operations."""
        return tuple(piece for piece in np.ravel(self.pieces) if isinstance(piece, Line))

    @property
    def trees(self) -> tuple[ast.AST, ...]:
        """The other pieces, of arrays, as they are read."""
        return tuple(piece.tree for piece in np.ravel(self.pieces) if isinstance(piece, Program))


def readings(problem: Problem, read: Formula | Entries | NumberList) -> Readings:
    """An answer made ready; TextError where a formula says what answers may not say."""
    if isinstance(read, NumberList):
        numbers = box(list(map(line_of_number, read.values)), read.shape)
        return Readings(numbers, frozenset(), box(read.half_units, read.shape))
    formulas, shape = (read.formulas, read.shape) if isinstance(read, Entries) else ([read], ())
    shapes = {name: entry.shape for name, entry in problem.inputs.items()}
    pieces = [
        line_from_tree(each.tree.body, each.text, shapes)
        or check_expression(
            _vectors(each.tree), declared=problem.inputs, vocabulary=FORMULAS, source=each.text
        )
        for each in formulas
    ]
    half_units = box([each.half_unit for each in formulas], shape)
    single = pieces[0] if isinstance(read, Formula) else box(pieces, shape)
    return Readings(single, frozenset[str]().union(*map(_names, pieces)), half_units)


def box(entries: Sequence[Value], shape: tuple[int, ...]) -> Array:
    """Entries, row by row, as an object array."""
    out = np.empty(len(entries), dtype=object)
    out[:] = entries
    return out.reshape(shape)


def _names(piece: Line | Program) -> frozenset[str]:
    """All the names in a piece: of inputs, and perhaps of functions."""
    if isinstance(piece, Line):
        return frozenset(name for name, _ in piece.leaves.values())
    return frozenset(n.id for n in ast.walk(piece.tree) if isinstance(n, ast.Name))


def _vectors(tree: ast.Expression) -> ast.Expression:
    """The same formula: a list that is calculated with is an array, so 2*[1, 2] is [2, 4].

    What has no value, 0/0, is no number here and no error: of some entries it may not be asked. Of
    comparisons, which NumPy does not subtract, the difference is that of 1 and 0.
    """
    tree = copy_tree(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            node.args = [_replace("sqrt(-1)", a) if _is_none(a) else a for a in node.args]
        for field in ("left", "right", "operand"):
            inner = getattr(node, field, None)
            if isinstance(inner, ast.List):
                setattr(node, field, _replace("array(_)", inner))
            elif inner is not None and _subtracts(node) and _compares(inner):
                setattr(node, field, _replace("1*_", inner))
    return tree


def _subtracts(node: ast.AST) -> bool:
    return isinstance(getattr(node, "op", None), ast.Sub | ast.USub)


def _compares(node: ast.AST) -> bool:
    return any(isinstance(each, ast.Compare) for each in ast.walk(node))


def _is_none(node: ast.expr) -> bool:
    """Whether a piece is 0/0: cases that leave something out end in it."""
    match node:
        case ast.BinOp(ast.Constant(0), ast.Div(), ast.Constant(0)):
            return True
    return False


def _replace(form: str, inner: ast.expr) -> ast.expr:
    """What a form of our own is with a piece in the place of `_`, where that piece stood."""
    made = ast.parse(form, mode="eval").body
    for node in list(ast.walk(made)):
        if isinstance(node, ast.expr):
            ast.copy_location(node, inner)
    match made:
        case ast.Call(args=[ast.Name("_")]):
            made.args = [inner]
        case ast.BinOp():
            made.right = inner
    return made


def budget(problem: Problem) -> Budget:
    """What an answer's formula may use: far beyond any answer to this problem, and soon reached."""
    entries = sum(math.prod(entry.shape) for entry in problem.inputs.values())
    elements = min(max(100, 4 * entries**2), max(10_000, 8 * entries))
    return Budget(
        steps=500,
        depth=1,
        elements=elements,
        entries=elements,
        total=40 * elements,
        products=100 * elements,
        bits=5_000,
        exponent=ANSWER_EXPONENT,
    )


def _values(pieces: Value, spot: Spot, bits: int) -> Values:
    """All pieces at a point; a single number as a bare arb."""
    if isinstance(pieces, Line):
        return pieces.value(spot.arbs(bits), bits)
    if isinstance(pieces, Program):
        return _program_values(pieces, spot, bits)
    out = np.empty(pieces.shape, dtype=object)
    for index in np.ndindex(out.shape):
        out[index] = _values(pieces[index], spot, bits)
        if not isinstance(out[index], arb):
            raise NotNumbers(f"entry {list(index)} has the shape {np.shape(out[index])}")
    return out if out.shape else out.item()


def _program_values(program: Program, spot: Spot, bits: int) -> Values:
    """What a formula of arrays came to; other things, and ragged lists of numbers, are refused."""
    given = spot.values_of(_names(program), bits)
    inputs = {name: balls(value) for name, value in given.items()}
    found = run(program, inputs, KINDS["ball"], budget(spot.problem)).value
    try:
        entries = arbs(found)
    except (TypeError, ValueError):
        raise NotNumbers("the formula gives no array of numbers") from None
    if bits >= PATIENCE:
        _refuse_lost(program, spot, entries)
    return entries if entries.shape else entries.item()


def _refuse_lost(program: Program, spot: Spot, entries: Array) -> None:
    """Raise NoValue where neither so many bits nor floats find a number in some entry."""
    lost = [index for index, ball in np.ndenumerate(entries) if not ball.is_finite()]
    if not lost:
        return
    values = spot.values_of(_names(program), PATIENCE)
    inputs = {
        name: np.array([middle(ball) for ball in value.flat]).reshape(value.shape)[()]
        for name, value in values.items()
    }
    plain = np.asarray(
        run(program, inputs, KINDS["float"], budget(spot.problem)).value, dtype=float
    )
    for index in lost:
        if plain.shape == entries.shape and not np.isfinite(plain[index]):
            entry = f"entry {list(index)}" if index else "it"
            raise NoValue(f"{entry} has no value")
