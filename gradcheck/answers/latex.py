"""The LaTeX that students paste, command by command, into the same tokens as plain typing."""

import re

from gradcheck.answers.complaint import refused
from gradcheck.answers.scanner import Scanner
from gradcheck.answers.signs import ADVICE

COMMAND = re.compile(r"\\([A-Za-z]+\*?|.)?", re.ASCII | re.DOTALL)
BELOW = re.compile(r"\s*_\s*(?:([A-Za-z0-9])|\{\s*(\w+)\s*\})", re.ASCII)
FONT = re.compile(r"\s*(?:\{\s*([A-Za-z](?:[A-Za-z0-9]|\\?_)*)\s*\}|([A-Za-z]))", re.ASCII)
INDEX = re.compile(r"\s*\[\s*(?:(?P<number>\d{1,4})|(?P<name>[A-Za-z]))\s*\]", re.ASCII)
DELIMITER = re.compile(
    r"\s*(?:(\\[lr]?vert\b|\|)|(\.)|(?P<norm>\\\||\\[lr]?Vert\b)|\\?[()\[\]{}])", re.ASCII
)

BLANK = {
    *(*",;: !", "quad", "qquad", "displaystyle", "textstyle", "thinspace", "limits", "left*"),
    *("boxed", "fbox", "underline", "overline", "ensuremath", "nonumber", "notag", "mathstrut"),
}
SIZES = {
    stem + side: side for stem in ("big", "Big", "bigg", "Bigg") for side in ("", "l", "r")
} | {"left": "l", "right": "r"}
FRACTIONS = {"frac", "dfrac", "tfrac", "cfrac", "nicefrac", "sfrac", "flatfrac"}
FONTS = {
    "mathrm",
    "mathbf",
    "mathit",
    "mathsf",
    "operatorname",
    "operatorname*",
    "boldsymbol",
    "bm",
    "mathnormal",
    "text",
    "textrm",
    "textit",
    "mbox",
}

SIGNS = {
    "cdot": "*",
    "times": "*",
    "odot": "⊙",
    "ast": "*",
    "div": "/",
    "le": "<=",
    "leq": "<=",
    "leqslant": "<=",
    "ge": ">=",
    "geq": ">=",
    "geqslant": ">=",
    "ne": "!=",
    "neq": "!=",
    "lt": "<",
    "gt": ">",
    "{": "(",
    "}": ")",
    "lbrace": "(",
    "rbrace": ")",
    "lbrack": "[",
    "rbrack": "]",
    "vert": "|",
    "lvert": "|(",
    "rvert": "|)",
    **dict.fromkeys(["|", "Vert", "lVert", "rVert"], "‖"),
    "circ": "°",
    "degree": "°",
    "prime": "'",
    "%": "%",
    **{sign: sign for sign in "*^+-/=<>"},
    "colon": ":",
}


def command(scanner: Scanner) -> None:
    """Read the command that starts here and leave its tokens with the scanner."""
    match = COMMAND.match(scanner.text, scanner.at, scanner.stop)
    word = (match[1] if match else None) or ""
    width = len(word) + 1
    if word in ADVICE and not (word in FONTS and _names(scanner, width)):
        raise refused(scanner.text, scanner.at, f"\\{word} is not read here", ADVICE[word], width)
    if word in BLANK:
        scanner.at += width
        scanner.spaced = True
    elif word in SIGNS:
        scanner.put("op", SIGNS[word], width)
    elif word in SIZES:
        _delimiter(scanner, SIZES[word], width)
    elif word in FRACTIONS:
        scanner.put("frac", word, width)
        scanner.waiting.append(2)
    elif word == "sqrt":
        _root(scanner, width)
    elif word in FONTS:
        _font(scanner, word, width)
    elif word in {"top", "intercal"}:
        scanner.put("transpose", "T", width)
    elif word.isalpha():
        _word(scanner, word, width)
    else:
        raise refused(scanner.text, scanner.at, "a backslash without a command", "leave it out")


def _names(scanner: Scanner, width: int) -> bool:
    """Whether a font command holds one word alone."""
    return FONT.match(scanner.text, scanner.at + width, scanner.stop) is not None


def _delimiter(scanner: Scanner, side: str, width: int) -> None:
    r"""`\left|` and `\right|` are bars that say which way they look; brackets stay as they are."""
    match = DELIMITER.match(scanner.text, scanner.at + width, scanner.stop)
    if not match or match[2]:
        message = "a sized bracket without its bracket"
        raise refused(scanner.text, scanner.at, message, "write ( or ) after it", width)
    if match["norm"]:
        scanner.put("op", "‖", match.end() - scanner.at)
    elif match[1]:
        scanner.put("op", {"l": "|(", "r": "|)"}.get(side, "|"), match.end() - scanner.at)
    else:
        scanner.at += width


def _root(scanner: Scanner, width: int) -> None:
    r"""`\sqrt{x}` is the function sqrt; `\sqrt[3]{x}` is a root with two arguments."""
    index = INDEX.match(scanner.text, scanner.at + width, scanner.stop)
    if not index:
        scanner.put("name", "sqrt", width)
        scanner.waiting.append(1)
        return
    after = index.end()
    scanner.put("root", "sqrt", width)
    scanner.put("op", "{", 0)
    scanner.put(index.lastgroup or "", index[index.lastgroup or 0], after - scanner.at)
    scanner.put("op", "}", 0)
    scanner.waiting.append(1)


def _font(scanner: Scanner, word: str, width: int) -> None:
    r"""`\mathrm{e}` and `\operatorname{sech}` are just the name inside; other fonts are nothing."""
    match = FONT.match(scanner.text, scanner.at + width, scanner.stop)
    if not match:
        scanner.at += width
        return
    _word(scanner, (match[1] or match[2]).replace("\\", ""), match.end() - scanner.at)


def _word(scanner: Scanner, word: str, width: int) -> None:
    """A name with its subscript: Greek letters, functions, constants."""
    below = BELOW.match(scanner.text, scanner.at + width, scanner.stop)
    if below:
        word, width = f"{word}_{below[1] or below[2]}", below.end() - scanner.at
    scanner.name(word, width, "leave the backslash out")
