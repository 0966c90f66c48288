"""A wrong formula that one small change of what was typed would have made right.

One number, sign, letter, function, factor or bracket: what is due in the place of each piece is
solved back from the gradient in floats, and what fits there is compared at all points.
"""

import ast
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

from gradcheck.answers import Formula, echo
from gradcheck.answers.echo import PRODUCT, bracket
from gradcheck.diagnosis import Diagnosis, Hypothesis
from gradcheck.errors import TextError
from gradcheck.grading.equivalence import compare
from gradcheck.grading.formulas.floats import Floats
from gradcheck.grading.formulas.line import Line
from gradcheck.grading.formulas.values import readings
from gradcheck.grading.judgement import FAILURES
from gradcheck.grading.key import Key
from gradcheck.language.program import copy_tree
from gradcheck.mistakes.typing import SLIPS
from gradcheck.problem.record import Part

FEWEST = 3  # pieces of a formula: of a shorter one, a change is not a slip but another answer
LARGEST = 99  # numbers that somebody may have meant have no larger numerator or denominator
FAMILIES = (
    ("sin", "cos", "tan", "sec", "csc", "cot"),
    ("sinh", "cosh", "tanh"),
    ("arcsin", "arccos", "arctan"),
    ("exp", "log", "sqrt"),
)
CONSTANTS = {
    "1": 1.0, "pi": math.pi, "e": math.e, "pi**2": math.pi**2, "log(2)": math.log(2),
    "log(3)": math.log(3), "log(10)": math.log(10), "1/log(10)": 1 / math.log(10),
    "sqrt(2)": math.sqrt(2), "sqrt(3)": math.sqrt(3), "sqrt(5)": math.sqrt(5),
}  # fmt: skip
SHARE, NEAR = 12, 1e-9  # denominators beside a constant; how near, relatively, floats show it
DECIMALS = 30  # digits behind the point that somebody types
PLUS, TIMES = (ast.Add, ast.Sub), (ast.Mult, ast.Div)


class Slip(NamedTuple):
    """A piece of a formula, and what would stand in its place."""

    kind: str
    node: ast.expr
    new: ast.expr


def find_slip(key: Key, part: Part, formula: Formula) -> Diagnosis | None:
    """The diagnosis of a typed formula that one change makes right; None where none does.

    Of single numbers only. Where several changes do, the likeliest is named; its place is in the
    answer.
    """
    seen = key.look(part) if part.name in key.problem.wrt else None
    try:
        line = readings(key.scope, formula).pieces
    except (TextError, *FAILURES):
        return None
    if seen is None or not isinstance(line, Line):
        return None
    inputs = key.problem.select_inputs(key.scope.inputs)
    names = [name for name, entry in inputs.items() if not entry.shape]
    look = Floats(formula.tree.body, *seen)
    slips = [*_roundings(formula.tree.body, look)]
    if len(line.steps) >= FEWEST:
        slips += _slips(formula.tree.body, names, look)
    near = [slip for slip in slips if look.is_near(slip.node, slip.new)]
    return next(
        (_diagnosis(formula, slip) for slip in near if _fits(key, part, formula, slip)), None
    )


def _fits(key: Key, part: Part, formula: Formula, slip: Slip) -> bool:
    """Whether the changed formula is right at all points."""
    tree = ast.fix_missing_locations(copy_tree(formula.tree, {id(slip.node): slip.new}))
    try:
        ready = readings(key.scope, replace(formula, tree=tree))
        due = [spot.gradient(part.name) for spot in key.spots]
        return compare([ready.at(spot) for spot in key.spots], due).kind == "equal"
    except (TextError, *FAILURES):
        return False


def _diagnosis(formula: Formula, slip: Slip) -> Diagnosis:
    """The slip, with its place in what was typed, and what belongs there."""
    node, new = slip.node, slip.new
    start, end, now = node.col_offset, node.end_col_offset or 0, echo(new)
    match node:
        case ast.BinOp(left, ast.Mult(), right) if slip.kind == "too much":
            gone = right if new is left else left
            start, end, now = gone.col_offset, gone.end_col_offset or 0, ""
        case ast.BinOp(left, ast.Add() | ast.Sub()) if isinstance(new, ast.BinOp):
            if slip.kind == "sign":
                sign = "-" if isinstance(new.op, ast.Sub) else "+"
                start, now = left.end_col_offset or 0, f"{sign} {bracket(new.right, PRODUCT)}"
    text = formula.text[start:end].lstrip(" )]}")  # between two terms, what closes the first one
    now = now if "**" in formula.text else now.replace("**", "^")
    cure = f"with `{now}` for `{text}`" if now else f"without `{text}`"
    texts = {"cure": cure, "text": text}
    return Diagnosis("unique", (Hypothesis(SLIPS[slip.kind], (end - len(text), end), texts=texts),))


def _slips(body: ast.expr, names: Sequence[str], look: Floats) -> Iterator[Slip]:
    """Every small change of a formula in these names of single numbers; the likeliest first."""
    nodes = [node for node in ast.walk(body) if isinstance(node, ast.expr)]
    functions = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    nodes = [node for node in nodes if id(node) not in functions]
    terms = [body]
    for node in nodes:
        if isinstance(node, ast.BinOp) and isinstance(node.op, PLUS):
            terms += [node.left, node.right]
    yield from (Slip("sign", node, new) for node in nodes for new in _signs(node, terms))
    yield from (Slip("number", node, new) for node in nodes for new in _numbers(node, look))
    yield from (Slip("function", node, new) for node in nodes for new in _functions(node))
    for node in nodes:
        if isinstance(node, ast.Name):
            yield from (Slip("letter", node, _name(n)) for n in names if n != node.id)
    yield from (Slip("too much", node, new) for node in nodes for new in _without_factor(node))
    yield from (Slip("bracket", node, new) for node in nodes for new in _regroup(node))
    for node in nodes:
        if isinstance(node, ast.Name):
            yield Slip("missing", node, ast.BinOp(node, ast.Pow(), ast.Constant(2)))
    for term in terms:
        for factor in (*map(_name, names), ast.Constant(2), ast.Constant(3)):
            yield Slip("missing", term, ast.BinOp(factor, ast.Mult(), term))
            yield Slip("missing", term, ast.BinOp(term, ast.Div(), factor))


def _name(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def _signs(node: ast.expr, terms: Sequence[ast.expr]) -> Iterator[ast.expr]:
    match node:
        case ast.UnaryOp(ast.USub(), inner):
            yield inner
        case ast.BinOp(left, ast.Add(), right):
            yield ast.BinOp(left, ast.Sub(), right)
        case ast.BinOp(left, ast.Sub(), right):
            yield ast.BinOp(left, ast.Add(), right)
        case _ if node in terms:
            yield ast.UnaryOp(ast.USub(), node)


def _numbers(node: ast.expr, look: Floats) -> Iterator[ast.expr]:
    """The number that is due, where it is simple; inside a function, those near."""
    if not isinstance(node, ast.Constant) or not isinstance(node.value, int | Fraction):
        return
    value, due = Fraction(node.value), look.due(node)
    others = [value - 1, value + 1, 2 * value, value / 2, 10 * value, value / 10]
    if due is not None:
        others = [Fraction(due).limit_denominator(LARGEST)] if abs(due) < LARGEST**2 else []
    for other in others:
        if other in (value, 0):
            continue
        above: ast.expr = ast.Constant(abs(other.numerator))
        if other.denominator > 1:
            above = ast.BinOp(above, ast.Div(), ast.Constant(other.denominator))
        yield above if other > 0 else ast.UnaryOp(ast.USub(), above)


def _roundings(body: ast.expr, look: Floats) -> Iterator[Slip]:
    """The exact numbers of which a decimal may be what is left: 2*pi for 6.28."""
    for node in ast.walk(body):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, Fraction):
            continue
        due = look.due(node)
        unit = next((10.0**-k for k in range(DECIMALS) if not node.value * 10**k % 1), 0.0)
        if due is None or not 0 < abs(due - node.value) <= unit:
            continue
        for constant, value in CONSTANTS.items():
            share = Fraction(due / value).limit_denominator(SHARE)
            if share > 0 and abs(share * value - due) <= NEAR * due:
                exact = f"{share.numerator}*{constant}" if share.numerator > 1 else constant
                exact += f"/{share.denominator}" if share.denominator > 1 else ""
                exact = exact.replace("*1/", "/")
                yield Slip("number", node, ast.parse(exact, mode="eval").body)


def _functions(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        for family in FAMILIES:
            others = family if node.func.id in family else ()
            yield from (ast.Call(_name(n), node.args, []) for n in others if n != node.func.id)


def _without_factor(node: ast.expr) -> Iterator[ast.expr]:
    """A factor, a divisor or an exponent that is too much."""
    match node:
        case ast.BinOp(left, ast.Mult(), right):
            yield from (left, right)
        case ast.BinOp(left, ast.Div() | ast.Pow()):
            yield left


def _regroup(node: ast.expr) -> Iterator[ast.expr]:
    """A bracket taken away from a sum, or put around one."""
    match node:
        case ast.BinOp(ast.BinOp(a, first, b), second, c) if _differ(first, second):
            yield ast.BinOp(a, first, ast.BinOp(b, second, c))
    match node:
        case ast.BinOp(a, first, ast.BinOp(b, second, c)) if _differ(first, second):
            yield ast.BinOp(ast.BinOp(a, first, b), second, c)
        case ast.Call(function, [ast.BinOp(a, plus, b)]) if isinstance(plus, PLUS):
            yield ast.BinOp(ast.Call(function, [a], []), plus, b)


def _differ(first: ast.operator, second: ast.operator) -> bool:
    """Whether brackets make a difference: of a sum and a product."""
    known = all(isinstance(op, PLUS + TIMES) for op in (first, second))
    return known and isinstance(first, PLUS) != isinstance(second, PLUS)
