"""A formula as it was typed, the tree that was understood, and how large it may be."""

import ast
import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from gradcheck.answers.characters import in_plain, refused
from gradcheck.answers.echo import echo, number
from gradcheck.answers.outline import Outline, WorkingStep
from gradcheck.answers.tokens import Token, tokenize
from gradcheck.answers.words import Words, vocabulary
from gradcheck.errors import TextError
from gradcheck.numbers.exponents import FORMULA

LENGTH = 2_000  # characters
TURNS = 8  # doubts that are turned, each alone
FEW = frozenset[int]()
MAGNITUDE = 30_000.0  # decimal digits of a tower of numbers
HEIGHT = 128
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
    with its place in `text`. `understood` is the tree in NumPy's spelling, `notes` say which rule
    was applied where a spelling is ambiguous, `half_unit` is half a unit of the last digit of a
    bare decimal. `steps` are those of the working, the formula itself the last of them; `doubts`
    the places that another reader would have read otherwise.
    """

    text: str
    tree: ast.Expression
    understood: str
    notes: tuple[str, ...]
    half_unit: Fraction | None
    steps: tuple[WorkingStep, ...] = ()
    doubts: tuple[int, ...] = ()
    tokens: tuple[Token, ...] = ()  # of the formula itself

    def piece(self, node: ast.expr) -> "Formula":
        """An entry of the formula as a formula of its own."""
        tree = ast.Expression(node)
        return Formula(self.text, tree, echo(tree), (), half_unit(node, self.text))


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
    return _remembered(text, vocabulary(names, functions, constants), single, by, FEW)


def other_readings(
    formula: Formula,
    *,
    names: Collection[str],
    functions: Collection[str],
    constants: Collection[str] = ("pi", "e"),
    single: bool = False,
    by: str = "",
) -> Iterator[Formula]:
    """The formula as another reader might have read it: one doubt turned, then all of them."""
    words = vocabulary(names, functions, constants)
    each = [frozenset([at]) for at in formula.doubts[:TURNS]]
    seen = {formula.understood}
    for turned in dict.fromkeys([*each, frozenset(formula.doubts)]):
        try:
            found = _remembered(formula.text, words, single, by, turned)
        except TextError:
            continue
        if found.understood not in seen:
            seen.add(found.understood)
            yield found


@lru_cache(maxsize=64)
def _remembered(text: str, words: Words, single: bool, by: str, turned: frozenset[int]) -> Formula:
    """The formula in a text; the last few are known, as answers are looked at more than once."""
    if len(text) > LENGTH:
        cure = "simplify it first, or give numbers"
        raise refused(text[:40], 0, f"{len(text)} characters: at most {LENGTH} are read", cure)
    plain = in_plain(text)
    outline = Outline(
        text,
        tokenize(text, plain),
        words,
        list(plain.notes),
        single=single,
        by=by,
        turned=turned,
    )
    body = outline.formula()
    if single and isinstance(body, ast.List) and len(body.elts) == 1:
        body = body.elts[0]
        outline.notes.append("square brackets are read as round ones")
    within_limits(body, text)
    tree = ast.Expression(body)
    notes = tuple(dict.fromkeys(outline.notes))
    doubts = tuple(dict.fromkeys(outline.doubts))
    steps = tuple(outline.steps)
    half = half_unit(body, text)
    return Formula(text, tree, echo(tree), notes, half, steps, doubts, tuple(outline.read))


def half_unit(node: ast.expr, text: str) -> Fraction | None:
    """Half a unit of the last digit of a bare decimal such as -0.25, 1e-3 or 2.5*10^-3."""
    if isinstance(node, ast.UnaryOp):
        return half_unit(node.operand, text)
    if isinstance(node, ast.Constant):
        value: object = node.value
        return half_of_last_digit(_typed(node, text)) if isinstance(value, Fraction) else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return _scientific(node, text)
    return None


def half_of_last_digit(typed: str) -> Fraction:
    """Half a unit of the last digit of a decimal: 0.25 is known to within 0.005."""
    mantissa, _, exponent = typed.lower().partition("e")
    decimals = len(mantissa.partition(".")[2])
    return Fraction(10) ** (int(exponent or 0) - decimals) / 2


def _scientific(node: ast.BinOp, text: str) -> Fraction | None:
    """The half unit of m*10^k: that of m, times 10^k."""
    mantissa = node.left.operand if isinstance(node.left, ast.UnaryOp) else node.left
    power = node.right
    if not (isinstance(mantissa, ast.Constant) and isinstance(power, ast.BinOp)):
        return None
    exponent = number(power.right)
    if (
        number(power.left) != 10
        or not isinstance(power.op, ast.Pow)
        or not isinstance(exponent, int)
    ):
        return None
    return half_of_last_digit(_typed(mantissa, text)) * Fraction(10) ** exponent


def _typed(node: ast.expr, text: str) -> str:
    """The digits of a constant as they were typed."""
    typed = text[node.col_offset : node.end_col_offset]
    return in_plain(typed).text.replace(",", ".").rstrip("`")


def within_limits(body: ast.expr, text: str) -> None:
    """Refuse a tree that a recursion could not bear, or with a literal power that is too large."""
    waiting: list[tuple[ast.AST, int]] = [(body, 1)]
    powers: list[ast.BinOp] = []
    while waiting:
        node, height = waiting.pop()
        if height > HEIGHT:
            message = f"a formula of more than {HEIGHT} steps in a row"
            raise refused(text, 0, message, "simplify it first, or give numbers")
        if isinstance(node, ast.BinOp):
            powers += [node] if isinstance(node.op, ast.Pow) else []
            waiting += ((node.left, height + 1), (node.right, height + 1))
        elif not isinstance(node, ast.Name | ast.Constant):
            waiting += [(child, height + 1) for child in ast.iter_child_nodes(node)]
    for power in powers:
        _check(power, text)


def _check(power: ast.BinOp, text: str) -> None:
    """Literal exponents end at 1,000, and so do their towers."""
    exponent = _size(power.right)
    if exponent is None:
        return
    at = power.right.col_offset
    width = max((power.right.end_col_offset or 0) - at, 1)
    if not abs(exponent[0]) <= FORMULA:
        message = f"an exponent beyond {FORMULA:,}"
        raise refused(text, at, message, "simplify it first", width)
    base = _size(power.left)
    if base and base[1] * abs(exponent[0]) > MAGNITUDE:
        message = "a number too long to be an answer"
        raise refused(text, at, message, "simplify it first", width)


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
        case ast.BinOp(left, op, right):
            a, b = _size(left), _size(right)
            return _combine(op, a, b) if a and b else None
    return None


def _combine(op: ast.operator, left: Size, right: Size) -> Size:
    """The size of a literal sum, product, quotient or power."""
    with np.errstate(all="ignore"):
        value = float(OPERATIONS[type(op)](left[0], right[0]))
    if isinstance(op, ast.Pow):
        return value, left[1] * abs(right[0])
    if isinstance(op, ast.Add | ast.Sub):
        return value, max(left[1], right[1]) + 1
    return value, left[1] + right[1]
