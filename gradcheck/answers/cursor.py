"""The place of the parser among the tokens: what comes, how deep it is, and the notes so far."""

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from gradcheck.answers.complaint import clipped, refused
from gradcheck.answers.scanner import Token
from gradcheck.answers.shapes import MAKERS
from gradcheck.answers.trees import children
from gradcheck.answers.words import Meaning, Words
from gradcheck.errors import TextError

DEPTH, HEIGHT = 64, 128
STARTERS = ("number", "name", "fraction", "frac", "root")
START_SIGNS = ("(", "{", "|(", "√", "∛")
SHOWN = {"|(": "|", "|)": "|", "^": "^", "root": "\\sqrt", "frac": "\\frac"}

OF_MATRICES = frozenset({"trace", "det", "logdet", "slogdet", "inv", "pinv", "matrix_power"})
INVERTED = (["{", "-", "1"], ["(", "-", "1"])
LEAVES = (ast.Name, ast.Constant)
DECIMAL_COMMA = re.compile(r"(\d+)(,)(\d+)", re.ASCII)

Node = TypeVar("Node", bound=ast.expr | ast.keyword)


@dataclass
class Cursor:
    """The tokens of a text and a place among them; `expression` reads one from there."""

    text: str
    tokens: list[Token]
    words: Words
    expression: Callable[["Cursor", int], ast.expr]
    at: int = 0
    depth: int = 0
    notes: list[str] = field(default_factory=list)
    heights: dict[int, int] = field(default_factory=dict)
    here: Token = field(init=False)
    _single: bool | None = None  # what is asked more often than it changes
    _turned: bool | None = None
    _by_signs: bool | None = None

    def __post_init__(self) -> None:
        """The token at the place is looked at more often than anything else: it is kept."""
        self.here = self.look()

    def start(self, tokens: list[Token]) -> None:
        """Begin at the first of these tokens."""
        self.tokens = tokens
        self.move(-self.at)

    def move(self, by: int) -> None:
        """Go so many tokens on."""
        at = self.at = self.at + by
        tokens = self.tokens
        self.here = tokens[at] if at < len(tokens) else self.look()

    @property
    def single(self) -> bool:
        """Whether nothing but single numbers can be meant: no array is declared, and none made."""
        if self._single is None:
            self._single = self._are_single()
        return self._single

    def _are_single(self) -> bool:
        if self.words.arrays or any(token.text == "[" for token in self.tokens):
            return False
        known = (self.words.meaning(token.text) for token in self.tokens if token.kind == "name")
        return not any(m is not None and m.name in MAKERS for m in known)

    def _named(self, token: Token) -> Meaning | None:
        return self.words.meaning(token.text) if token.kind == "name" else None

    @property
    def turned(self) -> bool:
        """Whether a transpose, a trace or an inverse is there, as in formulas of matrices only."""
        if self._turned is None:
            self._turned = self._are_turned()
        return self._turned

    def _are_turned(self) -> bool:
        known = (m.name for m in map(self._named, self.tokens) if m is not None)
        if any(name in OF_MATRICES for name in known):
            return True
        pairs = zip(self.tokens, self.tokens[1:], strict=False)
        raised = (a.text in (".", "^", "{") and b.text == "T" for a, b in pairs)
        if any(token.kind == "transpose" for token in self.tokens) or any(raised):
            return True
        return any(
            a.text == "^" and [t.text for t in self.tokens[k + 1 : k + 4]] in INVERTED
            for k, a in enumerate(self.tokens)
        )

    @property
    def signed(self) -> bool:
        """Whether a `*` may be a product of matrices: `X'*r`, where every product has its sign.

        As MATLAB has it, and books with `X^T`; not beside NumPy's own `@` or `.T`.
        """
        if self._by_signs is None:
            self._by_signs = self._are_signed()
        return self._by_signs

    def _are_signed(self) -> bool:
        if self.single:
            return False
        pairs = list(zip(self.tokens, self.tokens[1:], strict=False))
        if any(b.text == "@" or (a.text, b.text) == (".", "T") for a, b in pairs):
            return False
        raised = any(a.text in ("^", "{") and b.text == "T" for a, b in pairs)
        transposed = raised or any(token.kind == "transpose" for token in self.tokens)
        return transposed and not any(self._side_by_side(a, b) for a, b in pairs)

    def _side_by_side(self, before: Token, after: Token) -> bool:
        """Whether an array may end here and another begin without a sign between them."""
        known = self._named(before)
        ends = before.kind == "transpose" or before.text in (")", "]", "}")
        ends = ends or (known is not None and known.kind != "function")
        return ends and (after.kind == "name" or after.text == "(")

    def look(self, ahead: int = 0) -> Token:
        """The token `ahead` places on; past the last one the end."""
        place, tokens = self.at + ahead, self.tokens
        if 0 <= place < len(tokens):
            return tokens[place]
        stop = tokens[-1].end if tokens else len(self.text)
        return Token("end", "", stop, stop)

    def step(self) -> Token:
        """The token here; move past it."""
        token = self.here
        self.move(1)
        return token

    def sees(self, *texts: str, ahead: int = 0) -> bool:
        """Whether one of these signs is there."""
        token = self.look(ahead) if ahead else self.here
        return token.kind == "op" and token.text in texts

    def takes(self, *texts: str) -> bool:
        """Whether one of these signs is here; if so, move past it."""
        seen = self.sees(*texts)
        if seen:
            self.move(1)
        return seen

    def value_starts(self) -> bool:
        """Whether a factor can start here without a sign of its own."""
        token = self.here
        return token.kind in STARTERS or (token.kind == "op" and token.text in START_SIGNS)

    def meaning(self, ahead: int = 0) -> Meaning | None:
        """What the word there means, if a known word is there."""
        return self._named(self.look(ahead) if ahead else self.here)

    def function_comes(self, ahead: int = 0) -> bool:
        """Whether a function's name is there."""
        meaning = self.meaning(ahead)
        return bool(meaning and meaning.kind == "function")

    def closes(self, opening: Token, closing: str) -> None:
        """Move past the bracket that closes `opening`, or refuse."""
        if self.takes(closing):
            return
        token = self.here
        if token.kind == "end":
            shown = SHOWN.get(opening.text, opening.text)
            raise self.refused(
                opening, f"{shown} is never closed", f"add {SHOWN.get(closing, closing)}"
            )
        raise self.unexpected(
            f"{SHOWN.get(closing, closing)} to close {SHOWN.get(opening.text, opening.text)}"
        )

    def deeper(self) -> None:
        """One level down; the caller goes up again when it is done."""
        self.depth += 1
        if self.depth > DEPTH:
            message = f"more than {DEPTH} levels of brackets, signs and powers"
            raise self.refused(self.here, message, "simplify it first")

    def operand(self, node: ast.expr) -> ast.expr:
        """The node, unless it is a tuple; a list of one, `[x + 1]`, is what it holds."""
        if isinstance(node, ast.Tuple):
            raise self.comma(self.text.find(",", node.elts[0].end_col_offset or 0))
        if isinstance(node, ast.List) and len(node.elts) == 1:
            self.note("square brackets are read as round ones")
            return self.operand(node.elts[0])
        return node

    def comma(self, at: int) -> TextError:
        """The error for a comma: a decimal comma, or a list without its brackets."""
        decimal = DECIMAL_COMMA.search(self.text, 0, len(self.text))
        while decimal and decimal.start(2) != at:
            decimal = DECIMAL_COMMA.search(self.text, decimal.end())
        if decimal:
            cure = f"decimals are written with a point: {decimal[1]}.{decimal[3]}"
            cure += f", thousands as {decimal[1]}{decimal[3]}" if len(decimal[3]) == 3 else ""
            return refused(self.text, at, "a comma inside a number", cure)
        cure = "write lists in square brackets, decimals with a point"
        return refused(self.text, at, "a comma that separates nothing", cure)

    def node(self, node: Node, start: int) -> Node:
        """The node with its place: from `start` to the end of the token just read.

        No tree grows higher than a recursion over it can bear.
        """
        height = self.heights[id(node)] = 1 + self.height_below(node)
        end = self.tokens[self.at - 1].end if 0 < self.at <= len(self.tokens) else self.look(-1).end
        node.lineno = node.end_lineno = 1
        node.col_offset = start
        node.end_col_offset = end if end > start else start
        if height > HEIGHT:
            message = f"a formula of more than {HEIGHT} steps in a row"
            raise self.refused(self.here, message, "simplify it first, or give numbers")
        return node

    def height_below(self, node: ast.AST) -> int:
        """The height of the highest tree right below a node; nearly all are of three kinds."""
        known = self.heights.get
        if isinstance(node, LEAVES):
            return 0
        if isinstance(node, ast.BinOp):
            left, right = known(id(node.left), 0), known(id(node.right), 0)
            return left if left > right else right
        return max([known(id(child), 0) for child in children(node)], default=0)

    def note(self, note: str) -> None:
        """Record a rule that was applied, once, with powers spelled as in the text."""
        note = note if "**" in self.text else note.replace("**", "^")
        if note not in self.notes:
            self.notes.append(note)

    def typed(self, start: int) -> str:
        """The text from `start` to the end of the token just read, in short."""
        return clipped(self.text[start : self.look(-1).end])

    def refused(self, token: Token, message: str, cure: str = "") -> TextError:
        """The error for a fault at a token."""
        return refused(self.text, token.start, message, cure, max(token.end - token.start, 1))

    def number_after_factor(self) -> TextError:
        """The error for `x 2`."""
        cure = "write * between them, or ^ for a power"
        return self.refused(self.here, "a number right after a factor", cure)

    def unexpected(self, expected: str) -> TextError:
        """The error for a token that cannot stand here."""
        token = self.here
        if token.kind == "end":
            return self.refused(token, f"the formula stops where {expected} is due", "finish it")
        shown = self.text[token.start : token.end] or SHOWN.get(token.text, token.text)
        return self.refused(
            token,
            f"{shown} stands where {expected} is due",
            CURES.get(token.text, "leave it out, or write what is missing"),
        )


CURES = {
    ")": "remove it, or open a bracket before it",
    "]": "remove it, or open a bracket before it",
    "}": "remove it, or open a bracket before it",
    "*": "remove it, or write the missing factor",
    "/": "remove it, or write the numerator",
    "^": "write what is raised to the power",
    ",": "write the missing part, and decimals with a point",
    "&": "give one formula",
    ";": "give one formula; rows are written [[a, b], [c, d]]",
    ":": "a colon stands only in an index, as in x[0:2]",
    "?": "leave it out",
    ".": "write decimals as 0.5",
    "=": "give only what stands right of the equals sign",
}
