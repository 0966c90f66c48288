"""Characters of phones, word processors, browsers and PDF files, as those formulas are made of.

Each plain character remembers where it was typed.
"""

import html
import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from gradcheck.errors import Complaint, TextError

SUPERSCRIPTS = dict(
    zip(
        "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾ⁿⁱˣʸᵗᵏᵐᵃᵇᶜᵈᵉᶠᵍʰʲˡᵒᵖʳˢᵘᵛʷᶻᐟᵀ⊤",
        "0123456789+-()nixytkmabcdefghjloprsuvwz/TT",
        strict=True,
    )
)
SUBSCRIPTS = dict(zip("₀₁₂₃₄₅₆₇₈₉ᵢⱼₖₗₘₙₐₑₒₓₚₛₜᵣᵤᵥₕ", "0123456789ijklmnaeoxpstruvh", strict=True))
QUOTIENTS = "1/2 1/3 2/3 1/4 3/4 1/5 2/5 3/5 4/5 1/6 5/6 1/8 3/8 5/8 7/8"
FRACTIONS = dict(zip("½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞", QUOTIENTS.split(), strict=True))
LETTERS = "αβγδεζηθικλμνξπρστυφχψωΓΔΘΛΞΠΣΦΨΩϵϕϑµς"
SPELLINGS = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau "
    "upsilon phi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega "
    "epsilon phi theta mu sigma"
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
    | dict.fromkeys("ˆ⌃ꞈ", "^")
    | dict.fromkeys("∣❘ǀ⏐│", "|")
    | dict.fromkeys("〖⟮❨", "(")
    | dict.fromkeys("〗⟯❩", ")")
    | dict.fromkeys("⇒⟹➔→⟶", "=>")
    | dict.fromkeys("“”„«»", '"')
    | dict.fromkeys("⎧⎨⎩⎪", "")
    | {"≔": "=", "≡": "=", "⅟": "1/", "➕": "+", "∶": ":", "ⅇ": "e", "ⅈ": "i", "＝": "=", "‘": "'"}
    | {"≤": "<=", "≥": ">=", "≠": "!=", "…": "...", "\u2062": "*", "\t": " ", "\r": " "}
)
PLAIN = frozenset("√∛°≈‖⟨⟩∂∇∑∈ℝ∞") | frozenset(GREEK)
LOST = {"\x0c": "\\f", "\x08": "\\b", "\x0b": "\\v", "\x07": "\\a"}  # "\frac" read as an escape
THOUSANDS = r"(?<=\d)['’\u202f\u2009\u00a0](?=\d{3}(?!\d))"
ODD = re.compile(
    rf"(?P<thousands>{THOUSANDS})"
    r"|(?P<entity>&(?:[A-Za-z]{2,10}\d?|#\d{2,6}|#[xX][0-9A-Fa-f]{2,5});)"
    r"|<(?P<raised>sup|sub)>(?P<inside>[^<>]*)</(?P=raised)>"
    r"|(?P<tag></?(?:p|br|i|b|em|strong|span|div|font|code|var|u)(?: [^<>]*)?/?>)"
    rf"|(?P<above>[{''.join(SUPERSCRIPTS)}]+)|(?P<below>[{''.join(SUBSCRIPTS)}]+)"
    r"|(?P<lost>[\x07\x08\x0b\x0c](?=[a-z])|\t(?=an|heta|imes|frac|au|ext)|\r(?=ight|ho|m\b))"
    r"|(?P<bare>(?<![\\A-Za-z_])(?=(?:[dt]?frac\s*\{|left\s*[(\[|]|right\s*[)\]|])))"
    r"|(?P<escape>\\(?=[\^*_]))|(?P<other>[^\n -~])",
    re.IGNORECASE,
)

CALM = re.compile(r"(?:[^&<'\\fl\x00-\x09\x0b-\x1f\x7f-\U0010ffffr]|[flr](?!rac|eft|ight))*\Z")
"""What most people type: nothing of it is odd."""


class Typed(NamedTuple):
    """A text in plain characters, where each of them was typed, and what was noted on the way."""

    text: str
    places: Sequence[int]
    notes: list[str]


def in_plain(typed: str) -> Typed:
    """A typed text in the characters that formulas are made of."""
    if CALM.match(typed) or not ODD.search(typed):
        return Typed(typed, range(len(typed) + 1), [])
    text, places, notes, at = "", list[int](), list[str](), 0
    for odd in ODD.finditer(typed):
        start, stop = odd.span()
        new = _plain(typed, odd, notes)
        text += typed[at:start] + new
        places += range(at, start)
        places += [start] * len(new)
        at = stop
    text += typed[at:]
    places += range(at, len(typed) + 1)
    return Typed(text, places, notes)


def _plain(typed: str, odd: re.Match[str], notes: list[str]) -> str:
    """What stands for one odd piece of a text."""
    found = odd[0]
    match odd.lastgroup:
        case "thousands" | "tag" | "escape":
            return ""
        case "entity":
            return "".join(_character(c, notes, typed, odd.start()) for c in html.unescape(found))
        case "inside":
            return (
                f"^{{{odd['inside']}}}" if odd["raised"].lower() == "sup" else f"_{odd['inside']}"
            )
        case "above":
            return "^{" + "".join(SUPERSCRIPTS[c] for c in found) + "}"
        case "below":
            return "_{" + "".join(SUBSCRIPTS[c] for c in found) + "}"
        case "lost":
            return LOST.get(found) or {"\t": "\\t", "\r": "\\r"}[found]
        case "bare":
            return "\\"
    if found in FRACTIONS:
        if typed[odd.start() - 1 : odd.start()].isdigit():
            raise fault_at(typed, odd.start(), "a mixed number", "write 2 + 1/2, or 2.5")
        return f"({FRACTIONS[found]})"
    return _character(found, notes, typed, odd.start())


def _character(char: str, notes: list[str], typed: str, at: int) -> str:
    if char in SUPERSCRIPTS:
        return f"^{{{SUPERSCRIPTS[char]}}}"
    if char in FRACTIONS:
        return f"({FRACTIONS[char]})"
    if char in LOOK_ALIKES:
        alphabet = unicodedata.name(char, "foreign").split()[0].capitalize()
        notes.append(f"{char} ({alphabet}) is read as {LOOK_ALIKES[char]}")
        return LOOK_ALIKES[char]
    plain = _equal(char)
    if plain is None:
        raise foreign(typed, at)
    return plain


@lru_cache(maxsize=1024)
def _equal(char: str) -> str | None:
    """The plain characters that are the same to everybody; None: there are none."""
    if char in SAME:
        return SAME[char]
    if char in PLAIN or char.isalpha() or (char.isascii() and char.isprintable()):
        below = unicodedata.normalize("NFKC", char)
        return below if len(below) == 1 and (below.isascii() or below in PLAIN) else char
    category = unicodedata.category(char)
    if category in ("Cf", "So", "Mn"):
        return ""
    if category == "Zs":
        return " "
    if category == "Nd":
        return str(unicodedata.decimal(char))
    below = unicodedata.normalize("NFKC", char)
    if len(below) == 1 and below != char:
        return below if below.isascii() else SAME.get(below)
    return None


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
    "⊗": "write outer(a, b) for a column times a row",
}
"""What is said of a LaTeX command that is not read, and of the sign that it prints."""


def foreign(typed: str, at: int) -> TextError:
    """The refusal of a character outside the tables, by its code point, with a hint."""
    char = typed[at]
    name = unicodedata.name(char, "a control character")
    cure = ADVICE.get(char) or ("leave it out" if char.isascii() else "write it in plain ASCII")
    return fault_at(typed, at, f"U+{ord(char):04X} ({name.lower()}) is not read here", cure)


def fault_at(text: str, at: int, message: str, cure: str = "", width: int = 1) -> TextError:
    """The error to raise for a fault at character `at` (from 0) of the text."""
    return TextError(
        [Complaint(message, cure, line=1, column=at + 1, source=to_one_line(text), width=width)]
    )


def to_one_line(text: str) -> str:
    """The text on one line, what cannot be printed as blanks, positions kept."""
    return "".join(char if char.isprintable() else " " for char in text)


def clip(text: str, size: int = 40) -> str:
    """The text, or its beginning when it is longer than `size`."""
    return text if len(text) <= size else text[: size - 3] + "..."
