"""From plain text to tokens, each with its place in what was typed; LaTeX becomes the same signs.

Limits: 500 tokens, names of 32 characters, numbers of 30 significant digits.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
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
SPACES = (
    "q?quad|(?:display|text)style|thinspace|limits|nonumber|notag|ensuremath|(?:under|over)line"
)
COLUMNS = r"(?:\{[lcr| ]+\})?"
TOKEN = re.compile(
    r"(?P<blank>[ ]+)|(?P<number>(?:\d+(?:\.(?![*/^.])\d*)?|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<word>[^\W\d_]\w*(?:(?<=_)\{\w+\})?|_\w+|_\{\w+\})"
    r"|(?P<string>(?<=einsum\()\s?(['\"])[A-Za-z, ]{1,60}(?:->[A-Za-z ]{0,12})?\5)"
    r"|(?P<op>\.[*/^]|\*\*|<=|>=|==|!=|:=|=>|->|//|\.\.\.|\$\$?|[^\\\n])"
    r"|(?P<line>\n|\\\\|\\newline\b)"
    r"|(?P<left>\\(?:left|[bB]igg?l)\s*\|)|(?P<right>\\(?:right|[bB]igg?r)\s*\|)"
    rf"|(?P<gap>\\(?:[,;:! ]|(?:{SPACES}|boxed|fbox)\b"
    r"|(?:left|right|middle|[bB]igg?[lr]?)(?![A-Za-z])\*?\s*\.?))"
    rf"|(?P<frame>\\(?:begin|end)\s*\{{(?:{FRAMES})\*?\}}{COLUMNS})"
    rf"|\\(?:{FONTS})\s*(?:\{{\s*(?P<font>[A-Za-z](?:\w|\\_)*)\s*\}}|(?P<letter>[A-Za-z]\b)"
    r"|\{(?P<said>[^{}\\]*)\})"
    rf"|(?P<cases>(?:\\\{{\s*\\begin\s*\{{array\}}|\\begin\s*\{{[dr]?cases\*?\}}){COLUMNS})"
    rf"|(?P<rows>\\begin\s*\{{(?:[pbvB]?matrix|smallmatrix|array)\*?\}}{COLUMNS})"
    r"|(?P<end>\\end\s*\{(?:[dr]?cases|[pbvB]?matrix|smallmatrix|array)\*?\})"
    r"|\\(?P<command>(?:sum|int|prod|lim)(?![A-Za-z])"
    r"|[A-Za-z]+(?:\s*_\s*(?:[A-Za-z0-9]|\{\s*\w+\s*\}))?|.)|(?P<lone>.)",
    re.DOTALL,
)
OPS = {"**": "^", ".*": "⊙", "./": "/", ".^": "^", "->": "=>", ":=": "="}
SET = {"line": "\n", "left": "|(", "right": "|)", "cases": "⦃", "rows": "⟦", "end": "⟧"}
COMMANDS = {
    **{sign: sign for sign in "*^+-/=<>_$&#%"},
    **dict.fromkeys("()[]", "$"),
    **as_table(r"""
·: cdot bullet; *: times ast; ⊙: odot circ; /: div oslash; <: lt; >: gt; <=: le leq leqslant
>=: ge geq geqslant; !=: ne neq; =>: Rightarrow implies to rightarrow; (: { lbrace; ): } rbrace
[: lbrack; ]: rbrack; ⟨: langle; ⟩: rangle; |: vert; |(: lvert; |): rvert; ‖: Vert lVert rVert |
≈: approx simeq; \frac: frac dfrac tfrac cfrac nicefrac sfrac flatfrac; \sqrt: sqrt; ∑: sum; ∈: in
and: land wedge; or: lor vee; °: degree; ': prime; :: colon; ∂: partial; ∇: nabla
"""),
}
"""LaTeX's commands and the signs they stand for; all others are names."""


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
    places = plain.places
    for m in TOKEN.finditer(plain.text, first, len(plain.text) if stop is None else stop):
        kind = m.lastgroup or ""
        if kind in ("blank", "gap", "frame"):
            spaced |= kind != "frame"
            continue
        if kind == "said":
            said = tokenize(typed, plain, *m.span("said"))
            tokens += [token._replace(spaced=True) for token in said]
            spaced = True
            continue
        shown, start, end = m[kind], places[m.start()], places[m.end() - 1] + 1
        if kind == "op":
            shown = OPS.get(shown, shown)
        elif kind == "number":
            if len(shown) > DIGITS or not shown.isdigit():
                _check_number(typed, start, shown)
        elif kind == "word":
            while shown[0] in GREEK and len(shown) > 1 and shown[1] != "_":  # a name by itself
                tokens.append(Token("word", shown[0], start, start + 1, spaced))
                shown, start, spaced = shown[1:], start + 1, False
            shown = _check_word(typed, start, shown)
        elif kind in SET:
            kind, shown = "line" if kind == "line" else "op", SET[kind]
        elif kind == "string":
            shown = shown.strip()[1:-1].replace(" ", "")
        else:
            kind, shown = _name_command(typed, kind, shown, start)
        tokens.append(Token(kind, shown, start, end, spaced))
        spaced = False
    if len(tokens) > TOKENS:
        message = f"more than {TOKENS} signs and names"
        raise fault_at(typed, tokens[TOKENS].start, message, "simplify it first")
    return tokens


def _name_command(typed: str, kind: str, command: str, start: int) -> tuple[str, str]:
    if kind in ("font", "letter"):
        return "word", command.replace("\\", "")
    if command in COMMANDS:
        return "op", COMMANDS[command]
    if command in ("top", "intercal"):
        return "transpose", "T"
    if command in ADVICE:
        message = f"\\{command} is not read here"
        raise fault_at(typed, start, message, ADVICE[command], len(command) + 1)
    if not command[0].isalpha():
        raise fault_at(typed, start, "a backslash without a command", "leave it out")
    return "word", _check_word(typed, start, re.sub(r"\s", "", command))


def _check_word(typed: str, start: int, word: str) -> str:
    word = word.replace("{", "").replace("}", "")
    if len(word) > NAME:
        message = f"a name of {len(word)} letters: at most {NAME} are read"
        raise fault_at(typed, start, message, "write * between factors", len(word))
    return word


def _check_number(typed: str, start: int, digits: str) -> None:
    mantissa, _, exponent = digits.lower().partition("e")
    significant = len(mantissa.replace(".", "").lstrip("0"))
    if significant > DIGITS:
        message = f"a number of {significant} digits: at most {DIGITS} are read"
        raise fault_at(typed, start, message, "round it", len(digits))
    if len(exponent) > 5 or abs(int(exponent or 0)) > TYPED_EXPONENT:
        message = f"the exponent of {digits[:20]} is beyond {TYPED_EXPONENT}"
        raise fault_at(typed, start, message, "write it as a formula", len(digits))


CLOSING = {"(": ")", "[": "]", "{": "}", "⟨": "⟩", "⟦": "⟧", "⦃": "⟧"}
STEPS = dict.fromkeys(CLOSING, 1) | dict.fromkeys(CLOSING.values(), -1)
LINKS = frozenset(["=", "=>", "≈"])
UNEQUAL = frozenset(["<", ">", "<=", ">=", "!="])


def spell(tokens: Iterable[Token]) -> str:
    """The plain spelling of tokens, a blank after each: what patterns of tokens are searched in."""
    return "".join([f"{token.text} " for token in tokens])


def levels(tokens: Iterable[Token]) -> Iterator[int]:
    """How many brackets and environments are open at each token: the one it opens, too."""
    level = 0
    for token in tokens:
        level += STEPS.get(token.text, 0)
        yield level


def split(
    tokens: Sequence[Token], parts: Callable[[int, Sequence[Token]], bool]
) -> list[tuple[Token | None, list[Token]]]:
    """The stretches between tokens that part them outside of brackets, and what is before each.

    `parts` is asked whether a token does, given its place and the stretch before it.
    """
    found: list[tuple[Token | None, list[Token]]] = [(None, [])]
    for k, level in enumerate(levels(tokens)):
        if level <= 0 and parts(k, found[-1][1]):
            found.append((tokens[k], []))
        else:
            found[-1][1].append(tokens[k])
    return found


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
        sign = token.text in "+-"
        if sign and before.kind == "number" and not token.spaced:
            return False
        if before.text in "+-" and token.spaced:
            return False
        starts = token.kind == "number" or sign or token.text == "["
        blank |= starts and token.spaced and (before.kind == "number" or before.text == "]")
    return blank


DECIMAL = re.compile(r"(\d+),(\d+)(?:e-?\d+)?")
THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+\.\d+|\d{1,3}(?:,\d{3}){2,}")
ROWS = re.compile(r"(?:[-+] )?\d+ (?:, \d+ )?(?:; (?:[-+] )?\d+ (?:, \d+ )?)+")
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
            step = STEPS.get(token.text, 0)
            if step > 0:
                parting.append(self.is_list(tokens, at, parting[-1]))
            elif step < 0 and parting[1:]:
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
        for comma, after in zip(tokens[at + 1 :: 2], tokens[at + 2 :: 2], strict=False):
            if comma.text != "," or after.kind != "number" or comma.spaced or after.spaced:
                break
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
        inside = spell(tokens[at + 1 : closing_at(tokens, at)])
        if not ROWS.fullmatch(inside):
            return False
        rows = inside.split("; ")
        if all("," in row for row in rows) and (len(rows), 2) in self.words.shapes.values():
            message = "commas may part the numbers of a row, or be decimal commas"
            cure = f"write [[{rows[0].replace(' ,', ',').strip()}], ...], or decimals with a point"
            raise fault_at(self.typed, tokens[at].start, message, cure)
        return "," in inside
