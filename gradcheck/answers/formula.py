"""A formula as it was typed, what was understood, and notes on how else it could be read."""

import ast
import math
import re
from collections.abc import Collection, Iterator
from copy import deepcopy
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import chain, combinations, islice, pairwise

import numpy as np

from gradcheck.answers.grammar import Parser
from gradcheck.answers.operands import Reading
from gradcheck.answers.outline import Outline, WorkingStep
from gradcheck.answers.tokens import (
    CLOSING,
    Token,
    Tokens,
    count_levels,
    find_closing,
    make_fault,
    spell,
    tokenize,
)
from gradcheck.answers.tree import Shape, echo, find_half_unit
from gradcheck.answers.words import Words, make_vocabulary
from gradcheck.errors import ANSWER_EXPONENT, TextError

LENGTH = 2_000  # characters
CONSTANTS = frozenset(["pi", "e"])
TURNS = 8  # doubts that are turned, each alone
PLAIN = 2**53  # whole numbers below it are floats
MAGNITUDE = 30_000.0  # decimal digits of a tower of numbers
HEIGHT = 128
PIECES = (ast.expr, ast.keyword)
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
    by: str = ""
    due: Shape | None = None

    @cached_property
    def understood(self) -> str:
        return echo(self.tree)

    @property
    def half_unit(self) -> Fraction | None:
        """Half a unit of the last digit of a bare decimal: 0.25 is known to within 0.005."""
        return find_half_unit(self.tree.body)

    def piece(self, node: ast.expr) -> "Formula":
        return Formula(self.text, ast.Expression(node), ())


def read_formula(
    text: str,
    *,
    names: Collection[str],
    functions: Collection[str],
    constants: Collection[str] = CONSTANTS,
    by: str = "",
    due: Shape | None = None,
) -> Formula:
    """The formula in a text; TextError with one complaint at its column if there is none.

    `due` is the shape that is due: of one number a bare `2,5` is a decimal number. `by` is the name
    that a prime differentiates by in a step of working.
    """
    return _read(text, make_vocabulary(names, functions, constants), by, due, frozenset())


def list_other_readings(formula: Formula) -> Iterator[Formula]:
    """The formula as another reader might have read it: one doubt turned, then all of them.

    And with roots as those have them who take the third root of a negative number.
    """
    if ROOT.search(formula.understood):
        rooted = replace(formula, tree=_RealRoots().visit(deepcopy(formula.tree)))
        if rooted.understood != formula.understood:
            yield replace(rooted, notes=(*formula.notes, REAL_ROOT))
    if formula.words is None or not formula.doubts:  # of a piece nothing is in doubt
        return
    every = frozenset(formula.doubts)
    tried = [*(frozenset([at]) for at in formula.doubts[:TURNS]), every]
    seen = {formula.understood}
    for turned in tried:
        try:
            found = _read(formula.text, formula.words, formula.by, formula.due, turned)
        except TextError:
            continue
        more = every.union(found.doubts)
        if turned == every != more and len(tried) < 2 * TURNS:  # turned, it leaves another
            tried.append(every := more)
        if found.understood not in seen:
            seen.add(found.understood)
            yield found


ROOT = re.compile(r"\*\*-?\(-?\(?\d+/(?![124]\b)\d")  # an odd one may be read in another way
EXPONENT = re.compile(r"-?\(?-?([\d.]+)/([\d.]*[1-9][\d.]*)\)?")
REAL_ROOT = "roots of negative numbers are the real ones, as in cbrt(-8) = -2"


class _RealRoots(ast.NodeTransformer):
    """x^(2/3) as |x|^(2/3), and x^(1/3) with the sign of x."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        ratio = EXPONENT.fullmatch(echo(node.right)) if isinstance(node.op, ast.Pow) else None
        exponent = Fraction(ratio[1]) / Fraction(ratio[2]) if ratio else Fraction(1)
        if exponent.denominator % 2 == 0 or exponent.denominator == 1:
            return node
        sign, size = (
            ast.Call(ast.Name(name, ast.Load()), [node.left], []) for name in ("sign", "absolute")
        )
        found = ast.BinOp(size, ast.Pow(), node.right)
        if exponent.numerator % 2:
            found = ast.BinOp(sign, ast.Mult(), found)
        return ast.fix_missing_locations(ast.copy_location(found, node))


@lru_cache(maxsize=64)
def _read(text: str, words: Words, by: str, due: Shape | None, turned: frozenset[int]) -> Formula:
    if len(text) > LENGTH:
        cure = "simplify it first, or give numbers"
        raise make_fault(text[:40], 0, f"{len(text)} characters: at most {LENGTH} are read", cure)
    tokens, notes = tokenize(text)
    reading = Reading(text, words, by, due, turned, notes=notes)
    outline = Outline(reading, tokens)
    try:
        body = outline.formula()
    except RecursionError:
        raise make_fault(text, 0, "a formula of too many parts", "simplify it first") from None
    while reading.single and isinstance(body, ast.List) and len(body.elts) == 1:
        body = body.elts[0]
        reading.notes.append("square brackets are read as round ones")
    check_limits(body, reading, len(outline.read))
    said, doubts = tuple(dict.fromkeys(reading.notes)), tuple(dict.fromkeys(reading.doubts))
    tree, steps, read = ast.Expression(body), tuple(outline.steps), tuple(outline.read)
    return Formula(text, tree, said, steps, doubts, read, words, by, due)


def check_limits(body: ast.expr, reading: Reading, tokens: int) -> None:
    """Refuse a tree that a recursion could not bear, or a power too large."""
    level: list[ast.AST] = [body] if 2 * tokens > HEIGHT or reading.own else []
    height = parts = 0
    while level:
        height, parts = height + 1, parts + len(level)
        if height > HEIGHT or parts > PARTS:
            limit = f"{HEIGHT} steps in a row" if height > HEIGHT else f"{PARTS:,} parts"
            message = f"a formula of more than {limit}"
            raise make_fault(reading.typed, 0, message, "simplify it first, or give numbers")
        inside = chain(*map(ast.iter_child_nodes, level))
        level = [node for node in inside if isinstance(node, PIECES)]
    for power in reading.powers:
        if (exponent := _bound_size(power.right)) is None:
            continue
        base, at = _bound_size(power.left) or (0.0, 0.0), power.right.col_offset
        message = "a number too long to be an answer"
        if not abs(exponent[0]) <= ANSWER_EXPONENT:
            message = f"an exponent beyond {ANSWER_EXPONENT:,}"
        elif base[1] * abs(exponent[0]) <= MAGNITUDE:
            continue
        width = max((power.right.end_col_offset or 0) - at, 1)
        raise make_fault(reading.typed, at, message, "simplify it first", width)


def _bound_size(node: ast.AST) -> tuple[float, float] | None:
    """A literal number as a float (perhaps infinite) and a bound on its decimal exponent."""
    match node:
        case ast.Constant(int() | Fraction() as value):
            exponent = math.log10(value.numerator) - math.log10(value.denominator) if value else 0.0
            plain = value < PLAIN and value.denominator == 1
            return float(value if plain else np.float64(10) ** exponent), abs(exponent)
        case ast.UnaryOp(op, operand):
            inner = _bound_size(operand)
            return inner and (-inner[0] if isinstance(op, ast.USub) else inner[0], inner[1])
        case ast.BinOp(left, op, right) if (a := _bound_size(left)) and (b := _bound_size(right)):
            with np.errstate(all="ignore"):
                size = float(OPERATIONS[type(op)](a[0], b[0]))
            return size, a[1] * abs(b[0]) if isinstance(op, ast.Pow) else a[1] + b[1] + 1
    return None


# -- other brackets: where one may be missing that its writer had in mind --------------------------

SINGLE, PAIRED, FURTHER = 16, 8, 3  # as many are tried, after one sign: the likeliest come first
CLOSED = frozenset(CLOSING.values())
ENDS = ("number", "word", "transpose")
DIVISION, SIGNS = ("/", ":"), frozenset(["/", ":", "^", "√", "∛"])
SEPARATORS = frozenset([",", "=", "<", ">", "<=", ">="])
RATIO = re.compile(r"(?:[-+] )?[\d.eE]+ / [\d.eE]+ ")
Pair = tuple[int, int]  # the first and the last token inside of brackets


def rebracket(formula: Formula) -> Iterator[Formula]:
    """Other readings of a formula, with one pair of brackets put in, or two.

    `1/2x` is read as (1/2)*x; its writer may have meant 1/(2x). They go where a reader goes on
    though a writer may not have stopped: after a sign of division, a sign of power or a function
    without brackets; around a sum before such a sign; around a function before a power. Brackets
    that are there, or braces of LaTeX, leave no doubt.
    """
    tokens, words = formula.tokens, formula.words
    if words is None:
        return
    if not (missing := dict.fromkeys(list_missing_pairs(tokens, words))):
        return
    nodes = [node for node in ast.walk(formula.tree.body) if isinstance(node, ast.expr)]
    every = {(node.col_offset, node.end_col_offset) for node in nodes}
    given = [node.args[0] for node in nodes if isinstance(node, ast.Call) and node.args]
    arguments = {(node.col_offset, node.end_col_offset) for node in given}

    def changes(pair: Pair) -> bool:
        """Whether brackets may change anything: not where they stand, or around one piece."""
        first, last = (tokens[at] for at in pair)
        if first.text in CLOSING and find_closing(tokens[: pair[1] + 1], pair[0]) == pair[1]:
            return False
        behind = tokens[pair[0] - 1].text in (*DIVISION, "^")
        return (first.start, last.end) not in (every if behind else arguments)

    singles = [*filter(changes, missing)][:SINGLE]
    doubles = [(a, b) for a, b in combinations(singles, 2) if a[1] < b[0] or b[1] < a[0]]
    doubles.sort(key=lambda pairs: len({spell(tokens[a : b + 1]) for a, b in pairs}))  # alike first
    for pairs in chain(((pair,) for pair in singles), doubles[:PAIRED]):
        found, typed = list(tokens), formula.text
        for first, last in sorted(pairs, reverse=True):
            start, end = tokens[first].start, tokens[last].end
            typed = f"{typed[:start]}({typed[start:end]}){typed[end:]}"
            inside = [tokens[first]._replace(spaced=False), *found[first + 1 : last + 1]]
            opening = Token("op", "(", start, start, tokens[first].spaced)
            found[first : last + 1] = [opening, *inside, Token("op", ")", end, end)]
        reading = Reading(formula.text, words)
        try:
            body = Parser(reading, found).whole()
            check_limits(body, reading, len(found))
        except TextError:
            continue
        stop = tokens[-1].end + 2 * len(pairs)
        yield Formula(typed[tokens[0].start : stop], ast.Expression(body), ())


def list_missing_pairs(tokens: Tokens, words: Words) -> Iterator[Pair]:
    after = [*[token.text for token in tokens[1:]], ""]
    for at, token in enumerate(tokens):
        function, opened = is_function(token, words), after[at] in {*CLOSING, "^"}
        if token.text in DIVISION or (not opened and (token.text in SIGNS or function)):
            yield from islice(_pair_after(tokens, at, words), FURTHER)
        if function and not opened:
            yield from _pair_before_power(tokens, at, at)
        if function and after[at] == "^" and at + 3 < len(tokens):
            last = next(_find_ends(tokens, at + 2), -1)
            if last >= 0 and after[last] not in {"", *CLOSING}:
                yield from islice(_pair_after(tokens, last, words), FURTHER)  # sec^2(x/a)
        if token.text in ("/", "^"):
            yield from _pair_sums(tokens, at)
    for at, token in enumerate(tokens[:-2]):
        if after[at] == "^" and token.kind in ENDS:
            yield from _pair_before_power(tokens, at, at + 2)


def _pair_after(tokens: Tokens, sign: int, words: Words) -> Iterator[Pair]:
    """From after a sign to the end of each further factor, then of each further term."""
    text = tokens[sign].text
    for last in _find_ends(tokens, sign + 1):
        inside = tokens[sign + 1 : last + 1]
        if text != "/" and _is_set_apart(text, inside):
            return
        named = "word" in [token.kind for token in inside]
        named = named or (text == "^" and RATIO.fullmatch(spell(inside)) is not None)
        powered = last + 1 < len(tokens) and tokens[last + 1].text == "^"
        if named and not powered and not is_function(tokens[last], words):
            yield sign + 1, last


def _is_set_apart(sign: str, inside: Tokens) -> bool:
    """Whether blanks say that the writer had stopped: `x^2 sin x`, `e^x + 1`."""
    if sign == "^" and any(token.spaced for token in inside[1:]):
        return True
    return any(a.text in ("+", "-") and a.spaced and b.spaced for a, b in pairwise(inside))


def _pair_sums(tokens: Tokens, sign: int) -> Iterator[Pair]:
    """The sum that stands before a sign, from where its level begins, or from a later term."""
    level = [0, *count_levels(tokens[:sign])]  # before each token
    here = [at for at in range(sign) if level[at + 1] == level[-1]]
    parted = [at + 1 for at in here if level[at] < level[-1] or tokens[at].text in SEPARATORS]
    start = max(parted, default=0)
    later = [at + 1 for at in here if at >= start and tokens[at].text in ("+", "-", "/")]
    for first in (start, *later):
        inside = tokens[first:sign]
        named = any(token.kind == "word" for token in inside)
        summed = any(token.text in ("+", "-") for token in inside[1:])
        if named and summed and not _is_set_apart("", inside):
            yield first, sign - 1


def _pair_before_power(tokens: Tokens, start: int, first: int) -> Iterator[Pair]:
    """From a token to what stands before the next power: `cos x` in cos x^2."""
    for last in _find_ends(tokens, first):
        if last > start and last + 1 < len(tokens) and tokens[last + 1].text == "^":
            yield start, last
            return
        if any(token.text in ("+", "-", "/", "*", "·") for token in tokens[first : last + 1]):
            return


def _find_ends(tokens: Tokens, first: int) -> Iterator[int]:
    """Where a factor ends, up to the end of the bracket or a sign that parts."""
    for at, level in enumerate(count_levels(tokens[first:]), first):
        token = tokens[at]
        if level < 0 or (level == 0 and token.text in SEPARATORS):
            return
        suffixed = at + 1 < len(tokens) and tokens[at + 1].text in (".", "[", "_")
        if level == 0 and (token.kind in ENDS or token.text in CLOSED) and not suffixed:
            yield at


def is_function(token: Token, words: Words) -> bool:
    return token.kind == "word" and words.meant(token.text).kind == "function"
