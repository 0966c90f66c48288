r"""Operands: a place among the tokens of a formula, and what stands between two of its signs.

Numbers, brackets, lists, bars, roots, sums; `OPERANDS` says which sign begins which.
"""

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import chain
from typing import TypeVar

from gradcheck.answers.tokens import (
    CLOSING,
    DERIVATIVE,
    GOES_ON,
    UNEQUAL,
    Token,
    Tokens,
    clip,
    find_closing,
    is_of_blanks,
    make_fault,
    parts_digits,
    spell,
)
from gradcheck.answers.tree import (
    POWER,
    PRODUCT,
    UNARY,
    Shape,
    Shapes,
    echo,
    is_square,
    make_constant,
    read_number,
)
from gradcheck.answers.words import UNKNOWN, Meaning, Words, segment
from gradcheck.errors import TextError

DEPTH = 64
ALL_BARS = -1  # the place of a doubt: who means a length means it wherever bars are
LOAD = ast.Load()
SHOWN = {"|(": "|", "|)": "|", "⟦": "\\begin", "⟧": "\\end", "⦃": "\\begin"}
RADICALS = {"√": "sqrt", "∛": "cbrt"}
NEVER = {
    "=": ("an equals sign", "give only what stands on its right"),
    "'": ("primes are not read", DERIVATIVE),
    **dict.fromkeys("∂∇", ("derivative signs are not read", DERIVATIVE)),
    "∞": ("infinity is not read", "a derivative is a formula; infinity is not read"),
    "!": ("factorials are not read", "write gamma(n + 1), or the number"),
    "%": ("percent signs are not read", "write 0.5 for fifty percent"),
    "°": ("degrees are not read", "angles are in radians: write pi/180 times the degrees"),
    "$": ("a dollar sign without its partner", "leave it out"),
    ",": (
        "a comma that separates nothing",
        "write lists in square brackets, decimals with a point",
    ),
}
CURES = {
    **dict.fromkeys(")]}", "remove it, or open a bracket before it"),
    "*": "remove it, or write the missing factor",
    **dict.fromkeys("&;", "give one formula; rows are written [[a, b], [c, d]]"),
}
NUMBER_BEHIND = "a number right after a factor", "write * between them, or ^ for a power"
BOLD = re.compile(r"(?:\\(?:mathbf|mathbb|boldsymbol|bm|vec)\s*\{?1|[𝟏𝟙𝟭])\Z")
UNTAKEN = "derivative"  # the name of a derivative in a step of working that is not yet taken
OPERATOR = re.compile(r"(?P<frac>\\frac \{ )?[d∂] (?(frac)\} \{|/) (?:d(\w*)|∂ (\w+)) (?(frac)\} )")
"""`d/dx`, `∂/∂x` or `\\frac{d}{dx}`."""
DECIMAL = re.compile(r"(\d+),(\d+)(?:e-?\d+|\.\.\.)?")
THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+\.\d+|\d{1,3}(?:,\d{3}){2,}")
ROWS = re.compile(r"(?:[-+] )?\d+ (?:, \d+ )?(?:; (?:[-+] )?\d+ (?:, \d+ )?)+")
INSIDE, POINT = "a comma inside a number", "decimals are written with a point"
SHAPED = frozenset(["ones", "zeros", "full", "reshape", "view"])
"""Functions that are told a shape: in brackets of its own its comma is never a decimal one."""

Node = TypeVar("Node", bound=ast.expr | ast.keyword)


@dataclass
class Reading:
    """What all parsers of one text share: how it is read, what was noted, what is in doubt."""

    typed: str
    words: Words
    by: str = ""  # what a prime differentiates by
    due: Shape | None = None  # the shape that is due, if it is known
    turned: frozenset[int] = frozenset()
    own: dict[str, ast.expr] = field(default_factory=dict)  # what the answer itself defines
    notes: list[str] = field(default_factory=list)
    doubts: list[int] = field(default_factory=list)
    powers: list[ast.BinOp] = field(default_factory=list)
    bound: str = ""  # the letters of the left side
    lengths: dict[str, int] | None = None  # of the letters that index, of a piece those around it
    untaken: int | None = None  # where a derivative that is not yet taken stands
    choices: "Callable[[Reading, Tokens], ast.expr | None]" = lambda *_: None  # of cases

    @property
    def single(self) -> bool:
        return self.due == ()

    def doubt(self, at: int, usual: bool = True) -> bool:
        """Decide what is in doubt at a place: as usual, or turned."""
        self.doubts.append(at)
        return usual != (at in self.turned)

    def leave_out(self, start: int, end: int) -> None:
        self.notes.append(f"`{clip(self.typed[start:end].strip())}` is left out")


class Operands:
    at = depth = bars = 0
    in_norm = slices = False  # whether a colon parts an index
    parting = False  # whether a comma parts, even between digits
    beside: Shape | None = None  # of what stands before a sign of addition
    matrices: bool | None = None  # whether a transpose or an inverse is there
    expression: Callable[..., ast.expr]
    word: Callable[[], ast.expr]
    sum: Callable[[], ast.expr]

    def __init__(
        self, reading: Reading, tokens: Tokens, *, single: bool = False, equates: bool = False
    ) -> None:
        end = tokens[-1].end if tokens else len(reading.typed)
        self.reading, self.typed, self.words = reading, reading.typed, reading.words
        self.tokens = [*tokens, *[Token("end", "", end, end, True)] * 4]
        self.single = single or reading.single
        self.equates = equates  # whether an equals sign compares
        self.arrays, self.shapes = self.words.arrays, self.words.shapes
        self.sizes = Shapes(self.shapes)
        self.bare: set[ast.expr] = set()  # calls whose argument stands without brackets
        self.lengths = {} if reading.lengths is None else reading.lengths

    def look(self, ahead: int = 0) -> Token:
        return self.tokens[self.at + ahead]

    def sees(self, *signs: str, ahead: int = 0) -> bool:
        return self.tokens[self.at + ahead].text in signs

    def takes(self, sign: str) -> bool:
        seen = self.tokens[self.at].text == sign
        self.at += seen
        return seen

    def step(self) -> Token:
        token = self.tokens[self.at]
        self.at += token.kind != "end"  # never past it
        return token

    def find(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        found = pattern.match(spell(self.tokens[self.at : self.at + 20]))
        self.at += found[0].count(" ") if found else 0
        return found

    def instead(self, *tokens: Token) -> None:
        self.tokens[self.at : self.at + 1] = tokens

    def in_bracket(self, opening: int) -> list[Token]:
        return self.tokens[opening + 1 : find_closing(self.tokens, opening)]

    def meaning(self, token: Token) -> Meaning:
        return self.words.meant(token.text) if token.kind == "word" else UNKNOWN

    def function_comes(self) -> bool:
        token = self.tokens[self.at]
        if token.kind != "word" or token.text in self.reading.own:
            return token.text in RADICALS
        meaning = self.words.meant(token.text)
        if not meaning:
            ways = segment(self.words, token.text, opens=self.sees("(", ahead=1))
            meaning = self.words.meaning(ways[0][0]) if len(ways) == 1 else UNKNOWN
        return meaning.kind == "function"

    def factor_starts(self) -> bool:
        """Whether a factor can start here without a sign of its own."""
        token = self.tokens[self.at]
        if token.kind != "op":
            return token.kind in ("number", "word")
        if token.text == "|" and self.bars:  # a bar inside of bars
            after = self.look(1)
            goes_on = after.kind in ("number", "word") or after.text in ("(", "{")
            return goes_on and not self.doubt(usual=True)
        return token.text in OPERANDS and token.text not in ("∂", "‖" if self.in_norm else "")

    def doubt(self, usual: bool, at: int | None = None) -> bool:
        return self.reading.doubt(self.tokens[self.at].start if at is None else at, usual)

    def node(self, node: Node, start: int) -> Node:
        """The node with its place: from `start` to the end of the token just read."""
        end = self.tokens[self.at - 1].end if self.at else start
        node.lineno = 1  # and no end_lineno, of which each node would grow by half
        node.col_offset = start
        node.end_col_offset = end if end > start else start
        return node

    def name(self, name: str, start: int) -> ast.Name:
        return self.node(ast.Name(name, LOAD), start)

    def whole_number(self, value: int, start: int) -> ast.Constant:
        return self.node(ast.Constant(value), start)

    def ones(self, length: int, start: int) -> ast.expr:
        return self.apply("ones", [self.whole_number(length, start)], start)

    def combine(self, left: ast.expr, op: ast.operator, right: ast.expr, start: int) -> ast.BinOp:
        found = self.node(ast.BinOp(left, op, right), start)
        if type(op) is ast.Pow:
            self.reading.powers.append(found)
        return found

    def apply(
        self, function: str, args: list[ast.expr], start: int, *words: ast.keyword, end: int = 0
    ) -> ast.Call:
        """A call; `end` is where the function's name ends, if it was typed."""
        name = self.name(function, start)
        name.end_col_offset = end or name.end_col_offset
        return self.node(ast.Call(name, args, [*words]), start)

    def note(self, said: str, node: ast.expr | None = None) -> None:
        """Record a rule that was applied, or as what something is read."""
        said = said if node is None else f"{said} is read as {echo(node)}"
        self.reading.notes.append(said if "**" in self.typed else said.replace("**", "^"))

    def text(self, start: int) -> str:
        return clip(self.typed[start : self.tokens[self.at - 1].end])

    def fault(self, token: Token, message: str, cure: str = "") -> TextError:
        width = max(token.end - token.start, 1)
        return make_fault(self.typed, token.start, message, cure, width)

    def fault_here(self, due: str) -> TextError:
        token = self.tokens[self.at]
        if token.kind == "end":
            message = f"the formula stops where {due} is due"
            return self.fault(token, message, "write what should stand here")
        if token.text in NEVER:
            return self.fault(token, *NEVER[token.text])
        shown = self.typed[token.start : token.end] or SHOWN.get(token.text, token.text)
        cure = CURES.get(token.text, "leave it out, or write what is missing")
        return self.fault(token, f"{shown} stands where {due} is due", cure)

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > DEPTH:
            message = f"more than {DEPTH} levels of brackets, signs and powers"
            raise self.fault(self.tokens[self.at], message, "simplify it first")

    def operand(self, node: ast.expr) -> ast.expr:
        """The node; a tuple where one number is due is none; a list of one is what it holds."""
        if type(node) not in (ast.Tuple, ast.List):
            return node
        if isinstance(node, ast.Tuple):
            end = node.elts[0].end_col_offset or 0
            behind = self.typed[end : node.elts[-1].col_offset]
            if "," in behind and ";" not in behind and not self.single:  # r (-sin t, cos t)
                return as_list(node)
            token = next(t for t in self.tokens if t.start >= end and t.text in ",;")
            raise self.fault(token, *NEVER[","])
        if isinstance(node, ast.List) and len(node.elts) == 1:
            self.note("square brackets are read as round ones")
            return self.operand(node.elts[0])
        return node

    def shape(self, node: ast.expr) -> Shape | None:
        return self.sizes.of(node) if self.arrays else None

    def factor(self, rank: int) -> ast.expr:
        return self.operand(self.expression(rank))

    def value(self) -> ast.expr:
        token = self.tokens[self.at]
        reader = OPERANDS.get(token.text if token.kind == "op" else token.kind)
        if reader is None:
            raise self.fault_here("a number, a name or a bracket")
        return reader(self)

    def number(self) -> ast.expr:
        """A number; `2e3` is refused where e is a name."""
        token = self.step()
        if not self.parting and self.sees(","):
            token = self.join_digits(token)
        text = token.text
        if text == "1":
            if self.indicator_comes():
                self.takes("_")
                return self.indicator()
            due = self.reading.due or ()
            if due[1:] and self.is_bold(token) and self.factor_starts():  # 1 w^T
                return self.ones(due[0], token.start)
        elif text.endswith(GOES_ON):
            return self.endless(text.removesuffix(GOES_ON), token.start)
        elif not text.isdigit() and "." not in text:
            letter = "e" if "e" in text else "E"
            mantissa, exponent = text.split(letter)
            if letter in self.words.names:
                tail = exponent if exponent[0] in "+-" else f"*{exponent}"
                cure = f"write {mantissa}*{letter}{tail} or {mantissa}*10^{exponent}"
                raise self.fault(token, f"is {text} a number or a multiple of {letter}?", cure)
            if self.words.meaning(letter):
                self.note(f"{text} is read as {mantissa}*10^{exponent}")
        return self.node(make_constant(text), token.start)

    def endless(self, digits: str, start: int) -> ast.expr:
        """A number whose decimals go on: in a formula 1/3 for 0.33, else some 2.7185 for 2.718."""
        before, after = self.tokens[: self.at - 1], self.look()
        alone = after.kind == "end" and all(t.text in "+-" for t in before)
        node: ast.expr = make_constant(digits + "5" * ("." in digits))
        if "." in digits and digits[-2:] == 2 * digits[-1] and not alone:
            less, more = Fraction(digits), Fraction(digits + digits[-1])
            ratio = (more + (more - less) / 9).as_integer_ratio()
            above, below = (self.node(ast.Constant(n), start) for n in ratio)
            node = ast.BinOp(above, ast.Div(), below) if below.value != 1 else above
        node.digits = digits  # type: ignore[attr-defined]
        self.note(f"{digits}{GOES_ON} is read as {echo(node)}")
        return self.node(node, start)

    def is_bold(self, token: Token) -> bool:
        return token.text == "1" and bool(BOLD.search(self.typed[: token.start + 1]))

    def join_digits(self, first: Token) -> Token:
        """A number with what its commas join to it: decimal commas, or between thousands."""
        stop = self.at
        while parts_digits(self.tokens, stop):
            stop += 2
        if stop == self.at:
            return first
        joined, before = self.tokens[self.at : stop], self.tokens[: self.at - 1]
        text = plain = "".join(token.text for token in [first, *joined])
        if THOUSANDS.fullmatch(text):
            plain = text.replace(",", "")
        elif found := DECIMAL.fullmatch(text):
            whole, decimals = found.groups()
            bare = self.tokens[stop].kind == "end" and all(t.text in "+-" for t in before)
            thousands = len(decimals) == 3 and len(whole) <= 3 and whole[0] != "0"
            if ((bare and not self.single) or thousands) and not text.endswith(GOES_ON):
                cure = f"{POINT}: {whole}.{decimals}"
                cure += f", thousands as {whole}{decimals}" if len(decimals) == 3 else ""
                raise self.fault(joined[0], INSIDE, cure)
            plain = text.replace(",", ".")
            self.note(f"{text} is read as {whole}.{decimals}")
        elif "." in first.text and joined[1].text.isdigit():
            cure = f"{POINT}: write {first.text.replace('.', '')}.{joined[1].text}"
            raise self.fault(first, INSIDE, cure)
        else:
            return first
        self.tokens[self.at - 1 : stop] = [first._replace(text=plain, end=joined[-1].end)]
        return self.look(-1)

    def are_decimals(self, opening: Token) -> bool:
        inside = spell(self.in_bracket(self.at - 1))
        if opening.text != "[" or not ROWS.fullmatch(inside):
            return False
        rows = inside.split("; ")
        if all("," in row for row in rows) and (len(rows), 2) in self.shapes.values():
            message = "commas may part the numbers of a row, or be decimal commas"
            cure = f"write [[{rows[0].replace(' ,', ',').strip()}], ...], or decimals with a point"
            raise self.fault(opening, message, cure)
        return True

    def parts_here(self, opening: Token) -> bool:
        """Whether commas in brackets, the first of which was read, part even between digits."""
        before = self.look(-2) if self.at > 1 else opening
        if opening.text in "[⟦⟨":
            return not self.are_decimals(opening)
        if before.text == "(" and self.at > 2 and self.look(-3).text in SHAPED:
            return True
        if before.text in (",", "="):
            return self.parting
        if before.text == "(" and not self.single:  # ((1,2),(3,4))
            behind = find_closing(self.tokens, self.at - 1) + 1
            return spell(self.tokens[behind : behind + 1]) == ", "
        return before.kind == "word" and self.words.takes_several(before.text)

    def indicator_comes(self, ahead: int = 0) -> bool:
        """Whether `_{x > 0}` or `[x = 0]` comes: with a 1 before it, one where that holds."""
        ahead += (below := self.sees("_", ahead=ahead))
        if not self.sees("[", "{" if below else "[", ahead=ahead):
            return False
        inside = self.in_bracket(self.at + ahead)
        return any(t.text in UNEQUAL or t.text in ("==", "=") for t in inside)

    def indicator(self) -> ast.expr:
        outside, self.equates = self.equates, True
        found = self.operand(self.group())
        self.equates = outside
        return found

    def closes(self, opening: Token) -> None:
        closing = CLOSING.get(opening.text, "‖")
        if self.takes(closing):
            return
        shown, due = SHOWN.get(opening.text, opening.text), SHOWN.get(closing, closing)
        if self.look().kind == "end":
            raise self.fault(opening, f"{shown} is never closed", f"add {due}")
        raise self.fault_here(f"{due} to close {shown}")

    def rows(
        self,
        opening: Token,
        entry: Callable[[], ast.expr | None] | None = None,
        *,
        blanks: bool = False,
        slices: bool = False,
    ) -> list[list[ast.expr]]:
        """What commas and semicolons part in brackets, the first of which was read."""
        closing, outside = CLOSING.get(opening.text, "‖"), (self.bars, self.parting, self.slices)
        self.bars, self.parting, self.slices = 0, self.parts_here(opening), slices
        found: list[list[ast.expr]] = [[]]
        while True:
            value = entry() if entry else self.expression(UNARY if blanks else 0)
            found[-1] += [] if value is None else [value]
            if self.tokens[self.at].text == closing:
                break
            parted = self.takes(",") or (opening.text == "⟦" and self.takes("&"))
            self.parting, ends = self.parting or parted, False
            while self.sees(";", "\n"):
                self.at, ends = self.at + 1, True
            if not (parted or ends or blanks) or self.sees(closing) or self.look().kind == "end":
                break
            if ends and not parted:
                found.append([])
        self.bars, self.parting, self.slices = outside
        self.closes(opening)
        return found

    def group(self) -> ast.expr:
        opening = self.step()
        if self.sees(CLOSING.get(opening.text, "‖")):
            raise self.fault(opening, "empty brackets", "write what belongs between them")
        parts = [*chain(*self.rows(opening))]
        if len(parts) == 1 and self.look(-2).text not in (",", ";"):
            return parts[0]
        return self.node(ast.Tuple(parts, ast.Load()), opening.start)

    def list_(self) -> ast.expr:
        """A list of values, perhaps of rows, which semicolons or line breaks part."""
        blanks = not self.single and is_of_blanks(self.in_bracket(self.at))
        opening = self.step()
        rows = [[]] if self.takes(CLOSING[opening.text]) else self.rows(opening, blanks=blanks)
        if len({len(row) for row in rows}) > 1:
            raise self.fault(opening, "rows of unlike lengths", "make them equally long")
        found = rows[0] if len(rows) == 1 else [row[0] for row in rows]
        if len(rows) > 1 and len(rows[0]) > 1:
            found = [self.node(ast.List(r, ast.Load()), r[0].col_offset) for r in rows]
        return self.node(ast.List(found, ast.Load()), opening.start)

    def cases(self) -> ast.expr:
        opening, inside = self.look(), self.in_bracket(self.at)
        found = self.reading.choices(replace(self.reading, lengths=self.lengths), inside)
        if found is None:
            raise self.fault(opening, "these cases are not read", "write 1 if x > 0 else 0")
        self.at += 1 + len(inside)
        self.closes(opening)
        return found

    def absolute(self) -> ast.expr:
        """What stands between bars: its absolute value; of an array perhaps norm or determinant."""
        opening = self.step()
        outside, self.bars = self.bars, self.bars + 1 if opening.text == "|" else 0
        inner = None if self.look().kind == "end" else self.factor(0)
        self.bars = outside
        if inner is None or not (self.takes("|)") or self.takes(opening.text)):
            cure = "write abs(...) instead of |...|"
            raise self.fault(opening, "these bars do not pair up", cure)
        shape, function = self.shape(inner), "absolute"
        if shape:
            self.note("bars around an array are read entry by entry; a length is norm(...)")
            other = "norm" if len(shape) == 1 else "det" if is_square(shape) else ""
            if other and self.words.function(other) and not self.doubt(usual=True, at=ALL_BARS):
                function = other
        return self.apply(function, [inner], opening.start)

    def norm(self) -> ast.expr:
        start, self.in_norm = self.look().start, True
        inner, self.in_norm = self.operand(self.group()), False
        exponent = self.sees("^") * (4 if self.sees("{", ahead=1) else 2)  # `‖A‖²_F`
        below = self.look(exponent)
        if below.text in ("_2", "_F"):
            del self.tokens[self.at + exponent]
        elif not exponent and below.kind == "word" and below.text.startswith("_"):
            raise self.fault(below, "another norm than the usual one", "write it as a sum")
        return self.apply("norm", [inner], start)

    def angles(self) -> ast.expr:
        """`⟨x, y⟩` is the product of two vectors, `⟨1, 2⟩` a list."""
        opening = self.step()
        parts = [*chain(*self.rows(opening))]
        if len(parts) == 2 and all(map(self.shape, parts)):
            self.note("angle brackets are read as the product of two vectors")
            return self.combine(parts[0], ast.MatMult(), parts[1], opening.start)
        return self.node(ast.List(parts, ast.Load()), opening.start)

    def radical(self) -> ast.expr:
        sign = self.step()
        if not self.factor_starts():
            raise self.fault(self.look(), "a root sign without what is under it", "write √(...)")
        opens = self.sees(*BRACKETS)
        call = self.apply(RADICALS[sign.text], [self.factor(POWER)], sign.start, end=sign.end)
        return call if opens else self.note_bare(call, root=True)

    def note_bare(self, call: ast.Call, *, root: bool) -> ast.Call:
        """Note how far an argument without brackets goes, unless it is `x`, `2x`, `-x`."""
        self.bare.add(call)
        inner = call.args[0]
        while isinstance(inner, ast.UnaryOp):
            inner = inner.operand
        here = call.col_offset <= inner.col_offset < (call.end_col_offset or 0)
        if here and isinstance(inner, ast.BinOp):
            multiple = isinstance(inner.left, ast.Constant) and isinstance(inner.op, ast.Mult)
            if root or not multiple or is_power(inner.right):
                self.note_reading(call, lambda: echo(call))
        return call

    def note_reading(self, node: ast.expr, shown: Callable[[], str]) -> None:
        typed = self.typed[node.col_offset : node.end_col_offset]
        if len(typed) <= SHORT and len(self.reading.notes) < MOST:
            self.note(f"{clip(typed)} is read as {shown()}")

    def fraction(self) -> ast.expr:
        if OPERATOR.match(spell(self.tokens[self.at : self.at + 8])):
            return self.derivative()
        start, above = self.step().start, self.argument()
        return self.combine(above, ast.Div(), self.argument(), start)

    def root(self) -> ast.expr:
        start = self.step().start
        index = self.operand(self.group()) if self.sees("[") else None
        inner = self.argument()
        degree = 2 if index is None else read_number(index)
        if index is None or degree in (2, 3):
            return self.apply("cbrt" if degree == 3 else "sqrt", [inner], start)
        exponent = self.combine(self.whole_number(1, start), ast.Div(), index, start)
        return self.combine(inner, ast.Pow(), exponent, start)

    def argument(self) -> ast.expr:
        """What stands behind a command of LaTeX: braces, or else one letter or digit."""
        token = self.look()
        if self.sees("{"):
            return self.operand(self.group())
        many = len(token.text) > 1 and token.kind in ("number", "word")
        fits = token.kind != "number" or token.text.isdigit()
        if not self.factor_starts() or not fits:
            raise self.fault_here("an argument in braces")  # `\frac1e5`: no one meaning
        if many and self.typed[token.start] != "\\":
            middle = token.start + 1
            after = token._replace(text=token.text[1:], start=middle, spaced=False)
            after = after._replace(kind="number" if after.text.isdigit() else after.kind)
            self.instead(token._replace(text=token.text[0], end=middle), after)
        self.deeper()
        found = self.operand(self.value())
        self.depth -= 1
        return found

    def derivative(self) -> ast.expr:
        """A derivative not yet taken, of the bracket or the product that follows."""
        token, found = self.look(), self.find(OPERATOR)
        variable = found and (found[2] or found[3])
        if not variable or not self.factor_starts():
            raise self.fault(token, *NEVER["∂"])
        opens = self.sees("(", "[", "{")
        inner = self.operand(self.group()) if opens else self.factor(PRODUCT)
        if not opens and "*" in self.typed[inner.col_offset : inner.end_col_offset]:
            raise self.fault(token, "where does this derivative end?", "use brackets")
        return self.leave_untaken(inner, variable, token.start, token.start)

    def leave_untaken(self, inner: ast.expr, by: str, start: int, at: int) -> ast.expr:
        self.reading.untaken = at
        return self.apply(UNTAKEN, [inner, self.name(by, at)], start)


def as_list(node: ast.expr) -> ast.expr:
    if not isinstance(node, ast.Tuple):
        return node
    return ast.copy_location(ast.List([as_list(e) for e in node.elts], ast.Load()), node)


def is_power(node: ast.expr) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow)


SHORT, MOST = 200, 24  # characters that a note repeats; notes that anybody reads
BRACKETS = ("(", "[", "{", "|", "|(", "⟨", "‖")
OPERANDS: dict[str, Callable[[Operands], ast.expr]] = {
    "number": Operands.number,
    "word": lambda parser: parser.word(),
    **dict.fromkeys("({", Operands.group),
    **dict.fromkeys("[⟦", Operands.list_),
    **dict.fromkeys(["|", "|("], Operands.absolute),
    **dict.fromkeys(RADICALS, Operands.radical),
    "⦃": Operands.cases,
    "‖": Operands.norm,
    "⟨": Operands.angles,
    r"\frac": Operands.fraction,
    r"\sqrt": Operands.root,
    "∑": lambda parser: parser.sum(),
    "∂": Operands.derivative,
}
"""What each sign begins."""
