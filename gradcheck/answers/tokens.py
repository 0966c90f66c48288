"""From plain text to tokens, each with its place in what was typed; LaTeX becomes the same signs.

Limits: 500 tokens, names of 32 characters, numbers of 30 significant digits.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import dropwhile, pairwise
from typing import NamedTuple

from gradcheck.answers.characters import ADVICE, GREEK, Typed, as_table, fault_at
from gradcheck.answers.words import Words
from gradcheck.errors import TYPED_EXPONENT

TOKENS, NAME, DIGITS = 500, 32, 30

FONTS = (
    "mathrm|mathbf|mathit|mathsf|mathbb|operatorname\\*?|boldsymbol|bm|mathnormal|text|textrm"
    "|textit|texttt|mbox|vec"
)
FRAMES = "equation|aligned|align|gathered|gather|displaymath|math|split|alignat|eqnarray"
SIZED = r"(?:left|right|middle|[bB]igg?[lr]?)(?![A-Za-z])\*?"
COLUMNS = r"(?:\{[lcr| ]+\})?"
TOKEN = re.compile(
    r"(?P<left>\\(?:left|[bB]igg?l)\s*\|)|(?P<right>\\(?:right|[bB]igg?r)\s*\|)"
    r"|(?P<blank>[ ]+|\\(?:[,;:! ]|q?quad\b|(?:display|text)style\b|thinspace\b|limits\b"
    rf"|nonumber\b|notag\b|ensuremath\b|underline\b|overline\b|boxed\b|fbox\b|{SIZED}\s*\.?))"
    rf"|(?P<frame>\\(?:begin|end)\s*\{{(?:{FRAMES})\*?\}}{COLUMNS})"
    r"|(?P<number>(?:\d+(?:\.(?![*/^.])\d*)?|\.\d+)(?:[eE][+-]?\d+)?)"
    rf"|\\(?:{FONTS})\s*(?:\{{\s*(?P<font>[A-Za-z](?:\w|\\_)*)\s*\}}|(?P<letter>[A-Za-z]\b)"
    r"|\{(?P<said>[^{}\\]*)\})"
    r"|(?P<line>\n|\\\\|\\newline\b)"
    rf"|(?P<cases>(?:\\\{{\s*\\begin\s*\{{array\}}|\\begin\s*\{{[dr]?cases\*?\}}){COLUMNS})"
    rf"|(?P<rows>\\begin\s*\{{(?:[pbvB]?matrix|smallmatrix|array)\*?\}}{COLUMNS})"
    r"|(?P<end>\\end\s*\{(?:[dr]?cases|[pbvB]?matrix|smallmatrix|array)\*?\})"
    r"|\\(?P<command>(?:sum|int|prod|lim)(?![A-Za-z])|[A-Za-z]+(?:\s*_\s*(?:[A-Za-z0-9]|\{\s*\w+\s*\}))?|.)"
    r"|(?P<string>(?<=einsum\()\s?(?:'[A-Za-z, ]{1,60}(?:->[A-Za-z ]{0,12})?'"
    r"|\"[A-Za-z, ]{1,60}(?:->[A-Za-z ]{0,12})?\"))"
    r"|(?P<word>[^\W\d_]\w*(?:(?<=_)\{\w+\})?|_\w+|_\{\w+\})"
    r"|(?P<op>\.[*/^]|\*\*|<=|>=|==|!=|:=|=>|->|//|\.\.\.|\$\$?|.)",
    re.DOTALL,
)
OPS = {"**": "^", ".*": "⊙", "./": "/", ".^": "^", "->": "=>", ":=": "="}
SET = {"left": "|(", "right": "|)", "cases": "⦃", "rows": "⟦", "end": "⟧"}
SIGNS = {
    **{sign: sign for sign in "*^+-/=<>_$&#%"},
    **dict.fromkeys("()[]", "$"),
    **as_table(r"""
·: cdot bullet; *: times ast; ⊙: odot circ; /: div oslash; <: lt; >: gt; <=: le leq leqslant
>=: ge geq geqslant; !=: ne neq; =>: Rightarrow implies to rightarrow; (: { lbrace; ): } rbrace
[: lbrack; ]: rbrack; ⟨: langle; ⟩: rangle; |: vert; |(: lvert; |): rvert; ‖: Vert lVert rVert |
≈: approx simeq; frac: frac dfrac tfrac cfrac nicefrac sfrac flatfrac; root: sqrt; ∑: sum; ∈: in
and: land wedge; or: lor vee; °: degree; ': prime; :: colon; ∂: partial; ∇: nabla
"""),
}


class Token(NamedTuple):
    """A piece of the text: kind, plain spelling, place, and whether a blank precedes it."""

    kind: str
    text: str
    start: int
    end: int
    spaced: bool = False


def tokenize(typed: str, plain: Typed, first: int = 0, stop: int | None = None) -> list[Token]:
    """The tokens of a text or of a stretch; what cannot be one is refused where it stands."""
    tokens: list[Token] = []
    spaced = False
    stop = len(plain.text) if stop is None else stop
    for m in TOKEN.finditer(plain.text, first, stop):
        kind = m.lastgroup or ""
        if kind in ("blank", "frame"):
            spaced |= kind == "blank"
            continue
        if kind == "said":
            said = tokenize(typed, plain, *m.span("said"))
            tokens += [token._replace(spaced=True) for token in said]
        else:
            start, end = plain.places[m.start()], plain.places[m.end() - 1] + 1
            shown = m[kind]
            if kind == "word" and (shown[0] in GREEK or len(shown) > NAME or "{" in shown):
                tokens += _words(typed, shown, start, end, spaced)
            else:
                tokens.append(Token(*_read_piece(typed, kind, shown, start), start, end, spaced))
        spaced = kind == "said"
    if len(tokens) > TOKENS:
        message = f"more than {TOKENS} signs and names"
        raise fault_at(typed, tokens[TOKENS].start, message, "simplify it first")
    return tokens


def _read_piece(typed: str, kind: str, shown: str, start: int) -> tuple[str, str]:
    if kind == "op":
        return kind, OPS.get(shown, shown)
    if kind == "number":
        _within_limits(typed, start, shown)
    elif kind in SET:
        return "op", SET[kind]
    elif kind == "string":
        shown = shown.strip()[1:-1].replace(" ", "")
    elif kind == "command":
        return _command(typed, shown, start)
    elif kind in ("font", "letter"):
        return "word", shown.replace("\\", "")
    return kind, shown


def _words(typed: str, word: str, start: int, end: int, spaced: bool) -> list[Token]:
    """A Greek letter is a name by itself, unless a subscript follows; braces go."""
    letters: list[Token] = []
    while word[0] in GREEK and len(word) > 1 and word[1] != "_":
        letters.append(Token("word", word[0], start, start + 1, spaced))
        word, start, spaced = word[1:], start + 1, False
    word = _within_length(typed, start, word.replace("{", "").replace("}", ""))
    return [*letters, Token("word", word, start, end, spaced)]


def _command(typed: str, command: str, start: int) -> tuple[str, str]:
    if command in SIGNS:
        return "op", SIGNS[command]
    if command in ("top", "intercal"):
        return "transpose", "T"
    if command in ADVICE:
        message = f"\\{command} is not read here"
        raise fault_at(typed, start, message, ADVICE[command], len(command) + 1)
    if not command[0].isalpha():
        raise fault_at(typed, start, "a backslash without a command", "leave it out")
    return "word", _within_length(typed, start, re.sub(r"[\s{}]", "", command))


def _within_length(typed: str, start: int, word: str) -> str:
    if len(word) > NAME:
        message = f"a name of {len(word)} letters: at most {NAME} are read"
        raise fault_at(typed, start, message, "write * between factors", len(word))
    return word


def _within_limits(typed: str, start: int, digits: str) -> None:
    if len(digits) <= DIGITS and digits.isdigit():
        return
    mantissa, _, exponent = digits.lower().partition("e")
    significant = len(mantissa.replace(".", "").lstrip("0"))
    if significant > DIGITS:
        message = f"a number of {significant} digits: at most {DIGITS} are read"
        raise fault_at(typed, start, message, "round it", len(digits))
    if len(exponent) > 5 or abs(int(exponent or 0)) > TYPED_EXPONENT:
        message = f"the exponent of {digits[:20]} is beyond {TYPED_EXPONENT}"
        raise fault_at(typed, start, message, "write it as a formula", len(digits))


def spell(tokens: Iterable[Token]) -> str:
    """The plain spelling of tokens, a blank after each: what patterns of tokens are searched in."""
    return "".join([f"{token.text} " for token in tokens])


def token_span(text: str, found: re.Match[str]) -> tuple[int, int]:
    return text.count(" ", 0, found.start()), text.count(" ", 0, found.end())


CLOSING = {"(": ")", "[": "]", "{": "}", "⟨": "⟩", "⟦": "⟧", "⦃": "⟧"}
OPENS, CLOSES = frozenset(CLOSING), frozenset(CLOSING.values())
LINKS = frozenset(["=", "=>", "≈"])
TRAILING = frozenset([".", ",", ";", ":", "?", "=", "...", "≈", "=>"])
UNEQUAL = frozenset(["<", ">", "<=", ">=", "!="])


def levels(tokens: Iterable[Token]) -> Iterator[int]:
    """How many brackets and environments are open at each token: the one it opens, too."""
    level = 0
    for token in tokens:
        if token.kind == "op":
            level += (token.text in OPENS) - (token.text in CLOSES)
        yield level


def split(
    tokens: Sequence[Token], parts: Callable[[int, Sequence[Token]], bool]
) -> Iterator[tuple[Token | None, list[Token]]]:
    """The stretches between tokens that part them outside of brackets, and what is before each.

    `parts` is asked whether a token does, given its place and the stretch before it.
    """
    sign, found = None, list[Token]()
    for k, level in enumerate(levels(tokens)):
        if level <= 0 and parts(k, found):
            yield sign, found
            sign, found = tokens[k], []
        else:
            found.append(tokens[k])
    yield sign, found


def closing_at(tokens: Sequence[Token], opening: int) -> int:
    """The place of the bracket that closes one; the end if none does."""
    pairs = enumerate(levels(tokens[opening:]), opening)
    return next((at for at, level in pairs if level == 0), len(tokens) - 1)


def is_of_blanks(inside: Sequence[Token]) -> bool:
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


DECIMAL = re.compile(r"(\d+),(\d+)(?:e-?\d+)?")
THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+\.\d+|\d{1,3}(?:,\d{3}){2,}")
INSIDE, POINT = "a comma inside a number", "decimals are written with a point"
SHAPED = frozenset(["ones", "zeros", "full", "reshape", "view"])
"""Functions that are told a shape: in brackets of its own its comma is never a decimal one."""


class Commas(NamedTuple):
    """What commas between digits are in a text: decimal commas, between thousands, or parting.

    In a list, in a call of several arguments and behind another comma they part. `single` says that
    a bare `2,5` is no list.
    """

    typed: str
    words: Words
    single: bool
    notes: list[str]

    def join(self, tokens: list[Token]) -> list[Token]:
        found: list[Token] = []
        parting, at = [False], 0  # of each open bracket
        while at < len(tokens):
            token, stop = tokens[at], at + 1
            if token.kind == "op" and token.text in OPENS:
                parting.append(self.is_list(tokens, at, parting[-1]))
            elif token.kind == "op" and token.text in CLOSES and parting[1:]:
                parting.pop()
            elif token.text == "," and parting[1:]:
                parting[-1] = True
            elif token.kind == "number" and not parting[-1]:
                token, stop = self.number(tokens, at)
            found.append(token)
            at = stop
        return found

    def is_list(self, tokens: Sequence[Token], at: int, inside: bool) -> bool:
        sign, before = tokens[at].text, tokens[at - 1] if at else None
        if sign in "[⟦⟨":
            return sign != "[" or not self.are_decimals(tokens, at)
        if before is None or sign == "⦃":
            return False
        if before.text == "(" and at > 1 and tokens[at - 2].text in SHAPED:
            return True
        if before.text in (",", "="):
            return inside
        return before.kind == "word" and self.words.takes_several(before.text)

    def number(self, tokens: Sequence[Token], at: int) -> tuple[Token, int]:
        """The number at a place with what its commas join to it, and where it stops."""
        first, stop = tokens[at], at + 1
        while (
            stop + 1 < len(tokens)
            and tokens[stop].text == ","
            and tokens[stop + 1].kind == "number"
            and not (tokens[stop].spaced or tokens[stop + 1].spaced)
        ):
            stop += 2
        text = "".join(token.text for token in tokens[at:stop])
        whole = first._replace(end=tokens[stop - 1].end)
        if THOUSANDS.fullmatch(text):
            return whole._replace(text=text.replace(",", "")), stop
        found = DECIMAL.fullmatch(text)
        if not found:
            if stop > at + 1 and "." in first.text and tokens[at + 2].text.isdigit():
                cure = f"write {first.text.replace('.', '')}.{tokens[at + 2].text}"
                raise fault_at(self.typed, first.start, INSIDE, f"{POINT}: {cure}")
            return first, at + 1
        before = spell(tokens[:at]).rstrip("+- ")
        named = before[-1:] in ("=", ":", "≈") and not re.search(r"\d", before)
        bare = stop == len(tokens) and (not before or named)
        thousands = len(found[2]) == 3 and len(found[1]) <= 3 and found[1][0] != "0"
        if (bare and not self.single) or thousands:
            cure = f"{POINT}: {found[1]}.{found[2]}"
            cure += f", thousands as {found[1]}{found[2]}" if len(found[2]) == 3 else ""
            raise fault_at(self.typed, tokens[at + 1].start, INSIDE, cure)
        self.notes.append(f"{text} is read as {found[1]}.{found[2]}")
        return whole._replace(text=text.replace(",", ".")), stop

    def are_decimals(self, tokens: Sequence[Token], at: int) -> bool:
        """Whether the commas of `[0,5; 1,5]` are decimal commas."""
        rows = spell(tokens[at + 1 : closing_at(tokens, at)]).split("; ")
        if not rows[1:] or not all(re.fullmatch(r"([-+] )?\d+ (, \d+ )?", row) for row in rows):
            return False
        if all("," in row for row in rows) and (len(rows), 2) in self.words.shapes.values():
            message = "commas may part the numbers of a row, or be decimal commas"
            cure = f"write [[{rows[0].replace(' ,', ',').strip()}], ...], or decimals with a point"
            raise fault_at(self.typed, tokens[at].start, message, cure)
        return any("," in row for row in rows)


def without_columns(tokens: list[Token]) -> list[Token]:
    """A text without the signs that align its equals signs, or begin a line."""
    ends = Token("end", "", 0, 0)
    kept = []
    for before, token, after in zip([ends, *tokens], tokens, [*tokens[1:], ends], strict=False):
        aligned = before.kind == "line" or not {before.text, after.text}.isdisjoint(LINKS)
        kept += [] if token.text == "&" and aligned else [token]
    return kept


def without_quotes(tokens: list[Token]) -> list[Token]:
    """A text without the marks of quotation, or Markdown's stars, at both ends."""
    while len(tokens) > 1 and tokens[0].text in ('"', "`", "'", "^") and tokens[0].kind == "op":
        last = max((k for k, t in enumerate(tokens) if t.text == tokens[0].text), default=0)
        if last == 0 or any(t.text not in TRAILING for t in tokens[last + 1 :]):
            break
        tokens = [*tokens[1:last], *tokens[last + 1 :]]
    return tokens


def strip(tokens: list[Token], leading: Collection[str], trailing: Collection[str]) -> list[Token]:
    def is_sign(token: Token, among: Collection[str]) -> bool:
        return token.kind == "line" or (token.kind == "op" and token.text in among)

    found = [*dropwhile(lambda token: is_sign(token, leading), tokens)]
    while found and is_sign(found[-1], trailing):
        found.pop()
    return found
