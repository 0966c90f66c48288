"""A formula as it was typed, and the tree that was understood."""

import ast
import math
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np

from gradcheck.answers.characters import fault_at, in_plain
from gradcheck.answers.echo import echo, half_unit
from gradcheck.answers.notes import explain
from gradcheck.answers.operands import Reading
from gradcheck.answers.outline import Outline, WorkingStep
from gradcheck.answers.tokens import Token, tokenize
from gradcheck.answers.words import Words, vocabulary
from gradcheck.errors import ANSWER_EXPONENT, TextError

LENGTH = 2_000  # characters
TURNS = 8  # doubts that are turned, each alone
FEW = frozenset[int]()
MAGNITUDE = 30_000.0  # decimal digits of a tower of numbers
HEIGHT = 128
PARTS = 2_000  # with all that names stand for that the text defines
FLOATS = 308  # decimal exponents
OPERATIONS = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.MatMult: np.multiply,
    ast.Div: np.divide,
    ast.Pow: np.power,
}

Size = tuple[float, float]
"""A literal number as a float (perhaps infinite) and a bound on its decimal exponent."""


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
        """The tree in NumPy's spelling."""
        return echo(self.tree)

    @property
    def half_unit(self) -> Fraction | None:
        """Half a unit of the last digit of a bare decimal: 0.25 is known to within 0.005."""
        return half_unit(self.tree.body)

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
    return _read(text, vocabulary(names, functions, constants), single, by, FEW)


def other_readings(formula: Formula) -> Iterator[Formula]:
    """The formula as another reader might have read it: one doubt turned, then all of them."""
    if formula.words is None or not formula.doubts:  # of a piece nothing is in doubt
        return
    asked = formula.words, formula.single, formula.by
    each = [frozenset([at]) for at in formula.doubts[:TURNS]]
    seen = {formula.understood}
    for turned in dict.fromkeys([*each, frozenset(formula.doubts)]):
        try:
            found = _read(formula.text, *asked, turned)
        except TextError:
            continue
        if found.understood not in seen:
            seen.add(found.understood)
            yield found


@lru_cache(maxsize=64)
def _read(text: str, words: Words, single: bool, by: str, turned: frozenset[int]) -> Formula:
    """The formula in a text; the last few are known, as answers are looked at more than once."""
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
    nodes = within_limits(body, text)
    reading.notes += explain(nodes, text)
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
        level = [inner for node in level for inner in children(node)]
    for power in reversed(found):
        if not (isinstance(power, ast.BinOp) and isinstance(power.op, ast.Pow)):
            continue
        exponent = _size(power.right)
        base = _size(power.left) if exponent else None
        message = ""
        if exponent and not abs(exponent[0]) <= ANSWER_EXPONENT:
            message = f"an exponent beyond {ANSWER_EXPONENT:,}"
        elif exponent and base and base[1] * abs(exponent[0]) > MAGNITUDE:
            message = "a number too long to be an answer"
        if message:
            at = power.right.col_offset
            width = max((power.right.end_col_offset or 0) - at, 1)
            raise fault_at(typed, at, message, "simplify it first", width)
    return found


def children(node: ast.expr) -> Iterable[ast.expr]:
    if isinstance(node, ast.BinOp):
        return node.left, node.right
    if isinstance(node, ast.Name | ast.Constant):
        return ()
    return [n for n in ast.iter_child_nodes(node) if isinstance(n, ast.expr | ast.keyword)]  # type: ignore[misc]


def _size(node: ast.AST) -> Size | None:
    """The size of a literal number; nothing for a tree with names in it."""
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
