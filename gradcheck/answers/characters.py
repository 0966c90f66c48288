"""Characters of phones, word processors, browsers and PDF files as those that formulas are made of.

What means the same is put in its place; a letter of another alphabet that only looks alike is
noted. What is left is `signs`' to refuse.
"""

import html
import re
import unicodedata
from functools import lru_cache

from gradcheck.answers.draft import Draft
from gradcheck.answers.signs import (
    FRACTIONS,
    GREEK,
    LOOK_ALIKES,
    SPACES,
    SPELLED,
    SUBSCRIPTS,
    SUPERSCRIPTS,
)

ENTITY = re.compile(r"&(?:[A-Za-z]{2,10}\d?|#\d{2,6}|#[xX][0-9A-Fa-f]{2,5});", re.ASCII)
RAISED = re.compile(r"<(sup|sub)>([^<>]*)</\1>", re.IGNORECASE)
TAG = re.compile(
    r"</?(?:p|br|i|b|em|strong|span|div|font|code|var|u)(?: [^<>]*)?/?>", re.IGNORECASE
)
TYPED = re.compile(r"\\texttt\{((?:[^{}\\]|\\_)*)\}")  # as it is typed in NumPy
OTHER = re.compile(r"[^\x00-\x7f]")
# YAML, JSON and Python read the backslash of "\frac" and "\theta" as half of a control character.
BELOW = re.compile("[ᵢⱼₖₗₘₙₐₑₒₓₚₛₜᵣᵤᵥₕ]+")
BARE = re.compile(  # commands whose backslash got lost
    r"(?<![\\A-Za-z_])(?:[dt]?frac(?=\s*\{)|left(?=\s*[(\[|])|right(?=\s*[)\]|])|cdot(?![A-Za-z_]))"
)
PROGRAM = re.compile(  # what stands before a formula in a program
    r"\A\s*(?:def\s+\w+\s*\([^()]*\)[^:\n]*:|lambda\s+\w+(?:\s*,\s*\w+)*\s*:)\s*"
    r"|(?:\A|(?<=\n)|(?<=:))\s*return\b(?=\s*[^\s=])"
)
FENCE = re.compile(r"\A\s*```[ \t]*[a-z]*\s*\n|\n\s*```\s*\Z")
TURNED = re.compile(r"(?<=[\w)\]])\.(?=['’])")  # A.' of MATLAB
OUTER = re.compile(r"\bOuter\[\s*Times\s*,\s*")  # of Mathematica
OF_R = re.compile(r"%\*%|([^\W\d]\w*)\s*%o%\s*([^\W\d]\w*)")
LOST = re.compile(
    r"\x0c(?=rac|box)|\t(?=an|heta|imes|frac|au|ext)|\x08(?=eta|oxed|ig|ar)|\r(?=ight|ho|m\b)|"
    r"\x07(?=lpha|rc)|\x0b(?=ert|ar)"
)
LETTERS = dict(zip("\x0c\t\x08\r\x07\x0b", "ftbrav", strict=True))
KNOWN = frozenset(
    (*SPELLED, *SPACES, *SUPERSCRIPTS, *SUBSCRIPTS, *FRACTIONS, *GREEK, "ᵀ", "⊤")
) - frozenset("•")
SAME = (
    dict.fromkeys("✕✖⨯╳⨉‧・･ꞏ⋆✱", "*")
    | dict.fromkeys("⎧⎨⎩⎪", "")
    | dict.fromkeys("‒―⁃﹣➖", "-")
    | dict.fromkeys("ˆ⌃ꞈ", "^")
    | dict.fromkeys("∣❘ǀ⏐│", "|")
    | dict.fromkeys("´ʼ‵‛＇", "'")
    | dict.fromkeys("〖⟮❨", "(")
    | dict.fromkeys("〗⟯❩", ")")
    | dict.fromkeys("≔≡⇒→⟹⟶➔", "=")
    | dict.fromkeys("⅟", "1/")
    | {"➕": "+", "➗": "/", "∶": ":", "ⅇ": "e", "ⅈ": "i", "⟨": "<", "＝": "="}
)


def characters(draft: Draft) -> None:
    """Entities, tags and characters that have an equal in plain typing."""
    if "&" in draft.text:
        draft.swap(ENTITY, lambda match: html.unescape(match[0]))
    if "<" in draft.text:
        draft.swap(RAISED, lambda m: f"^({m[2]})" if m[1].lower() == "sup" else f"_{{{m[2]}}}")
        draft.swap(TAG, "")
    if "%" in draft.text:
        draft.swap(OF_R, lambda m: f"outer({m[1]}, {m[2]})" if m[1] else "@")
    if "`" in draft.text:
        draft.swap(FENCE, "")
    if "frac" in draft.text or "ight" in draft.text or "cdot" in draft.text:
        draft.swap(BARE, lambda match: f"\\{match[0]}")
    if ":" in draft.text or "return" in draft.text:
        draft.swap(PROGRAM, "")
    if ".'" in draft.text or ".’" in draft.text:
        draft.swap(TURNED, "")
    if "Outer" in draft.text:
        draft.swap(OUTER, "outer[")
    if "\\texttt" in draft.text:
        draft.swap(TYPED, lambda match: match[1].replace("\\_", "_"))
    if not draft.text.isprintable():
        draft.swap(LOST, lambda match: "\\" + LETTERS[match[0]])
    if not draft.text.isascii():
        draft.swap(BELOW, lambda found: f"_{{{unicodedata.normalize('NFKC', found[0])}}}")
        draft.swap(OTHER, lambda match: _same(draft, match[0]))


def _same(draft: Draft, char: str) -> str | None:
    """What a character is read as; None: it stays."""
    if char in KNOWN:
        return None
    if char in LOOK_ALIKES:
        draft.note(f"{char} ({_alphabet(char)}) is read as {LOOK_ALIKES[char]}")
        return LOOK_ALIKES[char]
    return _equal(char)


@lru_cache(maxsize=1024)
def _equal(char: str) -> str | None:
    """The plain character that is the same to everybody; None: there is none."""
    if char in SAME:
        return SAME[char]
    category = unicodedata.category(char)
    if category == "Cf":
        return ""
    if category == "Zs":
        return " "
    if category == "Nd":
        return str(unicodedata.decimal(char))
    kind = unicodedata.decomposition(char).partition(" ")[0]
    plain = unicodedata.normalize("NFKC", char)
    if kind in ("<super>", "<sub>") or len(plain) != 1 or plain == char:
        return None
    return plain if plain.isascii() or plain in KNOWN else SAME.get(plain)


def _alphabet(char: str) -> str:
    """The alphabet of a letter: `Cyrillic`."""
    return unicodedata.name(char, "foreign").split()[0].capitalize()
