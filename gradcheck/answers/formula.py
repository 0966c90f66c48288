"""A formula as it was typed, what was understood, and notes on how else it could be read."""

import ast
import math
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np

from gradcheck.answers import echo as written
from gradcheck.answers.characters import clip, fault_at, in_plain
from gradcheck.answers.operands import Reading
from gradcheck.answers.outline import Outline, WorkingStep
from gradcheck.answers.tokens import Token, tokenize
from gradcheck.answers.words import Words, vocabulary
from gradcheck.errors import ANSWER_EXPONENT, TextError

LENGTH = 2_000  # characters
TURNS = 8  # doubts that are turned, each alone
MAGNITUDE = 30_000.0  # decimal digits of a tower of numbers
HEIGHT = 128
PARTS = 2_000  # with all that names stand for that the text defines
FLOATS = 308  # decimal exponents
SHORT, MOST = 200, 8  # characters that a note repeats; notes that anybody reads
OPERATIONS = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.MatMult: np.multiply,
    ast.Div: np.divide,
    ast.Pow: np.power,
}
RAISED = re.compile(r"(?:\^|\*\*)-?[\w.,]+\Z")
JOINTS = frozenset(["", *"*·×⋅∙÷∕/:@", r"\cdot", r"\times", r"\div"])
"""What may stand between two factors, but for brackets."""
BRACKET = re.compile(r"\s*\\?(?:left|big|Big)?\s*[({\[|⟨‖]")


@dataclass(frozen=True)
class Formula:
    """One typed formula; `text` is what was typed, with all that stood around it.

    `tree` has the nodes Name, Constant (int or Fraction; True, False, None as arguments), BinOp,
    UnaryOp, Call, Subscript, Slice, Tuple, List, Attribute (T, size, ndim, shape) and Compare, each
    with its place in `text`. `notes` say which rule was applied where a spelling is ambiguous.
    `steps` are those of the working, the formula itself the last of them; `doubts` the places that
    another reader would have read otherwise, `tokens` those of the formula itself.
    """

    text: str
    tree: ast.Expression
    notes: tuple[str, ...]
    steps: tuple[WorkingStep, ...] = ()
    doubts: tuple[int, ...] = ()
    tokens: tuple[Token, ...] = ()
    words: Words | None = None  # the vocabulary it was read with, and as what
    single: bool = False
    by: str = ""

    @cached_property
    def understood(self) -> str:
        return written.echo(self.tree)

    @property
    def half_unit(self) -> Fraction | None:
        """Half a unit of the last digit of a bare decimal: 0.25 is known to within 0.005."""
        return written.half_unit(self.tree.body)

    def piece(self, node: ast.expr) -> "Formula":
        return Formula(self.text, ast.Expression(node), ())


def read_formula(
    text: str,
    *,
    names: Collection[str],
    functions: Collection[str],
    constants: Collection[str] = ("pi", "e"),
    single: bool = False,
    by: str = "",
) -> Formula:
    """The formula in a text; TextError with one complaint at its column if there is none.

    `single` says that one number is due, not a list: a bare `2,5` is then a decimal number. `by` is
    the name that a prime differentiates by in a step of working.
    """
    return _read(text, vocabulary(names, functions, constants), single, by, frozenset())


def other_readings(formula: Formula) -> Iterator[Formula]:
    """The formula as another reader might have read it: one doubt turned, then all of them."""
    if formula.words is None or not formula.doubts:  # of a piece nothing is in doubt
        return
    each = [frozenset([at]) for at in formula.doubts[:TURNS]]
    seen = {formula.understood}
    for turned in dict.fromkeys([*each, frozenset(formula.doubts)]):
        try:
            found = _read(formula.text, formula.words, formula.single, formula.by, turned)
        except TextError:
            continue
        if found.understood not in seen:
            seen.add(found.understood)
            yield found


@lru_cache(maxsize=64)
def _read(text: str, words: Words, single: bool, by: str, turned: frozenset[int]) -> Formula:
    if len(text) > LENGTH:
        cure = "simplify it first, or give numbers"
        raise fault_at(text[:40], 0, f"{len(text)} characters: at most {LENGTH} are read", cure)
    plain = in_plain(text)
    reading = Reading(text, words, single, by, turned, notes=plain.notes)
    outline = Outline(reading, tokenize(text, plain))
    try:
        body = outline.formula()
    except RecursionError:
        raise fault_at(text, 0, "a formula of too many parts", "simplify it first") from None
    if single and isinstance(body, ast.List) and len(body.elts) == 1:
        body = body.elts[0]
        reading.notes.append("square brackets are read as round ones")
    reading.notes += explain(within_limits(body, text), text)
    return Formula(
        text,
        ast.Expression(body),
        tuple(dict.fromkeys(reading.notes)),
        tuple(outline.steps),
        tuple(dict.fromkeys(reading.doubts)),
        tuple(outline.read),
        words,
        single,
        by,
    )


def within_limits(body: ast.expr, typed: str) -> list[ast.expr]:
    """The parts of a tree; it is refused where a recursion could not bear it, or a power."""
    found: list[ast.expr] = []
    level, height = [body], 0
    while level:
        height += 1
        found += level
        if height > HEIGHT or len(found) > PARTS:
            limit = f"{HEIGHT} steps in a row" if height > HEIGHT else f"{PARTS:,} parts"
            message = f"a formula of more than {limit}"
            raise fault_at(typed, 0, message, "simplify it first, or give numbers")
        level = [inner for node in level for inner in _children(node)]
    powers = [n for n in found if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Pow)]
    for power in reversed(powers):
        exponent, at = _size(power.right), power.right.col_offset
        base = (_size(power.left) if exponent else None) or (0.0, 0.0)
        message = "a number too long to be an answer"
        if exponent and not abs(exponent[0]) <= ANSWER_EXPONENT:
            message = f"an exponent beyond {ANSWER_EXPONENT:,}"
        elif not exponent or base[1] * abs(exponent[0]) <= MAGNITUDE:
            continue
        width = max((power.right.end_col_offset or 0) - at, 1)
        raise fault_at(typed, at, message, "simplify it first", width)
    return found


def _children(node: ast.expr) -> Iterable[ast.expr]:
    if isinstance(node, ast.BinOp):
        return node.left, node.right
    if isinstance(node, ast.Name | ast.Constant):
        return ()
    return [n for n in ast.iter_child_nodes(node) if isinstance(n, ast.expr | ast.keyword)]  # type: ignore[misc]


def _size(node: ast.AST) -> tuple[float, float] | None:
    """A literal number as a float (perhaps infinite) and a bound on its decimal exponent."""
    match node:
        case ast.Constant(value) if isinstance(value, int | Fraction):
            if not value:
                return 0.0, 0.0
            exponent = math.log10(value.numerator) - math.log10(value.denominator)
            return float(value) if exponent < FLOATS else math.inf, abs(exponent)
        case ast.UnaryOp(op, operand):
            inner = _size(operand)
            return inner and (-inner[0] if isinstance(op, ast.USub) else inner[0], inner[1])
        case ast.BinOp(left, op, right) if (a := _size(left)) and (b := _size(right)):
            with np.errstate(all="ignore"):
                value = float(OPERATIONS[type(op)](a[0], b[0]))
            return value, a[1] * abs(b[0]) if isinstance(op, ast.Pow) else a[1] + b[1] + 1
    return None


# -- notes: `1/2x is read as (1/2)*x`; where its writer set brackets nothing is in doubt


def explain(nodes: Iterable[ast.expr], typed: str) -> list[str]:
    """The notes on the nodes of a formula, in the order of what was typed."""
    compound = (node for node in nodes if isinstance(node, ast.BinOp | ast.Call))
    doubtful = [node for node in compound if _is_doubtful(node, typed)]
    notes = []
    for node in sorted(doubtful, key=lambda node: (node.end_col_offset, -node.col_offset)):
        shown = typed[node.col_offset : node.end_col_offset]
        again = written.echo(node)
        if isinstance(node, ast.BinOp):
            left = written.echo(node.left)
            left = f"({left})" if isinstance(node.left, ast.BinOp | ast.UnaryOp) else left
            sign, _ = written.OPERATORS[type(node.op)]
            again = left + sign + written.bracket(node.right, written.UNARY)
        note = f"{clip(shown)} is read as {again}"
        notes += [note if "**" in typed else note.replace("**", "^")] if len(shown) <= SHORT else []
    return notes[:MOST]


def _is_doubtful(node: ast.expr, typed: str) -> bool:
    match node:
        case ast.Call(ast.Name(name), [inner], []):
            return _is_bare(node, typed) and not _is_simple(inner, name in ("sqrt", "cbrt"))
        case ast.BinOp(left, op, right) if (between := _between(node, typed)) in JOINTS:
            raised = RAISED.search(typed, left.col_offset, left.end_col_offset or 0)
            last = left.right if isinstance(left, ast.BinOp) and not _is_power(left) else left
            first = right
            while isinstance(first, ast.BinOp):
                first = first.left
            if between:
                halved = between == "/" and raised and isinstance(right, ast.Constant)
                factor = isinstance(first, ast.Name | ast.Constant)
                return bool(halved) or (factor and _is_bare(last, typed))
            if isinstance(left, ast.BinOp) and isinstance(left.op, ast.Div):
                return _between(left, typed) in JOINTS - {""}
            joined = raised and left.end_col_offset == right.col_offset
            root = typed[last.col_offset] in "√∛" and _is_bare(last, typed)
            factor = isinstance(op, ast.Mult) and isinstance(first, ast.Name)
            return factor and bool(joined or root)
    return False


def _between(node: ast.BinOp, typed: str) -> str | None:
    """What was typed between the sides of an operator; None where they were not typed so."""
    end, start = node.left.end_col_offset or 0, node.right.col_offset
    return typed[end:start].strip() if end <= start else None


def _is_power(node: ast.expr) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow)


def _is_bare(node: ast.expr, typed: str) -> bool:
    """Whether a node is a function whose argument was typed without brackets."""
    if not isinstance(node, ast.Call) or len(node.args) != 1:
        return False
    name = node.func.end_col_offset or 0
    return name <= node.args[0].col_offset and not BRACKET.match(typed, name)


def _is_simple(argument: ast.expr, root: bool) -> bool:
    """Whether nobody would read an argument differently: `x`, `2x`, `-x`."""
    match argument:
        case ast.UnaryOp(_, inner):
            return _is_simple(inner, root)
        case ast.BinOp(ast.Constant(), ast.Mult(), factor):
            return not root and not _is_power(factor)
    return not isinstance(argument, ast.BinOp)
