"""What an answer comes to at a point, as arbs at any precision."""

import ast
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb

from gradcheck.answers import Entries, Formula, NumberList
from gradcheck.errors import ANSWER_EXPONENT, GradcheckError
from gradcheck.grading.equivalence import At, NoValue, Values
from gradcheck.grading.formulas.line import Line, line_from_tree
from gradcheck.grading.key import Spot
from gradcheck.language import Budget, Program, check_expression
from gradcheck.language.kinds import FORMULAS, KINDS
from gradcheck.language.program import copy_tree
from gradcheck.language.run import run
from gradcheck.numbers.ball import arbs, balls, exact, middle
from gradcheck.problem import Problem
from gradcheck.values import Array, Value

PATIENCE = 1_024  # bits; an array's entry that is no number even then is looked at with floats


class NotNumbers(GradcheckError):
    """A formula came out as something else than the numbers that are due in its place."""


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


Piece = Line | Program


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
        pieces = self.pieces

        def value(bits: int) -> Values:
            if bits not in known:
                single = isinstance(pieces, Line)
                known[bits] = (
                    pieces.value(spot.arbs(bits), bits) if single else _values(pieces, spot, bits)
                )
            return known[bits]

        return value

    @property
    def lines(self) -> tuple[Line, ...]:
        """The pieces that are lines of operations."""
        return tuple(piece for piece in self._flat if isinstance(piece, Line))

    @property
    def trees(self) -> tuple[ast.AST, ...]:
        """The other pieces, of arrays, as they are read."""
        return tuple(piece.tree for piece in self._flat if isinstance(piece, Program))

    @property
    def _flat(self) -> Iterable[Value]:
        return self.pieces.flat if isinstance(self.pieces, np.ndarray) else (self.pieces,)


def readings(problem: Problem, read: Formula | Entries | NumberList) -> Readings:
    """An answer made ready; TextError where a formula says what answers may not say."""
    if isinstance(read, NumberList):
        numbers = box([exact_number(value) for value in read.values], read.shape)
        return Readings(numbers, frozenset(), box(read.half_units, read.shape))
    if isinstance(read, Formula):
        piece = _piece(problem, read)
        return Readings(piece, names(piece), box([read.half_unit], ()))
    pieces = [_piece(problem, formula) for formula in read.formulas]
    mentioned = frozenset[str]().union(*map(names, pieces))
    half_units = box([formula.half_unit for formula in read.formulas], read.shape)
    return Readings(box(pieces, read.shape), mentioned, half_units)


def box(entries: Sequence[Value], shape: tuple[int, ...]) -> Array:
    """Entries, row by row, as an object array."""
    out = np.empty(len(entries), dtype=object)
    out[:] = entries
    return out.reshape(shape)


def exact_number(value: Fraction) -> Callable[[], arb]:
    """A typed number at whatever precision is set when it is asked for."""
    return lambda: exact(value)


def names(piece: Piece) -> frozenset[str]:
    """All the names in a piece: of inputs, and perhaps of functions."""
    if isinstance(piece, Line):
        return frozenset(leaf.name for _, leaf in piece.leaves)
    return frozenset(n.id for n in ast.walk(piece.tree) if isinstance(n, ast.Name))


def _piece(problem: Problem, formula: Formula) -> Piece:
    """A formula of single numbers as a line of operations, any other as a checked program."""
    shapes = {name: entry.shape for name, entry in problem.inputs.items()}
    return line_from_tree(formula.tree, formula.text, shapes) or check_expression(
        _vectors(formula.tree), declared=problem.inputs, vocabulary=FORMULAS, source=formula.text
    )


def _vectors(tree: ast.Expression) -> ast.Expression:
    """The same formula: a list that is calculated with is an array, so 2*[1, 2] is [2, 4].

    What has no value, 0/0, is no number here and no error: of some entries it may not be asked. Of
    comparisons, which NumPy does not subtract, the difference is that of 1 and 0.
    """
    tree = copy_tree(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            node.args = [_no_number(arg) if _is_none(arg) else arg for arg in node.args]
        for field in ("left", "right", "operand"):
            inner = getattr(node, field, None)
            if isinstance(inner, ast.List):
                name = ast.copy_location(ast.Name("array", ast.Load()), inner)
                setattr(node, field, ast.copy_location(ast.Call(name, [inner], []), inner))
            elif inner is not None and _is_difference(node) and _compares(inner):
                one = ast.copy_location(ast.Constant(1), inner)
                product = ast.BinOp(one, ast.Mult(), inner)
                setattr(node, field, ast.copy_location(product, inner))
    return tree


def _is_difference(node: ast.AST) -> bool:
    return isinstance(getattr(node, "op", None), ast.Sub | ast.USub)


def _compares(node: ast.AST) -> bool:
    return any(isinstance(each, ast.Compare) for each in ast.walk(node))


def _is_none(node: ast.expr) -> bool:
    """Whether a piece is 0/0: cases that leave something out end in it."""
    match node:
        case ast.BinOp(ast.Constant(0), ast.Div(), ast.Constant(0)):
            return True
    return False


def _no_number(where: ast.expr) -> ast.expr:
    """What is no number, and no error either."""
    name, minus = ast.Name("sqrt", ast.Load()), ast.UnaryOp(ast.USub(), ast.Constant(1))
    call = ast.Call(name, [minus], [])
    for node in ast.walk(call):
        if isinstance(node, ast.expr):
            ast.copy_location(node, where)
    return call


def _values(pieces: Value, spot: Spot, bits: int) -> Values:
    """All pieces at a point; a single number as a bare arb."""
    if not isinstance(pieces, np.ndarray):
        return _value(pieces, spot, bits)
    out = np.empty(pieces.shape, dtype=object)
    for index in np.ndindex(out.shape):
        out[index] = _value(pieces[index], spot, bits)
        if not isinstance(out[index], arb):
            raise NotNumbers(f"entry {list(index)} has the shape {np.shape(out[index])}")
    return out if out.shape else out.item()


def _value(piece: Value, spot: Spot, bits: int) -> Values:
    """One piece at a point: quickly if it is a line of operations."""
    if isinstance(piece, Line):
        return piece.value(spot.arbs(bits), bits)
    if not isinstance(piece, Program):
        number: arb = piece()
        return number
    inputs = {name: balls(value) for name, value in spot.values_of(names(piece), bits).items()}
    entries = _as_numbers(run(piece, inputs, KINDS["ball"], budget(spot.problem)).value)
    if bits >= PATIENCE:
        _refuse_lost(piece, spot, entries)
    return entries if entries.shape else entries.item()


def _as_numbers(value: Value) -> Array:
    """What a formula came to, as arbs; other things, and ragged lists of numbers, are refused."""
    try:
        return arbs(value)
    except (TypeError, ValueError):
        raise NotNumbers("the formula gives no array of numbers") from None


def _refuse_lost(program: Program, spot: Spot, entries: Array) -> None:
    """Raise NoValue where neither so many bits nor floats find a number in some entry."""
    lost = [index for index, ball in np.ndenumerate(entries) if not ball.is_finite()]
    if not lost:
        return
    values = spot.values_of(names(program), PATIENCE)
    inputs = {name: _as_floats(value) for name, value in values.items()}
    plain = np.asarray(
        run(program, inputs, KINDS["float"], budget(spot.problem)).value, dtype=float
    )
    for index in lost:
        if plain.shape == entries.shape and not np.isfinite(plain[index]):
            entry = f"entry {list(index)}" if index else "it"
            raise NoValue(f"{entry} has no value")


def _as_floats(values: Array) -> Value:
    """Balls by their middles."""
    return np.array([middle(ball) for ball in values.flat]).reshape(values.shape)[()]
