"""From what was typed to tokens, each with its place: characters, LaTeX, and signs that are alike.

Characters of phones, word processors, browsers and PDF files become those that formulas are made
of; each plain one remembers where it was typed. Limits: 500 tokens, names of 32 characters, numbers
of 30 significant digits.
"""

import html
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from gradcheck.errors import TYPED_EXPONENT, Complaint, TextError


def as_table(text: str) -> dict[str, str]:
    """Rows such as `sin: sen seno; cos: coseno`, by what stands for each."""
    rows = (row.split(": ") for row in text.replace("\n", "; ").split("; ") if row)
    return {word: name for name, words in rows for word in words.split()}


def as_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


ABOVE = "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾ⁿⁱˣʸᵗᵏᵐᵃᵇᶜᵈᵉᶠᵍʰʲˡᵒᵖʳˢᵘᵛʷᶻᐟᵀ⊤"
BELOW = "₀₁₂₃₄₅₆₇₈₉ᵢⱼₖₗₘₙₐₑₒₓₚₛₜᵣᵤᵥₕ"
LETTERS = "αβγδεζηθικλμνξπρστυφχψωΓΔΘΛΞΠΣΦΨΩϵϕϑµςħ"
SPELLINGS = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau "
    "upsilon phi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega "
    "epsilon phi theta mu sigma hbar"
)
GREEK = dict(zip(LETTERS, SPELLINGS.split(), strict=True))
LOOK_ALIKES = dict(
    zip(
        "асеһіјкорԛѕтухАВСЕНІЈКМОРЅТУХΑΒΕΖΗΙΚΜΝΟΡΤΥΧο",
        "acehijkopqstyxABCEHIJKMOPSTYXABEZHIKMNOPTYXo",
        strict=True,
    )
)
SAME = (
    dict.fromkeys("−–—‐‑‒―⁃﹣➖", "-")
    | dict.fromkeys("×∗✕✖⨯╳⨉⋆✱", "*")
    | dict.fromkeys("·⋅∙•‧・･ꞏ", "·")
    | dict.fromkeys("÷∕⁄➗⊘", "/")
    | dict.fromkeys("′’ʹ´ʼ‵‛＇", "'")
    | dict.fromkeys("⊙∘", "⊙")
    | dict.fromkeys("ˆ⌃ꞈ↑", "^")
    | dict.fromkeys("∣❘ǀ⏐│", "|")
    | dict.fromkeys("〖⟮❨", "(")
    | dict.fromkeys("〗⟯❩", ")")
    | dict.fromkeys("⇒⟹➔→⟶∴", "=>")
    | dict.fromkeys("“”„«»", '"')
    | dict.fromkeys("⎧⎨⎩⎪", "")
    | {"∎": "", "\u2061": "", "\u2063": ",", "\u2064": "+", "。": ".", "、": ","}
    | {"≔": "=", "≡": "=", "➕": "+", "∶": ":", "‘": "'", "ᐟ": "/", "⊤": "T", "″": "''"}
    | {"≤": "<=", "≥": ">=", "≠": "!=", "…": "...", "\u2062": "*", "\t": " ", "\r": " "}
)
PLAIN = frozenset("√∛°≈‖⟨⟩∂∇∑∈ℝ∞⊗") | frozenset(GREEK)
ACCENTS = {"\u0302": "_hat", "\u0303": "_tilde", "\u0304": "_bar", "\u0305": "_bar"}
LATIN = re.compile("[A-Za-z]+")
ALONE = re.compile("(?<![A-Za-z])|(?<=(?<![A-Za-z])d)")  # as in ŷ and dŷ, not in même
STRUCK = frozenset("\u0335\u0336\u0337\u0338\u20d2\u20d3\u20e5\u20e6")
LOST = {"\x0c": "\\f", "\x08": "\\b", "\x0b": "\\v", "\x07": "\\a", "\t": "\\t", "\r": "\\r"}
"""`\\frac` read as an escape."""
BOLD = re.compile(
    r"(?m)\*\*(?:(?<=^..)()|(?<=\s..))(?=\S)(.+?)(?<=\S)\*\*"
    r"(?=\s*(?:[,;:!?=]|\.(?!\d)|$)|(?(1)\s|(?!)))"
)
ODD = re.compile(
    r"(?P<gone>['’\u202f\u2009\u00a0](?<=\d.)(?=\d{3}(?!\d))|\\(?=[\^*_])"
    r"|</?(?:p|br|i|b|em|strong|span|div|font|code|var|u)(?: [\w-]+=[^<>]*)? ?/?>)"
    r"|(?P<entity>&(?:[A-Za-z]{2,10}\d?|#\d{2,6}|#[xX][0-9A-Fa-f]{2,5});)"
    r"|<(?P<raised>sup|sub)>(?P<inside>[^<>]*)</(?P=raised)>"
    rf"|(?P<above>[{ABOVE}]+)|(?P<below>[{BELOW}]+)"
    r"|(?P<lost>[\x07\x08\x0b\x0c](?=[a-z])|\t(?=an|heta|imes|frac|au|ext)|\r(?=ight|ho|m\b))"
    r"|(?P<bare>(?<![\\A-Za-z_])(?=(?:[dt]?frac\s*\{|left\s*[(\[|]|right\s*[)\]|])))"
    rf"|(?P<marked>[A-Za-z=<>{LETTERS}][\u0300-\u036f\u20d0-\u20ff])"
    r"|(?P<other>[^\n -~])",
    re.IGNORECASE,
)
SUSPECT = re.compile(r"[^\n -%(-;=-\[\]-~]|(?i:frac|left|right)")
"""With one of these all that is odd begins: most texts have none, and are left as they are."""


class Typed(NamedTuple):
    text: str
    places: Sequence[int]
    notes: list[str]


def write_plainly(typed: str) -> Typed:
    """A typed text in the characters that formulas are made of."""
    typed = BOLD.sub(r"  \2  ", typed)
    if not SUSPECT.search(typed):
        return Typed(typed, range(len(typed) + 1), [])
    text, at = "", 0
    places: list[int] = []
    notes: list[str] = []
    for odd in ODD.finditer(typed):
        start, stop = odd.span()
        new = _replace_odd(typed, odd, notes)
        text += typed[at:start] + new
        places += [*range(at, start), *[start] * len(new)]
        at = stop
    return Typed(text + typed[at:], [*places, *range(at, len(typed) + 1)], notes)


def _replace_odd(typed: str, odd: re.Match[str], notes: list[str]) -> str:
    whole = unicodedata.normalize("NFD", odd[0])
    alone = ALONE.match(typed, odd.start()) and not LATIN.match(typed, odd.end())
    if alone and whole[1:] in ACCENTS and whole[0].isalpha():
        return whole[0] + ACCENTS[whole[1:]]
    match odd.lastgroup:
        case "other":
            return _replace_character(odd[0], notes, typed, odd.start())
        case "marked" if len(whole := unicodedata.normalize("NFC", odd[0])) == 1:
            return _replace_character(whole, notes, typed, odd.start())
        case "gone":
            return ""
        case "bare":
            return "\\"
        case "lost":
            return LOST[odd[0]]
        case "inside":
            inside = odd["inside"]
            return f"^{{{inside}}}" if odd["raised"].lower() == "sup" else f"_{inside}"
        case "above" | "below" as where:
            raised = "".join(_find_equal(char) or "" for char in odd[0])
            sign = "^" if where == "above" else "_"
            return f"{{{raised}}}" if typed[: odd.start()].endswith(sign) else f"{sign}{{{raised}}}"
    shown = html.unescape(odd[0])
    return "".join(_replace_character(char, notes, typed, odd.start()) for char in shown)


def _replace_character(char: str, notes: list[str], typed: str, at: int) -> str:
    if char in LOOK_ALIKES:
        script = unicodedata.name(char).split()[0].capitalize()
        notes.append(f"{char} ({script}) is read as {LOOK_ALIKES[char]}")
        return LOOK_ALIKES[char]
    plain = _find_equal(char)
    if char in STRUCK:
        raise make_fault(typed, at, "something is struck out", "leave out what is not meant")
    if plain == "" and char not in SAME and not unicodedata.name(char).startswith("VARIATION"):
        shown = char if char.isprintable() and not unicodedata.combining(char) else ""
        notes.append(f"`{shown or unicodedata.name(char).lower()}` is left out")
    if plain is None:
        name = unicodedata.name(char, "a control character")
        cure = ADVICE.get(char) or ("leave it out" if char.isascii() else "write it in plain ASCII")
        raise make_fault(typed, at, f"U+{ord(char):04X} ({name.lower()}) is not read here", cure)
    if plain[0:1] == "(" != plain and typed[at - 1 : at].isdigit():
        raise make_fault(typed, at, "a mixed number", "write 2 + 1/2, or 2.5")
    return f"^{{{plain}}}" if char in ABOVE else plain


@lru_cache(maxsize=1024)
def _find_equal(char: str) -> str | None:
    """The plain characters that are the same to everybody; None: there are none."""
    if char in SAME:
        return SAME[char]
    below, category = unicodedata.normalize("NFKC", char), unicodedata.category(char)
    if unicodedata.decomposition(char).startswith("<fraction>"):  # ½, but ⅟ too
        return f"({below.replace('⁄', '/')})" if below[-1] != "⁄" else "1/"
    if category in ("Cf", "So", "Mn") and below not in PLAIN:
        return ""
    if below in PLAIN or (len(below) == 1 and below.isascii() and below.isprintable()):
        return below
    if char.isalpha() or category in ("Zs", "Nd"):
        return {"Zs": " ", "Nd": str(unicodedata.decimal(char, ""))}.get(category, char)
    return SAME.get(below) if len(below) == 1 else None


DERIVATIVE = "give the derivative itself, without derivative signs"
ADVICE = {
    **dict.fromkeys(["partial", "nabla", "∂", "∇"], DERIVATIVE),
    "prod": "write prod(...), or the factors",
    **dict.fromkeys(["int", "∫"], "give the formula itself, without integral signs"),
    "lim": "give the formula itself, without limits",
    **dict.fromkeys(["infty", "∞"], "a derivative is a formula; infinity is not read"),
    "begin": "write a list of rows: [[a, b], [c, d]]",
    **dict.fromkeys(["pm", "mp", "±", "∓"], "choose one sign: + or -"),
    **dict.fromkeys('"`', "leave the quotation marks out"),
    "∜": "write x^(1/4)",
}
"""What is said of a LaTeX command that is not read, and of the sign that it prints."""


def make_fault(text: str, at: int, message: str, cure: str = "", width: int = 1) -> TextError:
    """The error to raise for a fault at character `at` (from 0) of the text."""
    shown = "".join(char if char.isprintable() else " " for char in text)
    return TextError([Complaint(message, cure, column=at + 1, source=shown, width=width)])


def clip(text: str, size: int = 40) -> str:
    return text if len(text) <= size else text[: size - 3] + "..."


# -- tokens ----------------------------------------------------------------------------------------

TOKENS, NAME, DIGITS = 500, 32, 30

FONTS = (
    "mathcal|mathscr|mathfrak|mathrm|mathbf|mathit|mathsf|mathbb|operatorname\\*?|boldsymbol|bm|mathnormal|text|textrm"
    "|textit|texttt|mbox|vec"
)
FRAMES = "equation|aligned|align|gathered|gather|displaymath|math|split|alignat|eqnarray"
SPACES = "q?quad|(?:display|text)style|thinspace|limits|nonumber|notag|ensuremath|underline"
ACCENTED = (
    r"(?:(?:wide)?(?:hat|bar|tilde)|overline)(?![A-Za-z])\s*(?:\\[A-Za-z]+|[A-Za-z]"
    r"|\{\s*(?:\\?[A-Za-z]+|\\[a-z]+\s*\{\s*[A-Za-z]+\s*\})\s*\})"
)
COLUMNS = r"(?:\{[lcr| ]+\})?"
EASTERN = "\u3005-\ud7ff"  # no blank parts their words from a formula
TOKEN = re.compile(
    r"(?P<blank>[ ]+)|(?P<number>(?:\d+(?:\.(?![*/^.])\d*)?|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<word>w\.r\.t\.|d\.p\.|s\.f\.|[a-z]{2,6}n't(?!\w)"
    rf"|[{EASTERN}]+|[^\W\d_][^\WΣ{EASTERN}]*(?:(?<=_)\{{\\?\w+\}})?|_\w+|_\{{\w+\}})"
    r"|(?P<string>(?<=einsum\()\s?(['\"])[A-Za-z, ]{1,60}(?:->[A-Za-z ]{0,12})?\5)"
    r'|(?P<primes>(?<=[A-Za-z])"(?=\(|\s*=))'
    r"|(?P<op>\.[*/^]|\*\*|<=|>=|==|!=|:=|=>|->|//|\.\.\.|\$\$?|[^\\\n])"
    r"|(?P<line>\n|(?:\\\\(?:\[\d+[a-z]{2}\])?|\\newline\b)[ ]*\n?)"
    r"|(?P<left>\\(?:left|[bB]igg?l)\s*\|)|(?P<right>\\(?:right|[bB]igg?r)\s*\|)"
    rf"|\\(?P<accent>{ACCENTED})"
    rf"|(?P<gap>\\(?:[,;:! ]|(?:{SPACES}|boxed|fbox)(?![A-Za-z])|(?:{FONTS})\s*(?=\\[A-Za-z])"
    r"|(?:left|right|middle|[bB]igg?[lr]?)(?![A-Za-z])\*?\s*\.?))"
    rf"|(?P<frame>\\(?:begin|end)\s*\{{(?:{FRAMES})\*?\}}{COLUMNS})"
    rf"|\\(?:{FONTS})\s*(?:\{{\s*\\?(?P<font>[A-Za-z](?:\w|\\_)*)\s*\}}|(?P<letter>[A-Za-z]\b)"
    r"|\{(?P<said>[^{}\\]*)\})"
    rf"|(?P<cases>(?:\\\{{\s*\\begin\s*\{{array\}}|\\begin\s*\{{[dr]?cases\*?\}}){COLUMNS})"
    rf"|(?P<rows>\\begin\s*\{{(?:[pbvB]?matrix|smallmatrix|array)\*?\}}{COLUMNS})"
    r"|(?P<end>\\end\s*\{(?:[dr]?cases|[pbvB]?matrix|smallmatrix|array)\*?\})"
    r"|\\(?P<command>(?:sum|int|prod|lim|[lr]?[vV]ert)(?![A-Za-z])"
    r"|[A-Za-z]+(?:\s*_\s*(?:[A-Za-z0-9]|\{\s*\\?\w+\s*\}))?|.)|(?P<lone>.)",
    re.DOTALL,
)
GOES_ON = "..."  # right behind a number: its decimals do
DECIMALS = re.compile(r"\d+\.?\d*|\.\d+")
UNSEEN = frozenset(["blank", "gap", "frame"])
OPS = {"**": "^", ".*": "⊙", "./": "/", ".^": "^", "->": "=>", ":=": "="}
SET = {"line": "\n", "left": "|(", "right": "|)", "cases": "⦃", "rows": "⟦", "end": "⟧"}
SET["primes"] = "''"  # f"(x)
COMMANDS = {
    **{sign: sign for sign in "*^+-/=<>_$&#%"},
    **dict.fromkeys("()[]", "$"),
    "otimes": "⊗",
    **as_table(r"""
·: cdot bullet; *: times ast; ⊙: odot circ; /: div oslash; <: lt; >: gt; <=: le leq leqslant
>=: ge geq geqslant; !=: ne neq; =>: Rightarrow implies to rightarrow; (: { lbrace; ): } rbrace
[: lbrack; ]: rbrack; ⟨: langle; ⟩: rangle; |: vert; |(: lvert; |): rvert; ‖: Vert lVert rVert |
≈: approx simeq; \frac: frac dfrac tfrac cfrac nicefrac sfrac flatfrac; \sqrt: sqrt; ∑: sum; ∈: in
and: land wedge; or: lor vee; ...: dots ldots; °: degree; ': prime; :: colon; ∂: partial; ∇: nabla
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


Tokens = Sequence[Token]
END = Token("end", "", 0, 0)


def tokenize(typed: str) -> tuple[list[Token], list[str]]:
    """The tokens of a text, and notes on its characters; what cannot be one is refused there."""
    plain = write_plainly(typed)
    return _scan(typed, plain, 0, len(plain.text)), plain.notes


def _scan(typed: str, plain: Typed, first: int, stop: int) -> list[Token]:
    tokens: list[Token] = []
    spaced = False
    places, make = plain.places, tuple.__new__  # Token(...) takes four times as long
    for m in TOKEN.finditer(plain.text, first, stop):
        kind, shown = m.lastgroup or "", m[0]
        if kind in UNSEEN:
            spaced |= kind != "frame"
            continue
        start, end = m.span()
        start, end = places[start], places[end]
        if kind == "op":
            shown = OPS.get(shown, shown)
        elif kind == "number":
            if len(shown) > DIGITS or not shown.isdigit():
                _check_number(typed, start, shown)
        elif kind == "said":
            said = _scan(typed, plain, *m.span("said"))
            tokens += [token._replace(spaced=True) for token in said]
            spaced = True
            continue
        elif kind == "word":
            while shown[0] in GREEK and not (shown[1:].isdigit() or shown[1:2] in ("", "_")):
                tokens.append(Token("word", shown[0], start, start + 1, spaced))
                shown, start, spaced = shown[1:], start + 1, False
            short = shown.isalnum() and len(shown) <= NAME
            shown = shown if short else _check_word(typed, start, shown)
        elif kind in SET:
            kind, shown = "line" if kind == "line" else "op", SET[kind]
        else:
            kind, shown = _name_command(typed, kind, m[kind], start)
        if shown == GOES_ON and not spaced and tokens and DECIMALS.fullmatch(tokens[-1].text):
            kind, shown, start, _, spaced = tokens.pop()
            shown += GOES_ON
        tokens.append(make(Token, (kind, shown, start, end, spaced)))
        spaced = False
    if len(tokens) > TOKENS:
        message = f"more than {TOKENS} signs and names"
        raise make_fault(typed, tokens[TOKENS].start, message, "simplify it first")
    return tokens


def _name_command(typed: str, kind: str, command: str, start: int) -> tuple[str, str]:
    if kind == "string":
        return kind, command.strip()[1:-1].replace(" ", "")
    if kind in ("font", "letter"):
        return "word", command.replace("\\", "")
    if kind == "accent":  # \hat{y} is y_hat
        accent, *_, letter = LATIN.findall(command)
        return "word", f"{letter}_{accent.removeprefix('wide').replace('overline', 'bar')}"
    sign = COMMANDS.get("nabla" if command.startswith("nabla_") else command)
    if sign is not None:
        return "op", sign
    if command in ("top", "intercal"):
        return "transpose", "T"
    if command in ADVICE:
        message = f"\\{command} is not read here"
        raise make_fault(typed, start, message, ADVICE[command], len(command) + 1)
    if not command[0].isalpha():
        raise make_fault(typed, start, "a backslash without a command", "leave it out")
    return "word", _check_word(typed, start, re.sub(r"\s", "", command))


def _check_word(typed: str, start: int, word: str) -> str:
    word = re.sub(r"[{}\\.]", "", word)
    if len(word) > NAME:
        message = f"a name of {len(word)} letters: at most {NAME} are read"
        raise make_fault(typed, start, message, "write * between factors", len(word))
    return word


def _check_number(typed: str, start: int, digits: str) -> None:
    mantissa, _, exponent = digits.lower().partition("e")
    significant = len(mantissa.replace(".", "").lstrip("0"))
    if significant > DIGITS:
        message = f"a number of {significant} digits: at most {DIGITS} are read"
        raise make_fault(typed, start, message, "round it", len(digits))
    if len(exponent) > 5 or abs(int(exponent or 0)) > TYPED_EXPONENT:
        message = f"the exponent of {digits[:20]} is beyond {TYPED_EXPONENT}"
        raise make_fault(typed, start, message, "write it as a formula", len(digits))


CLOSING = {"(": ")", "[": "]", "{": "}", "⟨": "⟩", "⟦": "⟧", "⦃": "⟧", "|(": "|)"}
STEPS = dict.fromkeys(CLOSING, 1) | dict.fromkeys(CLOSING.values(), -1)
LINKS = frozenset(["=", "=>", "≈"])
UNEQUAL = frozenset(["<", ">", "<=", ">=", "!="])
BLANK = re.compile(r"[\d.\]] [-+\[\d.]")
SIGNED = re.compile(r"[\d.][-+]|[-+] ")


def spell(tokens: Iterable[Token]) -> str:
    """The plain spelling of tokens, a blank after each: what patterns of tokens are searched in."""
    return " ".join([*[token.text for token in tokens], ""])


def count_levels(tokens: Iterable[Token]) -> Iterator[int]:
    """How many brackets and environments are open at each token: the one it opens, too."""
    level = 0
    for token in tokens:
        level += STEPS.get(token.text, 0)
        yield level


class Clause(NamedTuple):
    """A stretch of tokens, and that which parts it from the one before."""

    sign: Token
    tokens: list[Token]

    @property
    def word(self) -> str:
        return self.sign.text.lower()


def split(tokens: Tokens, parts: Callable[[int, Tokens], bool]) -> list[Clause]:
    """The stretches between tokens that part them outside of brackets.

    `parts` is asked whether a token does, given its place and the stretch before it.
    """
    found = [Clause(END, [])]
    for k, level in enumerate(count_levels(tokens)):
        if level <= 0 and parts(k, found[-1].tokens):
            found.append(Clause(tokens[k], []))
        else:
            found[-1].tokens.append(tokens[k])
    return found


def parts_digits(tokens: Tokens, k: int) -> bool:
    """Whether a comma stands between digits without a blank: `2,5`."""
    if not (tokens[k].text == "," and 0 < k < len(tokens) - 1 and not tokens[k].spaced):
        return False
    after = tokens[k + 1]
    return tokens[k - 1].kind == after.kind == "number" and not after.spaced


def find_closing(tokens: Tokens, opening: int) -> int:
    """The place of the bracket that closes one; the end if none does."""
    pairs = enumerate(count_levels(tokens[opening:]), opening)
    return next((at for at, level in pairs if level == 0), len(tokens) - 1)


def is_of_blanks(inside: Tokens) -> bool:
    """Whether blanks alone part the numbers of a list: `[1 -2.5 3]`, `[[1 2] [3 4]]`."""
    if any(not (t.kind in ("number", "line") or t.text in "+-[];") for t in inside):
        return False
    text = "".join(" " * token.spaced + token.text for token in inside).strip()
    return bool(BLANK.search(text)) and not SIGNED.search(text)


# -- texts without what stands around them

LEADING = frozenset(["=", "≈", "~", ":", "=>", "·", ";", ",", "...", "\n"])
TRAILING = frozenset([".", ",", ";", ":", "?", "=", "...", "≈", "=>", "\n"])


def without_columns(tokens: list[Token]) -> list[Token]:
    """A text without dollar signs and the signs that align its equals signs, or begin a line."""
    tokens = [t for t in tokens if t.text not in ("$", "$$")]
    kept = []
    for before, token, after in zip([END, *tokens], tokens, [*tokens[1:], END], strict=False):
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


def strip(tokens: Tokens) -> list[Token]:
    first, last = 0, len(tokens)
    while first < last and tokens[first].text in LEADING:
        first += 1
    while first < last and tokens[last - 1].text in TRAILING:
        last -= 1
    return [*tokens[first:last]]


def glue(tokens: Tokens, name: str, pattern: str = "") -> list[Token]:
    """The tokens with a name of several, or what a pattern finds, as one word."""
    parts = pattern or re.escape(" ".join(re.findall(r"\w+|\W", name)) + " ")
    found = list(tokens)
    text = spell(tokens)
    for match in reversed([*re.finditer(rf"(?<!\S)(?:{parts})", text)]):
        start, stop = (text.count(" ", 0, at) for at in match.span())
        first, last = found[start], found[stop - 1]
        found[start:stop] = [Token("word", name, first.start, last.end, first.spaced)]
    return found


def mentions(name: str, tokens: Tokens) -> bool:
    texts = [token.text for token in tokens if token.kind != "number"]
    below = [text.removeprefix(f"{name}_") for text in texts if text.startswith(f"{name}_")]
    return name in texts or any(each.isdigit() or not each[2:] for each in below)
