r"""Operands: a place among the tokens of a formula, and what stands between two of its signs.

Numbers, brackets, lists, bars, roots, sums.
"""

import ast
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from gradcheck.answers import tokens
from gradcheck.answers.characters import DERIVATIVE, clip, fault_at
from gradcheck.answers.echo import POWER, PRODUCT, UNARY, constant, echo, number
from gradcheck.answers.shapes import Shape, Shapes, is_square
from gradcheck.answers.tokens import UNEQUAL, Token, closing_at, is_of_blanks, spell
from gradcheck.answers.words import Meaning, Words, segment
from gradcheck.errors import TextError

DEPTH = 64
FACTORS = frozenset(["number", "word"])
OPENERS = frozenset(["(", "{", "[", "⟦", "⦃", "⟨", "frac", "root", "√", "∛", "|(", "∑"])
RADICALS = {"√": "sqrt", "∛": "cbrt"}
CLOSING = {**tokens.CLOSING, "|(": "|)", "‖": "‖"}
SHOWN = {
    **{"|(": "|", "|)": "|", "root": "\\sqrt", "frac": "\\frac"},
    **{"⟦": "\\begin", "⟧": "\\end", "⦃": "\\begin"},
}
COMMA = "write lists in square brackets, decimals with a point"
NEVER = {
    "=": ("an equals sign", "give only what stands on its right"),
    "'": ("primes are not read", DERIVATIVE),
    **dict.fromkeys("∂∇", ("derivative signs are not read", DERIVATIVE)),
    "∞": ("infinity is not read", "a derivative is a formula; infinity is not read"),
    "!": ("factorials are not read", "write gamma(n + 1), or the number"),
    "%": ("percent signs are not read", "write 0.5 for fifty percent"),
    "°": ("degrees are not read", "angles are in radians: write pi/180 times the degrees"),
    "$": ("a dollar sign without its partner", "leave it out"),
    ",": ("a comma that separates nothing", COMMA),
}
CURES = {
    **dict.fromkeys([")", "]", "}"], "remove it, or open a bracket before it"),
    "*": "remove it, or write the missing factor",
    **dict.fromkeys(["&", ";"], "give one formula; rows are written [[a, b], [c, d]]"),
}
LONE_BAR = "these bars do not pair up", "write abs(...) instead of |...|"
INDEXED = re.compile(r"(?:_([a-z]) |_ \{ ([a-z]) [^{}]*\} )?(?:\^ (?:\{ [^{}]*\} |\S+ ))?")
"""What stands below and above a sum sign."""

Node = TypeVar("Node", bound=ast.expr | ast.keyword)


@dataclass
class Reading:
    """What all parsers of one text share: how it is read, what was noted, what is in doubt."""

    typed: str
    words: Words
    single: bool = False
    by: str = ""  # what a prime differentiates by
    turned: frozenset[int] = frozenset()
    own: dict[str, ast.expr] = field(default_factory=dict)  # what the answer itself defines
    notes: list[str] = field(default_factory=list)
    doubts: list[int] = field(default_factory=list)
    untaken: int | None = None  # where a derivative that is not yet taken stands
    choices: Callable[[Sequence[Token]], ast.expr | None] = lambda _: None  # the rows of cases


class Operands:
    def __init__(self, reading: Reading, tokens: Sequence[Token], *, single: bool = False) -> None:
        end = tokens[-1].end if tokens else len(reading.typed)
        self.reading, self.typed, self.words = reading, reading.typed, reading.words
        self.tokens = [*tokens, Token("end", "", end, end, True)]
        self.single = single or reading.single
        self.at = self.depth = self.bars = 0
        self.in_norm = False
        self.slices = False  # whether a colon parts an index
        self.equates = False  # whether an equals sign compares
        self.arrays, self.shapes = self.words.arrays, self.words.shapes
        self.beside: Shape | None = None  # of what stands before a sign of addition
        self.sizes = Shapes(self.shapes)
        self.matrices: bool | None = None  # whether a transpose or an inverse is there

    def look(self, ahead: int = 0) -> Token:
        at = self.at + ahead
        return self.tokens[at] if at < len(self.tokens) else self.tokens[-1]

    def sees(self, *signs: str, ahead: int = 0) -> bool:
        token = self.look(ahead)
        return token.kind == "op" and token.text in signs

    def takes(self, sign: str) -> bool:
        token = self.tokens[self.at]
        seen = token.text == sign and token.kind == "op"
        self.at += seen
        return seen

    def step(self) -> Token:
        """The token here; move past it, but never past the end."""
        token = self.tokens[self.at]
        self.at += token.kind != "end"
        return token

    def find(self, pattern: re.Pattern[str], tokens: int = 20) -> re.Match[str] | None:
        found = pattern.match(spell(self.tokens[self.at : self.at + tokens]))
        self.at += found[0].count(" ") if found else 0
        return found

    def instead(self, *tokens: Token) -> None:
        self.tokens[self.at : self.at + 1] = tokens

    def meaning(self, token: Token) -> Meaning | None:
        return self.words.meant(token.text) if token.kind == "word" else None

    def function_comes(self, ahead: int = 0) -> bool:
        token = self.look(ahead)
        if token.kind != "word":
            return token.text in RADICALS
        meaning = self.words.meant(token.text)
        if meaning is None and token.text not in self.reading.own:
            ways = segment(self.words, token.text, opens=self.sees("(", ahead=ahead + 1))
            meaning = self.words.meaning(ways[0][0]) if len(ways) == 1 else None
        return meaning is not None and meaning.kind == "function"

    def factor_starts(self) -> bool:
        """Whether a factor can start here without a sign of its own."""
        token = self.tokens[self.at]
        if token.kind != "op":
            return token.kind in FACTORS
        if token.text == "‖":
            return not self.in_norm
        if token.text != "|" or not self.bars:
            return token.text in OPENERS or token.text == "|"
        goes_on = self.look(1).kind in FACTORS or self.sees("(", "{", ahead=1)
        return goes_on and not self.doubt(usual=True)  # a bar inside of bars

    def doubt(self, usual: bool) -> bool:
        """Decide what is in doubt: as usual, or turned."""
        at = self.tokens[self.at].start
        self.reading.doubts.append(at)
        return usual != (at in self.reading.turned)

    def node(self, node: Node, start: int) -> Node:
        """The node with its place: from `start` to the end of the token just read."""
        end = self.tokens[self.at - 1].end if self.at else start
        node.lineno = node.end_lineno = 1
        node.col_offset = start
        node.end_col_offset = end if end > start else start
        return node

    def name(self, name: str, start: int) -> ast.Name:
        return self.node(ast.Name(name, ast.Load()), start)

    def binary_node(
        self, left: ast.expr, op: ast.operator, right: ast.expr, start: int
    ) -> ast.BinOp:
        return self.node(ast.BinOp(left, op, right), start)

    def call_by_name(self, function: str, args: list[ast.expr], start: int) -> ast.Call:
        return self.node(ast.Call(self.name(function, start), args, []), start)

    def note(self, said: str, node: ast.expr | None = None) -> None:
        """Record a rule that was applied, or as what something is read."""
        said = said if node is None else f"{said} is read as {echo(node)}"
        self.reading.notes.append(said if "**" in self.typed else said.replace("**", "^"))

    def text(self, start: int) -> str:
        return clip(self.typed[start : self.tokens[self.at - 1].end])

    def fault(self, token: Token, message: str, cure: str = "") -> TextError:
        width = max(token.end - token.start, 1)
        return fault_at(self.typed, token.start, message, cure, width)

    def fault_here(self, due: str) -> TextError:
        token = self.tokens[self.at]
        if token.kind == "end":
            message = f"the formula stops where {due} is due"
            return self.fault(token, message, "write what should stand here")
        if token.text in NEVER and token.kind == "op":
            return self.fault(token, *NEVER[token.text])
        shown = self.typed[token.start : token.end] or SHOWN.get(token.text, token.text)
        cure = CURES.get(token.text, "leave it out, or write what is missing")
        return self.fault(token, f"{shown} stands where {due} is due", cure)

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > DEPTH:
            message = f"more than {DEPTH} levels of brackets, signs and powers"
            raise self.fault(self.tokens[self.at], message, "simplify it first")

    def closes(self, opening: Token) -> None:
        closing = CLOSING[opening.text]
        if self.takes(closing):
            return
        shown, due = SHOWN.get(opening.text, opening.text), SHOWN.get(closing, closing)
        if self.tokens[self.at].kind == "end":
            raise self.fault(opening, f"{shown} is never closed", f"add {due}")
        raise self.fault_here(f"{due} to close {shown}")

    def in_bracket(self, opening: int) -> list[Token]:
        return self.tokens[opening + 1 : closing_at(self.tokens, opening)]

    def operand(self, node: ast.expr) -> ast.expr:
        """The node, unless it is a tuple; a list of one, `[x + 1]`, is what it holds."""
        if isinstance(node, ast.Tuple):
            end = node.elts[0].end_col_offset or 0
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

    def expression(self, rank: int = 0) -> ast.expr:
        raise NotImplementedError

    def value(self) -> ast.expr:
        raise NotImplementedError

    def number(self) -> ast.expr:
        """A number; `2e3` is refused where e is a name."""
        token = self.step()
        text = token.text
        if text == "1" and self.indicator_comes():
            self.takes("_")
            return self.indicator()
        letter = "e" if "e" in text else "E"
        mantissa, _, exponent = text.partition(letter) if "." not in text else (text, "", "")
        if exponent and letter in self.words.names:
            tail = exponent if exponent[0] in "+-" else f"*{exponent}"
            cure = f"write {mantissa}*{letter}{tail} or {mantissa}*10^{exponent}"
            raise self.fault(token, f"is {text} a number or a multiple of {letter}?", cure)
        if exponent and self.words.meaning(letter):
            self.note(f"{text} is read as {mantissa}*10^{exponent}")
        return self.node(constant(text), token.start)

    def indicator_comes(self, ahead: int = 0) -> bool:
        """Whether `_{x > 0}` or `[x = 0]` comes: with a 1 before it, one where that holds."""
        below = self.sees("_", ahead=ahead)
        if not self.sees("[", "{" if below else "[", ahead=ahead + below):
            return False
        inside = self.in_bracket(self.at + ahead + below)
        return any(t.text in UNEQUAL or t.text in ("==", "=") for t in inside)

    def indicator(self) -> ast.expr:
        outside, self.equates = self.equates, True
        found = self.in_brackets()
        self.equates = outside
        return found

    def items(
        self,
        opening: Token,
        item: Callable[[], ast.expr | None],
        parting: Sequence[str] = (",", ";"),
    ) -> tuple[list[ast.expr], bool]:
        """What stands in brackets, the first of which was read, and whether a sign parts it."""
        parted = False
        outside, self.bars = self.bars, 0
        found: list[ast.expr] = []
        while not (parted and self.sees(CLOSING[opening.text])):
            entry = item()
            found += [] if entry is None else [entry]
            if not self.sees(*parting):
                break
            self.at, parted = self.at + 1, True
        self.bars = outside
        self.closes(opening)
        return found, parted

    def group(self) -> ast.expr:
        opening = self.step()
        if self.sees(CLOSING[opening.text]):
            raise self.fault(opening, "empty brackets", "write what belongs between them")
        parts, parted = self.items(opening, self.expression)
        return self.node(ast.Tuple(parts, ast.Load()), opening.start) if parted else parts[0]

    def in_brackets(self) -> ast.expr:
        opening = self.step()
        inner = self.factor(0)
        self.closes(opening)
        return inner

    def list_(self) -> ast.expr:
        """A list of values, perhaps of rows, which semicolons or line breaks part."""
        opening, closing = self.tokens[self.at], CLOSING[self.tokens[self.at].text]
        blanks = not self.single and is_of_blanks(self.in_bracket(self.at))
        outside = self.bars, self.slices
        self.bars, self.slices = 0, False
        self.at += 1
        rows: list[list[ast.expr]] = [[]]
        while not self.sees(closing) and self.tokens[self.at].kind != "end":
            rows[-1].append(self.expression(UNARY if blanks else 0))
            parts = self.takes(",") or (opening.text == "⟦" and self.takes("&"))
            ends = False
            while self.sees(";") or self.tokens[self.at].kind == "line":
                self.at, ends = self.at + 1, True
            if ends and not parts and not self.sees(closing):
                rows.append([])
            if not (parts or ends or blanks):
                break
        self.bars, self.slices = outside
        self.closes(opening)
        if len({len(row) for row in rows}) > 1:
            raise self.fault(opening, "rows of unlike lengths", "make them equally long")
        found = rows[0] if len(rows) == 1 else [row[0] for row in rows]
        if len(rows) > 1 and len(rows[0]) > 1:
            found = [self.node(ast.List(r, ast.Load()), r[0].col_offset) for r in rows]
        return self.node(ast.List(found, ast.Load()), opening.start)

    def cases(self) -> ast.expr:
        opening = self.step()
        inside = self.in_bracket(self.at - 1)
        found = self.reading.choices(inside)
        if found is None:
            raise self.fault(opening, "these cases are not read", "write 1 if x > 0 else 0")
        self.at += len(inside)
        self.closes(opening)
        return found

    def absolute(self) -> ast.expr:
        """What stands between bars: its absolute value; of an array perhaps norm or determinant."""
        opening = self.step()
        plain = opening.text == "|"
        outside = self.bars
        self.bars = self.bars + 1 if plain else 0
        inner = None if self.tokens[self.at].kind == "end" else self.factor(0)
        self.bars = outside
        if inner is None or not (self.takes("|)") or (plain and self.takes("|"))):
            raise self.fault(opening, *LONE_BAR)
        shape, function = self.shape(inner), "absolute"
        if shape:
            self.note("bars around an array are read entry by entry; a length is norm(...)")
            other = "norm" if len(shape) == 1 else "det" if is_square(shape) else ""
            if other and self.words.function(other) and not self.doubt(usual=True):
                function = other
        return self.call_by_name(function, [inner], opening.start)

    def norm(self) -> ast.expr:
        opening = self.step()
        self.in_norm = True
        (inner,), _ = self.items(opening, self.expression, ())
        self.in_norm = False
        below = self.tokens[self.at]
        if below.kind == "word" and below.text.startswith("_"):
            if below.text not in ("_2", "_F"):
                raise self.fault(below, "another norm than the usual one", "write it as a sum")
            self.at += 1
        return self.call_by_name("norm", [self.operand(inner)], opening.start)

    def angles(self) -> ast.expr:
        """`⟨x, y⟩` is the product of two vectors, `⟨1, 2⟩` a list."""
        opening = self.step()
        parts, _ = self.items(opening, self.expression, (",",))
        if len(parts) == 2 and all(self.shape(part) for part in parts):
            self.note("angle brackets are read as the product of two vectors")
            return self.binary_node(parts[0], ast.MatMult(), parts[1], opening.start)
        return self.node(ast.List(parts, ast.Load()), opening.start)

    def radical(self) -> ast.expr:
        sign = self.step()
        if not self.factor_starts():
            here = self.tokens[self.at]
            raise self.fault(here, "a root sign without what is under it", "write √(...)")
        inner = self.factor(POWER)
        call = self.call_by_name(RADICALS[sign.text], [inner], sign.start)
        call.func.end_col_offset = sign.end
        return call

    def root(self) -> ast.expr:
        token = self.step()
        index = self.in_brackets() if self.sees("[") else None
        inner = self.argument()
        name = {2: "sqrt", 3: "cbrt"}.get(2 if index is None else int(number(index) or 0))
        if name or index is None:
            return self.call_by_name(name or "sqrt", [inner], token.start)
        one = self.node(ast.Constant(1), token.start)
        exponent = self.binary_node(one, ast.Div(), index, token.start)
        return self.binary_node(inner, ast.Pow(), exponent, token.start)

    def argument(self) -> ast.expr:
        token = self.tokens[self.at]
        if self.sees("{"):
            return self.operand(self.group())
        many = len(token.text) > 1 and token.kind in FACTORS
        if not self.factor_starts() or (
            many and token.kind == "number" and not token.text.isdigit()
        ):
            raise self.fault_here("an argument in braces")  # `\frac1e5`: no one meaning
        if many and self.typed[token.start] != "\\":
            middle, (head, rest) = token.start + 1, (token.text[0], token.text[1:])
            after = token._replace(text=rest, start=middle, spaced=False)
            self.instead(token._replace(text=head, end=middle), after)
        self.deeper()
        found = self.operand(self.value())
        self.depth -= 1
        return found

    def sum(self) -> ast.expr:
        """`∑ x_i^2`, `∑_{i=1}^n x_i y_i`: a sum over the entries of what follows it."""
        sign = self.step()
        found = self.find(INDEXED)
        letter = (found and (found[1] or found[2])) or self.index_below()
        words = self.words
        self.words = words.inside_sum(letter) if letter else words
        try:
            inner = self.factor(PRODUCT)
        finally:
            self.words = words
        shape = self.shape(inner)
        if shape is not None and len(shape) != 1 and not (shape and not letter):
            cure = "write sum(...) with its axis, or einsum('ij,j->i', A, x)"
            raise self.fault(sign, "this sum over indices is not read", cure)
        said = self.text(sign.start)
        total = self.call_by_name("sum", [inner], sign.start)
        self.note(said, total)
        return total

    def index_below(self) -> str:
        """The letter below a vector behind a sum sign that has none: `∑ x_i`."""
        for token in self.tokens[self.at :]:
            stem, _, below = token.text.rpartition("_")
            if len(self.shapes.get(stem) or ()) == 1 and re.fullmatch("[a-z]", below):
                return "" if self.words.meaning(token.text) else below
        return ""
