"""Which piece of a wrong formula is to blame: what is due in its place, solved back from the truth.

It is what a small change of what was typed gives there, or a value, derivative or factor that the
program has, in floats. A small change that is right at all points in balls is a slip's repair.
"""

import ast
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice
from typing import NamedTuple, TypeGuard

import numpy as np

from gradcheck.answers import Formula, echo
from gradcheck.answers.tree import PRODUCT, Shapes, bracket, is_turned, read_number
from gradcheck.diagnosis import Diagnosis, Hypothesis
from gradcheck.diagnosis.patterns import fill, parse
from gradcheck.grading.formula import (
    NO_VALUE,
    PLUS,
    WAVES,
    Floats,
    is_near,
    make_readings,
    on_floats,
    read_operation,
)
from gradcheck.grading.judgement import FAILURES, compare_answer
from gradcheck.grading.key import Key
from gradcheck.mistakes.whole_answer import OF_MATRICES, SLIPS
from gradcheck.problem.record import Part
from gradcheck.values import Array, Routine, Value

FEWEST = 3  # pieces of a formula: of a shorter one, a change is not a slip but another answer
LARGEST = 99  # numbers that somebody may have meant have no larger numerator or denominator
FAMILIES = (
    ("sin", "cos", "tan", "sec", "csc", "cot"),
    ("sinh", "cosh", "tanh"),
    ("arcsin", "arccos", "arctan"),
    ("exp", "log", "sqrt"),
)
EXACT = {
    "1": 1.0, "pi": math.pi, "e": math.e, "pi**2": math.pi**2, "log(2)": math.log(2),
    "log(3)": math.log(3), "log(10)": math.log(10), "1/log(10)": 1 / math.log(10),
    "sqrt(2)": math.sqrt(2), "sqrt(3)": math.sqrt(3), "sqrt(5)": math.sqrt(5),
}  # fmt: skip
SHARE = 12  # denominators beside a constant
DECIMALS = 30  # digits behind the point that somebody types
SUM, PRODUCTS = (ast.Add, ast.Sub), (ast.Mult, ast.Div)
KINDS = (
    "rounding", "sign", "number", "function", "letter", "too much", "bracket", "missing", "ratio",
    "value", "square", "factor",
)  # fmt: skip
TURNS = 24  # changes of a formula of arrays that are tried
SAME = 1e-9  # relative: values are floats, worked back through a few operations
SIMPLE = 60  # numbers that are due have no larger numerator or denominator
OF_A_TERM = frozenset({"sign", "too much", "missing", "ratio", "factor"})
Place = tuple[int, int]


# -- what is due -----------------------------------------------------------------------------------


def _take_root(due: float, base: float, exponent: float) -> float:
    root = math.copysign(abs(due) ** (1 / exponent), base)
    return root if is_near(on_floats("power")(root, exponent), due) else math.nan


# Of an operation's value and operands, what is due in the place of each operand.
SOLVED: Mapping[str, tuple[Routine, ...]] = {
    "add": (lambda due, a, b: due - b, lambda due, a, b: due - a),
    "subtract": (lambda due, a, b: due + b, lambda due, a, b: a - due),
    "multiply": (lambda due, a, b: due / b, lambda due, a, b: due / a),
    "divide": (lambda due, a, b: due * b, lambda due, a, b: a / due),
    "power": (_take_root, lambda due, a, b: math.log(due) / math.log(a)),
    "negative": (lambda due, a: -due,),
    PLUS: (lambda due, a: due,),
    "exp": (lambda due, a: math.log(due),),
    "log": (lambda due, a: math.exp(due),),
    "sqrt": (lambda due, a: due * due,),
}


@dataclass(frozen=True, eq=False)
class Piece:
    """A piece of a formula, what it is an operand of, and what is due in its place at each point.

    That is nan where it is not one number.
    """

    node: ast.expr
    above: "Piece | None" = None
    dues: Sequence[float] = ()


def _solve(name: str, i: int, due: float, values: Iterable[float]) -> float:
    """What is due in the place of an operand, of the values of all, where so much is due of all."""
    with suppress(*NO_VALUE):
        number = SOLVED[name][i](due, *values) if name in SOLVED else math.nan
        return number if math.isfinite(number) else math.nan
    return math.nan


class PieceSearch:
    def __init__(self, key: Key, part: Part, formula: Formula) -> None:
        """Nothing is known of it, without a point, where it is not of single numbers."""
        looks = key.looks(part)
        self.points = [Floats(look.point) for look in looks]
        self.pieces = [Piece(formula.tree.body, None, [look.due for look in looks])]
        for piece in self.pieces if looks else ():
            name, nodes = read_operation(piece.node)
            for i, node in enumerate(nodes):
                pairs = zip(self.points, piece.dues, strict=True)
                dues = [_solve(name, i, due, map(x.value, nodes)) for x, due in pairs]
                self.pieces.append(Piece(node, piece, dues))

    def fits(self, piece: Piece, new: ast.expr) -> bool:
        """Whether something else in a piece's place may make the whole the one that is due."""
        for k, point in enumerate(self.points):
            value, here = point.value(new), piece
            while math.isnan(here.dues[k]) and here.above is not None:
                name, nodes = read_operation(here.above.node)
                values = [value if node is here.node else point.value(node) for node in nodes]
                value, here = on_floats(name)(*values), here.above
            if not is_near(value, here.dues[k]):
                return False
        return True

    @property
    def is_short(self) -> bool:
        """Whether so few pieces have a name in them that a change is another answer."""
        named = [piece.above for piece in self.pieces if isinstance(piece.node, ast.Name)]
        for piece in named:
            if piece is not None and piece.above not in named:
                named.append(piece.above)
        return len({*named} - {None}) < FEWEST


class Replacement(NamedTuple):
    """A piece of a formula, and what would stand there; None for numbers of the program's own."""

    kind: str
    piece: Piece
    new: ast.expr | None


def find_changes(key: Key, search: PieceSearch, known: Sequence[Array]) -> list[Replacement]:
    """Every small change that gives what is due, as far as floats tell; the likeliest first.

    With values that the program has, `known`, those may stand there as well, or be a factor.
    """
    names = [name for name, shape in key.problem.select_inputs(key.shapes).items() if not shape]
    tried = [  # all of them are kept: values are known by the identity of pieces
        Replacement(kind, piece, new)
        for piece in search.pieces
        for kind, new in _list_changes(piece, names)
    ]
    near = [each for each in tried if each.new and search.fits(each.piece, each.new)]
    for piece in search.pieces if known else ():
        near += [Replacement(kind, piece, None) for kind in _list_multiples(search, piece, known)]
    return sorted(near, key=lambda change: KINDS.index(change.kind))


# -- small changes ---------------------------------------------------------------------------------


def _list_changes(piece: Piece, names: Sequence[str]) -> Iterator[tuple[str, ast.expr]]:
    node, due = piece.node, piece.dues[0]
    is_term = piece.above is None or _is_sum(piece.above.node)
    match node:
        case ast.Constant(int() | Fraction() as number) if not isinstance(number, bool):
            yield from (("number", new) for new in _list_numbers(Fraction(number), due))
            if isinstance(number, Fraction):
                yield from (("rounding", new) for new in _list_roundings(number, due))
        case ast.Name(id):
            yield from (("letter", _make_name(name)) for name in names if name != id)
            yield "missing", ast.BinOp(node, ast.Pow(), ast.Constant(2))
        case ast.UnaryOp(ast.USub(), inner):
            yield "sign", inner
        case ast.Call(ast.Name(id), args):
            others = next((family for family in FAMILIES if id in family), ())
            calls = (ast.Call(_make_name(other), [*args], []) for other in others if other != id)
            yield from (("function", call) for call in calls)
        case ast.BinOp(left, ast.Add() | ast.Sub() as op, right):
            yield "sign", ast.BinOp(left, _negate(op), right)
        case ast.BinOp(left, op, right):
            yield from (
                ("too much", kept) for kept in (left, right)[: 1 + isinstance(op, ast.Mult)]
            )
    yield from (("bracket", new) for new in _regroup(node))
    if is_term and not (isinstance(node, ast.UnaryOp) or _is_sum(node)):
        yield "sign", ast.UnaryOp(ast.USub(), node)
    factors = (*map(_make_name, names), ast.Constant(2), ast.Constant(3)) if is_term else ()
    for factor in factors:  # one that is missing, above or below
        yield "missing", ast.BinOp(factor, ast.Mult(), node)
        yield "missing", ast.BinOp(node, ast.Div(), factor)


def _negate(op: ast.operator) -> ast.operator:
    return ast.Sub() if isinstance(op, ast.Add) else ast.Add()


def _make_name(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def _is_sum(node: ast.expr) -> TypeGuard[ast.BinOp]:
    return isinstance(node, ast.BinOp) and isinstance(node.op, SUM)


def _list_numbers(value: Fraction, due: float) -> Iterator[ast.expr]:
    """The number that is due, where it is simple; inside a function, those near."""
    if math.isnan(due):
        others = [value - 1, value + 1, 2 * value, value / 2, 10 * value, value / 10]
    else:
        others = [Fraction(due).limit_denominator(LARGEST)] if abs(due) < LARGEST**2 else []
    for other in others:
        if other not in (value, 0):
            yield parse(str(other) if other > 0 else f"-({-other})")


def _list_roundings(value: Fraction, due: float) -> Iterator[ast.expr]:
    """The exact numbers of which a decimal may be what is left: 2*pi for 6.28."""
    unit = next((10.0**-k for k in range(DECIMALS) if not value * 10**k % 1), 0.0)
    if not 0 < abs(due - value) <= unit:
        return
    for constant, size in EXACT.items():
        share = Fraction(due / size).limit_denominator(SHARE)
        if share > 0 and abs(share * size - due) <= SAME * due:
            exact = f"{share.numerator}*{constant}/{share.denominator}"
            yield parse(re.sub(r"^1\*|/1$", "", exact).replace("*1/", "/"))


def _regroup(node: ast.expr) -> Iterator[ast.expr]:
    """A bracket taken away from a sum, or put around one."""
    match node:
        case ast.BinOp(ast.BinOp(a, first, b), second, c) if _differ(first, second):
            yield ast.BinOp(a, first, ast.BinOp(b, second, c))
    match node:
        case ast.BinOp(a, first, ast.BinOp(b, second, c)) if _differ(first, second):
            yield ast.BinOp(ast.BinOp(a, first, b), second, c)
        case ast.Call(function, [ast.BinOp(a, plus, b)]) if isinstance(plus, SUM):
            yield ast.BinOp(ast.Call(function, [a], []), plus, b)


def _differ(first: ast.operator, second: ast.operator) -> bool:
    """Whether brackets make a difference: of a sum and a product."""
    known = all(isinstance(op, SUM + PRODUCTS) for op in (first, second))
    return known and isinstance(first, SUM) != isinstance(second, SUM)


def _list_multiples(search: PieceSearch, piece: Piece, known: Sequence[Array]) -> Iterator[str]:
    """What is due in its place: its square, a number times it, a value of the program, or that."""
    node, due = piece.node, np.array(piece.dues)
    has = np.array([point.value(node) for point in search.points])
    with np.errstate(all="ignore"):
        ratio = due / has
        if not np.all(np.isfinite(ratio)):
            return
        if _is_same(due, has**2):
            yield "square"
        near = Fraction(float(ratio[0])).limit_denominator(SIMPLE)
        if not _is_sum(node):
            if 0 < abs(near.numerator) <= SIMPLE**2 and _is_same(ratio, float(near)):
                yield "ratio"
            turned = (of for value in known for of in (value, -value, 1 / value, -1 / value))
            if any(_is_same(ratio, of) for of in turned):
                yield "factor"
        if isinstance(node, ast.Call) and ast.unparse(node.func) in WAVES:
            known = [*known, *(getattr(np, wave)(value) for value in known for wave in WAVES)]
        free = not isinstance(node, ast.Constant) and piece.above is not None
        if free and any(_is_same(due, sign * value) for value in known for sign in (1, -1)):
            yield "value"


def _is_same(a: Array, b: Value) -> bool:
    return bool(np.all(np.abs(a - b) <= SAME * np.maximum(np.abs(a), np.abs(b))))


# -- a slip, and a place ---------------------------------------------------------------------------


def find_slip(key: Key, part: Part, formula: Formula) -> Diagnosis | None:
    """The diagnosis of a typed formula that one change makes right; None where none does.

    Where several changes do, the likeliest is named; its place is in the answer.
    """
    try:
        search = PieceSearch(key, part, formula)
        near: list[Replacement] = []
        if search.points and read_number(formula.tree.body) is None:  # no number, as it is or typed
            near = find_changes(key, search, ())
        elif key.run is None and not search.points:
            near = [*islice(list_changes_of_arrays(formula, Shapes(key.shapes)), TURNS)]
    except FAILURES:
        return None
    for kind, piece, new in near:
        if new is None or (search.points and kind != "rounding" and search.is_short):
            continue
        tree = ast.fix_missing_locations(fill(formula.tree, {}, {id(piece.node): new}))
        with suppress(*FAILURES):
            ready = make_readings(key.shapes, replace(formula, tree=tree))
            if compare_answer(key, part.name, ready).outcome.kind == "equal":
                return _diagnose(formula, kind, piece.node, new)
    return None


def list_changes_of_arrays(formula: Formula, sizes: Shapes) -> Iterator[Replacement]:
    """Another transpose, sign, order or axis, a product of matrices for one of entries."""
    for node in ast.walk(formula.tree.body):
        match node:
            case ast.Call(function, args, [ast.keyword("axis", ast.Constant(0 | 1 as at)), *more]):
                turned = [ast.keyword("axis", ast.Constant(1 - at)), *more]
                new = ast.Call(function, args, turned)
                yield Replacement("summed-over-wrong-axis", Piece(node), new)
        match node:
            case ast.Name() | ast.Call() | ast.Attribute() if len(sizes.of(node) or ()) > 1:
                yield Replacement("transposed", Piece(node), _turn(node))
            case ast.BinOp(left, ast.Add() | ast.Sub() as op, right):
                yield Replacement("sign", Piece(node), ast.BinOp(left, _negate(op), right))
            case ast.BinOp(left, ast.Mult(), right):
                matmul = ast.BinOp(left, ast.MatMult(), right)
                yield Replacement("elementwise-for-matmul", Piece(node), matmul)
                for a, b in ((_turn(left), right), (left, _turn(right))):
                    yield Replacement("transposed", Piece(node), ast.BinOp(a, ast.MatMult(), b))
    for node in ast.walk(formula.tree.body):  # the shapes ask for a transpose first
        match node:
            case ast.BinOp(left, ast.Mult() | ast.MatMult(), right) if sizes.of(right):
                swapped = ast.BinOp(right, ast.MatMult(), left)
                yield Replacement("operands-swapped", Piece(node), swapped)


def _turn(node: ast.expr) -> ast.expr:
    return node.value if is_turned(node) else ast.Attribute(node, "T", ast.Load())


def _diagnose(formula: Formula, kind: str, node: ast.expr, new: ast.expr) -> Diagnosis:
    (start, end), now = _find_place(node), echo(new)
    match node:
        case ast.BinOp(left, ast.Mult(), right) if kind == "too much":
            (start, end), now = _find_place(right if new is left else left), ""
        case ast.BinOp(left, ast.Add() | ast.Sub()) if kind == "sign" and _is_sum(new):
            sign = "-" if isinstance(new.op, ast.Sub) else "+"
            start, now = left.end_col_offset or 0, f"{sign} {bracket(new.right, PRODUCT)}"
    text = formula.text[start:end].lstrip(" )]}")  # between two terms, what closes the first one
    now = now if "**" in formula.text else now.replace("**", "^")
    cure = f"with `{now}` for `{text}`" if now else f"without `{text}`"
    row = (SLIPS | OF_MATRICES)["number" if kind == "rounding" else kind]
    return Diagnosis((Hypothesis(row, (end - len(text), end), texts={"cure": cure, "text": text}),))


def locate_blame(key: Key, part: Part, answer: str, line: int | None = None) -> Place | None:
    """Where the piece to blame begins and ends in an answer that was judged wrong; None: unknown.

    `line` is the first line of its working that does not hold; else its last step is looked at.
    Only formulas of single numbers are.
    """
    try:
        formula = key.read(part, answer).formula
        if formula is None:
            return None
        tree = next((step.tree for step in formula.steps if step.line == line and step.tree), None)
        search = PieceSearch(key, part, formula if tree is None else formula.piece(tree))
        several = len(search.points) > 1
        found = find_changes(key, search, list(_list_values(key, part))) if several else []
        return _blame(found, formula.text) if found else None
    except FAILURES:
        return None


def _list_values(key: Key, part: Part) -> Iterator[Array]:
    """Values, derivatives and slopes that the program has there, but for constant ones."""
    at = [look.k for look in key.looks(part)]
    for line in key.mistaken.alone:
        if not line.scalar or part.name not in line.shapes or max(at) >= len(line.x):
            continue
        for k, tangent in enumerate(line.tangents):
            derivative = () if tangent is None else (tangent[:, 0],)
            for each in (line.y[k], *derivative, *line.f[k]):
                if np.all(np.isfinite(each)) and np.ptp(each):
                    yield each[at]


def _find_place(node: ast.expr) -> Place:
    return node.col_offset, node.end_col_offset or 0


def _blame(found: Sequence[Replacement], typed: str) -> Place:
    """The smallest piece of the likeliest kind; of a sign or a factor the whole term."""
    kind = found[0].kind
    pieces = [change.piece for change in found if change.kind == kind]
    if kind not in OF_A_TERM:
        places = (_find_place(piece.node) for piece in pieces)
        return min(places, key=lambda at: at[1] - at[0])
    terms = (_find_place(_find_term(piece, kind)) for piece in pieces)
    start, end = max(terms, key=lambda at: at[1] - at[0])
    before = typed[:start].rstrip()  # a term with the sign before it
    return (len(before) - 1, end) if before.endswith(("+", "-")) else (start, end)


def _find_term(piece: Piece, kind: str) -> ast.expr:
    """The largest product that a piece is a factor of; of a sign between two the second one."""
    if kind == "sign" and _is_sum(piece.node):
        return piece.node.right
    while piece.above is not None:
        name, nodes = read_operation(piece.above.node)
        factors = {"multiply": nodes, "divide": nodes[:1], "negative": nodes}.get(name, ())
        if not any(piece.node is factor for factor in factors):
            break
        piece = piece.above
    return piece.node
