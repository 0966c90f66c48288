"""A place among the tokens of a formula: what comes, nodes with their places, complaints."""

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from gradcheck.answers.characters import DERIVATIVE, clip, fault_at
from gradcheck.answers.shapes import Known, Shape, broadcast, is_row, product_shape, shape_of
from gradcheck.answers.tokens import Token, levels
from gradcheck.answers.words import Meaning, Words, segment
from gradcheck.errors import TextError

OF_MATRICES = frozenset({"trace", "det", "logdet", "slogdet", "inv", "pinv", "matrix_power"})
TURNED = re.compile(r"(?:[.^{-] T|[{(^] - 1) |'")
DEPTH = 64
SHORT = 200  # characters that a note repeats
FACTORS = frozenset(["number", "word"])
OPENERS = frozenset(["(", "{", "[", "⟨", "frac", "root", "√", "∛", "|(", "∑"])
RADICALS = {"√": "sqrt", "∛": "cbrt"}
CLOSING = {"(": ")", "[": "]", "{": "}", "|(": "|)", "⟨": "⟩", "‖": "‖"}
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
    ",": "write the missing part, and decimals with a point",
    **dict.fromkeys(["&", ";"], "give one formula; rows are written [[a, b], [c, d]]"),
}
SHOWN = {"|(": "|", "|)": "|", "root": "\\sqrt", "frac": "\\frac"}
UNTAKEN = "derivative"  # the name of a derivative in a step of working that is not yet taken

Node = TypeVar("Node", bound=ast.expr | ast.keyword)


class Cursor:
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
        silent: bool = False,
    ) -> None:
        end = tokens[-1].end if tokens else len(typed)
        self.typed, self.words = typed, words
        self.tokens = [*tokens, Token("end", "", end, end, True)]
        self.single, self.turned = single, turned
        self.own = own or {}  # what the answer itself defines
        self.by = by  # what a prime differentiates by
        self.silent = silent  # nobody will see the notes
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
        self.beside: Shape | None = None  # of what stands before a sign of addition
        self.known: Known = {}
        self.matrices: bool | None = None

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
            ways = segment(self.words, token.text, opens=self.sees("(", ahead=ahead + 1))
            meaning = self.words.meaning(ways[0][0]) if len(ways) == 1 else None
        return meaning is not None and meaning.kind == "function"

    def factor_starts(self) -> bool:
        """Whether a factor can start here without a sign of its own."""
        token = self.tokens[self.at]
        if token.kind in FACTORS:
            return True
        if token.kind != "op":
            return token.kind == "begin"
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

    def node(self, node: Node, start: int) -> Node:
        """The node with its place: from `start` to the end of the token just read."""
        end = self.tokens[self.at - 1].end if self.at else start
        node.lineno = node.end_lineno = 1
        node.col_offset = start
        node.end_col_offset = end if end > start else start
        return node

    def call_by_name(self, function: str, args: list[ast.expr], start: int) -> ast.Call:
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
        return not self.silent and self.tokens[self.at - 1].end - start <= SHORT

    def text(self, start: int) -> str:
        """What was typed from `start` to the end of the token just read, in short."""
        return clip(self.typed[start : self.tokens[self.at - 1].end])

    def fault(self, token: Token, message: str, cure: str = "") -> TextError:
        width = max(token.end - token.start, 1)
        return fault_at(self.typed, token.start, message, cure, width)

    def fault_here(self, due: str) -> TextError:
        """The error for a token that cannot stand here."""
        token = self.tokens[self.at]
        if token.kind == "end":
            return self.fault(
                token, f"the formula stops where {due} is due", "write what should stand here"
            )
        if token.text in NEVER and token.kind == "op":
            return self.fault(token, *NEVER[token.text])
        if token.text == ",":
            return self.comma(token)
        shown = self.typed[token.start : token.end] or SHOWN.get(token.text, token.text)
        cure = CURES.get(token.text, "leave it out, or write what is missing")
        return self.fault(token, f"{shown} stands where {due} is due", cure)

    def comma(self, token: Token) -> TextError:
        """The error for a comma: a decimal comma, or a list without its brackets."""
        decimal = re.compile(r"(\d+),(\d+)").search(self.typed)
        if decimal and decimal.end(1) == token.start:
            parts = decimal[1], decimal[2]
            cure = f"decimals are written with a point: {'.'.join(parts)}"
            cure += f", thousands as {''.join(parts)}" if len(decimal[2]) == 3 else ""
            return self.fault(token, "a comma inside a number", cure)
        cure = "write lists in square brackets, decimals with a point"
        return self.fault(token, "a comma that separates nothing", cure)

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > DEPTH:
            message = f"more than {DEPTH} levels of brackets, signs and powers"
            raise self.fault(self.tokens[self.at], message, "simplify it first")

    def closes(self, opening: Token, closing: str) -> None:
        """Move past the bracket that closes `opening`, or refuse."""
        if self.takes(closing):
            return
        shown = SHOWN.get(opening.text, opening.text)
        if self.tokens[self.at].kind == "end":
            raise self.fault(
                opening, f"{shown} is never closed", f"add {SHOWN.get(closing, closing)}"
            )
        raise self.fault_here(f"{SHOWN.get(closing, closing)} to close {shown}")

    def closing_bracket(self, opening: int) -> int:
        """The place of the bracket that closes one; the end if none does."""
        pairs = enumerate(levels(self.tokens[opening:]), opening)
        return next((at for at, level in pairs if level == 0), len(self.tokens) - 1)

    def transpose(self, node: ast.expr, start: int) -> ast.expr:
        """The transpose; a list of numbers is one either way."""
        node = as_list(node)
        if isinstance(node, ast.List) and not any(isinstance(e, ast.List) for e in node.elts):
            return node
        return self.node(ast.Attribute(self.operand(node), "T", ast.Load()), start)

    def operand(self, node: ast.expr) -> ast.expr:
        """The node, unless it is a tuple; a list of one, `[x + 1]`, is what it holds."""
        if isinstance(node, ast.Tuple):
            end = node.elts[0].end_col_offset or 0
            raise self.comma(next(t for t in self.tokens if t.start >= end and t.text in ",;"))
        if isinstance(node, ast.List) and len(node.elts) == 1:
            self.note("square brackets are read as round ones")
            return self.operand(node.elts[0])
        return node

    def shape(self, node: ast.expr) -> Shape | None:
        """The shape of a piece, where it is known."""
        if not self.arrays:
            return None
        return shape_of(node, self.shapes, self.known)

    # -- products of arrays ------------------------------------------------------------------------

    def multiply_matrices(self, left: ast.expr, right: ast.expr, start: int) -> ast.expr | None:
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
                return self.call_by_name("outer", [left, right.value], start)
            if a == b and is_row(left, self.shapes, self.known):
                return self.multiply(left, right, start)
            return None
        if product_shape(a, b) is None:
            return None
        if (
            broadcast(a, b) is not None
            and len(a) == len(b)
            and not self.doubt(self.is_linear_algebra())
        ):
            return None
        return self.multiply(left, right, start)

    def multiply(self, left: ast.expr, right: ast.expr, start: int) -> ast.expr:
        self.note("arrays side by side are read as a matrix product")
        return self.node(ast.BinOp(left, ast.MatMult(), right), start)

    def multiply_dotted(self, left: ast.expr, right: ast.expr, start: int) -> ast.expr | None:
        """A dot between arrays: the product of two vectors, a matrix product."""
        a, b = self.shape(left), self.shape(right)
        if a and b and len(a) == len(b) == 1 and not (a != b or is_turned(right)):
            if not self.doubt(usual=True):
                return None
            self.note("a dot between two vectors is read as their product")
            return self.node(ast.BinOp(left, ast.MatMult(), right), start)
        return self.multiply_matrices(left, right, start)

    def is_linear_algebra(self) -> bool:
        """Whether a transpose, a trace or an inverse is there, as in formulas of matrices only."""
        if self.matrices is None:
            named = {m.name for m in map(self.meaning, self.tokens) if m is not None}
            turned = TURNED.search(" ".join(token.text for token in self.tokens))
            primed = any(token.kind == "transpose" for token in self.tokens)
            self.matrices = bool(named & OF_MATRICES or turned or primed)
        return self.matrices

    # -- what the grammar adds ---------------------------------------------------------------------

    def expression(self, rank: int) -> ast.expr:
        """One expression of operators that bind at least as tightly as `rank`: the grammar's."""
        raise NotImplementedError

    def value(self) -> ast.expr:
        """A number, a name, a call, or what stands in brackets or bars: the grammar's."""
        raise NotImplementedError


def as_list(node: ast.expr) -> ast.expr:
    """A tuple as a list, and so those in it."""
    if not isinstance(node, ast.Tuple):
        return node
    return ast.copy_location(ast.List([as_list(e) for e in node.elts], ast.Load()), node)


def is_turned(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "T"
