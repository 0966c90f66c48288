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


def as_table(text: str) -> dict[str, str]:
    """Rows such as `sin: sen seno; cos: coseno`, by what stands for each."""
    rows = (row.split(": ") for row in text.replace("\n", "; ").split("; ") if row)
    return {word: name for name, words in rows for word in words.split()}


def as_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


ABOVE = "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾ⁿⁱˣʸᵗᵏᵐᵃᵇᶜᵈᵉᶠᵍʰʲˡᵒᵖʳˢᵘᵛʷᶻᐟᵀ⊤"
BELOW = "₀₁₂₃₄₅₆₇₈₉ᵢⱼₖₗₘₙₐₑₒₓₚₛₜᵣᵤᵥₕ"
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
    | dict.fromkeys("⇒⟹➔→⟶∴", "=>")
    | dict.fromkeys("“”„«»", '"')
    | dict.fromkeys("⎧⎨⎩⎪", "")
    | {"≔": "=", "≡": "=", "➕": "+", "∶": ":", "‘": "'", "ᐟ": "/", "⊤": "T"}
    | {"≤": "<=", "≥": ">=", "≠": "!=", "…": "...", "\u2062": "*", "\t": " ", "\r": " "}
)
PLAIN = frozenset("√∛°≈‖⟨⟩∂∇∑∈ℝ∞") | frozenset(GREEK)
LOST = {"\x0c": "\\f", "\x08": "\\b", "\x0b": "\\v", "\x07": "\\a", "\t": "\\t", "\r": "\\r"}
"""`\\frac` read as an escape."""
ODD = re.compile(
    r"(?P<gone>(?<=\d)['’\u202f\u2009\u00a0](?=\d{3}(?!\d))|\\(?=[\^*_])"
    r"|</?(?:p|br|i|b|em|strong|span|div|font|code|var|u)(?: [^<>]*)?/?>)"
    r"|(?P<entity>&(?:[A-Za-z]{2,10}\d?|#\d{2,6}|#[xX][0-9A-Fa-f]{2,5});)"
    r"|<(?P<raised>sup|sub)>(?P<inside>[^<>]*)</(?P=raised)>"
    rf"|(?P<above>[{ABOVE}]+)|(?P<below>[{BELOW}]+)"
    r"|(?P<lost>[\x07\x08\x0b\x0c](?=[a-z])|\t(?=an|heta|imes|frac|au|ext)|\r(?=ight|ho|m\b))"
    r"|(?P<bare>(?<![\\A-Za-z_])(?=(?:[dt]?frac\s*\{|left\s*[(\[|]|right\s*[)\]|])))"
    r"|(?P<other>[^\n -~])",
    re.IGNORECASE,
)
SUSPECT = re.compile(r"[^\n -%(-;=-\[\]-~]|(?i:frac|left|right)")
"""With one of these all that is odd begins: most texts have none, and are left as they are."""


class Typed(NamedTuple):
    text: str
    places: Sequence[int]
    notes: list[str]


def in_plain(typed: str) -> Typed:
    """A typed text in the characters that formulas are made of."""
    if not SUSPECT.search(typed):
        return Typed(typed, range(len(typed) + 1), [])
    text, places, notes, at = "", list[int](), list[str](), 0
    for odd in ODD.finditer(typed):
        start, stop = odd.span()
        new = _plain(typed, odd, notes)
        text += typed[at:start] + new
        places += [*range(at, start), *[start] * len(new)]
        at = stop
    return Typed(text + typed[at:], [*places, *range(at, len(typed) + 1)], notes)


def _plain(typed: str, odd: re.Match[str], notes: list[str]) -> str:
    match odd.lastgroup:
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
            raised = "".join(_equal(char) or "" for char in odd[0])
            return f"{'^' if where == 'above' else '_'}{{{raised}}}"
    return "".join(_character(char, notes, typed, odd.start()) for char in html.unescape(odd[0]))


def _character(char: str, notes: list[str], typed: str, at: int) -> str:
    name = unicodedata.name(char, "a control character")
    if char in LOOK_ALIKES:
        notes.append(f"{char} ({name.split()[0].capitalize()}) is read as {LOOK_ALIKES[char]}")
        return LOOK_ALIKES[char]
    plain = _equal(char)
    if plain is None:
        cure = ADVICE.get(char) or ("leave it out" if char.isascii() else "write it in plain ASCII")
        raise fault_at(typed, at, f"U+{ord(char):04X} ({name.lower()}) is not read here", cure)
    if plain[0:1] == "(" and typed[at - 1 : at].isdigit():
        raise fault_at(typed, at, "a mixed number", "write 2 + 1/2, or 2.5")
    return f"^{{{plain}}}" if char in ABOVE else plain


@lru_cache(maxsize=1024)
def _equal(char: str) -> str | None:
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
    "⊗": "write outer(a, b) for a column times a row",
}
"""What is said of a LaTeX command that is not read, and of the sign that it prints."""


def fault_at(text: str, at: int, message: str, cure: str = "", width: int = 1) -> TextError:
    """The error to raise for a fault at character `at` (from 0) of the text."""
    return TextError(
        [Complaint(message, cure, line=1, column=at + 1, source=to_one_line(text), width=width)]
    )


def to_one_line(text: str) -> str:
    return "".join(char if char.isprintable() else " " for char in text)


def clip(text: str, size: int = 40) -> str:
    return text if len(text) <= size else text[: size - 3] + "..."
