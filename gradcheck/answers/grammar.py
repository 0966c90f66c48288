"""Precedence climbing over the tokens of a formula (Pratt 1973).

From loose to tight: comparisons; + and -; *, / and @ together with factors written side by side;
a sign; powers, which group to the right. So `-x^2` is -(x^2), `2^3^2` is 2^(3^2), and `1/2x` is
(1/2)*x, as calculators, Python and most graders have it; textbooks that mean 1/(2x) draw a fraction
bar. Each such rule is noted where it was applied.

A function without brackets takes the factors that follow it, powers included, up to an operator, a
bracket, the next function or e^. Where a reader cannot know what was meant (a bracket after such
a function, bars around a vector, a dot, two square matrices side by side) the usual reading is
taken and the place is kept among the `doubts`; read again with a doubt turned, it is the other one.
"""

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TypeVar

from gradcheck.answers.advice import unknown
from gradcheck.answers.characters import DERIVATIVE
from gradcheck.answers.complaint import clipped, refused
from gradcheck.answers.echo import COMPARE, POWER, PRODUCT, SUM, UNARY, bracketed, echo
from gradcheck.answers.numerals import constant, number
from gradcheck.answers.shapes import (
    Known,
    Shape,
    fits_entrywise,
    identity,
    is_row,
    product_shape,
    rows_named,
    shape_of,
)
from gradcheck.answers.tokens import Token
from gradcheck.answers.words import (
    ARITY,
    INVERSES,
    LITERALS,
    MODULES,
    SUBMODULES,
    WRAPPERS,
    Meaning,
    Words,
    segmented,
)
from gradcheck.errors import TextError

DEPTH = 64
SHORT = 200  # characters that a note repeats
NOTES = 8  # on towers: nobody reads more, and each repeats the one before
BINARY: dict[str, tuple[int, type[ast.operator]]] = {
    "+": (SUM, ast.Add),
    "-": (SUM, ast.Sub),
    "*": (PRODUCT, ast.Mult),
    "·": (PRODUCT, ast.Mult),
    "⊙": (PRODUCT, ast.Mult),
    "/": (PRODUCT, ast.Div),
    ":": (PRODUCT, ast.Div),
    "@": (PRODUCT, ast.MatMult),
}
COMPARED: dict[str, type[ast.cmpop]] = {
    "<": ast.Lt,
    "<=": ast.LtE,
    ">": ast.Gt,
    ">=": ast.GtE,
    "==": ast.Eq,
    "!=": ast.NotEq,
}
CLOSING = {"(": ")", "[": "]", "{": "}", "|(": "|)", "⟨": "⟩"}
FACTORS = frozenset(["number", "word"])
OPENERS = frozenset(["(", "{", "[", "⟨", "frac", "root", "√", "∛", "|(", "∑"])
RADICALS = {"√": "sqrt", "∛": "cbrt"}
LARGER = {"max": "maximum", "min": "minimum"}
KEYWORDS = {
    **{word: word for word in ("axis", "keepdims", "axes", "shape")},
    "dim": "axis",
    "keepdim": "keepdims",
}
SIZES = ("size", "ndim", "shape")
COUNTS = {1: "one argument", 2: "two arguments", 3: "three arguments"}
BASED = re.compile(r"log_(\d{1,4}|[A-Za-z])")
INDEX = re.compile(r"\d+|[-:,\[\]]|None")
NEVER = {
    "=": ("an equals sign", "give only what stands on its right"),
    "'": ("primes are not read", DERIVATIVE),
    "∂": ("derivative signs are not read", DERIVATIVE),
    "∇": ("derivative signs are not read", DERIVATIVE),
    "∞": ("infinity is not read", "a derivative is a formula; infinity is not read"),
    "!": ("factorials are not read", "write gamma(n + 1), or the number"),
    "%": ("percent signs are not read", "write 0.5 for fifty percent"),
    "°": ("degrees are not read", "angles are in radians: write pi/180 times the degrees"),
    "$": ("a dollar sign without its partner", "leave it out"),
}
BRACKET = "remove it, or open a bracket before it"
CURES = {
    **dict.fromkeys([")", "]", "}"], BRACKET),
    "*": "remove it, or write the missing factor",
    "/": "remove it, or write the numerator",
    "//": "write one fraction bar",
    "^": "write what is raised to the power",
    ",": "write the missing part, and decimals with a point",
    "&": "give one formula",
    ";": "give one formula; rows are written [[a, b], [c, d]]",
    ":": "a colon stands only in an index, as in x[0:2]",
    ".": "write decimals as 0.5",
}
SHOWN = {"|(": "|", "|)": "|", "root": "\\sqrt", "frac": "\\frac"}
UNTAKEN = "derivative"  # the name of a derivative in a step of working that is not yet taken
NO_SUM = frozenset([",", ":", "shape", "size", "argmax", "argmin", "argsort"])
THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+\.\d+|\d{1,3}(?:,\d{3}){2,}")

Node = TypeVar("Node", bound=ast.expr | ast.keyword)


class Parser:
    """A place among the tokens of a formula, what was noted so far, and what is in doubt."""

    def __init__(
        self,
        typed: str,
        tokens: Sequence[Token],
        words: Words,
        *,
        single: bool = False,
        turned: frozenset[int] = frozenset(),
        own: Mapping[str, ast.expr] | None = None,
        by: str = "",
    ) -> None:
        end = tokens[-1].end if tokens else len(typed)
        self.typed, self.words = typed, words
        self.tokens = [*tokens, Token("end", "", end, end, True)]
        self.single, self.turned = single, turned
        self.own = own or {}  # what the answer itself defines
        self.by = by  # what a prime differentiates by
        self.at, self.depth, self.bars = 0, 0, 0
        self.in_norm = False
        self.listed = False  # whether commas part what is read
        self.notes: list[str] = []
        self.doubts: list[int] = []
        self.bars_in_doubt: list[int] = []
        self.untaken_at: int | None = None
        self.by_cases: Callable[[Sequence[Token]], ast.expr | None] = lambda tokens: None
        self.arrays = words.arrays
        self.shapes = words.shapes
        self.known: Known = {}
        self.matrices: bool | None = None

    # -- the place ---------------------------------------------------------------------------------

    def look(self, ahead: int = 0) -> Token:
        """The token so many places on."""
        at = self.at + ahead
        return self.tokens[at] if at < len(self.tokens) else self.tokens[-1]

    def sees(self, *signs: str, ahead: int = 0) -> bool:
        token = self.look(ahead)
        return token.kind == "op" and token.text in signs

    def takes(self, sign: str) -> bool:
        """Whether a sign is here; if so, move past it."""
        token = self.tokens[self.at]
        seen = token.text == sign and token.kind == "op"
        self.at += seen
        return seen

    def step(self) -> Token:
        """The token here; move past it, but never past the end."""
        token = self.tokens[self.at]
        if token.kind != "end":
            self.at += 1
        return token

    def meaning(self, token: Token) -> Meaning | None:
        """What a word means, if the token is one; also in other letters."""
        return self.words.meant(token.text) if token.kind == "word" else None

    def function_comes(self, ahead: int = 0) -> bool:
        token = self.look(ahead)
        if token.kind != "word":
            return token.text in RADICALS
        meaning = self.words.meant(token.text)
        if meaning is None and token.text not in self.own:
            ways = segmented(self.words, token.text, opens=self.sees("(", ahead=ahead + 1))
            meaning = self.words.meaning(ways[0][0]) if len(ways) == 1 else None
        return meaning is not None and meaning.kind == "function"

    def factor_starts(self) -> bool:
        """Whether a factor can start here without a sign of its own."""
        token = self.tokens[self.at]
        if token.kind in FACTORS:
            return True
        if token.kind != "op":
            return token.kind == "begin" or False
        if token.text in OPENERS:
            return True
        if token.text == "‖":
            return not self.in_norm
        return token.text == "|" and (not self.bars or token.start in self.turned)

    def doubt(self, usual: bool) -> bool:
        """Decide what is in doubt: as usual, or turned."""
        at = self.tokens[self.at].start
        self.doubts.append(at)
        return usual != (at in self.turned)

    # -- nodes and complaints ----------------------------------------------------------------------

    def node(self, node: Node, start: int) -> Node:
        """The node with its place: from `start` to the end of the token just read."""
        end = self.tokens[self.at - 1].end if self.at else start
        node.lineno = node.end_lineno = 1
        node.col_offset = start
        node.end_col_offset = end if end > start else start
        return node

    def called(self, function: str, args: list[ast.expr], start: int) -> ast.Call:
        """A call of a function of this name."""
        name = self.node(ast.Name(function, ast.Load()), start)
        return self.node(ast.Call(name, args, []), start)

    def note(self, note: str) -> None:
        """Record a rule that was applied, once, with powers spelled as in the text."""
        note = note if "**" in self.typed else note.replace("**", "^")
        if note not in self.notes:
            self.notes.append(note)

    def is_short(self, start: int) -> bool:
        """Whether what was read from `start` on may be repeated in a note."""
        return self.tokens[self.at - 1].end - start <= SHORT

    def text(self, start: int) -> str:
        """What was typed from `start` to the end of the token just read, in short."""
        return clipped(self.typed[start : self.tokens[self.at - 1].end])

    def refused(self, token: Token, message: str, cure: str = "") -> TextError:
        width = max(token.end - token.start, 1)
        return refused(self.typed, token.start, message, cure, width)

    def unexpected(self, due: str) -> TextError:
        """The error for a token that cannot stand here."""
        token = self.tokens[self.at]
        if token.kind == "end":
            return self.refused(
                token, f"the formula stops where {due} is due", "write what should stand here"
            )
        if token.text in NEVER and token.kind == "op":
            return self.refused(token, *NEVER[token.text])
        if token.text == ",":
            return self.comma(token)
        shown = self.typed[token.start : token.end] or SHOWN.get(token.text, token.text)
        cure = CURES.get(token.text, "leave it out, or write what is missing")
        return self.refused(token, f"{shown} stands where {due} is due", cure)

    def comma(self, token: Token) -> TextError:
        """The error for a comma: a decimal comma, or a list without its brackets."""
        decimal = re.compile(r"(\d+),(\d+)").search(self.typed)
        if decimal and decimal.end(1) == token.start:
            parts = decimal[1], decimal[2]
            cure = f"decimals are written with a point: {'.'.join(parts)}"
            cure += f", thousands as {''.join(parts)}" if len(decimal[2]) == 3 else ""
            return self.refused(token, "a comma inside a number", cure)
        cure = "write lists in square brackets, decimals with a point"
        return self.refused(token, "a comma that separates nothing", cure)

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > DEPTH:
            message = f"more than {DEPTH} levels of brackets, signs and powers"
            raise self.refused(self.tokens[self.at], message, "simplify it first")

    def closes(self, opening: Token, closing: str) -> None:
        """Move past the bracket that closes `opening`, or refuse."""
        if self.takes(closing):
            return
        shown = SHOWN.get(opening.text, opening.text)
        if self.tokens[self.at].kind == "end":
            raise self.refused(
                opening, f"{shown} is never closed", f"add {SHOWN.get(closing, closing)}"
            )
        raise self.unexpected(f"{SHOWN.get(closing, closing)} to close {shown}")

    def operand(self, node: ast.expr) -> ast.expr:
        """The node, unless it is a tuple; a list of one, `[x + 1]`, is what it holds."""
        if isinstance(node, ast.Tuple):
            at = self.typed.find(",", node.elts[0].end_col_offset or 0)
            raise self.comma(Token("op", ",", at, at + 1))
        if isinstance(node, ast.List) and len(node.elts) == 1:
            self.note("square brackets are read as round ones")
            return self.operand(node.elts[0])
        return node

    # -- expressions -------------------------------------------------------------------------------

    def whole(self) -> ast.expr:
        """The formula that all tokens make."""
        if len(self.tokens) == 1:
            raise self.refused(self.tokens[0], "nothing was typed", "give a formula or a number")
        for token in self.tokens:
            if token.kind == "op" and token.text in ("!", "%", "°"):
                raise self.refused(token, *NEVER[token.text])
        self.double_bars()
        before = list(self.tokens)
        body = self.expression(0)
        if self.tokens[self.at].kind != "end" or self.tokens[self.at].text:
            raise self.unexpected("an operator or the end")
        if isinstance(body, ast.Tuple):
            self.operand(body)
        if self.bars_in_doubt and not self.turned:
            self.bars_are_plain(before)
        return body

    def bars_are_plain(self, tokens: list[Token]) -> None:
        """Refuse bars that can be paired in another way, too."""
        for at in self.bars_in_doubt:
            other = Parser(self.typed, tokens[:-1], self.words, turned=frozenset([at]))
            try:
                other.whole()
            except TextError:
                continue
            first = next(token for token in tokens if token.text == "|")
            message = "these bars can be read in more than one way"
            raise self.refused(first, message, "write abs(...) instead of |...|")

    def expression(self, rank: int) -> ast.expr:
        """One expression of operators that bind at least as tightly as `rank`."""
        self.deeper()
        start = self.tokens[self.at].start
        left = self.prefix()
        while True:
            token = self.tokens[self.at]
            sign = token.text if token.kind == "op" else ""
            if sign in BINARY and not (sign == ":" and self.listed):
                own, op = BINARY[sign]
                if own < rank:
                    break
                left = self.binary(left, start, own, op())
            elif sign == "^":
                if rank > POWER:
                    break
                left = self.power(left, start)
            elif sign in COMPARED and rank <= COMPARE:
                left = self.comparison(left, start)
            elif self.factor_starts():
                if rank > PRODUCT:
                    break
                left = self.side_by_side(left, start)
            else:
                break
        self.depth -= 1
        return left

    def prefix(self) -> ast.expr:
        """A sign with its operand, or a value with its indices, methods and transposes."""
        token = self.tokens[self.at]
        if token.kind == "op" and token.text in ("-", "+"):
            return self.signed()
        return self.suffixed(self.value(), token)

    def signed(self) -> ast.expr:
        """A sign binds more loosely than a power: noted where a power follows it."""
        sign = self.step()
        first = self.tokens[self.at].start
        operand = self.operand(self.expression(UNARY))
        power = isinstance(operand, ast.BinOp) and operand.col_offset == first
        if power and sign.text == "-":
            self.note(f"{self.text(sign.start)} is read as -({echo(operand)})")
        op = ast.USub() if sign.text == "-" else ast.UAdd()
        return self.node(ast.UnaryOp(op, operand), sign.start)

    def binary(self, left: ast.expr, start: int, rank: int, op: ast.operator) -> ast.expr:
        """A sum, difference, product or quotient."""
        sign = self.step()
        token = self.tokens[self.at]
        if sign.text == ":":
            self.note("a colon is read as a sign of division")
        number_comes = sign.text == "/" and token.kind == "number" and self.is_short(start)
        if number_comes and self.bare_exponent(("number",), -2):
            self.note(f"{self.text(start)}{token.text} is read as ({echo(left)})/{token.text}")
        if sign.text == "/" and self.sees("/"):
            raise self.unexpected("a number, a name or a bracket")
        right = self.operand(self.expression(rank + 1))
        if sign.text == "⊙":
            while self.factor_starts() or self.sees("@"):  # what stands together holds together
                right = self.more_of_it(right, token.start)
        left = self.operand(left)
        if sign.text == "·" and self.arrays:
            product = self.dotted(left, right, start)
            if product is not None:
                return product
        return self.node(ast.BinOp(left, op, right), start)

    def more_of_it(self, right: ast.expr, start: int) -> ast.expr:
        if self.takes("@"):
            inner = self.operand(self.expression(PRODUCT + 1))
            return self.node(ast.BinOp(right, ast.MatMult(), inner), start)
        return self.side_by_side(right, start)

    def comparison(self, left: ast.expr, start: int) -> ast.expr:
        """One comparison; a chain is refused."""
        sign = self.step()
        right = self.operand(self.expression(SUM))
        if self.tokens[self.at].text in COMPARED:
            here = self.tokens[self.at]
            raise self.refused(here, "a chain of comparisons", "compare once: where(x > 0, a, b)")
        left = self.operand(left)
        return self.node(ast.Compare(left, [COMPARED[sign.text]()], [right]), start)

    def side_by_side(self, left: ast.expr, start: int) -> ast.expr:
        """A product without a sign; after a quotient or a bare exponent its reading is noted."""
        token = self.tokens[self.at]
        if token.text == "1" and not self.sees("^", "_", ahead=1) and self.is_matrix(left):
            self.step()
            return self.summed(left, 1, start)
        if token.kind == "number" and not (self.is_coefficient() or self.indicator_comes()):
            cure = "write * between them, or ^ for a power"
            raise self.refused(token, "a number right after a factor", cure)
        constant = isinstance(left, ast.Constant) and self.look(-1).kind == "number"
        if token.text == "[" and constant and self.holds_index():
            cure = "write round brackets to group"
            raise self.refused(token, "square brackets make an index or a list", cure)
        divided = self.ends_with_quotient(left, start)
        raised = (
            token.kind == "word"
            and not token.spaced
            and self.bare_exponent(("number", "word"), -1)
            and not self.function_comes()
        )
        right = self.operand(self.expression(PRODUCT + 1))
        left = self.operand(left)
        product = self.of_matrices(left, right, start) if self.arrays else None
        if (
            product is None
            and _is_turned(left) + _is_turned(right)
            and self.may_be_arrays(left, right)
        ):
            entrywise = "factors side by side are multiplied entry by entry"
            self.note(f"{entrywise}; a matrix product is written @")
        if (divided or raised) and self.is_short(start):
            self.note(
                f"{self.text(start)} is read as "
                f"{bracketed(left, POWER + 1)}*{bracketed(right, UNARY)}"
            )
        return product or self.node(ast.BinOp(left, ast.Mult(), right), start)

    def indicator_comes(self) -> bool:
        self.at += 1
        found = self.look(-1).text == "1" and self.is_indicator()
        self.at -= 1
        return found

    def is_matrix(self, node: ast.expr) -> bool:
        shape = self.shape(node)
        torn = isinstance(node, ast.Name) and f"{node.id}1" in self.words.names
        return shape is not None and len(shape) == 2 and not torn

    def may_be_arrays(self, *factors: ast.expr) -> bool:
        return all(number(f) is None and self.shape(f) != () for f in factors)

    def is_coefficient(self) -> bool:
        """Whether a number begins a factor of its own: ln(2)2^x, cos(x)2x; x 2^(x - 1) is noted."""
        token, before, after = self.tokens[self.at], self.look(-1), self.look(1)
        if token.spaced and before.kind == "word" and self.sees("^", ahead=1):
            self.note(f"{before.text} {token.text}^ is read as {before.text}*{token.text}^")
            return True
        if self.meaning(before) and before.text in self.words.constants and not token.spaced:
            return False
        follows = after.kind == "word" or self.sees("^", "(", "√", "∛", "frac", "root", ahead=1)
        return before.text in (")", "}", "|)", "|", "]") and follows

    def ends_with_quotient(self, left: ast.expr, start: int) -> bool:
        """Whether `left` is a quotient typed with a slash and not in brackets."""
        if not (isinstance(left, ast.BinOp) and isinstance(left.op, ast.Div)):
            return False
        if left.col_offset != start or left.end_col_offset != self.look(-1).end:
            return False
        return self.typed[start : start + 1] not in ("\\", "(", "½") or any(
            sign in self.typed[left.left.end_col_offset or 0 : left.right.col_offset]
            for sign in "/:÷"
        )

    def bare_exponent(self, kinds: tuple[str, ...], last: int) -> bool:
        """Whether the token at `last` is an exponent without brackets: x^2, x^-2."""
        signed = self.sees("-", "+", ahead=last - 1)
        return self.look(last).kind in kinds and self.sees("^", ahead=last - 1 - signed)

    # -- powers, transposes, inverses --------------------------------------------------------------

    def power(self, base: ast.expr, start: int) -> ast.expr:
        """A power; a raised T is the transpose, -1 the inverse of a square matrix."""
        sign = self.step()
        typed = self.typed[sign.start : sign.end]
        shape = self.shape(base)
        if self.sees("{") and self.sees("⊙", ahead=1):  # H^{\odot 2}
            del self.tokens[self.at + 1]
            shape = None
        inverted, width = self.transpose_comes(base, shape)
        if width:
            if number(base) == 1 and not inverted:
                self.at += width
                return self.times_ones(start)
            if number(base) is not None:
                raise self.refused(sign, "the transpose of a number", "leave it out")
            self.at += width
            base = self.operand(base)
            if inverted:
                base = self.called("inv", [base], start)
            self.note(
                f"{self.text(start)} is read as the transpose {bracketed(base)}.T"
                if not inverted
                else f"{self.text(start)} is read as {echo(base)}.T"
            )
            return self.suffixed(self.turned_round(base, start), sign)
        first = self.tokens[self.at].start
        exponent = self.operand(self.expression(UNARY))
        base = self.operand(base)
        if number(exponent) == -1 and typed != "**" and _is_square(shape):
            self.note(f"{self.text(start)} is read as the inverse inv({echo(base)})")
            self.matrices = True
            return self.called("inv", [base], start)
        power = self.node(ast.BinOp(base, ast.Pow(), exponent), start)
        tower = isinstance(exponent, ast.BinOp) and isinstance(exponent.op, ast.Pow)
        if tower and exponent.col_offset == first and len(self.notes) < NOTES:
            self.note(f"{self.text(start)} is read as {bracketed(base)}**({echo(exponent)})")
        return power

    def times_ones(self, start: int) -> ast.expr:
        """`1^T X`, a row of ones before a matrix: the sum of its rows."""
        for sign in ("@", "*", "·"):
            self.takes(sign)
        if not self.factor_starts():
            raise self.unexpected("what the row of ones multiplies")
        return self.summed(self.operand(self.expression(PRODUCT + 1)), 0, start)

    def summed(self, matrix: ast.expr, axis: int, start: int) -> ast.expr:
        """A product with a vector of ones."""
        self.note(f"a product with 1 is read as the sum over axis {axis}")
        call = self.called("sum", [matrix], start)
        place = self.node(ast.Constant(axis), start)
        call.keywords.append(self.node(ast.keyword("axis", place), start))
        return call

    def turned_round(self, base: ast.expr, start: int) -> ast.expr:
        """The transpose; a list of numbers is one either way."""
        if isinstance(base, ast.List) and not any(isinstance(e, ast.List) for e in base.elts):
            return base
        return self.node(ast.Attribute(base, "T", ast.Load()), start)

    def transpose_comes(self, base: ast.expr, shape: Shape | None) -> tuple[bool, int]:
        """Whether a raised `-T` is here, and how many tokens a raised T takes; 0: there is none."""
        braced = self.sees("{", "(")
        minus = self.sees("-", ahead=braced)
        token = self.look(braced + minus)
        letter = token.text == "T" and (shape or self.meaning(token) is None)
        together = False
        if not (token.kind == "transpose" or letter) and token.kind == "word" and not braced:
            known = self.meaning(token) is None and token.text[0] == "T"
            together = known and bool(segmented(self.words, token.text[1:], opens=False))
            together = together or (known and self.meaning_of(token.text[1:]) is not None)
            if together:  # X^TR
                middle = token.start + 1
                self.tokens[self.at : self.at + 1] = [
                    Token("transpose", "T", token.start, middle),
                    Token("word", token.text[1:], middle, token.end),
                ]
        if not (token.kind == "transpose" or letter or together):
            return False, 0
        if braced and not self.sees("}", ")", ahead=2 + minus):
            return False, 0
        if minus and not braced:
            return False, 0
        return minus, 1 + minus + 2 * braced

    def meaning_of(self, word: str) -> Meaning | None:
        return self.words.meant(word) if word else None

    # -- products of arrays ------------------------------------------------------------------------

    def shape(self, node: ast.expr) -> Shape | None:
        """The shape of a piece, where it is known."""
        if not self.arrays:
            return None
        return shape_of(node, self.shapes, self.known)

    def of_matrices(self, left: ast.expr, right: ast.expr, start: int) -> ast.expr | None:
        """Factors side by side as a product of matrices; None where they go entry by entry."""
        b = self.shape(right)
        a = self.shape(left) if b else None
        if not a or not b:
            return None
        if len(a) == len(b) == 1:
            turned = isinstance(right, ast.Attribute) and right.attr == "T"
            if turned and not is_row(left, self.shapes, self.known):
                assert isinstance(right, ast.Attribute)
                self.note("a column beside a row is read as their outer product")
                return self.called("outer", [left, right.value], start)
            if a == b and is_row(left, self.shapes, self.known):
                return self.multiplied(left, right, start)
            return None
        if product_shape(a, b) is None:
            return None
        if fits_entrywise(a, b) and len(a) == len(b) and not self.doubt(self.of_linear_algebra()):
            return None
        return self.multiplied(left, right, start)

    def multiplied(self, left: ast.expr, right: ast.expr, start: int) -> ast.expr:
        self.note("arrays side by side are read as a matrix product")
        return self.node(ast.BinOp(left, ast.MatMult(), right), start)

    def dotted(self, left: ast.expr, right: ast.expr, start: int) -> ast.expr | None:
        """A dot between arrays: the product of two vectors, a matrix product."""
        a, b = self.shape(left), self.shape(right)
        if a and b and len(a) == len(b) == 1 and not (a != b or _is_turned(right)):
            if not self.doubt(usual=True):
                return None
            self.note("a dot between two vectors is read as their product")
            return self.node(ast.BinOp(left, ast.MatMult(), right), start)
        return self.of_matrices(left, right, start)

    def of_linear_algebra(self) -> bool:
        """Whether a transpose, a trace or an inverse is there, as in formulas of matrices only."""
        if self.matrices is None:
            texts = [token.text for token in self.tokens]
            named = {m.name for m in map(self.meaning, self.tokens) if m is not None}
            turned = any(b == "T" and a in (".", "^", "{", "-") for a, b in pairwise(texts))
            primed = any(a == "'" for a in texts) or any(t.kind == "transpose" for t in self.tokens)
            inverse = any(
                texts[k : k + 2] == ["-", "1"] and texts[k - 1] in ("{", "(", "^")
                for k in range(len(texts))
            )
            self.matrices = bool(named & OF_MATRICES) or turned or primed or inverse
        return self.matrices

    # -- values ------------------------------------------------------------------------------------

    def value(self) -> ast.expr:
        """A number, a name, a call, or what stands in brackets or bars."""
        token = self.tokens[self.at]
        if token.kind == "number":
            return self.number()
        if token.kind == "word":
            return self.word()
        if token.kind == "begin":
            return self.environment()
        if token.kind == "op":
            reader = READERS.get(token.text)
            if reader is not None:
                return reader(self)
        raise self.unexpected("a number, a name or a bracket")

    def number(self) -> ast.expr:
        """A number with its decimal comma, unless `2e3` could mean the declared name e."""
        token = self.step()
        text = token.text
        if text == "1" and self.is_indicator():
            return self.indicator()
        if self.tokens[self.at].text == "," and not self.listed:
            text = self.with_comma(token)
        if not text.isdigit() and ("e" in text or "E" in text):
            self.not_a_multiple(token)
        return self.node(constant(text), token.start)

    def is_indicator(self) -> bool:
        """Whether `_{x > 0}` or `[x > 0]` comes."""
        at = self.at + self.sees("_")
        if self.tokens[at].text not in ("[", "{") or (at == self.at and self.sees("{")):
            return False
        inside = [t.text for t in self.tokens[at : at + 12]]
        stop = min([k for k, t in enumerate(inside) if t in ("]", "}")], default=12)
        return any(t in COMPARED and t != "=" for t in inside[:stop])

    def indicator(self) -> ast.expr:
        """`1_{x > 0}`, `1[x > 0]`: one where it holds, else zero."""
        self.takes("_")
        opening = self.step()
        inner = self.operand(self.expression(0))
        self.closes(opening, CLOSING[opening.text])
        return inner

    def with_comma(self, token: Token) -> str:
        """The digits of a number with a decimal comma, or with commas between thousands."""
        at, text = self.at, token.text
        while self.tokens[at].text == "," and self.tokens[at].start == self.tokens[at - 1].end:
            after = self.tokens[at + 1]
            if after.kind != "number" or after.start != self.tokens[at].end:
                break
            text += f",{after.text}"
            at += 2
        parts = text.split(",")
        if len(parts) == 1:
            return text
        comma = self.tokens[self.at]
        if THOUSANDS.fullmatch(text):
            self.at = at
            return text.replace(",", "")
        if len(parts) > 2 or not (parts[0] + parts[1]).replace("e", "").replace("-", "").isdigit():
            if "." in parts[0] and parts[1].isdigit():
                whole = parts[0].replace(".", "")
                cure = f"decimals are written with a point: write {whole}.{parts[1]}"
                raise self.refused(token, "a comma inside a number", cure)
            return token.text
        bare = at == len(self.tokens) - 1 and all(
            t.text in "+-" for t in self.tokens[: self.at - 1]
        )
        if bare and not self.single:
            raise self.comma(comma)
        whole, decimals = parts
        if len(decimals) == 3 and len(whole) <= 3 and whole[0] != "0":
            raise self.comma(comma)
        self.at = at
        self.note(f"{text} is read as {whole}.{decimals}")
        return f"{whole}.{decimals}"

    def not_a_multiple(self, token: Token) -> None:
        """Refuse `2e3` where an input is called e."""
        letter = "e" if "e" in token.text else "E"
        whole = "." not in token.text
        mantissa, _, exponent = token.text.partition(letter)
        if letter in self.words.names and whole:
            tail = exponent if exponent[0] in "+-" else f"*{exponent}"
            cure = f"write {mantissa}*{letter}{tail} or {mantissa}*10^{exponent}"
            raise self.refused(token, f"is {token.text} a number or a multiple of {letter}?", cure)
        if self.words.meaning(letter) and whole:
            self.note(f"{token.text} is read as {mantissa}*10^{exponent}")

    def inside(self, listed: bool) -> tuple[bool, int]:
        """Begin to read inside brackets; what to give back to `outside`."""
        before = self.listed, self.bars
        self.listed, self.bars = listed, 0
        return before

    def group(self) -> ast.expr:
        """What stands in round brackets or braces; a comma makes it a tuple."""
        opening = self.step()
        closing = CLOSING[opening.text]
        if self.sees(closing):
            raise self.refused(opening, "empty brackets", "write what belongs between them")
        keyword = self.sees("=", ahead=-2)  # axis=(0, 1)
        before = self.inside(listed=keyword)
        parts = [self.expression(0)]
        comma = False
        while opening.text == "(" and self.takes(","):
            comma = self.listed = True
            if self.sees(")"):
                break
            parts.append(self.expression(0))
        self.listed, self.bars = before
        self.closes(opening, closing)
        return self.node(ast.Tuple(parts, ast.Load()), opening.start) if comma else parts[0]

    def square(self) -> ast.expr:
        """A list of values, perhaps of lists; rows are parted by semicolons or line breaks."""
        opening = self.step()
        before = self.inside(listed=True)
        stop = self.closing_bracket()
        inside = self.tokens[self.at : stop]
        blanks = not self.single and _is_of_blanks(inside)
        decimal = self.are_decimals(inside)
        self.listed = not decimal
        rows: list[list[ast.expr]] = [[]]
        while not self.sees("]"):
            if self.tokens[self.at].kind == "end":
                raise self.refused(opening, "[ is never closed", "add ]")
            rows[-1].append(self.spaced_number() if blanks else self.expression(0))
            comma = self.takes(",")
            if self.takes(";") or (self.tokens[self.at].kind == "line" and self.step()):
                while self.takes(";") or (self.tokens[self.at].kind == "line" and self.step()):
                    pass
                if not (comma and len(rows[-1]) == 1) and not self.sees("]"):
                    rows.append([])
            elif not comma and not blanks:
                break
        self.listed, self.bars = before
        self.closes(opening, "]")
        return self.node(self.of_rows(opening, rows, bare=blanks), opening.start)

    def of_rows(self, opening: Token, rows: list[list[ast.expr]], bare: bool) -> ast.expr:
        """A list, or a list of rows."""
        if len(rows) == 1:
            return ast.List(rows[0], ast.Load())
        if len({len(row) for row in rows}) > 1:
            raise self.refused(opening, "rows of unlike lengths", "make them equally long")
        if len(rows[0]) == 1:
            return ast.List([row[0] for row in rows], ast.Load())
        return ast.List(
            [self.node(ast.List(row, ast.Load()), row[0].col_offset) for row in rows], ast.Load()
        )

    def are_decimals(self, inside: Sequence[Token]) -> bool:
        """Whether the commas of `[0,5; 1,5]` are decimal commas."""
        texts = [token.text for token in inside]
        if ";" not in texts or "[" in texts or "," not in texts:
            return False
        rows = re.split(r";", self.typed[inside[0].start : inside[-1].end])
        if not all(re.fullmatch(r"\s*[-+−]?\d+(?:,\d+)?\s*", row) for row in rows):
            return False
        if all("," in row for row in rows) and (len(rows), 2) in self.shapes.values():
            first = rows[0].replace(",", ", ").strip()
            message = "commas may part the numbers of a row, or be decimal commas"
            cure = f"write [[{first}], ...], or decimals with a point"
            raise self.refused(self.tokens[self.at - 1], message, cure)
        self.note("semicolons are read as separators, commas between digits as decimal commas")
        return True

    def closing_bracket(self) -> int:
        """The place of the bracket that closes the square one just read; the end if none does."""
        level = 1
        for at in range(self.at, len(self.tokens)):
            text = self.tokens[at].text
            level += (text == "[") - (text == "]")
            if level == 0:
                return at
        return len(self.tokens) - 1

    def spaced_number(self) -> ast.expr:
        """A number with its sign, or a row of them, in a list that blanks part."""
        if self.sees("["):
            return self.square()
        start = self.tokens[self.at].start
        sign = self.step().text if self.sees("-", "+") else ""
        found = self.number()
        if not sign:
            return found
        return self.node(ast.UnaryOp(ast.USub() if sign == "-" else ast.UAdd(), found), start)

    def absolute(self) -> ast.expr:
        """What stands between bars: its absolute value; of a vector perhaps its norm."""
        opening = self.step()
        if self.tokens[self.at].kind == "end":
            cure = "write abs(...) instead of |...|"
            raise self.refused(opening, "these bars do not pair up", cure)
        if not self.words.function("absolute"):
            raise self.refused(opening, "absolute values are not accepted here", "write it without")
        closing = "|)" if opening.text == "|(" else "|"
        outer, listed = self.bars, self.listed
        self.bars, self.listed = (outer + 1 if closing == "|" else 0), False
        inner = self.operand(self.expression(0))
        self.bars, self.listed = outer, listed
        if closing == "|" and self.sees("|"):
            after = self.look(1)
            if after.kind in FACTORS or self.sees("(", "{", ahead=1):
                self.bars_in_doubt.append(self.tokens[self.at].start)
        if not (self.takes(closing) or (closing == "|" and self.takes("|)"))):
            if self.tokens[self.at].kind == "end" or self.sees("|"):
                cure = "write abs(...) instead of |...|"
                raise self.refused(opening, "these bars do not pair up", cure)
            raise self.unexpected("| to close |")
        shape = self.shape(inner)
        if shape and len(shape) == 1 and self.words.function("norm"):
            self.note("bars around an array are read entry by entry; a length is norm(...)")
            if not self.doubt(usual=True):
                return self.called("norm", [inner], opening.start)
        elif shape:
            self.note("bars around an array are read entry by entry; a length is norm(...)")
        return self.called("absolute", [inner], opening.start)

    def double_bars(self) -> None:
        """`||x||` as `‖x‖`, where all bars come in such pairs; of a single number it is refused."""
        bars = [at for at, token in enumerate(self.tokens) if token.text == "|"]
        pairs = list(zip(bars[::2], bars[1::2], strict=False))
        if not bars or len(bars) % 4:
            return
        if any(b != a + 1 or self.tokens[b].spaced for a, b in pairs):
            return
        first = self.tokens[bars[0]]
        if not self.arrays:
            cure = "write norm(x) for a norm, abs(x) for an absolute value"
            raise self.refused(first, "double bars are not read", cure)
        for a, b in reversed(pairs):
            end = self.tokens[b].end
            self.tokens[a : b + 1] = [self.tokens[a]._replace(text="‖", end=end)]

    def norm(self) -> ast.expr:
        """`‖x‖`, with `_2` or `_F` below."""
        opening = self.step()
        before = self.inside(listed=False)
        self.in_norm = True
        inner = self.operand(self.expression(0))
        self.listed, self.bars = before
        self.in_norm = False
        self.closes(opening, "‖")
        self.takes_norm_index()
        return self.called("norm", [inner], opening.start)

    def takes_norm_index(self) -> None:
        below = self.tokens[self.at]
        if below.kind == "word" and below.text.startswith("_"):
            if below.text not in ("_2", "_F"):
                raise self.refused(below, "another norm than the usual one", "write it as a sum")
            self.at += 1
        elif below.text == "_" and self.look(1).text in ("2", "F"):
            self.at += 2
        elif below.text == "_" and self.look(2).text in ("2", "F") and self.look(1).text == "{":
            self.at += 4

    def angles(self) -> ast.expr:
        """`⟨x, y⟩` is the product of two vectors, `⟨1, 2⟩` a list."""
        opening = self.step()
        before = self.inside(listed=True)
        parts = [self.expression(SUM)]
        while self.takes(","):
            parts.append(self.expression(SUM))
        self.listed, self.bars = before
        self.closes(opening, "⟩")
        if len(parts) == 2 and all(self.shape(part) for part in parts):
            self.note("angle brackets are read as the product of two vectors")
            return self.node(ast.BinOp(parts[0], ast.MatMult(), parts[1]), opening.start)
        return self.node(ast.List(parts, ast.Load()), opening.start)

    def radical(self) -> ast.expr:
        """A root sign covers the one factor after it, with its power: noted where more follows."""
        sign = self.step()
        factor = self.tokens[self.at]
        if not self.factor_starts():
            raise self.refused(factor, "a root sign without what is under it", "write √(...)")
        inner = self.operand(self.expression(POWER))
        call = self.called(RADICALS[sign.text], [inner], sign.start)
        after = self.tokens[self.at]
        if isinstance(inner, ast.BinOp) and inner.col_offset == factor.start:
            self.note(f"{self.text(sign.start)} is read as {echo(call)}")
        elif factor.kind in FACTORS and after.kind == "word":
            self.note(f"{self.text(sign.start)}{after.text} is read as {echo(call)}*{after.text}")
        return call

    def fraction(self) -> ast.expr:
        """A LaTeX fraction; of d and dx it is a derivative not yet taken."""
        token = self.step()
        if (variable := self.operator_comes(braced=True)) is not None:
            return self.untaken(token.start, variable)
        above = self.argument()
        below = self.argument()
        return self.node(ast.BinOp(above, ast.Div(), below), token.start)

    def root(self) -> ast.expr:
        """A LaTeX root, perhaps with its index: a square root, a cube root or a power."""
        token = self.step()
        index = None
        if self.sees("["):
            opening = self.step()
            index = self.operand(self.expression(0))
            self.closes(opening, "]")
        inner = self.argument()
        name = "sqrt" if index is None else {2: "sqrt", 3: "cbrt"}.get(int(number(index) or 0))
        if name or index is None:
            return self.called(name or "sqrt", [inner], token.start)
        one = self.node(ast.Constant(1), token.start)
        exponent = self.node(ast.BinOp(one, ast.Div(), index), token.start)
        return self.node(ast.BinOp(inner, ast.Pow(), exponent), token.start)

    def argument(self) -> ast.expr:
        """One argument of a LaTeX command: a group in braces, or one digit, letter or command."""
        token = self.tokens[self.at]
        if self.sees("{"):
            return self.operand(self.group())
        command = self.typed[token.start : token.start + 1] == "\\"
        if token.kind in FACTORS and len(token.text) > 1 and not command:
            middle = token.start + 1
            self.tokens[self.at : self.at + 1] = [
                token._replace(text=token.text[0], end=middle),
                token._replace(text=token.text[1:], start=middle, spaced=False),
            ]
        if not self.factor_starts():
            raise self.unexpected("an argument in braces")
        self.deeper()
        found = self.operand(self.value())
        self.depth -= 1
        return found

    def total(self) -> ast.expr:
        """`∑ x_i^2`, `∑_{i=1}^n x_i y_i`: a sum over the entries of what follows it."""
        sign = self.step()
        letter = self.sum_index()
        if letter:
            self.words = self.words.indexed(letter)
        try:
            inner = self.operand(self.expression(PRODUCT))
        finally:
            self.words = self.words.outer or self.words
        shape = self.shape(inner)
        if shape is not None and len(shape) != 1 and not (shape and not letter):
            cure = "write sum(...) with its axis, or einsum('ij,j->i', A, x)"
            raise self.refused(sign, "this sum over indices is not read", cure)
        self.note(f"{self.text(sign.start)} is read as sum({echo(inner)})")
        return self.called("sum", [inner], sign.start)

    def sum_index(self) -> str:
        """The letter below a sum sign; what stands above it is the length of what is summed."""
        letter = ""
        token = self.tokens[self.at]
        if token.kind == "word" and re.fullmatch(r"_[a-z]", token.text):
            letter = self.step().text[1:]
        elif token.text == "_":
            self.step()
            braced = self.takes("{")
            letter = self.step().text
            while braced and not self.takes("}"):
                if self.step().kind == "end":
                    raise self.unexpected("} to close {")
        if self.sees("^"):
            self.step()
            if self.sees("{"):
                self.group()
            else:
                self.step()
        return letter

    def environment(self) -> ast.expr:
        """The rows of a matrix in LaTeX: those of one row or of one column are one list."""
        opening = self.step()
        if opening.text == "cases":
            stop = next(
                (k for k in range(self.at, len(self.tokens)) if self.tokens[k].text == "cases"), 0
            )
            found = self.by_cases(self.tokens[self.at : stop]) if stop else None
            if found is None:
                cure = "write 1 if x > 0 else 0"
                raise self.refused(opening, "these cases are not read", cure)
            self.at = stop + 1
            return found
        before = self.inside(listed=True)
        rows: list[list[ast.expr]] = [[]]
        while self.tokens[self.at].kind != "end" or self.tokens[self.at].text == "rows":
            if self.tokens[self.at].text in ("rows", "cases"):
                break
            rows[-1].append(self.expression(0))
            if self.takes("&"):
                continue
            if self.tokens[self.at].kind == "line":
                self.step()
                if self.tokens[self.at].text != "rows":
                    rows.append([])
        self.listed, self.bars = before
        if self.tokens[self.at].kind != "end" or not self.tokens[self.at].text:
            raise self.refused(opening, "\\begin is never ended", "add \\end")
        self.at += 1
        return self.node(self.of_rows(opening, rows, bare=False), opening.start)

    # -- words -------------------------------------------------------------------------------------

    def word(self) -> ast.expr:
        """A declared name, a constant, or a function with its argument."""
        token = self.tokens[self.at]
        if token.text in self.own:
            self.at += 1
            return self.own[token.text]
        meaning = self.words.meant(token.text)
        if meaning is None:
            return self.undeclared(token)
        self.at += 1
        if meaning.name != token.text and token.text not in self.words.plain:
            self.respelled(token, meaning)
        if meaning.kind == "function":
            return self.application(token, meaning.name)
        if meaning.kind == "entry":
            return self.entry(token, meaning.name)
        if self.sees("(") and self.words.function(token.text):
            self.note(
                f"{token.text} is a name of this problem: {token.text}(...) is read as a product"
            )
        return self.node(ast.Name(meaning.name, ast.Load()), token.start)

    def respelled(self, token: Token, meaning: Meaning) -> None:
        """Note a word in other letters."""
        if meaning.kind in ("name", "constant") and token.text.lower() == meaning.name.lower():
            self.note(f"{token.text} is read as {meaning.name}")

    def entry(self, token: Token, name: str) -> ast.expr:
        """`x_1` is the first entry of a vector, `A_{12}` one of a matrix, counted from one."""
        stem, *places = name.split(",")
        if not places:
            return self.node(ast.Name(stem, ast.Load()), token.start)
        value = self.node(ast.Name(stem, ast.Load()), token.start)
        index: list[ast.expr] = [
            self.node(ast.Constant(int(place)), token.start) for place in places
        ]
        inner = index[0] if len(index) == 1 else self.node(ast.Tuple(index), token.start)
        found = self.node(ast.Subscript(value, inner, ast.Load()), token.start)
        self.note(f"{token.text} is read as {echo(found)}, counted from one")
        return found

    def undeclared(self, token: Token) -> ast.expr:
        """`np.sin`, `array([...])`, `log_3 x`, words run together, or a refusal."""
        primed = self.sees("'", ahead=1)
        if primed and not segmented(self.words, token.text, opens=False):
            raise self.refused(self.look(1), *NEVER["'"])
        if token.text in MODULES and self.sees(".", ahead=1) and self.look(2).kind == "word":
            self.at += 2
            if self.look().text in SUBMODULES and self.sees(".", ahead=1):
                self.at += 2
            meaning = self.meaning(self.look())
            if meaning and meaning.kind != "name":
                return self.word()
            raise unknown(self.words, self.typed, self.look(), called=self.sees("(", ahead=1))
        if token.text.lower() in CHOICES and self.sees("(", "[", ahead=1):
            return self.chosen()
        if token.text in WRAPPERS and self.sees("(", ahead=1) and self.sees("[", ahead=2):
            return self.wrapped()
        if token.text in ("arc", "ar", "arg") and self.words.function(
            token.text + self.look(1).text
        ):
            self.at += 1
            after = self.look()
            self.tokens[self.at] = after._replace(text=token.text + after.text, start=token.start)
            return self.word()
        if token.text == "grad_fn" or self.is_operator():
            return self.differentiated()
        logarithm = self.based(token)
        if logarithm is not None:
            return logarithm
        if token.text in ("n", "N", "I") and (sized := self.sized(token)) is not None:
            return sized
        if token.text == "I" and self.sees("(", ahead=1):
            self.step()
            return self.group()
        if token.text == "tr" and self.sees("(", "[", ahead=1):
            self.tokens[self.at] = token._replace(text="trace")
            return self.word()
        return self.segments(token)

    def segments(self, token: Token) -> ast.expr:
        """The first of the known words that are run together in an unknown one."""
        ways = segmented(self.words, token.text, opens=self.sees("(", ahead=1))
        if len(ways) > 1:
            first, second = (self.words.shown(way) for way in ways[:2])
            message = f"{token.text} can be read in more than one way"
            raise self.refused(token, message, f"write {first}, or {second}")
        if not ways:
            raise unknown(self.words, self.typed, token, called=self.sees("(", ahead=1))
        self.note(f"{token.text} is read as {self.words.shown(ways[0])}")
        pieces: list[Token] = []
        at = token.start + (token.end - token.start == len(token.text) + 1)
        for piece in ways[0]:
            kind = "number" if piece.isdigit() else "word"
            last = piece is ways[0][-1] and len(pieces) == len(ways[0]) - 1
            stop = token.end if last else min(at + len(piece), token.end)
            pieces.append(Token(kind, piece, at if pieces else token.start, stop,
                                token.spaced and not pieces))  # fmt: skip
            at = stop
        self.tokens[self.at : self.at + 1] = pieces
        return self.word()

    def wrapped(self) -> ast.expr:
        """`tensor([[1, 2]], dtype=...)`: the list alone."""
        self.at += 1
        opening = self.step()
        found = self.square()
        while self.takes(","):
            level = 0
            while not (level == 0 and self.sees(",", ")")):
                token = self.step()
                level += (token.text == "(") - (token.text == ")")
                if token.kind == "end":
                    raise self.unexpected(") to close (")
        self.closes(opening, ")")
        return found

    def chosen(self) -> ast.expr:
        """`If[x > 0, a, b]`, `piecewise(x > 0, a, x < 0, b)`, `Piecewise((a, x > 0), b)`."""
        token = self.step()
        opening = self.step()
        before = self.inside(listed=not self.parted_by_semicolons())
        parts = list(self.choice_parts(CLOSING[opening.text]))
        self.listed, self.bars = before
        self.closes(opening, CLOSING[opening.text])
        tests = [k for k, part in enumerate(parts) if isinstance(part, ast.Compare)]
        turned = tests[:1] == [1]  # the value stands before its condition
        pairs = [tuple(parts[k : k + 2][:: -1 if turned else 1]) for k in range(0, len(parts), 2)]
        nothing = self.node(ast.Constant(0), token.start)
        found: ast.expr = self.node(ast.BinOp(nothing, ast.Div(), nothing), token.start)
        if pairs and (len(pairs[-1]) == 1 or isinstance(pairs[-1][0], ast.Constant)):
            found = pairs.pop()[-1]
        if not pairs or not all(isinstance(pair[0], ast.Compare) for pair in pairs):
            raise self.refused(token, "these cases are not read", "write 1 if x > 0 else 0")
        for test, value in reversed(pairs):
            name = self.node(ast.Name("where", ast.Load()), token.start)
            found = self.node(ast.Call(name, [test, value, found], []), token.start)
        return found

    def parted_by_semicolons(self) -> bool:
        """Whether semicolons part the arguments here, so that commas are decimal ones."""
        level = 0
        for token in self.tokens[self.at :]:
            if token.kind == "op":
                level += (token.text in "([{") - (token.text in ")]}")
            if level < 0:
                return False
            if level == 0 and token.text == ";":
                return True
        return False

    def choice_parts(self, closing: str) -> Iterator[ast.expr]:
        """Values and conditions, in brackets of their own or not."""
        while not self.sees(closing) and self.tokens[self.at].kind != "end":
            if self.sees("{", "(") and self.holds_several():
                opening = self.step()
                yield from self.choice_parts(CLOSING[opening.text])
                self.closes(opening, CLOSING[opening.text])
            else:
                yield self.call_argument()
            if not self.takes(",") and not self.takes(";"):
                break

    def holds_several(self) -> bool:
        """Whether the bracket here holds several things, or brackets that do."""
        level = 0
        for token in self.tokens[self.at :]:
            if token.kind == "op":
                level += (token.text in "([{") - (token.text in ")]}")
            if token.text == "," and level >= 1:
                return True
            if level == 0:
                return False
        return False

    def sized(self, token: Token) -> ast.expr | None:
        """`n` as the length that most arrays begin with, `I` as the identity."""
        found = identity(self.shapes) if token.text == "I" else rows_named(self.shapes)
        if found is None:
            return None
        self.at += 1
        name = self.node(ast.Name(found, ast.Load()), token.start)
        shape = self.node(ast.Attribute(name, "shape", ast.Load()), token.start)
        zero = self.node(ast.Constant(0), token.start)
        rows: ast.expr = self.node(ast.Subscript(shape, zero, ast.Load()), token.start)
        if token.text == "I":
            rows = self.called("eye", [rows], token.start)
        self.note(f"{token.text} is read as {echo(rows)}")
        return rows

    # -- derivatives not yet taken -----------------------------------------------------------------

    def is_operator(self) -> bool:
        """Whether `d/dx` is here."""
        texts = [self.look(k).text for k in range(3)]
        return texts[0] in ("d", "∂") and texts[1] == "/" and texts[2][:1] in ("d", "∂")

    def operator_comes(self, braced: bool) -> str | None:
        """The variable of `{d}{dx}`, which is stepped over; None where it is something else."""
        texts = [self.look(k).text for k in range(7)]
        if texts[:1] != ["{"] or texts[1] not in ("d", "∂") or texts[2:4] != ["}", "{"]:
            return None
        if texts[4] == "∂" and texts[6] == "}":
            self.at += 7
            return texts[5]
        if texts[4][:1] == "d" and texts[5] == "}":
            self.at += 6
            return texts[4][1:]
        return None

    def differentiated(self) -> ast.expr:
        """`d/dx` before what it differentiates; a derivative already written is refused."""
        token = self.look()
        if not self.is_operator():
            raise self.refused(token, *NEVER["∂"])
        below = self.look(2)
        self.at += 3
        variable = below.text[1:] if below.text != "∂" else self.step().text
        return self.untaken(token.start, variable)

    def untaken(self, start: int, variable: str) -> ast.expr:
        """A derivative not yet taken, of the bracket or the product that follows."""
        if not variable or not self.factor_starts():
            raise refused(self.typed, start, "derivative signs are not read", DERIVATIVE)
        if self.sees("(", "[", "{"):
            opening = self.step()
            inner = self.operand(self.expression(0))
            self.closes(opening, CLOSING[opening.text])
        else:
            inner = self.operand(self.expression(PRODUCT))
            if "*" in self.typed[inner.col_offset : inner.end_col_offset]:
                raise refused(self.typed, start, "where does this derivative end?", "use brackets")
        name = self.node(ast.Name(variable, ast.Load()), start)
        self.untaken_at = start
        return self.called(UNTAKEN, [inner, name], start)

    # -- functions ---------------------------------------------------------------------------------

    def application(self, token: Token, function: str) -> ast.expr:
        """A function's name has just been read: its power and its arguments follow."""
        if token.text == "log" and function == "log":
            self.note("log is read as the natural logarithm, ln")
        elif token.text in ("lg", "sigma", "σ", "Gamma", "Γ"):
            self.note(f"{token.text} is read as {function}")
        if function in self.words.names:
            cure = f"{function} is a name of this problem"
            raise self.refused(token, f"{token.text} can be read in two ways", cure)
        product = self.words.as_product(token.text)
        if product:
            self.note(f"{token.text} is read as the function; a product is written {product}")
        if not self.sees("^"):
            return self.applied(token, function)
        if ARITY.get(function) != 1:
            cure = f"write {token.text}(x)^2"
            raise self.refused(token, f"{token.text} needs its arguments first", cure)
        self.step()
        exponent = self.operand(self.expression(UNARY))
        if number(exponent) == -1:
            inverse = INVERSES.get(function)
            if inverse is None or not self.words.function(inverse):
                message = f"{token.text}^-1 could be an inverse or a reciprocal"
                cure = f"write 1/{token.text}(x) for the reciprocal"
                raise self.refused(token, message, cure)
            self.note(
                f"{token.text}^-1 is read as the inverse function {inverse}, not as 1/{token.text}"
            )
            return self.applied(token, inverse)
        call = self.applied(token, function)
        return self.node(ast.BinOp(call, ast.Pow(), exponent), token.start)

    def applied(self, token: Token, function: str) -> ast.expr:
        """The function with its argument: in brackets, in braces or bare."""
        if self.sees("(") or (self.sees("[") and not self.is_list_argument(function)):
            spaced, start = self.tokens[self.at].spaced, self.tokens[self.at].start
            call = self.call(token, function, [])
            if spaced and self.sees("^"):
                argument = f"{self.text(start)} belongs to {echo(call)}, not to its argument"
                self.note(f"the power after {argument}")
            return call
        if self.sees("["):
            return self.applied_to(token, function, self.square())
        if ARITY.get(function) != 1:
            raise self.refused(token, f"{token.text} needs brackets", f"write {token.text}(...)")
        if self.sees("{"):
            return self.applied_to(token, function, self.operand(self.group()))
        return self.bare(token, function)

    def is_list_argument(self, function: str) -> bool:
        """Whether a square bracket after a function holds a list: `sum[...]` does not."""
        return False

    def applied_to(self, token: Token, function: str, inner: ast.expr) -> ast.expr:
        name = self.node(ast.Name(function, ast.Load()), token.start)
        name.end_col_offset = token.end
        return self.node(ast.Call(name, [inner], []), token.start)

    def bare(self, token: Token, function: str) -> ast.expr:
        """The function with an argument that stands without brackets."""
        start = self.tokens[self.at].start
        self.deeper()
        inner, plain = self.bare_argument(token)
        self.depth -= 1
        call = self.applied_to(token, function, inner)
        typed = f"{token.text} {self.text(start)}"
        if not plain or (function in ("sqrt", "cbrt") and isinstance(inner, ast.BinOp)):
            self.note(f"{typed} is read as {echo(call)}")
        follows = self.look(1)
        if self.sees("*", "/", "@", "·") and follows.kind in FACTORS and not self.function_comes(1):
            after = f"{self.tokens[self.at].text}{follows.text}"
            self.note(f"{typed}{after} is read as {echo(call)}{after}")
        return call

    def bare_argument(self, token: Token) -> tuple[ast.expr, bool]:
        """The argument, and whether nobody would read it differently (`x`, `2x`, `-x`, `|x|`)."""
        start, first = self.tokens[self.at].start, self.at
        if self.sees("-") and not self.look(1).spaced:
            self.step()
            self.deeper()
            inner, plain = self.bare_argument(token)
            self.depth -= 1
            return self.node(ast.UnaryOp(ast.USub(), inner), start), plain
        if not self.factor_starts():
            message = f"{token.text} stands without its argument"
            raise self.refused(token, message, f"write {token.text}(x)")
        bracketed_ = self.sees("(", "{", "|(", "|")
        stops = self.function_comes() or bracketed_
        inner = self.operand(self.expression(POWER))
        factors, numbers = 1, isinstance(inner, ast.Constant)
        while not stops and self.factor_starts() and not self.argument_ends():
            opens = self.sees("(", "{", "|(", "|", "√", "∛", "frac", "root", "[")
            open_ = opens and (not numbers or self.tokens[self.at].spaced)
            if open_ and not self.doubt(usual=numbers):
                break
            stops = opens
            here = self.meaning(self.tokens[self.at])
            numbers = numbers and here is not None and here.kind == "constant"
            if self.tokens[self.at].kind == "number":
                cure = "write * between them, or ^ for a power"
                raise self.refused(self.tokens[self.at], "a number right after a factor", cure)
            factor = self.operand(self.expression(POWER))
            product = self.of_matrices(inner, factor, start) if self.arrays else None
            inner = product or self.node(ast.BinOp(inner, ast.Mult(), factor), start)
            factors += 1
        power = not stops and any(t.text == "^" for t in self.tokens[first : self.at])
        short = factors == 1 or (
            factors == 2 and isinstance(inner, ast.BinOp) and isinstance(inner.left, ast.Constant)
        )
        return inner, short and not power

    def argument_ends(self) -> bool:
        """Whether the next factor is a function of its own, e^ among them."""
        if self.function_comes() and self.tokens[self.at].text not in RADICALS:
            return True
        meaning = self.meaning(self.tokens[self.at])
        return meaning == Meaning("constant", "e") and self.sees("^", ahead=1)

    def call(self, token: Token, function: str, first: list[ast.expr]) -> ast.expr:
        """A call whose opening bracket is here; `first` holds the value before a method."""
        opening = self.step()
        closing = CLOSING[opening.text]
        if opening.text == "[":
            self.note("square brackets are read as round ones")
        before = self.inside(listed=bool(first) or ARITY.get(function) != 1)
        args, keywords = list(first), list[ast.keyword]()
        while not self.sees(closing):
            keyword = self.keyword()
            if keyword:
                keywords.append(keyword)
            else:
                args.append(self.call_argument())
            if not self.takes(",") and not self.takes(";"):
                break
        self.listed, self.bars = before
        self.closes(opening, closing)
        return self.finished_call(token, function, args, keywords, method=bool(first))

    def call_argument(self) -> ast.expr:
        """An argument or an index: True, False, None, einsum's letters or an expression."""
        token = self.tokens[self.at]
        if token.kind == "string":
            self.step()
            return self.node(ast.Constant(token.text), token.start)
        if token.text in LITERALS and not self.meaning(token):
            self.step()
            return self.node(ast.Constant(LITERALS[token.text]), token.start)
        return self.expression(0)

    def keyword(self) -> ast.keyword | None:
        """`axis=0` and its like; nothing if no equals sign follows a word."""
        token = self.tokens[self.at]
        if token.kind != "word" or not self.sees("=", ahead=1):
            return None
        if token.text not in KEYWORDS:
            if self.meaning(token):
                return None
            message = f"{token.text}= is not known here"
            raise self.refused(token, message, "known are axis= and keepdims=")
        self.at += 2
        self.listed = True
        return self.node(ast.keyword(KEYWORDS[token.text], self.call_argument()), token.start)

    def finished_call(
        self,
        token: Token,
        function: str,
        args: list[ast.expr],
        keywords: list[ast.keyword],
        method: bool,
    ) -> ast.expr:
        """The call, once its arguments are read."""
        if len(args) == 2 and not keywords:
            if function in LARGER and not method:
                self.note(f"{token.text} of two arguments is read as {LARGER[function]}")
                function = LARGER[function]
            elif function in LARGER:
                axis = args.pop()
                keywords = [self.node(ast.keyword("axis", axis), axis.col_offset)]
            elif function == "log":
                return self.to_base(token, *args)
        self.counted(token, function, args, keywords)
        if function == "einsum":
            self.one_array_each(token, args)
        if function in ARITY:
            args = [self.operand(arg) for arg in args]
        start = min([token.start, *(arg.col_offset for arg in args)])
        name = self.node(ast.Name(function, ast.Load()), token.start)
        name.end_col_offset = token.end
        return self.node(ast.Call(name, args, keywords), start)

    def to_base(self, token: Token, value: ast.expr, base: ast.expr) -> ast.expr:
        """`log(x, 10)` as SymPy and Python's math have it: log(x)/log(10)."""
        self.note(f"{token.text} of two arguments is read as the logarithm to base {echo(base)}")
        above = self.called("log", [self.operand(value)], token.start)
        below = self.called("log", [self.operand(base)], token.start)
        return self.node(ast.BinOp(above, ast.Div(), below), token.start)

    def based(self, token: Token) -> ast.expr | None:
        """`log_3 x` is log(x)/log(3); nothing if the word is no such thing."""
        match = BASED.fullmatch(token.text)
        if not match or not self.words.function("log"):
            return None
        meaning = self.words.meaning(match[1])
        if not match[1].isdigit() and (meaning is None or meaning.kind == "function"):
            return None
        self.at += 1
        base: ast.expr = (
            ast.Name(meaning.name, ast.Load()) if meaning else ast.Constant(int(match[1]))
        )
        base = self.node(base, token.start)
        above = self.applied(token, "log")
        below = self.called("log", [base], token.start)
        self.note(f"{token.text} is read as the logarithm to base {match[1]}")
        return self.node(ast.BinOp(above, ast.Div(), below), token.start)

    def counted(
        self, token: Token, function: str, args: list[ast.expr], keywords: list[ast.keyword]
    ) -> None:
        """Refuse a call with too few or too many arguments."""
        due = ARITY.get(function)
        if (due is None and args) or (due == len(args) and not keywords):
            return
        if due == 1 and len(args) == 2 and isinstance(args[0], ast.Constant):
            at = self.typed.find(",", args[0].end_col_offset or 0)
            if at >= 0:
                raise self.comma(Token("op", ",", at, at + 1))
        cure = f"write {token.text}({', '.join('xyz'[: due or 1])})"
        if function == "log" and len(args) == 2:
            cure = "write log(x)/log(base)"
        count = COUNTS.get(due or 1, "arguments")
        extra = " and no keywords" if keywords else ""
        raise self.refused(token, f"{token.text} takes {count}{extra}, {len(args)} came", cure)

    def one_array_each(self, token: Token, args: list[ast.expr]) -> None:
        """Refuse an einsum whose indices are not those of its arrays."""
        words = args[0].value if args and isinstance(args[0], ast.Constant) else None
        if not isinstance(words, str):
            cure = "write einsum('ij,jk->ik', A, B)"
            raise self.refused(token, "einsum begins with its indices", cure)
        due = words.partition("->")[0].count(",") + 1
        if due != len(args) - 1:
            message = f"{due} sets of indices, {len(args) - 1} arrays"
            raise self.refused(token, message, "give einsum one set of indices for each array")

    # -- what may follow a value -------------------------------------------------------------------

    def suffixed(self, value: ast.expr, token: Token) -> ast.expr:
        """A value with the indices, methods and transposes after it."""
        start = min(value.col_offset, token.start)
        levels = self.depth
        while True:
            here = self.tokens[self.at]
            if here.kind == "transpose":
                self.at += 1
                value = self.node(ast.Attribute(self.operand(value), "T", ast.Load()), start)
            elif here.kind != "op" or here.text not in (".", "[", "'"):
                break
            elif here.text == "'":
                value = self.primed(value, start)
            elif here.text == "[":
                if not self.is_index(value):
                    break
                value = self.subscript(value, start)
            else:
                value = self.method(value, start)
            self.deeper()
        self.depth = levels
        return value

    def primed(self, value: ast.expr, start: int) -> ast.expr:
        """A prime after an array is its transpose, after a bracket of numbers a derivative."""
        prime = self.tokens[self.at]
        before = self.look(-1)
        shape = self.shape(value)
        if shape or (self.arrays and before.text in (")", "]") and shape != ()):
            self.at += 1
            name = f"{echo(value)}.T" if isinstance(value, ast.Name) else ".T"
            typed = f"{before.text}'" if before.kind == "word" else "a prime after a bracket"
            self.note(f"{typed} is read as the transpose {name}")
            return self.node(ast.Attribute(self.operand(value), "T", ast.Load()), start)
        if self.by and before.text in (")", "]", "}"):
            self.at += 1
            self.untaken_at = prime.start
            by = self.node(ast.Name(self.by, ast.Load()), prime.start)
            return self.called(UNTAKEN, [self.operand(value), by], start)
        raise self.refused(prime, *NEVER["'"])

    def is_index(self, value: ast.expr) -> bool:
        """Whether square brackets after a value index it, or else begin a factor."""
        before = self.look(-1)
        if isinstance(value, ast.Constant) and before.text != ")":
            return False
        plain = self.holds_index()
        if isinstance(value, ast.Name) and value.id in self.words.scalars and before.kind == "word":
            inside = self.tokens[self.at + 1 : self.index_stop()]
            if any(not (INDEX.fullmatch(t.text) or t.kind == "number") for t in inside):
                return False
            cure = f"write {value.id} alone, or * for a product"
            message = f"{value.id} is a single number and has no entries"
            raise self.refused(self.tokens[self.at], message, cure)
        return plain and (before.kind in ("word", "transpose") or before.text in (")", "]", "}"))

    def index_stop(self) -> int:
        level = 0
        for at in range(self.at, len(self.tokens)):
            text = self.tokens[at].text
            level += (text == "[") - (text == "]")
            if level == 0:
                return at
        return len(self.tokens) - 1

    def holds_index(self) -> bool:
        """Whether square brackets hold numbers, slices, None: no formula that they group."""
        inside = self.tokens[self.at + 1 : self.index_stop()]
        if all(INDEX.fullmatch(t.text) for t in inside):
            return True
        if any(t.text in NO_SUM for t in inside):
            return True
        return len(inside) == 1 and self.arrays and inside[0].text not in self.words.names

    def subscript(self, value: ast.expr, start: int) -> ast.expr:
        """`x[0]`, `W[:, 0]`, `x[1:3]`."""
        opening = self.step()
        before = self.inside(listed=True)
        first = self.tokens[self.at].start
        parts = [self.index()]
        while self.takes(",") and not self.sees("]"):
            parts.append(self.index())
        many = self.look(-1).text == "," or len(parts) > 1
        index = self.node(ast.Tuple(parts, ast.Load()), first) if many else parts[0]
        self.listed, self.bars = before
        self.closes(opening, "]")
        return self.node(ast.Subscript(self.operand(value), index, ast.Load()), start)

    def index(self) -> ast.expr:
        """One index or slice."""
        start = self.tokens[self.at].start
        bounds: list[ast.expr | None] = []
        while True:
            bounds.append(None if self.sees(":", ",", "]") else self.call_argument())
            if len(bounds) == 3 or not self.takes(":"):
                break
        lower, upper, step = (*bounds, None, None)[:3]
        if len(bounds) > 1:
            return self.node(ast.Slice(lower, upper, step), start)
        if lower is None:
            raise self.unexpected("an index")
        return lower

    def method(self, value: ast.expr, start: int) -> ast.expr:
        """`.T`, `.size`, `.sum(axis=0)`; between single numbers a point multiplies."""
        self.step()
        method = self.tokens[self.at]
        if method.text == "T" or method.kind == "transpose":
            self.step()
            return self.node(ast.Attribute(self.operand(value), "T", ast.Load()), start)
        if method.text == "'":
            return self.primed(value, start)
        if method.text in SIZES and not self.sees("(", ahead=1):
            self.step()
            return self.node(ast.Attribute(self.operand(value), method.text, ast.Load()), start)
        function = self.words.function(method.text) if method.kind == "word" else None
        called = self.arrays or ARITY.get(function or "") != 1 or self.sees(")", ahead=2)
        if function is not None and called and self.sees("(", ahead=1):
            self.step()
            return self.call(method, function, [value])
        known = (
            method.kind != "word"
            or self.meaning(method)
            or segmented(self.words, method.text, opens=False)
        )
        if not self.arrays and known and self.factor_starts() and method.text != "[":
            right = self.operand(self.expression(PRODUCT + 1))
            return self.node(ast.BinOp(self.operand(value), ast.Mult(), right), start)
        message = (
            f".{method.text} is not read here" if method.text else "a point that leads nowhere"
        )
        cure = "write .T for the transpose, sum(x) for a sum"
        raise self.refused(method, message, cure)


CHOICES = frozenset(["if", "iif", "ifelse", "if_else", "wenn", "which", "piecewise"])
OF_MATRICES = frozenset({"trace", "det", "logdet", "slogdet", "inv", "pinv", "matrix_power"})
READERS = {
    "(": Parser.group,
    "{": Parser.group,
    "[": Parser.square,
    "|": Parser.absolute,
    "|(": Parser.absolute,
    "‖": Parser.norm,
    "⟨": Parser.angles,
    "√": Parser.radical,
    "∛": Parser.radical,
    "frac": Parser.fraction,
    "root": Parser.root,
    "∑": Parser.total,
    "∂": Parser.differentiated,
}


def _is_square(shape: Shape | None) -> bool:
    return shape is not None and len(shape) == 2 and shape[0] == shape[1]


def _is_turned(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "T"


def _is_of_blanks(inside: Sequence[Token]) -> bool:
    """Whether blanks alone part the numbers of a list: `[1 -2.5 3]`, `[[1 2] [3 4]]`."""
    if any(not (t.kind in ("number", "line") or t.text in "+-[];") for t in inside):
        return False
    blank = False
    for before, token in pairwise(inside):
        if token.text in "+-" and before.kind == "number" and not token.spaced:
            return False
        if before.text in "+-" and token.spaced:
            return False
        starts = token.kind == "number" or token.text in "+-["
        blank |= starts and token.spaced and (before.kind == "number" or before.text == "]")
    return blank
