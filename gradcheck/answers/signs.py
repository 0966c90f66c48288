"""The signs outside ASCII that are read, and what is said about all others."""

import unicodedata

from gradcheck.answers.complaint import refused
from gradcheck.errors import TextError

SPELLED = (
    dict.fromkeys("−–—‐‑", "-")
    | dict.fromkeys("·×⋅∙∗•", "*")
    | dict.fromkeys("÷∕⁄", "/")
    | dict.fromkeys("′’ʹ", "'")
    | dict.fromkeys("⊙∘", "⊙")
    | {"≤": "<=", "≥": ">=", "≠": "!=", "√": "√", "∛": "∛", "°": "°", "‖": "‖"}
)

SPACES = "\u00a0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f"

SUPERSCRIPTS = dict(
    zip(
        "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾ⁿⁱˣʸᵗᵏᵐᵃᵇᶜᵈᵉᶠᵍʰʲˡᵒᵖʳˢᵘᵛʷᶻᐟ",
        "0123456789+-()nixytkmabcdefghjloprsuvwz/",
        strict=True,
    )
)
SUBSCRIPTS = dict(zip("₀₁₂₃₄₅₆₇₈₉", "0123456789", strict=True))

QUOTIENTS = "1/2 1/3 2/3 1/4 3/4 1/5 2/5 3/5 4/5 1/6 5/6 1/8 3/8 5/8 7/8"
FRACTIONS = {
    char: (int(quotient[0]), int(quotient[2]))
    for char, quotient in zip("½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞", QUOTIENTS.split(), strict=True)
}

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

DERIVATIVE = "give the derivative itself, without derivative signs"
WORDLESS = "give the formula alone, without words"
ADVICE = {
    **dict.fromkeys(["partial", "nabla"], DERIVATIVE),
    **dict.fromkeys(["text", "mbox", "textrm"], WORDLESS),
    "sum": "write sum(...), or the terms",
    "prod": "write prod(...), or the factors",
    "int": "give the formula itself, without integral signs",
    "lim": "give the formula itself, without limits",
    "infty": "a derivative is a formula; infinity is not read",
    "begin": "write a list of rows: [[a, b], [c, d]]",
    **dict.fromkeys(["pm", "mp"], "choose one sign: + or -"),
    "approx": "give only what stands on its right",
    "\\": "give one formula on one line",
}
"""What is said of a LaTeX command that is not read, and of the sign that it prints."""

PRINTED = dict(
    zip(
        "∂∇∑∏∫∞±∓≈",
        [
            "partial",
            "nabla",
            "sum",
            "prod",
            "int",
            "infty",
            "pm",
            "mp",
            "approx",
        ],
        strict=True,
    )
)
OTHERWISE = dict.fromkeys('"`“”', "leave the quotation marks out") | {
    "∜": "write x^(1/4)",
    "⊗": "write outer(a, b) for a column times a row",
}


def foreign(text: str, at: int) -> TextError:
    """The refusal of a character outside the tables, by its code point, with a hint."""
    char = text[at]
    name = unicodedata.name(char, "a control character")
    cure = (
        ADVICE.get(PRINTED.get(char, ""))
        or OTHERWISE.get(char)
        or _look_alike(char)
        or ("leave it out" if char.isascii() else "write it in plain ASCII")
    )
    return refused(text, at, f"U+{ord(char):04X} ({name.lower()}) is not read here", cure)


def _look_alike(char: str) -> str:
    """The advice for a character that resembles an ASCII one, else nothing."""
    plain = LOOK_ALIKES.get(char) or unicodedata.normalize("NFKC", char)
    if plain.isascii() and plain.isprintable() and plain != char and plain.strip():
        return f"it looks like {plain} but is another character: type {plain}"
    return ""
