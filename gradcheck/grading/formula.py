"""A typed formula as numbers: what it comes to at a point, on arbs at any precision or on floats.

A formula of single numbers is a line of operations in which what is equal is computed once and
typed numbers stay exact; any other one is a checked program of arrays.
"""

import ast
import math
import operator
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property, lru_cache, partial
from typing import NamedTuple

import numpy as np
from flint import arb

from gradcheck.answers import Entries, Formula, NumberList, Plain, echo
from gradcheck.answers.answer import Answer
from gradcheck.diagnosis.patterns import fill_in
from gradcheck.errors import ANSWER_EXPONENT, GradcheckError, OutOfBudget, TextError
from gradcheck.grading.equivalence import At, NoValue, Values, bare
from gradcheck.grading.spots import Spot
from gradcheck.language.budget import Budget
from gradcheck.language.kinds import CONSTANTS, FORMULAS, KINDS
from gradcheck.language.program import Program, check_expression, copy_tree, find_places, run
from gradcheck.numbers.ball import Ball, arbs, balls, each, exact, middle
from gradcheck.numbers.run import Undecided
from gradcheck.ops import TABLE
from gradcheck.ops.row import Composed
from gradcheck.problem import Problem
from gradcheck.problem.record import Input
from gradcheck.values import Array, Params, Routine, Value

Shapes = Mapping[str, tuple[int, ...]]
LONGEST = 2_000  # bits of a folded fraction
CLOSE = 1e-6  # relative: floats that differ by more are no rounding error
LISTED = 64  # entries that anybody reads
ENTRY_BITS = 1_024  # an array's entry that is no number even then is looked at with floats


class NotNumbers(GradcheckError):
    """A formula came out as something else than the numbers that are due in its place."""


class _Beyond(LookupError):
    """Not a formula of single numbers."""


# -- operations ------------------------------------------------------------------------------------

CHOICE, PLUS = "where", "plus"
BINARY: Mapping[type[ast.AST], str] = {
    ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "divide", ast.Pow: "power",
}  # fmt: skip
# What a comparison asks, and its opposite: of balls neither may hold.
TESTS: Mapping[str, tuple[Routine, Routine]] = {
    "Lt": (operator.lt, operator.ge), "LtE": (operator.le, operator.gt),
    "Gt": (operator.gt, operator.le), "GtE": (operator.ge, operator.lt),
    "Eq": (operator.eq, operator.ne), "NotEq": (operator.ne, operator.eq),
}  # fmt: skip
FOLDED: Mapping[str, Routine] = {
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul,
    "divide": operator.truediv, "power": operator.pow, "negative": operator.neg,
}  # fmt: skip
WAVES = ("sin", "cos", "tan", "sinh", "cosh", "tanh")
OF_ANY: Mapping[str, Routine] = {PLUS: operator.pos, "absolute": abs}
OF_FLOATS: Mapping[str, Routine] = {  # where NumPy's own take ten times as long
    **{name: getattr(math, name) for name in (*WAVES, "exp", "sqrt", "log")},
    **{f"arc{name}": getattr(math, f"a{name}") for name in WAVES},
    **{name: holds for name, (holds, _) in TESTS.items()},
    CHOICE: lambda test, a, b: a if test else b,
    **FOLDED,
    **OF_ANY,
}


def _compare(name: str, a: arb, b: arb) -> arb:
    holds, fails = TESTS[name]
    if not (holds(a, b) or fails(a, b)):
        raise Undecided
    return arb(int(holds(a, b)))


# Enclosures need no decision where the ops' own cells ask which side it is.
OF_BALLS: Mapping[str, Routine] = {
    **{name: partial(_compare, name) for name in TESTS},
    CHOICE: lambda test, a, b: a if _compare("NotEq", test, arb(0)) == 1 else b,
    "sign": lambda x: x.sgn(), "relu": lambda x: arb.max(x, arb(0)), "maximum": arb.max,
    "minimum": arb.min, "fmax": arb.max, "fmin": arb.min, **OF_ANY,
}  # fmt: skip
NO_VALUE = (ArithmeticError, ValueError, TypeError)
is_near = partial(math.isclose, rel_tol=CLOSE)
find_function = cache(FORMULAS.function)  # of names that were read: there are not many
as_fraction = lru_cache(maxsize=1_000)(Fraction)  # of whole numbers


def read_operation(node: ast.expr) -> tuple[str, Sequence[ast.expr]]:
    """The op that a node is, and its operands; without a name where it is none."""
    if isinstance(node, ast.BinOp):
        return BINARY.get(type(node.op), ""), (node.left, node.right)
    if isinstance(node, ast.UnaryOp):
        return "negative" if isinstance(node.op, ast.USub) else PLUS, (node.operand,)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        return find_function(node.func.id) or "", node.args
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return type(node.ops[0]).__name__, (node.left, node.comparators[0])
    return "", ()


@cache
def on_balls(name: str) -> Routine:
    """An op on arbs; what the row says in terms of Balls is wrapped."""
    if name in OF_BALLS:
        return OF_BALLS[name]
    row = TABLE.get(name)
    cell = row.ball if row and row.elementwise else None

    def wrap(*args: arb) -> arb:
        assert isinstance(cell, Composed)
        try:
            result = cell.function(*map(Ball, args))
        except ValueError:  # where a ball holds no number, neither does the result
            return arb("nan")
        return result.x if type(result) is Ball else exact(result)

    if cell is None:
        raise _Beyond(name)
    return wrap if isinstance(cell, Composed) else cell


@cache
def on_floats(name: str) -> Routine:
    """An op on floats: nan where it has no value, a root of a negative number among them."""
    row, known = TABLE.get(name), OF_FLOATS.get(name)
    if known is None and row is not None and row.elementwise:
        known = np.errstate(all="ignore")(row.forward)
    if known is None:
        raise LookupError(name)

    def rule(*args: float) -> float:
        try:
            return float(known(*args))
        except NO_VALUE:
            return math.nan

    return rule


def fold(name: str, numbers: Sequence[Value]) -> Fraction | None:
    """The exact result of an operation on typed numbers, while it stays short; else None."""
    a, b = numbers[0], numbers[-1]
    known = type(a) is Fraction and type(b) is Fraction
    if name not in FOLDED or not known or (name == "divide" and not b):
        return None
    if name == "power" and (
        b.denominator != 1 or abs(b) > ANSWER_EXPONENT or (a == 0 and b < 0) or _is_long(a, abs(b))
    ):
        return None
    result: Fraction = FOLDED[name](*numbers)
    return None if _is_long(result) and name != "negative" else result


def _is_long(value: Fraction, times: Fraction | int = 1) -> bool:
    bits = value.numerator.bit_length() + value.denominator.bit_length()
    return bits * times > LONGEST


# -- single numbers --------------------------------------------------------------------------------


class Step(NamedTuple):
    """An operation: its rule, the earlier slots that it is on, its name, its place in the text."""

    rule: Routine
    args: tuple[int, ...]
    name: str
    place: tuple[int, int]


class Line:
    """Slots in an order in which they can be computed: numbers, entries of inputs, operations.

    A comparison is 1 where it holds and 0 where it does not: of two that both hold the product is.
    """

    def __init__(self, tree: ast.expr, text: str, shapes: Shapes) -> None:
        """Raises _Beyond where the formula is more than single numbers."""
        self.tree, self.text, self.shapes = tree, text, shapes
        self.numbers: dict[int, Fraction | str] = {}  # typed, or the name of a constant
        self.leaves: dict[int, tuple[str, tuple[int, ...]]] = {}
        self.steps: dict[int, Step] = {}
        self.found: dict[Value, int] = {}
        self.known: dict[int, list[Value]] = {}
        self.end = self.add(tree)

    def add(self, node: ast.expr) -> int:
        """The slot of a node's number; what is equal has one. Raises _Beyond where it has none."""
        if isinstance(node, ast.Name):
            if node.id in CONSTANTS and node.id not in self.shapes:
                return self._take_slot(node.id, self.numbers, node.id)
            return self._add_leaf(node.id, ())
        if isinstance(node, ast.Constant) and type(node.value) in (int, Fraction):
            return self._add_number(node.value)  # type: ignore[arg-type]
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            return self._add_leaf(node.value.id, tuple(map(_read_index, parts)))
        name, operands = read_operation(node)
        return self._apply_op(node, name, tuple(map(self.add, operands)))

    def _take_slot(self, key: Value, kind: dict[int, Value], new: Value) -> int:
        at = self.found.get(key)
        if at is None:
            at = self.found[key] = len(self.found)
            kind[at] = new
        return at

    def _add_number(self, value: int | Fraction) -> int:
        key = (value.numerator, value.denominator)  # the hash of a Fraction takes long
        new = value if type(value) is Fraction else as_fraction(value)
        return self._take_slot(key, self.numbers, new)

    def _add_leaf(self, name: str, index: tuple[int, ...]) -> int:
        shape = self.shapes.get(name)
        if shape is None or len(index) != len(shape):
            raise _Beyond(name)
        if not all(-size <= i < size for i, size in zip(index, shape, strict=True)):
            raise _Beyond(name)
        return self._take_slot((name, index), self.leaves, (name, index))

    def _apply_op(self, node: ast.expr, name: str, args: tuple[int, ...]) -> int:
        """An op of the table; of typed numbers the exact result, while it is short."""
        if name == PLUS:
            return args[0]
        if args and args[0] in self.numbers and args[-1] in self.numbers:
            folded = fold(name, [self.numbers.get(i) for i in args])
            if folded is not None:
                return self._add_number(folded)
        if isinstance(node, ast.Call):
            row = TABLE.get(name)
            if not row or row.params or row.arrange or len(args) != row.operands:
                raise _Beyond(name)
        at = self.found.get((name, *args))
        if at is None:
            at = self.found[name, *args] = len(self.found)
            place = (getattr(node, "col_offset", 0), getattr(node, "end_col_offset", 0))
            self.steps[at] = Step(on_balls(name), args, name, place)
        return at

    # -- at a point --------------------------------------------------------------------------------

    @cached_property
    def program(self) -> Program:
        """The same on numbers with keys: those tell that two are equal, where no bits do."""
        return _check(self.tree, self.text, self.shapes)

    def value(self, point: Mapping[str, Array], bits: int) -> arb:
        """The value at a point of arbs, at the precision set; NoValue where there is none."""
        values = self.values(point, bits)
        end: arb = values[self.end]
        if not end.is_finite():
            self._refuse(values, self.end)
        return end

    def values(self, point: Mapping[str, Array], bits: int) -> list[Value]:
        if bits not in self.known:
            known = self.known[bits] = [None] * len(self.found)
            for k, number in self.numbers.items():
                known[k] = CONSTANTS[number][2]() if isinstance(number, str) else exact(number)
        values = self.known[bits].copy()
        for k, (name, index) in self.leaves.items():
            values[k] = point[name][index]
        for k, (rule, args, _, _) in self.steps.items():
            if len(args) == 2:
                values[k] = rule(values[args[0]], values[args[1]])
            elif len(args) == 1:
                values[k] = rule(values[args[0]])
            else:
                values[k] = rule(*[values[i] for i in args])
        return values

    def _refuse(self, values: list[Value], at: int) -> None:
        """Raise NoValue if the innermost piece that failed lies beyond doubt outside its domain."""
        step = self.steps.get(at)
        if step is None:
            return
        chosen = step.args
        if step.name == CHOICE:
            chosen = (step.args[1] if values[step.args[0]] != 0 else step.args[2],)
        for i in chosen:
            if not values[i].is_finite():
                self._refuse(values, i)
                return
        row = TABLE.get(step.name)
        if row and row.undefined and row.undefined(*[values[i] for i in step.args]):
            piece = self.text[slice(*step.place)]
            raise NoValue(f"`{piece}` has no value" if piece else "none of its cases holds")


class Floats:
    """The same operations at a point of floats, of pieces of trees; nan where there is no value.

    What is not known here (LookupError) may be anything. Pieces are known by their identity.
    """

    def __init__(self, point: Mapping[str, float]) -> None:
        self.point, self.value = point, cache(self._evaluate)

    def _evaluate(self, node: ast.expr) -> float:
        if isinstance(node, ast.Name):
            return self.point[node.id] if node.id in self.point else CONSTANTS[node.id][0]
        if isinstance(node, ast.Constant):
            return float(node.value)  # type: ignore[arg-type]
        name, operands = read_operation(node)
        found: float = on_floats(name)(*[self.value(operand) for operand in operands])
        return found


def make_line(tree: ast.expr, text: str, shapes: Shapes) -> Line | None:
    """The formula as a line of operations; None where it is more than single numbers."""
    try:
        return Line(tree, text, shapes)
    except _Beyond:
        return None


def _read_index(node: ast.expr) -> int:
    match node:
        case ast.UnaryOp(ast.USub(), inner):
            return -_read_index(inner)
        case ast.Constant(int() as value) if not isinstance(value, bool):
            return value
    raise _Beyond


# -- answers ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Readings:
    """An answer as it is read, and its pieces (a formula or number an entry), ready for points.

    `names` are the inputs it mentions; `half_units` half a unit of the last digit of each entry
    that is a typed decimal, else None. What is `plain` is no number and has no pieces.
    """

    read: Answer
    pieces: Array
    names: frozenset[str]
    half_units: Array

    @property
    def plain(self) -> bool:
        return isinstance(self.read, Plain)

    @property
    def formula(self) -> Formula | None:
        return self.read if isinstance(self.read, Formula) else None

    @property
    def understood(self) -> str:
        """A formula in canonical spelling, numbers as decimals, anything else as it is."""
        if isinstance(self.read, Formula):
            return self.read.understood
        if isinstance(self.read, Plain):
            return str(self.read.value)
        if self.pieces.size > LISTED:
            return f"numbers of the shape {self.read.shape}"
        if isinstance(self.read, Entries):
            words = [formula.understood for formula in self.read.formulas]
        else:
            values = self.read.values
            words = [str(v.numerator if v.denominator == 1 else to_float(v)) for v in values]
        return _nest(box(words, self.read.shape).tolist())

    @property
    def notes(self) -> tuple[str, ...]:
        """How ambiguous spellings were read, each once."""
        formulas = self.read.formulas if isinstance(self.read, Entries) else (self.read,)
        every = (note for formula in formulas for note in getattr(formula, "notes", ()))
        return tuple(dict.fromkeys(every))

    def at(self, spot: Spot) -> At:
        """The answer at a point, as a function of the number of bits; a number as a bare arb."""
        known: dict[int, Values] = {}  # `cache` would take longer to make than an answer to judge

        def evaluate(bits: int) -> Values:
            if bits not in known:
                known[bits] = self._evaluate(spot, bits)
            return known[bits]

        return evaluate

    def _evaluate(self, spot: Spot, bits: int) -> Values:
        if not self.pieces.shape:
            return self._evaluate_piece(self.pieces.item(), spot, bits)
        found = [self._evaluate_piece(piece, spot, bits) for piece in self.pieces.flat]
        for index, entry in zip(np.ndindex(self.pieces.shape), found, strict=True):
            if not isinstance(entry, arb):
                raise NotNumbers(f"entry {list(index)} has the shape {np.shape(entry)}")
        return bare(box(found, self.pieces.shape))

    def _evaluate_piece(self, piece: Line | Program | Fraction, spot: Spot, bits: int) -> Values:
        """What is no array of numbers, and ragged lists of them, are refused."""
        if isinstance(piece, Line):
            try:
                return piece.value(spot.arbs(bits), bits)
            except Undecided:
                with suppress(TextError, OutOfBudget):
                    return self._evaluate_piece(piece.program, spot, bits)
                raise
        if isinstance(piece, Fraction):
            return exact(piece)
        given, places = spot.find_values(self.names, bits), spot.problem.places
        counted = find_places(piece.tree) if places else ()
        inputs = {n: places[n] if n in counted and n in places else balls(given[n]) for n in given}
        found = run(piece, inputs, KINDS["ball"], make_budget(spot.problem)).value
        try:
            entries = arbs(found)
        except (TypeError, ValueError):
            raise NotNumbers("the formula gives no array of numbers") from None
        if bits >= ENTRY_BITS and not all(ball.is_finite() for ball in entries.flat):
            floats = {n: each(middle, arbs(v)).astype(float)[()] for n, v in inputs.items()}
            _refuse_lost(piece, spot, entries, floats)
        return bare(entries)

    @property
    def slack(self) -> Array:
        """The half units as floats; 0 where there is none."""
        return each(lambda half: to_float(half or Fraction(0)), self.half_units).astype(float)

    def limit_tolerance(self, tolerance: float) -> float:
        """The share by which a number may be off, or a formula that has a decimal in it."""
        if not tolerance:
            return 0.0
        formulas = self.read.formulas if isinstance(self.read, Entries) else (self.formula,)
        nodes = (node for each in formulas if each for node in ast.walk(each.tree))
        typed = (node.value for node in nodes if isinstance(node, ast.Constant))
        rounded = not self.names or any(isinstance(value, Fraction) for value in typed)
        return tolerance if rounded else 0.0

    def varies(self, inputs: Mapping[str, Input]) -> bool:
        """Whether an answer mentions what has other values at other points."""
        return any(inputs[name].varies for name in self.names)

    @property
    def lines(self) -> tuple[Line, ...]:
        """The pieces that are lines of operations."""
        return tuple(piece for piece in self.pieces.flat if isinstance(piece, Line))

    @property
    def trees(self) -> tuple[ast.AST, ...]:
        """The other pieces, of arrays, as they are read."""
        return tuple(piece.tree for piece in self.pieces.flat if isinstance(piece, Program))


def make_readings(shapes: Shapes, read: Answer) -> Readings:
    """An answer made ready; TextError where a formula says what answers may not say."""
    if isinstance(read, Plain):
        return Readings(read, box((), (0,)), frozenset(), box((), (0,)))
    if isinstance(read, NumberList):
        numbers, halves = box(read.values, read.shape), box(read.half_units, read.shape)
        return Readings(read, numbers, frozenset(), halves)
    formulas, shape = (read.formulas, read.shape) if isinstance(read, Entries) else ([read], ())
    pieces = [
        make_line(each.tree.body, each.text, shapes) or _check(each.tree.body, each.text, shapes)
        for each in formulas
    ]
    half_units = box([each.half_unit for each in formulas], shape)
    names = {name for piece in pieces for name in list_names(piece)} & shapes.keys()
    return Readings(read, box(pieces, shape), frozenset(names), half_units)


def _check(tree: ast.expr, text: str, shapes: Shapes) -> Program:
    read = _AsArrays().visit(copy_tree(ast.Expression(tree)))
    called = {echo(node.func) for node in ast.walk(read) if isinstance(node, ast.Call)}
    return check_expression(read, declared=shapes.keys() - called, vocabulary=FORMULAS, source=text)


def _nest(entries: str | list[Value]) -> str:
    return entries if isinstance(entries, str) else f"[{', '.join(map(_nest, entries))}]"


def to_float(value: Fraction) -> float:
    """The nearest float; an infinity beyond them all."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def box(entries: Sequence[Value], shape: tuple[int, ...]) -> Array:
    """Entries, row by row, as an object array."""
    out = np.empty(len(entries), dtype=object)
    out[:] = entries
    return out.reshape(shape)


def list_names(piece: Line | Program) -> Iterator[str]:
    if isinstance(piece, Line):
        return (name for name, _ in piece.leaves.values())
    return (n.id for n in ast.walk(piece.tree) if isinstance(n, ast.Name))


class _AsArrays(ast.NodeTransformer):
    """A list that is calculated with is an array, so 2*[1, 2] is [2, 4].

    What has no value, 0/0, is no number here and no error: of some entries it may not be asked. Of
    comparisons, which NumPy does not subtract, the difference is that of 1 and 0.
    """

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        subtracts = isinstance(getattr(node, "op", None), ast.Sub | ast.USub)
        for field in {"left", "right", "operand"}.intersection(node._fields):
            inner = getattr(node, field)
            if isinstance(inner, ast.List):
                setattr(node, field, _put("array(piece)", inner))
            elif subtracts and any(isinstance(each, ast.Compare) for each in ast.walk(inner)):
                setattr(node, field, _put("1*piece", inner))
        if isinstance(node, ast.Call):
            none = [isinstance(a, ast.BinOp) and ast.unparse(a) == "0 / 0" for a in node.args]
            pairs = zip(node.args, none, strict=True)
            node.args = [_put("sqrt(-1)", a) if lost else a for a, lost in pairs]
        return node


def _put(form: str, piece: ast.expr) -> ast.expr:
    """A piece in a form of our own, at its place."""
    made: ast.expr = copy_tree(fill_in(form, piece=piece))
    return ast.copy_location(made, piece)


def make_budget(problem: Problem) -> Budget:
    """What an answer's formula may use: far beyond any answer to this problem, and soon reached."""
    entries = sum(math.prod(entry.shape) for entry in problem.inputs.values())
    elements = min(max(100, 4 * entries**2), max(10_000, 8 * entries))
    return Budget(
        steps=1_000,
        depth=1,
        elements=elements,
        entries=elements,
        total=40 * elements,
        products=100 * elements,
        bits=5_000,
        exponent=ANSWER_EXPONENT,
    )


def _refuse_lost(program: Program, spot: Spot, entries: Array, inputs: Params) -> None:
    """Raise NoValue where neither so many bits nor floats find a number in some entry."""
    found = run(program, inputs, KINDS["float"], make_budget(spot.problem)).value
    plain = np.asarray(found, dtype=float)
    for index, ball in np.ndenumerate(entries):
        if plain.shape == entries.shape and not (ball.is_finite() or np.isfinite(plain[index])):
            raise NoValue(f"{f'entry {list(index)}' if index else 'it'} has no value")
