"""Which piece of a wrong formula is to blame: what is due in its place, solved back from the truth.

For every piece of a formula of single numbers the number is worked out, in floats, that would have
to stand there, with the rest as it is, to give the right derivative. That piece is to blame where
it is something simple: what one small change of what was typed gives (a number, sign, letter,
function, factor or bracket), or else a value or a derivative that the program itself has, or a
factor of that kind. A small change that is right at all points in balls is a slip, and its repair.
A term that was left out stands nowhere.
"""

import ast
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import cache, cached_property
from operator import add, ge, gt, le, lt, mul, sub, truediv
from typing import NamedTuple

import numpy as np

from gradcheck.answers import Formula, echo
from gradcheck.answers.echo import PRODUCT, bracket
from gradcheck.diagnosis import Diagnosis, Hypothesis
from gradcheck.errors import TextError
from gradcheck.grading.formula import readings
from gradcheck.grading.gradients import compare_answer
from gradcheck.grading.judgement import FAILURES
from gradcheck.grading.key import Key
from gradcheck.language.kinds import FORMULAS
from gradcheck.language.program import copy_tree
from gradcheck.mistakes.typing import SLIPS
from gradcheck.ops import TABLE
from gradcheck.problem.record import Part
from gradcheck.values import Array, Routine, Value

CLOSE = 1e-6  # relative: floats that differ by more are no rounding error
CONSTANTS = {"pi": math.pi, "e": math.e}
WAVES = ("sin", "cos", "tan", "sinh", "cosh", "tanh")
FUNCTIONS: Mapping[str, Routine] = {
    **{name: getattr(math, name) for name in (*WAVES, "exp", "sqrt", "log")},
    **{f"arc{name}": getattr(math, f"a{name}") for name in WAVES},
    "absolute": abs,
}
INVERSE: Mapping[str, Routine] = {"exp": math.log, "log": math.exp, "sqrt": lambda x: x * x}
BINARY: Mapping[type[ast.AST], Routine] = {
    ast.Add: add, ast.Sub: sub, ast.Mult: mul, ast.Div: truediv, ast.Pow: pow,
    ast.Lt: lt, ast.LtE: le, ast.Gt: gt, ast.GtE: ge,
}  # fmt: skip
NO_VALUE = (ArithmeticError, ValueError, TypeError)  # a root of a negative number is complex


class Floats:
    """A formula of single numbers at one point; also with another piece in the place of one.

    What is not known here (LookupError) may be anything.
    """

    def __init__(self, body: ast.expr, point: Mapping[str, Value], due: float) -> None:
        self.body, self.point = body, point
        self.known: dict[int, float] = {}
        self.dues: dict[int, float | None] = {id(body): due}

    def is_near(self) -> bool:
        """Whether the value may be the one that is due."""
        try:
            return _is(self.value(self.body), self.dues[id(self.body)])
        except LookupError:
            return True
        except NO_VALUE:
            return False

    def fits(self, node: ast.expr, new: ast.expr) -> bool:
        """Whether a new piece in a node's place may make the whole the one that is due."""
        try:
            due, value = self.due(node), self.value(new)
            while due is None:
                above = self.above[id(node)]
                value, node = self._evaluate(above, node, value), above
                due = self.dues[id(node)]
            return _is(value, due)
        except NO_VALUE:
            return False

    @cached_property
    def pieces(self) -> list[ast.expr]:
        """All pieces, from above."""
        found = [self.body]
        for node in found:
            found.extend(_operands(node))
        return found

    @cached_property
    def above(self) -> dict[int, ast.expr]:
        """What stands above each piece, by its identity."""
        return {id(piece): node for node in self.pieces for piece in _operands(node)}

    def due(self, node: ast.expr) -> float | None:
        """What is due in a node's place; None where that is not one number."""
        if id(node) not in self.dues:
            above = self.above[id(node)]
            due, found = self.due(above), None
            if due is not None:
                with suppress(*NO_VALUE):
                    found = self._solve(above, node, due)
            self.dues[id(node)] = None if isinstance(found, complex) else found
        return self.dues[id(node)]

    def _solve(self, above: ast.expr, node: ast.expr, due: float) -> float | None:
        """What is due for a piece of a node for which a number is due."""
        match above:
            case ast.BinOp(left, op, right):
                first = node is left
                other = self.value(right if first else left)
                match op:
                    case ast.Add():
                        return due - other
                    case ast.Sub():
                        return due + other if first else other - due
                    case ast.Mult():
                        return due / other
                    case ast.Div():
                        return due * other if first else other / due
                    case ast.Pow() if first:
                        root = math.copysign(abs(due) ** (1 / other), self.value(left))
                        return root if _is(root**other, due) else None
                    case ast.Pow():
                        return math.log(due) / math.log(other)
            case ast.UnaryOp(op, _):
                return -due if isinstance(op, ast.USub) else due
            case ast.Call(ast.Name(name), [_]) if name in INVERSE:
                return float(INVERSE[name](due))
        return None

    def value(self, node: ast.expr) -> float:
        """The value of a piece."""
        found = self.known.get(id(node))
        if found is None:
            found = self.known[id(node)] = self._evaluate(node)
        return found

    def _evaluate(self, node: ast.expr, changed: ast.expr | None = None, new: float = 0.0) -> float:
        """The value of a node from those of its pieces, one of which may be changed."""
        if isinstance(node, ast.BinOp):  # most pieces are one: the way that must be short
            a = new if node.left is changed else self.value(node.left)
            b = new if node.right is changed else self.value(node.right)
            return BINARY[type(node.op)](a, b)  # type: ignore[no-any-return]
        if isinstance(node, ast.Name):
            return self.point[node.id] if node.id in self.point else CONSTANTS[node.id]
        if isinstance(node, ast.Constant):
            return float(node.value)  # type: ignore[arg-type]
        values = [new if piece is changed else self.value(piece) for piece in _operands(node)]
        match node:
            case ast.Compare(_, [op], _):
                return BINARY[type(op)](*values)  # type: ignore[no-any-return]
            case ast.UnaryOp(op):
                return -values[0] if isinstance(op, ast.USub) else values[0]
            case ast.Call(ast.Name(name), _, []):
                return _function(name)(*values)  # type: ignore[no-any-return]
        raise LookupError(node)


def _is(value: float, due: float | None) -> bool:
    if due is None or isinstance(value, complex):
        return False
    return abs(value - due) <= CLOSE * max(abs(value), abs(due))


def _operands(node: ast.expr) -> Sequence[ast.expr]:
    """The pieces that a node is made of."""
    match node:
        case ast.BinOp(left, _, right) | ast.Compare(left, _, [right]):
            return left, right
        case ast.UnaryOp(_, inner):
            return (inner,)
        case ast.Call(_, args):
            return args
    return ()


@cache
def _function(name: str) -> Routine:
    """A function on floats, by its name in formulas; LookupError where there is none."""
    if name in FUNCTIONS:
        return FUNCTIONS[name]
    row = TABLE[FORMULAS.function(name) or name]
    if not row.elementwise:
        raise LookupError(name)

    def function(*args: float) -> float:
        if any(isinstance(each, complex) for each in args):  # a root of a negative number
            raise ValueError(name)
        with np.errstate(all="ignore"):
            return float(row.forward(*args))

    return function


# -- a slip ----------------------------------------------------------------------------------------

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
SHARE, NEAR = 12, 1e-9  # denominators beside a constant; how near, relatively, floats show it
DECIMALS = 30  # digits behind the point that somebody types
SUM, PRODUCTS = (ast.Add, ast.Sub), (ast.Mult, ast.Div)
KINDS = (
    "rounding", "sign", "number", "function", "letter", "too much", "bracket", "missing", "ratio",
    "value", "square", "factor",
)  # fmt: skip


class Replacement(NamedTuple):
    """A piece of a formula, and what would stand there; None for numbers of the program's own."""

    kind: str
    node: ast.expr
    new: ast.expr | None


def find_slip(key: Key, part: Part, formula: Formula) -> Diagnosis | None:
    """The diagnosis of a typed formula that one change makes right; None where none does.

    Of single numbers only. Where several changes do, the likeliest is named; its place is in the
    answer.
    """
    try:
        looks = _look(key, part, formula)
        near = find_changes(key, looks, ()) if looks else []
    except FAILURES:
        return None
    if near and _is_short(looks[0]):
        near = [change for change in near if change.kind == "rounding"]
    for change in near:
        assert change.new is not None
        tree = ast.fix_missing_locations(copy_tree(formula.tree, {id(change.node): change.new}))
        with suppress(TextError, *FAILURES):
            ready = readings(key.scope, replace(formula, tree=tree))
            if compare_answer(key, part.name, ready).outcome.kind == "equal":
                return _diagnosis(formula, change, change.new)
    return None


def _look(key: Key, part: Part, formula: Formula) -> list[Floats]:
    """A formula at the points where floats tell something; nowhere, where it is of arrays."""
    seen = key.looks(part) if part.name in key.problem.wrt else ()
    return [Floats(formula.tree.body, each.point, each.due) for each in seen]


def find_changes(key: Key, looks: Sequence[Floats], known: Sequence[Array]) -> list[Replacement]:
    """Every small change that gives what is due, as far as floats tell; the likeliest first.

    With values that the program has, `known`, those may stand there as well, or be a factor.
    """
    nodes = looks[0].pieces
    with suppress(*NO_VALUE):  # there may be none as it stands
        looks[0].value(looks[0].body)
    inputs = key.problem.select_inputs(key.scope.inputs)
    names = [name for name, entry in inputs.items() if not entry.shape]
    terms = {id(looks[0].body), *(id(t) for n in nodes if _is_sum(n) for t in _operands(n))}
    tried = [  # all of them are kept: values are known by the identity of pieces
        Replacement(kind, node, new)
        for node in nodes
        for kind, new in _changes(looks[0], node, id(node) in terms, names)
    ]
    near = [c for c in tried if c.new and all(look.fits(c.node, c.new) for look in looks)]
    for node in nodes if known else ():
        near += [Replacement(kind, node, None) for kind in _of_values(looks, node, known)]
    return sorted(near, key=lambda change: KINDS.index(change.kind))


def _is_short(look: Floats) -> bool:
    """Whether a formula has so few pieces with a name in them that a change is another answer."""
    named = {id(node) for node in look.pieces if isinstance(node, ast.Name)}
    for node in reversed(look.pieces):
        named |= {id(node)} if any(id(piece) in named for piece in _operands(node)) else set()
    return sum(id(node) in named for node in look.pieces if _operands(node)) < FEWEST


def _diagnosis(formula: Formula, slip: Replacement, new: ast.expr) -> Diagnosis:
    """The slip, with its place in what was typed, and what belongs there."""
    (start, end), now = _place(slip.node), echo(new)
    match slip.node:
        case ast.BinOp(left, ast.Mult(), right) if slip.kind == "too much":
            (start, end), now = _place(right if new is left else left), ""
        case ast.BinOp(left, ast.Add() | ast.Sub()) if isinstance(new, ast.BinOp):
            if slip.kind == "sign":
                sign = "-" if isinstance(new.op, ast.Sub) else "+"
                start, now = left.end_col_offset or 0, f"{sign} {bracket(new.right, PRODUCT)}"
    text = formula.text[start:end].lstrip(" )]}")  # between two terms, what closes the first one
    now = now if "**" in formula.text else now.replace("**", "^")
    cure = f"with `{now}` for `{text}`" if now else f"without `{text}`"
    row = SLIPS["number" if slip.kind == "rounding" else slip.kind]
    texts = {"cure": cure, "text": text}
    return Diagnosis("unique", (Hypothesis(row, (end - len(text), end), texts=texts),))


def _changes(
    look: Floats, node: ast.expr, is_term: bool, names: Sequence[str]
) -> Iterator[tuple[str, ast.expr]]:
    """Small changes of one piece."""
    match node:
        case ast.Constant(int() | Fraction() as number) if not isinstance(number, bool):
            yield from (("number", new) for new in _numbers(Fraction(number), look.due(node)))
            if isinstance(number, Fraction):
                yield from (("rounding", new) for new in _roundings(number, look.due(node)))
        case ast.Name(id):
            yield from (("letter", _name(name)) for name in names if name != id)
            yield "missing", ast.BinOp(node, ast.Pow(), ast.Constant(2))
        case ast.UnaryOp(ast.USub(), inner):
            yield "sign", inner
        case ast.Call(ast.Name(id), args):
            others = next((family for family in FAMILIES if id in family), ())
            calls = (ast.Call(_name(other), [*args], []) for other in others if other != id)
            yield from (("function", call) for call in calls)
        case ast.BinOp(left, ast.Add() | ast.Sub() as op, right):
            turned = ast.Sub() if isinstance(op, ast.Add) else ast.Add()
            yield "sign", ast.BinOp(left, turned, right)
        case ast.BinOp(left, op, right):
            yield "too much", left
            if isinstance(op, ast.Mult):
                yield "too much", right
    yield from (("bracket", new) for new in _regroup(node))
    if is_term and not (isinstance(node, ast.UnaryOp) or _is_sum(node)):
        yield "sign", ast.UnaryOp(ast.USub(), node)
    factors = (*map(_name, names), ast.Constant(2), ast.Constant(3)) if is_term else ()
    for factor in factors:  # one that is missing, above or below
        yield "missing", ast.BinOp(factor, ast.Mult(), node)
        yield "missing", ast.BinOp(node, ast.Div(), factor)


def _name(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def _numbers(value: Fraction, due: float | None) -> Iterator[ast.expr]:
    """The number that is due, where it is simple; inside a function, those near."""
    if due is None:
        others = [value - 1, value + 1, 2 * value, value / 2, 10 * value, value / 10]
    else:
        others = [Fraction(due).limit_denominator(LARGEST)] if abs(due) < LARGEST**2 else []
    for other in others:
        if other in (value, 0):
            continue
        above: ast.expr = ast.Constant(abs(other.numerator))
        if other.denominator > 1:
            above = ast.BinOp(above, ast.Div(), ast.Constant(other.denominator))
        yield above if other > 0 else ast.UnaryOp(ast.USub(), above)


def _roundings(value: Fraction, due: float | None) -> Iterator[ast.expr]:
    """The exact numbers of which a decimal may be what is left: 2*pi for 6.28."""
    unit = next((10.0**-k for k in range(DECIMALS) if not value * 10**k % 1), 0.0)
    if due is None or not 0 < abs(due - value) <= unit:
        return
    for constant, size in EXACT.items():
        share = Fraction(due / size).limit_denominator(SHARE)
        if share > 0 and abs(share * size - due) <= NEAR * due:
            exact = f"{share.numerator}*{constant}" if share.numerator > 1 else constant
            exact += f"/{share.denominator}" if share.denominator > 1 else ""
            yield ast.parse(exact.replace("*1/", "/"), mode="eval").body


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


# -- a place ---------------------------------------------------------------------------------------

SAME = 1e-9  # relative: values are floats, worked back through a few operations
SIMPLE = 60  # numbers that are due have no larger numerator or denominator
OF_A_TERM = frozenset({"sign", "too much", "missing", "ratio", "factor"})
Place = tuple[int, int]


def standing(key: Key, part: Part, answer: str, line: int | None = None) -> Place | None:
    """Where the piece to blame begins and ends in an answer that was judged wrong; None: unknown.

    `line` is the first line of its working that does not hold; else its last step is looked at.
    Only formulas of single numbers are.
    """
    try:
        formula = key.read(part, answer)
        if not isinstance(formula, Formula):
            return None
        step = next((each for each in formula.steps if each.line == line and each.tree), None)
        if step is not None and step.tree is not None:
            formula = formula.piece(step.tree)
        looks = _look(key, part, formula)
        found = find_changes(key, looks, list(_values(key, part))) if len(looks) > 1 else []
        return _blame(found, formula) if found else None
    except (TextError, *FAILURES):
        return None


def _values(key: Key, part: Part) -> Iterator[Array]:
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


def _place(node: ast.expr) -> Place:
    return node.col_offset, node.end_col_offset or 0


def _blame(found: Sequence[Replacement], formula: Formula) -> Place:
    """The smallest piece of the likeliest kind; of a sign or a factor the whole term."""
    kind, blamed = found[0].kind, []
    for change in found:
        match change:
            case Replacement("sign", ast.BinOp(_, ast.Add() | ast.Sub(), right), ast.BinOp()):
                node = right  # of a sign between two terms the second one
            case _:
                node = change.node
        blamed += [node] if change.kind == kind else []
    if kind not in OF_A_TERM:
        return min(map(_place, blamed), key=lambda at: at[1] - at[0])
    term = _terms(formula.tree.body)
    start, end = max((_place(term[id(n)]) for n in blamed), key=lambda at: at[1] - at[0])
    before = formula.text[:start].rstrip()  # a term with the sign before it
    return (len(before) - 1, end) if before.endswith(("+", "-")) else (start, end)


def _terms(body: ast.expr) -> dict[int, ast.expr]:
    """For each piece the largest product that it is a factor of."""
    found, nodes = {id(body): body}, [body]
    for node in nodes:
        factors: tuple[ast.expr, ...] = ()
        match node:
            case ast.BinOp(left, ast.Mult(), right):
                factors = (left, right)
            case ast.BinOp(left, ast.Div()):
                factors = (left,)
            case ast.UnaryOp(ast.USub(), inner):
                factors = (inner,)
        for piece in _operands(node):
            found[id(piece)] = found[id(node)] if piece in factors else piece
            nodes.append(piece)
    return found


def _of_values(looks: Sequence[Floats], node: ast.expr, known: Sequence[Array]) -> Iterator[str]:
    """What is due in its place: its square, a number times it, a value of the program, or that."""
    try:
        has = np.array([look.value(node) for look in looks])
        due = np.array([look.due(node) for look in looks], dtype=float)
    except NO_VALUE:
        return
    with np.errstate(all="ignore"):
        ratio = due / has
        if not np.all(np.isfinite(ratio)):
            return
        if _same(due, has**2):
            yield "square"
        near = Fraction(float(ratio[0])).limit_denominator(SIMPLE)
        simple = 0 < abs(near.numerator) <= SIMPLE**2 and _same(ratio, float(near))
        if simple and not _is_sum(node):
            yield "ratio"
        turned = (of for value in known for of in (value, -value, 1 / value, -1 / value))
        if not _is_sum(node) and any(_same(ratio, of) for of in turned):
            yield "factor"
        if isinstance(node, ast.Call) and ast.unparse(node.func) in WAVES:
            known = [*known, *(getattr(np, wave)(value) for value in known for wave in WAVES)]
        free = not isinstance(node, ast.Constant) and node is not looks[0].body
        if free and any(_same(due, sign * value) for value in known for sign in (1, -1)):
            yield "value"


def _is_sum(node: ast.expr) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, SUM)


def _same(a: Array, b: Value) -> bool:
    return bool(np.all(np.abs(a - b) <= SAME * np.maximum(np.abs(a), np.abs(b))))
