"""A formula as it was typed, what was understood, and notes on how else it could be read."""

import ast
import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np

from gradcheck.answers import echo as written
from gradcheck.answers.characters import fault_at, in_plain
from gradcheck.answers.operands import Reading
from gradcheck.answers.outline import Outline, WorkingStep
from gradcheck.answers.tokens import Token, tokenize
from gradcheck.answers.words import Words, vocabulary
from gradcheck.errors import ANSWER_EXPONENT, TextError

LENGTH = 2_000  # characters
CONSTANTS = frozenset(["pi", "e"])
TURNS = 8  # doubts that are turned, each alone
PLAIN = 2**53  # whole numbers below it are floats
MAGNITUDE = 30_000.0  # decimal digits of a tower of numbers
HEIGHT = 128
PARTS = 2_000  # with all that names stand for that the text defines
OPERATIONS = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.MatMult: np.multiply,
    ast.Div: np.divide,
    ast.Pow: np.power,
}


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
    constants: Collection[str] = CONSTANTS,
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
    check_limits(body, reading, len(outline.read))
    tree, notes = ast.Expression(body), tuple(dict.fromkeys(reading.notes))
    doubts, tokens = tuple(dict.fromkeys(reading.doubts)), tuple(outline.read)
    return Formula(text, tree, notes, tuple(outline.steps), doubts, tokens, words, single, by)


def check_limits(body: ast.expr, reading: Reading, tokens: int) -> None:
    """Refuse a tree that a recursion could not bear, or a power too large."""
    level: list[ast.AST] = [body] if 2 * tokens > HEIGHT or reading.own else []
    height = parts = 0
    while level:
        height, parts = height + 1, parts + len(level)
        if height > HEIGHT or parts > PARTS:
            limit = f"{HEIGHT} steps in a row" if height > HEIGHT else f"{PARTS:,} parts"
            message = f"a formula of more than {limit}"
            raise fault_at(reading.typed, 0, message, "simplify it first, or give numbers")
        inside = [inner for node in level for inner in ast.iter_child_nodes(node)]
        level = [node for node in inside if isinstance(node, ast.expr | ast.keyword)]
    for power in reading.powers:
        if (exponent := _size(power.right)) is None:
            continue
        base, at = _size(power.left) or (0.0, 0.0), power.right.col_offset
        message = "a number too long to be an answer"
        if not abs(exponent[0]) <= ANSWER_EXPONENT:
            message = f"an exponent beyond {ANSWER_EXPONENT:,}"
        elif base[1] * abs(exponent[0]) <= MAGNITUDE:
            continue
        width = max((power.right.end_col_offset or 0) - at, 1)
        raise fault_at(reading.typed, at, message, "simplify it first", width)


@lru_cache
def _size_of_number(value: object) -> tuple[float, float] | None:
    if not isinstance(value, int | Fraction):
        return None
    if not value:
        return 0.0, 0.0
    exponent = math.log10(value.numerator) - math.log10(value.denominator)
    plain = 0 < value < PLAIN and value.denominator == 1
    return float(value if plain else np.float64(10) ** exponent), abs(exponent)


def _size(node: ast.AST) -> tuple[float, float] | None:
    """A literal number as a float (perhaps infinite) and a bound on its decimal exponent."""
    if isinstance(node, ast.Name):
        return None
    if isinstance(node, ast.Constant):
        return _size_of_number(node.value)
    match node:
        case ast.UnaryOp(op, operand):
            inner = _size(operand)
            return inner and (-inner[0] if isinstance(op, ast.USub) else inner[0], inner[1])
        case ast.BinOp(left, op, right) if (a := _size(left)) and (b := _size(right)):
            with np.errstate(all="ignore"):
                value = float(OPERATIONS[type(op)](a[0], b[0]))
            return value, a[1] * abs(b[0]) if isinstance(op, ast.Pow) else a[1] + b[1] + 1
    return None
