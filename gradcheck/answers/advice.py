"""What to say about a word that nobody declared."""

import difflib

from gradcheck.answers.characters import DERIVATIVE
from gradcheck.answers.complaint import clipped, refused
from gradcheck.answers.tokens import Token
from gradcheck.answers.words import SUBSCRIPT, Words
from gradcheck.errors import TextError

UNITS = ("m", "s", "km", "cm", "kg", "rad")
SPECIAL = {
    "C": "an answer needs no constant of integration",
    "inf": "a derivative is a formula; infinity is not read",
    "infinity": "a derivative is a formula; infinity is not read",
    "nan": "a derivative is a formula",
    "True": "truth values stand only after keepdims=",
    "False": "truth values stand only after keepdims=",
    "None": "None stands only in an index or after axis=",
    **dict.fromkeys(["or", "and", "oder", "ou"], "give one formula"),
    **dict.fromkeys(
        ["if", "If", "IF", "for", "when", "else", "otherwise", "piecewise", "Piecewise"],
        "cases are written `1 if x > 0 else 0`",
    ),
}


def unknown(words: Words, text: str, token: Token, called: bool) -> TextError:
    """The refusal of an undeclared word, with the likeliest cure."""
    word = token.text
    cure = (
        _derivative(words, word)
        or _entry(words, word)
        or SPECIAL.get(word)
        or _close(words, word, called)
    )
    sort = "function" if called and len(word) > 1 else "name"
    width = max(token.end - token.start, 1)
    return refused(text, token.start, f"unknown {sort} {word}", cure, width)


def _derivative(words: Words, word: str) -> str:
    """`dx`, `dy` and `d` in `d/dx` are derivative signs unless they are declared."""
    single = len(word) == 2 and (word[1] in words.names or word[1] in "xyzfgut")
    if word == "d" or (word[0] == "d" and single and "d" not in words.names):
        return DERIVATIVE
    return ""


def _entry(words: Words, word: str) -> str:
    """`x_1` where x is declared may be an entry of x."""
    match = SUBSCRIPT.fullmatch(word)
    if match is None or match[1] not in words.names:
        return ""
    if match[2].isalpha() and words.shapes.get(match[1]):
        return "write sums over indices as einsum('ij,j->i', A, x), or as a product of matrices"
    return f"write {match[1]}[0] for the first entry"


def _close(words: Words, word: str, called: bool) -> str:
    """The nearest spelling, or what may be used."""
    likely = sorted(s for s in set(words.spellings()) if abs(len(s) - len(word)) <= 2)
    near = difflib.get_close_matches(word, likely, n=1, cutoff=0.76)
    if near:
        return f"did you mean {near[0]}?"
    if called:
        return "write * if a product is meant" if word in words.names else "use a known function"
    units = "; units are left out" if word in UNITS else ""
    listed = clipped(", ".join(sorted(words.names)), 60) + units
    return f"the names of this problem are {listed}" if listed else "this problem declares no names"
