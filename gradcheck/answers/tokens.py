"""From plain text to tokens, each with its place in what was typed; LaTeX becomes the same signs.

Limits: 500 tokens, names of 32 characters, numbers of 30 significant digits.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from gradcheck.answers.characters import ADVICE, GREEK, Typed, fault_at
from gradcheck.errors import TYPED_EXPONENT

TOKENS, NAME, DIGITS = 500, 32, 30

FONTS = (
    "mathrm|mathbf|mathit|mathsf|mathbb|operatorname\\*?|boldsymbol|bm|mathnormal|text|textrm"
    "|textit|texttt|mbox|vec"
)
TOKEN = re.compile(
    r"(?P<blank>[ ]+|\\(?:[,;:! ]|q?quad\b|(?:display|text)style\b|thinspace\b|limits\b|nonumber\b"
    r"|notag\b|ensuremath\b|underline\b|overline\b|boxed\b|fbox\b))"
    r"|(?P<number>(?:\d+(?:\.(?![*/^.])\d*)?|\.\d+)(?:[eE][+-]?\d+)?)"
    rf"|\\(?:{FONTS})\s*(?:\{{\s*(?P<font>[A-Za-z](?:\w|\\_)*)\s*\}}|(?P<letter>[A-Za-z]\b)"
    r"|\{(?P<said>[^{}\\]*)\})"
    r"|(?P<line>\n|\\\\|\\newline\b)"
    r"|\\begin\s*\{(?P<begin>[a-zA-Z]+)\*?\}(?:\{[lcr| ]+\})?|\\end\s*\{(?P<end>[a-zA-Z]+)\*?\}"
    r"|\\(?P<command>(?:sum|int|prod|lim)(?![A-Za-z])|[A-Za-z]+(?:\s*_\s*(?:[A-Za-z0-9]|\{\s*\w+\s*\}))?|.)"
    r"|(?P<string>(?<=einsum\()\s?(?:'[A-Za-z, ]{1,60}(?:->[A-Za-z ]{0,12})?'"
    r"|\"[A-Za-z, ]{1,60}(?:->[A-Za-z ]{0,12})?\"))"
    r"|(?P<word>[^\W\d_]\w*(?:(?<=_)\{\w+\})?|_\w+|_\{\w+\})"
    r"|(?P<op>\.[*/^]|\*\*|<=|>=|==|!=|:=|=>|->|//|\.\.\.|\$\$?|.)",
    re.DOTALL,
)
OPS = {"**": "^", ".*": "⊙", "./": "/", ".^": "^", "->": "=>", ":=": "="}
BARS = {"|": "|", "vert": "|", "lvert": "|(", "rvert": "|)", "Vert": "‖", "lVert": "‖"}
SIGNS = {
    **dict.fromkeys(["cdot", "bullet"], "·"),
    **dict.fromkeys(["times", "ast"], "*"),
    **dict.fromkeys(["odot", "circ"], "⊙"),
    **dict.fromkeys(["div", "oslash"], "/"),
    **dict.fromkeys(["le", "leq", "leqslant"], "<="),
    **dict.fromkeys(["ge", "geq", "geqslant"], ">="),
    **dict.fromkeys(["ne", "neq"], "!="),
    **dict.fromkeys(["lt"], "<"),
    **dict.fromkeys(["gt"], ">"),
    **dict.fromkeys(["Rightarrow", "implies", "to", "rightarrow"], "=>"),
    **dict.fromkeys(["{", "lbrace"], "("),
    **dict.fromkeys(["}", "rbrace"], ")"),
    "lbrack": "[",
    "rbrack": "]",
    "(": "$",
    ")": "$",
    "[": "$",
    "]": "$",
    **BARS,
    **dict.fromkeys(["rVert", "|"], "‖"),
    "langle": "⟨",
    "rangle": "⟩",
    "degree": "°",
    "prime": "'",
    "%": "%",
    **dict.fromkeys(["approx", "simeq"], "≈"),
    "partial": "∂",
    "nabla": "∇",
    "sum": "∑",
    "in": "∈",
    **{sign: sign for sign in "*^+-/=<>_$&#"},
    "colon": ":",
    **dict.fromkeys(["frac", "dfrac", "tfrac", "cfrac", "nicefrac", "sfrac", "flatfrac"], "frac"),
    "sqrt": "root",
    **dict.fromkeys(["land", "wedge"], "and"),
    **dict.fromkeys(["lor", "vee"], "or"),
}
SIZED = re.compile(r"(?:left|right|middle|[bB]igg?[lr]?)\*?\Z")
FRAMED = "equation align aligned gather displaymath math split alignat eqnarray gathered"
FRAMES = frozenset(FRAMED.split())
ROWS = frozenset(["pmatrix", "bmatrix", "vmatrix", "Bmatrix", "matrix", "smallmatrix", "array"])
CASES = frozenset(["cases", "dcases", "rcases"])


class Token(NamedTuple):
    """A piece of the text: kind, plain spelling, place, and whether a blank precedes it."""

    kind: str
    text: str
    start: int
    end: int
    spaced: bool = False


def tokenize(  # noqa: PLR0912, PLR0915 - one case a kind
    typed: str, plain: Typed, first: int = 0, stop: int | None = None
) -> list[Token]:
    """The tokens of a text or of a stretch; what cannot be one is refused where it stands."""
    text, places = plain.text, plain.places
    stop = len(text) if stop is None else stop
    tokens: list[Token] = []
    spaced, sized, braced = False, "", False
    for m in TOKEN.finditer(text, first, stop):
        kind = m.lastgroup or ""
        shown = m[kind]
        if kind == "blank":
            spaced = True
            continue
        start, end = places[m.start()], places[m.end() - 1] + 1
        if kind == "op":
            shown = OPS.get(shown, shown)
        elif kind == "number":
            _within_limits(typed, start, shown)
        elif kind == "word":
            if shown[0] in GREEK or len(shown) > NAME or "{" in shown:
                tokens += _words(typed, shown, start, end, spaced)
                spaced = False
                continue
        elif kind == "command":
            if SIZED.match(shown):
                sized, spaced = shown, True
                continue
            kind, shown = _command(typed, shown, start)
        elif kind in ("font", "letter"):
            kind, shown = "word", shown.replace("\\", "")
            if shown == "mathbb":
                continue
        elif kind == "said":
            said = tokenize(typed, plain, *m.span("said"))
            tokens += [token._replace(spaced=True) for token in said]
            spaced = True
            continue
        elif kind == "string":
            shown = shown.strip()[1:-1].replace(" ", "")
        elif kind in ("begin", "end"):
            if shown in FRAMES:
                continue
            if shown not in ROWS | CASES:
                message = f"\\begin{{{shown}}} is not read here"
                raise fault_at(typed, start, message, ADVICE["begin"])
            if shown == "array" and kind == "begin" and tokens:
                last = tokens[-1].start
                braced = typed[last : last + 2] == r"\{"  # cases, as editors write them
                del tokens[len(tokens) - braced :]
            cases = shown in CASES or (braced and shown == "array")
            braced = braced and kind == "begin"
            kind, shown = "op", ("⦃⦄" if cases else "⟦⟧")[kind == "end"]
        if sized:
            if shown == ".":
                if "left" in sized and not text[m.end() :].count("\\right"):
                    message = "a sized bracket without its bracket"
                    raise fault_at(typed, start - 5, message, "write ( or ) after it", 5)
                sized = ""
                continue
            if shown == "|":
                shown = "|(" if "left" in sized or sized[-1] == "l" else "|)"
            sized = ""
        tokens.append(Token(kind, shown, start, end, spaced))
        spaced = False
    if len(tokens) > TOKENS:
        message = f"more than {TOKENS} signs and names"
        raise fault_at(typed, tokens[TOKENS].start, message, "simplify it first")
    return tokens


def _words(typed: str, word: str, start: int, end: int, spaced: bool) -> list[Token]:
    """A Greek letter is a name by itself, unless a subscript follows; braces go."""
    letters: list[Token] = []
    while word[0] in GREEK and len(word) > 1 and word[1] != "_":
        letters.append(Token("word", word[0], start, start + 1, spaced))
        word, start, spaced = word[1:], start + 1, False
    word = _within_length(typed, start, word.replace("{", "").replace("}", ""))
    return [*letters, Token("word", word, start, end, spaced)]


def _command(typed: str, command: str, start: int) -> tuple[str, str]:
    """The kind and the plain spelling of a LaTeX command."""
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
    """Refuse a number with too many digits or too large an exponent."""
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
    """The tokens that a pattern was found in."""
    return text.count(" ", 0, found.start()), text.count(" ", 0, found.end())


OPENING, CLOSING = frozenset("([{⟨⟦⦃"), frozenset(")]}⟩⟧⦄")
LINKS = frozenset(["=", "=>", "≈"])
TRAILING = frozenset([".", ",", ";", ":", "?", "=", "...", "≈", "=>"])
UNEQUAL = frozenset(["<", ">", "<=", ">=", "!="])


def levels(tokens: Iterable[Token]) -> Iterator[int]:
    """How many brackets and environments are open at each token: the one it opens, too."""
    level = 0
    for token in tokens:
        if token.kind == "op":
            level += (token.text in OPENING) - (token.text in CLOSING)
        yield level


def split(
    tokens: Sequence[Token], parts: Callable[[int, int], str]
) -> Iterator[tuple[str, int, int]]:
    """The stretches between tokens that part them outside of brackets, and what is before each.

    `parts` is asked what a token is, given its place and where the stretch before it began.
    """
    at, before = 0, ""
    for k, level in enumerate(levels(tokens)):
        if level <= 0 and (sign := parts(k, at)):
            yield before, at, k
            at, before = k + 1, sign
    yield before, at, len(tokens)


def is_decimal_comma(tokens: Sequence[Token], at: int) -> bool:
    """Whether a comma stands tight between two numbers."""
    if not 0 < at < len(tokens) - 1 or tokens[at].text != ",":
        return False
    before, after = tokens[at - 1], tokens[at + 1]
    return before.kind == after.kind == "number" and not after.spaced


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
    """Tokens without such signs, or line breaks, at both ends."""
    first, last = 0, len(tokens)
    while first < last and _is_sign(tokens[first], leading):
        first += 1
    while first < last and _is_sign(tokens[last - 1], trailing):
        last -= 1
    return tokens[first:last]


def _is_sign(token: Token, among: Collection[str]) -> bool:
    return token.kind == "line" or (token.kind == "op" and token.text in among)
