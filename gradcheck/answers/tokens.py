"""From plain text to tokens, each with its place in what was typed; LaTeX becomes the same signs.

Limits: 500 tokens, names of 32 characters, numbers of 30 significant digits.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from gradcheck.answers.characters import ADVICE, GREEK, Typed, as_table, fault_at
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
    r"|\\(?P<command>(?:sum|int|prod|lim|[lr]?[vV]ert)(?![A-Za-z])"
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
    places, make = plain.places, tuple.__new__  # Token(...) takes four times as long
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
        start, end = m.span()
        shown, start, end = m[kind], places[start], places[end - 1] + 1
        if kind == "op":
            shown = OPS.get(shown, shown)
        elif kind == "number":
            if len(shown) > DIGITS or not shown.isdigit():
                _check_number(typed, start, shown)
        elif kind == "word":
            while shown[0] in GREEK and len(shown) > 1 and shown[1] != "_":  # a name by itself
                tokens.append(Token("word", shown[0], start, start + 1, spaced))
                shown, start, spaced = shown[1:], start + 1, False
            short = shown.isalnum() and len(shown) <= NAME
            shown = shown if short else _check_word(typed, start, shown)
        elif kind in SET:
            kind, shown = "line" if kind == "line" else "op", SET[kind]
        elif kind == "string":
            shown = shown.strip()[1:-1].replace(" ", "")
        else:
            kind, shown = _name_command(typed, kind, shown, start)
        tokens.append(make(Token, (kind, shown, start, end, spaced)))
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


BLANK = re.compile(r"[\d.\]] [-+\[\d.]")
SIGNED = re.compile(r"[\d.][-+]|[-+] ")


def spell(tokens: Iterable[Token]) -> str:
    """The plain spelling of tokens, a blank after each: what patterns of tokens are searched in."""
    return " ".join([*[token.text for token in tokens], ""])


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


def parts_digits(tokens: Sequence[Token], k: int) -> bool:
    """Whether a comma stands between digits without a blank: `2,5`."""
    if not (tokens[k].text == "," and 0 < k < len(tokens) - 1 and not tokens[k].spaced):
        return False
    after = tokens[k + 1]
    return tokens[k - 1].kind == after.kind == "number" and not after.spaced


def closing_at(tokens: Sequence[Token], opening: int) -> int:
    """The place of the bracket that closes one; the end if none does."""
    pairs = enumerate(levels(tokens[opening:]), opening)
    return next((at for at, level in pairs if level == 0), len(tokens) - 1)


def is_of_blanks(inside: Sequence[Token]) -> bool:
    """Whether blanks alone part the numbers of a list: `[1 -2.5 3]`, `[[1 2] [3 4]]`."""
    if any(not (t.kind in ("number", "line") or t.text in "+-[];") for t in inside):
        return False
    text = "".join(" " * token.spaced + token.text for token in inside).strip()
    return bool(BLANK.search(text)) and not SIGNED.search(text)


# -- texts without what stands around them

LEADING = frozenset(["=", "≈", ":", "=>", "·", ";", ",", "...", "\n"])
TRAILING = frozenset([".", ",", ";", ":", "?", "=", "...", "≈", "=>", "\n"])


def without_columns(tokens: list[Token]) -> list[Token]:
    """A text without dollar signs and the signs that align its equals signs, or begin a line."""
    tokens = [t for t in tokens if t.text not in ("$", "$$")]
    ends = Token("end", "", 0, 0)
    kept = []
    for before, token, after in zip([ends, *tokens], tokens, [*tokens[1:], ends], strict=False):
        aligned = before.kind == "line" or not {before.text, after.text}.isdisjoint(LINKS)
        kept += [] if token.text == "&" and aligned else [token]
    return kept


def without_quotes(tokens: list[Token]) -> list[Token]:
    """A text without the marks of quotation, or Markdown's stars, at both ends."""
    while len(tokens) > 1 and tokens[0].text in ('"', "`", "'", "^"):
        last = max((k for k, t in enumerate(tokens) if t.text == tokens[0].text), default=0)
        if last == 0 or any(t.text not in TRAILING for t in tokens[last + 1 :]):
            break
        tokens = [*tokens[1:last], *tokens[last + 1 :]]
    return tokens


def strip(tokens: Sequence[Token]) -> list[Token]:
    first, last = 0, len(tokens)
    while first < last and tokens[first].text in LEADING:
        first += 1
    while first < last and tokens[last - 1].text in TRAILING:
        last -= 1
    return [*tokens[first:last]]


def glue(tokens: Sequence[Token], name: str, pattern: str = "") -> list[Token]:
    """The tokens with a name of several, or what a pattern finds, as one word."""
    parts = pattern or re.escape(" ".join(re.findall(r"\w+|\W", name)) + " ")
    found = list(tokens)
    text = spell(tokens)
    for match in reversed([*re.finditer(rf"(?<!\S)(?:{parts})", text)]):
        start, stop = (text.count(" ", 0, at) for at in match.span())
        first, last = found[start], found[stop - 1]
        found[start:stop] = [Token("word", name, first.start, last.end, first.spaced)]
    return found


def mentions(name: str, tokens: Sequence[Token]) -> bool:
    return any(token.text == name for token in tokens)
